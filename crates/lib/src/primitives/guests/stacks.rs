//! Frames of guests on stacks that people read: between the procedure that a guest has called, and the one
//! of `(canny wasm)` that continues the guest.

use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::guests::{CodeText, GuestFrame, GuestStacks, Listing, ShownRun, set_guest_stacks};
use canny_vm::{Position, Thread};
use canny_wasm::{InspectedFrame, RunId};

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
        let frames = guests.store.inspect(RunId(run as u64), FRAMES_MAX);
        return frames.into_iter().map(described).collect();
    }
    Vec::new()
}

fn described(inspected: InspectedFrame) -> GuestFrame {
    let InspectedFrame {
        frame,
        module,
        locals,
    } = inspected;
    let mut name = frame.name_text();
    if let Some(offset) = frame.offset {
        name.push_str(&format!("@{offset:#x}"));
    }
    let owner = frame.module.as_deref().unwrap_or("a guest");
    name.push_str(&format!(" of {owner}"));
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
    let (function, offset) = (frame.function, frame.offset.unwrap_or_default());
    let title = format!("{} (register code {function})", frame.name_text());
    let text = move || {
        let found = canny_wasm::listing_with_line(&module, function, offset);
        let (text, line) = found.ok().flatten()?;
        Some(CodeText {
            key: format!("{title} {:p}", module.bytes()),
            name: title.clone(),
            text,
            line,
        })
    };
    let values = locals.into_iter().map(|local| (local.name, local.value));
    GuestFrame {
        name,
        position,
        values: values.collect(),
        listing: Listing(Arc::new(text)),
    }
}
