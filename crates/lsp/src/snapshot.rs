//! A version of a document with everything that is known about it: text, forms, expansion,
//! occurrences of names.
//!
//! A snapshot is immutable and shared; requests read it while the worker makes the next one.
//! Answers that take the whole text are computed when they are first asked for and kept. Positions
//! are offsets into this version's text.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use canny_lib::evaluation::Analysis;
use canny_syntax::core::{LibraryKey, LibraryName};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::name::Name;
use canny_syntax::reader::read_text_leniently;
use canny_syntax::recording::{LocalKind, Meaning, Occurrence, Recording, Role, TopName};
use canny_syntax::span::{SourceMap, Span};
use canny_syntax::syntax::Syntax;

use crate::describe::{Description, describe};
use crate::library_sources::{LibrarySource, LibrarySources};
use crate::text::Text;

/// A place in some text.
#[derive(Clone, Debug)]
pub struct Place {
    pub path: PathBuf,
    pub text: Text,
    pub start: usize,
    pub end: usize,
}

/// A user's library as it was when the document was looked at.
#[derive(Debug)]
pub struct Foreign {
    pub recording: Arc<Recording>,
    forms: OnceLock<Vec<Syntax>>,
}

/// An analysed version.
#[derive(Debug)]
pub struct Snapshot {
    pub path: PathBuf,
    pub text: Text,
    pub forms: Vec<Syntax>,
    pub analysis: Analysis,
    /// The occurrences of names in this text, in its order; one for each place and meaning.
    pub occurrences: Vec<Occurrence>,
    pub foreign: HashMap<LibraryKey, Foreign>,
    pub sources: Arc<SourceMap>,
    pub library_sources: Arc<LibrarySources>,
    /// Answers that take the whole text, once they were asked for.
    pub outline: OnceLock<String>,
    pub colours: OnceLock<String>,
    /// Whether some macro makes names of its own.
    inventions: OnceLock<bool>,
}

/// Whether the text at a span is that name, which a macro's insertion is not.
fn is_written(text: &str, one: &Occurrence) -> bool {
    let written = text.get(one.span.start as usize..one.span.end as usize);
    match &one.meaning {
        Meaning::Library(_) => true,
        _ => written.is_some_and(|written| {
            written == one.name.as_str() || written.to_lowercase() == one.name.as_str()
        }),
    }
}

/// The occurrences of recordings in one source, in order.
pub fn occurrences_in<'r>(
    recordings: impl Iterator<Item = &'r Arc<Recording>>,
    source: canny_syntax::span::SourceId,
    text: &str,
) -> Vec<Occurrence> {
    let mut found: Vec<Occurrence> = recordings
        .flat_map(|recording| recording.occurrences.iter())
        .filter(|one| one.span.source == source && is_written(text, one))
        .cloned()
        .collect();
    let rank = |one: &Occurrence| match (&one.meaning, one.role) {
        // Meanings that are known better come first.
        (
            Meaning::Local {
                kind: LocalKind::Field,
                ..
            },
            _,
        ) => 0,
        (Meaning::Unbound(_), _) => 9,
        (
            Meaning::Local {
                kind: LocalKind::Pattern,
                ..
            },
            _,
        ) => 1,
        (_, Role::Definition) => 2,
        (_, Role::Template) => 4,
        _ => 3,
    };
    found.sort_by_key(|one| (one.span.start, one.span.end, rank(one)));
    found.dedup_by(|next, kept| {
        // The first pass and the second may look at the same place.
        next.span.start == kept.span.start && next.span.end == kept.span.end
    });
    found
}

