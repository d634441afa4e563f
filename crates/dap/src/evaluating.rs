//! Expressions in frames, assignments, names to complete, and raised objects.
//!
//! An expression is evaluated by the task itself, which stops again behind it: the answer is given then.

use std::sync::Arc;

use canny_lib::debug::{self, Outcome, conditions, parts};
use canny_vm::debug::{Assignment, Kept, Stop, TaskKey};
use serde_json::{Value as Json, json};

use crate::numbers::{Place, Target};
use crate::output::{Answer, Request};
use crate::progress::Progress;
use crate::queues::{Evaluation, Finish, Next};
use crate::shared::Shared;
use crate::stops::task_of;

/// Bytes of the text of a raised object.
const RAISED_BYTES: usize = 10_000;

impl Shared {
    pub fn evaluate(self: &Arc<Shared>, request: &Request, answer: Answer) {
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
    pub fn described_outcome(
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
                let text = conditions::text_of_raised(stop.thread(), raised, RAISED_BYTES);
                Err(format!("raised: {text}"))
            }
        }
    }

    pub fn set_variable(self: &Arc<Shared>, request: &Request, answer: Answer) {
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
            Some((task, Target::Value(kept))) => {
                let text = request.text("value").unwrap_or_default().to_owned();
                self.assign_part(task, kept, (name, text), answer);
            }
            Some((_, Target::Instruction(_) | Target::Expansion(_))) | None => {
                answer.give(Err("the value is no longer known".to_owned()))
            }
        }
    }

    pub fn set_expression(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let Some((task, frame)) = self.frame_of(request, "frameId") else {
            return answer.give(Err("there is no such frame".to_owned()));
        };
        let (Ok(name), Ok(value)) = (request.text("expression"), request.text("value")) else {
            return answer.give(Err("'setExpression' wants two texts".to_owned()));
        };
        let (name, text) = (name.to_owned(), format!("(set! {} {})", name, value));
        self.assign(task, frame, name, text, answer);
    }

    /// Evaluates an expression and stores its value in a part of a value.
    fn assign_part(
        self: &Arc<Shared>,
        task: TaskKey,
        kept: Kept,
        (name, text): (String, String),
        answer: Answer,
    ) {
        self.ask_task(task, answer, move |shared, stop, answer| {
            let value = stop.thread().debug_kept(kept);
            if parts::part_name(stop.thread(), value, &name).is_none() {
                let text = format!("{name} cannot be changed: it is no element, field or half");
                answer.give(Err(text));
                return Next::Stay;
            }
            begin(
                shared,
                stop,
                (0, &text),
                answer,
                move |shared, stop, outcome| {
                    let new = outcome.value;
                    let described = shared.described_outcome(stop, outcome, false)?;
                    let thread = stop.thread();
                    let value = thread.debug_kept(kept);
                    let part = parts::part_name(thread, value, &name);
                    let (object, part) = part.ok_or("the value has changed meanwhile")?;
                    if let Ok(new) = new {
                        thread.debug_set_part(object, part, new)?;
                    }
                    let mut described = described;
                    described["value"] = described["text"].take();
                    Ok(without_text(described))
                },
            )
        });
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

    pub fn complete(self: &Arc<Shared>, request: &Request, answer: Answer) {
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

    pub fn exception(self: &Arc<Shared>, request: &Request, answer: Answer) {
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
            let (number, progress) = (answer.number(), shared.clone());
            let shared = shared.clone();
            let finish: Finish = Box::new(move |stop, outcome| {
                answer.give(show(&shared, stop, outcome));
            });
            let shows = progress.settings.lock().shows_progress;
            let title = format!("Evaluating {text}");
            let evaluation = Evaluation {
                expression,
                finish,
                request: number,
                is_interrupted: false,
                is_cancelled: false,
                progress: shows
                    .then(|| Progress::begin(&progress.output, number, &title))
                    .flatten(),
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
