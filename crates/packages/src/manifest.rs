//! `package.scm`: the description of a package and its dependencies.
//!
//! One datum, `(package FIELD …)`, in which Canny's own fields and those of Snow are read by the same code.
//!
//! | field | meaning |
//! |---|---|
//! | `(name NAME)` | the name; Snow's packages may be called like their first library |
//! | `(version "1.2.0")`, `(description "…")`, `(license "…")`, `(authors "…")` | |
//! | `(libraries "src" …)` | directories of libraries, each library at the path that its name says |
//! | `(library (name (a b)) (path "a/b.sld") (depends (c) …) (use-for test))` | Snow: a library in a file |
//! | `(depends DEPENDENCY …)` | what the package needs; libraries by their names are those of some package |
//! | `(test-depends DEPENDENCY …)` | what its tests need |
//! | `(indexes "PATH" …)` | where versions are looked up |
//! | `(cond-expand (REQUIREMENT FIELD …) …)` | fields for some Schemes |
//!
//! Other fields are Snow's and mean nothing here; but a field that is nearly called like one of these
//! is an error.

use std::path::Path;

use canny_syntax::core::LibraryName;
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::library::library_name_of;
use canny_syntax::span::{SourceMap, Span};
use canny_syntax::syntax::Syntax;

use crate::fields::{self, Form, Platform};
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::source::{Dependency, join};
use crate::version::Version;

const CODE: &str = "bad-manifest";

/// The fields that mean something, and those of Snow.
const KNOWN: [&str; 26] = [
    "name",
    "version",
    "description",
    "license",
    "authors",
    "maintainers",
    "libraries",
    "library",
    "depends",
    "test-depends",
    "indexes",
    "cond-expand",
    "program",
    "manual",
    "test",
    "data-files",
    "url",
    "size",
    "digest",
    "signature",
    "git",
    "homepage",
    "home-page",
    "synopsis",
    "install",
    "programs",
];

/// The kind of the manifest's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// There was none.
    #[default]
    Bare,
    /// `package.scm`, Canny's or Snow's.
    Package,
    /// `Akku.manifest`.
    Akku,
}

/// A library with its own entry, as Snow has them.
#[derive(Clone, Debug)]
pub struct DeclaredLibrary {
    /// Its name.
    pub name: LibraryName,
    /// Its file, from the package's directory.
    pub path: String,
    /// Only tests need it.
    pub is_for_tests: bool,
    /// Where the entry stands.
    pub span: Span,
}

/// The content of a manifest.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The kind of the file.
    pub kind: Kind,
    /// The name.
    pub name: Option<PackageName>,
    /// The version.
    pub version: Option<Version>,
    /// A sentence about it.
    pub description: Option<String>,
    /// The terms under which it may be used.
    pub license: Option<String>,
    /// Directories of libraries, with their places; empty where nothing was said.
    pub directories: Vec<(String, Span)>,
    /// Libraries with entries of their own.
    pub libraries: Vec<DeclaredLibrary>,
    /// Its dependencies.
    pub depends: Vec<Dependency>,
    /// The dependencies of its tests.
    pub test_depends: Vec<Dependency>,
    /// Libraries that it needs of any package.
    pub requires: Vec<(LibraryName, Span)>,
    /// Files or directories with lists of versions.
    pub indexes: Vec<(String, Span)>,
}

impl Manifest {
    /// The name and version for people.
    pub fn title(&self) -> String {
        let name = self.name.as_ref().map_or("?", PackageName::as_str);
        match &self.version {
            Some(version) => format!("{name} {version}"),
            None => name.to_owned(),
        }
    }
}

/// Whether a text begins like a manifest: blanks and comments, then `(package`. A program of that name
/// does not.
pub fn looks_like_one(bytes: &[u8]) -> bool {
    let mut rest = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start();
        if rest.starts_with(b";") {
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            rest = &rest[end.unwrap_or(rest.len())..];
        } else if rest.starts_with(b"#|") {
            let end = rest.windows(2).position(|two| two == b"|#");
            rest = &rest[end.map_or(rest.len(), |end| end + 2)..];
        } else if let Some(word) = rest.strip_prefix(b"#!") {
            let end = word.iter().position(|byte| byte.is_ascii_whitespace());
            rest = &word[end.unwrap_or(word.len())..];
        } else {
            break;
        }
    }
    let Some(inside) = rest.strip_prefix(b"(") else {
        return false;
    };
    let inside = inside.trim_ascii_start();
    inside.strip_prefix(b"package").is_some_and(|after| {
        after.first().is_none_or(|byte| {
            byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b';' | b'"')
        })
    })
}

