//! Writes a snapshot of millions of objects, opens and analyses it, and says how long each step
//! took and how much memory was needed: `cargo run --profile quick -p canny-snapshot --example
//! million_objects -- SHAPE MILLIONS`. Shapes are `service`, `list` and `tree`;
//! `series` writes a hundred small snapshots.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use canny_snapshot::analysis::{
    Analysis, Column, Grouping, PathSums, Predicate, SortKey, identities,
};
use canny_snapshot::file::{Fact, Info, SnapshotFacts, TypeRow, Way, Writer};
use canny_snapshot::heap::Series;

/// Prints the time of a step and the peak of memory since the start, and answers its result.
fn measured<T>(step: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let ms = start.elapsed().as_secs_f64() * 1000.0;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number
            .and_then(|number| number.parse::<u64>().ok())
            .unwrap_or(0)
            / 1024
    };
    println!(
        "{ms:8.0} ms  {step:28} memory {} MB, peak {} MB",
        field("VmRSS:"),
        field("VmHWM:")
    );
    result
}

/// A number that looks like chance.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

struct Types {
    root: u32,
    globals: u32,
    pair: u32,
    vector: u32,
    string: u32,
    symbol: u32,
    entries: Vec<u32>,
}

fn types<W: Write>(writer: &mut Writer<W>) -> Types {
    let row = |family: &str, name: Option<&str>, fields: &[&str]| TypeRow {
        family: family.to_owned(),
        name: name.map(str::to_owned),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        is_virtual: family == "root",
        ..TypeRow::default()
    };
    let entries: Vec<TypeRow> = (0..40)
        .map(|number| {
            let name = format!("entry-{number}");
            row("record", Some(&name), &["key", "value", "owner", "next"])
        })
        .collect();
    Types {
        root: writer.type_number(&row("root", Some("the roots"), &["globals"])),
        globals: writer.type_number(&row("root", Some("globals"), &[])),
        pair: writer.type_number(&row("pair", None, &["car", "cdr"])),
        vector: writer.type_number(&row("vector", None, &[])),
        string: writer.type_number(&row("string", None, &[])),
        symbol: writer.type_number(&row("symbol", None, &[])),
        entries: entries.iter().map(|row| writer.type_number(row)).collect(),
    }
}

/// A heap of lists, records, vectors and strings, with two edges for an object.
struct Heap<'a, W: Write> {
    writer: &'a mut Writer<W>,
    types: Types,
    state: u64,
    address: u64,
}

impl<W: Write> Heap<'_, W> {
    fn node(&mut self, type_number: u32, size: u64, edges: u64) -> u32 {
        let node = self.writer.node(type_number, size, edges);
        self.writer.address(self.address);
        // Most objects stand side by side.
        self.address += size
            + if next(&mut self.state).is_multiple_of(16) {
                8
            } else {
                0
            };
        node
    }

    /// A node that was found before, often a near one.
    fn old(&mut self) -> u32 {
        let nodes = self.writer.nodes();
        let chance = next(&mut self.state);
        match chance % 4 {
            0 => (chance >> 8) as u32 % nodes.min(500),
            1 => (chance >> 8) as u32 % nodes,
            _ => nodes - 1 - (chance >> 8) as u32 % nodes.min(200),
        }
    }

    fn string(&mut self) {
        let chance = next(&mut self.state);
        let node = self.node(self.types.string, 2 + chance % 3, 0);
        let text = format!("value {}", (chance >> 8) % 10_000);
        let hash = Some((chance >> 8) % 10_000);
        self.writer.text(node, text.len() as u64, &text, hash);
        self.writer.fact(node, Fact::InUse, text.len() as u64);
    }

    /// A record with its parts, four to six objects.
    fn entry(&mut self) {
        let chance = next(&mut self.state);
        let kind = self.types.entries[chance as usize % self.types.entries.len()];
        let owner = self.old();
        self.node(kind, 3, 4);
        self.writer.edge_new();
        if (chance >> 8).is_multiple_of(4) {
            self.string();
        } else {
            self.node(self.types.symbol, 1, 0);
        }
        self.writer.edge_new();
        self.node(self.types.pair, 1, 2);
        self.writer.edge_to(owner);
        self.writer.edge_new();
        let vector = 4 + (chance >> 16) % 8;
        self.node(self.types.vector, 1 + vector / 2, vector);
        self.writer.skip((chance >> 32) % 3);
        for _ in 0..vector {
            let old = self.old();
            self.writer.edge_to(old);
        }
        for _ in 0..2 {
            let old = self.old();
            self.writer.edge_to(old);
        }
    }
}

