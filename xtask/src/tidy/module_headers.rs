//! Modules say what they own: one of more than [`LINES_MAX`] lines has a header of two lines or more.
//!
//! There are no exceptions. Tests need no header, nor do programs beside the sources (`examples`,
//! `build.rs`). Empty lines of a header do not count.

use std::path::PathBuf;

use super::{Complaint, RustFile};

/// Longer modules need a header.
const LINES_MAX: usize = 80;
const HEADER_LINES_MIN: usize = 2;

pub fn check(files: &[RustFile]) -> Vec<Complaint> {
    let complaint = |path: PathBuf| Complaint {
        path,
        line: Some(1),
        message: format!(
            "a module of more than {LINES_MAX} lines says in {HEADER_LINES_MIN} lines or more what it owns"
        ),
    };
    without_header(files).into_iter().map(complaint).collect()
}

/// The paths of long modules whose header is too short.
fn without_header(files: &[RustFile]) -> Vec<PathBuf> {
    files
        .iter()
        .filter(|file| !file.is_test() && file.path.iter().any(|part| part == "src"))
        .filter(|file| file.text.lines().count() > LINES_MAX)
        .filter(|file| header_lines(&file.text) < HEADER_LINES_MIN)
        .map(|file| file.path.clone())
        .collect()
}

/// The lines with text in the comment at the beginning of a module.
fn header_lines(text: &str) -> usize {
    text.lines()
        .map_while(|line| line.strip_prefix("//!"))
        .filter(|line| !line.trim().is_empty())
        .count()
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
        assert_eq!(
            without_header(&files),
            [PathBuf::from("crates/a/src/long.rs")]
        );
        assert_eq!(check(&files).len(), 1);
    }
}
