//! Conditions that need no call: comparisons of a frame's variables with small numbers and the like.
//!
//! Most conditions that people write are of this kind, such as `(= (modulo i 1000) 0)` or
//! `(null? (cdr rest))`. They are decided where the task stands. All others, and those that meet other
//! values, are evaluated by the task.

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_source;
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::debug::Stop;

/// A condition.
#[derive(Clone, Debug)]
pub(super) struct Simple {
    test: Test,
    /// The words in it that must have their usual meaning.
    words: Vec<&'static str>,
}

/// A part of a condition that is true or false.
#[derive(Clone, Debug)]
enum Test {
    /// A comparison of two integers.
    Compare(Comparison, Operand, Operand),
    /// Whether two values are the same.
    Same(Operand, Operand),
    /// Whether a value is of a kind.
    Is(IsOfKind, Operand),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
    /// A value that is not `#f`.
    Truth(Operand),
}

/// A part of a condition that has a value.
#[derive(Clone, Debug)]
enum Operand {
    Variable(String),
    /// A word that is no object of the heap.
    Constant(Value),
    /// A part of an object.
    Part(PartOf, Box<Operand>),
    /// An operation on two integers.
    Arithmetic(Integers, Box<[Operand; 2]>),
}

/// A word and what it means.
type Row<T> = (&'static str, T);
type Comparison = fn(&i64, &i64) -> bool;
/// None if the procedure would raise, or is not known for the value.
type IsOfKind = fn(Value) -> Option<bool>;
type PartOf = fn(Value) -> Option<Value>;
type Integers = fn(i64, i64) -> Option<i64>;

const COMPARISONS: [Row<Comparison>; 5] = [
    ("=", i64::eq),
    ("<", i64::lt),
    (">", i64::gt),
    ("<=", i64::le),
    (">=", i64::ge),
];

const KINDS: [Row<IsOfKind>; 9] = [
    ("null?", |value| Some(value == Value::NIL)),
    ("pair?", |value| Some(value.is_pair())),
    ("symbol?", |value| Some(value.is_kind(Kind::Symbol))),
    ("vector?", |value| Some(value.is_kind(Kind::Vector))),
    ("zero?", |value| Some(value.as_fixnum()? == 0)),
    ("positive?", |value| Some(value.as_fixnum()? > 0)),
    ("negative?", |value| Some(value.as_fixnum()? < 0)),
    ("even?", |value| Some(value.as_fixnum()? % 2 == 0)),
    ("odd?", |value| Some(value.as_fixnum()? % 2 != 0)),
];

const PARTS: [Row<PartOf>; 4] = [
    ("car", |value| Some(value.as_pair()?.car())),
    ("cdr", |value| Some(value.as_pair()?.cdr())),
    ("cadr", |value| {
        Some(value.as_pair()?.cdr().as_pair()?.car())
    }),
    ("vector-length", |value| {
        let vector = value.as_kind(Kind::Vector)?;
        Value::try_fixnum(i64::try_from(vector.length()).ok()?)
    }),
];

const ARITHMETIC: [Row<Integers>; 6] = [
    ("+", i64::checked_add),
    ("-", i64::checked_sub),
    ("*", i64::checked_mul),
    ("quotient", i64::checked_div),
    ("remainder", i64::checked_rem),
    ("modulo", modulo),
];

/// The remainder with the sign of the divisor.
fn modulo(one: i64, other: i64) -> Option<i64> {
    let rest = one.checked_rem(other)?;
    let is_other_side = rest != 0 && (rest < 0) != (other < 0);
    Some(if is_other_side { rest + other } else { rest })
}

/// The row of a word.
fn row<T: Copy>(rows: &[Row<T>], word: &str) -> Option<Row<T>> {
    rows.iter().find(|(known, _)| *known == word).copied()
}

impl Simple {
    /// Reads a condition; none unless it is simple.
    pub(super) fn read(text: &str) -> Option<Simple> {
        let (_, read) = read_source(&SourceMap::new(), "a condition", text.as_bytes(), false);
        let [form] = read.forms.as_slice() else {
            return None;
        };
        if read.diagnostics.iter().any(|one| one.is_error()) {
            return None;
        }
        let mut words = Vec::new();
        let test = Test::of(form, &mut words)?;
        Some(Simple { test, words })
    }

    /// The words that must have their usual meaning.
    pub(super) fn words(&self) -> &[&'static str] {
        &self.words
    }

    /// Whether it is true of the newest frame; none if the task itself must find out.
    pub(super) fn decide(&self, stop: &mut Stop<'_>) -> Option<bool> {
        self.test.decide(stop)
    }
}

impl Test {
    fn of(form: &Syntax, words: &mut Vec<&'static str>) -> Option<Test> {
        let elements = form.elements().filter(|elements| !elements.is_empty());
        let word = elements
            .as_ref()
            .and_then(|elements| elements[0].as_identifier());
        let (Some(elements), Some(word)) = (elements, word) else {
            return Operand::of(form, words).map(Test::Truth);
        };
        let (word, parts) = (word.name.as_str(), &elements[1..]);
        if let Some((word, relation)) = row(&COMPARISONS, word) {
            words.push(word);
            let [one, other] = two(parts, words)?;
            return Some(Test::Compare(relation, one, other));
        }
        if let Some((word, is_it)) = row(&KINDS, word) {
            words.push(word);
            return Some(Test::Is(is_it, Operand::only(parts, words)?));
        }
        let known = ["eq?", "eqv?", "not", "and", "or"];
        let Some(known) = known.into_iter().find(|known| *known == word) else {
            return Operand::of(form, words).map(Test::Truth);
        };
        words.push(known);
        let all = |words: &mut Vec<_>| -> Option<Vec<Test>> {
            let tests = parts.iter().map(|part| Test::of(part, words));
            tests.collect()
        };
        Some(match (known, parts) {
            ("and", _) => Test::All(all(words)?),
            ("or", _) => Test::Any(all(words)?),
            ("not", [one]) => Test::Not(Box::new(Test::of(one, words)?)),
            ("eq?" | "eqv?", _) => {
                let [one, other] = two(parts, words)?;
                Test::Same(one, other)
            }
            _ => return None,
        })
    }

    /// The same for a part.
    fn decide(&self, stop: &mut Stop<'_>) -> Option<bool> {
        match self {
            Test::Compare(relation, one, other) => {
                let one = one.value(stop)?.as_fixnum()?;
                Some(relation(&one, &other.value(stop)?.as_fixnum()?))
            }
            Test::Same(one, other) => {
                let (one, other) = (one.value(stop)?, other.value(stop)?);
                // Objects of the heap that differ may be equal numbers.
                let is_known = one == other || one.as_object().is_none();
                is_known.then_some(one == other)
            }
            Test::Not(one) => one.decide(stop).map(|is_true| !is_true),
            Test::All(parts) => {
                for part in parts {
                    if !part.decide(stop)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Test::Any(parts) => {
                for part in parts {
                    if part.decide(stop)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Test::Is(is_it, one) => is_it(one.value(stop)?),
            Test::Truth(one) => Some(one.value(stop)? != Value::FALSE),
        }
    }
}

/// The values of two operands.
fn two(parts: &[Syntax], words: &mut Vec<&'static str>) -> Option<[Operand; 2]> {
    let [one, other] = parts else {
        return None;
    };
    Some([Operand::of(one, words)?, Operand::of(other, words)?])
}

impl Operand {
    fn of(form: &Syntax, words: &mut Vec<&'static str>) -> Option<Operand> {
        if let Some(identifier) = form.as_identifier() {
            return Some(Operand::Variable(identifier.name.as_str().to_owned()));
        }
        if let Some(elements) = form.elements().filter(|elements| !elements.is_empty()) {
            return Operand::of_call(&elements, words);
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

    fn of_call(elements: &[Syntax], words: &mut Vec<&'static str>) -> Option<Operand> {
        let word = elements[0].as_identifier()?.name;
        let parts = &elements[1..];
        if let Some((word, part)) = row(&PARTS, word.as_str()) {
            words.push(word);
            let whole = Operand::only(parts, words)?;
            return Some(Operand::Part(part, Box::new(whole)));
        }
        let (word, operation) = row(&ARITHMETIC, word.as_str())?;
        words.push(word);
        Some(Operand::Arithmetic(operation, Box::new(two(parts, words)?)))
    }

    /// The only argument of a call.
    fn only(parts: &[Syntax], words: &mut Vec<&'static str>) -> Option<Operand> {
        match parts {
            [one] => Operand::of(one, words),
            _ => None,
        }
    }

    fn value(&self, stop: &mut Stop<'_>) -> Option<Value> {
        match self {
            Operand::Constant(value) => Some(*value),
            Operand::Variable(name) => stop.value(0, name),
            Operand::Part(part, whole) => part(whole.value(stop)?),
            Operand::Arithmetic(operation, operands) => {
                let [one, other] = &**operands;
                let one = one.value(stop)?.as_fixnum()?;
                Value::try_fixnum(operation(one, other.value(stop)?.as_fixnum()?)?)
            }
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
            "(= (modulo (+ i 1) 1000) 0)",
            "(and (pair? x) (null? (cdr x)))",
            "(car x)",
            "(even? (vector-length v))",
        ] {
            assert!(Simple::read(text).is_some(), "{text}");
        }
        for text in [
            "(= i 5 6)",
            "(= i (f x))",
            "(+ 1 2 3)",
            "(null? x y)",
            "(car)",
            "(even? (f x))",
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

    #[test]
    fn words_are_those_of_the_condition() {
        let simple = Simple::read("(and (not (zero? i)) (= (* i 2) 6))").expect("it is simple");
        assert_eq!(simple.words(), ["and", "not", "zero?", "=", "*"]);
    }

    #[test]
    fn the_modulus_has_the_sign_of_the_divisor() {
        let of = |one, other| modulo(one, other).expect("it is a number");
        assert_eq!([of(7, 3), of(-7, 3), of(7, -3), of(-7, -3)], [1, 2, -2, -1]);
        assert_eq!([of(6, -3), of(-6, 3)], [0, 0]);
        assert_eq!(modulo(1, 0), None);
    }
}
