//! A snapshot as lines of JSON, for scripts and for tools of one's own.
//!
//! The first line is about the snapshot. Lines of types, each with its number, come before those
//! of nodes, which have types, sizes, edges by word, texts and facts.

use std::io::{self, BufWriter, Write};

use serde_json::{Value, json};

use crate::analysis::Analysis;
use crate::file::Fact;

/// The field with a fact; `bytes` is that with the size.
fn name_of(fact: Fact) -> &'static str {
    match fact {
        Fact::InUse => "used",
        Fact::Bytes => "bytes-exact",
        fact => fact.name(),
    }
}

/// Writes a snapshot as lines of JSON. With `retained` each node has its retained bytes.
pub fn json_lines(analysis: &Analysis, has_retained: bool, out: impl Write) -> io::Result<()> {
    let heap = analysis.heap();
    let directory = heap.directory();
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let head = json!({
        "snapshot": directory.number,
        "program": heap.info().program,
        "pid": heap.info().pid,
        "time": directory.time,
        "reason": directory.reason,
        "nodes": heap.len(),
        "edges": heap.edges(),
        "objects": directory.objects,
        "bytes": directory.bytes,
        "whole": heap.is_whole(),
        "places": directory.places,
    });
    write_line(&mut out, &head)?;
    for (number, row) in heap.types().iter().enumerate() {
        let mut line = serde_json::to_value(row)?;
        line["type"] = json!(number);
        write_line(&mut out, &line)?;
    }
    let mut texts = heap.texts().iter().peekable();
    let mut facts = heap.facts().iter().peekable();
    for node in heap.nodes() {
        let mut line = json!({
            "node": node,
            "type": heap.type_number(node),
            "bytes": heap.size(node),
            "edges": heap.words(node).map(|one| [one.0, u64::from(one.1)]).collect::<Vec<_>>(),
        });
        if has_retained {
            line["retained"] = json!(analysis.dominators().retained(node));
        }
        let weak = heap.outgoing_edges(node).filter(|edge| edge.is_weak);
        let weak: Vec<[u64; 2]> = weak
            .map(|edge| [edge.word, u64::from(edge.target)])
            .collect();
        if !weak.is_empty() {
            line["weak"] = json!(weak);
        }
        while let Some((_, text)) = texts.next_if(|one| one.0 <= node) {
            line["text"] = json!(text.preview);
            line["characters"] = json!(text.characters);
        }
        while let Some((_, fact, value)) = facts.next_if(|one| one.0 <= node) {
            line[name_of(fact)] = json!(value);
        }
        write_line(&mut out, &line)?;
    }
    out.flush()
}

fn write_line(out: &mut impl Write, line: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}
