//! The structures that are larger in one heap than in another one: paths of types in both dominator
//! trees, from the root down.
//!
//! A path is left out where a longer one has nearly all of its change, so that the name of the
//! structure is as long as it helps. A structure may hang at another place of the other heap, since
//! a frame held it at that moment. Where a path is in one heap only, its longest end that both have
//! is compared in its place.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::matching::{CommonType, Matching};
use super::path_tree::{PathTree, TOP};
use super::{Amount, Analysis};

/// Changes of less than this share of the larger heap are not told.
const SHARE_MIN: u64 = 1000;
/// A longer path with so many tenths of the change tells more.
const TENTHS: i64 = 9;
/// Lengths of ends of paths.
const ENDS_MIN: usize = 2;
const ENDS_MAX: usize = 4;

/// The change of a path. Bytes are retained ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathChange {
    /// Common numbers of types.
    pub path: Vec<u32>,
    /// With places of code.
    pub names: Vec<String>,
    /// Whether it is the end of several paths.
    pub is_end: bool,
    pub before: Amount,
    pub after: Amount,
}

fn growth([before, after]: [Amount; 2]) -> i64 {
    after.bytes as i64 - before.bytes as i64
}

impl PathChange {
    /// Bytes by which the path grew.
    pub fn growth(&self) -> i64 {
        growth([self.before, self.after])
    }

    fn new(
        path: Vec<u32>,
        is_end: bool,
        [before, after]: [Amount; 2],
        types: &[CommonType],
    ) -> Self {
        let title = |number: &u32| types[*number as usize].title.clone();
        PathChange {
            names: path.iter().map(title).collect(),
            path,
            is_end,
            before,
            after,
        }
    }
}

/// Whether both heaps have it.
fn is_common(sums: &[Amount; 2]) -> bool {
    sums.iter().all(|sum| sum.objects > 0)
}

impl PathTree {
    /// Whether a step is the last of a path with an end.
    fn has_end(&self, step: u32, end: &[u32]) -> bool {
        let mut at = step;
        for number in end.iter().rev() {
            if at == TOP || self.steps[at as usize].type_number != *number {
                return false;
            }
            at = self.steps[at as usize].above;
        }
        true
    }

    /// The sums of ends of paths. A step below another one with the same end is in the sums of that.
    fn sums_of_ends(&self, ends: HashSet<Vec<u32>>) -> HashMap<Vec<u32>, [Amount; 2]> {
        let mut by_last: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
        for end in ends {
            let last = end[end.len() - 1];
            by_last.entry(last).or_default().push(end);
        }
        let mut found: HashMap<Vec<u32>, [Amount; 2]> = HashMap::new();
        for (index, step) in self.steps.iter().enumerate().skip(1) {
            let Some(ends) = by_last.get(&step.type_number) else {
                continue;
            };
            for end in ends {
                if !self.has_end(index as u32, end) {
                    continue;
                }
                let mut above = step.above;
                while above != TOP && !self.has_end(above, end) {
                    above = self.steps[above as usize].above;
                }
                if above != TOP {
                    continue;
                }
                let sums = found.entry(end.clone()).or_default();
                for (sum, more) in sums.iter_mut().zip(step.sums) {
                    sum.bytes += more.bytes;
                    sum.objects += more.objects;
                }
            }
        }
        found
    }

    /// Steps whose change is large, and larger than that of any step below.
    fn changed(&self, least: u64) -> Vec<u32> {
        let changes: Vec<i64> = self.steps.iter().map(|step| growth(step.sums)).collect();
        // The largest change in each direction of the steps below.
        let mut below = vec![(0i64, 0i64); self.steps.len()];
        for (step, change) in self.steps.iter().zip(&changes).skip(1) {
            let (most, least) = &mut below[step.above as usize];
            (*most, *least) = ((*most).max(*change), (*least).min(*change));
        }
        let tells_most = |step: &u32| {
            let change = changes[*step as usize];
            let (most, least) = below[*step as usize];
            let other = if change > 0 { most } else { -least };
            other.saturating_mul(10) < change.abs().saturating_mul(TENTHS)
        };
        let steps = 1..self.steps.len() as u32;
        let steps = steps.filter(|step| changes[*step as usize].unsigned_abs() > least);
        steps.filter(tells_most).collect()
    }
}

