//! Values as the client shows them: text, type, number, and their parts. Texts are cut, and parts are
//! given in pages, so that no value is too large to be looked at.

use canny_lib::debug::parts::{self, Part};
use canny_value::Value;
use canny_vm::debug::{Home, Kept, Stop, TaskKey};
use serde_json::{Value as Json, json};

use crate::numbers::{Target, Wanted};
use crate::shared::Shared;

/// Bytes of a value's text.
const TEXT_BYTES: usize = 200;
/// Bytes where the whole text is wanted.
const CLIPBOARD_BYTES: usize = 1 << 20;

impl Shared {
    /// The task goes on: its numbers are no longer valid.
    pub fn forget_values(&self, stop: &mut Stop<'_>, task: TaskKey) {
        let kept = self.numbers.lock().forget(task);
        for place in kept {
            stop.thread().debug_forget(place);
        }
    }

    /// A value as the client shows it: its text, type and number.
    pub fn described(&self, stop: &mut Stop<'_>, value: Value, is_whole: bool) -> Json {
        let bytes = if is_whole {
            CLIPBOARD_BYTES
        } else {
            TEXT_BYTES
        };
        let text = parts::brief(stop.thread(), value, bytes);
        let shape = parts::shape(stop.thread(), value);
        let has_parts = shape.named + shape.indexed > 0;
        let number = if has_parts {
            self.number_of(stop, value)
        } else {
            0
        };
        let mut described = json!({
            "text": text,
            "type": shape.type_name,
            "variablesReference": number,
        });
        if shape.named > 0 {
            described["namedVariables"] = shape.named.into();
        }
        if shape.indexed > 0 {
            described["indexedVariables"] = shape.indexed.into();
        }
        described
    }

    fn number_of(&self, stop: &mut Stop<'_>, value: Value) -> i64 {
        let task = stop.task();
        // One thread at a time makes room for values; others wait outside of the heap.
        let place = stop.thread().protect(value);
        let guard = stop.wait(|| self.keeping.lock());
        let value = stop.thread().protected(place);
        stop.thread().release(place);
        let kept = stop.thread().debug_keep(value);
        drop(guard);
        let Some(kept) = kept else {
            return 0;
        };
        self.numbers.lock().of_target(task, Target::Value(kept))
    }

    /// A variable or part for the client.
    fn variable(&self, stop: &mut Stop<'_>, name: &str, value: Value) -> Json {
        let mut variable = self.described(stop, value, false);
        variable["name"] = name.into();
        variable["value"] = variable["text"].take();
        if let Some(object) = variable.as_object_mut() {
            object.remove("text");
        }
        variable
    }

    /// The parts of a thing.
    pub fn parts(&self, stop: &mut Stop<'_>, target: Target, wanted: Wanted) -> Vec<Json> {
        match target {
            Target::Locals(frame) => self.variables(stop, frame, wanted, false),
            Target::Captured(frame) => self.variables(stop, frame, wanted, true),
            Target::Value(kept) => self.parts_of_value(stop, kept, wanted),
        }
    }

    fn variables(
        &self,
        stop: &mut Stop<'_>,
        frame: usize,
        wanted: Wanted,
        captured: bool,
    ) -> Vec<Json> {
        if !wanted.named {
            return Vec::new();
        }
        let variables = stop.variables(frame).into_iter();
        let own: Vec<_> = variables
            .filter(|one| (one.home == Home::Closure) == captured)
            .skip(wanted.first)
            .take(wanted.count)
            .collect();
        let mut shown = Vec::new();
        for one in own {
            let mut row = match one.value {
                Some(place) => {
                    let value = stop.thread().protected(place);
                    self.variable(stop, &one.name, value)
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

    fn parts_of_value(&self, stop: &mut Stop<'_>, kept: Kept, wanted: Wanted) -> Vec<Json> {
        let value = stop.thread().debug_kept(kept);
        let mut parts = Vec::new();
        if wanted.named {
            let fields = parts::fields(stop.thread(), value).into_iter();
            parts.extend(fields.skip(wanted.first).take(wanted.count));
        }
        if wanted.indexed {
            let elements = parts::elements(stop.thread(), value, wanted.first, wanted.count);
            parts.extend(elements);
        }
        // Showing a part may collect: the others are protected meanwhile.
        let mut protected = Vec::new();
        for (name, part) in parts {
            let part = match part {
                Part::Value(value) => Ok(stop.thread().protect(value)),
                Part::Text(text) => Err(text),
            };
            protected.push((name, part));
        }
        let shown = protected.into_iter().map(|(name, part)| match part {
            Ok(place) => {
                let value = stop.thread().protected(place);
                self.variable(stop, &name, value)
            }
            Err(text) => json!({"name": name, "value": text, "variablesReference": 0}),
        });
        shown.collect()
    }
}
