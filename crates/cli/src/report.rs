//! Messages on standard error: diagnostics and uncaught objects with their place in the source, as
//! text or as JSON.
//!
//! The format, the choice of warnings and whether values are shown are global and set once, before
//! the first message. A diagnostic that warnings options hide is dropped here.

use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use canny_lib::host::{StandardOutput, Uncaught, end_line, is_at_line_start, note_line_start};
use canny_locks::Mutex;
use canny_syntax::diagnostic::{
    Diagnostic, Word, did_you_mean, render_at, render_note, render_without_source,
};
use canny_syntax::reader::read_source;
use canny_syntax::span::{Location, SourceMap, Span};
use canny_vm::{FrameDescription, Position};

use crate::json;
use crate::warnings::Warnings;

/// How messages are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageFormat {
    /// For people.
    #[default]
    Text,
    /// For tools.
    Json,
}

/// Whether messages are JSON; set once, before the first of them.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether backtraces show the values of variables.
static SHOWS_VALUES: AtomicBool = AtomicBool::new(true);

/// Lets backtraces show no values.
pub fn hide_values() {
    SHOWS_VALUES.store(false, Ordering::Relaxed);
}

/// Whether backtraces show the values of variables.
pub fn shows_values() -> bool {
    SHOWS_VALUES.load(Ordering::Relaxed)
}

/// The warnings to show; set once, before the first of them.
static WARNINGS: OnceLock<Warnings> = OnceLock::new();

/// Sets how messages are written and which warnings are. Only the first call has an effect on the latter.
pub fn set(format: MessageFormat, warnings: &Warnings) {
    IS_JSON.store(format == MessageFormat::Json, Ordering::Relaxed);
    let _ = WARNINGS.set(warnings.clone());
}

/// The diagnostics that are to be shown; with `-W error` all of them are errors.
fn chosen(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    WARNINGS
        .get_or_init(Warnings::default)
        .choose_from(diagnostics)
}

fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Frames of a backtrace that are shown at most.
const FRAMES_MAX: usize = 24;

/// Whether messages are coloured.
fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::io::stderr().is_terminal()
        && CAPTURED.lock().is_none()
}

/// Messages for a client instead of standard error, while there is one.
static CAPTURED: Mutex<Option<String>> = Mutex::new(None);

/// Keeps messages from now on instead of printing them.
pub fn begin_capture() {
    *CAPTURED.lock() = Some(String::new());
}

/// The messages since [`begin_capture`]; they are printed again.
pub fn end_capture() -> String {
    let mut captured = CAPTURED.lock();
    captured.take().unwrap_or_default()
}

/// Prints a message, or keeps it.
fn emit(text: &str) {
    let mut captured = CAPTURED.lock();
    match &mut *captured {
        Some(kept) => kept.push_str(text),
        // Nothing can be done when standard error is gone.
        None => drop(std::io::stderr().lock().write_all(text.as_bytes())),
    }
}

