//! The files of a package: which they are, their checksum, copies of them, and the libraries among
//! them.
//!
//! Files are visited in the order of their paths, with `/` between the parts, so that a checksum
//! depends on names and contents only. Directories of version control are no part of a package.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use canny_syntax::core::LibraryName;
use canny_syntax::library::library_name_of;
use canny_syntax::reader::read_source;
use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;
use sha2::{Digest, Sha256};

use crate::archive::Limits;
use crate::fields::Form;
use crate::manifest::{Kind, Manifest};
use crate::problem::{Fallible, Problem};
use crate::source::join;

/// Directories that are no part of a package.
const SKIPPED: [&str; 7] = [".git", ".hg", ".svn", ".bzr", "_darcs", "CVS", ".akku"];

/// Directories beside the libraries of a package that says nothing of where these are.
const BESIDE: [&str; 8] = [
    "test",
    "tests",
    "example",
    "examples",
    "bench",
    "benchmark",
    "benchmarks",
    "doc",
];

/// The file in a project's directory of copies that tells it from other directories of the same name.
pub const VENDOR_FILE: &str = "vendored.scm";

/// Largest file that is looked into for libraries.
const LIBRARY_BYTES_MAX: u64 = 16 << 20;

/// The digits of a checksum.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A checksum of all bytes that are written to it.
#[derive(Debug, Default)]
pub struct Checksum(Sha256);

impl Checksum {
    /// The digits.
    pub fn finish(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

impl io::Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The checksum of some bytes.
pub fn checksum(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The files below a directory, by their paths from it with `/` between the parts, in the order of
/// these. Links are followed, but for those that lead around in a circle.
pub fn files(root: &Path) -> Fallible<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let canonical = fs::canonicalize(root).map_err(|error| Problem::unreadable(root, &error))?;
    let mut pending = vec![(String::new(), root.to_owned(), vec![canonical])];
    while let Some((prefix, directory, ancestors)) = pending.pop() {
        let failed = |error: io::Error| Problem::unreadable(&directory, &error);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                return Err(Problem::plain(
                    "unusable-package",
                    format!("the name of `{}` is not UTF-8", path.display()),
                ));
            };
            // A link that leads nowhere is no part of the package.
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let relative = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}/{name}")
            };
            if metadata.is_dir() {
                let is_vendor = prefix.is_empty() && path.join(VENDOR_FILE).is_file();
                let canonical = fs::canonicalize(&path).map_err(failed)?;
                if !SKIPPED.contains(&name.as_str())
                    && !is_vendor
                    && !ancestors.contains(&canonical)
                {
                    let mut ancestors = ancestors.clone();
                    ancestors.push(canonical);
                    pending.push((relative, path, ancestors));
                }
            } else if metadata.is_file() {
                found.insert(relative, path);
            }
            if found.len() > Limits::default().files {
                let message = format!(
                    "`{}` has more than {} files",
                    root.display(),
                    Limits::default().files
                );
                return Err(Problem::plain("unusable-package", message));
            }
        }
    }
    Ok(found)
}

/// The checksum of the files below a directory: of their paths and contents, and of nothing else.
pub fn digest(root: &Path) -> Fallible<String> {
    let mut sum = Checksum::default();
    for (relative, path) in files(root)? {
        let mut file = fs::File::open(&path).map_err(|error| Problem::unreadable(&path, &error))?;
        let mut content = Checksum::default();
        io::copy(&mut file, &mut content).map_err(|error| Problem::unreadable(&path, &error))?;
        // A path has no line ends in archives; in directories its length tells where it ends.
        sum.0.update(format!("{} {relative}\n", relative.len()));
        sum.0.update(content.0.finalize());
    }
    Ok(sum.finish())
}

/// Copies the files below a directory to another, which is made.
pub fn copy(root: &Path, to: &Path) -> Fallible<()> {
    fs::create_dir_all(to).map_err(|error| Problem::unwritable(to, &error))?;
    for (relative, path) in files(root)? {
        let target = to.join(&relative);
        let copied = fs::create_dir_all(target.parent().unwrap_or(to)).and_then(|()| {
            let mut content = fs::File::open(&path)?;
            let mut file = fs::File::create_new(&target)?;
            io::copy(&mut content, &mut file)
        });
        copied.map_err(|error| Problem::unwritable(&target, &error))?;
    }
    Ok(())
}

/// The libraries of a package.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LibraryList {
    /// Libraries and their files, from the package's directory.
    pub usable: Vec<(LibraryName, String)>,
    /// Libraries that cannot be used, and why.
    pub unusable: Vec<(LibraryName, &'static str)>,
}

/// A library of R6RS.
pub const R6RS: &str = "r6rs";
/// A library that needs compiled C.
pub const NATIVE: &str = "c";

