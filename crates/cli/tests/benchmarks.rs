//! `canny bench`: benchmarks and programs, comparisons, failures, and an interrupted run. No figure
//! is asserted, only that there is one.

mod support;

use std::path::Path;
use std::process::Command;

use support::{Canny, Outcome, canny, scratch};

const IMPORTS: &str = "(import (scheme base) (canny bench))\n";

/// A run of `canny bench` that takes little time.
fn bench(words: &[&str]) -> Canny {
    let quick = ["bench", "--time", "0.06", "--processes", "2"];
    canny(&[&quick, words].concat())
}

/// A file of benchmarks.
fn benchmarks(forms: &str) -> String {
    format!("{IMPORTS}{forms}\n")
}

impl Outcome {
    #[track_caller]
    fn says(self, part: &str) -> Outcome {
        assert!(self.output.contains(part), "no `{part}` in {self:#?}");
        self
    }

    #[track_caller]
    fn does_not_say(self, part: &str) -> Outcome {
        assert!(!self.output.contains(part), "`{part}` in {self:#?}");
        self
    }
}

#[test]
fn benchmarks_have_a_table() {
    let text = "(benchmark \"sum\" (+ (keep 1) 2))\n(benchmark 'list #:items 3 (list 1 2 3))";
    bench(&["a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(0)
        .says("95 % interval")
        .says("\nsum ")
        .says("\nlist ")
        .says("/s\n")
        .does_not_say("\x1b");
}

#[test]
fn the_options_of_a_benchmark_are_evaluated_around_it() {
    let text = "(define log '())\n\
        (define (note! what) (set! log (cons what log)))\n\
        (benchmark \"a\" (note! 'never))\n\
        (benchmark \"b\" #:bytes (begin (note! 'bytes) 8) #:teardown (note! 'teardown)\n\
          #:setup (note! 'setup) #:items 2 (define here 1) here)\n\
        (if (memq 'teardown log)\n\
          (if (equal? log '(teardown bytes setup)) (error \"as it should be\") (error \"not\")))";
    let run = bench(&["a.scm", "--filter", "a.scm: b"]).file("a.scm", benchmarks(text));
    run.run().exits_with(1).complains("as it should be");
}

#[test]
fn a_program_is_measured_as_a_whole() {
    let text = "(import (scheme base) (scheme write))\n(display \"not to be seen\")\n";
    bench(&["p.scm"])
        .file("p.scm", text)
        .run()
        .exits_with(0)
        .says("\np.scm ")
        .does_not_say("warm-up")
        .does_not_say("not to be seen");
}

#[test]
fn benchmarks_are_listed_and_filtered() {
    let text = "(benchmark \"one\" 1)\n(benchmark \"two\" 2)\n(benchmark \"one\" 3)";
    bench(&["--list", "a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(0)
        .prints("a.scm: one\na.scm: two\na.scm: one\n");
    bench(&["--filter", "tw", "a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(0)
        .says("\ntwo ")
        .does_not_say("\none ");
    bench(&["--filter", "three", "a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(1)
        .complains("no benchmark has a name with three");
}

#[test]
fn names_may_have_any_character() {
    let text = "(benchmark \"a\\n\\x1b;[2J \\\"λ\\\\\" 1)\n(benchmark '(a . b) 2)";
    bench(&["a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(0)
        .says("\na \\x1b;[2J \"λ\\ ")
        .says("\n(a . b) ");
    bench(&["--json", "a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(0)
        .says("\"name\":\"a\\n\\u001b[2J \\\"λ\\\\\",");
}

#[test]
fn what_raises_is_reported_and_the_others_run() {
    let text =
        "(benchmark \"good\" 1)\n(benchmark \"bad\"\n  (car (keep '())))\n(benchmark \"last\" 3)";
    bench(&["a.scm"])
        .file("a.scm", benchmarks(text))
        .run()
        .exits_with(1)
        .complains("FAIL  a.scm: bad: an error that no handler took")
        .complains("a.scm:4:3: error[wrong-type]: car: argument 1 is not a pair: ()")
        .says("\nbad    not measured")
        .says("\nlast ");
}

#[test]
fn files_that_cannot_be_measured_are_named() {
    bench(&["missing.scm", "a.scm"])
        .file("a.scm", benchmarks("(benchmark \"sum\" 1)"))
        .run()
        .exits_with(66)
        .complains("canny bench: missing.scm: No such file")
        .says("\nsum ");
    for (text, complaint) in [
        ("(display \"a\"", "it has syntax errors"),
        ("(import (scheme process-context)) (exit 3)", "exit code 3"),
        ("(import (canny bench))", "has no benchmark"),
        (
            "(import (scheme base) (scheme process-context) (canny bench))\n\
             (benchmark \"a\" #:setup (exit 0) 1)",
            "the program ended before the benchmark did",
        ),
        (
            "(import (canny bench)) (benchmark \"a\")",
            "there is no expression to measure",
        ),
        (
            "(import (scheme base) (canny bench)) (benchmark \"a\" #:bytes 'many 1)",
            "#:bytes is not a positive number: many",
        ),
        (
            "(import (scheme base) (canny bench)) (benchmark \"a\" #:item 3 1)",
            "benchmark: there is no option: #:item",
        ),
    ] {
        let run = bench(&["a.scm"]).file("a.scm", text);
        run.run().exits_with(1).complains(complaint);
    }
}

#[test]
fn wrong_command_lines_are_refused() {
    for (words, complaint) in [
        (&["bench"][..], "there is no file to measure"),
        (&["bench", "--time", "x", "a.scm"], "--time wants a number"),
        (&["bench", "--processes", "1.5", "a.scm"], "whole number"),
        (
            &["bench", "--fail-above", "2", "a.scm"],
            "wants a comparison",
        ),
        (
            &["bench", "a.scm", "b.scm", "--against", "c.scm"],
            "one file",
        ),
        (
            &["bench", "a.scm", "--against", "c.scm", "--processes", "1"],
            "two processes or more",
        ),
    ] {
        canny(words).run().exits_with(64).complains(complaint);
    }
}

#[test]
fn two_files_are_compared_by_name() {
    let own = "(benchmark \"both\" (make-vector 9000 1))\n(benchmark \"own\" 1)";
    let other = "(benchmark \"other\" 1)\n(benchmark \"both\" 1)";
    bench(&["a.scm", "--against", "b.scm"])
        .file("a.scm", benchmarks(own))
        .file("b.scm", benchmarks(other))
        .run()
        .exits_with(0)
        .says("the other side has no benchmark 'own'")
        .says("only the other side has a benchmark 'other'")
        .says("ratio");
    bench(&["a.scm", "--against", "b.scm"])
        .file("a.scm", benchmarks(own))
        .file("b.scm", "(import (scheme base))")
        .run()
        .exits_with(1)
        .complains("cannot be compared");
}

#[test]
fn json_has_both_sides() {
    let outcome = bench(&["--json", "a.scm", "--canny", env!("CARGO_BIN_EXE_canny")])
        .file("a.scm", benchmarks("(benchmark \"sum\" #:items 2 1)"))
        .run()
        .exits_with(0);
    assert_eq!(outcome.output.lines().count(), 1, "{outcome:?}");
    let outcome = outcome.says("{\"file\":\"a.scm\",\"name\":\"sum\",\"kind\":\"benchmark\",");
    for member in [
        "mean_ns",
        "interval_ns",
        "median_ns",
        "first_ns",
        "warm_up_ns",
        "bytes_per_iteration",
        "collections",
        "items_per_second",
    ] {
        let count = outcome.output.matches(&format!("\"{member}\":")).count();
        assert_eq!(count, 2, "{member}: {outcome:?}");
    }
    outcome.says("\"other\":{").says("\"ratio_interval\":[");
}

/// Runs git in a directory.
fn git(directory: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"];
    let status = Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(directory)
        .status()
        .expect("git runs");
    assert!(status.success(), "{words:?}");
}

#[test]
fn a_commit_is_compared_with_the_files_of_now() {
    let directory = scratch();
    let run = |words: &[&str]| {
        let quick = ["bench", "--time", "0.06", "--processes", "2"];
        Canny::new(directory.clone(), &[&quick, words].concat())
    };
    let library = |value: &str| {
        format!(
            "(define-library (part) (export part) (import (scheme base))\n\
             (begin (define part {value})))"
        )
    };
    let program = "(import (scheme base) (canny bench) (part))\n(benchmark part 1)";
    let first = run(&["b/a.scm", "-I", "lib", "--against-commit", "HEAD"])
        .file("b/a.scm", program)
        .file("lib/part.sld", library("\"old\""));
    git(&directory, &["init", "--quiet"]);
    git(&directory, &["add", "b", "lib"]);
    git(&directory, &["commit", "--quiet", "-m", "one"]);
    first.run().exits_with(0).says("\nold ");
    // The library of the commit is another one than that of now.
    run(&["b/a.scm", "-I", "lib", "--against-commit", "HEAD"])
        .file("lib/part.sld", library("\"new\""))
        .run()
        .exits_with(0)
        .says("the other side has no benchmark 'new'")
        .says("only the other side has a benchmark 'old'");
    run(&["b/a.scm", "--against-commit", "nowhere"])
        .run()
        .exits_with(66)
        .complains("there is no commit 'nowhere'");
    run(&["c.scm", "--against-commit", "HEAD"])
        .file("c.scm", "1")
        .run()
        .exits_with(66)
        .complains("c.scm: it is not in the commit");
    let worktrees = Command::new("git")
        .args(["worktree", "list"])
        .current_dir(&directory)
        .output()
        .expect("git runs");
    let listed = String::from_utf8_lossy(&worktrees.stdout).into_owned();
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn an_interrupted_run_prints_what_it_has() {
    let text = "(import (scheme base) (scheme file) (canny bench))\n\
        (benchmark \"short\" 1)\n\
        (benchmark \"endless\" (begin\n\
          (call-with-output-file \"begun\" (lambda (port) 1))\n\
          (let loop () (loop))))";
    let run = bench(&["a.scm"]).file("a.scm", text);
    let begun = run.directory.join("begun");
    let running = run.start();
    while !begun.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.signal("INT");
    running
        .wait()
        .exits_with(130)
        .complains("interrupted; this is what was measured")
        .says("\nshort ");
}

#[test]
fn a_file_of_benchmarks_is_a_program() {
    canny(&["a.scm"])
        .file("a.scm", benchmarks("(benchmark \"sum\" (+ 1 (keep 2)))"))
        .environment("CANNY_BENCH_MICROSECONDS", "1000")
        .run()
        .exits_with(0)
        .says("sum: ")
        .says(" per iteration, first ");
}
