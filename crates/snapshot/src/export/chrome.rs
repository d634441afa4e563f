//! The format of Chrome's developer tools, `.heapsnapshot`.
//!
//! One JSON object has columns of numbers, and strings at its end. A node has the index of its
//! first number in `nodes`; edges follow each other in the order of their nodes. Ids are odd, as
//! those of V8's objects are.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use crate::analysis::Analysis;
use crate::file::TypeRow;
use crate::heap::{Edge, EdgeName, Heap, ROOT};

const NODE_FIELDS: u64 = 6;

/// Ids from here on are those of nodes that are no objects; numbers of JavaScript have 53 bits.
const VIRTUAL_IDS: u64 = 1 << 52;

/// Characters of a name that is a text.
const TEXT_MAX: usize = 1000;

const META: &str = r#"{"node_fields":["type","name","id","self_size","edge_count","trace_node_id"],
"node_types":[["hidden","array","string","object","code","closure","regexp","number","native",
"synthetic","concatenated string","sliced string","symbol","bigint"],"string","number","number",
"number","number"],
"edge_fields":["type","name_or_index","to_node"],
"edge_types":[["context","element","property","internal","hidden","shortcut","weak"],
"string_or_number","node"],
"trace_function_info_fields":["function_id","name","script_name","script_id","line","column"],
"trace_node_fields":["id","function_info_index","count","size","children"],
"sample_fields":["timestamp_us","last_assigned_id"],
"location_fields":["object_index","script_id","line","column"]}"#;

/// Numbers of the meta data's types of nodes.
fn node_type(row: &TypeRow) -> u8 {
    if row.is_virtual {
        return 9;
    }
    match row.family.as_str() {
        "vector" | "bytevector" | "pair" => 1,
        "string" => 2,
        "code" => 4,
        "procedure" | "closure" | "continuation" => 5,
        "regexp" => 6,
        "flonum" | "ratnum" | "compnum" | "number" => 7,
        "port" | "host" => 8,
        "symbol" => 12,
        "bignum" => 13,
        _ => 3,
    }
}

const ELEMENT: u8 = 1;
const PROPERTY: u8 = 2;
const INTERNAL: u8 = 3;
const WEAK: u8 = 6;

/// Strings that many nodes and edges share. Texts of nodes are numbered behind them.
#[derive(Default)]
struct Strings {
    numbers: HashMap<String, usize>,
    all: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.numbers.insert(text.to_owned(), self.all.len());
        self.all.push(text.to_owned());
        self.all.len() - 1
    }
}

/// Names of types and of their words.
struct Names {
    strings: Strings,
    types: Vec<usize>,
    /// The names of a type's fields.
    fields: Vec<Vec<usize>>,
    word: usize,
}

impl Names {
    fn new(heap: &Heap) -> Names {
        let mut strings = Strings::default();
        // Chrome expects a string 0.
        strings.number("");
        let mut names = Names {
            types: Vec::new(),
            fields: Vec::new(),
            word: strings.number("word"),
            strings,
        };
        for row in heap.types() {
            let place = match (&row.file, row.line) {
                (Some(file), Some(line)) => format!("{} ({file}:{line})", row.title()),
                _ => row.title().to_owned(),
            };
            names.types.push(names.strings.number(&place));
            let fields = row.fields.iter().map(|field| names.strings.number(field));
            names.fields.push(fields.collect());
        }
        for name in ["car", "cdr"] {
            names.strings.number(name);
        }
        names
    }

    /// Kind and name of an edge.
    fn edge(&self, heap: &Heap, edge: &Edge) -> (u8, u64) {
        let fields = &self.fields[heap.type_number(edge.source) as usize];
        let field = usize::try_from(edge.word)
            .ok()
            .and_then(|word| fields.get(word));
        let kind = if edge.is_weak { WEAK } else { PROPERTY };
        if let Some(field) = field.filter(|field| **field != 0) {
            return (kind, *field as u64);
        }
        match heap.edge_name(edge) {
            EdgeName::Field(name) => {
                let number = self.strings.numbers.get(&name);
                (kind, number.copied().unwrap_or(0) as u64)
            }
            _ if edge.is_weak => (WEAK, self.word as u64),
            EdgeName::Element(index) => (ELEMENT, index),
            // Edges of the root are found by their names.
            EdgeName::Word(_) if edge.source == ROOT => {
                let target = heap.type_number(edge.target);
                (INTERNAL, self.types[target as usize] as u64)
            }
            EdgeName::Word(word) => (ELEMENT, word),
        }
    }
}

