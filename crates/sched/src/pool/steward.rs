//! The steward: the pool's own thread. It starts workers, asks those to give way that run long while
//! others wait, says whose turn it is, and polls while no worker is idle. It allocates nothing in a
//! tick.
//!
//! | state | → by | → state |
//! |---|---|---|
//! | absent | who notices demand that no idle worker meets; it makes the thread | ticking |
//! | ticking | the steward, when nothing has waited for some ticks; it looks once more afterwards | asleep |
//! | asleep | who notices demand, and wakes it; an event or a deadline, if the steward polls | ticking |
//!
//! While nothing waits it sleeps without a limit, in the poller if it has that role. While items have to be
//! asked to yield it is *hurried*: it looks once in a slice, and workers note when items begin.

use std::time::Duration;

use super::super::policy::{Decision, FIRST_WAIT, Observation, Policy, Reason};
use super::super::slices::{self, Ask, Load, Turns};
use super::super::statistics::{count, read};
use super::super::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use super::super::sync::{is_blocked, processor_time, spawn};
use super::super::timers::{Moment, NEVER};
use super::super::workers::{Sleeper, Worker, WorkerKind, WorkerState};
use super::{Host, Pool};

/// How often it looks around while work waits and no item has to yield.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// The same while timers wait.
const TIMER_TICK: Duration = Duration::from_millis(2);

/// So many ticks without demand, and it sleeps.
const CALM_TICKS: u32 = 5;

/// After so many ticks without an item to ask it is not hurried any more.
const HURRIED_TICKS: u32 = 8;

/// When it looks again at what a worker keeps for itself since its items soon wait.
const SECOND_LOOK: Duration = Duration::from_micros(50);

/// A worker is stuck when it was at one item for so many slices.
const STUCK_SLICES: u64 = 5;

const ABSENT: u8 = 0;
const ASLEEP: u8 = 1;
const TICKING: u8 = 2;

#[derive(Debug, Default)]
pub(crate) struct Steward {
    state: AtomicU8,
    /// There is no general worker, and nothing is against one: work shall not wait for the next tick.
    is_eager: AtomicBool,
    sleeper: Sleeper,
}

impl Steward {
    /// There is demand: the steward shall look around within a tick.
    pub(crate) fn notice(&self, pool: &Pool) {
        let state = self.state.load(Ordering::SeqCst);
        if state == TICKING || !self.set_out(state) {
            return;
        }
        if state == ASLEEP {
            pool.rouse(&self.sleeper);
            return;
        }
        let Some(pool_of_thread) = pool.me() else {
            return;
        };
        if let Err(error) = spawn("canny-steward", move || Round::new().run(&pool_of_thread)) {
            self.state.store(ABSENT, Ordering::SeqCst);
            count(&pool.counters.refused);
            pool.trace.tell(format_args!(
                "no steward: the system refused a thread: {error}"
            ));
        }
    }

    /// The same for work that any worker could do: at once if there is no worker yet.
    pub(crate) fn notice_work(&self, pool: &Pool) {
        if self.is_eager.load(Ordering::Relaxed) && self.is_eager.swap(false, Ordering::SeqCst) {
            self.notice_now(pool);
        } else {
            self.notice(pool);
        }
    }

    /// The same, at once.
    pub(crate) fn notice_now(&self, pool: &Pool) {
        if self.state.load(Ordering::SeqCst) == TICKING {
            pool.rouse(&self.sleeper);
        } else {
            self.notice(pool);
        }
    }

    /// There is no steward, or somebody else does what it would, who never sleeps.
    pub(crate) fn replace(&self) {
        self.state.store(TICKING, Ordering::SeqCst);
    }

