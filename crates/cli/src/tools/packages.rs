//! The commands of packages: `add`, `remove`, `lock`, `update`, `vendor` and `tree`.
//!
//! This module parses command lines and prints results; `canny_packages` does the work. A command
//! that fails leaves manifest and lockfile as they were. No code of a package is run.

use std::ffi::OsString;
use std::path::Path;

use canny_packages::name::PackageName;
use canny_packages::problem::{Fallible, Problem};
use canny_packages::source::{Dependency, Reference, Source, Wish, is_reference, is_url, join};
use canny_packages::version::Range;
use canny_packages::workplace::{Done, Workplace};
use canny_syntax::reader::read_source;
use canny_syntax::span::{SourceMap, Span};
use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use super::table::Row;
use crate::environment::Environment;
use crate::{exit_code, project, report};

const OFFLINE: Row = ("--offline", "fetch nothing");
const CHECK: Row = (
    "--check",
    "change nothing; compare the contents of all packages with the lockfile",
);

pub const ADD: Tool = Tool {
    name: "add",
    operands: "[OPTION…] SOURCE",
    summary: "Adds a package to the project, or changes where it is from",
    options: &[
        (
            "--name NAME",
            "call it NAME; else it is called as it calls itself, or as its place",
        ),
        ("--rev REVISION", "take this revision of a git repository"),
        ("--tag TAG", "take this tag of a git repository"),
        ("--branch BRANCH", "take this branch of a git repository"),
        (
            "--git",
            "SOURCE is a git repository, whatever it looks like",
        ),
        (
            "--path SUBDIRECTORY",
            "take a directory inside of an archive or repository",
        ),
        (
            "--version RANGE",
            "SOURCE is the name of a package in an index; take such a version, as ^1.2",
        ),
        ("--test", "only tests need it"),
        OFFLINE,
    ],
    details: "SOURCE is a directory, a tar archive (.tgz, .tar.gz, .tar) or a git repository, as a path or a \
        URL. Archives come\n\
              from https and file URLs, through curl; repositories through git. No code of a package is run.",
    run: |parser, environment| parse(parser, environment, Verb::Add),
};

pub const REMOVE: Tool = Tool {
    name: "remove",
    operands: "[OPTION…] NAME…",
    summary: "Removes packages from the project",
    options: &[OFFLINE],
    details: "",
    run: |parser, environment| parse(parser, environment, Verb::Remove),
};

pub const LOCK: Tool = Tool {
    name: "lock",
    operands: "[OPTION…]",
    summary: "Makes package.lock agree with package.scm, and fetches what is locked",
    options: &[CHECK, OFFLINE],
    details: "Locked packages stay as they are. Exit code 65 with --check: something is not as it was \
        locked.",
    run: |parser, environment| parse(parser, environment, Verb::Lock),
};

pub const UPDATE: Tool = Tool {
    name: "update",
    operands: "[OPTION…] [NAME…]",
    summary: "Takes the newest of some packages, or of all",
    options: &[OFFLINE],
    details: "Tags and branches are looked up again, archives fetched again, versions chosen again; \
        package.scm says from what.",
    run: |parser, environment| parse(parser, environment, Verb::Update),
};

pub const VENDOR: Tool = Tool {
    name: "vendor",
    operands: "[OPTION…]",
    summary: "Copies all packages into the project's directory vendor",
    options: &[CHECK, OFFLINE],
    details: "From then on the copies are used, and nothing else is needed to run the project.",
    run: |parser, environment| parse(parser, environment, Verb::Vendor),
};

pub const TREE: Tool = Tool {
    name: "tree",
    operands: "",
    summary: "Shows which packages the project uses, and what each of them needs",
    options: &[],
    details: "",
    run: |parser, environment| parse(parser, environment, Verb::Tree),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Remove,
    Lock,
    Update,
    Vendor,
    Tree,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Verb::Add => "add",
            Verb::Remove => "remove",
            Verb::Lock => "lock",
            Verb::Update => "update",
            Verb::Vendor => "vendor",
            Verb::Tree => "tree",
        }
    }
}

