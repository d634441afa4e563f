//! `canny debug --attach`: the prompt for processes that run, on this machine and by an adapter.

#[path = "support/asked.rs"]
mod asked;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use asked::{Program, command, wait_until};
use support::Outcome;

/// Requests come every 10 ms; two tasks handle them.
const SERVICE: &str = "\
(import (scheme base) (scheme write) (canny tasks) (canny channels))
(define requests (make-channel))
(define done 0)
(define (handle n)
  (let ((kept (list n (* 2 n))))
    (write kept (open-output-string))
    (set! done (+ done 1))
    (car kept)))
(define (serve)
  (let loop ((last #f))
    (loop (handle (channel-receive requests)))))
(start (serve))
(start (serve))
(display \"ready\")
(newline)
(flush-output-port)
(let loop ((n 0))
  (sleep 0.01)
  (channel-send! requests n)
  (loop (+ n 1)))
";

const IDLE: &str = "\
(import (scheme base) (scheme write) (canny tasks))
(display \"ready\")
(newline)
(flush-output-port)
(sleep 1000)
";

fn service() -> Program {
    Program::start(SERVICE, &[]).0
}

/// Attaches with commands; the outcome, whose errors have no prompts.
fn attached(program: &Program, commands: &[&str]) -> Outcome {
    outcome(program.attach_command("debug", &[]), commands)
}

fn outcome(mut command: Command, commands: &[&str]) -> Outcome {
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    let lines: String = commands.iter().map(|line| format!("{line}\n")).collect();
    // A prompt that is refused reads nothing.
    let _ = input.write_all(lines.as_bytes());
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    Outcome {
        code: output.status.code(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).replace("(debug) ", ""),
    }
}

#[track_caller]
fn assert_has(outcome: &Outcome, expected: &[&str]) {
    for line in expected {
        let has = outcome.errors.lines().any(|one| one.contains(line));
        assert!(has, "{line}: {}", outcome.errors);
    }
}

/// A prompt that people keep open.
struct Prompt {
    child: Child,
    input: Option<ChildStdin>,
    text: Arc<Mutex<String>>,
    /// The part of the text that was waited for.
    seen: usize,
}

impl Prompt {
    fn open(mut command: Command) -> Prompt {
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let text = Arc::new(Mutex::new(String::new()));
        let mut stream = child.stderr.take().expect("its texts");
        let to = text.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                to.lock()
                    .expect("no panic")
                    .push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Prompt {
            input: child.stdin.take(),
            child,
            text,
            seen: 0,
        }
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Waits for a text behind the one that was waited for before.
    #[track_caller]
    fn wait_for(&mut self, expected: &str) {
        let mut end = None;
        let (text, seen) = (self.text.clone(), self.seen);
        wait_until(expected, || {
            let text = text.lock().expect("no panic");
            end = text[seen..]
                .find(expected)
                .map(|at| seen + at + expected.len());
            end.is_some()
        });
        self.seen = end.expect("it was found");
    }

    /// Presses Ctrl-C until that has an effect: the prompt may not have read the last line yet.
    #[track_caller]
    fn interrupt_until(&mut self, expected: &str) {
        let (text, seen) = (self.text.clone(), self.seen);
        let length = || text.lock().expect("no panic").len();
        loop {
            let before = length();
            self.interrupt();
            wait_until("an answer", || length() > before);
            if text.lock().expect("no panic")[seen..].contains(expected) {
                return self.wait_for(expected);
            }
        }
    }

    fn interrupt(&self) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", "INT", &process]).status();
        assert!(sent.expect("kill is there").success());
    }

    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        support::wait(&mut self.child).and_then(|status| status.code())
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_service_has_the_prompt_of_a_program() {
    let program = service();
    let outcome = attached(
        &program,
        &[
            "break 6 if (> (car kept) 5)",
            "tbreak handle",
            "breakpoints",
            "continue",
            "delete 1",
            "breakpoints",
            "tbreak 6 if (> (car kept) 5)",
            "continue",
            "locals",
            "print (map (lambda (x) (> x 5)) kept)",
            "list",
            "backtrace",
            "up",
            "down",
            "next",
            "tasks",
            "watch done",
            "continue",
            "delete 4",
            "finish",
            "quit",
        ],
    );
    let outcome = outcome.exits_with(0);
    let id = program.child.id();
    assert_has(
        &outcome,
        &[
            &format!("Process {id} runs program.scm"),
            "  1  at 6 if (> (car kept) 5), met 0 times",
            "Breakpoint 2, task ",
            "handle at program.scm:5:",
            "There are no breakpoints.",
            "Breakpoint 3, task ",
            "handle at program.scm:6:",
            "kept = (",
            "(#t #t)",
            ">   6      (write kept (open-output-string))",
            "*  0  handle at program.scm:6:",
            "serve at program.scm:11:",
            "   0  main         ",
            "stands still here",
            "Breakpoint 4, task ",
            "done is ",
        ],
    );
    // No breakpoint is left, and the process goes on.
    let outcome = attached(
        &program,
        &["breakpoints", "break 7 hits 3", "continue", "breakpoints"],
    );
    let outcome = outcome.exits_with(0);
    assert_has(
        &outcome,
        &["There are no breakpoints.", "at 7 hits 3, met 3 times"],
    );
}

#[test]
fn tasks_that_stand_still_and_tasks_that_wait_are_looked_at() {
    let program = service();
    let outcome = attached(
        &program,
        &[
            "step",
            "task 0",
            "task 99",
            "break handle",
            "continue",
            "task 1",
            "print (+ 1000 1)",
            "task 2",
            "print (+ 1000 2)",
            "pause",
        ],
    );
    let outcome = outcome.exits_with(0);
    assert_has(
        &outcome,
        &[
            "The process runs: 'pause', 'task NUMBER' or a breakpoint stops it first.",
            "There is no task 99.",
            "1001",
            "1002",
            "This task stands still",
        ],
    );
    let errors = &outcome.errors;
    assert!(
        errors.contains("Task 0 waits for timer:\n      the program at program.scm:18:3")
            || errors.contains("the program at program.scm:"),
        "{errors}"
    );
}

#[test]
fn people_stop_what_runs_and_what_waits() {
    let program = service();
    let mut prompt = Prompt::open(program.attach_command("debug", &[]));
    prompt.say("log handle a request");
    prompt.say("continue");
    prompt.wait_for("a request\na request\n");
    prompt.interrupt();
    prompt.wait_for(" at program.scm:");
    prompt.wait_for("(debug) ");
    prompt.say("backtrace");
    prompt.wait_for("*  ");
    // Nothing is stopped by it where something stands still.
    prompt.interrupt();
    prompt.wait_for("(debug) ");
    assert_eq!(prompt.end(), Some(0));

    let (program, _) = Program::start(IDLE, &[]);
    let mut prompt = Prompt::open(program.attach_command("debug", &[]));
    prompt.say("pause");
    prompt.wait_for("No task runs code of the program.");
    prompt.say("continue");
    prompt.interrupt_until("No task runs code of the program.");
    prompt.say("quit");
    assert_eq!(prompt.end(), Some(0));

    // The task that stops later has the prompt then.
    let slow = IDLE.replace("(sleep 1000)", "(let loop () (sleep 1.2) (loop))");
    let (program, _) = Program::start(&slow, &[]);
    let mut prompt = Prompt::open(program.attach_command("debug", &[]));
    prompt.say("pause");
    prompt.wait_for("the program at program.scm:5:");
    prompt.say("backtrace");
    prompt.wait_for("  the program at program.scm:5:");
    assert_eq!(prompt.end(), Some(0));
}

/// A process that its prompt has lost is free again, even in the middle of an expression.
#[test]
fn people_who_vanish_leave_nothing_behind() {
    let program = service();
    let mut prompt = Prompt::open(program.attach_command("debug", &[]));
    prompt.say("break handle");
    prompt.say("continue");
    prompt.wait_for("Breakpoint 1, task ");
    prompt.say("delete 1");
    prompt.say("print (let loop ((i 0)) (loop (+ i 1)))");
    let second = attached(&program, &["quit"]).exits_with(71);
    assert_has(&second, &["canny: the process is being debugged already"]);
    drop(prompt);
    let mut last = None;
    wait_until("it is free again", || {
        let next = attached(&program, &["tbreak 7", "continue", "print (* 2 done)"]);
        let is_free = next.code == Some(0);
        last = Some(next);
        is_free
    });
    assert_has(&last.expect("it was tried"), &["handle at program.scm:7:"]);
}

#[test]
fn attaching_fails_in_one_line() {
    let program = service();
    let cases = [
        ("0", "canny: there is no process 0"),
        (
            &std::process::id().to_string(),
            "is no program that runs with this version of Canny",
        ),
    ];
    for (process, expected) in cases {
        let mut command = command(&program.directory);
        command.args(["debug", "--attach", process]);
        let outcome = outcome(command, &["quit"]).exits_with(71);
        assert_has(&outcome, &[expected]);
        assert_eq!(outcome.errors.lines().count(), 1, "{}", outcome.errors);
    }
    for words in [&["--attach", "x"][..], &["--attach", "1", "program.scm"]] {
        let mut command = command(&program.directory);
        command.arg("debug").args(words);
        outcome(command, &[]).exits_with(64);
    }
    // A program of `canny debug` has a debugger.
    let (debugged, _) = Program::start_with_input(SERVICE, &["debug"], b"continue\n");
    let outcome = attached(&debugged, &["quit"]).exits_with(71);
    assert_has(&outcome, &["canny: the process is being debugged already"]);
}

#[test]
fn the_end_of_the_process_is_told() {
    let program = service();
    let mut prompt = Prompt::open(program.attach_command("debug", &[]));
    prompt.say("continue");
    prompt.wait_for("(debug) ");
    program.signal("TERM");
    prompt.wait_for("canny: process ");
    prompt.wait_for("has ended\n");
    assert_eq!(prompt.end(), Some(71));
}

#[test]
fn a_process_of_another_machine_is_attached_to() {
    let program = service();
    let id = program.child.id();
    let mut adapter = command(&program.directory)
        .args(["dap", "--listen", "0.0.0.0:0"])
        .env("CANNY_DAP_TOKEN", "open sesame")
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(adapter.stderr.take().expect("its texts")).lines();
    let line = lines.next().expect("a line").expect("it is text");
    let port = line.rsplit_once(':').expect("an address").1.to_owned();
    std::thread::spawn(move || lines.for_each(drop));
    let there = |target: &str, token: &str, commands: &[&str]| {
        let mut command = command(&program.directory);
        command.args(["debug", "--attach", target]);
        command.env("CANNY_DAP_TOKEN", token);
        outcome(command, commands)
    };
    let named = format!("{id}@127.0.0.1:{port}");
    let commands = ["break handle", "continue", "print (+ 1000 1)", "quit"];
    let outcome = there(&named, "open sesame", &commands).exits_with(0);
    assert_has(&outcome, &["Breakpoint 1, task ", "1001"]);
    let outcome = there(&named, "wrong", &commands).exits_with(71);
    assert_has(&outcome, &["the token may be wrong"]);
    let outcome = there(&format!("0@127.0.0.1:{port}"), "open sesame", &commands);
    assert_has(&outcome.exits_with(71), &["canny: there is no process 0"]);
    // Without a number it is the only process; other tests may have more of them.
    let outcome = there(&format!("127.0.0.1:{port}"), "open sesame", &["quit"]);
    assert!(outcome.errors.contains(&id.to_string()), "{outcome:?}");
    adapter.kill().expect("it runs");
    adapter.wait().expect("it ends");
}
