//! Primitives of characters: Unicode properties, simple case mappings, widths, and tables for
//! character sets.
//!
//! A character is a Unicode scalar value, so surrogates do not occur. Properties come from crates
//! with Unicode's tables. Mappings here are one to one; those that change the length are for
//! strings.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use unicode_width::UnicodeWidthChar;

use crate::arguments::{Call, implementations};
use crate::list::Walk;
use crate::unicode;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "char?" => |_, call| Ok(Value::boolean(call.at(0).is_character()));
    "char->integer" => |thread, call| Ok(Value::fixnum(i64::from(u32::from(call.character(thread, 0)?))));
    "integer->char" => integer_to_char;
    "char=?" => |thread, call| call.neighbours(thread, Call::character, |left, right| left == right);
    "char<?" => |thread, call| call.neighbours(thread, Call::character, |left, right| left < right);
    "char>?" => |thread, call| call.neighbours(thread, Call::character, |left, right| left > right);
    "char<=?" => |thread, call| call.neighbours(thread, Call::character, |left, right| left <= right);
    "char>=?" => |thread, call| call.neighbours(thread, Call::character, |left, right| left >= right);
    "char-ci=?" => |thread, call| call.neighbours(thread, folded, |left, right| left == right);
    "char-ci<?" => |thread, call| call.neighbours(thread, folded, |left, right| left < right);
    "char-ci>?" => |thread, call| call.neighbours(thread, folded, |left, right| left > right);
    "char-ci<=?" => |thread, call| call.neighbours(thread, folded, |left, right| left <= right);
    "char-ci>=?" => |thread, call| call.neighbours(thread, folded, |left, right| left >= right);
    "char-upcase" => |thread, call| map(thread, call, unicode::upcase);
    "char-downcase" => |thread, call| map(thread, call, unicode::downcase);
    "char-foldcase" => |thread, call| map(thread, call, unicode::foldcase);
    "char-titlecase" => |thread, call| map(thread, call, unicode::titlecase);
    "char-alphabetic?" => |thread, call| test(thread, call, char::is_alphabetic);
    "char-numeric?" => |thread, call| test(thread, call, unicode::is_decimal_digit);
    "char-whitespace?" => |thread, call| test(thread, call, char::is_whitespace);
    "char-upper-case?" => |thread, call| test(thread, call, char::is_uppercase);
    "char-lower-case?" => |thread, call| test(thread, call, char::is_lowercase);
    "digit-value" => digit_value;
    "%char-terminal-width" => terminal_width;
    "char-general-category" => general_category;
    "%character-ranges" => character_ranges;
};

/// Control characters take no column.
fn terminal_width(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let character = call.character(thread, 0)?;
    let width = if call.at(1) == Value::FALSE {
        character.width()
    } else if is_ambiguous_letter(character) {
        Some(2)
    } else {
        character.width_cjk()
    };
    Ok(Value::fixnum(width.unwrap_or(0) as i64))
}

/// Letters whose East Asian width is ambiguous, in Unicode's table of these widths. The crate has other
/// ambiguous characters only.
fn is_ambiguous_letter(character: char) -> bool {
    matches!(
        character,
        '\u{391}'..='\u{3A1}' | '\u{3A3}'..='\u{3A9}' | '\u{3B1}'..='\u{3C1}' | '\u{3C3}'..='\u{3C9}'
            | '\u{401}' | '\u{410}'..='\u{44F}' | '\u{451}'
            | 'Æ' | 'Ð' | 'Ø' | 'Þ'..='á' | 'æ' | 'è'..='ê' | 'ì' | 'í' | 'ð' | 'ò' | 'ó'
            | 'ø'..='ú' | 'ü' | 'þ'
    )
}

fn folded(call: Call, thread: &mut Thread, position: usize) -> Result<char, Raise> {
    call.character(thread, position).map(unicode::foldcase)
}

fn map(thread: &mut Thread, call: Call, mapping: fn(char) -> char) -> Result<Value, Raise> {
    Ok(Value::character(mapping(call.character(thread, 0)?)))
}

fn test(thread: &mut Thread, call: Call, property: fn(char) -> bool) -> Result<Value, Raise> {
    Ok(Value::boolean(property(call.character(thread, 0)?)))
}

fn integer_to_char(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let value = call.at(0);
    let character = value
        .as_index()
        .and_then(|number| u32::try_from(number).ok())
        .and_then(char::from_u32);
    match character {
        Some(character) => Ok(Value::character(character)),
        None if value.is_fixnum() || value.is_kind(Kind::Bignum) => {
            Err(call.range_error(thread, 0, "no character has this scalar value"))
        }
        None => Err(call.type_error(thread, 0, "exact integer")),
    }
}

fn digit_value(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let digit = unicode::digit_value(call.character(thread, 0)?);
    Ok(digit.map_or(Value::FALSE, |digit| Value::fixnum(i64::from(digit))))
}

fn general_category(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let category = unicode::general_category(call.character(thread, 0)?);
    Ok(thread.symbol(category))
}

/// Character sets are made of these: a vector of scalar values at which being in the set changes.
fn character_ranges(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.list_length(thread, 0)?;
    let names: Vec<_> = Walk::new(call.at(0)).filter_map(symbol_name).collect();
    let has = |name: &str| names.iter().any(|known| **known == *name);
    let (lower, upper) = (has("lower-case"), has("upper-case"));
    let mut changes = Vec::new();
    let mut inside = false;
    for code in 0..=u32::from(char::MAX) + 1 {
        // Surrogates are no characters.
        let now = char::from_u32(code).is_some_and(|character| {
            (lower && character.is_lowercase())
                || (upper && character.is_uppercase())
                || has(unicode::general_category(character))
        });
        if now != inside {
            changes.push(Value::fixnum(i64::from(code)));
            inside = now;
        }
    }
    let vector = thread.make_vector(changes.len(), Value::UNSPECIFIED)?;
    for (index, change) in changes.into_iter().enumerate() {
        thread.store(vector, index, change);
    }
    Ok(vector)
}
