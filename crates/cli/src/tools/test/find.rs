//! Finds the files that are suites, and the files that a suite depends on.
//!
//! A file named on the command line is a suite. Below a directory, a program is one if it is in a
//! directory `test` or `tests`, if its name is `NAME-test.scm` or `NAME.test.scm`, or if it imports
//! a test library. A file that holds nothing but library definitions is a library.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use canny_syntax::syntax::Syntax;

use crate::tools::files;

/// Libraries whose users are suites.
const TEST_LIBRARIES: [&str; 6] = [
    "(srfi 64)",
    "(srfi 78)",
    "(srfi srfi-64)",
    "(srfi srfi-78)",
    "(srfi :64)",
    "(canny test)",
];

/// Directories whose programs are suites.
const DIRECTORIES: [&str; 2] = ["test", "tests"];

/// Bytes of a file that are looked at to tell whether it is a suite.
const LOOK_BYTES_MAX: u64 = 4 << 20;

/// The result of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// Suites, in order, each once.
    pub suites: Vec<PathBuf>,
    /// Places that cannot be read.
    pub problems: Vec<String>,
}

/// The suites at and below these places.
pub fn suites(places: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for place in places {
        let mut files = Vec::new();
        if let Err(error) = files::collect(place, &mut files) {
            let problem = format!("cannot read {}: {error}", files::shown(place).display());
            found.problems.push(problem);
        }
        let is_directory = fs::metadata(place).is_ok_and(|data| data.is_dir());
        // Its whole name says whether the place itself is among tests.
        let root = fs::canonicalize(place).unwrap_or_else(|_| place.clone());
        for file in files {
            if !is_directory || is_suite(&file, place, &root) {
                let file = files::shown(&file).to_owned();
                if !found.suites.contains(&file) {
                    found.suites.push(file);
                }
            }
        }
    }
    found
}

fn is_suite(file: &Path, place: &Path, root: &Path) -> bool {
    let extension = file.extension().and_then(OsStr::to_str);
    // A pipe would be waited for.
    let is_special = fs::metadata(file).is_ok_and(|data| !data.is_file());
    if is_special || matches!(extension, Some("sld" | "sls")) {
        return false;
    }
    let inside = file.strip_prefix(place).unwrap_or(file);
    let parents = [root.file_name(), None];
    let is_among_tests = inside
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .map(|part| Some(part.as_os_str()))
        .chain(parents)
        .flatten()
        .any(|name| DIRECTORIES.iter().any(|one| name == *one));
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let is_named_so = stem.ends_with("-test") || stem.ends_with(".test");
    let Ok(text) = beginning(file) else {
        // The run tells that it cannot be read.
        return is_among_tests || is_named_so;
    };
    if is_among_tests || is_named_so {
        return !is_library(&text);
    }
    // Reading all of a file that is none would take its time.
    TEST_LIBRARIES.iter().any(|name| text.contains(name))
        && imports(&text)
            .iter()
            .any(|name| TEST_LIBRARIES.contains(&name.as_str()))
}

