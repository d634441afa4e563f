//! Further facts of a few objects: bytes that the host holds for them, and the places where sampled objects
//! were allocated.

use canny_heap::{LiveObject, Standstill};
use canny_snapshot::file::{Fact, Place};
use canny_spesh::code_map::FastMap;

use super::Snapshot;

/// Facts of an object.
#[derive(Clone, Copy, Default)]
pub(super) struct Extra {
    outside: Option<u64>,
    /// The number of the place, and for how many bytes the object stands.
    sample: Option<(u32, u64)>,
}

impl Extra {
    pub(super) fn facts(self) -> impl Iterator<Item = (Fact, u64)> {
        let outside = self.outside.map(|bytes| (Fact::Outside, bytes));
        let place = self
            .sample
            .map(|(place, _)| (Fact::Place, u64::from(place)));
        let weight = self.sample.map(|(_, weight)| (Fact::Weight, weight));
        [outside, place, weight].into_iter().flatten()
    }
}

/// The objects of which more is known, by address.
#[derive(Default)]
pub(super) struct Extras {
    known: FastMap<usize, Extra>,
    /// The places that allocated sampled objects.
    places: Vec<Place>,
    /// Bytes outside of the heap that live objects hold.
    pub(super) outside: u64,
}

impl Extras {
    pub(super) fn of(still: &Standstill<'_>, snapshot: &Snapshot<'_>) -> Extras {
        let mut extras = Extras::default();
        for (address, bytes) in &snapshot.machine_code {
            extras.known.entry(*address).or_default().outside = Some(*bytes as u64);
        }
        if let Some(held_bytes) = snapshot.options.held_bytes {
            for (address, id) in still.externals() {
                let bytes = held_bytes(snapshot.vm, id).filter(|bytes| *bytes > 0);
                if bytes.is_some() {
                    extras.known.entry(address).or_default().outside = bytes;
                }
            }
        }
        if let Some(places) = &snapshot.places {
            for (address, sample) in still.samples() {
                let sample = places.of(sample);
                if sample.is_some() {
                    extras.known.entry(address).or_default().sample = sample;
                }
            }
            extras.places = places
                .rows()
                .iter()
                .zip(0..)
                .map(|(row, number)| Place {
                    number,
                    file: row.site.file.clone(),
                    line: row.site.line,
                    procedure: row.site.procedure.clone(),
                    label: row.label.to_string(),
                    ..Place::default()
                })
                .collect();
        }
        extras
    }

    /// Further facts of an object that lives. Each object is to be counted once.
    #[inline]
    pub(super) fn count(&mut self, object: &LiveObject) -> Option<Extra> {
        if self.known.is_empty() {
            return None;
        }
        let extra = self.known.get(&object.address()).copied()?;
        self.outside += extra.outside.unwrap_or(0);
        if let Some((place, weight)) = extra.sample
            && let Some(place) = self.places.get_mut(place as usize)
        {
            let bytes = object.bytes().max(1) as f64;
            place.samples += 1;
            place.objects += ((weight as f64 / bytes).round() as u64).max(1);
            place.bytes += weight;
        }
        Some(extra)
    }

    /// The places of live objects, with sums.
    pub(super) fn into_places(mut self) -> Vec<Place> {
        self.places.retain(|place| place.samples > 0);
        self.places
    }
}
