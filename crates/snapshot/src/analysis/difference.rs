//! The changes between two snapshots: by type, and which objects are new, gone or still there.
//!
//! Objects are followed by their identities; sums by type need directories only. Objects of two
//! files cannot be followed: their types are compared by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Analysis;
use super::matching::Matching;
use super::structure::PathChange;
use crate::file::{Directory, TypeRow};

/// Objects and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub objects: u64,
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
    }
}

/// The change of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The type, in the table of the earlier snapshot's file; nothing for a type that this file does
    /// not have, and for types that count as one.
    pub type_number: Option<u32>,
    pub name: String,
    /// The name with the place of code.
    pub title: String,
    pub before: Amount,
    pub after: Amount,
    /// Only where objects can be followed.
    pub new: Amount,
    pub gone: Amount,
}

impl Change {
    /// Bytes by which the type grew.
    pub fn growth(&self) -> i64 {
        self.after.bytes as i64 - self.before.bytes as i64
    }

    /// Objects by which the type grew.
    pub fn objects_growth(&self) -> i64 {
        self.after.objects as i64 - self.before.objects as i64
    }
}

/// The subject of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compared {
    /// Sums by type.
    #[default]
    Types,
    /// Sums by type, and each object with itself.
    Objects,
    /// Sums by type and by path of the dominator tree.
    TypesAndPaths,
}

/// The changes of all types, those with the largest change first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub changes: Vec<Change>,
    pub before: Amount,
    pub after: Amount,
    pub compared: Compared,
    /// Retained bytes by path of the dominator tree, the largest change first; of two files only.
    pub paths: Vec<PathChange>,
    /// Of objects that are followed; else they are empty.
    pub new: Amount,
    pub gone: Amount,
    pub surviving: Amount,
}

fn change<'a>(
    changes: &'a mut BTreeMap<u32, Change>,
    types: &[TypeRow],
    type_number: u32,
) -> &'a mut Change {
    changes.entry(type_number).or_insert_with(|| {
        let row = types.get(type_number as usize);
        Change {
            type_number: Some(type_number),
            name: row.map_or("", |row| row.title()).to_owned(),
            title: row.map_or_else(String::new, TypeRow::title_and_place),
            ..Change::default()
        }
    })
}

fn sorted(changes: impl IntoIterator<Item = Change>) -> Vec<Change> {
    let mut changes: Vec<Change> = changes.into_iter().collect();
    changes.retain(|one| one.before != one.after || one.new != one.gone);
    // A stable sort: equal changes stay in the order of types.
    changes.sort_by_key(|one| Reverse(one.growth().unsigned_abs()));
    changes
}

/// The difference of two snapshots from their sums alone.
pub fn summary_difference(types: &[TypeRow], before: &Directory, after: &Directory) -> Difference {
    let mut changes = BTreeMap::new();
    for sum in &before.summary {
        let amount = &mut change(&mut changes, types, sum.type_number).before;
        (amount.objects, amount.bytes) = (sum.objects, sum.bytes);
    }
    for sum in &after.summary {
        let amount = &mut change(&mut changes, types, sum.type_number).after;
        (amount.objects, amount.bytes) = (sum.objects, sum.bytes);
    }
    Difference {
        changes: sorted(changes.into_values()),
        before: whole(before),
        after: whole(after),
        ..Difference::default()
    }
}

fn whole(directory: &Directory) -> Amount {
    Amount {
        objects: directory.objects,
        bytes: directory.bytes,
    }
}

/// The difference of snapshots of two files, by common types.
pub fn difference_of_files(
    matching: &Matching,
    before: &Directory,
    after: &Directory,
) -> Difference {
    let common = matching.types.iter().map(|one| Change {
        type_number: one.type_before,
        name: one.name.clone(),
        title: one.title.clone(),
        ..Change::default()
    });
    let mut changes: Vec<Change> = common.collect();
    for sum in &before.summary {
        if let Some(number) = matching.before.get(sum.type_number as usize) {
            let amount = &mut changes[*number as usize].before;
            amount.objects += sum.objects;
            amount.bytes += sum.bytes;
        }
    }
    for sum in &after.summary {
        if let Some(number) = matching.after.get(sum.type_number as usize) {
            let amount = &mut changes[*number as usize].after;
            amount.objects += sum.objects;
            amount.bytes += sum.bytes;
        }
    }
    Difference {
        changes: sorted(changes),
        before: whole(before),
        after: whole(after),
        ..Difference::default()
    }
}

/// Identities with their nodes, in order.
fn by_identity(analysis: &Analysis) -> Option<Vec<(u64, u32)>> {
    let ids = analysis.identities()?.by_node(analysis.heap());
    let nodes = ids.into_iter().zip(analysis.heap().nodes());
    let mut nodes: Vec<(u64, u32)> = nodes.filter_map(|(id, node)| Some((id?, node))).collect();
    nodes.sort_unstable();
    Some(nodes)
}

/// The difference of two snapshots of a series. Objects are followed if both have identities.
pub fn difference(before: &Analysis, after: &Analysis) -> Difference {
    let types = after.heap().types();
    let mut changes = BTreeMap::new();
    let mut found = Difference::default();
    for node in before.heap().nodes() {
        if !before.heap().is_virtual(node) {
            let (number, size) = (before.heap().type_number(node), before.heap().size(node));
            change(&mut changes, types, number).before.add(size);
            found.before.add(size);
        }
    }
    for node in after.heap().nodes() {
        if !after.heap().is_virtual(node) {
            let (number, size) = (after.heap().type_number(node), after.heap().size(node));
            change(&mut changes, types, number).after.add(size);
            found.after.add(size);
        }
    }
    let is_linked = |analysis: &Analysis| {
        let ids = analysis.identities();
        ids.is_some_and(|ids| ids.followed_from <= before.heap().index() && !ids.is_empty())
    };
    if is_linked(before)
        && is_linked(after)
        && let (Some(old), Some(new)) = (by_identity(before), by_identity(after))
    {
        found.compared = Compared::Objects;
        let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
        loop {
            let (old_id, new_id) = (old.peek().map(|one| one.0), new.peek().map(|one| one.0));
            let is_old = old_id.is_some() && (new_id.is_none() || old_id <= new_id);
            let is_new = new_id.is_some() && (old_id.is_none() || new_id <= old_id);
            let old_node = if is_old { old.next() } else { None };
            let new_node = if is_new { new.next() } else { None };
            match (old_node, new_node) {
                (Some(_), Some((_, node))) => found.surviving.add(after.heap().size(node)),
                (Some((_, node)), None) => {
                    let size = before.heap().size(node);
                    let number = before.heap().type_number(node);
                    change(&mut changes, types, number).gone.add(size);
                    found.gone.add(size);
                }
                (None, Some((_, node))) => {
                    let size = after.heap().size(node);
                    let number = after.heap().type_number(node);
                    change(&mut changes, types, number).new.add(size);
                    found.new.add(size);
                }
                (None, None) => break,
            }
        }
    }
    found.changes = sorted(changes.into_values());
    found
}
