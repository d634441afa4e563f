//! Where the sampled objects that live were allocated, for heap snapshots.
//!
//! A place is that of the newest frame of the program: what a procedure of the standard library allocates
//! belongs to its caller. A sample stands for as many bytes as its weight says.

use std::collections::HashMap;
use std::sync::Arc;

use canny_locks::MutexGuard;
use canny_spesh::code_map::FastMap;

use super::walk::Link;
use super::{Profiler, Recording, names};
use crate::thread::Thread;

/// The most samples that are followed; later ones have no place.
const LIVE_MAX: usize = 1 << 20;
/// Tries to find the profiler's data unused while everything else stands still.
const TRIES: u32 = 20;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) procedure: String,
}

/// A place that allocates, while certain labels are in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AllocationPlace {
    pub(crate) site: Arc<Site>,
    /// The labels as one text.
    pub(crate) label: Arc<str>,
}

/// A sampled object that lives.
#[derive(Clone, Copy, Debug)]
struct LiveSample {
    /// The index of its place.
    place: u32,
    weight_bytes: u64,
}

/// The places of a profile.
#[derive(Debug, Default)]
pub(super) struct LivePlaces {
    rows: Vec<AllocationPlace>,
    numbers: HashMap<AllocationPlace, u32>,
    live: FastMap<u64, LiveSample>,
    /// The sites of links, and whether they belong to the standard library, until code is freed.
    sites: FastMap<Link, Option<(Arc<Site>, bool)>>,
}

impl LivePlaces {
    /// Notes a sampled object.
    pub(super) fn add(&mut self, id: u64, place: u32, weight_bytes: u64) {
        if self.live.len() < LIVE_MAX {
            let sample = LiveSample {
                place,
                weight_bytes,
            };
            self.live.insert(id, sample);
        }
    }

    /// The object is dead.
    pub(super) fn remove(&mut self, id: u64) {
        self.live.remove(&id);
    }

    /// Code may have been freed: links may stand for other places from now on.
    pub(super) fn forget_links(&mut self) {
        self.sites.clear();
    }

    /// The index of the place of a stack, the newest link first; none where no frame has a position.
    pub(super) fn place(
        &mut self,
        thread: &Thread,
        links: &[Link],
        label: &Arc<str>,
    ) -> Option<u32> {
        let mut found = None;
        for link in links {
            let site = self.sites.entry(*link).or_insert_with(|| {
                let (site, is_library) = names::site_of(thread, *link)?;
                Some((Arc::new(site), is_library))
            });
            let Some((site, is_library)) = site else {
                continue;
            };
            if !*is_library {
                found = Some(site.clone());
                break;
            }
            found.get_or_insert_with(|| site.clone());
        }
        let place = AllocationPlace {
            site: found?,
            label: label.clone(),
        };
        if let Some(number) = self.numbers.get(&place) {
            return Some(*number);
        }
        let number = u32::try_from(self.rows.len()).ok()?;
        self.rows.push(place.clone());
        self.numbers.insert(place, number);
        Some(number)
    }
}

/// The places while nobody changes them.
pub(crate) struct PlacesNow<'a>(MutexGuard<'a, Option<Recording>>);

impl PlacesNow<'_> {
    /// The places.
    pub(crate) fn rows(&self) -> &[AllocationPlace] {
        self.0
            .as_ref()
            .map_or(&[], |recording| &recording.live.rows)
    }

    /// The index of the place of a sampled object, and for how many bytes the object stands.
    pub(crate) fn of(&self, sample: u64) -> Option<(u32, u64)> {
        let live = self.0.as_ref()?.live.live.get(&sample)?;
        Some((live.place, live.weight_bytes))
    }
}

impl Profiler {
    /// The places of sampled objects, for a thread for which everything else stands still. Nothing where no
    /// objects are sampled, or where a thread that does not stand still is changing them.
    pub(crate) fn places_now(&self) -> Option<PlacesNow<'_>> {
        for _ in 0..TRIES {
            if let Some(state) = self.state.try_lock() {
                let samples = state.as_ref()?.options.allocation_interval_bytes;
                return samples.map(|_| PlacesNow(state));
            }
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
        None
    }
}
