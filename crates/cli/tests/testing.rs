//! `canny test`: which files it runs, what it tells of them, and suites that crash, hang or cannot be read.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Canny, canny, scratch};

const GOOD: &str = "(import (scheme base) (canny test))\n(test 3 (+ 1 2))\n";
const BAD: &str = "(import (scheme base) (canny test))\n(test-group \"sums\"\n  (test \"small\" 4 (+ 1 \
    2))\n  (test 3 (+ 1 2)))\n";

/// A run of `canny test` on one file of this name.
fn suite(name: &str, text: impl AsRef<[u8]>) -> Canny {
    canny(&["test", name]).file(name, text)
}

#[test]
fn suites_are_found() {
    let run = canny(&["test"])
        .file("tests/a.scm", GOOD)
        .file("tests/inner/b.scm", GOOD)
        .file("test/c.scm", GOOD)
        .file("src/d-test.scm", GOOD)
        .file("src/e.test.scm", GOOD)
        .file(
            "f.scm",
            "(import (scheme base) (prefix (srfi 64) t:))\n(t:test-begin \"f\")\n(t:test-assert \
            #t)\n(t:test-end)",
        )
        .file("g.scm", "(import (scheme base) (srfi 78))\n(check 1 => 1)")
        // These are none.
        .file(
            "h.scm",
            "(import (scheme base))\n'(srfi 64)\n(error \"not to be run\")",
        )
        .file(
            "tests/library.scm",
            "(define-library (tests library) (import (canny test)))",
        )
        .file(
            "tests/other.sld",
            "(define-library (tests other) (import (canny test)))",
        )
        .file("tests/data.txt", "(canny test)")
        .file("vendor/tests/i.scm", "(error \"not to be run\")")
        .file(".hidden/tests/j.scm", "(error \"not to be run\")");
    let outcome = run.run().exits_with(0);
    assert!(
        outcome.output.contains("\n7 passed in 7 files ("),
        "{outcome:?}"
    );
    for name in [
        "tests/a.scm",
        "tests/inner/b.scm",
        "test/c.scm",
        "src/d-test.scm",
        "src/e.test.scm",
        "f.scm",
        "g.scm",
    ] {
        assert!(
            outcome.output.contains(&format!("ok    {name}  1 test,")),
            "{name}: {outcome:?}"
        );
    }
}

#[test]
fn a_directory_of_tests_may_be_named() {
    let run = canny(&["test", "tests"])
        .file("tests/a.scm", GOOD)
        .file("a-test.scm", BAD);
    let outcome = run.run().exits_with(0);
    assert!(
        outcome.output.contains("1 passed in 1 file ("),
        "{outcome:?}"
    );
}

#[test]
fn what_is_not_there_is_told() {
    canny(&["test"])
        .run()
        .exits_with(66)
        .complains("there are no suites here");
    let outcome = canny(&["test", "gone", "a-test.scm"])
        .file("a-test.scm", GOOD)
        .run();
    let outcome = outcome.exits_with(66).complains("cannot read gone");
    assert!(outcome.output.contains("1 passed"), "{outcome:?}");
}

#[test]
fn a_failure_has_place_values_and_difference() {
    let long = "(import (scheme base) (canny test))\n(test (append (make-list 20 'a) '(1 2 3))\n      \
        (append (make-list 20 'a) '(1 4 3)))\n";
    let outcome = canny(&["test"])
        .file("tests/a.scm", BAD)
        .file("tests/b.scm", long)
        .run()
        .exits_with(1);
    for part in [
        "FAIL  tests/a.scm  1 of 2 tests failed,",
        "    tests/a.scm:3: sums: small\n      (+ 1 2)\n      expected  4\n      actual    3\n",
        "        at [21]\n        - 2\n        + 4\n",
        "\n1 passed, 2 failed in 2 files, of which 2 failed (",
    ] {
        assert!(
            outcome.output.contains(part),
            "no {part} in {}",
            outcome.output
        );
    }
}

