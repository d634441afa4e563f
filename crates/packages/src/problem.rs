//! The error type of the crate: diagnostics with codes, of which there is at least one.
//!
//! Codes are rows of `canny_syntax::messages`. A problem may have a position in a manifest; the
//! command line reports it like an error in a program.

use std::fmt;
use std::io;
use std::path::Path;

use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::span::Span;

/// Why something cannot be done: at least one error.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The errors, in the order to show them.
    pub diagnostics: Vec<Diagnostic>,
}

/// A result, or errors to show.
pub type Fallible<T> = Result<T, Problem>;

impl Problem {
    /// One error.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Problem {
        Problem::from(Diagnostic::error(code, span, message))
    }

    /// One error without a place in a file.
    pub fn plain(code: &'static str, message: impl Into<String>) -> Problem {
        Problem::new(code, Span::NONE, message)
    }

    /// Something in the file system that could not be written.
    pub fn unwritable(path: &Path, error: &io::Error) -> Problem {
        Problem::plain(
            "unwritable-project",
            format!("cannot write `{}`: {error}", path.display()),
        )
    }

    /// Something in the file system that could not be read.
    pub fn unreadable(path: &Path, error: &io::Error) -> Problem {
        Problem::plain(
            "unreachable-package",
            format!("cannot read `{}`: {error}", path.display()),
        )
    }

    /// The same with another sentence.
    pub fn note(mut self, text: impl Into<String>) -> Problem {
        if let Some(last) = self.diagnostics.last_mut() {
            last.notes.push(text.into());
        }
        self
    }

    /// The same at this place, unless it has one.
    pub fn at(mut self, span: Span) -> Problem {
        if let Some(first) = self.diagnostics.first_mut()
            && !first.span.is_some()
        {
            first.span = span;
        }
        self
    }

    /// The code of the first error.
    pub fn code(&self) -> &'static str {
        self.diagnostics.first().map_or("", |first| first.code)
    }
}

impl From<Diagnostic> for Problem {
    fn from(diagnostic: Diagnostic) -> Problem {
        Problem {
            diagnostics: vec![diagnostic],
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            formatter.write_str(&one.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}
