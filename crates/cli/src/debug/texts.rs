//! The texts of the debugger's prompt: stops, frames, variables, breakpoints, tasks.
//!
//! Nothing here changes a task; values are written as `write` does, and cut.

use canny_lib::debug::{Outcome, conditions};
use canny_lib::printer;
use canny_value::Value;
use canny_vm::Thread;
use canny_vm::debug::{
    Assignment, BreakpointId, DebugFrame, Debugger, Reason, Stop, TaskDescription, TaskKey,
    TaskState,
};

use super::commands::{self, Wish};
use super::expanded::{Opened, Way};
use crate::report;

/// Frames that a backtrace shows at most.
pub const FRAMES_MAX: usize = 100;
/// Characters of a value that are shown at most.
const VALUE_MAX: usize = 1000;

/// A breakpoint as it was asked for.
pub fn described_wish(wish: &Wish) -> String {
    let mut text = format!("at {}", wish.place);
    for (word, part) in [
        ("hits", &wish.hits),
        ("if", &wish.condition),
        ("log", &wish.message),
    ] {
        if let Some(part) = part {
            text.push_str(&format!(" {word} {part}"));
        }
    }
    text
}

/// The breakpoints that were asked for, with their hits.
pub fn breakpoints(debugger: &Debugger, known: &[(BreakpointId, String)]) -> String {
    let rows = known.iter().map(|(id, text)| {
        let state = debugger.breakpoint(*id).unwrap_or_default();
        let waits = if state.places == 0 {
            ", not loaded"
        } else {
            ""
        };
        format!("{:3}  {text}{waits}, met {} times\n", id.0, state.hits)
    });
    let text: String = rows.collect();
    if text.is_empty() {
        "There are no breakpoints.".to_owned()
    } else {
        text
    }
}

/// The calls and expansions of a line, to choose from.
pub fn ways(ways: &[Way]) -> String {
    if ways.is_empty() {
        return "No procedure is called on the rest of this line.".to_owned();
    }
    let rows = ways.iter().enumerate().map(|(index, way)| {
        let text = match way {
            Way::Call(call) => {
                let source = std::fs::read_to_string(&call.position.file).unwrap_or_default();
                call.position.text_in(&source, VALUE_MAX)
            }
            Way::Expansion(expanded) => format!("the expansion of {}", expanded.name),
        };
        format!("{:3}  {text}\n", index + 1)
    });
    rows.collect()
}

/// The tasks, and what each waits for. One of them may have the prompt.
pub fn tasks(thread: &mut Thread, own: Option<TaskKey>, standing: &[TaskKey]) -> String {
    let tasks = thread.debug_tasks();
    if tasks.is_empty() {
        return "The program uses no tasks.".to_owned();
    }
    let rows = tasks.iter().map(|task| {
        let is_own = own == Some(task.key);
        let mark = if is_own { '*' } else { ' ' };
        let state = if is_own {
            "stands still here".to_owned()
        } else if standing.contains(&task.key) {
            "stands still".to_owned()
        } else {
            activity(task)
        };
        let number = task.key.0.unwrap_or(0);
        let name = task.name.as_deref().unwrap_or("");
        format!("{mark}{number:3}  {name:12} {state}\n")
    });
    rows.collect()
}

/// The activity of a task that does not stand still.
fn activity(task: &TaskDescription) -> String {
    match (&task.state, &task.waits_for) {
        (TaskState::Running, _) => "runs".to_owned(),
        (TaskState::Ready, _) => "ready".to_owned(),
        (TaskState::Waiting, what) => {
            let what = what.as_deref().unwrap_or("something");
            let owner = task.owner.and_then(|owner| owner.0);
            let owner = owner.map_or(String::new(), |owner| format!(", which task {owner} has"));
            format!("waits for {what}{owner}")
        }
    }
}

/// Where a task waits; none if it does not.
pub fn waiting_task(thread: &mut Thread, task: &TaskDescription) -> Option<String> {
    if task.state != TaskState::Waiting {
        return None;
    }
    let continuation = thread.debug_continuation_of_task(task.key)?;
    let frames = thread.frames_of_continuation(continuation, 0, FRAMES_MAX)?;
    let own = frames.iter().filter(|frame| !frame.is_library);
    let rows: String = own
        .map(|frame| format!("      {}\n", described(frame)))
        .collect();
    let number = task.key.0.unwrap_or(0);
    Some(format!("Task {number} {}:\n{rows}", activity(task)))
}

