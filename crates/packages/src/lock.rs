//! `package.lock`: which packages exactly a project uses, and what libraries they have.
//!
//! ```scheme
//! (package-lock
//!   (format 1)
//!   (manifest "CHECKSUM")
//!   (package (name json)
//!     (version "1.2.0")
//!     (source (git "https://…" (tag "v1.2.0")))
//!     (revision "…")
//!     (sha256 "…")
//!     (depends text)
//!     (directories "src")
//!     (library (json) "src/json.sld")
//!     (unusable (json old) "r6rs"))
//!   …)
//! ```
//!
//! Packages are in the order of their names, libraries in that of theirs: the same packages give the
//! same text. `manifest` is the checksum of what the manifest asks for.

use std::path::Path;

use canny_syntax::core::LibraryName;
use canny_syntax::datum::Datum;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::library_name_of;
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;

use crate::fields::{self, Form, shortened};
use crate::manifest::Manifest;
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::source::{Source, is_reference, is_sha256, join};
use crate::tree;

const CODE: &str = "bad-lock";

/// The format that is written and read.
const FORMAT: &str = "1";

/// A lockfile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// The checksum of what the manifest asks for.
    pub manifest: String,
    /// The packages, in the order of their names.
    pub packages: Vec<Locked>,
}

/// A package in a lockfile.
#[derive(Clone, Debug, PartialEq)]
pub struct Locked {
    /// Its name.
    pub name: PackageName,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// Where it is from.
    pub source: Source,
    /// The revision of its repository.
    pub revision: Option<String>,
    /// The checksum of its files.
    pub sha256: String,
    /// The packages that it needs.
    pub depends: Vec<PackageName>,
    /// Directories of libraries, from the package's directory.
    pub directories: Vec<String>,
    /// Libraries and their files, from the package's directory.
    pub libraries: Vec<(LibraryName, String)>,
    /// Libraries that cannot be used, and why.
    pub unusable: Vec<(LibraryName, String)>,
}

impl Locked {
    /// Name and version for people.
    pub fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.to_string(),
        }
    }
}

/// The checksum of what a manifest asks for.
pub fn manifest_checksum(manifest: &Manifest) -> String {
    let mut lines = Vec::new();
    for (word, dependencies) in [
        ("depends", &manifest.depends),
        ("test-depends", &manifest.test_depends),
    ] {
        lines.extend(
            dependencies
                .iter()
                .map(|one| format!("{word} {}", one.text())),
        );
    }
    lines.extend(
        manifest
            .requires
            .iter()
            .map(|(name, _)| format!("requires {name}")),
    );
    lines.extend(
        manifest
            .indexes
            .iter()
            .map(|(path, _)| format!("index {path}")),
    );
    lines.sort();
    lines.dedup();
    tree::checksum(lines.join("\n").as_bytes())
}

/// Whether a manifest asks for anything.
pub fn is_needed(manifest: &Manifest) -> bool {
    !(manifest.depends.is_empty()
        && manifest.test_depends.is_empty()
        && manifest.requires.is_empty())
}

fn string(text: &str) -> Datum {
    Datum::String(text.into())
}

impl Lock {
    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = String::from(
            ";; Written by `canny lock`. Do not change it by hand: change package.scm.\n(package-lock\n",
        );
        text.push_str(&format!(
            "  (format {FORMAT})\n  (manifest {})",
            string(&self.manifest)
        ));
        for package in &self.packages {
            text.push_str(&format!("\n  (package (name {})", package.name));
            let mut line =
                |word: &str, content: String| text.push_str(&format!("\n    ({word} {content})"));
            if let Some(version) = &package.version {
                line("version", string(version).to_string());
            }
            line("source", package.source.to_datum().to_string());
            if let Some(revision) = &package.revision {
                line("revision", string(revision).to_string());
            }
            line("sha256", string(&package.sha256).to_string());
            let list = |items: Vec<String>| items.join(" ");
            if !package.depends.is_empty() {
                line(
                    "depends",
                    list(package.depends.iter().map(PackageName::to_string).collect()),
                );
            }
            if !package.directories.is_empty() {
                line(
                    "directories",
                    list(
                        package
                            .directories
                            .iter()
                            .map(|path| string(path).to_string())
                            .collect(),
                    ),
                );
            }
            for (name, path) in &package.libraries {
                line("library", format!("{} {}", library(name), string(path)));
            }
            for (name, reason) in &package.unusable {
                line("unusable", format!("{} {}", library(name), string(reason)));
            }
            text.push(')');
        }
        text.push_str(")\n");
        text
    }

    /// The package of a name.
    pub fn find(&self, name: &PackageName) -> Option<&Locked> {
        self.packages
            .iter()
            .find(|package| package.name.as_str() == name.as_str())
    }
}