impl Snapshot {
    /// Puts together what an analysis gave.
    pub fn new(
        path: PathBuf,
        text: Text,
        analysis: Analysis,
        foreign: HashMap<LibraryKey, Arc<Recording>>,
        sources: Arc<SourceMap>,
        library_sources: Arc<LibrarySources>,
    ) -> Snapshot {
        let forms = read_text_leniently(&text.content, analysis.source, false).forms;
        let occurrences =
            occurrences_in(analysis.recordings.iter(), analysis.source, &text.content);
        let foreign = foreign
            .into_iter()
            .map(|(key, recording)| {
                let forms = OnceLock::new();
                (key, Foreign { recording, forms })
            })
            .collect();
        Snapshot {
            path,
            text,
            forms,
            analysis,
            occurrences,
            foreign,
            sources,
            library_sources,
            outline: OnceLock::new(),
            colours: OnceLock::new(),
            inventions: OnceLock::new(),
        }
    }

    /// Whether a change of that file may change what is known here.
    pub fn depends_on(&self, file: &std::path::Path) -> bool {
        let waits_for_repair = |one: &Diagnostic| {
            one.is_error()
                && (one.span.source != self.analysis.source || one.code == "library-not-found")
        };
        self.analysis.files.iter().any(|known| known == file)
            || self.analysis.diagnostics.iter().any(waits_for_repair)
    }

    /// The name at a place, or right before it.
    pub fn occurrence_at(&self, offset: usize) -> Option<&Occurrence> {
        let covers = |one: &&Occurrence| {
            one.span.start as usize <= offset && offset <= one.span.end as usize
        };
        let end = self
            .occurrences
            .partition_point(|one| one.span.start as usize <= offset);
        // Names do not nest, apart from libraries' names in import sets.
        let candidates = self.occurrences[..end].iter().rev().take(64).filter(covers);
        candidates.min_by_key(|one| {
            let length = one.span.end - one.span.start;
            // Between two tokens the one that begins there is meant.
            (one.span.end as usize == offset, length)
        })
    }

    /// The name that stands between two places.
    pub fn occurrence_over(&self, start: usize, end: usize) -> Option<&Occurrence> {
        let key = |one: &Occurrence| (one.span.start as usize, one.span.end as usize);
        let place = self
            .occurrences
            .partition_point(|one| key(one) < (start, end));
        self.occurrences
            .get(place)
            .filter(|one| key(one) == (start, end))
    }

    /// Whether something may have a name that nobody wrote, because a macro made it of others.
    pub fn has_invented_names(&self) -> bool {
        *self.inventions.get_or_init(|| {
            let is_definition = |one: &&Occurrence| one.role == Role::Definition;
            let defined: HashSet<&Meaning> = self
                .occurrences
                .iter()
                .filter(is_definition)
                .map(|one| &one.meaning)
                .collect();
            let is_invented = |meaning: &Meaning| !defined.contains(meaning);
            let mut locals = self.occurrences.iter();
            let mut tops = self.analysis.recordings.iter();
            locals.any(|one| {
                matches!(one.meaning, Meaning::Local { .. }) && is_invented(&one.meaning)
            }) || tops.any(|recording| {
                let mut own = recording.names.iter();
                own.any(|top| top.imported_from.is_none() && is_invented(&top.meaning))
            })
        })
    }