/// A command line.
#[derive(Default)]
struct Wishes {
    operands: Vec<String>,
    name: Option<PackageName>,
    reference: Option<Reference>,
    is_git: bool,
    path: Option<String>,
    range: Option<Range>,
    is_for_tests: bool,
    is_offline: bool,
    checks: bool,
}

fn parse(mut parser: Parser, environment: &'static Environment, verb: Verb) -> Result<u8, String> {
    let mut wishes = Wishes::default();
    let text_of = |error: lexopt::Error| error.to_string();
    let string = |value: OsString| value.string().map_err(text_of);
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Long("offline") => wishes.is_offline = true,
            Arg::Long("check") => wishes.checks = true,
            Arg::Long("test") => wishes.is_for_tests = true,
            Arg::Long("git") => wishes.is_git = true,
            Arg::Long("name") => {
                wishes.name = Some(name(&string(parser.value().map_err(text_of)?)?)?);
            }
            Arg::Long("path") => wishes.path = Some(string(parser.value().map_err(text_of)?)?),
            Arg::Long("version") => {
                wishes.range = Some(Range::parse(&string(parser.value().map_err(text_of)?)?)?);
            }
            Arg::Long(option @ ("rev" | "tag" | "branch")) => {
                let make = match option {
                    "rev" => Reference::Revision,
                    "tag" => Reference::Tag,
                    _ => Reference::Branch,
                };
                let text = string(parser.value().map_err(text_of)?)?;
                if !is_reference(&text) {
                    return Err(format!("'{text}' cannot be the name of a revision"));
                }
                if wishes.reference.replace(make(text)).is_some() {
                    return Err("--rev, --tag or --branch: only one of them".to_owned());
                }
            }
            Arg::Value(word) => wishes.operands.push(string(word)?),
            other => return Err(other.unexpected().to_string()),
        }
    }
    let takes = match verb {
        Verb::Add => wishes.operands.len() == 1,
        Verb::Remove => !wishes.operands.is_empty(),
        Verb::Update => true,
        Verb::Lock | Verb::Vendor | Verb::Tree => wishes.operands.is_empty(),
    };
    match (verb, takes) {
        (_, true) => {}
        (Verb::Add, _) if wishes.operands.is_empty() => return Err("add what?".to_owned()),
        (Verb::Add, _) => return Err("one package at a time".to_owned()),
        (Verb::Remove, _) => return Err("remove what?".to_owned()),
        _ => return Err(format!("'{}' takes no operands", verb.word())),
    }
    Ok(crate::on_large_stack(move || {
        perform(verb, &wishes, environment)
    }))
}

/// The name of a package on the command line: text, or the name of a library in parens.
fn name(text: &str) -> Result<PackageName, String> {
    if !text.starts_with('(') {
        return PackageName::new(text);
    }
    let (_, source) = read_source(&SourceMap::new(), "", text.as_bytes(), false);
    match source.forms.as_slice() {
        [one] if !source.has_errors() => {
            PackageName::from_syntax(one).map_err(|error| error.message)
        }
        _ => Err(format!("'{text}' is not the name of a package")),
    }
}

fn perform(verb: Verb, wishes: &Wishes, environment: &Environment) -> u8 {
    let Some(store) = project::store(environment) else {
        eprintln!(
            "canny {}: no place for packages: set CANNY_CACHE_DIR or HOME",
            verb.word()
        );
        return exit_code::OS;
    };
    let platform = project::platform(&[]);
    let place = match Workplace::find(Path::new("."), store, platform, wishes.is_offline) {
        Ok(place) => place,
        Err(problem) => return refuse(&problem, &SourceMap::new()),
    };
    let done = match verb {
        Verb::Tree => place.tree().map(|text| {
            crate::print_all(&text);
            Done::default()
        }),
        Verb::Add => add(&place, wishes),
        Verb::Remove => names(wishes).and_then(|names| place.remove(&names)),
        Verb::Update => names(wishes).and_then(|names| place.update(&names)),
        Verb::Lock | Verb::Vendor if wishes.checks => place.check(),
        Verb::Lock => place.lock(),
        Verb::Vendor => place.vendor(),
    };
    match done {
        Ok(done) => {
            for note in &done.notes {
                eprintln!("note: {note}");
            }
            for change in &done.changes {
                eprintln!("{change}");
            }
            if done.changes.is_empty() && verb != Verb::Tree {
                eprintln!("nothing changed");
            }
            0
        }
        Err(problem) => refuse(&problem, &place.sources),
    }
}

