//! How many waits are noted: all of them up to a rate, and beyond it those of a random choice.
//!
//! A program whose tasks exchange a message in 200 ns cannot have a row for each wait. A thread notes
//! all waits as long as they are no more than its budget; then one of every n, chosen at random, which
//! weighs n. Long waits are few and matter most, so each of those has a row of its own: a wait that was
//! not chosen leaves its time in a table without locks ([`Marks`]), and whoever makes the task ready
//! finds it there.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use canny_profile::model::WaitKind;

use super::capture::{look_at_clock, recent_ns};

/// The time for which a part of the budget is meant.
const WINDOW_NS: u64 = 100_000_000;
const WINDOWS_PER_SECOND: u32 = 10;

/// Waits that last longer than this have rows of their own, unless there are too many of them.
const LONG_MIN_NS: u64 = 20_000_000;
const LONG_MAX_NS: u64 = 60_000_000_000;

/// A thread's choice of waits.
#[derive(Debug)]
pub(super) struct Budget {
    per_window: u32,
    /// Waits since the last one that was chosen, and until the next one.
    passed: u64,
    left: u64,
    /// How many waits there are for each that is chosen, on average.
    stride: u64,
    /// In this window: waits, and those that were chosen; likewise those that were long.
    all: u64,
    chosen: u32,
    window_ns: u64,
    long: u32,
    long_window_ns: u64,
    random: u64,
}

impl Budget {
    pub(super) fn new(per_second: u32) -> Budget {
        let now = look_at_clock();
        Budget {
            per_window: (per_second / WINDOWS_PER_SECOND).max(1),
            passed: 0,
            left: 1,
            stride: 1,
            all: 0,
            chosen: 0,
            window_ns: now,
            long: 0,
            long_window_ns: now,
            random: now | 1,
        }
    }

    /// Whether the next wait is going to be chosen, as far as is known.
    pub(super) fn is_next(&self) -> bool {
        self.left <= 1
    }

    /// A wait begins: how many it stands for if it is chosen.
    #[inline]
    pub(super) fn choose(&mut self) -> Option<u64> {
        self.passed += 1;
        self.left = self.left.saturating_sub(1);
        if self.left > 0 && recent_ns().saturating_sub(self.window_ns) < 2 * WINDOW_NS {
            return None;
        }
        Some(self.chosen())
    }

    #[cold]
    fn chosen(&mut self) -> u64 {
        let weight = std::mem::take(&mut self.passed);
        self.all += weight;
        self.chosen += 1;
        let now = look_at_clock();
        let elapsed_ns = now.saturating_sub(self.window_ns);
        if elapsed_ns >= WINDOW_NS {
            let in_window = u128::from(self.all) * u128::from(WINDOW_NS) / u128::from(elapsed_ns);
            self.stride = (in_window as u64 / u64::from(self.per_window)).max(1);
            (self.all, self.chosen) = (0, 0);
            self.window_ns = now;
        } else if self.chosen > self.per_window {
            self.stride = self.stride.saturating_mul(2);
            self.chosen = self.per_window / 2;
        }
        self.left = match self.stride {
            1 => 1,
            stride => 1 + self.random() % (2 * stride - 1),
        };
        weight
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// A long wait got a row of its own. Beyond the budget, waits must be longer for that.
    fn had_long(&mut self, marks: &Marks) {
        let now = look_at_clock();
        if now.saturating_sub(self.long_window_ns) >= WINDOW_NS {
            if self.long < self.per_window / 4 {
                marks.change_long(|long_ns| long_ns / 2);
            }
            self.long = 0;
            self.long_window_ns = now;
        }
        self.long += 1;
        if self.long > self.per_window {
            self.long = 0;
            marks.change_long(|long_ns| long_ns.saturating_mul(2));
        }
    }
}

/// Slots of the tables, by the number of the task.
const SLOTS: usize = 4096;

/// A mark of a wait that was not chosen: number, kind of the operation, time.
const TIME_BITS: u32 = 32;
const KIND_BITS: u32 = 5;
/// Unit of the time, as a power of two: about a millisecond.
const TIME_SHIFT: u32 = 20;

/// The knowledge that threads have of each other's waits, without a lock.
#[derive(Debug)]
pub(super) struct Marks {
    /// By slot: how many tasks wait with a row.
    noted: Box<[AtomicU32]>,
    /// By slot: the last wait that began without one.
    passed: Box<[AtomicU64]>,
    long_ns: AtomicU64,
    /// Tasks whose stack others want to know.
    wanted: AtomicU32,
}

/// A wait that was not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub from_ns: u64,
    /// The kind of the operation of the machine that waits.
    pub operation: Option<WaitKind>,
}

fn slot_of(number: u64) -> usize {
    number as usize % SLOTS
}

impl Default for Marks {
    fn default() -> Marks {
        Marks {
            noted: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            passed: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            long_ns: AtomicU64::new(LONG_MIN_NS),
            wanted: AtomicU32::new(0),
        }
    }
}

