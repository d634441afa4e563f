//! Checks that features that Canny does not have are listed in one place, `docs/missing.md`.
//!
//! Pages deny features that exist, because somebody built one and did not know all pages that
//! denied it. So a section about missing features links to the list, and no other line says that
//! there is nothing yet.

use std::path::Path;

use super::{Complaint, relative};
use crate::workspace;

/// Headings of sections about missing features.
const HEADINGS: &[&str] = &["## Not there", "## Missing features"];

/// Words of a line that denies something.
const DENIALS: &[&str] = &[
    "none yet",
    "not there yet",
    "not implemented",
    "not supported yet",
];

const LIST: &str = "missing.md";

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for path in workspace::files(root, "md") {
        let name = relative(root, &path);
        // Plans and history may be told there.
        if name.ends_with(LIST) || name.ends_with("plan.md") || name.ends_with("CHANGELOG.md") {
            continue;
        }
        let text = workspace::read(&path)?;
        complaints.extend(denials(&text).into_iter().map(|(line, message)| Complaint {
            path: name.clone(),
            line: Some(line),
            message,
        }));
    }
    Ok(complaints)
}

/// Lines of a page that should link to the list, and why.
fn denials(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut section = None;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            found.extend(section.take());
        }
        if HEADINGS.contains(&line) {
            section = Some((index + 1, format!("a section about that links to {LIST}")));
        }
        let has_link = line.contains(LIST);
        if has_link {
            section = None;
        }
        let denial = DENIALS.iter().find(|denial| line.contains(*denial));
        if let Some(denial) = denial.filter(|_| !has_link) {
            found.push((index + 1, format!("\"{denial}\" is said in {LIST} only")));
        }
    }
    found.extend(section);
    found
}

#[cfg(test)]
mod tests {
    use super::denials;

    #[test]
    fn sections_and_lines_link_to_the_list() {
        let good =
            "# Page\n\n## Not there\n\n[The list](../missing.md).\n\n## More\n\nnone at all\n";
        assert_eq!(denials(good), []);
        let bad =
            "## Not there\n\nThreads.\n\n## More\n\n| fibers | none yet |\n\n## Missing features\n";
        let lines: Vec<usize> = denials(bad).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 7, 9]);
    }
}
