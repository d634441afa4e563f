//! Parts of values: changed, watched, and read as bytes.

use serde_json::{Value as Json, json};

use super::client::Client;
use super::program;

const DATA: &str = "\
(import (scheme base) (scheme write))
(define-record-type point (make-point x y) point? (x point-x) (y point-y set-point-y!))
(define v (vector 1 2 3))
(define p (make-point 1 2))
(define l (list 1 2 3))
(define b (bytevector 1 2 3))
(define (work n)
  (let ((count 0))
    (set! count (+ count n))
    (vector-set! v 1 'two)
    (vector-fill! v 7)
    (set-point-y! p 20)
    (set! count (+ count n))
    (write (list v p l b count))))
(work 5)
";

fn reference(client: &mut Client, frame: i64, name: &str) -> Json {
    client.evaluate(frame, name)["variablesReference"].clone()
}

#[test]
fn elements_and_fields_are_changed() {
    let (mut client, thread, frame) = Client::at_line(&program(DATA), 14);
    for (value, part, new) in [
        ("v", "0", "'one"),
        ("l", "2", "(+ n 1)"),
        ("p", "x", "'west"),
    ] {
        let number = reference(&mut client, frame, value);
        let wish = json!({"variablesReference": number, "name": part, "value": new});
        client.ask("setVariable", wish);
    }
    let number = reference(&mut client, frame, "b");
    let wish = |value: &str| json!({"variablesReference": number, "name": "2", "value": value});
    assert_eq!(client.ask("setVariable", wish("255"))["value"], "255");
    let message = client.refused("setVariable", wish("256"));
    assert!(message.contains("from 0 to 255"), "{message}");
    let message = client.refused("setVariable", wish("(car n)"));
    assert!(message.starts_with("raised: "), "{message}");
    let number = reference(&mut client, frame, "v");
    let wish = json!({"variablesReference": number, "name": "3", "value": "0"});
    let message = client.refused("setVariable", wish);
    assert!(message.contains("cannot be changed"), "{message}");
    assert_eq!(client.run_to_end(thread), 0);
    let end = "(#(one 7 7) #<point x: west y: 20> (1 2 6) #u8(1 2 255) 10)";
    assert_eq!(client.output("stdout"), end);
}

#[test]
fn elements_fields_and_variables_of_procedures_are_watched() {
    let (mut client, thread, frame) = Client::at_line(&program(DATA), 9);
    let mut watched = Vec::new();
    for (value, part) in [("v", "1"), ("p", "y"), ("v", "1")] {
        let number = reference(&mut client, frame, value);
        let wish = json!({"variablesReference": number, "name": part});
        watched.push(client.ask("dataBreakpointInfo", wish)["dataId"].clone());
    }
    // The same part has the same name.
    let again = watched.pop();
    assert_eq!(watched.first(), again.as_ref());
    let wish = json!({"name": "count", "frameId": frame});
    watched.push(client.ask("dataBreakpointInfo", wish)["dataId"].clone());
    let wishes: Vec<Json> = watched.iter().map(|id| json!({"dataId": id})).collect();
    client.ask("setDataBreakpoints", json!({"breakpoints": wishes}));
    let texts = [
        (9, "count is 0, will be 5"),
        (10, "1 is 2, will be two"),
        // A primitive has changed it: that is noticed behind it.
        (12, "1 was two, is 7"),
        (2, "y is 2, will be 20"),
        (13, "count is 5, will be 10"),
    ];
    for (line, text) in texts {
        client.ask("continue", json!({"threadId": thread}));
        let stop = client.event("stopped");
        assert_eq!(
            (&stop["reason"], &stop["text"]),
            (&json!("data breakpoint"), &json!(text))
        );
        assert_eq!(client.frames(thread)[0].1, line, "{text}");
    }
    // A variable that is never assigned, and a row that is no part, cannot be watched.
    let frame = client.frame(thread);
    let wish = json!({"name": "n", "frameId": frame});
    let info = client.ask("dataBreakpointInfo", wish);
    assert_eq!(info["dataId"], Json::Null);
    let number = reference(&mut client, frame, "work");
    let wish = json!({"variablesReference": number, "name": "(bytecode)"});
    assert_eq!(client.ask("dataBreakpointInfo", wish)["dataId"], Json::Null);
    assert_eq!(client.run_to_end(thread), 0);
}

#[test]
fn bytes_are_read_and_written() {
    let (mut client, thread, frame) = Client::at_line(&program(DATA), 14);
    let bytes = client.evaluate(frame, "b");
    let reference = bytes["memoryReference"].clone();
    let read = |offset: i64, count: i64| {
        let mut wish = json!({"memoryReference": reference, "offset": offset});
        wish["count"] = count.into();
        wish
    };
    let answer = client.ask("readMemory", read(1, 10));
    assert_eq!(
        (&answer["data"], &answer["unreadableBytes"]),
        (&json!("AgM="), &json!(8))
    );
    assert_eq!(client.ask("readMemory", read(7, 2))["unreadableBytes"], 2);
    let message = client.refused("readMemory", read(-1, 2));
    assert!(message.contains("before the beginning"), "{message}");
    let write = json!({"memoryReference": reference, "offset": 2, "data": "CQk="});
    assert_eq!(client.ask("writeMemory", write)["bytesWritten"], 1);
    let wrong = json!({"memoryReference": reference, "data": "?"});
    assert!(client.refused("writeMemory", wrong).contains("no base64"));
    let wrong = json!({"memoryReference": "0x1000", "count": 8});
    assert!(client.refused("readMemory", wrong).contains("bytevectors"));
    assert_eq!(client.run_to_end(thread), 0);
    assert!(client.output("stdout").contains("#u8(1 2 9)"));
}
