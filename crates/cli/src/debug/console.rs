//! The prompt of a task that stands still.
//!
//! An expression is evaluated by the task itself, which stops again behind it. So the console keeps what
//! it was doing, by task.

use std::collections::HashMap;

use canny_lib::debug::{self, Expression, Outcome};
use canny_lib::printer;
use canny_locks::Mutex;
use canny_value::Value;
use canny_vm::debug::{
    Assignment, Breakpoint, BreakpointId, Client, DebugFrame, Granularity, Location, Reason,
    Resume, StepKind, Stop, TaskKey,
};

use super::commands::{self, Command};

/// Frames that a backtrace shows at most.
const FRAMES_MAX: usize = 100;
/// Characters of a value that are shown at most.
const VALUE_MAX: usize = 1000;

/// The prompt.
pub struct Console {
    /// The file of the program.
    program: String,
    terminal: Mutex<Terminal>,
}

/// State of the terminal, for one task at a time.
#[derive(Default)]
struct Terminal {
    /// The last line, which an empty one repeats.
    last: String,
    /// Expressions that tasks are evaluating, the innermost last.
    expressions: HashMap<TaskKey, Vec<Expression>>,
}

/// The effect of a command on the prompt.
enum Next {
    Ask,
    Resume(Resume),
}

impl Client for Console {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let mut terminal = stop.wait(|| self.terminal.lock());
        let task = stop.task();
        let evaluated = terminal
            .expressions
            .get_mut(&task)
            .filter(|_| is_answer(stop));
        let evaluated = evaluated.and_then(Vec::pop);
        let mut frame = first_shown(stop);
        match evaluated {
            Some(expression) => {
                let outcome = debug::end(stop, &expression);
                say(&described_outcome(stop, &outcome));
                frame = expression.frame();
            }
            None => {
                stop.debugger().pause_all(false);
                say(&described_stop(stop, frame));
            }
        }
        loop {
            eprint!("(debug) ");
            let line = stop.wait(read_line);
            let Some(line) = line else {
                return Resume::Exit(0);
            };
            if !line.trim().is_empty() {
                terminal.last = line;
            }
            if terminal.last.is_empty() {
                continue;
            }
            let next = match commands::read(&terminal.last) {
                Ok(command) => self.perform(stop, &mut terminal, &mut frame, command),
                Err(message) => {
                    say(&message);
                    Next::Ask
                }
            };
            if let Next::Resume(resume) = next {
                return resume;
            }
        }
    }
}

impl Console {
    pub fn new(program: &str) -> Console {
        Console {
            program: program.to_owned(),
            terminal: Mutex::default(),
        }
    }

    fn perform(
        &self,
        stop: &mut Stop<'_>,
        terminal: &mut Terminal,
        frame: &mut usize,
        command: Command,
    ) -> Next {
        let line = Granularity::Line;
        match command {
            Command::Continue => return Next::Resume(Resume::Continue),
            Command::Step => return Next::Resume(Resume::Step(StepKind::In, line)),
            Command::StepExpression => {
                return Next::Resume(Resume::Step(StepKind::In, Granularity::Expression));
            }
            Command::Next => return Next::Resume(Resume::Step(StepKind::Over, line)),
            Command::Finish => return Next::Resume(Resume::Step(StepKind::Out, line)),
            Command::Quit => return Next::Resume(Resume::Exit(0)),
            Command::Print(text) => match debug::begin(stop, *frame, &text) {
                Ok((resume, expression)) => {
                    let task = stop.task();
                    terminal
                        .expressions
                        .entry(task)
                        .or_default()
                        .push(expression);
                    return Next::Resume(resume);
                }
                Err(message) => say(&message),
            },
            Command::Break(place) => say(&self.set(stop, &place)),
            Command::Catch => {
                let id = stop
                    .thread()
                    .set_breakpoint(Breakpoint::new(Location::Raise));
                say(&format!("Breakpoint {} where objects are raised.", id.0));
            }
            Command::Delete(number) => {
                if !stop.thread().remove_breakpoint(BreakpointId(number)) {
                    say(&format!("There is no breakpoint {number}."));
                }
            }
            Command::Backtrace => say(&backtrace(stop, *frame)),
            Command::Frame(number) => go(stop, frame, number),
            Command::Up => go(stop, frame, *frame + 1),
            Command::Down => go(stop, frame, frame.saturating_sub(1)),
            Command::Locals => say(&locals(stop, *frame)),
            Command::Help => say(&help()),
        }
        Next::Ask
    }

