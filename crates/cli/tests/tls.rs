//! `(canny net)` over TLS: a server and a client in one program, with certificates made for the test.

mod support;

use support::{Outcome, canny};

/// The paths of an authority, of a certificate for `localhost` that it vouches for, and of its key.
fn papers() -> [String; 3] {
    let directory = support::scratch();
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let file = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    [
        file("authority.pem", authority.pem()),
        file("certificate.pem", certificate.pem()),
        file("key.pem", key.serialize_pem()),
    ]
}

const SERVER: &str = "
(import (scheme base) (scheme write) (scheme process-context) (canny net))
(define arguments (cdr (command-line)))
(define context
  (tls-server-context (cadr arguments) (list-ref arguments 2) #:protocols '(\"echo/1\")))
(define listener (tcp-listen \"127.0.0.1\" 0))
(display (address-port (listener-address listener)))
(newline)
(flush-output-port)
(define connection (tls-accept listener context #:timeout 20))
(let next ()
  (let ((byte (read-u8 (connection-input connection))))
    (if (not (eof-object? byte))
        (begin
          (write-u8 byte (connection-output connection))
          (if (not (u8-ready? (connection-input connection)))
              (flush-output-port (connection-output connection)))
          (next)))))
(close-connection connection)
";

/// Runs the echoing server, and a client that is given the authority and the server's port.
fn with_server(client: &str) -> (Outcome, Outcome) {
    between(SERVER, client)
}

fn between(server: &str, client: &str) -> (Outcome, Outcome) {
    let [authority, certificate, key] = papers();
    let mut server = canny(&["server.scm", &authority, &certificate, &key])
        .file("server.scm", server)
        .start();
    server.wait_for_output("\n");
    let port = server.output().trim().to_owned();
    let client = canny(&["client.scm", &authority, &port])
        .file("client.scm", client)
        .run();
    (client, server.wait())
}

const PRELUDE: &str = "
(import (scheme base) (scheme write) (scheme process-context) (canny net))
(define authority (cadr (command-line)))
(define port (string->number (list-ref (command-line) 2)))
";

#[test]
fn bytes_are_echoed() {
    let (client, server) = with_server(&format!(
        "{PRELUDE}
        (define context (tls-client-context #:trust authority #:protocols '(\"other\" \"echo/1\")))
        (define connection
          (tls-connect \"127.0.0.1\" port #:server-name \"localhost\" #:context context #:timeout 20))
        (write (list (connection-tls-version connection)
                     (connection-protocol connection)
                     (bytevector? (connection-peer-certificate connection))))
        (write-bytevector #u8(1 2 3) (connection-output connection))
        (flush-output-port (connection-output connection))
        (write (read-bytevector 3 (connection-input connection)))
        (write-bytevector (make-bytevector 100000 7) (connection-output connection))
        (close-port (connection-output connection))
        (write (bytevector-length (read-bytevector 200000 (connection-input connection))))
        (write (eof-object? (read-u8 (connection-input connection))))
        (close-connection connection)
        (newline)"
    ));
    client
        .exits_with(0)
        .prints("(\"TLSv1.3\" \"echo/1\" #t)#u8(1 2 3)100000#t\n");
    server.exits_with(0);
}

/// A server that speaks lines in plain text until a command begins TLS, and then lines again.
const SERVER_OF_LINES: &str = "
(import (scheme base) (scheme write) (scheme process-context) (canny net))
(define arguments (cdr (command-line)))
(define context (tls-server-context (cadr arguments) (list-ref arguments 2)))
(define listener (tcp-listen \"127.0.0.1\" 0))
(write (address-port (listener-address listener)))
(newline)
(flush-output-port)
(define connection (accept-connection listener #:timeout 20))
(set-socket-option! connection 'nodelay #t)
(define (receive)
  (let next ((bytes '()))
    (let ((byte (read-u8 (connection-input connection))))
      (if (or (eof-object? byte) (= byte 10))
          (utf8->string (apply bytevector (reverse bytes)))
          (next (cons byte bytes))))))
(define (say text)
  (write-string text)
  (newline)
  (write-bytevector (string->utf8 (string-append text \"\\n\")) (connection-output connection))
  (flush-output-port (connection-output connection)))
(say \"220 ready\")
(let next ((line (receive)))
  (cond ((string=? line \"STARTTLS\")
         (say \"220 go ahead\")
         (connection-start-tls! connection context #:timeout 20)
         (next (receive)))
        ((string=? line \"QUIT\")
         (say \"221 bye\"))
        (else
         (say (string-append \"250 \" line))
         (next (receive)))))
(close-connection connection)
";

#[test]
fn a_task_waits_as_long_as_it_takes() {
    let (client, server) = with_server(&format!(
        "{PRELUDE}
        (import (canny tasks))
        (define context (tls-client-context #:trust authority))
        (define connection
          (tls-connect \"127.0.0.1\" port #:server-name \"localhost\" #:context context #:timeout 20))
        (define reader (start (read-u8 (connection-input connection))))
        (sleep 0.3)
        (write-u8 5 (connection-output connection))
        (flush-output-port (connection-output connection))
        (write (await reader))
        (close-connection connection)"
    ));
    client.exits_with(0).prints("5");
    server.exits_with(0);
}

#[test]
fn a_connection_becomes_one_over_tls_in_its_middle() {
    let client = format!(
        "{PRELUDE}
        (import (canny io))
        (define context (tls-client-context #:trust authority))
        (define connection (tcp-connect \"localhost\" port #:family 'inet #:timeout 20))
        (define (ask lines text)
          (write-string text lines)
          (newline lines)
          (flush-output-port lines)
          (read-line lines))
        (define plain (transcode-port (connection-port connection)))
        (write (list (read-line plain) (ask plain \"EHLO\") (connection-tls-version connection)
                     (ask plain \"STARTTLS\")))
        (connection-start-tls! connection context #:timeout 20)
        (write (list (connection-tls-version connection)
                     (bytevector? (connection-peer-certificate connection))
                     (connection-open? connection)))
        (write (guard (object (#t (condition/report-string object))) (read-line plain)))
        (close-port plain)
        (define secret (transcode-port (connection-port connection)))
        (write (list (ask secret \"EHLO again\") (ask secret \"QUIT\") (eof-object? (read-line secret))))
        (close-port secret)
        (write (connection-open? connection))
        (write (guard (object (#t 'closed)) (connection-start-tls! connection context)))
        (newline)"
    )
    .replace("(condition/report-string object)", "(error-object-message object)");
    let (client, server) = between(SERVER_OF_LINES, &client);
    client.exits_with(0).prints(
        "(\"220 ready\" \"250 EHLO\" #f \"220 go ahead\")(\"TLSv1.3\" #t #t)\"the port is closed\"\
         (\"250 EHLO again\" \"221 bye\" #t)#fclosed\n",
    );
    server.exits_with(0);
}

#[test]
fn what_was_slipped_in_before_tls_is_refused() {
    let (client, server) = between(
        SERVER_OF_LINES,
        &format!(
            "{PRELUDE}
            (define connection (tcp-connect \"127.0.0.1\" port #:timeout 20))
            (write-bytevector (string->utf8 \"STARTTLS\\nEVIL\\n\") (connection-output connection))
            (flush-output-port (connection-output connection))
            (let next ((byte (read-u8 (connection-input connection))))
              (if (not (eof-object? byte))
                  (next (read-u8 (connection-input connection)))))"
        ),
    );
    client.exits_with(0);
    server
        .exits_with(70)
        .complains("what was sent before was not read");
}

#[test]
fn the_name_of_the_server_is_proved() {
    let client = format!(
        "{PRELUDE}
        (define context (tls-client-context #:trust authority))
        (define connection (tcp-connect \"127.0.0.1\" port #:timeout 20))
        (define (skip-line)
          (if (not (= (read-u8 (connection-input connection)) 10)) (skip-line)))
        (skip-line)
        (write-bytevector (string->utf8 \"STARTTLS\\n\") (connection-output connection))
        (flush-output-port (connection-output connection))
        (skip-line)
        (connection-start-tls! connection context #:timeout 20)"
    );
    let (client, server) = between(SERVER_OF_LINES, &client);
    client.exits_with(70).complains("connection-start-tls!");
    server.exits_with(70);
}

#[test]
fn a_server_that_nobody_vouches_for_is_refused() {
    let (client, server) = with_server(&format!(
        "{PRELUDE} (tls-connect \"localhost\" port #:timeout 20 #:family 'inet)"
    ));
    client.exits_with(70).complains("tls-connect");
    server.exits_with(70).complains("the other side refused");
}

#[test]
fn papers_are_checked() {
    canny(&[
        "-e",
        "(import (canny net)) (tls-server-context \"/no/such\" \"/no/such\")",
    ])
    .run()
    .exits_with(70)
    .complains("cannot read: No such file or directory");
    canny(&["-e", "(import (canny net)) (tls-client-context #:trust 5)"])
        .run()
        .exits_with(70)
        .complains("argument 1 is not a name of a file: 5");
}

/// A server whose clients are slow: each handshake waits for a task that sleeps first. Meanwhile
/// another task counts.
const SLOW: &str = "
(import (scheme base) (scheme write) (scheme process-context) (canny net) (canny tasks)
        (only (srfi 1) iota every))
(define arguments (command-line))
(define client (tls-client-context #:trust (list-ref arguments 1)))
(define server (tls-server-context (list-ref arguments 2) (list-ref arguments 3)))
(define listener (tcp-listen \"127.0.0.1\" 0))
(define port (address-port (listener-address listener)))
(define ticks 0)
(define ticker (start (let loop () (set! ticks (+ ticks 1)) (sleep 0.002) (loop))))
(define (serve connection)
  (sleep 0.05)
  (connection-start-tls! connection server #:timeout 60)
  (let ((byte (read-u8 (connection-input connection))))
    (write-u8 (+ byte 1) (connection-output connection))
    (flush-output-port (connection-output connection))
    (close-connection connection)))
(define acceptor
  (start (let loop ()
           (let ((connection (accept-connection listener)))
             (start (serve connection))
             (loop)))))
(define (ask i)
  (let ((connection (tls-connect \"127.0.0.1\" port #:context client #:server-name \"localhost\"
                                 #:timeout 60)))
    (write-u8 i (connection-output connection))
    (flush-output-port (connection-output connection))
    (let ((answer (read-u8 (connection-input connection))))
      (close-connection connection)
      (= answer (+ i 1)))))
(write (every await (map (lambda (i) (start (ask i))) (iota 60))))
(newline)
(cancel! acceptor)
(write (guard (e ((cancelled-error? e) 'cancelled)) (await acceptor)))
(newline)
;; Nobody answers: the time is over, or the task is cancelled. The other side sees the end.
(define (end-of-silence outcome)
  (let* ((task (start (guard (e ((timeout-error? e) 'timeout))
                        (tls-connect \"127.0.0.1\" port #:context client
                                     #:server-name \"localhost\"
                                     #:timeout (if (eq? outcome 'timeout) 0.05 60)))))
         (far (accept-connection listener)))
    (read-u8 (connection-input far))
    (if (eq? outcome 'cancelled) (cancel! task))
    (write (guard (e ((cancelled-error? e) 'cancelled)) (await task)))
    (newline)
    (let loop ()
      (if (not (eof-object? (read-u8 (connection-input far)))) (loop)))
    (close-connection far)))
(end-of-silence 'timeout)
(end-of-silence 'cancelled)
(write (> ticks 0))
(newline)
";

#[test]
fn handshakes_of_tasks_hold_up_nobody() {
    for stress in ["0", "200"] {
        let [authority, certificate, key] = papers();
        let outcome = canny(&["slow.scm", &authority, &certificate, &key])
            .file("slow.scm", SLOW)
            .environment("CANNY_GC_STRESS", stress)
            .run();
        outcome
            .exits_with(0)
            .prints("#t\ncancelled\ntimeout\ncancelled\n#t\n");
    }
}

#[test]
fn a_web_server_over_tls() {
    let server = "
(import (scheme base) (scheme write) (scheme process-context) (canny web server) (canny web message)
        (canny net) (canny tasks))
(define arguments (cdr (command-line)))
(define done (make-future))
(define server
  (start-server
   (lambda (request body)
     (if body
         (values '((content-type . (application/octet-stream))) (read-request-body request))
         (begin
           (future-resolve! done #t)
           (if (request-secure? request) \"over TLS\" \"in the clear\"))))
   #:port 0 #:tls (tls-server-context (cadr arguments) (list-ref arguments 2))))
(display (address-port (car (server-addresses server))))
(newline)
(flush-output-port)
(await done)
(stop-server! server)
";
    let client = format!(
        "{PRELUDE}
        (define context (tls-client-context #:trust authority))
        (define connection
          (tls-connect \"127.0.0.1\" port #:server-name \"localhost\" #:context context #:timeout 20))
        (define input (connection-input connection))
        (define output (connection-output connection))
        (define (say text)
          (write-bytevector (string->utf8 text) output)
          (flush-output-port output))
        (define (head)
          (let loop ((last 0))
            (let ((byte (read-u8 input)))
              (if (not (and (= last 10) (= byte 13)))
                  (loop byte)
                  (read-u8 input)))))
        (define bytes (make-bytevector 500000 7))
        (say \"POST / HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 500000\\r\\n\\r\\n\")
        (write-bytevector bytes output)
        (flush-output-port output)
        (head)
        (write (equal? bytes (read-bytevector 500000 input)))
        (say \"GET / HTTP/1.0\\r\\n\\r\\n\")
        (head)
        (write (utf8->string (read-bytevector 100 input)))
        (write (eof-object? (read-u8 input)))
        (close-connection connection)"
    );
    let (client, server) = between(server, &client);
    let client = client.exits_with(0);
    assert_eq!(client.output, "#t\"over TLS\"#t");
    server.exits_with(0);
}

#[test]
fn a_web_server_agrees_on_http2() {
    let server = "
(import (scheme base) (scheme write) (scheme process-context) (canny web server) (canny web message)
        (canny net) (canny tasks))
(define arguments (cdr (command-line)))
(define done (make-future))
(define server
  (start-server
   (lambda (request body)
     (if (equal? '(1 . 1) (request-version request)) (future-resolve! done #t))
     (let ((port (open-output-string)))
       (write (list (request-version request) (request-secure? request)) port)
       (get-output-string port)))
   #:port 0 #:tls (tls-server-context (cadr arguments) (list-ref arguments 2))))
(display (address-port (car (server-addresses server))))
(newline)
(flush-output-port)
(await done)
(stop-server! server)
(write (cdr (assq 'http2 (server-statistics server))))
";
    let client = format!(
        "{PRELUDE}
        (define (connected protocols)
          (tls-connect \"127.0.0.1\" port #:server-name \"localhost\" #:timeout 20
                       #:context (tls-client-context #:trust authority #:protocols protocols)))
        (define (send connection bytes)
          (write-bytevector bytes (connection-output connection))
          (flush-output-port (connection-output connection)))
        (define (answer connection)
          (let ((input (connection-input connection)))
            (let loop ()
              (let* ((head (read-bytevector 9 input))
                     (length (bytevector-u8-ref head 2))
                     (payload (if (= length 0) #u8() (read-bytevector length input))))
                (if (= 0 (bytevector-u8-ref head 3)) (utf8->string payload) (loop))))))
        (define one (connected '(\"h2\" \"http/1.1\")))
        (write (connection-protocol one))
        (send one (string->utf8 \"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\"))
        (send one #u8(0 0 0 4 0 0 0 0 0))
        ; GET, https, the path / and an authority.
        (send one #u8(0 0 6 1 5 0 0 0 1 130 135 132 65 1 120))
        (write (answer one))
        (close-connection one)
        ; Who has agreed on it speaks it, and who has not does not.
        (define (ends? connection text)
          (send connection (string->utf8 text))
          (let ((head (read-bytevector 12 (connection-input connection))))
            (close-connection connection)
            (equal? head (string->utf8 \"HTTP/1.1 400\"))))
        (write (ends? (connected '(\"h2\")) \"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\"))
        (write (ends? (connected '()) \"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\"))
        (define two (connected '(\"http/1.1\")))
        (write (connection-protocol two))
        (send two (string->utf8 \"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\"))
        (write (utf8->string (read-bytevector 15 (connection-input two))))
        (close-connection two)"
    );
    let (client, server) = between(server, &client);
    let client = client.exits_with(0);
    let wanted = "\"h2\"\"((2 . 0) #t)\"#f#t\"http/1.1\"\"HTTP/1.1 200 OK\"";
    assert_eq!(client.output, wanted);
    let output = server.exits_with(0).output.clone();
    assert!(output.ends_with("\n2"), "{output}");
}

/// A server of HTTP over TLS that answers three requests with the path and the protocol. With a flag it
/// is a proxy first, which says nothing to the second client.
const SERVER_OF_HTTP: &str = "
(import (scheme base) (scheme write) (scheme process-context) (canny net))
(define arguments (cdr (command-line)))
(define context
  (tls-server-context (cadr arguments) (list-ref arguments 2) #:protocols '(\"http/1.1\")))
(define listener (tcp-listen \"127.0.0.1\" 0))
(write (address-port (listener-address listener)))
(newline)
(flush-output-port)
(define connection #f)
(define (receive-line)
  (let next ((bytes '()))
    (let ((byte (read-u8 (connection-input connection))))
      (if (or (eof-object? byte) (= byte 10))
          (utf8->string (apply bytevector (reverse bytes)))
          (next (cons byte bytes))))))
(define (receive-head)
  (let ((first (receive-line)))
    (let next ((line first))
      (if (> (string-length line) 1)
          (next (receive-line))
          first))))
(define (say text)
  (write-bytevector (string->utf8 text) (connection-output connection))
  (flush-output-port (connection-output connection)))
(define (serve line)
  (if (> (string-length line) 1)
      (begin
        (display line)
        (newline)
        (say (string-append \"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\n\\r\\n\"
                            (connection-protocol connection)))
        (serve (receive-head)))))
(set! connection (accept-connection listener #:timeout 20))
PROXY
(guard (e (#t (display \"refused\") (newline)))
  (connection-start-tls! connection context #:timeout 20)
  (serve (receive-head)))
";

const CLIENT_OF_HTTP: &str = "
(import (scheme base) (scheme write) (scheme process-context) (canny net) (canny web client))
(define authority (cadr (command-line)))
(define port (list-ref (command-line) 2))
(define context (tls-client-context #:trust authority #:protocols '(\"http/1.1\")))
(define (show response)
  (write (list (http-response-status response) (http-response-text response)))
  (newline))
";

#[test]
fn a_client_of_http_speaks_tls() {
    let server = SERVER_OF_HTTP.replace("PROXY", "");
    let (client, server) = between(
        &server,
        &format!(
            "{CLIENT_OF_HTTP}
            (with-http-client (make-http-client #:tls-context context #:timeout 20 #:retries 0)
              (show (http-get (string-append \"https://localhost:\" port \"/a\")))
              (show (http-post (string-append \"https://localhost:\" port \"/b\") #:body #f)))"
        ),
    );
    client
        .exits_with(0)
        .prints("(200 \"http/1.1\")\n(200 \"http/1.1\")\n");
    let server = server.exits_with(0);
    assert!(
        server
            .output
            .ends_with("GET /a HTTP/1.1\r\nPOST /b HTTP/1.1\r\n")
    );
}

#[test]
fn a_client_of_http_believes_no_server_that_nobody_vouches_for() {
    let server = SERVER_OF_HTTP.replace("PROXY", "");
    let (client, server) = between(
        &server,
        &format!(
            "{CLIENT_OF_HTTP}
            (write (guard (e ((http-error? e) (http-error-stage e)))
                     (http-get (string-append \"https://localhost:\" port \"/\")
                               #:timeout 20 #:retries 0)))
            (newline)"
        ),
    );
    client.exits_with(0).prints("connect\n");
    let server = server.exits_with(0);
    assert!(server.output.ends_with("refused\n"));
}

#[test]
fn a_client_of_http_goes_through_a_proxy_to_a_server_with_tls() {
    let server = SERVER_OF_HTTP.replace(
        "PROXY",
        "(display (receive-head)) (newline)
         (say \"HTTP/1.1 200 Connection established\\r\\n\\r\\n\")",
    );
    let (client, server) = between(
        &server,
        &format!(
            "{CLIENT_OF_HTTP}
            (with-http-client (make-http-client #:tls-context context #:timeout 20 #:retries 0
                                                #:proxy (string-append \"http://u:p@127.0.0.1:\" port))
              (show (http-get \"https://localhost/a?b\")))"
        ),
    );
    client.exits_with(0).prints("(200 \"http/1.1\")\n");
    let server = server.exits_with(0);
    assert!(
        server
            .output
            .ends_with("CONNECT localhost:443 HTTP/1.1\r\nGET /a?b HTTP/1.1\r\n")
    );
}