fn refuse(problem: &Problem, sources: &SourceMap) -> u8 {
    report::diagnostics(&problem.diagnostics, sources);
    match problem.code() {
        "unwritable-project" => exit_code::OS,
        _ => exit_code::DATA,
    }
}

fn names(wishes: &Wishes) -> Fallible<Vec<PackageName>> {
    let name =
        |text: &String| name(text).map_err(|message| Problem::plain("no-such-package", message));
    wishes.operands.iter().map(name).collect()
}

fn add(place: &Workplace, wishes: &Wishes) -> Fallible<Done> {
    let operand = &wishes.operands[0];
    if let Some(range) = &wishes.range {
        let named = name(operand).map_err(|message| Problem::plain("no-such-package", message))?;
        let dependency = Dependency {
            name: wishes.name.clone().unwrap_or(named),
            wish: Wish::Version(range.clone()),
            span: Span::NONE,
        };
        return place.add(&dependency, wishes.is_for_tests);
    }
    let source = source(place, wishes, operand)?;
    let name = match &wishes.name {
        Some(name) => name.clone(),
        None => place.own_name(&source)?,
    };
    place.add(&place.dependency(name, source), wishes.is_for_tests)
}

/// The source of a package that an operand names. Paths on the command line are relative to the
/// current directory, those in a manifest to the project.
fn source(place: &Workplace, wishes: &Wishes, operand: &str) -> Fallible<Source> {
    let path = Path::new(operand);
    let is_archive = [".tgz", ".tar.gz", ".tar"]
        .iter()
        .any(|ending| operand.ends_with(ending));
    let is_git = wishes.is_git
        || wishes.reference.is_some()
        || operand.ends_with(".git") && !path.is_file()
        || ["git@", "ssh://", "git://"]
            .iter()
            .any(|start| operand.starts_with(start))
        || path.join("HEAD").is_file() && path.join("objects").is_dir();
    let here = if is_url(operand) {
        operand.to_owned()
    } else {
        from_project(place, operand)?
    };
    let is_somewhere = is_url(operand) || path.exists();
    if !is_somewhere {
        let problem = Problem::plain("unreachable-package", format!("there is no `{operand}`"));
        return Err(problem.note(
            "a package is a directory, an archive, a git repository, or with --version a name in an index"));
    }
    let inner = match wishes.path.as_deref().map(|path| join(".", path)) {
        Some(path) if path == ".." || path.starts_with("../") || path.starts_with('/') => {
            return Err(Problem::plain(
                "bad-manifest",
                format!("the path `{path}` leads out of the package"),
            ));
        }
        inner => inner.filter(|inner| inner != "."),
    };
    if is_git {
        return Ok(Source::Git {
            url: here,
            reference: wishes.reference.clone().unwrap_or(Reference::Default),
            path: inner,
        });
    }
    if path.is_dir() && !is_url(operand) {
        return Ok(Source::Directory {
            path: inner.map_or(here.clone(), |inner| join(&here, &inner)),
        });
    }
    if is_url(operand) && !is_archive {
        let problem = Problem::plain(
            "unreachable-package",
            format!("`{operand}` is neither an archive nor a git repository by its name"),
        );
        return Err(problem.note("with --git it is taken for a repository"));
    }
    Ok(Source::Archive {
        location: here,
        sha256: None,
        path: inner,
    })
}

/// A path from the current directory as one from the project.
fn from_project(place: &Workplace, operand: &str) -> Fallible<String> {
    let failed = |error: std::io::Error| Problem::unreadable(Path::new(operand), &error);
    if operand.starts_with('/') {
        return Ok(join(operand, "."));
    }
    let current = std::env::current_dir()
        .and_then(std::fs::canonicalize)
        .map_err(failed)?;
    let root = std::fs::canonicalize(&place.root).map_err(failed)?;
    // The project is above the current directory, or is it.
    let below = current
        .strip_prefix(&root)
        .map(|path| path.to_string_lossy().into_owned());
    Ok(join(&below.unwrap_or_default(), operand))
}
