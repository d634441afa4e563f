//! Names of packages.
//!
//! A name is text. It is written as a symbol or a string, or as the name of a library: `json`,
//! `"json"`, `(chibi match)`. The first two are one name.

use std::fmt;

use canny_syntax::core::LibraryName;
use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::library_name_of;
use canny_syntax::print::write_symbol;
use canny_syntax::syntax::Syntax;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Longest name of a directory made from a name, in bytes.
const FILE_NAME_BYTES_MAX: usize = 80;

/// The name of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName {
    text: String,
    /// It was written as the name of a library.
    is_library: bool,
}

impl PackageName {
    /// The name that a text spells; the message says why it is none.
    pub fn new(text: &str) -> Result<PackageName, String> {
        if text.trim().is_empty() {
            return Err("a name must not be empty".to_owned());
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(format!("a name has at most {NAME_BYTES_MAX} bytes"));
        }
        if text.chars().any(char::is_control) {
            return Err("a name has no control characters".to_owned());
        }
        if text.starts_with('(') {
            return Err("a name that is no list must not begin with `(`".to_owned());
        }
        Ok(PackageName {
            text: text.to_owned(),
            is_library: false,
        })
    }

    /// The name of a package that is called like a library.
    pub fn of_library(name: &LibraryName) -> PackageName {
        PackageName {
            text: name.to_string(),
            is_library: true,
        }
    }

    /// The name that a symbol, a string or a list is.
    pub fn from_syntax(syntax: &Syntax) -> Result<PackageName, Diagnostic> {
        let bad = |message: String| Diagnostic::error("bad-manifest", syntax.span, message);
        let text = match (syntax.as_identifier(), syntax.as_atom()) {
            (Some(identifier), _) => identifier.name.as_str().to_owned(),
            (None, Some(Datum::String(text))) => text.to_string(),
            _ if syntax.as_pair().is_some() => {
                let name = library_name_of(syntax).map_err(|error| bad(error.message))?;
                let long = name.to_string().len() > NAME_BYTES_MAX;
                return if long {
                    Err(bad(format!("a name has at most {NAME_BYTES_MAX} bytes")))
                } else {
                    Ok(PackageName::of_library(&name))
                };
            }
            _ => {
                return Err(bad(format!(
                    "`{syntax}` is not the name of a package: that is a symbol, a string or the name of a \
                     library"
                )));
            }
        };
        PackageName::new(&text).map_err(bad)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A name for a directory: letters, digits, `-`, `_`, `+` and dots inside; two names may have the same.
    pub fn file_name(&self) -> String {
        let inner = self.text.trim_matches(['(', ')']);
        let mut name = String::new();
        for character in inner.chars() {
            match character {
                ' ' => name.push('-'),
                '-' | '_' | '+' => name.push(character),
                '.' if !name.is_empty() => name.push('.'),
                _ if character.is_ascii_alphanumeric() => name.push(character),
                _ => {
                    let mut bytes = [0; 4];
                    for byte in character.encode_utf8(&mut bytes).bytes() {
                        name.push_str(&format!("%{byte:02X}"));
                    }
                }
            }
        }
        name.truncate(FILE_NAME_BYTES_MAX);
        // Some systems lose dots at the end.
        while name.ends_with('.') {
            name.pop();
        }
        if name.is_empty() {
            name.push_str("package");
        }
        name
    }
}

impl fmt::Display for PackageName {
    /// As it stands in a manifest.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_library {
            formatter.write_str(&self.text)
        } else {
            write_symbol(&self.text, formatter)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_have_harmless_names() {
        let named = |text: &str| PackageName::new(text).unwrap().file_name();
        assert_eq!(named("json"), "json");
        assert_eq!(named("../etc/x"), "%2E.%2Fetc%2Fx");
        assert_eq!(named(".."), "%2E");
        assert_eq!(named("a b"), "a-b");
        assert_eq!(named("日本"), "%E6%97%A5%E6%9C%AC");
        assert!(named(&"x".repeat(200)).len() <= FILE_NAME_BYTES_MAX);
        let library = LibraryName::from_words(&["chibi", "match"]);
        assert_eq!(PackageName::of_library(&library).file_name(), "chibi-match");
    }

    #[test]
    fn names_are_checked() {
        for wrong in ["", "  ", "a\nb", "(a b)", &"x".repeat(201)] {
            assert!(PackageName::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            PackageName::new("odd name").unwrap().to_string(),
            "|odd name|"
        );
    }
}
