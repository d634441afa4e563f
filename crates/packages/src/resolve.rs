//! The choice of packages, with their sources and versions.
//!
//! Asks are answered in the order in which they come: those of the project first, then those of the
//! packages chosen for them. An ask for a source has one answer. An ask for a version has as many
//! as the indexes offer, the locked one first and then the newest. When asks do not fit together,
//! the next answer to an earlier ask is tried. The project's asks for sources stand, whatever
//! others ask for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use canny_syntax::core::LibraryName;
use canny_syntax::span::{SourceMap, Span};

use crate::akku;
use crate::fetch::{Fetched, Fetcher, Known};
use crate::fields::Platform;
use crate::index::Index;
use crate::lock::{Lock, Locked};
use crate::manifest::{self, Kind, Manifest};
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::project::inside;
use crate::source::{Base, Dependency, Source, Wish};
use crate::tree;
use crate::version::{Range, Version};
use crate::{MANIFEST_FILE, fetch};

/// Choices that are tried.
const STEPS_MAX: usize = 20_000;

/// Packages of a project.
const PACKAGES_MAX: usize = 2_000;

/// Something that is asked for.
#[derive(Clone)]
struct Ask {
    name: PackageName,
    wish: Wish,
    /// The origin of the demand, for people.
    asker: String,
    is_project: bool,
    /// The project can do without it: Akku's packages need others for Schemes that have less.
    is_optional: bool,
    span: Span,
    /// Sources that the asker knows for versions.
    known: Rc<Vec<(PackageName, Source)>>,
}

/// A package that was looked into.
#[derive(Debug)]
struct Info {
    fetched: Option<Fetched>,
    manifest: Manifest,
    /// Its dependencies, with sources placed.
    depends: Vec<Dependency>,
    requires: Vec<LibraryName>,
    provides: Vec<LibraryName>,
    known: Rc<Vec<(PackageName, Source)>>,
}

/// A package that was chosen.
#[derive(Clone)]
struct Choice {
    name: PackageName,
    source: Source,
    version: Option<Version>,
    is_project: bool,
    /// The origins of the demand, and what each wanted.
    asks: Vec<(String, String)>,
    info: Rc<Info>,
    /// The names of its dependencies.
    depends: Vec<PackageName>,
}

impl Choice {
    fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.to_string(),
        }
    }

    fn askers(&self) -> String {
        let askers: Vec<&str> = self.asks.iter().map(|(asker, _)| asker.as_str()).collect();
        askers.join(", ")
    }
}

#[derive(Clone, Default)]
struct State {
    chosen: BTreeMap<String, Choice>,
    notes: Vec<String>,
}

/// Why there is no solution.
enum Stuck {
    /// Another choice may do.
    Conflict(Problem),
    /// Nothing else will help.
    Fatal(Problem),
}

/// The packages of a project.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The content of the lockfile.
    pub lock: Lock,
    /// Where the files are, in the order of the lockfile.
    pub fetched: Vec<Fetched>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Finds the packages of a project.
pub struct Resolver<'a> {
    /// How packages are fetched.
    pub fetcher: &'a Fetcher,
    /// The texts of what is read.
    pub sources: &'a Arc<SourceMap>,
    /// The features and libraries that are there without packages.
    pub platform: &'a Platform,
    /// The versions that the indexes offer.
    pub index: &'a Index,
    /// The lockfile so far.
    pub old: Option<&'a Lock>,
    /// Packages that are taken anew; all of them if there is no name.
    pub renewed: Option<&'a [PackageName]>,
    /// Packages that were looked into, by their sources.
    looked_into: HashMap<String, Rc<Info>>,
    steps: usize,
}

