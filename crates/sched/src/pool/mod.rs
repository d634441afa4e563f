//! The pool: words that are ready, words that are parked, and the workers that run them.
//!
//! A word is 64 bits that mean something to who uses the pool, such as a reference that a collector
//! changes. So words are only in places that [`Pool::visit_words`] reaches, and only workers put words
//! in and take them out. The pool's own threads, and workers inside [`Pool::wait`], handle tickets.
//!
//! No lock is held while anything waits. Locks are taken in this order, most often one alone: parked
//! words; a worker's line, then the injector's; idle workers.

mod parks;
mod quiet;
mod ready;
pub(crate) mod steward;
mod waiting;

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::names::WorkerId;
use super::offload::Offload;
use super::parking::Parking;
use super::poller::Poller;
use super::queues::{Ring, SharedLine};
use super::statistics::{Counters, PoolStatistics, Trace, TraceSink, read};
use super::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use super::sync::{Mutex, now, thread_number};
use super::tickets::ready_us;
use super::timers::{Moment, NEVER};
use super::word::Next;
use super::workers::{IdleWorkers, Worker, WorkerKind, WorkerState, Workers};
use steward::Steward;
use waiting::NOBODY;

/// The procedures that the pool needs from its user.
pub trait Host: Send + Sync {
    /// Makes a system thread that serves as this worker. It is called by the pool's own thread.
    fn start_worker(&self, worker: WorkerId, kind: WorkerKind) -> io::Result<()>;

    /// Asks what runs on a worker to give way soon, by [`Pool::yield_word`]. It must not wait.
    fn preempt(&self, worker: WorkerId);
}

/// Why a worker's sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// There may be work.
    Look,
    /// The worker shall end its thread, after [`Pool::leave`].
    Retire,
    /// The interrupt flag is set.
    Interrupted,
    TimedOut,
    /// To the main worker, if that was asked for: nothing is ready, nothing is parked, and every worker
    /// is idle.
    Quiet,
}

/// Settings.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// How many cores to keep busy.
    pub cores: usize,
    /// The most workers, apart from those in blocking regions.
    pub limit: usize,
    /// The most when nothing moves otherwise.
    pub limit_stuck: usize,
    /// How long an item may run while others wait, at most.
    pub slice: Duration,
    /// A worker goes when it was idle so long, unless it is the last.
    pub retire_after: Duration,
    /// The room in a worker's own queue, a power of two.
    pub local_queue: usize,
    /// The setter of an interrupt flag always writes to [`Pool::alarm`] as well. Else waits look at the
    /// flag now and then.
    pub alarms_interrupts: bool,
    /// Descriptors can be waited for.
    pub polls: bool,
    /// The main worker is notified when nothing can happen any more, by [`Idle::Quiet`].
    pub reports_quiet: bool,
    /// There is only the main worker, and nothing else decides what it takes next: no steward and no
    /// helper, whose jobs are done at once.
    pub is_alone: bool,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        PoolConfig {
            cores,
            limit: (8 * cores).max(64),
            limit_stuck: 1024,
            slice: Duration::from_millis(10),
            retire_after: Duration::from_secs(5),
            local_queue: 256,
            alarms_interrupts: false,
            polls: true,
            reports_quiet: false,
            is_alone: false,
        }
    }
}

/// A pool of threads and what they have to do.
pub struct Pool {
    pub(crate) me: Weak<Pool>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) config: PoolConfig,
    pub(crate) workers: Workers,
    pub(crate) idle: IdleWorkers,
    /// General words of everybody.
    pub(crate) injector: SharedLine,
    /// Words of the timer lane.
    pub(crate) timed: SharedLine,
    pub(crate) parking: Mutex<Parking>,
    /// Words that are parked or ready by ticket.
    pub(crate) parked: AtomicUsize,
    pub(crate) poller: Option<Poller>,
    /// The thread that sleeps in the poller or is about to: none, the steward, or a worker's number and two.
    pub(crate) role: AtomicU32,
    /// How often the role was taken.
    pub(crate) role_turns: AtomicU64,
    /// When a worker went from the poller to something else, and how long it takes, on average, until
    /// another comes.
    pub(crate) vacant_since: AtomicU64,
    pub(crate) vacancy: AtomicU64,
    /// A near deadline was set while no thread polled.
    pub(crate) is_unwatched: AtomicBool,
    /// Idle workers that only the alarm wakes for their flag.
    pub(crate) interruptible: AtomicUsize,
    /// The steward looks often, and wants to know when steps began.
    pub(crate) is_hurried: AtomicBool,
    pub(crate) steward: Steward,
    pub(crate) offload: Arc<Offload>,
    pub(crate) counters: Counters,
    pub(crate) trace: Trace,
    pub(crate) epoch: Instant,
    pub(crate) is_shut: AtomicBool,
    /// The time that a test pretends; nought if it is the system's.
    #[cfg(test)]
    pretended: AtomicU64,
}

