//! The how-tos about opcodes, primitives, libraries, commands and host objects list the places to
//! touch, and nothing is missing there.
//!
//! A page has a table under `## Places`: a place is `` `NAME` in `PATH` `` or a path, then when it is
//! needed, then what fails without it. Each place exists, each name stands in its file, and few places
//! are always needed. Where ordinary examples of the kind are named in the product's code, the page has
//! a place: so a new list that has to be extended by hand gets into the page, or is derived.

use std::path::Path;

use super::{Complaint, RustFile};
use crate::workspace;

/// A page and what it is held against.
struct Page {
    path: &'static str,
    /// Texts by which ordinary examples of the kind are named in Rust, as literals stand in the source.
    examples: &'static [&'static str],
    /// Files that name examples for another reason.
    others: &'static [&'static str],
}

const PAGES: &[Page] = &[
    Page {
        path: "docs/howto/add-an-opcode.md",
        examples: &["BytevectorLength", "VectorSet", "SetCar", "JumpNotPair"],
        others: &[],
    },
    Page {
        path: "docs/howto/add-a-primitive.md",
        examples: &["\"vector-fill!\"", "\"char-foldcase\"", "\"list-copy\""],
        others: &[],
    },
    Page {
        path: "docs/howto/add-a-library.md",
        examples: &["(srfi 133)", "(srfi 158)", "(canny data boxes)"],
        others: &[],
    },
    Page {
        path: "docs/howto/add-a-command.md",
        examples: &["lsp::TOOL", "completions::TOOL"],
        others: &[],
    },
    Page {
        path: "docs/howto/add-a-host-object.md",
        examples: &["WebSocketCodec", "EventReader", "SyntaxErrors"],
        others: &[],
    },
];

/// The most places that are always written by hand.
const ALWAYS_MAX: usize = 3;

/// A row of a page's table.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    line: usize,
    name: Option<&'a str>,
    path: &'a str,
    is_always: bool,
}

pub fn check(root: &Path, files: &[RustFile]) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for page in PAGES {
        let text = workspace::read(&root.join(page.path))?;
        let places = places(&text);
        let mut complain = |line, message| {
            complaints.push(Complaint {
                path: page.path.into(),
                line,
                message,
            });
        };
        let always = places.iter().filter(|place| place.is_always).count();
        if always == 0 || always > ALWAYS_MAX {
            complain(
                None,
                format!("{always} places are always needed; 1 to {ALWAYS_MAX} may be"),
            );
        }
        for place in &places {
            if let Some(message) = wrong(root, place) {
                complain(Some(place.line), message);
            }
        }
        for path in unlisted(page, &places, files) {
            complain(None, format!("{path} names examples and is no place"));
        }
    }
    Ok(complaints)
}

/// The rows of the table under `## Places`.
fn places(text: &str) -> Vec<Place<'_>> {
    let lines = text.lines().enumerate();
    let inside = lines.skip_while(|(_, line)| *line != "## Places").skip(1);
    let inside = inside.take_while(|(_, line)| !line.starts_with("## "));
    inside
        .filter_map(|(index, line)| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let (place, when) = (cells.next()?, cells.next()?);
            let mut spans = place.split('`').skip(1).step_by(2);
            let first = spans.next()?;
            let second = spans.next();
            Some(Place {
                line: index + 1,
                name: second.and(Some(first)),
                path: second.unwrap_or(first),
                is_always: when == "always",
            })
        })
        .collect()
}

/// The fault of a place. Paths with a part in capitals stand for a new file: its directory has to
/// exist.
fn wrong(root: &Path, place: &Place) -> Option<String> {
    let path = Path::new(place.path);
    let is_new = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with("NAME");
    let known = if path.iter().any(is_new) {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    let full = root.join(known);
    if !full.exists() {
        return Some(format!("there is no {}", known.display()));
    }
    let name = place.name.filter(|_| full.is_file())?;
    let text = workspace::read(&full).ok()?;
    (!text.contains(name)).then(|| format!("{} has no `{name}`", place.path))
}

/// Files that name an example, in code that is no test's, and are neither places nor below one.
fn unlisted<'a>(page: &Page, places: &[Place], files: &'a [RustFile]) -> Vec<&'a str> {
    let product = files
        .iter()
        .filter(|file| file.path.starts_with("crates") && !file.is_test());
    let naming = product.filter(|file| {
        let code = before_tests(&file.text);
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let mut lines = lines.filter(|line| page.examples.iter().any(|it| names(line, it)));
        lines.next().is_some()
    });
    let paths = naming.filter_map(|file| file.path.to_str());
    paths
        .filter(|path| {
            let is_listed = places.iter().any(|place| path.starts_with(place.path));
            !is_listed && !page.others.contains(path)
        })
        .collect()
}

/// A file up to its module of tests.
fn before_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// Whether an example occurs in a line, not as a part of a longer word.
fn names(line: &str, example: &str) -> bool {
    line.match_indices(example).any(|(at, _)| {
        let is_part =
            |neighbour: Option<char>| neighbour.is_some_and(|it| it.is_alphanumeric() || it == '_');
        !is_part(line[..at].chars().next_back())
            && !is_part(line[at + example.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Add\n\n| `a` in `b` | always | no |\n\n## Places\n\n| place | when | without it \
        |\n|---|---|---|\n\
        | `rows!` in `crates/a/src/rows.rs` | always | it is not there |\n| `crates/a/src/lists` | for lists \
        | slow |\n";

    fn file(path: &str, text: &str) -> RustFile {
        RustFile {
            path: path.into(),
            text: text.to_owned(),
            code: String::new(),
        }
    }

    #[test]
    fn tables_of_places_are_read() {
        let place = |line, name, path, is_always| Place {
            line,
            name,
            path,
            is_always,
        };
        let expected = [
            place(9, Some("rows!"), "crates/a/src/rows.rs", true),
            place(10, None, "crates/a/src/lists", false),
        ];
        assert_eq!(places(PAGE), expected);
    }

    #[test]
    fn a_file_that_names_an_example_is_a_place() {
        let page = Page {
            path: "page.md",
            examples: &["SetCar"],
            others: &["crates/a/src/other.rs"],
        };
        let files = [
            file("crates/a/src/rows.rs", "SetCar"),
            file("crates/a/src/lists/b.rs", "Opcode::SetCar => 1"),
            file("crates/a/src/other.rs", "SetCar"),
            file("crates/a/src/new.rs", "SetCar | SetCdr => 1"),
            file("crates/a/src/longer.rs", "SetCarefully"),
            file("crates/a/src/comment.rs", "// SetCar"),
            file("crates/a/src/tests.rs", "SetCar"),
            file(
                "crates/a/src/c.rs",
                "fn f() {}\n#[cfg(test)]\nmod tests { SetCar }",
            ),
        ];
        assert_eq!(
            unlisted(&page, &places(PAGE), &files),
            ["crates/a/src/new.rs"]
        );
    }

    #[test]
    fn places_have_to_exist() {
        let root = workspace::root();
        let wrong_in = |name, path| {
            let place = Place {
                line: 1,
                name,
                path,
                is_always: true,
            };
            wrong(&root, &place).is_some()
        };
        assert!(!wrong_in(Some("fn check"), "xtask/src/tidy/places.rs"));
        assert!(!wrong_in(None, "xtask/src/tidy/NAME.rs"));
        assert!(wrong_in(
            Some(concat!("not", "there")),
            "xtask/src/tidy/places.rs"
        ));
        assert!(wrong_in(None, "xtask/src/tidy/nothing.rs"));
    }
}
