//! The libraries of the project around a run: where they are.
//!
//! Nothing is fetched, written or searched through here: the manifest and the lockfile are read, and
//! for each package it is asked whether its directory is there.

use std::path::{Path, PathBuf};

use canny_syntax::core::LibraryName;
use canny_syntax::span::SourceMap;

use crate::fields::{self, Form, Platform};
use crate::lock::{self, Lock, Locked};
use crate::manifest::{self, Manifest};
use crate::problem::{Fallible, Problem};
use crate::source::Source;
use crate::store::Store;
use crate::tree::{self, VENDOR_FILE};
use crate::{LOCK_FILE, MANIFEST_FILE, VENDOR_DIRECTORY};

/// A project, as a run sees it.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its directory.
    pub root: PathBuf,
    /// Its name for people.
    pub name: String,
    /// Directories of its own libraries and of those of packages that are used where they are.
    pub directories: Vec<PathBuf>,
    /// Libraries of packages by their printed names, with their files.
    pub libraries: Vec<(String, PathBuf)>,
    /// Directories in which those of them are found that are where their names say; for tools that know
    /// only directories.
    pub package_directories: Vec<PathBuf>,
    /// Libraries of packages that cannot be used, each with its package and the reason.
    pub unusable: Vec<(String, String, String)>,
}

/// Whether a directory has a manifest. A program that is called like one is none.
fn is_project(directory: &Path) -> bool {
    use std::io::Read;
    // Comments before the datum may be long.
    const START_BYTES_MAX: u64 = 1 << 20;
    let Ok(file) = std::fs::File::open(directory.join(MANIFEST_FILE)) else {
        return false;
    };
    let mut start = Vec::new();
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file
        && file.take(START_BYTES_MAX).read_to_end(&mut start).is_ok()
        && manifest::looks_like_one(&start)
}

/// The directory of the project that a directory is in: itself or the nearest one above with a
/// manifest. It is given as a relative path where that is possible, so that messages are short.
pub fn find(start: &Path) -> Option<PathBuf> {
    let start = if start.as_os_str().is_empty() {
        Path::new(".")
    } else {
        start
    };
    // A missing directory has no project.
    let absolute = std::fs::canonicalize(start).ok()?;
    let found = absolute
        .ancestors()
        .find(|directory| is_project(directory))?;
    if found == absolute {
        return Some(start.to_owned());
    }
    let current = std::env::current_dir().and_then(std::fs::canonicalize).ok();
    Some(
        match current
            .as_deref()
            .and_then(|current| found.strip_prefix(current).ok())
        {
            Some(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
            Some(inside) => inside.to_owned(),
            None => found.to_owned(),
        },
    )
}

/// A path below the project's directory, without a leading `./`.
pub fn inside(root: &Path, path: &str) -> PathBuf {
    let joined = if path == "." {
        root.to_owned()
    } else {
        root.join(path)
    };
    match joined.strip_prefix("./") {
        Ok(short) if !short.as_os_str().is_empty() => short.to_owned(),
        _ => joined,
    }
}

/// Reads the project's manifest.
pub fn read_manifest(sources: &SourceMap, root: &Path, platform: &Platform) -> Fallible<Manifest> {
    let mut manifest = manifest::read(sources, &inside(root, MANIFEST_FILE), platform)?;
    if manifest.name.is_none() {
        let absolute = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let name = absolute
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        manifest.name = name.and_then(|name| crate::name::PackageName::new(&name).ok());
    }
    Ok(manifest)
}

/// The lockfile of a project, if it belongs to the manifest; none if nothing is asked for.
pub fn read_lock(sources: &SourceMap, root: &Path, manifest: &Manifest) -> Fallible<Lock> {
    let path = inside(root, LOCK_FILE);
    let stale = |message: String| {
        Problem::plain("stale-lock", message).note("run `canny lock` in the project")
    };
    match lock::read(sources, &path)? {
        Some(lock) if lock.manifest == lock::manifest_checksum(manifest) => Ok(lock),
        Some(_) => Err(stale(format!(
            "`{}` was not made for what package.scm asks for now",
            path.display()
        ))),
        None if lock::is_needed(manifest) => Err(stale(format!(
            "package.scm has dependencies, but there is no `{}`",
            path.display()
        ))),
        None => Ok(Lock::default()),
    }
}

/// The copies of packages that a project has: names, directories and checksums. `None` if it has none.
pub fn read_vendored(
    sources: &SourceMap,
    root: &Path,
) -> Fallible<Option<Vec<(String, String, String)>>> {
    const CODE: &str = "bad-lock";
    let path = inside(root, VENDOR_DIRECTORY).join(VENDOR_FILE);
    if !path.exists() {
        return Ok(None);
    }
    let bytes = fields::read_file(&path, CODE)?;
    let (id, data) = fields::read_data(sources, &path.display().to_string(), &bytes)?;
    let bad = |span| {
        Problem::new(CODE, span, "the list of copies is damaged")
            .note("run `canny vendor` to make it anew")
    };
    let form = data
        .first()
        .and_then(Form::of)
        .filter(|form| form.head == "vendored");
    let form = form.ok_or_else(|| bad(canny_syntax::span::Span::new(id, 0, 0)))?;
    let mut copies = Vec::new();
    for operand in &form.operands {
        let texts = operand.elements().unwrap_or_default();
        let texts: Vec<String> = texts
            .iter()
            .filter_map(|one| fields::string(one, CODE).ok())
            .collect();
        let [name, directory, sha256] =
            <[String; 3]>::try_from(texts).map_err(|_| bad(operand.span))?;
        if directory.contains(['/', '\\']) || directory.starts_with('.') || directory.is_empty() {
            return Err(bad(operand.span));
        }
        copies.push((name, directory, sha256));
    }
    Ok(Some(copies))
}

/// Where the files of locked packages are.
#[derive(Debug)]
pub struct Places<'a> {
    root: &'a Path,
    store: Option<&'a Store>,
    vendored: Option<Vec<(String, String, String)>>,
}

