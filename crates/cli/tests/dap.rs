//! `canny dap`: programs debugged by a client of the Debug Adapter Protocol.

#[path = "dap/client.rs"]
mod client;
#[path = "dap/code.rs"]
mod code;
#[path = "dap/network.rs"]
mod network;
#[path = "dap/parts.rs"]
mod parts;
mod support;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use client::Client;
use serde_json::{Value as Json, json};
use support::{Canny, scratch};

const SUMS: &str = "\
(import (scheme base) (scheme write))
(define (add x y)
  (let ((sum (+ x y)))
    (* sum 2)))
(define (work n)
  (let loop ((i 0) (total 0))
    (if (= i n)
        total
        (loop (+ i 1) (+ total (add i 1))))))
(define table (list 1 2 (vector 3 4 \"five\")))
(display (work 5))
(newline)
";

/// A program in a file of its own.
fn program(text: &str) -> PathBuf {
    let path = scratch().join("program.scm");
    std::fs::write(&path, text).expect("it can be written");
    path
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_breakpoint_shows_frames_variables_and_values() {
    let file = program(SUMS);
    let mut client = Client::launch(&file, json!({}));
    let set = client.set(&file, json!([{"line": 4, "condition": "(= x 2)"}]));
    assert_eq!(set[0]["verified"], true, "{set}");
    client.ask("configurationDone", json!({}));
    let (reason, thread) = client.stop();
    assert_eq!(reason, "breakpoint");
    let frames = [("add", 4), ("work", 9), ("the program", 11)];
    let frames = frames.map(|(name, line)| (name.to_owned(), line));
    assert_eq!(client.frames(thread), frames);
    let frame = client.frame(thread);
    let variables = [pair("sum", "3"), pair("x", "2"), pair("y", "1")];
    assert_eq!(client.variables(frame), variables);
    // Values have parts, and parts have parts.
    let table = client.evaluate(frame, "table");
    assert_eq!(table["type"], "list");
    assert_eq!(table["indexedVariables"], 3);
    let parts = client.parts(&table["variablesReference"], json!({}));
    assert_eq!(parts[2], pair("2", "#(3 4 \"five\")"));
    assert_eq!(client.evaluate(frame, "(+ sum 100)")["result"], "103");
    // The names of the program and of the frame are offered.
    let wish = json!({"frameId": frame, "text": "(wor", "column": 5});
    let names = client.ask("completions", wish)["targets"].clone();
    assert_eq!(names[0]["label"], "work");
    assert_eq!(
        (&names[0]["start"], &names[0]["length"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "30\n");
}

#[test]
fn variables_are_changed_and_steps_are_gone() {
    let file = program(SUMS);
    let mut client = Client::launch(&file, json!({"stopOnEntry": true}));
    client.ask("configurationDone", json!({}));
    let (reason, thread) = client.stop();
    assert_eq!(reason, "entry");
    client.set(&file, json!([{"line": 4}]));
    client.ask("continue", json!({"threadId": thread}));
    client.stop();
    let frame = client.frame(thread);
    let scopes = client.ask("scopes", json!({"frameId": frame}))["scopes"].clone();
    let locals = scopes[0]["variablesReference"].clone();
    let wish = json!({"variablesReference": locals, "name": "sum", "value": "(* 10 10)"});
    assert_eq!(client.ask("setVariable", wish)["value"], "100");
    let arguments = json!({"threadId": thread});
    client.ask("next", arguments.clone());
    assert_eq!(client.stop().0, "step");
    assert_eq!(client.frames(thread)[0].0, "work");
    // The number of a frame that is gone leads nowhere.
    let message = client.refused("scopes", json!({"frameId": frame}));
    assert!(message.contains("no such frame"), "{message}");
    client.ask("stepIn", arguments.clone());
    assert_eq!(client.stop().0, "step");
    client.ask("stepOut", arguments);
    client.stop();
    client.set(&file, json!([]));
    assert_eq!(client.run_to_end(thread), 0);
    // 200 in place of 2 for the first sum.
    assert_eq!(client.output("stdout"), "228\n");
}

#[test]
fn breakpoints_count_hits_and_write_messages() {
    let file = program(SUMS);
    let mut client = Client::launch(&file, json!({}));
    let wishes = json!([
        {"line": 9, "logMessage": "i is {i}, {(list total)}"},
        {"line": 4, "hitCondition": "== 3"},
        {"line": 3, "hitCondition": "often"},
        {"line": 8, "condition": "(car n)"},
    ]);
    let set = client.set(&file, wishes);
    assert_eq!(set[2]["verified"], false);
    assert!(
        set[2]["message"].to_string().contains("no number of hits"),
        "{set}"
    );
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let frame = client.frame(thread);
    assert_eq!(client.evaluate(frame, "x")["result"], "2", "the third hit");
    client.ask("continue", json!({"threadId": thread}));
    // A condition that fails stops, and says so.
    client.stop();
    assert_eq!(client.frames(thread)[0], ("work".to_owned(), 8));
    let said = client.output("console");
    assert!(said.contains("i is 0, (0)\ni is 1, (2)\n"), "{said}");
    assert!(
        said.contains("the condition of a breakpoint: raised"),
        "{said}"
    );
    assert_eq!(client.run_to_end(thread), 0);
}

const BANK: &str = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define balance 100)
(define done (make-channel 10))
(define (withdraw amount name)
  (let ((before balance))
    (yield)
    (set! balance (- before amount))
    (channel-send! done name)))
(define (bank people)
  (start (withdraw 10 (car people)))
  (start (withdraw 20 (cadr people)))
  (channel-receive done)
  (channel-receive done)
  balance)
(display (bank '(one two)))
(newline)
";

/// A race is found by stopping tasks one by one: both have read the same balance.
#[test]
fn tasks_stop_one_by_one() {
    let file = program(BANK);
    let mut client = Client::launch(&file, json!({}));
    client.set(&file, json!([{"line": 7}]));
    client.ask("configurationDone", json!({}));
    let mut stopped = [client.stop().1, client.stop().1];
    stopped.sort_unstable();
    assert_eq!(stopped, [2, 3]);
    for (thread, amount) in [(2, "10"), (3, "20")] {
        let frame = client.frame(thread);
        let variables = client.variables(frame);
        assert!(variables.contains(&pair("amount", amount)), "{variables:?}");
        assert!(variables.contains(&pair("before", "100")), "{variables:?}");
    }
    // The stack goes on to whoever started the task.
    let frames = client.frames(2);
    let names: Vec<&str> = frames.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names[0].starts_with("withdraw"), "{names:?}");
    assert_eq!(names[1..], ["started by main", "bank", "the program"]);
    // The main task waits meanwhile, and says for what and where.
    let waits = json!({"id": 1, "name": "main: waits for channel"});
    while client.ask("threads", json!({}))["threads"][0] != waits {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let frames = client.frames(1);
    assert!(frames.contains(&("bank".to_owned(), 12)), "{frames:?}");
    let rows = client.ask("stackTrace", json!({"threadId": 1}))["stackFrames"].clone();
    let rows = rows.as_array().unwrap();
    let bank = rows.iter().find(|row| row["name"] == "bank").unwrap();
    let bank = bank["id"].as_i64().unwrap();
    assert_eq!(client.variables(bank), [pair("people", "(one two)")]);
    let scopes = client.ask("scopes", json!({"frameId": bank}))["scopes"].clone();
    let locals = json!({"variablesReference": scopes[0]["variablesReference"]});
    let people = client.ask("variables", locals)["variables"][0]["variablesReference"].clone();
    let parts = client.parts(&people, json!({"filter": "indexed"}));
    assert_eq!(parts, [pair("0", "one"), pair("1", "two")]);
    client.ask("pause", json!({"threadId": 1}));
    assert_eq!(client.stop(), ("pause".to_owned(), 1));
    client.ask("continue", json!({"threadId": 1}));
    for thread in stopped {
        client.ask("continue", json!({"threadId": thread}));
    }
    assert_eq!(client.end(), 0);
    // The withdrawal that is written last is the only one.
    let output = client.output("stdout");
    assert!(["80\n", "90\n"].contains(&output.as_str()), "{output}");
}

/// With `stopAll` the other tasks stand still, too, and go on together.
#[test]
fn all_tasks_stop_if_that_is_wished() {
    let file = program(
        "(import (scheme base) (scheme write) (canny tasks))
(define count 0)
(define (busy)
  (if (< count 1000000000)
      (begin (set! count (+ count 1)) (busy))))
(define worker (spawn busy))
(define (look n) (* n 2))
(sleep 0.05)
(look 1)
(sleep 0.05)
(look 2)
(cancel! worker)
",
    );
    let mut client = Client::launch(&file, json!({"stopAll": true}));
    client.ask(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": "look"}]}),
    );
    client.ask("configurationDone", json!({}));
    for argument in ["1", "2"] {
        let body = client.event("stopped");
        assert_eq!(
            (&body["reason"], &body["threadId"]),
            (&json!("function breakpoint"), &json!(1))
        );
        assert_eq!(body["allThreadsStopped"], true);
        let frame = client.frame(1);
        assert_eq!(client.evaluate(frame, "n")["result"], argument);
        // The other one comes to its next place soon, and stays there.
        let frames = loop {
            let number = client.send("stackTrace", json!({"threadId": 2}));
            let answer = client.answer(number);
            // The newest frame of a task that was preempted belongs to the library.
            if answer["success"] == true && answer["body"]["stackFrames"][0]["name"] == "busy" {
                break answer["body"]["stackFrames"].clone();
            }
        };
        let frame = frames[0]["id"].as_i64().expect("a number");
        let before = client.evaluate(frame, "count")["result"].clone();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(client.evaluate(frame, "count")["result"], before);
        let body = client.ask("continue", json!({"threadId": 1}));
        assert_eq!(body["allThreadsContinued"], true);
    }
    assert_eq!(client.end(), 0);
}

#[test]
fn objects_that_are_raised_stop_by_kind() {
    let file = program(
        "(import (scheme base) (scheme file))
(define (look name) (guard (e (#t 'none)) (open-input-file name) 'some))
(define (divide x) (guard (e (#t 'infinite)) (vector-ref (vector 1) x)))
(list (divide 5) (look \"/nowhere\"))
(error \"at last\" 1 2)
",
    );
    let mut client = Client::launch(&file, json!({}));
    let options = json!([{"filterId": "raised", "condition": "file"}]);
    let wish = json!({"filters": ["uncaught"], "filterOptions": options});
    let set = client.ask("setExceptionBreakpoints", wish)["breakpoints"].clone();
    assert_eq!(set.as_array().map(Vec::len), Some(2));
    client.ask("configurationDone", json!({}));
    let (reason, thread) = client.stop();
    assert_eq!(reason, "exception");
    let info = client.ask("exceptionInfo", json!({"threadId": thread}));
    assert_eq!(
        (&info["exceptionId"], &info["breakMode"]),
        (&json!("file"), &json!("always"))
    );
    client.ask("continue", json!({"threadId": thread}));
    client.stop();
    let info = client.ask("exceptionInfo", json!({"threadId": thread}));
    assert_eq!(info["breakMode"], "unhandled");
    assert!(
        info["description"].to_string().contains("at last"),
        "{info}"
    );
    assert_eq!(client.run_to_end(thread), 70);
}

#[test]
fn assignments_of_variables_stop() {
    let file = program(
        "(import (scheme base))
(define total 0)
(define (add x)
  (set! total (+ total x)))
(for-each add '(1 2 3))
",
    );
    let mut client = Client::launch(&file, json!({}));
    let info = client.ask("dataBreakpointInfo", json!({"name": "total"}));
    assert_eq!(info["accessTypes"], json!(["write"]));
    let wish = json!([{"dataId": info["dataId"], "hitCondition": "== 2"}, {"dataId": "what"}]);
    let set = client.ask("setDataBreakpoints", json!({"breakpoints": wish}))["breakpoints"].clone();
    assert_eq!(
        (&set[0]["verified"], &set[1]["verified"]),
        (&json!(true), &json!(false))
    );
    client.ask("configurationDone", json!({}));
    let (reason, thread) = client.stop();
    assert_eq!(reason, "data breakpoint");
    let frame = client.frame(thread);
    assert_eq!(client.evaluate(frame, "(list total x)")["result"], "(1 2)");
    // A variable of a procedure is not watched, and the answer says so.
    let info = client.ask("dataBreakpointInfo", json!({"name": "x", "frameId": frame}));
    assert_eq!(info["dataId"], Json::Null);
    assert_eq!(client.run_to_end(thread), 0);
}

#[test]
fn large_and_cyclic_values_are_shown_in_pages() {
    let file = program(
        "(import (scheme base))
(define many (make-vector 1000000 'x))
(vector-set! many 999999 'last)
(define ring (list 1 2 3))
(set-cdr! (cddr ring) ring)
(define bytes (bytevector 1 2 3))
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(define place (make-point 1 (list 2)))
(define (look) (vector-length many))
(look)
",
    );
    let mut client = Client::launch(&file, json!({}));
    client.ask(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": "look"}]}),
    );
    client.ask("configurationDone", json!({}));
    let (reason, thread) = client.stop();
    assert_eq!(reason, "function breakpoint");
    let frame = client.frame(thread);
    let many = client.evaluate(frame, "many");
    assert_eq!(many["indexedVariables"], 1_000_000);
    assert!(
        many["result"].as_str().is_some_and(|text| text.len() < 500),
        "{many}"
    );
    let wish = json!({"filter": "indexed", "start": 999_998, "count": 50});
    let parts = client.parts(&many["variablesReference"], wish);
    assert_eq!(parts, [pair("999998", "x"), pair("999999", "last")]);
    let all = client.parts(&many["variablesReference"], json!({}));
    assert_eq!(all.len(), 1000, "a page");
    let ring = client.evaluate(frame, "ring");
    assert_eq!(
        (&ring["type"], &ring["namedVariables"]),
        (&json!("pair"), &json!(2))
    );
    let place = client.evaluate(frame, "place");
    let parts = client.parts(&place["variablesReference"], json!({}));
    assert_eq!(parts, [pair("x", "1"), pair("y", "(2)")]);
    let bytes = client.evaluate(frame, "bytes");
    let parts = client.parts(
        &bytes["variablesReference"],
        json!({"start": 1, "count": 1}),
    );
    assert_eq!(parts, [pair("1", "2")]);
    assert_eq!(client.run_to_end(thread), 0);
}

/// Expressions that raise, escape, wait, stop at breakpoints, or are none.
#[test]
fn expressions_may_do_anything() {
    let file = program(
        "(import (scheme base) (scheme write) (canny tasks))
(define escape #f)
(define (helper x)
  (* x 2))
(define (look n)
  (+ n 1))
(display (call/cc (lambda (k) (set! escape k) (look 1))))
(newline)
",
    );
    let mut client = Client::launch(&file, json!({}));
    client.set(&file, json!([{"line": 6}, {"line": 4}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let frame = client.frame(thread);
    let evaluate = |text: &str| json!({"expression": text, "frameId": frame});
    let message = client.refused("evaluate", evaluate("(car n)"));
    assert!(message.starts_with("raised: "), "{message}");
    let message = client.refused("evaluate", evaluate("(+ 1"));
    assert!(message.contains("not closed"), "{message}");
    let message = client.refused("evaluate", evaluate("  "));
    assert!(message.contains("no expression"), "{message}");
    let waited = client.ask(
        "evaluate",
        evaluate("(await (spawn (lambda () (sleep 0.01) 7)))"),
    );
    assert_eq!(waited["result"], "7");
    // A breakpoint in what is evaluated stops there.
    let number = client.send("evaluate", evaluate("(helper 21)"));
    assert_eq!(client.stop(), ("breakpoint".to_owned(), thread));
    let inner = client.frame(thread);
    assert_eq!(client.evaluate(inner, "x")["result"], "21");
    client.ask("continue", json!({"threadId": thread}));
    let answer = client.answer(number);
    assert_eq!(answer["body"]["result"], "42");
    // The task stands where it stood before, which the client is told.
    assert_eq!(client.stop(), ("breakpoint".to_owned(), thread));
    let frame = client.frame(thread);
    assert_eq!(client.evaluate(frame, "n")["result"], "1");
    // One that leaves the frame for good takes the task along, and has no value.
    let leaving = json!({"expression": "(escape 'out)", "frameId": frame});
    client.set(&file, json!([{"line": 8}]));
    let number = client.send("evaluate", leaving);
    assert_eq!(client.stop(), ("breakpoint".to_owned(), thread));
    assert_eq!(client.answer(number)["success"], false);
    assert_eq!(client.run_to_end(thread), 0);
    assert_eq!(client.output("stdout"), "out\n");
}

const SERVICE: &str = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define requests (make-channel 10))
(define (handle n)
  (let ((square (* n n)))
    (write square (open-output-string))
    (+ square 1)))
(define (serve)
  (let loop ((count 0))
    (handle (channel-receive requests))
    (loop (+ count 1))))
(start (serve))
(display \"ready\")
(newline)
(flush-output-port)
(let loop ((i 0))
  (channel-send! requests i)
  (sleep 0.01)
  (loop (+ i 1)))
";

/// A process that does not outlive its test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that runs is debugged, left alone, lost by a client, and ended by another one.
#[test]
fn a_service_is_attached_to() {
    let file = program(SERVICE);
    let service = Command::new(env!("CARGO_BIN_EXE_canny"))
        .arg("run")
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut service = Service(service);
    let mut ready = [0; 6];
    let output = service.0.stdout.as_mut().expect("its output");
    std::io::Read::read_exact(output, &mut ready).expect("it says that it is ready");
    let wish = json!({"pid": service.0.id()});
    let attach = || {
        let mut client = Client::new();
        client.ask("attach", wish.clone());
        client.event("initialized");
        client
    };
    let mut client = attach();
    let message = Client::new().refused("attach", wish.clone());
    assert!(message.contains("being debugged already"), "{message}");
    client.set(&file, json!([{"line": 5}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    assert_eq!(client.frames(thread)[0], ("handle".to_owned(), 5));
    let frame = client.frame(thread);
    // The names of the standard library are known, and those of the program.
    assert_eq!(client.evaluate(frame, "(exact 2.0)")["result"], "2");
    client.set(&file, json!([]));
    // The optimizer has removed `handle`, whose body is where it was called.
    let removed = json!({"expression": "(handle 7)", "frameId": frame});
    assert!(client.refused("evaluate", removed).contains("no value"));
    assert_eq!(client.evaluate(frame, "(procedure? serve)")["result"], "#t");
    assert_eq!(
        client.evaluate(frame, "(channel? requests)")["result"],
        "#t"
    );
    let undefined = json!({"expression": "(nothing 1)", "frameId": frame});
    assert!(client.refused("evaluate", undefined).contains("nothing"));
    // The others go on, and all do when the client has left.
    client.ask("disconnect", json!({}));
    assert!(service.0.try_wait().expect("it can be asked").is_none());
    let mut client = attach();
    client.ask(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": "handle"}]}),
    );
    client.ask("configurationDone", json!({}));
    client.stop();
    client.kill();
    // A process that its client has lost is free again soon.
    let mut client = loop {
        let mut client = Client::new();
        let number = client.send("attach", wish.clone());
        if client.answer(number)["success"] == true {
            break client;
        }
    };
    client.event("initialized");
    client.ask("configurationDone", json!({}));
    client.ask("disconnect", json!({"terminateDebuggee": true}));
    assert!(!service.0.wait().expect("it ends").success());
}

/// A program that reads from a terminal is started by the editor in one.
#[test]
fn a_program_runs_in_the_editors_terminal() {
    let file = program(
        "(import (scheme base) (scheme write))
(define line (read-line))
(display (string-append \"read \" line))
",
    );
    let mut client = Client::new();
    let able = json!({"adapterID": "canny", "supportsRunInTerminalRequest": true});
    client.ask("initialize", able);
    let wish = json!({
        "program": file, "console": "integratedTerminal", "env": {"LANG": "C"},
    });
    let number = client.send("launch", wish);
    let asked = client.asked("runInTerminal");
    assert_eq!(asked["kind"], "integrated");
    let words = asked["args"].as_array().expect("a command").iter();
    let words: Vec<&str> = words.filter_map(Json::as_str).collect();
    let mut terminal = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = terminal.stdin.take();
    std::io::Write::write_all(&mut input.expect("its input"), b"this line\n").expect("it reads");
    assert_eq!(client.answer(number)["success"], true);
    client.event("initialized");
    client.set(&file, json!([{"line": 3}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let frame = client.frame(thread);
    assert_eq!(client.evaluate(frame, "line")["result"], "\"this line\"");
    client.ask("continue", json!({"threadId": thread}));
    client.event("terminated");
    let output = terminal.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "read this line");
}

/// Time in which a task stands still does not count for time limits.
#[test]
fn time_limits_stand_still_with_a_task() {
    let file = program(
        "(import (scheme base) (scheme write) (canny tasks))
(define (look n)
  (* n 2))
(display (with-timeout 0.3 (look 4)))
(newline)
(display (await (spawn (lambda () (look 5)) #:time-limit 0.3)))
(newline)
(display (await (spawn (lambda () (look 6))) #:timeout 0.3))
(newline)
",
    );
    let mut client = Client::launch(&file, json!({}));
    client.set(&file, json!([{"line": 3}]));
    client.ask("configurationDone", json!({}));
    for _ in 0..3 {
        let (_, thread) = client.stop();
        std::thread::sleep(std::time::Duration::from_millis(700));
        client.ask("continue", json!({"threadId": thread}));
    }
    assert_eq!(client.end(), 0);
    assert_eq!(client.output("stdout"), "8\n10\n12\n");
}

/// Nonsense is answered, and costs nothing else.
#[test]
fn wrong_requests_are_refused() {
    let file = program(SUMS);
    let mut client = Client::new();
    let early = client.refused("stackTrace", json!({"threadId": 1}));
    assert!(
        early.contains("'launch' or 'attach' comes first"),
        "{early}"
    );
    client.refused("launch", json!({}));
    client.refused("launch", json!({"program": "/nowhere.scm"}));
    let open = program("(import (scheme base)) (display");
    client.refused("launch", json!({"program": open}));
    client.refused("attach", json!({"pid": "x"}));
    client.refused("attach", json!({"pid": 0}));
    client.ask("launch", json!({"program": file}));
    client.event("initialized");
    client.write(b"what is this\r\n\r\nContent-Length: 2\r\n\r\n}{");
    client.set(&file, json!([{"line": 11}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let wrong = [
        ("stackTrace", json!({})),
        ("stackTrace", json!({"threadId": i64::MIN})),
        ("continue", json!({"threadId": i64::MAX})),
        ("next", json!({"threadId": -1})),
        ("variables", json!({"variablesReference": -5})),
        ("scopes", json!({"frameId": 77})),
        ("evaluate", json!([])),
        ("setBreakpoints", json!(5)),
        ("setVariable", json!({"variablesReference": 1})),
        ("setExpression", json!({"frameId": "x"})),
        ("source", json!({"sourceReference": 99})),
        ("restartFrame", json!({"frameId": 99})),
        ("exceptionInfo", json!({"threadId": thread})),
        ("disassemble", json!({"memoryReference": "0x1"})),
        (
            "disassemble",
            json!({
                "memoryReference": "0xffffffffffffffff",
                "offset": i64::MAX,
                "instructionCount": i64::MAX,
            }),
        ),
        (
            "readMemory",
            json!({"memoryReference": "bytes:9", "offset": i64::MIN}),
        ),
        ("writeMemory", json!({})),
        ("gotoTargets", json!({"line": 3})),
        ("goto", json!({"threadId": thread, "targetId": 7})),
        ("stepInTargets", json!({"frameId": -1})),
        ("stepIn", json!({"threadId": thread, "targetId": 7})),
        (
            "dataBreakpointInfo",
            json!({"variablesReference": 99, "name": "x"}),
        ),
        ("cancel", json!({})),
        ("nonsense", json!({})),
        ("launch", json!({"program": file})),
    ];
    for (command, arguments) in wrong {
        client.refused(command, arguments);
    }
    let lines = json!([{"line": "a"}, {}, 5, {"line": 1e12}, {"line": -3}]);
    let set = client.set(&file, lines);
    assert_eq!(set.as_array().map(Vec::len), Some(5), "{set}");
    client.ask(
        "setFunctionBreakpoints",
        json!({"breakpoints": [{"name": 5}, {}]}),
    );
    client.ask(
        "setExceptionBreakpoints",
        json!({"filters": ["whatever", 5]}),
    );
    client.ask("pause", json!({"threadId": i64::MIN}));
    client.set(&file, Json::Null);
    client.ask("setFunctionBreakpoints", json!({}));
    assert_eq!(client.run_to_end(thread), 0);
}

const ORDERS: &str = "\
(import (scheme base) (scheme write))
(define last-price #f)
(define (note! item)
  (let ((found (assq item '((apple . 3) (pear . 4)))))
    (set! last-price (and found (cdr found)))))
(define (add-up)
  (let loop ((item (read-line)) (sum 0))
    (if (eof-object? item)
        sum
        (begin
          (note! (string->symbol item))
          (display item)
          (newline)
          (loop (read-line)
                (+ sum last-price))))))
(add-up)
";

#[test]
fn a_recording_goes_backwards() {
    let file = program(ORDERS);
    let directory = file.parent().unwrap().to_owned();
    let recorded = Canny::new(directory.clone(), &["record", "program.scm"])
        .input("apple\nplum\npear\n")
        .run();
    assert_eq!(recorded.code, Some(70), "{recorded:#?}");
    let recording = directory.join("canny.recording");
    let mut client = Client::launch(&recording, json!({}));
    let able = client.event("capabilities");
    assert_eq!(able["capabilities"]["supportsStepBack"], true);
    client.ask("setExceptionBreakpoints", json!({"filters": ["uncaught"]}));
    let set = client.set(&file, json!([{"line": 11}]));
    assert_eq!(set[0]["verified"], true, "{set}");
    client.ask("configurationDone", json!({}));
    // The first two items, and the failure.
    for (reason, name) in [
        ("breakpoint", "add-up"),
        ("breakpoint", "add-up"),
        ("exception", "add-up"),
    ] {
        let (why, thread) = client.stop();
        assert_eq!(why, reason);
        let frames = client.frames(thread);
        assert!(frames.iter().any(|(frame, _)| frame == name), "{frames:?}");
        if reason == "breakpoint" {
            client.ask("continue", json!({"threadId": thread}));
        } else {
            client.ask("reverseContinue", json!({"threadId": thread}));
        }
    }
    // Back at the second one.
    let (_, thread) = client.stop();
    assert_eq!(client.frames(thread)[0], ("add-up".to_owned(), 11));
    let frame = client.frame(thread);
    assert_eq!(client.evaluate(frame, "item")["result"], "\"plum\"");
    assert_eq!(client.evaluate(frame, "last-price")["result"], "3");
    client.ask("next", json!({"threadId": thread}));
    client.stop();
    let frame = client.frame(thread);
    assert_eq!(client.frames(thread)[0], ("add-up".to_owned(), 12));
    assert_eq!(client.evaluate(frame, "last-price")["result"], "#f");
    client.ask("stepBack", json!({"threadId": thread}));
    client.stop();
    assert_eq!(client.frames(thread)[0].1, 11);
    let step = json!({"threadId": thread, "granularity": "instruction"});
    client.ask("stepBack", step);
    client.stop();
    assert_eq!(client.frames(thread)[0].1, 8);
    client.ask("continue", json!({"threadId": thread}));
    client.stop();
    client.set(&file, json!([]));
    client.ask("setExceptionBreakpoints", json!({"filters": []}));
    assert_eq!(client.run_to_end(thread), 70);
    assert_eq!(client.output("stdout"), "apple\nplum\n");
}

#[test]
fn a_program_that_is_not_replayed_does_not_go_backwards() {
    let file = program(SUMS);
    let mut client = Client::launch(&file, json!({"stopOnEntry": true}));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let message = client.refused("stepBack", json!({"threadId": thread}));
    assert!(message.contains("recording"), "{message}");
    assert_eq!(client.run_to_end(thread), 0);
}
