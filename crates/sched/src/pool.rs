//! A first pool, to be replaced: one queue, workers up to the number of cores, deadlines.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Interest, Wake};

/// A worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub u32);

/// What a worker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerKind {
    Main,
    General,
    Timer,
    Affinity,
}

/// A serial lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StrandId(pub u32);

/// A wait that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// Where a word waits for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    General,
    Timer,
    Pinned(WorkerId),
    Strand(StrandId),
}

/// A word to be run.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    pub word: u64,
    pub wake: Option<Wake>,
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    Look,
    Retire,
    Interrupted,
    TimedOut,
}

/// What became of parking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Park {
    Parked,
    Ready(Wake),
}

/// The machine's side.
pub trait Host: Send + Sync {
    fn start_worker(&self, worker: WorkerId, kind: WorkerKind) -> io::Result<()>;
    fn preempt(&self, worker: WorkerId);
}

/// The pool.
pub struct Pool {
    state: Mutex<State>,
    changed: Condvar,
    host: Arc<dyn Host>,
}

#[derive(Default)]
struct State {
    general: VecDeque<(u64, Option<Wake>)>,
    pinned: VecDeque<(u64, Option<Wake>)>,
    workers: u32,
    idle: u32,
    next_ticket: u64,
    armed: HashMap<u64, Armed>,
    has_steward: bool,
}

struct Armed {
    deadline: Option<Instant>,
    lane: Lane,
    word: Option<u64>,
    fired: bool,
}

impl Pool {
    pub fn new(host: Arc<dyn Host>) -> Arc<Pool> {
        Arc::new(Pool {
            state: Mutex::default(),
            changed: Condvar::new(),
            host,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn enter_main(&self) -> WorkerId {
        self.lock().workers = 1;
        WorkerId(0)
    }

    pub fn push(&self, _from: Option<WorkerId>, lane: Lane, word: u64) {
        let mut state = self.lock();
        self.put(&mut state, lane, word, None);
    }

    fn put(&self, state: &mut State, lane: Lane, word: u64, wake: Option<Wake>) {
        match lane {
            Lane::Pinned(worker) => {
                state.pinned.push_back((word, wake));
                self.host.preempt(worker);
            }
            _ => state.general.push_back((word, wake)),
        }
        if state.idle == 0 && state.workers < 3 {
            let worker = WorkerId(state.workers);
            if self.host.start_worker(worker, WorkerKind::General).is_ok() {
                state.workers += 1;
            }
        }
        self.changed.notify_all();
    }

    pub fn yield_word(&self, _worker: WorkerId, lane: Lane, word: u64) {
        let mut state = self.lock();
        match lane {
            Lane::Pinned(_) => state.pinned.push_back((word, None)),
            _ => self.put(&mut state, lane, word, None),
        }
    }

    pub fn try_next(&self, worker: WorkerId) -> Option<Next> {
        let mut state = self.lock();
        let pinned = if worker.0 == 0 {
            state.pinned.pop_front()
        } else {
            None
        };
        let (word, wake) = pinned.or_else(|| state.general.pop_front())?;
        Some(Next { word, wake })
    }

    pub fn wait(
        &self,
        worker: WorkerId,
        interrupt: Option<&AtomicBool>,
        until: Option<Instant>,
    ) -> Idle {
        let mut state = self.lock();
        loop {
            if !state.general.is_empty() || (worker.0 == 0 && !state.pinned.is_empty()) {
                return Idle::Look;
            }
            if interrupt.is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed)) {
                return Idle::Interrupted;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Idle::TimedOut;
            }
            state.idle += 1;
            state = self
                .changed
                .wait_timeout(state, Duration::from_millis(100))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            state.idle -= 1;
        }
    }

    pub fn leave(&self, _worker: WorkerId) {
        self.lock().workers -= 1;
    }

    pub fn arm(
        self: &Arc<Self>,
        interests: &[Interest<'_>],
        deadline: Option<Instant>,
        lane: Lane,
    ) -> io::Result<Ticket> {
        if !interests.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut state = self.lock();
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        state.armed.insert(
            ticket,
            Armed {
                deadline,
                lane,
                word: None,
                fired: false,
            },
        );
        if !state.has_steward {
            state.has_steward = true;
            let pool = Arc::clone(self);
            std::thread::spawn(move || pool.steward());
        }
        Ok(Ticket(ticket))
    }

    fn steward(&self) {
        loop {
            std::thread::sleep(Duration::from_millis(1));
            let mut state = self.lock();
            let now = Instant::now();
            let due: Vec<u64> = state
                .armed
                .iter()
                .filter(|(_, armed)| !armed.fired && armed.deadline.is_some_and(|at| at <= now))
                .map(|(&ticket, _)| ticket)
                .collect();
            for ticket in due {
                let armed = state.armed.get_mut(&ticket).expect("found");
                armed.fired = true;
                if let Some(word) = armed.word {
                    let lane = armed.lane;
                    state.armed.remove(&ticket);
                    self.put(&mut state, lane, word, Some(Wake::TimedOut));
                }
            }
        }
    }

    pub fn park(&self, ticket: Ticket, word: u64) -> Park {
        let mut state = self.lock();
        let Some(armed) = state.armed.get_mut(&ticket.0) else {
            return Park::Ready(Wake::TimedOut);
        };
        if armed.fired {
            state.armed.remove(&ticket.0);
            return Park::Ready(Wake::TimedOut);
        }
        armed.word = Some(word);
        Park::Parked
    }

    pub fn unpark(&self, ticket: Ticket) -> Option<u64> {
        self.lock().armed.remove(&ticket.0)?.word
    }

    pub fn visit_words(&self, visit: &mut dyn FnMut(&mut u64), _young_only: bool) {
        let mut state = self.lock();
        let State {
            general,
            pinned,
            armed,
            ..
        } = &mut *state;
        for (word, _) in general.iter_mut().chain(pinned) {
            visit(word);
        }
        for armed in armed.values_mut() {
            if let Some(word) = &mut armed.word {
                visit(word);
            }
        }
    }
}