/// Reads a manifest from its file.
pub fn read(sources: &SourceMap, path: &Path, platform: &Platform) -> Fallible<Manifest> {
    let bytes = fields::read_file(path, CODE)?;
    parse(sources, &path.display().to_string(), &bytes, platform)
}

/// Reads a manifest; all its errors are reported at once.
pub fn parse(
    sources: &SourceMap,
    name: &str,
    bytes: &[u8],
    platform: &Platform,
) -> Fallible<Manifest> {
    let (id, forms) = fields::read_data(sources, name, bytes)?;
    let package = match forms.as_slice() {
        [one] => Form::of(one).filter(|form| form.head == "package"),
        [_, second, ..] => {
            return Err(Problem::new(
                CODE,
                second.span,
                "a manifest is one datum; this is another",
            ));
        }
        [] => None,
    };
    let Some(package) = package else {
        let span = forms.first().map_or(Span::new(id, 0, 0), |form| form.span);
        return Err(Problem::new(
            CODE,
            span,
            "a manifest is `(package FIELD …)`",
        ));
    };
    from_form(&package, platform)
}

/// The manifest that a form `(package …)` is.
pub fn from_form(package: &Form, platform: &Platform) -> Fallible<Manifest> {
    let mut manifest = Manifest {
        kind: Kind::Package,
        ..Manifest::default()
    };
    let mut diagnostics = Vec::new();
    for field in fields::expanded(&package.operands, platform, CODE, &mut diagnostics) {
        if let Err(problem) = read_field(&mut manifest, &field, platform) {
            diagnostics.extend(problem.diagnostics);
        }
    }
    check_names(&manifest.depends, &mut diagnostics);
    check_names(&manifest.test_depends, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(Problem { diagnostics });
    }
    if manifest.name.is_none() {
        let first = manifest
            .libraries
            .iter()
            .find(|library| !library.is_for_tests);
        manifest.name = first.map(|library| PackageName::of_library(&library.name));
    }
    Ok(manifest)
}

/// A name stands in a list of dependencies once.
fn check_names(dependencies: &[Dependency], diagnostics: &mut Vec<Diagnostic>) {
    for (index, one) in dependencies.iter().enumerate() {
        if let Some(first) = dependencies[..index]
            .iter()
            .find(|other| other.name == one.name)
        {
            let message = format!("`{}` is a dependency already", one.name);
            diagnostics.push(Diagnostic::error(CODE, one.span, message).label(first.span, "here"));
        }
    }
}

/// A relative path that stays inside.
fn inner_path(syntax: &Syntax) -> Fallible<String> {
    let path = fields::string(syntax, CODE)?;
    let joined = join(".", &path);
    if path.is_empty()
        || path.contains('\0')
        || joined.starts_with('/')
        || joined == ".."
        || joined.starts_with("../")
    {
        let message = format!(
            "the path `{}` leads out of the package",
            path.escape_debug()
        );
        return Err(Problem::new(CODE, syntax.span, message));
    }
    Ok(joined)
}

fn read_field(manifest: &mut Manifest, field: &Form, platform: &Platform) -> Fallible<()> {
    match field.head.as_str() {
        "name" => manifest.name = Some(PackageName::from_syntax(field.single(CODE)?)?),
        "version" => {
            let operand = field.single(CODE)?;
            let text = match operand.as_atom() {
                Some(canny_syntax::datum::Datum::String(text)) => text.to_string(),
                _ => operand.to_string(),
            };
            let version = Version::parse(&text)
                .map_err(|message| Problem::new("bad-version", operand.span, message))?;
            manifest.version = Some(version);
        }
        "description" => manifest.description = Some(field.words()),
        "license" => manifest.license = Some(field.words()),
        "libraries" => {
            for operand in &field.operands {
                manifest
                    .directories
                    .push((inner_path(operand)?, operand.span));
            }
        }
        "library" => read_library(manifest, field, platform)?,
        "program" => {
            let mut diagnostics = Vec::new();
            for part in fields::expanded(&field.operands, platform, CODE, &mut diagnostics) {
                if part.head == "depends" {
                    read_requirements(manifest, &part)?;
                }
            }
        }
        "depends" => read_dependencies(manifest, field, false)?,
        "test-depends" => read_dependencies(manifest, field, true)?,
        "indexes" => {
            for operand in &field.operands {
                manifest
                    .indexes
                    .push((fields::string(operand, CODE)?, operand.span));
            }
        }
        _ => {
            if !KNOWN.contains(&field.head.as_str())
                && let Some(error) = fields::unknown(field, &KNOWN, CODE)
            {
                return Err(error.into());
            }
        }
    }
    Ok(())
}

