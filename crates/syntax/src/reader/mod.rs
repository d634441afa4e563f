//! The reader: text to data.
//!
//! One parser serves programs and ports: it reads from a [`CharSource`] and tells a [`Builder`]
//! what it found. [`read_source`] is the way for whole files: bytes in, syntax objects and all
//! errors out. The reader knows nothing of what forms mean.

mod builder;
mod lexer;
mod parser;
mod source;
mod syntax_builder;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use crate::diagnostic::Diagnostic;
use crate::span::{SourceId, SourceMap, Span};
use crate::syntax::Syntax;

pub use builder::{Builder, Quotation, Special};
pub use lexer::ReadError;
pub use parser::{Parser, Read};
pub use source::{CharSource, TextSource, ascii_run};
pub use syntax_builder::SyntaxBuilder;

/// A source that was read: its forms, in order, without the ones that could not be read.
#[derive(Debug, Default)]
pub struct SourceForms {
    /// The forms.
    pub forms: Vec<Syntax>,
    /// The errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// With [`read_text_leniently`]: the forms that are only a guess.
    pub repaired: Vec<Span>,
}

impl SourceForms {
    /// Whether there was an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Whether there was exactly the kind of error that more input can cure.
    pub fn is_incomplete(&self) -> bool {
        self.has_errors()
            && self
                .diagnostics
                .iter()
                .filter(|one| one.is_error())
                .all(|one| one.incomplete)
    }
}

/// Adds the bytes to the map under that name and reads all of it.
pub fn read_source(
    map: &SourceMap,
    name: &str,
    bytes: &[u8],
    fold_case: bool,
) -> (SourceId, SourceForms) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let id = map.add(name, text);
            match text.find('\0') {
                Some(offset) => (id, not_text(id, offset)),
                None => (id, read_text(text, id, fold_case)),
            }
        }
        Err(error) => {
            let offset = error.valid_up_to();
            let id = map.add(name, String::from_utf8_lossy(bytes).into_owned());
            let span = Span::new(id, offset as u32, offset as u32 + 3);
            let message = format!(
                "the file is not UTF-8: byte {offset} (0x{:02X}) begins no character",
                bytes[offset]
            );
            let diagnostic = Diagnostic::error("invalid-utf8", span, message);
            (
                id,
                SourceForms {
                    forms: Vec::new(),
                    diagnostics: vec![diagnostic],
                    repaired: Vec::new(),
                },
            )
        }
    }
}

/// The result for a file that no editor wrote: the error, and no forms.
fn not_text(id: SourceId, offset: usize) -> SourceForms {
    let span = Span::new(id, offset as u32, offset as u32 + 1);
    let message = format!("the file is no text: byte {offset} is zero");
    SourceForms {
        forms: Vec::new(),
        diagnostics: vec![Diagnostic::error("not-text", span, message)],
        repaired: Vec::new(),
    }
}

/// Reads all of a text that is already in the map.
pub fn read_text(text: &str, id: SourceId, fold_case: bool) -> SourceForms {
    read_with(text, id, fold_case, false)
}

/// The same for tools that look at texts while they are written: forms with errors are among the forms
/// too, as far as they can be guessed. One that is not closed ends where the indentation says, or at
/// the end of the text.
pub fn read_text_leniently(text: &str, id: SourceId, fold_case: bool) -> SourceForms {
    read_with(text, id, fold_case, true)
}

fn read_with(text: &str, id: SourceId, fold_case: bool, lenient: bool) -> SourceForms {
    let mut result = SourceForms::default();
    let mut parser = Parser::recovering(id);
    parser.set_fold_case(fold_case);
    let mut source = TextSource::new(text);
    let mut builder = SyntaxBuilder::new();
    // Where the form begins that is read next, or blanks before it.
    let mut start = 0;
    loop {
        let outcome: Result<Read, ReadError<Infallible>> = parser.read(&mut source, &mut builder);
        let spoiled = parser.take_diagnostics();
        let is_spoiled = !spoiled.is_empty();
        result.diagnostics.extend(spoiled);
        match outcome {
            Ok(Read::End) => break,
            Ok(Read::Datum(span)) => {
                start = span.end;
                let form = builder.take();
                result.forms.extend(form.filter(|_| !is_spoiled || lenient));
                if is_spoiled && lenient {
                    result.repaired.push(span);
                }
            }
            Err(ReadError::Syntax(diagnostic)) => {
                result.diagnostics.push(*diagnostic);
                // An unclosed form swallows the rest of the file; the indentation may tell where
                // the rest begins.
                let resume_at = parser.take_resume_at();
                if lenient {
                    let end = resume_at.map_or(text.len(), |offset| offset as usize);
                    let mut closing = Parser::closing(id);
                    closing.set_fold_case(parser.fold_case());
                    let mut rest = TextSource::starting_at(&text[..end], start);
                    if let Ok(Read::Datum(span)) = closing.read(&mut rest, &mut builder) {
                        result.forms.extend(builder.take());
                        result.repaired.push(span);
                    }
                }
                let Some(offset) = resume_at else {
                    break;
                };
                // The rest of the text is read again; its errors come again too.
                result.diagnostics.retain(|one| one.span.start < offset);
                source = TextSource::starting_at(text, offset);
                parser.moved_to(offset);
                start = offset;
            }
        }
    }
    result
}
