//! Breakpoints of the client: of files, of procedures, and where objects are raised.
//!
//! The client replaces all breakpoints of a file at once. One whose code is not loaded yet is told of
//! again when a task stops and the code is there.

use std::sync::Arc;

use canny_lib::debug::conditions::{self, HitCount, Sink, Wishes};
use canny_lib::debug::parts;
use canny_vm::Thread;
use canny_vm::debug::{Breakpoint, BreakpointId, Location, Stop};
use serde_json::{Value as Json, json};

use crate::output::Request;
use crate::shared::Shared;

/// Bytes of the text of a raised object.
const RAISED_BYTES: usize = 1000;
/// Bytes of the text of a value that is changed.
const CHANGE_BYTES: usize = 100;

/// The conditions that a request wishes, or what is wrong with them.
fn wishes_of(wish: &Json) -> Result<Wishes, String> {
    let text = |name: &str| {
        let text = wish[name].as_str().map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    Ok(Wishes {
        condition: text("condition"),
        hits: text("hitCondition")
            .map(|text| HitCount::read(&text))
            .transpose()?,
        message: text("logMessage"),
    })
}

impl Shared {
    fn sink(self: &Arc<Shared>) -> Sink {
        let output = self.output.clone();
        Arc::new(move |text: &str| output.say("console", text))
    }

    /// Sets a breakpoint, and describes it.
    fn set(
        self: &Arc<Shared>,
        thread: &mut Thread,
        location: Location,
        wish: &Json,
    ) -> (Option<BreakpointId>, Json) {
        let wishes = match wishes_of(wish) {
            Ok(wishes) => wishes,
            Err(message) => return (None, json!({"verified": false, "message": message})),
        };
        let breakpoint = Breakpoint {
            condition: conditions::condition(&wishes, self.sink()),
            ..Breakpoint::new(location)
        };
        let id = thread.set_breakpoint(breakpoint);
        (Some(id), self.described_breakpoint(thread, id))
    }

    fn described_breakpoint(&self, thread: &Thread, id: BreakpointId) -> Json {
        let state = thread.vm().debugger().breakpoint(id).unwrap_or_default();
        let is_there = state.places > 0;
        let mut waiting = self.breakpoints.lock();
        waiting.waiting.retain(|other| *other != id);
        let mut described = json!({"id": id.0, "verified": is_there});
        if is_there {
            if let Some(line) = state.line {
                described["line"] = self.line_for_client(line).into();
            }
        } else {
            waiting.waiting.push(id);
            described["message"] = "no code is loaded yet that belongs to it".into();
            described["reason"] = "pending".into();
        }
        described
    }

    /// `setBreakpoints`: all of a file.
    pub fn set_in_file(
        self: &Arc<Shared>,
        thread: &mut Thread,
        request: &Request,
    ) -> Result<Json, String> {
        let source = &request.arguments["source"];
        let path = source["path"].as_str().or_else(|| source["name"].as_str());
        let path = path.ok_or("the source has no path")?.to_owned();
        let old = self.breakpoints.lock().by_file.remove(&path);
        for id in old.into_iter().flatten() {
            thread.remove_breakpoint(id);
        }
        let wishes = request.arguments["breakpoints"].as_array();
        let mut ids = Vec::new();
        let mut described = Vec::new();
        for wish in wishes.into_iter().flatten() {
            let Some(line) = self.line_of_client(&wish["line"]) else {
                described.push(json!({"verified": false, "message": "the line is no number"}));
                continue;
            };
            let file = path.clone();
            let (id, mut row) = self.set(thread, Location::Line { file, line }, wish);
            row["source"] = source.clone();
            if row["line"].is_null() {
                row["line"] = wish["line"].clone();
            }
            ids.extend(id);
            described.push(row);
        }
        self.breakpoints.lock().by_file.insert(path, ids);
        Ok(json!({"breakpoints": described}))
    }

    /// `setFunctionBreakpoints`: all of procedures.
    pub fn set_in_procedures(
        self: &Arc<Shared>,
        thread: &mut Thread,
        request: &Request,
    ) -> Result<Json, String> {
        let old = std::mem::take(&mut self.breakpoints.lock().procedures);
        for id in old {
            thread.remove_breakpoint(id);
        }
        let wishes = request.arguments["breakpoints"].as_array();
        let mut ids = Vec::new();
        let mut described = Vec::new();
        for wish in wishes.into_iter().flatten() {
            let name = wish["name"].as_str().unwrap_or_default().to_owned();
            let (id, row) = self.set(thread, Location::Procedure(name), wish);
            ids.extend(id);
            described.push(row);
        }
        self.breakpoints.lock().procedures = ids;
        Ok(json!({"breakpoints": described}))
    }

    /// `setDataBreakpoints`: all on variables and parts of values.
    pub fn set_on_data(
        self: &Arc<Shared>,
        thread: &mut Thread,
        request: &Request,
    ) -> Result<Json, String> {
        let old = std::mem::take(&mut self.breakpoints.lock().data);
        for (id, _) in old {
            thread.remove_breakpoint(id);
        }
        let wishes = request.arguments["breakpoints"].as_array();
        let mut described = Vec::new();
        for wish in wishes.into_iter().flatten() {
            let watched = wish["dataId"].as_str().and_then(|id| self.watched(id));
            let Some((location, name)) = watched else {
                described.push(json!({"verified": false, "message": "there is no such variable"}));
                continue;
            };
            let (id, row) = self.set(thread, location, wish);
            let named = id.map(|id| (id, name));
            self.breakpoints.lock().data.extend(named);
            described.push(row);
        }
        Ok(json!({"breakpoints": described}))
    }

    /// `setExceptionBreakpoints`: where objects are raised.
    pub fn set_where_raised(
        self: &Arc<Shared>,
        thread: &mut Thread,
        request: &Request,
    ) -> Result<Json, String> {
        let old = {
            let mut breakpoints = self.breakpoints.lock();
            let tasks = std::mem::take(&mut breakpoints.tasks).into_iter();
            let mut old = std::mem::take(&mut breakpoints.raises);
            old.extend(tasks.map(|(id, _)| id));
            old
        };
        for id in old {
            thread.remove_breakpoint(id);
        }
        let plain = request.arguments["filters"]
            .as_array()
            .into_iter()
            .flatten();
        let plain = plain
            .filter_map(Json::as_str)
            .map(|name| (name.to_owned(), String::new()));
        let options = request.arguments["filterOptions"]
            .as_array()
            .into_iter()
            .flatten();
        let options = options.filter_map(|one| {
            let kinds = one["condition"].as_str().unwrap_or_default();
            Some((one["filterId"].as_str()?.to_owned(), kinds.to_owned()))
        });
        let mut described = Vec::new();
        for (filter, kinds) in plain.chain(options) {
            let Some(breakpoint) = of_filter(&filter, &kinds) else {
                let message = format!("there is no filter '{filter}'");
                described.push(json!({"verified": false, "message": message}));
                continue;
            };
            let is_raise = breakpoint.location == Location::Raise;
            let id = thread.set_breakpoint(breakpoint);
            let mut breakpoints = self.breakpoints.lock();
            if is_raise {
                breakpoints.raises.push(id);
            } else {
                breakpoints.tasks.push((id, filter));
            }
            described.push(json!({"id": id.0, "verified": true}));
        }
        Ok(json!({"breakpoints": described}))
    }

    /// Tells the client of breakpoints whose code was loaded meanwhile.
    pub fn tell_new_places(&self, stop: &mut Stop<'_>) {
        let waiting = self.breakpoints.lock().waiting.clone();
        for id in waiting {
            let described = self.described_breakpoint(stop.thread(), id);
            if described["verified"] == true {
                let body = json!({"reason": "changed", "breakpoint": described});
                self.output.event("breakpoint", body);
            }
        }
    }

    /// The reason for the client, and what more there is to say: the object that is about to be raised, or
    /// what is changed.
    pub fn reason_of_breakpoints(
        &self,
        stop: &mut Stop<'_>,
        ids: &[BreakpointId],
    ) -> (String, Option<String>) {
        let (is_raise, is_procedure, task, data) = {
            let breakpoints = self.breakpoints.lock();
            let has = |all: &[BreakpointId]| ids.iter().any(|id| all.contains(id));
            let task = breakpoints.tasks.iter().find(|(id, _)| ids.contains(id));
            let data = breakpoints.data.iter().filter(|(id, _)| ids.contains(id));
            (
                has(&breakpoints.raises),
                has(&breakpoints.procedures),
                task.map(|(_, filter)| filter.replace('-', " ")),
                data.cloned().collect::<Vec<_>>(),
            )
        };
        if is_raise {
            let raised = stop.raised();
            let text = parts::brief(stop.thread(), raised, RAISED_BYTES);
            return ("exception".to_owned(), Some(text));
        }
        if let Some(filter) = task {
            return (filter, None);
        }
        if !data.is_empty() {
            let texts: Vec<String> = data
                .into_iter()
                .filter_map(|(id, name)| change(stop, id, &name))
                .collect();
            return ("data breakpoint".to_owned(), Some(texts.join(", ")));
        }
        let reason = if is_procedure {
            "function breakpoint"
        } else {
            "breakpoint"
        };
        (reason.to_owned(), None)
    }

    /// Whether a task stands where an object is raised.
    pub fn is_at_raise(&self, stop: &Stop<'_>) -> bool {
        let canny_vm::debug::Reason::Breakpoints(ids) = stop.reason() else {
            return false;
        };
        let breakpoints = self.breakpoints.lock();
        ids.iter().any(|id| breakpoints.raises.contains(id))
    }
}

/// The breakpoint of a filter for what is raised, or for tasks.
fn of_filter(filter: &str, kinds: &str) -> Option<Breakpoint> {
    let raise = |only_uncaught: bool, kinds: &str| Breakpoint {
        condition: Some(conditions::of_raised(only_uncaught, kinds)),
        ..Breakpoint::new(Location::Raise)
    };
    Some(match filter {
        "uncaught" => raise(true, kinds),
        "raised" => raise(false, kinds),
        "cancelled" => raise(false, "cancelled timeout"),
        "deadlock" => raise(false, "deadlock"),
        "task-start" => Breakpoint::new(Location::TaskBegin),
        "task-end" => Breakpoint::new(Location::TaskEnd),
        _ => return None,
    })
}

/// The change of a variable or a part that is watched.
fn change(stop: &mut Stop<'_>, id: BreakpointId, name: &str) -> Option<String> {
    let (old, new, is_done) = match (stop.change(id), stop.assignment()) {
        (Some(change), _) => (change.old, change.new, change.is_done),
        (None, Some((_, old, new))) => (old, new, false),
        (None, None) => return None,
    };
    let thread = stop.thread();
    let (old, new) = (thread.protect(old), thread.protect(new));
    let value = thread.protected(old);
    let before = parts::brief(thread, value, CHANGE_BYTES);
    let value = thread.protected(new);
    let after = parts::brief(thread, value, CHANGE_BYTES);
    thread.release(old);
    let verbs = if is_done {
        ("was", "is")
    } else {
        ("is", "will be")
    };
    Some(format!("{name} {} {before}, {} {after}", verbs.0, verbs.1))
}
