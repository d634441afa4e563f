//! Hits of a breakpoint. Each thread counts those of each break by itself, since an increment that
//! excludes other threads is slow beside the rest of a hit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use canny_locks::Mutex;

/// The hits of a breakpoint, in all threads.
#[derive(Default)]
pub(super) struct Hits {
    /// Those of breakpoints that wait for a number of hits, and of threads that have forgotten theirs.
    shared: Arc<AtomicU64>,
    of_threads: Mutex<Vec<Arc<AtomicU64>>>,
}

/// A counter of one thread.
pub(super) enum Counter {
    /// It is this thread's alone.
    Own(Arc<AtomicU64>),
    /// The number of all hits decides.
    Shared(Arc<AtomicU64>, u64),
}

impl Hits {
    /// A counter for a thread, of a breakpoint that is passed so many times first.
    pub(super) fn counter(&self, passes: u64) -> Counter {
        if passes > 0 {
            return Counter::Shared(self.shared.clone(), passes);
        }
        let own = Arc::<AtomicU64>::default();
        let mut of_threads = self.of_threads.lock();
        of_threads.retain(|counter| {
            let is_used = Arc::strong_count(counter) > 1;
            if !is_used {
                let hits = counter.load(Ordering::Acquire);
                self.shared.fetch_add(hits, Ordering::Relaxed);
            }
            is_used
        });
        of_threads.push(own.clone());
        Counter::Own(own)
    }

    /// All hits.
    pub(super) fn total(&self) -> u64 {
        let of_threads = self.of_threads.lock();
        let own = of_threads.iter();
        let own: u64 = own.map(|counter| counter.load(Ordering::Relaxed)).sum();
        own + self.shared.load(Ordering::Relaxed)
    }
}

impl Counter {
    /// Counts a hit; whether it is not one that passes.
    pub(super) fn count(&self) -> bool {
        match self {
            Counter::Own(hits) => {
                let before = hits.load(Ordering::Relaxed);
                hits.store(before + 1, Ordering::Release);
                true
            }
            Counter::Shared(hits, passes) => hits.fetch_add(1, Ordering::Relaxed) >= *passes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_all_threads_are_counted() {
        let hits = Hits::default();
        for _ in 0..10 {
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    let counter = hits.counter(0);
                    scope.spawn(move || (0..100).for_each(|_| assert!(counter.count())));
                }
            });
        }
        assert_eq!(hits.total(), 3000);
        // Counters of threads that are gone are not kept.
        assert!(hits.of_threads.lock().len() <= 3);
    }

    #[test]
    fn the_first_hits_pass() {
        let hits = Hits::default();
        let (one, other) = (hits.counter(2), hits.counter(2));
        assert_eq!(
            [one.count(), other.count(), one.count()],
            [false, false, true]
        );
        assert_eq!(hits.total(), 3);
    }
}