    /// Sets a breakpoint at `FILE:LINE`, a line of the program, or a procedure.
    fn set(&self, stop: &mut Stop<'_>, place: &str) -> String {
        let line_of = |text: &str| text.parse::<u32>().ok();
        let location = match (place.rsplit_once(':'), line_of(place)) {
            (_, Some(line)) => Location::Line {
                file: self.program.clone(),
                line,
            },
            (Some((file, line)), None) if line_of(line).is_some() => Location::Line {
                file: file.to_owned(),
                line: line_of(line).unwrap_or(0),
            },
            _ => Location::Procedure(place.to_owned()),
        };
        let id = stop.thread().set_breakpoint(Breakpoint::new(location));
        let state = stop.debugger().breakpoint(id).unwrap_or_default();
        match (state.places, state.line) {
            (0, _) => format!("Breakpoint {} waits for code that is loaded later.", id.0),
            (_, Some(line)) => format!("Breakpoint {} at line {line}.", id.0),
            (_, None) => format!("Breakpoint {} at {place}.", id.0),
        }
    }
}

/// Whether the stop is the end of a call that the console has made.
fn is_answer(stop: &Stop<'_>) -> bool {
    stop.argument() != Value::FALSE
}

/// The newest frame that is not of the standard library.
fn first_shown(stop: &Stop<'_>) -> usize {
    let frames = stop.frames(0, FRAMES_MAX);
    let shown = frames.iter().position(|frame| !frame.is_library);
    shown.unwrap_or(0)
}

/// Says something, if there is anything to say.
fn say(text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        eprintln!("{text}");
    }
}

/// A line of standard input; none at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

fn described_stop(stop: &mut Stop<'_>, frame: usize) -> String {
    let raised = raised(stop);
    let reason = match (stop.reason(), raised) {
        (_, Some(object)) => format!("Raised: {object}\n"),
        (Reason::Breakpoints(ids), None) => {
            let ids: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
            format!("Breakpoint {}, ", ids.join(" and "))
        }
        (Reason::Step, None) => String::new(),
    };
    let task = match stop.task() {
        TaskKey(Some(number)) if number > 0 => format!("task {number}, "),
        _ => String::new(),
    };
    let place = stop.frames(frame, 1).pop();
    let place = place.map_or_else(|| "?".to_owned(), |frame| with_source(&frame));
    format!("{reason}{task}{place}")
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

fn described(frame: &DebugFrame) -> String {
    let name = match frame.name.as_deref() {
        _ if frame.is_program => "the program",
        Some(name) => name,
        None => "an anonymous procedure",
    };
    match &frame.position {
        Some(place) => format!("{name} at {}:{}:{}", place.file, place.line, place.column),
        None => name.to_owned(),
    }
}

/// A frame with its line of the source.
fn with_source(frame: &DebugFrame) -> String {
    let text = described(frame);
    let Some(place) = &frame.position else {
        return text;
    };
    let source = std::fs::read_to_string(&place.file).unwrap_or_default();
    match source.lines().nth(place.line as usize - 1) {
        Some(line) => format!("{text}\n{:5}  {line}", place.line),
        None => text,
    }
}

fn backtrace(stop: &Stop<'_>, chosen: usize) -> String {
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

fn go(stop: &Stop<'_>, frame: &mut usize, number: usize) {
    match stop.frames(number, 1).pop() {
        Some(found) => {
            *frame = number;
            say(&with_source(&found));
        }
        None => say("There is no such frame."),
    }
}

fn locals(stop: &mut Stop<'_>, frame: usize) -> String {
    let mut text = String::new();
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

fn described_outcome(stop: &mut Stop<'_>, outcome: &Outcome) -> String {
    let mut text = match outcome.value {
        Ok(Value::UNSPECIFIED) => String::new(),
        Ok(value) => format!("{}\n", written(stop, value)),
        Err(object) => format!("raised: {}\n", written(stop, object)),
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

fn help() -> String {
    let rows = commands::ROWS.iter().map(|(names, arguments, meaning)| {
        let name = format!("{} {arguments}", names.join(", "));
        format!("{:40} {meaning}\n", name.trim_end())
    });
    rows.collect()
}
