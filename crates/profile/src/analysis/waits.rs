//! Waits of tasks, by the thing that they waited for and by place.

use std::collections::HashMap;

use super::filter::{Filter, Selection};
use super::{Grain, Place};
use crate::model::{Profile, StringIndex, WaitKind};

/// All waits of one kind for one thing at one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitPlace {
    pub kind: WaitKind,
    pub on: Option<StringIndex>,
    /// The newest line of the program on the stack.
    pub place: Place,
    pub count: u64,
    pub waiting_ns: u64,
    pub longest_ns: u64,
    /// The time from being runnable to running.
    pub runnable_ns: u64,
}

/// The waits of a profile by kind, thing and line, the longest sum first.
pub fn wait_places(profile: &Profile, filter: &Filter) -> Vec<WaitPlace> {
    let selection = Selection::new(profile, filter);
    let mut sums: HashMap<(WaitKind, Option<StringIndex>, Place), WaitPlace> = HashMap::new();
    for wait in &profile.rows.waits {
        let waiting_ns = selection.part_ns(wait.from_ns, wait.ready_ns);
        let runnable_ns = selection.part_ns(wait.ready_ns, wait.resumed_ns);
        let is_within = waiting_ns > 0 || runnable_ns > 0 || selection.admits_time(wait.from_ns);
        if !is_within || !selection.admits(wait.task, None, wait.label) {
            continue;
        }
        let place = Place::in_program(profile, wait.stack, Grain::Line);
        let key = (wait.kind, wait.on, place);
        let sum = sums.entry(key).or_insert(WaitPlace {
            kind: wait.kind,
            on: wait.on,
            place,
            count: 0,
            waiting_ns: 0,
            longest_ns: 0,
            runnable_ns: 0,
        });
        sum.count += 1;
        sum.waiting_ns = sum.waiting_ns.saturating_add(waiting_ns);
        sum.longest_ns = sum.longest_ns.max(waiting_ns);
        sum.runnable_ns = sum.runnable_ns.saturating_add(runnable_ns);
    }
    let mut places: Vec<WaitPlace> = sums.into_values().collect();
    places.sort_by_key(|one| {
        let cost = (one.waiting_ns, one.runnable_ns, one.count);
        (std::cmp::Reverse(cost), one.kind, one.place, one.on)
    });
    places
}
