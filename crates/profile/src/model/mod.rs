//! The tables of a profile, the builder that fills them, and the walk over a stack.
//!
//! Invariant: a row refers only to rows that exist, and a stack only to a parent with a smaller
//! number. [`Builder`] and `file::read` keep it, so every walk over parents ends and every look-up
//! of a row by its index succeeds. The look-ups of [`Profile`] still answer something harmless for
//! an index from another profile.

mod builder;
mod codes;
mod hash;
mod index;
mod rows;
mod translation;
mod walk;

#[cfg(test)]
mod tests;

pub use builder::Builder;
pub use codes::{EventKind, Group, Mode, StackKind, Tier, WaitKind};
pub use index::{
    FrameIndex, FunctionIndex, LabelSetIndex, StackIndex, StringIndex, TaskIndex, ThreadIndex,
};
pub use rows::{
    Allocation, Count, Event, Frame, Function, Label, Note, Rows, Sample, Stack, Task, Thread, Wait,
};
pub use translation::Translation;
pub use walk::{Step, Walk};

/// The facts known when a profile begins: the first line of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub program: String,
    pub arguments: Vec<String>,
    /// The version of Canny.
    pub canny: String,
    pub pid: u64,
    /// Unix time in nanoseconds.
    pub started_ns: u64,
    /// Processor time between two samples.
    pub interval_ns: u64,
    /// Allocated bytes between two sampled objects, if objects are sampled.
    pub allocation_interval_bytes: Option<u64>,
    pub modes: Vec<Mode>,
}

/// A whole profile in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub header: Header,
    pub rows: Rows,
    /// Samples that could not be kept.
    pub lost: u64,
    /// When the profile was ended; `None` if the program was killed before.
    pub end_ns: Option<u64>,
    /// The file was cut: some of what was measured is missing.
    pub is_incomplete: bool,
}

impl Profile {
    /// The profile of all rows that the builder holds.
    ///
    /// The builder must not have handed rows to anyone before, since the others refer to them.
    pub fn new(header: Header, builder: &mut Builder, end_ns: u64) -> Profile {
        Profile {
            header,
            rows: builder.take(),
            end_ns: Some(end_ns),
            ..Profile::default()
        }
    }

    /// The text of a string.
    pub fn string(&self, index: StringIndex) -> &str {
        self.rows.strings.get(index.row()).map_or("", |text| text)
    }

    /// A row of the table of functions.
    pub fn function(&self, index: FunctionIndex) -> Function {
        let row = self.rows.functions.get(index.row());
        row.copied().unwrap_or_default()
    }

    /// A row of the table of frames.
    pub fn frame(&self, index: FrameIndex) -> Frame {
        self.rows
            .frames
            .get(index.row())
            .copied()
            .unwrap_or_default()
    }

    /// A name for people, never empty.
    pub fn function_name(&self, index: FunctionIndex) -> &str {
        match self.string(self.function(index).name) {
            "" => "(anonymous)",
            name => name,
        }
    }

    /// The file of a function, if known.
    pub fn function_file(&self, index: FunctionIndex) -> Option<&str> {
        self.function(index).file.map(|file| self.string(file))
    }

    /// A name of a task for people.
    pub fn task_name(&self, index: TaskIndex) -> String {
        match self.rows.tasks.get(index.row()) {
            Some(Task {
                name: Some(name),
                number,
                ..
            }) => {
                format!("{} ({number})", self.string(*name))
            }
            Some(Task { number, .. }) if index.row() == 0 => format!("main program ({number})"),
            Some(Task { number, .. }) => format!("task {number}"),
            None => "(no task)".to_owned(),
        }
    }

    /// A name of a thread for people.
    pub fn thread_name(&self, index: ThreadIndex) -> String {
        match self.rows.threads.get(index.row()) {
            Some(thread) if !self.string(thread.name).is_empty() => {
                self.string(thread.name).to_owned()
            }
            Some(thread) => format!("thread {}", thread.id),
            None => "(no thread)".to_owned(),
        }
    }

    /// The labels of a set, as pairs of key and value.
    pub fn label_set(&self, index: LabelSetIndex) -> impl Iterator<Item = (&str, &str)> {
        let set = self.rows.labels.get(index.row());
        set.into_iter()
            .flatten()
            .map(|label| (self.string(label.key), self.string(label.value)))
    }

    /// The frames of a stack, newest first.
    ///
    /// `is_async` says whether to continue from the oldest frame of a task to those of the task
    /// that started it.
    pub fn walk(&self, stack: Option<StackIndex>, is_async: bool) -> Walk<'_> {
        Walk::new(&self.rows, stack, is_async)
    }

    /// The last moment that a row mentions, or the end of the profile if it is later.
    pub fn duration_ns(&self) -> u64 {
        let rows = &self.rows;
        let samples = rows.samples.iter().map(|sample| sample.at_ns);
        let waits = rows.waits.iter().map(|wait| wait.resumed_ns);
        let allocations = rows.allocations.iter().map(|one| one.at_ns);
        let events = rows.events.iter().map(Event::end_ns);
        let all = samples.chain(waits).chain(allocations).chain(events);
        all.chain(self.end_ns).max().unwrap_or(0)
    }
}
