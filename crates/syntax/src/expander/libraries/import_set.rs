//! Import sets: `(only …)`, `(except …)`, `(prefix …)`, `(rename …)` and plain library names.
//!
//! Modifiers apply from the inside out. Importing loads and expands the library if needed; the
//! caller learns whether its code must be instantiated first. An import set with an error imports
//! nothing, and suggests the name or library that is closest in spelling.

use std::collections::BTreeMap;
use std::sync::Arc;

use canny_tables::hashing::SeededSet;

use crate::binding::Binding;
use crate::core::LibraryName;
use crate::diagnostic::Diagnostic;
use crate::environment::{Entry, Environment, EnvironmentKind, Import, Origin};
use crate::expander::applicable::MARKER;
use crate::foreign_libraries;
use crate::interface::Interface;
use crate::library::{Libraries, library_name_of};
use crate::name::Name;
use crate::recording::{Meaning, Role};
use crate::span::Span;
use crate::spelling::similar_name;
use crate::syntax::Syntax;

/// An import set could not be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedImport;

/// The names and bindings that an import set brings.
struct ImportedSet {
    library: LibraryName,
    interface: Arc<Interface>,
    bindings: BTreeMap<Name, Binding>,
    /// The names that are given one by one, as they are in the end.
    listed: Vec<(Name, Span)>,
    /// Names of the text and what they mean, for editors.
    mentioned: Vec<(Name, Span, Role, Binding)>,
}

/// The modifiers of import sets.
#[derive(Clone, Copy, PartialEq)]
enum Modifier {
    Only,
    Except,
    Prefix,
    Rename,
}

