//! Places of guests in traps, profiles and the debugger: offsets of instructions, and lines where there is
//! debug information.

#[allow(dead_code, reason = "other tests use the rest of the client")]
#[path = "dap/client.rs"]
mod client;
#[path = "../../wasm/tests/debug_information/mod.rs"]
mod debug_information;
mod support;

use std::collections::BTreeSet;
use std::path::Path;

use canny_profile::file;
use canny_profile::model::{Profile, Tier};
use canny_wasm::Module;
use client::Client;
use debug_information::{Lines, body_ranges, with_debug_information};
use serde_json::json;
use support::{Canny, Outcome, scratch};

/// The directory of sources that are not there.
const NOWHERE: &str = "/sources";

/// The bytes of a module. Function `n` of those named is on the lines from `100 * n + 1` on, one for each of
/// its first bytes of code.
fn binary(text: &str, directory: &str, names: &[&str]) -> Vec<u8> {
    let module = Module::read(text.as_bytes().to_vec()).expect("it is valid");
    let (start, bodies) = body_ranges(module.bytes());
    let lines = bodies.iter().zip(names).enumerate();
    let lines: Vec<Lines> = lines
        .map(|(number, (body, name))| Lines {
            name: (*name).to_owned(),
            addresses: body.start - start..body.end - start,
            rows: (0..body.end - body.start)
                .map(|byte| {
                    let line = 100 * number as u64 + 1 + u64::from(byte);
                    (body.start - start + byte, line)
                })
                .collect(),
            inlined: Vec::new(),
        })
        .collect();
    with_debug_information(module.bytes(), directory, &lines)
}

fn run(directory: &Path, policy: &str, words: &[&str]) -> Outcome {
    Canny::new(directory.to_owned(), words)
        .environment("CANNY_GUEST_CODE", policy)
        .run()
}

const POLICIES: [&str; 3] = ["never", "always", "loops"];

