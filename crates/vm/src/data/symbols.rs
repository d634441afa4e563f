//! The symbol table: one symbol for each name, held weakly.
//!
//! Interning takes the table's lock. A symbol without references is removed by the collection that
//! finds it dead; a minor collection looks only at those made since the last one (`recent`). Two
//! symbols with the same name are never alive at once, so `eq?` on symbols is equality of words.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use canny_heap::{WeakRoots, WeakVisitor};
use canny_locks::{Mutex, MutexGuard};
use canny_tables::hashing::SeededMap;
use canny_tables::kinds::Kind;
use canny_tables::layout::{FIXNUM_MAX, FLAG_IMMUTABLE};
use canny_value::Value;

use crate::data::strings::string_text;
use crate::thread::Thread;

/// Symbols by name.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    symbols: Mutex<Symbols>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    by_name: SeededMap<Box<str>, Value>,
    /// Names of symbols made since the last collection: only those can die or move in a minor one.
    recent: Vec<Box<str>>,
}

/// The table as the heap holds it.
pub(crate) struct SymbolTableHandle(pub(crate) Arc<SymbolTable>);

impl WeakRoots for SymbolTableHandle {
    unsafe fn update_weak(&mut self, visitor: &WeakVisitor<'_, '_>) {
        let mut symbols = self.0.lock();
        let Symbols { by_name, recent } = &mut *symbols;
        let update = |symbol: &mut Value| match visitor.forwarded_if_alive(*symbol) {
            Some(forwarded) => {
                *symbol = forwarded;
                true
            }
            None => false,
        };
        if visitor.is_minor() {
            for name in recent.drain(..) {
                if by_name.get_mut(&name).is_some_and(|symbol| !update(symbol)) {
                    by_name.remove(&name);
                }
            }
        } else {
            by_name.retain(|_, symbol| update(symbol));
            recent.clear();
        }
    }
}

impl SymbolTable {
    /// The symbols, for as long as nothing is allocated.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Symbols> {
        self.symbols.lock()
    }

    pub(crate) fn hasher(&self) -> &RandomState {
        &self.hasher
    }

    pub(crate) fn find(&self, name: &str) -> Option<Value> {
        self.lock().by_name.get(name).copied()
    }
}

/// Payload words of a symbol.
const NAME: usize = 0;
const HASH: usize = 1;
/// Whether it is interned: `#f`, `#t`, or its keyword.
pub(crate) const INTERNED: usize = 2;

impl Thread {
    /// The symbol with this name.
    pub fn symbol(&mut self, name: &str) -> Value {
        if let Some(symbol) = self.vm.symbols.find(name) {
            return symbol;
        }
        let table = self.vm.symbols.clone();
        let symbol = self.make_symbol(name, true);
        let mut symbols = table.lock();
        if let Some(first) = symbols.by_name.get(name) {
            return *first;
        }
        symbols.by_name.insert(name.into(), symbol);
        symbols.recent.push(name.into());
        symbol
    }

    /// A fresh symbol that no name finds.
    pub fn uninterned_symbol(&mut self, name: &str) -> Value {
        self.make_symbol(name, false)
    }

    fn make_symbol(&mut self, name: &str, interned: bool) -> Value {
        let text = self.string_with_flags(name, FLAG_IMMUTABLE);
        let text = self.protect(text);
        let hash = self.vm.symbols.hasher.hash_one(name) as i64 & FIXNUM_MAX;
        let symbol = self.object(Kind::Symbol, 0, 3, Value::FALSE);
        self.store(symbol, NAME, self.protected(text));
        self.release(text);
        self.store(symbol, HASH, Value::fixnum(hash));
        self.store(symbol, INTERNED, Value::boolean(interned));
        symbol
    }
}

/// The string that is the name of a symbol; it cannot be changed.
pub(crate) fn symbol_name_string(symbol: Value) -> Value {
    let symbol = symbol.as_object().expect("a symbol is an object");
    symbol.field(NAME)
}

/// The name of a symbol.
pub fn symbol_name(symbol: Value) -> Option<String> {
    string_text(symbol.as_kind(Kind::Symbol)?.field(NAME))
}
