//! Evaluating primitives on literals.
//!
//! Only calls that succeed are folded: an error stays a call and is raised at run time.

use canny_number::{Number, NumberError};
use canny_syntax::core::PrimitiveId;
use canny_syntax::datum::Datum;
use canny_tables::primitives::JIFFIES_PER_SECOND;
use std::sync::Arc;

use crate::literals::has_word_identity;

/// Greatest size, in limbs, of an integer that folding may put into the code.
const LIMBS_MAX: usize = 16;

/// Evaluates primitives that carry the `FOLDABLE` flag.
pub trait Folder {
    /// The value of the call, if it has one that may be computed now.
    fn fold(&self, primitive: PrimitiveId, operands: &[&Datum]) -> Option<Datum>;
}

/// Folds arithmetic, comparisons, type tests and characters.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiteralFolder;

impl Folder for LiteralFolder {
    fn fold(&self, primitive: PrimitiveId, operands: &[&Datum]) -> Option<Datum> {
        let name = primitive.row().name;
        fold_numbers(name, operands)
            .or_else(|| fold_characters(name, operands))
            .or_else(|| fold_objects(name, operands))
    }
}

fn fold_numbers(name: &str, operands: &[&Datum]) -> Option<Datum> {
    let mut numbers = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand {
            Datum::Number(number) => numbers.push(&**number),
            _ => return None,
        }
    }
    let chain = |test: fn(&Number, &Number) -> Result<bool, NumberError>| {
        let mut holds = true;
        for pair in numbers.windows(2) {
            holds &= test(pair[0], pair[1]).ok()?;
        }
        (numbers.len() > 1).then_some(Datum::Boolean(holds))
    };
    let reduce = |unit: Option<Number>,
                  step: fn(&Number, &Number) -> Result<Number, NumberError>| {
        let (first, rest) = match (unit, numbers.split_first()) {
            (Some(unit), _) => (unit, &numbers[..]),
            (None, Some((first, rest))) if !rest.is_empty() => ((*first).clone(), rest),
            _ => return None,
        };
        let mut value = first;
        for number in rest {
            value = step(&value, number).ok()?;
        }
        literal(value)
    };
    let one = |function: fn(&Number) -> Result<Number, NumberError>| match numbers.as_slice() {
        [number] => function(number).ok().and_then(literal),
        _ => None,
    };
    let test = |function: fn(&Number) -> Result<bool, NumberError>| match numbers.as_slice() {
        [number] => function(number).ok().map(Datum::Boolean),
        _ => None,
    };
    match name {
        // Not from exact zero on: the sum of negative zeros is one.
        "+" if numbers.is_empty() => literal(Number::ZERO),
        "jiffies-per-second" if numbers.is_empty() => literal(Number::Fixnum(JIFFIES_PER_SECOND)),
        "+" => reduce(None, canny_number::add),
        "*" => reduce(Some(Number::Fixnum(1)), canny_number::mul),
        "-" if numbers.len() == 1 => literal(canny_number::negate(numbers[0])),
        "-" => reduce(None, canny_number::sub),
        "/" if numbers.len() == 1 => canny_number::div(&Number::Fixnum(1), numbers[0])
            .ok()
            .and_then(literal),
        "/" => reduce(None, canny_number::div),
        "quotient" | "truncate-quotient" => reduce(None, canny_number::quotient),
        "remainder" | "truncate-remainder" => reduce(None, canny_number::remainder),
        "modulo" | "floor-remainder" => reduce(None, canny_number::modulo),
        "max" => reduce(None, canny_number::max),
        "min" => reduce(None, canny_number::min),
        "1+" => one(canny_number::increment),
        "-1+" => one(canny_number::decrement),
        "abs" => one(canny_number::abs),
        "square" => one(canny_number::square),
        "exact" => one(canny_number::exact),
        "inexact" => one(|number| Ok(canny_number::inexact(number))),
        "<" => chain(canny_number::less),
        ">" => chain(canny_number::greater),
        "<=" => chain(canny_number::less_or_equal),
        ">=" => chain(canny_number::greater_or_equal),
        "=" => chain(|left, right| Ok(canny_number::numeric_equal(left, right))),
        "zero?" => test(|number| Ok(canny_number::is_zero(number))),
        "positive?" => test(|number| canny_number::less(&Number::Fixnum(0), number)),
        "negative?" => test(|number| canny_number::less(number, &Number::Fixnum(0))),
        "exact?" => test(|number| Ok(canny_number::is_exact(number))),
        "inexact?" => test(|number| Ok(!canny_number::is_exact(number))),
        "integer?" => test(|number| Ok(canny_number::is_integer(number))),
        "rational?" => test(|number| Ok(canny_number::is_rational(number))),
        "real?" => test(|number| Ok(canny_number::is_real(number))),
        "bitwise-and" => reduce(Some(Number::Fixnum(-1)), canny_number::bitwise_and),
        "bitwise-ior" => reduce(Some(Number::ZERO), canny_number::bitwise_or),
        "bitwise-xor" => reduce(Some(Number::ZERO), canny_number::bitwise_xor),
        "bitwise-not" => one(canny_number::bitwise_not),
        "arithmetic-shift" => match numbers.as_slice() {
            [Number::Fixnum(_), Number::Fixnum(by)] if by.abs() < 64 => {
                reduce(None, canny_number::arithmetic_shift)
            }
            _ => None,
        },
        _ => None,
    }
}

