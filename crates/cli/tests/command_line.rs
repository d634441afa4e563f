//! The command line: where a program comes from, options, exit codes.

mod support;

use support::{canny, program};

const HELLO: &str = "(import (scheme base) (scheme write))\n(display \"hello\")\n(newline)\n";

#[test]
fn a_file_is_run() {
    program(HELLO).run().exits_with(0).prints("hello\n");
}

#[test]
fn a_file_may_be_called_like_a_command() {
    let text = "(import (scheme base) (scheme write))\n(display \"mine\")";
    for words in [
        &["run", "explain"][..],
        &["./explain"],
        &["--no-jit", "./explain"],
    ] {
        canny(words)
            .file("explain", text)
            .run()
            .exits_with(0)
            .prints("mine");
    }
    let outcome = canny(&["explain", "unclosed"])
        .file("explain", text)
        .run()
        .exits_with(0);
    assert!(outcome.output.starts_with("unclosed: "), "{outcome:?}");
}

#[test]
fn a_program_comes_from_standard_input() {
    canny(&[])
        .input(HELLO)
        .run()
        .exits_with(0)
        .prints("hello\n");
    canny(&["-"])
        .input(HELLO)
        .run()
        .exits_with(0)
        .prints("hello\n");
}

#[test]
fn an_expression_is_evaluated_and_its_value_printed() {
    canny(&["-e", "(+ 1 2)"]).run().exits_with(0).prints("3\n");
    canny(&["-e", "(define x 5)", "-e", "(* x x)"])
        .run()
        .exits_with(0)
        .prints("25\n");
    canny(&["-e", "\"a\\nb\""])
        .run()
        .exits_with(0)
        .prints("\"a\\nb\"\n");
}

#[test]
fn several_values_are_printed_one_by_one() {
    canny(&["-e", "(values 1 2)"])
        .run()
        .exits_with(0)
        .prints("1\n2\n");
    canny(&["-e", "(values)"]).run().exits_with(0).prints("");
}

#[test]
fn a_program_without_import_gets_the_interaction_environment() {
    program(
        "(define-record-type point (make-point x) point? (x point-x))\n(display (point-x (make-point 7)))")
        .run()
        .exits_with(0)
        .prints("7");
}

#[test]
fn the_first_line_may_name_the_interpreter() {
    program(format!("#!/usr/bin/env canny\n{HELLO}"))
        .run()
        .exits_with(0)
        .prints("hello\n");
}

#[test]
fn arguments_reach_the_program() {
    let text =
        "(import (scheme base) (scheme write) (scheme process-context))\n(write (command-line))";
    canny(&["program.scm", "a", "--b", "-e"])
        .file("program.scm", text)
        .run()
        .exits_with(0)
        .prints("(\"program.scm\" \"a\" \"--b\" \"-e\")");
}

