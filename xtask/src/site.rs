//! `cargo xtask site`: the documents and the reference as a static site.
//!
//! Every Markdown file below `docs` becomes a page; [`PARTS`] says where it stands, and what no row
//! names comes last. The pages of the reference come from `canny doc --markdown`. A link that leads
//! nowhere fails the build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use canny_pages::{Group, Page, Site, render};

use crate::arguments::Arguments;
use crate::workspace::{self, Profile};

const HELP: &str = "\
usage: cargo xtask site [OPTION…]

Builds the documents and the reference as a static site in target/site.
  --output DIR   another directory; what is in it goes
  --canny PATH   the binary to ask for the reference; without it, cargo builds one
  --release      build that binary with all optimizations
";

/// A title, and what stands below it.
type Titled<T> = (&'static str, T);

/// Parts of the navigation, sections in them, and what stands there: paths below `docs`, or with `*` at
/// the end what begins so. The first row that fits a file counts.
const PARTS: &[Titled<&[Titled<&[&str]>]>] = &[
    ("Tutorial", &[("", &["tutorial/README.md", "tutorial/*"])]),
    (
        "Guides",
        &[
            ("", &["guide/cookbook.md"]),
            (
                "The language",
                &[
                    "language.md",
                    "guide/concurrency.md",
                    "guide/databases.md",
                    "guide/web-service.md",
                    "guide/telemetry.md",
                    "guide/wiki.md",
                    "security.md",
                    "guide/match.md",
                    "guide/loops.md",
                    "guide/macros.md",
                    "guide/generic-functions.md",
                    "guide/delimited-continuations.md",
                    "guide/contracts.md",
                    "guide/string-interpolation.md",
                    "guide/testing.md",
                    "guide/benchmarks.md",
                    "guide/profiling.md",
                ],
            ),
            ("Coming from elsewhere", &["guide/coming-from-*"]),
            ("More", &["guide/*"]),
        ],
    ),
    ("Reference", &[]),
    (
        "Command",
        &[(
            "",
            &[
                "cli.md",
                "errors.md",
                "profile-format.md",
                "srfis.md",
                "repl-walk.md",
                "editors*",
            ],
        )],
    ),
    (
        "Inside",
        &[
            ("How-to", &["howto/*"]),
            ("Decisions", &["decisions/*"]),
            ("Measurements", &["measurements/*"]),
            ("More", &["*"]),
        ],
    ),
];

pub fn run(arguments: &mut Arguments) -> Result<(), String> {
    if arguments.flag("--help") {
        print!("{HELP}");
        return Ok(());
    }
    let output = arguments.path("--output")?;
    let output = output.unwrap_or_else(|| workspace::target_directory().join("site"));
    let canny = workspace::canny(arguments, Profile::Debug)?;
    arguments.finish()?;
    let files = build(&canny)?;
    write(&output, &files)?;
    let bytes: usize = files.values().map(Vec::len).sum();
    println!(
        "{}: {} files, {:.1} MB, no dead link",
        output.display(),
        files.len(),
        bytes as f64 / 1e6
    );
    Ok(())
}

/// Builds the site and writes nothing, for `cargo xtask test`.
pub fn check(canny: &Path) -> Result<(), String> {
    let files = build(canny)?;
    println!("site: {} files, no dead link", files.len());
    Ok(())
}

fn build(canny: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let root = workspace::root();
    let site = site(&root, reference(canny)?)?;
    render(&site).map_err(|problems| {
        for problem in &problems {
            eprintln!("docs/{problem}");
        }
        format!("{} dead links", problems.len())
    })
}

/// The pages of the reference, those of the standard first.
fn reference(canny: &Path) -> Result<Vec<Page>, String> {
    let directory = workspace::scratch_directory("reference")?;
    let status = Command::new(canny)
        .args(["doc", "--markdown"])
        .arg(&directory)
        .status()
        .map_err(|error| format!("{}: {error}", canny.display()))?;
    if !status.success() {
        return Err("`canny doc --markdown` failed".to_owned());
    }
    let groups = [
        ("", "README.md"),
        ("R7RS", "scheme/"),
        ("Canny", "canny/"),
        ("SRFIs", "srfi/"),
    ];
    let mut pages = Vec::new();
    for (section, prefix) in groups {
        let mut found = Vec::new();
        for path in workspace::files(&directory, "md") {
            let name = slashes(path.strip_prefix(&directory).unwrap_or(&path));
            if name.starts_with(prefix) {
                found.push((name, workspace::read(&path)?));
            }
        }
        found.sort_by_key(|(name, _)| numbers_first(name));
        pages.extend(found.into_iter().map(|(name, markdown)| Page {
            path: format!("reference/{name}"),
            markdown,
            section: section.to_owned(),
        }));
    }
    Ok(pages)
}

/// `srfi/9.md` comes before `srfi/13.md`.
fn numbers_first(name: &str) -> Vec<(u64, String)> {
    name.trim_end_matches(".md")
        .split('/')
        .map(|part| match part.parse::<u64>() {
            Ok(number) => (number, String::new()),
            Err(_) => (0, part.to_owned()),
        })
        .collect()
}

fn site(root: &Path, reference: Vec<Page>) -> Result<Site, String> {
    let docs = root.join("docs");
    let mut site = Site {
        title: "Canny".to_owned(),
        ..Site::default()
    };
    site.groups = PARTS
        .iter()
        .map(|(title, _)| Group {
            title: (*title).to_owned(),
            pages: Vec::new(),
        })
        .collect();
    let mut placed: Vec<((usize, usize, usize), Page)> = Vec::new();
    for path in everything(root) {
        let name = slashes(path.strip_prefix(&docs).unwrap_or(&path));
        let below_docs = path.starts_with(&docs);
        if !below_docs {
            let outside = slashes(path.strip_prefix(root).unwrap_or(&path));
            site.elsewhere.insert(format!("../{outside}"));
        } else if path.is_dir() {
            site.elsewhere.insert(name);
        } else if !name.ends_with(".md") {
            let content = std::fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
            site.files.insert(name, content);
        } else if name == "index.md" {
            site.home = page(&path, name, "")?;
        } else if !name.starts_with("reference/") {
            let (at, section) = place(&name);
            placed.push((at, page(&path, name, section)?));
        }
    }
    placed.sort_by(|left, right| (left.0, &left.1.path).cmp(&(right.0, &right.1.path)));
    for ((part, _, _), page) in placed {
        site.groups[part].pages.push(page);
    }
    for group in &mut site.groups {
        if group.title == "Reference" {
            group.pages.clone_from(&reference);
        }
    }
    Ok(site)
}

fn page(path: &Path, name: String, section: &str) -> Result<Page, String> {
    Ok(Page {
        path: name,
        markdown: workspace::read(path)?,
        section: section.to_owned(),
    })
}

/// Where a page stands: part, section and row; and the section's title.
fn place(name: &str) -> ((usize, usize, usize), &'static str) {
    for (part, (_, sections)) in PARTS.iter().enumerate() {
        for (section, (title, rows)) in sections.iter().enumerate() {
            let fits = |row: &&str| match row.strip_suffix('*') {
                // A page that an exact row names stands in that row.
                Some(prefix) => name.starts_with(prefix) && !is_named(name),
                None => *row == name,
            };
            if let Some(row) = rows.iter().position(fits) {
                return ((part, section, row), title);
            }
        }
    }
    ((PARTS.len() - 1, 0, 0), "")
}

fn is_named(name: &str) -> bool {
    let rows = PARTS.iter().flat_map(|(_, sections)| sections.iter());
    rows.flat_map(|(_, rows)| rows.iter())
        .any(|row| *row == name)
}

/// Files and directories of the working tree, without hidden ones and those that are built.
fn everything(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let entries = std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten();
        for path in entries.map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || name == "target" {
                continue;
            }
            if path.is_dir() {
                pending.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Writes the site in place of what is in the directory.
fn write(output: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", output.display());
    // A directory is removed only if it looks like a site.
    if output.join("assets/search.js").exists() {
        std::fs::remove_dir_all(output).map_err(failed)?;
    } else if output.is_dir() && std::fs::read_dir(output).map_err(failed)?.next().is_some() {
        return Err(format!("{} is no site and not empty", output.display()));
    }
    for (path, content) in files {
        let path = output.join(path);
        let parent = path.parent().unwrap_or(output);
        std::fs::create_dir_all(parent).map_err(failed)?;
        workspace::write(&path, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_place_and_the_site_is_the_same_twice() {
        let page = |path: &str| Page {
            path: path.to_owned(),
            markdown: format!("# {path}\n"),
            section: String::new(),
        };
        // The pages of the reference that is made from these files, without what is in them.
        let docs = workspace::root().join("docs");
        let mut reference = Vec::new();
        let mut directories = vec![docs.join("reference")];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).expect("it can be read") {
                let path = entry.expect("it can be read").path();
                let name = path.strip_prefix(&docs).expect("it is in there");
                match path.extension() {
                    None => directories.push(path),
                    Some(_) => reference.push(page(&name.to_string_lossy())),
                }
            }
        }
        let site = site(&workspace::root(), reference).expect("it can be read");
        let groups = site.groups.iter();
        assert!(groups.clone().all(|group| !group.pages.is_empty()));
        let pages: Vec<&str> = groups
            .flat_map(|group| group.pages.iter().map(|page| page.path.as_str()))
            .collect();
        for path in ["guide/match.md", "cli.md", "tutorial/README.md", "plan.md"] {
            let count = pages.iter().filter(|page| **page == path).count();
            assert_eq!(count, 1, "{path}");
        }
        let files = render(&site).unwrap_or_else(|problems| panic!("{problems:#?}"));
        assert_eq!(Ok(files), render(&site));
    }

    #[test]
    fn new_files_find_their_place() {
        assert_eq!(
            PARTS[place("guide/coming-from-elsewhere.md").0.0].0,
            "Guides"
        );
        assert_eq!(
            place("guide/coming-from-elsewhere.md").1,
            "Coming from elsewhere"
        );
        assert_eq!(place("guide/something-new.md").1, "More");
        assert_eq!(PARTS[place("something.md").0.0].0, "Inside");
        assert!(place("tutorial/README.md").0 < place("tutorial/01-x.md").0);
    }
}
