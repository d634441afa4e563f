//! Samples of allocations: objects chosen at random, with a probability that follows from their size.
//!
//! The bytes that a mutator allocates pass by, and points on them are chosen by a Poisson process: the
//! gaps between points are exponentially distributed around the interval. An object on which a point lies
//! is a sample. Between points a mutator allocates as fast as ever, since the limit that its fast paths
//! compare with is lowered to the next point, so that the allocation with the point takes the slow path.
//!
//! An object of `s` bytes is chosen with the probability `1 - exp(-s / interval)`, so that it stands for
//! `s` divided by that many bytes. With an interval of one byte each object is chosen, and stands for
//! itself.
//!
//! | moment | what happens |
//! |---|---|
//! | allocation | the observer is asked to note where the program is; the object is not there yet |
//! | next slow path of the same area, safepoint or native region | the observer gets the object |
//! | a collection finds it dead | its number is among those of [`crate::Heap::take_dead_samples`] |

use canny_tables::layout::{GRANULE_BYTES, TAG_PAIR};
use canny_value::{Header, Value};

use crate::area::AreaKind;
use crate::shape;

/// Hears of the samples of a mutator, on its thread and in the middle of an allocation: it uses neither
/// the heap nor the mutator.
pub trait AllocationObserver {
    /// An object is about to be made, or several at once of which some are samples. Notes where the
    /// program is, and gives a number for what it has noted.
    fn allocating(&mut self) -> usize;
    /// An object of what was noted under a number is there.
    fn made(&mut self, noted: usize, sample: AllocationSample);
}

/// A sampled object.
#[derive(Clone, Copy, Debug)]
pub struct AllocationSample {
    /// The object, or the pair. Other threads may share it already; it is read before it moves.
    pub object: Value,
    /// Its number among the samples of the heap.
    pub id: u64,
    /// Its offset in memory that was taken for several objects.
    pub offset_bytes: usize,
    /// Bytes of the object.
    pub bytes: usize,
    /// Bytes of all objects that it stands for.
    pub weight_bytes: f64,
}

/// The way to the next point in one of a mutator's areas.
#[derive(Clone, Copy, Default)]
struct Countdown {
    /// The cursor when `left` was right; 0 if the area was closed then.
    base: usize,
    /// Bytes before the next point.
    left: usize,
}

/// Memory that a sample is made in, which is looked at when the objects are there.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    /// Bytes between the start and the point.
    point: usize,
    noted: usize,
}

/// The places of pending samples: three areas, and objects that are in none.
const PLACES: usize = 4;
const OUTSIDE: usize = 3;

/// A mutator's sampling.
pub(crate) struct Sampling {
    interval_bytes: usize,
    random: u64,
    areas: [Countdown; 3],
    pending: [Option<Pending>; PLACES],
    observer: Box<dyn AllocationObserver>,
}

impl std::fmt::Debug for Sampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampling")
            .field("interval_bytes", &self.interval_bytes)
            .finish_non_exhaustive()
    }
}

impl Sampling {
    pub(crate) fn new(
        interval_bytes: usize,
        seed: u64,
        observer: Box<dyn AllocationObserver>,
    ) -> Sampling {
        let mut sampling = Sampling {
            interval_bytes: interval_bytes.max(1),
            random: seed | 1,
            areas: [Countdown::default(); 3],
            pending: [None; PLACES],
            observer,
        };
        for area in 0..sampling.areas.len() {
            sampling.areas[area].left = sampling.gap();
        }
        sampling
    }

    fn takes_all(&self) -> bool {
        self.interval_bytes == 1
    }