#[test]
fn srfi_64_and_78_tell_the_same() {
    let outcome = canny(&["test"])
        .file(
            "tests/a.scm",
            "(import (scheme base) (srfi 64))\n(test-begin \"a\" 4)\n(test-equal \"one\" 1 2)\n\
            (test-group \"inner\" (test-assert (car '())))\n(test-skip 1)\n(test-eqv 1 2)\n\
            (test-expect-fail 1)\n(test-eqv 1 2)\n(test-end)\n",
        )
        .file(
            "tests/b.scm",
            "(import (scheme base) (srfi 78))\n(check (+ 1 2) => 4)\n(check-report)\n",
        )
        .run()
        .exits_with(1);
    for part in [
        "tests/a.scm:3: a: one\n      (test-equal \"one\" 1 2)\n      expected  1\n      actual    2\n",
        "tests/a.scm:4: a: inner: (test-assert (car '()))\n",
        "actual    raised car: argument 1 is not a pair: () (tests/a.scm:4)\n",
        "tests/b.scm:2: (+ 1 2)\n      expected  4\n      actual    3\n",
        "1 passed, 3 failed, 1 skipped in 2 files",
    ] {
        assert!(
            outcome.output.contains(part),
            "no {part} in {}",
            outcome.output
        );
    }
    // The suites' own output would repeat the failures.
    assert!(
        !outcome.output.contains("FAIL a") && !outcome.output.contains("*** checks"),
        "{outcome:?}"
    );
    suite(
        "a.scm",
        "(import (scheme base) (srfi 64))\n(test-begin \"a\" 2)\n(test-assert #t)\n(test-end)",
    )
    .run()
    .exits_with(1);
}