impl Pool {
    /// A pool without threads.
    pub fn new(config: PoolConfig, host: Arc<dyn Host>) -> Arc<Pool> {
        let steward = Steward::default();
        if config.is_alone {
            steward.replace();
        }
        Arc::new_cyclic(|me| Pool {
            me: Weak::clone(me),
            host,
            workers: Workers::default(),
            idle: IdleWorkers::default(),
            injector: SharedLine::default(),
            timed: SharedLine::default(),
            parking: Mutex::new(Parking::default()),
            parked: AtomicUsize::new(0),
            poller: config.polls.then(Poller::new).and_then(Result::ok),
            role: AtomicU32::new(NOBODY),
            role_turns: AtomicU64::new(0),
            vacant_since: AtomicU64::new(NEVER),
            vacancy: AtomicU64::new(NEVER),
            is_unwatched: AtomicBool::new(false),
            interruptible: AtomicUsize::new(0),
            is_hurried: AtomicBool::new(false),
            steward,
            offload: Arc::default(),
            counters: Counters::default(),
            trace: Trace::default(),
            epoch: now(),
            is_shut: AtomicBool::new(false),
            #[cfg(test)]
            pretended: AtomicU64::new(0),
            config,
        })
    }

    /// The calling thread becomes the main worker. Call it once, first.
    pub fn enter_main(&self) -> WorkerId {
        let id = self.workers.claim(WorkerKind::Main);
        let id = id.unwrap_or(WorkerId::MAIN);
        self.arrive(id);
        id
    }

    /// A worker's thread is there.
    pub(crate) fn arrive(&self, id: WorkerId) {
        let worker = self.workers.get(id);
        worker.thread.store(thread_number(), Ordering::SeqCst);
        worker.pinned.open();
        worker.set_state(WorkerState::Running);
    }

    pub(crate) fn worker(&self, id: WorkerId) -> &Worker {
        let worker = self.workers.get(id);
        if worker.state() == WorkerState::Starting {
            self.arrive(id);
        }
        worker
    }

