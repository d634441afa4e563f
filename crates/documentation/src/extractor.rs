//! From sources to documents: the `Extractor`.
//!
//! It reads sources through a loader, without expanding or running them, and keeps the documents of
//! libraries that it has read. Chains of includes, libraries and aliases are followed to a fixed
//! depth, so it ends on any input. A library that cannot be found is remembered as missing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_syntax::datum::Datum;
use canny_syntax::library::{LibraryLoader, Loaded, library_name_of};
use canny_syntax::library_name::LibraryName;
use canny_syntax::reader::read_source;
use canny_syntax::span::{SourceId, SourceMap, Span};
use canny_syntax::syntax::Syntax;

use crate::built_in;
use crate::definition::{Definition, Meaning};
use crate::definitions;
use crate::exports::{self, Declarations, Export};
use crate::model::{Document, Entry, Kind, Origin, Place};
use crate::text::{self, DocText};

/// Files that include each other more deeply are not followed.
const INCLUDE_DEPTH_MAX: usize = 64;
/// Libraries that hand out each other's names in a longer chain are not followed.
const LIBRARY_DEPTH_MAX: usize = 100;
/// Names that stand for each other in a longer chain are not followed.
const ALIASES_MAX: usize = 16;
/// Nesting of a requirement of `cond-expand`.
const REQUIREMENT_DEPTH_MAX: usize = 100;

/// Makes documents of sources and keeps those of libraries.
pub struct Extractor {
    loader: Box<dyn LibraryLoader>,
    features: HashSet<String>,
    sources: SourceMap,
    /// By the name as text; nothing for what cannot be found.
    libraries: HashMap<String, Option<Arc<Document>>>,
    /// `define-library` forms that were read and not looked at.
    declared: HashMap<String, Syntax>,
    /// The source that includes each included source.
    included_from: HashMap<SourceId, SourceId>,
    depth: usize,
}

impl Extractor {
    /// An extractor that finds libraries and included files through a loader; `cond-expand` knows the
    /// features.
    pub fn new(loader: Box<dyn LibraryLoader>, features: &[&str]) -> Extractor {
        Extractor {
            loader,
            features: features.iter().map(|&name| name.to_owned()).collect(),
            sources: SourceMap::new(),
            libraries: HashMap::new(),
            declared: HashMap::new(),
            included_from: HashMap::new(),
            depth: 0,
        }
    }

    /// Adds a library that is known already; the loader is not asked for it.
    pub fn add(&mut self, document: Arc<Document>) {
        self.libraries.insert(document.name.clone(), Some(document));
    }

    /// Forgets a library, so that its source is read again when it is asked for.
    pub fn forget(&mut self, name: &str) {
        self.libraries.remove(name);
        self.declared.remove(name);
    }

    /// The documents of a source: one for each library in it, and one for the program if there are
    /// other forms. Unreadable parts are left out. The libraries replace those of the same name.
    pub fn source(&mut self, file: &str, text: &str) -> Vec<Arc<Document>> {
        let (id, read) = read_source(&self.sources, file, text.as_bytes(), false);
        let mut names = Vec::new();
        let mut program = Vec::new();
        for form in read.forms {
            match declared_name(&form) {
                Some(name) => {
                    let name = name.to_string();
                    self.libraries.remove(&name);
                    self.declared.insert(name.clone(), form);
                    names.push(name);
                }
                None => program.push(form),
            }
        }
        let mut documents: Vec<Arc<Document>> =
            names.iter().filter_map(|name| self.by_text(name)).collect();
        if !program.is_empty() || documents.is_empty() {
            documents.push(Arc::new(self.program(file, id, program)));
        }
        documents
    }

    /// The document of a library; nothing if there is no such library or no source of it.
    pub fn library(&mut self, name: &LibraryName) -> Option<Arc<Document>> {
        let key = name.to_string();
        if let Some(found) = self.libraries.get(&key) {
            return found.clone();
        }
        if !self.declared.contains_key(&key) && built_in::document(&key).is_none() {
            self.load(name);
        }
        self.by_text(&key)
    }

    /// The document of a library whose source was read.
    fn by_text(&mut self, name: &str) -> Option<Arc<Document>> {
        if let Some(found) = self.libraries.get(name) {
            return found.clone();
        }
        if self.depth >= LIBRARY_DEPTH_MAX {
            return None;
        }
        // Libraries that import each other find nothing in each other.
        self.libraries.insert(name.to_owned(), None);
        self.depth += 1;
        let document = match self.declared.remove(name) {
            Some(form) => Some(self.declared_library(name, &form)),
            None => built_in::document(name),
        };
        self.depth -= 1;
        let document = document.map(Arc::new);
        self.libraries.insert(name.to_owned(), document.clone());
        document
    }

