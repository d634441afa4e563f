//! How many workers there should be: a pure function of what the steward sees, so that any number of
//! cores can be tried under a clock of the test's own.
//!
//! - Below the number of cores workers are added freely: the first one when work has waited for a
//!   moment, so that a program with little to do needs none beside the main one, others when work has
//!   waited for some milliseconds. A worker in a blocking region is none, so that its core is given
//!   away at once.
//! - Beyond the cores only without progress: work waits, some workers have been at the same item for long
//!   although they were asked to yield, and the process uses less processor time than the cores it should
//!   keep busy. Then those are taken for blocked, and twice as many are added each time while nothing
//!   changes.
//! - Beyond the limit only when nothing moves at all.

use std::time::Duration;

/// How long work has to wait, and the process to be watched, before workers are added beyond the cores.
const WATCHED: Duration = Duration::from_millis(50);

/// How long nothing at all has to move before workers are added beyond the limit.
const STUCK: Duration = Duration::from_millis(250);

/// How long a timer may wait before it gets a worker of its own.
const TIMERS_WAIT: Duration = Duration::from_millis(1);

/// How long work waits before the first worker comes: work that the main thread soon takes needs none.
pub(crate) const FIRST_WAIT: Duration = Duration::from_millis(1);

/// How long work waits before another worker comes although cores are unused.
const BELOW_WAIT: Duration = Duration::from_millis(5);

/// A thread that was made and has not come after so long is not waited for.
const STARTING_MAX: Duration = Duration::from_secs(1);

/// After the system refused a thread.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// The steward's observations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observation {
    /// Since the pool was made.
    pub now: Duration,
    pub cores: usize,
    pub limit: usize,
    /// The limit when nothing moves.
    pub limit_stuck: usize,
    /// Items that any worker could take now.
    pub queued: usize,
    /// Those of them that their worker is about to take, as it believes.
    pub kept: usize,
    pub timers_queued: usize,
    pub has_timer_worker: bool,
    /// General workers, without the main one.
    pub general: usize,
    /// Workers that wait for work, with the main one.
    pub idle: usize,
    /// Workers that are asked for and not there yet.
    pub starting: usize,
    /// Workers in blocking regions.
    pub blocked: usize,
    /// Workers that run an item, with the main one.
    pub running: usize,
    /// Those of them that have been at the same item for long although others wait.
    pub stuck: usize,
    /// Processor time of the process so far.
    pub processor: Duration,
    /// Items taken so far by all workers.
    pub turns: u64,
    /// Threads that the system refused so far.
    pub refused: u64,
}

/// Why workers are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// None are.
    Enough,
    /// There was work and no worker.
    First,
    /// Work waits and cores are unused.
    BelowCores,
    /// Workers are in blocking regions.
    Blocked,
    /// Work waits, workers are stuck, the processor is not used.
    NoProgress,
    /// Nothing moves at all.
    Stuck,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// So many general workers are to be added.
    pub start: usize,
    pub reason: Reason,
    pub start_timer: bool,
    /// A general worker is too many.
    pub retire_one: bool,
}

/// The state between ticks.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Since when work has waited without an idle worker.
    waits_since: Option<Duration>,
    /// The observations at the start of the present watch.
    watched: Option<Observation>,
    /// So many are added next beyond the cores.
    step: usize,
    /// Since when no item was taken.
    still_since: Duration,
    turns: u64,
    refused: u64,
    refused_at: Option<Duration>,
    crowded_since: Option<Duration>,
    awaited_since: Option<Duration>,
    /// Since when timers have waited without an idle worker.
    timers_since: Option<Duration>,
}

impl Policy {
    pub fn new() -> Policy {
        Policy::default()
    }

    pub fn tick(&mut self, seen: &Observation) -> Decision {
        let mut decision = Decision {
            start: 0,
            reason: Reason::Enough,
            start_timer: false,
            retire_one: self.is_crowded(seen),
        };
        if seen.turns != self.turns {
            self.turns = seen.turns;
            self.still_since = seen.now;
        }
        if seen.refused != self.refused {
            self.refused = seen.refused;
            self.refused_at = Some(seen.now);
        }
        if let Some(at) = self.refused_at {
            if seen.now < at + REFUSED_PAUSE {
                return decision;
            }
            self.refused_at = None;
        }
        decision.start_timer = self.timers_wait(seen);
        if seen.queued == 0 || seen.idle > 0 || self.is_awaited(seen) {
            self.waits_since = None;
            self.watched = None;
            if seen.queued == 0 {
                self.step = 0;
            }
            return decision;
        }
        let waits_since = *self.waits_since.get_or_insert(seen.now);
        (decision.start, decision.reason) = if seen.running < seen.cores || seen.general == 0 {
            self.below_cores(seen, waits_since)
        } else {
            self.beyond_cores(seen)
        };
        decision
    }

