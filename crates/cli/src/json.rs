//! Messages as JSON, one object on each line: `--message-format json`.
//!
//! | member | of | what |
//! |---|---|---|
//! | `severity` | all | `error` or `warning` |
//! | `code` | all | a row of the table of messages |
//! | `message` | all | as in the text |
//! | `file`, `line`, `column`, `end` | all with a place | `end` has `line` and `column`; all count from one, in characters |
//! | `labels` | all | other places, each with a message |
//! | `notes` | all | sentences |
//! | `did_you_mean` | some | a name |
//! | `expansion` | diagnostics | macro uses that led here, innermost first |
//! | `frames` | uncaught objects | innermost first |
//! | `kind` | uncaught conditions | what `condition-kind` gives |

use canny_lib::host::Uncaught;
use canny_syntax::diagnostic::{Diagnostic, Severity};
use canny_syntax::span::{SourceMap, Span};
use canny_vm::{FrameDescription, Position, TailCaller};

/// An object that is being written.
pub struct Object {
    text: String,
}

impl Object {
    pub fn new() -> Object {
        Object {
            text: "{".to_owned(),
        }
    }

    /// Adds a member whose value is JSON.
    pub fn json(&mut self, name: &str, value: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(&string(name));
        self.text.push(':');
        self.text.push_str(value);
    }

    pub fn string(&mut self, name: &str, value: &str) {
        self.json(name, &string(value));
    }

    pub fn array(&mut self, name: &str, elements: impl Iterator<Item = String>) {
        let elements: Vec<String> = elements.collect();
        self.json(name, &format!("[{}]", elements.join(",")));
    }

    fn place(&mut self, position: Option<&Position>) {
        let Some(position) = position else { return };
        self.string("file", &position.file);
        self.json("line", &position.line.to_string());
        self.json("column", &position.column.to_string());
        let Position {
            end_line,
            end_column,
            ..
        } = position;
        self.json(
            "end",
            &format!("{{\"line\":{end_line},\"column\":{end_column}}}"),
        );
    }

    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// A text as JSON.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if (control as u32) < 0x20 => {
                out.push_str(&format!("\\u{:04x}", control as u32));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Beginning and end of a span.
fn position(sources: &SourceMap, span: Span) -> Option<Position> {
    let begin = sources.locate(span)?;
    let end = sources.locate(Span::new(span.source, span.end, span.end))?;
    Some(Position {
        file: begin.file,
        line: begin.line,
        column: begin.column,
        end_line: end.line,
        end_column: end.column,
    })
}

/// A place with a message.
fn label(position: Option<&Position>, message: &str) -> String {
    let mut object = Object::new();
    object.string("message", message);
    object.place(position);
    object.finish()
}

/// A diagnostic as a line.
pub fn diagnostic(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let mut object = Object::new();
    object.string(
        "severity",
        match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
    );
    object.string("code", diagnostic.code);
    object.string("message", &diagnostic.message);
    object.place(position(sources, diagnostic.span).as_ref());
    let labels = diagnostic.labels.iter();
    object.array(
        "labels",
        labels.map(|(span, text)| label(position(sources, *span).as_ref(), text)),
    );
    object.array("notes", diagnostic.notes.iter().map(|note| string(note)));
    if let Some(similar) = &diagnostic.similar {
        object.string("did_you_mean", similar);
    }
    let expansion = diagnostic.expansion.iter().map(|(name, span)| {
        let mut object = Object::new();
        object.string("macro", name.as_str());
        object.place(position(sources, *span).as_ref());
        object.finish()
    });
    object.array("expansion", expansion);
    object.finish() + "\n"
}

/// An uncaught object as a line. The position is where it was raised; labels and notes are those of the text.
pub fn uncaught(
    uncaught: &Uncaught,
    position: Option<&Position>,
    labels: &[(Position, String)],
    notes: &[String],
    shows_values: bool,
) -> String {
    let mut object = Object::new();
    object.string("severity", "error");
    object.string("code", uncaught.code);
    object.string("message", &uncaught.text());
    if let Some(kind) = &uncaught.kind {
        object.string("kind", kind);
    }
    object.place(position);
    let labels = labels.iter();
    object.array(
        "labels",
        labels.map(|(position, text)| label(Some(position), text)),
    );
    object.array("notes", notes.iter().map(|note| string(note)));
    if let Some(similar) = &uncaught.similar_name {
        object.string("did_you_mean", similar);
    }
    // A frame of the library shows only if it took the place of a procedure of the program.
    let has_callers = |frame: &&FrameDescription| {
        !frame.is_library || frame.tail_callers.iter().any(|one| !one.is_library)
    };
    let frames = uncaught.frames.iter().filter(has_callers);
    object.array("frames", frames.map(|one| frame(one, shows_values)));
    object.finish() + "\n"
}

fn frame(frame: &FrameDescription, shows_values: bool) -> String {
    let mut object = Object::new();
    match &frame.name {
        _ if frame.is_library => object.json("library", "true"),
        _ if frame.is_program => object.json("program", "true"),
        Some(name) => object.string("procedure", name),
        None => object.json("procedure", "null"),
    }
    let position = frame.position.as_ref().filter(|_| !frame.is_library);
    object.place(position);
    let callers = frame.tail_callers.iter().filter(|one| !one.is_library);
    let callers: Vec<String> = callers.map(tail_caller).collect();
    if !frame.values.is_empty() && shows_values {
        let values = frame.values.iter().map(|(name, value)| {
            let mut object = Object::new();
            object.string("name", name);
            object.string("value", value);
            object.finish()
        });
        object.array("variables", values);
    }
    if !callers.is_empty() {
        object.array("tail_callers", callers.into_iter());
    }
    object.finish()
}

fn tail_caller(caller: &TailCaller) -> String {
    let mut object = Object::new();
    match &caller.name {
        Some(name) => object.string("procedure", name),
        None => object.json("procedure", "null"),
    }
    object.place(caller.position.as_ref());
    object.json("certain", if caller.is_certain { "true" } else { "false" });
    object.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(string("a\"b\\c\nd\u{1}é"), "\"a\\\"b\\\\c\\nd\\u0001é\"");
    }

    #[test]
    fn a_diagnostic_is_one_line() {
        let sources = SourceMap::new();
        let id = sources.add("a.scm", "(x)\n(y)");
        let one = Diagnostic::error("bad-syntax", Span::new(id, 4, 7), "bad\nform")
            .label(Span::new(id, 0, 3), "here")
            .note("so")
            .similar("z");
        assert_eq!(
            diagnostic(&one, &sources),
            "{\"severity\":\"error\",\"code\":\"bad-syntax\",\"message\":\"bad\\nform\",\
            \"file\":\"a.scm\",\"line\":2,\"column\":1,\"end\":{\"line\":2,\"column\":4},\
            \"labels\":[{\"message\":\"here\",\"file\":\"a.scm\",\"line\":1,\"column\":1,\
            \"end\":{\"line\":1,\"column\":4}}],\"notes\":[\"so\"],\"did_you_mean\":\"z\",\"expansion\":[]}\n"
        );
    }
}
