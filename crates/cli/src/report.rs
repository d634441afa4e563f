//! Messages on standard error: diagnostics and uncaught objects with their place in the source.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use canny_lib::host::Uncaught;
use canny_syntax::diagnostic::{Diagnostic, Word, render_at, render_without_source};
use canny_syntax::span::{Location, SourceMap};
use canny_vm::{FrameDescription, Position};

/// Frames of a backtrace that are shown at most.
const FRAMES_MAX: usize = 24;

/// Whether messages are coloured.
fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::io::stderr().is_terminal()
        && CAPTURED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
}

/// Messages for a client instead of standard error, while there is one.
static CAPTURED: Mutex<Option<String>> = Mutex::new(None);

/// Keeps messages from now on instead of printing them.
pub fn begin_capture() {
    *CAPTURED.lock().unwrap_or_else(PoisonError::into_inner) = Some(String::new());
}

/// The messages since [`begin_capture`]; they are printed again.
pub fn end_capture() -> String {
    let mut captured = CAPTURED.lock().unwrap_or_else(PoisonError::into_inner);
    captured.take().unwrap_or_default()
}

/// Prints a message, or keeps it.
fn emit(text: &str) {
    let mut captured = CAPTURED.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *captured {
        Some(kept) => kept.push_str(text),
        // Nothing can be done when standard error is gone.
        None => drop(std::io::stderr().lock().write_all(text.as_bytes())),
    }
}

/// Prints diagnostics in order.
pub fn diagnostics(diagnostics: &[Diagnostic], sources: &SourceMap) {
    flush_output();
    for diagnostic in diagnostics {
        let text = diagnostic.render(sources, colour());
        emit(&format!("{}\n", text.trim_end()));
    }
}

/// Prints a text that is meant for people.
pub fn text(text: &str) {
    flush_output();
    emit(text);
}

/// What the program wrote comes before what is said about it.
fn flush_output() {
    let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
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
    // An object that is no condition carries no position; it was raised where the program stands.
    let here = || {
        let mut frames = uncaught.frames.iter().filter(|frame| !frame.is_library);
        frames.find_map(|frame| frame.position.clone())
    };
    let position = uncaught.position.clone().or_else(here);
    let mut text = entry(position.as_ref(), Word::Error, &uncaught.text(), sources);
    if let Some((name, definition)) = &uncaught.definition {
        let message = format!("{name} is defined here");
        // The first line of a definition names the parameters.
        text.push_str(&entry(Some(definition), Word::Note, &message, sources));
    }
    if let Some(name) = &uncaught.similar_name {
        text.push_str(&format!("  note: did you mean `{name}`?\n"));
    }
    text.push_str(&backtrace(&uncaught.frames));
    emit(&text);
}

/// Position, message, and the source line with the form underlined.
fn entry(position: Option<&Position>, word: Word, message: &str, sources: &SourceMap) -> String {
    let Some(position) = position else {
        return render_without_source(None, word, message, colour());
    };
    let Some(line_text) = source_line(sources, &position.file, position.line) else {
        let place = format!("{}:{}:{}", position.file, position.line, position.column);
        return render_without_source(Some(&place), word, message, colour());
    };
    let offset = |column: u32| {
        let before = column.saturating_sub(1) as usize;
        let found = line_text.char_indices().nth(before);
        found.map_or(line_text.len(), |(offset, _)| offset)
    };
    let line_offset = offset(position.column);
    let end = if position.end_line == position.line {
        offset(position.end_column)
    } else {
        line_text.len()
    };
    let at = Location {
        file: position.file.clone(),
        line: position.line,
        column: position.column,
        line_offset,
        line_text,
    };
    render_at(
        &at,
        end.saturating_sub(line_offset),
        word,
        message,
        colour(),
    )
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
    let shown = frames.iter().filter(|frame| !frame.is_library);
    let total = shown.clone().count();
    for frame in shown.take(FRAMES_MAX) {
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
    }
    if total > FRAMES_MAX {
        text.push_str(&format!("  … and {} more\n", total - FRAMES_MAX));
    }
    text
}
