//! The layout of Scheme source text: what `canny fmt` does.
//!
//! The author decides where lines end; this crate decides everything else. Indentation follows the form
//! a line belongs to, elements are one blank apart, closing parens follow what they close, several
//! empty lines become one, comments behind neighbouring lines stand in one column. Lines that are too
//! long are broken. No comment and no token is changed, so the data that a reader sees stay the same;
//! and laying out twice is laying out once.
//!
//! The work is linear in the text: [`tokens`] splits it, [`layout`] writes it, [`comments`] aligns what
//! stands behind code.
#![forbid(unsafe_code)]

mod comments;
mod extents;
mod layout;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt;

/// Columns that a line has at most, where it can be helped.
pub const WIDTH: usize = 100;

/// Why a text cannot be laid out. It is left alone then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The fault at that place.
    pub message: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for FormatError {}

/// The text in its layout. Fails when parens, strings or comments do not match up.
pub fn format(text: &str) -> Result<String, FormatError> {
    let tokens = tokens::tokens(text).map_err(|error| locate(text, error))?;
    let laid_out = layout::layout(text, &tokens).map_err(|error| locate(text, error))?;
    Ok(comments::align(laid_out))
}

/// An error at a byte of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorAt {
    offset: usize,
    message: String,
}

fn locate(text: &str, error: ErrorAt) -> FormatError {
    let before = &text[..error.offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    FormatError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message: error.message,
    }
}
