//! Interned names: the symbols of programs while they are read, expanded and compiled.
//!
//! A [`Name`] is an index into one global, append-only table. It is `Copy`, `Send` and `Sync`;
//! equal texts give equal names. The table lives as long as the process and never shrinks, which
//! suits the symbols of programs; the machine's own symbol table (weak, collected) is another one
//! and knows nothing of this.
//!
//! Names serialise as their text, so that compiled units can travel between processes.

use std::fmt;
use std::sync::LazyLock;

use canny_locks::RwLock;
use canny_tables::hashing::SeededMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An interned symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

#[derive(Default)]
struct Interner {
    index: SeededMap<&'static str, u32>,
    texts: Vec<&'static str>,
}

static INTERNER: LazyLock<RwLock<Interner>> = LazyLock::new(RwLock::default);

impl Name {
    /// The name whose text is `text`.
    pub fn new(text: &str) -> Name {
        {
            let table = INTERNER.read();
            if let Some(&index) = table.index.get(text) {
                return Name(index);
            }
        }
        let mut table = INTERNER.write();
        if let Some(&index) = table.index.get(text) {
            return Name(index);
        }
        let index = u32::try_from(table.texts.len()).expect("fewer than 2^32 distinct symbols");
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        table.texts.push(text);
        table.index.insert(text, index);
        Name(index)
    }

    /// The text of this name.
    pub fn as_str(self) -> &'static str {
        let table = INTERNER.read();
        table.texts[self.0 as usize]
    }

    /// The position in the interner's table; stable within one process only.
    pub fn index(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", self.as_str())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Name;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the text of a symbol")
            }
            fn visit_str<E>(self, text: &str) -> Result<Name, E> {
                Ok(Name::new(text))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_give_equal_names() {
        assert_eq!(Name::new("car"), Name::new(&String::from("car")));
        assert_ne!(Name::new("car"), Name::new("cdr"));
        assert_eq!(Name::new("λ").as_str(), "λ");
    }
}
