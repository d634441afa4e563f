//! A web server whose handlers use up the heap: only the requests that did are answered by 500, and the
//! server keeps serving.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{canny, scratch};

const SERVER: &str = r#"
(import (scheme base) (scheme write) (only (canny base) collect-garbage) (canny tasks) (canny web server)
        (canny web message))
(define (endless) (let loop ((list '())) (loop (cons 1 list))))
(define table #f)
(define (handler request body)
  (let ((path (request-path request)))
    (cond ((string=? path "/endless") (endless))
          ((string=? path "/vector") (vector-length (make-vector 100000000 0)))
          ((string=? path "/port")
           (let ((port (open-output-string)))
             (let loop () (write-string (make-string 100000 #\x) port) (loop))))
          ((string=? path "/fill")
           (set! table (let loop ((n 0) (list '())) (if (= n 3750000) list (loop (+ n 1) (cons n list)))))
           ; Each full collection takes more of it for memory that has been there for long.
           (let loop ((n 0)) (if (< n 12) (begin (collect-garbage) (loop (+ n 1)))))
           (spawn (lambda () (sleep 3) (set! table #f)))
           "filled")
          ((eq? table 'none) "never")
          (else
           (values '((content-type . (text/plain)))
                   (apply string-append (map number->string (iota* 2000))))))))
(define (iota* n) (let loop ((n n) (list '())) (if (= n 0) list (loop (- n 1) (cons n list)))))
(define server
  (start-server handler #:port 0 OPTIONS
                #:on-error (lambda (request object)
                             (make-response #:status 500 #:body (condition-text object)))))
(define (condition-text object)
  (if (error-object? object) (error-object-message object) "?"))
(display (car (server-addresses server)))
(newline)
(flush-output-port)
(server-wait server)
"#;

/// A server that does not outlive its test, and its address.
struct Running(Child, String);

impl Running {
    fn start(options: &str) -> Running {
        let directory = scratch();
        let program = directory.join("program.scm");
        std::fs::write(&program, SERVER.replace("OPTIONS", options)).unwrap();
        let errors = std::fs::File::create(directory.join("errors")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
            .args(["--heap-limit", "64M"])
            .arg(&program)
            .env("CANNY_CACHE_DIR", directory.join("cache"))
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut address).unwrap();
        Running(child, address.trim().to_owned())
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(&self.1).unwrap();
        client.set_nodelay(true).unwrap();
        client
            .set_read_timeout(Some(Duration::from_secs(200)))
            .unwrap();
        client
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Status, head and body of an answer.
fn ask(client: &mut TcpStream, target: &str) -> (u16, String, String) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "the server closed the connection: {target}");
        answer.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let status = lines.next().and_then(|line| line.split(' ').nth(1));
            let length = lines.find_map(|line| line.strip_prefix("Content-Length: "));
            if length.is_some_and(|length| length.parse() == Ok(body.len())) {
                let status = status.and_then(|status| status.parse().ok());
                return (status.unwrap(), head.to_owned(), body.to_owned());
            }
        }
    }
}

fn page() -> String {
    (1..=2000).map(|number: u32| number.to_string()).collect()
}

/// Sixteen clients, of whose requests each tenth uses up the heap in one way or the other.
#[test]
fn handlers_that_use_up_the_heap_harm_no_later_ones() {
    const CLIENTS: usize = 16;
    const REQUESTS: usize = 1000;
    let mut server = Running::start("");
    let next = AtomicUsize::new(0);
    let refused = AtomicUsize::new(0);
    let page = page();
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = server.connect();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= REQUESTS {
                        return;
                    }
                    let greedy = ["/endless", "/vector", "/endless", "/port"];
                    if number % 10 == 9 {
                        let target = greedy[number / 10 % greedy.len()];
                        let (status, _, body) = ask(&mut client, target);
                        assert_eq!(status, 500, "{target}: {body}");
                        assert!(body.contains("heap limit"), "{target}: {body}");
                    } else {
                        let (status, _, body) = ask(&mut client, "/");
                        if status == 500 {
                            assert!(body.contains("heap limit"), "request {number}: {body}");
                            refused.fetch_add(1, Ordering::Relaxed);
                        } else {
                            assert_eq!(status, 200, "request {number}: {body}");
                            assert_eq!(body, page, "request {number}");
                        }
                    }
                }
            });
        }
    });
    let refused = refused.into_inner();
    assert!(refused == 0, "{refused} of {REQUESTS}");
    assert_eq!(ask(&mut server.connect(), "/").2, page);
    assert!(server.is_alive());
}

/// A handler that has a limit of its own meets that.
#[test]
fn a_handler_has_a_limit_of_its_own() {
    let mut server = Running::start("#:handler-memory-limit 8000000");
    let mut client = server.connect();
    for _ in 0..20 {
        let (status, _, body) = ask(&mut client, "/endless");
        assert_eq!(status, 500);
        assert!(body.contains("memory limit of the task"), "{body}");
        assert_eq!(ask(&mut client, "/").2, page());
    }
    let (status, _, _) = ask(&mut client, "/vector");
    assert_eq!(status, 500);
    assert!(server.is_alive());
}

/// When what is kept for long fills the heap, requests are refused until there is room again.
#[test]
fn requests_wait_for_memory_that_is_kept() {
    let mut server = Running::start("");
    let mut client = server.connect();
    assert_eq!(ask(&mut client, "/fill").2, "filled");
    // Refused while the table is there, and then no more.
    let mut answers = [0, 0];
    for number in 0.. {
        if answers[0] > 0 && answers[1] > 0 {
            break;
        }
        assert!(number < 20_000, "503 and then 200: {answers:?}");
        let (status, head, _) = ask(&mut client, "/");
        match status {
            503 => {
                assert!(head.contains("Retry-After: 1"), "{head}");
                answers[0] += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            200 if answers[0] > 0 => answers[1] += 1,
            _ => assert_eq!(status, 200),
        }
        assert!(server.is_alive());
    }
    assert!(server.is_alive());
}

/// `spawn` with limits: the task ends with a condition, and nobody else.
#[test]
fn tasks_have_limits_of_their_own() {
    let text = "(import (scheme base) (scheme write) (canny tasks) (canny machine posix))
(define (endless) (let loop ((list '())) (loop (cons 1 list))))
(define (idle) (let loop ((n 0)) (loop (+ n 1))))
(define (outcome task)
  (guard (object ((timeout-error? object) (list 'timeout (error-object-message object)))
                 ((error-object? object) (error-object-message object)))
    (await task)))
(write (outcome (spawn endless #:memory-limit 5000000)))
(newline)
(write (outcome (spawn (lambda () (await (spawn endless))) #:memory-limit 5000000)))
(newline)
(write (outcome (spawn (lambda () (length (make-list 100000 1))) #:memory-limit 5000000)))
(newline)
(write (outcome (spawn idle #:time-limit 0.05)))
(newline)
(write (outcome (spawn (lambda () (sleep 1000)) #:time-limit 0.05)))
(newline)
(write (outcome (spawn (lambda () 'done) #:time-limit 1000)))
(newline)
(write (guard (object ((error-object? object) 'refused)) (spawn idle #:memory-limit -1)))
(write (guard (object ((error-object? object) 'refused)) (spawn idle #:time-limit 0)))";
    let directory = scratch();
    let program = directory.join("program.scm");
    std::fs::write(&program, text).unwrap();
    canny(&[program.to_str().unwrap()])
        .run()
        .exits_with(0)
        .prints(
            "\"the memory limit of the task is exceeded\"\n\
             \"the memory limit of the task is exceeded\"\n100000\n\
             (timeout \"the time limit of the task is over\")\n\
             (timeout \"the time limit of the task is over\")\ndone\nrefusedrefused",
        );
}
