//! The requests, by name.
//!
//! Those about a task that stands still are jobs for its thread. Breakpoints are set by a thread of the
//! machine that is there for the moment.

use std::path::Path;
use std::sync::Arc;

use canny_lib::debug::rerun::{UNKNOWN_PLACE, Way};
use canny_lib::debug::{self, Outcome, conditions, parts};
use canny_value::Value;
use canny_vm::debug::{
    Assignment, DebugFrame, Granularity, Kept, Resume, StepKind, Stop, TaskDescription, TaskKey,
    TaskState,
};
use canny_vm::{Position, Thread};
use serde_json::{Value as Json, json};

use crate::breakpoints::VARIABLE;
use crate::numbers::{Place, Target, Wanted};
use crate::output::{Answer, Request};
use crate::queues::{Evaluation, Finish, Next};
use crate::shared::Shared;
use crate::stops::{task_of, thread_of};

/// Frames that are sent if the client does not say how many.
const FRAMES_MAX: usize = 1000;
/// Largest heap that is walked for a list of tasks.
const SEARCHED_BYTES_MAX: u64 = 256 << 20;
/// Bytes of the text of a raised object.
const RAISED_BYTES: usize = 10_000;

/// Frames of the library that may be above the newest one of the program.
const LIBRARY_FRAMES_MAX: usize = 100;

impl Shared {
    /// Does what a request asks for.
    pub fn perform(self: &Arc<Shared>, request: &Request, answer: Answer) {
        match request.command.as_str() {
            "setBreakpoints" => {
                let result = self.with_thread(|thread| self.set_in_file(thread, request));
                answer.give(result.and_then(|result| result));
            }
            "setFunctionBreakpoints" => {
                let result = self.with_thread(|thread| self.set_in_procedures(thread, request));
                answer.give(result.and_then(|result| result));
            }
            "setExceptionBreakpoints" => {
                let result = self.with_thread(|thread| self.set_where_raised(thread, request));
                answer.give(result.and_then(|result| result));
            }
            "setDataBreakpoints" => {
                let result = self.with_thread(|thread| self.set_on_data(thread, request));
                answer.give(result.and_then(|result| result));
            }
            "dataBreakpointInfo" => self.data_info(request, answer),
            "threads" => answer.give(self.threads()),
            "loadedSources" => answer.give(self.loaded_sources()),
            "source" => answer.give(self.source(request)),
            "pause" => answer.give(self.pause(request)),
            "cancel" => answer.give(Ok(Json::Null)),
            "scopes" => answer.give(self.scopes(request)),
            "continue" | "next" | "stepIn" | "stepOut" => self.resume(request, answer),
            "stepBack" | "reverseContinue" => self.go_back(request, answer),
            "stackTrace" => self.stack(request, answer),
            "variables" => self.ask_for_parts(request, answer),
            "evaluate" => self.evaluate(request, answer),
            "setVariable" => self.set_variable(request, answer),
            "setExpression" => self.set_expression(request, answer),
            "completions" => self.complete(request, answer),
            "exceptionInfo" => self.exception(request, answer),
            "restartFrame" => self.restart(request, answer),
            other => answer.give(Err(format!("there is no request '{other}' here"))),
        }
    }

    fn threads(&self) -> Result<Json, String> {
        let tasks = self.searched_tasks()?;
        let mut rows: Vec<(i64, String)> = tasks
            .iter()
            .map(|task| (thread_of(task.key), name_of(task)))
            .collect();
        let stopped = self.tasks.lock().all_stopped();
        for number in stopped.into_iter().map(thread_of).chain([1]) {
            if rows.iter().all(|(known, _)| *known != number) {
                rows.push((number, name_of_number(number)));
            }
        }
        rows.sort();
        let rows: Vec<Json> = rows
            .into_iter()
            .map(|(number, name)| json!({"id": number, "name": name}))
            .collect();
        Ok(json!({"threads": rows}))
    }

