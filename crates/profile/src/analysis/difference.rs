//! The difference of two profiles, as shares of each one's total.
//!
//! Rows of two files have nothing to do with each other, so functions are the same if name and file
//! are; a line moves with each edit above it.

use std::collections::BTreeMap;

use super::totals::totals;
use super::{Cost, Grain, Place, Weights};
use crate::model::{StackIndex, StackKind};

/// The shares of a function or a stack in both profiles, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The name of the function, or names from the oldest frame to the newest.
    pub path: Vec<String>,
    /// The file of the function, or of the newest one.
    pub file: Option<String>,
    pub own_before: f64,
    pub own_after: f64,
    /// The shares with callees; of a stack those of itself alone.
    pub total_before: f64,
    pub total_after: f64,
}

impl Change {
    /// How much larger the own share became.
    pub fn own_growth(&self) -> f64 {
        self.own_after - self.own_before
    }
}

type Key = (Vec<String>, Option<String>);
type Sums = BTreeMap<Key, [f64; 4]>;

/// The functions of two profiles, the largest change first.
pub fn functions_changed(before: &Weights, after: &Weights) -> Vec<Change> {
    let mut sums = Sums::new();
    for (side, weights) in [before, after].into_iter().enumerate() {
        for one in totals(weights, Grain::Function) {
            let key = (
                vec![one.place.name(weights.profile).to_owned()],
                file_of(weights, one.place),
            );
            add(&mut sums, key, side, weights, [one.own, one.total]);
        }
    }
    changes(sums)
}

/// The stacks of two profiles, the largest change first.
pub fn stacks_changed(before: &Weights, after: &Weights) -> Vec<Change> {
    let mut sums = Sums::new();
    for (side, weights) in [before, after].into_iter().enumerate() {
        for (stack, cost) in weights.stacks() {
            let newest = weights.place(stack, Grain::Function);
            let mut path = path_names(weights, stack);
            path.reverse();
            add(
                &mut sums,
                (path, file_of(weights, newest)),
                side,
                weights,
                [cost, cost],
            );
        }
        if weights.unknown.count > 0 {
            let key = (vec![Place::Unknown.name(weights.profile).to_owned()], None);
            add(&mut sums, key, side, weights, [weights.unknown; 2]);
        }
    }
    changes(sums)
}

/// Names of a stack, newest first, [`FRAMES_MAX`] at most.
fn path_names(weights: &Weights, stack: StackIndex) -> Vec<String> {
    let mut names = Vec::new();
    let mut next = Some(stack);
    while let Some(stack) = next {
        names.push(
            weights
                .place(stack, Grain::Function)
                .name(weights.profile)
                .to_owned(),
        );
        next = weights.parent(stack);
        let is_cut = weights.kind(stack) == StackKind::Cut || names.len() == FRAMES_MAX;
        if is_cut {
            names.push(Place::Cut.name(weights.profile).to_owned());
        }
        if names.len() > FRAMES_MAX {
            break;
        }
    }
    names
}

/// Frames of a path; deep recursions differ in depth only.
const FRAMES_MAX: usize = 500;

fn file_of(weights: &Weights, place: Place) -> Option<String> {
    let file = weights.profile.function_file(place.function()?)?;
    Some(file.to_owned())
}

fn add(sums: &mut Sums, key: Key, side: usize, weights: &Weights, costs: [Cost; 2]) {
    let sum = sums.entry(key).or_default();
    for (kind, cost) in costs.into_iter().enumerate() {
        sum[2 * kind + side] += cost.share_of(weights.total);
    }
}

fn changes(sums: Sums) -> Vec<Change> {
    let changes = sums.into_iter().map(|((path, file), sum)| Change {
        path,
        file,
        own_before: sum[0],
        own_after: sum[1],
        total_before: sum[2],
        total_after: sum[3],
    });
    let mut changes: Vec<Change> = changes.collect();
    changes.sort_by(|a, b| {
        let size = |one: &Change| {
            let total = (one.total_after - one.total_before).abs();
            (one.own_growth().abs(), total)
        };
        let ((a_own, a_total), (b_own, b_total)) = (size(a), size(b));
        b_own.total_cmp(&a_own).then(b_total.total_cmp(&a_total))
    });
    changes
}