impl<'a> Resolver<'a> {
    /// A resolver that keeps what is locked.
    pub fn new(
        fetcher: &'a Fetcher,
        sources: &'a Arc<SourceMap>,
        platform: &'a Platform,
        index: &'a Index,
        old: Option<&'a Lock>,
    ) -> Resolver<'a> {
        Resolver {
            fetcher,
            sources,
            platform,
            index,
            old,
            renewed: Some(&[]),
            looked_into: HashMap::new(),
            steps: 0,
        }
    }

    /// The locked form of a package, if it is to be kept.
    fn locked(&self, name: &PackageName) -> Option<&'a Locked> {
        let is_kept =
            |names: &[PackageName]| !names.iter().any(|one| one.as_str() == name.as_str());
        self.old?
            .find(name)
            .filter(|_| self.renewed.is_some_and(is_kept))
    }

    /// The packages of the project with this manifest.
    pub fn resolve(&mut self, project: &Manifest) -> Fallible<Resolution> {
        let title = project
            .name
            .as_ref()
            .map_or("the project".to_owned(), PackageName::to_string);
        let base = Base::Directory(".".to_owned());
        let mut pending = VecDeque::new();
        let none = Rc::new(Vec::new());
        for dependency in project.depends.iter().chain(&project.test_depends) {
            let dependency = placed(dependency, &base)?;
            pending.push_back(Ask {
                name: dependency.name,
                wish: dependency.wish,
                asker: title.clone(),
                is_project: true,
                is_optional: false,
                span: dependency.span,
                known: none.clone(),
            });
        }
        let wanted: Vec<LibraryName> = project
            .requires
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let state = match self.solve(State::default(), pending, &title, &wanted) {
            Ok(state) => state,
            Err(Stuck::Conflict(problem) | Stuck::Fatal(problem)) => return Err(problem),
        };
        self.finish(state, project)
    }

    fn solve(
        &mut self,
        mut state: State,
        mut pending: VecDeque<Ask>,
        title: &str,
        wanted: &[LibraryName],
    ) -> Result<State, Stuck> {
        loop {
            let Some(ask) = pending.pop_front() else {
                match self.missing_libraries(&mut state, title, wanted) {
                    Some(ask) => pending.push_back(ask),
                    None => return Ok(state),
                }
                continue;
            };
            if let Some(choice) = state.chosen.get_mut(ask.name.as_str()) {
                if let Some(note) = agree(choice, &ask)? {
                    state.notes.push(note);
                }
                continue;
            }
            let candidates = self.candidates(&ask);
            if candidates.is_empty() {
                let problem = self.no_candidate(&ask);
                if !ask.is_optional {
                    return Err(Stuck::Conflict(problem));
                }
                let note = format!(
                    "{} needs {}, which no index has; add it if a library is missing",
                    ask.asker, ask.name
                );
                state.notes.push(note);
                continue;
            }
            self.steps += candidates.len();
            if self.steps > STEPS_MAX || state.chosen.len() >= PACKAGES_MAX {
                let message = "there are too many packages and versions to choose from";
                return Err(Stuck::Fatal(
                    Problem::plain("package-conflict", message).at(ask.span),
                ));
            }
            if let [candidate] = candidates.as_slice() {
                match self.choose(&mut state, &mut pending, &ask, candidate) {
                    Err(Stuck::Fatal(problem)) if ask.is_optional => {
                        state.notes.push(format!(
                            "{} asks for {}, but {problem}",
                            ask.asker, ask.name
                        ));
                    }
                    chosen => chosen?,
                }
                continue;
            }
            let mut first = None;
            for candidate in &candidates {
                let (mut state, mut pending) = (state.clone(), pending.clone());
                let chosen = self.choose(&mut state, &mut pending, &ask, candidate);
                match chosen.and_then(|()| self.solve(state, pending, title, wanted)) {
                    Err(Stuck::Conflict(problem)) => first = first.or(Some(problem)),
                    other => return other,
                }
            }
            return Err(
                first.map_or_else(|| Stuck::Fatal(self.no_candidate(&ask)), Stuck::Conflict)
            );
        }
    }

    /// The answers to an ask for a package that was not chosen yet, the best first.
    fn candidates(&self, ask: &Ask) -> Vec<(Source, Option<Version>)> {
        let range = match &ask.wish {
            Wish::Source(source) => return vec![(source.clone(), None)],
            Wish::Version(range) => range,
        };
        let fits = |version: &Option<Version>| {
            version
                .as_ref()
                .is_none_or(|version| range.contains(version))
        };
        let mut offers: Vec<(Source, Option<Version>)> = self
            .index
            .offers
            .iter()
            .filter(|offer| offer.name.as_str() == ask.name.as_str() && fits(&offer.version))
            .map(|offer| (offer.source.clone(), offer.version.clone()))
            .collect();
        let locked = self.locked(&ask.name);
        let is_locked = |source: &Source| locked.is_some_and(|locked| locked.source == *source);
        offers.sort_by(|one, other| {
            (is_locked(&other.0), &other.1).cmp(&(is_locked(&one.0), &one.1))
        });
        if offers.is_empty() {
            let named = ask
                .known
                .iter()
                .filter(|(name, _)| name.as_str() == ask.name.as_str());
            offers.extend(named.map(|(_, source)| (source.clone(), None)).take(1));
        }
        offers
    }

    fn no_candidate(&self, ask: &Ask) -> Problem {
        let Wish::Version(range) = &ask.wish else {
            return Problem::plain("no-such-package", format!("there is no `{}`", ask.name))
                .at(ask.span);
        };
        let named = self
            .index
            .offers
            .iter()
            .filter(|offer| offer.name.as_str() == ask.name.as_str());
        let versions: Vec<&str> = named
            .filter_map(|offer| offer.version.as_ref().map(Version::as_str))
            .collect();
        let message = format!(
            "{} asks for {} {range}, which no index has",
            ask.asker, ask.name
        );
        let problem = Problem::plain("no-such-package", message).at(ask.span);
        if versions.is_empty() && self.index.offers.is_empty() {
            problem.note(
                "the project has no index; `(indexes \"PATH\")` in package.scm names one, or add \
                the package from its source",
            )
        } else if versions.is_empty() {
            problem.note("no index has a package of that name; add it from its source")
        } else {
            problem.note(format!("there are the versions {}", versions.join(", ")))
        }
    }

    /// Takes an answer to an ask.
    fn choose(
        &mut self,
        state: &mut State,
        pending: &mut VecDeque<Ask>,
        ask: &Ask,
        (source, version): &(Source, Option<Version>),
    ) -> Result<(), Stuck> {
        let info = self
            .info(&ask.name, source, version.as_ref())
            .map_err(|problem| {
                let problem = problem.at(ask.span);
                Stuck::Fatal(if ask.is_project {
                    problem
                } else {
                    problem.note(format!("{} asks for it", ask.asker))
                })
            })?;
        let version = version.clone().or_else(|| info.manifest.version.clone());
        let choice = Choice {
            name: ask.name.clone(),
            source: source.clone(),
            version,
            is_project: ask.is_project && matches!(ask.wish, Wish::Source(_)),
            asks: vec![(ask.asker.clone(), ask.wish.to_datum().to_string())],
            depends: info.depends.iter().map(|one| one.name.clone()).collect(),
            info: info.clone(),
        };
        if let (Wish::Version(range), Some(version)) = (&ask.wish, &choice.version)
            && !range.contains(version)
        {
            let message = format!(
                "{} asks for {} {range}, but it is {version}",
                ask.asker, ask.name
            );
            return Err(Stuck::Conflict(
                Problem::plain("package-conflict", message).at(ask.span),
            ));
        }
        for dependency in &info.depends {
            pending.push_back(Ask {
                name: dependency.name.clone(),
                wish: dependency.wish.clone(),
                asker: choice.title(),
                is_project: false,
                is_optional: info.manifest.kind == Kind::Akku
                    && matches!(dependency.wish, Wish::Version(_)),
                span: dependency.span,
                known: info.known.clone(),
            });
        }
        state.chosen.insert(ask.name.as_str().to_owned(), choice);
        Ok(())
    }

    /// An ask for a package with a library that is needed and that no package has, if an index offers one.
    fn missing_libraries(
        &self,
        state: &mut State,
        title: &str,
        wanted: &[LibraryName],
    ) -> Option<Ask> {
        let provided = |name: &LibraryName| {
            (self.platform.has_library)(name.key().as_str())
                || state
                    .chosen
                    .values()
                    .any(|choice| choice.info.provides.contains(name))
        };
        let mut needed: Vec<(String, &LibraryName)> =
            wanted.iter().map(|name| (title.to_owned(), name)).collect();
        for choice in state.chosen.values() {
            needed.extend(
                choice
                    .info
                    .requires
                    .iter()
                    .map(|name| (choice.title(), name)),
            );
        }
        let mut notes: Vec<String> = Vec::new();
        for (asker, name) in needed {
            if provided(name) {
                continue;
            }
            let offer = self.index.offers.iter().find(|offer| {
                offer.provides.contains(name) && !state.chosen.contains_key(offer.name.as_str())
            });
            if let Some(offer) = offer {
                return Some(Ask {
                    name: offer.name.clone(),
                    wish: Wish::Version(Range::any()),
                    asker,
                    is_project: false,
                    is_optional: false,
                    span: Span::NONE,
                    known: Rc::new(Vec::new()),
                });
            }
            notes.push(format!(
                "{asker} needs the library {name}, which neither Canny nor a package has"
            ));
        }
        notes.dedup();
        state.notes.extend(notes);
        None
    }

    /// Looks into a package: fetches it if the index does not tell what it needs.
    fn info(
        &mut self,
        name: &PackageName,
        source: &Source,
        version: Option<&Version>,
    ) -> Fallible<Rc<Info>> {
        let key = format!("{name} {}", source.to_datum());
        if let Some(info) = self.looked_into.get(&key) {
            return Ok(info.clone());
        }
        let offer = self.index.offers.iter().find(|offer| {
            offer.name.as_str() == name.as_str()
                && offer.source == *source
                && offer.version.as_ref() == version
        });
        let info = match offer.and_then(|offer| Some((offer, offer.depends.as_ref()?))) {
            Some((offer, depends)) => Info {
                fetched: None,
                manifest: Manifest {
                    kind: Kind::Akku,
                    version: offer.version.clone(),
                    ..Manifest::default()
                },
                depends: depends
                    .iter()
                    .map(|one| placed(one, &source.base()))
                    .collect::<Fallible<_>>()?,
                requires: offer.requires.clone(),
                provides: offer.provides.clone(),
                known: Rc::new(Vec::new()),
            },
            None => self.look_into(name, source)?,
        };
        let info = Rc::new(info);
        self.looked_into.insert(key, info.clone());
        Ok(info)
    }

    fn look_into(&self, name: &PackageName, source: &Source) -> Fallible<Info> {
        let locked = self.locked(name).filter(|locked| locked.source == *source);
        let known = locked.map(|locked| Known {
            sha256: &locked.sha256,
            revision: locked.revision.as_deref(),
        });
        let fetched = self.fetcher.fetch(source, known)?;
        let root = inside(&fetched.tree, source.inner().unwrap_or("."));
        if !root.is_dir() {
            let message = format!(
                "`{}` has no directory `{}`",
                fetch::place(source),
                source.inner().unwrap_or(".")
            );
            return Err(Problem::plain("unreachable-package", message));
        }
        let (manifest, known) = read_package(self.sources, &root, self.platform)?;
        let base = source.base();
        let depends = manifest
            .depends
            .iter()
            .map(|one| placed(one, &base))
            .collect::<Fallible<_>>()?;
        let known = known
            .into_iter()
            .filter_map(|(name, source)| Some((name, source.placed(&base).ok()?)));
        let list = tree::libraries(&root, &manifest)?;
        Ok(Info {
            depends,
            requires: manifest
                .requires
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
            provides: list.usable.into_iter().map(|(name, _)| name).collect(),
            known: Rc::new(known.collect()),
            manifest,
            fetched: Some(fetched),
        })
    }

    /// Makes a lockfile of the choice.
    fn finish(&mut self, state: State, project: &Manifest) -> Fallible<Resolution> {
        let mut resolution = Resolution {
            notes: state.notes,
            ..Resolution::default()
        };
        resolution.notes.dedup();
        resolution.lock.manifest = crate::lock::manifest_checksum(project);
        let mut owners: BTreeMap<String, &Choice> = BTreeMap::new();
        for choice in state.chosen.values() {
            let looked =
                match &choice.info.fetched {
                    Some(_) => choice.info.clone(),
                    None => Rc::new(self.look_into(&choice.name, &choice.source).map_err(
                        |problem| problem.note(format!("{} asks for it", choice.askers())),
                    )?),
                };
            let Some(fetched) = looked.fetched.clone() else {
                continue;
            };
            let root = inside(&fetched.tree, choice.source.inner().unwrap_or("."));
            let mut list = tree::libraries(&root, &looked.manifest)?;
            list.usable
                .retain(|(name, _)| !(self.platform.has_library)(name.key().as_str()));
            for (library, _) in &list.usable {
                if let Some(other) = owners.insert(library.to_string(), choice) {
                    return Err(two_owners(library, other, choice));
                }
            }
            self.note_unusable(&mut resolution.notes, choice, &list)?;
            let depends = choice
                .depends
                .iter()
                .filter(|name| state.chosen.contains_key(name.as_str()));
            let mut depends: Vec<PackageName> = depends.cloned().collect();
            depends.sort();
            resolution.lock.packages.push(Locked {
                name: choice.name.clone(),
                version: choice
                    .version
                    .as_ref()
                    .map(|version| version.as_str().to_owned()),
                source: choice.source.clone(),
                revision: fetched.revision.clone(),
                sha256: fetched.sha256.clone(),
                depends,
                directories: tree::library_directories(&root, &looked.manifest),
                libraries: list.usable,
                unusable: list
                    .unusable
                    .into_iter()
                    .map(|(name, reason)| (name, reason.to_owned()))
                    .collect(),
            });
            resolution.fetched.push(fetched);
        }
        Ok(resolution)
    }

    /// Tells of libraries that cannot be used; a package of only such is refused where the project asks
    /// for it.
    fn note_unusable(
        &self,
        notes: &mut Vec<String>,
        choice: &Choice,
        list: &tree::LibraryList,
    ) -> Fallible<()> {
        const SHOWN_MAX: usize = 5;
        if list.unusable.is_empty() {
            if list.usable.is_empty() {
                notes.push(format!("{} has no libraries of its own", choice.title()));
            }
            return Ok(());
        }
        let explained = |(name, reason): &(LibraryName, &str)| match *reason {
            tree::NATIVE => format!("{name} needs compiled C"),
            _ => format!("{name} is in the form of R6RS"),
        };
        let shown: Vec<String> = list
            .unusable
            .iter()
            .take(SHOWN_MAX)
            .map(explained)
            .collect();
        let more = match list.unusable.len().saturating_sub(SHOWN_MAX) {
            0 => String::new(),
            count => format!(", and {count} more"),
        };
        let sentence = format!(
            "Canny cannot use {} of the libraries of {}: {}{more}",
            list.unusable.len(),
            choice.title(),
            shown.join(", ")
        );
        if list.usable.is_empty() && choice.is_project {
            let message = format!("Canny can use no library of {}", choice.title());
            return Err(Problem::plain("unusable-package", message)
                .note(format!("{}{more}", shown.join(", "))));
        }
        notes.push(sentence);
        Ok(())
    }
}

