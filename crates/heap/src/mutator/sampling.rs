//! A mutator's part in sampling allocations ([`crate::sampling`]): its slow paths ask for points, and
//! show fast paths the limit behind which the next one lies.

use canny_value::Value;

use super::Mutator;
use crate::area::AreaKind;
use crate::sampling::{AllocationObserver, Sampling};

impl Mutator {
    /// From now on one object for each so many bytes is a sample, on average; each object if that is one
    /// byte. `seed` is the state of the random numbers.
    pub fn start_sampling(
        &mut self,
        interval_bytes: usize,
        seed: u64,
        observer: Box<dyn AllocationObserver>,
    ) {
        self.stop_sampling();
        let mut sampling = Sampling::new(interval_bytes, seed, observer);
        let area = self.area();
        sampling.begin_area(AreaKind::Scannable, area.scan_cursor);
        sampling.begin_area(AreaKind::Leaf, area.leaf_cursor);
        // The next allocation takes the slow path, which finds out how far the next point is.
        area.scan_limit = area.scan_cursor;
        area.leaf_limit = area.leaf_cursor;
        let special_cursor = self.local().special_cursor;
        sampling.begin_area(AreaKind::Special, special_cursor);
        self.local().sampling = Some(Box::new(sampling));
    }

    /// Ends it; the observer gets the objects that it has not got yet.
    pub fn stop_sampling(&mut self) {
        self.show_samples();
        if self.local().sampling.take().is_none() {
            return;
        }
        let hides = self.heap().stress_every() > 0;
        let (scan_end, leaf_end) = (self.local().scan_end, self.local().leaf_end);
        let area = self.area();
        area.scan_limit = if hides { area.scan_cursor } else { scan_end };
        area.leaf_limit = if hides { area.leaf_cursor } else { leaf_end };
    }

    /// Shows the observer the samples that it has not got yet. All objects have been filled.
    #[inline]
    pub fn show_samples(&mut self) {
        if self.is_sampling() {
            for kind in [AreaKind::Scannable, AreaKind::Leaf, AreaKind::Special] {
                self.show_sample(Some(kind));
            }
            self.show_sample(None);
        }
    }

    /// Whether there are samples that the observer has not got yet.
    #[inline]
    pub fn has_pending_samples(&mut self) -> bool {
        let sampling = &self.local().sampling;
        sampling
            .as_ref()
            .is_some_and(|sampling| sampling.has_pending())
    }

    #[inline(always)]
    pub(crate) fn is_sampling(&mut self) -> bool {
        self.local().sampling.is_some()
    }

    /// Shows what is pending in an area, or outside of the areas.
    #[cold]
    fn show_sample(&mut self, kind: Option<AreaKind>) {
        let heap = self.heap().clone();
        let Some(sampling) = &mut self.local().sampling else {
            return;
        };
        let Some(pending) = sampling.take_pending(kind) else {
            return;
        };
        let number = |object: Value| heap.register_sample(object);
        // SAFETY: objects are filled before the next allocation in their area and before the next
        // safepoint, and what moves them begins with this.
        unsafe { sampling.show(pending, number) };
    }

    /// Before an allocation on a slow path: whether it has a point, and where.
    #[inline]
    pub(crate) fn sampling_point(&mut self, kind: AreaKind, bytes: usize) -> Option<usize> {
        if !self.is_sampling() {
            return None;
        }
        self.show_sample(Some(kind));
        let cursor = match kind {
            AreaKind::Scannable => self.area().scan_cursor,
            AreaKind::Leaf => self.area().leaf_cursor,
            AreaKind::Special => self.local().special_cursor,
        };
        self.local().sampling.as_mut()?.point(kind, cursor, bytes)
    }

    /// Behind it: notes the sample, and shows fast paths the way to the next point.
    #[inline]
    pub(crate) fn note_allocation(
        &mut self,
        kind: AreaKind,
        point: Option<usize>,
        start: usize,
        bytes: usize,
    ) {
        if self.is_sampling() {
            self.note_allocation_now(kind, point, start, bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_allocation_now(
        &mut self,
        kind: AreaKind,
        point: Option<usize>,
        start: usize,
        bytes: usize,
    ) {
        let Some(sampling) = &mut self.local().sampling else {
            return;
        };
        let shown = sampling.allocated(kind, point, start, bytes);
        if self.heap().stress_every() > 0 {
            return;
        }
        let (scan_end, leaf_end) = (self.local().scan_end, self.local().leaf_end);
        match kind {
            AreaKind::Scannable => self.area().scan_limit = scan_end.min(shown),
            AreaKind::Leaf => self.area().leaf_limit = leaf_end.min(shown),
            AreaKind::Special => {}
        }
    }

    /// An object that is in no area was made.
    pub(crate) fn note_allocation_outside(&mut self, start: usize, bytes: usize) {
        if self.is_sampling() {
            self.show_sample(None);
            if let Some(sampling) = &mut self.local().sampling {
                sampling.allocated_outside(start, bytes);
            }
        }
    }
}
