//! The rows of each table.
//!
//! [`Rows`] is the unit that moves: a builder gives the new ones, a writer writes them, a reader
//! appends them, and a whole profile has all of them. Tables up to `labels` are referred to by
//! row, so their order must never change. The order of the others does not matter.

use std::sync::Arc;

use super::{
    EventKind, FrameIndex, FunctionIndex, Group, LabelSetIndex, StackIndex, StackKind, StringIndex,
    TaskIndex, ThreadIndex, Tier, WaitKind,
};

/// A procedure, or a part of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Function {
    pub name: StringIndex,
    pub file: Option<StringIndex>,
    /// The line of the definition, 0 for unknown.
    pub line: u32,
    pub group: Group,
}

/// A place in a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    pub function: FunctionIndex,
    /// 0 for unknown.
    pub line: u32,
    /// 0 for unknown.
    pub column: u32,
    pub tier: Tier,
    /// The procedure ended with a tail call; the frame was reconstructed.
    pub is_tail: bool,
}

/// The newest frame on top of an older stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stack {
    pub parent: Option<StackIndex>,
    pub frame: FrameIndex,
    pub kind: StackKind,
}

/// A thread of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    pub id: u64,
    pub name: StringIndex,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Task {
    pub number: u64,
    pub name: Option<StringIndex>,
    pub starter: Option<TaskIndex>,
    pub started_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    pub key: StringIndex,
    pub value: StringIndex,
}

/// Processor time that was found on a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub at_ns: u64,
    pub thread: ThreadIndex,
    pub task: TaskIndex,
    pub label: LabelSetIndex,
    pub stack: Option<StackIndex>,
    pub weight_ns: u64,
}

/// A task was parked, became runnable, and ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub task: TaskIndex,
    pub label: LabelSetIndex,
    pub stack: Option<StackIndex>,
    pub from_ns: u64,
    pub ready_ns: u64,
    pub resumed_ns: u64,
    pub kind: WaitKind,
    /// The name of the thing that it waited for.
    pub on: Option<StringIndex>,
    /// The task that had the thing when the wait began.
    pub holder: Option<TaskIndex>,
    /// Where that task was while it had it.
    pub holder_stack: Option<StackIndex>,
    /// How many waits it stands for.
    pub weight: u64,
}

impl Wait {
    /// The time until the task was runnable.
    pub fn waiting_ns(&self) -> u64 {
        self.ready_ns.saturating_sub(self.from_ns)
    }

    /// A time of this wait, times the waits for which it stands.
    pub fn weighted(&self, time_ns: u64) -> u64 {
        time_ns.saturating_mul(self.weight)
    }

    /// The time from being runnable to running.
    pub fn runnable_ns(&self) -> u64 {
        self.resumed_ns.saturating_sub(self.ready_ns)
    }
}

/// A sampled object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    pub at_ns: u64,
    pub thread: ThreadIndex,
    pub task: TaskIndex,
    pub label: LabelSetIndex,
    pub stack: Option<StackIndex>,
    pub type_name: StringIndex,
    pub size_bytes: u64,
    /// The allocated bytes that the object stands for.
    pub weight_bytes: u64,
    /// Why the optimizer did not remove the allocation.
    pub reason: Option<StringIndex>,
    /// By which [`Rows::freed`] refers to the object.
    pub id: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub at_ns: u64,
    pub duration_ns: u64,
    pub thread: Option<ThreadIndex>,
    pub kind: EventKind,
    pub text: StringIndex,
    pub stack: Option<StackIndex>,
}

impl Event {
    pub fn end_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.duration_ns)
    }
}

/// Exact counts of one call edge. Rows of the same edge add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub caller: Option<FunctionIndex>,
    pub callee: FunctionIndex,
    pub calls: u64,
    pub inclusive_ns: u64,
    pub exclusive_ns: u64,
    pub interpreted: u64,
    pub compiled: u64,
    pub inlined: u64,
}

/// A remark of the machine about a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    pub function: Option<FunctionIndex>,
    /// 0 for the whole function.
    pub line: u32,
    pub text: StringIndex,
}

/// Rows of all tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    pub strings: Vec<Arc<str>>,
    pub functions: Vec<Function>,
    pub frames: Vec<Frame>,
    pub stacks: Vec<Stack>,
    pub threads: Vec<Thread>,
    pub tasks: Vec<Task>,
    pub labels: Vec<Vec<Label>>,
    pub samples: Vec<Sample>,
    pub waits: Vec<Wait>,
    pub allocations: Vec<Allocation>,
    /// Identities of sampled objects that the collector found dead.
    pub freed: Vec<u64>,
    pub events: Vec<Event>,
    pub counts: Vec<Count>,
    pub notes: Vec<Note>,
}

impl Rows {
    /// Adds the rows that follow on these.
    pub fn append(&mut self, mut next: Rows) {
        self.strings.append(&mut next.strings);
        self.functions.append(&mut next.functions);
        self.frames.append(&mut next.frames);
        self.stacks.append(&mut next.stacks);
        self.threads.append(&mut next.threads);
        self.tasks.append(&mut next.tasks);
        self.labels.append(&mut next.labels);
        self.samples.append(&mut next.samples);
        self.waits.append(&mut next.waits);
        self.allocations.append(&mut next.allocations);
        self.freed.append(&mut next.freed);
        self.events.append(&mut next.events);
        self.counts.append(&mut next.counts);
        self.notes.append(&mut next.notes);
    }

    /// A copy of the tables that are referred to by row.
    #[must_use]
    pub fn tables(&self) -> Rows {
        Rows {
            strings: self.strings.clone(),
            functions: self.functions.clone(),
            frames: self.frames.clone(),
            stacks: self.stacks.clone(),
            threads: self.threads.clone(),
            tasks: self.tasks.clone(),
            labels: self.labels.clone(),
            ..Rows::default()
        }
    }
}
