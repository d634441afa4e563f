//! Tests of series and graphs: exact contents, and files that are damaged.
//!
//! Damaged files are made of a small one: cut at each byte, each byte changed, bytes of others.

use proptest::prelude::*;

use super::*;
use crate::file::{Fact, SnapshotFacts, TypeRow, Writer, chunk};

pub(crate) fn row(family: &str, name: &str, fields: &[&str]) -> TypeRow {
    TypeRow {
        family: family.to_owned(),
        name: (!name.is_empty()).then(|| name.to_owned()),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        is_virtual: family == "root",
        ..TypeRow::default()
    }
}

/// Nodes with types and sizes, and edges with words; node 0 is the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub types: Vec<TypeRow>,
    /// Type and size in units.
    pub nodes: Vec<(usize, u64)>,
    /// Words and targets of each node.
    pub edges: Vec<Vec<(u64, u32)>>,
}

impl Model {
    /// Writes what can be reached. Gives for each node of the file that of the model.
    pub fn write(&self, writer: &mut Writer<impl std::io::Write>) -> Vec<u32> {
        let types: Vec<u32> = self
            .types
            .iter()
            .map(|row| writer.type_number(row))
            .collect();
        let mut numbers = vec![None; self.nodes.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        let mut next = Some(0);
        loop {
            if let Some(node) = next.take() {
                let (kind, size) = self.nodes[node as usize];
                let edges = self.edges[node as usize].len() as u64;
                numbers[node as usize] = Some(writer.node(types[kind], size, edges));
                if size > 0 {
                    writer.address(u64::from(node) * 100);
                }
                order.push(node);
                stack.push((node, 0));
            }
            let Some((node, done)) = stack.last_mut() else {
                return order;
            };
            let edges = &self.edges[*node as usize];
            let Some(&(word, target)) = edges.get(*done) else {
                stack.pop();
                continue;
            };
            let before = if *done == 0 {
                0
            } else {
                edges[*done - 1].0 + 1
            };
            writer.skip(word - before);
            *done += 1;
            match numbers[target as usize] {
                Some(number) => writer.edge_to(number),
                None => {
                    writer.edge_new();
                    next = Some(target);
                }
            }
        }
    }

    /// A heap with this graph and the nodes of the model in the order of the heap.
    pub fn heap(&self) -> (Heap, Vec<u32>) {
        let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
        let order = self.write(&mut writer);
        writer.finish_snapshot(SnapshotFacts::default()).unwrap();
        let series = Series::from_bytes(writer.into_inner()).unwrap();
        (series.snapshot(0).unwrap(), order)
    }

    /// Nodes of one of three types and edges like these, in ascending words.
    pub fn new(sizes: &[u64], edges: &[(u32, u64, u32)]) -> Model {
        let count = sizes.len() as u32;
        let mut model = Model {
            types: vec![
                row("root", "", &[]),
                row("pair", "", &[]),
                row("vector", "", &[]),
            ],
            nodes: sizes
                .iter()
                .enumerate()
                .map(|(at, size)| (1 + at % 2, *size))
                .collect(),
            edges: vec![Vec::new(); sizes.len()],
        };
        model.nodes[0] = (0, 0);
        for (source, gap, target) in edges {
            let edges = &mut model.edges[(*source % count) as usize];
            let word = edges.last().map_or(0, |last| last.0 + 1) + gap;
            edges.push((word, *target % count));
        }
        model
    }
}

pub(crate) fn models(nodes_max: usize) -> impl Strategy<Value = Model> {
    let sizes = prop::collection::vec(1..20u64, 1..nodes_max);
    let gap = prop_oneof![5 => Just(0u64), 2 => 1..5u64, 1 => 250..1000u64];
    let edges = prop::collection::vec((any::<u32>(), gap, any::<u32>()), 0..3 * nodes_max);
    (sizes, edges).prop_map(|(sizes, edges)| Model::new(&sizes, &edges))
}

fn check(model: &Model) {
    let (heap, order) = model.heap();
    assert!(heap.is_whole(), "{:?}", heap.note());
    assert_eq!(heap.len(), order.len());
    let mut edges = 0;
    for node in heap.nodes() {
        let of_model = order[node as usize] as usize;
        assert_eq!(heap.type_of(node), &model.types[model.nodes[of_model].0]);
        assert_eq!(heap.size(node), 16 * model.nodes[of_model].1);
        let words = heap
            .words(node)
            .map(|(word, target)| (word, order[target as usize]));
        assert_eq!(words.collect::<Vec<_>>(), model.edges[of_model]);
        edges += model.edges[of_model].len();
        let mut sources: Vec<u32> = Vec::new();
        for source in heap.nodes() {
            let count = heap
                .targets(source)
                .iter()
                .filter(|target| **target == node)
                .count();
            sources.extend(std::iter::repeat_n(source, count));
        }
        assert_eq!(heap.incoming().of(node), sources);
        assert_eq!(heap.incoming_edges(node, usize::MAX).len(), sources.len());
    }
    assert_eq!(heap.edges(), edges);
    assert_eq!(heap.addresses().unwrap().len(), order.len() - 1);
}

proptest! {
    #[test]
    fn graphs_are_read_as_written(model in models(40)) {
        check(&model);
    }
}

/// A small file with two snapshots and all kinds of chunks.
pub(crate) fn small_file() -> Vec<u8> {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    let model = Model::new(
        &[1, 2, 3, 4, 5],
        &[(0, 0, 1), (1, 3, 2), (1, 0, 3), (3, 300, 4), (4, 0, 1)],
    );
    for number in 0..2 {
        model.write(&mut writer);
        writer.text(2, 40, "some text", Some(77));
        writer.text(3, 3, "λx!", None);
        writer.fact(2, Fact::InUse, 5);
        writer.fact(2, Fact::Room, 50);
        writer.weak(2, 4, 1);
        if number > 0 {
            writer.moves(&[(200, 8)], &[(300, 290), (400, 1000)]);
        }
        writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    }
    writer.into_inner()
}

/// Reads all that there is.
pub(crate) fn read_all(bytes: Vec<u8>) -> Result<usize, Error> {
    let series = Series::from_bytes(bytes)?;
    let mut nodes = 0;
    for index in 0..series.snapshots().len() {
        let _ = series.moves(index);
        let Ok(heap) = series.snapshot(index) else {
            continue;
        };
        nodes += heap.len();
        let _ = heap.addresses();
        let _ = (heap.texts().len(), heap.facts().iter().count());
        for node in heap.nodes() {
            assert!(
                heap.outgoing_edges(node)
                    .all(|edge| (edge.target as usize) < heap.len())
            );
            let _ = heap.incoming_edges(node, 10);
        }
    }
    Ok(nodes)
}

#[test]
fn parts_are_read_as_written() {
    let series = Series::from_bytes(small_file()).unwrap();
    assert_eq!(series.snapshots().len(), 2);
    let heap = series.snapshot(1).unwrap();
    let text = heap.text(2).unwrap();
    assert_eq!(
        (text.characters, text.preview, text.hash),
        (40, "some text", Some(77))
    );
    assert!(text.is_cut());
    assert!(!heap.text(3).unwrap().is_cut());
    assert!(heap.text(1).is_none());
    assert_eq!(heap.facts().get(2, Fact::Room), Some(50));
    let weak = WeakEdge {
        source: 2,
        word: 4,
        target: 1,
    };
    assert_eq!(heap.weak_edges(), [weak]);
    assert_eq!(
        heap.incoming_edges(1, 10)
            .iter()
            .filter(|edge| edge.is_weak)
            .count(),
        1
    );
    assert!(series.moves(0).unwrap().is_none());
    let moves = series.moves(1).unwrap().unwrap();
    let before: Vec<_> = [100, 200, 207, 208, 300, 400]
        .map(|one| moves.before(one))
        .into();
    assert_eq!(
        before,
        [Some(100), None, None, Some(208), Some(290), Some(1000)]
    );
}

#[test]
fn a_file_cut_anywhere_shows_what_is_there() {
    let bytes = small_file();
    let mut counts = Vec::new();
    for length in 0..=bytes.len() {
        match read_all(bytes[..length].to_vec()) {
            Ok(nodes) => counts.push(nodes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(counts.is_sorted());
    assert_eq!((counts[0], counts[counts.len() - 1]), (0, 10));
}

#[test]
fn changed_bytes_are_noticed() {
    let bytes = small_file();
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            if let Ok(nodes) = read_all(changed) {
                assert!(nodes <= 10, "byte {at}");
            }
        }
    }
}

#[test]
fn foreign_files_and_newer_formats_are_refused() {
    let told = |bytes: &[u8]| match Series::from_bytes(bytes.to_vec()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    assert!(told(b"").starts_with("not a heap snapshot of Canny"));
    assert!(told(b"\x89PNG\r\n\x1a\n and more").starts_with("not a heap snapshot of Canny"));
    let mut packer = chunk::Packer::new();
    let mut bytes = chunk::SIGNATURE.to_vec();
    let info = br#"{"format": 2, "something": [1, 2]}"#;
    bytes.extend(packer.chunk(chunk::INFO, 0, &mut info.to_vec()));
    assert_eq!(
        told(&bytes),
        "format 2 of heap snapshots is newer than this version of Canny; expected format 1"
    );
}

/// A file whose checksums are right and whose content is not.
#[test]
fn wrong_content_with_right_checksums_is_refused() {
    let contents: [&[u8]; 6] = [
        b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x00\x00\x01\x02",
        b"\x00\x00\x02\x00\x00\x00\x01\x09",
        b"\x63\x00\x00",
        b"\x00\x00\x00\x00\x00\x00",
        b"\x00\x00\x02\x00\x00",
    ];
    for content in contents {
        let mut packer = chunk::Packer::new();
        let mut bytes = chunk::SIGNATURE.to_vec();
        bytes.extend(packer.chunk(chunk::INFO, 0, &mut br#"{"format": 1}"#.to_vec()));
        let types = br#"{"first": 0, "types": [{"family": "root"}]}"#;
        bytes.extend(packer.chunk(chunk::TYPE, 0, &mut types.to_vec()));
        bytes.extend(packer.chunk(chunk::NODE, 0, &mut content.to_vec()));
        let series = Series::from_bytes(bytes.clone()).unwrap();
        assert!(!series.is_whole(0));
        if let Ok(heap) = series.snapshot(0) {
            assert!(heap.note().is_some());
        }
        let _ = read_all(bytes);
    }
}

#[test]
fn a_long_list_needs_no_recursion() {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    let pair = writer.type_number(&row("pair", "", &["car", "cdr"]));
    let count = 300_000;
    for way in 0..2 {
        // Once along the last edges, once along the first ones.
        for number in 0..count {
            writer.node(pair, 1, if number + 1 == count { 0 } else { 2 });
            if number + 1 < count {
                if way == 0 {
                    writer.edge_to(number);
                }
                writer.edge_new();
            }
        }
        for _ in 1..count {
            if way == 1 {
                writer.edge_to(0);
            }
        }
        writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    }
    let series = Series::from_bytes(writer.into_inner()).unwrap();
    for index in 0..2 {
        let heap = series.snapshot(index).unwrap();
        assert!(heap.is_whole());
        assert_eq!(
            (heap.len(), heap.edges()),
            (count as usize, 2 * count as usize - 2)
        );
    }
}

#[test]
fn a_record_of_many_edges_is_in_several_chunks() {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    let vector = writer.type_number(&row("vector", "", &[]));
    let count = 300_000u32;
    writer.node(vector, u64::from(count), 2 * u64::from(count));
    for number in 0..count {
        // The words that are skipped are different ones, so that chunks differ.
        writer.skip(u64::from(number % 300));
        writer.edge_to(0);
        writer.edge_new();
        writer.node(vector, 1, 0);
    }
    writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    // Edges alone, with no record in between.
    writer.node(vector, u64::from(count), u64::from(count));
    for number in 0..count {
        writer.skip(u64::from(number % 300));
        writer.edge_to(0);
    }
    let summary = writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    assert_eq!((summary.nodes, summary.edges), (1, u64::from(count)));
    let series = Series::from_bytes(writer.into_inner()).unwrap();
    for (index, nodes) in [count as usize + 1, 1].into_iter().enumerate() {
        assert!(series.snapshots()[index].chunks["NODE"].len() > 2);
        let heap = series.snapshot(index).unwrap();
        assert!(heap.is_whole(), "{:?}", heap.note());
        assert_eq!(heap.len(), nodes);
        let per_number = heap.edges() as u64 / u64::from(count);
        let last = heap.words(0).last().unwrap();
        let skipped: u64 = (0..u64::from(count)).map(|number| number % 300).sum();
        assert_eq!(last.0 + 1, skipped + per_number * u64::from(count));
    }
}