/// A function that traps, at whose byte 7 the division is, behind one local declaration.
const TRAP: &str = "(module
  (func $divide (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
  (func (export \"run\") (param i32) (result i32) (call $divide (local.get 0)))
  (func (export \"_start\") (drop (call $divide (i32.const 0)))))";

#[test]
fn traps_tell_offsets_and_lines() {
    let directory = scratch();
    std::fs::write(directory.join("plain.wat"), TRAP).expect("it can be written");
    let bytes = binary(TRAP, NOWHERE, &["divide", "run", "start"]);
    std::fs::write(directory.join("lined.wasm"), &bytes).expect("it can be written");
    let (_, bodies) = body_ranges(&bytes);
    // No local variables, a constant of two bytes, a variable of two bytes; a variable, a call.
    let [divide, call, start] = [
        bodies[0].start + 5,
        bodies[1].start + 3,
        bodies[2].start + 3,
    ];
    for policy in POLICIES {
        let outcome = run(
            &directory,
            policy,
            &["wasm", "--invoke", "run", "plain.wat", "0"],
        )
        .exits_with(70);
        let expected = format!("  in divide@{divide:#x}\n  in run@{call:#x}\n");
        assert!(outcome.errors.ends_with(&expected), "{}", outcome.errors);
        let outcome = run(&directory, policy, &["wasm", "lined.wasm"]).exits_with(70);
        let expected = format!(
            "  in divide@{divide:#x} at /sources/src/guest.c:6:2\n  \
               in _start@{start:#x} at /sources/src/guest.c:204:2\n"
        );
        assert!(outcome.errors.ends_with(&expected), "{}", outcome.errors);
    }
    let words = ["wasm", "--disassemble", "lined.wasm"];
    let listing = run(&directory, "never", &words).exits_with(0).output;
    assert!(listing.contains("; /sources/src/guest.c:6\n"), "{listing}");
}

/// A command that computes for some tenths of a second, in a function with a loop.
const BURN: &str = "(module
  (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))
  (memory (export \"memory\") 1)
  (func $burn (param $n i32) (result i32)
    (local $x i32)
    (loop $again
      (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1103)) (i32.const 12345)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))
    (local.get $x))
  (func $work (param $n i32)
    (loop $again
      (drop (call $burn (i32.const 1000000)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n))))
  (func (export \"run\") (param i32) (result i32) (call $burn (local.get 0)))
  (func (export \"_start\") (call $work (i32.const 100)) (call $exit (i32.const 3))))";

/// Names of functions of guests on stacks with time of their own, and the lines there.
fn guest_lines(profile: &Profile) -> BTreeSet<(String, u32, bool)> {
    let mut found = BTreeSet::new();
    for sample in &profile.rows.samples {
        for step in profile.walk(sample.stack, true) {
            let file = profile.function_file(step.frame.function);
            if file == Some("/sources/src/guest.c") {
                let name = profile.function_name(step.frame.function).to_owned();
                let is_compiled = step.frame.tier == Tier::Compiled;
                found.insert((name, step.frame.line, is_compiled));
            }
        }
    }
    found
}

fn read(path: &Path) -> Profile {
    let bytes = std::fs::read(path).expect("the profile was written");
    file::read(&bytes).expect("it can be read")
}

#[test]
fn profiles_of_commands_have_lines() {
    let directory = scratch();
    let bytes = binary(BURN, NOWHERE, &["burn", "work", "run", "start"]);
    std::fs::write(directory.join("burn.wasm"), bytes).expect("it can be written");
    for (policy, is_compiled) in [("never", false), ("always", true)] {
        let words = ["wasm", "profile", "-o", "out.profile", "burn.wasm", "word"];
        let outcome = run(&directory, policy, &words).exits_with(3).prints("");
        for expected in ["guest function", "line of a guest", "burn", "guest.c:"] {
            assert!(outcome.errors.contains(expected), "{}", outcome.errors);
        }
        let tier = if is_compiled {
            "machine code"
        } else {
            "interpreted"
        };
        assert!(outcome.errors.contains(tier), "{}", outcome.errors);
        let profile = read(&directory.join("out.profile"));
        assert_eq!(profile.header.program, "burn.wasm");
        assert_eq!(profile.header.arguments, ["word"]);
        let lines = guest_lines(&profile);
        let of = |name: &'static str, lines_of: std::ops::Range<u32>| {
            let found = lines.iter().any(|(found, line, tier)| {
                found == name && lines_of.contains(line) && *tier == is_compiled
            });
            assert!(found, "{name}: {lines:?}");
        };
        of("burn", 1..100);
        of("work", 101..200);
        of("_start", 301..400);
    }
    for (file, first) in [("out.folded", "_start;work;burn "), ("out.html", "<!")] {
        let words = ["wasm", "profile", "-o", file, "burn.wasm"];
        run(&directory, "always", &words).exits_with(3);
        let text = std::fs::read_to_string(directory.join(file)).expect("it was written");
        assert!(text.contains(first), "{file}");
    }
    for (words, message) in [
        (
            &["wasm", "profile", "--list", "burn.wasm"][..],
            "a profile is one of a WASI command",
        ),
        (
            &["wasm", "profile", "--invoke", "run", "burn.wasm"],
            "a profile is one of a WASI command",
        ),
        (
            &["wasm", "--flame", "burn.wasm"],
            "there is no option '--flame'",
        ),
        (
            &["wasm", "profile", "-o", "out", "burn.wasm"],
            "says no format",
        ),
        (&["wasm", "profile"], "which file?"),
    ] {
        let outcome = run(&directory, "hot", words).exits_with(64);
        assert!(outcome.errors.contains(message), "{}", outcome.errors);
    }
}

#[test]
fn profiles_of_programs_have_lines_of_guests() {
    let directory = scratch();
    let bytes = binary(BURN, NOWHERE, &["burn", "work", "run", "start"]);
    std::fs::write(directory.join("burn.wasm"), bytes).expect("it can be written");
    let program = "(import (scheme base) (canny wasm) (canny files))
      (define store (make-store))
      (define guest
        (instantiate (compile-module (file->bytevector \"burn.wasm\"))
                     #:imports `((\"wasi_snapshot_preview1\" (\"proc_exit\" . ,(lambda (n) n))))))
      (do ((i 0 (+ i 1))) ((= i 40)) (call-export guest \"run\" 1000000))";
    std::fs::write(directory.join("program.scm"), program).expect("it can be written");
    let words = ["profile", "-o", "out.profile", "program.scm"];
    run(&directory, "always", &words).exits_with(0);
    let lines = guest_lines(&read(&directory.join("out.profile")));
    let has = |name: &str| {
        lines
            .iter()
            .any(|(found, line, _)| found == name && *line > 0)
    };
    assert!(has("burn") && has("run"), "{lines:?}");
}

/// A guest that calls a procedure of Scheme by a function of its own, and a program with both.
const CALLING: &str = "(module
  (import \"env\" \"report\" (func $report (param i32) (result i32)))
  (func $inner (param i32) (result i32) (call $report (local.get 0)))
  (func (export \"run\") (param i32) (result i32)
    (i32.add (call $inner (local.get 0)) (i32.const 1))))";

const CALLER: &str = "(import (scheme base) (scheme write) (canny wasm) (canny files))
(define (report n)
  (let ((twice (* 2 n)))
    (if (= n 0)
        (error \"nothing to report\" n)
        (+ twice 0))))
(define guest
  (instantiate (compile-module (file->bytevector \"calling.wasm\"))
               #:imports `((\"env\" (\"report\" . ,report)))))
(define (call n)
  (let ((result (call-export guest \"run\" n)))
    (display result)
    (newline)))
(call 4)
(call 0)
";

fn calling(directory: &Path, sources: &str) -> [u32; 2] {
    let bytes = binary(CALLING, sources, &["inner", "run"]);
    std::fs::write(directory.join("calling.wasm"), &bytes).expect("it can be written");
    std::fs::write(directory.join("program.scm"), CALLER).expect("it can be written");
    let (_, bodies) = body_ranges(&bytes);
    [bodies[0].start + 3, bodies[1].start + 3]
}

#[test]
fn uncaught_errors_show_the_frames_of_guests() {
    let directory = scratch();
    let [inner, outer] = calling(&directory, NOWHERE);
    for policy in POLICIES {
        let outcome = run(&directory, policy, &["program.scm"]).exits_with(70);
        let frames: Vec<&str> = outcome
            .errors
            .lines()
            .filter(|line| line.starts_with("  in "))
            .collect();
        assert_eq!(
            frames,
            [
                "  in report at program.scm:5:9",
                &format!("  in inner@{inner:#x} of a guest at /sources/src/guest.c:4:2"),
                &format!("  in run@{outer:#x} of a guest at /sources/src/guest.c:104:2"),
                "  in call at program.scm:11:17",
                "  in the program at program.scm:15:1",
            ],
            "{}",
            outcome.errors
        );
    }
}

#[test]
fn the_debugger_shows_the_frames_of_guests() {
    let directory = scratch();
    let [inner, outer] = calling(&directory, NOWHERE);
    for policy in POLICIES {
        let commands = [
            "break 4",
            "continue",
            "backtrace",
            "up",
            "locals",
            "print 1",
            "continue",
            "backtrace",
            "quit",
        ];
        let outcome = Canny::new(directory.clone(), &["debug", "program.scm"])
            .environment("CANNY_GUEST_CODE", policy)
            .input(commands.join("\n") + "\n")
            .run()
            .exits_with(0);
        let text = outcome.errors.replace("(debug) ", "");
        let stack = |line: u32| {
            format!(
                "*  0  report at program.scm:4:9\n   \
                 1  inner@{inner:#x} of a guest at /sources/src/guest.c:4:2\n   \
                 2  run@{outer:#x} of a guest at /sources/src/guest.c:104:2\n   \
                 5  call at program.scm:11:17\n   \
                 6  the program at program.scm:{line}:1\n"
            )
        };
        assert!(text.contains(&stack(14)), "{text}");
        assert!(text.contains(&stack(15)), "{text}");
        // The file is not here, so that register code is shown.
        let selected = text.split(&stack(14)).nth(1).unwrap_or_default();
        let selected: Vec<&str> = selected.lines().take(4).collect();
        let [frame, code, locals, refused] = selected.as_slice() else {
            panic!("{text}");
        };
        assert!(frame.starts_with("inner@"), "{text}");
        assert!(code.contains(" call_import "), "{text}");
        // Values of machine code are in registers.
        let expected = match policy {
            "always" => "There are no variables.",
            _ => "local0: i32 = 4",
        };
        assert_eq!(*locals, expected);
        assert_eq!(*refused, "a frame of a guest has no variables of Scheme");
    }
}

#[test]
fn editors_get_the_frames_of_guests() {
    let directory = scratch();
    let [inner, _] = calling(&directory, NOWHERE);
    let mut client = Client::launch(&directory.join("program.scm"), json!({}));
    client.set(&directory.join("program.scm"), json!([{"line": 4}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let stack = client.ask("stackTrace", json!({"threadId": thread}));
    let frames = stack["stackFrames"].as_array().expect("frames");
    assert_eq!(frames[0]["name"], "report");
    assert_eq!(
        frames[1]["name"],
        format!("inner@{inner:#x} of a guest").as_str()
    );
    // The source is not on this disk, so that there is register code.
    let reference = frames[1]["source"]["sourceReference"].clone();
    let code = client.ask("source", json!({"sourceReference": reference}));
    let line = frames[1]["line"].as_u64().expect("a line") as usize;
    let text = code["content"].as_str().expect("text");
    let line = text.lines().nth(line - 1).expect("the line is there");
    assert!(line.contains(" call_import "), "{text}");
    let number = frames[1]["id"].as_i64().expect("a number");
    let shown = client.variables(number);
    assert_eq!(shown, [("local0: i32".to_owned(), "4".to_owned())]);
    let wish = json!({"frameId": number, "expression": "1"});
    assert!(
        client
            .refused("evaluate", wish)
            .contains("a frame of a guest")
    );
    client.kill();
}

#[test]
fn sources_on_the_disk_are_shown() {
    let directory = scratch();
    let path = directory.canonicalize().expect("it is there");
    calling(&directory, path.to_str().expect("it is text"));
    let source = path.join("src/guest.c");
    std::fs::create_dir(path.join("src")).expect("it can be made");
    let lines: Vec<String> = (1..200).map(|line| format!("line({line});")).collect();
    std::fs::write(&source, lines.join("\n")).expect("it can be written");
    let commands = ["break 4", "continue", "up", "up", "quit"];
    let outcome = Canny::new(directory.clone(), &["debug", "program.scm"])
        .input(commands.join("\n") + "\n")
        .run()
        .exits_with(0);
    for line in ["    4  line(4);\n", "  104  line(104);\n"] {
        assert!(outcome.errors.contains(line), "{}", outcome.errors);
    }
    let mut client = Client::launch(&directory.join("program.scm"), json!({}));
    client.set(&directory.join("program.scm"), json!([{"line": 4}]));
    client.ask("configurationDone", json!({}));
    let (_, thread) = client.stop();
    let stack = client.ask("stackTrace", json!({"threadId": thread}));
    for (index, line) in [(1, 4), (2, 104)] {
        let frame = &stack["stackFrames"][index];
        assert_eq!(
            frame["source"]["path"],
            source.to_str().expect("it is text")
        );
        assert_eq!(frame["line"], line);
        assert_eq!(frame["column"], 2);
    }
    client.kill();
}
