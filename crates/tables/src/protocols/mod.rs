//! Protocols between Rust and Scheme: numbers that mean something, and fields at fixed positions.
//!
//! Each row gives a Rust constant, and a constant of the library `(canny machine protocols)`, whose source
//! [`library_source`] makes. `cargo xtask protocols` writes the source to `lib`, and the build
//! of the standard library fails if the file is not what the rows say. The same build fails if a
//! record type of a library does not begin with the fields of its row in [`RECORDS`].
//!
//! An argument of a primitive that is such a number has the name of the enumeration as its type in
//! the primitive's signature. `cargo xtask tidy` refuses literal numbers there.
//!
//! This module knows nothing of what the numbers do.

mod enumerations;
mod layouts;

use std::fmt::Write;

pub use enumerations::*;
pub use layouts::*;

/// The values of an enumeration, or the flags of a set.
#[derive(Clone, Copy, Debug)]
pub struct Enumeration {
    /// The first part of the names in Scheme: `clock` in `clock/monotonic`.
    pub name: &'static str,
    /// The meaning of the numbers.
    pub doc: &'static str,
    /// Names and numbers.
    pub values: &'static [(&'static str, i64)],
}

/// A number that stands for one of several cases.
pub trait Enumerated: Copy + Sized {
    /// The row.
    const ROW: Enumeration;

    /// The case with this number.
    fn from_number(number: i64) -> Option<Self>;
}

/// The fields of a record type that the machine knows, which come first.
#[derive(Clone, Copy, Debug)]
pub struct RecordLayout {
    /// The library that defines the type, as words.
    pub library: &'static [&'static str],
    /// The variable of the record type.
    pub name: &'static str,
    /// Their names, in order.
    pub fields: &'static [&'static str],
}

/// The elements of a vector or list that goes from one side to the other.
#[derive(Clone, Copy, Debug)]
pub struct PositionLayout {
    /// The first part of the names in Scheme.
    pub name: &'static str,
    /// The meaning of each element, in order.
    pub fields: &'static [&'static str],
}

/// The field with which `%lock!` locks a record: the first one of every record type that has it.
pub const LOCK_FIELD: &str = "%lock";
/// Its place in a record, behind the type.
pub const LOCK_WORD: usize = 1;

/// The enumeration with a name.
pub fn enumeration(name: &str) -> Option<&'static Enumeration> {
    ENUMERATIONS.iter().find(|row| row.name == name)
}

/// The source of `(canny machine protocols)`, laid out as `canny fmt` does it.
pub fn library_source() -> String {
    let mut definitions = String::new();
    let mut names = Vec::new();
    let mut define = |definitions: &mut String, name: String, number: i64| {
        let _ = writeln!(definitions, "    (define {name} {number})");
        names.push(name);
    };
    for row in ENUMERATIONS {
        let _ = writeln!(definitions, "\n    ;; {}", row.doc);
        for (name, number) in row.values {
            define(&mut definitions, format!("{}/{name}", row.name), *number);
        }
    }
    for row in RECORDS {
        let library = row.library.join(" ");
        let _ = writeln!(
            definitions,
            "\n    ;; Fields of `{}` in `({library})`, from 0.",
            row.name
        );
        for (index, field) in (0..).zip(row.fields) {
            let name = format!("{}-field/{}", row.name, field.trim_start_matches('%'));
            define(&mut definitions, name, index);
        }
    }
    for (kind, rows) in [("vector", VECTORS), ("list", LISTS)] {
        for row in rows {
            let name = row.name;
            let _ = writeln!(definitions, "\n    ;; Elements of a {kind} of `{name}`.");
            for (index, field) in (0..).zip(row.fields) {
                define(&mut definitions, format!("{name}/{field}"), index);
            }
            if kind == "vector" {
                let count = row.fields.len() as i64;
                define(&mut definitions, format!("{name}/count"), count);
            }
        }
    }
    let exports = names.join("\n          ");
    let definitions = definitions.trim_end();
    format!("{HEADER}  (export vector-at\n          {exports})\n{MACROS}{definitions}))\n")
}

const HEADER: &str = "\
;;; (canny machine protocols): numbers that mean the same in Rust and in Scheme.
;;;
;;; `cargo xtask protocols` made this file from the rows in `crates/tables/src/protocols`. Change
;;; those.

(define-library (canny machine protocols)
";

const MACROS: &str = "  (import (canny primitives) (canny syntax))
  (begin

    ;; A vector with so many elements: each value is at the index before it.
    (define-syntax vector-at
      (syntax-rules ()
        ((_ count (index value) ...)
         (let ((elements (make-vector count #f)))
           (vector-set! elements index value) ...
           elements))))
";

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::primitives;

    #[test]
    fn names_and_numbers_are_unique() {
        let mut rows = HashSet::new();
        for row in ENUMERATIONS {
            assert!(rows.insert(row.name), "two enumerations {}", row.name);
            let names: HashSet<_> = row.values.iter().map(|(name, _)| name).collect();
            let numbers: HashSet<_> = row.values.iter().map(|(_, number)| number).collect();
            assert_eq!(names.len(), row.values.len(), "names of {}", row.name);
            assert_eq!(numbers.len(), row.values.len(), "numbers of {}", row.name);
        }
    }

    #[test]
    fn numbers_have_their_cases() {
        assert_eq!(
            Clock::from_number(Clock::Thread.number()),
            Some(Clock::Thread)
        );
        assert_eq!(Clock::from_number(1000), None);
        assert_eq!(
            enumeration("clock").map(|row| row.values),
            Some(Clock::ROW.values)
        );
    }

    #[test]
    fn flags_are_single_bits() {
        for row in [OpenFlag::ROW, RequestFlag::ROW, FileAccess::ROW] {
            for (name, number) in row.values {
                assert_eq!(number.count_ones(), 1, "{}/{name}", row.name);
            }
        }
        assert!(OpenFlag::Create.is_in(OpenFlag::Create.number() | OpenFlag::Append.number()));
        assert!(!OpenFlag::Create.is_in(OpenFlag::Append.number()));
    }

    #[test]
    fn fields_are_in_order() {
        assert_eq!(waiter::STATE, LOCK_WORD);
        assert_eq!(task::LOCK, LOCK_WORD);
        let row = RECORDS.iter().find(|row| row.name == "task");
        let fields = row.expect("the row of tasks").fields;
        assert_eq!(fields[task::NUMBER - 1], "number");
        assert_eq!(task::WORDS, fields.len() + 1);
        assert_eq!(spawn_setting::COUNT, 9);
        assert_eq!(user_id::EFFECTIVE_GROUP, user_id::COUNT - 1);
    }

    /// A misspelt enumeration in a signature would be a type that `tidy` does not look at.
    #[test]
    fn every_enumeration_of_arguments_is_used() {
        let words: HashSet<&str> = primitives::all()
            .iter()
            .flat_map(|row| row.signature.split([' ', '[', ']']))
            .collect();
        for row in ENUMERATIONS {
            let is_argument = !RESULTS.contains(&row.name);
            assert_eq!(words.contains(row.name), is_argument, "{}", row.name);
        }
    }

    #[test]
    fn the_source_has_every_name() {
        let source = library_source();
        assert!(source.contains("\n    (define clock/monotonic 1)\n"));
        assert!(source.contains("\n    (define waiter-field/task 1)\n"));
        assert!(source.ends_with(")))\n") && !source.ends_with("))))\n"));
    }
}
