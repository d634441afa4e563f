//! The stops of tasks: each does what the client asks of it, in its own thread, until it goes on.
//!
//! A stop is told to the client, unless it is the end of an expression that the client has asked for.

use std::sync::Arc;

use canny_lib::debug;
use canny_value::Value;
use canny_vm::debug::{Client, Reason, Resume, Stop, TaskKey};
use serde_json::json;

use crate::output::Answer;
use crate::queues::{Job, Next};
use crate::shared::Shared;

impl Client for Shared {
    fn shows_wakes(&self) -> bool {
        true
    }

    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let task = stop.task();
        if let Some(replay) = self.replay.get()
            && stop.argument() == Value::FALSE
        {
            let known = self.breakpoints.lock().in_order();
            if let Some(resume) = replay.rerun.meet(stop, &known, self) {
                return resume;
            }
        }
        let evaluated = if stop.argument() == Value::FALSE {
            None
        } else {
            self.tasks.lock().take_evaluation(task)
        };
        self.tasks.lock().forget_escaped(task, stop.pending_calls());
        let is_cancelled = evaluated.is_none() && self.tasks.lock().is_cancelled(task);
        if is_cancelled && stop.reason() == Reason::Step {
            let text = "the debugger has cancelled the expression";
            return Resume::Raise(stop.thread().condition("cancelled", text, &[], None));
        }
        let Some(receiver) = self.tasks.lock().begin(task) else {
            if self.tasks.lock().is_over() {
                stop.debugger().set_client(None);
            }
            return Resume::Continue;
        };
        match evaluated {
            Some(evaluation) => {
                let outcome = debug::end(stop, &evaluation.expression);
                (evaluation.finish)(stop, outcome);
                drop(evaluation.progress);
                if evaluation.is_interrupted {
                    self.announce(stop);
                }
            }
            None if self.is_silent(stop) => {}
            None => self.announce(stop),
        }
        if !self.tasks.lock().is_stopped(task) {
            return Resume::Continue;
        }
        loop {
            let Ok(job) = stop.wait(|| receiver.recv()) else {
                self.forget_values(stop.thread(), task);
                return Resume::Continue;
            };
            // Values that the job protects are needed no longer than the job.
            let mark = stop.thread().protect(Value::FALSE);
            let next = job(stop);
            stop.thread().release(mark);
            match next {
                Next::Stay => {}
                Next::Evaluate(resume, evaluation) => {
                    let mut tasks = self.tasks.lock();
                    let is_cancelled = tasks.evaluate(task, evaluation, receiver);
                    drop(tasks);
                    if is_cancelled {
                        stop.debugger().pause(task);
                    }
                    return resume;
                }
                Next::Resume(resume) => {
                    self.forget_values(stop.thread(), task);
                    let is_step = matches!(
                        resume,
                        Resume::Step(..)
                            | Resume::Into(_)
                            | Resume::StepExpanded(..)
                            | Resume::EnterExpansion(_)
                            | Resume::LeaveExpansion(_)
                    );
                    let reason = match resume {
                        Resume::Jump(_) => Some("goto"),
                        _ => is_step.then_some("step"),
                    };
                    if let Some(replay) = self.replay.get() {
                        replay.rerun.go_on(stop, is_step);
                    }
                    self.tasks.lock().end(task, reason);
                    return resume;
                }
            }
        }
    }
}

impl Shared {
    /// Whether a task has stopped for the sake of another one only. If that has gone on meanwhile, the task
    /// does too.
    fn is_silent(&self, stop: &Stop<'_>) -> bool {
        let settings = *self.settings.lock();
        if !settings.stops_all || settings.stops_on_entry || stop.reason() != Reason::Step {
            return false;
        }
        let task = stop.task();
        let mut tasks = self.tasks.lock();
        let follows = tasks.follows(task);
        if follows == Some(false) {
            tasks.end(task, None);
        }
        follows.is_some()
    }

    /// Tells the client that a task has stopped.
    fn announce(&self, stop: &mut Stop<'_>) {
        let task = stop.task();
        self.forget_waiting(stop.thread());
        let stops_all = self.settings.lock().stops_all;
        stop.debugger().pause_all(stops_all);
        let step = {
            let mut tasks = self.tasks.lock();
            tasks.lead(stops_all.then_some(task));
            tasks.interrupt(task);
            tasks.take_step(task)
        };
        self.tell_new_places(stop);
        let mut body = json!({
            "threadId": thread_of(task),
            "allThreadsStopped": stops_all,
            "preserveFocusHint": false,
        });
        match stop.reason() {
            Reason::Step => {
                let reason = match step {
                    Some(reason) => reason,
                    None if self.take_entry() => "entry",
                    None if self.replay.get().is_some() => "step",
                    None => "pause",
                };
                body["reason"] = reason.into();
            }
            Reason::Breakpoints(ids) => {
                let (reason, text) = self.reason_of_breakpoints(stop, &ids);
                let description = match reason.as_str() {
                    "exception" => Some("Paused where an object is raised"),
                    "task start" => Some("Paused where a task begins"),
                    "task end" => Some("Paused where a task has ended"),
                    _ => None,
                };
                body["reason"] = match step {
                    Some("goto") => "goto".into(),
                    _ => reason.into(),
                };
                if let Some(text) = text {
                    body["text"] = text.into();
                }
                if let Some(description) = description {
                    body["description"] = description.into();
                }
                let ids: Vec<u32> = ids.iter().map(|id| id.0).collect();
                body["hitBreakpointIds"] = ids.into();
            }
        }
        self.output.event("stopped", body);
    }

    /// Tells the client that a step has ended where the task stood.
    pub fn announce_step(&self, stop: &Stop<'_>) {
        self.output.event(
            "stopped",
            json!({
                "reason": "step",
                "threadId": thread_of(stop.task()),
                "allThreadsStopped": self.settings.lock().stops_all,
                "preserveFocusHint": false,
            }),
        );
    }

    /// Has a task that stands still do a job for a request. If it runs, the answer says so.
    pub fn ask_task(
        self: &Arc<Shared>,
        task: TaskKey,
        answer: Answer,
        job: impl FnOnce(&Arc<Shared>, &mut Stop<'_>, Answer) -> Next + Send + 'static,
    ) {
        let shared = self.clone();
        let job: Job = Box::new(move |stop| job(&shared, stop, answer));
        // A job that is not done is dropped, and with it the duty to answer.
        let key = self.key_of(task);
        let refused = self.tasks.lock().put(key, job);
        drop(refused);
    }

    /// The main program has two keys: none before tasks are used, and a number from then on.
    pub fn key_of(&self, task: TaskKey) -> TaskKey {
        let tasks = self.tasks.lock();
        match task {
            TaskKey(Some(0)) if !tasks.is_stopped(task) => TaskKey(None),
            other => other,
        }
    }
}

/// The number of a task for the client.
pub fn thread_of(task: TaskKey) -> i64 {
    task.0.unwrap_or(0).saturating_add(1)
}

/// The task of such a number.
pub fn task_of(thread: i64) -> TaskKey {
    TaskKey(Some(thread.saturating_sub(1)))
}
