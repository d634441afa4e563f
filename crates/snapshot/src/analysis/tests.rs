//! Tests of analysis on random graphs, against naive computations, and on small heaps by hand.
//!
//! The naive dominators of a node are those nodes without which it cannot be reached.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::file::{Fact, Info, SnapshotFacts, Writer};
use crate::heap::tests::{Model, models, row};
use crate::heap::{Heap, ROOT, Series};

fn analysis(model: &Model) -> Analysis {
    Analysis::new(model.heap().0)
}

/// The nodes that are reached from the root without one.
fn reached(heap: &Heap, without: Option<u32>) -> HashSet<u32> {
    let mut found = HashSet::new();
    let mut stack = vec![ROOT];
    while let Some(node) = stack.pop() {
        if Some(node) != without && found.insert(node) {
            stack.extend_from_slice(heap.targets(node));
        }
    }
    found
}

fn check_retained(model: &Model) {
    let analysis = analysis(model);
    let heap = analysis.heap();
    let dominators = analysis.dominators();
    let mut retained_by_type = vec![0; heap.types().len()];
    for above in heap.nodes() {
        let without = reached(heap, Some(above));
        let lost: Vec<u32> = heap
            .nodes()
            .filter(|node| !without.contains(node))
            .collect();
        let bytes: u64 = lost.iter().map(|node| heap.size(*node)).sum();
        assert_eq!(dominators.retained(above), bytes, "node {above}");
        for node in heap.nodes() {
            assert_eq!(dominators.dominates(above, node), lost.contains(&node));
        }
        let kind = heap.type_number(above);
        let has_same_above = heap.nodes().any(|other| {
            other != above && heap.type_number(other) == kind && dominators.dominates(other, above)
        });
        if !has_same_above && !heap.is_virtual(above) {
            retained_by_type[kind as usize] += bytes;
        }
        let children: Vec<u32> = heap
            .nodes()
            .filter(|node| dominators.idom(*node) == Some(above))
            .collect();
        assert_eq!(dominators.children(above), children);
    }
    for row in analysis.table(Grouping::Type, Column::Bytes) {
        let number = row.type_number.unwrap();
        assert_eq!(row.retained, retained_by_type[number as usize]);
        let nodes = heap
            .nodes()
            .filter(|node| heap.type_number(*node) == number);
        let sizes: Vec<u64> = nodes.map(|node| heap.size(node)).collect();
        assert_eq!(
            (row.objects, row.bytes),
            (sizes.len() as u64, sizes.iter().sum())
        );
    }
}

