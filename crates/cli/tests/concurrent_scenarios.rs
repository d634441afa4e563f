//! The programs of `benches/concurrent` at small sizes: what they cost the system, apart from time.

mod support;

use support::{Canny, Outcome, root, scratch};

fn run(name: &str, size: &str, environment: &[(&str, &str)]) -> Outcome {
    let path = root().join("benches/concurrent").join(name);
    let path = path.to_str().expect("paths of the project are UTF-8");
    let mut run = Canny::new(scratch(), &[path, size]);
    for (name, value) in environment {
        run = run.environment(name, value);
    }
    run.run().exits_with(0)
}

/// The number at the end of the line that begins so.
#[track_caller]
fn number(outcome: &str, key: &str) -> u64 {
    outcome
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .and_then(|rest| rest.trim_start_matches(':').trim().parse().ok())
        .unwrap_or_else(|| panic!("no number of {key} in {outcome}"))
}

/// Room for a general worker more than the one that is wanted, when the machine is busy with something else.
const BUSY: u64 = 1;

#[test]
fn processes_one_after_the_other_leave_nothing_behind() {
    // The compiler of hot code has a thread and memory of its own.
    let outcome = run("sequential-processes.scm", "1000", &[("CANNY_JIT", "0")]);
    assert_eq!(number(&outcome.output, "processes"), 1000);
    assert!(
        number(&outcome.output, "threads") <= 4 + BUSY,
        "{outcome:#?}"
    );
    let early = number(&outcome.output, "kilobytes after 50");
    let late = number(&outcome.output, "kilobytes at the end");
    // A collection's garbage comes and goes; a leak of 10 kB for each process would be seen.
    assert!(late < early + 8_000, "{outcome:#?}");
}

#[test]
fn threads_that_are_blocked_keep_nobody_from_the_others() {
    for count in ["8", "63", "64", "500"] {
        let outcome = run("blocked-threads.scm", count, &[]);
        let ended: u64 = count.parse().expect("a number");
        assert_eq!(number(&outcome.output, "ended"), 2 * ended);
    }
}

#[test]
fn timers_tick_while_a_child_floods_the_program() {
    let outcome = run("swamped-timers.scm", "2", &[]);
    let count = |key: &str| {
        let line = outcome.output.lines().find(|line| line.starts_with(key));
        let word = line.and_then(|line| line.split([' ', ',']).nth(1));
        word.and_then(|word| word.parse::<u64>().ok())
            .unwrap_or_else(|| panic!("no count of {key} in {outcome:#?}"))
    };
    assert_eq!(count("kills:"), 2);
    assert!(count("ticks:") > 2, "{outcome:#?}");
    assert!(
        number(&outcome.output, "megabytes read") > 0,
        "{outcome:#?}"
    );
}

#[test]
fn a_program_with_little_to_do_has_few_threads() {
    let outcome = run("light.scm", "3", &[]);
    assert_eq!(number(&outcome.output, "requests"), 3);
    // Two of the pool at most, and one for timers that are late.
    assert!(
        number(&outcome.output, "threads") <= 5 + BUSY,
        "{outcome:#?}"
    );
}

#[test]
fn who_waits_allocates_nothing() {
    let allocated = |seconds: &str| {
        let path = scratch().join("statistics");
        let word = path.to_str().expect("the path is UTF-8");
        run("idle.scm", seconds, &[("CANNY_STATISTICS", word)]);
        let statistics = std::fs::read_to_string(&path).expect("statistics were written");
        number(&statistics, "bytes-allocated")
    };
    // A thread that comes or goes takes some kilobytes.
    let (short, long) = (allocated("1"), allocated("2"));
    assert!(long < short + 100_000, "{short}, {long}");
}