/// Writes a snapshot for Chrome's developer tools and what else reads their format.
pub fn chrome(analysis: &Analysis, out: impl Write) -> io::Result<()> {
    let heap = analysis.heap();
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let edges = heap.edges() + heap.weak_edges().len();
    write!(
        out,
        "{{\"snapshot\":{{\"meta\":{META},\n\"node_count\":{},\"edge_count\":{edges},\
         \"trace_function_count\":0}},\n\"nodes\":[",
        heap.len()
    )?;
    let names = Names::new(heap);
    let shared = names.strings.all.len();
    write_nodes(analysis, &names, shared, &mut out)?;
    out.write_all(b"],\n\"edges\":[")?;
    let mut is_first = true;
    for node in heap.nodes() {
        for edge in heap.outgoing_edges(node) {
            let (kind, name) = names.edge(heap, &edge);
            let target = u64::from(edge.target) * NODE_FIELDS;
            let comma = if is_first { "" } else { ",\n" };
            write!(out, "{comma}{kind},{name},{target}")?;
            is_first = false;
        }
    }
    out.write_all(
        b"],\n\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":[],\"locations\":[],\n\
          \"strings\":[",
    )?;
    for (index, text) in names.strings.all.iter().enumerate() {
        out.write_all(if index == 0 { b"" } else { b",\n" })?;
        serde_json::to_writer(&mut out, text)?;
    }
    for (_, text) in heap.texts().iter() {
        out.write_all(b",\n")?;
        let mut shown: String = text.preview.chars().take(TEXT_MAX).collect();
        if text.is_cut() {
            shown.push('…');
        }
        serde_json::to_writer(&mut out, &shown)?;
    }
    out.write_all(b"]}\n")?;
    out.flush()
}

/// The ids of nodes. Those of objects are equal in all snapshots of a series if their identities
/// are known; others would come and go in comparisons.
fn ids(analysis: &Analysis) -> Vec<u64> {
    let heap = analysis.heap();
    let id = |(node, id): (u32, Option<u64>)| match id.filter(|id| *id < VIRTUAL_IDS / 2) {
        Some(id) => 2 * id + 1,
        None => VIRTUAL_IDS + 2 * u64::from(node) + 1,
    };
    match analysis.identities().filter(|all| !all.is_empty()) {
        Some(all) => heap.nodes().zip(all.by_node(heap)).map(id).collect(),
        None => heap.nodes().map(|node| 2 * u64::from(node) + 1).collect(),
    }
}

fn write_nodes(
    analysis: &Analysis,
    names: &Names,
    shared: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let heap = analysis.heap();
    let ids = ids(analysis);
    let mut texts = heap.texts().iter().enumerate().peekable();
    let mut weak = heap.weak_edges().iter().peekable();
    for node in heap.nodes() {
        let number = heap.type_number(node);
        let row = heap.type_of(node);
        let mut name = names.types[number as usize];
        while let Some((index, _)) = texts.next_if(|(_, one)| one.0 <= node) {
            // Texts of others say more about them; their type matters more here.
            if matches!(row.family.as_str(), "string" | "symbol") {
                name = shared + index;
            }
        }
        let mut edges = heap.targets(node).len();
        while weak.next_if(|edge| edge.source <= node).is_some() {
            edges += 1;
        }
        let comma = if node == ROOT { "" } else { ",\n" };
        write!(
            out,
            "{comma}{},{name},{},{},{edges},0",
            node_type(row),
            ids[node as usize],
            heap.size(node)
        )?;
    }
    Ok(())
}
