//! Environments: tables of what names mean at a top level.
//!
//! Libraries, programs, the prompt and `(environment …)` are all environments that differ in what
//! may be changed. An environment is plain data without reference to any expansion under way, so
//! it can be kept, sent to other threads and extended form by form.

use std::collections::HashMap;

use canny_tables::hashing::{SeededMap, SeededSet};

use crate::binding::{Binding, MacroName};
use crate::core::{GlobalName, LibraryKey, LibraryName, UnitKind};
use crate::core_form::CoreForm;
use crate::interface::Interface;
use crate::library_name::NamePart;
use crate::macro_definition::MacroDefinition;
use crate::name::Name;
use crate::span::Span;

/// The rules for definitions, assignments and redefinitions in an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvironmentKind {
    /// A library's body: imported names cannot be defined.
    Library,
    /// A program's body: definitions shadow imports.
    Program,
    /// The prompt: everything may be redefined, also later.
    Interaction,
    /// Made by `environment` and its kin: nothing can be defined.
    Immutable,
}

/// Where a name of an environment comes from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// An import set at that place, and the library it named.
    Imported(LibraryName, Span),
    /// A definition at that place.
    Defined(Span),
}

/// A name of an environment.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub binding: Binding,
    pub origin: Origin,
}

/// An import set of a program or library.
#[derive(Clone, Debug)]
pub(crate) struct Import {
    pub library: LibraryName,
    pub span: Span,
    /// The names that it gives and no import set before it gave.
    pub names: SeededSet<Name>,
    /// The names that it lists one by one.
    pub listed: Vec<(Name, Span)>,
    /// Whether it changes what code means without being mentioned.
    pub is_special: bool,
}

/// A top level.
#[derive(Clone, Debug)]
pub struct Environment {
    key: LibraryKey,
    kind: EnvironmentKind,
    table: SeededMap<Name, Entry>,
    pub(crate) macros: SeededMap<Name, MacroDefinition>,
    /// Names that transformers may refer to: defined by `begin-for-syntax`, with the globals behind
    /// them.
    pub(crate) for_syntax: HashMap<Name, GlobalName>,
    /// The code of those definitions, in order.
    pub(crate) for_syntax_code: Vec<Vec<u8>>,
    /// The field names of the record types that globals hold, the parent's first.
    pub(crate) records: HashMap<Name, Vec<Name>>,
    hidden_names: u32,
    /// Names that the text of a program or library mentions.
    used: SeededSet<Name>,
    /// The import sets of a program or library.
    imports: Vec<Import>,
    /// The meanings of names before the changes of the operation under way, so that an error can
    /// undo them.
    journal: Vec<(Name, Option<Entry>)>,
}

impl Environment {
    /// An empty environment whose globals live under `key`.
    pub fn new(key: LibraryKey, kind: EnvironmentKind) -> Environment {
        Environment {
            key,
            kind,
            table: SeededMap::default(),
            macros: SeededMap::default(),
            for_syntax: HashMap::new(),
            for_syntax_code: Vec::new(),
            records: HashMap::new(),
            hidden_names: 0,
            used: SeededSet::default(),
            imports: Vec::new(),
            journal: Vec::new(),
        }
    }

    /// The key of its globals.
    pub fn key(&self) -> &LibraryKey {
        &self.key
    }

    /// The rules for definitions in it.
    pub fn kind(&self) -> EnvironmentKind {
        self.kind
    }

    /// Forbids further definitions.
    pub fn freeze(&mut self) {
        self.kind = EnvironmentKind::Immutable;
    }

    /// The meaning of a name and its origin.
    pub(crate) fn entry(&self, name: Name) -> Option<&Entry> {
        self.table.get(&name)
    }

    fn is_unit(&self) -> bool {
        matches!(
            self.kind,
            EnvironmentKind::Library | EnvironmentKind::Program
        )
    }

    /// Notes that the text mentions a name.
    pub(crate) fn use_name(&mut self, name: Name) {
        if self.is_unit() {
            self.used.insert(name);
        }
    }

    /// Whether the text mentions a name.
    pub(crate) fn uses(&self, name: Name) -> bool {
        self.used.contains(&name)
    }

    /// Notes an import set.
    pub(crate) fn add_import(&mut self, import: Import) {
        if self.is_unit() {
            self.imports.push(import);
        }
    }

