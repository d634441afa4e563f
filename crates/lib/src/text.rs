//! Reading strings of either width, and making strings out of parts.
//!
//! [`with_units`] shows a string's characters in place, as long as nothing is allocated; a
//! [`TextBuilder`] or [`copy_range`] makes new ones. Strings are compared and searched without being
//! converted.

use std::cmp::Ordering;
use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::strings::{string_data, string_length};
use canny_vm::{Raise, TextBuilder, Thread};

use crate::primitives::symbols::field;

/// The characters of a string: Latin-1 bytes or UTF-32 units.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Units<'a> {
    Narrow(&'a [u8]),
    Wide(&'a [u32]),
}

/// Whether an object is the symbol with this name, which is ASCII.
pub(crate) fn is_symbol(object: Value, name: &str) -> bool {
    let text = object
        .as_kind(Kind::Symbol)
        .map(|symbol| symbol.field(field::NAME));
    let text = text.and_then(|text| text.as_kind(Kind::String));
    text.is_some_and(|text| {
        with_units(text, |units| match units {
            Units::Narrow(bytes) => bytes == name.as_bytes(),
            Units::Wide(_) => false,
        })
    })
}

/// The character of a unit; the units of strings are scalar values.
#[inline(always)]
pub(crate) fn character(unit: u32) -> char {
    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

impl<'a> Units<'a> {
    #[inline(always)]
    pub(crate) fn length(self) -> usize {
        match self {
            Units::Narrow(bytes) => bytes.len(),
            Units::Wide(units) => units.len(),
        }
    }

    /// The unit at an index. Panics when there is none.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> u32 {
        match self {
            Units::Narrow(bytes) => u32::from(bytes[index]),
            Units::Wide(units) => units[index],
        }
    }

    /// A part. Panics when it is out of range.
    #[inline(always)]
    pub(crate) fn slice(self, range: Range<usize>) -> Units<'a> {
        match self {
            Units::Narrow(bytes) => Units::Narrow(&bytes[range]),
            Units::Wide(units) => Units::Wide(&units[range]),
        }
    }

    /// The units in order.
    #[inline]
    pub(crate) fn iter(
        self,
    ) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone + 'a {
        (0..self.length()).map(move |index| self.at(index))
    }

    /// The characters in order.
    #[inline]
    pub(crate) fn characters(
        self,
    ) -> impl DoubleEndedIterator<Item = char> + ExactSizeIterator + Clone + 'a {
        self.iter().map(character)
    }

    /// Whether the text is ASCII.
    #[inline]
    pub(crate) fn is_ascii(self) -> bool {
        matches!(self, Units::Narrow(bytes) if bytes.is_ascii())
    }

    /// A copy of the text, if it is ASCII. Another thread may change the units themselves at any time,
    /// so that no text may be made of them in place.
    #[inline]
    pub(crate) fn to_ascii(self) -> Option<AsciiCopy> {
        match self {
            Units::Narrow(bytes) if bytes.is_ascii() => AsciiCopy::of(bytes),
            _ => None,
        }
    }

    /// The text as a Rust string.
    pub(crate) fn to_text(self) -> String {
        match self {
            Units::Narrow(bytes) => {
                let copy = bytes.to_vec();
                if copy.is_ascii() {
                    String::from_utf8(copy).unwrap_or_default()
                } else {
                    copy.into_iter().map(char::from).collect()
                }
            }
            units => units.characters().collect(),
        }
    }

    /// Appends the text to a builder.
    pub(crate) fn append_to(self, builder: &mut TextBuilder) {
        match self {
            Units::Narrow(bytes) => builder.push_latin1(bytes),
            Units::Wide(_) => self
                .characters()
                .for_each(|character| builder.push(character)),
        }
    }
}

/// Bytes of a copy that need no memory of their own.
const COPIED_SHORT: usize = 120;

/// A text copied out of a string.
pub(crate) enum AsciiCopy {
    Short([u8; COPIED_SHORT], usize),
    Long(String),
}

impl AsciiCopy {
    #[inline]
    fn of(bytes: &[u8]) -> Option<AsciiCopy> {
        let length = bytes.len();
        if length > COPIED_SHORT {
            let copy = bytes.to_vec();
            // The original may have changed since somebody looked at it.
            return copy
                .is_ascii()
                .then(|| String::from_utf8(copy).ok().map(AsciiCopy::Long))?;
        }
        let mut copy = [0; COPIED_SHORT];
        copy[..length].copy_from_slice(bytes);
        copy.is_ascii().then_some(AsciiCopy::Short(copy, length))
    }
}

impl std::ops::Deref for AsciiCopy {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            AsciiCopy::Short(copy, length) => {
                std::str::from_utf8(&copy[..*length]).unwrap_or_default()
            }
            AsciiCopy::Long(text) => text,
        }
    }
}

/// Runs `use_units` on the characters of a string object. Nothing may be allocated meanwhile.
#[inline(always)]
pub(crate) fn with_units<R>(string: ObjectRef, use_units: impl FnOnce(Units<'_>) -> R) -> R {
    let length = string_length(string);
    let data = string_data(string);
    if data.kind() == Kind::String32 {
        data.with_utf32(|units| use_units(Units::Wide(&units[..length])))
    } else {
        data.with_bytes(|bytes| use_units(Units::Narrow(&bytes[..length])))
    }
}

/// Runs `use_units` on the characters of two strings.
#[inline(always)]
pub(crate) fn with_both<R>(
    left: ObjectRef,
    right: ObjectRef,
    use_units: impl FnOnce(Units<'_>, Units<'_>) -> R,
) -> R {
    with_units(left, |left| {
        with_units(right, |right| use_units(left, right))
    })
}

/// Whether two texts have the same characters.
pub(crate) fn same_text(left: Units<'_>, right: Units<'_>) -> bool {
    match (left, right) {
        (Units::Narrow(left), Units::Narrow(right)) => left == right,
        (Units::Wide(left), Units::Wide(right)) => left == right,
        _ => left.length() == right.length() && left.iter().eq(right.iter()),
    }
}

/// Compares two texts by scalar values.
pub(crate) fn compare_text(left: Units<'_>, right: Units<'_>) -> Ordering {
    match (left, right) {
        (Units::Narrow(left), Units::Narrow(right)) => left.cmp(right),
        (Units::Wide(left), Units::Wide(right)) => left.cmp(right),
        _ => left.iter().cmp(right.iter()),
    }
}

/// The greatest unit of a narrow string.
const NARROW_MAX: u32 = 0xff;

/// A fresh string of a range of another, as narrow as it can be. The range is valid.
pub(crate) fn copy_range(
    thread: &mut Thread,
    string: ObjectRef,
    range: Range<usize>,
) -> Result<Value, Raise> {
    let length = range.len();
    let wide = with_units(string, |units| match units.slice(range.clone()) {
        Units::Narrow(_) => false,
        Units::Wide(units) => units.iter().any(|&unit| unit > NARROW_MAX),
    });
    let kind = if wide { Kind::String32 } else { Kind::String8 };
    let data = thread.try_leaf(kind, 0, length)?;
    let target = thread.string_of_data(data, length, 0);
    if let Some(target) = target.as_object() {
        thread.copy_string_units(string, range, target, 0);
    }
    Ok(target)
}
