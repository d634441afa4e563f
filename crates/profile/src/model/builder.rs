//! The builder of a profile: names, places and stacks become rows once, however often they occur.
//!
//! A builder keeps the keys of all rows of the interned tables and the rows since the last
//! [`Builder::take`]. Taking is cheap: a machine can hold a lock around its builder, take the rows,
//! and write them outside of the lock.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::hash::RowHash;
use super::{
    Allocation, Count, Event, Frame, FrameIndex, Function, FunctionIndex, Group, Label,
    LabelSetIndex, Note, Rows, Sample, Stack, StackIndex, StackKind, StringIndex, Task, TaskIndex,
    Thread, ThreadIndex, Tier, Wait,
};

/// Rows by their content; the number of a row is the order of its first occurrence.
#[derive(Debug)]
struct Interned<T>(HashMap<T, u32, RowHash>);

impl<T: Hash + Eq + Clone> Interned<T> {
    fn new() -> Interned<T> {
        Interned(HashMap::default())
    }

    fn intern(&mut self, value: T, rows: &mut Vec<T>) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(value).or_insert_with_key(|value| {
            rows.push(value.clone());
            next
        })
    }
}

/// Fills the tables of a profile.
#[derive(Debug)]
pub struct Builder {
    strings: HashMap<Arc<str>, StringIndex>,
    functions: Interned<Function>,
    frames: Interned<Frame>,
    stacks: Interned<Stack>,
    threads: Interned<Thread>,
    labels: Interned<Vec<Label>>,
    tasks: usize,
    new: Rows,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// A builder whose only row is the empty set of labels.
    ///
    /// The first task that is added must be the main program.
    pub fn new() -> Builder {
        let mut builder = Builder {
            strings: HashMap::new(),
            functions: Interned::new(),
            frames: Interned::new(),
            stacks: Interned::new(),
            threads: Interned::new(),
            labels: Interned::new(),
            tasks: 0,
            new: Rows::default(),
        };
        builder.label_set(&[]);
        builder
    }

    /// The row of a text.
    pub fn string(&mut self, text: &str) -> StringIndex {
        if let Some(index) = self.strings.get(text) {
            return *index;
        }
        let index = StringIndex::new(self.strings.len());
        let text: Arc<str> = text.into();
        self.new.strings.push(Arc::clone(&text));
        self.strings.insert(text, index);
        index
    }

    /// The row of a function; `line` is where it is defined, 0 for unknown.
    pub fn function(
        &mut self,
        name: &str,
        file: Option<&str>,
        line: u32,
        group: Group,
    ) -> FunctionIndex {
        let name = self.string(name);
        let file = file.map(|file| self.string(file));
        let function = Function {
            name,
            file,
            line,
            group,
        };
        let rows = &mut self.new.functions;
        self.functions.intern(function, rows).into()
    }

    /// The row of a place in a function; 0 for an unknown line or column.
    pub fn frame(
        &mut self,
        function: FunctionIndex,
        line: u32,
        column: u32,
        tier: Tier,
        is_tail: bool,
    ) -> FrameIndex {
        let frame = Frame {
            function,
            line,
            column,
            tier,
            is_tail,
        };
        self.frames.intern(frame, &mut self.new.frames).into()
    }

    /// The row of a frame on top of an older stack.
    pub fn stack(
        &mut self,
        parent: Option<StackIndex>,
        frame: FrameIndex,
        kind: StackKind,
    ) -> StackIndex {
        let stack = Stack {
            parent,
            frame,
            kind,
        };
        self.stacks.intern(stack, &mut self.new.stacks).into()
    }

    /// The row of a thread of the system.
    pub fn thread(&mut self, id: u64, name: &str) -> ThreadIndex {
        let name = self.string(name);
        let thread = Thread { id, name };
        self.threads.intern(thread, &mut self.new.threads).into()
    }

    /// A new row for a task.
    pub fn task(
        &mut self,
        number: u64,
        name: Option<&str>,
        starter: Option<TaskIndex>,
        started_ns: u64,
    ) -> TaskIndex {
        let index = TaskIndex::new(self.tasks);
        self.tasks += 1;
        let name = name.map(|name| self.string(name));
        self.new.tasks.push(Task {
            number,
            name,
            starter,
            started_ns,
        });
        index
    }

    /// The row of a set of labels, in any order.
    pub fn label_set(&mut self, labels: &[(&str, &str)]) -> LabelSetIndex {
        let labels = labels.iter().map(|(key, value)| Label {
            key: self.string(key),
            value: self.string(value),
        });
        let mut labels: Vec<Label> = labels.collect();
        labels.sort();
        self.labels.intern(labels, &mut self.new.labels).into()
    }

    pub fn sample(&mut self, sample: Sample) {
        self.new.samples.push(sample);
    }

    pub fn wait(&mut self, wait: Wait) {
        self.new.waits.push(wait);
    }

    pub fn allocation(&mut self, allocation: Allocation) {
        self.new.allocations.push(allocation);
    }

    /// The collector found the sampled object dead.
    pub fn freed(&mut self, id: u64) {
        self.new.freed.push(id);
    }

    pub fn event(&mut self, event: Event) {
        self.new.events.push(event);
    }

    pub fn count(&mut self, count: Count) {
        self.new.counts.push(count);
    }

    /// A remark about a function or a line of it, or about the whole program.
    pub fn note(&mut self, function: Option<FunctionIndex>, line: u32, text: &str) {
        let text = self.string(text);
        self.new.notes.push(Note {
            function,
            line,
            text,
        });
    }

    /// The number of rows that the next [`Builder::take`] gives, of samples, waits and the like.
    pub fn pending(&self) -> usize {
        let new = &self.new;
        new.samples.len() + new.waits.len() + new.allocations.len() + new.events.len()
    }

    /// The rows that the next [`Builder::take`] gives.
    pub fn new_rows(&self) -> &Rows {
        &self.new
    }

    /// All rows since the last call.
    pub fn take(&mut self) -> Rows {
        std::mem::take(&mut self.new)
    }
}
