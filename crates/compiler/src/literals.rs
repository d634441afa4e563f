//! Literals as words: which of them an instruction can hold, and which are compared by their words.
//!
//! The optimizer and the code generator ask the same questions here. Only the layout of immediates
//! is known, not that of objects.

use canny_syntax::datum::Datum;
use canny_syntax::number::as_integer;
use canny_tables::layout;

/// The sign-extended 16 bits that stand for a literal's word, if they do.
pub(crate) fn immediate_word(datum: &Datum) -> Option<i16> {
    let word = match datum {
        Datum::Nil => layout::NIL as i64,
        Datum::Boolean(true) => layout::TRUE as i64,
        Datum::Boolean(false) => layout::FALSE as i64,
        Datum::Eof => layout::EOF as i64,
        Datum::Unspecified => layout::UNSPECIFIED as i64,
        Datum::DefaultObject => layout::DEFAULT as i64,
        Datum::Character(character) => {
            (i64::from(u32::from(*character)) << 8) | layout::CHARACTER_LOW_BYTE as i64
        }
        Datum::Number(number) => {
            let value = as_integer(number)?;
            value.checked_mul(1 << layout::FIXNUM_SHIFT)?
        }
        _ => return None,
    };
    i16::try_from(word).ok()
}

/// Whether `eq?` and `eqv?` (and `equal?`) agree for every object compared with this literal.
pub(crate) fn has_word_identity(datum: &Datum) -> bool {
    match datum {
        Datum::Nil
        | Datum::Boolean(_)
        | Datum::Character(_)
        | Datum::Symbol(_)
        | Datum::Keyword(_)
        | Datum::Eof
        | Datum::Unspecified
        | Datum::DefaultObject => true,
        Datum::Number(number) => as_integer(number)
            .is_some_and(|value| (layout::FIXNUM_MIN..=layout::FIXNUM_MAX).contains(&value)),
        _ => false,
    }
}