#[test]
fn values_that_break_a_property_are_made_smaller() {
    let text = "(import (scheme base) (canny test) (canny test properties))\n\
        (test-property \"short\" ((list (lists-of (integers)))) (< (length list) 3))\n\
        (test-property \"small\" ((x (naturals)) (s (strings))) (or (< x 1234) (string=? s \"\")))\n\
        (test-property \"raises\" ((v (vectors-of (booleans)))) (boolean? (vector-ref v 0)))\n";
    let outcome = suite("a.scm", text).run().exits_with(1);
    for part in [
        "        list = (0 0 0)\n",
        "        x = 1234\n        s = \"a\"\n",
        "        v = #()\n",
        "actual    raised vector-ref: argument 2 is out of range",
    ] {
        assert!(
            outcome.output.contains(part),
            "no {part} in {}",
            outcome.output
        );
    }
    let seed = outcome
        .output
        .split("CANNY_TEST_SEED=")
        .nth(1)
        .expect("it is printed");
    let seed = seed.split(' ').next().expect("it is printed");
    let again = suite("a.scm", text)
        .environment("CANNY_TEST_SEED", seed)
        .run()
        .exits_with(1);
    let places = |output: &str| -> Vec<String> {
        let lines = output.lines().filter(|line| line.contains("in run "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(places(&outcome.output), places(&again.output));
}

#[test]
fn nothing_is_lost_of_suites_that_do_not_end_well() {
    let head =
        "(import (scheme base) (scheme process-context) (canny test))\n(test \"first\" 1 1)\n";
    let dies = |body: &str| format!("{head}{body}\n");
    for (text, part) in [
        (Vec::new(), "the file is empty"),
        (vec![0xff; 1000], "it has syntax errors"),
        (b"\0\0\0\0".to_vec(), "it is no text"),
        (dies("(test 1 ").into_bytes(), "it has syntax errors"),
        (
            dies("(car 5)").into_bytes(),
            "an error that no handler took; the last test that ended was 'first'",
        ),
        (
            dies("(emergency-exit 9)").into_bytes(),
            "it left with exit code 9; the last test that ended was 'first'",
        ),
        (
            dies("(test-group \"g\" (exit 0))").into_bytes(),
            "it ended inside of the group 'g'",
        ),
        (b"(import (canny test))".to_vec(), "it ran no test"),
    ] {
        let outcome = suite("a.scm", &text).run().exits_with(1);
        assert!(outcome.output.contains("FAIL  a.scm"), "{outcome:?}");
        assert!(
            outcome.output.contains(part),
            "no {part} in {}",
            outcome.output
        );
    }
    // Without a test library, a program that ends well is a test that passes.
    suite("a.scm", "(import (scheme base))").run().exits_with(0);
}

#[test]
fn a_suite_that_hangs_is_ended() {
    let text = "(import (scheme base) (canny test))\n(test \"first\" 1 1)\n(test \"endless\" 1 (let loop () \
        (loop)))\n";
    let outcome = canny(&["test", "--timeout", "0.5", "a.scm", "b.scm"])
        .file("a.scm", text)
        .file("b.scm", GOOD)
        .run()
        .exits_with(1);
    assert!(
        outcome.output.contains("it did not end within 0.5 s"),
        "{outcome:?}"
    );
    assert!(outcome.output.contains("a.scm:3: endless"), "{outcome:?}");
    assert!(outcome.output.contains("ok    b.scm"), "{outcome:?}");
    // One that takes no notice of Ctrl-C is killed.
    let stubborn = "(import (scheme base) (canny test))\n(define (again) (guard (e (#t (again))) (let loop \
        () (loop))))\n(again)\n";
    let outcome = canny(&["test", "--timeout", "0.2", "a.scm"])
        .file("a.scm", stubborn)
        .run()
        .exits_with(1);
    assert!(
        outcome.output.contains("it did not end within 0.2 s"),
        "{outcome:?}"
    );
}

#[test]
fn output_is_shown_of_what_fails_only() {
    let chatty = |result: &str| {
        format!(
            "(import (scheme base) (scheme write) (canny test))\n(display \
             \"\\x1b;[31msay-{result}\")\n(newline)\n(test {result} 1)\n"
        )
    };
    let outcome = canny(&["test", "a.scm", "b.scm"])
        .file("a.scm", chatty("1"))
        .file("b.scm", chatty("2"))
        .run()
        .exits_with(1);
    assert!(!outcome.output.contains("say-1"), "{outcome:?}");
    assert!(
        outcome.output.contains("    | \\x1b;[31msay-2\n"),
        "{outcome:?}"
    );
    assert!(!outcome.output.contains('\x1b'), "{outcome:?}");
}

#[test]
fn tests_are_chosen_by_name() {
    let run = |words: &[&str]| {
        canny(&[&["test"], words].concat())
            .file("tests/a.scm", BAD)
            .file(
                "tests/b.scm",
                "(import (scheme base) (srfi 64))\n(test-begin \"suite\")\n(test-equal \
                \"other\" 1 1)\n(test-end)",
            )
            .run()
    };
    let one = run(&["--filter", "other"]).exits_with(0).output;
    assert!(
        one.contains("1 passed in 2 files") && !one.contains("a.scm"),
        "{one}"
    );
    run(&["--filter", "small"]).exits_with(1);
    let several = run(&["--filter", "(+ 1", "--filter", "suite: other"])
        .exits_with(0)
        .output;
    assert!(several.contains("2 passed"), "{several}");
    let file = run(&["--filter", "b.scm"]).exits_with(0).output;
    assert!(file.contains("1 passed"), "{file}");
    run(&["--filter", "nothing-has-this-name"])
        .exits_with(1)
        .complains("no test has a name with nothing-has-this-name");
    let list = run(&["--list"]).exits_with(0).output;
    let mut lines: Vec<&str> = list.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "tests/a.scm: sums: (+ 1 2)",
            "tests/a.scm: sums: small",
            "tests/b.scm: suite: other"
        ]
    );
    assert_eq!(
        run(&["--list", "--filter", "small"]).output,
        "tests/a.scm: sums: small\n"
    );
}

#[test]
fn tests_that_pass_are_named_on_wish() {
    let outcome = canny(&["test", "-v", "a.scm"])
        .file("a.scm", GOOD)
        .run()
        .exits_with(0);
    assert!(
        outcome.output.contains("    (+ 1 2): ok  0.0"),
        "{outcome:?}"
    );
}

#[test]
fn the_first_failure_may_end_the_run() {
    let run = canny(&[
        "test",
        "--fail-fast",
        "--jobs",
        "1",
        "a.scm",
        "b.scm",
        "c.scm",
    ])
    .file("a.scm", BAD)
    .file("b.scm", "(let loop () (loop))")
    .file("c.scm", GOOD);
    let outcome = run.run().exits_with(1);
    assert!(outcome.output.contains("2 files not run"), "{outcome:?}");
}

#[test]
fn results_as_json() {
    let outcome = canny(&["test", "--format", "json", "a.scm"])
        .file("a.scm", BAD)
        .run()
        .exits_with(1);
    let lines: Vec<&str> = outcome.output.lines().collect();
    assert_eq!(lines.len(), 4, "{outcome:?}");
    assert!(
        lines[0].starts_with(
            "{\"event\":\"test\",\"file\":\"a.scm\",\"groups\":[\"sums\"],\"name\":\"small\",\
         \"result\":\"failed\","
        ),
        "{outcome:?}"
    );
    assert!(
        lines[0].contains(
            "\"source\":\"a.scm\",\"line\":3,\"expression\":\"(+ 1 \
         2)\",\"expected\":\"4\",\"actual\":\"3\",\"differences\":[]}"
        ),
        "{outcome:?}"
    );
    assert!(lines[2].starts_with(
        "{\"event\":\"file\",\"file\":\"a.scm\",\"result\":\"failed\",\"passed\":1,\"failed\":1,\
         \"skipped\":0,\"problems\":[],"),
            "{outcome:?}");
    assert!(
        lines[3].starts_with("{\"event\":\"summary\",\"files\":1,\"failed_files\":1,"),
        "{outcome:?}"
    );
}

#[test]
fn results_as_junit() {
    let text = "(import (scheme base) (scheme write) (canny test))\n(display \"\\x1;\\x1b;<&\\xffff;\")\n\
        (test \"a <b> & \\\"c\\\" \\x7;\" \"\\x0;\" \"]]>\")\n(car 5)\n";
    let run = canny(&["test", "--junit", "out.xml", "a.scm", "b.scm"])
        .file("a.scm", text)
        .file("b.scm", GOOD);
    let directory = run.directory.clone();
    run.run().exits_with(1);
    let xml = std::fs::read_to_string(directory.join("out.xml")).expect("it is there");
    for part in [
        "<testsuites name=\"canny\" tests=\"3\" failures=\"1\" errors=\"1\"",
        "<testcase classname=\"a.scm\" name=\"a &lt;b&gt; &amp; &quot;c&quot; \\x7;\"",
        "<error message=\"an error that no handler took; the last test",
        "<testsuite name=\"b.scm\" tests=\"1\" failures=\"0\" errors=\"0\"",
    ] {
        assert!(xml.contains(part), "no {part} in {xml}");
    }
    let forbidden = |c: char| c.is_control() && c != '\n' || c == '\u{ffff}';
    assert!(!xml.contains(forbidden), "{xml}");
    if let Ok(status) = Command::new("xmllint")
        .arg("--noout")
        .arg(directory.join("out.xml"))
        .status()
    {
        assert!(status.success());
    }
    canny(&["test", "--junit", "no/such/directory/out.xml", "a.scm"])
        .file("a.scm", GOOD)
        .run()
        .exits_with(71)
        .complains("cannot write");
}

#[test]
fn libraries_and_features_reach_the_suites() {
    let library = "(define-library (my thing) (export value) (import (scheme base)) \
                   (begin (define value 1)))";
    let text =
        "(import (scheme base) (my thing) (canny test))\n(cond-expand (tiger (test 1 value)))\n";
    canny(&["test", "-I", "src", "-D", "tiger", "tests"])
        .file("src/my/thing.sld", library)
        .file("tests/a.scm", text)
        .run()
        .exits_with(0);
}

/// A block of a page with this fence.
fn block(page: &str, fence: &str) -> String {
    let (_, rest) = page
        .split_once(&format!("```{fence}\n"))
        .expect("the page has it");
    rest.split_once("```").expect("it ends").0.to_owned()
}

#[test]
fn the_guide_shows_what_is_told() {
    let page = std::fs::read_to_string(support::root().join("docs/guide/testing.md"))
        .expect("it is there");
    let outcome = canny(&["test"])
        .file(
            "tests/average.scm",
            block(&page, "scheme tests/average.scm"),
        )
        .run()
        .exits_with(1);
    // Times are different each time.
    let words = |text: &str| -> Vec<String> {
        let text = text.replace("TIME", "0.000 s");
        let words =
            text.split([' ', '\n'])
                .map(|word| match word.trim_start_matches('(').parse::<f64>() {
                    Ok(_) if word.contains('.') => "N".to_owned(),
                    _ => word.to_owned(),
                });
        words.collect()
    };
    assert_eq!(words(&outcome.output), words(&block(&page, "text result")));
}

#[test]
fn wrong_command_lines_are_refused() {
    for words in [
        &["--jobs", "0"][..],
        &["--jobs", "many"],
        &["--timeout", "-1"],
        &["--timeout", "nan"],
        &["--format", "xml"],
        &["--filter", ""],
        &["--list", "--watch"],
        &["--heap-limit", "much"],
    ] {
        canny(&[&["test"], words].concat())
            .run()
            .exits_with(64)
            .complains("canny test: ");
    }
}

/// Waits until a file has a text.
fn wait_for(path: &Path, part: &str, times: usize) {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if text.matches(part).count() >= times {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "no `{part}` in {text}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_a_change_affects_is_run_again() {
    let directory = scratch();
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().expect("it has one"))
            .expect("a directory can be made");
        std::fs::write(path, text).expect("a file can be written");
    };
    let library = |value: &str| {
        format!(
            "(define-library (thing) (export value) (import (scheme base)) (begin (define value {value})))"
        )
    };
    write("thing.sld", &library("1"));
    write(
        "tests/uses.scm",
        "(import (scheme base) (thing) (canny test))\n(test 1 value)\n",
    );
    write("tests/alone.scm", GOOD);
    let output = directory.join("output");
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .args(["test", "--watch", "-I", "."])
        .current_dir(&directory)
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&output).expect("a file can be made"))
        .spawn()
        .expect("canny starts");
    wait_for(&output, "waiting for changes", 1);
    write("thing.sld", &library("\"other\""));
    wait_for(&output, "waiting for changes", 2);
    write("tests/new.scm", GOOD);
    wait_for(&output, "waiting for changes", 3);
    let signalled = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(signalled.expect("kill runs").success());
    assert!(support::wait(&mut child).is_some_and(|status| status.success()));
    let text = std::fs::read_to_string(&output).expect("it is text");
    assert_eq!(text.matches("tests/alone.scm").count(), 1, "{text}");
    assert_eq!(text.matches("ok    tests/uses.scm").count(), 1, "{text}");
    assert_eq!(text.matches("FAIL  tests/uses.scm").count(), 1, "{text}");
    assert_eq!(text.matches("ok    tests/new.scm").count(), 1, "{text}");
}

#[test]
fn ctrl_c_ends_everything() {
    let directory = scratch();
    std::fs::write(directory.join("a.scm"), "(let loop () (loop))").expect("a file can be written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .args(["test", "a.scm"])
        .current_dir(&directory)
        .env("TMPDIR", &directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("canny starts");
    let reports = || std::fs::read_dir(&directory).expect("it is there").count();
    while reports() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let signalled = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(signalled.expect("kill runs").success());
    let status = support::wait(&mut child).expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(reports(), 1, "reports are left behind");
}
