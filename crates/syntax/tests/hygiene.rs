//! The torture set for hygiene and `syntax-rules`. A case is a program and the value of its last
//! expression. `tests/hygiene.scm` holds the cases as data, in the form
//! `(name expected form …)`.
//!
//! Every case is run twice: as it is, and with the definitions at its beginning moved to a
//! library whose interface went through serialisation.

#[path = "support/memory.rs"]
mod memory;
mod support;

use std::sync::Arc;

use canny_syntax::datum::Datum;
use canny_syntax::interface::Interface;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use memory::{Memory, registry};
use support::run;

struct Case {
    name: String,
    expected: String,
    forms: Vec<String>,
}

fn cases() -> Vec<Case> {
    let source = read_text(include_str!("hygiene.scm"), SourceId::NONE, false);
    assert!(source.diagnostics.is_empty(), "{:?}", source.diagnostics);
    source
        .forms
        .iter()
        .map(|form| {
            let mut parts = form.elements().expect("a case is a list").into_iter();
            Case {
                name: parts.next().expect("a name").to_string(),
                expected: parts.next().expect("a value").to_string(),
                forms: parts.map(|form| form.to_string()).collect(),
            }
        })
        .collect()
}

#[test]
fn there_are_enough_cases() {
    assert!(cases().len() >= 60);
}

#[test]
fn cases_hold_in_a_program() {
    let mut failures = Vec::new();
    for case in cases() {
        let result = run(
            &case.forms.join("\n"),
            &mut registry(Memory::default()),
            &[],
        );
        let actual = result.last();
        if actual != case.expected {
            failures.push(format!(
                "{}: expected {}, got {actual}",
                case.name, case.expected
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The names that the forms define at top level, as far as can be seen without expansion.
fn defined_names(forms: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for form in forms {
        let form = read_text(form, SourceId::NONE, false)
            .forms
            .remove(0)
            .to_datum();
        let Datum::Pair(pair) = &form else { continue };
        let is_definition =
            matches!(&pair.car, Datum::Symbol(head) if head.as_str().starts_with("define"));
        let Datum::Pair(rest) = &pair.cdr else {
            continue;
        };
        let name = match &rest.car {
            Datum::Pair(head) => head.car.to_string(),
            other => other.to_string(),
        };
        if is_definition && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[test]
fn cases_hold_across_libraries() {
    let mut failures = Vec::new();
    for case in cases() {
        // The definitions at the beginning go to the library.
        let is_definition = |form: &String| form.starts_with("(define");
        let count = case
            .forms
            .iter()
            .take_while(|form| is_definition(form))
            .count();
        let (before, rest) = case.forms.split_at(count);
        // A definition of an imported name is allowed in a program only.
        let exports = defined_names(before);
        if exports.is_empty() || exports.iter().any(|name| name == "list" || name == "if") {
            continue;
        }
        let library = format!(
            "(define-library (macros) (export {}) (import (canny syntax) (canny primitives)) (begin {}))",
            exports.join(" "),
            before.join("\n")
        );
        let mut memory = Memory::default();
        memory.files.insert("macros.sld".into(), library);
        let program = format!(
            "(import (canny syntax) (canny primitives) (macros))\n{}",
            rest.join("\n")
        );
        let first = run(&program, &mut registry(memory), &[]);
        let mut memory = Memory::default();
        for interface in &first.interfaces {
            let bytes =
                postcard::to_stdvec::<Interface>(Arc::as_ref(interface)).expect("it serialises");
            memory.interfaces.insert(interface.name.key(), bytes);
        }
        let second = run(&program, &mut registry(memory), &first.units);
        for (how, actual) in [
            ("from source", first.last()),
            ("from an interface", second.last()),
        ] {
            if actual != case.expected {
                failures.push(format!(
                    "{} {how}: expected {}, got {actual}",
                    case.name, case.expected
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
