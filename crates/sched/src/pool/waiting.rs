//! Idle workers: they sleep, one of them in the poller, or go.
//!
//! | the poller's role is with | → by | → |
//! |---|---|---|
//! | nobody | a worker that goes to sleep; the steward, when nobody was there for a tick | that one |
//! | somebody | the same, whenever its sleep ends | nobody |
//!
//! Only the owner of the role sleeps in the poller, until the next deadline at most. A worker that
//! leaves it for work while words are parked wakes another idle worker for it, or lets the steward
//! know.

use std::sync::atomic::AtomicBool as InterruptFlag;
use std::time::{Duration, Instant};

use super::super::names::WorkerId;
use super::super::parking::{SOON, Woken};
use super::super::policy::Policy;
use super::super::poller::Fired;
use super::super::statistics::count;
use super::super::sync::atomic::Ordering;
use super::super::timers::{Moment, NEVER};
use super::super::workers::{Sleeper, Worker, WorkerKind, WorkerState};
use super::{Idle, Pool};

/// The longest sleep of a wait with an interrupt flag, if nothing wakes it when the flag is set.
const INTERRUPT_SLICE: Duration = Duration::from_millis(100);

/// While the poller is, on average, left alone for less than this, no worker is woken to poll meanwhile.
const SHORT_VACANCY: Moment = 100_000;

/// Nobody polls.
pub(crate) const NOBODY: u32 = 0;
pub(crate) const STEWARD: u32 = 1;

impl Pool {
    /// Sleeps until there may be work for this worker, `interrupt` is set or `until` has passed. Call
    /// it outside of the heap, when [`Pool::try_next`] found nothing.
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

    pub(super) fn wait_idle(
        &self,
        id: WorkerId,
        interrupt: Option<&InterruptFlag>,
        until: Option<Instant>,
        has_polled: &mut bool,
    ) -> Idle {
        let worker = self.worker(id);
        let until = until.map(|until| self.moment(until));
        let patience = self.patience(worker).map(|patience| {
            let patience = u64::try_from(patience.as_nanos()).unwrap_or(NEVER);
            self.clock().saturating_add(patience)
        });
        self.idle.enter(id, worker);
        self.tell_if_quiet(id);
        loop {
            if self.is_shut.load(Ordering::SeqCst) {
                self.idle.leave(id, worker, false);
                return self.retire(worker);
            }
            if !worker.is_idle.load(Ordering::SeqCst) {
                return Idle::Look;
            }
            if worker.shall_leave.load(Ordering::Relaxed) {
                self.idle.leave(id, worker, false);
                return self.retire(worker);
            }
            if self.has_work_for(worker) {
                self.idle.leave(id, worker, true);
                return Idle::Look;
            }
            if interrupt.is_some_and(|flag| flag.load(Ordering::Acquire)) {
                self.give_up(id, worker);
                return Idle::Interrupted;
            }
            if id == WorkerId::MAIN && self.is_quiet() {
                self.give_up(id, worker);
                return Idle::Quiet;
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
                    return self.retire(worker);
                }
                return Idle::Look;
            }
            let slice = (interrupt.is_some() && !self.config.alarms_interrupts)
                .then(|| self.clock() + INTERRUPT_SLICE.as_nanos() as u64);
            *has_polled |= self.doze(id, worker, first.into_iter().chain(slice).min());
        }
    }

    /// Ends a wait for another reason than work; a wake-up that came meanwhile goes to another worker.
    pub(super) fn give_up(&self, id: WorkerId, worker: &Worker) {
        if !self.idle.leave(id, worker, false) {
            self.end_search(worker);
        }
    }

    pub(super) fn patience(&self, worker: &Worker) -> Option<Duration> {
        let general = |(_, worker): &(WorkerId, &Worker)| {
            worker.kind() == WorkerKind::General && worker.state() != WorkerState::Free
        };
        match worker.kind() {
            WorkerKind::Main => None,
            WorkerKind::Timer => Some(self.config.retire_after),
            WorkerKind::General => Policy::patience(
                self.workers.all().filter(general).count(),
                self.config.retire_after,
            ),
        }
    }

    /// Sleeps once, in the poller if no other thread does; whether it was there.
    pub(super) fn doze(&self, id: WorkerId, worker: &Worker, until: Option<Moment>) -> bool {
        if self.take_role(role_of(id)) {
            self.measure_vacancy();
            let woken = self.poll(&worker.sleeper, until.unwrap_or(NEVER));
            self.role.store(NOBODY, Ordering::SeqCst);
            if !woken.is_empty() {
                // It looks for work now, so that no other worker need be woken at once.
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

    pub(super) fn measure_vacancy(&self) {
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

    /// The former poller continues with something else: another idle worker polls, or the steward sees to it.
    /// While workers come back to the poller soon, waking a worker each time costs more than it gains; the
    /// steward looks after a tick.
    pub(super) fn pass_role(&self) {
        let is_needed = self.parked() > 0 || self.interruptible.load(Ordering::SeqCst) > 0;
        if !is_needed || !self.role_is_vacant() {
            return;
        }
        let now = self.clock();
        self.vacant_since.store(now, Ordering::Relaxed);
        let is_near = |deadline| deadline < now + SOON;
        let is_short = self.vacancy.load(Ordering::Relaxed) < SHORT_VACANCY
            && !self.parking.lock().next_moment().is_some_and(is_near);
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

    /// The next deadline, if no thread polls.
    pub(crate) fn next_deadline_if_vacant(&self) -> Option<Moment> {
        let is_watched = self.parked() == 0 || !self.role_is_vacant();
        (!is_watched)
            .then(|| self.parking.lock().next_moment())
            .flatten()
    }

    /// Sleeps in the poller, by who has the role, until a moment, a ticket or a bell. Gives the tickets
    /// that are ready now.
    pub(crate) fn poll(&self, sleeper: &Sleeper, until: Moment) -> Vec<Woken> {
        let mut woken = Vec::new();
        let until = {
            let mut parking = self.parking.lock();
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
                    poller.events(patience, |fired| match fired {
                        Fired::Alarm => is_alarm = true,
                        fired => self.parking.lock().fired(fired, &mut woken),
                    });
                    sleeper.end();
                    if is_alarm {
                        self.spread_alarm();
                    }
                }
            }
            None => sleeper.sleep(patience),
        }
        let mut parking = self.parking.lock();
        // A task that parks now need not wake a worker: the role is taken anew before the next sleep.
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
    pub(super) fn spread_alarm(&self) {
        for (_, worker) in self.workers.all() {
            if worker.is_interruptible.load(Ordering::SeqCst) {
                self.rouse(&worker.sleeper);
            }
        }
    }

    /// The worker's thread ends.
    pub(super) fn retire(&self, worker: &Worker) -> Idle {
        worker.set_state(WorkerState::Leaving);
        self.end_search(worker);
        worker.pinned.close_into(&self.injector);
        if self.injector.len() > 0 {
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
}

pub(crate) fn role_of(id: WorkerId) -> u32 {
    id.index() as u32 + 2
}