/// Prints diagnostics in order, but for warnings that are turned off. Whether an error was among them, or a
/// warning that counts as one.
pub fn diagnostics(diagnostics: &[Diagnostic], sources: &SourceMap) -> bool {
    let diagnostics = chosen(diagnostics);
    if diagnostics.is_empty() {
        return false;
    }
    flush_output();
    for diagnostic in &diagnostics {
        let text = if is_json() {
            json::diagnostic(diagnostic, sources)
        } else {
            diagnostic.render(sources, colour())
        };
        emit(&format!("{}\n", text.trim_end()));
    }
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Tells that a file or standard input cannot be read.
pub fn unreadable(message: &str) {
    if is_json() {
        let one = Diagnostic::error("unreadable-file", Span::NONE, message);
        let _ = std::io::stderr()
            .lock()
            .write_all(json::diagnostic(&one, &SourceMap::new()).as_bytes());
    } else {
        eprintln!("canny: {message}");
    }
}

/// Prints a text that is meant for people.
pub fn text(text: &str) {
    flush_output();
    emit(text);
}

/// Flushes the program's output, which comes before a message about it. The message begins a line
/// of its own where both go to one place.
fn flush_output() {
    let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
    let captured = CAPTURED.lock();
    if captured.is_none() && outputs_are_one() {
        begin_line();
    }
}

/// Ends the line that the program has begun on standard output, or on standard error if that is the
/// same terminal, pipe or file; whether there was one.
pub fn begin_line() -> bool {
    use StandardOutput::{Error, Output};
    let begun = [Output, Error].map(|port| !is_at_line_start(port));
    if begun == [false, false] {
        return false;
    }
    let are_one = outputs_are_one();
    let [is_output_begun, is_error_begun] = begun;
    if is_output_begun {
        end_line(Output);
        if are_one {
            note_line_start(Error);
        }
    } else if is_error_begun && are_one {
        end_line(Error);
    }
    is_output_begun || are_one
}

/// Whether standard output and standard error are the same terminal, pipe or file.
fn outputs_are_one() -> bool {
    let output = rustix::fs::fstat(std::io::stdout());
    let error = rustix::fs::fstat(std::io::stderr());
    match (output, error) {
        (Ok(output), Ok(error)) => (output.st_dev, output.st_ino) == (error.st_dev, error.st_ino),
        _ => false,
    }
}

/// Whether the last uncaught object was the condition of an interrupt.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the program ended because Ctrl-C was not handled.
pub fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Prints an object that no handler took: message, source line with a caret, backtrace.
pub fn uncaught(uncaught: &Uncaught, sources: &SourceMap) {
    INTERRUPTED.store(
        uncaught.kind.as_deref() == Some("interrupt"),
        Ordering::Relaxed,
    );
    flush_output();
    // Errors in a source are reported at their own positions; the call that loaded the source is
    // only a note.
    let errors_are_shown = diagnostics(&uncaught.syntax_errors, sources);
    if was_interrupted() && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        // The terminal has shown ^C.
        emit("\n");
    }
    // An object that is no condition carries no position; it was raised where the program stands.
    let here = || {
        let mut frames = uncaught.frames.iter().filter(|frame| !frame.is_library);
        frames.find_map(|frame| frame.position.clone())
    };
    let position = uncaught.position.clone().or_else(here);
    let mut labels = Vec::new();
    let mut notes = uncaught.notes.clone();
    if let Some(procedure) = &uncaught.procedure {
        let name = procedure.name.as_deref().unwrap_or("the procedure");
        let calls = procedure.calls.join(" or ");
        match &procedure.position {
            Some(place) => labels.push((
                place.clone(),
                format!("{name} is defined here; it is called as {calls}"),
            )),
            None => notes.push(format!("{name} is called as {calls}")),
        }
    }
    let argument = position
        .as_ref()
        .and_then(|position| argument_position(uncaught, position, sources));
    if is_json() {
        let argument = argument.map(|place| (place, "the argument".to_owned()));
        labels.extend(argument);
        let line = json::uncaught(uncaught, position.as_ref(), &labels, &notes, shows_values());
        emit(&line);
        return;
    }
    let who = uncaught.who.as_deref().unwrap_or("this");
    let (word, message) = if errors_are_shown {
        (Word::Note, format!("{who} was called here"))
    } else {
        (Word::Error(uncaught.code), uncaught.text())
    };
    let mut text = match position {
        None if errors_are_shown => String::new(),
        _ => entry(
            position.as_ref(),
            argument.as_ref(),
            word,
            &message,
            sources,
        ),
    };
    for (place, message) in &labels {
        text.push_str(&entry(Some(place), None, Word::Note, message, sources));
    }
    let similar = uncaught.similar_name.iter().map(|name| did_you_mean(name));
    for note in notes.into_iter().chain(similar) {
        text.push_str(&render_note(&note, colour()));
    }
    text.push_str(&backtrace(&uncaught.frames));
    emit(&text);
}

/// Position, message, and the source line with the form underlined; the argument to blame gets the carets.
fn entry(
    position: Option<&Position>,
    argument: Option<&Position>,
    word: Word,
    message: &str,
    sources: &SourceMap,
) -> String {
    let Some(position) = position else {
        return render_without_source(None, word, message, colour());
    };
    let Some(line_text) = source_line(sources, &position.file, position.line) else {
        let place = format!("{}:{}:{}", position.file, position.line, position.column);
        return render_without_source(Some(&place), word, message, colour());
    };
    let columns = |place: &Position| columns_in_line(&line_text, place);
    let (line_offset, length) = columns(position);
    let part = argument
        .filter(|place| place.line == position.line)
        .map(columns);
    let at = Location {
        file: position.file.clone(),
        line: position.line,
        column: position.column,
        line_offset,
        line_text: line_text.clone(),
    };
    let mut text = render_at(&at, length, part, word, message, colour());
    if let Some(place) = argument.filter(|place| place.line != position.line) {
        let message = "this is the argument";
        text.push_str(&entry(Some(place), None, Word::Note, message, sources));
    }
    text
}

/// The bytes of its first line that a place covers: first and length.
fn columns_in_line(line: &str, place: &Position) -> (usize, usize) {
    let start = byte_of_column(line, place.column);
    let end = if place.end_line == place.line {
        byte_of_column(line, place.end_column)
    } else {
        line.len()
    };
    (start, end.saturating_sub(start))
}

/// The byte where a column, counted from one, begins.
fn byte_of_column(line: &str, column: u32) -> usize {
    let before = column.saturating_sub(1) as usize;
    let found = line.char_indices().nth(before);
    found.map_or(line.len(), |(offset, _)| offset)
}