    fn loaded_sources(&self) -> Result<Json, String> {
        let vm = self.machine.upgrade().ok_or("the program has ended")?;
        let names = vm.source_names();
        let sources: Vec<Json> = names.iter().map(|name| self.source_of(name)).collect();
        Ok(json!({"sources": sources}))
    }

    /// A file for the client. A text without a file is asked for by its name.
    fn source_of(&self, name: &str) -> Json {
        let path = Path::new(name);
        let short = path
            .file_name()
            .map_or(name.into(), |name| name.to_string_lossy());
        match std::path::absolute(path) {
            Ok(whole) if path.is_file() => {
                json!({"name": short, "path": whole.to_string_lossy()})
            }
            _ => json!({
                "name": short,
                "path": name,
                "sourceReference": self.number_of_source(name),
                "presentationHint": "deemphasize",
            }),
        }
    }

    fn source(&self, request: &Request) -> Result<Json, String> {
        let named = request.arguments["sourceReference"].as_i64();
        let named = named.filter(|number| *number > 0);
        let named = named.or_else(|| request.arguments["source"]["sourceReference"].as_i64());
        let name = named.and_then(|number| self.name_of_source(number));
        let text = name.and_then(|name| self.source_text(&name));
        let text = text.ok_or("the text is not in the program")?;
        Ok(json!({"content": text, "mimeType": "text/x-scheme"}))
    }

    fn pause(&self, request: &Request) -> Result<Json, String> {
        let task = task_of(request.number("threadId")?);
        let vm = self.machine.upgrade().ok_or("the program has ended")?;
        self.tasks.lock().ask(task);
        vm.debugger().pause(task);
        if task == TaskKey(Some(0)) {
            self.tasks.lock().ask(TaskKey(None));
            vm.debugger().pause(TaskKey(None));
        }
        // A task that waits stops when it goes on; until then its stack can be looked at.
        let tasks = self.searched_tasks()?;
        let waiting = tasks
            .iter()
            .find(|one| one.key == task && one.state != TaskState::Running);
        if let Some(waiting) = waiting {
            self.tasks.lock().park(task);
            self.output.event(
                "stopped",
                json!({
                    "reason": "pause",
                    "description": name_of(waiting),
                    "threadId": thread_of(task),
                    "allThreadsStopped": false,
                }),
            );
        }
        Ok(Json::Null)
    }

    /// The tasks, if the heap is small enough to be walked.
    fn searched_tasks(&self) -> Result<Vec<TaskDescription>, String> {
        let vm = self.machine.upgrade().ok_or("the program has ended")?;
        let is_small = vm.heap().statistics().bytes_in_use as u64 <= SEARCHED_BYTES_MAX;
        drop(vm);
        if !is_small {
            return Ok(Vec::new());
        }
        self.with_thread(|thread| thread.debug_tasks())
    }

    fn resume(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let task = match request.number("threadId") {
            Ok(thread) => task_of(thread),
            Err(message) => return answer.give(Err(message)),
        };
        if self.tasks.lock().unpark(task) {
            let vm = self.machine.upgrade();
            if let Some(vm) = vm.filter(|_| request.command == "continue") {
                vm.debugger().cancel_pause(task);
                return answer.give(Ok(json!({"allThreadsContinued": false})));
            }
            // It stops when it goes on, which is a step of its own.
            return answer.give(Ok(Json::Null));
        }
        let granularity = match request.arguments["granularity"].as_str() {
            Some("instruction") => Granularity::Expression,
            _ => Granularity::Line,
        };
        let resume = match request.command.as_str() {
            "next" => Resume::Step(StepKind::Over, granularity),
            "stepIn" => Resume::Step(StepKind::In, granularity),
            "stepOut" => Resume::Step(StepKind::Out, granularity),
            _ => Resume::Continue,
        };
        let is_alone = request.arguments["singleThread"] == true;
        let stops_all = self.settings.lock().stops_all && !is_alone;
        if stops_all {
            self.resume_others(task);
        }
        let body = match resume {
            Resume::Continue => json!({"allThreadsContinued": stops_all}),
            _ => Json::Null,
        };
        self.ask_task(task, answer, move |_, _, answer| {
            answer.give(Ok(body));
            Next::Resume(resume)
        });
    }

