//! Expansions of macros at the debugger's prompt: which one people have stepped into, by task, and how
//! places in it are shown.

use std::collections::HashMap;

use canny_lib::Evaluation;
use canny_vm::debug::{
    Ahead, Expanded, ExpansionId, ExpansionView, Granularity, Resume, StepKind, Stop, TaskKey,
};

use super::texts;

/// The expansions that tasks are shown in.
#[derive(Default)]
pub struct Opened(HashMap<TaskKey, ExpansionId>);

/// A way on into something of a line.
pub enum Way {
    Call(Ahead),
    Expansion(Expanded),
}

impl Opened {
    fn of(&self, stop: &Stop<'_>) -> Option<ExpansionId> {
        self.0.get(&stop.task()).copied()
    }

    /// A frame in the expansion, if it stands there.
    fn view(&self, stop: &Stop<'_>, frame: usize) -> Option<ExpansionView> {
        Some(stop.expansion_view(frame, self.of(stop)?))
    }

    /// A task has stopped: the expansion is closed if it has left that.
    pub fn meet(&mut self, stop: &Stop<'_>, frame: usize) {
        let view = self.view(stop, frame);
        if view.is_some_and(|view| view.places.is_empty() && !view.is_part) {
            self.close(stop);
        }
    }

    pub fn close(&mut self, stop: &Stop<'_>) {
        self.0.remove(&stop.task());
    }

    /// A step; in an expansion it goes by the text of that.
    pub fn step(&self, stop: &Stop<'_>, kind: StepKind, granularity: Granularity) -> Resume {
        match self.of(stop) {
            Some(id) => Resume::StepExpanded(kind, granularity, id),
            None => Resume::Step(kind, granularity),
        }
    }

    /// To the end of the expansion, or of the procedure.
    pub fn finish(&mut self, stop: &Stop<'_>, frame: usize) -> Resume {
        let Some(view) = self.view(stop, frame) else {
            return Resume::Step(StepKind::Out, Granularity::Line);
        };
        let inner = view.places.first().map(|place| place.id);
        let inner = inner.or(self.of(stop));
        match view.places.get(1) {
            Some(outer) => self.0.insert(stop.task(), outer.id),
            None => self.0.remove(&stop.task()),
        };
        match inner {
            Some(id) => Resume::LeaveExpansion(id),
            None => Resume::Step(StepKind::Out, Granularity::Line),
        }
    }

    /// The calls and expansions of the line at hand.
    pub fn ways(&self, stop: &Stop<'_>) -> Vec<Way> {
        let calls = stop.calls().into_iter().map(Way::Call);
        let expansions = stop.expansions_ahead(self.of(stop));
        calls
            .chain(expansions.into_iter().map(Way::Expansion))
            .collect()
    }

    /// Steps into an expansion; how the task resumes, unless it stands there already.
    pub fn enter(&mut self, stop: &Stop<'_>, expanded: &Expanded) -> Option<Resume> {
        self.0.insert(stop.task(), expanded.id);
        let view = stop.expansion_view(0, expanded.id);
        let is_there = stop.is_in_expansion(expanded.id) || view.is_part;
        (!is_there).then_some(Resume::EnterExpansion(expanded.id))
    }

    /// The place of a frame in the expansion, with its line of the text.
    pub fn described(&self, stop: &mut Stop<'_>, frame: usize) -> Option<String> {
        let place = self.view(stop, frame)?.places.into_iter().next()?;
        let own = stop.frames(frame, 1).pop()?;
        let text = text_of(stop, &place);
        let position = &place.position;
        let line = text
            .lines()
            .nth(position.line as usize - 1)
            .unwrap_or_default();
        let is_whole = position.end_line == position.line;
        let end = if is_whole {
            position.end_column as usize - 1
        } else {
            line.chars().count()
        };
        let start = position.column as usize - 1;
        let marks = "^".repeat(end.saturating_sub(start).max(1));
        Some(format!(
            "{}, in the expansion of {}\n{:5}  {line}\n       {}{marks}",
            texts::described(&own),
            place.name,
            position.line,
            " ".repeat(start),
        ))
    }

    /// The whole text of the expansion that a frame stands in.
    pub fn text(&self, stop: &mut Stop<'_>, frame: usize) -> Option<String> {
        let place = self.view(stop, frame)?.places.into_iter().next()?;
        let text = text_of(stop, &place);
        Some(texts::numbered(&text, place.position.line as usize))
    }
}

fn text_of(stop: &mut Stop<'_>, place: &Expanded) -> String {
    let vm = stop.thread().vm().clone();
    Evaluation::of(&vm)
        .source_text(&place.position.file)
        .unwrap_or_default()
}
