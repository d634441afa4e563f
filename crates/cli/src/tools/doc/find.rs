//! Resolves the operands of `canny doc` to documents: files, libraries, names, or words to search
//! for.
//!
//! Paths come before libraries, and libraries before names. The standard libraries are read from
//! the image; the user's libraries are read only when an operand needs them. An operand without a
//! meaning is an error with suggestions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_documentation::{Document, Entry, Extractor};
use canny_lib::features::FEATURES;
use canny_syntax::library::{SearchPath, library_name_of};
use canny_syntax::library_name::LibraryName;
use canny_syntax::name::Name;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use canny_syntax::spelling::similar_name;

use super::Failure;
use super::search::{self, Matches};
use crate::options::Options;
use crate::tools::files;

/// The meaning of an operand.
pub enum Found {
    /// A library or a program.
    Document(Arc<Document>),
    /// A name, with the libraries that export it.
    Name {
        entry: Box<Entry>,
        libraries: Vec<String>,
    },
    /// The search results for words that are no name.
    Matches(Matches),
}

/// An extractor that knows the standard libraries and finds those of the user.
pub fn extractor(options: &Options) -> Extractor {
    let directories = crate::session::directories(options, None);
    let mut features: Vec<&str> = FEATURES.to_vec();
    features.extend(options.features.iter().map(String::as_str));
    let mut extractor = Extractor::new(Box::new(SearchPath { directories }), &features);
    for document in canny_reference::documents() {
        extractor.add(document.clone());
    }
    extractor
}

/// Finds the meanings of the operands; an operand without one is a failure.
pub fn find(options: &Options, operands: &[String]) -> Result<Vec<Found>, Failure> {
    let mut finder = Finder::new(options);
    let (found, missing) = finder.find(operands)?;
    match missing.first() {
        Some(operand) => Err(unknown(operand)),
        None => Ok(found),
    }
}

/// Finds the meanings of the operands. Words without one are searched for: together, if no operand
/// has one.
pub fn find_or_search(options: &Options, operands: &[String]) -> Result<Vec<Found>, Failure> {
    let mut finder = Finder::new(options);
    let (mut found, missing) = finder.find(operands)?;
    if let Some(path) = missing.iter().find(|word| is_written_path(word)) {
        return Err(unknown(path));
    }
    let mut documents: Vec<Arc<Document>> = public_libraries().cloned().collect();
    documents.extend(finder.own().iter().cloned());
    let searches: Vec<&[&str]> = if found.is_empty() && !missing.is_empty() {
        vec![&missing[..]]
    } else {
        missing.chunks(1).collect()
    };
    for words in searches {
        let matches = search::search(&documents, words);
        found.push(Found::Matches(matches.ok_or_else(|| unknown(words[0]))?));
    }
    Ok(found)
}

/// A word that is no file, no library and no name.
fn unknown(operand: &str) -> Failure {
    let names = public_libraries().flat_map(|it| it.entries.iter().map(|one| Name::new(&one.name)));
    let hint = match similar_name(Name::new(operand), names) {
        Some(similar) => format!("; did you mean '{similar}'?"),
        None => String::new(),
    };
    Failure::no_input(format!(
        "there is no file '{operand}', and no library exports that name{hint}"
    ))
}

/// Whether an operand can only be a path: it has a separator, or ends as a source file does.
fn is_written_path(operand: &str) -> bool {
    let path = Path::new(operand);
    let is_dots = operand == "." || operand == "..";
    is_dots
        || operand.contains(std::path::is_separator)
        || path.extension().is_some_and(files::is_source)
}

/// Finds what operands mean.
struct Finder<'o> {
    options: &'o Options,
    extractor: Extractor,
    /// The libraries of the user's own that were read.
    own: Option<Vec<Arc<Document>>>,
}

