//! The benchmarks as programs that time each iteration.
//!
//! An iteration has to be much shorter than warming up, so programs whose iterations are long get
//! smaller inputs here. Those of r7rs-benchmarks are run by another common part than their own; of ours
//! the definitions are taken, and an expression that is some of the program's work.

use std::path::Path;

use crate::bench::engines::top_level_forms;
use crate::bench::programs::{self, Check, Group, Program, defined_names};
use crate::bench::suite;
use crate::workspace;

const HARNESS: &str = include_str!("harness.scm");
const IMPORT: &str = "(import (prefix (only (canny base) cpu-time current-jiffy current-second \
    jiffies-per-second) warm-up:))\n";
/// `cat`, `tail` and `wc` read this part of a `bib` of full length.
const PART_OF_BIB: usize = 20;

/// Programs that cannot be measured iteration by iteration, and why.
pub const WITHOUT_ITERATIONS: &[(&str, &str)] = &[
    ("hello", "has no iterations"),
    (
        "gc-live",
        "is about a heap that is full before the first iteration",
    ),
];

/// Inputs in place of the suite's own, whose single iterations take from 50 ms to 20 s.
const INPUTS: &[(&str, &str)] = &[
    ("ack", "1 3 7 1021"),
    ("array1", "1 10000 10000"),
    ("cpstak", "1 18 12 6 7"),
    ("ctak", "1 15 10 5 10"),
    ("earley", "1 9 1430"),
    ("equal", "10 10 5 100 200 500 #t"),
    ("fft", "1 4096 0.0 0.0"),
    ("fib", "1 22 17711"),
    ("fibc", "1 16 987"),
    ("fibfp", "1 22.0 17711.0"),
    ("gcbench", "1 12 0"),
    ("graphs", "1 5 596"),
    ("lattice", "1 33 10"),
    ("mperm", "20 7 2 1 141120"),
    ("nboyer", "1 0 95024"),
    ("nqueens", "1 8 92"),
    (
        "ntakl",
        "1 (18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1) (12 11 10 9 8 7 6 5 4 3 2 1) (6 5 4 3 2 1) 7",
    ),
    ("paraffins", "1 15 4347"),
    (
        "parsing",
        "1 \"inputs/parsing.data\" (should return this list)",
    ),
    ("sboyer", "1 0 95024"),
    ("string", "1 10000 16374"),
    ("tak", "1 18 12 6 7"),
    (
        "takl",
        "1 (18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1) (12 11 10 9 8 7 6 5 4 3 2 1) (6 5 4 3 2 1) 7",
    ),
];

/// An iteration of one of our programs, and what it gives.
struct Iteration {
    program: &'static str,
    expression: &'static str,
    answer: &'static str,
    /// Variables whose definitions do work that is no part of it.
    without: &'static [&'static str],
}

impl Iteration {
    const fn new(
        program: &'static str,
        expression: &'static str,
        answer: &'static str,
    ) -> Iteration {
        Iteration {
            program,
            expression,
            answer,
            without: &[],
        }
    }

    const fn without(self, names: &'static [&'static str]) -> Iteration {
        Iteration {
            without: names,
            ..self
        }
    }
}

