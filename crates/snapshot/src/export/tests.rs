//! Tests of exports. A small reader of Chrome's format, made from its description alone, checks
//! each column and follows each edge.

use serde_json::Value;

use super::*;
use crate::analysis::tests::cache;
use crate::analysis::{Analysis, Identities, identities};
use crate::heap::Series;
use crate::heap::tests::small_file;

/// A node as Chrome's format has it.
#[derive(Debug)]
struct Node {
    kind: String,
    name: String,
    id: u64,
    size: u64,
    /// Kind, name or index, and target.
    edges: Vec<(String, String, usize)>,
}

/// Reads Chrome's format; panics where it is not right.
fn read_chrome(text: &[u8]) -> Vec<Node> {
    let value: Value = serde_json::from_slice(text).unwrap();
    let meta = &value["snapshot"]["meta"];
    let names = |key: &str| -> Vec<String> {
        let all = meta[key].as_array().unwrap();
        all.iter()
            .map(|one| one.as_str().unwrap_or("").to_owned())
            .collect()
    };
    let kinds = |key: &str| -> Vec<String> {
        let all = meta[key][0].as_array().unwrap();
        all.iter()
            .map(|one| one.as_str().unwrap().to_owned())
            .collect()
    };
    let numbers = |key: &str| -> Vec<usize> {
        let all = value[key].as_array().unwrap();
        all.iter()
            .map(|one| one.as_u64().unwrap() as usize)
            .collect()
    };
    let string = |number: usize| value["strings"][number].as_str().unwrap().to_owned();
    let (fields, edge_fields) = (names("node_fields"), names("edge_fields"));
    let (kinds_of_nodes, kinds_of_edges) = (kinds("node_types"), kinds("edge_types"));
    let at = |fields: &[String], name: &str| fields.iter().position(|one| one == name).unwrap();
    let (nodes, edges) = (numbers("nodes"), numbers("edges"));
    assert_eq!(
        nodes.len() as u64,
        value["snapshot"]["node_count"].as_u64().unwrap() * fields.len() as u64
    );
    assert_eq!(
        edges.len() as u64,
        value["snapshot"]["edge_count"].as_u64().unwrap() * edge_fields.len() as u64
    );
    let mut rest = edges.chunks(edge_fields.len());
    let mut found = Vec::new();
    for node in nodes.chunks(fields.len()) {
        let mut of_node = Vec::new();
        for _ in 0..node[at(&fields, "edge_count")] {
            let edge = rest.next().unwrap();
            let kind = kinds_of_edges[edge[at(&edge_fields, "type")]].clone();
            let name = edge[at(&edge_fields, "name_or_index")];
            let name = match kind.as_str() {
                "element" | "hidden" => format!("[{name}]"),
                _ => string(name),
            };
            let target = edge[at(&edge_fields, "to_node")];
            assert!(target.is_multiple_of(fields.len()) && target < nodes.len());
            of_node.push((kind, name, target / fields.len()));
        }
        found.push(Node {
            kind: kinds_of_nodes[node[at(&fields, "type")]].clone(),
            name: string(node[at(&fields, "name")]),
            id: node[at(&fields, "id")] as u64,
            size: node[at(&fields, "self_size")] as u64,
            edges: of_node,
        });
    }
    assert!(rest.next().is_none());
    found
}

#[test]
fn chrome_gets_nodes_and_edges_with_names() {
    let analysis = Analysis::new(cache(3).heap().0);
    let mut text = Vec::new();
    chrome(&analysis, &mut text).unwrap();
    let nodes = read_chrome(&text);
    let heap = analysis.heap();
    assert_eq!(nodes.len(), heap.len());
    for (node, found) in heap.nodes().zip(&nodes) {
        assert_eq!(
            (found.size, found.id),
            (heap.size(node), u64::from(node) * 2 + 1)
        );
        let targets: Vec<u32> = found.edges.iter().map(|edge| edge.2 as u32).collect();
        assert_eq!(targets, heap.targets(node));
    }
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(
        names[..4],
        ["the roots", "globals of (app)", "hash-table", "vector"]
    );
    assert_eq!(
        (nodes[0].kind.as_str(), nodes[2].kind.as_str()),
        ("synthetic", "object")
    );
    assert_eq!(
        nodes[1].edges[0],
        ("property".to_owned(), "cache".to_owned(), 2)
    );
    assert_eq!(
        nodes[3].edges[0],
        ("element".to_owned(), "[7]".to_owned(), 4)
    );
}

#[test]
fn chrome_gets_texts_and_weak_edges() {
    let heap = Series::from_bytes(small_file())
        .unwrap()
        .snapshot(0)
        .unwrap();
    let mut text = Vec::new();
    chrome(&Analysis::new(heap), &mut text).unwrap();
    let nodes = read_chrome(&text);
    let weak = nodes[2].edges.iter().filter(|edge| edge.0 == "weak");
    assert_eq!(weak.count(), 1);
}

#[test]
fn chrome_gets_ids_that_stay_the_same() {
    let series = Series::from_bytes(small_file()).unwrap();
    let mut found = identities(&series, &[0, 1]).unwrap().into_iter();
    let ids = |index: usize, identities: Identities| {
        let analysis = Analysis::new(series.snapshot(index).unwrap());
        analysis.set_identities(identities);
        let mut text = Vec::new();
        chrome(&analysis, &mut text).unwrap();
        read_chrome(&text)
            .iter()
            .map(|node| node.id)
            .collect::<Vec<u64>>()
    };
    let before = ids(0, found.next().unwrap());
    let after = ids(1, found.next().unwrap());
    // Addresses 100 and 200 and so on; those at 200 to 207 are new, 300 and 400 came from nowhere.
    let same = before.iter().filter(|id| after.contains(id)).count();
    assert_eq!((before.len(), same), (5, 2), "{before:?} {after:?}");
}

#[test]
fn json_lines_have_all_that_is_known() {
    let heap = Series::from_bytes(small_file())
        .unwrap()
        .snapshot(1)
        .unwrap();
    let analysis = Analysis::new(heap);
    let mut text = Vec::new();
    json_lines(&analysis, true, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["snapshot"], &lines[0]["nodes"]),
        (&2.into(), &5.into())
    );
    assert_eq!(lines.len(), 1 + 3 + 5);
    let node = &lines[4 + 2];
    assert_eq!(
        (&node["text"], &node["characters"]),
        (&"some text".into(), &40.into())
    );
    assert_eq!((&node["used"], &node["room"]), (&5.into(), &50.into()));
    assert_eq!(node["weak"], serde_json::json!([[4, 1]]));
    assert_eq!(lines[4]["retained"], analysis.dominators().retained(0));
}
