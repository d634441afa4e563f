//! Checks that every Rust file is a crate root or a module of one.
//!
//! It follows `mod` declarations and `#[path]` in the text, as rustc does. A file that nothing
//! declares is never compiled, and would rot unseen.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use super::rust_source::words;
use super::{Complaint, RustFile};

pub fn check(files: &[RustFile]) -> Vec<Complaint> {
    let mut reached: HashSet<PathBuf> = HashSet::new();
    let mut pending: Vec<PathBuf> = files
        .iter()
        .map(|file| file.path.clone())
        .filter(|path| is_root(path))
        .collect();
    while let Some(path) = pending.pop() {
        if !reached.insert(path.clone()) {
            continue;
        }
        if let Some(file) = files.iter().find(|file| file.path == path) {
            pending.extend(modules(file));
        }
    }
    files
        .iter()
        .filter(|file| !reached.contains(&file.path))
        .map(|file| Complaint {
            path: file.path.clone(),
            line: None,
            message: "no crate has this file as a module".to_owned(),
        })
        .collect()
}

/// Whether cargo takes a path as the root of a target by convention.
fn is_root(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
    let grandparent = path
        .parent()
        .and_then(Path::parent)
        .and_then(Path::file_name);
    match parent.to_str() {
        Some("src") => name == "lib.rs" || name == "main.rs",
        Some("bin") => grandparent.is_some_and(|name| name == "src"),
        // `tests` below `src` is a module directory.
        Some("tests" | "examples" | "benches") => {
            grandparent.is_some_and(|name| name != "src") && path.iter().all(|part| part != "src")
        }
        _ => name == "build.rs",
    }
}

/// The files that the `mod name;` declarations of a file may mean.
fn modules(file: &RustFile) -> Vec<PathBuf> {
    let directory = file.path.parent().unwrap_or(Path::new(""));
    let stem = file.path.file_stem().unwrap_or_default();
    let owns_directory = is_root(&file.path) || stem == "mod";
    let base = if owns_directory {
        directory.to_path_buf()
    } else {
        directory.join(stem)
    };
    let mut found = Vec::new();
    for offset in words(&file.code, "mod") {
        let rest = file.code[offset + 3..].trim_start();
        let end = rest
            .find(|character: char| !character.is_alphanumeric() && character != '_')
            .unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() || !rest[end..].trim_start().starts_with(';') {
            continue;
        }
        match path_attribute(&file.text[..offset]) {
            Some(path) => found.push(normalized(&directory.join(path))),
            None => {
                found.push(base.join(format!("{name}.rs")));
                found.push(base.join(name).join("mod.rs"));
            }
        }
    }
    found
}

/// The value of a `#[path = "…"]` that stands directly before a declaration.
fn path_attribute(before: &str) -> Option<&str> {
    let before = before.trim_end();
    let before = before.strip_suffix("pub").map_or(before, str::trim_end);
    let attribute = &before[before.rfind("#[")?..];
    let value = attribute.strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
    Some(value)
}

/// The path without `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::without_comments_and_literals;

    fn file(path: &str, text: &str) -> RustFile {
        RustFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
            code: without_comments_and_literals(text),
        }
    }

    #[test]
    fn a_file_that_no_module_names_is_dead() {
        let files = [
            file(
                "crates/a/src/lib.rs",
                "mod b;\n#[path = \"other/c.rs\"]\nmod c;\n// mod dead;",
            ),
            file("crates/a/src/b.rs", "pub mod d;"),
            file("crates/a/src/b/d.rs", ""),
            file("crates/a/src/other/c.rs", ""),
            file("crates/a/src/dead.rs", ""),
            file("crates/a/tests/t.rs", "mod support;"),
            file("crates/a/tests/support/mod.rs", ""),
            file("crates/a/build.rs", ""),
        ];
        let dead: Vec<_> = check(&files)
            .into_iter()
            .map(|complaint| complaint.path)
            .collect();
        assert_eq!(dead, [PathBuf::from("crates/a/src/dead.rs")]);
    }
}
