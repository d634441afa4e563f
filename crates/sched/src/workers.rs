//! Workers: the state of each, how it sleeps, and the list of idle ones.
//!
//! | state of a worker | → by | → state |
//! |---|---|---|
//! | free | the steward, which asks the host for a thread | starting |
//! | starting | the thread, at its first call; the steward, if the host refuses | running; free |
//! | running | the worker, which found nothing | idle |
//! | idle | who pushes work, the steward, or the worker itself; under the lock of the idle ones | running |
//! | running | the worker, around a blocking region | blocked, and back |
//! | idle | the worker, which waited long enough or shall go | leaving |
//! | leaving | the worker, at last | free |
//!
//! | state of a sleeper | → by | → state |
//! |---|---|---|
//! | awake | its thread | asleep, or polling |
//! | awake, asleep, polling | whoever wakes it | notified |
//! | asleep, polling, notified | its thread, which resumes | awake |
//!
//! **No wake-up is lost:** a thread that pushes makes its word visible first and looks for idle workers then.
//! A worker that goes idle says so first and looks for words then. All of this is in one total order. Of the
//! workers that are woken for shared work one at a time is *searching*; a push meanwhile wakes no other one,
//! since the searching one has yet to look: it looks once more after it said that it does not search any
//! more, or wakes the next when it has found something.

use std::sync::OnceLock;
use std::time::Duration;

use super::names::WorkerId;
use super::partners::Partners;
use super::queues::{NextSlot, Ring, SharedLine};
use super::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use super::sync::{Condvar, Mutex};

/// The purpose of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerKind {
    Main,
    General,
    /// Serves words of the timer lane only.
    Timer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum WorkerState {
    Free,
    Starting,
    Running,
    Idle,
    Blocked,
    Leaving,
}

const AWAKE: u8 = 0;
const ASLEEP: u8 = 1;
const POLLING: u8 = 2;
const NOTIFIED: u8 = 3;

/// How a thread of the pool sleeps and is woken.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    state: AtomicU8,
    lock: Mutex<()>,
    condition: Condvar,
}

impl Sleeper {
    /// Sleeps until it is woken or so long; not at all if it was woken before.
    pub(crate) fn sleep(&self, patience: Option<Duration>) {
        let mut guard = self.lock.lock();
        if self.begin(ASLEEP) {
            while self.state.load(Ordering::SeqCst) == ASLEEP {
                match patience {
                    None => {
                        guard = self.condition.wait(guard);
                    }
                    Some(patience) => {
                        // The caller looks at the clock again.
                        drop(self.condition.wait_timeout(guard, patience));
                        break;
                    }
                }
            }
        }
        self.end();
    }

    /// Begins to sleep in the poller; `false` if it was woken before.
    pub(crate) fn begin_polling(&self) -> bool {
        let begun = self.begin(POLLING);
        if !begun {
            self.end();
        }
        begun
    }

