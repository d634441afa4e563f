//! How long an item may run while others wait, which item is asked to yield, and how: pure functions of what
//! the steward sees.
//!
//! Two kinds of work wait at a worker. Its *queue* has what was begun: items that were asked to yield or were
//! woken. Its *standby*, in the slot of what was handed over, will look for new work. An item may do several
//! things one after the other, its *steps*, such as requests; between two of them yielding costs nothing.
//!
//! - A slice is the longest one while little waits, and shorter the more waits, so that everybody comes
//!   within the latency.
//! - An item whose step is within its slice is not interrupted; it is asked to step aside when the step
//!   ends, if work of a queue waits. One that has used up its slice in one step is interrupted, if
//!   anything waits.
//! - While both the queue and the standby wait, they get their worker in turns: two slices for new
//!   work, one for what was begun. So neither waits for longer than two slices, however much there is
//!   of the other.

use super::timers::Moment;

/// In so much time everybody that waits should have come, if slices need not get too short for that.
const LATENCY: Moment = 10_000_000;

/// No slice is shorter.
pub(crate) const SLICE_MIN: Moment = 750_000;

/// So many slices are a round of turns of standby and queue; the first one is the queue's.
const ROUND: u32 = 3;

/// The slice when so many workers run and so much waits, `longest` at most.
pub(crate) fn slice(longest: Moment, running: usize, waiting: usize) -> Moment {
    let share = LATENCY * running as u64 / (running + waiting).max(1) as u64;
    share.max(SLICE_MIN).min(longest)
}

/// The work that waits for a worker, and the time since which the worker runs the same item.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// How long the worker has been at its item.
    pub(crate) item: Moment,
    /// How long at the present step of it.
    pub(crate) step: Moment,
    /// Its standby waits, and no worker is idle.
    pub(crate) standby: bool,
    /// Work of queues waits, and no worker is idle; or what only this worker can run, or timers.
    pub(crate) queue: bool,
}

/// How a worker's item is asked to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Nothing,
    /// At the end of its step.
    Aside,
    /// Now.
    Now,
}

/// Whether and how the item of a worker is asked to yield.
pub(crate) fn ask(load: &Load, slice: Moment) -> Ask {
    if load.step >= slice && (load.standby || load.queue) {
        Ask::Now
    } else if load.item >= slice && load.queue {
        Ask::Aside
    } else {
        Ask::Nothing
    }
}

/// The order in which a worker takes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Begun items, its own or those outside; then its standby; then what others have begun.
    Usual,
    Standby,
    /// Items that any worker has begun; then its standby.
    Queue,
    /// The running item was alone there and yields: anything else, wherever it waits, and only then the same
    /// again.
    Others,
}

impl Order {
    pub(crate) fn of_number(number: u8) -> Order {
        match number {
            1 => Order::Standby,
            2 => Order::Queue,
            3 => Order::Others,
            _ => Order::Usual,
        }
    }
}

/// The turns at a worker while both its standby and queues wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    slices: u32,
    since: Moment,
}

impl Turns {
    /// The order from now on.
    pub(crate) fn next(&mut self, load: &Load, now: Moment, slice: Moment) -> Order {
        if !(load.standby && load.queue) {
            *self = Turns::default();
            return Order::Usual;
        }
        // A tick that comes a little early counts.
        if now.saturating_sub(self.since) >= slice - slice / 8 {
            self.slices += 1;
            self.since = now;
        }
        if self.slices.is_multiple_of(ROUND) {
            Order::Queue
        } else {
            Order::Standby
        }
    }
}