    /// A number between 0 and 1, without both.
    fn random(&mut self) -> f64 {
        // Marsaglia's xorshift.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Bytes to the next point.
    fn gap(&mut self) -> usize {
        if self.takes_all() {
            return 0;
        }
        let gap = -self.random().ln() * self.interval_bytes as f64;
        gap as usize
    }

    /// An area's cursor begins somewhere.
    pub(crate) fn begin_area(&mut self, kind: AreaKind, cursor: usize) {
        self.areas[kind as usize].base = cursor;
    }

    /// Counts what was allocated in an area since the last call.
    fn count(&mut self, kind: AreaKind, cursor: usize) {
        let area = &mut self.areas[kind as usize];
        if area.base != 0 {
            area.left = area.left.saturating_sub(cursor - area.base);
        }
        area.base = cursor;
    }

    /// An area is closed at its cursor.
    pub(crate) fn close_area(&mut self, kind: AreaKind, cursor: usize) {
        self.count(kind, cursor);
        self.areas[kind as usize].base = 0;
    }

    /// Whether the next allocation of an area, which takes so many bytes, has a point: the bytes before
    /// it.
    pub(crate) fn point(&mut self, kind: AreaKind, cursor: usize, bytes: usize) -> Option<usize> {
        self.count(kind, cursor);
        let left = self.areas[kind as usize].left;
        (bytes > left).then_some(left)
    }

    /// The allocation that was asked about was made. Gives the limit to show: no allocation below it has
    /// a point.
    pub(crate) fn allocated(
        &mut self,
        kind: AreaKind,
        point: Option<usize>,
        start: usize,
        bytes: usize,
    ) -> usize {
        match point {
            Some(point) => {
                self.note(kind as usize, start, bytes, point);
                self.areas[kind as usize].left = self.gap();
            }
            None => {
                let left = &mut self.areas[kind as usize].left;
                *left = left.saturating_sub(bytes);
            }
        }
        let area = &mut self.areas[kind as usize];
        area.base = start + bytes;
        area.base + area.left
    }

    /// An object outside of the areas was made: notes it if a point lies on it.
    pub(crate) fn allocated_outside(&mut self, start: usize, bytes: usize) {
        let gap = self.gap();
        if gap < bytes {
            self.note(OUTSIDE, start, bytes, gap);
        }
    }

    fn note(&mut self, place: usize, start: usize, bytes: usize, point: usize) {
        debug_assert!(self.pending[place].is_none());
        let noted = self.observer.allocating();
        self.pending[place] = Some(Pending {
            start,
            bytes,
            point,
            noted,
        });
    }

    /// Whether anything is pending.
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.iter().any(Option::is_some)
    }

    /// Takes what is pending in an area, or outside of the areas.
    pub(crate) fn take_pending(&mut self, kind: Option<AreaKind>) -> Option<Pending> {
        self.pending[kind.map_or(OUTSIDE, |kind| kind as usize)].take()
    }

    /// Shows the observer the objects of what was pending, numbered by `number`.
    ///
    /// # Safety
    /// The memory has been filled with objects, and nothing has moved since.
    pub(crate) unsafe fn show(&mut self, pending: Pending, mut number: impl FnMut(Value) -> u64) {
        let end = pending.start + pending.bytes;
        let mut at = pending.start;
        while at < end {
            // SAFETY: as the caller says: one object follows another.
            let (word, bytes) = unsafe { (shape::read(at), shape::bytes_at(at)) };
            let bytes = bytes.max(GRANULE_BYTES);
            let has_point = at + bytes > pending.start + pending.point;
            if (has_point || self.takes_all()) && !shape::is_filler(word) {
                let object = if Header::is_header(word) {
                    // SAFETY: an object with a header starts here.
                    unsafe { Value::object_at(at) }
                } else {
                    // SAFETY: a word that is no header begins a pair.
                    unsafe { shape::value(at as u64 | TAG_PAIR) }
                };
                let chance = if self.takes_all() {
                    1.0
                } else {
                    -(-(bytes as f64) / self.interval_bytes as f64).exp_m1()
                };
                let sample = AllocationSample {
                    object,
                    id: number(object),
                    offset_bytes: at - pending.start,
                    bytes,
                    weight_bytes: bytes as f64 / chance,
                };
                self.observer.made(pending.noted, sample);
            }
            if has_point && !self.takes_all() {
                return;
            }
            at += bytes;
        }
    }
}
