//! Calls that the kind of a number alone decides: predicates such as `exact?`, and functions that
//! return their argument.
//!
//! Owns the tables of both. Where the kind of an operand is known, or is guessed and guarded, no code
//! is left of the call.

use canny_tables::layout;

use super::control::test_for;
use super::{Activation, Builder};
use crate::graph::NodeId;
use crate::types::Type;

const INTEGER: Type = Type::FIXNUM.or(Type::BIGNUM);
const EXACT: Type = INTEGER.or(Type::OTHER_NUMBER);
const REAL: Type = EXACT.or(Type::FLONUM);
const NO_NUMBER: Type = Type::ANY.without(Type::NUMBER);

/// The answer of a function for operands of some kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    True,
    False,
    /// The operand.
    Same,
    /// The number 0.
    Zero,
    /// The number 1.
    One,
}

/// Functions, the kinds of their operand, and their answers for these.
const ANSWERS: &[(&str, Type, Answer)] = &[
    ("number?", Type::NUMBER, Answer::True),
    ("number?", NO_NUMBER, Answer::False),
    ("complex?", Type::NUMBER, Answer::True),
    ("complex?", NO_NUMBER, Answer::False),
    ("real?", REAL, Answer::True),
    ("real?", NO_NUMBER, Answer::False),
    ("rational?", EXACT, Answer::True),
    ("rational?", NO_NUMBER, Answer::False),
    ("integer?", INTEGER, Answer::True),
    ("integer?", NO_NUMBER.or(Type::OTHER_NUMBER), Answer::False),
    ("exact-integer?", INTEGER, Answer::True),
    ("exact-integer?", Type::ANY.without(INTEGER), Answer::False),
    ("exact-rational?", EXACT, Answer::True),
    ("exact-rational?", Type::ANY.without(EXACT), Answer::False),
    ("exact?", EXACT, Answer::True),
    ("exact?", Type::FLONUM, Answer::False),
    ("inexact?", EXACT, Answer::False),
    ("inexact?", Type::FLONUM, Answer::True),
    ("nan?", EXACT, Answer::False),
    ("infinite?", EXACT, Answer::False),
    ("finite?", EXACT, Answer::True),
    ("exact", EXACT, Answer::Same),
    ("floor", INTEGER, Answer::Same),
    ("ceiling", INTEGER, Answer::Same),
    ("truncate", INTEGER, Answer::Same),
    ("round", INTEGER, Answer::Same),
    ("numerator", INTEGER, Answer::Same),
    ("denominator", INTEGER, Answer::One),
    ("real-part", REAL, Answer::Same),
    ("imag-part", REAL, Answer::Zero),
    ("bitwise-and", INTEGER, Answer::Same),
    ("bitwise-ior", INTEGER, Answer::Same),
    ("bitwise-xor", INTEGER, Answer::Same),
    ("+", Type::NUMBER, Answer::Same),
    ("*", Type::NUMBER, Answer::Same),
    ("max", REAL, Answer::Same),
    ("min", REAL, Answer::Same),
];

fn answer(name: &str, ty: Type) -> Option<Answer> {
    ANSWERS
        .iter()
        .find(|(row, kinds, _)| *row == name && ty.is(*kinds))
        .map(|(_, _, answer)| *answer)
}

impl Builder<'_> {
    /// The value of a function of one argument, if the kind of the argument decides it.
    pub(super) fn by_kind(
        &mut self,
        activation: &mut Activation,
        name: &str,
        x: NodeId,
    ) -> Option<NodeId> {
        if self.ty(x).is_none() || !ANSWERS.iter().any(|(row, ..)| *row == name) {
            return None;
        }
        let mut x = x;
        let mut found = answer(name, self.ty(x));
        if found.is_none()
            && let guess = self.guess(x)
            && let Some(test) = test_for(guess)
            && let Some(guessed) = answer(name, guess)
        {
            x = self.guard(activation, test, x);
            self.block?;
            found = Some(guessed);
        }
        Some(match found? {
            Answer::True => self.word(layout::TRUE),
            Answer::False => self.word(layout::FALSE),
            Answer::Same => x,
            Answer::Zero => self.fixnum(0),
            Answer::One => self.fixnum(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use canny_tables::primitives;

    use super::*;

    #[test]
    fn answers_are_of_primitives_and_do_not_overlap() {
        for (index, (name, kinds, answer)) in ANSWERS.iter().enumerate() {
            assert!(primitives::lookup(name).is_some(), "{name}");
            for (other, more, _) in &ANSWERS[index + 1..] {
                assert!(name != other || !kinds.may_be(*more), "{name} {answer:?}");
            }
        }
    }
}