/// The dependency with its source placed.
fn placed(dependency: &Dependency, base: &Base) -> Fallible<Dependency> {
    let mut dependency = dependency.clone();
    if let Wish::Source(source) = &dependency.wish {
        let placed = source.placed(base);
        dependency.wish =
            Wish::Source(placed.map_err(|message| {
                Problem::new("unreachable-package", dependency.span, message)
            })?);
    }
    Ok(dependency)
}

/// Reads what a package says of itself, in whichever form, and the sources that Akku locked for what it
/// needs.
pub fn read_package(
    sources: &Arc<SourceMap>,
    root: &std::path::Path,
    platform: &Platform,
) -> Fallible<(Manifest, Vec<(PackageName, Source)>)> {
    let path = root.join(MANIFEST_FILE);
    if path.is_file() && manifest::looks_like_one(&crate::fields::read_file(&path, "bad-manifest")?)
    {
        return Ok((manifest::read(sources, &path, platform)?, Vec::new()));
    }
    let path = root.join(akku::MANIFEST_FILE);
    if !path.is_file() {
        return Ok((Manifest::default(), Vec::new()));
    }
    let manifest = akku::read_manifest(sources, &path)?;
    let lock = root.join(akku::LOCK_FILE);
    let known = if lock.is_file() {
        akku::read_lock(sources, &lock)?
    } else {
        Vec::new()
    };
    Ok((manifest, known))
}

