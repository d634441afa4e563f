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
    let text = with_units(call.string(thread, 0)?, mapping);
    let mut builder = TextBuilder::new();
    builder.push_str(&text);
    builder.try_finish(thread)
}
