//! Documentation of libraries and programs, extracted from their sources.
//!
//! An [`Extractor`] reads sources without expanding or running them, so it also works on programs with
//! mistakes. Of a library it finds the exports: what each is, how it is called, the text about it,
//! examples in the text, where it is defined, and for what another library defines, which one.
//!
//! # Where the text of a definition comes from
//!
//! 1. A *doc string*: the first form of the body of a procedure, if it is a string and other forms follow it.
//! 2. Else the *doc comment*: the comment lines with two semicolons or more directly above the
//!    definition, no empty line between. Comments with one semicolon and those behind code are for
//!    readers of the code only.
//!
//! The text of a library is the comment directly above `define-library`, or else the one at the top of
//! its file, as for a program. A name at its beginning, `(my library): …`, is left out. A procedure of
//! a record type takes its text from the comment above its field, and else from what it does.
//!
//! Texts are Markdown. Code is fenced or, in sources, indented by two blanks or more. In code,
//! `; => VALUE` behind a form or on the line below says what it gives, and `; error: TEXT` which
//! condition it raises; these are the [`Example`]s.
//!
//! A [`Page`] is documentation in a file of its own, for libraries whose sources are not the place
//! for it: those whose names are built in or come from elsewhere. The text of a page takes
//! precedence over that of the source.
//!
//! This crate touches no file: sources come through a `LibraryLoader`.
//!
//! ```
//! use canny_documentation::Extractor;
//! use canny_syntax::library::SearchPath;
//!
//! let mut extractor = Extractor::new(Box::new(SearchPath::default()), &["r7rs"]);
//! let source = ";; Twice a number.\n(define (twice n) (* 2 n))\n";
//! let documents = extractor.source("double.scm", source);
//! let entry = documents[0].entry("twice").unwrap();
//! assert_eq!(entry.text, "Twice a number.");
//! assert_eq!(entry.signatures[0].text, "(twice n)");
//! ```
#![forbid(unsafe_code)]

mod built_in;
mod definition;
mod definitions;
mod exports;
mod extractor;
mod model;
mod page;
mod records;
mod signature;
#[cfg(test)]
mod tests;
mod text;

pub use extractor::Extractor;
pub use model::{
    Document, Entry, Example, Expectation, Group, Kind, Origin, Parameter, Part, Place, Role,
    Signature,
};
pub use page::{Page, PageEntry, PageItem, complete};
pub use text::markdown_examples;