#[test]
fn help_and_version_are_worth_reading() {
    let help = canny(&["--help"]).run().exits_with(0);
    for word in [
        "-A",
        "-I",
        "-D",
        "-e",
        "--heap-limit",
        "--stack-limit",
        "expand",
        "disasm",
        "-V",
        "CANNY_LIBRARY_PATH",
        "NO_COLOR",
        "Exit codes",
    ] {
        assert!(
            help.output.contains(word),
            "{word} is missing in\n{}",
            help.output
        );
    }
    assert_eq!(canny(&["-h"]).run().output, help.output);
    let version = canny(&["-V"]).run().exits_with(0);
    let first = format!("canny {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(version.output.lines().next(), Some(&*first), "{version:?}");
    assert!(
        version
            .output
            .lines()
            .skip(1)
            .all(|line| line.starts_with('(')),
        "{version:?}"
    );
    assert!(
        version.output.contains("(languages scheme r5rs r7rs)"),
        "{version:?}"
    );
    assert!(version.output.contains("(scheme.features "), "{version:?}");
}

#[test]
fn a_wrong_command_line_is_64() {
    canny(&["--bogus"])
        .run()
        .exits_with(64)
        .complains("--bogus");
    canny(&["-e"]).run().exits_with(64);
    canny(&["expand"]).run().exits_with(64);
    canny(&["--heap-limit", "much", "x.scm"])
        .run()
        .exits_with(64)
        .complains("--heap-limit");
}

#[test]
fn a_missing_file_is_66() {
    canny(&["missing.scm"])
        .run()
        .exits_with(66)
        .complains("missing.scm");
    canny(&["."]).run().exits_with(66);
    canny(&["expand", "missing.scm"])
        .run()
        .exits_with(66)
        .complains("missing.scm");
    canny(&["disasm", "missing.scm"])
        .run()
        .exits_with(66)
        .complains("missing.scm");
}

#[test]
fn exit_codes_are_those_of_r7rs() {
    let exits = |expression: &str, code: i32| {
        let text = format!(
            "(import (scheme base) (scheme write) (scheme process-context))\n\
             (display \"kept\")\n{expression}\n(display \"lost\")"
        );
        program(text).run().exits_with(code).prints("kept");
    };
    exits("(exit)", 0);
    exits("(exit #t)", 0);
    exits("(exit #f)", 1);
    exits("(exit 0)", 0);
    exits("(exit 7)", 7);
    exits("(emergency-exit 9)", 9);
    exits(
        "(dynamic-wind (lambda () #f) (lambda () (exit 3)) (lambda () #f))",
        3,
    );
}

#[test]
fn exit_runs_the_outermost_winders() {
    program(
        "(import (scheme base) (scheme write) (scheme process-context))\n\
         (dynamic-wind (lambda () (display 1)) (lambda () (exit 4)) (lambda () (display 2)))",
    )
    .run()
    .exits_with(4)
    .prints("12");
}

#[test]
fn exit_and_winders() {
    let exits = |text: &str, code: i32, output: &str| {
        let text = format!(
            "(import (scheme base) (scheme write) (scheme process-context))\n\
             (define-syntax after (syntax-rules () ((_ body after ...)\n\
               (dynamic-wind (lambda () #f) (lambda () body) (lambda () after ...)))))\n{text}"
        );
        program(text).run().exits_with(code).prints(output);
    };
    exits("(after (after (exit 3) (display 1)) (display 2))", 3, "12");
    // The last exit wins; an escape takes it back.
    exits("(after (exit 3) (display 1) (exit 4))", 4, "1");
    exits(
        "(call/cc (lambda (k) (after (exit 3) (k 1))))\n(display 1)\n(exit 5)",
        5,
        "1",
    );
    exits("(after (exit 3) (display 1) (car 5))", 70, "1");
    exits("(after (emergency-exit 3) (display 1))", 3, "");
    exits(
        "(with-exception-handler (lambda (e) (exit 6)) (lambda () (after (car 5) (display 1))))",
        6,
        "1",
    );
    exits(
        "(guard (e (#t (exit 7))) (after (car 5) (display 1)))",
        7,
        "1",
    );
    exits(
        "(define (deep n) (if (= n 0) (exit 9) (after (+ 1 (deep (- n 1))) (if (= n 1) (display \
         1)))))\n(deep 10000)",
        9,
        "1",
    );
}

#[test]
fn output_before_an_error_is_not_lost() {
    program("(import (scheme base) (scheme write))\n(display \"before\")\n(car 5)")
        .run()
        .exits_with(70)
        .prints("before")
        .complains("program.scm:3:1");
}

#[test]
fn output_to_a_file_is_flushed_at_an_error() {
    let run = program(
        "(import (scheme base) (scheme file))\n\
         (define port (open-output-file \"out.txt\"))\n\
         (write-string \"kept\" port)\n\
         (error \"stop\")",
    );
    let directory = run.directory.clone();
    run.run().exits_with(70).complains("stop");
    assert_eq!(
        std::fs::read_to_string(directory.join("out.txt")).unwrap_or_default(),
        "kept"
    );
}

#[test]
fn features_can_be_added() {
    let text = "(import (scheme base) (scheme write))\n(cond-expand (tiger (display 1)) (else (display 2)))";
    program(text).run().exits_with(0).prints("2");
    canny(&["-D", "tiger", "program.scm"])
        .file("program.scm", text)
        .run()
        .exits_with(0)
        .prints("1");
}

#[test]
fn expand_prints_a_program_that_means_the_same() {
    let text = "(import (scheme base) (scheme write))\n(define-syntax twice (syntax-rules () ((_ e) (begin e \
        e))))\n(twice (display 1))";
    let expanded = canny(&["expand", "program.scm"])
        .file("program.scm", text)
        .run()
        .exits_with(0);
    assert!(!expanded.output.contains("(twice"), "{expanded:?}");
    assert!(expanded.output.contains("display"), "{expanded:?}");
}

#[test]
fn disasm_prints_bytecode_with_positions() {
    let text = "(import (scheme base))\n(define (f x) (+ x 1))\n(f 2)";
    let listing = canny(&["disasm", "program.scm"])
        .file("program.scm", text)
        .run()
        .exits_with(0);
    assert!(listing.output.contains("return"), "{listing:?}");
    assert!(listing.output.contains('f'), "{listing:?}");
}

#[test]
fn disasm_prints_the_code_that_would_run() {
    let library = "(define-library (small) (export more) (import (scheme base))
  (begin (define (more x) (+ x 1))))";
    let text = "(import (scheme base) (small))
(define (f x) (if (pair? x) (if (pair? x) 1 2) (more x)))
(set! f f)";
    let listing = |disabled: &str| {
        canny(&["disasm", "program.scm"])
            .file("small.sld", library)
            .file("program.scm", text)
            .environment("CANNY_COMPILE_DISABLE", disabled)
            .run()
            .exits_with(0)
            .output
    };
    // A procedure of a library is inlined, and a test is made once, if these are not turned off.
    let count = |listing: &str, word: &str| listing.matches(word).count();
    let usual = listing("");
    assert_eq!(count(&usual, "jump-not-pair"), 1, "{usual}");
    assert_eq!(count(&usual, "(small):more"), 0, "{usual}");
    let without = listing("propagate,inline");
    assert_eq!(count(&without, "jump-not-pair"), 2, "{without}");
    assert_eq!(count(&without, "(small):more"), 1, "{without}");
}

