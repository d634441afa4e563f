//! Checks what must not be in the tree: unsafe code outside of its crates, locks of the standard
//! library, unfinished code, paths of one machine.
//!
//! The crates that may have unsafe code are listed here; all others forbid it at their root.
//! Comments and literals do not count as code. Every example must have an expected output.

use std::path::{Path, PathBuf};

use super::rust_source::words;
use super::{Complaint, RustFile, line_of, relative};
use crate::workspace;

/// The crates that may contain unsafe code; every other root forbids it.
const UNSAFE_CRATES: &[&str] = &[
    "value", "heap", "llint", "jit", "vm", "io", "sqlite", "wasm",
];

/// Unfinished or debugging code, and tests that are switched off.
const NEVER: &[&str] = &["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// Beginnings of paths that exist on one machine only, in two parts so as not to find themselves.
const ABSOLUTE: &[(&str, &str)] = &[
    ("/wor", "k/"),
    ("/hom", "e/"),
    ("/roo", "t/"),
    ("/User", "s/"),
];

/// The locks of the standard library, in place of which there is `crates/locks`.
const LOCKS: &[&str] = &["Mutex", "RwLock", "Condvar", "PoisonError"];

pub fn check(root: &Path, files: &[RustFile]) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for file in files {
        complaints.extend(check_rust(file));
    }
    for extension in ["rs", "md", "scm", "sld", "toml", "txt", "lua"] {
        for path in workspace::files(root, extension) {
            let text = workspace::read(&path)?;
            for (index, line) in text.lines().enumerate() {
                if let Some(found) = absolute_path(line) {
                    complaints.push(Complaint {
                        path: relative(root, &path),
                        line: Some(index + 1),
                        message: format!("{found} exists on one machine only"),
                    });
                }
            }
        }
    }
    complaints.extend(examples(root)?);
    Ok(complaints)
}

fn check_rust(file: &RustFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |offset: Option<usize>, message: String| {
        complaints.push(Complaint {
            path: file.path.clone(),
            line: offset.map(|offset| line_of(&file.text, offset)),
            message,
        });
    };
    for word in NEVER {
        for (offset, _) in file.code.match_indices(word) {
            let part_of_word = offset > 0
                && file.code.as_bytes()[offset - 1].is_ascii_alphanumeric()
                && !word.starts_with('#');
            if !part_of_word {
                complain(Some(offset), format!("`{word}` is not committed"));
            }
        }
    }
    for offset in standard_locks(file) {
        complain(
            Some(offset),
            "locks are those of `crates/locks`, which ignore poisoning".to_owned(),
        );
    }
    if UNSAFE_CRATES.contains(&file.crate_name()) {
        return complaints;
    }
    for offset in words(&file.code, "unsafe") {
        let message = format!("the crate `{}` has no unsafe code", file.crate_name());
        complain(Some(offset), message);
    }
    let is_crate_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    if is_crate_root && !file.code.contains("#![forbid(unsafe_code)]") {
        complain(None, "the root says #![forbid(unsafe_code)]".to_owned());
    }
    complaints
}

/// Where product code takes a lock from the standard library.
fn standard_locks(file: &RustFile) -> Vec<usize> {
    if file.crate_name() == "locks" || file.is_test() {
        return Vec::new();
    }
    let takes_lock = |rest: &str| {
        let end = if rest.starts_with('{') {
            rest.find('}')
        } else {
            rest.find(|character: char| !character.is_alphanumeric())
        };
        let names = &rest[..end.unwrap_or(rest.len())];
        LOCKS.iter().any(|lock| words(names, lock).next().is_some())
    };
    let path = "std::sync::";
    file.code
        .match_indices(path)
        .filter(|(offset, _)| takes_lock(&file.code[offset + path.len()..]))
        .map(|(offset, _)| offset)
        .collect()
}

fn absolute_path(line: &str) -> Option<String> {
    ABSOLUTE.iter().find_map(|(first, second)| {
        let prefix = format!("{first}{second}");
        let offset = line.find(&prefix)?;
        // Part of a longer path or of a URL.
        let before = line[..offset].chars().next_back();
        let standalone = before
            .is_none_or(|character| !character.is_alphanumeric() && !".-_*/".contains(character));
        standalone.then_some(prefix)
    })
}

/// Every example has its expected output.
fn examples(root: &Path) -> Result<Vec<Complaint>, String> {
    let directory = root.join("examples");
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut complaints = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "scm") {
            continue;
        }
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let expected = PathBuf::from("examples/expected").join(format!("{name}.txt"));
        if !root.join(&expected).exists() {
            complaints.push(Complaint {
                path: relative(root, &path),
                line: None,
                message: format!("its expected output {} is missing", expected.display()),
            });
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::without_comments_and_literals;

    fn complaints(path: &str, text: &str) -> usize {
        let file = RustFile {
            path: PathBuf::from(path),
            text: text.to_owned(),
            code: without_comments_and_literals(text),
        };
        check_rust(&file).len()
    }

    #[test]
    fn unsafe_code_stands_in_few_crates() {
        assert_eq!(complaints("crates/heap/src/a.rs", "unsafe { f() }"), 0);
        assert_eq!(complaints("crates/io/src/a.rs", "// unsafe"), 0);
        assert_eq!(complaints("crates/syntax/src/a.rs", "unsafe { f() }"), 1);
        assert_eq!(complaints("crates/syntax/src/a.rs", "\"unsafe\""), 0);
        assert_eq!(complaints("crates/syntax/src/lib.rs", "mod a;"), 1);
    }

    #[test]
    fn locks_of_the_standard_library_are_found() {
        let import = "use std::sync::{Arc, Mutex};";
        assert_eq!(complaints("crates/heap/src/a.rs", import), 1);
        assert_eq!(complaints("crates/locks/src/a.rs", import), 0);
        assert_eq!(complaints("crates/heap/src/tests.rs", import), 0);
        let path = "fn f(lock: &std::sync::RwLock<u8>) {}";
        assert_eq!(complaints("crates/heap/src/a.rs", path), 1);
        let others = "use std::sync::{Arc, OnceLock}; use canny_locks::Mutex;";
        assert_eq!(complaints("crates/heap/src/a.rs", others), 0);
    }

    #[test]
    fn unfinished_code_is_found() {
        let text = concat!("to", "do!(); d", "bg!(x); // todo");
        assert_eq!(complaints("crates/heap/src/a.rs", text), 2);
    }

    #[test]
    fn absolute_paths_are_found() {
        let path = concat!("cd /hom", "e/someone");
        assert!(absolute_path(path).is_some());
        assert!(absolute_path(concat!("a/hom", "e/b")).is_none());
    }
}
