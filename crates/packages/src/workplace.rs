//! The work of the commands: adding and removing dependencies, locking, copying, checking, showing.
//!
//! Every step that may fail for a reason outside of the project comes first, into places that
//! nobody looks at yet. Then the lockfile is replaced, then the manifest, then the directory of
//! copies. A run that is killed between two of these leaves whole files that do not belong
//! together. The next command reports that.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_syntax::datum::Datum;
use canny_syntax::span::{SourceMap, Span};

use crate::edit;
use crate::fetch::{Fetched, Fetcher};
use crate::fields::{self, Platform};
use crate::files::{self, Changes};
use crate::index::Index;
use crate::lock::{self, Lock};
use crate::manifest::{self, Manifest};
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::project::{self, Places, inside};
use crate::resolve::{Resolution, Resolver};
use crate::source::{Dependency, Source, Wish};
use crate::store::Store;
use crate::tree::{self, VENDOR_FILE};
use crate::{LOCK_FILE, MANIFEST_FILE, VENDOR_DIRECTORY};

/// A project to work on.
#[derive(Debug)]
pub struct Workplace {
    /// Its directory.
    pub root: PathBuf,
    /// The texts of what is read.
    pub sources: Arc<SourceMap>,
    /// The features and libraries that are there without packages.
    pub platform: Platform,
    /// How packages are fetched.
    pub fetcher: Fetcher,
}

/// The result of a command.
#[derive(Debug, Default)]
pub struct Done {
    /// The changes, a line each.
    pub changes: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The locked packages that are taken anew.
#[derive(Clone, Copy, Debug)]
pub enum Renewal<'a> {
    /// None.
    Nothing,
    /// Those with these names.
    Some(&'a [PackageName]),
    /// All.
    Everything,
}

impl Workplace {
    /// The project that a directory is in.
    pub fn find(
        start: &Path,
        store: Store,
        platform: Platform,
        is_offline: bool,
    ) -> Fallible<Workplace> {
        let Some(root) = project::find(start) else {
            let absolute = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
            let message = format!(
                "there is no {MANIFEST_FILE} in `{}` or above",
                absolute.display()
            );
            return Err(
                Problem::plain("no-project", message).note("`canny new NAME` makes a project")
            );
        };
        let mut fetcher = Fetcher::new(store, root.clone(), is_offline);
        // A damaged list is reported where it is needed.
        let copies = project::read_vendored(&SourceMap::new(), &root);
        let vendor = inside(&root, VENDOR_DIRECTORY);
        for (_, directory, sha256) in copies.ok().flatten().unwrap_or_default() {
            fetcher.copies.insert(sha256, vendor.join(directory));
        }
        Ok(Workplace {
            sources: Arc::new(SourceMap::new()),
            platform,
            fetcher,
            root,
        })
    }

    fn manifest_path(&self) -> PathBuf {
        inside(&self.root, MANIFEST_FILE)
    }

    fn lock_path(&self) -> PathBuf {
        inside(&self.root, LOCK_FILE)
    }

    /// The manifest's text, which is UTF-8.
    fn manifest_text(&self) -> Fallible<String> {
        let path = self.manifest_path();
        let bytes = fields::read_file(&path, "bad-manifest")?;
        String::from_utf8(bytes).map_err(|_| {
            Problem::plain("bad-manifest", format!("`{}` is not UTF-8", path.display()))
        })
    }

    /// The manifest that a text is.
    fn parse(&self, text: &str) -> Fallible<Manifest> {
        let name = self.manifest_path().display().to_string();
        let mut parsed = manifest::parse(&self.sources, &name, text.as_bytes(), &self.platform)?;
        if parsed.name.is_none() {
            parsed.name = project::read_manifest(&SourceMap::new(), &self.root, &self.platform)
                .ok()
                .and_then(|one| one.name);
        }
        Ok(parsed)
    }

    /// The lockfile as it is. A damaged one is an error only where it is needed.
    fn old_lock(&self) -> Fallible<Option<Lock>> {
        lock::read(&self.sources, &self.lock_path())
    }

