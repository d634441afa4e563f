//! Equal literal strings of several libraries are one object, where that costs little.
//!
//! Only the standard library's are: programs may tell their own literals apart with `eq?`. A short
//! literal is the name of a symbol that is there, or one of the literals that were made last. The latter
//! are kept until the next collection only: a table of all literals would need what it saves.

use std::hash::BuildHasher;
use std::sync::Arc;

use canny_heap::{WeakRoots, WeakVisitor};
use canny_locks::Mutex;
use canny_value::Value;

use crate::data::strings::string_text;
use crate::data::symbols::symbol_name_string;
use crate::thread::Thread;

/// Bytes of the longest literal that is shared.
const BYTES_MAX: usize = 64;
/// Literals that are kept, a power of two.
const KEPT: usize = 512;

/// Literals that were made since the last collection.
#[derive(Debug)]
pub(crate) struct RecentLiterals(Mutex<Box<[Value; KEPT]>>);

impl Default for RecentLiterals {
    fn default() -> RecentLiterals {
        RecentLiterals(Mutex::new(Box::new([Value::FALSE; KEPT])))
    }
}

/// The literals as the heap holds them.
pub(crate) struct RecentLiteralsHandle(pub(crate) Arc<RecentLiterals>);

impl WeakRoots for RecentLiteralsHandle {
    unsafe fn update_weak(&mut self, _visitor: &WeakVisitor<'_, '_>) {
        self.0.0.lock().fill(Value::FALSE);
    }
}

impl Thread {
    /// The literal of a unit with this text, perhaps that of another unit: it cannot be changed.
    pub fn shared_literal(&mut self, text: &str) -> Value {
        if text.len() > BYTES_MAX {
            return self.literal_string(text);
        }
        let symbols = &self.vm.symbols;
        if let Some(symbol) = symbols.find(text) {
            return symbol_name_string(symbol);
        }
        let place = symbols.hasher().hash_one(text) as usize % KEPT;
        let literals = self.vm.literals.clone();
        let kept = literals.0.lock()[place];
        if string_text(kept).is_some_and(|kept| kept == text) {
            return kept;
        }
        let literal = self.literal_string(text);
        literals.0.lock()[place] = literal;
        literal
    }
}