    pub(crate) fn ring<'a>(&self, worker: &'a Worker) -> &'a Ring {
        worker.ring(self.config.local_queue)
    }

    /// The item of this worker blocks its thread from now on: the core is for another worker.
    pub fn begin_blocking(&self, id: WorkerId) {
        let worker = self.workers.get(id);
        if worker.blocking_depth.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        if let Some(next) = worker.next.take() {
            self.push_local(worker, next);
        }
        self.end_search(worker);
        worker.set_state(WorkerState::Blocked);
        if self.has_any_work() {
            self.call_general();
            self.steward.notice_now(self);
        }
    }

    /// It does not block any more.
    pub fn end_blocking(&self, id: WorkerId) {
        let worker = self.workers.get(id);
        if worker.blocking_depth.fetch_sub(1, Ordering::Relaxed) == 1 {
            worker.set_state(WorkerState::Running);
        }
    }

    /// Shows every word, which may be changed, while all workers stand still or are in [`Pool::wait`].
    /// `young_only`: those that have come since the last time are enough.
    pub fn visit_words(&self, visit: &mut dyn FnMut(&mut u64), young_only: bool) {
        for (_, worker) in self.workers.all() {
            if let Some(ring) = worker.ring_if_any() {
                ring.visit(visit);
            }
            worker.next.visit(visit);
            worker.pinned.visit(visit, young_only);
        }
        // A word that moves from a worker's line to the injector meanwhile is seen in one of them.
        self.timed.visit(visit, young_only);
        self.injector.visit(visit, young_only);
        self.parking.lock().tickets.visit(visit, young_only);
    }

    /// Shows all words while nothing runs. Unlike [`Pool::visit_words`] it is no part of a collection: the
    /// next one sees the same words as without it.
    pub fn each_word(&self, show: &mut dyn FnMut(u64)) {
        for (_, worker) in self.workers.all() {
            let visit = &mut |word: &mut u64| show(*word);
            if let Some(ring) = worker.ring_if_any() {
                ring.visit(visit);
            }
            worker.next.visit(visit);
            worker.pinned.each(show);
        }
        self.timed.each(show);
        self.injector.each(show);
        self.parking.lock().tickets.each(show);
    }

    /// Words that general workers could take now, about.
    pub(crate) fn queued(&self) -> usize {
        let local: usize = self
            .workers
            .all()
            .map(|(_, worker)| worker.ring_length() + usize::from(worker.next.is_full()))
            .sum();
        self.injector.len() + local
    }

    /// Those of them that stand by.
    pub(crate) fn standbys(&self) -> usize {
        let all = self.workers.all();
        all.filter(|(_, worker)| worker.next.is_full()).count()
    }

    pub(crate) fn parked(&self) -> usize {
        self.parked.load(Ordering::SeqCst)
    }

    pub(crate) fn me(&self) -> Option<Arc<Pool>> {
        self.me.upgrade()
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::SeqCst)
    }

    /// Now, in nanoseconds since the pool was made.
    pub(crate) fn clock(&self) -> Moment {
        #[cfg(test)]
        if let pretended @ 1.. = self.pretended.load(Ordering::Relaxed) {
            return pretended;
        }
        self.moment(now())
    }

    #[cfg(test)]
    pub(crate) fn pretend(&self, now: Moment) {
        self.pretended.store(now, Ordering::Relaxed);
    }

    pub(crate) fn moment(&self, instant: Instant) -> Moment {
        let since = instant.saturating_duration_since(self.epoch).as_nanos();
        u64::try_from(since).unwrap_or(NEVER - 1)
    }

    /// Notes from now on, or does not, when words that were parked become ready ([`Next::ready_us`]).
    pub fn note_ready_times(&self, is_on: bool) {
        let since = is_on.then_some(self.epoch);
        self.parking.lock().tickets.note_times(since);
    }

    /// How long ago a word became ready that was taken just now, if that was noted.
    pub fn since_ready(&self, next: &Next) -> Option<Duration> {
        if next.ready_us == 0 {
            return None;
        }
        let since_us = ready_us(self.clock()).wrapping_sub(next.ready_us);
        // A clock that seems to have run backwards has not moved.
        let since_us = if since_us > u32::MAX / 2 { 0 } else { since_us };
        Some(Duration::from_micros(since_us.into()))
    }

    pub fn statistics(&self) -> PoolStatistics {
        let mut statistics = PoolStatistics {
            cores: self.config.cores,
            helpers: self.offload.helpers(),
            queued: self.queued() + self.timed.len(),
            parked: self.parked(),
            started: read(&self.counters.started),
            retired: read(&self.counters.retired),
            refused: read(&self.counters.refused),
            preempted: read(&self.counters.preempted),
            stolen: read(&self.counters.stolen),
            ticks: read(&self.counters.ticks),
            workers_max: read(&self.counters.workers_max) as usize,
            ..PoolStatistics::default()
        };
        for (_, worker) in self.workers.all() {
            statistics.taken += worker.turns.load(Ordering::Relaxed);
            statistics.queued += worker.pinned.len();
            match worker.state() {
                WorkerState::Free => continue,
                WorkerState::Idle => statistics.idle += 1,
                WorkerState::Blocked => statistics.blocked += 1,
                WorkerState::Starting | WorkerState::Running | WorkerState::Leaving => {}
            }
            statistics.workers += 1;
        }
        statistics
    }

    /// Sets the observer that learns why each worker comes or goes.
    pub fn set_trace(&self, sink: Option<TraceSink>) {
        self.trace.set(sink);
    }

    /// A descriptor to which any code may write eight bytes of a number, even a signal handler, so that waits
    /// look at their interrupt flags.
    pub fn alarm(&self) -> Option<BorrowedFd<'_>> {
        self.poller.as_ref().map(Poller::alarm)
    }

    /// Ends all waits with [`Idle::Retire`], and the pool's own threads. Words stay where they are.
    pub fn shut_down(&self) {
        self.is_shut.store(true, Ordering::SeqCst);
        while self.wake_one(|_, _| true) {}
        self.steward.notice_now(self);
        self.offload.shut_down();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Pool")
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