#[test]
fn messages_have_no_colour_when_they_go_to_a_file() {
    let outcome = program("(car 5)").run().exits_with(70);
    assert!(!outcome.errors.contains('\u{1b}'), "{outcome:?}");
}

#[test]
fn an_expression_that_fails_has_its_place_also_as_the_last_one() {
    canny(&["-e", "(define (first list) (car list))", "-e", "(first 5)"])
        .run()
        .exits_with(70)
        .complains("command line:1:22: error[wrong-type]: car: argument 1 is not a pair: 5")
        .complains("in first at command line:1:22")
        .complains("in the program at command line:2:1");
}

#[test]
fn a_variable_that_is_not_bound_is_compared_with_those_that_are() {
    canny(&["-e", "(define lenght 1)", "-e", "(vector-lenght (vector))"])
        .run()
        .exits_with(70)
        .complains("the variable has no value: vector-lenght")
        .complains("note: did you mean `vector-length`?");
}

#[test]
fn a_missing_program_is_told_as_json() {
    canny(&["--message-format", "json", "no-such-file.scm"])
        .run()
        .exits_with(66)
        .complains(
            "{\"severity\":\"error\",\"code\":\"unreadable-file\",\"message\":\"cannot read \
            no-such-file.scm: ",
        );
    canny(&["--message-format", "xml", "p.scm"])
        .run()
        .exits_with(64)
        .complains("'text' or 'json'");
}

#[test]
fn warnings_are_chosen_by_their_codes() {
    let text = "(define (f x) (let ((y 1)) x))\n(display (f 1))\n";
    let run = |words: &[&str]| {
        canny(&[words, &["p.scm"]].concat())
            .file("p.scm", text)
            .run()
    };
    run(&[])
        .exits_with(0)
        .complains("p.scm:1:22: warning[unused-variable]: `y` is never used");
    for words in [
        &["-W", "no-unused-variable"][..],
        &["-Wnone"],
        &["--no-warnings"],
    ] {
        assert_eq!(run(words).exits_with(0).errors, "");
    }
    run(&["-W", "none", "-W", "unused-variable", "-W", "error"])
        .exits_with(65)
        .complains("error[unused-variable]");
    run(&["-W", "no-such-warning"])
        .exits_with(64)
        .complains("unused-variable");
}

