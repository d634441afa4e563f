//! Writes the program that measures a group, for Canny and for Chez.
//!
//! Each operation is a procedure with a loop of its own. Its operands come out of vectors by the
//! loop's counter, so that no optimizer folds them, and the last result is what the loop returns. The
//! empty loops read as many operands and keep the last of them; their time is subtracted.

use std::fmt::Write as _;

use super::table::{Group, Operation, TURNS, words};
use crate::bench::engines::top_level_forms;
use crate::bench::programs::defined_names;

const MEASURE: &str = include_str!("../dialect/operations.scm");
const CANNY: &str = include_str!("../dialect/operations-canny.scm");
const CHEZ: &str = include_str!("../dialect/operations-chez.scm");

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    Canny,
    Chez,
}

impl Language {
    fn expression(self, operation: &Operation) -> Option<&str> {
        match self {
            Language::Canny => Some(&operation.expression),
            Language::Chez => operation.for_chez(),
        }
    }
}

/// The work of a program with the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// It prints the answers.
    Check,
    /// It prints the answers, then the times of the operations.
    Time,
    /// The same, with the times of the empty loops, then the answers again.
    TimeAll,
}

/// The program that works on the operations with these indices.
pub fn program(group: &Group, language: Language, indices: &[usize], work: Work) -> String {
    let mut text = head(group, language);
    let mut answers = String::new();
    let mut times = String::new();
    let mut later = String::new();
    for operands in 0..=most_operands(group) {
        let names: Vec<String> = (0..operands).map(|index| format!("x{index}")).collect();
        let result = names.last().map_or("#f", String::as_str);
        let name = format!("empty-{operands}");
        let reads = names.iter().map(|name| (name.as_str(), "operands-of-none"));
        text.push_str(&loop_of(&name, reads, result));
        if work == Work::TimeAll {
            let _ = writeln!(times, "(time-empty {operands} {name})");
        }
    }
    for &index in indices {
        let operation = &group.operations[index];
        let Some(expression) = language.expression(operation) else {
            continue;
        };
        let name = format!("op-{index}");
        let vectors: Vec<String> = operation.operands.iter().map(|name| vector(name)).collect();
        let reads = operation.operands.iter().map(String::as_str);
        let reads = reads.zip(vectors.iter().map(String::as_str));
        text.push_str(&loop_of(&name, reads, expression));
        let _ = writeln!(answers, "(answer {index} {name})");
        if work != Work::Check {
            let _ = writeln!(times, "(time-operation {index} {name})");
        }
        if work == Work::TimeAll {
            let _ = writeln!(later, "(answer-later {index} {name})");
        }
    }
    text + &answers + &times + &later
}

fn head(group: &Group, language: Language) -> String {
    let own = match language {
        Language::Canny => &group.canny,
        Language::Chez => &group.chez,
    };
    let mut body = own.clone();
    let _ = writeln!(
        body,
        "(define operands-of-none (vector{}))",
        " 1".repeat(TURNS)
    );
    for operand in &group.operands {
        let _ = writeln!(
            body,
            "(define {} (vector {}))",
            vector(&operand.name),
            operand.values
        );
    }
    match language {
        Language::Canny => {
            let imports = if group.imports.is_empty() {
                String::new()
            } else {
                format!("(import {})\n", group.imports)
            };
            format!("{imports}{CANNY}{MEASURE}{body}")
        }
        Language::Chez => {
            let names = defined_names(&body);
            let dialect: String = top_level_forms(CHEZ)
                .into_iter()
                .filter(|form| defined_names(form).iter().all(|name| !names.contains(name)))
                .collect();
            format!("{dialect}{MEASURE}{body}")
        }
    }
}

fn vector(operand: &str) -> String {
    format!("operands-of-{operand}")
}

fn most_operands(group: &Group) -> usize {
    let counts = group.operations.iter().map(|one| one.operands.len());
    counts.max().unwrap_or(0)
}

fn loop_of<'a>(
    name: &str,
    reads: impl Iterator<Item = (&'a str, &'a str)>,
    expression: &str,
) -> String {
    let mut bindings = String::new();
    for (operand, vector) in reads {
        let _ = write!(
            bindings,
            "({operand} (vector-ref {vector} (bitwise-and %i {})))",
            TURNS - 1
        );
    }
    // The counter and the loop have names that no expression uses.
    debug_assert!(!words(expression).contains(&"%i"));
    format!(
        "(define ({name} %start %end)\n\
         (let %loop ((%i %start) (%result #f))\n\
         (if (< %i %end)\n\
         (let ({bindings})\n\
         (%loop (+ %i 1)\n\
         {expression}))\n\
         %result)))\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::operations::table::parse;

    const TEXT: &str = "\
import (srfi 1)
chez (define (floor/ a b) a)
operands a 1 2 3 4
operands b 5 6 7 8
(+ a b) ==> 1
(own a) chez: none
";

    #[test]
    fn each_engine_gets_its_operations() {
        let group = parse("g", TEXT).expect("the text is right");
        let canny = program(&group, Language::Canny, &[0, 1], Work::TimeAll);
        assert!(canny.starts_with("(import (srfi 1)\n)"));
        assert!(canny.contains("(define operands-of-a (vector 1 2 3 4))"));
        assert!(canny.contains("(answer 0 op-0)\n(answer 1 op-1)\n(time-empty 0 empty-0)"));
        assert!(canny.contains("(time-operation 0 op-0)\n(time-operation 1 op-1)"));
        let chez = program(&group, Language::Chez, &[0, 1], Work::TimeAll);
        assert!(!chez.contains("op-1"));
        assert_eq!(chez.matches("(define (floor/ ").count(), 1);
    }

    #[test]
    fn a_program_does_what_is_asked() {
        let group = parse("g", TEXT).expect("the text is right");
        let text = program(&group, Language::Canny, &[1], Work::Time);
        assert!(text.contains("(time-operation 1 op-1)"));
        assert!(!text.contains("op-0") && !text.contains("(time-empty 0 "));
        let text = program(&group, Language::Canny, &[1], Work::Check);
        assert!(text.ends_with("(answer 1 op-1)\n"));
    }

    #[test]
    fn a_loop_reads_its_operands() {
        let text = loop_of("f", [("a", "v"), ("b", "w")].into_iter(), "(+ a b)");
        assert!(text.contains("(let ((a (vector-ref v (bitwise-and %i 3)))(b (vector-ref w"));
    }
}
