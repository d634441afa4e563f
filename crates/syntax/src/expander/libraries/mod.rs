//! Loading of libraries: from a library's name to its interface, by expansion of its source.
//!
//! The methods here belong to the registry, [`Libraries`], and stand in the expander because
//! imports and expansion need each other: a library is expanded when it is first imported, and its
//! own imports are loaded before. The registry itself knows nothing of the expander.

mod definition;
mod import_set;

use std::sync::Arc;

use crate::core::LibraryName;
use crate::diagnostic::Diagnostic;
use crate::interface::Interface;
use crate::library::{Found, Libraries};
use crate::span::Span;

pub use import_set::FailedImport;

impl Libraries {
    /// The interface of a library, loading it if needed. `None` after an error, which is in
    /// `diagnostics` unless it was reported before.
    pub fn load(
        &mut self,
        name: &LibraryName,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Interface>> {
        if let Some(interface) = self.interface_by_key(&name.key()) {
            return Some(interface.clone());
        }
        if !self.begin_loading(name, at, diagnostics) {
            return None;
        }
        let errors_before = diagnostics.len();
        let interface = self.load_missing(name, at, diagnostics);
        self.end_loading(interface.is_some());
        let is_reported = diagnostics[errors_before..]
            .iter()
            .any(Diagnostic::is_error);
        if interface.is_none() && !is_reported {
            let message = format!("the library {name} has errors");
            diagnostics.push(Diagnostic::error("failed-import", at, message));
        }
        interface
    }

    fn load_missing(
        &mut self,
        name: &LibraryName,
        at: Span,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Arc<Interface>> {
        match self.find(name, at, diagnostics)? {
            Found::Compiled(interface) => {
                for required in &interface.requires {
                    self.load(required, at, diagnostics)?;
                }
                self.add_interface(interface.clone());
                Some(interface)
            }
            Found::Source(form) => {
                let expanded = self.expand_library(name, &form, diagnostics)?;
                Some(self.add_expanded(expanded))
            }
        }
    }
}
