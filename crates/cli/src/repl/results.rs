//! Shows values at the prompt and names them `$1`, `$2` and so on.
//!
//! Each value that is shown gets the next name, which is bound in the prompt's environment.
//! Printing is cut at the limits of [`Printing`]. Values are read again after every call, since a
//! collection may have run.

use canny_lib::printer::{pretty_shown, pretty_text, shown};
use canny_tables::kinds::Kind;
use canny_value::Value;

use super::editor;
use super::prompt::Prompt;
use crate::session::Session;
use crate::terminal_size::terminal_size;

/// How much of a value is shown.
#[derive(Clone, Copy, Debug)]
pub struct Printing {
    /// Columns; none for those of the window.
    pub width: Option<usize>,
    /// Characters or so; the rest is cut off.
    pub length_max: usize,
}

impl Default for Printing {
    fn default() -> Printing {
        Printing {
            width: None,
            length_max: 3000,
        }
    }
}

impl Printing {
    /// Columns to fill.
    pub fn columns(&self) -> usize {
        self.width.unwrap_or_else(|| terminal_size().0)
    }
}

/// Calls `visit` for the value, or for each of several.
pub fn each_value(session: &mut Session, value: Value, mut visit: impl FnMut(&mut Session, Value)) {
    let values = value.as_kind(Kind::Values);
    let count = values.map_or(1, |values| values.length());
    for index in 0..count {
        // The called procedure may collect: the elements are read through the word that the native
        // stack holds.
        let element = match value.as_kind(Kind::Values) {
            Some(values) => values.field(index),
            None => value,
        };
        visit(session, element);
    }
}

/// Prints a value as `-e` does: on one line, unless there is nothing to print.
pub fn print_plainly(session: &mut Session, value: Value) {
    if value == Value::UNSPECIFIED {
        return;
    }
    let text = shown(&session.thread, value);
    print(&format!("{text}\n"));
}

/// Prints what the prompt has to say, on lines of its own.
pub fn print(text: &str) {
    crate::report::begin_line();
    // A closed pipe ends the program at the next write of its own.
    let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
    crate::print_all(text);
}

/// Names each value and shows it.
pub fn show(prompt: &mut Prompt, value: Value) {
    let count = value.as_kind(Kind::Values).map_or(1, |all| all.length());
    for index in 0..count {
        let element = match value.as_kind(Kind::Values) {
            Some(values) => values.field(index),
            None => value,
        };
        if element == Value::UNSPECIFIED {
            continue;
        }
        let name = name_result(prompt, element);
        let text = labelled(prompt, &format!("{name} = "), element);
        print(&format!("{text}\n"));
    }
}

/// Gives a value the next name.
pub fn name_result(prompt: &mut Prompt, value: Value) -> String {
    prompt.results += 1;
    let name = format!("${}", prompt.results);
    let vm = prompt.session.vm.clone();
    let environment = prompt.environment();
    let global = prompt.session.evaluation().name_result(environment, &name);
    let _ = vm;
    prompt.session.thread.define_global(&global, value);
    name
}

/// A value behind a label, its lines below each other.
pub fn labelled(prompt: &mut Prompt, label: &str, value: Value) -> String {
    let columns = prompt.printing.columns();
    let indent = editor::text_width(label);
    let room = columns.saturating_sub(indent).max(8);
    let length_max = prompt.printing.length_max;
    let (text, is_cut) = pretty_shown(&prompt.session.thread, value, room, length_max);
    let blanks = format!("\n{}", " ".repeat(indent));
    let mut text = format!("{label}{}", text.replace('\n', &blanks));
    if is_cut {
        text.push_str(&format!(
            "\n; cut; ,pp {} shows all of it",
            label.trim_end_matches(" = ")
        ));
    }
    text
}

/// Everything of a value, in lines.
pub fn whole(prompt: &mut Prompt, value: Value) -> String {
    let text = shown(&prompt.session.thread, value);
    pretty_text(&text, prompt.printing.columns())
}
