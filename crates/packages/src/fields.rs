//! Parses files of data: lists `(word operand …)` with positions, and `cond-expand` among them.
//!
//! Manifests, indexes and lockfiles are read with this; each defines the meaning of its words
//! itself. Files are data from outside: size and nesting are limited, and an error has a code and a
//! position.

use std::path::Path;

use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::library_name_of;
use canny_syntax::name::Name;
use canny_syntax::reader::read_source;
use canny_syntax::span::{SourceId, SourceMap, Span};
use canny_syntax::spelling::similar_name;
use canny_syntax::syntax::Syntax;

use crate::problem::{Fallible, Problem};

/// Largest file of data that is read.
pub const DATA_BYTES_MAX: u64 = 64 << 20;

/// Deepest nesting of a requirement.
const REQUIREMENT_DEPTH_MAX: usize = 200;

/// The Scheme that will run the packages.
#[derive(Clone, Debug)]
pub struct Platform {
    /// The features that `cond-expand` knows.
    pub features: Vec<String>,
    /// Whether a library, by its printed name, is there without any package.
    pub has_library: fn(&str) -> bool,
}

/// A list that begins with a word.
#[derive(Clone, Debug)]
pub struct Form {
    /// The word.
    pub head: String,
    /// Where the word stands.
    pub head_span: Span,
    /// The whole list.
    pub span: Span,
    /// The elements behind the word.
    pub operands: Vec<Syntax>,
}

impl Form {
    /// The list as a form, if it is one.
    pub fn of(syntax: &Syntax) -> Option<Form> {
        let mut elements = syntax.elements()?;
        let first = elements.first()?;
        let (head, head_span) = (first.as_identifier()?.name.as_str().to_owned(), first.span);
        Some(Form {
            head,
            head_span,
            span: syntax.span,
            operands: elements.split_off(1),
        })
    }

    /// The single operand.
    pub fn single(&self, code: &'static str) -> Result<&Syntax, Diagnostic> {
        match self.operands.as_slice() {
            [operand] => Ok(operand),
            _ => Err(Diagnostic::error(
                code,
                self.span,
                format!("`{}` takes one datum", self.head),
            )),
        }
    }

    /// The single operand, a string.
    pub fn string(&self, code: &'static str) -> Result<String, Diagnostic> {
        string(self.single(code)?, code)
    }

    /// The operands as a text for people: strings and symbols, one or several.
    pub fn words(&self) -> String {
        let word = |operand: &Syntax| match operand.as_atom() {
            Some(Datum::String(text)) => text.to_string(),
            _ => operand
                .to_datum()
                .to_string()
                .trim_start_matches('\'')
                .to_owned(),
        };
        let words: Vec<String> = self.operands.iter().map(word).collect();
        words.join(", ")
    }
}

/// A string.
pub fn string(syntax: &Syntax, code: &'static str) -> Result<String, Diagnostic> {
    match syntax.as_atom() {
        Some(Datum::String(text)) => Ok(text.to_string()),
        _ => Err(Diagnostic::error(
            code,
            syntax.span,
            format!("a string stands here, not `{}`", shortened(syntax)),
        )),
    }
}

/// A datum for a message.
pub fn shortened(syntax: &Syntax) -> String {
    const CHARACTERS_MAX: usize = 40;
    let text = syntax.to_string();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Reads a file that is there; `code` is that of what is wrong with it.
pub fn read_file(path: &Path, code: &'static str) -> Fallible<Vec<u8>> {
    let failed = |error: std::io::Error| {
        Problem::plain(code, format!("cannot read `{}`: {error}", path.display()))
    };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        let message = format!("`{}` is not a file", path.display());
        return Err(Problem::plain(code, message));
    }
    if metadata.len() > DATA_BYTES_MAX {
        let message = format!(
            "`{}` has {} bytes; more than {DATA_BYTES_MAX} are not read",
            path.display(),
            metadata.len()
        );
        return Err(Problem::plain(code, message));
    }
    std::fs::read(path).map_err(failed)
}

/// The data of a text, all of them.
pub fn read_data(
    sources: &SourceMap,
    name: &str,
    bytes: &[u8],
) -> Fallible<(SourceId, Vec<Syntax>)> {
    let (id, result) = read_source(sources, name, bytes, false);
    if result.has_errors() {
        return Err(Problem {
            diagnostics: result.diagnostics,
        });
    }
    Ok((id, result.forms))
}

/// An error about a field that is not known, with the one that was meant.
pub fn unknown(form: &Form, known: &[&str], code: &'static str) -> Option<Diagnostic> {
    let similar = similar_name(
        Name::new(&form.head),
        known.iter().map(|word| Name::new(word)),
    )?;
    let message = format!("there is no field `{}`", form.head);
    Some(Diagnostic::error(code, form.head_span, message).similar(similar.as_str()))
}

/// Whether the requirement of a `cond-expand` clause holds.
fn holds(requirement: &Syntax, platform: &Platform, depth: usize) -> bool {
    if depth > REQUIREMENT_DEPTH_MAX {
        return false;
    }
    if let Some(feature) = requirement.as_identifier() {
        let feature = feature.name.as_str();
        return feature == "else" || platform.features.iter().any(|known| known == feature);
    }
    let Some(form) = Form::of(requirement) else {
        return false;
    };
    let mut operands = form.operands.iter();
    match form.head.as_str() {
        "and" => operands.all(|one| holds(one, platform, depth + 1)),
        "or" => operands.any(|one| holds(one, platform, depth + 1)),
        "not" => operands.all(|one| !holds(one, platform, depth + 1)),
        "library" => operands.all(|one| {
            library_name_of(one).is_ok_and(|name| (platform.has_library)(name.key().as_str()))
        }),
        _ => false,
    }
}

/// The fields with each `cond-expand` replaced by the fields of its first clause that holds. An
/// element that is no list is an error.
pub fn expanded(
    fields: &[Syntax],
    platform: &Platform,
    code: &'static str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Form> {
    let mut forms = Vec::new();
    let mut pending: Vec<(Syntax, usize)> =
        fields.iter().rev().map(|one| (one.clone(), 0)).collect();
    while let Some((field, depth)) = pending.pop() {
        let Some(form) = Form::of(&field) else {
            let message = format!(
                "a field is a list that begins with a word, not `{}`",
                shortened(&field)
            );
            diagnostics.push(Diagnostic::error(code, field.span, message));
            continue;
        };
        if form.head != "cond-expand" || depth > REQUIREMENT_DEPTH_MAX {
            forms.push(form);
            continue;
        }
        let chosen = form.operands.iter().find_map(|clause| {
            let parts = clause.elements()?;
            let (requirement, body) = parts.split_first()?;
            holds(requirement, platform, 0).then(|| body.to_vec())
        });
        pending.extend(
            chosen
                .unwrap_or_default()
                .into_iter()
                .rev()
                .map(|one| (one, depth + 1)),
        );
    }
    forms
}
