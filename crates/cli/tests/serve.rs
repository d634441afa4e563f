//! `canny serve`: programs, libraries and directories as a browser sees them, and versions that follow
//! each other.

mod support;

#[path = "serve/failures.rs"]
mod failures;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use support::{canny, scratch};

const PROGRAM: &str = r#"
(import (scheme base) (canny web server) (canny web message) (words))
(run-server
 (lambda (request body)
   (if (string=? "/fail" (request-path request))
       (car '())
       (make-response #:body `(html (head (title "t")) (body (p ,(greeting)))))))
 #:host "192.0.2.1" #:port 1)
"#;

fn words(text: &str) -> String {
    format!(
        "(define-library (words) (export greeting) (import (scheme base))\n\
         (begin (define (greeting) {text})))\n"
    )
}

/// A server that does not outlive its test.
struct Serving {
    child: Child,
    directory: PathBuf,
    address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has a process of its own to end.
        let id = self.child.id().to_string();
        let _ = std::process::Command::new("kill")
            .args(["-s", "TERM", &id])
            .status();
        let start = Instant::now();
        while self.child.try_wait().is_ok_and(|status| status.is_none())
            && start.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn errors(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("errors")).unwrap()
}

fn serve(directory: PathBuf, words: &[&str]) -> Serving {
    start(directory, &["serve", "--port", "0"], words)
}

/// A server that says on standard error where it listens.
fn start(directory: PathBuf, command: &[&str], words: &[&str]) -> Serving {
    let file = std::fs::File::create(directory.join("errors")).unwrap();
    let mut command = support::Canny::new(directory.clone(), command).command();
    let mut child = command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .unwrap();
    let start = Instant::now();
    loop {
        let told = errors(&directory);
        if let Some((_, rest)) = told.split_once("http://")
            && let Some((address, _)) = rest.split_once('/')
        {
            return Serving {
                child,
                directory,
                address: address.to_owned(),
            };
        }
        assert!(child.try_wait().unwrap().is_none(), "{told}");
        assert!(start.elapsed() < Duration::from_secs(120), "{told}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Serving {
    /// The answer to a request on a connection of its own.
    fn get(&self, target: &str) -> String {
        self.get_with(target, "")
    }

    /// The same with fields of the head.
    fn get_with(&self, target: &str, fields: &str) -> String {
        let mut client = TcpStream::connect(&self.address).unwrap();
        client
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        write!(client, "GET {target} HTTP/1.0\r\n{fields}\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
        answer
    }

    /// Asks until the answer has a text; every answer is one.
    fn get_until(&self, target: &str, text: &str) -> String {
        let start = Instant::now();
        loop {
            let answer = self.get(target);
            if answer.contains(text) {
                return answer;
            }
            let told = errors(&self.directory);
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "{answer}\n{told}"
            );
        }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.join(name), text).unwrap();
    }
}

fn with_files(files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch();
    for (name, text) in files {
        std::fs::write(directory.join(name), text).unwrap();
    }
    directory
}

#[test]
fn programs_libraries_and_directories_are_served() {
    let one = words("\"one\"");
    let directory = with_files(&[("main.scm", PROGRAM), ("words.sld", &one)]);
    let server = serve(directory, &["main.scm"]);
    let answer = server.get("/");
    assert!(
        answer.contains("<p>one</p>") && !answer.contains("script"),
        "{answer}"
    );
    let answer = server.get("/fail");
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(answer.contains("main.scm:6"), "{answer}");
    drop(server);

    let text = "; A comment.\n(define-library (my app) (export handler) (import (scheme base))\n\
                (begin (define (handler request body) \"from a library\")))\n";
    let server = serve(with_files(&[("app.sld", text)]), &["app.sld"]);
    assert!(server.get("/").ends_with("from a library"));
    drop(server);

    let text = "(import (scheme base))\n(lambda (request body) \"from a value\")\n";
    let server = serve(with_files(&[("value.scm", text)]), &["value.scm"]);
    assert!(server.get("/").ends_with("from a value"));
    drop(server);

    let server = serve(with_files(&[("tea.txt", "green")]), &["."]);
    assert!(server.get("/").contains("tea.txt"));
    assert!(server.get("/tea.txt").ends_with("green"));
}

#[test]
fn components_are_served() {
    let example = std::fs::read_to_string(support::root().join("examples/web-component.scm"));
    let example = example.unwrap();
    let (_, text) = example.split_once("(define text \"").unwrap();
    let (text, _) = text.split_once("\")").unwrap();
    let directory = with_files(&[("app.wat", &text.replace('\'', "\""))]);
    let server = serve(directory, &["app.wat"]);
    let answer = server.get("/a?b");
    assert!(answer.contains("You asked for /a?b"), "{answer}");
}

/// The files of a page of the guide, by their names.
fn files_of_guide(page: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(support::root().join(page)).unwrap();
    let mut parts = text.split("\n```");
    let mut files = Vec::new();
    // Every other part is inside a fence.
    while let (Some(_), Some(block)) = (parts.next(), parts.next()) {
        let (head, content) = block.split_once('\n').unwrap_or((block, ""));
        if let Some(("scheme", name)) = head.split_once(' ') {
            files.push((name.to_owned(), format!("{content}\n")));
        }
    }
    files
}

/// The web service of the guide, with a text in its library replaced.
fn guide_with(from: &str, to: &str) -> PathBuf {
    let directory = scratch();
    let files = files_of_guide("docs/guide/web-service.md");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["guests.sld", "main.scm"]);
    for (name, text) in &files {
        let text = match name.as_str() {
            "guests.sld" => {
                assert!(text.contains(from), "{text}");
                text.replacen(from, to, 1)
            }
            _ => text.clone(),
        };
        std::fs::write(directory.join(name), text).unwrap();
    }
    let key = "a key of at least thirty-two bytes, for tests";
    std::fs::write(directory.join("guests.key"), key).unwrap();
    directory
}

const TITLE: &str = "(page \"Guest book\"";
const MISTAKE: &str = "(page (string-append \"Guest book\" 1)";

#[test]
fn mistakes_of_the_guide_are_shown() {
    let server = serve(guide_with(TITLE, MISTAKE), &["main.scm"]);
    let page = server.get("/");
    assert!(page.starts_with("HTTP/1.1 500 "), "{page}");
    for part in [
        "string-append: argument 2 is not a string: 1",
        "guests.sld:26:15",
        "<b>26  ",
        "an anonymous procedure",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let root = support::root().canonicalize().unwrap();
    for part in [
        root.to_str().unwrap(),
        "crates/lib",
        "<code>#f",
        "lib/canny",
    ] {
        assert!(!page.contains(part), "{part} in {page}");
    }
    let told = errors(&server.directory);
    assert!(
        told.contains("guests.sld:26:15: error[wrong-type]"),
        "{told}"
    );
    assert!(told.contains("a handler raised it for GET /"), "{told}");
    let answer = server.get_with("/", "Accept: application/json\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Type: application/json"), "{answer}");
    assert!(body.contains("\"line\":26"), "{body}");
    assert!(body.contains("argument 2 is not a string"), "{body}");
}

#[test]
fn pages_of_the_application_do_not_hide_mistakes() {
    let program = r##"(import (scheme base) (canny web server) (canny web message) (canny web middleware))
(define (fail request body) (vector-ref (vector 1 2) 3))
(run-server
 (with-middleware fail
   (error-pages (lambda (request response) '(html (body (p "Sorry.")))))
   (compress-responses)
   (security-headers)
   (answer-errors)))"##;
    let server = serve(with_files(&[("main.scm", program)]), &["main.scm"]);
    let page = server.get("/");
    assert!(page.contains("main.scm:2:29"), "{page}");
    assert!(!page.contains("<p>Sorry."), "{page}");
}

#[test]
fn policies_of_pages_let_them_be_shown_anew() {
    let program = r##"(import (scheme base) (canny web message))
(define policies
  '(("/none" . "default-src 'none'")
    ("/nonce" . "script-src 'nonce-abc' 'strict-dynamic'; default-src 'self'")
    ("/list" . (((default-src "'none'") (connect-src "https://example.org"))))))
(lambda (request body)
  (make-response #:headers `((content-security-policy . ,(cdr (assoc (request-path request) policies))))
                 #:body '(html (head (title "t")) (body (p "x")))))"##;
    let server = serve(
        with_files(&[("main.scm", program)]),
        &["--watch", "main.scm"],
    );
    let page = server.get_until("/none", "<p>x</p>");
    assert!(page.contains("script-src 'self'"), "{page}");
    assert!(page.contains("connect-src 'self'"), "{page}");
    let page = server.get("/nonce");
    assert!(page.contains("reload.js\" nonce=\"abc\""), "{page}");
    let page = server.get("/list");
    assert!(
        page.contains("connect-src https://example.org 'self'"),
        "{page}"
    );
}

#[test]
fn the_guide_in_a_browser() {
    let root = support::root().canonicalize().unwrap();
    let suite = root.join("crates/cli/tests/serve/guide_in_browser.scm");
    let libraries = root.join("examples/wiki/tests");
    let words = ["-I", libraries.to_str().unwrap(), suite.to_str().unwrap()];
    let outcome = support::Canny::new(scratch(), &words)
        .environment("GUIDE", guide_with(TITLE, TITLE))
        .environment("SOURCES", &root)
        .start()
        .wait_within(Duration::from_secs(600))
        .exits_with(0);
    if outcome.errors.contains("SKIPPED") {
        // Not by `eprintln`, which tests keep to themselves.
        let _ = writeln!(std::io::stderr(), "{}", outcome.errors);
    }
}

#[test]
fn another_version_takes_over() {
    let one = words("\"one\"");
    let directory = with_files(&[("main.scm", PROGRAM), ("words.sld", &one)]);
    let server = serve(directory, &["--watch", "main.scm"]);
    let answer = server.get_until("/", "<p>one</p>");
    assert!(
        answer.contains("<script src=\"/.canny/reload.js\" defer></script></body>"),
        "{answer}"
    );
    assert!(server.get("/.canny/reload.js").contains("EventSource"));
    // A library of the program, not the program itself.
    server.write("words.sld", &words("\"two\""));
    server.get_until("/", "<p>two</p>");
    // An error of loading is shown, with its place.
    server.write("words.sld", &words("(unclosed"));
    let answer = server.get_until("/", "cannot be loaded");
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    assert!(
        answer.contains("words.sld:1:1: error[unclosed]"),
        "{answer}"
    );
    assert!(answer.contains("/.canny/reload.js"), "{answer}");
    assert!(errors(&server.directory).contains("words.sld:1:1: error[unclosed]"));
    server.write("words.sld", &words("\"three\""));
    server.get_until("/", "<p>three</p>");
    // So is a program that ends.
    server.write(
        "main.scm",
        "(import (scheme base) (scheme process-context))\n(exit 7)\n",
    );
    server.get_until("/", "cannot be loaded");
    server.write("main.scm", PROGRAM);
    server.get_until("/", "<p>three</p>");
}

#[test]
fn a_response_that_was_begun_is_completed_by_its_version() {
    let program = |text: &str| {
        format!(
            "(import (scheme base) (canny tasks) (canny web message))\n\
             (lambda (request body)\n  (if (string=? \"/slow\" (request-path request)) (sleep 2))\n  \
             \"{text}\")\n"
        )
    };
    let directory = with_files(&[("app.scm", &program("old"))]);
    let server = serve(directory, &["--watch", "app.scm"]);
    server.get_until("/", "old");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.get("/slow"));
        std::thread::sleep(Duration::from_millis(200));
        server.write("app.scm", &program("new"));
        server.get_until("/", "new");
        assert!(slow.join().unwrap().ends_with("old"));
    });
}

#[test]
fn what_cannot_be_served_is_told() {
    canny(&["serve", "none.scm"])
        .run()
        .exits_with(66)
        .complains("cannot read none.scm");
    canny(&["serve", "--port", "0", "seven.scm"])
        .file("seven.scm", "(import (scheme base)) 7")
        .run()
        .exits_with(65)
        .complains("seven.scm neither calls run-server nor ends with a handler");
    canny(&["serve", "--port", "70000", "a.scm"])
        .run()
        .exits_with(64)
        .complains("--port wants a number up to 65535");
    canny(&["serve", "--host", "localhost", "a.scm"])
        .run()
        .exits_with(64)
        .complains("--host wants an IP address");
    canny(&["serve"])
        .run()
        .exits_with(64)
        .complains("a file or a directory is wanted");
}
