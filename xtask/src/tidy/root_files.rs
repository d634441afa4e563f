//! The root has no files beside those that belong there: programs and suites that are run by hand leave
//! theirs behind.

use std::path::Path;

use super::Complaint;

const KNOWN: &[&str] = &[
    ".gitattributes",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
];

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", root.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(complaints(names))
}

fn complaints(names: Vec<String>) -> Vec<Complaint> {
    let strange = |name: &String| !KNOWN.contains(&name.as_str()) && name != ".git";
    let mut names: Vec<String> = names.into_iter().filter(strange).collect();
    names.sort();
    let complaint = |name: String| Complaint {
        path: name.into(),
        line: None,
        message: "does not belong at the root; expected it in a directory, or gone".to_owned(),
    };
    names.into_iter().map(complaint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_suite_leaves_is_found() {
        let names = ["README.md", "b.txt", ".git", "a.bin"].map(str::to_owned);
        let found = complaints(names.to_vec());
        let paths: Vec<&Path> = found.iter().map(|found| found.path.as_path()).collect();
        assert_eq!(paths, [Path::new("a.bin"), Path::new("b.txt")]);
    }
}
