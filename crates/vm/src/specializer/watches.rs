//! Watched cells: global variables on whose value compiled code relies.
//!
//! A cell is watched from before the moment that a snapshot tells its value; its header has a flag from
//! then on, with which every change of the value takes the slow path. Between the two all other threads
//! come to a safepoint: one that has looked at the flag before has stored its value then. The change
//! ends the watch. Each watch has a number of its own, so that a graph made from an old snapshot is
//! found out. A cell that changes again and again is let alone.

use std::collections::HashMap;

use canny_heap::{CollectionMode, RootVisitor};
use canny_tables::layout::FLAG_WATCHED;
use canny_value::{Header, Value};

/// Changes after which a cell is not watched any more.
const CHANGES_MAX: u32 = 3;

#[derive(Debug)]
struct WatchedCell {
    cell: Value,
    /// Number of the watch, while the cell is watched.
    number: Option<u32>,
    changes: u32,
}

/// The cells that are or were watched.
#[derive(Debug, Default)]
pub(super) struct Watches {
    cells: Vec<WatchedCell>,
    /// Places in that, by the cells' words.
    by_word: HashMap<u64, usize>,
    /// By number of a watch, whether it is still on.
    is_on: Vec<bool>,
    /// Cells before this index do not move in minor collections.
    settled: usize,
}

impl Watches {
    /// Watches a cell; gives the number of the watch, or nothing if it changes too often.
    pub(super) fn watch(&mut self, cell: Value) -> Option<u32> {
        let index = *self.by_word.entry(cell.bits()).or_insert_with(|| {
            self.cells.push(WatchedCell {
                cell,
                number: None,
                changes: 0,
            });
            self.cells.len() - 1
        });
        let known = &mut self.cells[index];
        if known.number.is_none() {
            if known.changes > CHANGES_MAX {
                return None;
            }
            known.number = Some(self.is_on.len() as u32);
            self.is_on.push(true);
            set_flag(cell, true);
        }
        known.number
    }

    /// The number of the watch of a cell, while it is watched.
    pub(super) fn number(&self, cell: Value) -> Option<u32> {
        self.cells[*self.by_word.get(&cell.bits())?].number
    }

    /// Ends the watch of a cell that is about to change; gives its number.
    pub(super) fn change(&mut self, cell: Value) -> Option<u32> {
        set_flag(cell, false);
        let known = &mut self.cells[*self.by_word.get(&cell.bits())?];
        known.changes += 1;
        let number = known.number.take()?;
        self.is_on[number as usize] = false;
        Some(number)
    }

    /// Whether a watch is still on.
    pub(super) fn is_valid(&self, number: u32) -> bool {
        self.is_on.get(number as usize).copied().unwrap_or(false)
    }

    /// Shows all cells.
    pub(super) fn each(&self, show: impl FnMut(Value)) {
        self.cells.iter().map(|known| known.cell).for_each(show);
    }

    pub(super) fn visit(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        let first = if mode == CollectionMode::Minor {
            self.settled
        } else {
            0
        };
        // Cells may come to where others were.
        for known in &self.cells[first..] {
            self.by_word.remove(&known.cell.bits());
        }
        for (index, known) in self.cells.iter_mut().enumerate().skip(first) {
            visitor.visit(&mut known.cell);
            self.by_word.insert(known.cell.bits(), index);
        }
        self.settled = self.cells.len();
    }
}

/// Sets or clears the flag with which generated code takes the slow path.
fn set_flag(cell: Value, on: bool) {
    let Some(object) = cell.as_object() else {
        return;
    };
    let header = object.header();
    let flags = if on {
        header.flags() | FLAG_WATCHED
    } else {
        header.flags() & !FLAG_WATCHED
    };
    // SAFETY: the header of a live object; cells have no other flag that could change at the same time.
    unsafe { *(cell.address() as *mut Header) = header.with_flags(flags) };
}
