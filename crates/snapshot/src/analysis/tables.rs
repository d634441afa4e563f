//! Sums over nodes: by type, family, library and file.
//!
//! The retained bytes of a group are those of its nodes that no node of the group dominates, so
//! that nothing is counted twice.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Deserialize;

use super::Analysis;
use super::places::{label_rows, place_rows};
use crate::file::Fact;
use crate::heap::ROOT;

/// By what nodes are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    Type,
    Family,
    /// The standard library or the program, as far as types say it.
    Library,
    File,
    /// The place that allocated them, as far as objects were sampled.
    Place,
    /// The labels that were in force then.
    Label,
}

impl Grouping {
    /// The number of groupings.
    pub const COUNT: usize = Grouping::Label as usize + 1;
}

/// By what rows are sorted, the most first; names ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Column {
    Name,
    Objects,
    Bytes,
    Retained,
}

/// The sums of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    /// The type, if the group is one.
    pub type_number: Option<u32>,
    /// File and line, if the group is a place.
    pub place: Option<(String, u32)>,
    pub objects: u64,
    pub bytes: u64,
    pub retained: u64,
    /// Bytes outside of the heap that the objects hold, as far as they are known.
    pub outside: u64,
}

/// Sorts rows by a column.
pub fn sort(rows: &mut [Row], column: Column) {
    match column {
        Column::Name => rows.sort_by(|one, other| one.name.cmp(&other.name)),
        Column::Objects => rows.sort_by_key(|row| (Reverse(row.objects), Reverse(row.bytes))),
        Column::Bytes => rows.sort_by_key(|row| (Reverse(row.bytes), Reverse(row.objects))),
        Column::Retained => rows.sort_by_key(|row| (Reverse(row.retained), Reverse(row.bytes))),
    }
}

impl Analysis {
    /// The group of each type, and the groups' rows.
    fn groups(&self, grouping: Grouping) -> (Vec<u32>, Vec<Row>) {
        let mut rows: Vec<Row> = Vec::new();
        let mut known: HashMap<String, u32> = HashMap::new();
        let types = self.heap().types().iter().enumerate();
        let groups = types.map(|(number, row)| {
            let name = match grouping {
                Grouping::Type => {
                    let title = row.title().to_owned();
                    rows.push(Row {
                        name: title,
                        type_number: Some(number as u32),
                        ..Row::default()
                    });
                    return number as u32;
                }
                Grouping::Family => row.family.as_str(),
                Grouping::Library if row.is_library => "standard library",
                Grouping::Library if row.file.is_some() => "program",
                Grouping::Library => "no place known",
                // Their sums are not made by type.
                Grouping::Place | Grouping::Label => "",
                Grouping::File => row.file.as_deref().unwrap_or("no file known"),
            };
            *known.entry(name.to_owned()).or_insert_with(|| {
                rows.push(Row {
                    name: name.to_owned(),
                    ..Row::default()
                });
                rows.len() as u32 - 1
            })
        });
        let groups = groups.collect();
        (groups, rows)
    }

    /// The sums of groups that directories have.
    fn known_rows(&self, grouping: Grouping, column: Column) -> Option<Vec<Row>> {
        let mut rows = match grouping {
            Grouping::Place => place_rows(self.heap().directory()),
            Grouping::Label => label_rows(self.heap().directory()),
            _ => return None,
        };
        sort(&mut rows, column);
        Some(rows)
    }

    /// Adds the bytes outside of the heap.
    fn add_outside(&self, groups: &[u32], rows: &mut [Row]) {
        let heap = self.heap();
        for (node, fact, bytes) in heap.facts().iter() {
            if fact == Fact::Outside {
                let row = &mut rows[groups[heap.type_number(node) as usize] as usize];
                row.outside = row.outside.saturating_add(bytes);
            }
        }
    }

    /// Objects and bytes by group without retained bytes, which need the dominator tree.
    pub fn sums(&self, grouping: Grouping, column: Column) -> Vec<Row> {
        if let Some(rows) = self.known_rows(grouping, column) {
            return rows;
        }
        let (groups, mut rows) = self.groups(grouping);
        let heap = self.heap();
        for node in heap.nodes().filter(|node| !heap.is_virtual(*node)) {
            let row = &mut rows[groups[heap.type_number(node) as usize] as usize];
            row.objects += 1;
            row.bytes += heap.size(node);
        }
        self.add_outside(&groups, &mut rows);
        rows.retain(|row| row.objects > 0);
        sort(&mut rows, column);
        rows
    }

    /// Objects, bytes and retained bytes by group.
    pub fn table(&self, grouping: Grouping, column: Column) -> Vec<Row> {
        if let Some(rows) = self.known_rows(grouping, column) {
            return rows;
        }
        let (groups, mut rows) = self.groups(grouping);
        let heap = self.heap();
        let dominators = self.dominators();
        // Nodes of each group on the way from the root to the present one.
        let mut above = vec![0u32; rows.len()];
        let mut stack = vec![(ROOT, false)];
        while let Some((node, is_left)) = stack.pop() {
            let group = groups[heap.type_number(node) as usize] as usize;
            let is_object = !heap.is_virtual(node);
            if is_left {
                above[group] -= 1;
                continue;
            }
            if is_object {
                let row = &mut rows[group];
                row.objects += 1;
                row.bytes += heap.size(node);
                if above[group] == 0 {
                    row.retained += dominators.retained(node);
                }
            }
            let children = dominators.children(node);
            if children.is_empty() {
                continue;
            }
            if is_object {
                above[group] += 1;
                stack.push((node, true));
            }
            stack.extend(children.iter().map(|child| (*child, false)));
        }
        self.add_outside(&groups, &mut rows);
        rows.retain(|row| row.objects > 0);
        sort(&mut rows, column);
        rows
    }

    /// Objects and bytes by the nearest node of a family that keeps them alive alone: by task, by
    /// frame, by procedure. The last row has the objects that no such node has for itself.
    pub fn holders(&self, family: &str, count_max: usize) -> Vec<Row> {
        let heap = self.heap();
        let is_holder = |node: u32| heap.type_of(node).family == family;
        // Dominators have lower numbers than what they dominate.
        let mut holders = vec![ROOT; heap.len()];
        let mut sums: HashMap<u32, (u64, u64)> = HashMap::new();
        for node in heap.nodes() {
            let above = self
                .dominators()
                .idom(node)
                .map(|idom| holders[idom as usize]);
            holders[node as usize] = match above {
                _ if is_holder(node) => node,
                Some(above) => above,
                None => ROOT,
            };
            if !heap.is_virtual(node) {
                let sum = sums.entry(holders[node as usize]).or_default();
                sum.0 += 1;
                sum.1 += heap.size(node);
            }
        }
        let others = sums.remove(&ROOT).unwrap_or_default();
        let mut found: Vec<(u32, (u64, u64))> = sums.into_iter().collect();
        found.sort_by_key(|(node, sum)| (Reverse(sum.1), *node));
        let row = |(node, sum): (u32, (u64, u64))| Row {
            name: heap.label(node),
            type_number: None,
            place: None,
            objects: sum.0,
            bytes: sum.1,
            retained: self.dominators().retained(node),
            outside: 0,
        };
        let mut rows: Vec<Row> = found.into_iter().take(count_max).map(row).collect();
        rows.push(Row {
            name: format!("no single {family}"),
            objects: others.0,
            bytes: others.1,
            ..Row::default()
        });
        rows
    }
}
