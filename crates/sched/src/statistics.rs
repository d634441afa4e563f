//! Counters and trace lines of the scheduler's pool.
//!
//! Counters are single words without a lock, so that a snapshot is not of one moment. A trace line
//! is formatted only if a sink is set. A sink is called by any thread and must not call the pool.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sync::Mutex;

/// Takes the lines of the trace. It is called by any thread and must neither wait nor call the pool.
pub type TraceSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A look at the pool. The numbers were not read at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Cores that the process may use.
    pub cores: usize,
    /// Workers that exist, with the main one and that for timers.
    pub workers: usize,
    /// Those of them that wait for work.
    pub idle: usize,
    /// Those in blocking regions.
    pub blocked: usize,
    /// Threads that do blocking jobs.
    pub helpers: usize,
    /// Words that are ready.
    pub queued: usize,
    /// Words that are parked.
    pub parked: usize,
    /// Words that were taken so far.
    pub taken: u64,
    pub started: u64,
    pub retired: u64,
    /// Threads that the system refused.
    pub refused: u64,
    /// How often workers were asked to yield.
    pub preempted: u64,
    /// Words that a worker took from another's queue, each time some.
    pub stolen: u64,
    /// How often the steward looked around.
    pub ticks: u64,
    /// Most workers at one time.
    pub workers_max: usize,
}

/// Counts since the pool was made.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) started: AtomicU64,
    pub(crate) retired: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) preempted: AtomicU64,
    pub(crate) stolen: AtomicU64,
    pub(crate) ticks: AtomicU64,
    pub(crate) workers_max: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[derive(Default)]
pub(crate) struct Trace {
    sink: Mutex<Option<TraceSink>>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Trace")
    }
}

impl Trace {
    pub(crate) fn set(&self, sink: Option<TraceSink>) {
        *self.sink.lock() = sink;
    }

    /// Writes a line of the trace, which is made only if the trace is on.
    pub(crate) fn tell(&self, line: fmt::Arguments<'_>) {
        let sink = self.sink.lock().clone();
        if let Some(sink) = sink {
            sink(&line.to_string());
        }
    }
}
