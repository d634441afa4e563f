//! Sizes of files and functions and the widths of lines, which may only shrink once they are over the limit.
//!
//! Files of Rust and Scheme have a limit, those of tests too; functions of Rust that are no tests. Lines
//! of Rust, Scheme and Markdown have a limit, but for tables of Markdown; wide lines are counted for each
//! directory, since there are too many to list their files.
//!
//! `xtask/ratchet.txt` lists what is over it. Growing, or a new entry, is a complaint; so is an entry
//! that has become smaller, until `cargo xtask tidy --update` records that. A flat match may well be
//! long; it is listed like the rest, and whoever adds a line to the list by hand says why in the commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::rust_source::{closing_brace, words};
use super::{Complaint, RustFile, line_of, relative};
use crate::workspace;

const RATCHET: &str = "xtask/ratchet.txt";
const FILE_LINES_MAX: usize = 900;
const FUNCTION_LINES_MAX: usize = 100;
/// Longer test modules live in a sibling `tests.rs`.
const INLINE_TEST_LINES_MAX: usize = 200;
/// Columns of a line by the ending of its file.
const COLUMNS_MAX: &[(&str, usize)] = &[("rs", 110), ("sld", 100), ("scm", 100), ("md", 100)];
const SCHEME: &[&str] = &["sld", "scm"];

/// Sizes over their limits: `file PATH` or `function PATH NAME`, with its lines, or `width
/// DIRECTORY`, with the number of wide lines below it.
type Sizes = BTreeMap<String, usize>;

pub fn check(root: &Path, files: &[RustFile], update: bool) -> Result<Vec<Complaint>, String> {
    let recorded = parse(&workspace::read(&root.join(RATCHET)).unwrap_or_default())?;
    let mut current = oversized(files);
    for (extension, columns_max) in COLUMNS_MAX {
        for file in workspace::files(root, extension) {
            let path = relative(root, &file);
            // Some sources are in another encoding.
            let bytes = std::fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().count();
            if SCHEME.contains(extension) && lines > FILE_LINES_MAX {
                current.insert(format!("file {}", path.display()), lines);
            }
            let wide = wide_lines(&text, *columns_max, *extension == "md");
            if wide > 0 {
                let group = format!("width {}", group_of(&path).display());
                *current.entry(group).or_insert(0) += wide;
            }
        }
    }
    let mut complaints = inline_tests(files);
    let (grown, shrunk) = compare(&recorded, &current);
    complaints.extend(grown.into_iter().map(complaint));
    if update && complaints.is_empty() {
        workspace::write(&root.join(RATCHET), render(&current))?;
    } else {
        complaints.extend(shrunk.into_iter().map(complaint));
    }
    Ok(complaints)
}

/// How many lines are wider than the limit; rows of Markdown's tables cannot be broken.
fn wide_lines(text: &str, columns_max: usize, is_markdown: bool) -> usize {
    text.lines()
        .filter(|line| !(is_markdown && line.trim_start().starts_with('|')))
        .filter(|line| line.chars().count() > columns_max)
        .count()
}

/// The directory whose wide lines are counted together: two levels deep at most.
fn group_of(path: &Path) -> PathBuf {
    let directories = path.parent().into_iter().flat_map(Path::iter);
    let group: PathBuf = directories.take(2).collect();
    if group.as_os_str().is_empty() {
        path.to_path_buf()
    } else {
        group
    }
}

fn complaint(message: String) -> Complaint {
    Complaint {
        path: PathBuf::from(RATCHET),
        line: None,
        message,
    }
}

/// The sizes that grew or are new, and those that shrank, as lines.
fn compare(recorded: &Sizes, current: &Sizes) -> (Vec<String>, Vec<String>) {
    let mut grown = Vec::new();
    let mut shrunk = Vec::new();
    for (what, lines) in current {
        match recorded.get(what) {
            None => grown.push(format!("{what}: {lines} lines over the limit")),
            Some(before) if lines > before => {
                grown.push(format!("{what} grew from {before} to {lines} lines"));
            }
            Some(_) => {}
        }
    }
    for (what, before) in recorded {
        let lines = current.get(what).copied().unwrap_or(0);
        if lines < *before {
            shrunk.push(format!(
                "{what} shrank; record it with `cargo xtask tidy --update`"
            ));
        }
    }
    (grown, shrunk)
}

