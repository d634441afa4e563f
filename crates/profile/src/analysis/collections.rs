//! Causes of collections: the allocations between one collection and the next.
//!
//! A collection is caused by all that was allocated since the one before it. Its time is shared out
//! in proportion to the bytes. Allocations behind the last collection caused none.

use std::collections::HashMap;

use super::filter::{Filter, Selection};
use super::{Cost, Grain, Place};
use crate::model::{Allocation, Event, EventKind, Profile, StackIndex, StringIndex};

/// One run of the collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    pub at_ns: u64,
    pub duration_ns: u64,
    pub text: StringIndex,
    /// The bytes that were allocated before it.
    pub allocated: Cost,
    /// The places that allocated most, the largest first.
    pub places: Vec<(Place, Cost)>,
}

/// A place that made the collector run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectionCause {
    pub place: Place,
    /// Bytes allocated before collections.
    pub allocated: Cost,
    /// The place's share of the collector's time.
    pub collector_ns: u64,
    /// Collections before which it allocated.
    pub collections: u64,
}

/// A collection with the selected allocations before it.
struct Period<'profile> {
    event: &'profile Event,
    /// The part of its time that is selected.
    duration_ns: u64,
    allocations: Vec<&'profile Allocation>,
}

fn periods<'profile>(profile: &'profile Profile, selection: &Selection) -> Vec<Period<'profile>> {
    let events = profile.rows.events.iter();
    let mut events: Vec<&Event> = events
        .filter(|event| event.kind == EventKind::Collection)
        .collect();
    events.sort_by_key(|event| event.at_ns);
    let allocations = profile.rows.allocations.iter();
    let mut allocations: Vec<&Allocation> = allocations
        .filter(|row| selection.admits(row.task, Some(row.thread), row.label))
        .collect();
    allocations.sort_by_key(|row| row.at_ns);
    let mut rest = allocations.as_slice();
    let mut periods = Vec::new();
    for event in events {
        let (before, after) = rest.split_at(rest.partition_point(|row| row.at_ns <= event.at_ns));
        rest = after;
        let duration_ns = selection.part_ns(event.at_ns, event.end_ns());
        if duration_ns > 0 || selection.admits_time(event.at_ns) {
            periods.push(Period {
                event,
                duration_ns,
                allocations: before.to_vec(),
            });
        }
    }
    periods
}

impl Period<'_> {
    fn allocated(&self) -> Cost {
        let mut sum = Cost::default();
        for row in &self.allocations {
            sum += Cost::new(row.weight_bytes);
        }
        sum
    }

    /// The part of the collection's time for so many of its bytes.
    fn part_ns(&self, weight: u64, whole: Cost) -> u64 {
        match whole.weight {
            0 => 0,
            whole => {
                let part = u128::from(self.duration_ns) * u128::from(weight) / u128::from(whole);
                u64::try_from(part).unwrap_or(u64::MAX)
            }
        }
    }

    fn places(&self, profile: &Profile, grain: Grain) -> Vec<(Place, Cost)> {
        let mut sums: HashMap<Place, Cost> = HashMap::new();
        for row in &self.allocations {
            let place = Place::in_scheme(profile, row.stack, grain);
            *sums.entry(place).or_default() += Cost::new(row.weight_bytes);
        }
        let mut places: Vec<(Place, Cost)> = sums.into_iter().collect();
        places.sort_by_key(|(place, cost)| (std::cmp::Reverse(*cost), *place));
        places
    }
}

/// The time of the collector by the stacks of allocations. A collection before which nothing was
/// sampled has no stack.
pub fn collector_time(profile: &Profile, selection: &Selection) -> Vec<(Option<StackIndex>, u64)> {
    let mut times = Vec::new();
    for period in periods(profile, selection) {
        let whole = period.allocated();
        if whole.weight == 0 {
            times.push((None, period.duration_ns));
        }
        for row in &period.allocations {
            times.push((row.stack, period.part_ns(row.weight_bytes, whole)));
        }
    }
    times
}

/// The runs of the collector in order, each with so many places at most.
pub fn collections(
    profile: &Profile,
    filter: &Filter,
    grain: Grain,
    places_max: usize,
) -> Vec<Collection> {
    let periods = periods(profile, &Selection::new(profile, filter));
    let collections = periods.iter().map(|period| {
        let mut places = period.places(profile, grain);
        places.truncate(places_max);
        Collection {
            at_ns: period.event.at_ns,
            duration_ns: period.event.duration_ns,
            text: period.event.text,
            allocated: period.allocated(),
            places,
        }
    });
    collections.collect()
}

/// The places that made the collector run, the largest first.
pub fn collection_causes(profile: &Profile, filter: &Filter, grain: Grain) -> Vec<CollectionCause> {
    let mut sums: HashMap<Place, CollectionCause> = HashMap::new();
    for period in periods(profile, &Selection::new(profile, filter)) {
        let whole = period.allocated();
        for (place, cost) in period.places(profile, grain) {
            let sum = sums.entry(place).or_insert(CollectionCause {
                place,
                allocated: Cost::default(),
                collector_ns: 0,
                collections: 0,
            });
            sum.allocated += cost;
            let part = period.part_ns(cost.weight, whole);
            sum.collector_ns = sum.collector_ns.saturating_add(part);
            sum.collections += 1;
        }
    }
    let mut causes: Vec<CollectionCause> = sums.into_values().collect();
    causes.sort_by_key(|one| {
        let cost = (one.allocated, one.collector_ns);
        (std::cmp::Reverse(cost), one.place)
    });
    causes
}
