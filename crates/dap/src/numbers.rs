//! Numbers by which the client names values and frames, as long as their task stands still. A number is
//! never used again: one of a task that has gone on leads nowhere.
//!
//! Frames of a task that waits are those of the continuation that it had when its stack was asked for.
//! They are forgotten when the stack is asked for again, and when any task stops.

use std::collections::HashMap;

use canny_vm::debug::{ExpansionId, Kept, TaskKey};

/// Parts that are sent at once if the client does not say how many.
const PARTS_MAX: usize = 1000;

/// The place of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a task that stands still.
    Stopped(usize),
    /// In a continuation.
    Waiting(Kept, usize),
}

/// A thing with parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The variables of a frame that are its own.
    Locals(Place),
    /// Those that its procedure has captured.
    Captured(Place),
    /// A value.
    Value(Kept),
    /// An instruction of the newest frame, by its word index: a call, or where the frame can continue.
    Instruction(u32),
    /// The expansion of a macro use that the newest frame can be stepped into.
    Expansion(ExpansionId),
}

/// The numbers that the client knows.
#[derive(Default)]
pub struct Numbers {
    last: i64,
    targets: HashMap<i64, (TaskKey, Target)>,
    frames: HashMap<i64, (TaskKey, Place)>,
    /// The continuations of tasks that wait.
    waiting: HashMap<TaskKey, Kept>,
}

impl Numbers {
    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// A number for a thing.
    pub fn of_target(&mut self, task: TaskKey, target: Target) -> i64 {
        let number = self.next();
        self.targets.insert(number, (task, target));
        number
    }

    /// A number for a frame.
    pub fn of_frame(&mut self, task: TaskKey, frame: Place) -> i64 {
        let number = self.next();
        self.frames.insert(number, (task, frame));
        number
    }

    /// The thing of a number.
    pub fn target(&self, number: i64) -> Option<(TaskKey, Target)> {
        self.targets.get(&number).copied()
    }

    /// The frame of a number.
    pub fn frame(&self, number: i64) -> Option<(TaskKey, Place)> {
        self.frames.get(&number).copied()
    }

    /// Notes the continuation of a task that waits.
    pub fn wait(&mut self, task: TaskKey, continuation: Kept) {
        self.waiting.insert(task, continuation);
    }

    /// The continuation of a task that waits, if its stack was asked for.
    pub fn waiting(&self, task: TaskKey) -> Option<Kept> {
        self.waiting.get(&task).copied()
    }

    /// Forgets the tasks that wait; gives what was kept for them.
    pub fn forget_waiting(&mut self) -> Vec<Kept> {
        let tasks: Vec<TaskKey> = self.waiting.keys().copied().collect();
        tasks
            .into_iter()
            .flat_map(|task| self.forget(task))
            .collect()
    }

    /// Forgets all of a task; gives the values that were kept for it.
    pub fn forget(&mut self, task: TaskKey) -> Vec<Kept> {
        self.frames.retain(|_, (owner, _)| *owner != task);
        let mut kept: Vec<Kept> = self.waiting.remove(&task).into_iter().collect();
        self.targets.retain(|_, (owner, target)| {
            if *owner == task
                && let Target::Value(place) = target
            {
                kept.push(*place);
            }
            *owner != task
        });
        kept
    }
}

/// The part of a thing that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Fields with names.
    pub named: bool,
    /// Elements with numbers.
    pub indexed: bool,
    /// The first element.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Wanted {
    /// As a request says it.
    pub fn of(filter: Option<&str>, first: Option<usize>, count: Option<usize>) -> Wanted {
        let count = count.filter(|count| *count > 0).unwrap_or(PARTS_MAX);
        Wanted {
            named: filter != Some("indexed"),
            indexed: filter != Some("named"),
            first: first.unwrap_or(0),
            count: count.min(PARTS_MAX),
        }
    }
}
