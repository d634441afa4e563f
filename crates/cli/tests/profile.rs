//! `canny profile` and `(canny profile)`: stacks are those that the program has, in every way of running
//! it, and what was written can be read however the program ended.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use canny_profile::file;
use canny_profile::model::{EventKind, Group, Profile, StackIndex, StackKind, WaitKind};
use support::{Canny, Outcome, scratch};

/// Three procedures that do the same work, once, twice and four times.
const SHARES: &str = "(import (scheme base) (scheme write))
(define (step x) (modulo (+ (* x 1103) 12345) 65536))
(define (burn n x) (if (= n 0) x (burn (- n 1) (step x))))
(define (a x) (let ((y (burn 20000 x))) (+ y 0)))
(define (b x) (let ((y (burn 40000 x))) (+ y 0)))
(define (c x) (let ((y (burn 80000 x))) (+ y 0)))
(define (repeat n)
  (let loop ((i 0) (x 1)) (if (= i n) x (loop (+ i 1) (c (b (a x)))))))
(display (repeat COUNT))
";

fn run_in(directory: &Path, program: &str, words: &[&str]) -> Outcome {
    std::fs::write(directory.join("program.scm"), program).expect("a file can be written");
    Canny::new(directory.to_owned(), words).run()
}

/// Runs a program while a profile is taken; gives that.
fn profile_of(program: &str, options: &[&str]) -> Profile {
    let directory = scratch();
    let mut words = vec!["profile", "-o", "out.profile"];
    words.extend(options);
    words.push("program.scm");
    let outcome = run_in(&directory, program, &words);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    read(&directory.join("out.profile"))
}

fn read(path: &Path) -> Profile {
    let bytes = std::fs::read(path).expect("the profile was written");
    file::read(&bytes).expect("it can be read")
}

/// Names of the program's own functions on a stack, the oldest first.
fn program_stack(profile: &Profile, stack: Option<StackIndex>) -> Vec<String> {
    let mut names: Vec<String> = profile
        .walk(stack, true)
        .filter(|step| profile.function(step.frame.function).group == Group::Program)
        .map(|step| profile.function_name(step.frame.function).to_owned())
        .collect();
    names.reverse();
    names
}

/// Processor time by stack of the program's functions.
fn time_by_stack(profile: &Profile) -> BTreeMap<Vec<String>, u64> {
    let mut times = BTreeMap::new();
    for sample in &profile.rows.samples {
        let names = program_stack(profile, sample.stack);
        *times.entry(names).or_default() += sample.weight_ns;
    }
    times
}

#[track_caller]
fn check_shares(options: &[&str], count: u32) {
    let profile = profile_of(&SHARES.replace("COUNT", &count.to_string()), options);
    let times = time_by_stack(&profile);
    let total: u64 = times.values().sum();
    let share_of = |name: &str| {
        let with = times
            .iter()
            .filter(|(stack, _)| stack.iter().any(|one| one == name));
        with.map(|(_, time)| *time as f64).sum::<f64>() / total as f64
    };
    let all = share_of("repeat");
    assert!(all > 0.7, "{times:?}");
    // A few hundred samples: what counts is that no procedure has the time of another.
    for (name, share) in [("a", 1.0 / 7.0), ("b", 2.0 / 7.0), ("c", 4.0 / 7.0)] {
        let found = share_of(name) / all;
        assert!(
            (found - share).abs() < 0.1,
            "{name}: {found} of {share}; {times:?}"
        );
    }
    // Procedures call each other in one way only.
    let known: BTreeSet<&str> = ["body", "repeat", "a", "b", "c", "burn", "step"].into();
    for stack in times
        .keys()
        .filter(|stack| stack.iter().any(|one| one == "step"))
    {
        assert!(
            stack.iter().all(|name| known.contains(name.as_str())),
            "{stack:?}"
        );
        assert_eq!(stack.last().map(String::as_str), Some("step"), "{stack:?}");
    }
}

#[test]
fn shares_are_right_in_compiled_code() {
    check_shares(&[], 1500);
}

