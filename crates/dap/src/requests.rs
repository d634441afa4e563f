//! The requests, by name, and those about tasks and sources.
//!
//! Those about a task that stands still are jobs for its thread. Breakpoints are set by a thread of the
//! machine that is there for the moment.

use std::path::Path;
use std::sync::Arc;

use canny_lib::debug::rerun::{UNKNOWN_PLACE, Way};
use canny_vm::debug::{Granularity, Resume, StepKind, Stop, TaskDescription, TaskKey, TaskState};
use serde_json::{Value as Json, json};

use crate::numbers::{Place, Target};
use crate::output::{Answer, Request};
use crate::progress;
use crate::queues::Next;
use crate::shared::Shared;
use crate::stops::{task_of, thread_of};

/// Largest heap that is walked for a list of tasks.
const SEARCHED_BYTES_MAX: u64 = 256 << 20;
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
            "cancel" => answer.give(self.cancel(request)),
            "scopes" => answer.give(self.scopes(request)),
            "continue" | "next" | "stepIn" | "stepOut" => self.resume(request, answer),
            "stepBack" | "reverseContinue" => self.go_back(request, answer),
            "stackTrace" => self.stack(request, answer),
            "variables" => self.ask_for_parts(request, answer),
            "evaluate" => self.evaluate(request, answer),
            "setVariable" => self.set_variable(request, answer),
            "setExpression" => self.set_expression(request, answer),
            "completions" => self.complete(request, answer),
            "readMemory" => self.read_memory(request, answer),
            "writeMemory" => self.write_memory(request, answer),
            "disassemble" => answer.give(self.disassemble(request)),
            "stepInTargets" => self.calls_of_line(request, answer),
            "gotoTargets" => self.places_of_line(request, answer),
            "goto" => self.go_to(request, answer),
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
    pub fn source_of(&self, name: &str) -> Json {
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

    /// `cancel`: an expression that is being evaluated ends with an error.
    fn cancel(&self, request: &Request) -> Result<Json, String> {
        let number = request.arguments["requestId"].as_i64();
        let named = request.arguments["progressId"].as_str();
        let number = number.or_else(|| named.and_then(progress::request_of));
        let number = number.ok_or("'cancel' wants the number of a request")?;
        let task = self.tasks.lock().cancel(number);
        if let Some(task) = task
            && let Some(vm) = self.machine.upgrade()
        {
            // It is told where it stands in code of its own.
            vm.debugger().pause(task);
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
            "stepIn" => match request.arguments["targetId"].as_i64() {
                Some(target) => match self.target_of_step(target) {
                    Some(Target::Instruction(index)) => Resume::Into(index),
                    Some(Target::Expansion(id)) => Resume::EnterExpansion(id),
                    _ => {
                        return answer.give(Err("there is no such call any more".to_owned()));
                    }
                },
                None => Resume::Step(StepKind::In, granularity),
            },
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
        self.ask_task(task, answer, move |shared, stop, answer| {
            if let Resume::EnterExpansion(id) = resume {
                return shared.enter_expansion(stop, id, answer);
            }
            let resume = shared.in_expansion(stop, resume);
            answer.give(Ok(body));
            Next::Resume(resume)
        });
    }

    fn target_of_step(&self, number: i64) -> Option<Target> {
        self.numbers.lock().target(number).map(|(_, target)| target)
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

    pub fn frame_of(&self, request: &Request, name: &str) -> Option<(TaskKey, usize)> {
        let number = request.arguments[name].as_i64()?;
        match self.numbers.lock().frame(number)? {
            (task, Place::Stopped(frame)) => Some((task, frame)),
            (_, Place::Waiting(..)) => None,
        }
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

pub fn name_of_number(number: i64) -> String {
    match number {
        1 => "main".to_owned(),
        other => format!("task {}", other - 1),
    }
}
