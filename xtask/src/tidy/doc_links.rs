//! Links and paths in documents lead somewhere.
//!
//! Checked are the targets of relative links, and every code span that is a path below one of the
//! project's directories. A span with a placeholder (`NAME`, `NUMBER`, `*`, `<…>`, `…`) is not a path.

use std::path::Path;

use super::{Complaint, relative};
use crate::workspace;

const DIRECTORIES: &[&str] = &[
    "crates/",
    "docs/",
    "xtask/",
    "lib/",
    "tests/",
    "examples/",
    "benches/",
    ".ci/",
];

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    for path in workspace::files(root, "md") {
        let text = workspace::read(&path)?;
        let directory = path.parent().unwrap_or(root);
        for (index, line) in lines_outside_of_fences(&text) {
            let mut complain = |message: String| {
                complaints.push(Complaint {
                    path: relative(root, &path),
                    line: Some(index + 1),
                    message,
                });
            };
            for target in link_targets(line) {
                if !directory.join(target).exists() {
                    complain(format!("the link to {target} leads nowhere"));
                }
            }
            for span in code_spans(line).filter(|span| is_path(span)) {
                if !root.join(span).exists() {
                    complain(format!("there is no {span}"));
                }
            }
        }
    }
    Ok(complaints)
}

fn lines_outside_of_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !fence && !inside
    })
}

/// Relative targets of `[text](target)`, without the part after `#`.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(offset, _)| {
        let rest = &line[offset + 2..];
        let target = rest[..rest.find(')')?]
            .split('#')
            .next()
            .unwrap_or_default();
        let outside = target.contains("://") || target.starts_with("mailto:");
        (!target.is_empty() && !outside).then_some(target)
    })
}

fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(span: &str) -> bool {
    DIRECTORIES
        .iter()
        .any(|directory| span.starts_with(directory))
        && span
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "./-_+".contains(character))
        && !span.contains("NAME")
        && !span.contains("NUMBER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_found() {
        let line =
            "see [a](docs/a.md#part), [b](https://x.org/y) and `crates/vm/src` or `crates/*/src`";
        assert_eq!(link_targets(line).collect::<Vec<_>>(), ["docs/a.md"]);
        let paths: Vec<_> = code_spans(line).filter(|span| is_path(span)).collect();
        assert_eq!(paths, ["crates/vm/src"]);
    }

    #[test]
    fn fenced_text_is_left_alone() {
        let text = "a\n```\nb\n```\nc";
        let lines: Vec<_> = lines_outside_of_fences(text)
            .map(|(_, line)| line)
            .collect();
        assert_eq!(lines, ["a", "c"]);
    }
}
