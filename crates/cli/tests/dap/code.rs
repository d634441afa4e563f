//! Code: its instructions, the calls of a line, other places to continue, and expressions that are
//! cancelled. Tasks that begin and end.

use serde_json::{Value as Json, json};

use super::client::Client;
use super::program;

const CALLS: &str = "\
(import (scheme base) (scheme write))
(define (one x)
  (+ x 1))
(define (two x)
  (* x 2))
(define (work n)
  (let ((sum (+ (one n) (two (one n)))))
    (display sum)
    (newline)
    (display \"end\")))
(work 5)
";

fn instructions(client: &mut Client, reference: &Json, offset: i64, count: i64) -> Vec<Json> {
    let wish = json!({
        "memoryReference": reference,
        "instructionOffset": offset,
        "instructionCount": count,
    });
    let rows = client.ask("disassemble", wish)["instructions"].clone();
    rows.as_array().expect("rows").clone()
}

fn address(row: &Json) -> u64 {
    let text = row["address"].as_str().expect("an address");
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
}

#[test]
fn code_is_disassembled() {
    let (mut client, thread, frame) = Client::at_line(&program(CALLS), 7);
    let stack = client.ask("stackTrace", json!({"threadId": thread}));
    let reference = stack["stackFrames"][0]["instructionPointerReference"].clone();
    let rows = instructions(&mut client, &reference, -50, 100);
    assert_eq!(rows.len(), 100);
    assert!(
        rows.windows(2)
            .all(|two| address(&two[0]) < address(&two[1]))
    );
    let own = &rows[50];
    assert_eq!(own["address"], reference);
    assert_eq!(own["line"], 7);
    let named = rows.iter().find(|row| row["symbol"] == "work");
    let entry = named.expect("the beginning of the procedure");
    assert_eq!(entry["instruction"], "global-ref r1 program 1:one");
    assert_eq!(rows[0]["presentationHint"], "invalid");
    let calls = rows.iter().filter(|row| {
        let text = row["instruction"].as_str().expect("a text");
        text.starts_with("call ")
    });
    assert_eq!(calls.count(), 3);
    // A procedure is a value with code.
    let procedure = client.evaluate(frame, "one");
    let rows = instructions(&mut client, &procedure["memoryReference"], 0, 1);
    assert_eq!(rows[0]["symbol"], "one");
    let message = client.refused(
        "disassemble",
        json!({
            "memoryReference": "0x10", "instructionCount": 1,
        }),
    );
    assert!(message.contains("no code"), "{message}");
    assert_eq!(client.run_to_end(thread), 0);
}

/// Where there is machine code.
#[cfg(target_arch = "x86_64")]
#[test]
fn machine_code_is_disassembled() {
    let text = "\
(import (scheme base))
(define (count n)
  (let loop ((i 0))
    (if (< i n) (loop (+ i 1)) i)))
(define (look) 'stop)
(let loop ()
  (count 100000)
  (look)
  (loop))
";
    let (mut client, thread, frame) = Client::at_line(&program(text), 8);
    // The code is compiled by another thread.
    let rows = loop {
        let number = client.evaluate(frame, "count")["variablesReference"].clone();
        let wish = json!({"variablesReference": number});
        let parts = client.ask("variables", wish)["variables"].clone();
        let parts = parts.as_array().expect("parts").clone();
        let native = parts.iter().find(|part| part["name"] == "(machine code)");
        if let Some(native) = native {
            break instructions(&mut client, &native["memoryReference"], 0, 3);
        }
        client.evaluate(frame, "(count 100000)");
    };
    for row in rows {
        assert_ne!(row["instruction"], "(bad)");
        let bytes = row["instructionBytes"].as_str().expect("bytes");
        assert!((1..=15).contains(&bytes.split(' ').count()), "{bytes}");
    }
    client.ask("terminate", json!({"threadId": thread}));
}

#[test]
fn one_of_the_calls_of_a_line_is_stepped_into() {
    let (mut client, thread, frame) = Client::at_line(&program(CALLS), 7);
    let targets = client.ask("stepInTargets", json!({"frameId": frame}))["targets"].clone();
    let labels: Vec<&str> = targets
        .as_array()
        .expect("targets")
        .iter()
        .filter_map(|target| target["label"].as_str())
        .collect();
    assert_eq!(labels.len(), 3);
    let two = labels.iter().position(|label| *label == "(two (one n))");
    let two = targets[two.expect("the outer call")]["id"].clone();
    client.ask("stepIn", json!({"threadId": thread, "targetId": two}));
    assert_eq!(client.stop().0, "step");
    assert_eq!(client.frames(thread)[0], ("two".to_owned(), 5));
    let message = client.refused("stepIn", json!({"threadId": thread, "targetId": two}));
    assert!(message.contains("no such call"), "{message}");
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "18\nend");
}

#[test]
fn a_frame_continues_at_another_line() {
    let file = program(CALLS);
    let mut client = Client::launch(&file, json!({}));
    client.set(&file, json!([{"line": 8}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    client.set(&file, json!([]));
    let target = |line: i64| json!({"source": {"path": file}, "line": line});
    // `sum` has no value yet at its own line, and other procedures are not this one.
    for line in [3, 99] {
        let targets = client.ask("gotoTargets", target(line))["targets"].clone();
        assert_eq!(targets, json!([]), "{line}");
    }
    let skip = client.ask("gotoTargets", target(10))["targets"][0].clone();
    assert_eq!(skip["line"], 10);
    client.ask("goto", json!({"threadId": thread, "targetId": skip["id"]}));
    assert_eq!(client.stop().0, "goto");
    assert_eq!(client.frames(thread)[0], ("work".to_owned(), 10));
    // Back again, with the variable that it had.
    let back = client.ask("gotoTargets", target(8))["targets"][0].clone();
    client.ask("goto", json!({"threadId": thread, "targetId": back["id"]}));
    client.stop();
    let frame = client.frame(thread);
    assert_eq!(client.evaluate(frame, "sum")["result"], "18");
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "18\nend");
}

#[test]
fn an_expression_is_cancelled() {
    let (mut client, thread, frame) = Client::at_line(&program(CALLS), 8);
    let endless = json!({"expression": "(let loop () (one 1) (loop))", "frameId": frame});
    let number = client.send("evaluate", endless);
    client.ask("cancel", json!({"requestId": number}));
    let answer = client.answer(number);
    assert_eq!(answer["success"], false, "{answer}");
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("cancelled"), "{message}");
    // The task stands where it stood.
    assert_eq!(client.evaluate(frame, "sum")["result"], "18");
    assert_eq!(client.run_to_end(thread), 0);
}

#[test]
fn tasks_stop_where_they_begin_and_end() {
    let file = program(
        "(import (scheme base) (canny tasks))
(define (job) 'done)
(define task (spawn job #:name 'worker))
(await task)
(define stuck (spawn (lambda () (sleep 1000))))
(cancel! stuck)
(guard (failure (#t 'cancelled)) (await stuck))
",
    );
    let mut client = Client::launch(&file, json!({}));
    let filters = json!({"filters": ["task-start", "task-end", "cancelled"]});
    let set = client.ask("setExceptionBreakpoints", filters)["breakpoints"].clone();
    assert!(
        set.as_array()
            .expect("rows")
            .iter()
            .all(|row| row["verified"] == true)
    );
    client.ask("configurationDone", json!({}));
    let mut reasons = Vec::new();
    loop {
        let body = client.event("stopped");
        let thread = body["threadId"].as_i64().expect("a task");
        let reason = body["reason"].as_str().expect("a reason").to_owned();
        let is_last = reason == "exception";
        if is_last {
            client.ask("setExceptionBreakpoints", json!({"filters": []}));
        }
        reasons.push((reason, thread));
        client.ask("continue", json!({"threadId": thread}));
        if is_last {
            break;
        }
    }
    assert_eq!(client.end(), 0);
    let reason = |name: &str, task: i64| (name.to_owned(), task + 1);
    let beginning = [
        reason("task start", 1),
        reason("task end", 1),
        reason("task start", 2),
    ];
    assert_eq!(reasons[..3], beginning);
    assert_eq!(reasons.last(), Some(&reason("exception", 2)));
}

#[test]
fn an_expression_ends_with_its_client() {
    let file = program(
        "(import (scheme base) (scheme file))
(define (one x)
  (+ x 1))
(define (work)
  (one 5)
  (call-with-output-file \"done\" (lambda (port) (write-string \"done\" port))))
(work)
",
    );
    let mut client = Client::launch(&file, json!({}));
    client.set(&file, json!([{"line": 5}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let frame = client.frame(thread);
    let endless = json!({"expression": "(let loop () (one 1) (loop))", "frameId": frame});
    client.send("evaluate", endless);
    client.kill();
    // The program goes on to its end.
    let done = file.with_file_name("done");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while std::fs::read_to_string(&done).ok().as_deref() != Some("done") {
        assert!(std::time::Instant::now() < end, "the program did not go on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

const MACROS: &str = "\
(import (scheme base) (scheme write))
(define-syntax my-or
  (syntax-rules ()
    ((_) #f)
    ((_ a) a)
    ((_ a b ...) (let ((t a)) (if t t (my-or b ...))))))
(define (check t)
  (my-or (even? t) (> t 3) (vector-ref (vector t) 0)))
(display (check 1))
";

/// The expansion of a macro is a text of its own, which is stepped through, and left.
#[test]
fn expansions_of_macros_are_stepped_into() {
    let (mut client, thread, frame) = Client::at_line(&program(MACROS), 8);
    let enter = |client: &mut Client, frame: i64| {
        let targets = client.ask("stepInTargets", json!({"frameId": frame}))["targets"].clone();
        let rows = targets.as_array().expect("targets").iter();
        let mut rows = rows.filter(|target| target["label"] == "expansion of my-or");
        let target = rows
            .next()
            .unwrap_or_else(|| panic!("no expansion: {targets}"));
        let target = target["id"].clone();
        client.ask("stepIn", json!({"threadId": thread, "targetId": target}));
        assert_eq!(client.stop().0, "step");
    };
    enter(&mut client, frame);
    let stack = client.ask("stackTrace", json!({"threadId": thread}));
    let (top, next) = (&stack["stackFrames"][0], &stack["stackFrames"][1]);
    assert_eq!(stack["totalFrames"], 3, "{stack}");
    assert_eq!(top["name"], "the expansion of my-or");
    assert_eq!((&next["name"], &next["line"]), (&json!("check"), &json!(8)));
    let source = &top["source"];
    let wish = json!({"source": source, "sourceReference": source["sourceReference"]});
    let text = client.ask("source", wish)["content"].clone();
    // The macro's variable is told from the one of the use.
    let expected = "\
(let ((t.1 (even? t)))
  (if t.1
      t.1
      (my-or (> t 3)
             (vector-ref (vector t) 0))))";
    assert_eq!(text, expected);
    let line = |client: &mut Client| {
        let frames = client.frames(thread);
        (frames[0].0.clone(), frames[0].1)
    };
    let inside = |line: i64| ("the expansion of my-or".to_owned(), line);
    assert_eq!(line(&mut client), inside(1));
    // It has the variables of the procedure.
    let frame = client.frame(thread);
    assert!(client.variables(frame).contains(&crate::pair("t", "1")));
    client.ask("next", json!({"threadId": thread}));
    client.stop();
    assert_eq!(line(&mut client), inside(2));
    client.ask("next", json!({"threadId": thread}));
    client.stop();
    assert_eq!(line(&mut client), inside(4));
    // The macro use in it has an expansion, too.
    let frame = client.frame(thread);
    enter(&mut client, frame);
    let frames = client.frames(thread);
    assert_eq!(frames[0..2], [inside(1), inside(4)]);
    client.ask("next", json!({"threadId": thread}));
    client.stop();
    assert_eq!(client.frames(thread)[0..2], [inside(2), inside(4)]);
    client.ask("stepOut", json!({"threadId": thread}));
    assert_eq!(client.stop().0, "step");
    assert_eq!(client.frames(thread)[0].0, "the program");
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "1");
}

const SENT: &str = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define channel (make-channel))
(define (taker)
  (let ((value (channel-receive channel)))
    (display value)
    (sleep 0.01)
    (newline)
    value))
(define (giver)
  (sleep 0.2)
  (channel-send! channel 7)
  (sleep 0.01))
(define (give)
  (giver)
  (display \"given\"))
(define taken (start (taker)))
(define given (start (give)))
(await taken)
(await given)
";

/// The stack of a task that was waiting continues where the value was sent, until it has waited for
/// something else.
#[test]
fn a_task_that_received_a_value_shows_who_sent_it() {
    let file = program(SENT);
    let (mut client, thread, _) = Client::at_line(&file, 5);
    let frames = client.frames(thread);
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    let woken = names
        .iter()
        .position(|name| *name == "last woken by task 2 in channel-send!");
    let woken = woken.unwrap_or_else(|| panic!("{frames:?}"));
    assert_eq!(frames[woken + 1], ("giver".to_owned(), 11));
    assert_eq!(frames[woken + 2], ("give".to_owned(), 14));
    assert!(names[woken + 3..].contains(&"started by main"), "{names:?}");
    // The rows of another task have no variables.
    let scopes = client.ask("scopes", json!({"frameId": 0}))["scopes"].clone();
    assert_eq!(scopes, json!([]));
    client.set(&file, json!([{"line": 7}]));
    client.ask("continue", json!({"threadId": thread}));
    assert_eq!(client.stop(), ("breakpoint".to_owned(), thread));
    let frames = client.frames(thread);
    let wakes = frames.iter().filter(|(name, _)| name.contains("woken"));
    assert_eq!(wakes.count(), 0, "{frames:?}");
    assert_eq!(client.run_to_end(thread), 0);
}

const EMITTED: &str = "\
(import (scheme base) (scheme write) (canny tasks) (canny supplies))
(define supplier (make-supplier))
(define (watch)
  (react
    (whenever (value (supplier-supply supplier))
      (display value)
      (done))))
(define watched (start (watch)))
(define (teller)
  (sleep 0.2)
  (supplier-emit! supplier 7))
(define told (start (teller)))
(await watched)
(await told)
";

/// The same for a value that was emitted to a supply.
#[test]
fn a_reaction_to_a_supply_shows_who_emitted_the_value() {
    let (mut client, thread, _) = Client::at_line(&program(EMITTED), 6);
    assert_eq!(thread, 2);
    let frames = client.frames(thread);
    let woken = frames
        .iter()
        .position(|(name, _)| name == "last woken by task 2 in supplier-emit!");
    let woken = woken.unwrap_or_else(|| panic!("{frames:?}"));
    // That was a tail call.
    assert_eq!(frames[woken + 1], ("teller".to_owned(), 11));
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "7");
}

const SENT_OFTEN: &str = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define channel (make-channel))
(define count 20000)
(define (give-all)
  (do ((i 0 (+ i 1)))
      ((= i count))
    (if (= i (- count 1)) (sleep 0.2))
    (channel-send! channel i)))
(define (check sum)
  (display sum))
(define (take-all)
  (do ((i 0 (+ i 1))
       (sum 0 (+ sum (channel-receive channel))))
      ((= i count) (check sum))))
(define given (start (give-all)))
(define taken (start (take-all)))
(await taken)
(await given)
";

/// Compiled code wakes tasks as well, and says from where.
#[test]
fn wakes_from_compiled_code_are_shown() {
    let (mut client, thread, _) = Client::at_line(&program(SENT_OFTEN), 10);
    let frames = client.frames(thread);
    let woken = frames
        .iter()
        .position(|(name, _)| name == "last woken by task 1 in channel-send!");
    let woken = woken.unwrap_or_else(|| panic!("{frames:?}"));
    assert_eq!(frames[woken + 1], ("give-all".to_owned(), 8));
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "199990000");
}