    /// Every occurrence of a meaning in this text.
    pub fn occurrences_of<'s>(
        &'s self,
        meaning: &'s Meaning,
    ) -> impl Iterator<Item = &'s Occurrence> {
        self.occurrences
            .iter()
            .filter(move |one| one.meaning == *meaning)
    }

    /// The names of the top level that a place belongs to: a library's, or the program's.
    pub fn unit_at(&self, offset: usize) -> Option<&Arc<Recording>> {
        let library = self.analysis.recordings[1..].iter().find(|recording| {
            let span = recording.span;
            span.source == self.analysis.source
                && span.start as usize <= offset
                && offset <= span.end as usize
        });
        library.or(self.analysis.recordings.first())
    }

    /// The local names that are visible at a place, inner ones first.
    pub fn locals_at(&self, offset: usize) -> Vec<(Name, &Meaning)> {
        let mut around: Vec<_> = self
            .analysis
            .recordings
            .iter()
            .flat_map(|recording| recording.locals.iter())
            .filter(|locals| {
                let span = locals.span;
                span.source == self.analysis.source
                    && (span.start as usize) < offset
                    && offset <= span.end as usize
            })
            .collect();
        around.sort_by_key(|locals| locals.span.end - locals.span.start);
        around
            .into_iter()
            .flat_map(|locals| locals.names.iter().rev())
            .map(|(name, meaning)| (*name, meaning))
            .collect()
    }

    /// A name of the top level around a place.
    pub fn top_name(&self, offset: usize, name: Name) -> Option<&TopName> {
        self.unit_at(offset)?
            .names
            .iter()
            .find(|one| one.name == name)
    }

    fn owner(meaning: &Meaning) -> Option<(&LibraryKey, Name)> {
        match meaning {
            Meaning::Global(name) => Some((&name.library, name.name)),
            Meaning::Macro(name) => Some((&name.library, name.name)),
            _ => None,
        }
    }

    fn own_recordings(&self, key: &LibraryKey) -> impl Iterator<Item = &Arc<Recording>> {
        self.analysis
            .recordings
            .iter()
            .filter(move |recording| recording.key.as_ref() == Some(key))
    }

    /// Whether a meaning belongs to this text.
    pub fn is_own(&self, meaning: &Meaning) -> bool {
        match Snapshot::owner(meaning) {
            Some((key, _)) => self.own_recordings(key).next().is_some(),
            None => matches!(meaning, Meaning::Local { .. }),
        }
    }

    /// Where a meaning is defined.
    pub fn definition(&self, meaning: &Meaning, imported_from: Option<&LibraryName>) -> Vec<Place> {
        if let Meaning::Local { .. } = meaning {
            let definitions = self
                .occurrences_of(meaning)
                .filter(|one| one.role == Role::Definition);
            return definitions.filter_map(|one| self.place(one.span)).collect();
        }
        if let Meaning::Library(name) = meaning {
            return self.library_place(name).into_iter().collect();
        }
        if let Some((key, name)) = Snapshot::owner(meaning) {
            let recordings: Vec<&Arc<Recording>> = self
                .own_recordings(key)
                .chain(self.foreign.get(key).map(|foreign| &foreign.recording))
                .collect();
            for recording in recordings {
                let found: Vec<Place> = definitions(recording, meaning, name)
                    .into_iter()
                    .filter_map(|span| self.place(span))
                    .collect();
                if !found.is_empty() {
                    return found;
                }
            }
            if let Some(library) = self.library_sources.find(key.as_str()) {
                let found = definitions(&library.recording, meaning, name);
                if let Some(span) = found.first() {
                    return self.standard_place(&library, *span).into_iter().collect();
                }
            }
        }
        // Names that are not defined in Scheme are found where they are exported.
        let Some(library) =
            imported_from.and_then(|name| self.library_sources.find(name.key().as_str()))
        else {
            return Vec::new();
        };
        let export = library.recording.occurrences.iter().find(|one| {
            matches!(one.role, Role::Export | Role::ExportAs) && one.meaning == *meaning
        });
        match export {
            Some(export) => self
                .standard_place(&library, export.span)
                .into_iter()
                .collect(),
            None => Vec::new(),
        }
    }

    fn library_place(&self, name: &LibraryName) -> Option<Place> {
        let key = name.key();
        let own = self.own_recordings(&key);
        let recording = own
            .chain(self.foreign.get(&key).map(|foreign| &foreign.recording))
            .next();
        if let Some(recording) = recording {
            let named = recording.occurrences.iter().find(|one| {
                one.role == Role::Definition && one.meaning == Meaning::Library(name.clone())
            });
            return self.place(named.map_or(recording.span, |one| one.span));
        }
        let library = self.library_sources.find(key.as_str())?;
        self.standard_place(&library, library.recording.span)
    }

    fn standard_place(&self, library: &LibrarySource, span: Span) -> Option<Place> {
        self.library_sources.write(library).ok()?;
        Some(Place {
            path: library.path.clone(),
            text: self.text.like(library.text.clone()),
            start: span.start as usize,
            end: span.end as usize,
        })
    }

    /// A span of this text or of a file that was read for it.
    pub fn place(&self, span: Span) -> Option<Place> {
        if span.source == self.analysis.source {
            return Some(Place {
                path: self.path.clone(),
                text: self.text.clone(),
                start: span.start as usize,
                end: span.end as usize,
            });
        }
        let source = self.sources.get(span.source)?;
        let end = span.end as usize;
        (end <= source.text.len()).then(|| Place {
            path: PathBuf::from(&source.name),
            text: self.text.like(source.text.clone()),
            start: span.start as usize,
            end,
        })
    }

    /// Describes a name: from the reference of the standard libraries, or else from its definition.
    pub fn describe_name(&self, one: &Occurrence) -> Description {
        let top = self.top_name(one.span.start as usize, one.name);
        let from = top
            .filter(|top| top.meaning == one.meaning)
            .and_then(|top| top.imported_from.as_ref());
        let exported = from.and_then(|library| from_reference(&library.to_string(), one.name));
        let found = exported.unwrap_or_else(|| self.describe(&one.meaning));
        if found.signatures.is_empty() && found.text.is_empty() {
            self.describe(&one.meaning)
        } else {
            found
        }
    }

    /// The description of a meaning by its definition.
    pub fn describe(&self, meaning: &Meaning) -> Description {
        match meaning {
            Meaning::Core(form) => Description {
                signatures: crate::describe::core_form(form.name())
                    .iter()
                    .map(|one| (*one).to_owned())
                    .collect(),
                kind: "keyword",
                text: String::new(),
            },
            Meaning::Primitive(name) => primitive(*name),
            Meaning::Local { name, kind, .. } => {
                let definition = self
                    .occurrences_of(meaning)
                    .find(|one| one.role == Role::Definition);
                let mut found = match definition {
                    Some(one) => describe(&self.text.content, &self.forms, one.span, name.as_str()),
                    None => Description::default(),
                };
                if found.kind.is_empty() {
                    found.kind = match kind {
                        LocalKind::Variable => "variable",
                        LocalKind::Keyword => "macro",
                        LocalKind::Pattern => "pattern variable",
                        LocalKind::Field => "field",
                    };
                }
                found
            }
            Meaning::Library(_) => Description {
                kind: "library",
                text: self.library_text(meaning),
                ..Description::default()
            },
            Meaning::Unbound(_) => Description {
                kind: "not bound",
                ..Description::default()
            },
            Meaning::Global(_) | Meaning::Macro(_) => self.describe_global(meaning),
        }
    }

    fn describe_global(&self, meaning: &Meaning) -> Description {
        let fallback = match meaning {
            Meaning::Macro(_) => "macro",
            _ => "variable",
        };
        let mut found = Description::default();
        if let Some((key, name)) = Snapshot::owner(meaning) {
            let own = self.own_recordings(key).next();
            if let Some(recording) = own {
                if let Some(span) = definitions(recording, meaning, name).first() {
                    found = if span.source == self.analysis.source {
                        describe(&self.text.content, &self.forms, *span, name.as_str())
                    } else {
                        self.describe_elsewhere(*span, name)
                    };
                }
            } else if let Some(foreign) = self.foreign.get(key) {
                if let Some(span) = definitions(&foreign.recording, meaning, name).first()
                    && let Some(source) = self.sources.get(span.source)
                {
                    let main = foreign.recording.span.source;
                    found = if span.source == main {
                        let forms = foreign.forms.get_or_init(|| {
                            canny_syntax::reader::read_text(&source.text, span.source, false).forms
                        });
                        describe(&source.text, forms, *span, name.as_str())
                    } else {
                        self.describe_elsewhere(*span, name)
                    };
                }
            } else if let Some(known) = from_reference(key.as_str(), name) {
                found = known;
            } else if let Some(library) = self.library_sources.find(key.as_str())
                && let Some(span) = definitions(&library.recording, meaning, name).first()
            {
                found = describe(&library.text, &library.forms, *span, name.as_str());
            }
        }
        if found.kind.is_empty() {
            found.kind = fallback;
        }
        found
    }

    fn describe_elsewhere(&self, span: Span, name: Name) -> Description {
        let Some(source) = self.sources.get(span.source) else {
            return Description::default();
        };
        let forms = canny_syntax::reader::read_text(&source.text, span.source, false).forms;
        describe(&source.text, &forms, span, name.as_str())
    }

    /// The comment above a library.
    fn library_text(&self, meaning: &Meaning) -> String {
        let Meaning::Library(name) = meaning else {
            return String::new();
        };
        let key = name.key();
        if let Some(library) = self.library_sources.find(key.as_str())
            && !self.foreign.contains_key(&key)
        {
            let start = library.recording.span.start as usize;
            let trimmed = library.text[..start].trim_end_matches(['\n', ' ']);
            let text = format!("{trimmed}\n");
            return crate::describe::comment_above(&text, text.len()).unwrap_or_default();
        }
        let Some(place) = self.library_place(name) else {
            return String::new();
        };
        let form = place.text.content[..place.start].rfind('(').unwrap_or(0);
        let form = place.text.content[..form]
            .rfind("(define-library")
            .unwrap_or(form);
        let trimmed = place.text.content[..form].trim_end_matches(['\n', ' ']);
        let text = format!("{trimmed}\n");
        crate::describe::comment_above(&text, text.len()).unwrap_or_default()
    }
}

