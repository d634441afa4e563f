//! The interface of a compiled library: everything that other units learn about it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::binding::Binding;
use crate::core::LibraryName;
use crate::macro_definition::MacroDefinition;
use crate::name::Name;

/// The interface of a library. Plain data that serialises; names are resolved through the
/// [`Libraries`](crate::library::Libraries) that hold it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interface {
    /// The library.
    pub name: LibraryName,
    /// External name → meaning.
    pub exports: BTreeMap<Name, Binding>,
    /// The names of the library's top level that its macros mention, exported or not.
    pub internal: BTreeMap<Name, Binding>,
    /// The library's own macros, exported or mentioned by others.
    pub macros: BTreeMap<Name, MacroDefinition>,
    /// Code of the definitions that the library's transformers need, in order.
    pub for_syntax: Vec<Vec<u8>>,
    /// The library's own globals that a `set!` may assign.
    pub assigned: BTreeSet<Name>,
    /// The library's own record types: all field names, the parent's first.
    pub records: BTreeMap<Name, Vec<Name>>,
    /// The compiler's notes about the library's own globals, for the compilation of other units.
    pub inline: BTreeMap<Name, Vec<u8>>,
    /// The libraries it imports: they must be instantiated before it, in this order.
    pub requires: Vec<LibraryName>,
}

impl Interface {
    /// An interface that exports nothing.
    pub fn new(name: LibraryName) -> Interface {
        Interface {
            name,
            exports: BTreeMap::new(),
            internal: BTreeMap::new(),
            macros: BTreeMap::new(),
            for_syntax: Vec::new(),
            assigned: BTreeSet::new(),
            records: BTreeMap::new(),
            inline: BTreeMap::new(),
            requires: Vec::new(),
        }
    }
}
