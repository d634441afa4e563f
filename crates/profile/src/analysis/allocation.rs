//! Allocated bytes: each type by the places that allocate it, each place by the types it allocates.
//!
//! A place is the newest Scheme code on the stack, since objects are allocated in the machine.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::filter::{Filter, Selection};
use super::{Cost, Grain, Place};
use crate::model::{Allocation, Profile, StringIndex};

/// All allocated bytes and those of objects that were not found dead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    pub total: Cost,
    pub live: Cost,
}

impl Share {
    fn add(&mut self, allocation: &Allocation, is_live: bool) {
        let cost = Cost::new(allocation.weight_bytes);
        self.total += cost;
        if is_live {
            self.live += cost;
        }
    }
}

/// A type of objects with the places that allocate them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationType {
    pub type_name: StringIndex,
    pub share: Share,
    /// The largest first.
    pub sites: Vec<(Place, Share)>,
}

/// A place with the types that it allocates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationSite {
    /// The newest Scheme code on the stack.
    pub place: Place,
    pub share: Share,
    /// The largest first.
    pub types: Vec<(StringIndex, Share)>,
    /// Why the optimizer did not remove allocations here, with their costs; the largest first.
    pub reasons: Vec<(StringIndex, Cost)>,
}

/// Calls back for each selected allocation, with its place and whether the object lives.
fn each(
    profile: &Profile,
    filter: &Filter,
    grain: Grain,
    mut take: impl FnMut(&Allocation, Place, bool),
) {
    let selection = Selection::new(profile, filter);
    let freed: HashSet<u64> = profile.rows.freed.iter().copied().collect();
    for row in &profile.rows.allocations {
        if selection.admits(row.task, Some(row.thread), row.label)
            && selection.admits_time(row.at_ns)
        {
            let place = Place::in_scheme(profile, row.stack, grain);
            take(row, place, !freed.contains(&row.id));
        }
    }
}

/// The types of allocated objects and who allocates them, the largest first.
pub fn allocation_types(profile: &Profile, filter: &Filter, grain: Grain) -> Vec<AllocationType> {
    let mut types: HashMap<StringIndex, (Share, BTreeMap<Place, Share>)> = HashMap::new();
    each(profile, filter, grain, |allocation, place, is_live| {
        let (share, sites) = types.entry(allocation.type_name).or_default();
        share.add(allocation, is_live);
        sites.entry(place).or_default().add(allocation, is_live);
    });
    let types = types
        .into_iter()
        .map(|(type_name, (share, sites))| AllocationType {
            type_name,
            share,
            sites: largest_first(sites),
        });
    let mut types: Vec<AllocationType> = types.collect();
    types.sort_by_key(|one| (std::cmp::Reverse(one.share), one.type_name));
    types
}

/// The places that allocate and what they allocate, the largest first.
pub fn allocation_sites(profile: &Profile, filter: &Filter, grain: Grain) -> Vec<AllocationSite> {
    #[derive(Default)]
    struct Sums {
        share: Share,
        types: BTreeMap<StringIndex, Share>,
        reasons: BTreeMap<StringIndex, Cost>,
    }
    let mut sites: HashMap<Place, Sums> = HashMap::new();
    each(profile, filter, grain, |allocation, place, is_live| {
        let sums = sites.entry(place).or_default();
        sums.share.add(allocation, is_live);
        let of_type = sums.types.entry(allocation.type_name).or_default();
        of_type.add(allocation, is_live);
        if let Some(reason) = allocation.reason {
            *sums.reasons.entry(reason).or_default() += Cost::new(allocation.weight_bytes);
        }
    });
    let sites = sites.into_iter().map(|(place, sums)| AllocationSite {
        place,
        share: sums.share,
        types: largest_first(sums.types),
        reasons: largest_first(sums.reasons),
    });
    let mut sites: Vec<AllocationSite> = sites.collect();
    sites.sort_by_key(|one| (std::cmp::Reverse(one.share), one.place));
    sites
}

fn largest_first<K: Ord + Copy, C: Ord + Copy>(sums: BTreeMap<K, C>) -> Vec<(K, C)> {
    let mut list: Vec<(K, C)> = sums.into_iter().collect();
    list.sort_by_key(|(key, cost)| (std::cmp::Reverse(*cost), *key));
    list
}