    /// Runs a replay anew, to an earlier place.
    fn go_back(self: &Arc<Shared>, request: &Request, answer: Answer) {
        if self.replay.get().is_none() {
            let text = "only a recording that is replayed goes backwards";
            return answer.give(Err(text.to_owned()));
        }
        let task = match request.number("threadId") {
            Ok(thread) => task_of(thread),
            Err(message) => return answer.give(Err(message)),
        };
        let is_fine = request.arguments["granularity"] == "instruction";
        let way = match request.command.as_str() {
            "reverseContinue" => Way::Continue,
            _ if is_fine => Way::Step,
            _ => Way::Next,
        };
        self.ask_task(task, answer, move |shared, stop, answer| {
            let known = shared.breakpoints.lock().in_order();
            let replay = shared.replay.get();
            if !replay.is_some_and(|replay| replay.rerun.knows_place(&known)) {
                answer.give(Err(UNKNOWN_PLACE.to_owned()));
                return Next::Stay;
            }
            answer.give(Ok(Json::Null));
            let frames = stop.frames(0, LIBRARY_FRAMES_MAX);
            let frame = frames.iter().position(|frame| !frame.is_library);
            if let Some(replay) = replay {
                let (rerun, frame) = (&replay.rerun, frame.unwrap_or(0));
                let message = rerun.go_back(stop, frame, way, &known, &**shared);
                shared.output.say("console", &message);
            }
            Next::Stay
        });
    }

