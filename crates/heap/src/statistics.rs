//! Counters that hosts may read, and the clocks behind them.
//!
//! A thread that collects counts under the heap's lock. Single pauses are kept only while somebody takes
//! them.

use std::time::{Duration, Instant};

/// Counts and durations of a heap's work so far.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Collections, full ones included.
    pub collections: u64,
    /// Full collections.
    pub full_collections: u64,
    /// Full collections that marked the old generation in place.
    pub in_place_collections: u64,
    /// CPU time of all collections, in nanoseconds.
    pub pause_cpu_ns_total: u64,
    /// CPU time of the longest collection, in nanoseconds.
    pub pause_cpu_ns_max: u64,
    /// Wall time of all collections, in nanoseconds.
    pub pause_wall_ns_total: u64,
    /// Wall time of the longest collection, in nanoseconds.
    pub pause_wall_ns_max: u64,
    /// The lengths of collections that left the old generation alone.
    pub young_pauses: PauseLengths,
    /// Those of full collections.
    pub full_pauses: PauseLengths,
    /// Bytes handed out to mutators, blocks that they are filling excepted.
    pub bytes_allocated: u64,
    /// Bytes moved by collections.
    pub bytes_evacuated: u64,
    /// Bytes found live by the last full collection, or an estimate after minor ones.
    pub bytes_live: usize,
    /// Bytes of the blocks in use.
    pub bytes_in_use: usize,
    /// Greatest value that `bytes_in_use` has had.
    pub bytes_in_use_max: usize,
    /// Objects pinned by native stacks in the last collection.
    pub pinned_objects: usize,
    /// Objects pinned by native stacks in all collections.
    pub pinned_objects_total: u64,
    /// Bytes that evacuated objects and pairs took in the last collection.
    pub bytes_promoted_last: usize,
}

/// Bounds of wall time by which collections are counted, in nanoseconds.
pub const PAUSE_BOUNDS_NS: [u64; 12] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    1_000_000_000,
];

/// How many collections took how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseLengths {
    /// Those up to each of [`PAUSE_BOUNDS_NS`] and above the bound before; at last the longer ones.
    pub counts: [u64; PAUSE_BOUNDS_NS.len() + 1],
    /// Their wall time.
    pub total_ns: u64,
}

impl PauseLengths {
    fn add(&mut self, wall_ns: u64) {
        let bucket = PAUSE_BOUNDS_NS.partition_point(|bound| *bound < wall_ns);
        self.counts[bucket] += 1;
        self.total_ns += wall_ns;
    }
}

/// CPU time of this thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One collection, for profilers.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// When it ended.
    pub end: Instant,
    /// How long all threads stood still.
    pub wall: Duration,
    /// Whether it collected the old generation too.
    pub is_full: bool,
    /// Bytes of the blocks in use before and after.
    pub bytes: (usize, usize),
}

/// Measures one collection.
pub(crate) struct PauseTimer {
    wall: Instant,
    cpu_ns: u64,
}

impl PauseTimer {
    /// Starts now.
    pub(crate) fn start() -> PauseTimer {
        PauseTimer {
            wall: Instant::now(),
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// Adds the time since the start.
    pub(crate) fn stop(self, statistics: &mut Statistics, is_full: bool) -> Duration {
        let wall = self.wall.elapsed();
        let cpu_ns = thread_cpu_ns() - self.cpu_ns;
        statistics.pause_cpu_ns_total += cpu_ns;
        statistics.pause_cpu_ns_max = statistics.pause_cpu_ns_max.max(cpu_ns);
        let wall_ns = wall.as_nanos() as u64;
        statistics.pause_wall_ns_total += wall_ns;
        statistics.pause_wall_ns_max = statistics.pause_wall_ns_max.max(wall_ns);
        let lengths = if is_full {
            &mut statistics.full_pauses
        } else {
            &mut statistics.young_pauses
        };
        lengths.add(wall_ns);
        wall
    }
}