    /// Finds the packages that a manifest asks for.
    fn resolve(
        &self,
        manifest: &Manifest,
        old: Option<&Lock>,
        renewal: Renewal<'_>,
    ) -> Fallible<Resolution> {
        let mut index = Index::default();
        for (path, span) in &manifest.indexes {
            index.read(&self.sources, &self.root, path, *span, &self.platform)?;
        }
        let mut resolver = Resolver::new(&self.fetcher, &self.sources, &self.platform, &index, old);
        resolver.renewed = match renewal {
            Renewal::Nothing => Some(&[]),
            Renewal::Some(names) => Some(names),
            Renewal::Everything => None,
        };
        resolver.resolve(manifest)
    }

    /// Makes the lockfile agree with a manifest, which is written too if its text is new.
    fn settle(
        &self,
        new_text: Option<&str>,
        manifest: &Manifest,
        renewal: Renewal<'_>,
    ) -> Fallible<Done> {
        let old = self.old_lock()?;
        let resolution = self.resolve(manifest, old.as_ref(), renewal)?;
        let mut done = Done {
            changes: differences(&old.unwrap_or_default(), &resolution.lock),
            notes: resolution.notes.clone(),
        };
        let text = resolution.lock.text();
        let mut changes = Changes::default();
        let is_same = fs::read(self.lock_path()).is_ok_and(|bytes| bytes == text.as_bytes());
        let is_wanted = lock::is_needed(manifest) || self.lock_path().exists();
        if !is_same && is_wanted {
            changes.add(&self.lock_path(), text.as_bytes())?;
            if done.changes.is_empty() {
                done.changes
                    .push(format!("`{LOCK_FILE}` was written, with the same packages"));
            }
        }
        if let Some(new_text) = new_text {
            changes.add(&self.manifest_path(), new_text.as_bytes())?;
        }
        let copies = if project::read_vendored(&self.sources, &self.root)?.is_some()
            && !self.copies_agree(&resolution.lock)
        {
            Some(self.make_copies(&resolution)?)
        } else {
            None
        };
        changes.commit()?;
        if let Some(copies) = copies {
            self.put_copies(&copies)?;
            done.changes
                .push(format!("the copies in `{VENDOR_DIRECTORY}` were made anew"));
        }
        Ok(done)
    }

    /// Adds a dependency, or replaces that of the same name.
    pub fn add(&self, dependency: &Dependency, is_for_tests: bool) -> Fallible<Done> {
        let _hold = files::hold(&self.root)?;
        let text = self.manifest_text()?;
        self.parse(&text)?;
        if let Wish::Source(Source::Directory { path }) = &dependency.wish
            && let (one, own) = (inside(&self.root, path), inside(&self.root, "."))
            && let (Ok(one), Ok(own)) = (one.canonicalize(), own.canonicalize())
            && one == own
        {
            let message =
                format!("`{path}` is the project itself, which cannot be a package of its own");
            return Err(Problem::plain("package-conflict", message));
        }
        let (word, other) = if is_for_tests {
            ("test-depends", "depends")
        } else {
            ("depends", "test-depends")
        };
        let text = edit::remove(&text, &dependency.name, other)?.unwrap_or(text);
        let text = edit::add(&text, dependency, word)?;
        let manifest = self.parse(&text)?;
        let names = [dependency.name.clone()];
        self.settle(Some(&text), &manifest, Renewal::Some(&names))
    }

    /// Removes dependencies.
    pub fn remove(&self, names: &[PackageName]) -> Fallible<Done> {
        let _hold = files::hold(&self.root)?;
        let mut text = self.manifest_text()?;
        let manifest = self.parse(&text)?;
        for name in names {
            let mut is_found = false;
            for word in ["depends", "test-depends"] {
                if let Some(without) = edit::remove(&text, name, word)? {
                    (text, is_found) = (without, true);
                }
            }
            if !is_found {
                return Err(no_dependency(name, &manifest));
            }
        }
        let manifest = self.parse(&text)?;
        self.settle(Some(&text), &manifest, Renewal::Nothing)
    }

    /// Makes the lockfile agree with the manifest and fetches what is not there.
    pub fn lock(&self) -> Fallible<Done> {
        let _hold = files::hold(&self.root)?;
        let manifest = self.parse(&self.manifest_text()?)?;
        self.settle(None, &manifest, Renewal::Nothing)
    }

