//! The pool: words that are ready, words that are parked, and the workers that run them.
//!
//! A word is 64 bits that mean something to who uses the pool, such as a reference that a collector changes. So words are
//! only in places that [`Pool::visit_words`] reaches, and only workers put words in and take them out. The pool's own threads, and
//! workers inside [`Pool::wait`], handle tickets.
//!
//! No lock is held while anything waits. Locks are taken in this order, most often one alone: parked words; strands; a
//! worker's line, then the injector's; idle workers.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool as InterruptFlag;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::offload::Offload;
use super::parking::{Parking, Woken};
use super::poller::{Fired, Poller};
use super::queues::{Item, Ring, SharedLine};
use super::statistics::{Counters, PoolStatistics, Trace, TraceSink, count, read};
use super::steward::Steward;
use super::strands::{Placed, Strands};
use super::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use super::sync::{Mutex, lock, now, thread_number};
use super::tickets::Ticket;
use super::timers::{Moment, NEVER};
use super::workers::{IdleWorkers, Worker, WorkerId, WorkerKind, WorkerState, Workers};
use super::{Interest, Wake};

/// Each so many turns a worker looks at the injector first.
const INJECTOR_TURNS: u64 = 61;

/// So many words in succession are taken from the slot before the ring has its turn.
const STREAK_MAX: u32 = 8;

/// So many items are taken from the injector at once.
const BATCH: usize = 32;

/// What the pool asks of who uses it.
pub trait Host: Send + Sync {
    /// Makes a system thread that serves as this worker. It is called by the pool's own thread.
    fn start_worker(&self, worker: WorkerId, kind: WorkerKind) -> io::Result<()>;

    /// Asks what runs on a worker to give way soon, by [`Pool::yield_word`]. It must not wait.
    fn preempt(&self, worker: WorkerId);
}

/// Who may run a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Any worker but that for timers.
    General,
    /// Any worker, before other work.
    Timer,
    /// This worker only, while there is one.
    Pinned(WorkerId),
    /// Any worker, in order and one at a time.
    Strand(StrandId),
}

/// The number of a strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StrandId(pub(crate) u32);

/// A word to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    pub word: u64,
    /// If it was parked, why it woke.
    pub wake: Option<Wake>,
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
}

/// What can be set.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// How many cores to keep busy.
    pub cores: usize,
    /// The most workers, apart from those in blocking regions.
    pub limit: usize,
    /// The most when nothing moves otherwise.
    pub limit_stuck: usize,
    /// How long an item may run while others wait.
    pub slice: Duration,
    /// A worker goes when it was idle so long, unless it is the last.
    pub retire_after: Duration,
    /// The room in a worker's own queue, a power of two.
    pub local_queue: usize,
    /// Who sets an interrupt flag always writes to [`Pool::alarm`] as well. Else waits look at the flag now and then.
    pub alarms_interrupts: bool,
    /// Descriptors can be waited for.
    pub polls: bool,
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
        }
    }
}

/// The longest sleep of a wait with an interrupt flag, if nothing wakes it when the flag is set.
const INTERRUPT_SLICE: Duration = Duration::from_millis(100);

/// While the poller is, on average, left alone for less than this, nobody is woken to poll meanwhile.
const SHORT_VACANCY: Moment = 100_000;

/// A deadline before the steward's next tick.
const SOON: Moment = 10_000_000;

/// Nobody polls.
const NOBODY: u32 = 0;
const STEWARD: u32 = 1;

/// A pool of threads and what they have to do.
pub struct Pool {
    me: Weak<Pool>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) config: PoolConfig,
    pub(crate) workers: Workers,
    pub(crate) idle: IdleWorkers,
    /// General words of everybody.
    pub(crate) injector: SharedLine,
    /// Words of the timer lane.
    pub(crate) timed: SharedLine,
    pub(crate) strands: Strands,
    parking: Mutex<Parking>,
    /// Words that are parked or ready by ticket.
    parked: AtomicUsize,
    poller: Option<Poller>,
    /// Who sleeps in the poller or is about to: nobody, the steward, or a worker's number and two.
    role: AtomicU32,
    /// How often the role was taken.
    role_turns: AtomicU64,
    /// When a worker went from the poller to something else, and how long it takes, on average, until another comes.
    vacant_since: AtomicU64,
    vacancy: AtomicU64,
    /// A deadline was set that comes soon, when nobody polled.
    is_unwatched: AtomicBool,
    /// Idle workers that only the alarm wakes for their flag.
    interruptible: AtomicUsize,
    pub(crate) steward: Steward,
    offload: Offload,
    pub(crate) counters: Counters,
    pub(crate) trace: Trace,
    epoch: Instant,
    is_shut: AtomicBool,
}