/// Whether a choice answers another ask too; gives what is worth knowing about it.
fn agree(choice: &mut Choice, ask: &Ask) -> Result<Option<String>, Stuck> {
    let text = ask.wish.to_datum().to_string();
    let fits = match &ask.wish {
        Wish::Source(source) => *source == choice.source,
        Wish::Version(range) => choice
            .version
            .as_ref()
            .is_none_or(|version| range.contains(version)),
    };
    let overrides = choice.is_project && matches!(ask.wish, Wish::Source(_));
    let note = (!fits && overrides).then(|| {
        format!(
            "{} asks for {} as {text}; what the project says is used",
            ask.asker, ask.name
        )
    });
    choice.asks.push((ask.asker.clone(), text));
    if fits || overrides {
        return Ok(note);
    }
    let mut problem = Problem::plain(
        "package-conflict",
        format!(
            "there can be only one `{}`, but what is asked for does not agree",
            ask.name
        ),
    )
    .at(ask.span);
    for (asker, wish) in &choice.asks {
        problem = problem.note(format!("{asker} asks for {wish}"));
    }
    if let (Wish::Version(_), Some(version)) = (&ask.wish, &choice.version) {
        problem = problem.note(format!("chosen was {} {version}", choice.name));
    }
    let advice = "a dependency with a source in the project's own package.scm wins over what packages \
                  ask for";
    Err(Stuck::Conflict(problem.note(advice)))
}

fn two_owners(library: &LibraryName, one: &Choice, other: &Choice) -> Problem {
    let message = format!("the library {library} is in two packages");
    [one, other]
        .into_iter()
        .fold(
            Problem::plain("package-conflict", message),
            |problem, choice| {
                problem.note(format!(
                    "it is in {}, from {}, which {} asks for",
                    choice.title(),
                    choice.source.to_datum(),
                    choice.askers()
                ))
            },
        )
        .note("remove one of the two, or what asks for it")
}
