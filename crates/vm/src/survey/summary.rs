//! Counts and bytes by type, without a graph.
//!
//! The objects that a full collection leaves are gone through block by block. Several such counts tell
//! which types grow.

use std::collections::{HashMap, HashSet};

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

impl SummaryRow {
    /// The growth in so many calls or runs, for people.
    pub fn in_words(&self, count: u64, what: &str) -> String {
        let SummaryRow {
            row,
            objects,
            bytes,
        } = self;
        let mut text = match &row.name {
            Some(name) => format!("{name} ({})", row.family),
            None => row.family.clone(),
        };
        if let (Some(file), Some(line)) = (&row.file, row.line) {
            text.push_str(&format!(" at {file}:{line}"));
        }
        format!("{text}: {objects} objects, {bytes} bytes in {count} {what}")
    }
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

/// The growth of the types that grew from each note to the next, the most bytes first.
pub fn grown(notes: Vec<Vec<SummaryRow>>, least: u64) -> Vec<SummaryRow> {
    let mut notes = notes.into_iter();
    let counts = |rows: Vec<SummaryRow>| -> HashMap<TypeRow, (u64, u64)> {
        let rows = rows.into_iter();
        rows.map(|sum| (sum.row, (sum.objects, sum.bytes)))
            .collect()
    };
    let first = notes.next().map(counts).unwrap_or_default();
    let mut last: HashMap<TypeRow, (u64, u64)> = first.clone();
    let mut candidates: Option<HashSet<TypeRow>> = None;
    for note in notes {
        let now = counts(note);
        let has_grown = |row: &TypeRow| {
            let before = last.get(row).map_or(0, |(objects, _)| *objects);
            let objects = now.get(row).map_or(0, |(objects, _)| *objects);
            objects >= before + least.max(1)
        };
        candidates = Some(match candidates {
            None => now.keys().filter(|row| has_grown(row)).cloned().collect(),
            Some(some) => some.into_iter().filter(|row| has_grown(row)).collect(),
        });
        last = now;
    }
    let difference = |row: TypeRow| {
        let (objects, bytes) = last.get(&row).copied().unwrap_or_default();
        let (objects_before, bytes_before) = first.get(&row).copied().unwrap_or_default();
        SummaryRow {
            row,
            objects: objects - objects_before,
            bytes: bytes.saturating_sub(bytes_before),
        }
    };
    let mut rows: Vec<SummaryRow> = candidates
        .unwrap_or_default()
        .into_iter()
        .map(difference)
        .collect();
    rows.sort_by(|a, b| (b.bytes, b.objects, &a.row.name).cmp(&(a.bytes, a.objects, &b.row.name)));
    rows
}