fn check_paths(model: &Model) {
    let analysis = analysis(model);
    let heap = analysis.heap();
    for node in heap.nodes() {
        let paths = analysis.paths(node, 5);
        let lengths: Vec<usize> = paths.iter().map(Vec::len).collect();
        assert!(lengths.is_sorted());
        assert_eq!(lengths[0], analysis.distances().of(node) as usize + 1);
        let different: HashSet<_> = paths.iter().collect();
        assert_eq!(different.len(), paths.len());
        for path in &paths {
            assert_eq!((path[0], path[path.len() - 1]), (ROOT, node));
            assert!(
                path.windows(2)
                    .all(|pair| heap.targets(pair[0]).contains(&pair[1]))
            );
            let nodes: HashSet<_> = path.iter().collect();
            assert_eq!(nodes.len(), path.len(), "a path is no circle");
        }
        assert!(!analysis.why_alive(node).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn retained_sizes_are_those_of_a_naive_computation(model in models(30)) {
        check_retained(&model);
    }

    #[test]
    fn paths_are_paths_and_the_shortest_first(model in models(20)) {
        check_paths(&model);
    }
}

#[test]
fn a_node_with_two_holders_has_two_paths() {
    let model = Model::new(&[1; 4], &[(0, 0, 1), (0, 0, 2), (1, 0, 3), (2, 0, 3)]);
    let analysis = analysis(&model);
    let node = analysis
        .heap()
        .nodes()
        .find(|node| analysis.heap().incoming().of(*node).len() == 2);
    assert_eq!(analysis.paths(node.unwrap(), 5).len(), 2);
    assert_eq!(analysis.dominators().idom(node.unwrap()), Some(ROOT));
}

/// A cache that never forgets: globals, a table, a vector, a list of entries with strings.
pub(crate) fn cache(entries: u32) -> Model {
    let mut model = Model {
        types: vec![
            row("root", "the roots", &["globals of (app)"]),
            row("root", "globals of (app)", &["cache", "other"]),
            row("hash-table", "", &["buckets", "count"]),
            row("vector", "", &[]),
            row("pair", "", &["car", "cdr"]),
            row("record", "entry", &["key", "value"]),
            row("string", "", &[]),
        ],
        nodes: vec![(0, 0), (1, 0), (2, 3), (3, 5)],
        edges: vec![vec![(0, 1)], vec![(0, 2)], vec![(0, 3)], vec![(7, 4)]],
    };
    for number in 0..entries {
        let pair = model.nodes.len() as u32;
        model.nodes.extend([(4, 1), (5, 2), (6, 3)]);
        let mut edges = vec![(0, pair + 1)];
        if number + 1 < entries {
            edges.push((1, pair + 3));
        }
        model.edges.extend([edges, vec![(1, pair + 2)], vec![]]);
    }
    model
}

#[test]
fn a_sentence_says_why_an_object_is_alive() {
    let (heap, order) = cache(4).heap();
    let analysis = Analysis::new(heap);
    let node_of = |of_model: u32| order.iter().position(|one| *one == of_model).unwrap() as u32;
    assert_eq!(
        analysis.why_alive(node_of(6)),
        "The string is alive because globals of (app) holds hash-table (by `cache`), which holds \
         vector (by `buckets`), which holds pair (by element 7), which holds record entry (by \
         `car`), which holds it by `value`. All paths lead through record entry; without it, \
         80 B would be free."
    );
    let lines = analysis.path_lines(&analysis.distances().shortest(node_of(14)));
    assert_eq!(lines[4], "[7] → pair");
    assert_eq!(lines[5], "cdr ×3 → pair");
    assert_eq!(
        analysis.why_alive(ROOT),
        "The roots are where all paths begin."
    );
}

#[test]
fn queries_find_pages_of_objects() {
    let analysis = Analysis::new(cache(10).heap().0);
    let query =
        |predicate, key, first, count| analysis.query(&predicate, key, first, count).unwrap();
    let entries = Predicate::Type("entry".to_owned());
    let page = query(entries.clone(), SortKey::Distance, 0, 3);
    assert_eq!((page.nodes.len(), page.count, page.bytes), (3, 10, 320));
    assert!(page.nodes.is_sorted());
    let rest = query(entries.clone(), SortKey::Distance, 9, 3);
    assert_eq!(rest.nodes.len(), 1);
    assert!(
        query(entries.clone(), SortKey::Size, 20, 3)
            .nodes
            .is_empty()
    );
    let held = Predicate::HeldBy(Box::new(entries.clone()));
    assert_eq!(query(held, SortKey::Size, 0, 50).nodes.len(), 10);
    let holding = Predicate::Holds(Box::new(entries.clone()));
    let pairs = query(holding, SortKey::Retained, 0, 50).nodes;
    assert_eq!(analysis.heap().type_of(pairs[0]).family, "pair");
    let below = Predicate::DominatedBy(pairs[0]);
    let both = Predicate::All(vec![entries.clone(), below]);
    assert_eq!(query(both, SortKey::Node, 0, 50).count, 10);
    let not = Predicate::Not(Box::new(Predicate::Any(vec![
        entries,
        Predicate::SizeAtMost(16),
    ])));
    assert_eq!(query(not, SortKey::Node, 0, 50).count, 12);
    assert_eq!(query(Predicate::IsVirtual, SortKey::Node, 0, 50).count, 2);
    assert_eq!(
        query(Predicate::RetainedAtLeast(900), SortKey::Node, 0, 50).count,
        3
    );
    let new = Predicate::NewSince(1);
    assert_eq!(
        analysis.query(&new, SortKey::Node, 0, 1),
        Err(QueryError::NoIdentities)
    );
    let mut deep = Predicate::IsVirtual;
    for _ in 0..200 {
        deep = Predicate::Not(Box::new(deep));
    }
    assert_eq!(
        analysis.query(&deep, SortKey::Node, 0, 1),
        Err(QueryError::TooDeep)
    );
}

#[test]
fn objects_are_summed_up_by_what_holds_them() {
    let analysis = Analysis::new(cache(3).heap().0);
    let rows = analysis.holders("record", 2);
    let rows: Vec<(&str, u64, u64)> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.objects, row.bytes))
        .collect();
    let entry = ("record entry", 2, 80);
    assert_eq!(rows, [entry, entry, ("no single record", 5, 176)]);
}

#[test]
fn tiles_have_the_largest_children_and_a_rest() {
    let edges: Vec<(u32, u64, u32)> = (1..6).map(|node| (0, 0, node)).collect();
    let analysis = analysis(&Model::new(&[0, 5, 1, 9, 2, 3], &edges));
    let tile = analysis.tiles(ROOT, 2, 2);
    let sizes: Vec<u64> = tile.children.iter().map(|child| child.retained).collect();
    assert_eq!(sizes, [9 * 16, 5 * 16]);
    assert_eq!((tile.others, tile.others_retained), (3, 6 * 16));
    assert_eq!(tile.retained, 20 * 16);
}