    fn begin(&self, state: u8) -> bool {
        self.state
            .compare_exchange(AWAKE, state, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    pub(crate) fn end(&self) {
        self.state.store(AWAKE, Ordering::SeqCst);
    }

    /// Wakes the thread, or lets its next sleep end at once. `true`: the bell of the poller must be
    /// rung for that.
    #[must_use]
    pub(crate) fn wake(&self) -> bool {
        match self.state.swap(NOTIFIED, Ordering::SeqCst) {
            ASLEEP => {
                drop(self.lock.lock());
                self.condition.notify_one();
                false
            }
            before => before == POLLING,
        }
    }
}

/// The state of one worker. Unless said otherwise only its own thread writes.
#[derive(Debug)]
pub(crate) struct Worker {
    /// The steward and who wakes it write as well, see the table.
    state: AtomicU8,
    kind: AtomicU8,
    /// The system's number of its thread.
    pub(crate) thread: AtomicU32,
    /// Items taken so far.
    pub(crate) turns: AtomicU64,
    ring: OnceLock<Ring>,
    pub(crate) next: NextSlot,
    /// The present item has begun so many steps, with those of items before.
    pub(crate) steps: AtomicU64,
    /// When the present step began; zero if it was not measured.
    pub(crate) started: AtomicU64,
    /// So much more waits behind what runs here, without being words yet, as the item has said.
    pub(crate) behind: AtomicUsize,
    /// The steward wants the item to give way when its step ends.
    pub(crate) shall_step_aside: AtomicBool,
    /// The order in which the worker takes work, a number of [`super::slices::Order`]; the steward writes as
    /// well.
    pub(crate) order: AtomicU8,
    /// The steward lets thieves come to `next`.
    pub(crate) is_exposed: AtomicBool,
    /// Whether it keeps what its items make ready; the steward writes as well.
    pub(crate) partners: Partners,
    pub(crate) pinned: SharedLine,
    /// In the list of idle ones; written under its lock.
    pub(crate) is_idle: AtomicBool,
    /// Written under the same lock, or by its thread while it is not idle.
    pub(crate) is_searching: AtomicBool,
    /// The item before was put back by its yielding, and the injector was not looked at since.
    pub(crate) has_yielded: AtomicBool,
    /// It takes nothing any more and goes.
    pub(crate) shall_leave: AtomicBool,
    /// It waits with a flag that the alarm makes it look at.
    pub(crate) is_interruptible: AtomicBool,
    /// How deep it is in blocking regions.
    pub(crate) blocking_depth: AtomicU32,
    pub(crate) sleeper: Sleeper,
}

impl Worker {
    fn new() -> Worker {
        Worker {
            state: AtomicU8::new(WorkerState::Free as u8),
            kind: AtomicU8::new(WorkerKind::General as u8),
            thread: AtomicU32::new(0),
            turns: AtomicU64::new(0),
            ring: OnceLock::new(),
            next: NextSlot::default(),
            steps: AtomicU64::new(0),
            started: AtomicU64::new(0),
            behind: AtomicUsize::new(0),
            shall_step_aside: AtomicBool::new(false),
            order: AtomicU8::new(0),
            is_exposed: AtomicBool::new(false),
            partners: Partners::default(),
            pinned: SharedLine::closed(),
            is_idle: AtomicBool::new(false),
            is_searching: AtomicBool::new(false),
            has_yielded: AtomicBool::new(false),
            shall_leave: AtomicBool::new(false),
            is_interruptible: AtomicBool::new(false),
            blocking_depth: AtomicU32::new(0),
            sleeper: Sleeper::default(),
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> WorkerState {
        match self.state.load(Ordering::SeqCst) {
            0 => WorkerState::Free,
            1 => WorkerState::Starting,
            2 => WorkerState::Running,
            3 => WorkerState::Idle,
            4 => WorkerState::Blocked,
            _ => WorkerState::Leaving,
        }
    }

    pub(crate) fn set_state(&self, state: WorkerState) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn kind(&self) -> WorkerKind {
        match self.kind.load(Ordering::Relaxed) {
            0 => WorkerKind::Main,
            1 => WorkerKind::General,
            _ => WorkerKind::Timer,
        }
    }

    pub(crate) fn set_kind(&self, kind: WorkerKind) {
        self.kind.store(kind as u8, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn serves_timers_only(&self) -> bool {
        self.kind() == WorkerKind::Timer
    }

    /// The ring; made when the worker first needs it.
    #[inline]
    pub(crate) fn ring(&self, capacity: usize) -> &Ring {
        self.ring.get_or_init(|| Ring::new(capacity))
    }

    #[inline]
    pub(crate) fn ring_if_any(&self) -> Option<&Ring> {
        self.ring.get()
    }

    pub(crate) fn ring_length(&self) -> usize {
        self.ring.get().map_or(0, Ring::len)
    }
}

const SEGMENT: usize = 64;
const SEGMENTS: usize = 32;

/// At most so many workers can exist.
pub(crate) const WORKERS_MAX: usize = SEGMENT * SEGMENTS;

/// All workers, by number. Places are made in segments and stay.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    segments: [OnceLock<Box<[Worker]>>; SEGMENTS],
    /// All numbers in use are below.
    bound: AtomicUsize,
}

impl Workers {
    /// The place of a worker that was given out.
    #[inline]
    pub(crate) fn get(&self, worker: WorkerId) -> &Worker {
        let segment = &self.segments[worker.index() / SEGMENT % SEGMENTS];
        let segment = segment.get_or_init(|| (0..SEGMENT).map(|_| Worker::new()).collect());
        &segment[worker.index() % SEGMENT]
    }

    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.bound.load(Ordering::SeqCst)
    }

    /// Takes a free place; by the steward, and for the main worker.
    pub(crate) fn claim(&self, kind: WorkerKind) -> Option<WorkerId> {
        for index in 0..WORKERS_MAX {
            let id = WorkerId::from_index(index);
            let worker = self.get(id);
            if worker.state() == WorkerState::Free {
                worker.set_kind(kind);
                worker.set_state(WorkerState::Starting);
                self.bound.fetch_max(index + 1, Ordering::SeqCst);
                return Some(id);
            }
        }
        None
    }

    /// All numbers that were ever given out, with their places.
    pub(crate) fn all(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        (0..self.bound()).map(|index| {
            let id = WorkerId::from_index(index);
            (id, self.get(id))
        })
    }
}

/// The workers that wait for work.
#[derive(Debug, Default)]
pub(crate) struct IdleWorkers {
    list: Mutex<Vec<WorkerId>>,
    /// Those that take any work.
    general: AtomicUsize,
    timer: AtomicUsize,
    /// Those woken for any work that have not found any yet.
    searching: AtomicUsize,
}

impl IdleWorkers {
    #[inline]
    pub(crate) fn general(&self) -> usize {
        self.general.load(Ordering::SeqCst)
    }

    pub(crate) fn timer(&self) -> usize {
        self.timer.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn searching(&self) -> usize {
        self.searching.load(Ordering::SeqCst)
    }

    fn counter(&self, worker: &Worker) -> &AtomicUsize {
        if worker.serves_timers_only() {
            &self.timer
        } else {
            &self.general
        }
    }

    /// A worker says that it waits, and does not search any more. It looks for work afterwards.
    pub(crate) fn enter(&self, id: WorkerId, worker: &Worker) {
        let mut list = self.list.lock();
        list.push(id);
        worker.is_idle.store(true, Ordering::SeqCst);
        worker.set_state(WorkerState::Idle);
        self.counter(worker).fetch_add(1, Ordering::SeqCst);
        if worker.is_searching.swap(false, Ordering::SeqCst) {
            self.searching.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// A worker resumes by itself; `false` if it was woken before. It searches next if it says so.
    pub(crate) fn leave(&self, id: WorkerId, worker: &Worker, searches: bool) -> bool {
        let mut list = self.list.lock();
        let Some(position) = list.iter().position(|other| *other == id) else {
            return false;
        };
        self.take_out(&mut list, position, worker, searches);
        true
    }

    fn take_out(&self, list: &mut Vec<WorkerId>, position: usize, worker: &Worker, searches: bool) {
        list.remove(position);
        self.counter(worker).fetch_sub(1, Ordering::SeqCst);
        worker.set_state(WorkerState::Running);
        if searches && !worker.serves_timers_only() {
            worker.is_searching.store(true, Ordering::SeqCst);
            self.searching.fetch_add(1, Ordering::SeqCst);
        }
        worker.is_idle.store(false, Ordering::SeqCst);
    }

    /// Takes out the one for which `cost` is least, the newest of several; the caller wakes it.
    pub(crate) fn take(
        &self,
        workers: &Workers,
        cost: impl Fn(WorkerId, &Worker) -> Option<u8>,
    ) -> Option<WorkerId> {
        let mut list = self.list.lock();
        let mut best: Option<(usize, u8)> = None;
        for (position, id) in list.iter().enumerate().rev() {
            if let Some(cost) = cost(*id, workers.get(*id))
                && best.is_none_or(|(_, least)| cost < least)
            {
                best = Some((position, cost));
                if cost == 0 {
                    break;
                }
            }
        }
        let (position, _) = best?;
        let id = list[position];
        self.take_out(&mut list, position, workers.get(id), true);
        Some(id)
    }

    /// One of them that could poll; it stays idle.
    pub(crate) fn any(&self) -> Option<WorkerId> {
        self.list.lock().last().copied()
    }

    /// A searching worker has found something; `true` if it was the last one that searched.
    #[inline]
    pub(crate) fn found(&self, worker: &Worker) -> bool {
        worker.is_searching.load(Ordering::Relaxed)
            && worker.is_searching.swap(false, Ordering::SeqCst)
            && self.searching.fetch_sub(1, Ordering::SeqCst) == 1
    }
}
