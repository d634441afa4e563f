//! A definition as it was found in a source, before its text is read from the comment above.

use canny_syntax::span::Span;

use crate::model::{Kind, Signature};

/// A definition that was found.
pub(crate) struct Definition {
    pub name: String,
    /// Where the name stands.
    pub at: Span,
    /// The form whose comment is the text; nothing if no comment is.
    pub comment_above: Option<Span>,
    /// The doc string and where it stands.
    pub doc_string: Option<(String, Span)>,
    /// The text when there is neither.
    pub default_text: String,
    pub meaning: Meaning,
}

/// The meaning of a definition's name.
pub(crate) enum Meaning {
    Known {
        kind: Kind,
        signatures: Vec<Signature>,
    },
    /// The same as another name.
    Alias(String),
}