    /// The same, with packages taken anew: those of these names, or all.
    pub fn update(&self, names: &[PackageName]) -> Fallible<Done> {
        let _hold = files::hold(&self.root)?;
        let manifest = self.parse(&self.manifest_text()?)?;
        let old = self.old_lock()?.unwrap_or_default();
        for name in names {
            let is_asked_for = manifest
                .depends
                .iter()
                .chain(&manifest.test_depends)
                .any(|one| one.name.as_str() == name.as_str());
            if old.find(name).is_none() && !is_asked_for {
                return Err(no_dependency(name, &manifest));
            }
        }
        let renewal = if names.is_empty() {
            Renewal::Everything
        } else {
            Renewal::Some(names)
        };
        self.settle(None, &manifest, renewal)
    }

    /// Copies all packages into the project.
    pub fn vendor(&self) -> Fallible<Done> {
        let _hold = files::hold(&self.root)?;
        let vendor = inside(&self.root, VENDOR_DIRECTORY);
        let is_other = vendor.exists() && !vendor.join(VENDOR_FILE).is_file();
        let is_empty = fs::read_dir(&vendor).is_ok_and(|mut entries| entries.next().is_none());
        if is_other && !is_empty {
            let message = format!(
                "`{}` is there already and was not made by `canny vendor`",
                vendor.display()
            );
            return Err(
                Problem::plain("unwritable-project", message).note("move it away, or remove it")
            );
        }
        let manifest = self.parse(&self.manifest_text()?)?;
        let old = self.old_lock()?;
        let resolution = self.resolve(&manifest, old.as_ref(), Renewal::Nothing)?;
        let mut done = Done {
            changes: differences(&old.unwrap_or_default(), &resolution.lock),
            notes: resolution.notes.clone(),
        };
        let copies = self.make_copies(&resolution)?;
        let mut changes = Changes::default();
        changes.add(&self.lock_path(), resolution.lock.text().as_bytes())?;
        changes.commit()?;
        self.put_copies(&copies)?;
        let count = resolution.lock.packages.len();
        let packages = if count == 1 { "package" } else { "packages" };
        done.changes.push(format!(
            "{count} {packages} copied into `{VENDOR_DIRECTORY}`"
        ));
        Ok(done)
    }

    /// Whether the copies are those of this lockfile.
    fn copies_agree(&self, lock: &Lock) -> bool {
        let places = Places::of(&self.sources, &self.root, Some(&self.fetcher.store));
        let copies = project::read_vendored(&self.sources, &self.root)
            .ok()
            .flatten()
            .unwrap_or_default();
        copies.len() == lock.packages.len()
            && places.is_ok_and(|places| {
                lock.packages
                    .iter()
                    .all(|package| places.tree(package).is_ok())
            })
    }

    /// Makes copies of all packages in a directory beside that where they will be.
    fn make_copies(&self, resolution: &Resolution) -> Fallible<PathBuf> {
        let next = inside(&self.root, &format!(".{VENDOR_DIRECTORY}.new"));
        let failed = |error: std::io::Error| Problem::unwritable(&next, &error);
        files::remove_directory(&next).map_err(failed)?;
        fs::create_dir(&next).map_err(failed)?;
        let made = self.fill_copies(resolution, &next);
        if made.is_err() {
            let _ = files::remove_directory(&next);
        }
        made.map(|()| next)
    }

    fn fill_copies(&self, resolution: &Resolution, next: &Path) -> Fallible<()> {
        let mut taken = BTreeSet::from([VENDOR_FILE.to_owned()]);
        let mut list = String::from(
            ";; Written by `canny vendor`: packages, their directories and checksums.\n(vendored",
        );
        for (package, Fetched { tree, sha256, .. }) in
            resolution.lock.packages.iter().zip(&resolution.fetched)
        {
            let base = package.name.file_name();
            let names =
                std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}-{number}")));
            // Some file systems do not tell `a` from `A`.
            let directory = names
                .into_iter()
                .find(|name| taken.insert(name.to_lowercase()))
                .unwrap_or(base);
            let copy = next.join(&directory);
            tree::copy(tree, &copy)?;
            if tree::digest(&copy)? != *sha256 {
                let message = format!(
                    "the files of {} changed while they were copied, or on this machine since they were \
                     fetched",
                    package.title()
                );
                return Err(Problem::plain("changed-package", message)
                    .note("run `canny lock --check`; it says which"));
            }
            let text = |text: &str| Datum::String(text.into());
            list.push_str(&format!(
                "\n  ({} {} {})",
                text(package.name.as_str()),
                text(&directory),
                text(sha256)
            ));
        }
        list.push_str(")\n");
        let path = next.join(VENDOR_FILE);
        fs::write(&path, list).map_err(|error| Problem::unwritable(&path, &error))
    }

