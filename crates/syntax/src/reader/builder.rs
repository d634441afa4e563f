//! Builders of parsed data: callbacks that work on a stack of finished data.
//!
//! The builder owns the stack, so that a builder of heap values can keep it where the collector
//! sees it; the parser only counts. "Push" and "pop" below speak of that stack. After a successful
//! read the stack holds exactly one datum more than before; after a failed one the builder must
//! drop what was pushed since, for which [`Builder::mark`] and [`Builder::reset`] serve.

use canny_number::elements::ElementType;

use crate::number::Number;
use crate::span::Span;

/// The abbreviations of quotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotation {
    /// `'x`
    Quote,
    /// `` `x ``
    Quasiquote,
    /// `,x`
    Unquote,
    /// `,@x`
    UnquoteSplicing,
    /// `#'x`
    Syntax,
    /// `` #`x ``
    Quasisyntax,
    /// `#,x`
    Unsyntax,
    /// `#,@x`
    UnsyntaxSplicing,
}

impl Quotation {
    /// The symbol that the abbreviation stands for.
    pub fn symbol(self) -> &'static str {
        match self {
            Quotation::Quote => "quote",
            Quotation::Quasiquote => "quasiquote",
            Quotation::Unquote => "unquote",
            Quotation::UnquoteSplicing => "unquote-splicing",
            Quotation::Syntax => "syntax",
            Quotation::Quasisyntax => "quasisyntax",
            Quotation::Unsyntax => "unsyntax",
            Quotation::UnsyntaxSplicing => "unsyntax-splicing",
        }
    }

    /// The abbreviation itself.
    pub fn prefix(self) -> &'static str {
        match self {
            Quotation::Quote => "'",
            Quotation::Quasiquote => "`",
            Quotation::Unquote => ",",
            Quotation::UnquoteSplicing => ",@",
            Quotation::Syntax => "#'",
            Quotation::Quasisyntax => "#`",
            Quotation::Unsyntax => "#,",
            Quotation::UnsyntaxSplicing => "#,@",
        }
    }
}

/// Objects written `#!name`. (`#!optional`, `#!rest` and `#!key` are read as the keywords
/// `#:optional`, `#:rest` and `#:key`.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `#!eof`
    Eof,
    /// `#!unspecific`
    Unspecified,
    /// `#!default`
    DefaultObject,
}

/// Receives the parts of data as the parser finishes them.
pub trait Builder {
    /// Pushes a boolean.
    fn boolean(&mut self, value: bool, span: Span);
    /// Pushes a number.
    fn number(&mut self, value: Number, span: Span);
    /// Pushes a character.
    fn character(&mut self, value: char, span: Span);
    /// Pushes a string.
    fn string(&mut self, text: &str, span: Span);
    /// Pushes a symbol.
    fn symbol(&mut self, text: &str, span: Span);
    /// Pushes a keyword, given without its `#:`.
    fn keyword(&mut self, text: &str, span: Span);
    /// Pushes a special object.
    fn special(&mut self, value: Special, span: Span);
    /// Pushes a bytevector.
    fn bytevector(&mut self, bytes: &[u8], span: Span);
    /// Pushes a homogeneous numeric vector, given as its bytes.
    fn numeric_vector(&mut self, element: ElementType, bytes: &[u8], span: Span);
    /// Pops the tail if `dotted`, then `count` elements; pushes the list.
    fn list(&mut self, count: usize, dotted: bool, span: Span);
    /// Pops `count` elements and pushes the vector.
    fn vector(&mut self, count: usize, span: Span);
    /// Pops a datum and pushes the two-element list that the abbreviation stands for.
    /// `prefix` is where the abbreviation itself stands.
    fn quotation(&mut self, kind: Quotation, prefix: Span, span: Span);
    /// Pops a datum that was commented out.
    fn discard(&mut self);
    /// The datum that comes next will be called `label`.
    fn begin_label(&mut self, label: u64);
    /// The datum on top of the stack is the one called `label`; references to it that were pushed
    /// before now can be patched.
    fn finish_label(&mut self, label: u64, span: Span);
    /// Pushes the datum called `label`. `finished` tells whether [`Builder::finish_label`] was
    /// called for it; otherwise the reference stands inside the datum itself.
    fn label_reference(&mut self, label: u64, finished: bool, span: Span);
    /// The height of the stack.
    fn mark(&self) -> usize;
    /// Drops everything above that height.
    fn reset(&mut self, mark: usize);
}
