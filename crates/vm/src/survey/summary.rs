//! Counts and bytes by type, without a graph: what a full collection leaves, gone through block by block.

use std::collections::HashMap;

use canny_heap::LiveObject;
use canny_snapshot::file::{TypeRow, TypeSum};

use super::types::{Context, Known, Types};
use super::waits::WaitNames;
use crate::thread::Thread;

/// The objects of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRow {
    pub row: TypeRow,
    pub objects: u64,
    pub bytes: u64,
}

/// Sums by type while they are made.
pub(super) struct Sums<'a> {
    types: Types<'a>,
    rows: Vec<SummaryRow>,
    numbers: HashMap<TypeRow, u32>,
}

impl<'a> Sums<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Sums<'a> {
        Sums {
            types: Types::new(context),
            rows: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    pub(super) fn add(&mut self, object: &LiveObject) {
        let Sums { rows, numbers, .. } = self;
        let known = self.types.of(object, |row| {
            if let Some(number) = numbers.get(row) {
                return *number;
            }
            rows.push(SummaryRow {
                row: row.clone(),
                objects: 0,
                bytes: 0,
            });
            let number = rows.len() as u32 - 1;
            numbers.insert(row.clone(), number);
            number
        });
        let row = &mut rows[known.number as usize];
        row.objects += 1;
        row.bytes += object.bytes() as u64;
    }

    pub(super) fn into_rows(self) -> Vec<SummaryRow> {
        self.rows
    }
}

/// The sums as a file has them.
pub(super) fn in_file(
    rows: Vec<SummaryRow>,
    mut number: impl FnMut(&TypeRow) -> u32,
) -> Vec<TypeSum> {
    let rows = rows.into_iter();
    rows.map(|row| TypeSum {
        type_number: number(&row.row),
        objects: row.objects,
        bytes: row.bytes,
    })
    .collect()
}

impl Thread {
    /// Collects fully; then the objects by type, the most bytes first.
    pub fn heap_summary(&mut self) -> Vec<SummaryRow> {
        let vm = self.vm().clone();
        let known = Known::of(self);
        let context = Context {
            known: &known,
            units: vm.units.all(),
            waits: WaitNames::default(),
            has_previews: false,
            base: 0,
        };
        let mut sums = Sums::new(&context);
        self.mutator().walk(|object| sums.add(object));
        let mut rows = sums.into_rows();
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        rows
    }
}