/// Where a recording says that a meaning is defined; under its own name, if it has several.
fn definitions(recording: &Recording, meaning: &Meaning, name: Name) -> Vec<Span> {
    let all: Vec<&Occurrence> = recording
        .occurrences
        .iter()
        .filter(|one| one.role == Role::Definition && one.meaning == *meaning)
        .collect();
    let named: Vec<Span> = all
        .iter()
        .filter(|one| one.name == name)
        .map(|one| one.span)
        .collect();
    if named.is_empty() {
        all.iter().map(|one| one.span).take(1).collect()
    } else {
        named
    }
}

/// The reference's description of a name of a standard library.
fn from_reference(library: &str, name: Name) -> Option<Description> {
    use canny_documentation::{Kind, Part};
    let entry = canny_reference::document(library)?.definition(name.as_str())?;
    let kind = match &entry.kind {
        Kind::Procedure => "procedure",
        Kind::Syntax => {
            if canny_syntax::core_form::CoreForm::ALL
                .iter()
                .any(|form| form.name() == name.as_str())
            {
                "keyword"
            } else {
                "macro"
            }
        }
        Kind::RecordType { .. } => "record type",
        Kind::RecordPart {
            part: Part::Constructor | Part::Predicate,
            ..
        } => "procedure",
        Kind::RecordPart { .. } => "procedure",
        Kind::Parameter => "parameter",
        Kind::Constant { .. } => "constant",
        Kind::Variable => "variable",
    };
    let signatures = entry.signatures.iter().map(|one| match &one.result {
        Some(result) => format!("{} → {result}", one.text),
        None => one.text.clone(),
    });
    Some(Description {
        signatures: signatures.collect(),
        kind,
        text: entry.text.clone(),
    })
}

/// The table's description of a primitive.
pub fn primitive(name: Name) -> Description {
    let Some(id) = canny_tables::primitives::lookup(name.as_str()) else {
        return Description::default();
    };
    let row = id.row();
    let mut signature = row.call_text();
    if let Some((_, result)) = row.signature.split_once("->") {
        signature.push_str(&format!(" → {}", result.trim()));
    }
    Description {
        signatures: vec![signature],
        kind: "procedure",
        text: row.doc.to_owned(),
    }
}