impl Pool {
    /// A pool without threads.
    pub fn new(config: PoolConfig, host: Arc<dyn Host>) -> Arc<Pool> {
        Arc::new_cyclic(|me| Pool {
            me: Weak::clone(me),
            host,
            workers: Workers::default(),
            idle: IdleWorkers::default(),
            injector: SharedLine::default(),
            timed: SharedLine::default(),
            strands: Strands::default(),
            parking: Mutex::new(Parking::default()),
            parked: AtomicUsize::new(0),
            poller: config.polls.then(Poller::new).and_then(Result::ok),
            role: AtomicU32::new(NOBODY),
            role_turns: AtomicU64::new(0),
            vacant_since: AtomicU64::new(NEVER),
            vacancy: AtomicU64::new(NEVER),
            is_unwatched: AtomicBool::new(false),
            interruptible: AtomicUsize::new(0),
            steward: Steward::default(),
            offload: Offload::default(),
            counters: Counters::default(),
            trace: Trace::default(),
            epoch: now(),
            is_shut: AtomicBool::new(false),
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
    fn arrive(&self, id: WorkerId) {
        let worker = self.workers.get(id);
        worker.thread.store(thread_number(), Ordering::SeqCst);
        worker.pinned.open();
        if !worker.serves_timers_only() {
            self.strands.open_worker(id);
        }
        worker.set_state(WorkerState::Running);
    }

    fn worker(&self, id: WorkerId) -> &Worker {
        let worker = self.workers.get(id);
        if worker.state() == WorkerState::Starting {
            self.arrive(id);
        }
        worker
    }

    fn ring<'a>(&self, worker: &'a Worker) -> &'a Ring {
        worker.ring(self.config.local_queue)
    }

    /// Makes a word ready. Workers say who they are; then it need not leave them.
    pub fn push(&self, from: Option<WorkerId>, lane: Lane, word: u64) {
        match from {
            Some(id) if lane == Lane::General => {
                self.push_local(self.workers.get(id), Next { word, wake: None });
                self.call_general();
            }
            _ => self.enqueue(lane, Item::Word(word)),
        }
    }

    /// Makes a word ready that shall run on this worker next, because what runs there is about to wait for it. Nobody else
    /// is woken for it: if the present item goes on for long, the steward lets others have it.
    pub fn hand_over(&self, worker: WorkerId, word: u64) {
        let worker = self.workers.get(worker);
        if worker.serves_timers_only() {
            // It would not come to it.
            return self.enqueue(Lane::General, Item::Word(word));
        }
        worker.is_exposed.store(false, Ordering::Relaxed);
        if let Some(before) = worker.next.put(word) {
            self.push_local(worker, before);
            self.call_general();
        } else {
            self.steward.notice(self);
        }
    }

    fn push_local(&self, worker: &Worker, next: Next) {
        if worker.serves_timers_only() {
            self.injector.push_back(next.into());
            return;
        }
        let ring = self.ring(worker);
        if let Err(next) = ring.push(next) {
            ring.overflow(&self.injector);
            if let Err(next) = ring.push(next) {
                self.injector.push_back(next.into());
            }
        }
    }

    /// Puts back what ran on a worker and has not ended, behind what waits; of a strand, before its other items.
    pub fn yield_word(&self, worker: WorkerId, lane: Lane, word: u64) {
        match lane {
            Lane::General => {
                let worker = self.workers.get(worker);
                worker.has_yielded.store(true, Ordering::Relaxed);
                self.push_local(worker, Next { word, wake: None });
                if worker.serves_timers_only() {
                    self.call_general();
                }
            }
            Lane::Strand(strand) => {
                if let Err(item) = self.strands.push_front(strand, Item::Word(word)) {
                    self.enqueue(lane, item);
                }
            }
            Lane::Timer | Lane::Pinned(_) => self.enqueue(lane, Item::Word(word)),
        }
    }

    /// The next word for this worker, if there is one. What it took before has ended, or is put back or parked. Call it
    /// after [`Idle::Look`] in any case: whoever was woken for a word and does not look keeps others from it.
    pub fn try_next(&self, id: WorkerId) -> Option<Next> {
        let worker = self.worker(id);
        self.finish_strand(id, worker);
        if worker.shall_leave.load(Ordering::Relaxed) {
            self.empty(worker);
            return None;
        }
        let turn = worker.turns.load(Ordering::Relaxed) + 1;
        let next = self.find(id, worker, turn);
        self.end_search(worker);
        if next.is_some() {
            worker.turns.store(turn, Ordering::Relaxed);
            if self.is_unwatched.load(Ordering::Relaxed)
                && self.is_unwatched.swap(false, Ordering::SeqCst)
                && self.role_is_vacant()
            {
                self.steward.notice_now(self);
            }
        }
        next
    }

    /// A worker that was woken to look for work has looked: if there is more, the next one is woken.
    fn end_search(&self, worker: &Worker) {
        if self.idle.found(worker) && self.has_any_work() {
            self.call_general();
        }
    }

    fn find(&self, id: WorkerId, worker: &Worker, turn: u64) -> Option<Next> {
        if worker.pinned.len() > 0
            && let Some(next) = worker.pinned.pop_front().and_then(|item| self.redeem(item))
        {
            return Some(next);
        }
        if self.timed.len() > 0
            && let Some(next) = self.timed.pop_front().and_then(|item| self.redeem(item))
        {
            return Some(next);
        }
        if worker.serves_timers_only() {
            return None;
        }
        let looks_outside = turn.is_multiple_of(INJECTOR_TURNS)
            || worker.has_yielded.load(Ordering::Relaxed)
                && worker.has_yielded.swap(false, Ordering::Relaxed);
        let outside = || self.take_injected(worker);
        let local = || self.take_local(worker);
        let strand = || self.take_of_strand(id, worker);
        if looks_outside {
            outside().or_else(local).or_else(strand)
        } else if turn & 1 == 0 {
            strand().or_else(local).or_else(outside)
        } else {
            local().or_else(strand).or_else(outside)
        }
        .or_else(|| self.steal(id, worker, turn))
    }

    fn take_local(&self, worker: &Worker) -> Option<Next> {
        let streak = worker.streak.load(Ordering::Relaxed);
        if streak < STREAK_MAX
            && let Some(next) = worker.next.take()
        {
            worker.streak.store(streak + 1, Ordering::Relaxed);
            return Some(next);
        }
        worker.streak.store(0, Ordering::Relaxed);
        let ring = worker.ring_if_any();
        ring.and_then(Ring::pop).or_else(|| worker.next.take())
    }

    fn take_of_strand(&self, id: WorkerId, worker: &Worker) -> Option<Next> {
        let (strand, item) = self.strands.take(id)?;
        worker.strand.store(strand.0 + 1, Ordering::Relaxed);
        self.redeem(item)
    }

    fn take_injected(&self, worker: &Worker) -> Option<Next> {
        if self.injector.len() == 0 {
            return None;
        }
        let ring = self.ring(worker);
        let mut batch = [Item::Word(0); BATCH];
        let room = ring.room().min(BATCH - 1) + 1;
        let sharers = self.workers.bound().min(self.config.cores) + 1;
        let count = self.injector.pop_batch(&mut batch[..room], sharers);
        let mut items = batch[..count].iter();
        let first = items.find_map(|item| self.redeem(*item));
        for next in items.filter_map(|item| self.redeem(*item)) {
            if let Err(next) = ring.push(next) {
                self.injector.push_back(next.into());
            }
        }
        if count > 1 {
            self.call_for_moved();
        }
        first
    }

    fn steal(&self, id: WorkerId, worker: &Worker, turn: u64) -> Option<Next> {
        let bound = self.workers.bound();
        // Begins with another one each time.
        let start = id.index() + 1 + turn as usize;
        for offset in 0..bound {
            let victim = WorkerId::from_index((start + offset) % bound);
            if victim == id {
                continue;
            }
            let victim = self.workers.get(victim);
            let ring = victim.ring_if_any().filter(|ring| ring.len() > 0);
            let stolen = ring.and_then(|ring| ring.steal_into(self.ring(worker)));
            let stolen = stolen.or_else(|| {
                let is_exposed = victim.is_exposed.load(Ordering::Relaxed);
                is_exposed.then(|| victim.next.take()).flatten()
            });
            if stolen.is_some() {
                count(&self.counters.stolen);
                if worker.ring_length() > 0 {
                    self.call_for_moved();
                }
                return stolen;
            }
        }
        None
    }

    /// Several words were on their way from one queue to another: who looked for work meanwhile did not see them.
    fn call_for_moved(&self) {
        fence(Ordering::SeqCst);
        if self.idle.general() > 0 {
            self.call_general();
        }
    }

    /// The word that an item stands for.
    fn redeem(&self, item: Item) -> Option<Next> {
        match item {
            Item::Word(word) => Some(Next { word, wake: None }),
            Item::Woken(wake, word) => Some(Next {
                word,
                wake: super::queues::wake_of_number(wake),
            }),
            Item::Ticket(ticket) => {
                let next = lock(&self.parking).tickets.take(ticket);
                self.parked.fetch_sub(1, Ordering::SeqCst);
                next
            }
        }
    }

    fn finish_strand(&self, id: WorkerId, worker: &Worker) {
        let strand = worker.strand.load(Ordering::Relaxed);
        if strand != 0 {
            worker.strand.store(0, Ordering::Relaxed);
            let placed = self.strands.finish(StrandId(strand - 1));
            if placed != Placed::Home(id) {
                self.call_for_strand(placed);
            }
        }
    }

    /// Gives all words of a worker's own to everybody, by the worker.
    fn empty(&self, worker: &Worker) {
        let rest = std::iter::from_fn(|| {
            let ring = worker.ring_if_any();
            worker.next.take().or_else(|| ring.and_then(Ring::pop))
        });
        // One at a time: a word must never be out of the collector's sight while a lock is waited for, and it is not
        // while its worker does not stand still.
        for next in rest {
            self.injector.push_back(next.into());
        }
        if self.injector.len() > 0 {
            self.call_general();
        }
    }

    /// Puts an item where its lane waits, and sees to it that somebody comes for it.
    pub(crate) fn enqueue(&self, lane: Lane, item: Item) {
        match lane {
            Lane::General => {
                self.injector.push_back(item);
                self.call_general();
            }
            Lane::Timer => {
                self.timed.push_back(item);
                self.call_for_timer();
            }
            Lane::Pinned(id) => {
                if self.workers.get(id).pinned.push_back(item) {
                    self.call_worker(id);
                } else {
                    self.enqueue(Lane::General, item);
                }
            }
            Lane::Strand(strand) => match self.strands.push(strand, item) {
                Ok(placed) => self.call_for_strand(placed),
                Err(item) => self.enqueue(Lane::General, item),
            },
        }
    }

    pub(crate) fn call_for_strand(&self, placed: Placed) {
        match placed {
            Placed::Unchanged => {}
            Placed::Home(worker) => self.call_worker(worker),
            Placed::Anywhere => self.call_general(),
        }
    }

    /// Wakes a worker for what was put where anybody finds it, unless one is on its way.
    pub(crate) fn call_general(&self) {
        fence(Ordering::SeqCst);
        if self.idle.searching() > 0 {
            return;
        }
        if self.idle.general() == 0 || !self.wake_one(|_, worker| !worker.serves_timers_only()) {
            self.steward.notice(self);
        }
    }

    fn call_for_timer(&self) {
        fence(Ordering::SeqCst);
        if self.idle.timer() > 0 && self.wake_one(|_, worker| worker.serves_timers_only()) {
            return;
        }
        if self.idle.searching() > 0 {
            return;
        }
        if self.idle.general() == 0 || !self.wake_one(|_, _| true) {
            self.steward.notice_now(self);
        }
    }

    /// Wakes this worker for what only it takes, or lets the steward interrupt what it runs.
    fn call_worker(&self, id: WorkerId) {
        fence(Ordering::SeqCst);
        let is_it = |other, _: &Worker| other == id;
        if !(self.workers.get(id).is_idle.load(Ordering::SeqCst) && self.wake_one(is_it)) {
            self.steward.notice(self);
        }
    }

    fn wake_one(&self, serves: impl Fn(WorkerId, &Worker) -> bool) -> bool {
        let poller = self.role.load(Ordering::Relaxed);
        let cost = |id: WorkerId, worker: &Worker| {
            serves(id, worker).then(|| {
                // The main worker has its own work soon; who polls had better go on polling.
                let is_main = worker.kind() == WorkerKind::Main;
                2 * u8::from(is_main) + u8::from(poller == role_of(id))
            })
        };
        let Some(id) = self.idle.take(&self.workers, cost) else {
            return false;
        };
        self.rouse(&self.workers.get(id).sleeper);
        true
    }

    pub(crate) fn rouse(&self, sleeper: &super::workers::Sleeper) {
        if sleeper.wake()
            && let Some(poller) = &self.poller
        {
            poller.ring();
        }
    }

    /// Whether there is work that any general worker could take.
    fn has_any_work(&self) -> bool {
        self.timed.len() > 0
            || self.injector.len() > 0
            || self.strands.waiting_for_anybody() > 0
            || self.workers.all().any(|(_, worker)| {
                worker.ring_length() > 0
                    || worker.is_exposed.load(Ordering::Relaxed) && worker.next.is_full()
            })
    }

    fn has_work_for(&self, id: WorkerId, worker: &Worker) -> bool {
        worker.pinned.len() > 0
            || self.timed.len() > 0
            || !worker.serves_timers_only()
                && (self.strands.waiting_for(id) > 0 || self.has_any_work())
    }

    /// Sleeps until there may be work for this worker, `interrupt` is set or `until` has passed. Call it outside of the
    /// heap, when [`Pool::try_next`] found nothing.
    pub fn wait(
        &self,
        id: WorkerId,
        interrupt: Option<&InterruptFlag>,
        until: Option<Instant>,
    ) -> Idle {
        let mut has_polled = false;
        let needs_alarm = interrupt.is_some() && self.config.alarms_interrupts;
        if needs_alarm {
            self.worker(id)
                .is_interruptible
                .store(true, Ordering::SeqCst);
            self.interruptible.fetch_add(1, Ordering::SeqCst);
        }
        let idle = self.wait_idle(id, interrupt, until, &mut has_polled);
        if needs_alarm {
            self.worker(id)
                .is_interruptible
                .store(false, Ordering::SeqCst);
            self.interruptible.fetch_sub(1, Ordering::SeqCst);
        }
        if has_polled {
            self.pass_role();
        }
        idle
    }

    fn wait_idle(
        &self,
        id: WorkerId,
        interrupt: Option<&InterruptFlag>,
        until: Option<Instant>,
        has_polled: &mut bool,
    ) -> Idle {
        let worker = self.worker(id);
        self.finish_strand(id, worker);
        let until = until.map(|until| self.moment(until));
        let patience = self.patience(worker).map(|patience| {
            let patience = u64::try_from(patience.as_nanos()).unwrap_or(NEVER);
            self.clock().saturating_add(patience)
        });
        self.idle.enter(id, worker);
        loop {
            if self.is_shut.load(Ordering::SeqCst) {
                self.idle.leave(id, worker, false);
                return self.retire(id, worker);
            }
            if !worker.is_idle.load(Ordering::SeqCst) {
                return Idle::Look;
            }
            if worker.shall_leave.load(Ordering::Relaxed) {
                self.idle.leave(id, worker, false);
                return self.retire(id, worker);
            }
            if self.has_work_for(id, worker) {
                self.idle.leave(id, worker, true);
                return Idle::Look;
            }
            if interrupt.is_some_and(|flag| flag.load(Ordering::Acquire)) {
                self.give_up(id, worker);
                return Idle::Interrupted;
            }
            let first = until.into_iter().chain(patience).min();
            if let Some(first) = first
                && self.clock() >= first
            {
                if until.is_some_and(|until| until <= first) {
                    self.give_up(id, worker);
                    return Idle::TimedOut;
                }
                if self.idle.leave(id, worker, false) {
                    let kind = worker.kind();
                    self.trace.tell(format_args!(
                        "worker {} goes: it was idle ({kind:?})",
                        id.index()
                    ));
                    return self.retire(id, worker);
                }
                return Idle::Look;
            }
            let slice = (interrupt.is_some() && !self.config.alarms_interrupts)
                .then(|| self.clock() + INTERRUPT_SLICE.as_nanos() as u64);
            *has_polled |= self.doze(id, worker, first.into_iter().chain(slice).min());
        }
    }

    /// Ends a wait for another reason than work; a wake-up that came meanwhile goes to somebody else.
    fn give_up(&self, id: WorkerId, worker: &Worker) {
        if !self.idle.leave(id, worker, false) {
            self.end_search(worker);
        }
    }

    fn patience(&self, worker: &Worker) -> Option<Duration> {
        let general = |(_, worker): &(WorkerId, &Worker)| {
            worker.kind() == WorkerKind::General && worker.state() != WorkerState::Free
        };
        match worker.kind() {
            WorkerKind::Main => None,
            WorkerKind::Timer => Some(self.config.retire_after),
            WorkerKind::General => super::policy::Policy::patience(
                self.workers.all().filter(general).count(),
                self.config.retire_after,
            ),
        }
    }

    /// Sleeps once, in the poller if nobody else does; whether it was there.
    fn doze(&self, id: WorkerId, worker: &Worker, until: Option<Moment>) -> bool {
        if self.take_role(role_of(id)) {
            self.measure_vacancy();
            let woken = self.poll(&worker.sleeper, until.unwrap_or(NEVER));
            self.role.store(NOBODY, Ordering::SeqCst);
            if !woken.is_empty() {
                // It looks for work now, so that nobody else need be woken at once.
                self.idle.leave(id, worker, true);
                self.ready_all(woken);
            }
            true
        } else {
            let patience =
                until.map(|until| Duration::from_nanos(until.saturating_sub(self.clock())));
            worker.sleeper.sleep(patience);
            false
        }
    }

    pub(crate) fn take_role(&self, holder: u32) -> bool {
        let taken = self
            .role
            .compare_exchange(NOBODY, holder, Ordering::SeqCst, Ordering::SeqCst);
        if taken.is_ok() {
            self.role_turns.fetch_add(1, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    pub(crate) fn take_role_for_steward(&self) -> bool {
        self.take_role(STEWARD)
    }

    pub(crate) fn end_role(&self) {
        self.role.store(NOBODY, Ordering::SeqCst);
    }

    pub(crate) fn role_is_vacant(&self) -> bool {
        self.role.load(Ordering::SeqCst) == NOBODY
    }

    pub(crate) fn role_turns(&self) -> u64 {
        self.role_turns.load(Ordering::Relaxed)
    }

    fn measure_vacancy(&self) {
        let since = self.vacant_since.swap(NEVER, Ordering::Relaxed);
        if since != NEVER {
            let length = self.clock().saturating_sub(since);
            let before = self.vacancy.load(Ordering::Relaxed);
            let average = if before == NEVER {
                length
            } else {
                before - before / 8 + length / 8
            };
            self.vacancy.store(average, Ordering::Relaxed);
        }
    }

    /// Whoever has polled goes on to something else: another idle worker polls, or the steward sees to it. While workers
    /// come back to the poller soon, waking somebody each time costs more than it gains; the steward looks after a tick.
    fn pass_role(&self) {
        let is_needed = self.parked() > 0 || self.interruptible.load(Ordering::SeqCst) > 0;
        if !is_needed || !self.role_is_vacant() {
            return;
        }
        self.vacant_since.store(self.clock(), Ordering::Relaxed);
        let is_short = self.vacancy.load(Ordering::Relaxed) < SHORT_VACANCY;
        if is_short || !self.wake_poller() {
            self.steward.notice(self);
        }
    }

    /// Wakes an idle worker so that it polls. It stays idle.
    pub(crate) fn wake_poller(&self) -> bool {
        let Some(id) = self.idle.any() else {
            return false;
        };
        self.rouse(&self.workers.get(id).sleeper);
        true
    }

    /// The next deadline, if nobody polls.
    pub(crate) fn next_deadline_if_vacant(&self) -> Option<Moment> {
        let is_watched = self.parked() == 0 || !self.role_is_vacant();
        (!is_watched)
            .then(|| lock(&self.parking).next_moment())
            .flatten()
    }

    /// Sleeps in the poller, by who has the role, until a moment, a ticket or a bell. Gives the tickets that are ready now.
    pub(crate) fn poll(&self, sleeper: &super::workers::Sleeper, until: Moment) -> Vec<Woken> {
        let mut woken = Vec::new();
        let until = {
            let mut parking = lock(&self.parking);
            let until = parking.next_moment().unwrap_or(NEVER).min(until);
            parking.sleeps_until = until;
            until
        };
        let patience =
            (until != NEVER).then(|| Duration::from_nanos(until.saturating_sub(self.clock())));
        match &self.poller {
            Some(poller) => {
                if sleeper.begin_polling() {
                    let mut is_alarm = false;
                    poller.sleep(patience, |fired| match fired {
                        Fired::Alarm => is_alarm = true,
                        fired => lock(&self.parking).fired(fired, &mut woken),
                    });
                    sleeper.end();
                    if is_alarm {
                        self.spread_alarm();
                    }
                }
            }
            None => sleeper.sleep(patience),
        }
        let mut parking = lock(&self.parking);
        // Whoever parks now need not wake anybody: the role is taken anew before the next sleep.
        parking.sleeps_until = 0;
        if parking
            .next_moment()
            .is_some_and(|next| next <= self.clock())
        {
            parking.due(self.clock(), &mut woken);
        }
        woken
    }

    /// Lets all look at their interrupt flags that wait with one.
    fn spread_alarm(&self) {
        for (_, worker) in self.workers.all() {
            if worker.is_interruptible.load(Ordering::SeqCst) {
                self.rouse(&worker.sleeper);
            }
        }
    }

    /// Puts items for tickets that were made ready.
    pub(crate) fn ready_all(&self, woken: Vec<Woken>) {
        for one in woken {
            self.ready(one);
        }
    }

    fn ready(&self, woken: Woken) {
        self.undo(woken.ticket, woken.registrations);
        self.enqueue(woken.lane, Item::Ticket(woken.ticket));
    }

    fn undo(&self, ticket: Ticket, registrations: super::tickets::Registrations) {
        for registration in registrations.iter().flatten() {
            if let super::tickets::Registration::Notice(list) = registration {
                list.remove(ticket);
            }
        }
    }

    /// Makes a ticket ready if it still waits; by any thread.
    pub(crate) fn wake(&self, ticket: Ticket, wake: Wake) {
        let woken = lock(&self.parking).wake(ticket, wake);
        if let Some(woken) = woken {
            self.ready(woken);
        }
    }

    /// The worker's thread ends.
    fn retire(&self, id: WorkerId, worker: &Worker) -> Idle {
        worker.set_state(WorkerState::Leaving);
        self.end_search(worker);
        worker.pinned.close_into(&self.injector);
        if self.strands.close_worker(id) > 0 || self.injector.len() > 0 {
            self.call_general();
        }
        Idle::Retire
    }

    /// The last call of a worker's thread.
    pub fn leave(&self, id: WorkerId) {
        let worker = self.workers.get(id);
        worker.shall_leave.store(false, Ordering::Relaxed);
        count(&self.counters.retired);
        // The next thread that serves under this number is not woken by what was meant for this one.
        worker.sleeper.end();
        worker.set_state(WorkerState::Free);
    }

    /// Parks a word until one of `interests` is ready or `deadline` has passed; then it is ready in `lane`. With neither, until
    /// it is taken back. If it fails the word is still the caller's.
    pub fn park(
        &self,
        word: u64,
        interests: &[Interest<'_>],
        deadline: Option<Instant>,
        lane: Lane,
    ) -> io::Result<Ticket> {
        let deadline = deadline.map(|deadline| self.moment(deadline));
        self.parked.fetch_add(1, Ordering::SeqCst);
        let parked = {
            let mut parking = lock(&self.parking);
            parking.park(self.poller.as_ref(), word, interests, lane)
        };
        let (ticket, mut registrations, needs_helper) = match parked {
            Ok(parked) => parked,
            Err(error) => {
                self.parked.fetch_sub(1, Ordering::SeqCst);
                return Err(error);
            }
        };
        for (index, interest) in interests.iter().enumerate() {
            if let Interest::Notice(notice, seen) = interest {
                let list = notice.park(&self.me, ticket, index);
                registrations.push(super::tickets::Registration::Notice(list));
                if notice.was_given_since(*seen) {
                    self.wake(ticket, Wake::Ready(index));
                }
            }
        }
        for (index, pid) in needs_helper {
            let body = Box::new(move || super::blocking::wait_for_child(pid));
            if let Err(error) = self.offload.submit(&self.me, ticket, index, body) {
                let undone = lock(&self.parking).cancel(ticket, registrations);
                self.undo(ticket, undone);
                self.parked.fetch_sub(1, Ordering::SeqCst);
                return Err(error);
            }
        }
        let (woken, is_earlier) = lock(&self.parking).finish(ticket, registrations, deadline);
        if let Some(woken) = woken {
            self.ready(woken);
        } else {
            self.watch(ticket, deadline, is_earlier);
        }
        Ok(ticket)
    }

    /// Sees to it that somebody polls for what was parked.
    fn watch(&self, ticket: Ticket, deadline: Option<Moment>, is_earlier: bool) {
        let left = deadline.map(|deadline| deadline.saturating_sub(self.clock()));
        if left == Some(0) {
            return self.wake(ticket, Wake::TimedOut);
        }
        match self.role.load(Ordering::SeqCst) {
            NOBODY => {
                // Most often this very worker polls next; if it does not, the steward must before its next tick.
                if left.is_some_and(|left| left < SOON) {
                    self.is_unwatched.store(true, Ordering::SeqCst);
                }
                self.steward.notice(self);
            }
            // Who polls need not look at the clock again.
            _ if !is_earlier => {}
            STEWARD => self.rouse(self.steward.sleeper()),
            worker => {
                let id = WorkerId::from_index(worker as usize - 2);
                self.rouse(&self.workers.get(id).sleeper);
            }
        }
    }

    /// Takes a parked word back, unless it was made ready before: then it comes, or came, as the next of some worker.
    pub fn unpark(&self, ticket: Ticket) -> Option<u64> {
        let (word, registrations) = lock(&self.parking).unpark(ticket)?;
        self.parked.fetch_sub(1, Ordering::SeqCst);
        self.undo(ticket, registrations);
        Some(word)
    }

    /// Lets a helper thread do a job that blocks, and parks a word until it has ended. If that fails the word is still the
    /// caller's.
    pub fn offload(
        &self,
        job: Box<dyn FnOnce() + Send>,
        word: u64,
        lane: Lane,
    ) -> io::Result<Ticket> {
        self.parked.fetch_add(1, Ordering::SeqCst);
        let ticket = lock(&self.parking).tickets.reserve(word, lane);
        let submitted = self.offload.submit(&self.me, ticket, 0, job);
        if let Err(error) = submitted {
            lock(&self.parking).cancel(ticket, Vec::new());
            self.parked.fetch_sub(1, Ordering::SeqCst);
            return Err(error);
        }
        let (woken, _) = lock(&self.parking).finish(ticket, Vec::new(), None);
        if let Some(woken) = woken {
            self.ready(woken);
        }
        Ok(ticket)
    }

    pub(crate) fn offload_queue(&self) -> &Offload {
        &self.offload
    }

    /// What runs on this worker blocks its thread from now on: the core is somebody else's.
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
        self.strands.close_worker(id);
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
            if !worker.serves_timers_only() {
                self.strands.open_worker(id);
            }
        }
    }

    /// A new strand.
    pub fn strand(&self) -> StrandId {
        self.strands.make()
    }

    /// Nothing is pushed to the strand any more; what is in it still runs.
    pub fn close_strand(&self, strand: StrandId) {
        self.strands.close(strand);
    }

    /// Shows every word, which may be changed, while all workers stand still or are in [`Pool::wait`]. `young_only`: those that
    /// have come since the last time are enough.
    pub fn visit_words(&self, visit: &mut dyn FnMut(&mut u64), young_only: bool) {
        for (_, worker) in self.workers.all() {
            if let Some(ring) = worker.ring_if_any() {
                ring.visit(visit);
            }
            worker.next.visit(visit);
            worker.pinned.visit(visit, young_only);
        }
        // What goes from a worker's line to the injector meanwhile is seen in one of them.
        self.timed.visit(visit, young_only);
        self.injector.visit(visit, young_only);
        self.strands.visit(visit, young_only);
        lock(&self.parking).tickets.visit(visit, young_only);
    }

    /// Words that general workers could take now, about.
    pub(crate) fn queued(&self) -> usize {
        let local: usize = self
            .workers
            .all()
            .map(|(_, worker)| worker.ring_length() + usize::from(worker.next.is_full()))
            .sum();
        self.injector.len() + self.strands.waiting() + local
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
        self.moment(now())
    }

    fn moment(&self, instant: Instant) -> Moment {
        let since = instant.saturating_duration_since(self.epoch).as_nanos();
        u64::try_from(since).unwrap_or(NEVER - 1)
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

    /// Sets who is told why each worker comes or goes.
    pub fn set_trace(&self, sink: Option<TraceSink>) {
        self.trace.set(sink);
    }

    /// A descriptor that anybody may write eight bytes of a number to, even a signal handler, so that waits look at their
    /// interrupt flags.
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

fn role_of(id: WorkerId) -> u32 {
    id.index() as u32 + 2
}