impl<'a> Places<'a> {
    /// Looks whether the project has copies.
    pub fn of(
        sources: &SourceMap,
        root: &'a Path,
        store: Option<&'a Store>,
    ) -> Fallible<Places<'a>> {
        Ok(Places {
            root,
            store,
            vendored: read_vendored(sources, root)?,
        })
    }

    /// Whether the project has copies of its packages.
    pub fn are_vendored(&self) -> bool {
        self.vendored.is_some()
    }

    /// The directory of a package's files, which is there.
    pub fn tree(&self, package: &Locked) -> Fallible<PathBuf> {
        let vendor = inside(self.root, VENDOR_DIRECTORY);
        if let Some(copies) = &self.vendored {
            let copy = copies.iter().find(|(name, _, sha256)| {
                *name == package.name.as_str() && *sha256 == package.sha256
            });
            let Some((_, directory, _)) = copy else {
                let message = format!(
                    "the copies in `{}` do not belong to the lockfile: {} is missing or another one",
                    vendor.display(),
                    package.title()
                );
                return Err(
                    Problem::plain("stale-lock", message).note("run `canny vendor` in the project")
                );
            };
            let tree = vendor.join(directory);
            if !tree.is_dir() {
                let message = format!(
                    "the copy of {} in `{}` is not there",
                    package.title(),
                    tree.display()
                );
                return Err(Problem::plain("missing-package", message)
                    .note("run `canny vendor` in the project"));
            }
            return Ok(tree);
        }
        if let Source::Directory { path } = &package.source {
            let tree = inside(self.root, path);
            if !tree.is_dir() {
                let message = format!(
                    "the directory `{}` of {} is not there",
                    tree.display(),
                    package.title()
                );
                return Err(Problem::plain("missing-package", message));
            }
            return Ok(tree);
        }
        let tree = self.store.map(|store| store.tree(&package.sha256));
        let Some(tree) = tree.filter(|tree| tree.is_dir()) else {
            let message = format!(
                "{} is locked, but was not fetched on this machine",
                package.title()
            );
            return Err(Problem::plain("missing-package", message)
                .note("run `canny lock` in the project; it fetches what is locked"));
        };
        Ok(tree)
    }
}

/// The directory in which a library is found by its name, if its file is where the name says.
fn base_of<'a>(name: &LibraryName, path: &'a str) -> Option<&'a str> {
    let words: Vec<String> = name.parts().iter().map(ToString::to_string).collect();
    let (path, _) = path.rsplit_once('.')?;
    let base = path.strip_suffix(&words.join("/"))?;
    match base.strip_suffix('/') {
        Some(base) => Some(base),
        None => base.is_empty().then_some("."),
    }
}

/// Reads the project in a directory.
pub fn open(
    sources: &SourceMap,
    root: &Path,
    store: Option<&Store>,
    platform: &Platform,
) -> Fallible<Project> {
    let manifest = read_manifest(sources, root, platform)?;
    let lock = read_lock(sources, root, &manifest)?;
    let places = Places::of(sources, root, store)?;
    let mut project = Project {
        root: root.to_owned(),
        name: manifest
            .name
            .as_ref()
            .map_or_else(String::new, |name| name.as_str().to_owned()),
        directories: Vec::new(),
        libraries: Vec::new(),
        package_directories: Vec::new(),
        unusable: Vec::new(),
    };
    for directory in tree::library_directories(root, &manifest) {
        project.directories.push(inside(root, &directory));
    }
    for library in &manifest.libraries {
        project
            .libraries
            .push((library.name.to_string(), inside(root, &library.path)));
    }
    for package in &lock.packages {
        let mut directory = places.tree(package)?;
        if let Some(inner) = package.source.inner() {
            directory.push(inner);
        }
        if matches!(package.source, Source::Directory { .. }) && !places.are_vendored() {
            project.directories.extend(
                package
                    .directories
                    .iter()
                    .map(|path| inside(&directory, path)),
            );
        }
        for (name, path) in &package.libraries {
            let base = base_of(name, path).map(|base| inside(&directory, base));
            project
                .package_directories
                .extend(base.filter(|base| !project.package_directories.contains(base)));
            project
                .libraries
                .push((name.to_string(), directory.join(path)));
        }
        for (name, reason) in &package.unusable {
            project
                .unusable
                .push((name.to_string(), package.title(), reason.clone()));
        }
    }
    Ok(project)
}
