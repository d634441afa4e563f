//! Waits of tasks, by the thing that they waited for and by place.
//!
//! A place knows how many tasks waited there, and where the tasks were that had the thing.

use std::collections::{BTreeSet, HashMap};

use super::filter::{Filter, Selection};
use super::{Grain, Place};
use crate::model::{Profile, StringIndex, TaskIndex, WaitKind};

/// All waits of one kind for one thing at one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitPlace {
    pub kind: WaitKind,
    pub on: Option<StringIndex>,
    /// The newest line of the program on the stack.
    pub place: Place,
    pub count: u64,
    /// How many of them are in the profile; these stand for the others.
    pub noted: u64,
    /// The number of tasks that waited.
    pub tasks: usize,
    pub waiting_ns: u64,
    pub longest_ns: u64,
    /// The time from being runnable to running.
    pub runnable_ns: u64,
    /// Where the tasks were that had the thing meanwhile, the longest sum first.
    pub holders: Vec<Holder>,
}

/// A place where tasks were while they had what others waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The newest line of the program on their stacks.
    pub place: Place,
    /// One of the tasks, and how many there were.
    pub task: TaskIndex,
    pub tasks: usize,
    pub count: u64,
    /// The time that others waited.
    pub waiting_ns: u64,
}

/// The sums for one place.
struct Sum {
    row: WaitPlace,
    tasks: BTreeSet<TaskIndex>,
    holders: HashMap<Place, (BTreeSet<TaskIndex>, u64, u64)>,
}

/// The waits of a profile by kind, thing and line, the longest sum first.
pub fn wait_places(profile: &Profile, filter: &Filter) -> Vec<WaitPlace> {
    let selection = Selection::new(profile, filter);
    let mut sums: HashMap<(WaitKind, Option<StringIndex>, Place), Sum> = HashMap::new();
    for wait in &profile.rows.waits {
        let waiting_ns = selection.part_ns(wait.from_ns, wait.ready_ns);
        let runnable_ns = selection.part_ns(wait.ready_ns, wait.resumed_ns);
        let is_within = waiting_ns > 0 || runnable_ns > 0 || selection.admits_time(wait.from_ns);
        if !is_within || !selection.admits(wait.task, None, wait.label) {
            continue;
        }
        let place = Place::in_program(profile, wait.stack, Grain::Line);
        let key = (wait.kind, wait.on, place);
        let sum = sums.entry(key).or_insert_with(|| Sum {
            row: WaitPlace {
                kind: wait.kind,
                on: wait.on,
                place,
                count: 0,
                noted: 0,
                tasks: 0,
                waiting_ns: 0,
                longest_ns: 0,
                runnable_ns: 0,
                holders: Vec::new(),
            },
            tasks: BTreeSet::new(),
            holders: HashMap::new(),
        });
        sum.tasks.insert(wait.task);
        if let Some(holder) = wait.holder {
            let place = Place::in_program(profile, wait.holder_stack, Grain::Line);
            let (tasks, count, time_ns) = sum.holders.entry(place).or_default();
            tasks.insert(holder);
            *count += wait.weight;
            *time_ns = time_ns.saturating_add(wait.weighted(waiting_ns));
        }
        let row = &mut sum.row;
        row.count += wait.weight;
        row.noted += 1;
        row.waiting_ns = row.waiting_ns.saturating_add(wait.weighted(waiting_ns));
        row.longest_ns = row.longest_ns.max(waiting_ns);
        row.runnable_ns = row.runnable_ns.saturating_add(wait.weighted(runnable_ns));
    }
    let mut places: Vec<WaitPlace> = sums.into_values().map(Sum::finish).collect();
    places.sort_by_key(|one| {
        let cost = (one.waiting_ns, one.runnable_ns, one.count);
        (std::cmp::Reverse(cost), one.kind, one.place, one.on)
    });
    places
}

impl Sum {
    fn finish(self) -> WaitPlace {
        let holders = self.holders.into_iter();
        let mut holders: Vec<Holder> = holders
            .filter_map(|(place, (tasks, count, waiting_ns))| {
                Some(Holder {
                    place,
                    task: *tasks.first()?,
                    tasks: tasks.len(),
                    count,
                    waiting_ns,
                })
            })
            .collect();
        holders.sort_by_key(|one| {
            let cost = (one.waiting_ns, one.count);
            (std::cmp::Reverse(cost), one.place)
        });
        WaitPlace {
            tasks: self.tasks.len(),
            holders,
            ..self.row
        }
    }
}
