//! Recordings of the expander: the places where names are bound and used, for editors.
//!
//! [`Libraries::begin_recording`](crate::library::Libraries::begin_recording) turns recording on; each
//! program and each library that is expanded from source then has a [`Recording`] of its own. A reader
//! of one must compare an occurrence with the text. A form that a macro inserted has the position
//! of the macro's use. A name was written there only if the text is the name.
//!
//! Nothing here is needed to run programs, and nothing is recorded unless it was asked for.

use crate::binding::{Binding, MacroName};
use crate::core::{GlobalName, LibraryKey, LibraryName};
use crate::core_form::CoreForm;
use crate::name::Name;
use crate::span::Span;
use crate::syntax::Syntax;

/// The meaning of an occurrence of a name. Equal meanings are the same binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// A keyword of the expander.
    Core(CoreForm),
    /// A primitive, by its name in the table.
    Primitive(Name),
    /// A global variable.
    Global(GlobalName),
    /// A macro of a top level.
    Macro(MacroName),
    /// A local variable, keyword, pattern variable or record field.
    Local {
        /// Its name.
        name: Name,
        /// The place where it is bound. A macro may bind it several times at one place; all have
        /// the same span.
        span: Span,
        /// The kind of its binding.
        kind: LocalKind,
    },
    /// A library.
    Library(LibraryName),
    /// Nothing that is bound.
    Unbound(Name),
}

/// Kinds of things that are bound inside of one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalKind {
    /// A variable.
    Variable,
    /// A macro.
    Keyword,
    /// A variable of a pattern of `syntax-rules` or `syntax-case`.
    Pattern,
    /// A field of a record type.
    Field,
}

impl Meaning {
    /// The meaning of a binding of an environment.
    pub fn of(binding: &Binding) -> Meaning {
        match binding {
            Binding::Core(form) => Meaning::Core(*form),
            Binding::Primitive(name) => Meaning::Primitive(*name),
            Binding::Global(name) => Meaning::Global(name.clone()),
            Binding::Macro(name) => Meaning::Macro(name.clone()),
        }
    }
}

/// The effect of an occurrence on the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Binds it.
    Definition,
    /// Uses it.
    Reference,
    /// Gives it another value.
    Assignment,
    /// Names it in an import set; the name it has there.
    Import,
    /// Gives it another name in an import set.
    ImportAs,
    /// Exports it.
    Export,
    /// Gives it another name in an export.
    ExportAs,
    /// Mentions it in a template.
    Template,
}

/// A place where a name stands.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// Where.
    pub span: Span,
    /// The name as it is written there, apart from bars and case.
    pub name: Name,
    /// The role of the name there.
    pub role: Role,
    /// The meaning of the name there.
    pub meaning: Meaning,
}

/// The names that a form binds for what stands inside of it.
#[derive(Clone, Debug)]
pub struct LocalNames {
    /// The form.
    pub span: Span,
    /// The names, without those that macros inserted.
    pub names: Vec<(Name, Meaning)>,
}

/// A macro use and what one step made of it.
#[derive(Clone, Debug)]
pub struct MacroUse {
    /// The use.
    pub span: Span,
    /// The macro.
    pub name: Name,
    /// The result of the step.
    pub result: MacroResult,
}

/// An expansion, kept as it is until somebody wants to see it.
#[derive(Clone)]
pub struct MacroResult(pub Syntax);

impl std::fmt::Debug for MacroResult {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an expansion")
    }
}

/// A name of a top level.
#[derive(Clone, Debug)]
pub struct TopName {
    /// The name.
    pub name: Name,
    /// The meaning of the name.
    pub meaning: Meaning,
    /// The library that it was imported from; `None` for what is defined here.
    pub imported_from: Option<LibraryName>,
}

/// The recording of one program or library.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The library or program that owns these names.
    pub key: Option<LibraryKey>,
    /// The `define-library` form; nowhere for a program.
    pub span: Span,
    /// Every place where a name stands, in no order.
    pub occurrences: Vec<Occurrence>,
    /// Local names by form.
    pub locals: Vec<LocalNames>,
    /// Macro uses, outer ones first.
    pub uses: Vec<MacroUse>,
    /// The names of the top level.
    pub names: Vec<TopName>,
}

impl Recording {
    /// Adds an occurrence, if it has a place.
    pub(crate) fn note(&mut self, span: Span, name: Name, role: Role, meaning: Meaning) {
        if span.is_some() {
            self.occurrences.push(Occurrence {
                span,
                name,
                role,
                meaning,
            });
        }
    }
}
