//! Data of the program: parts of values, bytes, and what can be watched. A part that a client may
//! watch is kept until the client leaves.

use std::sync::Arc;

use canny_formats::base64::{Alphabet, Padding, decode, encode};
use canny_lib::debug::{parts, watching};
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::Thread;
use canny_vm::debug::{Kept, Location, PartName, TaskKey};
use serde_json::{Value as Json, json};

use crate::numbers::{Place, Target, Wanted};
use crate::output::{Answer, Request};
use crate::queues::Next;
use crate::shared::Shared;
use crate::values::BYTES;

/// The beginning of names of variables among the things that are watched.
const VARIABLE: &str = "variable:";
/// The beginning of names of parts of values; a number and the name follow.
const PART: &str = "part:";
/// Parts that a client may ask for.
const WATCHABLES_MAX: usize = 1000;
/// Bytes that are sent at once.
const BYTES_MAX: usize = 1 << 20;

impl Shared {
    pub fn ask_for_parts(self: &Arc<Shared>, request: &Request, answer: Answer) {
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
            Target::Value(_) | Target::Instruction(_) | Target::Expansion(_) => {
                !self.tasks.lock().is_stopped(task)
            }
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

    /// `dataBreakpointInfo`: whether a variable or a part of a value can be watched.
    pub fn data_info(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let Ok(name) = request.text("name").map(str::to_owned) else {
            return answer.give(Err("'dataBreakpointInfo' wants a name".to_owned()));
        };
        let number = request.arguments["variablesReference"].as_i64();
        let number = number.filter(|number| *number > 0);
        let target = number.and_then(|number| self.numbers.lock().target(number));
        let frame = match (number, target) {
            (Some(_), None) => {
                return answer.give(Err("the value is no longer known".to_owned()));
            }
            (_, Some((task, Target::Value(kept)))) => {
                let find = move |shared: &Shared, thread: &mut Thread| {
                    let value = thread.debug_kept(kept);
                    let part = parts::part_name(thread, value, &name);
                    shared.watchable(thread, part, &name)
                };
                return self.with_task(task, answer, find);
            }
            (_, Some((task, Target::Locals(Place::Stopped(frame)))))
            | (_, Some((task, Target::Captured(Place::Stopped(frame))))) => Some((task, frame)),
            (_, Some(_)) => return answer.give(Ok(unwatchable("the task does not stand still"))),
            (None, None) => self.frame_of(request, "frameId"),
        };
        let of_program = json!({
            "dataId": format!("{VARIABLE}{name}"),
            "description": format!("assignments of {name}"),
            "accessTypes": ["write"],
        });
        let Some((task, frame)) = frame else {
            return answer.give(Ok(of_program));
        };
        self.ask_task(task, answer, move |shared, stop, answer| {
            answer.give(Ok(match watching::of_variable(stop, frame, &name) {
                Ok(None) => of_program,
                Ok(part) => shared.watchable(stop.thread(), part, &name),
                Err(message) => unwatchable(&message),
            }));
            Next::Stay
        });
    }

    /// A part for the client to watch: it is kept, and has a name of its own.
    fn watchable(&self, thread: &mut Thread, part: Option<(Value, PartName)>, name: &str) -> Json {
        let Some((object, part)) = part else {
            return unwatchable("this part of a value cannot be watched");
        };
        let known = self.watchables.lock().clone();
        let is_known =
            |(kept, of): &(Kept, PartName)| *of == part && thread.debug_kept(*kept) == object;
        let known = known.iter().position(is_known);
        let index = match known {
            Some(index) => index,
            None => {
                let Some(kept) = self.keep(thread, object) else {
                    return unwatchable("there is no memory for it");
                };
                let mut all = self.watchables.lock();
                if all.len() == WATCHABLES_MAX {
                    return unwatchable("too many parts were asked for");
                }
                all.push((kept, part));
                all.len() - 1
            }
        };
        json!({
            "dataId": format!("{PART}{index}:{name}"),
            "description": format!("changes of {name}"),
            "accessTypes": ["write"],
        })
    }

    /// The thing to be watched that a client has got a name for, and what the client calls it.
    pub fn watched(&self, id: &str) -> Option<(Location, String)> {
        if let Some(name) = id.strip_prefix(VARIABLE) {
            return Some((Location::Assignment(name.to_owned()), name.to_owned()));
        }
        let (index, name) = id.strip_prefix(PART)?.split_once(':')?;
        let all = self.watchables.lock();
        let (kept, part) = *all.get(index.parse::<usize>().ok()?)?;
        Some((Location::Part(kept, part), name.to_owned()))
    }

    /// `readMemory`: bytes of a bytevector.
    pub fn read_memory(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let offset = request.arguments["offset"].as_i64().unwrap_or(0);
        let count = request.count("count").unwrap_or(0).min(BYTES_MAX);
        self.with_bytes_of(request, answer, move |_, bytes| {
            let first = usize::try_from(offset).map_err(|_| before_beginning())?;
            let own = bytes.with_bytes(|all| {
                let end = first.saturating_add(count).min(all.len());
                all.get(first..end).map(<[u8]>::to_vec)
            });
            let own = own.unwrap_or_default();
            let text = encode(&own, Alphabet::Standard, true);
            Ok(json!({
                "address": format!("{first:#x}"),
                "data": String::from_utf8_lossy(&text),
                "unreadableBytes": count - own.len(),
            }))
        });
    }

    /// `writeMemory`: changes bytes of a bytevector.
    pub fn write_memory(self: &Arc<Shared>, request: &Request, answer: Answer) {
        let offset = request.arguments["offset"].as_i64().unwrap_or(0);
        let data = request.text("data").map(str::to_owned);
        self.with_bytes_of(request, answer, move |_, bytes| {
            let first = usize::try_from(offset).map_err(|_| before_beginning())?;
            let data = decode(
                data?.as_bytes(),
                Alphabet::Standard,
                Padding::Optional,
                true,
            );
            let data = data.map_err(|_| "the data is no base64".to_owned())?;
            if bytes.is_immutable() {
                return Err("the bytevector is a constant".to_owned());
            }
            let length = bytes.with_bytes(<[u8]>::len);
            let room = length.saturating_sub(first).min(data.len());
            for (index, byte) in data[..room].iter().enumerate() {
                bytes.set_byte(first + index, *byte);
            }
            Ok(json!({"bytesWritten": room}))
        });
    }

    fn with_bytes_of(
        self: &Arc<Shared>,
        request: &Request,
        answer: Answer,
        work: impl FnOnce(&Shared, ObjectRef) -> Result<Json, String> + Send + 'static,
    ) {
        let reference = match request.text("memoryReference") {
            Ok(reference) => reference,
            Err(message) => return answer.give(Err(message)),
        };
        let number = reference.strip_prefix(BYTES);
        let number = number.and_then(|number| number.parse().ok());
        let target = number.and_then(|number| self.numbers.lock().target(number));
        let Some((task, Target::Value(kept))) = target else {
            let text = "only the bytes of bytevectors that are shown can be read";
            return answer.give(Err(text.to_owned()));
        };
        self.with_task_result(task, answer, move |shared, thread| {
            let bytes = thread.debug_kept(kept).as_kind(Kind::Bytevector);
            work(shared, bytes.ok_or("the value is no longer known")?)
        });
    }

    fn with_task(
        self: &Arc<Shared>,
        task: TaskKey,
        answer: Answer,
        work: impl FnOnce(&Shared, &mut Thread) -> Json + Send + 'static,
    ) {
        self.with_task_result(task, answer, |shared, thread| Ok(work(shared, thread)));
    }

    /// Does something with values of a task: in its thread if it stands still, else in another one.
    fn with_task_result(
        self: &Arc<Shared>,
        task: TaskKey,
        answer: Answer,
        work: impl FnOnce(&Shared, &mut Thread) -> Result<Json, String> + Send + 'static,
    ) {
        let key = self.key_of(task);
        if !self.tasks.lock().is_stopped(key) {
            let result = self.with_thread(|thread| work(self, thread));
            return answer.give(result.and_then(|result| result));
        }
        self.ask_task(task, answer, move |shared, stop, answer| {
            answer.give(work(shared, stop.thread()));
            Next::Stay
        });
    }
}

fn unwatchable(why: &str) -> Json {
    json!({"dataId": null, "description": why})
}

fn before_beginning() -> String {
    "there is nothing before the beginning of a bytevector".to_owned()
}
