//! How words become ready and are taken, and who is woken for them.
//!
//! A word is made visible first, and then a worker is woken for it; see the workers' module for why no call
//! is lost.

use super::super::names::WorkerId;
use super::super::queues::{Item, Ring};
use super::super::slices::Order;
use super::super::statistics::count;
use super::super::sync::atomic::{Ordering, fence};
use super::super::word::{Lane, Next};
use super::super::workers::{Sleeper, Worker, WorkerKind};
use super::Pool;
use super::waiting::role_of;

/// Each so many turns a worker looks at the injector first.
const INJECTOR_TURNS: u64 = 61;

/// So many items are taken from the injector at once.
const BATCH: usize = 32;

impl Pool {
    /// Makes a word ready. Workers say who they are; then it need not leave them.
    pub fn push(&self, from: Option<WorkerId>, lane: Lane, word: u64) {
        match from {
            Some(id) if lane == Lane::General => {
                let worker = self.workers.get(id);
                let turn = worker.turns.load(Ordering::Relaxed);
                let calls = worker.partners.push(turn, worker.ring_length() == 0);
                self.push_local(worker, Next::new(word));
                if calls || worker.serves_timers_only() {
                    self.call_general();
                } else {
                    self.steward.notice(self);
                }
            }
            _ => self.enqueue(lane, Item::Word(word)),
        }
    }

    /// Makes a word ready that stands by: it runs on this worker when the present item waits or ends
    /// and nothing else that was begun is ready there. Nobody else is woken for it: if the present item
    /// runs for long, the steward lets others have it.
    pub fn hand_over(&self, worker: WorkerId, word: u64) {
        let worker = self.workers.get(worker);
        if worker.serves_timers_only() {
            // It would not come to it.
            return self.enqueue(Lane::General, Item::Word(word));
        }
        // While items are long, an idle worker should take it at once.
        let is_exposed = self.is_hurried.load(Ordering::Relaxed) && self.idle.general() > 0;
        worker.is_exposed.store(is_exposed, Ordering::Relaxed);
        if let Some(before) = worker.next.put(word) {
            self.push_local(worker, before);
            self.call_general();
        } else if is_exposed {
            self.call_general();
        } else {
            self.steward.notice(self);
        }
    }