/// The paths that differ most between two heaps, the largest change first.
pub fn path_changes(before: &Analysis, after: &Analysis, matching: &Matching) -> Vec<PathChange> {
    let mut tree = PathTree::new();
    tree.add(before, 0, |number| matching.before[number as usize]);
    tree.add(after, 1, |number| matching.after[number as usize]);
    let whole = tree.steps[TOP as usize].sums;
    let least = whole[0].bytes.max(whole[1].bytes) / SHARE_MIN;

    let mut found: Vec<PathChange> = Vec::new();
    let mut alone: Vec<(Vec<u32>, [Amount; 2])> = Vec::new();
    for step in tree.changed(least) {
        let (path, sums) = (tree.path(step), tree.steps[step as usize].sums);
        if is_common(&sums) {
            found.push(PathChange::new(path, false, sums, &matching.types));
        } else {
            alone.push((path, sums));
        }
    }
    // Longer ends come first.
    let ends_of = |path: &[u32]| -> Vec<Vec<u32>> {
        let lengths = (ENDS_MIN..=ENDS_MAX).rev();
        let lengths = lengths.filter(|length| *length < path.len());
        lengths
            .map(|length| path[path.len() - length..].to_vec())
            .collect()
    };
    let wanted = alone.iter().flat_map(|(path, _)| ends_of(path)).collect();
    let sums_of_ends = tree.sums_of_ends(wanted);
    let mut told = HashSet::new();
    for (path, sums) in alone {
        let ends = ends_of(&path).into_iter();
        let mut ends = ends.filter_map(|end| Some((*sums_of_ends.get(&end)?, end)));
        let Some((sums, end)) = ends.find(|(sums, _)| is_common(sums)) else {
            found.push(PathChange::new(path, false, sums, &matching.types));
            continue;
        };
        if growth(sums).unsigned_abs() > least && told.insert(end.clone()) {
            found.push(PathChange::new(end, true, sums, &matching.types));
        }
    }
    found.sort_by_key(|one| {
        let size = Reverse(one.growth().unsigned_abs());
        (size, Reverse(one.path.len()), one.path.clone())
    });
    let mut kept: Vec<PathChange> = Vec::new();
    for one in found {
        // The end of a longer path with the same sums says nothing new.
        let is_said = |longer: &PathChange| {
            (longer.before, longer.after) == (one.before, one.after)
                && longer.path.ends_with(&one.path)
        };
        if !one.is_end || !kept.iter().any(is_said) {
            kept.push(one);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::tests::cache;
    use crate::heap::ROOT;
    use crate::heap::tests::{Model, models, row};

    fn analysis(model: &Model) -> Analysis {
        Analysis::new(model.heap().0)
    }

    fn changes(before: &Model, after: &Model) -> Vec<PathChange> {
        let (before, after) = (analysis(before), analysis(after));
        let matching = Matching::new(before.heap().types(), after.heap().types(), [""; 2]);
        path_changes(&before, &after, &matching)
    }

    /// The same heap with its types in the opposite order.
    fn reversed(model: &Model) -> Model {
        let last = model.types.len() - 1;
        let nodes = model.nodes.iter();
        Model {
            types: model.types.iter().rev().cloned().collect(),
            nodes: nodes.map(|(kind, size)| (last - kind, *size)).collect(),
            edges: model.edges.clone(),
        }
    }

    proptest! {
        #[test]
        fn nothing_is_counted_twice(model in models(40)) {
            let analysis = analysis(&model);
            let mut tree = PathTree::new();
            tree.add(&analysis, 0, |number| number);
            let mut below = vec![0; tree.steps.len()];
            for step in &tree.steps[1..] {
                below[step.above as usize] += step.sums[0].bytes;
            }
            let whole = analysis.dominators().retained(ROOT);
            prop_assert_eq!(below[0] + analysis.heap().size(ROOT), whole);
            for (step, below) in tree.steps.iter().zip(below) {
                prop_assert!(below <= step.sums[0].bytes);
            }
        }

        #[test]
        fn a_heap_has_the_structures_of_itself(model in models(40)) {
            prop_assert_eq!(changes(&model, &model), []);
            prop_assert_eq!(changes(&model, &reversed(&model)), []);
        }
    }

    #[test]
    fn the_larger_structure_is_named_by_the_longest_path_that_tells_more() {
        let found = changes(&cache(10), &reversed(&cache(200)));
        assert_eq!(
            found[0].names,
            ["globals of (app)", "hash-table", "vector", "pair"]
        );
        assert!(!found[0].is_end);
        assert_eq!((found[0].before.objects, found[0].after.objects), (1, 1));
        let heads: Vec<&str> = found
            .iter()
            .map(|one| one.names[one.names.len() - 1].as_str())
            .collect();
        assert_eq!(heads, ["pair", "entry", "string"], "{found:?}");
        let growths: Vec<i64> = found.iter().map(PathChange::growth).collect();
        assert!(
            growths.is_sorted_by(|one, other| one >= other),
            "{growths:?}"
        );
        // The other way round all of it is smaller.
        let smaller = changes(&cache(200), &cache(10));
        assert_eq!(smaller[0].growth(), -found[0].growth());
    }

    /// A table of entries below a global, or below a frame.
    fn table(entries: u32, is_in_frame: bool) -> Model {
        let mut model = Model {
            types: vec![
                row("root", "the roots", &[]),
                row("root", "globals", &[]),
                row("frame", "body", &[]),
                row("vector", "", &[]),
                row("record", "entry", &[]),
            ],
            nodes: vec![(0, 0), (1, 0), (2, 0), (3, 2)],
            edges: vec![vec![(0, 1), (1, 2)], Vec::new(), Vec::new(), Vec::new()],
        };
        model.edges[if is_in_frame { 2 } else { 1 }].push((0, 3));
        for index in 0..entries {
            model.nodes.push((4, 3));
            model.edges.push(Vec::new());
            model.edges[3].push((u64::from(index), 4 + index));
        }
        model
    }

    #[test]
    fn a_structure_at_another_place_is_compared_by_the_end_of_its_path() {
        assert_eq!(changes(&table(20, false), &table(20, true)), []);
        let found = changes(&table(20, false), &table(50, true));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].names, ["vector", "entry"]);
        assert!(found[0].is_end);
        assert_eq!((found[0].before.objects, found[0].after.objects), (20, 50));
        // A structure of one heap alone keeps its whole path.
        let found = changes(&table(0, false), &table(50, false));
        assert_eq!(found[0].names, ["globals", "vector", "entry"]);
        assert!(!found[0].is_end);
    }
}
