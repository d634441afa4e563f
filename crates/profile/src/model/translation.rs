//! Rows of one profile as rows of another.
//!
//! A [`Translation`] adds the rows that it is asked for to a builder, and those that they refer to. It does
//! so once for each row. Tasks are left to its users, since a builder does not find them by content.

use std::collections::HashMap;

use super::{
    Builder, FrameIndex, FunctionIndex, Label, LabelSetIndex, Rows, StackIndex, StringIndex,
    ThreadIndex,
};

/// The numbers that rows of one profile have in another.
#[derive(Debug)]
pub struct Translation<'rows> {
    rows: &'rows Rows,
    functions: HashMap<FunctionIndex, FunctionIndex>,
    frames: HashMap<FrameIndex, FrameIndex>,
    stacks: HashMap<StackIndex, StackIndex>,
    threads: HashMap<ThreadIndex, ThreadIndex>,
    labels: HashMap<LabelSetIndex, LabelSetIndex>,
}

impl<'rows> Translation<'rows> {
    /// A translation of rows, which must have all tables from the beginning.
    pub fn new(rows: &'rows Rows) -> Translation<'rows> {
        Translation {
            rows,
            functions: HashMap::new(),
            frames: HashMap::new(),
            stacks: HashMap::new(),
            threads: HashMap::new(),
            labels: HashMap::new(),
        }
    }

    /// A text of the rows, empty if there is none.
    pub fn text(&self, index: StringIndex) -> &'rows str {
        self.rows.strings.get(index.row()).map_or("", |text| text)
    }

    pub fn string(&self, index: StringIndex, to: &mut Builder) -> StringIndex {
        to.string(self.text(index))
    }

    pub fn function(&mut self, index: FunctionIndex, to: &mut Builder) -> FunctionIndex {
        if let Some(known) = self.functions.get(&index) {
            return *known;
        }
        let row = self.rows.functions.get(index.row());
        let row = row.copied().unwrap_or_default();
        let file = row.file.map(|file| self.text(file));
        let new = to.function(self.text(row.name), file, row.line, row.group);
        self.functions.insert(index, new);
        new
    }

    pub fn frame(&mut self, index: FrameIndex, to: &mut Builder) -> FrameIndex {
        if let Some(known) = self.frames.get(&index) {
            return *known;
        }
        let row = self.rows.frames.get(index.row());
        let row = row.copied().unwrap_or_default();
        let function = self.function(row.function, to);
        let new = to.frame(function, row.line, row.column, row.tier, row.is_tail);
        self.frames.insert(index, new);
        new
    }

    pub fn stack(&mut self, index: StackIndex, to: &mut Builder) -> StackIndex {
        // Parents have smaller numbers, so the walk ends.
        let mut missing = Vec::new();
        let mut below = Some(index);
        let mut new = None;
        while let Some(index) = below {
            new = self.stacks.get(&index).copied();
            if new.is_some() {
                break;
            }
            missing.push(index);
            let row = self.rows.stacks.get(index.row());
            below = row.and_then(|row| row.parent);
        }
        for index in missing.into_iter().rev() {
            let row = self.rows.stacks.get(index.row());
            let row = row.copied().unwrap_or_default();
            let frame = self.frame(row.frame, to);
            let stack = to.stack(new, frame, row.kind);
            self.stacks.insert(index, stack);
            new = Some(stack);
        }
        new.unwrap_or_default()
    }

    pub fn thread(&mut self, index: ThreadIndex, to: &mut Builder) -> ThreadIndex {
        if let Some(known) = self.threads.get(&index) {
            return *known;
        }
        let row = self.rows.threads.get(index.row());
        let row = row.copied().unwrap_or_default();
        let new = to.thread(row.id, self.text(row.name));
        self.threads.insert(index, new);
        new
    }

    pub fn label_set(&mut self, index: LabelSetIndex, to: &mut Builder) -> LabelSetIndex {
        if let Some(known) = self.labels.get(&index) {
            return *known;
        }
        let set: &[Label] = self.rows.labels.get(index.row()).map_or(&[], |set| set);
        let texts = set.iter();
        let texts = texts.map(|label| (self.text(label.key), self.text(label.value)));
        let new = to.label_set(&texts.collect::<Vec<_>>());
        self.labels.insert(index, new);
        new
    }
}
