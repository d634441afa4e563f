//! Opens the export for Chrome with memlab, a reader of that format that others made.
//!
//! It needs `node` and the package `@memlab/heap-analysis` in the directory `CANNY_SNAPSHOT_NPM`
//! (made by `npm install`); the test is skipped with a message without them, and fails with
//! `CANNY_PROFILE_TOOLS=required`. memlab computes retained sizes itself, so they are compared.

use std::path::Path;
use std::process::Command;

use canny_snapshot::analysis::Analysis;
use canny_snapshot::export;
use canny_snapshot::file::{Info, SnapshotFacts, TypeRow, Writer};
use canny_snapshot::heap::{Heap, Series};

/// Records of two types in a tree with edges across, each with a string.
fn heap() -> Heap {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    let mut row = |family: &str, fields: &[&str]| {
        writer.type_number(&TypeRow {
            family: family.to_owned(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            is_virtual: family == "root",
            ..TypeRow::default()
        })
    };
    let root = row("root", &["globals"]);
    let entry = row("record", &["name", "friend", "left", "right"]);
    let string = row("string", &[]);
    writer.node(root, 0, 1);
    writer.edge_new();
    // Depths of records that are still to come.
    let mut stack = vec![8];
    while let Some(depth) = stack.pop() {
        let is_leaf = depth == 0;
        writer.node(entry, 3, if is_leaf { 2 } else { 4 });
        writer.edge_new();
        let node = writer.node(string, 2, 0);
        let text = format!("name \"{node}\"");
        writer.text(node, text.len() as u64, &text, None);
        writer.edge_to(node * 7 / 11);
        if !is_leaf {
            writer.edge_new();
            stack.extend([depth - 1, depth - 1]);
        } else if !stack.is_empty() {
            writer.edge_new();
        }
    }
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    let series = Series::from_bytes(writer.into_inner()).unwrap();
    series.snapshot(0).unwrap()
}

#[test]
fn memlab_reads_the_export_and_finds_the_same_retained_sizes() {
    let analysis = Analysis::new(heap());
    let heap = analysis.heap();
    assert!(heap.is_whole() && heap.len() > 1000, "{:?}", heap.note());
    let Ok(packages) = std::env::var("CANNY_SNAPSHOT_NPM") else {
        let is_required =
            std::env::var("CANNY_PROFILE_TOOLS").is_ok_and(|value| value == "required");
        assert!(!is_required, "CANNY_SNAPSHOT_NPM is not set");
        eprintln!("skipped: CANNY_SNAPSHOT_NPM is not set");
        return;
    };
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sample.heapsnapshot");
    export::chrome(&analysis, std::fs::File::create(&path).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/memlab.js");
    let output = Command::new("node")
        .arg(script)
        .arg(packages)
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("no result in {text}\n{errors}"));
    let found: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(found["edges"], heap.edges());
    let rows = found["nodes"].as_array().unwrap();
    assert_eq!(rows.len(), heap.len());
    for (node, row) in heap.nodes().zip(rows) {
        assert_eq!(row[0], u64::from(node) * 2 + 1);
        assert_eq!(row[3], heap.size(node));
        assert_eq!(row[5], heap.targets(node).len());
        if !heap.is_virtual(node) {
            assert_eq!(row[4], analysis.dominators().retained(node), "node {node}");
        }
    }
    let name = rows[2][2].as_str().unwrap();
    assert_eq!(
        (rows[2][1].as_str().unwrap(), name),
        ("string", "name \"2\"")
    );
}
