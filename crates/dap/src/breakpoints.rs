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

/// The beginning of names of variables among the things that are watched.
pub const VARIABLE: &str = "variable:";

/// Bytes of the text of a raised object.
const RAISED_BYTES: usize = 1000;

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

    /// `setDataBreakpoints`: all on variables.
    pub fn set_on_data(
        self: &Arc<Shared>,
        thread: &mut Thread,
        request: &Request,
    ) -> Result<Json, String> {
        let old = std::mem::take(&mut self.breakpoints.lock().assignments);
        for id in old {
            thread.remove_breakpoint(id);
        }
        let wishes = request.arguments["breakpoints"].as_array();
        let mut described = Vec::new();
        for wish in wishes.into_iter().flatten() {
            let name = wish["dataId"]
                .as_str()
                .and_then(|id| id.strip_prefix(VARIABLE));
            let Some(name) = name else {
                described.push(json!({"verified": false, "message": "there is no such variable"}));
                continue;
            };
            let (id, row) = self.set(thread, Location::Assignment(name.to_owned()), wish);
            self.breakpoints.lock().assignments.extend(id);
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
        let old = std::mem::take(&mut self.breakpoints.lock().raises);
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
            let is_known = ["raised", "uncaught"].contains(&filter.as_str());
            if !is_known {
                let message = format!("there is no filter '{filter}'");
                described.push(json!({"verified": false, "message": message}));
                continue;
            }
            let breakpoint = Breakpoint {
                condition: Some(conditions::of_raised(filter == "uncaught", &kinds)),
                ..Breakpoint::new(Location::Raise)
            };
            let id = thread.set_breakpoint(breakpoint);
            self.breakpoints.lock().raises.push(id);
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

    /// The reason for the client, and the object that is about to be raised, if that is the reason.
    pub fn reason_of_breakpoints(
        &self,
        stop: &mut Stop<'_>,
        ids: &[BreakpointId],
    ) -> (&'static str, Option<String>) {
        let (is_raise, is_procedure, is_data) = {
            let breakpoints = self.breakpoints.lock();
            let has = |all: &[BreakpointId]| ids.iter().any(|id| all.contains(id));
            (
                has(&breakpoints.raises),
                has(&breakpoints.procedures),
                has(&breakpoints.assignments),
            )
        };
        if is_raise {
            let raised = stop.raised();
            let text = parts::brief(stop.thread(), raised, RAISED_BYTES);
            return ("exception", Some(text));
        }
        if is_data {
            ("data breakpoint", None)
        } else if is_procedure {
            ("function breakpoint", None)
        } else {
            ("breakpoint", None)
        }
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
