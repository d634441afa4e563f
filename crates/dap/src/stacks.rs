//! Stacks of tasks: those of tasks that stand still, those of continuations for tasks that wait, and what
//! their frames are called.

use std::path::Path;
use std::sync::Arc;

use canny_vm::debug::{DebugFrame, Kept, TaskKey, Wake};
use canny_vm::{Position, Thread};
use serde_json::{Value as Json, json};

use crate::numbers::{Place, Target};
use crate::output::{Answer, Request};
use crate::queues::Next;
use crate::requests::name_of_number;
use crate::shared::Shared;
use crate::stops::{task_of, thread_of};

/// Frames that are sent if the client does not say how many.
const FRAMES_MAX: usize = 1000;

impl Shared {
    pub fn stack(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let asked = match request.number("threadId") {
            Ok(thread) => task_of(thread),
            Err(message) => return answer.give(Err(message)),
        };
        let task = self.key_of(asked);
        let first = request.count("startFrame").unwrap_or(0);
        let count = request.count("levels").filter(|count| *count > 0);
        let count = count.unwrap_or(FRAMES_MAX).min(FRAMES_MAX);
        if !self.tasks.lock().is_stopped(task) {
            return answer.give(self.stack_of_waiting(asked, first, count));
        }
        self.ask_task(task, answer, move |shared, stop, answer| {
            let expansions = shared.frames_of_expansions(stop);
            let shown = expansions.len();
            let mut rows: Vec<Json> = expansions.into_iter().skip(first).take(count).collect();
            let count = count - rows.len();
            let first = first.saturating_sub(shown);
            let mut frames = stop.frames(first, count + 1);
            let has_more = frames.len() > count;
            frames.truncate(count);
            let can_restart = stop.can_restart();
            let own = frames.len();
            for (index, frame) in frames.iter().enumerate() {
                let place = Place::Stopped(first + index);
                let number = shared.numbers.lock().of_frame(task, place);
                let mut row = shared.described_frame(frame, number);
                row["canRestart"] = (first + index == 0 && can_restart).into();
                rows.push(row);
            }
            let mut total = shown + first + own + usize::from(has_more);
            if !has_more {
                let start = stop.thread().debug_start_of_task(task);
                let start = shared.frames_of_start(start);
                let wake = stop.thread().debug_wake_of_task(task);
                let wake = shared.frames_of_wake(wake);
                total += wake.len();
                rows.extend(wake);
                total += start.len();
                rows.extend(start);
            }
            answer.give(Ok(json!({"stackFrames": rows, "totalFrames": total})));
            Next::Stay
        });
    }