fn oversized(files: &[RustFile]) -> Sizes {
    let mut sizes = Sizes::new();
    for file in files {
        let path = file.path.display();
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            sizes.insert(format!("file {path}"), lines);
        }
        if file.is_test() {
            continue;
        }
        for (name, lines) in functions(&file.code) {
            if lines > FUNCTION_LINES_MAX {
                let entry = sizes.entry(format!("function {path} {name}")).or_insert(0);
                *entry = lines.max(*entry);
            }
        }
    }
    sizes
}

/// The functions with a body: name and lines from `fn` to the closing brace.
fn functions(code: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for offset in words(code, "fn") {
        let rest = &code[offset + 2..];
        let name_start = rest.len() - rest.trim_start().len();
        let name_end = rest[name_start..]
            .find(|character: char| !character.is_alphanumeric() && character != '_')
            .map_or(rest.len(), |end| name_start + end);
        let name = &rest[name_start..name_end];
        if name.is_empty() {
            continue;
        }
        let Some(open) = body_start(code, offset) else {
            continue;
        };
        let Some(close) = closing_brace(code, open) else {
            continue;
        };
        found.push((name, line_of(code, close) - line_of(code, offset) + 1));
    }
    found
}

/// The offset of the brace that opens the body; `None` if a semicolon comes first.
fn body_start(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (offset, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(offset),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn inline_tests(files: &[RustFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files {
        for (offset, _) in file.code.match_indices("mod tests {") {
            let open = offset + "mod tests ".len();
            let Some(close) = closing_brace(&file.code, open) else {
                continue;
            };
            let lines = line_of(&file.code, close) - line_of(&file.code, open);
            if lines > INLINE_TEST_LINES_MAX {
                complaints.push(Complaint {
                    path: file.path.clone(),
                    line: Some(line_of(&file.code, offset)),
                    message: format!("{lines} lines of tests belong to a sibling tests.rs"),
                });
            }
        }
    }
    complaints
}

fn parse(text: &str) -> Result<Sizes, String> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            line.rsplit_once(' ')
                .and_then(|(what, lines)| Some((what.to_owned(), lines.parse().ok()?)))
                .ok_or_else(|| format!("{RATCHET}: `{line}` does not end with a number"))
        })
        .collect()
}

fn render(sizes: &Sizes) -> String {
    let mut out = format!(
        "# Files over {FILE_LINES_MAX} lines, functions over {FUNCTION_LINES_MAX} lines, and for each \
         directory the number of wide lines; they may only shrink.\n"
    );
    for (what, lines) in sizes {
        out.push_str(&format!("{what} {lines}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured() {
        let code = "fn a() {\n  b();\n}\ntrait T { fn c(&self);\n fn d() -> [u8; 2] {\n\n} }";
        assert_eq!(functions(code), [("a", 3), ("d", 3)]);
    }

    #[test]
    fn growing_and_shrinking_are_told_apart() {
        let sizes = |entries: &[(&str, usize)]| -> Sizes {
            entries
                .iter()
                .map(|(what, lines)| ((*what).to_owned(), *lines))
                .collect()
        };
        let recorded = sizes(&[("file a", 1000), ("file b", 1000), ("file c", 1000)]);
        let current = sizes(&[("file a", 1001), ("file b", 950), ("file d", 901)]);
        let (grown, shrunk) = compare(&recorded, &current);
        assert_eq!(grown.len(), 2);
        assert_eq!(shrunk.len(), 2);
    }

    #[test]
    fn wide_lines_are_counted_in_characters_and_not_in_tables() {
        let text = format!(
            "{}\n{}\n  | {}\n",
            "é".repeat(10),
            "a".repeat(11),
            "b".repeat(20)
        );
        assert_eq!(wide_lines(&text, 10, true), 1);
        assert_eq!(wide_lines(&text, 10, false), 2);
    }

    #[test]
    fn wide_lines_are_counted_for_each_directory() {
        let group = |path: &str| group_of(Path::new(path)).display().to_string();
        assert_eq!(group("crates/vm/src/data/mod.rs"), "crates/vm");
        assert_eq!(group("docs/plan.md"), "docs");
        assert_eq!(group("README.md"), "README.md");
    }

    #[test]
    fn the_list_reads_back() {
        let sizes = Sizes::from([("function a.rs f".to_owned(), 120)]);
        assert_eq!(parse(&render(&sizes)), Ok(sizes));
    }
}
