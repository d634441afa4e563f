//! The web server under collections at every few allocations.

mod support;

use support::{canny, program};

#[test]
fn connections_survive_collections_wherever_they_happen() {
    for suite in ["web-websocket.scm", "web-http2.scm"] {
        let suite = format!(
            "{}/../../tests/conformance/{suite}",
            env!("CARGO_MANIFEST_DIR")
        );
        canny(&["test", &suite])
            .environment("CANNY_GC_STRESS", "101")
            .environment("CANNY_GC_VERIFY", "1")
            .environment("CANNY_GC_POISON", "1")
            .run()
            .exits_with(0);
    }
}

/// The client gets an error; that nobody waited for the task of the server is reported on standard
/// error, when it is found out.
#[test]
fn a_socket_whose_procedure_fails_is_closed_with_a_code() {
    program(
        "(import (scheme base) (scheme write) (canny web server) (canny web websocket))
         (define server
           (start-server (lambda (request body)
                           (websocket-response request (lambda (socket) (raise 'wrong))))
                         #:port 0))
         (define url (string-append \"ws://\" (car (server-addresses server)) \"/\"))
         (define socket (websocket-connect url))
         (write (list (eof-object? (websocket-receive socket)) (websocket-close-code socket)))",
    )
    .run()
    .exits_with(0)
    .prints("(#t 1011)");
}