    fn put_copies(&self, next: &Path) -> Fallible<()> {
        let vendor = inside(&self.root, VENDOR_DIRECTORY);
        files::replace_directory(next, &vendor)
            .map_err(|error| Problem::unwritable(&vendor, &error))
    }

    /// Compares the lockfile with the manifest and with the contents of all packages. Nothing is
    /// changed or fetched.
    pub fn check(&self) -> Fallible<Done> {
        let manifest = project::read_manifest(&self.sources, &self.root, &self.platform)?;
        let lock = project::read_lock(&self.sources, &self.root, &manifest)?;
        let places = Places::of(&self.sources, &self.root, Some(&self.fetcher.store))?;
        let mut diagnostics = Vec::new();
        for package in &lock.packages {
            let checked = places.tree(package).and_then(|tree| {
                let found = tree::digest(&tree)?;
                if found == package.sha256 {
                    return Ok(());
                }
                let message = format!(
                    "the content of {} in `{}` is not what was locked",
                    package.title(),
                    tree.display()
                );
                let advice = match (&package.source, places.are_vendored()) {
                    (_, true) => "`canny vendor` makes the copies anew",
                    (Source::Directory { .. }, false) => {
                        "it was changed since; `canny lock` takes it as it is now"
                    }
                    _ => "remove that directory and run `canny lock`, which fetches it again",
                };
                Err(Problem::plain("changed-package", message).note(advice))
            });
            if let Err(problem) = checked {
                diagnostics.extend(problem.diagnostics);
            }
        }
        if diagnostics.is_empty() {
            let count = lock.packages.len();
            let packages = if count == 1 {
                "package is"
            } else {
                "packages are"
            };
            Ok(Done {
                changes: vec![format!("{count} {packages} as locked")],
                notes: Vec::new(),
            })
        } else {
            Err(Problem { diagnostics })
        }
    }

    /// The tree of dependencies, as lines.
    pub fn tree(&self) -> Fallible<String> {
        let manifest = project::read_manifest(&self.sources, &self.root, &self.platform)?;
        let lock = project::read_lock(&self.sources, &self.root, &manifest)?;
        let mut text = format!("{}\n", manifest.title());
        let names = |dependencies: &[Dependency]| {
            dependencies
                .iter()
                .map(|one| one.name.clone())
                .collect::<Vec<_>>()
        };
        let mut roots = names(&manifest.depends);
        let count = roots.len();
        roots.extend(names(&manifest.test_depends));
        // Packages that nobody names, since a library of theirs is needed.
        let is_named = |name: &PackageName| {
            roots.contains(name)
                || lock
                    .packages
                    .iter()
                    .any(|package| package.depends.contains(name))
        };
        let unnamed: Vec<PackageName> = lock
            .packages
            .iter()
            .map(|one| one.name.clone())
            .filter(|name| !is_named(name))
            .collect();
        roots.extend(unnamed);
        let tests = names(&manifest.test_depends).len();
        let marks = |index: usize| match index {
            _ if index < count => "",
            _ if index < count + tests => " [tests]",
            _ => " [a library of it is needed]",
        };
        let mut shown = BTreeSet::new();
        // Each entry: the package, the text before its line, whether it is the last below its parent, a mark.
        let mut pending: Vec<(PackageName, String, bool, &str)> = Vec::new();
        for (index, name) in roots.iter().enumerate().rev() {
            pending.push((
                name.clone(),
                String::new(),
                index + 1 == roots.len(),
                marks(index),
            ));
        }
        while let Some((name, before, is_last, mark)) = pending.pop() {
            let branch = if is_last { "└── " } else { "├── " };
            let Some(package) = lock.find(&name) else {
                text.push_str(&format!("{before}{branch}{name}\n"));
                continue;
            };
            let is_new = shown.insert(name.as_str().to_owned());
            let again = if is_new || package.depends.is_empty() {
                ""
            } else {
                " (see above)"
            };
            text.push_str(&format!(
                "{before}{branch}{} {}{mark}{again}\n",
                package.title(),
                package.source.to_datum()
            ));
            if is_new {
                let below = format!("{before}{}", if is_last { "    " } else { "│   " });
                for (index, name) in package.depends.iter().enumerate().rev() {
                    pending.push((
                        name.clone(),
                        below.clone(),
                        index + 1 == package.depends.len(),
                        "",
                    ));
                }
            }
        }
        Ok(text)
    }

