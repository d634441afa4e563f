//! Global variables: one cell for each name in each library, program and environment.
//!
//! The table is shared by all threads under one lock; the value is in the cell, a heap object that
//! code refers to directly, so running code takes no lock. A cell is *watched* while compiled code
//! relies on its value: its flag sends every assignment to the slow path, which retires that code
//! before it stores.

use std::collections::BTreeMap;
use std::sync::Arc;

use canny_heap::{CollectionMode, Mutator, RootLabel, RootListing, RootVisitor, Roots};
use canny_locks::Mutex;
use canny_syntax::core::GlobalName;
use canny_tables::hashing::SeededMap;
use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_WATCHED;
use canny_value::Value;

use crate::Vm;
use crate::thread::Thread;

/// Cells by name.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    inner: Mutex<Cells>,
}

#[derive(Debug, Default)]
struct Cells {
    by_name: SeededMap<GlobalName, usize>,
    cells: Vec<Value>,
    /// Cells before this index have survived a collection and do not move in minor ones.
    settled: usize,
}

/// The cells as the heap holds them.
pub(crate) struct GlobalsHandle(pub(crate) Arc<Globals>);

impl Roots for GlobalsHandle {
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        let mut inner = self.0.inner.lock();
        let first = if mode == CollectionMode::Minor {
            inner.settled
        } else {
            0
        };
        for cell in &mut inner.cells[first..] {
            visitor.visit(cell);
        }
        inner.settled = inner.cells.len();
    }

    unsafe fn list_roots(&mut self, listing: &mut RootListing) {
        let inner = self.0.inner.lock();
        let mut libraries: BTreeMap<&str, Vec<(&str, Value)>> = BTreeMap::new();
        for (name, index) in &inner.by_name {
            let cells = libraries.entry(name.library.as_str()).or_default();
            cells.push((name.name.as_str(), inner.cells[*index]));
        }
        let globals = listing.group(RootLabel::of_family("globals"));
        for (library, mut cells) in libraries {
            cells.sort_unstable_by_key(|(name, _)| *name);
            let node = listing.group_in(globals, RootLabel::named("library", library));
            for (name, cell) in cells {
                listing.add_named(node, name, cell);
            }
        }
    }
}

/// Payload words of a cell.
pub(crate) const VALUE: usize = 0;
const NAME: usize = 1;
const LIBRARY: usize = 2;

impl Globals {
    pub(crate) fn find(&self, name: &GlobalName) -> Option<Value> {
        let inner = self.inner.lock();
        inner.by_name.get(name).map(|index| inner.cells[*index])
    }

    /// Forgets the variables of libraries and environments of which nobody can be any more. Code that
    /// refers to them keeps its cells.
    fn forget(&self, is_gone: impl Fn(&str) -> bool) {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let before = inner.by_name.len();
        inner
            .by_name
            .retain(|name, _| !is_gone(name.library.as_str()));
        if inner.by_name.len() == before {
            return;
        }
        // The others keep their order, so that those which have survived a collection come first.
        let mut places: Vec<&mut usize> = inner.by_name.values_mut().collect();
        places.sort_unstable_by_key(|place| **place);
        let settled = places.partition_point(|place| **place < inner.settled);
        let mut cells = Vec::with_capacity(places.len());
        for place in places {
            cells.push(inner.cells[*place]);
            *place = cells.len() - 1;
        }
        inner.cells = cells;
        inner.settled = settled;
    }
}

impl Vm {
    /// Forgets the variables of environments in which nobody can evaluate any more, by their keys.
    pub fn forget_variables(&self, is_gone: impl Fn(&str) -> bool) {
        self.globals.forget(is_gone);
    }
}

impl Thread {
    /// The cell of a global variable, made unbound if it is new.
    pub(crate) fn cell(&mut self, name: &GlobalName) -> Value {
        let globals = self.vm.globals.clone();
        if let Some(cell) = globals.find(name) {
            return cell;
        }
        let symbol = self.symbol(name.name.as_str());
        let symbol = self.protect(symbol);
        let library = self.symbol(name.library.as_str());
        let library = self.protect(library);
        let cell = self.object(Kind::Cell, 0, 3, Value::UNBOUND);
        self.store(cell, NAME, self.protected(symbol));
        self.store(cell, LIBRARY, self.protected(library));
        self.release(symbol);
        let mut inner = globals.inner.lock();
        if let Some(index) = inner.by_name.get(name) {
            return inner.cells[*index];
        }
        let index = inner.cells.len();
        inner.cells.push(cell);
        inner.by_name.insert(name.clone(), index);
        cell
    }

    /// Changes the value of a cell, and retires compiled code that relies on it.
    pub(crate) fn set_cell(&mut self, cell: Value, value: Value) {
        let is_watched = cell
            .as_object()
            .is_some_and(|object| object.has_flag(FLAG_WATCHED));
        if is_watched {
            self.change_watched_cell(cell, value);
        } else {
            self.store(cell, VALUE, value);
        }
    }

    /// Gives a global variable a value, whether or not it had one.
    pub fn define_global(&mut self, name: &GlobalName, value: Value) {
        let place = self.protect(value);
        let cell = self.cell(name);
        self.set_cell(cell, self.protected(place));
        self.release(place);
    }

    /// The value of a global variable, if it is defined.
    pub fn global_value(&self, name: &GlobalName) -> Option<Value> {
        let cell = self.vm.globals.find(name)?;
        let value = cell.as_kind(Kind::Cell)?.field(VALUE);
        (value != Value::UNBOUND).then_some(value)
    }
}

/// The value of a cell, perhaps the unbound marker.
pub(crate) fn cell_value(cell: Value) -> Value {
    cell.as_kind(Kind::Cell)
        .map_or(Value::UNBOUND, |cell| cell.field(VALUE))
}

/// Changes the value of a cell, without a barrier: [`note_change`] has to follow before the next safepoint.
pub(crate) fn set_cell_value(cell: Value, value: Value) {
    if let Some(cell) = cell.as_kind(Kind::Cell) {
        // SAFETY: a payload word of a live cell.
        unsafe { *(cell.slot_address(VALUE) as *mut Value) = value }
    }
}

/// Lets the collector look at the value of a cell that was changed.
pub(crate) fn note_change(mutator: &mut Mutator, cell: Value) {
    if let Some(cell) = cell.as_kind(Kind::Cell) {
        mutator.barrier(cell.slot_address(VALUE));
    }
}

/// The name of a cell's variable.
pub(crate) fn cell_name(cell: Value) -> Value {
    cell.as_kind(Kind::Cell)
        .map_or(Value::FALSE, |cell| cell.field(NAME))
}
