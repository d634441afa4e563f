//! Exact profiles: the counts of calls are those that a program counts itself, in every way of running it.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use canny_profile::file;
use canny_profile::model::{Count, EventKind, Mode, Profile};
use support::{Canny, Outcome, scratch};

/// It counts its own calls, as many times as its argument says.
const PROGRAM: &str = include_str!("counts/program.scm");

fn profiled(
    program: &str,
    options: &[&str],
    environment: &[(&str, &str)],
    argument: &str,
) -> (Profile, Outcome) {
    let directory = scratch();
    let mut words = vec!["profile", "--exact", "--text", "-o", "out.profile"];
    words.extend(options);
    words.extend(["program.scm", argument]);
    let mut run = Canny::new(directory.clone(), &words).file("program.scm", program);
    for (name, value) in environment {
        run = run.environment(name, value);
    }
    let outcome = run.run().exits_with(0);
    (read(&directory.join("out.profile")), outcome)
}

fn read(path: &Path) -> Profile {
    let bytes = std::fs::read(path).expect("the profile was written");
    file::read(&bytes).expect("it can be read")
}

/// The sums of counts by the name of the callee.
fn counts(profile: &Profile) -> BTreeMap<String, Count> {
    let mut sums: BTreeMap<String, Count> = BTreeMap::new();
    for row in &profile.rows.counts {
        let sum = sums
            .entry(profile.function_name(row.callee).to_owned())
            .or_default();
        sum.calls += row.calls;
        sum.interpreted += row.interpreted;
        sum.compiled += row.compiled;
        sum.inlined += row.inlined;
    }
    sums
}

/// The calls of an edge by names; an empty caller is none.
fn calls(profile: &Profile, caller: &str, callee: &str) -> u64 {
    let name = |function| profile.function_name(function);
    let rows = profile.rows.counts.iter();
    rows.filter(|row| row.caller.map_or("", name) == caller && name(row.callee) == callee)
        .map(|row| row.calls)
        .sum()
}

#[track_caller]
fn check(
    options: &[&str],
    environment: &[(&str, &str)],
    argument: &str,
) -> BTreeMap<String, Count> {
    let (profile, outcome) = profiled(PROGRAM, options, environment, argument);
    assert!(profile.header.modes.contains(&Mode::Counts));
    let counts = counts(&profile);
    let mut hits = 0;
    for line in outcome.output.lines() {
        let (name, number) = line.split_once(' ').expect("a name and a number");
        let number: u64 = number.parse().expect("a number");
        hits += number;
        if name == "hit" {
            continue;
        }
        let count = counts[name];
        assert_eq!(count.calls, number, "calls of {name}");
        let by_tier = count.interpreted + count.compiled + count.inlined;
        assert_eq!(by_tier, number, "entries of {name}");
    }
    assert_eq!(counts["hit"].calls, hits);
    counts
}

#[test]
fn interpreted_calls_are_counted_exactly() {
    let counts = check(&["--no-jit"], &[], "20");
    assert!(counts["fib"].interpreted > 0);
    assert_eq!(counts["fib"].compiled, 0);
    // The compiler of bytecode makes copies and loops.
    assert_eq!(counts["walk"].inlined, counts["walk"].calls);
}

#[test]
fn compiled_calls_are_counted_exactly() {
    let counts = check(&[], &[("CANNY_SPESH_BLOCKING", "1")], "150");
    let fib = counts["fib"];
    assert!(fib.compiled > 0 && fib.inlined > 0, "{fib:?}");
}

#[test]
fn calls_are_counted_exactly_beside_the_compiler() {
    check(&[], &[("CANNY_SPESH_EAGER", "1")], "200");
}

#[test]
fn exits_count_nothing_twice() {
    let stress = [
        ("CANNY_SPESH_EAGER", "1"),
        ("CANNY_SPESH_BLOCKING", "1"),
        ("CANNY_SPESH_STRESS", "7"),
    ];
    check(&[], &stress, "30");
}

#[test]
fn collections_and_threads_lose_no_count() {
    let stress = [
        ("CANNY_GC_STRESS", "50"),
        ("CANNY_SPESH_EAGER", "1"),
        ("CANNY_POOL_CORES", "4"),
    ];
    check(&[], &stress, "20");
}