/// A task has stopped while people are asked for something else.
pub fn waits_for_prompt(task: TaskKey) -> String {
    let number = task.0.unwrap_or(0);
    format!("\nTask {number} has stopped: 'continue' or 'task {number}' leads to it.")
}

/// A task was paused, and runs code where it does not stop.
pub fn stops_later(task: TaskKey) -> String {
    let number = task.0.unwrap_or(0);
    format!("Task {number} has not stopped yet: it does at its next place.")
}

/// The text around a frame.
pub fn around(stop: &Stop<'_>, frame: usize) -> String {
    let place = stop.frames(frame, 1).pop().and_then(|frame| frame.position);
    let Some(place) = place else {
        return "The place is not known.".to_owned();
    };
    let source = std::fs::read_to_string(&place.file).unwrap_or_default();
    numbered(&source, place.line as usize)
}

/// The lines around one, which is marked.
pub fn numbered(source: &str, own: usize) -> String {
    const LINES: usize = 5;
    let first = own.saturating_sub(LINES).max(1);
    let lines = source
        .lines()
        .enumerate()
        .skip(first - 1)
        .take(2 * LINES + 1);
    let rows = lines.map(|(index, line)| {
        let mark = if index + 1 == own { '>' } else { ' ' };
        format!("{mark}{:4}  {line}\n", index + 1)
    });
    rows.collect()
}

/// Why and where a task has stopped.
pub fn described_stop(
    stop: &mut Stop<'_>,
    frame: usize,
    names: &[(BreakpointId, String)],
    opened: &Opened,
) -> String {
    let raised = raised(stop);
    let reason = match (stop.reason(), raised) {
        (_, Some(object)) => format!("Raised: {object}\n"),
        (Reason::Breakpoints(ids), None) => {
            let ids: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
            format!("Breakpoint {}, ", ids.join(" and "))
        }
        (Reason::Step, None) => String::new(),
    };
    let assignment = stop.assignment().map(|(name, old, new)| {
        let old = stop.thread().protect(old);
        let new = written(stop, new);
        let old = stop.thread().protected(old);
        format!("{name} is {}, will be {new}\n", written(stop, old))
    });
    let task = match stop.task() {
        TaskKey(Some(number)) if number > 0 => format!("task {number}, "),
        _ => String::new(),
    };
    let place = opened.described(stop, frame).or_else(|| {
        let frame = stop.frames(frame, 1).pop();
        frame.map(|frame| with_source(&frame))
    });
    let place = place.unwrap_or_else(|| "?".to_owned());
    let assignment = assignment.unwrap_or_default();
    let changes = changes(stop, names);
    format!("{reason}{task}{place}\n{assignment}{changes}")
}

/// The changes of the parts whose breakpoints were met.
fn changes(stop: &mut Stop<'_>, names: &[(BreakpointId, String)]) -> String {
    let Reason::Breakpoints(ids) = stop.reason() else {
        return String::new();
    };
    let mut text = String::new();
    for id in ids {
        let Some(change) = stop.change(id) else {
            continue;
        };
        let wish = names.iter().find(|(known, _)| *known == id);
        let name = wish.and_then(|(_, wish)| wish.strip_prefix("at "));
        let name = name.map_or("it", |name| {
            let ends = [" hits ", " if "].into_iter();
            let end = ends.filter_map(|word| name.find(word)).min();
            &name[..end.unwrap_or(name.len())]
        });
        let old = stop.thread().protect(change.old);
        let new = written(stop, change.new);
        let old = stop.thread().protected(old);
        let old = written(stop, old);
        text.push_str(&if change.is_done {
            format!("{name} was {old}, is {new} now\n")
        } else {
            format!("{name} is {old}, will be {new}\n")
        });
    }
    text
}

