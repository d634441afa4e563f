//! Being inside of a library, and loading one again.
//!
//! Code that was compiled before has copies of what a library's macros gave; it keeps them.

use canny_syntax::core::LibraryName;
use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::environment::{Environment, EnvironmentKind};
use canny_syntax::expander::expand_toplevel_forms;
use canny_syntax::library::library_name_of;
use canny_syntax::library_name::NamePart;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;

use super::{EnvironmentId, Evaluation, Prepared, finish, import_form};
use crate::library_loader::standard_library;

/// The name of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryWords(pub(super) LibraryName);

impl LibraryWords {
    /// The name that a form such as `(scheme base)` stands for.
    pub fn of(form: &Syntax) -> Result<LibraryWords, Box<Diagnostic>> {
        library_name_of(form).map(LibraryWords)
    }
}

impl std::fmt::Display for LibraryWords {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Evaluation {
    /// An environment inside of a library, which is instantiated if it was not. Definitions there change the
    /// library's variables.
    pub fn enter_library(
        &self,
        words: &LibraryWords,
        at: Span,
    ) -> Result<(EnvironmentId, Prepared), Vec<Diagnostic>> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let mut diagnostics = Vec::new();
        let mut prepared = Prepared::default();
        let Some(interface) = inner.libraries.load(&words.0, at, &mut diagnostics) else {
            return Err(diagnostics);
        };
        inner
            .units
            .compile_expanded(&mut inner.libraries, &self.sources, &mut diagnostics);
        inner.require(&words.0, &mut prepared, &mut diagnostics);
        let key = words.0.key();
        let known = inner
            .environments
            .iter()
            .find(|(_, environment)| *environment.key() == key)
            .map(|(number, _)| *number);
        let number = known.unwrap_or_else(|| {
            let number = inner.next_environment;
            inner.next_environment += 1;
            let environment = Environment::inside(&interface);
            inner.environments.insert(number, environment);
            number
        });
        finish(prepared, diagnostics).map(|prepared| (EnvironmentId(number), prepared))
    }

    /// Loads a library again from its source and prepares its body to run again. Where its names had
    /// been imported, new ones are imported too. After an error the library is as it was.
    pub fn reload_library(
        &self,
        words: &LibraryWords,
        at: Span,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let key = words.0.key();
        if standard_library(key.as_str()).is_some() {
            let message = format!("{} belongs to Canny and has no source to load", words.0);
            return Err(vec![Diagnostic::error("no-source", at, message)]);
        }
        let mut inner = self.lock();
        let inner = &mut *inner;
        let old = inner.libraries.forget(&key);
        let old_unit = inner.units.forget(&key);
        let mut diagnostics = Vec::new();
        let mut prepared = Prepared::default();
        let loaded = inner.libraries.load(&words.0, at, &mut diagnostics);
        let Some(interface) = loaded else {
            inner.libraries.take_units();
            if let Some(old) = old {
                inner.libraries.add_interface(old);
            }
            if let Some(unit) = old_unit {
                inner.units.adopt(vec![(key, unit)]);
            }
            return Err(diagnostics);
        };
        inner
            .units
            .compile_expanded(&mut inner.libraries, &self.sources, &mut diagnostics);
        inner.instantiated.remove(&key);
        inner.require(&words.0, &mut prepared, &mut diagnostics);
        for environment in inner.environments.values_mut() {
            let imports_it = environment
                .bindings()
                .any(|(name, _)| environment.imported_from(name) == Some(&words.0));
            if *environment.key() == key {
                *environment = Environment::inside(&interface);
            } else if imports_it && environment.kind() == EnvironmentKind::Interaction {
                let import = import_form(&[name_form(&words.0, at)]);
                let expansion = expand_toplevel_forms(&mut inner.libraries, environment, &[import]);
                diagnostics.extend(expansion.diagnostics);
            }
        }
        finish(prepared, diagnostics)
    }

    /// The libraries that import this one.
    pub fn dependents(&self, words: &LibraryWords) -> Vec<String> {
        let inner = self.lock();
        let users = inner
            .libraries
            .interfaces()
            .filter(|interface| interface.requires.contains(&words.0));
        let mut names: Vec<String> = users.map(|interface| interface.name.to_string()).collect();
        names.sort();
        names
    }
}

/// The form that names a library.
fn name_form(name: &LibraryName, at: Span) -> Syntax {
    let part = |part: &NamePart| match part {
        NamePart::Symbol(word) => Syntax::symbol(at, word.as_str()),
        NamePart::Number(number) => Syntax::atom(at, Datum::integer(*number as i64)),
        NamePart::Text(text) => Syntax::atom(at, Datum::String(text.as_str().into())),
    };
    Syntax::list(at, name.parts().iter().map(part).collect())
}
