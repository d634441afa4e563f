//! Primitives give what their rows say. Compiled code believes the rows of leaf functions and of pure
//! primitives without a check, so each of them is called here with arguments of all kinds.

mod support;

use std::fmt::Write;

use canny_tables::leaves::{self, Gives};
use canny_tables::primitives::{self, Flags};
use support::canny;

/// An argument of each kind, among them empty, wide, improper and immutable ones.
const ARGUMENTS: &[&str] = &[
    "0",
    "3",
    "-7",
    "(expt 10 30)",
    "1/2",
    "2.5",
    "-0.0",
    "+nan.0",
    "1.5+2.5i",
    "1+2i",
    "#t",
    "#f",
    "'()",
    "(list 1 2 3)",
    "(list (cons 1 2) (cons 'a \"b\"))",
    "(cons 1 2)",
    "(list \"a\" \"b\")",
    "(list #\\a #\\x3bb)",
    "\"\"",
    "\"abc\"",
    "(string #\\x3bb #\\a)",
    "\"12\"",
    "'symbol",
    "#\\a",
    "#\\x3bb",
    "(vector)",
    "(vector 1 \"b\" 'c)",
    "(bytevector 1 2 255)",
    "car",
    "(lambda (x) x)",
    "(eof-object)",
    "(open-input-string \"text\")",
    "(if #f #f)",
];

/// Primitives with arguments that make them compute for ever, or look at the running frames.
const LEFT_OUT: &[&str] = &[
    "expt",
    "exact-integer-expt",
    "arithmetic-shift",
    "shift-left",
    "make-string",
    "make-vector",
    "make-bytevector",
    "make-list",
    "iota",
];

/// The predicate, in Scheme, that values of a declared type pass.
fn predicate(declared: &str) -> Option<&'static str> {
    Some(match declared {
        "boolean" => "boolean?",
        "string" => "string?",
        "symbol" => "symbol?",
        "char" => "char?",
        "vector" => "vector?",
        "bytevector" => "bytevector?",
        "pair" => "pair?",
        "pair-or-false" => "(lambda (x) (or (pair? x) (not x)))",
        "list" => "(lambda (x) (or (pair? x) (null? x)))",
        "index" => "(lambda (x) (and (exact-integer? x) (<= 0 x (expt 2 60))))",
        "fixnum" => "(lambda (x) (and (exact-integer? x) (< (- (expt 2 61)) x (expt 2 61))))",
        "integer" | "number" | "real" => "number?",
        _ => return None,
    })
}

fn declared_by_leaf(gives: Gives) -> &'static str {
    match gives {
        Gives::Any => "any",
        Gives::Boolean => "boolean",
        Gives::Fixnum => "fixnum",
        Gives::Number => "number",
        Gives::ExactInteger => "exact-integer",
        Gives::Character => "char",
        Gives::PairOrFalse => "pair-or-false",
        Gives::List => "list",
        Gives::String => "string",
        Gives::Symbol => "symbol",
        Gives::Vector => "vector",
        Gives::HashTable => "hash-table",
        Gives::Flonum => "flonum",
    }
}

/// Name, number of arguments and declared type of all that is believed.
fn believed() -> Vec<(&'static str, usize, &'static str)> {
    let mut rows = Vec::new();
    // More arguments have too many combinations.
    for leaf in leaves::ROWS.iter().filter(|leaf| leaf.arguments <= 3) {
        rows.push((leaf.primitive, leaf.arguments, declared_by_leaf(leaf.gives)));
    }
    for row in primitives::all() {
        if row.flags.has(Flags::PURE) && !row.flags.has(Flags::FRAME) {
            let declared = row.signature.rsplit("-> ").next().unwrap_or("any");
            let most = row.arity_max.unwrap_or(3).min(3);
            for count in row.arity_min..=most {
                rows.push((row.name, usize::from(count), declared));
            }
        }
    }
    rows.retain(|(name, _, declared)| predicate(declared).is_some() && !LEFT_OUT.contains(name));
    rows
}

#[test]
fn values_have_the_types_that_rows_declare() {
    let rows = believed();
    assert!(rows.len() > 200, "{}", rows.len());
    let mut names: Vec<&str> = rows.iter().map(|(name, ..)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let mut text =
        String::from("(import (scheme base) (scheme write) (prefix (only (canny primitives)");
    for name in &names {
        let _ = write!(text, " {name}");
    }
    text.push_str(") p:))\n(define makers (list");
    for argument in ARGUMENTS {
        let _ = write!(text, " (lambda () {argument})");
    }
    text.push_str(
        "))
(define few-makers
  (let loop ((i 0) (makers makers))
    (cond ((null? makers) '())
          ((= 0 (modulo i 5)) (cons (car makers) (loop (+ i 1) (cdr makers))))
          (else (loop (+ i 1) (cdr makers))))))
(define given 0)
(define (try name procedure right? arguments)
  (let ((value (guard (e (#t 'raised)) (list (apply procedure arguments)))))
    (when (pair? value)
      (set! given (+ given 1))
      (unless (right? (car value))
        (write (list name arguments (car value))) (newline)))))
(define (all name count procedure right?)
  (let loop ((count count) (makers-so-far '()))
    (if (= count 0)
        (try name procedure right? (map (lambda (make) (make)) makers-so-far))
        (for-each (lambda (make) (loop (- count 1) (cons make makers-so-far)))
                  (if (pair? makers-so-far) (if (= count 1) makers few-makers) makers)))))
",
    );
    for (name, count, declared) in &rows {
        let right = predicate(declared).unwrap_or("(lambda (x) #t)");
        let _ = writeln!(text, "(all '{name} {count} p:{name} {right})");
    }
    text.push_str("(display (> given 1000)) (newline)\n");
    let outcome = canny(&["program.scm"]).file("program.scm", text).run();
    assert_eq!(outcome.output, "#t\n", "{}", outcome.errors);
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
}