    /// The import sets so far.
    pub(crate) fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// Every name with its meaning and where that comes from, in no order; without the hidden ones.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Name, &Entry)> {
        self.table
            .iter()
            .filter(|(name, _)| !is_hidden(**name))
            .map(|(name, entry)| (*name, entry))
    }

    /// Binds a name as part of the operation under way.
    pub(crate) fn bind(&mut self, name: Name, entry: Entry) {
        let before = self.table.insert(name, entry);
        self.journal.push((name, before));
    }

    /// Keeps the changes of the operation under way.
    pub(crate) fn commit(&mut self) {
        self.journal.clear();
    }

    /// Undoes the changes of the operation under way.
    pub(crate) fn roll_back(&mut self) {
        while let Some((name, before)) = self.journal.pop() {
            match before {
                Some(entry) => self.table.insert(name, entry),
                None => self.table.remove(&name),
            };
        }
    }

    /// The meaning of a name.
    pub fn lookup(&self, name: Name) -> Option<&Binding> {
        self.table.get(&name).map(|entry| &entry.binding)
    }

    /// Every name with its meaning, in no order; without the hidden ones that macros made.
    pub fn bindings(&self) -> impl Iterator<Item = (Name, &Binding)> {
        self.table
            .iter()
            .filter(|(name, _)| !is_hidden(**name))
            .map(|(name, entry)| (*name, &entry.binding))
    }

    /// Every name with its meaning, in no order; the hidden ones too.
    pub(crate) fn all_bindings(&self) -> impl Iterator<Item = (Name, &Binding)> {
        self.table
            .iter()
            .map(|(name, entry)| (*name, &entry.binding))
    }

    /// Binds a name to anything, as if it had been imported from `library`.
    pub fn insert(&mut self, name: Name, binding: Binding, library: &LibraryName) {
        let origin = Origin::Imported(library.clone(), Span::NONE);
        self.table.insert(name, Entry { binding, origin });
    }

    /// Binds a name to anything, as if it had been defined here.
    pub fn define(&mut self, name: Name, binding: Binding) {
        let origin = Origin::Defined(Span::NONE);
        self.table.insert(name, Entry { binding, origin });
    }

    /// Removes every variable, as `null-environment` asks.
    pub fn retain_syntax(&mut self) {
        self.table.retain(|_, entry| entry.binding.is_syntax());
    }

    /// An environment to continue with inside of a library: its globals are the library's, and its
    /// names are those that the interface tells.
    pub fn inside(interface: &Interface) -> Environment {
        let mut environment = Environment::new(interface.name.key(), EnvironmentKind::Interaction);
        for (name, binding) in interface.exports.iter().chain(&interface.internal) {
            environment.insert(*name, binding.clone(), &interface.name);
        }
        for (name, definition) in &interface.macros {
            environment.macros.insert(*name, definition.clone());
        }
        for (name, fields) in &interface.records {
            environment.records.insert(*name, fields.clone());
        }
        environment
    }

    /// Lets forms that come later see, define and assign the names of a program that was expanded.
    pub fn reopen(&mut self) {
        self.kind = EnvironmentKind::Interaction;
    }

    /// The library that a name was imported from, or nothing for one that was defined here.
    pub fn imported_from(&self, name: Name) -> Option<&LibraryName> {
        match &self.table.get(&name)?.origin {
            Origin::Imported(library, _) => Some(library),
            Origin::Defined(_) => None,
        }
    }

    /// Every core form, imported from `(canny syntax)`: enough to begin with.
    pub fn import_core_forms(&mut self) {
        let library = LibraryName::new(vec![
            NamePart::Symbol(Name::new("canny")),
            NamePart::Symbol(Name::new("syntax")),
        ]);
        for form in CoreForm::ALL {
            self.insert(Name::new(form.name()), Binding::Core(*form), &library);
        }
    }

    /// The kind of unit that expansion in this environment gives.
    pub(crate) fn unit_kind(&self) -> UnitKind {
        match self.kind {
            EnvironmentKind::Library => UnitKind::Library,
            EnvironmentKind::Program => UnitKind::Program,
            EnvironmentKind::Interaction | EnvironmentKind::Immutable => UnitKind::Toplevel,
        }
    }

    /// A global of this environment.
    pub(crate) fn global(&self, name: Name) -> GlobalName {
        GlobalName {
            library: self.key.clone(),
            name,
        }
    }

    /// A macro of this environment.
    pub(crate) fn macro_name(&self, name: Name) -> MacroName {
        MacroName {
            library: self.key.clone(),
            name,
        }
    }

    /// A name that nothing in this environment has, for a definition that a macro inserted.
    pub(crate) fn hidden_name(&mut self, base: Name) -> Name {
        loop {
            self.hidden_names += 1;
            let name = Name::new(&format!("{base}{HIDDEN_MARK}{}", self.hidden_names));
            if !self.table.contains_key(&name) {
                return name;
            }
        }
    }
}

/// Separates the symbol from the number in hidden names.
const HIDDEN_MARK: char = '·';

/// Whether the name was made by [`Environment::hidden_name`].
fn is_hidden(name: Name) -> bool {
    name.as_str()
        .rsplit_once(HIDDEN_MARK)
        .is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}