    fn set_out(&self, state: u8) -> bool {
        self.state
            .compare_exchange(state, TICKING, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    pub(crate) fn sleeper(&self) -> &Sleeper {
        &self.sleeper
    }
}

/// Waking a worker for shorter steps, and letting both processors handle their data, takes longer than they
/// do, in nanoseconds.
const SHORT_STEP: Moment = 30_000;

/// Unless so many of them wait that the last one would wait for so long.
const LONG_WAIT: Moment = 2_500_000;

/// The steward's state of a worker.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    turns: u64,
    steps: u64,
    /// Since when it is at the same item, and at the same step.
    item_since: Moment,
    step_since: Moment,
    /// How long its steps took, on average, since the last look.
    step_time: Moment,
    looked: Moment,
    whose: Turns,
    /// The turn in which it kept a word for itself when it was looked at.
    kept_in: Option<u64>,
}

impl Seen {
    /// The worker was looked at.
    fn update(&mut self, worker: &Worker, turns: u64, now: Moment) {
        let steps = worker.steps.load(Ordering::Relaxed);
        let started = worker.started.load(Ordering::Relaxed);
        let is_other = self.turns != turns;
        if is_other || worker.state() != WorkerState::Running {
            self.item_since = now;
        }
        if is_other || self.steps != steps || worker.state() != WorkerState::Running {
            self.step_since = now;
        }
        if started != 0 {
            self.step_since = started.min(now);
            if is_other {
                self.item_since = self.step_since;
            }
        }
        let begun = steps.saturating_sub(self.steps);
        self.step_time = match begun {
            0 => now - self.step_since,
            _ => (now - self.looked.min(now)) / begun,
        };
        (self.turns, self.steps, self.looked) = (turns, steps, now);
    }

    /// Whether the worker has to be looked at again soon, since it keeps a word for itself. If it does
    /// so still, it is wrong in that.
    fn keeps(&mut self, worker: &Worker) -> bool {
        let keeps = worker.ring_length() > 0 && worker.partners.are_foreseen();
        if keeps && self.kept_in == Some(self.turns) {
            worker.partners.was_wrong();
            self.kept_in = None;
            return false;
        }
        self.kept_in = keeps.then_some(self.turns);
        keeps
    }

    /// Whether an idle worker should take the `behind` steps that wait behind the present one.
    fn is_worth_waking(&self, behind: usize) -> bool {
        behind > 0 && (self.step_time >= SHORT_STEP || self.step_time * behind as u64 >= LONG_WAIT)
    }
}

/// The steward's state between looks.
pub(crate) struct Round {
    policy: Policy,
    workers: Vec<Seen>,
    calm: u32,
    /// Work waits, and there is no worker beside the main one.
    wants_first: bool,
    polls: bool,
    role_turns: u64,
    /// So many ticks it is hurried.
    hurried: u32,
    slice: Moment,
    /// A worker keeps a word for itself and was looked at once.
    has_doubts: bool,
}

impl Round {
    pub(crate) fn new() -> Round {
        Round {
            policy: Policy::new(),
            workers: Vec::new(),
            calm: 0,
            wants_first: false,
            polls: false,
            role_turns: 0,
            hurried: 0,
            slice: 0,
            has_doubts: false,
        }
    }

    fn run(mut self, pool: &Pool) {
        while !pool.is_shut() {
            self.tick(pool);
            self.see_to_poller(pool);
            self.sleep(pool);
        }
        if self.polls {
            pool.end_role();
        }
    }

    /// Looks around and does what is to be done.
    pub(crate) fn tick(&mut self, pool: &Pool) {
        count(&pool.counters.ticks);
        let seen = self.look_around(pool);
        self.relieve_all(pool, &seen);
        let decision = self.policy.tick(&seen);
        carry_out(pool, &seen, decision);
        self.wants_first = seen.general == 0 && seen.queued > 0 && decision.start == 0;
        let is_eager = seen.general == 0 && seen.refused == 0 && decision.start == 0;
        pool.steward.is_eager.store(is_eager, Ordering::SeqCst);
        if has_demand(pool) || seen.starting > 0 {
            self.calm = 0;
        } else {
            self.calm += 1;
        }
    }

    /// When it looks again.
    pub(crate) fn patience(&self, pool: &Pool) -> Duration {
        if self.has_doubts {
            SECOND_LOOK
        } else if self.wants_first {
            FIRST_WAIT
        } else if self.hurried > 0 {
            Duration::from_nanos(self.slice)
        } else if pool.timed.len() > 0 {
            TIMER_TICK
        } else {
            TICK
        }
    }

