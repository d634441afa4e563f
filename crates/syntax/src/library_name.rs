//! Names of libraries and the keys under which their globals live.
//!
//! A [`LibraryName`] is the list in `(import (srfi 1))`. Names that mean the same library compare
//! equal, because they are brought into one normal form when they are made: `(srfi srfi-1)`,
//! `(srfi :1)` and `(srfi :1 lists)` are all `(srfi 1)`. A [`LibraryKey`] is its printed form; keys
//! that do not look like a list (`program:1`, `environment:3`) belong to programs and environments. The
//! first word of a name says who defines the library: its [`Family`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::name::Name;

/// One part of a library's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NamePart {
    /// A symbol.
    Symbol(Name),
    /// An exact non-negative integer.
    Number(u64),
    /// A text: the file of a guest.
    Text(Name),
}

/// The first word of the names of libraries that are WebAssembly modules.
const GUEST: &str = "wasm";

/// The name of a library in normal form.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LibraryName {
    parts: Arc<[NamePart]>,
}

/// The owner of a global: the printed name of a library, or the key of a program or environment.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LibraryKey(Arc<str>);

/// The authority that defines a library, as the first word of its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The standard: `(scheme …)`.
    Scheme,
    /// A Scheme request for implementation: `(srfi …)`.
    Srfi,
    /// The standard before, R6RS: `(rnrs …)`.
    Rnrs,
    /// Canny itself: `(canny …)`.
    Canny,
    /// Anybody else, and what is no library.
    Other,
}

impl Family {
    /// The family of a library by its printed name.
    pub fn of(key: &str) -> Family {
        let inner = key.strip_prefix('(').unwrap_or_default();
        Family::of_word(inner.split([' ', ')']).next().unwrap_or_default())
    }

    fn of_word(word: &str) -> Family {
        match word {
            "scheme" => Family::Scheme,
            "srfi" => Family::Srfi,
            "rnrs" => Family::Rnrs,
            "canny" => Family::Canny,
            _ => Family::Other,
        }
    }
}

impl LibraryName {
    /// The library with these parts, brought into normal form.
    pub fn new(parts: Vec<NamePart>) -> LibraryName {
        LibraryName {
            parts: normalize(parts).into(),
        }
    }

    /// The library whose name is made of these symbols and, where a part is all digits, numbers.
    pub fn from_words(words: &[&str]) -> LibraryName {
        let part = |word: &&str| match word.parse::<u64>() {
            Ok(number) => NamePart::Number(number),
            Err(_) => NamePart::Symbol(Name::new(word)),
        };
        LibraryName::new(words.iter().map(part).collect())
    }

    /// The authority that defines the library.
    pub fn family(&self) -> Family {
        family_of(&self.parts)
    }

    /// The library of a WebAssembly module's exports.
    pub fn of_guest(file: &str) -> LibraryName {
        let word = NamePart::Symbol(Name::new(GUEST));
        LibraryName::new(vec![word, NamePart::Text(Name::new(file))])
    }

    /// The file of the WebAssembly module whose exports the library has: `(wasm "FILE")`.
    pub fn guest_file(&self) -> Option<&str> {
        match self.parts() {
            [NamePart::Symbol(word), NamePart::Text(file)] if word.as_str() == GUEST => {
                Some(file.as_str())
            }
            _ => None,
        }
    }

    /// The parts in order.
    pub fn parts(&self) -> &[NamePart] {
        &self.parts
    }

    /// The key of the library's globals.
    pub fn key(&self) -> LibraryKey {
        LibraryKey(self.to_string().into())
    }
}

fn family_of(parts: &[NamePart]) -> Family {
    match parts.first() {
        Some(NamePart::Symbol(first)) => Family::of_word(first.as_str()),
        _ => Family::Other,
    }
}

/// SRFI libraries have several customary names; the shortest is the normal one.
fn normalize(mut parts: Vec<NamePart>) -> Vec<NamePart> {
    if let (Family::Srfi, Some(NamePart::Symbol(second))) =
        (family_of(&parts), parts.get(1).copied())
    {
        let text = second.as_str();
        if let Some(number) = text
            .strip_prefix("srfi-")
            .and_then(|digits| digits.parse().ok())
        {
            parts[1] = NamePart::Number(number);
        } else if let Some(number) = text
            .strip_prefix(':')
            .and_then(|digits| digits.parse().ok())
        {
            // SRFI 97: a colon, and perhaps a mnemonic word after the number.
            parts[1] = NamePart::Number(number);
            if parts.len() == 3 && matches!(parts[2], NamePart::Symbol(_)) {
                parts.truncate(2);
            }
        }
    }
    parts
}

impl LibraryKey {
    /// A key; libraries get theirs from [`LibraryName::key`].
    pub fn new(text: &str) -> LibraryKey {
        LibraryKey(text.into())
    }

    /// The authority that defines the library.
    pub fn family(&self) -> Family {
        Family::of(&self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NamePart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamePart::Symbol(name) => name.fmt(formatter),
            NamePart::Number(number) => number.fmt(formatter),
            NamePart::Text(text) => write!(formatter, "\"{text}\""),
        }
    }
}

impl fmt::Display for LibraryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(")?;
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                formatter.write_str(" ")?;
            }
            part.fmt(formatter)?;
        }
        formatter.write_str(")")
    }
}

impl fmt::Debug for LibraryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for LibraryKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for LibraryKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_says_who_defines_a_library() {
        for (key, family) in [
            ("(scheme base)", Family::Scheme),
            ("(srfi 1)", Family::Srfi),
            ("(rnrs)", Family::Rnrs),
            ("(canny json)", Family::Canny),
            ("(schemes base)", Family::Other),
            ("(1 scheme)", Family::Other),
            ("program:1", Family::Other),
        ] {
            assert_eq!(LibraryKey::new(key).family(), family, "{key}");
        }
        assert_eq!(
            LibraryName::from_words(&["srfi", "1"]).family(),
            Family::Srfi
        );
        assert_eq!(LibraryName::from_words(&["1"]).family(), Family::Other);
    }

    #[test]
    fn customary_srfi_names_mean_one_library() {
        let normal = LibraryName::from_words(&["srfi", "1"]);
        for other in [
            &["srfi", "srfi-1"][..],
            &["srfi", ":1"],
            &["srfi", ":1", "lists"],
        ] {
            assert_eq!(LibraryName::from_words(other), normal);
        }
        assert_eq!(normal.to_string(), "(srfi 1)");
        assert_ne!(LibraryName::from_words(&["srfi", "1", "immutable"]), normal);
    }
}
