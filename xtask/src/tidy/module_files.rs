//! Checks the shape of folders: a module with modules below it is `name/mod.rs`.
//!
//! It also checks that a file declares its modules before anything else, so that its first lines
//! show its parts.

use std::collections::HashSet;
use std::path::Path;

use super::{Complaint, RustFile};

pub fn check(files: &[RustFile]) -> Vec<Complaint> {
    let folders: HashSet<&Path> = files.iter().filter_map(|file| file.path.parent()).collect();
    let beside = files
        .iter()
        .filter(|file| is_module(file) && folders.contains(&*file.path.with_extension("")));
    let beside = beside.map(|file| Complaint {
        path: file.path.clone(),
        line: None,
        message: format!(
            "has modules below it: move it to {}",
            file.path.with_extension("").join("mod.rs").display()
        ),
    });
    beside.chain(files.iter().filter_map(late)).collect()
}

/// Files that `src` owns, and no target of its own among the tests.
fn is_module(file: &RustFile) -> bool {
    file.path.iter().any(|part| part == "src")
}

/// A module that is declared below another item. Sources are laid out by rustfmt, so an item begins at
/// the start of a line.
fn late(file: &RustFile) -> Option<Complaint> {
    let is_item = |line: &str| line.starts_with(|first: char| first.is_alphabetic());
    let lines = file.code.lines().enumerate();
    let items = lines.filter(|(_, line)| is_item(line));
    let (index, _) = items
        .skip_while(|(_, line)| declares(line))
        .find(|(_, line)| declares(line))?;
    Some(Complaint {
        path: file.path.clone(),
        line: Some(index + 1),
        message: "modules are declared at the top of a file".to_owned(),
    })
}

/// `mod name;`, with what says who sees it.
fn declares(line: &str) -> bool {
    let mut words = line.trim_end().split(' ').peekable();
    words.next_if(|word| word.starts_with("pub"));
    words.next() == Some("mod") && words.next().is_some_and(|name| name.ends_with(';'))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<(String, Option<usize>)> {
        let file = |(path, text): &(&str, &str)| RustFile {
            path: PathBuf::from(path),
            text: (*text).to_owned(),
            code: (*text).to_owned(),
        };
        let files: Vec<RustFile> = files.iter().map(file).collect();
        let complaints = check(&files).into_iter();
        complaints
            .map(|complaint| (complaint.path.display().to_string(), complaint.line))
            .collect()
    }

    #[test]
    fn a_module_and_what_is_below_it_share_a_folder() {
        let files = [
            ("crates/a/src/lib.rs", "mod b;\nmod c;\n"),
            ("crates/a/src/b.rs", "mod d;\n"),
            ("crates/a/src/b/d.rs", ""),
            ("crates/a/src/c/mod.rs", "mod e;\n"),
            ("crates/a/src/c/e.rs", ""),
            ("crates/a/tests/t.rs", ""),
            ("crates/a/tests/t/support.rs", ""),
        ];
        assert_eq!(complaints(&files), [("crates/a/src/b.rs".to_owned(), None)]);
    }

    #[test]
    fn modules_are_declared_first() {
        let good = "#![allow(\n    dead_code,\n)]\n\nmod a;\npub(crate) mod b;\n#[cfg(test)]\nmod \
            tests;\n\nuse b::c;\n\nmod inline {\n}\n";
        let bad = "mod a;\n\nuse a::b;\n\npub mod late;\n";
        let files = [("crates/a/src/lib.rs", good), ("xtask/src/main.rs", bad)];
        assert_eq!(
            complaints(&files),
            [("xtask/src/main.rs".to_owned(), Some(5))]
        );
    }
}