/// The directories in which a package's libraries are, from the package's directory.
pub fn library_directories(root: &Path, manifest: &Manifest) -> Vec<String> {
    let named: Vec<String> = manifest
        .directories
        .iter()
        .map(|(path, _)| path.clone())
        .collect();
    match () {
        () if !named.is_empty() => named,
        () if !manifest.libraries.is_empty() => Vec::new(),
        () if manifest.kind == Kind::Package && root.join("src").is_dir() => vec!["src".to_owned()],
        () => vec![".".to_owned()],
    }
}

/// Libraries by their printed names: name, file, and why one cannot be used.
type Found = BTreeMap<String, (LibraryName, String, Option<&'static str>)>;

/// Adds the libraries that have entries of their own in the manifest.
fn add_declared(root: &Path, manifest: &Manifest, found: &mut Found) -> Fallible<()> {
    for library in &manifest.libraries {
        if library.is_for_tests {
            continue;
        }
        let path = root.join(&library.path);
        if !path.is_file() {
            let message = format!(
                "the manifest names the library {} in `{}`, but that file is not there",
                library.name, library.path
            );
            return Err(Problem::new("bad-manifest", library.span, message));
        }
        let reason = look_into(&path)
            .into_iter()
            .find(|(name, _)| *name == library.name)
            .and_then(|(_, reason)| reason);
        found.insert(
            library.name.to_string(),
            (library.name.clone(), library.path.clone(), reason),
        );
    }
    Ok(())
}

/// Finds the libraries of the package in a directory.
pub fn libraries(root: &Path, manifest: &Manifest) -> Fallible<LibraryList> {
    let mut found = Found::new();
    add_declared(root, manifest, &mut found)?;
    let directories = library_directories(root, manifest);
    let all = if directories.is_empty() {
        BTreeMap::new()
    } else {
        files(root)?
    };
    // Packages inside of the package have their own libraries.
    let is_manifest =
        |name: &str| matches!(name, crate::MANIFEST_FILE | crate::akku::MANIFEST_FILE);
    let packages: Vec<&str> = all
        .keys()
        .filter_map(|path| path.rsplit_once('/'))
        .filter(|(_, name)| is_manifest(name))
        .map(|(directory, _)| directory)
        .collect();
    let is_theirs = |relative: &str| {
        let below = |package: &&str| {
            relative
                .strip_prefix(*package)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        packages.iter().any(below)
    };
    for directory in &directories {
        if directory != "." && !root.join(directory).is_dir() {
            return Err(missing_directory(manifest, directory));
        }
        for (relative, path) in &all {
            let is_inside = directory == "."
                || relative
                    .strip_prefix(directory.as_str())
                    .is_some_and(|rest| rest.starts_with('/'));
            let extension = relative.rsplit_once('.').map(|(_, extension)| extension);
            let first = relative.split('/').next().unwrap_or_default();
            if directory == "." && (BESIDE.contains(&first) || is_theirs(relative)) {
                continue;
            }
            if !is_inside || !matches!(extension, Some("sld" | "sls")) {
                continue;
            }
            for (name, reason) in look_into(path) {
                let is_better = |known: &(LibraryName, String, Option<&'static str>)| {
                    (
                        reason.is_some(),
                        is_for_one_scheme(relative),
                        relative.as_str(),
                    ) < (
                        known.2.is_some(),
                        is_for_one_scheme(&known.1),
                        known.1.as_str(),
                    )
                };
                let key = name.to_string();
                if found.get(&key).is_none_or(is_better) {
                    found.insert(key, (name, relative.clone(), reason));
                }
            }
        }
    }
    let mut list = LibraryList::default();
    for (name, path, reason) in found.into_values() {
        match reason {
            Some(reason) => list.unusable.push((name, reason)),
            None => list.usable.push((name, join(".", &path))),
        }
    }
    Ok(list)
}

fn missing_directory(manifest: &Manifest, directory: &str) -> Problem {
    let mut declared = manifest.directories.iter();
    let span = declared
        .find(|(path, _)| path == directory)
        .map_or(canny_syntax::span::Span::NONE, |(_, span)| *span);
    let message = format!("the directory `{directory}` of libraries is not there");
    Problem::new("bad-manifest", span, message)
}

/// Whether a file is meant for one Scheme, as `match.chezscheme.sls`.
fn is_for_one_scheme(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.matches('.').count() > 1
}

/// The libraries that a file defines, and why one cannot be used. An unreadable file defines none.
fn look_into(path: &Path) -> Vec<(LibraryName, Option<&'static str>)> {
    let is_small = fs::metadata(path).is_ok_and(|metadata| metadata.len() <= LIBRARY_BYTES_MAX);
    let bytes = match fs::read(path) {
        Ok(bytes) if is_small => bytes,
        _ => return Vec::new(),
    };
    let (_, source) = read_source(&SourceMap::new(), "", &bytes, false);
    if source.has_errors() {
        return headers(&String::from_utf8_lossy(&bytes));
    }
    source.forms.iter().filter_map(library).collect()
}

/// The library that a form defines.
fn library(form: &Syntax) -> Option<(LibraryName, Option<&'static str>)> {
    let form = Form::of(form)?;
    let name = form.operands.first()?;
    match form.head.as_str() {
        "define-library" => {
            let is_native =
                |part: &Syntax| Form::of(part).is_some_and(|part| part.head == "include-shared");
            let reason = form.operands.iter().any(is_native).then_some(NATIVE);
            Some((library_name_of(name).ok()?, reason))
        }
        "library" => {
            // A version may stand behind the name.
            let mut parts = name.elements()?;
            if parts
                .last()
                .is_some_and(|last| last.is_nil() || last.as_pair().is_some())
            {
                parts.pop();
            }
            let name = Syntax::list(name.span, parts);
            Some((library_name_of(&name).ok()?, Some(R6RS)))
        }
        _ => None,
    }
}

/// The libraries of a text that the reader does not understand as a whole, as those of other Schemes:
/// by the first lines of the forms. When such a library is imported, the message says what is wrong.
fn headers(text: &str) -> Vec<(LibraryName, Option<&'static str>)> {
    const NAME_BYTES_MAX: usize = 300;
    let mut found = Vec::new();
    for word in ["(define-library", "(library"] {
        for (start, _) in text.match_indices(word) {
            let is_first = text[..start].is_empty() || text[..start].ends_with('\n');
            let rest = &text[start + word.len()..];
            let rest = &rest[..rest.floor_char_boundary(NAME_BYTES_MAX)];
            // The name may have a list inside of it, the version.
            let closings = rest
                .match_indices(')')
                .map(|(end, _)| &rest[..=end])
                .take(3);
            let read = |name: &str| {
                let (_, source) = read_source(
                    &SourceMap::new(),
                    "",
                    format!("{word}{name})").as_bytes(),
                    false,
                );
                if source.has_errors() {
                    None
                } else {
                    library(source.forms.first()?)
                }
            };
            if is_first {
                found.extend(closings.into_iter().find_map(read));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        directory
    }

    #[test]
    fn checksums_are_of_paths_and_contents() {
        let one = tree(&[("a", "1"), ("b/c", "2"), (".git/HEAD", "x")]);
        let same = tree(&[("b/c", "2"), ("a", "1"), (".git/HEAD", "y")]);
        assert_eq!(digest(one.path()).unwrap(), digest(same.path()).unwrap());
        for other in [
            &[("a", "1"), ("b/c", "3")][..],
            &[("a", "1"), ("b/d", "2")],
            &[("a", "1")],
            &[("a", "12"), ("b/c", "")],
        ] {
            assert_ne!(
                digest(one.path()).unwrap(),
                digest(tree(other).path()).unwrap()
            );
        }
        let copied = tempfile::tempdir().unwrap();
        copy(one.path(), &copied.path().join("to")).unwrap();
        assert_eq!(
            digest(one.path()).unwrap(),
            digest(&copied.path().join("to")).unwrap()
        );
    }

    #[cfg(unix)]
    #[test]
    fn circles_of_links_end() {
        let one = tree(&[("a/b", "1")]);
        std::os::unix::fs::symlink("..", one.path().join("a/up")).unwrap();
        std::os::unix::fs::symlink("nowhere", one.path().join("dangling")).unwrap();
        assert_eq!(files(one.path()).unwrap().len(), 1);
    }

    #[test]
    fn libraries_are_found_by_their_forms() {
        let package = tree(&[
            (
                "a/b.sld",
                "(define-library (a b) (export) (import (scheme base)))",
            ),
            (
                "c.sls",
                "#!r6rs\n(library (c (1 2)) (export) (import (rnrs)))",
            ),
            (
                "d.sld",
                "(define-library (d) (export) (include-shared \"d\"))",
            ),
            ("e.chibi.sld", "(define-library (e) (export))"),
            (
                "e.sld",
                "(define-library (e) (export))\r\n(define-library (e inner) (export))",
            ),
            ("broken.sld", "(define-library (broken)\n#<what>"),
            (
                "vector.sls",
                "#!r6rs\n(library (vector (1))\n  (export) (import (rnrs)) #vu8(1))",
            ),
            ("lost.sld", "(define-library (lost"),
            ("text.scm", "(define-library (text))"),
        ]);
        let list = libraries(package.path(), &Manifest::default()).unwrap();
        let shown: Vec<String> = list
            .usable
            .iter()
            .map(|(name, path)| format!("{name} {path}"))
            .collect();
        assert_eq!(
            shown,
            [
                "(a b) a/b.sld",
                "(broken) broken.sld",
                "(e inner) e.sld",
                "(e) e.sld"
            ]
        );
        let shown: Vec<String> = list
            .unusable
            .iter()
            .map(|(name, reason)| format!("{name} {reason}"))
            .collect();
        assert_eq!(shown, ["(c) r6rs", "(d) c", "(vector) r6rs"]);
    }
}
