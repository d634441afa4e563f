//! From operands to documents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_documentation::{Document, Entry, Extractor};
use canny_lib::features::FEATURES;
use canny_syntax::library::{SearchPath, library_name_of, similar_name};
use canny_syntax::library_name::LibraryName;
use canny_syntax::name::Name;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;

use super::Failure;
use crate::options::Options;
use crate::tools::files;

/// What an operand means.
pub enum Found {
    /// A library or a program.
    Document(Arc<Document>),
    /// A name of standard libraries, with those that export it.
    Name {
        entry: Box<Entry>,
        libraries: Vec<String>,
    },
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

/// What the operands mean.
pub fn find(options: &Options, operands: &[String]) -> Result<Vec<Found>, Failure> {
    let mut extractor = extractor(options);
    // Words of one library's name.
    let are_words = operands.len() > 1 && !operands.iter().any(|word| is_path(word));
    if are_words {
        let words: Vec<&str> = operands.iter().map(String::as_str).collect();
        let name = LibraryName::from_words(&words);
        if let Some(document) = extractor.library(&name) {
            return Ok(vec![Found::Document(document)]);
        }
    }
    let mut found = Vec::new();
    for operand in operands {
        found.extend(find_one(&mut extractor, operand)?);
    }
    Ok(found)
}

fn is_path(operand: &str) -> bool {
    operand.starts_with('(') || Path::new(operand).exists()
}

fn find_one(extractor: &mut Extractor, operand: &str) -> Result<Vec<Found>, Failure> {
    if operand.starts_with('(') {
        let document = library(extractor, operand)?;
        return Ok(vec![Found::Document(document)]);
    }
    let path = Path::new(operand);
    if path.exists() {
        let documents = documents_of(extractor, path)?;
        return Ok(documents.into_iter().map(Found::Document).collect());
    }
    if let Some(found) = name(operand) {
        return Ok(vec![found]);
    }
    let names = public_libraries().flat_map(|it| it.entries.iter().map(|one| Name::new(&one.name)));
    let hint = match similar_name(Name::new(operand), names) {
        Some(similar) => format!("; did you mean '{similar}'?"),
        None => String::new(),
    };
    Err(Failure::no_input(format!(
        "there is no file '{operand}', and no standard library exports that name{hint}"
    )))
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
fn name(text: &str) -> Option<Found> {
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