impl Finder<'_> {
    fn new(options: &Options) -> Finder<'_> {
        Finder {
            options,
            extractor: extractor(options),
            own: None,
        }
    }

    /// Finds the meanings of the operands; also returns the operands without one.
    fn find<'w>(&mut self, operands: &'w [String]) -> Result<(Vec<Found>, Vec<&'w str>), Failure> {
        let are_words = operands.len() > 1
            && !operands
                .iter()
                .any(|word| word.starts_with('(') || is_written_path(word));
        if are_words && let Some(document) = self.library_of_words(operands) {
            return Ok((vec![Found::Document(document)], Vec::new()));
        }
        let (mut all, mut missing) = (Vec::new(), Vec::new());
        for operand in operands {
            let found = self.find_one(operand)?;
            if found.is_empty() {
                missing.push(operand.as_str());
            }
            all.extend(found);
        }
        Ok((all, missing))
    }

    /// A library whose name consists of these words.
    fn library_of_words(&mut self, words: &[String]) -> Option<Arc<Document>> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.extractor.library(&LibraryName::from_words(&words))
    }

    /// A library in parentheses; a path; or a word: a library, with a name if it is that too, or else a
    /// file or a directory with sources in it, or else a name.
    fn find_one(&mut self, operand: &str) -> Result<Vec<Found>, Failure> {
        if operand.starts_with('(') {
            let document = library(&mut self.extractor, operand)?;
            return Ok(vec![Found::Document(document)]);
        }
        let path = Path::new(operand);
        if is_written_path(operand) && path.exists() {
            let documents = documents_of(&mut self.extractor, path)?;
            return Ok(documents.into_iter().map(Found::Document).collect());
        }
        if let Some(document) = self.library_of_words(&[operand.to_owned()]) {
            let mut found = vec![Found::Document(document)];
            found.extend(self.names(operand));
            return Ok(found);
        }
        if !path.exists() {
            return Ok(self.names(operand));
        }
        match documents_of(&mut self.extractor, path) {
            Ok(documents) => Ok(documents.into_iter().map(Found::Document).collect()),
            // A directory without sources need not be meant.
            Err(failure) => match self.names(operand) {
                names if names.is_empty() => Err(failure),
                names => Ok(names),
            },
        }
    }

    /// A name: what the standard libraries say, and each library of the user's own that defines it.
    fn names(&mut self, name: &str) -> Vec<Found> {
        let mut found: Vec<Found> = standard_name(name).into_iter().collect();
        for document in self.own() {
            let entry = document.entry(name);
            if let Some(entry) = entry.filter(|entry| entry.origin.is_none()) {
                found.push(Found::Name {
                    entry: Box::new(entry.clone()),
                    libraries: vec![document.name.clone()],
                });
            }
        }
        found
    }

    /// The libraries of the project that one stands in and those below the directories of options;
    /// without a project, those that are in the current directory itself.
    fn own(&mut self) -> &[Arc<Document>] {
        if self.own.is_none() {
            let own = self.read_own();
            self.own = Some(own);
        }
        self.own.as_deref().unwrap_or_default()
    }

    fn read_own(&mut self) -> Vec<Arc<Document>> {
        let project = crate::project::own_directories(self.options);
        let options = self.options;
        let given = options
            .first_directories
            .iter()
            .chain(&options.last_directories);
        let mut paths = Vec::new();
        for directory in project.iter().flatten().chain(given) {
            // Directories that cannot be read are skipped.
            let _ = files::collect_ending(directory, &["sld"], &mut paths);
        }
        if project.is_none() {
            let here = std::fs::read_dir(".").into_iter().flatten().flatten();
            let here = here.map(|entry| PathBuf::from(entry.file_name()));
            paths.extend(here.filter(|path| path.extension().is_some_and(|it| it == "sld")));
        }
        let mut seen = HashSet::new();
        paths.sort();
        let mut documents = Vec::new();
        for path in paths {
            if path.is_file()
                && seen.insert(std::fs::canonicalize(&path).unwrap_or(path.clone()))
                && let Ok(found) = documents_of_file(&mut self.extractor, &path)
            {
                documents.extend(found.into_iter().filter(|document| document.is_library));
            }
        }
        documents
    }
}

/// The library that is written so.
fn library(extractor: &mut Extractor, text: &str) -> Result<Arc<Document>, Failure> {
    let read = read_text(text, SourceId::NONE, false);
    let name = match read.forms.as_slice() {
        [form] if !read.has_errors() => library_name_of(form).ok(),
        _ => None,
    };
    let name =
        name.ok_or_else(|| Failure::no_input(format!("'{text}' is not the name of a library")))?;
    extractor.library(&name).ok_or_else(|| {
        let names = canny_reference::documents().iter();
        let names = names.map(|document| Name::new(&document.name));
        let hint = match similar_name(Name::new(&name.to_string()), names) {
            Some(similar) => format!("; did you mean {similar}?"),
            None => String::new(),
        };
        Failure::no_input(format!("there is no library {name}{hint}"))
    })
}

/// The documents of a file, or of all Scheme files below a directory.
pub fn documents_of(extractor: &mut Extractor, path: &Path) -> Result<Vec<Arc<Document>>, Failure> {
    let mut paths = Vec::new();
    files::collect(path, &mut paths).map_err(|error| Failure::of_file("read", path, &error))?;
    let mut documents = Vec::new();
    for path in paths {
        documents.extend(documents_of_file(extractor, &path)?);
    }
    if documents.is_empty() {
        let message = format!("there are no Scheme files in {}", path.display());
        return Err(Failure::no_input(message));
    }
    Ok(documents)
}

/// The documents of a file.
pub fn documents_of_file(
    extractor: &mut Extractor,
    path: &PathBuf,
) -> Result<Vec<Arc<Document>>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::of_file("read", path, &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let message = format!("{} is not UTF-8 from byte {offset} on", path.display());
        Failure::no_input(message)
    })?;
    let name = path.display().to_string();
    Ok(extractor.source(name.strip_prefix("./").unwrap_or(&name), &text))
}

/// The standard libraries that people use, those of the standard first.
pub fn public_libraries() -> impl Iterator<Item = &'static Arc<Document>> {
    let of_group = |prefix: &'static str| {
        canny_reference::documents().iter().filter(move |document| {
            document.name.starts_with(prefix) && !canny_reference::is_internal(&document.name)
        })
    };
    of_group("(scheme ")
        .chain(of_group("(canny "))
        .chain(of_group("(srfi "))
}

/// A name of the standard libraries: what the first one says that says something.
fn standard_name(text: &str) -> Option<Found> {
    let mut best: Option<&Entry> = None;
    let mut libraries = Vec::new();
    for document in public_libraries() {
        let Some(entry) = document.entry(text) else {
            continue;
        };
        libraries.push(document.name.clone());
        if best.is_none_or(|best| best.text.is_empty() && !entry.text.is_empty()) {
            best = Some(entry);
        }
    }
    best.map(|entry| Found::Name {
        entry: Box::new(entry.clone()),
        libraries,
    })
}
