//! Conditions that need no call: comparisons of a frame's variables with small numbers and the like.
//!
//! Most conditions that people write are of this kind, such as `(= i 5000)`. They are decided where the
//! task stands. All others, and those that meet other values, are evaluated by the task.

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_source;
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;
use canny_value::Value;
use canny_vm::debug::Stop;

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Simple {
    /// A comparison of two integers.
    Compare(fn(&i64, &i64) -> bool, Operand, Operand),
    /// Whether two values are the same.
    Same(Operand, Operand),
    Not(Box<Simple>),
    All(Vec<Simple>),
    Any(Vec<Simple>),
    /// A value that is not `#f`.
    Truth(Operand),
}

/// A part of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    Variable(String),
    /// A word that is no object of the heap.
    Constant(Value),
}

/// The words that a condition is made of.
const WORDS: [&str; 10] = ["=", "<", ">", "<=", ">=", "eq?", "eqv?", "not", "and", "or"];

impl Simple {
    /// Reads a condition; none unless it is simple.
    pub(super) fn read(text: &str) -> Option<Simple> {
        let (_, read) = read_source(&SourceMap::new(), "a condition", text.as_bytes(), false);
        let [form] = read.forms.as_slice() else {
            return None;
        };
        let is_wrong = read.diagnostics.iter().any(|one| one.is_error());
        if is_wrong { None } else { Simple::of(form) }
    }

    fn of(form: &Syntax) -> Option<Simple> {
        let Some(elements) = form.elements().filter(|elements| !elements.is_empty()) else {
            return Operand::of(form).map(Simple::Truth);
        };
        let word = elements[0].as_identifier()?.name;
        let parts = &elements[1..];
        let two = || {
            let [one, other] = parts else {
                return None;
            };
            Some((Operand::of(one)?, Operand::of(other)?))
        };
        let compare = |relation: fn(&i64, &i64) -> bool| {
            let (one, other) = two()?;
            Some(Simple::Compare(relation, one, other))
        };
        let all = || parts.iter().map(Simple::of).collect::<Option<Vec<_>>>();
        match word.as_str() {
            "=" => compare(i64::eq),
            "<" => compare(i64::lt),
            ">" => compare(i64::gt),
            "<=" => compare(i64::le),
            ">=" => compare(i64::ge),
            "eq?" | "eqv?" => two().map(|(one, other)| Simple::Same(one, other)),
            "not" => match parts {
                [one] => Some(Simple::Not(Box::new(Simple::of(one)?))),
                _ => None,
            },
            "and" => all().map(Simple::All),
            "or" => all().map(Simple::Any),
            _ => None,
        }
    }

    /// The words that must have their usual meaning.
    pub(super) fn words() -> &'static [&'static str] {
        &WORDS
    }

    /// Whether it is true of the newest frame; none if the task itself must find out.
    pub(super) fn decide(&self, stop: &mut Stop<'_>) -> Option<bool> {
        match self {
            Simple::Compare(relation, one, other) => {
                let one = one.value(stop)?.as_fixnum()?;
                Some(relation(&one, &other.value(stop)?.as_fixnum()?))
            }
            Simple::Same(one, other) => {
                let (one, other) = (one.value(stop)?, other.value(stop)?);
                // Objects of the heap that differ may be equal numbers.
                let is_known = one == other || one.as_object().is_none();
                is_known.then_some(one == other)
            }
            Simple::Not(one) => one.decide(stop).map(|is_true| !is_true),
            Simple::All(parts) => {
                for part in parts {
                    if !part.decide(stop)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Simple::Any(parts) => {
                for part in parts {
                    if part.decide(stop)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Simple::Truth(one) => Some(one.value(stop)? != Value::FALSE),
        }
    }
}

impl Operand {
    fn of(form: &Syntax) -> Option<Operand> {
        if let Some(identifier) = form.as_identifier() {
            return Some(Operand::Variable(identifier.name.as_str().to_owned()));
        }
        let constant = match form.as_atom()? {
            Datum::Boolean(true) => Value::TRUE,
            Datum::Boolean(false) => Value::FALSE,
            Datum::Character(character) => Value::character(*character),
            number @ Datum::Number(_) => {
                let small = (i64::from(i32::MIN)..=i64::from(i32::MAX)).contains(&integer(number)?);
                Value::fixnum(integer(number).filter(|_| small)?)
            }
            _ => return None,
        };
        Some(Operand::Constant(constant))
    }

    fn value(&self, stop: &mut Stop<'_>) -> Option<Value> {
        match self {
            Operand::Constant(value) => Some(*value),
            Operand::Variable(name) => stop.value(0, name),
        }
    }
}

/// An exact integer that is small.
fn integer(datum: &Datum) -> Option<i64> {
    datum.to_string().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_conditions_are_told_from_others() {
        for text in [
            "(= i 5)",
            "(and (< i 5) (not (eq? x #f)))",
            "x",
            "(or x (>= 1 y))",
        ] {
            assert!(Simple::read(text).is_some(), "{text}");
        }
        for text in [
            "(= i 5 6)",
            "(= i (f x))",
            "(f x)",
            "(= i 0.5)",
            "(= i",
            "",
            "a b",
            "(not)",
        ] {
            assert!(Simple::read(text).is_none(), "{text}");
        }
    }
}
