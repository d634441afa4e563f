//! Strings: the full case mappings, which depend on the context and may change the length.

use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread};

use super::string_comparison::Folded;
use crate::arguments::{Call, implementations};
use crate::text::{Units, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "string-upcase" => |thread, call| {
        map(thread, call, u8::to_ascii_uppercase, |text| text.to_text().to_uppercase())
    };
    // The standard library knows the final sigma.
    "string-downcase" => |thread, call| {
        map(thread, call, u8::to_ascii_lowercase, |text| text.to_text().to_lowercase())
    };
    "string-foldcase" => |thread, call| {
        map(thread, call, u8::to_ascii_lowercase, |text| Folded::of(text).collect())
    };
};

/// Longest text that is mapped on the native stack.
const SHORT_MAX: usize = 256;

/// Maps a range, by `of_ascii` where it is short and nothing but ASCII.
fn map(
    thread: &mut Thread,
    call: Call,
    of_ascii: fn(&u8) -> u8,
    mapping: impl Fn(Units<'_>) -> String,
) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
    let mut short = [0; SHORT_MAX];
    let is_short_ascii = with_units(string, |text| {
        let Units::Narrow(bytes) = text else {
            return false;
        };
        let bytes = &bytes[range.clone()];
        let fits = bytes.len() <= SHORT_MAX && bytes.is_ascii();
        if fits {
            for (to, from) in short.iter_mut().zip(bytes) {
                *to = of_ascii(from);
            }
        }
        fits
    });
    if is_short_ascii {
        return thread.string_from_latin1(&short[..range.len()]);
    }
    let text = with_units(string, |text| {
        if range.len() == text.length() {
            mapping(text)
        } else {
            mapping(text.slice(range))
        }
    });
    let mut builder = TextBuilder::new();
    builder.push_str(&text);
    builder.try_finish(thread)
}