/// A library's name that reads back, whatever its symbols are.
fn library(name: &LibraryName) -> String {
    use canny_syntax::library_name::NamePart;
    let parts = name.parts().iter().map(|part| match part {
        NamePart::Symbol(symbol) => Datum::Symbol(*symbol),
        NamePart::Number(number) => Datum::integer(i64::try_from(*number).unwrap_or(i64::MAX)),
        NamePart::Text(text) => Datum::String(text.as_str().into()),
    });
    // Not abbreviated as (quote x) would be.
    let words: Vec<String> = parts.map(|part| part.to_string()).collect();
    format!("({})", words.join(" "))
}

/// Reads a lockfile; `None` if there is none.
pub fn read(sources: &SourceMap, path: &Path) -> Fallible<Option<Lock>> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let bytes = fields::read_file(path, CODE)?;
    parse(sources, &path.display().to_string(), &bytes).map(Some)
}

/// Reads the text of a lockfile.
pub fn parse(sources: &SourceMap, name: &str, bytes: &[u8]) -> Fallible<Lock> {
    let advice = "take it from the version control, or remove it and run `canny lock`";
    let read = fields::read_data(sources, name, bytes).and_then(|(id, data)| {
        let form = match data.as_slice() {
            [one] => Form::of(one).filter(|form| form.head == "package-lock"),
            _ => None,
        };
        let nowhere = canny_syntax::span::Span::new(id, 0, 0);
        let form = form.ok_or_else(|| Problem::new(CODE, nowhere, "this is no lockfile"))?;
        Ok(parse_form(&form)?)
    });
    read.map_err(|mut problem| {
        problem.diagnostics.truncate(1);
        problem.note(advice)
    })
}

fn bad(syntax: &Syntax) -> Diagnostic {
    Diagnostic::error(
        CODE,
        syntax.span,
        format!("`{}` does not belong here", shortened(syntax)),
    )
}

fn parse_form(form: &Form) -> Result<Lock, Diagnostic> {
    let mut lock = Lock::default();
    let mut format = None;
    for operand in &form.operands {
        let field = Form::of(operand).ok_or_else(|| bad(operand))?;
        match field.head.as_str() {
            "format" => format = Some(field.words()),
            "manifest" => lock.manifest = field.string(CODE)?,
            "package" => lock.packages.push(parse_package(&field)?),
            _ => return Err(bad(operand)),
        }
        if format.as_deref().is_some_and(|format| format != FORMAT) {
            let message = "the lockfile was written by another version of Canny, in a format that this one \
                does not know";
            return Err(Diagnostic::error(CODE, field.span, message));
        }
    }
    if format.is_none() || !is_sha256(&lock.manifest) {
        return Err(Diagnostic::error(
            CODE,
            form.span,
            "the lockfile is incomplete",
        ));
    }
    Ok(lock)
}

