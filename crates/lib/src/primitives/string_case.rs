//! Strings: the full case mappings, which depend on the context and may change the length.

use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, TextBuilder, Thread};

use super::string_comparison::Folded;
use crate::arguments::{Call, implementations};
use crate::text::{Units, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "string-upcase" => |thread, call| map(thread, call, |text| text.to_text().to_uppercase());
    // The standard library knows the final sigma.
    "string-downcase" => |thread, call| map(thread, call, |text| text.to_text().to_lowercase());
    "string-foldcase" => |thread, call| map(thread, call, |text| Folded::of(text).collect());
};

fn map(
    thread: &mut Thread,
    call: Call,
    mapping: impl Fn(Units<'_>) -> String,
) -> Result<Value, Raise> {
    let (string, range) = call.string_range(thread, 0, 1)?;
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
