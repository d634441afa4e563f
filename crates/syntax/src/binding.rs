//! The meanings of names in libraries, programs and environments.
//!
//! A [`Binding`] is plain data, kept in environments and interfaces, and serialisable. The expander has
//! its own form of meanings during one expansion.

use serde::{Deserialize, Serialize};

use crate::core::{GlobalName, LibraryKey};
use crate::core_form::CoreForm;
use crate::name::Name;

/// The macro `name` of a library or environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MacroName {
    /// Where it is defined.
    pub library: LibraryKey,
    /// Its name there.
    pub name: Name,
}

/// The meaning of a name in a library, program or environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// A core form.
    Core(CoreForm),
    /// A primitive, by name.
    Primitive(Name),
    /// A global variable.
    Global(GlobalName),
    /// A macro.
    Macro(MacroName),
}

impl Binding {
    /// Whether it is a keyword rather than a variable.
    pub fn is_syntax(&self) -> bool {
        matches!(self, Binding::Core(_) | Binding::Macro(_))
    }
}