fn beginning(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(file)?
        .take(LOOK_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn forms(text: &str) -> Vec<Syntax> {
    read_text(text, SourceId::NONE, false).forms
}

/// The word that a form begins with.
fn head(form: &Syntax) -> Option<String> {
    let word = form.as_pair()?.car.as_identifier()?;
    Some(word.name.as_str().to_owned())
}

fn is_library_form(form: &Syntax) -> bool {
    matches!(head(form).as_deref(), Some("define-library" | "library"))
}

/// Whether a text is nothing but libraries.
fn is_library(text: &str) -> bool {
    if !text.contains("library") {
        return false;
    }
    let forms = forms(text);
    !forms.is_empty() && forms.iter().all(is_library_form)
}

/// The libraries that a program imports, as they are written.
fn imports(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for form in forms(text).iter().filter(|form| !is_library_form(form)) {
        take_imports(form, &mut names);
    }
    names
}

fn take_imports(form: &Syntax, names: &mut Vec<String>) {
    if head(form).as_deref() == Some("import") {
        for set in form.parts().elements.iter().skip(1) {
            names.push(imported(set).to_string());
        }
    }
}

/// The library in an import set.
fn imported(set: &Syntax) -> Syntax {
    let mut set = set.clone();
    loop {
        let word = head(&set);
        let inner = set.parts().elements.get(1).cloned();
        match (word.as_deref(), inner) {
            (Some("only" | "except" | "prefix" | "rename" | "for"), Some(inner))
                if inner.as_pair().is_some() =>
            {
                set = inner;
            }
            _ => return set,
        }
    }
}

/// The files that a program is made of: itself, its libraries in these directories and those of
/// packages, by their names, and what they include.
pub fn dependencies(
    program: &Path,
    directories: &[PathBuf],
    packages: &HashMap<String, PathBuf>,
) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut left = vec![program.to_owned()];
    while let Some(file) = left.pop() {
        if !found.insert(file.clone()) {
            continue;
        }
        let Ok(bytes) = fs::read(&file) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let beside = file.parent().unwrap_or(Path::new("")).to_owned();
        for form in forms(&text) {
            let declarations = if is_library_form(&form) {
                form.parts().elements
            } else {
                vec![form]
            };
            for declaration in &declarations {
                let mut sets = Vec::new();
                take_sets(declaration, &mut sets);
                left.extend(sets.iter().filter_map(|set| {
                    library_file(set, directories)
                        .or_else(|| packages.get(&set.to_string()).cloned())
                }));
                left.extend(
                    included(declaration)
                        .into_iter()
                        .map(|name| beside.join(name)),
                );
            }
        }
    }
    found
}

/// The libraries that a declaration imports, also inside of `cond-expand`.
fn take_sets(form: &Syntax, sets: &mut Vec<Syntax>) {
    match head(form).as_deref() {
        Some("import") => sets.extend(form.parts().elements.iter().skip(1).map(imported)),
        Some("cond-expand") => {
            for clause in form.parts().elements.iter().skip(1) {
                for part in clause.parts().elements.iter().skip(1) {
                    take_sets(part, sets);
                }
            }
        }
        _ => {}
    }
}

fn included(form: &Syntax) -> Vec<String> {
    let is_include = matches!(
        head(form).as_deref(),
        Some("include" | "include-ci" | "include-library-declarations" | "load")
    );
    if !is_include {
        return Vec::new();
    }
    let elements = form.parts().elements;
    let names = elements.iter().filter_map(|one| match one.as_atom() {
        Some(Datum::String(name)) => Some(name.to_string()),
        _ => None,
    });
    names.collect()
}

fn library_file(name: &Syntax, directories: &[PathBuf]) -> Option<PathBuf> {
    let mut relative = PathBuf::new();
    for part in name.elements()? {
        relative.push(part.to_string());
    }
    let candidates = directories.iter().flat_map(|directory| {
        ["sld", "sls"].map(|extension| {
            let mut name = directory.join(&relative).into_os_string();
            name.push(".");
            name.push(extension);
            PathBuf::from(name)
        })
    });
    candidates.into_iter().find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found() {
        assert_eq!(
            imports(
                "#!/usr/bin/env canny\n(import (scheme base) (prefix (only (srfi 64) test-begin) t:))\n(f)"
            ),
            ["(scheme base)", "(srfi 64)"]
        );
        assert!(imports("(define-library (a) (import (srfi 64)))").is_empty());
        assert!(imports("'(import-from (srfi 64))").is_empty());
        assert_eq!(imports("(import (srfi 64)"), Vec::<String>::new());
    }

    #[test]
    fn libraries_are_no_programs() {
        assert!(is_library("; a\n(define-library (a))\n(library (b))"));
        assert!(!is_library("(define-library (a)) (import (a))"));
        assert!(!is_library(""));
    }
}
