//! The meanings of names, for people: completion, `,apropos`, `,describe` and their kin.
//!
//! Nothing here changes an environment. The interaction environment is asked before it exists as if it did.

use std::collections::BTreeSet;
use std::path::Path;

use canny_syntax::binding::Binding;
use canny_syntax::core::{GlobalName, LibraryName};
use canny_syntax::environment::Environment;
use canny_syntax::expander::expand_toplevel_forms;
use canny_syntax::name::Name;
use canny_syntax::span::Span;

use super::{
    EnvironmentId, Evaluation, INTERACTION, Inner, import_form, interaction_environment,
    interaction_imports,
};
use crate::library_loader::standard_library_names;

/// Directories below a search directory in which libraries are looked for.
const SEARCH_DEPTH: usize = 4;
/// Entries of directories that such a search looks at.
const SEARCH_ENTRIES_MAX: usize = 5000;

/// The kind of a name's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A form that the expander knows.
    Form,
    /// A macro.
    Macro,
    /// A primitive procedure.
    Primitive,
    /// A variable.
    Variable,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameInfo {
    /// The name.
    pub name: String,
    /// The kind of its meaning.
    pub kind: NameKind,
    /// The library that it was imported from; nothing for what was defined at the prompt.
    pub library: Option<String>,
    /// The library or environment that owns the variable or macro, and its name there.
    pub owner: Option<(String, String)>,
    /// The signature and description of a primitive, from the table of primitives.
    pub documentation: Option<(&'static str, &'static str)>,
}

impl Evaluation {
    /// Every name of an environment, sorted.
    pub fn bound_names(&self, id: EnvironmentId) -> Vec<String> {
        let mut inner = self.lock();
        let environment = inner.environment_to_read(id);
        let names = environment.bindings().map(|(name, _)| name.as_str());
        // Names that begin with a blank are the host's own.
        let names = names.filter(|name| !name.starts_with(' '));
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        names.into_iter().collect()
    }

    /// The meaning of a name in an environment.
    pub fn name_info(&self, id: EnvironmentId, name: &str) -> Option<NameInfo> {
        let mut inner = self.lock();
        let environment = inner.environment_to_read(id);
        let name = Name::new(name);
        let binding = environment.lookup(name)?;
        let mut info = info_of(name, binding);
        info.library = environment.imported_from(name).map(ToString::to_string);
        Some(info)
    }

    /// The exports of a library; nothing if there is no such library or it has errors.
    pub fn library_exports(&self, words: &super::LibraryWords) -> Option<Vec<NameInfo>> {
        let mut inner = self.lock();
        let interface = inner
            .libraries
            .load(&words.0, Span::NONE, &mut Vec::new())?;
        let exports = interface.exports.iter();
        Some(
            exports
                .map(|(name, binding)| info_of(*name, binding))
                .collect(),
        )
    }

    /// The exports of the standard libraries and of those that are loaded, by library.
    pub fn known_exports(&self) -> Vec<(String, Vec<NameInfo>)> {
        let mut inner = self.lock();
        for name in standard_library_names() {
            let words: Vec<&str> = name.trim_matches(['(', ')']).split(' ').collect();
            let name = LibraryName::from_words(&words);
            inner.libraries.load(&name, Span::NONE, &mut Vec::new());
        }
        let mut found: Vec<(String, Vec<NameInfo>)> = inner
            .libraries
            .interfaces()
            .map(|interface| {
                let exports = interface.exports.iter();
                let infos = exports.map(|(name, binding)| info_of(*name, binding));
                (interface.name.to_string(), infos.collect())
            })
            .collect();
        found.retain(|(library, _)| library != "(canny primitives)" && library != "(canny syntax)");
        found.sort_by(|left, right| left.0.cmp(&right.0));
        found
    }

    /// Makes a name of the interaction environment, visible in this environment too, for a result;
    /// gives its variable.
    pub fn name_result(&self, id: EnvironmentId, name: &str) -> GlobalName {
        let mut inner = self.lock();
        let name = Name::new(name);
        let interaction = interaction_environment();
        let global = GlobalName {
            library: interaction.key().clone(),
            name,
        };
        let binding = Binding::Global(global.clone());
        for id in [INTERACTION, id] {
            if let Some(environment) = inner.environments.get_mut(&id.0) {
                environment.define(name, binding.clone());
            }
        }
        global
    }

    /// The libraries that can be imported, sorted: the standard ones, those that are loaded, those of the
    /// project's packages, those in the search directories.
    pub fn library_names(&self) -> Vec<String> {
        let inner = self.lock();
        let mut names: BTreeSet<String> = standard_library_names().map(str::to_owned).collect();
        names.extend(inner.libraries.interfaces().map(|one| one.name.to_string()));
        if let Some(project) = &inner.project {
            names.extend(project.files.keys().cloned());
        }
        let mut entries_left = SEARCH_ENTRIES_MAX;
        for directory in &inner.directories {
            find_libraries(directory, &mut Vec::new(), &mut entries_left, &mut names);
        }
        names.into_iter().collect()
    }
}

impl Inner {
    /// An environment as it is, or as it would be at its first use.
    fn environment_to_read(&mut self, id: EnvironmentId) -> &Environment {
        if !self.environments.contains_key(&id.0) {
            self.environments
                .entry(super::UNUSED_INTERACTION)
                .or_insert_with(|| {
                    let mut environment = interaction_environment();
                    let import = import_form(&interaction_imports());
                    expand_toplevel_forms(&mut self.libraries, &mut environment, &[import]);
                    environment
                });
            return &self.environments[&super::UNUSED_INTERACTION];
        }
        debug_assert!(id == INTERACTION || self.environments.contains_key(&id.0));
        &self.environments[&id.0]
    }
}

fn info_of(name: Name, binding: &Binding) -> NameInfo {
    let owner = |library: &str, name: Name| Some((library.to_owned(), name.as_str().to_owned()));
    let (kind, owner, primitive) = match binding {
        Binding::Core(_) => (NameKind::Form, None, None),
        Binding::Macro(own) => (NameKind::Macro, owner(own.library.as_str(), own.name), None),
        Binding::Global(own) => (
            NameKind::Variable,
            owner(own.library.as_str(), own.name),
            None,
        ),
        Binding::Primitive(own) => (NameKind::Primitive, None, Some(*own)),
    };
    let row = primitive.and_then(|own| canny_tables::primitives::lookup(own.as_str()));
    NameInfo {
        name: name.as_str().to_owned(),
        kind,
        library: None,
        owner,
        documentation: row.map(|id| (id.row().signature, id.row().doc)),
    }
}

/// Adds the names of the library files below a directory. Directories that cannot be read have none.
fn find_libraries(
    directory: &Path,
    path: &mut Vec<String>,
    entries_left: &mut usize,
    names: &mut BTreeSet<String>,
) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if *entries_left == 0 {
            return;
        }
        *entries_left -= 1;
        let file = entry.path();
        let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        let extension = file.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("sld" | "sls")) {
            let words: Vec<&str> = path.iter().map(String::as_str).chain([stem]).collect();
            names.insert(format!("({})", words.join(" ")));
        } else if extension.is_none()
            && path.len() < SEARCH_DEPTH
            && !stem.starts_with('.')
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            path.push(stem.to_owned());
            find_libraries(&file, path, entries_left, names);
            path.pop();
        }
    }
}