    /// Reads the source of a library.
    fn load(&mut self, name: &LibraryName) {
        if let Loaded::Source { path, bytes } = self.loader.load(name) {
            let file = path.display().to_string();
            let (_, read) = read_source(&self.sources, &file, &bytes, false);
            for form in read.forms {
                if let Some(name) = declared_name(&form) {
                    self.declared.entry(name.to_string()).or_insert(form);
                }
            }
        }
    }

    fn declared_library(&mut self, name: &str, form: &Syntax) -> Document {
        let parts = form.elements().unwrap_or_default();
        let mut declarations = Declarations::default();
        self.declarations(parts.get(2..).unwrap_or_default(), &mut declarations);
        let forms = self.body(std::mem::take(&mut declarations.body));
        let found: Vec<Definition> = forms.iter().flat_map(definitions::definitions).collect();
        let scope = Scope {
            by_name: by_name(&found),
            imports: &declarations.imports,
            forms: &forms,
        };
        let entries = declarations
            .exports
            .iter()
            .map(|export| self.export(&scope, export))
            .collect();
        let exported: HashSet<&str> = declarations
            .exports
            .iter()
            .map(|export| export.internal.as_str())
            .collect();
        let internal = self.defined(&found, &scope, |name| !exported.contains(name));
        let text = self.library_text(name, form);
        Document {
            name: name.to_owned(),
            is_library: true,
            text: text.text,
            examples: text.examples,
            sections: Vec::new(),
            entries,
            internal,
            place: self.place(form.span),
        }
    }

    fn program(&mut self, file: &str, id: SourceId, forms: Vec<Syntax>) -> Document {
        let first = forms.first().map(|form| form.span);
        let forms = self.body(forms);
        let found: Vec<Definition> = forms.iter().flat_map(definitions::definitions).collect();
        let mut imports = Vec::new();
        for form in &forms {
            let parts = form.elements().unwrap_or_default();
            if is_form(&parts, "import") {
                imports.extend_from_slice(&parts[1..]);
            }
        }
        let scope = Scope {
            by_name: by_name(&found),
            imports: &imports,
            forms: &forms,
        };
        let entries = self.defined(&found, &scope, |_| true);
        let source = self.sources.get(id);
        let lines = source.map(|source| text::comment_at_top(&source.text));
        let mut lines = lines.unwrap_or_default();
        // A comment directly above the first definition belongs to that definition.
        let starts_with_definition = forms
            .first()
            .is_some_and(|form| !definitions::definitions(form).is_empty());
        let below = first
            .and_then(|span| self.place(span))
            .map(|place| place.line);
        if starts_with_definition && lines.last().map(|line| line.number + 1) == below {
            lines.clear();
        }
        let text = text::doc_text(file, &lines);
        Document {
            name: file.to_owned(),
            is_library: false,
            text: text.text,
            examples: text.examples,
            sections: Vec::new(),
            entries,
            internal: Vec::new(),
            place: self.place(Span::new(id, 0, 0)),
        }
    }