    /// The name that a package has for itself, at a source relative to the project; else one made of
    /// the source.
    pub fn own_name(&self, source: &Source) -> Fallible<PackageName> {
        let fetched = self.fetcher.fetch(source, None)?;
        let root = inside(&fetched.tree, source.inner().unwrap_or("."));
        if let Some(name) = crate::resolve::read_package(&self.sources, &root, &self.platform)?
            .0
            .name
        {
            return Ok(name);
        }
        let place = source.inner().unwrap_or(crate::fetch::place(source));
        let full = if place.contains("://") {
            PathBuf::from(place)
        } else {
            self.root.join(place)
        };
        let full = fs::canonicalize(&full).unwrap_or(full);
        let mut name = full
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        for ending in [".git", ".tgz", ".gz", ".tar"] {
            if let Some(shorter) = name.strip_suffix(ending) {
                name = shorter.to_owned();
            }
        }
        // `name-1.2` is the version 1.2 of it.
        if let Some((before, version)) = name.rsplit_once('-')
            && version.starts_with(|c: char| c.is_ascii_digit())
        {
            name = before.to_owned();
        }
        PackageName::new(&name).map_err(|message| {
            Problem::plain(
                "no-such-package",
                format!("the package has no name, and none can be made of its place: {message}"),
            )
            .note("give it one by `--name NAME`")
        })
    }

    /// A dependency on a source.
    pub fn dependency(&self, name: PackageName, source: Source) -> Dependency {
        Dependency {
            name,
            wish: Wish::Source(source),
            span: Span::NONE,
        }
    }
}

fn no_dependency(name: &PackageName, manifest: &Manifest) -> Problem {
    use canny_syntax::name::Name;
    use canny_syntax::spelling::similar_name;
    let names: Vec<Name> = manifest
        .depends
        .iter()
        .chain(&manifest.test_depends)
        .map(|one| Name::new(one.name.as_str()))
        .collect();
    let mut problem = Problem::plain(
        "no-such-package",
        format!("the project has no dependency `{name}`"),
    );
    if let (Some(similar), Some(first)) = (
        similar_name(Name::new(name.as_str()), names.into_iter()),
        problem.diagnostics.first_mut(),
    ) {
        first.similar = Some(similar.as_str().to_owned());
    }
    problem
}

/// The changes from the old lockfile to the new one, a line for each package.
fn differences(old: &Lock, new: &Lock) -> Vec<String> {
    let mut lines = Vec::new();
    for package in &new.packages {
        let short = |revision: &Option<String>| {
            revision.as_ref().map_or_else(String::new, |hash| {
                format!(" at {}", hash.get(..10).unwrap_or(hash))
            })
        };
        match old.find(&package.name) {
            None => lines.push(format!(
                "added {}{}",
                package.title(),
                short(&package.revision)
            )),
            Some(before) if before == package => {}
            Some(before) if before.version != package.version => {
                lines.push(format!("changed {} to {}", before.title(), package.title()));
            }
            Some(before) if before.revision != package.revision => {
                lines.push(format!(
                    "changed {}{} to{}",
                    package.title(),
                    short(&before.revision),
                    short(&package.revision)
                ));
            }
            Some(_) => lines.push(format!("changed {}", package.title())),
        }
    }
    for package in &old.packages {
        if new.find(&package.name).is_none() {
            lines.push(format!("removed {}", package.title()));
        }
    }
    lines
}
