//! `canny repl --listen`: a client that speaks nREPL, and clients that do not.

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use support::{Canny, scratch};

/// A server on a free port.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Server {
        let mut command = Canny::new(scratch(), &["repl", "--listen", "127.0.0.1:0"]).command();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("canny starts");
        let mut first = String::new();
        let output = child.stdout.take().expect("the output is ours");
        BufReader::new(output)
            .read_line(&mut first)
            .expect("a line is written");
        let port = first
            .strip_prefix("nREPL server started on port ")
            .and_then(|rest| rest.split(' ').next())
            .and_then(|port| port.parse().ok())
            .unwrap_or_else(|| panic!("no port in {first:?}"));
        Server { child, port }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        let limit = Some(Duration::from_secs(120));
        stream.set_read_timeout(limit).expect("a time is set");
        Client {
            stream,
            bytes: Vec::new(),
            session: String::new(),
            next: 0,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Data {
    Integer(i64),
    Text(String),
    List(Vec<Data>),
    Entries(BTreeMap<String, Data>),
}

impl Data {
    fn text(&self, key: &str) -> Option<&str> {
        match self {
            Data::Entries(entries) => match entries.get(key)? {
                Data::Text(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    fn get(&self, key: &str) -> &Data {
        match self {
            Data::Entries(entries) => &entries[key],
            other => panic!("{other:?} has no {key}"),
        }
    }

    fn status(&self) -> Vec<&str> {
        match self {
            Data::Entries(entries) => match entries.get("status") {
                Some(Data::List(words)) => words
                    .iter()
                    .map(|word| match word {
                        Data::Text(text) => text.as_str(),
                        other => panic!("{other:?} is no word"),
                    })
                    .collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}

fn decode(bytes: &[u8], at: &mut usize) -> Option<Data> {
    match bytes.get(*at)? {
        b'i' => {
            let end = *at + bytes[*at..].iter().position(|byte| *byte == b'e')?;
            let number = std::str::from_utf8(&bytes[*at + 1..end]).unwrap();
            *at = end + 1;
            Some(Data::Integer(number.parse().unwrap()))
        }
        b'l' => {
            *at += 1;
            let mut elements = Vec::new();
            while *bytes.get(*at)? != b'e' {
                elements.push(decode(bytes, at)?);
            }
            *at += 1;
            Some(Data::List(elements))
        }
        b'd' => {
            *at += 1;
            let mut entries = BTreeMap::new();
            while *bytes.get(*at)? != b'e' {
                let Data::Text(key) = decode(bytes, at)? else {
                    panic!("a key is a text")
                };
                entries.insert(key, decode(bytes, at)?);
            }
            *at += 1;
            Some(Data::Entries(entries))
        }
        _ => {
            let end = *at + bytes[*at..].iter().position(|byte| *byte == b':')?;
            let length: usize = std::str::from_utf8(&bytes[*at..end])
                .unwrap()
                .parse()
                .unwrap();
            let text = bytes.get(end + 1..end + 1 + length)?;
            *at = end + 1 + length;
            Some(Data::Text(String::from_utf8(text.to_vec()).unwrap()))
        }
    }
}

struct Client {
    stream: TcpStream,
    bytes: Vec<u8>,
    session: String,
    next: u32,
}

impl Client {
    /// Sends a message; gives its id.
    fn send(&mut self, entries: &[(&str, &str)]) -> String {
        self.next += 1;
        let id = self.next.to_string();
        let mut all: BTreeMap<&str, &str> = entries.iter().copied().collect();
        all.insert("id", &id);
        if !self.session.is_empty() {
            all.insert("session", &self.session);
        }
        let mut text = String::from("d");
        for (key, value) in all {
            text.push_str(&format!("{}:{key}{}:{value}", key.len(), value.len()));
        }
        text.push('e');
        self.stream
            .write_all(text.as_bytes())
            .expect("the server reads");
        id
    }

    fn receive(&mut self) -> Data {
        loop {
            let mut at = 0;
            if let Some(message) = decode(&self.bytes, &mut at) {
                self.bytes.drain(..at);
                return message;
            }
            let mut piece = [0; 4096];
            let count = self.stream.read(&mut piece).expect("the server answers");
            assert!(count > 0, "the server closed the connection");
            self.bytes.extend(&piece[..count]);
        }
    }

    /// Every message about a request, up to the last.
    fn answers(&mut self, id: &str) -> Vec<Data> {
        let mut answers = Vec::new();
        loop {
            let message = self.receive();
            assert_eq!(message.text("id"), Some(id), "{message:?}");
            let is_last = message.status().contains(&"done");
            answers.push(message);
            if is_last {
                return answers;
            }
        }
    }

    fn ask(&mut self, entries: &[(&str, &str)]) -> Vec<Data> {
        let id = self.send(entries);
        self.answers(&id)
    }

    fn clone_session(&mut self) {
        let answers = self.ask(&[("op", "clone")]);
        self.session = answers[0]
            .text("new-session")
            .expect("a session")
            .to_owned();
    }
}

/// The texts of the answers under a key, one after the other.
fn all(answers: &[Data], key: &str) -> String {
    let texts = answers.iter().filter_map(|answer| answer.text(key));
    texts.collect::<Vec<_>>().join("|")
}

#[test]
fn a_client_evaluates_and_asks() {
    let server = Server::start();
    let mut client = server.connect();
    client.clone_session();

    let answers = client.ask(&[("op", "describe")]);
    let Data::Entries(operations) = answers[0].get("ops") else {
        panic!("{answers:?}")
    };
    for operation in [
        "clone",
        "close",
        "completions",
        "describe",
        "eval",
        "info",
        "interrupt",
        "load-file",
        "lookup",
        "ls-sessions",
    ] {
        assert!(operations.contains_key(operation), "{operation}");
    }

    let code = "(define (double x) (* 2 x)) (display \"λ\") (newline) (double 21) (values 1 'b)";
    let answers = client.ask(&[("op", "eval"), ("code", code)]);
    assert_eq!(all(&answers, "out").replace('|', ""), "λ\n");
    assert_eq!(all(&answers, "value"), "42|1|b");

    let answers = client.ask(&[("op", "eval"), ("code", "(double 'x)")]);
    assert!(
        all(&answers, "err").contains("*: argument 2 is not a number: x"),
        "{answers:?}"
    );
    assert_eq!(all(&answers, "ex"), "type");
    assert!(
        answers
            .iter()
            .any(|answer| answer.status().contains(&"eval-error"))
    );

    let answers = client.ask(&[("op", "eval"), ("code", "(double")]);
    assert_eq!(all(&answers, "ex"), "syntax");

    let answers = client.ask(&[("op", "completions"), ("prefix", "doub")]);
    let Data::List(found) = answers[0].get("completions") else {
        panic!("{answers:?}")
    };
    assert_eq!(found[0].text("candidate"), Some("double"));

    let answers = client.ask(&[("op", "lookup"), ("sym", "double")]);
    assert_eq!(
        answers[0].get("info").text("arglists-str"),
        Some("(double x)")
    );
    let answers = client.ask(&[("op", "info"), ("symbol", "car")]);
    assert_eq!(
        answers[0].text("doc"),
        Some("Returns the first field of a pair; for a list, its first element.")
    );
    let answers = client.ask(&[("op", "lookup"), ("sym", "no-such-name")]);
    assert!(answers[0].status().contains(&"no-info"));

    let file = [
        ("op", "load-file"),
        ("file", "(define loaded 5)\n(car loaded)"),
        ("file-path", "some/file.scm"),
    ];
    let answers = client.ask(&file);
    assert!(
        all(&answers, "err").contains("some/file.scm:2:1"),
        "{answers:?}"
    );
    assert_eq!(
        all(&client.ask(&[("op", "eval"), ("code", "loaded")]), "value"),
        "5"
    );

    let answers = client.ask(&[("op", "ls-sessions")]);
    assert_eq!(
        answers[0].get("sessions"),
        &Data::List(vec![Data::Text(client.session.clone())])
    );
    let answers = client.ask(&[("op", "dance")]);
    assert!(answers[0].status().contains(&"unknown-op"));
    let answers = client.ask(&[("op", "close")]);
    assert!(answers[0].status().contains(&"session-closed"));
    let answers = client.ask(&[("op", "eval"), ("code", "1")]);
    assert!(answers[0].status().contains(&"unknown-session"));
}

#[test]
fn evaluations_are_interrupted() {
    let server = Server::start();
    let mut client = server.connect();
    client.clone_session();
    let answers = client.ask(&[("op", "interrupt")]);
    assert!(answers[0].status().contains(&"session-idle"));
    let code = "(begin (display \"now\") (newline) (let loop () (loop)))";
    let evaluation = client.send(&[("op", "eval"), ("code", code)]);
    while client.receive().text("out").is_none() {}
    let interrupt = client.send(&[("op", "interrupt"), ("interrupt-id", &evaluation)]);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let message = client.receive();
        if message.status().contains(&"done") {
            let id = message.text("id").expect("an id").to_owned();
            assert_eq!(id == evaluation, message.status().contains(&"interrupted"));
            seen.push(id);
        }
    }
    assert!(seen.contains(&interrupt) && seen.contains(&evaluation));
    assert_eq!(
        all(&client.ask(&[("op", "eval"), ("code", "(+ 1 2)")]), "value"),
        "3"
    );
}

#[test]
fn libraries_may_be_entered() {
    let server = Server::start();
    let mut client = server.connect();
    client.clone_session();
    let library = "(define-library (my lib) (export visible) (import (scheme base)) \
                   (begin (define hidden 5) (define (visible) hidden)))";
    client.ask(&[("op", "eval"), ("code", library)]);
    let inside = [("op", "eval"), ("code", "(+ hidden 1)"), ("ns", "(my lib)")];
    let answers = client.ask(&inside);
    assert_eq!(all(&answers, "value"), "6", "{answers:?}");
    assert_eq!(all(&answers, "ns"), "(my lib)");
    let answers = client.ask(&[("op", "eval"), ("code", "hidden")]);
    assert_eq!(all(&answers, "ex"), "unbound");
    let answers = client.ask(&[("op", "eval"), ("code", "1"), ("ns", "(no such library)")]);
    assert!(
        all(&answers, "err").contains("was not found"),
        "{answers:?}"
    );
}

#[test]
fn clients_that_send_garbage_or_go_away_do_no_harm() {
    let server = Server::start();
    let mut garbage = server.connect();
    garbage
        .stream
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("the server reads");
    assert!(garbage.receive().status().contains(&"bad-message"));
    let mut rest = Vec::new();
    let _ = garbage.stream.read_to_end(&mut rest);
    let mut huge = server.connect();
    huge.stream
        .write_all(b"d4:code99999999999:")
        .expect("the server reads");
    assert!(huge.receive().status().contains(&"bad-message"));
    let mut leaving = server.connect();
    leaving.clone_session();
    leaving.send(&[
        ("op", "eval"),
        (
            "code",
            "(let loop ((i 0)) (if (< i 100000) (loop (+ i 1)))) (display 1)",
        ),
    ]);
    drop(leaving);
    let mut half = server.connect();
    half.stream
        .write_all(b"d2:op5:cl")
        .expect("the server reads");
    drop(half);
    let mut odd = server.connect();
    odd.stream
        .write_all(b"i5eled2:opi3ee")
        .expect("the server reads");
    for _ in 0..3 {
        assert!(odd.receive().status().contains(&"unknown-op"));
    }
    let mut client = server.connect();
    client.clone_session();
    let long = format!("(string-length \"{}\")", "x".repeat(10 << 20));
    let answers = client.ask(&[("op", "eval"), ("code", &long)]);
    assert_eq!(all(&answers, "value"), "10485760");
}

#[test]
fn exit_ends_the_server() {
    let mut server = Server::start();
    let mut client = server.connect();
    client.clone_session();
    client.send(&[("op", "eval"), ("code", "(exit 5)")]);
    let status = server.child.wait().expect("the server is ours");
    assert_eq!(status.code(), Some(5));
}

#[test]
fn addresses_that_cannot_be_listened_at_are_told() {
    for address in ["nonsense", "127.0.0.1:99999", "256.0.0.1:0"] {
        let outcome = support::canny(&["repl", "--listen", address]).run();
        let outcome = outcome.exits_with(71);
        assert!(outcome.errors.contains("listen"), "{outcome:?}");
    }
}