#[test]
fn a_misspelt_command_is_recognized() {
    canny(&["tset"])
        .run()
        .exits_with(66)
        .complains(
            "cannot read tset: No such file or directory (os error 2); did you mean the command 'test'?");
    canny(&["complie", "x.scm"])
        .run()
        .exits_with(66)
        .complains("did you mean the command 'compile'?");
    let outcome = canny(&["nothing-like-it"]).run().exits_with(66);
    assert!(!outcome.errors.contains("did you mean"), "{outcome:?}");
    canny(&["test", "--fliter", "x"])
        .run()
        .exits_with(64)
        .complains("did you mean '--filter'?");
}

#[test]
fn files_are_included_from_directories_of_the_command_line() {
    let text = "(import (scheme base) (scheme write) (mine))\n(include \"part.scm\")\n\
                (display (list part twice))";
    let library =
        "(define-library (mine) (export twice) (import (scheme base))\n(include \"twice.scm\"))";
    let run = |words: &[&str]| {
        canny(words)
            .file("p.scm", text)
            .file("libraries/mine.sld", library)
            .file("one/part.scm", "(define part 1)")
            .file("one/twice.scm", "(define twice 2)")
            .file("other/part.scm", "(define part 10)")
            .file("other/twice.scm", "(define twice 20)")
    };
    let first = run(&["-I", "libraries", "-I", "one", "-I", "other", "p.scm"]);
    let directory = first.directory.clone();
    first.run().exits_with(0).prints("(1 2)");
    // Code that was compiled with other directories does not count.
    support::Canny::new(
        directory,
        &["-I", "libraries", "-I", "other", "-A", "one", "p.scm"],
    )
    .run()
    .exits_with(0)
    .prints("(10 20)");
    // The directory of the file comes first.
    run(&["-I", "libraries", "-I", "one", "p.scm"])
        .file("part.scm", "(define part 100)")
        .run()
        .exits_with(0)
        .prints("(100 2)");
    run(&["-I", "libraries", "p.scm"])
        .run()
        .exits_with(65)
        .complains("searched libraries/part.scm");
}

#[test]
fn a_srfi_is_replaced_if_that_is_asked_for() {
    let text = "(import (scheme base) (scheme write) (prefix (srfi 41) own:) (scheme stream))
(display (list (own:name) (stream->list (stream 1 2))))";
    let library = "(define-library (srfi 41) (export name) (import (scheme base))
(begin (define (name) 'mine)))";
    let run = |words: &[&str]| {
        canny(words)
            .file("p.scm", text)
            .file("srfi/41.sld", library)
    };
    let replaced = run(&["-I", ".", "--replace", "(srfi 41)", "p.scm"]);
    let directory = replaced.directory.clone();
    // Built-in code keeps using its own.
    replaced.run().exits_with(0).prints("(mine (1 2))");
    let again = support::Canny::new(directory.clone(), &["--replace", "srfi 41", "p.scm"]);
    again.run().exits_with(0).prints("(mine (1 2))");
    support::Canny::new(directory.clone(), &["-I", ".", "p.scm"])
        .run()
        .exits_with(70)
        .complains("own:name");
    support::Canny::new(
        directory,
        &["compile", "--replace", "(srfi 41)", "p.scm", "-o", "p"],
    )
    .run()
    .exits_with(0);
    canny(&["--replace", "(srfi 41)", "p.scm"])
        .file("p.scm", text)
        .run()
        .exits_with(65)
        .complains("searched ./srfi/41.sld");
    canny(&["--replace", "(scheme base)", "p.scm"])
        .run()
        .exits_with(64)
        .complains("--replace wants a SRFI that Canny has");
}
