//! The programs of `docs/guide/specializer-examples.md` have the statistics, plans and graphs that the page
//! shows.

mod support;

use support::{canny, root};

/// The specializer's log of an example.
struct Log {
    text: String,
}

/// Runs an example; without the optimizer's inlining if there is to be something left to specialize.
fn run(name: &str, output: &str, inlines: bool) -> Log {
    let program = root().join("examples/specializer").join(name);
    let program = program.to_str().expect("the path is a string");
    let mut run = canny(&[program])
        .environment("CANNY_SPESH_BLOCKING", "1")
        .environment("CANNY_SPESH_LOG", "log");
    if !inlines {
        run = run.environment("CANNY_COMPILE_DISABLE", "inline");
    }
    let path = run.directory.join("log");
    run.run().exits_with(0).prints(output);
    let text = std::fs::read_to_string(path).expect("there is a log");
    Log { text }
}

impl Log {
    /// The part from a line that begins like this to the next line that begins like that.
    #[track_caller]
    fn part(&self, first: &str, end: &str) -> String {
        let begins = |line: &&str| line.starts_with(first);
        let mut lines = self.text.lines().skip_while(|line| !begins(line));
        let line = lines.next();
        let line = line.unwrap_or_else(|| panic!("no `{first}` in\n{}", self.text));
        std::iter::once(line)
            .chain(lines.take_while(|line| !line.starts_with(end)))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    /// The first plan for a procedure.
    #[track_caller]
    fn plan(&self, reason: &str, name: &str) -> String {
        self.part(&format!("{reason} specialization of '{name}'"), "=====")
    }

    /// The last graph of a procedure, with the line that says what became of it.
    #[track_caller]
    fn graph(&self, name: &str) -> String {
        let title = format!("graph of {name}");
        let is_title = |line: &str| line == title || line.starts_with(&format!("{title},"));
        let lines: Vec<&str> = self.text.lines().collect();
        let start = lines.iter().rposition(|line| is_title(line));
        let start = start.unwrap_or_else(|| panic!("no graph of {name} in\n{}", self.text));
        let length = lines[start..]
            .iter()
            .position(|line| line.starts_with("Candidate"));
        let end = start + length.expect("something became of it");
        lines[start..=end].join("\n")
    }
}

/// Lines of a graph that contain some text.
fn count(graph: &str, part: &str) -> usize {
    graph.lines().filter(|line| line.contains(part)).count()
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn shorten_is_planned_for_its_types_and_inlined_with_one_check() {
    let log = run("shorten.scm", "900000\n", false);
    let statistics = log.part("Latest statistics for 'shorten'", "=====");
    contains(
        &statistics,
        &[
            "Callsite of 2 arguments",
            "Type 0: string",
            "Type 1: fixnum",
        ],
    );
    let plan = log.plan("Observed type", "shorten");
    contains(&plan, &["Type 0: string", "Type 1: fixnum", "(100% of the"]);
    let graph = log.graph("body");
    contains(&graph, &["1 calls inlined"]);
    // The global variable is checked; the results of `substring` and `string-append` are not.
    assert_eq!(count(&graph, "Guard("), 1, "{graph}");
    assert_eq!(count(&graph, "StringLength("), 2, "{graph}");
}

#[test]
fn an_optional_argument_costs_nothing() {
    for inlines in [true, false] {
        let log = run("optional-argument.scm", "2666866650000\n", inlines);
        let graph = log.graph("body");
        for part in ["Guard(", "Test(", "Call(", "Runtime("] {
            assert_eq!(count(&graph, part), 0, "{part} in {graph}");
        }
        assert_eq!(count(&graph, "Fixnum(Multiply"), 2, "{graph}");
        if !inlines {
            contains(&graph, &["2 calls inlined"]);
            let statistics = log.part("Latest statistics for 'area'", "=====");
            contains(
                &statistics,
                &["Callsite of 1 argument\n", "Callsite of 2 arguments\n"],
            );
            contains(&log.plan("Certain", "area"), &["any types"]);
        }
    }
}

#[test]
fn of_two_types_the_frequent_one_is_planned() {
    let log = run("bimodal.scm", "599000\n", false);
    let statistics = log.part("Latest statistics for 'size'", "=====");
    contains(&statistics, &["Type 0: pair", "Type 0: vector"]);
    assert!(!statistics.contains("Type tuple 2"), "{statistics}");
    let plan = log.plan("Observed type", "size");
    contains(&plan, &["Type 0: vector"]);
    assert!(!log.text.contains("Derived type specialization of 'size'"));
    let graph = log.part("graph of size, called with r0: vector", "Candidate");
    for part in ["Guard(", "Test(", "Runtime("] {
        assert_eq!(count(&graph, part), 0, "{part} in {graph}");
    }
    // Where it is inlined the question is the program's own, and both answers are there.
    let graph = log.graph("total");
    assert_eq!(count(&graph, "if Test(Kind(Vector)"), 1, "{graph}");
    assert_eq!(count(&graph, "Guard(Kind(Vector)"), 0, "{graph}");
}

#[test]
fn fixnums_and_flonums_are_planned_both() {
    let log = run("fixnums-and-flonums.scm", "332500\n", false);
    let plans: Vec<&str> = log
        .text
        .split("Observed type specialization of 'walk'")
        .skip(1)
        .collect();
    contains(plans[0], &["Type 0: fixnum", "Type 2: fixnum"]);
    contains(plans[1], &["Type 0: flonum", "Type 2: fixnum"]);
    let fixnums = "graph of walk, called with r0: fixnum and r1: fixnum and r2: fixnum";
    let fixnums = log.part(fixnums, "Candidate");
    let flonums = "graph of walk, called with r0: flonum and r1: flonum and r2: fixnum";
    let flonums = log.part(flonums, "Candidate");
    for graph in [&fixnums, &flonums] {
        for part in ["Guard(", "Test(", "Runtime("] {
            assert_eq!(count(graph, part), 0, "{part} in {graph}");
        }
    }
    assert_eq!(count(&fixnums, "FloatArithmetic("), 0, "{fixnums}");
    assert_eq!(count(&flonums, "FloatArithmetic("), 10, "{flonums}");
    assert_eq!(count(&flonums, "Box("), 0, "{flonums}");
}

#[test]
fn of_many_types_none_is_planned() {
    let output = "(1/2 1 1.5 2.5 3 1000000000000000000000000000000 #\\a #\\b #\\c \"a\" \"b\" \"c\" x y z \
                  (1) (2) (\"a\") #t #f)\n";
    let log = run("megamorphic-sort.scm", output, true);
    let statistics = log.part("Latest statistics for 'before?'", "=====");
    contains(&statistics, &["Type tuple 6"]);
    contains(
        &log.plan("Certain", "before?"),
        &["any types", "(100% of the"],
    );
    for reason in ["Observed type", "Derived type"] {
        let text = format!("{reason} specialization of 'before?'");
        assert!(!log.text.contains(&text), "{text}");
    }
    // Nothing is asked of the arguments on entry.
    let graph = log.part("graph of before?", "  b1");
    assert_eq!(count(&graph, "Guard("), 0, "{graph}");
}

#[test]
fn two_record_types_have_a_version_each() {
    let log = run("cats-and-dogs.scm", "15000000\n", false);
    let statistics = log.part("Latest statistics for 'weight'", "=====");
    for part in [
        "Type tuple 0",
        "Type 0: record cat",
        "Type tuple 1",
        "Type 0: record dog",
    ] {
        contains(&statistics, &[part]);
    }
    let planned = log
        .text
        .match_indices("Observed type specialization of 'weight'");
    let types: Vec<&str> = planned
        .filter_map(|(at, _)| {
            log.text[at..]
                .lines()
                .find_map(|line| line.strip_prefix("    Type 0: "))
        })
        .collect();
    assert_eq!(types, ["record cat", "record dog"]);
    let graph = log.graph("weight");
    contains(&graph, &["called with r0: record<"]);
    for part in ["RecordOf(", "Guard(", "Test(", "Require"] {
        assert_eq!(count(&graph, part), 0, "{part} in {graph}");
    }
}

#[test]
fn a_record_is_checked_once() {
    let log = run("btree.scm", "1999\n", true);
    let graph = log.graph("btree-cons");
    contains(&graph, &["1 calls inlined", "b4:"]);
    // One check for each of the two copies: the outer one, and that of the frequent recursion.
    assert_eq!(count(&graph, "RecordOf("), 2, "{graph}");
    assert_eq!(count(&graph, "Test(Kind(Record)"), 2, "{graph}");
    assert_eq!(count(&graph, "Require"), 0, "{graph}");
    let graph = log.graph("explode");
    contains(&graph, &["called with r0: record"]);
    assert_eq!(count(&graph, "Guard("), 0, "{graph}");
    assert_eq!(count(&graph, "RecordOf("), 1, "{graph}");
    assert_eq!(count(&graph, "Require"), 0, "{graph}");
    let behind = graph.split("RecordOf(").nth(1).expect("there is a check");
    for part in ["Guard(", "Test("] {
        assert_eq!(count(behind, part), 0, "{part} in {graph}");
    }
}
