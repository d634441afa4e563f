//! The layer rule: which crates of the project a crate may depend on.
//!
//! The table is in build order and a row names only rows above it, so that the graph has no cycle.
//! `ARCHITECTURE.md` describes the same order. Dependencies of tests count too.

use std::path::{Path, PathBuf};

use super::Complaint;
use crate::workspace;

/// Every crate with the crates it may depend on, in build order. A row names only rows above it.
const LAYERS: &[(&str, &[&str])] = &[
    // Also what xtask makes sites with.
    ("pages", &[]),
    ("report", &[]),
    ("profile", &["report"]),
    ("locks", &[]),
    ("replay", &["locks"]),
    ("snapshot", &["locks", "report"]),
    ("tables", &[]),
    ("number", &[]),
    ("value", &["tables"]),
    ("heap", &["locks", "tables", "value"]),
    ("syntax", &["locks", "replay", "tables", "number"]),
    ("format", &["syntax"]),
    ("packages", &["syntax"]),
    ("documentation", &["tables", "syntax"]),
    // Its build reads the sources of libraries.
    ("reference", &["syntax", "documentation"]),
    ("compiler", &["locks", "tables", "number", "syntax"]),
    ("wasm-meaning", &["tables"]),
    // Runs when canny is built; nothing links it.
    ("llint-generator", &["tables", "wasm-meaning"]),
    ("llint", &["tables"]),
    ("wasm", &["locks", "tables", "wasm-meaning"]),
    ("component", &["locks", "wasm"]),
    ("spesh", &["tables", "compiler"]),
    // Its tests run code under the interpreter.
    ("jit", &["locks", "tables", "compiler", "llint", "spesh"]),
    ("sched", &["locks", "replay"]),
    (
        "vm",
        &[
            "locks", "replay", "tables", "number", "value", "heap", "syntax", "compiler", "llint",
            "spesh", "jit", "sched", "profile", "snapshot",
        ],
    ),
    ("io", &["locks", "replay", "sched"]),
    ("tls", &["locks", "sched", "io"]),
    ("formats", &["io"]),
    (
        "http",
        &["locks", "replay", "sched", "io", "tls", "formats"],
    ),
    ("wasi", &["locks", "io", "sched", "wasm", "component"]),
    ("sqlite", &["locks", "replay"]),
    ("secrets", &["replay"]),
    (
        // Its tests read logs of the specializer.
        "lib",
        &[
            "locks",
            "replay",
            "tables",
            "number",
            "value",
            "heap",
            "syntax",
            "compiler",
            "spesh",
            "vm",
            "sched",
            "io",
            "tls",
            "formats",
            "http",
            "sqlite",
            "secrets",
            "profile",
            "snapshot",
            "wasm",
            "component",
            "wasi",
        ],
    ),
    ("messages", &[]),
    (
        "dap",
        &[
            "locks", "replay", "tables", "value", "messages", "formats", "vm", "lib",
        ],
    ),
    (
        "lsp",
        &[
            "locks",
            "messages",
            "tables",
            "syntax",
            "format",
            "documentation",
            "reference",
            "lib",
        ],
    ),
    (
        "cli",
        &[
            "locks",
            "replay",
            "tables",
            "number",
            "value",
            "heap",
            "syntax",
            "format",
            "packages",
            "documentation",
            "pages",
            "reference",
            "compiler",
            "vm",
            "io",
            "lib",
            "lsp",
            "dap",
            // For the client in its tests.
            "messages",
            "report",
            "profile",
            "snapshot",
            "wasm",
            "component",
            "wasi",
        ],
    ),
];

/// Dependencies that stand in `[build-dependencies]` only.
const BUILD_ONLY: &[(&str, &str)] = &[("llint", "llint-generator"), ("wasm", "llint-generator")];

/// A dependency on a crate of the project: where, in which section, on what.
struct Edge {
    line: usize,
    section: String,
    target: String,
}

pub fn check(root: &Path) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    let mut found = Vec::new();
    for name in crate_names(root)? {
        let path = PathBuf::from("crates").join(&name).join("Cargo.toml");
        let manifest = workspace::read(&root.join(&path))?;
        complaints.extend(
            check_manifest(&name, &manifest)
                .into_iter()
                .map(|(line, message)| Complaint {
                    path: path.clone(),
                    line,
                    message,
                }),
        );
        found.push(name);
    }
    for (name, _) in LAYERS {
        if !found.iter().any(|found| found == name) {
            complaints.push(Complaint {
                path: PathBuf::from("crates").join(name),
                line: None,
                message: "the layer table has a crate that does not exist".to_owned(),
            });
        }
    }
    Ok(complaints)
}

/// The directories below `crates/`, sorted.
pub fn crate_names(root: &Path) -> Result<Vec<String>, String> {
    let directory = root.join("crates");
    let entries = std::fs::read_dir(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

fn check_manifest(name: &str, manifest: &str) -> Vec<(Option<usize>, String)> {
    let Some((_, allowed)) = LAYERS.iter().find(|(known, _)| *known == name) else {
        return vec![(
            None,
            format!("the layer table does not know the crate `{name}`"),
        )];
    };
    edges(manifest)
        .into_iter()
        .filter(|edge| {
            let target = edge.target.as_str();
            let build = edge.section == "build-dependencies";
            !(allowed.contains(&target) || build && BUILD_ONLY.contains(&(name, target)))
        })
        .map(|edge| {
            (
                Some(edge.line),
                format!(
                    "the layer rule does not let `{name}` depend on `{}`",
                    edge.target
                ),
            )
        })
        .collect()
}

fn edges(manifest: &str) -> Vec<Edge> {
    let mut section = String::new();
    let mut edges = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_owned();
        } else if section.ends_with("dependencies")
            && let Some(rest) = line.strip_prefix("canny-")
        {
            let end = rest.find(['.', ' ', '=']).unwrap_or(rest.len());
            let target = rest[..end].to_owned();
            edges.push(Edge {
                line: index + 1,
                section: section.clone(),
                target,
            });
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_only_rows_above_it() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            for target in *allowed {
                let position = LAYERS.iter().position(|(known, _)| known == target);
                assert!(
                    position.is_some_and(|position| position < index),
                    "{name} → {target}"
                );
            }
        }
    }

    #[test]
    fn edges_that_break_the_rule_are_found() {
        let manifest = "[dependencies]\ncanny-tables.workspace = true\ncanny-vm.workspace = true\n";
        let complaints = check_manifest("heap", manifest);
        assert_eq!(complaints.len(), 1);
        assert_eq!(complaints[0].0, Some(3));
    }

    #[test]
    fn the_generator_is_a_build_dependency_only() {
        let built = "[build-dependencies]\ncanny-llint-generator.workspace = true\n";
        let linked = "[dependencies]\ncanny-llint-generator.workspace = true\n";
        assert!(check_manifest("llint", built).is_empty());
        assert_eq!(check_manifest("llint", linked).len(), 1);
    }
}