#[test]
fn equal_strings_and_unused_room_are_found() {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    let string = writer.type_number(&row("string", "", &[]));
    let vector = writer.type_number(&row("vector", "", &[]));
    writer.node(vector, 11, 4);
    writer.fact(0, Fact::EqualTail, 10);
    for (hash, characters) in [(7, 3), (8, 3), (7, 3), (7, 4)] {
        writer.edge_new();
        let node = writer.node(string, 2, 0);
        writer.text(node, characters, "ab", Some(hash));
        writer.fact(node, Fact::InUse, 1);
        writer.fact(node, Fact::Room, u64::from(node));
    }
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    let series = Series::from_bytes(writer.into_inner()).unwrap();
    let analysis = Analysis::new(series.snapshot(0).unwrap());
    let duplicates = analysis.duplicates(10);
    assert_eq!(duplicates.len(), 1);
    assert_eq!((duplicates[0].count, duplicates[0].saved), (2, 32));
    assert_eq!(duplicates[0].nodes, [1, 3]);
    let unused = analysis.unused(10);
    assert_eq!(
        unused.iter().map(|one| one.node).collect::<Vec<_>>(),
        [0, 4, 3, 2]
    );
    assert_eq!(unused[0].bytes, 80);
    assert_eq!(unused[1].bytes, 24);
    assert_eq!(analysis.unused_by_type(), [(1, 1, 80), (0, 3, 61)]);
}

/// A root with objects at these addresses.
fn write_objects(writer: &mut Writer<Vec<u8>>, addresses: &[u64]) {
    let root = writer.type_number(&row("root", "", &[]));
    let entry = writer.type_number(&row("record", "entry", &[]));
    writer.node(root, 0, addresses.len() as u64);
    for address in addresses {
        writer.edge_new();
        writer.node(entry, 1, 0);
        writer.address(*address);
    }
}

#[test]
fn objects_are_followed_through_moves() {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    write_objects(&mut writer, &[10, 20, 30]);
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    // 10 moved to 50; 20 died, and a new object is there; 30 stayed.
    write_objects(&mut writer, &[50, 20, 30, 21]);
    writer.moves(&[(20, 2)], &[(50, 10)]);
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    // Sums alone, with moves that count.
    writer.moves(&[], &[(60, 50)]);
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    write_objects(&mut writer, &[30, 61, 20]);
    writer.moves(&[], &[(61, 60)]);
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    let series = Series::from_bytes(writer.into_inner()).unwrap();
    let found = identities(&series, &[0, 1, 3]).unwrap();
    let ids: Vec<Vec<u64>> = found
        .iter()
        .map(|one| (0..one.len()).filter_map(|at| one.id(at)).collect())
        .collect();
    let new = |position: u64| 1 << 32 | position;
    assert_eq!(ids[0], [0, 1, 2]);
    assert_eq!(ids[1], [0, new(1), 2, new(3)]);
    assert_eq!(ids[2], [2, 0, new(1)]);
    let mut heaps = Vec::new();
    for (index, ids) in [0, 1, 3].into_iter().zip(found) {
        let analysis = Analysis::new(series.snapshot(index).unwrap());
        analysis.set_identities(ids);
        heaps.push(analysis);
    }
    let change = difference(&heaps[0], &heaps[2]);
    assert_eq!(change.compared, Compared::Objects);
    assert_eq!(
        (
            change.new.objects,
            change.gone.objects,
            change.surviving.objects
        ),
        (1, 1, 2)
    );
    let page = heaps[2]
        .query(&Predicate::NewSince(1), SortKey::Node, 0, 9)
        .unwrap();
    assert_eq!(page.nodes, [3]);
    let snapshots = series.snapshots();
    let sums = summary_difference(series.types(), &snapshots[0], &snapshots[1]);
    assert_eq!(
        (sums.changes[0].growth(), sums.changes[0].objects_growth()),
        (16, 1)
    );
    assert_eq!(sums.compared, Compared::Types);
}

#[test]
fn what_grows_in_each_snapshot_is_suspected() {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    for entries in [10, 20, 30, 40] {
        cache(entries).write(&mut writer);
        writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    }
    let series = Series::from_bytes(writer.into_inner()).unwrap();
    let types = growing_types(series.types(), series.snapshots());
    assert_eq!(types[0].names, ["string"]);
    assert_eq!(types[0].objects, [10, 20, 30, 40]);
    assert_eq!((types[0].grown, types[0].shrunk), (3, 0));
    assert!(types.iter().all(|one| one.names != ["hash-table"]));
    let sums = |index| PathSums::new(&Analysis::new(series.snapshot(index).unwrap()));
    let sums: Vec<PathSums> = (0..4).map(sums).collect();
    let paths = growing_paths(series.types(), &sums);
    assert_eq!(
        paths[0].names[..4],
        ["globals of (app)", "hash-table", "vector", "pair"]
    );
    assert!(paths[0].score > 0.9, "{paths:?}");
}
