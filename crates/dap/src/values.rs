//! Values as the client shows them: text, type, number, and their parts. Texts are cut, and parts are
//! given in pages, so that no value is too large to be looked at.

use canny_lib::debug::parts::{self, Part};
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::Thread;
use canny_vm::debug::{DebugFrame, DebugVariable, Home, Kept, Stop, TaskKey};
use serde_json::{Value as Json, json};

use crate::numbers::{Place, Target, Wanted};
use crate::shared::Shared;

/// Bytes of a value's text.
const TEXT_BYTES: usize = 200;
/// The beginning of references to the bytes of bytevectors; the number of the value follows.
pub const BYTES: &str = "bytes:";
/// Bytes where the whole text is wanted.
const CLIPBOARD_BYTES: usize = 1 << 20;

/// The variables of a guest's frame, which are text.
fn variables_of_guest(guest: DebugFrame, target: Target, wanted: Wanted) -> Vec<Json> {
    if !wanted.named || matches!(target, Target::Captured(_)) {
        return Vec::new();
    }
    let values = guest.values.into_iter().skip(wanted.first);
    let rows = values.take(wanted.count).map(|(name, value)| {
        json!({
            "name": name,
            "value": value,
            "variablesReference": 0,
            "presentationHint": {"attributes": ["readOnly"]},
        })
    });
    rows.collect()
}

impl Shared {
    /// The task goes on: its numbers are no longer valid.
    pub fn forget_values(&self, thread: &mut Thread, task: TaskKey) {
        let kept = self.numbers.lock().forget(task);
        for place in kept {
            thread.debug_forget(place);
        }
    }

    /// Numbers of tasks that wait are no longer valid.
    pub fn forget_waiting(&self, thread: &mut Thread) {
        let kept = self.numbers.lock().forget_waiting();
        for place in kept {
            thread.debug_forget(place);
        }
    }

    /// Keeps a value as long as its number is known; none if there is no room.
    pub fn keep(&self, thread: &mut Thread, value: Value) -> Option<Kept> {
        // One thread at a time makes room for values; others wait outside of the heap.
        let place = thread.protect(value);
        let guard = thread.block_outside_heap(|| self.keeping.lock());
        let value = thread.protected(place);
        thread.release(place);
        let kept = thread.debug_keep(value);
        drop(guard);
        kept
    }

    /// A value as the client shows it: its text, type and number.
    pub fn described(&self, stop: &mut Stop<'_>, value: Value, is_whole: bool) -> Json {
        let task = stop.task();
        self.described_for(stop.thread(), task, value, is_whole)
    }

    fn described_for(
        &self,
        thread: &mut Thread,
        task: TaskKey,
        value: Value,
        is_whole: bool,
    ) -> Json {
        let bytes = if is_whole {
            CLIPBOARD_BYTES
        } else {
            TEXT_BYTES
        };
        let text = parts::brief(thread, value, bytes);
        let shape = parts::shape(thread, value);
        let has_parts = shape.named + shape.indexed > 0;
        let code = thread.vm().bytecode_of(value).map(|code| code.start);
        let place = thread.protect(value);
        let number = if has_parts || code.is_some() {
            self.number_of(thread, task, value)
        } else {
            0
        };
        let value = thread.protected(place);
        thread.release(place);
        let mut described = json!({
            "text": text,
            "type": shape.type_name,
            "variablesReference": number,
        });
        if value.is_kind(Kind::Bytevector) {
            described["memoryReference"] = format!("{BYTES}{number}").into();
        } else if let Some(address) = code {
            described["memoryReference"] = format!("{address:#x}").into();
        }
        // A procedure has rows about its code besides, which are made when it is opened.
        if shape.named > 0 && code.is_none() {
            described["namedVariables"] = shape.named.into();
        }
        if shape.indexed > 0 {
            described["indexedVariables"] = shape.indexed.into();
        }
        described
    }

    fn number_of(&self, thread: &mut Thread, task: TaskKey, value: Value) -> i64 {
        let Some(kept) = self.keep(thread, value) else {
            return 0;
        };
        self.numbers.lock().of_target(task, Target::Value(kept))
    }

    /// A variable or part for the client.
    fn variable(&self, thread: &mut Thread, task: TaskKey, name: &str, value: Value) -> Json {
        let mut variable = self.described_for(thread, task, value, false);
        variable["name"] = name.into();
        variable["value"] = variable["text"].take();
        if let Some(object) = variable.as_object_mut() {
            object.remove("text");
        }
        variable
    }