const ITERATIONS: &[Iteration] = &[
    Iteration::new("ack", "(ack 3 6)", "509"),
    Iteration::new("bignum", "(begin (factorial 500) (pi-digits 100))", "100"),
    Iteration::new(
        "closure",
        "(apply-alternately (make-adder 2) (make-adder 0) 100000)",
        "100000",
    ),
    Iteration::new("deep", "(depth 100000)", "100000"),
    Iteration::new("fib", "(fib 22)", "17711"),
    Iteration::new("gc-queue", "(run 10000 200000)", "10000"),
    Iteration::new("gc-ring", "(run 10000 200000)", "200000"),
    Iteration::new("gc-trees", "(churn 10 40 0)", "81880").without(&["long-lived", "total"]),
    Iteration::new("generator", "(sum (count-up 3000))", "4501500"),
    Iteration::new(
        "generic",
        "(+ (total circles 40000) (total shapes 40000) (comparisons circles 20000))",
        "1190000",
    ),
    Iteration::new(
        "generic-direct",
        "(+ (total-of-circles circles 40000) (total shapes 40000) (comparisons circles 20000))",
        "1190000",
    ),
    Iteration::new(
        "record-types",
        "(+ (family (vector-ref animals 0) 16) (family (vector-ref animals 1) 16))",
        "33527",
    ),
    Iteration::new("generic-many", "(total-of-u 80000)", "200000"),
    Iteration::new("generic-many-direct", "(total-of-u 80000)", "200000"),
    Iteration::new(
        "applicable",
        "(+ (sum-of-vector numbers 40000) (sum-of-table table 10000))",
        "125000",
    ),
    Iteration::new(
        "applicable-direct",
        "(+ (sum-of-vector numbers 40000) (sum-of-table table 10000))",
        "125000",
    ),
    Iteration::new(
        "hash-table",
        "(let ((table (make-hash-table))) (fill! table 10000) (sum table 10000))",
        "49995000",
    )
    .without(&["table"]),
    Iteration::new(
        "keywords",
        "(+ (tree #:depth 12 #:value 5) (sums 1 0) (areas 10000 0))",
        "50082105",
    ),
    Iteration::new(
        "keywords-positional",
        "(+ (tree 12 5 2) (sums 1 0) (areas 10000 0))",
        "50082105",
    ),
    Iteration::new("loop", "(count-to 1000000)", "1000000"),
    Iteration::new("mandelbrot", "(inside 40 256)", "270"),
    Iteration::new(
        "sort",
        "(sorted? (merge-sort (random-numbers 5000) 5000 <))",
        "#t",
    ),
    Iteration::new(
        "sort-numbers",
        "(let ((numbers (random-numbers 4000))) (and (ordered? (vector-sort < numbers)) (ordered? \
         (vector-sort < (halves numbers)))))",
        "#t",
    ),
    Iteration::new(
        "sort-ordered",
        "(vector-ref (vector-sort < (numbers-by 10000 (lambda (i) (- 10000 i 1)))) 0)",
        "0",
    ),
    Iteration::new(
        "sort-list",
        "(sorted? (list-sort < (random-numbers 4000)))",
        "#t",
    ),
    Iteration::new(
        "sort-procedure",
        "(ordered? (vector-sort by-key (random-entries 4000)))",
        "#t",
    ),
    Iteration::new(
        "sort-strings",
        "(ordered? (vector-sort string<? (random-strings 2000)))",
        "#t",
    ),
    Iteration::new(
        "string-append",
        "(+ (labels 5000) (reversed \"abcdefghijklmnopqrstuvwxyz0123456789abcd\" 200))",
        "76890",
    ),
    Iteration::new(
        "string-numbers",
        "(+ (lengths 3000) (fractions 500))",
        "26318",
    ),
    Iteration::new(
        "string-port",
        "(+ (string-length (write-many 3000)) (small-texts 500))",
        "30000",
    ),
    Iteration::new(
        "string-port-writes",
        "(string-length (write-all 3000))",
        "25890",
    ),
    Iteration::new("string-append-many", "(total-length 5000)", "48890"),
    Iteration::new(
        "table-churn",
        "(let ((table (make-hash-table eqv?))) (churn! table 1000 10000) (count-even table))",
        "500",
    ),
    Iteration::new(
        "table-strings",
        "(let ((table (make-hash-table string=?))) (fill! table 3000) (sum table 3000))",
        "4498500",
    ),
    Iteration::new(
        "table-symbols",
        "(begin (count-names! table names 10000) (sum table names 10000))",
        "4995000",
    ),
    Iteration::new("table-words", "(total (frequencies 10))", "1670").without(&["counts"]),
    Iteration::new("string", "(count-spaces (digits 10000))", "10000").without(&["text"]),
    Iteration::new("tak", "(tak 18 12 6)", "7"),
    Iteration::new("vector", "(repeat (make-vector 10000 0) 20)", "999900000"),
];

/// How long a run takes, and a sample at least.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub seconds: f64,
    pub sample_seconds: f64,
}

