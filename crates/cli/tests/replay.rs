//! `canny record` and `canny replay`: the same run again, forwards and backwards.

mod support;

use std::path::{Path, PathBuf};

use support::{Canny, Outcome, root, scratch};

/// A program that asks the system much: files, clocks, random bytes, tasks, processes, sockets, a
/// database.
const PROGRAM: &str = r#"
(import (scheme base) (scheme write) (scheme read) (scheme file) (scheme time)
        (scheme process-context) (canny tasks) (canny crypto) (canny process) (canny net)
        (canny sqlite) (only (srfi 170) create-directory directory-files))
(define (show . parts) (for-each display parts) (newline))
(show (command-line) (current-second) " " (current-jiffy))
(show (random-bytes 8) (get-environment-variable "REPLAYED"))
(call-with-output-file "out.txt" (lambda (port) (write '(a "b" 1/2) port)))
(show (call-with-input-file "out.txt" read) (file-exists? "out.txt") (file-exists? "nothing"))
(show (guard (object ((file-error? object) (error-object-message object)))
        (open-input-file "nothing")))
(create-directory "made")
(show (directory-files "made"))
(show (read-line) (read-line) (read-line))
(define (worker name times)
  (do ((i 0 (+ i 1))) ((= i times))
    (show name i)
    (sleep (/ (bytevector-u8-ref (random-bytes 1) 0) 50000))))
(with-tasks (start (worker "a" 4)) (start (worker "b" 4)) (start (worker "c" 4)))
(show (run->string '("sh" "-c" "echo $$; cat out.txt")))
(show (status->string (run '("sh" "-c" "exit 3"))))
(let* ((listener (tcp-listen "127.0.0.1" 0))
       (server (start (call-with-connection (accept-connection listener)
                        (lambda (input output)
                          (write-bytevector (bytevector-append #u8(7) (read-bytevector 3 input)) output))))))
  (call-with-connection
      (tcp-connect "127.0.0.1" (address-port (listener-address listener)))
    (lambda (input output)
      (write-bytevector #u8(1 2 3) output)
      (flush-output-port output)
      (show "got " (read-bytevector 9 input) (address-port (listener-address listener)))))
  (await server))
(let ((database (open-database "data.db")))
  (execute database "create table t (x, y)")
  (execute database "insert into t values (?, ?)" 1 2.5)
  (show (query database "select * from t") (last-insert-id database)))
(vector-ref (vector 1 2) 2)
"#;

/// Runs a command in a directory.
fn run(directory: &Path, words: &[&str], input: &str) -> Outcome {
    Canny::new(directory.to_owned(), words)
        .environment("REPLAYED", "yes")
        .input(input)
        .run()
}

/// Errors without the line about the recording.
fn errors(outcome: &Outcome) -> String {
    let lines = outcome.errors.lines();
    let lines = lines.filter(|line| !line.starts_with("canny: canny.recording has"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Records a program in a new directory.
fn recorded(program: &str, input: &str) -> (PathBuf, Outcome) {
    let directory = scratch();
    std::fs::write(directory.join("program.scm"), program).unwrap();
    let outcome = run(&directory, &["record", "program.scm", "x", "--y"], input);
    (directory, outcome)
}

#[test]
fn a_replay_does_the_same_without_the_world() {
    let (directory, outcome) = recorded(PROGRAM, "one\ntwo\n");
    assert_eq!(outcome.code, Some(70), "{}", outcome.errors);
    assert!(outcome.output.contains("got #u8(7 1 2 3)"), "{outcome:#?}");
    // Another directory has the recording only.
    let elsewhere = scratch();
    let recording = elsewhere.join("it.recording");
    std::fs::rename(directory.join("canny.recording"), &recording).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let again = Canny::new(elsewhere.clone(), &["replay", "it.recording"])
        .environment("REPLAYED", "no")
        .run();
    assert_eq!(again.code, Some(70), "{}", again.errors);
    assert_eq!(again.output, outcome.output);
    assert_eq!(errors(&again), errors(&outcome));
    assert!(!elsewhere.join("out.txt").exists() && !elsewhere.join("data.db").exists());
}

#[test]
fn programs_of_other_tests_replay() {
    for directory in ["tests/torture", "examples"] {
        for program in support::programs(&root().join(directory)) {
            let stem = program.file_stem().unwrap().to_str().unwrap().to_owned();
            let input = root().join(format!("examples/input/{stem}.txt"));
            let input = std::fs::read_to_string(input).unwrap_or_default();
            let directory = scratch();
            let recording = directory.join("canny.recording");
            let recording = recording.to_str().unwrap();
            let words = ["record", "-o", recording, program.to_str().unwrap()];
            let outcome = run(&directory, &words, &input);
            let again = run(&directory, &["replay", recording], "");
            assert_eq!(again.code, outcome.code, "{stem}: {}", again.errors);
            assert_eq!(again.output, outcome.output, "{stem}");
        }
    }
}

/// A program that fails for something that happened some lines of input before.
const FAILURE: &str = "\
(import (scheme base) (scheme write))
(define prices '((apple . 3) (pear . 4)))
(define (price item)
  (let ((found (assq item prices)))
    (if found
        (cdr found)
        #f)))
(define last-price #f)
(define (note! item)
  (set! last-price (price item)))
(define (run)
  (let loop ((line (read-line)) (sum 0))
    (if (eof-object? line)
        (display sum)
        (begin
          (display line)
          (newline)
          (note! (string->symbol line))
          (loop (read-line)
                (+ sum last-price))))))
(run)
";

/// The lines of a prompt that looks at a replay of it.
fn looked_at(program: &str, input: &str, commands: &[&str]) -> (Vec<String>, Outcome) {
    let (directory, _) = recorded(program, input);
    let outcome = run(
        &directory,
        &["replay", "-t", "canny.recording"],
        &(commands.join("\n") + "\n"),
    );
    let text = outcome.errors.replace("(debug) ", "");
    (text.lines().map(str::to_owned).collect(), outcome)
}

/// The places among lines of the prompt.
fn places(lines: &[String]) -> Vec<&str> {
    let place = |line: &'_ String| line.contains(" at program.scm:") && !line.starts_with("  ");
    let shown = lines.iter().filter(|line| place(line));
    shown.map(String::as_str).collect()
}

#[test]
fn a_failure_is_followed_back_to_its_cause() {
    let (lines, outcome) = looked_at(
        FAILURE,
        "apple\nplum\npear\n",
        &[
            "continue",
            "print last-price",
            "watch last-price",
            "reverse-continue",
            "print item",
            "reverse-step",
            "reverse-next",
            "reverse-finish",
            "print item",
            "next",
            "next",
            "reverse-continue",
            "reverse-continue",
            "quit",
        ],
    );
    let expected = "\
the program at program.scm:2:16
    2  (define prices '((apple . 3) (pear . 4)))
Raised: #<condition type: +: argument 2 is not a number>
run at program.scm:20:17
   20                  (+ sum last-price))))))
#f
Breakpoint 2 at last-price.
Breakpoint 2, note! at program.scm:10:3
   10    (set! last-price (price item)))
last-price is 3, will be #f
plum
price at program.scm:7:9
    7          #f)))
price at program.scm:5:9
    5      (if found
note! at program.scm:10:21
   10    (set! last-price (price item)))
plum
Breakpoint 2, note! at program.scm:10:3
   10    (set! last-price (price item)))
last-price is 3, will be #f
run at program.scm:19:17
   19            (loop (read-line)
Breakpoint 2, note! at program.scm:10:3
   10    (set! last-price (price item)))
last-price is 3, will be #f
Breakpoint 2, note! at program.scm:10:3
   10    (set! last-price (price item)))
last-price is #f, will be 3";
    let text = lines.join("\n");
    assert_eq!(text, expected);
    // Output that was shown before is not shown again.
    assert_eq!(outcome.output, "apple\n");
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn steps_back_are_steps_forward_in_the_other_order() {
    let program = "\
(import (scheme base) (canny tasks))
(define (square x)
  (* x x))
(define (sum-of f list)
  (let loop ((rest list) (sum 0))
    (if (null? rest)
        sum
        (loop (cdr rest)
              (+ sum
                 (f (car rest)))))))
(define (main)
  (sum-of square '(1 2))
  (read-line)
  (guard (object (#t object))
    (raise 'caught))
  (await (start
           (square 3)))
  (call/cc (lambda (k)
             (k 1)))
  (for-each (lambda (x)
              (if (> x 1)
                  (error \"too large\" x)
                  (read-line)))
            '(0 1 2)))
(main)
";
    let forward = vec!["step"; 80];
    let (forward, _) = looked_at(program, "a\nb\nc\n", &forward);
    let mut back = vec!["continue"];
    back.extend(["reverse-step"; 60]);
    back.push("quit");
    let (back, _) = looked_at(program, "a\nb\nc\n", &back);
    assert!(back.contains(&"This is the beginning.".to_owned()));
    // The first stop is that of the beginning, the second one that of the failure.
    let mut back: Vec<&str> = places(&back).into_iter().skip(2).collect();
    back.dedup();
    back.reverse();
    let forward = places(&forward);
    assert!(back.len() > 30, "{back:#?}");
    let forward: Vec<&str> = forward.into_iter().take(back.len()).collect();
    assert_eq!(back, forward);
}

#[test]
fn people_go_back_from_the_end() {
    let (lines, outcome) = looked_at(
        FAILURE,
        "apple\npear\n",
        &[
            "continue",
            "locals",
            "break 17",
            "reverse-continue",
            "print line",
            "continue",
            "reverse-step",
            "continue",
            "quit",
        ],
    );
    let expected = "\
the program at program.scm:2:16
    2  (define prices '((apple . 3) (pear . 4)))
The program has ended.
The program has ended: go back, or quit.
Breakpoint 2 at line 17.
Breakpoint 2, run at program.scm:17:11
   17            (newline)
\"pear\"
The program has ended.
run at program.scm:14:9
   14          (display sum)
The program has ended.";
    assert_eq!(lines.join("\n"), expected);
    assert!(outcome.output.starts_with("apple\npear\n7"), "{outcome:#?}");
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn expressions_do_not_disturb_a_replay() {
    let (lines, outcome) = looked_at(
        FAILURE,
        "apple\npear\n",
        &[
            "break 18",
            "continue",
            "print (let loop ((i 0)) (if (< i 1000) (loop (+ i 1)) i))",
            "print (current-output-port)",
            "print (price 'apple)",
            "step",
            "step",
            "reverse-step",
            "print (begin (price 'pear) item)",
            "reverse-step",
            "delete 2",
            "continue",
        ],
    );
    let expected = [
        "the program at program.scm:2:1",
        "Breakpoint 2, run at program.scm:18:11",
        "note! at program.scm:10:20",
        "price at program.scm:4:16",
        "note! at program.scm:10:20",
        "run at program.scm:18:18",
    ];
    let shown: Vec<&str> = places(&lines);
    assert!(shown.len() >= expected.len(), "{shown:#?}");
    for (shown, expected) in shown.iter().zip(expected) {
        let place = expected
            .rsplit(' ')
            .next()
            .unwrap()
            .rsplit_once(':')
            .unwrap()
            .0;
        assert!(shown.contains(place), "{shown} is not {expected}");
    }
    assert_eq!(outcome.output, "apple\npear\n7");
}

#[test]
fn breakpoints_may_go_before_a_step_back() {
    let (directory, _) = recorded(FAILURE, "apple\nplum\n");
    // The recording is named relative to another directory than the program's.
    let elsewhere = scratch();
    let recording = elsewhere.join("it.recording");
    std::fs::copy(directory.join("canny.recording"), recording).unwrap();
    let commands = [
        "break 12",
        "break 18",
        "continue",
        "continue",
        "delete 2",
        "reverse-step",
        "continue",
        "delete 2",
        "reverse-step",
        "quit",
    ];
    let words = ["replay", "-t", "it.recording"];
    let outcome = run(&elsewhere, &words, &(commands.join("\n") + "\n"));
    let text = outcome.errors.replace("(debug) ", "");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let shown = [
        "the program at program.scm:2:16",
        "Breakpoint 2, run at program.scm:12:20",
        "Breakpoint 3, run at program.scm:18:12",
        "run at program.scm:17:11",
        "Breakpoint 2, run at program.scm:18:12",
    ];
    assert_eq!(places(&lines), shown, "{text}");
    assert!(text.contains("It is not known where this is"), "{text}");
}

#[test]
fn only_a_replay_goes_backwards() {
    let directory = scratch();
    std::fs::write(directory.join("program.scm"), FAILURE).unwrap();
    let outcome = run(
        &directory,
        &["debug", "program.scm"],
        "reverse-step\nquit\n",
    );
    assert!(outcome.errors.contains("Only a replay goes backwards"));
}

#[test]
fn what_is_no_recording_is_refused() {
    let directory = scratch();
    std::fs::write(directory.join("text"), "(display 1)").unwrap();
    let missing = run(&directory, &["replay", "nothing"], "");
    assert!(
        missing.errors.contains("cannot replay nothing"),
        "{}",
        missing.errors
    );
    let text = run(&directory, &["replay", "text"], "");
    assert!(text.errors.contains("is no recording"), "{}", text.errors);
    let without = run(&directory, &["replay"], "");
    assert!(
        without.errors.contains("takes a recording"),
        "{}",
        without.errors
    );
    let program = run(&directory, &["record", "nothing.scm"], "");
    assert!(
        program.errors.contains("cannot read nothing.scm"),
        "{}",
        program.errors
    );
    let unwritable = run(&directory, &["record", "-o", "no/where", "text"], "");
    assert!(
        unwritable.errors.contains("cannot write no/where"),
        "{}",
        unwritable.errors
    );
}

/// A generator of numbers that look random (Knuth's constants).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn damaged_recordings_end_with_a_message() {
    let (directory, _) = recorded(FAILURE, "apple\npear\nplum\n");
    let bytes = std::fs::read(directory.join("canny.recording")).unwrap();
    let mut numbers = Numbers(1);
    for round in 0..60 {
        let mut damaged = bytes.clone();
        if round % 3 == 0 {
            damaged.truncate(numbers.below(bytes.len()));
        } else {
            let at = numbers.below(bytes.len());
            damaged[at] = numbers.below(256) as u8;
        }
        std::fs::write(directory.join("damaged"), &damaged).unwrap();
        let outcome = run(&directory, &["replay", "damaged"], "");
        // Exit codes of the command, never a panic or a signal.
        let code = outcome.code.expect("it ended by itself");
        assert!(
            [0, 64, 65, 66, 70].contains(&code),
            "{code}: {}",
            outcome.errors
        );
        assert!(!outcome.errors.contains("panicked"), "{}", outcome.errors);
    }
}

#[test]
fn a_program_that_differs_is_told_so() {
    let (directory, _) = recorded("(display (read-line)) (flush-output-port)\n", "text\n");
    let file = directory.join("canny.recording");
    let bytes = std::fs::read(&file).unwrap();
    // The source in the recording is changed to one of the same length.
    let before = b"(display (read-line))";
    let at = bytes.windows(before.len()).position(|part| part == before);
    let mut changed = bytes.clone();
    let at = at.expect("the recording has the source");
    changed[at..at + before.len()].copy_from_slice(b"(display (read-char))");
    std::fs::write(&file, changed).unwrap();
    let outcome = run(&directory, &["replay", "canny.recording"], "");
    assert!(
        outcome.errors.contains("the replay cannot go on after"),
        "{}",
        outcome.errors
    );
    assert_eq!(outcome.code, Some(70));
}