    pub(super) fn push_local(&self, worker: &Worker, next: Next) {
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

    /// The item of a worker begins its next step, and that much more waits to be begun. Gives the
    /// number of the item, for [`Pool::shall_step_aside`].
    pub fn begin_step(&self, id: WorkerId, behind: usize) -> u64 {
        let worker = self.workers.get(id);
        let step = worker.steps.load(Ordering::Relaxed) + 1;
        worker.steps.store(step, Ordering::Relaxed);
        worker.behind.store(behind, Ordering::Relaxed);
        self.note_start(worker);
        worker.turns.load(Ordering::Relaxed)
    }

    /// Whether an item that was on this worker when its step began had better make way for others now
    /// that the step has ended: it was away in between, and others serve meanwhile, or the steward
    /// wants it.
    pub fn shall_step_aside(&self, id: WorkerId, item: u64) -> bool {
        let worker = self.workers.get(id);
        worker.turns.load(Ordering::Relaxed) != item
            || worker.shall_step_aside.load(Ordering::Relaxed)
    }

    fn note_start(&self, worker: &Worker) {
        let is_hurried = self.is_hurried.load(Ordering::Relaxed);
        let now = if is_hurried { self.clock() } else { 0 };
        worker.started.store(now, Ordering::Relaxed);
    }

    /// Puts back what ran on a worker and has not ended, behind what waits.
    pub fn yield_word(&self, worker: WorkerId, lane: Lane, word: u64) {
        match lane {
            Lane::General => {
                let worker = self.workers.get(worker);
                worker.has_yielded.store(true, Ordering::Relaxed);
                if worker.ring_length() == 0 {
                    worker.order.store(Order::Others as u8, Ordering::Relaxed);
                }
                self.push_local(worker, Next::new(word));
                if worker.serves_timers_only() {
                    self.call_general();
                }
            }
            Lane::Timer | Lane::Pinned(_) => self.enqueue(lane, Item::Word(word)),
        }
    }

    /// The next word for this worker, if there is one. Its former item has ended, or is put back or parked.
    /// Call it after [`Idle::Look`] in any case: a worker that was woken for a word and does not look keeps
    /// others from it.
    pub fn try_next(&self, id: WorkerId) -> Option<Next> {
        let worker = self.worker(id);
        if worker.shall_leave.load(Ordering::Relaxed) {
            self.empty(worker);
            return None;
        }
        let turn = worker.turns.load(Ordering::Relaxed) + 1;
        if self.config.is_alone && turn.is_multiple_of(INJECTOR_TURNS) && self.parked() > 0 {
            // Nobody else looks for events while words are ready.
            let woken = self.poll(&worker.sleeper, 0);
            self.ready_all(woken);
        }
        let next = self.find(id, worker, turn);
        self.end_search(worker);
        if next.is_some() {
            worker.turns.store(turn, Ordering::Relaxed);
            self.note_start(worker);
            if worker.shall_step_aside.load(Ordering::Relaxed) {
                worker.shall_step_aside.store(false, Ordering::Relaxed);
            }
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
    pub(super) fn end_search(&self, worker: &Worker) {
        if self.idle.found(worker) && self.has_any_work() {
            self.call_general();
        }
    }

    pub(super) fn find(&self, id: WorkerId, worker: &Worker, turn: u64) -> Option<Next> {
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
        let begun = || {
            let next = worker.ring_if_any().and_then(Ring::pop);
            if next.is_some() {
                worker.partners.take(turn);
            }
            next
        };
        let standby = || worker.next.take();
        let both = || {
            if looks_outside {
                outside().or_else(begun)
            } else {
                begun().or_else(outside)
            }
        };
        let steal = || self.steal(id, worker, turn);
        match Order::of_number(worker.order.load(Ordering::Relaxed)) {
            Order::Usual => both().or_else(standby).or_else(steal),
            Order::Standby => standby().or_else(both).or_else(steal),
            Order::Queue => both().or_else(steal).or_else(standby),
            Order::Others => {
                worker.order.store(Order::Usual as u8, Ordering::Relaxed);
                standby().or_else(outside).or_else(steal).or_else(begun)
            }
        }
    }

    pub(super) fn take_injected(&self, worker: &Worker) -> Option<Next> {
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

    pub(super) fn steal(&self, id: WorkerId, worker: &Worker, turn: u64) -> Option<Next> {
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

    /// Several words were on their way from one queue to another: a worker that looked for work meanwhile did
    /// not see them.
    pub(super) fn call_for_moved(&self) {
        fence(Ordering::SeqCst);
        if self.idle.general() > 0 {
            self.call_general();
        }
    }

    /// The word that an item stands for.
    pub(super) fn redeem(&self, item: Item) -> Option<Next> {
        match item {
            Item::Word(word) => Some(Next::new(word)),
            Item::Woken(origin, word) => Some(Next::with_origin(word, origin)),
            Item::Ticket(ticket) => {
                let next = self.parking.lock().tickets.take(ticket);
                self.parked.fetch_sub(1, Ordering::SeqCst);
                next
            }
        }
    }

    /// Gives all words of a worker's own to everybody, by the worker.
    pub(super) fn empty(&self, worker: &Worker) {
        let rest = std::iter::from_fn(|| {
            let ring = worker.ring_if_any();
            worker.next.take().or_else(|| ring.and_then(Ring::pop))
        });
        // One at a time: a word must never be out of the collector's sight while a lock is waited for,
        // and it is not while its worker does not stand still.
        for next in rest {
            self.injector.push_back(next.into());
        }
        if self.injector.len() > 0 {
            self.call_general();
        }
    }

    /// Puts an item where its lane waits, and ensures that a worker comes for it.
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
        }
    }

    /// Wakes a worker for a word that any worker finds, unless one is searching.
    pub(crate) fn call_general(&self) {
        fence(Ordering::SeqCst);
        if self.idle.searching() > 0 {
            return;
        }
        if self.idle.general() == 0 || !self.wake_one(|_, worker| !worker.serves_timers_only()) {
            self.steward.notice_work(self);
        }
    }

    pub(super) fn call_for_timer(&self) {
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
    pub(super) fn call_worker(&self, id: WorkerId) {
        fence(Ordering::SeqCst);
        let is_it = |other, _: &Worker| other == id;
        if !(self.workers.get(id).is_idle.load(Ordering::SeqCst) && self.wake_one(is_it)) {
            self.steward.notice(self);
        }
    }

    pub(super) fn wake_one(&self, serves: impl Fn(WorkerId, &Worker) -> bool) -> bool {
        let poller = self.role.load(Ordering::Relaxed);
        let cost = |id: WorkerId, worker: &Worker| {
            serves(id, worker).then(|| {
                // The main worker has its own work soon; a poller had better keep polling.
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

    pub(crate) fn rouse(&self, sleeper: &Sleeper) {
        if sleeper.wake()
            && let Some(poller) = &self.poller
        {
            poller.ring();
        }
    }

    /// Whether there is work that any general worker could take.
    pub(super) fn has_any_work(&self) -> bool {
        self.timed.len() > 0
            || self.injector.len() > 0
            || self.workers.all().any(|(_, worker)| {
                worker.ring_length() > 0
                    || worker.is_exposed.load(Ordering::Relaxed) && worker.next.is_full()
            })
    }

    pub(crate) fn has_work_for(&self, worker: &Worker) -> bool {
        worker.pinned.len() > 0
            || self.timed.len() > 0
            || !worker.serves_timers_only() && self.has_any_work()
    }
}