/// Our own programs, and those of the suite if its place is given.
pub fn all(suite: Option<&Path>, scratch: &Path, pace: Pace) -> Result<Vec<Program>, String> {
    let harness = HARNESS
        .replace("@SECONDS@", &format!("{:?}", pace.seconds))
        .replace("@SAMPLE@", &format!("{:?}", pace.sample_seconds));
    let mut programs = Vec::new();
    for program in programs::own(&workspace::root().join("benches"))? {
        if WITHOUT_ITERATIONS
            .iter()
            .any(|(name, _)| *name == program.name)
        {
            continue;
        }
        let iteration = ITERATIONS
            .iter()
            .find(|iteration| iteration.program == program.name)
            .ok_or_else(|| format!("no iteration of `{}` is known", program.name))?;
        programs.push(timed(&program, iteration, &harness));
    }
    if let Some(suite) = suite {
        programs.extend(of_suite(suite, scratch, &harness)?);
    }
    Ok(programs)
}

fn check() -> Check {
    Check::Lines {
        must_start: "+!RIGHT!+",
        must_not_contain: "INCORRECT",
    }
}

fn of_suite(suite: &Path, scratch: &Path, harness: &str) -> Result<Vec<Program>, String> {
    let mut programs = suite::programs_with(suite, scratch, 1, harness)?;
    for program in &mut programs {
        program.scheme = format!("{IMPORT}{}", program.scheme);
        program.check = check();
        let Some(path) = &program.input else { continue };
        if let Some((_, input)) = INPUTS.iter().find(|(name, _)| *name == program.name) {
            workspace::write(path, input)?;
        }
        if program.name == "wc" {
            let [lines, words, characters] = suite::size_of_bib(PART_OF_BIB);
            let answer = format!("1 \"inputs/bib\" ({lines} {words} {characters})");
            workspace::write(path, answer)?;
            let bib = path.with_file_name("bib");
            workspace::write(&bib, suite::stand_in_for_bib(PART_OF_BIB))?;
        }
    }
    Ok(programs)
}

/// One of our programs with its iteration in the harness.
fn timed(program: &Program, iteration: &Iteration, harness: &str) -> Program {
    let definitions = definitions(&program.scheme, iteration.without);
    Program {
        group: Group::Own,
        scheme: format!("{IMPORT}{definitions}"),
        closing: format!(
            "{harness}\n(run-r7rs-benchmark \"{}\" 1 (lambda () {}) (lambda (result) (equal? result {})))\n",
            iteration.program, iteration.expression, iteration.answer
        ),
        check: check(),
        ..program.clone()
    }
}

/// The imports and definitions of a program, without those of some names.
fn definitions(source: &str, without: &[&str]) -> String {
    top_level_forms(source)
        .into_iter()
        .filter(|form| form.starts_with("(import") || form.starts_with("(define"))
        .filter(|form| {
            !defined_names(form)
                .iter()
                .any(|name| without.contains(name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_kept_and_work_is_not() {
        let source = "(import (scheme base))\n(define (f x)\n  (* x 2))\n(define big (f 1))\n\
                      (define-record-type a (b) c)\n(define small 1)\n(f 2)\n(display\n  (f 3))\n";
        assert_eq!(
            definitions(source, &["big"]),
            "(import (scheme base))\n(define (f x)\n  (* x 2))\n(define-record-type a (b) c)\n\
             (define small 1)\n"
        );
    }

    #[test]
    fn every_program_of_ours_has_an_iteration_or_a_reason() {
        let own = programs::own(&workspace::root().join("benches")).expect("they are there");
        for program in own {
            let measured = ITERATIONS.iter().any(|known| known.program == program.name);
            let excused = WITHOUT_ITERATIONS
                .iter()
                .any(|(name, _)| *name == program.name);
            assert!(measured != excused, "{}", program.name);
        }
    }

    #[test]
    fn programs_are_put_together() {
        let pace = Pace {
            seconds: 2.0,
            sample_seconds: 0.001,
        };
        let programs = all(None, Path::new("unused"), pace).expect("they are there");
        let vector = programs.iter().find(|program| program.name == "vector");
        let vector = vector.expect("it is one of them");
        assert!(vector.scheme.starts_with("(import (prefix"));
        assert!(!vector.scheme.contains("\n(display"));
        assert!(vector.closing.contains("(* 2.0 second)"));
        assert!(vector.closing.contains("(repeat (make-vector 10000 0) 20)"));
        assert!(!vector.closing.contains("@S"));
    }
}
