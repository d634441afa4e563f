//! Where sampled objects were allocated: sums by place and by label, which directories have, and the places
//! of single objects.
//!
//! The sums are estimates, since each sampled object stands for many.

use std::collections::HashMap;

use super::Analysis;
use super::growth::{Suspect, growth_of, suspects};
use super::tables::Row;
use crate::file::{Directory, Fact, Place};

/// Sums by place in the source, whatever labels were in force.
pub fn place_rows(directory: &Directory) -> Vec<Row> {
    rows(directory, Place::title, |place| {
        Some((place.file.clone(), place.line))
    })
}

/// Sums by the labels that were in force.
pub fn label_rows(directory: &Directory) -> Vec<Row> {
    let name = |place: &Place| match place.label.as_str() {
        "" => "no label".to_owned(),
        label => label.to_owned(),
    };
    rows(directory, name, |_| None)
}

fn rows(
    directory: &Directory,
    name: impl Fn(&Place) -> String,
    at: impl Fn(&Place) -> Option<(String, u32)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for place in &directory.places {
        let (name, at) = (name(place), at(place));
        let index = *known.entry(name).or_insert_with_key(|name| {
            rows.push(Row {
                name: name.clone(),
                place: at,
                ..Row::default()
            });
            rows.len() - 1
        });
        rows[index].objects = rows[index].objects.saturating_add(place.objects);
        rows[index].bytes = rows[index].bytes.saturating_add(place.bytes);
    }
    rows
}

/// Places whose live objects grew in most steps of a series.
pub fn growing_places(snapshots: &[Directory]) -> Vec<Suspect> {
    let mut names: Vec<String> = Vec::new();
    let mut sums: HashMap<String, (u32, Vec<u64>, Vec<u64>)> = HashMap::new();
    for (index, directory) in snapshots.iter().enumerate() {
        for row in place_rows(directory) {
            let sum = sums.entry(row.name).or_insert_with_key(|name| {
                names.push(name.clone());
                let zeros = || vec![0; snapshots.len()];
                (names.len() as u32 - 1, zeros(), zeros())
            });
            sum.1[index] = row.bytes;
            sum.2[index] = row.objects;
        }
    }
    let total: Vec<u64> = snapshots.iter().map(|one| one.bytes).collect();
    let rows = sums.into_values();
    let rows = rows.map(|(number, bytes, objects)| (vec![number], bytes, objects));
    let name = |number: u32| names[number as usize].clone();
    let mut found = suspects(rows, name, growth_of(&total));
    for one in &mut found {
        // Its numbers are none of types.
        one.path.clear();
    }
    found
}

impl Analysis {
    /// Where a sampled object was allocated.
    pub fn place_of(&self, node: u32) -> Option<&Place> {
        let number = self.heap().facts().get(node, Fact::Place)?;
        let places = &self.heap().directory().places;
        places
            .iter()
            .find(|place| u64::from(place.number) == number)
    }

    /// The nodes that were allocated at places with a property.
    pub(super) fn allocated_at(&self, has: impl Fn(&Place) -> bool) -> Vec<u32> {
        let places = self.heap().directory().places.iter();
        let wanted: Vec<u64> = places
            .filter(|place| has(place))
            .map(|place| u64::from(place.number))
            .collect();
        let facts = self.heap().facts().iter();
        facts
            .filter(|(_, fact, value)| *fact == Fact::Place && wanted.contains(value))
            .map(|(node, _, _)| node)
            .collect()
    }
}
