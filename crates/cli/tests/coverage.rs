//! `canny test --coverage`, `canny run --coverage` and `CANNY_COVERAGE`: which lines and branches ran.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use canny_profile::coverage::{Branch, Coverage, FileCoverage, lcov};
use support::{Canny, canny};

const LIBRARY: &str = "(define-library (shapes)
  (export area kind unused deep)
  (import (scheme base))
  (begin
    (define (area shape)
      (cond ((eq? (car shape) 'square)
             (* (cadr shape) (cadr shape)))
            (else
             (error \"no shape\"
                    shape))))
    (define (kind n)
      (if (and (> n 0)
               (even? n))
          'even-positive
          'other))
    (define (unused x)
      (let loop ((i 0))
        (when (< i x)
          (loop (+ i 1)))))
    (define debug? #f)
    (define-syntax twice
      (syntax-rules ()
        ((_ e) (begin e e))))
    (define (deep x)
      (guard (e (#t
                 'caught))
        (twice (set! x (+ x 1)))
        (when debug?
          (error \"debug\"))
        (if (> x 10)
            (raise 'big)
            x)))))
";

const FIRST: &str = "(import (scheme base) (canny test) (shapes))
(test 4 (area '(square 2)))
(test 'other (kind 0))
(test 3 (deep 1))
";

const SECOND: &str = "(import (scheme base) (canny test) (shapes))
(test 'caught (deep 20))
";

fn project(words: &[&str]) -> Canny {
    let all = [&["test", "-I", "lib"], words].concat();
    canny(&all)
        .file("lib/shapes.sld", LIBRARY)
        .file("tests/first.scm", FIRST)
        .file("tests/second.scm", SECOND)
}

fn read(path: &Path) -> Coverage {
    let text = std::fs::read_to_string(path).expect("the tracefile was written");
    lcov::read(&text).expect("it can be read")
}

/// The only file of some coverage.
fn only(coverage: Coverage) -> FileCoverage {
    assert_eq!(coverage.files.len(), 1, "{coverage:?}");
    coverage.files.into_values().next().expect("one")
}

/// The branches of a line, decision by decision, as they were counted.
fn branches(file: &FileCoverage, line: u32) -> Vec<Vec<u64>> {
    let mut decisions: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (Branch { decision, .. }, count) in file.branches_of(line) {
        decisions.entry(*decision).or_default().push(*count);
    }
    decisions.into_values().collect()
}

#[test]
fn suites_add_up() {
    let run = project(&["--coverage-lcov", "out.info", "tests"]);
    let directory = run.directory.clone();
    let outcome = run.run().exits_with(0);
    let file = only(read(&directory.join("out.info")));
    let lines: Vec<(u32, u64)> = file.lines.clone().into_iter().collect();
    let wanted = [
        (5, 2),
        (6, 1),
        (7, 1),
        (9, 0),
        (11, 2),
        (12, 1),
        (13, 0),
        (14, 0),
        (15, 1),
        (16, 2),
        (17, 0),
        (18, 0),
        (19, 0),
        (20, 2),
        (24, 2),
        (25, 2),
        (26, 1),
        (27, 2),
        (28, 2),
        (29, 0),
        (30, 2),
        (31, 1),
        (32, 1),
    ];
    assert_eq!(lines, wanted);
    assert_eq!(branches(&file, 6), [[1, 0]]);
    assert_eq!(branches(&file, 12), [[0, 1], [0, 1]]);
    assert_eq!(branches(&file, 18), [[0, 0]]);
    assert_eq!(branches(&file, 28), [[0, 2]]);
    assert_eq!(branches(&file, 30), [[1, 1]]);
    let functions: Vec<(&str, u64)> = file
        .functions
        .iter()
        .map(|((_, name), count)| (name.as_str(), *count))
        .collect();
    let wanted = [
        ("area", 1),
        ("kind", 1),
        ("unused", 0),
        ("loop", 0),
        ("deep", 2),
    ];
    assert_eq!(functions, wanted);
    outcome.complains("lib/shapes.sld  not run: 9, 13-14, 17-19, 29\n");
}

#[test]
fn a_threshold_is_an_exit_code() {
    project(&["--coverage-at-least", "60", "tests"])
        .run()
        .exits_with(0);
    let outcome = project(&["--coverage-at-least", "95", "tests"]).run();
    outcome.exits_with(1).complains("which is less than 95 %");
    let wrong = project(&["--coverage-at-least", "many", "tests"]).run();
    wrong
        .exits_with(64)
        .complains("wants a number from 0 to 100");
    let wrong = project(&["--coverage", "--list", "tests"]).run();
    wrong.exits_with(64);
}

#[test]
fn pages_show_the_sources() {
    let run = project(&["--coverage-html", "pages", "tests"]);
    let directory = run.directory.clone();
    run.run().exits_with(0);
    let page = |name: &str| {
        std::fs::read_to_string(directory.join("pages").join(name)).expect("it was written")
    };
    assert!(page("index.html").contains("<a href=\"0.html\">lib/shapes.sld</a>"));
    let source = page("0.html");
    assert!(
        source.contains("<tr class=bad><td id=L29>29<td>0<td>"),
        "{source}"
    );
    let partly = "<tr class=part title=\"1 of 2 branches were not taken\"><td id=L28>28<td>2<td>";
    assert!(source.contains(partly), "{source}");
    assert!(!source.contains("<script"));
}

#[test]
fn genhtml_reads_the_tracefile() {
    let run = project(&["--coverage-lcov", "out.info", "tests"]);
    let directory = run.directory.clone();
    run.run().exits_with(0);
    let mut genhtml = Command::new("genhtml");
    genhtml
        .args(["--branch-coverage", "-o", "pages", "out.info"])
        .current_dir(&directory);
    let output = match genhtml.output() {
        Ok(output) => output,
        Err(_) if std::env::var_os("CANNY_PROFILE_TOOLS").is_none() => {
            eprintln!("skipped: there is no genhtml");
            return;
        }
        Err(error) => panic!("genhtml: {error}"),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for part in [
        "(16 of 23 lines)",
        "(3 of 5 functions)",
        "(6 of 12 branches)",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

#[test]
fn code_counts_the_same_however_it_runs() {
    let program = "(import (scheme base))
(define (fib n)
  (if (< n 2)
      n
      (+ (fib (- n 1))
         (fib (- n 2)))))
(define (never)
  (car '()))
(fib 20)
";
    let words = ["run", "--coverage-lcov", "out.info", "p.scm"];
    for (name, value) in [
        ("CANNY_JIT", "0"),
        ("CANNY_SPESH_EAGER", "1"),
        ("CANNY_SPESH_BLOCKING", "1"),
        ("CANNY_SPESH_STRESS", "5"),
    ] {
        let run = canny(&words)
            .file("p.scm", program)
            .environment(name, value);
        let directory = run.directory.clone();
        run.run().exits_with(0);
        let file = only(read(&directory.join("out.info")));
        let lines: Vec<u64> = file.lines.values().copied().collect();
        assert_eq!(lines, [1, 21891, 10946, 10945, 10945, 1, 0, 1], "{name}");
        assert_eq!(branches(&file, 3), [[10946, 10945]], "{name}");
    }
}

#[test]
fn processes_write_their_coverage_where_a_variable_says() {
    let program = "(import (scheme base) (scheme process-context))\n(exit 4)\n(display 1)\n";
    let run = canny(&["p.scm"])
        .file("p.scm", program)
        .environment("CANNY_COVERAGE", "counted");
    let directory = run.directory.clone();
    run.run().exits_with(4);
    let entries = std::fs::read_dir(directory.join("counted")).expect("the directory was made");
    let files: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(files.len(), 1);
    let file = only(read(&files[0]));
    assert_eq!(file.lines.into_iter().collect::<Vec<_>>(), [(2, 1), (3, 0)]);
}
