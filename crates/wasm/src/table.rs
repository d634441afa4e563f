//! Tables of references.

use canny_tables::guest::table;

use crate::error::Error;
use crate::types::TableType;

/// Most elements of a table.
const LENGTH_MAX: u64 = 10_000_000;

/// A table, as handlers see it. Elements are addresses of functions or words of the host, or 0.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    base: *const u64,
    length: u64,
    elements: Vec<u64>,
    kind: TableType,
}

const _: () = assert!(std::mem::offset_of!(Table, base) == table::BASE as usize);
const _: () = assert!(std::mem::offset_of!(Table, length) == table::LENGTH as usize);

// SAFETY: the base is that of the table's own elements.
unsafe impl Send for Table {}

impl Table {
    pub(crate) fn new(kind: TableType, value: u64) -> Result<Table, Error> {
        let mut table = Table {
            base: std::ptr::null(),
            length: 0,
            elements: Vec::new(),
            kind,
        };
        match table.grow(kind.initial, value) {
            Some(_) => Ok(table),
            None => Err(Error::NoMemory(format!(
                "a table of {} elements is too large",
                kind.initial
            ))),
        }
    }

    /// Its type, with the elements that it has now.
    pub fn kind(&self) -> TableType {
        TableType {
            initial: self.length,
            ..self.kind
        }
    }

    /// Adds elements; gives how many there were, or nothing if that is too much.
    pub(crate) fn grow(&mut self, count: u64, value: u64) -> Option<u64> {
        let before = self.length;
        let after = before.checked_add(count)?;
        if after > self.kind.maximum.unwrap_or(LENGTH_MAX).min(LENGTH_MAX) {
            return None;
        }
        self.elements.resize(after as usize, value);
        self.base = self.elements.as_ptr();
        self.length = after;
        Some(before)
    }

    /// Its elements: addresses of functions or words of the host.
    pub fn elements(&self) -> &[u64] {
        &self.elements
    }

    /// The elements, to be changed; their number stays.
    pub(crate) fn elements_mut(&mut self) -> &mut [u64] {
        &mut self.elements
    }
}