fn parse_package(form: &Form) -> Result<Locked, Diagnostic> {
    let missing =
        |what: &str| Diagnostic::error(CODE, form.span, format!("a package without {what}"));
    let (mut name, mut source) = (None, None);
    let mut package = Locked {
        name: PackageName::new("?")
            .map_err(|message| Diagnostic::error(CODE, form.span, message))?,
        version: None,
        source: Source::Directory {
            path: String::new(),
        },
        revision: None,
        sha256: String::new(),
        depends: Vec::new(),
        directories: Vec::new(),
        libraries: Vec::new(),
        unusable: Vec::new(),
    };
    let package_name = |syntax: &Syntax| {
        PackageName::from_syntax(syntax)
            .map_err(|error| Diagnostic::error(CODE, error.span, error.message))
    };
    let inner = |syntax: &Syntax| {
        let path = fields::string(syntax, CODE)?;
        let joined = join(".", &path);
        if joined.starts_with('/') || joined == ".." || joined.starts_with("../") {
            return Err(bad(syntax));
        }
        Ok(joined)
    };
    for operand in &form.operands {
        let field = Form::of(operand).ok_or_else(|| bad(operand))?;
        match (field.head.as_str(), field.operands.as_slice()) {
            ("name", [one]) => name = Some(package_name(one)?),
            ("version", _) => package.version = Some(field.string(CODE)?),
            ("source", [one]) => {
                let place = Form::of(one).ok_or_else(|| bad(one))?;
                source = Some(Source::from_form(&place, CODE).ok_or_else(|| bad(one))??);
            }
            ("revision", _) => {
                package.revision = Some(field.string(CODE)?).filter(|text| is_reference(text))
            }
            ("sha256", _) => package.sha256 = field.string(CODE)?,
            ("depends", names) => {
                package.depends = names.iter().map(package_name).collect::<Result<_, _>>()?
            }
            ("directories", paths) => {
                package.directories = paths.iter().map(inner).collect::<Result<_, _>>()?
            }
            ("library", [library, path]) => {
                let library = library_name_of(library).map_err(|_| bad(library))?;
                package.libraries.push((library, inner(path)?));
            }
            ("unusable", [library, reason]) => {
                let library = library_name_of(library).map_err(|_| bad(library))?;
                package
                    .unusable
                    .push((library, fields::string(reason, CODE)?));
            }
            _ => return Err(bad(operand)),
        }
    }
    package.name = name.ok_or_else(|| missing("name"))?;
    package.source = source.ok_or_else(|| missing("source"))?;
    if !is_sha256(&package.sha256) {
        return Err(missing("a checksum"));
    }
    if matches!(package.source, Source::Git { .. }) && package.revision.is_none() {
        return Err(missing("its revision"));
    }
    Ok(package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Reference;

    fn example() -> Lock {
        let sum = "0123456789abcdef".repeat(4);
        Lock {
            manifest: sum.clone(),
            packages: vec![
                Locked {
                    name: PackageName::new("odd name; \"x\"").unwrap(),
                    version: Some("1.0-é".to_owned()),
                    source: Source::Git {
                        url: "https://x/é.git".to_owned(),
                        reference: Reference::Tag("v1".to_owned()),
                        path: Some("a b".to_owned()),
                    },
                    revision: Some("a".repeat(40)),
                    sha256: sum.clone(),
                    depends: vec![PackageName::of_library(&LibraryName::from_words(&[
                        "chibi", "match",
                    ]))],
                    directories: vec!["src".to_owned()],
                    libraries: vec![
                        (
                            LibraryName::from_words(&["quote", "x"]),
                            "src/a\"b.sld".to_owned(),
                        ),
                        (
                            LibraryName::from_words(&["odd part", "1"]),
                            "x.sld".to_owned(),
                        ),
                    ],
                    unusable: vec![(LibraryName::from_words(&["old"]), "r6rs".to_owned())],
                },
                Locked {
                    name: PackageName::new("plain").unwrap(),
                    version: None,
                    source: Source::Directory {
                        path: "../plain dir".to_owned(),
                    },
                    revision: None,
                    sha256: sum,
                    depends: Vec::new(),
                    directories: Vec::new(),
                    libraries: Vec::new(),
                    unusable: Vec::new(),
                },
            ],
        }
    }

    #[test]
    fn lockfiles_read_back() {
        let lock = example();
        assert_eq!(
            parse(&SourceMap::new(), "l", lock.text().as_bytes()).unwrap(),
            lock
        );
        let windows = lock.text().replace('\n', "\r\n");
        assert_eq!(
            parse(&SourceMap::new(), "l", windows.as_bytes()).unwrap(),
            lock
        );
    }

    #[test]
    fn damaged_lockfiles_are_refused() {
        let text = example().text();
        for damaged in [
            "".to_owned(),
            text[..text.len() / 2].to_owned(),
            text.replace("(format 1)", "(format 2)"),
            text.replace("(format 1)", ""),
            text.replace("\"src/a", "\"../a"),
            text.replace("0123", "xyz"),
            text.replace("revision", "revisions"),
            format!("<<<<<<< HEAD\n{text}"),
            format!("{text}{text}"),
        ] {
            let problem = parse(&SourceMap::new(), "l", damaged.as_bytes()).unwrap_err();
            assert!(
                problem.diagnostics[0]
                    .notes
                    .iter()
                    .any(|note| note.contains("canny lock")),
                "{problem:?}"
            );
        }
    }
}