    /// The entries of definitions whose names are wanted; of several with one name, the last.
    fn defined(
        &mut self,
        found: &[Definition],
        scope: &Scope<'_>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        for definition in found {
            let is_last = scope
                .by_name
                .get(definition.name.as_str())
                .is_some_and(|last| std::ptr::eq(*last, definition));
            if is_last && is_wanted(&definition.name) {
                entries.push(self.entry(scope, &definition.name, definition, 0));
            }
        }
        entries
    }

    fn library_text(&mut self, name: &str, form: &Syntax) -> DocText {
        let Some(source) = self.sources.get(form.span.source) else {
            return DocText::default();
        };
        let offset = form.span.start as usize;
        let line_number = source.line_and_column(form.span.start).0 as usize;
        let mut lines = text::comment_above(&source.text, offset, line_number);
        if lines.is_empty() {
            let top = text::comment_at_top(&source.text);
            let above = source.text[..offset].lines();
            // Nothing but comments comes before it.
            let is_first = above.clone().all(|line| {
                let line = line.trim();
                line.is_empty() || line.starts_with(';') || line.starts_with("#!")
            });
            if is_first {
                lines = top;
            }
        }
        if let Some(first) = lines.first_mut()
            && let Some(rest) = first.text.trim_start().strip_prefix(name)
            && let Some(rest) = rest
                .strip_prefix([':', '.', ','])
                .or_else(|| rest.strip_prefix(" —"))
        {
            let rest = rest.trim_start();
            let mut characters = rest.chars();
            first.text = match characters.next() {
                Some(initial) => initial.to_uppercase().chain(characters).collect(),
                None => String::new(),
            };
        }
        text::doc_text(&source.name, &lines)
    }

    /// Sorts declarations into exports, imports and body.
    fn declarations(&mut self, forms: &[Syntax], into: &mut Declarations) {
        let mut pending: Vec<Syntax> = forms.iter().rev().cloned().collect();
        while let Some(declaration) = pending.pop() {
            let parts = declaration.elements().unwrap_or_default();
            let Some(head) = parts.first().and_then(Syntax::as_identifier) else {
                continue;
            };
            let operands = &parts[1..];
            match head.name.as_str() {
                "export" => into
                    .exports
                    .extend(operands.iter().filter_map(exports::export)),
                "import" => into.imports.extend_from_slice(operands),
                "begin" | "include" | "include-ci" => into.body.push(declaration),
                "include-library-declarations" => {
                    pending.extend(self.included(operands, false).into_iter().rev());
                }
                "cond-expand" => pending.extend(self.cond_expand(operands).into_iter().rev()),
                _ => {}
            }
        }
    }

    /// The forms of a body, without `begin`, `include` and `cond-expand` around them.
    fn body(&mut self, forms: Vec<Syntax>) -> Vec<Syntax> {
        let mut found = Vec::new();
        let mut pending = forms;
        pending.reverse();
        while let Some(form) = pending.pop() {
            let head = form.as_pair().and_then(|pair| pair.car.as_identifier());
            let word = head.map(|head| head.name.as_str());
            if !matches!(
                word,
                Some("begin" | "include" | "include-ci" | "cond-expand")
            ) {
                found.push(form);
                continue;
            }
            let parts = form.elements().unwrap_or_default();
            let operands = parts.get(1..).unwrap_or_default();
            let inner = match word {
                Some("begin") => operands.to_vec(),
                Some("cond-expand") => self.cond_expand(operands),
                word => self.included(operands, word == Some("include-ci")),
            };
            pending.extend(inner.into_iter().rev());
        }
        found
    }

    /// The forms of included files. Those that cannot be read have none.
    fn included(&mut self, operands: &[Syntax], fold_case: bool) -> Vec<Syntax> {
        let mut forms = Vec::new();
        for operand in operands {
            let Some(Datum::String(file)) = operand.as_atom() else {
                continue;
            };
            let including = operand.span.source;
            let mut depth = 0;
            let mut source = including;
            while let Some(parent) = self.included_from.get(&source) {
                depth += 1;
                source = *parent;
            }
            if depth >= INCLUDE_DEPTH_MAX {
                continue;
            }
            let directory = self
                .sources
                .get(including)
                .and_then(|source| Path::new(&source.name).parent().map(Path::to_owned));
            let path = match directory {
                Some(directory) => directory.join(&**file),
                None => PathBuf::from(&**file),
            };
            if let Ok(bytes) = self.loader.read_file(&path) {
                let name = path.display().to_string();
                let (id, read) = read_source(&self.sources, &name, &bytes, fold_case);
                self.included_from.insert(id, including);
                forms.extend(read.forms);
            }
        }
        forms
    }

    /// The forms of the first clause whose requirement holds.
    fn cond_expand(&mut self, clauses: &[Syntax]) -> Vec<Syntax> {
        for clause in clauses {
            let mut parts = clause.elements().unwrap_or_default();
            if !parts.is_empty() {
                let requirement = parts.remove(0);
                if self.holds(&requirement, 0) {
                    return parts;
                }
            }
        }
        Vec::new()
    }

    fn holds(&mut self, requirement: &Syntax, depth: usize) -> bool {
        if depth > REQUIREMENT_DEPTH_MAX {
            return false;
        }
        if let Some(feature) = requirement.as_identifier() {
            let feature = feature.name.as_str();
            return feature == "else" || self.features.contains(feature);
        }
        let parts = requirement.elements().unwrap_or_default();
        let Some(head) = parts.first().and_then(Syntax::as_identifier) else {
            return false;
        };
        let mut operands = parts[1..].iter();
        match head.name.as_str() {
            "and" => operands.all(|operand| self.holds(operand, depth + 1)),
            "or" => operands.any(|operand| self.holds(operand, depth + 1)),
            "not" => operands.all(|operand| !self.holds(operand, depth + 1)),
            "library" => operands.all(|operand| {
                library_name_of(operand).is_ok_and(|name| {
                    let text = name.to_string();
                    self.declared.contains_key(&text)
                        || self.libraries.get(&text).is_some_and(Option::is_some)
                        || self.loader.exists(&name)
                })
            }),
            _ => false,
        }
    }

    fn export(&mut self, scope: &Scope<'_>, export: &Export) -> Entry {
        let mut entry = self
            .entry_of_name(scope, &export.internal, 0)
            .unwrap_or_else(|| Entry {
                place: self.place(export.at),
                ..empty_entry(&export.internal)
            });
        entry.rename(&export.external);
        entry
    }

    /// The entry for a name in a library.
    fn entry_of_name(&mut self, scope: &Scope<'_>, name: &str, depth: usize) -> Option<Entry> {
        if depth > ALIASES_MAX {
            return None;
        }
        if let Some(definition) = scope.by_name.get(name) {
            return Some(self.entry(scope, name, definition, depth));
        }
        for set in scope.imports {
            let Some((library, inner)) = exports::imported(set, name) else {
                continue;
            };
            let Some(document) = self.library(&library) else {
                continue;
            };
            if let Some(entry) = document.entry(&inner) {
                let mut entry = entry.clone();
                let origin = entry.origin.take();
                entry.origin = Some(origin.unwrap_or(Origin {
                    library: document.name.clone(),
                    name: inner,
                }));
                entry.rename(name);
                return Some(entry);
            }
        }
        // Perhaps a macro defines it.
        let (form, at) = scope.forms.iter().find_map(|form| {
            definitions::possible_definition(form, name).map(|at| (form.span, at))
        })?;
        let text = text::doc_text(&self.file_of(form), &self.comment_above(form));
        Some(Entry {
            text: text.text,
            examples: text.examples,
            place: self.place(at),
            ..empty_entry(name)
        })
    }

    fn entry(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        definition: &Definition,
        depth: usize,
    ) -> Entry {
        let mut entry = match &definition.meaning {
            Meaning::Known { kind, signatures } => Entry {
                kind: kind.clone(),
                signatures: signatures.clone(),
                text: definition.default_text.clone(),
                ..empty_entry(name)
            },
            Meaning::Alias(other) => {
                let mut entry = if other == name {
                    None
                } else {
                    self.entry_of_name(scope, other, depth + 1)
                }
                .unwrap_or_else(|| empty_entry(name));
                entry.origin = None;
                entry.rename(name);
                entry
            }
        };
        entry.place = self.place(definition.at);
        let lines = match (&definition.doc_string, definition.comment_above) {
            (Some((text, at)), _) => {
                let line = self.place(*at).map_or(1, |place| place.line);
                text::string_lines(text, line)
            }
            (None, Some(form)) => self.comment_above(form),
            (None, None) => Vec::new(),
        };
        if !lines.is_empty() {
            let text = text::doc_text(&self.file_of(definition.at), &lines);
            entry.text = text.text;
            entry.examples = text.examples;
        }
        entry
    }

    fn comment_above(&self, form: Span) -> Vec<text::Line> {
        match self.sources.get(form.source) {
            Some(source) => {
                let line = source.line_and_column(form.start).0;
                text::comment_above(&source.text, form.start as usize, line as usize)
            }
            None => Vec::new(),
        }
    }

    fn file_of(&self, span: Span) -> String {
        let source = self.sources.get(span.source);
        source.map(|source| source.name.clone()).unwrap_or_default()
    }

    fn place(&self, span: Span) -> Option<Place> {
        let source = self.sources.get(span.source)?;
        let (line, column) = source.line_and_column(span.start);
        Some(Place {
            file: source.name.clone(),
            line,
            column,
        })
    }
}

/// The definitions, imports and forms of a library or program.
struct Scope<'s> {
    by_name: HashMap<&'s str, &'s Definition>,
    imports: &'s [Syntax],
    forms: &'s [Syntax],
}

/// The last definition of each name.
fn by_name(found: &[Definition]) -> HashMap<&str, &Definition> {
    found.iter().map(|it| (it.name.as_str(), it)).collect()
}

fn empty_entry(name: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        kind: Kind::Variable,
        signatures: Vec::new(),
        text: String::new(),
        examples: Vec::new(),
        group: None,
        section: String::new(),
        origin: None,
        place: None,
    }
}

fn is_form(parts: &[Syntax], word: &str) -> bool {
    let head = parts.first().and_then(Syntax::as_identifier);
    head.is_some_and(|head| head.name.as_str() == word)
}

/// The name of a library that a form declares.
fn declared_name(form: &Syntax) -> Option<LibraryName> {
    let pair = form.as_pair()?;
    if pair.car.as_identifier()?.name.as_str() != "define-library" {
        return None;
    }
    library_name_of(&pair.cdr.as_pair()?.car).ok()
}

impl std::fmt::Debug for Extractor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Extractor").finish_non_exhaustive()
    }
}