fn read_dependencies(manifest: &mut Manifest, field: &Form, is_for_tests: bool) -> Fallible<()> {
    let mut diagnostics = Vec::new();
    for operand in &field.operands {
        if Dependency::is_one(operand) {
            match Dependency::from_syntax(operand, CODE) {
                Ok(dependency) if is_for_tests => manifest.test_depends.push(dependency),
                Ok(dependency) => manifest.depends.push(dependency),
                Err(error) => diagnostics.push(error),
            }
        } else if operand.as_pair().is_some() {
            match library_name_of(operand) {
                // Libraries that the tests of Snow's packages need are not needed here.
                Ok(_) if is_for_tests => {}
                Ok(name) => manifest.requires.push((name, operand.span)),
                Err(error) => diagnostics.push(Diagnostic::error(CODE, error.span, error.message)),
            }
        } else {
            let message = "a dependency is `(NAME PLACE)`, such as `(json (directory \"../json\"))`, or the \
                name of a library";
            diagnostics.push(Diagnostic::error(CODE, operand.span, message));
        }
    }
    if diagnostics.is_empty() {
        Ok(())
    } else {
        Err(Problem { diagnostics })
    }
}

/// The libraries that an entry of Snow's needs. An operand that is no name of a library, such as
/// a part of a Scheme system, is passed over.
fn read_requirements(manifest: &mut Manifest, depends: &Form) -> Fallible<()> {
    for operand in &depends.operands {
        if let Ok(name) = library_name_of(operand) {
            manifest.requires.push((name, operand.span));
        }
    }
    Ok(())
}

fn read_library(manifest: &mut Manifest, field: &Form, platform: &Platform) -> Fallible<()> {
    let mut diagnostics = Vec::new();
    let (mut name, mut path, mut is_for_tests, mut depends) = (None, None, false, Vec::new());
    // Some packages have the name itself where `(name …)` should be.
    let mut operands = field.operands.as_slice();
    if let Some((first, rest)) = operands.split_first()
        && Form::of(first).is_some_and(|form| {
            !["name", "path", "depends", "cond-expand", "use-for"].contains(&form.head.as_str())
        })
        && let Ok(bare) = library_name_of(first)
    {
        name = Some(bare);
        operands = rest;
    }
    for part in fields::expanded(operands, platform, CODE, &mut diagnostics) {
        match part.head.as_str() {
            "name" => {
                let operand = part.single(CODE)?;
                let parsed = library_name_of(operand);
                name = Some(parsed.map_err(|error| Problem::new(CODE, error.span, error.message))?);
            }
            "path" => path = Some(inner_path(part.single(CODE)?)?),
            "use-for" => {
                is_for_tests = part.operands.iter().all(|use_for| {
                    use_for
                        .as_identifier()
                        .is_some_and(|word| word.name.as_str() == "test")
                });
            }
            "depends" => depends.push(part),
            _ => {}
        }
    }
    if !diagnostics.is_empty() {
        return Err(Problem { diagnostics });
    }
    let Some(name) = name else {
        return Err(Problem::new(
            CODE,
            field.span,
            "a library has a name: `(library (name (my lib)) (path \"my/lib.sld\"))`",
        ));
    };
    let path = path.unwrap_or_else(|| {
        let words: Vec<String> = name.parts().iter().map(ToString::to_string).collect();
        format!("{}.sld", words.join("/"))
    });
    if !is_for_tests {
        for part in &depends {
            read_requirements(manifest, part)?;
        }
    }
    manifest.libraries.push(DeclaredLibrary {
        name,
        path,
        is_for_tests,
        span: field.span,
    });
    Ok(())
}