/// The object that is about to be raised, if that is why the task stopped.
fn raised(stop: &mut Stop<'_>) -> Option<String> {
    let newest = stop.frames(0, 1).pop()?;
    let is_raise = newest.is_library
        && matches!(stop.reason(), Reason::Breakpoints(_))
        && matches!(newest.name.as_deref(), Some("raise" | "raise-continuable"));
    let object = is_raise.then(|| stop.raised())?;
    Some(written(stop, object))
}

fn written(stop: &mut Stop<'_>, value: Value) -> String {
    let text = printer::written(stop.thread(), value);
    match text.char_indices().nth(VALUE_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub fn described(frame: &DebugFrame) -> String {
    report::frame(
        frame.name.as_deref(),
        frame.is_program,
        frame.position.as_ref(),
    )
}

/// A frame with its line of the source.
pub fn with_source(frame: &DebugFrame) -> String {
    let text = described(frame);
    if let Some(place) = &frame.position {
        let source = std::fs::read_to_string(&place.file).unwrap_or_default();
        if let Some(line) = source.lines().nth(place.line as usize - 1) {
            return format!("{text}\n{:5}  {line}", place.line);
        }
    }
    // A guest whose source is not here shows its register code.
    let code = frame.listing.as_ref().and_then(|listing| (listing.0)());
    let line = code.and_then(|code| {
        let line = code.text.lines().nth(code.line as usize - 1)?;
        Some(line.to_owned())
    });
    match line {
        Some(line) => format!("{text}\n{line}"),
        None => text,
    }
}

/// The frames of the program, the one that is looked at marked.
pub fn backtrace(stop: &Stop<'_>, chosen: usize) -> String {
    let mut text = String::new();
    let frames = stop.frames(0, FRAMES_MAX);
    for (number, frame) in frames.iter().enumerate().filter(|(_, one)| !one.is_library) {
        let mark = if number == chosen { '*' } else { ' ' };
        text.push_str(&format!("{mark}{number:3}  {}\n", described(frame)));
        for caller in frame
            .tail_callers
            .iter()
            .filter(|caller| !caller.is_library)
        {
            let perhaps = if caller.is_certain { "" } else { "perhaps " };
            let name = caller.name.as_deref().unwrap_or("an anonymous procedure");
            text.push_str(&format!("      {perhaps}by a tail call in {name}\n"));
        }
    }
    text
}

/// The variables of a frame.
pub fn locals(stop: &mut Stop<'_>, frame: usize) -> String {
    let mut text = String::new();
    let guest = stop.frames(frame, 1).pop().filter(DebugFrame::is_guest);
    for (name, value) in guest.into_iter().flat_map(|guest| guest.values) {
        text.push_str(&format!("{name} = {value}\n"));
    }
    for variable in stop.variables(frame) {
        let value = match variable.value {
            Some(place) => {
                let value = stop.thread().protected(place);
                written(stop, value)
            }
            None => "(the code has let go of it)".to_owned(),
        };
        text.push_str(&format!("{} = {value}\n", variable.name));
    }
    if text.is_empty() {
        text.push_str("There are no variables.");
    }
    text
}

/// The value of an expression, and what became of assignments.
pub fn described_outcome(stop: &mut Stop<'_>, outcome: &Outcome) -> String {
    let mut text = match outcome.value {
        Ok(Value::UNSPECIFIED) => String::new(),
        Ok(value) => format!("{}\n", written(stop, value)),
        Err(object) => {
            let text = conditions::text_of_raised(stop.thread(), object, VALUE_MAX);
            format!("raised: {text}\n")
        }
    };
    for (name, assignment) in &outcome.assigned {
        let sentence = match assignment {
            Assignment::Done => continue,
            Assignment::DoneInFrame => "was changed for this frame; closures keep what they had",
            Assignment::Gone => "was not changed: the code has let go of it",
            Assignment::NeverAssigned => "was not changed: the program never assigns it",
            Assignment::InContinuation => "was not changed: the frame is in a continuation",
        };
        text.push_str(&format!("{name} {sentence}\n"));
    }
    text
}

/// The commands.
pub fn help() -> String {
    let rows = commands::ROWS.iter().map(|(names, arguments, meaning)| {
        let name = format!("{} {arguments}", names.join(", "));
        format!("{:40} {meaning}\n", name.trim_end())
    });
    rows.collect()
}