#[test]
fn shares_are_right_in_interpreted_code() {
    check_shares(&["--no-jit"], 200);
}

#[test]
fn a_task_continues_the_stack_of_its_starter() {
    let program = "(import (scheme base) (scheme write) (canny tasks))
(define (spin n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s (modulo i 7))))))
(define (starter) (let ((task (spawn (lambda () (spin 20000000)) #:name 'spinner))) (list task)))
(define (main) (map await (starter)))
(display (main))
";
    let profile = profile_of(program, &[]);
    let names: Vec<String> = (0..profile.rows.tasks.len())
        .map(|row| profile.task_name(canny_profile::model::TaskIndex::new(row)))
        .collect();
    assert!(
        names.iter().any(|name| name.contains("spinner")),
        "{names:?}"
    );
    let stacks = time_by_stack(&profile);
    let with_spin = |stack: &&Vec<String>| stack.last().is_some_and(|name| name == "spin");
    let spinning: Vec<_> = stacks.keys().filter(with_spin).collect();
    assert!(!spinning.is_empty(), "{stacks:?}");
    for stack in spinning {
        let started = ["main", "starter"].map(|name| stack.iter().any(|one| one == name));
        assert_eq!(started, [true, true], "{stack:?}");
    }
    let kinds = profile.rows.stacks.iter().map(|stack| stack.kind);
    assert!(kinds.into_iter().any(|kind| kind == StackKind::Started));
}

#[test]
fn waits_say_where_and_for_what() {
    let program = "(import (scheme base) (canny tasks) (canny channels))
(define channel (make-channel 0))
(define (sleeper) (sleep 0.02) (channel-send! channel 1) (sleep 0.02))
(define (receiver) (list (channel-receive channel)))
(define tasks (list (spawn sleeper) (spawn receiver)))
(define (main) (list (await (car tasks)) (await (cadr tasks))))
(main)
";
    let profile = profile_of(program, &[]);
    let waits = |kind: WaitKind, name: &str| {
        let of_kind = profile
            .rows
            .waits
            .iter()
            .filter(move |wait| wait.kind == kind);
        let mut at = of_kind.filter(|wait| {
            let stack = program_stack(&profile, wait.stack);
            stack.iter().any(|one| one == name)
        });
        at.any(|wait| wait.waiting_ns() > 0)
    };
    assert!(
        waits(WaitKind::Timer, "sleeper"),
        "{:?}",
        profile.rows.waits
    );
    assert!(
        waits(WaitKind::Channel, "receiver"),
        "{:?}",
        profile.rows.waits
    );
    assert!(waits(WaitKind::Future, "main"), "{:?}", profile.rows.waits);
    // Those that have ended do not wait.
    let others = profile.rows.waits.iter();
    let others: Vec<_> = others.filter(|wait| wait.kind == WaitKind::Other).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// For each kind of wait a task that waits so, and the name of the thing.
#[test]
fn waits_have_the_kind_of_their_thing() {
    let program = "(import (scheme base) (canny tasks) (canny sync) (canny process) (canny sqlite)
        (canny supplies))
(define barrier (make-barrier 2))
(define latch (make-latch 1))
(define once (make-once))
(define mutex (make-mutex))
(define news (make-condition-variable #:name \"news\"))
(define seats (make-semaphore 0 #:name 'seats))
(define (slow)
  (sleep 0.01) (barrier-wait! barrier)
  (sleep 0.01) (latch-count-down! latch)
  (call-once once (lambda () (sleep 0.01)))
  (sleep 0.02) (with-mutex mutex (condition-variable-signal! news))
  (sleep 0.01) (semaphore-release! seats))
(define (quick)
  (barrier-wait! barrier)
  (latch-wait! latch)
  (yield)
  (call-once once (lambda () 1))
  (with-mutex mutex (condition-variable-wait! news mutex))
  (semaphore-acquire! seats))
(define (count database)
  (query-value database
   \"with recursive c(x) as (select 1 union all select x + 1 from c where x < 300000)
     select count(*) from c\"))
(define tasks (list (spawn slow #:name 'slow) (spawn quick #:name 'quick)))
(define (main) (map await tasks))
(main)
(define (program) (run '(\"sleep\" \"0.02\")))
(await (spawn program))
(define database (open-memory-database))
(define spinner (spawn (lambda () (let loop () (yield) (loop)))))
(await (spawn (lambda () (count database))))
";
    // The spinner waits so often that others would not be chosen.
    let profile = profile_of(program, &["--waits-per-second", "1000000000"]);
    let seen: BTreeSet<(&str, Option<&str>)> = profile
        .rows
        .waits
        .iter()
        .filter(|wait| wait.waiting_ns() > 0)
        .map(|wait| (wait.kind.word(), wait.on.map(|on| profile.string(on))))
        .collect();
    for wanted in [
        ("timer", None),
        ("barrier", None),
        ("barrier", Some("latch")),
        ("lock", Some("once")),
        ("lock", Some("seats")),
        ("condition", Some("news")),
        ("future", Some("slow")),
        ("process", None),
    ] {
        assert!(seen.contains(&wanted), "{wanted:?}: {seen:?}");
    }
    // Whether a statement leaves its thread depends on how long it takes.
    let others: Vec<_> = seen.iter().filter(|(kind, _)| *kind == "other").collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Beyond a rate some waits stand for all; those that are long have rows of their own.
#[test]
fn many_waits_are_a_choice_of_them() {
    let program = "(import (scheme base) (canny tasks) (canny channels) (canny profile))
(define (relay in out n)
  (if (> n 0)
      (begin (channel-send! out (channel-receive in)) (relay in out (- n 1)))))
(define (ring size n)
  (let ((first (make-channel 1)))
    (let loop ((k 1) (in first))
      (if (< k size)
          (let ((out (make-channel 1)))
            (start (relay in out n))
            (loop (+ k 1) out))
          (let send ((i 0))
            (if (< i n)
                (begin (channel-send! first i) (channel-receive in) (send (+ i 1)))))))))
(define (nap) (sleep 0.2) 1)
(define (napper) (with-profile-label ((what \"a nap\")) (list (nap))))
(define sleeper (spawn napper #:name 'sleeper))
(ring 100 1000)
(await sleeper)
";
    let profile = profile_of(program, &["--waits-per-second", "200"]);
    let waits = &profile.rows.waits;
    let receiving = waits.iter().filter(|wait| wait.kind == WaitKind::Channel);
    let (rows, waited) = receiving.fold((0, 0), |(rows, waited), wait| {
        (rows + 1, waited + wait.weight)
    });
    assert!(rows < 10_000, "{rows} rows");
    assert!((40_000..400_000).contains(&waited), "{waited} waits");
    let sleeping = waits.iter().find(|wait| wait.kind == WaitKind::Timer);
    let sleeping = sleeping.expect("the long wait has a row");
    assert!(sleeping.waiting_ns() > 100_000_000, "{sleeping:?}");
    assert_eq!(sleeping.weight, 1);
    let task = profile.task_name(sleeping.task);
    assert!(task.starts_with("sleeper"), "{task}");
    let stack = program_stack(&profile, sleeping.stack);
    assert_eq!(stack.last().map(String::as_str), Some("nap"), "{stack:?}");
    let labels: Vec<_> = profile.label_set(sleeping.label).collect();
    assert_eq!(labels, [("what", "a nap")]);
}

/// A program without tasks blocks its thread where it waits.
#[test]
fn waits_that_block_the_thread_are_waits() {
    let program = "(import (scheme base) (canny process) (canny tasks))
(define (program) (run '(\"sleep\" \"0.02\")) 1)
(define (nap) (sleep 0.01) 1)
(program)
(nap)
";
    let profile = profile_of(program, &[]);
    for (kind, place) in [(WaitKind::Process, "program"), (WaitKind::Timer, "nap")] {
        let mut waits = profile.rows.waits.iter();
        let is_there = waits.any(|wait| {
            let stack = program_stack(&profile, wait.stack);
            wait.kind == kind && wait.waiting_ns() > 0 && stack.iter().any(|one| one == place)
        });
        assert!(is_there, "{kind:?}: {:?}", profile.rows.waits);
    }
}

/// A lock's holder is known with its place, whether it waits itself or computes.
#[test]
fn waits_for_a_lock_say_who_has_it() {
    let program = "(import (scheme base) (scheme write) (canny tasks) (canny sync))
(define accounts (make-mutex #:name 'accounts))
(define is-locked (make-latch 1))
(define (spin n s) (if (= n 0) s (spin (- n 1) (+ s (modulo n 7)))))
(define (nap) (latch-count-down! is-locked) (sleep 0.02) 1)
(define (compute) (let ((x (spin 3000000 0))) (+ x 1)))
(define (sleeper) (with-mutex accounts (let ((x (nap))) (+ x 1))))
(define (worker) (latch-wait! is-locked) (with-mutex accounts (let ((x (compute))) (+ x 1))))
(define one (spawn sleeper #:name 'sleeper))
(define others (list (spawn worker #:name 'worker) (spawn worker #:name 'worker)))
(for-each await (cons one others))
(define again (list (spawn worker #:name 'worker) (spawn worker #:name 'worker)))
(for-each await again)
";
    let directory = scratch();
    let words = ["profile", "-o", "out.profile", "--explain", "program.scm"];
    let outcome = run_in(&directory, program, &words);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    let profile = read(&directory.join("out.profile"));
    let locks = profile
        .rows
        .waits
        .iter()
        .filter(|wait| wait.kind == WaitKind::Lock);
    let mut holders = BTreeSet::new();
    for wait in locks {
        let on = wait.on.map(|on| profile.string(on));
        assert_eq!(on, Some("accounts"));
        let Some(holder) = wait.holder else { continue };
        assert_ne!(holder, wait.task, "a task does not wait for itself");
        let stack = program_stack(&profile, wait.holder_stack);
        for name in stack {
            let task = profile.task_name(holder);
            let task = task.split(' ').next().unwrap_or_default();
            holders.insert((task.to_owned(), name));
        }
    }
    let has = |task: &str, name: &str| holders.contains(&(task.to_owned(), name.to_owned()));
    assert!(has("sleeper", "nap"), "{holders:?}");
    assert!(
        outcome.errors.contains("held by sleeper"),
        "{}",
        outcome.errors
    );
    assert!(
        outcome.errors.contains("waited here for accounts"),
        "{}",
        outcome.errors
    );
}

/// Procedures that ended with tail calls have no frame; the code tells which they were.
#[test]
fn procedures_that_ended_with_tail_calls_are_shown() {
    let program = "(import (scheme base) (scheme write))
(define (spin n s) (if (= n 0) s (spin (- n 1) (+ s (modulo n 7)))))
(define (inner n)
  (let ((v (make-vector 3 n)))
    (vector-set! v 0 (vector-length v))
    (spin (vector-ref v 1) (vector-ref v 0))))
(define (middle n)
  (let ((l (list n (+ n 1) (+ n 2))))
    (set-cdr! l '())
    (if (> n 5) (inner (apply + l)) (inner 100))))
(define (outer n) (+ 1 (middle n)))
(define (repeat k s) (if (= k 0) s (repeat (- k 1) (+ s (outer 200000)))))
(display (repeat COUNT 0))
";
    for (count, options) in [("400", &[][..]), ("40", &["--no-jit"])] {
        let profile = profile_of(&program.replace("COUNT", count), options);
        let times = time_by_stack(&profile);
        let total: u64 = times.values().sum();
        let whole = ["outer", "middle", "inner", "spin"];
        let with_all = times
            .iter()
            .filter(|(stack, _)| stack.len() >= 4 && stack[stack.len() - 4..].iter().eq(whole));
        let with_all: u64 = with_all.map(|(_, time)| time).sum();
        assert!(with_all > total / 2, "{times:?}");
        let names = profile.rows.frames.iter().filter(|frame| frame.is_tail);
        let names: BTreeSet<&str> = names
            .map(|frame| profile.function_name(frame.function))
            .collect();
        for name in ["middle", "inner"] {
            assert!(names.contains(name), "{names:?}");
        }
        assert!(
            !names.contains("outer") && !names.contains("repeat"),
            "{names:?}"
        );
    }
}

#[test]
fn collections_and_compilations_are_events() {
    let program = "(import (scheme base) (scheme write))
(define (conses n l) (if (= n 0) (length l) (conses (- n 1) (cons n (if (= 0 (modulo n 99)) '() l)))))
(display (conses 20000000 '()))
";
    let profile = profile_of(program, &[]);
    for kind in [EventKind::Collection, EventKind::Compilation] {
        assert!(
            profile.rows.events.iter().any(|event| event.kind == kind),
            "{kind:?}"
        );
    }
}

#[test]
fn a_program_splits_its_profile_by_labels() {
    let program = "(import (scheme base) (canny profile) (canny tasks))
(define (spin n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s (modulo i 7))))))
(call-with-profile \"own.profile\"
  (lambda ()
    (with-profile-label ((part \"first\")) (spin 10000000))
    (with-profile-label ((part 'second) (number 2))
      (await (start (begin (yield) (spin 10000000)))))))
(if (profiling?) (error \"still\"))
";
    let directory = scratch();
    let outcome = run_in(&directory, program, &["run", "program.scm"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    let profile = read(&directory.join("own.profile"));
    let mut seen = BTreeSet::new();
    for sample in &profile.rows.samples {
        let stack = program_stack(&profile, sample.stack);
        if stack.last().is_some_and(|name| name == "spin") {
            let labels: Vec<_> = profile.label_set(sample.label).collect();
            seen.insert(format!("{labels:?}"));
        }
    }
    let first = r#"[("part", "first")]"#.to_owned();
    let second = r#"[("part", "second"), ("number", "2")]"#;
    assert!(seen.contains(&first), "{seen:?}");
    let sorted = r#"[("number", "2"), ("part", "second")]"#;
    assert!(seen.contains(second) || seen.contains(sorted), "{seen:?}");
}

/// Samples are read some time after they were taken; closures may have moved or died by then.
#[test]
fn samples_survive_collections() {
    let program = "(import (scheme base) (scheme write))
(define (adder n) (lambda (x) (+ x n)))
(define (build n) (if (= n 0) '() (cons (adder n) (build (- n 1)))))
(define (sum procedures x)
  (if (null? procedures) x (sum (cdr procedures) ((car procedures) x))))
(define (repeat k x) (if (= k 0) x (repeat (- k 1) (modulo (sum (build 400) x) 1000003))))
(display (repeat 20000 0))
";
    let profile = profile_of(program, &["--interval", "100"]);
    let is_collection = |event: &&canny_profile::model::Event| event.kind == EventKind::Collection;
    assert!(profile.rows.events.iter().filter(is_collection).count() > 3);
    let stacks = time_by_stack(&profile);
    assert!(
        stacks
            .keys()
            .any(|stack| stack.iter().any(|name| name == "build")),
        "{stacks:?}"
    );
}

#[test]
fn deep_recursion_is_cut() {
    let program = "(import (scheme base) (scheme write))
(define (deep n) (if (= n 0) 0 (+ 1 (deep (- n 1)))))
(define (repeat k) (if (> k 0) (begin (deep 1000000) (repeat (- k 1)))))
(repeat 20)
";
    let profile = profile_of(program, &[]);
    let depth = |sample: &canny_profile::model::Sample| profile.walk(sample.stack, true).count();
    let deepest = profile.rows.samples.iter().map(depth).max();
    let kinds = profile.rows.stacks.iter().map(|stack| stack.kind);
    assert!(kinds.into_iter().any(|kind| kind == StackKind::Cut));
    assert!(
        deepest.is_some_and(|depth| (50..2000).contains(&depth)),
        "{deepest:?}"
    );
}

#[test]
fn every_format_is_written() {
    let program = SHARES.replace("COUNT", "100");
    for name in [
        "o.html",
        "o.profile",
        "o.pb.gz",
        "o.speedscope.json",
        "o.firefox.json",
        "o.trace.json",
        "o.folded",
        "callgrind.out.1",
    ] {
        let directory = scratch();
        let words = ["profile", "-o", name, "program.scm", "--interval"];
        let outcome = run_in(&directory, &program, &words);
        assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
        let bytes = std::fs::metadata(directory.join(name)).map(|file| file.len());
        assert!(bytes.is_ok_and(|bytes| bytes > 100), "{name}");
        assert!(outcome.errors.contains(name), "{}", outcome.errors);
    }
}

#[test]
fn a_kept_profile_is_shown_and_compared() {
    let directory = scratch();
    let program = SHARES.replace("COUNT", "300");
    let first = ["profile", "-o", "one.profile", "program.scm"];
    assert_eq!(run_in(&directory, &program, &first).code, Some(0));
    let words = [
        "profile",
        "--text",
        "--flame",
        "--base",
        "one.profile",
        "one.profile",
    ];
    let outcome = run_in(&directory, &program, &words);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    for word in ["burn", "repeat", "before", "change", "█"] {
        assert!(outcome.errors.contains(word), "{word}: {}", outcome.errors);
    }
}

#[test]
fn a_failing_program_keeps_its_exit_code_and_its_profile() {
    let directory = scratch();
    for (program, code) in [
        (
            "(import (scheme base) (scheme process-context))\n(exit 7)",
            7,
        ),
        ("(import (scheme base))\n(car 1)", 70),
        ("(import (scheme base))\n(car", 65),
    ] {
        let words = ["profile", "-o", "out.profile", "program.scm"];
        let outcome = run_in(&directory, program, &words);
        assert_eq!(outcome.code, Some(code), "{}", outcome.errors);
        assert!(read(&directory.join("out.profile")).end_ns.is_some());
    }
}

#[test]
fn a_killed_program_leaves_a_profile() {
    let directory = scratch();
    let program = "(import (scheme base))\n(define (f) (f))\n(f)\n";
    let path = directory.join("program.scm");
    std::fs::write(&path, program).expect("a file can be written");
    let output: PathBuf = directory.join("out.profile");
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .arg("profile")
        .arg("-o")
        .arg(&output)
        .arg(&path)
        .spawn()
        .expect("it starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    let has_samples = || {
        let bytes = std::fs::read(&output).unwrap_or_default();
        bytes.windows(9).any(|window| window == b"\"samples\"")
    };
    while !has_samples() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    let profile = read(&output);
    assert!(!profile.rows.samples.is_empty());
    assert_eq!(profile.end_ns, None);
}

#[test]
fn wrong_words_are_refused() {
    let directory = scratch();
    for (words, wanted) in [
        (&["profile"][..], "'profile' takes a file"),
        (
            &["profile", "--interval", "1", "program.scm"],
            "--interval wants 50 to",
        ),
        (
            &["profile", "--format", "gif", "program.scm"],
            "--format wants one of html",
        ),
        (&["profile", "-o", "x.gif", "program.scm"], "says no format"),
        (
            &["profile", "-o", "/nonexistent/x.profile", "program.scm"],
            "cannot write",
        ),
        (&["profile", "missing.scm"], "cannot read missing.scm"),
    ] {
        let outcome = run_in(&directory, "(import (scheme base))", words);
        assert_ne!(outcome.code, Some(0), "{words:?}");
        assert!(
            outcome.errors.contains(wanted),
            "{words:?}: {}",
            outcome.errors
        );
    }
    std::fs::write(
        directory.join("broken.profile"),
        "{\"profile\":1}\n{\"stacks\":7}\n{}\n",
    )
    .expect("a file can be written");
    let outcome = run_in(&directory, "", &["profile", "broken.profile"]);
    assert_eq!(outcome.code, Some(65), "{}", outcome.errors);
    assert!(
        outcome.errors.contains("is no profile"),
        "{}",
        outcome.errors
    );
}

/// A name that holds what formats use between names.
#[test]
fn any_name_is_written() {
    let program = "(import (scheme base))
(define (|a;b \"c\" <d> \\x0a; e| n) (if (= n 0) 0 (+ 1 (|a;b \"c\" <d> \\x0a; e| (- n 1)))))
(define (repeat k) (if (> k 0) (begin (|a;b \"c\" <d> \\x0a; e| 1000) (repeat (- k 1)))))
(repeat 20000)
";
    let directory = scratch();
    let words = ["profile", "-o", "o.html", "program.scm"];
    let outcome = run_in(&directory, program, &words);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    let mut page = String::new();
    std::fs::File::open(directory.join("o.html"))
        .and_then(|mut file| file.read_to_string(&mut page))
        .expect("the page is text");
    assert!(!page.contains("<d>"));
    assert!(outcome.errors.contains("a;b"), "{}", outcome.errors);
}

/// Allocates records and pairs that stay, strings and vectors that do not.
const OBJECTS: &str = "(import (scheme base))
(define-record-type point (make-point x y) point? (x point-x) (y point-y))
(define (points n)
  (let loop ((i 0) (all '()))
    (if (= i n) all (loop (+ i 1) (cons (make-point i i) all)))))
(define (vectors n)
  (let loop ((i 0) (last #f)) (if (< i n) (loop (+ i 1) (make-vector 9 i)))))
(define (texts n)
  (let loop ((i 0) (sum 0))
    (if (= i n) sum (loop (+ i 1) (+ sum (string-length (make-string 32 #\\x)))))))
(define kept (points 3000))
(points 2000)
(vectors 4000)
(texts 1000)
";

/// Allocated bytes, and those of them that live at the end, by innermost function of the program and type.
fn bytes_by_place(profile: &Profile) -> BTreeMap<(String, String), (u64, u64)> {
    let freed: BTreeSet<u64> = profile.rows.freed.iter().copied().collect();
    let mut bytes = BTreeMap::new();
    for row in &profile.rows.allocations {
        let stack = program_stack(profile, row.stack);
        let place = stack.last().cloned().unwrap_or_default();
        let name = profile.string(row.type_name).to_owned();
        let (all, live): &mut (u64, u64) = bytes.entry((place, name)).or_default();
        *all += row.weight_bytes;
        if !freed.contains(&row.id) {
            *live += row.weight_bytes;
        }
    }
    bytes
}

#[test]
fn every_object_has_its_place_and_type() {
    for mode in [&[][..], &["--no-jit"]] {
        let options = [&["--allocation-interval", "1"], mode].concat();
        let profile = profile_of(OBJECTS, &options);
        assert_eq!(profile.lost, 0);
        assert_eq!(profile.header.allocation_interval_bytes, Some(1));
        let bytes = bytes_by_place(&profile);
        let expected = [
            ("make-point", "point", 5000 * 32),
            ("points", "pair", 5000 * 16),
            ("vectors", "vector", 4000 * 80),
            ("texts", "string", 1000 * 32),
            ("texts", "string-data", 1000 * 48),
        ];
        for (place, name, all) in expected {
            let found = bytes.get(&(place.to_owned(), name.to_owned()));
            let Some(&(found, live)) = found else {
                panic!("{place} allocates no {name}: {bytes:?}");
            };
            assert_eq!(found, all, "{place} {name} {mode:?}");
            // Words on native stacks may keep some objects.
            let stays = match name {
                "point" => 3000 * 32,
                "pair" => 3000 * 16,
                _ => 0,
            };
            assert!(
                (stays..stays + all / 10).contains(&live),
                "{name}: {live} live"
            );
        }
    }
}

#[test]
fn sampled_objects_stand_for_all() {
    let program = OBJECTS.replace("(vectors 4000)", "(vectors 400000)");
    let profile = profile_of(&program, &["--allocation-interval", "10000"]);
    let bytes = bytes_by_place(&profile);
    let (all, live) = bytes[&("vectors".to_owned(), "vector".to_owned())];
    // 3,200 samples: the tenth is more than five standard errors.
    let expected = 400_000 * 80;
    assert!(
        all.abs_diff(expected) < expected / 10,
        "{all} of {expected}"
    );
    assert!(live < expected / 100, "{live} live");
}

#[test]
fn objects_that_escape_say_how() {
    let program = OBJECTS.replace("(points 2000)", "(points 400000)");
    let directory = scratch();
    let words = [
        "profile",
        "--allocation-interval",
        "10000",
        "-o",
        "out.profile",
        "program.scm",
    ];
    // The program waits for its machine code: on a busy machine it could end before.
    let run = Canny::new(directory.clone(), &words).file("program.scm", &program);
    run.environment("CANNY_SPESH_BLOCKING", "1")
        .run()
        .exits_with(0);
    let profile = read(&directory.join("out.profile"));
    let reasons = |name: &str| -> BTreeSet<&str> {
        let rows = profile.rows.allocations.iter();
        rows.filter(|row| profile.string(row.type_name) == name)
            .filter_map(|row| Some(profile.string(row.reason?)))
            .collect()
    };
    assert!(reasons("point").contains("it is stored in another object"));
    assert_eq!(reasons("pair").len(), 1, "{:?}", reasons("pair"));
}

#[test]
fn no_objects_are_sampled_if_none_are_wanted() {
    let profile = profile_of(OBJECTS, &["--allocation-interval", "0"]);
    assert!(profile.rows.allocations.is_empty());
    assert_eq!(profile.header.allocation_interval_bytes, None);
}

#[test]
fn tasks_on_all_threads_sample_their_objects() {
    let program = format!(
        "{OBJECTS}(import (canny tasks))
(for-each await (map (lambda (i) (start (vectors 20000))) '(1 2 3 4 5 6 7 8)))
"
    );
    let profile = profile_of(&program, &["--allocation-interval", "1"]);
    let bytes = bytes_by_place(&profile);
    let (all, _) = bytes[&("vectors".to_owned(), "vector".to_owned())];
    let per_object = 80;
    assert_eq!(all / per_object + profile.lost, 4000 + 8 * 20_000);
}

/// The example of the guide: Scheme, a guest and the collector are in one profile.
#[test]
fn guests_and_the_collector_are_in_one_picture() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/collatz.scm");
    let program = std::fs::read_to_string(example).expect("the example is there");
    for interpreted in [false, true] {
        // More rounds, for more samples.
        let program = program.replace("(work 20)", "(work 60)");
        let options: &[&str] = if interpreted { &["--no-jit"] } else { &[] };
        let profile = profile_of(&program, options);
        let mut of_guest = 0;
        let mut of_collector = 0;
        for sample in &profile.rows.samples {
            let mut steps: Vec<_> = profile
                .walk(sample.stack, true)
                .map(|step| {
                    let function = step.frame.function;
                    let group = profile.function(function).group;
                    (group, profile.function_name(function).to_owned())
                })
                .collect();
            steps.reverse();
            let place = |wanted: &str| steps.iter().position(|(_, name)| name == wanted);
            of_collector += u64::from(steps.iter().any(|(group, _)| *group == Group::Collector));
            if let Some(exported) = place("steps-below") {
                // It is beneath the procedures that led to it, and on top of all calls.
                let caller = place("count-steps");
                assert!(caller.is_some_and(|at| at < exported), "{steps:?}");
                let guest = &steps[exported..];
                for (group, name) in guest {
                    let is_function = ["steps-below", "steps", "next"].contains(&name.as_str());
                    assert!(is_function || *group != Group::Foreign, "{steps:?}");
                }
                of_guest += u64::from(place("steps").is_some_and(|at| at == exported + 1));
            }
        }
        assert!(of_guest > 20, "{of_guest}");
        assert!(of_collector > 0);
        let of_module = profile.rows.functions.iter().find(|function| {
            function
                .file
                .is_some_and(|file| profile.string(file) == "collatz")
        });
        assert!(of_module.is_some());
    }
}
