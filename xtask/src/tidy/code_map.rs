//! The code map of ARCHITECTURE.md lists exactly the crates there are.

use std::path::{Path, PathBuf};

use super::Complaint;
use super::layers::crate_names;
use crate::workspace;

const DOCUMENT: &str = "ARCHITECTURE.md";

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let text = workspace::read(&root.join(DOCUMENT))?;
    let listed = listed_crates(&text);
    let existing = crate_names(root)?;
    let complaint = |message: String| Complaint {
        path: PathBuf::from(DOCUMENT),
        line: None,
        message,
    };
    let missing = existing
        .iter()
        .filter(|name| !listed.contains(&name.as_str()))
        .map(|name| complaint(format!("the code map lacks `crates/{name}`")));
    let dead = listed
        .iter()
        .filter(|name| !existing.iter().any(|existing| existing == *name))
        .map(|name| {
            complaint(format!(
                "the code map lists `crates/{name}`, which does not exist"
            ))
        });
    Ok(missing.chain(dead).collect())
}

/// The crates of table rows that start with `` | `crates/NAME` ``.
fn listed_crates(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| `crates/")?.split('`').next())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::listed_crates;

    #[test]
    fn rows_of_the_code_map_are_read() {
        let text = "| crate | owns |\n| `crates/vm` | frames |\n| `crates/io` | bytes |\nother";
        assert_eq!(listed_crates(text), ["vm", "io"]);
    }
}