impl Marks {
    pub(super) fn begin(&self, number: u64) {
        self.noted[slot_of(number)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self, number: u64) {
        self.noted[slot_of(number)].fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the wait of a task may have a row.
    #[inline]
    pub(super) fn may_be_noted(&self, number: u64) -> bool {
        self.noted[slot_of(number)].load(Ordering::Relaxed) > 0
    }

    /// A wait begins that was not chosen.
    #[inline]
    pub(super) fn pass(&self, number: u64, operation: Option<WaitKind>) {
        let kind = operation.map_or(0, |kind| kind as u64 + 1);
        let mark = (number << KIND_BITS | kind) << TIME_BITS | tick(recent_ns());
        self.passed[slot_of(number)].store(mark, Ordering::Relaxed);
    }

    /// The wait of a task if it was not chosen, and is long by now.
    #[inline]
    pub(super) fn long_wait(&self, number: u64, ready_ns: u64) -> Option<Passed> {
        let mark = self.passed[slot_of(number)].load(Ordering::Relaxed);
        let task_and_kind = mark >> TIME_BITS;
        let kind = task_and_kind & ((1 << KIND_BITS) - 1);
        if task_and_kind != (number << KIND_BITS | kind) & u64::from(u32::MAX) {
            return None;
        }
        let ticks = (tick(ready_ns) as u32).wrapping_sub(mark as u32);
        let lasted_ns = u64::from(ticks) << TIME_SHIFT;
        // More than half of all ticks is a time that lies ahead by a little.
        (lasted_ns >= self.long_ns() && ticks < u32::MAX / 2).then(|| Passed {
            from_ns: ready_ns.saturating_sub(lasted_ns),
            operation: WaitKind::ALL.get((kind as usize).wrapping_sub(1)).copied(),
        })
    }

    /// The wait got a row of its own.
    pub(super) fn take(&self, number: u64, budget: Option<&mut Budget>) {
        self.passed[slot_of(number)].store(0, Ordering::Relaxed);
        if let Some(budget) = budget {
            budget.had_long(self);
        }
    }

    /// Whether others want to know the stack of any task.
    #[inline]
    pub(super) fn wants_stacks(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    pub(super) fn want_stacks(&self, tasks: usize) {
        self.wanted.store(tasks as u32, Ordering::Relaxed);
    }

    /// How long waits are that have rows of their own.
    pub(super) fn long_ns(&self) -> u64 {
        self.long_ns.load(Ordering::Relaxed)
    }

    fn change_long(&self, change: impl FnOnce(u64) -> u64) {
        let long_ns = change(self.long_ns()).clamp(LONG_MIN_NS, LONG_MAX_NS);
        self.long_ns.store(long_ns, Ordering::Relaxed);
    }
}

fn tick(at_ns: u64) -> u64 {
    (at_ns >> TIME_SHIFT) & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wait is in exactly one weight, as far as it was not the last ones.
    #[test]
    fn weights_add_up_to_all_waits() {
        for per_second in [1, 100, 1_000_000_000] {
            let mut budget = Budget::new(per_second);
            let weights: Vec<u64> = (0..100_000).filter_map(|_| budget.choose()).collect();
            let all: u64 = weights.iter().sum::<u64>() + budget.passed;
            assert_eq!(all, 100_000);
            let is_exact = per_second > 100_000_000;
            assert_eq!(weights.len() == 100_000, is_exact, "{per_second} a second");
        }
    }

    /// After a burst, waits that come slowly are all chosen again.
    #[test]
    fn a_budget_recovers_from_a_burst() {
        let mut budget = Budget::new(100);
        let chosen = (0..1_000_000).filter_map(|_| budget.choose()).count();
        assert!(chosen < 100_000, "{chosen} of a million");
        for _ in 0..4 {
            std::thread::sleep(std::time::Duration::from_nanos(3 * WINDOW_NS));
            look_at_clock();
            budget.choose();
        }
        assert!(budget.is_next(), "{budget:?}");
    }

    #[test]
    fn long_waits_are_found_by_number() {
        let marks = Marks::default();
        let start = look_at_clock();
        marks.pass(7, Some(WaitKind::Timer));
        assert_eq!(marks.long_wait(7, start), None, "it has just begun");
        let later = start + 10 * LONG_MIN_NS;
        let found = marks.long_wait(7, later).expect("it is long by then");
        assert_eq!(found.operation, Some(WaitKind::Timer));
        assert!(found.from_ns.abs_diff(start) < LONG_MIN_NS, "{found:?}");
        assert_eq!(marks.long_wait(8, later), None);
        assert_eq!(
            marks.long_wait(7 + SLOTS as u64, later),
            None,
            "another task"
        );
        marks.take(7, None);
        assert_eq!(marks.long_wait(7, later), None);
    }

    /// Beyond the budget only longer waits have rows, and the bound falls again later.
    #[test]
    fn too_many_long_waits_raise_the_bound() {
        let marks = Marks::default();
        let mut budget = Budget::new(100);
        (0..100).for_each(|_| budget.had_long(&marks));
        let raised = marks.long_ns();
        assert!(raised > LONG_MIN_NS);
        std::thread::sleep(std::time::Duration::from_nanos(2 * WINDOW_NS));
        budget.had_long(&marks);
        std::thread::sleep(std::time::Duration::from_nanos(2 * WINDOW_NS));
        budget.had_long(&marks);
        assert!(marks.long_ns() < raised);
    }
}