#[test]
fn edges_name_the_caller_that_the_programmer_wrote() {
    let program = "(import (scheme base))
(define (small x) (+ x 1))
(define (medium x) (small (small x)))
(define (loop-over n)
  (let again ((i 0))
    (when (< i n)
      (medium i)
      (again (+ i 1)))))
(define (ping n) (if (= n 0) 0 (pong (- n 1))))
(define (pong n) (if (= n 0) 1 (ping (- n 1))))
(define (choose f) (f 1))
(loop-over 10)
(ping 5)
(choose small)
(choose medium)
(map small '(1 2 3))
(vector-length (make-vector 2 0))
";
    let (profile, outcome) = profiled(program, &[], &[], "");
    let body = "body";
    for (caller, callee, number) in [
        ("medium", "small", 22),
        ("again", "medium", 10),
        ("again", "again", 10),
        ("loop-over", "again", 1),
        (body, "loop-over", 1),
        (body, "ping", 1),
        ("ping", "pong", 3),
        ("pong", "ping", 2),
        (body, "choose", 2),
        ("choose", "small", 1),
        ("choose", "medium", 1),
        (body, "make-vector", 1),
    ] {
        let found = calls(&profile, caller, callee);
        assert_eq!(found, number, "{caller} -> {callee}");
    }
    assert_eq!(counts(&profile)["small"].calls, 26);
    outcome.complains("  medium -> small\n");
}

#[test]
fn callgrind_has_exact_calls() {
    let directory = scratch();
    let program = "(import (scheme base))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (main) (+ 0 (fib 27)))
(main)
";
    let words = ["profile", "--exact", "--text", "-o", "x.callgrind", "p.scm"];
    let run = Canny::new(directory.clone(), &words).file("p.scm", program);
    run.run().exits_with(0);
    let text = std::fs::read_to_string(directory.join("x.callgrind")).expect("it was written");
    // 635,621 calls, one of them by `main`.
    assert!(text.contains("calls=635620 2\n"), "{text}");
    assert!(text.contains("calls=1 2\n"), "{text}");
}

#[test]
fn a_program_that_exits_or_fails_is_counted() {
    for (end, code) in [("(exit 3)", 3), ("(error \"no\")", 70)] {
        let directory = scratch();
        let program = format!(
            "(import (scheme base) (scheme process-context))
(define (f) 1)
(f) (f)
{end}"
        );
        let words = ["profile", "--exact", "--text", "-o", "x.profile", "p.scm"];
        let run = Canny::new(directory.clone(), &words).file("p.scm", &program);
        run.run().exits_with(code);
        assert_eq!(counts(&read(&directory.join("x.profile")))["f"].calls, 2);
    }
}

/// A program that profiles a part of itself.
const PART: &str = "(import (scheme base) (scheme write) (canny profile))
(define (f x) (+ x 1))
(define (many n) (let loop ((i 0)) (when (< i n) (f i) (loop (+ i 1)))))
(many 100)
(display (call-with-profile \"part.profile\" (lambda () (many 7) 'done) #:counts? #t))
(many 100)
";

#[test]
fn a_part_of_a_program_is_counted() {
    let directory = scratch();
    let run = Canny::new(directory.clone(), &["p.scm"]).file("p.scm", PART);
    run.environment("CANNY_COUNTS", "1")
        .run()
        .exits_with(0)
        .prints("done");
    let profile = read(&directory.join("part.profile"));
    assert_eq!(counts(&profile)["f"].calls, 7);
    assert_eq!(calls(&profile, "loop", "f"), 7);
}

#[test]
fn counts_need_code_that_counts() {
    let run = Canny::new(scratch(), &["p.scm"]).file("p.scm", PART);
    let outcome = run.run().exits_with(70);
    outcome.complains("calls are counted only in code that is compiled for it");
}

#[test]
fn the_prompt_counts_where_code_counts() {
    let input = "(define (f x) (+ x 1))\n(define (g) (f 1) (f 2) (f 3))\n,profile (g)\n";
    let run = Canny::new(scratch(), &["repl"]).input(input);
    let outcome = run.environment("CANNY_COUNTS", "1").run().exits_with(0);
    assert!(outcome.output.contains("  g -> f\n"), "{outcome:#?}");
}

#[test]
fn ways_into_compiled_code_and_out_of_it_are_events() {
    let program = "(import (scheme base))
(define (step x) (+ x 1))
(define (sum n x)
  (let loop ((i 0) (total 0))
    (if (= i n) total (loop (+ i 1) (+ total (step x))))))
(do ((i 0 (+ i 1))) ((= i 3000)) (sum 1000 1))
(do ((i 0 (+ i 1))) ((= i 10)) (sum 1000 1.5) (sum 1000 1/2))
";
    let (profile, _) = profiled(program, &[], &[("CANNY_SPESH_BLOCKING", "1")], "");
    let texts = |kind| -> Vec<&str> {
        let events = profile.rows.events.iter();
        events
            .filter(|event| event.kind == kind)
            .map(|event| profile.string(event.text))
            .collect()
    };
    assert!(texts(EventKind::Osr).contains(&"a loop continues in compiled code"));
    let exits = texts(EventKind::Deoptimization);
    assert!(!exits.is_empty());
    assert!(
        exits
            .iter()
            .all(|text| text.starts_with("compiled code had ")),
        "{exits:?}"
    );
}
