//! Lists of packages with their versions: `repo.scm` of Snow and `Akku-index.scm` of Akku, as files.
//!
//! ```scheme
//! (repository (package (name (a b)) (version "1.0") (url "b-1.0.tgz") (sha-256 "…") (library …)) … (sibling (url "other/repo.scm")))
//!
//! (package (name "a") (versions ((version "1.0") (lock (location (git "…")) (tag "v1.0")) (depends ("b" "^1"))) …))
//! ```
//!
//! An index is a file of the project, or a directory that has one of these names. Nothing is fetched for it.

use std::collections::HashSet;
use std::path::Path;

use canny_syntax::core::LibraryName;
use canny_syntax::span::{SourceMap, Span};

use crate::akku;
use crate::fields::{self, Form, Platform};
use crate::manifest;
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::source::{Base, Dependency, Source, is_sha256, is_url, join};
use crate::version::Version;

const CODE: &str = "bad-manifest";

/// Files of an index in its directory.
const FILES: [&str; 3] = ["repo.scm", "Akku-index.scm", "index.scm"];

/// Files of siblings that are read.
const FILES_MAX: usize = 100;

/// A version of a package that an index has.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The package.
    pub name: PackageName,
    /// The version; `None` where only a source is known, which is taken for any.
    pub version: Option<Version>,
    /// Where it is.
    pub source: Source,
    /// Its dependencies, as the index has them; `None` if the package itself has to be asked.
    pub depends: Option<Vec<Dependency>>,
    /// Libraries that it needs of any package.
    pub requires: Vec<LibraryName>,
    /// Libraries that it has, as the index has them.
    pub provides: Vec<LibraryName>,
}

/// All that the indexes have, in their order.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The versions.
    pub offers: Vec<Offer>,
}

impl Index {
    /// Reads an index. `path` is relative to the project in `root`.
    pub fn read(
        &mut self,
        sources: &SourceMap,
        root: &Path,
        path: &str,
        at: Span,
        platform: &Platform,
    ) -> Fallible<()> {
        let mut seen = HashSet::new();
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            if is_url(&path) {
                let message = format!("an index is a file, not `{path}`: fetch it first");
                return Err(Problem::new(CODE, at, message));
            }
            let Some(path) = file_of(root, &path) else {
                let message = format!("there is no index `{path}`");
                return Err(Problem::new(CODE, at, message).note(format!(
                    "an index is a file, or a directory with {}",
                    FILES.join(" or ")
                )));
            };
            if !seen.insert(path.clone()) {
                continue;
            }
            if seen.len() > FILES_MAX {
                return Err(Problem::new(
                    CODE,
                    at,
                    format!("more than {FILES_MAX} files belong to this index"),
                ));
            }
            let directory = join(&path, "..");
            let full = root.join(&path);
            let bytes = fields::read_file(&full, CODE)?;
            let (_, data) = fields::read_data(sources, &full.display().to_string(), &bytes)?;
            for form in data.iter().filter_map(Form::of) {
                match form.head.as_str() {
                    "repository" => {
                        for entry in form.operands.iter().filter_map(Form::of) {
                            match entry.head.as_str() {
                                "package" => self.add_snow(&entry, &directory, platform)?,
                                "sibling" => {
                                    let url = entry
                                        .operands
                                        .iter()
                                        .filter_map(Form::of)
                                        .find(|field| field.head == "url");
                                    let url = url.map(|url| url.string(CODE)).transpose()?;
                                    pending.extend(
                                        url.filter(|url| !is_url(url))
                                            .map(|url| join(&directory, &url)),
                                    );
                                }
                                _ => {}
                            }
                        }
                    }
                    "package" => self.add_akku(&form, &directory)?,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn add_snow(&mut self, entry: &Form, directory: &str, platform: &Platform) -> Fallible<()> {
        let parsed = manifest::from_form(entry, platform)?;
        let fields: Vec<Form> = entry.operands.iter().filter_map(Form::of).collect();
        let field = |word: &str| fields.iter().find(|field| field.head == word);
        let (Some(name), Some(url)) = (parsed.name, field("url")) else {
            return Ok(());
        };
        let sum = field("sha-256")
            .map(|field| field.string(CODE))
            .transpose()?;
        let source = Source::Archive {
            location: url.string(CODE)?,
            sha256: sum
                .filter(|sum| is_sha256(sum))
                .map(|sum| sum.to_ascii_lowercase()),
            path: None,
        };
        let source = source
            .placed(&Base::Directory(directory.to_owned()))
            .map_err(|message| Problem::new(CODE, url.span, message))?;
        self.offers.push(Offer {
            name,
            version: parsed.version,
            source,
            depends: Some(parsed.depends),
            requires: parsed.requires.into_iter().map(|(name, _)| name).collect(),
            provides: parsed
                .libraries
                .into_iter()
                .filter(|one| !one.is_for_tests)
                .map(|one| one.name)
                .collect(),
        });
        Ok(())
    }

    fn add_akku(&mut self, package: &Form, directory: &str) -> Fallible<()> {
        let fields = akku::forms(&package.operands, CODE)?;
        let field = |word: &str| fields.iter().find(|field| field.head == word);
        let (Some(name), Some(versions)) = (field("name"), field("versions")) else {
            return Ok(());
        };
        let name = PackageName::from_syntax(name.single(CODE)?)?;
        for entry in &versions.operands {
            let fields = akku::forms(&entry.elements().unwrap_or_default(), CODE)?;
            let field = |word: &str| fields.iter().find(|field| field.head == word);
            let (Some(version), Some(lock)) = (field("version"), field("lock")) else {
                continue;
            };
            let text = version.string(CODE)?;
            let version = Version::parse(&text)
                .map_err(|message| Problem::new("bad-version", version.span, message))?;
            let Some(source) = akku::location(&akku::forms(&lock.operands, CODE)?, CODE)? else {
                continue;
            };
            let source = source
                .placed(&Base::Directory(directory.to_owned()))
                .map_err(|message| Problem::new(CODE, lock.span, message))?;
            let depends =
                field("depends").map(|depends| akku::dependencies(&depends.operands, CODE));
            self.offers.push(Offer {
                name: name.clone(),
                version: Some(version),
                source,
                depends: Some(depends.transpose()?.unwrap_or_default()),
                requires: Vec::new(),
                provides: Vec::new(),
            });
        }
        Ok(())
    }
}

/// The file of an index: the path itself, or a file of a known name in it.
fn file_of(root: &Path, path: &str) -> Option<String> {
    if root.join(path).is_file() {
        return Some(path.to_owned());
    }
    let inside = FILES.iter().map(|file| join(path, file));
    inside.into_iter().find(|path| root.join(path).is_file())
}