/// A list of records, or a list of nothing, or a tree of vectors.
fn write<W: Write>(writer: &mut Writer<W>, shape: &str, objects: u32) {
    let types = types(writer);
    writer.node(types.root, 0, 1);
    writer.edge_new();
    writer.node(types.globals, 0, 1);
    let mut heap = Heap {
        writer,
        types,
        state: 88_172_645_463_325_252,
        address: 0,
    };
    match shape {
        "list" => {
            for number in 0..objects {
                heap.writer.edge_new();
                let is_last = number + 1 == objects;
                heap.node(heap.types.pair, 1, u64::from(!is_last));
                if !is_last {
                    heap.writer.skip(1);
                }
            }
        }
        "tree" => {
            // Vectors of eight, as deep as needed; numbers of children that are left.
            let mut left = vec![1];
            while let Some(top) = left.last_mut() {
                if *top == 0 {
                    left.pop();
                    continue;
                }
                *top -= 1;
                heap.writer.edge_new();
                let depth = left.len();
                let edges = if depth < 9 && heap.writer.nodes() + 8 * (depth as u32) < objects {
                    8
                } else {
                    0
                };
                heap.node(heap.types.vector, 1 + edges / 2, edges);
                left.push(edges);
            }
        }
        _ => {
            heap.writer.edge_new();
            while heap.writer.nodes() + 8 < objects {
                heap.node(heap.types.pair, 1, 2);
                heap.writer.edge_new();
                heap.entry();
                heap.writer.edge_new();
            }
            heap.node(heap.types.pair, 1, 0);
        }
    }
}

/// A small service: lists of entries of which one in a hundred is another one each time.
fn write_service<W: Write>(writer: &mut Writer<W>, seeds: &[u64]) {
    let types = types(writer);
    let globals = types.globals;
    writer.node(types.root, 0, 1);
    writer.edge_new();
    writer.node(globals, 0, seeds.len() as u64);
    let mut heap = Heap {
        writer,
        types,
        state: 1,
        address: 0,
    };
    for (number, seed) in seeds.iter().enumerate() {
        heap.state = *seed;
        heap.address = 1000 * number as u64;
        heap.writer.edge_new();
        heap.entry();
    }
}

/// The cost of a snapshot after each collection.
fn series(facts: impl Fn() -> SnapshotFacts) {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    let mut state = 88_172_645_463_325_252;
    let mut seeds: Vec<u64> = (0..12_500).map(|_| next(&mut state)).collect();
    let mut written = Vec::new();
    measured("100 snapshots", || {
        for _ in 0..100 {
            write_service(&mut writer, &seeds);
            written.push(writer.finish_snapshot(facts()).unwrap().written);
            // Entries that come together go together.
            let start = next(&mut state) as usize % (seeds.len() - 125);
            for seed in &mut seeds[start..start + 125] {
                *seed = next(&mut state);
            }
        }
    });
    let later = written[1..].iter().sum::<u64>() / 99;
    println!(
        "  {} bytes for the first one, {later} for another one",
        written[0]
    );
}

fn main() {
    let mut words = std::env::args().skip(1);
    let shape = words.next().unwrap_or_else(|| "service".to_owned());
    let millions = words.next().and_then(|word| word.parse::<f64>().ok());
    let objects = (millions.unwrap_or(5.0) * 1e6) as u32;
    let path = std::env::temp_dir().join("million_objects.heap");
    let facts = || SnapshotFacts {
        reason: "asked".to_owned(),
        way: Way::InPlace,
        has_previews: true,
        ..SnapshotFacts::default()
    };
    if shape == "series" {
        return series(facts);
    }
    if words.next().as_deref() != Some("--open") {
        measured("only made, to nowhere", || {
            let mut writer = Writer::create(std::io::sink(), &Info::default()).unwrap();
            write(&mut writer, &shape, objects);
            writer.finish_snapshot(facts()).unwrap()
        });
        let file = File::create(&path).unwrap();
        let mut writer = Writer::create(file, &Info::default()).unwrap();
        for step in ["written", "written again"] {
            let summary = measured(step, || {
                write(&mut writer, &shape, objects);
                writer.finish_snapshot(facts()).unwrap()
            });
            println!(
                "  {} nodes, {} edges, {} bytes of heap, {} bytes of file, {} shared",
                summary.nodes, summary.edges, summary.bytes, summary.written, summary.shared
            );
        }
    }
    open(&path);
}

fn open(path: &std::path::Path) {
    let series = measured("opened", || Series::open(path).unwrap());
    let heap = measured("graph read", || series.snapshot(0).unwrap());
    println!("  {} nodes, {} edges", heap.len(), heap.edges());
    let analysis = Analysis::new(heap);
    measured("sums by type", || {
        analysis.sums(Grouping::Type, Column::Bytes)
    });
    measured("edges backwards", || analysis.heap().incoming().of(0).len());
    measured("dominators, retained sizes", || {
        analysis.dominators().retained(0)
    });
    measured("table with retained sizes", || {
        analysis.table(Grouping::Type, Column::Retained)
    });
    measured("distances from the root", || analysis.distances().of(0));
    let last = analysis.heap().len() as u32 - 1;
    for node in [last, last / 2, last / 3] {
        let paths = measured("five paths", || analysis.paths(node, 5));
        println!("  {} paths, {} edges", paths.len(), paths[0].len() - 1);
        println!("  {}", measured("a sentence", || analysis.why_alive(node)));
    }
    let size = Predicate::RetainedAtLeast(1000);
    let held = Predicate::HeldBy(Box::new(Predicate::Type("entry-3".to_owned())));
    let both = Predicate::All(vec![size, held]);
    let page = measured("query", || {
        analysis.query(&both, SortKey::Retained, 0, 20).unwrap()
    });
    println!("  {} objects", page.count);
    measured("texts read", || analysis.heap().texts().len());
    measured("duplicates", || analysis.duplicates(100).len());
    measured("paths of types", || PathSums::new(&analysis));
    measured("identities", || identities(&series, &[0]).unwrap().len());
}
