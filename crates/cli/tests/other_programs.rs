//! Other programs, and what is left when a program ends: nothing.

mod support;

use std::path::Path;

use support::{program, scratch};

const IMPORTS: &str = "(import (scheme base) (scheme write) (scheme process-context) (scheme file) (canny \
    process) (canny fs))\n";

/// The number that a shell printed behind `ready`.
fn number(output: &str) -> String {
    output
        .split_whitespace()
        .nth(1)
        .expect("the number of the process")
        .to_owned()
}

#[test]
fn control_c_ends_the_program_that_is_being_run() {
    let text = "(run (shell-command \"echo ready $$; exec sleep 300\"))";
    let mut running = program(format!("{IMPORTS}{text}")).start();
    running.wait_for_output("\n");
    running.signal("INT");
    let outcome = running.wait().exits_with(130);
    let id = number(&outcome.output);
    assert!(
        !Path::new("/proc").join(&id).exists(),
        "{id} is still there"
    );
}

#[test]
fn a_handler_of_control_c_comes_after_the_program() {
    let text = "(guard (e (#t (display \"taken\")))
                  (run (shell-command \"echo ready $$; exec sleep 300\")))";
    let mut running = program(format!("{IMPORTS}{text}")).start();
    running.wait_for_output("\n");
    running.signal("INT");
    let outcome = running.wait().exits_with(0);
    assert!(outcome.output.ends_with("taken"), "{outcome:?}");
    let id = number(&outcome.output);
    assert!(
        !Path::new("/proc").join(&id).exists(),
        "{id} is still there"
    );
}

#[test]
fn what_both_write_comes_in_order() {
    program(format!(
        "{IMPORTS}(display \"one \")\n(run '(\"echo\" \"two\"))\n(display \"three\")"
    ))
    .run()
    .exits_with(0)
    .prints("one two\nthree");
}

#[test]
fn the_program_reads_what_is_left_of_the_input() {
    program(format!("{IMPORTS}(run '(\"cat\"))"))
        .input("from outside")
        .run()
        .exits_with(0)
        .prints("from outside");
}

#[test]
fn temporary_files_go_with_the_program() {
    for ending in [
        "",
        "(exit 3)",
        "(car 5)",
        "(raise 'oops)",
        "(emergency-exit 4)",
    ] {
        let directory = scratch();
        let text = format!(
            "{IMPORTS}(define directory {:?})
             (make-temporary-file #:directory directory)
             (define inner (make-temporary-directory #:directory directory))
             (touch-file (path-join inner \"x\"))
             (make-temporary-file #:directory directory #:prefix \"kept\" #:keep #t)
             (call-with-atomic-output-file (path-join directory \"atom\")
               (lambda (port) (write 'half port) {ending}))",
            directory.display()
        );
        let outcome = program(text).run();
        let mut names: Vec<String> = std::fs::read_dir(&directory)
            .expect("readable")
            .map(|entry| entry.expect("readable").file_name().to_string_lossy()[..4].to_owned())
            .collect();
        names.sort();
        let expected: &[&str] = if ending.is_empty() {
            &["atom", "kept"]
        } else {
            &["kept"]
        };
        assert_eq!(names, expected, "{ending} {outcome:?}");
    }
}

#[test]
fn a_program_without_descriptors_says_so_and_goes_on() {
    let text = "(define kept '())
                (define outcome
                  (guard (e ((file-error? e) 'refused))
                    (let loop ()
                      (set! kept (cons (spawn-process '(\"true\")) kept))
                      (loop))))
                (display outcome)
                (set! kept '())
                (do ((count 0 (+ count 1))) ((= count 50)) (run '(\"true\")))
                (display \" and on\")";
    assert_eq!(with_40_descriptors(text), "refused and on");
}

#[test]
fn descriptors_of_what_nobody_can_reach_are_given_back() {
    let text =
        "(import (canny io) (canny net) (only (srfi 170) directory-files open-file fd->port \
        binary-input))
                (define (exhaust open)
                  (guard (e ((error-object? e) (display (error-object-message e)) (newline)))
                    (let loop ((kept '())) (loop (cons (open) kept)))))
                (define name \"program.scm\")
                (exhaust (lambda () (open-input-file name)))
                (exhaust (lambda () (open-binary-input/output \"other\")))
                (exhaust (lambda () (open-file name binary-input 0)))
                (exhaust (lambda () (fd->port 0 binary-input)))
                (exhaust (lambda () (tcp-listen \"127.0.0.1\" 0)))
                (exhaust (lambda () (open-datagram-socket)))
                (exhaust (lambda () (spawn-process '(\"cat\"))))
                (define kept '())
                (guard (e (#t #f))
                  (let loop () (set! kept (cons (open-input-file name) kept)) (loop)))
                (exhaust (lambda () (directory-files \".\")))
                (set! kept '())
                (do ((n 0 (+ n 1))) ((= n 100)) (open-input-file name) (tcp-listen \"127.0.0.1\" 0))
                (display (pair? (directory-files \".\")))";
    let words = ": Too many open files\n";
    assert_eq!(
        with_40_descriptors(text),
        [
            "cannot open file",
            "cannot open file",
            "cannot open file",
            "cannot use the descriptor",
            "cannot listen at",
            "cannot listen at",
            "cannot start the program",
            "cannot read the directory",
            "#t"
        ]
        .join(words)
    );
}

/// Returns the output of a program that may have no more than 40 open files.
fn with_40_descriptors(text: &str) -> String {
    let canny = program(format!("{IMPORTS}{text}")).command();
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -n 40; exec \"$@\"", "sh"])
        .arg(canny.get_program())
        .args(canny.get_args());
    if let Some(directory) = canny.get_current_dir() {
        limited.current_dir(directory);
    }
    let output = limited.output().expect("a shell");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
