//! Messages on standard error: diagnostics and uncaught objects with their place in the source.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use canny_lib::host::Uncaught;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::span::SourceMap;
use canny_vm::FrameDescription;

/// Frames of a backtrace that are shown at most.
const FRAMES_MAX: usize = 24;

/// Whether messages are coloured.
fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::io::stderr().is_terminal()
}

/// Prints diagnostics in order.
pub fn diagnostics(diagnostics: &[Diagnostic], sources: &SourceMap) {
    flush_output();
    let mut out = std::io::stderr().lock();
    for diagnostic in diagnostics {
        // Nothing can be done when standard error is gone.
        let _ = writeln!(out, "{}", diagnostic.render(sources, colour()).trim_end());
    }
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
    let mut uncaught = uncaught.clone();
    if uncaught.position.is_none() {
        let mut frames = uncaught.frames.iter().filter(|frame| !frame.is_library);
        uncaught.position = frames.find_map(|frame| frame.position.clone());
    }
    let mut text = uncaught.plain_text();
    text.push('\n');
    if let Some((file, line, column)) = &uncaught.position
        && let Some(source) = source_line(sources, file, *line)
    {
        text.push_str(&caret_lines(&source, *line, *column));
    }
    text.push_str(&backtrace(&uncaught.frames));
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
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

fn caret_lines(source: &str, line: u32, column: u32) -> String {
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    // Tabs stay tabs, so that the caret stands where the terminal puts the text.
    let before: String = source
        .chars()
        .take(column.saturating_sub(1) as usize)
        .map(|character| if character == '\t' { '\t' } else { ' ' })
        .collect();
    format!("{number} | {source}\n{gutter} | {before}^\n")
}

fn backtrace(frames: &[FrameDescription]) -> String {
    let mut text = String::new();
    let shown = frames.iter().filter(|frame| !frame.is_library);
    let total = shown.clone().count();
    for frame in shown.take(FRAMES_MAX) {
        let name = match frame.name.as_deref() {
            Some("body") => "the program",
            Some(name) => name,
            None => "an anonymous procedure",
        };
        match &frame.position {
            Some((file, line, column)) => {
                text.push_str(&format!("  in {name} at {file}:{line}:{column}\n"))
            }
            None => text.push_str(&format!("  in {name}\n")),
        }
    }
    if total > FRAMES_MAX {
        text.push_str(&format!("  … and {} more\n", total - FRAMES_MAX));
    }
    text
}