    /// Whether workers were asked for that will come; not those that should have come long ago.
    fn is_awaited(&mut self, seen: &Observation) -> bool {
        if seen.starting == 0 {
            self.awaited_since = None;
            return false;
        }
        let since = *self.awaited_since.get_or_insert(seen.now);
        seen.now.saturating_sub(since) < STARTING_MAX
    }

    /// Whether timers have waited longer than a worker that was woken for them needs to come.
    fn timers_wait(&mut self, seen: &Observation) -> bool {
        if seen.timers_queued == 0 || seen.idle > 0 || seen.has_timer_worker {
            self.timers_since = None;
            return false;
        }
        let since = *self.timers_since.get_or_insert(seen.now);
        seen.now.saturating_sub(since) >= TIMERS_WAIT
    }

    fn below_cores(&mut self, seen: &Observation, waits_since: Duration) -> (usize, Reason) {
        self.watched = None;
        let room = seen.cores.saturating_sub(seen.running).max(1);
        let reason = if seen.general == 0 {
            if seen.now.saturating_sub(waits_since) < FIRST_WAIT {
                return (0, Reason::Enough);
            }
            Reason::First
        } else if seen.blocked > 0 {
            Reason::Blocked
        } else if seen.now.saturating_sub(waits_since) >= BELOW_WAIT {
            Reason::BelowCores
        } else {
            return (0, Reason::Enough);
        };
        let wanted = match reason {
            Reason::First => 1,
            _ => room.min(seen.queued),
        };
        // Those in blocking regions do not count for the limit, only for the last one.
        let present = seen.general - seen.blocked.min(seen.general);
        let room = seen.limit.max(1).saturating_sub(present);
        let last = seen.limit_stuck.max(1).saturating_sub(seen.general);
        (wanted.min(room).min(last), reason)
    }

    fn beyond_cores(&mut self, seen: &Observation) -> (usize, Reason) {
        let Some(before) = self.watched else {
            self.watched = Some(*seen);
            return (0, Reason::Enough);
        };
        let elapsed = seen.now.saturating_sub(before.now);
        if elapsed < WATCHED {
            return (0, Reason::Enough);
        }
        self.watched = Some(*seen);
        let used = seen.processor.saturating_sub(before.processor);
        let busy = used.as_secs_f64() / elapsed.as_secs_f64();
        // At least half a core that is meant to be used is not.
        let is_slack = busy + 0.5 <= seen.cores as f64;
        if !is_slack || seen.stuck == 0 {
            self.step = 0;
            return (0, Reason::Enough);
        }
        self.step = (self.step * 2).clamp(1, 64);
        let present = seen.general - seen.blocked.min(seen.general);
        let wanted = self.step.min(seen.stuck).min(seen.queued);
        let room = seen.limit.saturating_sub(present);
        if room > 0 {
            return (wanted.min(room), Reason::NoProgress);
        }
        if seen.now.saturating_sub(self.still_since) < STUCK {
            return (0, Reason::Enough);
        }
        let room = seen.limit_stuck.saturating_sub(seen.general);
        (wanted.min(room), Reason::Stuck)
    }

    /// Whether more run than there are cores, all of them making progress, for so long that one had
    /// better go.
    fn is_crowded(&mut self, seen: &Observation) -> bool {
        if seen.running <= seen.cores || seen.stuck > 0 || seen.general < 2 {
            self.crowded_since = None;
            return false;
        }
        let since = *self.crowded_since.get_or_insert(seen.now);
        let is_long = seen.now.saturating_sub(since) >= Duration::from_millis(200);
        if is_long {
            self.crowded_since = Some(seen.now);
        }
        is_long
    }

    /// How long one of so many general workers may be idle before it goes. The last one stays: it costs
    /// nothing asleep.
    pub fn patience(general: usize, retire_after: Duration) -> Option<Duration> {
        (general > 1).then_some(retire_after)
    }
}