    /// Tasks that stand still for the sake of one go on with it.
    fn resume_others(&self, task: TaskKey) {
        let leader = self.key_of(task);
        if let Some(vm) = self.machine.upgrade() {
            vm.debugger().pause_all(false);
        }
        let mut tasks = self.tasks.lock();
        tasks.lead(None);
        for other in tasks.all_stopped() {
            if other != leader {
                let job = Box::new(|_: &mut Stop<'_>| Next::Resume(Resume::Continue));
                // One that has gone on needs no job.
                let _ = tasks.put(other, job);
            }
        }
    }

    fn restart(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let Some((task, frame)) = self.frame_of(request, "frameId") else {
            return answer.give(Err("there is no such frame".to_owned()));
        };
        self.ask_task(task, answer, move |_, stop, answer| {
            if frame > 0 || !stop.can_restart() {
                let message = "the frame cannot begin again: it is not the newest one, or its \
                               arguments are gone";
                answer.give(Err(message.to_owned()));
                return Next::Stay;
            }
            answer.give(Ok(Json::Null));
            Next::Resume(Resume::Restart)
        });
    }

    fn frame_of(&self, request: &Request, name: &str) -> Option<(TaskKey, usize)> {
        let number = request.arguments[name].as_i64()?;
        match self.numbers.lock().frame(number)? {
            (task, Place::Stopped(frame)) => Some((task, frame)),
            (_, Place::Waiting(..)) => None,
        }
    }

    fn stack(self: &Arc<Shared>, request: &Request, answer: Answer) {
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
            let mut frames = stop.frames(first, count + 1);
            let has_more = frames.len() > count;
            frames.truncate(count);
            let can_restart = stop.can_restart();
            let mut rows: Vec<Json> = Vec::new();
            for (index, frame) in frames.iter().enumerate() {
                let place = Place::Stopped(first + index);
                let number = shared.numbers.lock().of_frame(task, place);
                let mut row = shared.described_frame(frame, number);
                row["canRestart"] = (first + index == 0 && can_restart).into();
                rows.push(row);
            }
            let mut total = first + rows.len() + usize::from(has_more);
            if !has_more {
                let start = stop.thread().debug_start_of_task(task);
                rows.extend(shared.frames_of_start(start));
                total = first + rows.len();
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
        let mut rows = vec![json!({
            "id": 0,
            "name": format!("started by {}", name_of_number(thread_of(starter))),
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
        if let Some(position) = &frame.position {
            self.place(&mut row, position);
        }
        if frame.is_library {
            row["presentationHint"] = "subtle".into();
        }
        row
    }

    fn place(&self, row: &mut Json, position: &Position) {
        row["source"] = self.source_of(&position.file);
        row["line"] = self.line_for_client(position.line).into();
        row["column"] = self.column_for_client(position.column).into();
        row["endLine"] = self.line_for_client(position.end_line).into();
        row["endColumn"] = self.column_for_client(position.end_column).into();
    }

    fn scopes(&self, request: &Request) -> Result<Json, String> {
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

    fn ask_for_parts(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let number = request.arguments["variablesReference"].as_i64();
        let found = number.and_then(|number| self.numbers.lock().target(number));
        let Some((task, target)) = found else {
            return answer.give(Err("the value is no longer known".to_owned()));
        };
        let filter = request.arguments["filter"].as_str();
        let wanted = Wanted::of(filter, request.count("start"), request.count("count"));
        let is_waiting = match target {
            Target::Locals(place) | Target::Captured(place) => {
                matches!(place, Place::Waiting(..))
            }
            Target::Value(_) => !self.tasks.lock().is_stopped(task),
        };
        if is_waiting {
            let parts = self.with_thread(|thread| {
                let mark = thread.protect(Value::FALSE);
                let parts = self.parts_of_waiting(thread, task, target, wanted);
                thread.release(mark);
                parts
            });
            return answer.give(parts.map(|parts| json!({"variables": parts})));
        }
        self.ask_task(task, answer, move |shared, stop, answer| {
            let parts = shared.parts(stop, target, wanted);
            answer.give(Ok(json!({"variables": parts})));
            Next::Stay
        });
    }

    fn evaluate(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let text = match request.text("expression") {
            Ok(text) => text.to_owned(),
            Err(message) => return answer.give(Err(message)),
        };
        let context = request.arguments["context"].as_str().unwrap_or_default();
        let (is_hover, is_whole) = (context == "hover", context == "clipboard");
        let place = match request.arguments["frameId"].as_i64() {
            Some(_) => self.frame_of(request, "frameId"),
            None => self.tasks.lock().any_stopped().map(|task| (task, 0)),
        };
        let Some((task, frame)) = place else {
            return answer.give(Err("no task stands still there".to_owned()));
        };
        self.ask_task(task, answer, move |shared, stop, answer| {
            if let Some(value) = stop.value(frame, text.trim()) {
                answer.give(Ok(result(shared.described(stop, value, is_whole))));
                return Next::Stay;
            }
            if is_hover && text.contains(['(', '\'', '"', '#']) {
                answer.give(Err("only names are evaluated there".to_owned()));
                return Next::Stay;
            }
            begin(
                shared,
                stop,
                (frame, &text),
                answer,
                move |shared, stop, outcome| {
                    shared
                        .described_outcome(stop, outcome, is_whole)
                        .map(result)
                },
            )
        });
    }

    /// The value of an expression for the client, or why there is none.
    fn described_outcome(
        &self,
        stop: &mut Stop<'_>,
        outcome: Outcome,
        is_whole: bool,
    ) -> Result<Json, String> {
        for (name, assignment) in &outcome.assigned {
            if let Some(sentence) = complaint(*assignment) {
                self.output.say("console", &format!("{name} {sentence}"));
            }
        }
        match outcome.value {
            Ok(value) => Ok(self.described(stop, value, is_whole)),
            Err(raised) => {
                let text = parts::brief(stop.thread(), raised, RAISED_BYTES);
                Err(format!("raised: {text}"))
            }
        }
    }

    fn set_variable(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let number = request.arguments["variablesReference"].as_i64();
        let found = number.and_then(|number| self.numbers.lock().target(number));
        let (Ok(name), Ok(value)) = (request.text("name"), request.text("value")) else {
            return answer.give(Err("'setVariable' wants a name and a value".to_owned()));
        };
        let (name, text) = (name.to_owned(), format!("(set! {} {})", name, value));
        match found {
            Some((task, Target::Locals(place) | Target::Captured(place))) => match place {
                Place::Stopped(frame) => self.assign(task, frame, name, text, answer),
                Place::Waiting(..) => answer.give(Err("the task does not stand still".to_owned())),
            },
            Some(_) => answer.give(Err("only variables can be changed so".to_owned())),
            None => answer.give(Err("the value is no longer known".to_owned())),
        }
    }

    fn set_expression(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let Some((task, frame)) = self.frame_of(request, "frameId") else {
            return answer.give(Err("there is no such frame".to_owned()));
        };
        let (Ok(name), Ok(value)) = (request.text("expression"), request.text("value")) else {
            return answer.give(Err("'setExpression' wants two texts".to_owned()));
        };
        let (name, text) = (name.to_owned(), format!("(set! {} {})", name, value));
        self.assign(task, frame, name, text, answer);
    }

    /// Evaluates an assignment and gives the new value of the variable.
    fn assign(
        self: &Arc<Shared>,
        task: TaskKey,
        frame: usize,
        name: String,
        text: String,
        answer: Answer,
    ) {
        self.ask_task(task, answer, move |shared, stop, answer| {
            begin(
                shared,
                stop,
                (frame, &text),
                answer,
                move |shared, stop, outcome| {
                    let own = outcome.assigned.iter().find(|(one, _)| *one == name);
                    let failed = own.and_then(|(_, assignment)| match assignment {
                        Assignment::Done | Assignment::DoneInFrame => None,
                        other => complaint(*other),
                    });
                    if let Some(sentence) = failed {
                        return Err(format!("{name} {sentence}"));
                    }
                    let mut described = shared.described_outcome(stop, outcome, false)?;
                    if let Some(value) = stop.value(frame, &name) {
                        described = shared.described(stop, value, false);
                    }
                    described["value"] = described["text"].take();
                    Ok(without_text(described))
                },
            )
        });
    }

    /// Whether a variable can be watched: those of the program and of libraries can.
    fn data_info(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let Ok(name) = request.text("name").map(str::to_owned) else {
            return answer.give(Err("'dataBreakpointInfo' wants a name".to_owned()));
        };
        let none = |why: &str| Ok(json!({"dataId": null, "description": why}));
        let is_part = request.arguments["variablesReference"].as_i64();
        let target = is_part.and_then(|number| self.numbers.lock().target(number));
        if is_part.is_some_and(|number| number > 0) || target.is_some() {
            return answer.give(none("only variables of the program can be watched"));
        }
        let found = json!({
            "dataId": format!("{VARIABLE}{name}"),
            "description": format!("assignments of {name}"),
            "accessTypes": ["write"],
        });
        match self.frame_of(request, "frameId") {
            None => answer.give(Ok(found)),
            Some((task, frame)) => self.ask_task(task, answer, move |_, stop, answer| {
                let is_local = stop.variables(frame).iter().any(|one| one.name == name);
                answer.give(if is_local {
                    none("a variable of a procedure cannot be watched")
                } else {
                    Ok(found)
                });
                Next::Stay
            }),
        }
    }

    fn complete(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let text = request.arguments["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let column = request.arguments["column"].as_i64().unwrap_or(1);
        let first_column = self.column_for_client(1);
        let end = usize::try_from(column - first_column).unwrap_or(0);
        let Some((task, frame)) = self.frame_of(request, "frameId") else {
            return answer.give(Ok(json!({"targets": []})));
        };
        self.ask_task(task, answer, move |_, stop, answer| {
            let typed: String = text.chars().take(end).collect();
            let begin = typed.rfind(|one: char| one.is_whitespace() || "()'`,\"".contains(one));
            let prefix = &typed[begin.map_or(0, |at| at + 1)..];
            let length = prefix.chars().count();
            let mut names: Vec<String> = stop
                .variables(frame)
                .into_iter()
                .map(|variable| variable.name)
                .collect();
            names.extend(debug::names_in_force(stop, frame));
            names.retain(|name| name.starts_with(prefix));
            names.sort();
            names.dedup();
            let targets: Vec<Json> = names
                .into_iter()
                .map(|name| {
                    json!({
                        "label": name,
                        "start": end - length.min(end),
                        "length": length,
                        "type": "variable",
                    })
                })
                .collect();
            answer.give(Ok(json!({"targets": targets})));
            Next::Stay
        });
    }

    fn exception(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let task = match request.number("threadId") {
            Ok(thread) => task_of(thread),
            Err(message) => return answer.give(Err(message)),
        };
        self.ask_task(task, answer, move |shared, stop, answer| {
            if !shared.is_at_raise(stop) {
                answer.give(Err("the task does not raise anything".to_owned()));
                return Next::Stay;
            }
            let raised = stop.raised();
            let kind = conditions::kind_of_raised(raised);
            let text = parts::brief(stop.thread(), raised, RAISED_BYTES);
            let mode = if stop.has_handlers() {
                "always"
            } else {
                "unhandled"
            };
            answer.give(Ok(json!({
                "exceptionId": kind,
                "description": text,
                "breakMode": mode,
                "details": {"message": text, "typeName": kind},
            })));
            Next::Stay
        });
    }
}

/// Has a task evaluate an expression, and answers with what is shown of its outcome.
fn begin(
    shared: &Arc<Shared>,
    stop: &mut Stop<'_>,
    (frame, text): (usize, &str),
    answer: Answer,
    show: impl FnOnce(&Shared, &mut Stop<'_>, Outcome) -> Result<Json, String> + Send + 'static,
) -> Next {
    match debug::begin(stop, frame, text) {
        Ok((resume, expression)) => {
            let shared = shared.clone();
            let finish: Finish = Box::new(move |stop, outcome| {
                answer.give(show(&shared, stop, outcome));
            });
            let evaluation = Evaluation {
                expression,
                finish,
                is_interrupted: false,
            };
            Next::Evaluate(resume, evaluation)
        }
        Err(message) => {
            answer.give(Err(message));
            Next::Stay
        }
    }
}

fn result(described: Json) -> Json {
    let mut described = described;
    described["result"] = described["text"].take();
    without_text(described)
}

fn without_text(mut described: Json) -> Json {
    if let Some(object) = described.as_object_mut() {
        object.remove("text");
    }
    described
}

/// A sentence about an assignment that was not made, or not everywhere.
fn complaint(assignment: Assignment) -> Option<&'static str> {
    match assignment {
        Assignment::Done => None,
        Assignment::DoneInFrame => Some("was changed for this frame; closures keep what they had"),
        Assignment::Gone => Some("was not changed: the code has let go of it"),
        Assignment::NeverAssigned => Some("was not changed: the program never assigns it"),
        Assignment::InContinuation => Some("was not changed: the frame is in a continuation"),
    }
}

fn name_of(task: &TaskDescription) -> String {
    let number = thread_of(task.key);
    let name = match &task.name {
        Some(name) if number > 1 => format!("task {} ({name})", number - 1),
        _ => name_of_number(number),
    };
    let owner = task.owner.map(thread_of).map(name_of_number);
    match (&task.state, &task.waits_for, owner) {
        (TaskState::Waiting, Some(what), Some(owner)) => {
            format!("{name}: waits for {what}, which {owner} has")
        }
        (TaskState::Waiting, Some(what), None) => format!("{name}: waits for {what}"),
        (TaskState::Ready, ..) => format!("{name}: ready"),
        _ => name,
    }
}

fn name_of_number(number: i64) -> String {
    match number {
        1 => "main".to_owned(),
        other => format!("task {}", other - 1),
    }
}
