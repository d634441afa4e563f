//! Clients that go while their requests are handled: the handlers are cancelled, whatever they are at,
//! and nobody else is.

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use support::program;

const SERVER: &str = r#"
(import (scheme base) (scheme write) (canny web message) (canny web server) (canny tasks)
        (canny sync))
(define mutex (make-mutex))
(define notes '())
(define (note! what)
  (with-mutex mutex (set! notes (cons what notes))))
(define (noted what thunk)
  (dynamic-wind
   (lambda () (note! (list what 'begins)))
   thunk
   (lambda () (note! (list what 'is-left)))))
(define (for-ever n)
  (if (< n 0) n (for-ever (+ n 1))))
(define (handler request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/notes")
           (let ((port (open-output-string)))
             (write (with-mutex mutex (reverse notes)) port)
             (make-response #:body (get-output-string port))))
          ((string=? path "/wait") (noted 'wait (lambda () (sleep 1000) "waited")))
          ((string=? path "/compute") (noted 'compute (lambda () (for-ever 0) "computed")))
          ((string=? path "/body") (noted 'body (lambda () (sleep 1000) (read-request-text request))))
          ((string=? path "/tasks")
           (noted 'tasks (lambda () (with-tasks (spawn (lambda () (sleep 1000))) (sleep 1000)) "done")))
          ((string=? path "/parts")
           (make-response #:body (lambda (port)
                                   (write-string "some" port)
                                   (flush-output-port port)
                                   (noted 'parts (lambda () (sleep 1000))))))
          ((string=? path "/stay") (noted 'stay (lambda () (sleep 6) "stayed")))
          (else "hello"))))
(define server (start-server handler #:port 0))
(write-string (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
"#;

fn begin(address: &str, line: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let text = format!("{line} HTTP/1.1\r\nHost: a\r\n{more}");
    stream.write_all(text.as_bytes()).expect("it is sent");
    stream
}

/// A request on a connection of its own.
fn ask(address: &str, target: &str) -> String {
    let stream = begin(
        address,
        &format!("GET {target}"),
        "Connection: close\r\n\r\n",
    );
    rest(stream)
}

fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Waits until a note is there.
fn wait_for(address: &str, note: &str) {
    let start = Instant::now();
    while !ask(address, "/notes").contains(note) {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "no {note} in {}",
            ask(address, "/notes")
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            bytes.push(text.len() as u8);
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

#[test]
fn handlers_whose_clients_have_gone_are_cancelled() {
    let mut server = program(SERVER).start();
    server.wait_for_output("\n");
    let output = server.output();
    let address = output.trim();
    // One whose client stays is not.
    let staying = begin(address, "GET /stay", "Connection: close\r\n\r\n");
    let going = [
        ("wait", "GET /wait", "\r\n"),
        ("compute", "GET /compute", "\r\n"),
        ("body", "POST /body", "Content-Length: 10\r\n\r\nabc"),
        ("tasks", "GET /tasks", "\r\n"),
        ("parts", "GET /parts", "\r\n"),
    ];
    for (name, line, more) in going {
        let client = begin(address, line, more);
        wait_for(address, &format!("({name} begins)"));
        drop(client);
        wait_for(address, &format!("({name} is-left)"));
    }
    // A client that has only ended its own direction gets an answer that comes soon.
    let client = begin(address, "GET /", "Connection: close\r\n\r\n");
    client.shutdown(Shutdown::Write).expect("it is connected");
    assert!(rest(client).ends_with("hello"));
    assert!(rest(staying).ends_with("stayed"));
    server.signal("TERM");
    assert_eq!(server.wait().errors, "");
}

#[test]
fn streams_that_are_reset_are_cancelled_and_others_of_the_connection_are_not() {
    let mut server = program(SERVER).start();
    server.wait_for_output("\n");
    let output = server.output();
    let address = output.trim();
    let mut client = TcpStream::connect(address).expect("the server listens");
    let head = |path| {
        block(&[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", path),
            (":authority", "a"),
        ])
    };
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    bytes.extend(frame(1, 5, 1, &head("/wait")));
    bytes.extend(frame(1, 5, 3, &head("/stay")));
    client.write_all(&bytes).expect("it is sent");
    wait_for(address, "(wait begins)");
    client
        .write_all(&frame(3, 0, 1, &8u32.to_be_bytes()))
        .expect("it is sent");
    wait_for(address, "(wait is-left)");
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !answer.windows(6).any(|bytes| bytes == b"stayed") {
        let count = client.read(&mut buffer).expect("the connection is open");
        assert!(count > 0, "it has ended");
        answer.extend_from_slice(&buffer[..count]);
    }
    // With the connection all of its streams go.
    client
        .write_all(&frame(1, 5, 5, &head("/compute")))
        .expect("it is sent");
    wait_for(address, "(compute begins)");
    drop(client);
    wait_for(address, "(compute is-left)");
    server.signal("TERM");
    assert_eq!(server.wait().errors, "");
}
