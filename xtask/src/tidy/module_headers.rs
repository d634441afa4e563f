//! Modules say what they own: one of more than [`LINES_MAX`] lines has a header of two lines or more.
//!
//! `xtask/module-headers.txt` lists the modules that do not, one path a line. The list only shrinks: a
//! module that is not on it is a complaint, and so is an entry whose module has a header now or is
//! gone, until `cargo xtask tidy --update` removes it. Tests need no header, nor do programs beside
//! the sources (`examples`, `build.rs`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Complaint, RustFile};
use crate::workspace;

const EXCEPTIONS: &str = "xtask/module-headers.txt";
/// Longer modules need a header.
const LINES_MAX: usize = 80;
const HEADER_LINES_MIN: usize = 2;

pub fn check(root: &Path, files: &[RustFile], update: bool) -> Result<Vec<Complaint>, String> {
    let list = root.join(EXCEPTIONS);
    let recorded = parse(&workspace::read(&list)?);
    let current = without_header(files);
    let mut complaints: Vec<Complaint> = current
        .difference(&recorded)
        .map(|path| Complaint {
            path: PathBuf::from(path),
            line: Some(1),
            message: format!(
                "a module of more than {LINES_MAX} lines says in {HEADER_LINES_MIN} lines or more what it owns"
            ),
        })
        .collect();
    if update && complaints.is_empty() {
        workspace::write(&list, render(&current))?;
    } else {
        complaints.extend(recorded.difference(&current).map(|path| Complaint {
            path: PathBuf::from(EXCEPTIONS),
            line: None,
            message: format!("{path} is no exception any more; run `cargo xtask tidy --update`"),
        }));
    }
    Ok(complaints)
}

/// The paths of long modules whose header is too short.
fn without_header(files: &[RustFile]) -> BTreeSet<String> {
    files
        .iter()
        .filter(|file| !file.is_test() && file.path.iter().any(|part| part == "src"))
        .filter(|file| file.text.lines().count() > LINES_MAX)
        .filter(|file| header_lines(&file.text) < HEADER_LINES_MIN)
        .map(|file| file.path.display().to_string())
        .collect()
}

/// The lines with text in the comment at the beginning of a module.
fn header_lines(text: &str) -> usize {
    text.lines()
        .map_while(|line| line.strip_prefix("//!"))
        .filter(|line| !line.trim().is_empty())
        .count()
}

fn parse(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

fn render(paths: &BTreeSet<String>) -> String {
    let mut out = format!(
        "# Modules of more than {LINES_MAX} lines with a header of less than {HEADER_LINES_MIN}; the list may only \
         shrink.\n"
    );
    for path in paths {
        out.push_str(path);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, header: &str, lines: usize) -> RustFile {
        RustFile {
            path: PathBuf::from(path),
            text: format!("{header}{}", "fn f() {}\n".repeat(lines)),
            code: String::new(),
        }
    }

    #[test]
    fn empty_lines_of_a_header_do_not_count() {
        assert_eq!(header_lines("//! One.\n//!\n\nuse a;\n//! Two.\n"), 1);
        assert_eq!(header_lines("//! One.\n//!\n//! Two.\nuse a;\n"), 2);
        assert_eq!(header_lines("use a;\n//! One.\n"), 0);
    }

    #[test]
    fn long_modules_of_sources_need_one() {
        let files = [
            module("crates/a/src/short.rs", "", LINES_MAX),
            module("crates/a/src/long.rs", "//! One.\n", LINES_MAX),
            module("crates/a/src/owner.rs", "//! One.\n//! Two.\n", LINES_MAX),
            module("crates/a/src/tests.rs", "", LINES_MAX + 1),
            module("crates/a/examples/long.rs", "", LINES_MAX + 1),
        ];
        let found = without_header(&files);
        assert_eq!(found, BTreeSet::from(["crates/a/src/long.rs".to_owned()]));
    }

    #[test]
    fn the_list_reads_back() {
        let paths = BTreeSet::from(["a.rs".to_owned(), "b.rs".to_owned()]);
        assert_eq!(parse(&render(&paths)), paths);
    }
}
