//! Primitives of symbols and keywords, and the layout of a symbol object.
//!
//! Interned symbols of one name are one object in the machine; generated ones are only themselves.
//! A symbol's name is an immutable string.

use std::sync::atomic::{AtomicU64, Ordering};

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::text::{compare_text, with_both, with_units};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "symbol?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Symbol)));
    "symbol=?" => |thread, call| call.neighbours(thread, Call::symbol, |left, right| left == right);
    "symbol->string" => |thread, call| Ok(call.symbol(thread, 0)?.field(field::NAME));
    "string->symbol" => string_to_symbol;
    "string->uninterned-symbol" => string_to_uninterned_symbol;
    "generate-symbol" => generate_symbol;
    "symbol-interned?" => |thread, call| {
        let interned = call.symbol(thread, 0)?.field(field::INTERNED);
        Ok(Value::boolean(interned.is_true()))
    };
    "symbol-append" => symbol_append;
    "symbol<?" => |thread, call| call.neighbours(thread, Call::symbol, precedes);
    "keyword?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Keyword)));
    "keyword->symbol" => keyword_to_symbol;
    "symbol->keyword" => symbol_to_keyword;
};

/// Payload words of a symbol.
pub(crate) mod field {
    /// Immutable string.
    pub(crate) const NAME: usize = 0;
    /// Fixnum: hash of the name.
    pub(crate) use canny_tables::layout::symbol::HASH;
    /// Boolean.
    pub(crate) const INTERNED: usize = 2;
}

fn name_of(symbol: ObjectRef) -> Option<ObjectRef> {
    symbol.field(field::NAME).as_kind(Kind::String)
}

fn precedes(left: &ObjectRef, right: &ObjectRef) -> bool {
    match (name_of(*left), name_of(*right)) {
        (Some(left), Some(right)) => {
            with_both(left, right, |left, right| compare_text(left, right).is_lt())
        }
        _ => false,
    }
}

fn string_to_symbol(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = with_units(call.string(thread, 0)?, |units| units.to_text());
    Ok(thread.symbol(&name))
}

fn string_to_uninterned_symbol(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = with_units(call.string(thread, 0)?, |units| units.to_text());
    Ok(thread.uninterned_symbol(&name))
}

fn generate_symbol(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    static GENERATED: AtomicU64 = AtomicU64::new(1);
    let prefix = match call.optional(0) {
        Some(_) => with_units(call.string(thread, 0)?, |units| units.to_text()),
        None => "g".to_owned(),
    };
    let number = GENERATED.fetch_add(1, Ordering::Relaxed);
    Ok(thread.uninterned_symbol(&format!("{prefix}{number}")))
}

fn symbol_append(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut name = String::new();
    for position in 0..call.count() {
        let symbol = call.symbol(thread, position)?;
        name.push_str(&symbol_name(symbol.value()).unwrap_or_default());
    }
    Ok(thread.symbol(&name))
}

fn keyword_to_symbol(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    Ok(call.object(thread, 0, Kind::Keyword, "keyword")?.field(0))
}

fn symbol_to_keyword(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let symbol = call.symbol(thread, 0)?;
    let name = symbol_name(symbol.value()).unwrap_or_default();
    Ok(thread.keyword(&name))
}
