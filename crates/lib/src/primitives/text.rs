//! Text as people see it: graphemes, words, sentences, columns, and normalization forms.
//!
//! The rules and tables are those of `unicode-segmentation` and `unicode-normalization`, which work on
//! UTF-8. In a narrow string, which has no combining characters, each character is a grapheme but for a
//! carriage return before a linefeed, and what is ASCII is in each normalization form.

use std::ops::Range;

use canny_tables::protocols::{Division, NormalForm};
use canny_value::{ObjectRef, Value};
use canny_vm::strings::string_length;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::arguments::{Call, implementations};
use crate::text::{Units, copy_range, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "string-normalize-nfc" => |thread, call| normalize(thread, call, |text| text.nfc().collect());
    "string-normalize-nfd" => |thread, call| normalize(thread, call, |text| text.nfd().collect());
    "string-normalize-nfkc" => |thread, call| normalize(thread, call, |text| text.nfkc().collect());
    "string-normalize-nfkd" => |thread, call| normalize(thread, call, |text| text.nfkd().collect());
    "%string-normalized?" => is_normalized;
    "%text-boundaries" => boundaries;
    "%grapheme-count" => grapheme_count;
    "%text-width" => width;
};

fn normalize(
    thread: &mut Thread,
    call: Call,
    form: impl Fn(&str) -> String,
) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let normalized = with_units(string, |units| {
        if units.is_ascii() {
            None
        } else {
            Some(form(&units.to_text()))
        }
    });
    let Some(normalized) = normalized else {
        let length = string_length(string);
        return copy_range(thread, string, 0..length);
    };
    let mut builder = TextBuilder::new();
    builder.push_str(&normalized);
    builder.try_finish(thread)
}

fn is_normalized(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let string = call.string(thread, 0)?;
    let form = call.case(thread, 1)?;
    let is_normalized = with_units(string, |units| {
        if units.is_ascii() {
            return true;
        }
        let text = units.to_text();
        let quick = match form {
            NormalForm::Nfc => is_nfc_quick(text.chars()),
            NormalForm::Nfd => is_nfd_quick(text.chars()),
            NormalForm::Nfkc => is_nfkc_quick(text.chars()),
            NormalForm::Nfkd => is_nfkd_quick(text.chars()),
        };
        match quick {
            IsNormalized::Yes => true,
            IsNormalized::No => false,
            IsNormalized::Maybe => match form {
                NormalForm::Nfc => text.chars().eq(text.nfc()),
                NormalForm::Nfd => text.chars().eq(text.nfd()),
                NormalForm::Nfkc => text.chars().eq(text.nfkc()),
                NormalForm::Nfkd => text.chars().eq(text.nfkd()),
            },
        }
    });
    Ok(Value::boolean(is_normalized))
}

/// The text of a narrow string whose characters are its graphemes.
fn single_graphemes(units: Units<'_>) -> Option<&[u8]> {
    match units {
        Units::Narrow(bytes) if !bytes.contains(&b'\r') => Some(bytes),
        _ => None,
    }
}

/// The beginning and the end of each part of a range, as indexes of the whole string.
fn parts(units: Units<'_>, range: Range<usize>, division: Division) -> Vec<usize> {
    let units = units.slice(range.clone());
    if matches!(division, Division::Graphemes) && single_graphemes(units).is_some() {
        return range.flat_map(|index| [index, index + 1]).collect();
    }
    let text = units.to_text();
    let mut found = Vec::new();
    let mut end = range.start;
    let mut part = |part: &str, is_wanted: bool| {
        let start = end;
        end += part.chars().count();
        if is_wanted {
            found.extend([start, end]);
        }
    };
    match division {
        Division::Graphemes => text.graphemes(true).for_each(|text| part(text, true)),
        Division::Segments => text.split_word_bounds().for_each(|text| part(text, true)),
        Division::Words => text.split_word_bounds().for_each(|text| {
            part(text, text.chars().any(char::is_alphanumeric));
        }),
        Division::Sentences => text
            .split_sentence_bounds()
            .for_each(|text| part(text, true)),
    }
    found
}

fn boundaries(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let division = call.case(thread, 1)?;
    let (string, range) = call.string_range(thread, 0, 2)?;
    let found = with_units(string, |units| parts(units, range, division));
    let vector = thread.make_vector(found.len(), Value::fixnum(0))?;
    for (place, index) in found.iter().enumerate() {
        thread.store(vector, place, Value::fixnum(*index as i64));
    }
    Ok(vector)
}

/// Runs `measure` on the text of a range.
fn with_text<R>(string: ObjectRef, range: Range<usize>, measure: impl FnOnce(&str) -> R) -> R {
    with_units(string, |units| {
        let units = units.slice(range);
        match units.to_ascii() {
            Some(text) => measure(&text),
            None => measure(&units.to_text()),
        }
    })
}

fn grapheme_count(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let is_single = with_units(string, |units| {
        single_graphemes(units.slice(range.clone())).is_some()
    });
    let count = if is_single {
        range.len()
    } else {
        with_text(string, range, |text| text.graphemes(true).count())
    };
    Ok(Value::fixnum(count as i64))
}

/// The columns of a text, where control characters take none.
fn width(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let columns: usize = with_text(string, range, |text| {
        let parts = text.split(char::is_control);
        parts.map(UnicodeWidthStr::width).sum()
    });
    Ok(Value::fixnum(columns as i64))
}
