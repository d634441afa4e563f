//! Growth over a series: of types, and of paths of the dominator tree.
//!
//! A *suspect* grew in most steps of the series. Its score is between 0 and 1: the share of steps
//! with growth less those with shrinkage, times the share of its growth in what the heap gained.

use std::collections::HashMap;

use super::path_tree::PathTree;
use super::{Amount, Analysis};
use crate::file::{Directory, TypeRow};
use crate::heap::ROOT;

/// Paths with less than this share of the heap are not looked at.
const SHARE_MIN: u64 = 1000;
/// Lengths of ends of paths.
const ENDS_MIN: usize = 2;
const ENDS_MAX: usize = 4;
/// Suspects at the top of a list that others are compared with.
const SUSPECTS_COMPARED: usize = 200;
/// Suspects grew in half of the steps at least, as a net.
const STEADINESS_MIN: f64 = 0.5;

/// A type or path that may be a leak.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Types on the way to the suspect, from the root or near it; one for a type alone, none for a place.
    pub path: Vec<u32>,
    pub names: Vec<String>,
    /// Bytes in each snapshot: of the objects for a type, retained ones for a path.
    pub bytes: Vec<u64>,
    pub objects: Vec<u64>,
    /// Steps in which it grew and shrank.
    pub grown: usize,
    pub shrunk: usize,
    pub growth: u64,
    pub score: f64,
}

/// Scores rows of sums over a series.
pub(super) fn suspects(
    rows: impl Iterator<Item = (Vec<u32>, Vec<u64>, Vec<u64>)>,
    name: impl Fn(u32) -> String,
    heap_growth: u64,
) -> Vec<Suspect> {
    let mut found = Vec::new();
    for (path, bytes, objects) in rows {
        let steps = bytes.len().saturating_sub(1);
        let grown = bytes.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let shrunk = bytes.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let (first, last) = (bytes.first().copied(), bytes.last().copied());
        let growth = last.unwrap_or(0).saturating_sub(first.unwrap_or(0));
        if steps == 0 || growth == 0 {
            continue;
        }
        let steadiness = (grown as f64 - shrunk as f64) / steps as f64;
        if steadiness < STEADINESS_MIN {
            continue;
        }
        let share = (growth as f64 / heap_growth.max(growth) as f64).min(1.0);
        found.push(Suspect {
            names: path.iter().map(|number| name(*number)).collect(),
            path,
            bytes,
            objects,
            grown,
            shrunk,
            growth,
            score: steadiness * share,
        });
    }
    // Of paths with the same growth the longest says most.
    found.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score
            .then(other.path.len().cmp(&one.path.len()))
            .then(one.path.cmp(&other.path))
    });
    found
}

/// The title of a type.
fn title(types: &[TypeRow], number: u32) -> String {
    let row = types.get(number as usize);
    row.map_or("", TypeRow::title).to_owned()
}

pub(super) fn growth_of(values: &[u64]) -> u64 {
    let (first, last) = (values.first().copied(), values.last().copied());
    last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
}

/// Types that grew in most steps, from the sums of directories alone.
pub fn growing_types(types: &[TypeRow], snapshots: &[Directory]) -> Vec<Suspect> {
    let mut rows: HashMap<u32, (Vec<u64>, Vec<u64>)> = HashMap::new();
    for (index, directory) in snapshots.iter().enumerate() {
        for sum in &directory.summary {
            let zeros = || (vec![0; snapshots.len()], vec![0; snapshots.len()]);
            let row = rows.entry(sum.type_number).or_insert_with(zeros);
            row.0[index] = row.0[index].saturating_add(sum.bytes);
            row.1[index] = row.1[index].saturating_add(sum.objects);
        }
    }
    let total: Vec<u64> = snapshots.iter().map(|one| one.bytes).collect();
    let rows = rows
        .into_iter()
        .map(|(number, (bytes, objects))| (vec![number], bytes, objects));
    suspects(rows, |number| title(types, number), growth_of(&total))
}

/// Retained bytes and objects by path of types in the dominator tree, and by ends of such paths.
#[derive(Clone, Debug, Default)]
pub struct PathSums {
    paths: HashMap<Vec<u32>, (u64, u64)>,
    retained: u64,
}

impl PathSums {
    /// The sums of a heap. Only the large paths are in them, so that a series of them is small.
    pub fn new(analysis: &Analysis) -> PathSums {
        let mut tree = PathTree::new();
        tree.add(analysis, 0, |number| number);
        let retained = analysis.dominators().retained(ROOT);
        let mut paths: HashMap<Vec<u32>, (u64, u64)> = HashMap::new();
        for (index, step) in tree.steps.iter().enumerate().skip(1) {
            let Amount { objects, bytes } = step.sums[0];
            if bytes <= retained / SHARE_MIN {
                continue;
            }
            let path = tree.path(index as u32);
            // A frame may hold a table at times, so that paths through it begin elsewhere. The ends
            // of paths stay the same.
            let ends = (ENDS_MIN..=ENDS_MAX).filter(|length| *length < path.len());
            let ends = ends.map(|length| path[path.len() - length..].to_vec());
            for end in ends.chain([path.clone()]) {
                let sum = paths.entry(end).or_default();
                sum.0 = sum.0.saturating_add(bytes);
                sum.1 += objects;
            }
        }
        PathSums { paths, retained }
    }
}

/// Paths of the dominator tree that grew in most steps of a series.
pub fn growing_paths(types: &[TypeRow], series: &[PathSums]) -> Vec<Suspect> {
    let mut rows: HashMap<&[u32], (Vec<u64>, Vec<u64>)> = HashMap::new();
    for (index, sums) in series.iter().enumerate() {
        for (path, (bytes, objects)) in &sums.paths {
            let zeros = || (vec![0; series.len()], vec![0; series.len()]);
            let row = rows.entry(path).or_insert_with(zeros);
            row.0[index] = *bytes;
            row.1[index] = *objects;
        }
    }
    let total: Vec<u64> = series.iter().map(|one| one.retained).collect();
    let rows = rows
        .into_iter()
        .map(|(path, (bytes, objects))| (path.to_vec(), bytes, objects));
    let mut found: Vec<Suspect> = Vec::new();
    for one in suspects(rows, |number| title(types, number), growth_of(&total)) {
        // The end of a longer path with the same sums says nothing new.
        let is_end =
            |longer: &Suspect| longer.bytes == one.bytes && longer.path.ends_with(&one.path);
        if !found.iter().take(SUSPECTS_COMPARED).any(is_end) {
            found.push(one);
        }
    }
    found
}