/// The literal for a number, unless it is too large to be worth its place.
fn literal(number: Number) -> Option<Datum> {
    let fits = match &number {
        Number::Fixnum(_) | Number::Flonum(_) => true,
        Number::Big(_) => number
            .limbs()
            .is_some_and(|(_, limbs)| limbs.len() <= LIMBS_MAX),
        Number::Ratio(_) | Number::Complex(_) => false,
    };
    fits.then(|| Datum::Number(Arc::new(number)))
}

fn fold_characters(name: &str, operands: &[&Datum]) -> Option<Datum> {
    if let ("integer->char", [Datum::Number(number)]) = (name, operands) {
        let point = u32::try_from(number.to_i64()?).ok()?;
        return char::from_u32(point).map(Datum::Character);
    }
    let mut characters = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand {
            Datum::Character(character) => characters.push(*character),
            _ => return None,
        }
    }
    let chain = |test: fn(&char, &char) -> bool| {
        let holds = characters.windows(2).all(|pair| test(&pair[0], &pair[1]));
        (!characters.is_empty()).then_some(Datum::Boolean(holds))
    };
    match (name, characters.as_slice()) {
        ("char->integer", [character]) => Some(Datum::integer(i64::from(u32::from(*character)))),
        ("char=?", _) => chain(|left, right| left == right),
        ("char<?", _) => chain(|left, right| left < right),
        ("char>?", _) => chain(|left, right| left > right),
        ("char<=?", _) => chain(|left, right| left <= right),
        ("char>=?", _) => chain(|left, right| left >= right),
        _ => None,
    }
}

fn fold_objects(name: &str, operands: &[&Datum]) -> Option<Datum> {
    match operands {
        [] => match name {
            "void" => Some(Datum::Unspecified),
            "eof-object" => Some(Datum::Eof),
            "list" | "append" => Some(Datum::Nil),
            _ => None,
        },
        [datum] => type_test(name, datum).map(Datum::Boolean),
        [left, right] if matches!(name, "eq?" | "eqv?" | "equal?") => {
            let known = has_word_identity(left) || has_word_identity(right);
            known.then(|| Datum::Boolean(left == right))
        }
        _ => None,
    }
}

fn type_test(name: &str, datum: &Datum) -> Option<bool> {
    let number = match datum {
        Datum::Number(number) => Some(&**number),
        _ => None,
    };
    Some(match name {
        "not" => matches!(datum, Datum::Boolean(false)),
        "null?" => matches!(datum, Datum::Nil),
        "pair?" => match datum {
            Datum::Labelled(..) | Datum::LabelRef(_) => return None,
            _ => matches!(datum, Datum::Pair(_)),
        },
        "boolean?" => matches!(datum, Datum::Boolean(_)),
        "symbol?" => matches!(datum, Datum::Symbol(_)),
        "string?" => matches!(datum, Datum::String(_)),
        "char?" => matches!(datum, Datum::Character(_)),
        "keyword?" => matches!(datum, Datum::Keyword(_)),
        "bytevector?" => matches!(datum, Datum::Bytevector(_)),
        "eof-object?" => matches!(datum, Datum::Eof),
        "%unspecified?" => matches!(datum, Datum::Unspecified),
        "%default-object?" => matches!(datum, Datum::DefaultObject),
        "procedure?" => match datum {
            Datum::Object(_) => return None,
            _ => false,
        },
        "vector?" => match datum {
            Datum::Labelled(..) | Datum::LabelRef(_) => return None,
            _ => matches!(datum, Datum::Vector(_)),
        },
        "number?" | "complex?" => number.is_some(),
        "real?" | "rational?" | "integer?" | "exact-integer?" | "fixnum?" if number.is_none() => {
            false
        }
        "exact-integer?" => number.is_some_and(|n| matches!(n, Number::Fixnum(_) | Number::Big(_))),
        _ => return None,
    })
}