/// Procedures that the compiler takes apart when they have more than two arguments: what they blame is not
/// the argument of that number in the text.
const TAKEN_APART: [&str; 13] = [
    "+", "-", "*", "/", "=", "<", ">", "<=", ">=", "min", "max", "gcd", "lcm",
];

/// Where the argument to blame stands, if the call is written where the error is.
fn argument_position(
    uncaught: &Uncaught,
    position: &Position,
    sources: &SourceMap,
) -> Option<Position> {
    let (who, argument) = (uncaught.who.as_deref()?, uncaught.argument?);
    let text = sources.text_of(&position.file)?;
    // The call's text, read anew.
    let mut lines = text
        .split_inclusive('\n')
        .skip(position.line.checked_sub(1)? as usize);
    let first = lines.next()?;
    let mut call = first
        .get(byte_of_column(first, position.column)..)?
        .to_owned();
    let more = position.end_line.checked_sub(position.line)? as usize;
    lines.take(more).for_each(|line| call.push_str(line));
    let scratch = SourceMap::new();
    let (_, forms) = read_source(&scratch, "", call.as_bytes(), false);
    let elements = forms.forms.first()?.elements()?;
    if elements.first()?.as_identifier()?.name.as_str() != who
        || (elements.len() > 3 && TAKEN_APART.contains(&who))
    {
        return None;
    }
    let span = elements.get(argument)?.span;
    let source = scratch.get(span.source)?;
    let place = |offset: u32| {
        let (line, column) = source.line_and_column(offset);
        let before = if line == 1 { position.column - 1 } else { 0 };
        (line + position.line - 1, column + before)
    };
    let ((line, column), (end_line, end_column)) = (place(span.start), place(span.end));
    Some(Position {
        file: position.file.clone(),
        line,
        column,
        end_line,
        end_column,
    })
}

/// A line of a source, from the text that was compiled or else from the file.
fn source_line(sources: &SourceMap, file: &str, line: u32) -> Option<String> {
    let text = sources
        .text_of(file)
        .or_else(|| std::fs::read_to_string(file).ok().map(Into::into))?;
    text.lines()
        .nth(line.checked_sub(1)? as usize)
        .map(str::to_owned)
}

fn backtrace(frames: &[FrameDescription]) -> String {
    let mut text = String::new();
    let total = frames.iter().filter(|frame| !frame.is_library).count();
    let mut left = FRAMES_MAX;
    for frame in frames {
        if frame.is_library {
            // A procedure of the library may have taken the place of one of the program's.
            text.push_str(&tail_callers(frame));
            continue;
        }
        if left == 0 {
            break;
        }
        left -= 1;
        let name = match frame.name.as_deref() {
            _ if frame.is_program => "the program",
            Some(name) => name,
            None => "an anonymous procedure",
        };
        match &frame.position {
            Some(position) => {
                let Position {
                    file, line, column, ..
                } = position;
                text.push_str(&format!("  in {name} at {file}:{line}:{column}\n"));
            }
            None => text.push_str(&format!("  in {name}\n")),
        }
        text.push_str(&values(frame));
        text.push_str(&tail_callers(frame));
    }
    if total > FRAMES_MAX {
        text.push_str(&format!("  … and {} more\n", total - FRAMES_MAX));
    }
    text
}

/// The line with the values of a frame's variables, if there are any.
fn values(frame: &FrameDescription) -> String {
    /// Columns of the line; a value that begins before its end is shown whole.
    const COLUMNS_MAX: usize = 90;
    if frame.values.is_empty() || !shows_values() {
        return String::new();
    }
    let mut line = String::from("     ");
    for (index, (name, value)) in frame.values.iter().enumerate() {
        if line.chars().count() >= COLUMNS_MAX {
            line.push_str(" …");
            break;
        }
        let gap = if index == 0 { " " } else { ", " };
        line.push_str(&format!("{gap}{name} = {value}"));
    }
    line.push('\n');
    line
}

/// The procedures of the program that a frame has replaced.
fn tail_callers(frame: &FrameDescription) -> String {
    let mut text = String::new();
    for caller in frame.tail_callers.iter().filter(|one| !one.is_library) {
        let perhaps = if caller.is_certain { "" } else { "perhaps " };
        let name = caller.name.as_deref().unwrap_or("an anonymous procedure");
        text.push_str(&format!("  {perhaps}by a tail call in {name}"));
        if let Some(Position {
            file, line, column, ..
        }) = &caller.position
        {
            text.push_str(&format!(" at {file}:{line}:{column}"));
        }
        text.push('\n');
    }
    text
}

/// A frame in one line: the procedure, and where it stands.
pub fn frame(name: Option<&str>, is_program: bool, position: Option<&Position>) -> String {
    let name = match name {
        _ if is_program => "the program",
        Some(name) => name,
        None => "an anonymous procedure",
    };
    match position {
        Some(place) => format!("{name} at {}:{}:{}", place.file, place.line, place.column),
        None => name.to_owned(),
    }
}
