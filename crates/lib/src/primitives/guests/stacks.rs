//! Frames of guests on stacks that people read: between the procedure that a guest has called, and the one
//! of `(canny wasm)` that continues the guest.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::guests::{GuestFrame, GuestStacks, ShownRun, set_guest_stacks};
use canny_vm::{Position, Thread};
use canny_wasm::RunId;

use super::{field, store_of};
use crate::host::number_of_value;

/// The library whose procedures continue guests.
const LIBRARY: &str = "(canny wasm)";

/// Most frames of a run that are shown, the newest ones.
const FRAMES_MAX: usize = 1000;

/// Lets the machine ask for the frames of guests.
pub(super) fn show() {
    set_guest_stacks(GuestStacks {
        library: LIBRARY,
        frames,
    });
}

/// The frames of the run whose store and number are among the values.
fn frames(thread: &Thread, values: &[Value], shown: &mut Vec<ShownRun>) -> Vec<GuestFrame> {
    let runs = || values.iter().filter_map(|value| value.as_index());
    for value in values {
        let record = value.as_kind(Kind::Record);
        let record = record.filter(|record| record.length() > field::OBJECT_TYPE);
        let Some(handle) = record.map(|record| record.field(field::HANDLE)) else {
            continue;
        };
        let Some((number, store)) = number_of_value(handle).zip(store_of(thread, handle)) else {
            continue;
        };
        // While a guest of it runs, there is nothing to be seen.
        let Some(guests) = store.0.try_lock() else {
            continue;
        };
        let is_new = |run: &usize| {
            !shown.contains(&(number, *run as u64)) && guests.store.has_run(RunId(*run as u64))
        };
        let Some(run) = runs().find(is_new) else {
            continue;
        };
        shown.push((number, run as u64));
        let frames = guests.store.frames(RunId(run as u64), FRAMES_MAX);
        return frames.iter().map(described).collect();
    }
    Vec::new()
}

fn described(frame: &canny_wasm::GuestFrame) -> GuestFrame {
    let mut name = frame.name_text();
    if let Some(offset) = frame.offset {
        name.push_str(&format!("@{offset:#x}"));
    }
    let module = frame.module.as_deref().map(|module| format!(" of {module}"));
    name.push_str(module.as_deref().unwrap_or(" of a guest"));
    if frame.is_inlined {
        name.push_str(" (inlined)");
    }
    let position = frame.place.as_ref().map(|place| Position {
        file: place.file.to_string(),
        line: place.line,
        column: place.column.max(1),
        end_line: place.line,
        end_column: place.column.max(1),
    });
    GuestFrame { name, position }
}