    /// Counts.
    fn look_around(&mut self, pool: &Pool) -> Observation {
        let now = pool.clock();
        let longest = pool.config.slice.as_nanos() as u64;
        let mut seen = Observation {
            now: Duration::from_nanos(now),
            cores: pool.config.cores,
            limit: pool.config.limit,
            limit_stuck: pool.config.limit_stuck,
            queued: pool.queued(),
            timers_queued: pool.timed.len(),
            idle: pool.idle.general(),
            processor: processor_time(),
            refused: read(&pool.counters.refused),
            ..Observation::default()
        };
        if self.workers.len() < pool.workers.bound() {
            self.workers.resize(pool.workers.bound(), Seen::default());
        }
        let (mut behind, mut idle) = (0, 0);
        let had_doubts = std::mem::take(&mut self.has_doubts);
        for (id, worker) in pool.workers.all() {
            let state = worker.state();
            let turns = worker.turns.load(Ordering::Relaxed);
            seen.turns += turns;
            match worker.kind() {
                _ if state == WorkerState::Free => continue,
                WorkerKind::Timer => seen.has_timer_worker = true,
                WorkerKind::General => seen.general += 1,
                WorkerKind::Main => {}
            }
            let remembered = &mut self.workers[id.index()];
            remembered.update(worker, turns, now);
            match state {
                WorkerState::Starting if worker.kind() == WorkerKind::General => seen.starting += 1,
                WorkerState::Blocked => seen.blocked += 1,
                WorkerState::Idle if worker.kind() != WorkerKind::Timer => idle += 1,
                WorkerState::Running if worker.kind() != WorkerKind::Timer => {
                    seen.running += 1;
                    if remembered.keeps(worker) {
                        self.has_doubts = !had_doubts;
                        seen.kept += 1;
                    }
                    behind = behind.max(worker.behind.load(Ordering::Relaxed));
                    let age = now - remembered.step_since;
                    let is_long = age >= longest * STUCK_SLICES && seen.queued > 0;
                    let thread = worker.thread.load(Ordering::Relaxed);
                    // One that could run if it had a core is not stuck: other processes may have it.
                    let is_stuck = is_long && is_blocked(thread).unwrap_or(true);
                    seen.stuck += usize::from(is_stuck);
                }
                _ => {}
            }
        }
        // One that went idle only now does not count as running, and must not be missed here.
        seen.idle = seen.idle.max(idle);
        self.slice = slices::slice(longest, seen.running, seen.queued + behind);
        seen
    }

    /// Asks those to give way that have had their slice, and says whose turn it is.
    fn relieve_all(&mut self, pool: &Pool, seen: &Observation) {
        let now = seen.now.as_nanos() as u64;
        let standbys = pool.standbys();
        self.hurried = self.hurried.saturating_sub(1);
        for (id, worker) in pool.workers.all() {
            if worker.state() != WorkerState::Running {
                continue;
            }
            let remembered = &mut self.workers[id.index()];
            let is_general = worker.kind() != WorkerKind::Timer;
            let load = Load {
                item: now - remembered.item_since,
                step: now - remembered.step_since,
                standby: is_general && seen.idle == 0 && worker.next.is_full(),
                queue: worker.pinned.len() > 0
                    || seen.timers_queued > 0
                    || is_general && seen.idle == 0 && seen.queued > standbys,
            };
            if is_general {
                // Somebody who is idle had better take it, if the step is long or there is more to be begun.
                let is_wanted = seen.idle > 0
                    && (load.step >= TICK.as_nanos() as u64 / 2
                        || remembered.is_worth_waking(worker.behind.load(Ordering::Relaxed)));
                if (is_wanted || load.item >= self.slice)
                    && worker.next.is_full()
                    && !worker.is_exposed.swap(true, Ordering::SeqCst)
                {
                    if is_wanted {
                        self.hurried = HURRIED_TICKS;
                        pool.is_hurried.store(true, Ordering::Relaxed);
                    }
                    pool.call_general();
                }
                let order = remembered.whose.next(&load, now, self.slice);
                worker.order.store(order as u8, Ordering::Relaxed);
            }
            // Half a tick, since ticks may come early.
            let stays = load.step >= TICK.as_nanos() as u64 / 2;
            if stays && (load.standby || load.queue) {
                self.hurried = HURRIED_TICKS;
            }
            match slices::ask(&load, self.slice) {
                Ask::Nothing => {}
                Ask::Aside => worker.shall_step_aside.store(true, Ordering::Relaxed),
                Ask::Now => {
                    count(&pool.counters.preempted);
                    pool.host.preempt(id);
                    self.hurried = HURRIED_TICKS;
                }
            }
        }
        let is_hurried = self.hurried > 0;
        if pool.is_hurried.load(Ordering::Relaxed) != is_hurried {
            pool.is_hurried.store(is_hurried, Ordering::Relaxed);
        }
    }

    /// Polls if no worker has for a tick, and gives the role to an idle worker if there is one.
    fn see_to_poller(&mut self, pool: &Pool) {
        if self.polls || pool.parked() == 0 || !pool.role_is_vacant() {
            self.role_turns = pool.role_turns();
            return;
        }
        let is_long = self.role_turns == pool.role_turns();
        if is_long && pool.wake_poller() {
            return;
        }
        if !pool.take_role_for_steward() {
            return;
        }
        pool.ready_all(pool.poll(pool.steward.sleeper(), 0));
        self.role_turns = pool.role_turns();
        if is_long {
            self.polls = true;
        } else {
            pool.end_role();
            // Not calm: the next look finds out whether a worker polls.
            self.calm = 0;
        }
    }