    /// The stack of a task that runs or waits: that of its continuation.
    fn stack_of_waiting(&self, task: TaskKey, first: usize, count: usize) -> Result<Json, String> {
        let (found, start) = self.with_thread(|thread| {
            if first == 0 {
                self.forget_values(thread, task);
            }
            (
                self.frames_of_waiting(thread, task, first, count + 1),
                thread.debug_start_of_task(task),
            )
        })?;
        let (kept, mut frames) = found.ok_or("the task runs")?;
        let has_more = frames.len() > count;
        frames.truncate(count);
        let mut rows: Vec<Json> = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            let place = Place::Waiting(kept, first + index);
            let number = self.numbers.lock().of_frame(task, place);
            rows.push(self.described_frame(frame, number));
        }
        let mut total = first + rows.len() + usize::from(has_more);
        if !has_more {
            rows.extend(self.frames_of_start(start));
            total = first + rows.len();
        }
        Ok(json!({"stackFrames": rows, "totalFrames": total}))
    }

    /// The continuation of a task that waits, which is kept, and frames of it. Later pages of a stack are
    /// those of the same continuation.
    fn frames_of_waiting(
        &self,
        thread: &mut Thread,
        task: TaskKey,
        first: usize,
        count: usize,
    ) -> Option<(Kept, Vec<DebugFrame>)> {
        let known = self.numbers.lock().waiting(task);
        let continuation = match known {
            Some(kept) => thread.debug_kept(kept),
            None => thread.debug_continuation_of_task(task)?,
        };
        let place = thread.protect(continuation);
        let frames = thread.frames_of_continuation(continuation, first, count);
        let continuation = thread.protected(place);
        thread.release(place);
        let frames = frames?;
        let kept = match known {
            Some(kept) => kept,
            None => {
                let kept = self.keep(thread, continuation)?;
                self.numbers.lock().wait(task, kept);
                kept
            }
        };
        Some((kept, frames))
    }

    /// Rows that say where a task was started.
    fn frames_of_start(&self, start: Option<(TaskKey, Vec<DebugFrame>)>) -> Vec<Json> {
        let Some((starter, frames)) = start else {
            return Vec::new();
        };
        let label = format!("started by {}", name_of_number(thread_of(starter)));
        self.frames_of_other(&label, &frames)
    }

    /// Rows that say where another task has ended the last wait of a task.
    fn frames_of_wake(&self, wake: Option<Wake>) -> Vec<Json> {
        let Some(wake) = wake else {
            return Vec::new();
        };
        let mut label = format!("last woken by {}", name_of_number(thread_of(wake.waker)));
        if let Some(by) = wake.by {
            label.push_str(&format!(" in {by}"));
        }
        self.frames_of_other(&label, &wake.frames)
    }

    /// Rows of another task, which have no variables, behind one that says what they are.
    fn frames_of_other(&self, label: &str, frames: &[DebugFrame]) -> Vec<Json> {
        let mut rows = vec![json!({
            "id": 0,
            "name": label,
            "line": 0,
            "column": 0,
            "presentationHint": "label",
        })];
        let own = frames.iter().filter(|frame| !frame.is_library);
        rows.extend(own.map(|frame| self.described_frame(frame, 0)));
        rows
    }

    fn described_frame(&self, frame: &DebugFrame, number: i64) -> Json {
        let name = match frame.name.as_deref() {
            _ if frame.is_program => "the program",
            Some(name) => name,
            None => "an anonymous procedure",
        };
        let tails = frame
            .tail_callers
            .iter()
            .filter(|caller| !caller.is_library);
        let tails: Vec<&str> = tails
            .map(|caller| caller.name.as_deref().unwrap_or("an anonymous procedure"))
            .collect();
        let name = if tails.is_empty() {
            name.to_owned()
        } else {
            format!("{name} (by tail calls in {})", tails.join(", "))
        };
        let mut row = json!({"id": number, "name": name, "line": 0, "column": 0});
        let is_file = |position: &&Position| Path::new(&position.file).is_file();
        if let Some(listing) = &frame.listing
            && frame.position.as_ref().filter(is_file).is_none()
            && let Some(code) = (listing.0)()
        {
            row["line"] = self.line_for_client(code.line).into();
            row["column"] = self.column_for_client(1).into();
            row["source"] = self.source_of_listing(code);
        } else if let Some(position) = &frame.position {
            self.place(&mut row, position);
        }
        if let Some(address) = frame.address {
            row["instructionPointerReference"] = format!("{address:#x}").into();
        }
        if frame.is_library {
            row["presentationHint"] = "subtle".into();
        }
        row
    }

    pub fn place(&self, row: &mut Json, position: &Position) {
        row["source"] = self.source_of(&position.file);
        row["line"] = self.line_for_client(position.line).into();
        row["column"] = self.column_for_client(position.column).into();
        row["endLine"] = self.line_for_client(position.end_line).into();
        row["endColumn"] = self.column_for_client(position.end_column).into();
    }

    pub fn scopes(&self, request: &Request) -> Result<Json, String> {
        // Frames of the place where a task was started have no numbers.
        if request.arguments["frameId"] == 0 {
            return Ok(json!({"scopes": []}));
        }
        let number = request.arguments["frameId"].as_i64();
        let mut numbers = self.numbers.lock();
        let frame = number.and_then(|number| numbers.frame(number));
        let (task, frame) = frame.ok_or("there is no such frame")?;
        let scope = |name: &str, hint: &str, number: i64| {
            json!({
                "name": name,
                "presentationHint": hint,
                "variablesReference": number,
                "expensive": false,
            })
        };
        let locals = numbers.of_target(task, Target::Locals(frame));
        let captured = numbers.of_target(task, Target::Captured(frame));
        Ok(json!({"scopes": [
            scope("Local", "locals", locals),
            scope("Captured", "closure", captured),
        ]}))
    }
}