impl Libraries {
    /// Brings the names of an import set into an environment, loading the library if needed.
    /// Returns the library if its code must be instantiated first; an error if nothing was
    /// imported, the reason being in `diagnostics` or reported before in the same operation.
    pub fn import_into(
        &mut self,
        environment: &mut Environment,
        set: &Syntax,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<LibraryName>, FailedImport> {
        let imported = self.import_set(set, diagnostics).ok_or(FailedImport)?;
        let mut import = Import {
            library: imported.library.clone(),
            span: set.span,
            names: SeededSet::default(),
            listed: imported.listed,
            is_special: imported.bindings.contains_key(&Name::new(MARKER)),
        };
        for (name, binding) in imported.bindings {
            let origin = Origin::Imported(imported.library.clone(), set.span);
            let entry = Entry { binding, origin };
            match environment.entry(name) {
                Some(existing) if existing.binding == entry.binding => {}
                Some(existing) if environment.kind() != EnvironmentKind::Interaction => {
                    match &existing.origin {
                        Origin::Imported(other, at) => {
                            let message = format!(
                                "`{name}` is imported from {other} and, as something else, from {}",
                                imported.library
                            );
                            let diagnostic =
                                Diagnostic::error("conflicting-import", set.span, message)
                                    .label(*at, format!("the import from {other}"));
                            diagnostics.push(diagnostic);
                        }
                        // The program's own definition wins.
                        Origin::Defined(_) => {}
                    }
                }
                _ => {
                    import.names.insert(name);
                    environment.bind(name, entry);
                }
            }
        }
        environment.add_import(import);
        let pseudo = ["(canny syntax)", "(canny primitives)"]
            .contains(&imported.interface.name.key().as_str());
        Ok((!pseudo).then_some(imported.library))
    }

    fn import_set(
        &mut self,
        set: &Syntax,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<ImportedSet> {
        let Some(elements) = set.elements().filter(|elements| !elements.is_empty()) else {
            let message = format!(
                "`{set}` is not an import set: it must be a library's name or a modified import set"
            );
            let mut problem = Diagnostic::error("bad-import", set.span, message);
            if let Some(here) = foreign_libraries::replacement(&set.to_string()) {
                problem = problem.note(format!("write (import {here})"));
            }
            diagnostics.push(problem);
            return None;
        };
        // `(only (a b) c)` is a modifier; `(only a)` would be the library of that name.
        match modifier(&elements) {
            Some(modifier) => {
                let mut imported = self.import_set(&elements[1], diagnostics)?;
                let before = diagnostics.len();
                apply(modifier, &mut imported, &elements[2..], set, diagnostics);
                if let Some(recording) = &mut self.recording {
                    for (name, span, role, binding) in imported.mentioned.drain(..) {
                        recording.note(span, name, role, Meaning::of(&binding));
                    }
                }
                (diagnostics.len() == before).then_some(imported)
            }
            None => {
                let library = match library_name_of(set) {
                    Ok(library) => library,
                    Err(diagnostic) => {
                        diagnostics.push(*diagnostic);
                        return None;
                    }
                };
                let library = self.located(library, set.span.source);
                if let Some(recording) = &mut self.recording {
                    let meaning = Meaning::Library(library.clone());
                    recording.note(set.span, Name::new(""), Role::Reference, meaning);
                }
                let library = self.loader().replacement_of(&library).unwrap_or(library);
                let interface = self.load(&library, set.span, diagnostics)?;
                let bindings = interface.exports.clone();
                Some(ImportedSet {
                    library,
                    interface,
                    bindings,
                    listed: Vec::new(),
                    mentioned: Vec::new(),
                })
            }
        }
    }
}

fn modifier(elements: &[Syntax]) -> Option<Modifier> {
    // The operand must be an import set, hence a list.
    elements.get(1)?.as_pair()?;
    match elements[0].as_identifier()?.name.as_str() {
        "only" => Some(Modifier::Only),
        "except" => Some(Modifier::Except),
        "prefix" => Some(Modifier::Prefix),
        "rename" => Some(Modifier::Rename),
        _ => None,
    }
}

fn apply(
    modifier: Modifier,
    imported: &mut ImportedSet,
    operands: &[Syntax],
    set: &Syntax,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let bad = |span, message: String| Diagnostic::error("bad-import", span, message);
    match modifier {
        Modifier::Only | Modifier::Except => {
            let mut named = BTreeMap::new();
            for operand in operands {
                let Some(identifier) = operand.as_identifier() else {
                    diagnostics.push(bad(operand.span, format!("`{operand}` is not a name")));
                    continue;
                };
                match imported.bindings.get(&identifier.name) {
                    Some(binding) => {
                        let name = identifier.name;
                        named.insert(name, binding.clone());
                        if modifier == Modifier::Only {
                            imported.listed.push((name, operand.span));
                        }
                        let mention = (name, operand.span, Role::Import, binding.clone());
                        imported.mentioned.push(mention);
                    }
                    None => {
                        diagnostics.push(missing_export(imported, identifier.name, operand.span))
                    }
                }
            }
            if modifier == Modifier::Only {
                imported.bindings = named;
            } else {
                imported
                    .bindings
                    .retain(|name, _| !named.contains_key(name));
            }
        }
        Modifier::Prefix => match operands {
            [prefix] if prefix.as_identifier().is_some() => {
                let bindings = std::mem::take(&mut imported.bindings);
                for (name, _) in &mut imported.listed {
                    *name = Name::new(&format!("{prefix}{name}"));
                }
                let prefixed = bindings
                    .into_iter()
                    .map(|(name, binding)| (Name::new(&format!("{prefix}{name}")), binding));
                imported.bindings = prefixed.collect();
            }
            _ => diagnostics.push(bad(
                set.span,
                "prefix: expected an import set and one name".to_owned(),
            )),
        },
        Modifier::Rename => {
            let mut renames = Vec::with_capacity(operands.len());
            for operand in operands {
                let parts = operand.elements().unwrap_or_default();
                let names: Vec<Name> = parts
                    .iter()
                    .filter_map(|part| part.as_identifier().map(|name| name.name))
                    .collect();
                let ([from, to], 2) = (names.as_slice(), parts.len()) else {
                    diagnostics.push(bad(
                        operand.span,
                        format!("rename: `{operand}` is not (name new-name)"),
                    ));
                    continue;
                };
                match imported.bindings.remove(from) {
                    Some(binding) => {
                        imported.listed.retain(|(name, _)| name != from);
                        imported.listed.push((*to, operand.span));
                        let from = (*from, parts[0].span, Role::Import, binding.clone());
                        let to_mention = (*to, parts[1].span, Role::ImportAs, binding.clone());
                        imported.mentioned.extend([from, to_mention]);
                        renames.push((*to, binding, operand.span));
                    }
                    None => diagnostics.push(missing_export(imported, *from, parts[0].span)),
                }
            }
            for (to, binding, span) in renames {
                if imported.bindings.insert(to, binding).is_some() {
                    diagnostics.push(bad(
                        span,
                        format!("rename: the import set has another `{to}` already"),
                    ));
                }
            }
        }
    }
}

fn missing_export(imported: &ImportedSet, name: Name, span: Span) -> Diagnostic {
    let exported = imported.interface.exports.contains_key(&name);
    let message = if exported {
        format!(
            "`{name}` of {} is not in this import set any more",
            imported.library
        )
    } else {
        format!("{} does not export `{name}`", imported.library)
    };
    let diagnostic = Diagnostic::error("missing-export", span, message);
    match similar_name(name, imported.bindings.keys().copied()) {
        Some(similar) => diagnostic.similar(similar.as_str()),
        None => diagnostic,
    }
}