    fn sleep(&mut self, pool: &Pool) {
        let steward = &pool.steward;
        let is_calm = self.calm >= CALM_TICKS;
        if is_calm {
            steward.state.store(ASLEEP, Ordering::SeqCst);
            if has_demand(pool) || pool.is_shut() || self.must_watch(pool) {
                steward.state.store(TICKING, Ordering::SeqCst);
                return;
            }
        }
        let now = pool.clock();
        let until = if is_calm {
            NEVER
        } else {
            now + self.patience(pool).as_nanos() as u64
        };
        if self.polls {
            let woken = pool.poll(steward.sleeper(), until);
            // A worker that is woken now polls itself when it has done.
            let has_idle = pool.idle.general() > 0;
            if !woken.is_empty() {
                pool.ready_all(woken);
                self.calm = 0;
            }
            if has_idle || !has_demand(pool) && pool.parked() == 0 {
                pool.end_role();
                self.polls = false;
                self.calm = 0;
            }
        } else {
            let patience = (until != NEVER).then(|| {
                let until = pool
                    .next_deadline_if_vacant()
                    .map_or(until, |next| next.min(until));
                Duration::from_nanos(until.saturating_sub(now))
            });
            steward.sleeper().sleep(patience);
        }
        if is_calm {
            // Woken: it stays awake for some ticks, so that others need not wake it again and again.
            self.calm = 0;
        }
        steward.is_eager.store(false, Ordering::Relaxed);
        steward.state.store(TICKING, Ordering::SeqCst);
    }

    /// Words are parked, and no thread polls.
    fn must_watch(&self, pool: &Pool) -> bool {
        !self.polls && pool.parked() > 0 && pool.role_is_vacant()
    }
}

fn carry_out(pool: &Pool, seen: &Observation, decision: Decision) {
    if seen.idle > 0 && seen.queued > seen.kept {
        pool.call_general();
    }
    if decision.start_timer {
        start(
            pool,
            WorkerKind::Timer,
            "timers are due and no worker is idle",
            seen,
        );
    }
    for _ in 0..decision.start {
        let why = match decision.reason {
            Reason::Enough | Reason::First => "there is work and no worker",
            Reason::BelowCores => "work waits and cores are unused",
            Reason::Blocked => "work waits and workers are in blocking regions",
            Reason::NoProgress => "work waits, workers are stuck and the processor is not used",
            Reason::Stuck => "no progress at all",
        };
        if !start(pool, WorkerKind::General, why, seen) {
            break;
        }
    }
    if decision.retire_one {
        let newest = pool.workers.all().filter(|(_, worker)| {
            worker.kind() == WorkerKind::General && worker.state() == WorkerState::Running
        });
        if let Some((id, worker)) = newest.last() {
            worker.shall_leave.store(true, Ordering::SeqCst);
            pool.trace.tell(format_args!(
                "worker {} stops: {} run on {} cores",
                id.index(),
                seen.running,
                seen.cores
            ));
        }
    }
}

fn start(pool: &Pool, kind: WorkerKind, why: &str, seen: &Observation) -> bool {
    let Some(id) = pool.workers.claim(kind) else {
        return false;
    };
    if let Err(error) = Host::start_worker(&*pool.host, id, kind) {
        pool.workers.get(id).set_state(WorkerState::Free);
        count(&pool.counters.refused);
        pool.trace
            .tell(format_args!("no worker starts although {why}: {error}"));
        return false;
    }
    count(&pool.counters.started);
    let present = pool.statistics().workers as u64;
    pool.counters
        .workers_max
        .fetch_max(present, std::sync::atomic::Ordering::Relaxed);
    pool.trace.tell(format_args!(
        "worker {} starts ({kind:?}): {why} ({} queued, {} running, {} blocked, {} cores)",
        id.index(),
        seen.queued,
        seen.running,
        seen.blocked,
        seen.cores
    ));
    true
}

/// Whether anything ready waits for a worker.
fn has_demand(pool: &Pool) -> bool {
    pool.queued() > 0
        || pool.timed.len() > 0
        || pool
            .workers
            .all()
            .any(|(_, worker)| worker.pinned.len() > 0)
}