    /// The parts of a thing of a task that stands still.
    pub fn parts(&self, stop: &mut Stop<'_>, target: Target, wanted: Wanted) -> Vec<Json> {
        let task = stop.task();
        let variables = match target {
            Target::Locals(Place::Stopped(frame)) | Target::Captured(Place::Stopped(frame)) => {
                let described = stop.frames(frame, 1).pop();
                if let Some(guest) = described.filter(DebugFrame::is_guest) {
                    return variables_of_guest(guest, target, wanted);
                }
                stop.variables(frame)
            }
            _ => return self.parts_of_waiting(stop.thread(), task, target, wanted),
        };
        let is_captured = matches!(target, Target::Captured(_));
        self.variables(stop.thread(), task, variables, wanted, is_captured)
    }

    /// The parts of a thing of a task that waits.
    pub fn parts_of_waiting(
        &self,
        thread: &mut Thread,
        task: TaskKey,
        target: Target,
        wanted: Wanted,
    ) -> Vec<Json> {
        match target {
            Target::Locals(Place::Waiting(kept, frame))
            | Target::Captured(Place::Waiting(kept, frame)) => {
                let continuation = thread.debug_kept(kept);
                let variables = thread.variables_of_continuation(continuation, frame);
                let is_captured = matches!(target, Target::Captured(_));
                self.variables(thread, task, variables, wanted, is_captured)
            }
            Target::Value(kept) => self.parts_of_value(thread, task, kept, wanted),
            // The task stood still before.
            Target::Locals(Place::Stopped(_))
            | Target::Captured(Place::Stopped(_))
            | Target::Instruction(_)
            | Target::Expansion(_) => Vec::new(),
        }
    }

    fn variables(
        &self,
        thread: &mut Thread,
        task: TaskKey,
        variables: Vec<DebugVariable>,
        wanted: Wanted,
        captured: bool,
    ) -> Vec<Json> {
        if !wanted.named {
            return Vec::new();
        }
        let variables = variables.into_iter();
        let own: Vec<_> = variables
            .filter(|one| (one.home == Home::Closure) == captured)
            .skip(wanted.first)
            .take(wanted.count)
            .collect();
        let mut shown = Vec::new();
        for one in own {
            let mut row = match one.value {
                Some(place) => {
                    let value = thread.protected(place);
                    self.variable(thread, task, &one.name, value)
                }
                None => json!({
                    "name": one.name,
                    "value": "the code has let go of it",
                    "variablesReference": 0,
                    "presentationHint": {"attributes": ["readOnly"]},
                }),
            };
            row["evaluateName"] = one.name.into();
            shown.push(row);
        }
        shown
    }

    fn parts_of_value(
        &self,
        thread: &mut Thread,
        task: TaskKey,
        kept: Kept,
        wanted: Wanted,
    ) -> Vec<Json> {
        let value = thread.debug_kept(kept);
        let mut parts = Vec::new();
        let mut code = Vec::new();
        if wanted.named {
            let fields = parts::fields(thread, value).into_iter();
            parts.extend(fields.skip(wanted.first).take(wanted.count));
            code = code_rows(thread, value);
        }
        if wanted.indexed {
            let elements = parts::elements(thread, value, wanted.first, wanted.count);
            parts.extend(elements);
        }
        // Showing a part may collect: the others are protected meanwhile.
        let mut protected = Vec::new();
        for (name, part) in parts {
            let part = match part {
                Part::Value(value) => Ok(thread.protect(value)),
                Part::Text(text) => Err(text),
            };
            protected.push((name, part));
        }
        let shown = protected.into_iter().map(|(name, part)| match part {
            Ok(place) => {
                let value = thread.protected(place);
                self.variable(thread, task, &name, value)
            }
            Err(text) => json!({"name": name, "value": text, "variablesReference": 0}),
        });
        shown.chain(code).collect()
    }
}

/// Rows about the code of a procedure, from which a client may ask for its instructions.
fn code_rows(thread: &Thread, value: Value) -> Vec<Json> {
    if !value.is_kind(Kind::Closure) {
        return Vec::new();
    }
    let row = |name: &str, address: u64, bytes: u64| {
        json!({
            "name": name,
            "value": format!("{bytes} bytes"),
            "variablesReference": 0,
            "memoryReference": format!("{address:#x}"),
            "presentationHint": {"kind": "virtual", "attributes": ["readOnly"]},
        })
    };
    let vm = thread.vm();
    let bytecode = vm.bytecode_of(value).into_iter();
    let bytecode = bytecode.map(|range| row("(bytecode)", range.start, range.end - range.start));
    let native = vm.machine_code_of(value).into_iter();
    let native = native.map(|(address, bytes)| row("(machine code)", address, bytes as u64));
    bytecode.chain(native).collect()
}
