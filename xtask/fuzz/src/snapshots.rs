//! Files of heap snapshots: a generator of chunks with right checksums and doubtful contents, and
//! an oracle that reads and analyses all that it is shown.
//!
//! For any bytes each edge has to lead to a node, sizes have to add up, and nothing may panic.

use canny_snapshot::analysis::{
    Analysis, Column, Grouping, PathSums, Predicate, SortKey, difference, growing_types, identities,
};
use canny_snapshot::export;
use canny_snapshot::heap::{ROOT, Series};
use canny_snapshot::text::{Style, series_table, summary};

use crate::corpus::Corpus;
use crate::generate::mutated;
use crate::random::Random;

const TYPES: &str = r#"{"first": 0, "types": [{"family": "root", "virtual": true},
{"family": "pair", "fields": ["car", "cdr"]}, {"family": "string"}, {"family": "vector"}]}"#;

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

/// Appends a stored chunk; gives its offset.
fn chunk(file: &mut Vec<u8>, tag: &[u8; 4], first: u32, content: &[u8]) -> usize {
    let offset = file.len();
    file.extend_from_slice(tag);
    for number in [0, content.len() as u32, content.len() as u32, first] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    let all = [&file[offset..], content].concat();
    file.extend_from_slice(&checksum(&all).to_le_bytes());
    file.extend_from_slice(content);
    offset
}

/// A number, mostly a small one, in seven bits a byte.
fn varint(random: &mut Random, bytes: &mut Vec<u8>) {
    let shift = if random.once_in(30) {
        0
    } else {
        55 + random.below(9)
    };
    let mut value = random.next() >> shift;
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn numbers(random: &mut Random, count_max: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(count_max) {
        varint(random, &mut bytes);
    }
    bytes
}

/// Records that fit together more or less.
fn nodes(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut left: Vec<u64> = Vec::new();
    let mut count = 0u64;
    let mut is_record = true;
    for _ in 0..random.below(200) {
        if random.once_in(150) {
            varint(random, &mut bytes);
        }
        if is_record {
            let edges = random.below(5) as u64;
            bytes.extend([random.below(4) as u8, random.below(40) as u8, edges as u8]);
            count += 1;
            left.push(edges);
        }
        while left.last() == Some(&0) {
            left.pop();
        }
        let Some(last) = left.last_mut() else {
            break;
        };
        if random.once_in(6) {
            bytes.push(1);
            varint(random, &mut bytes);
        }
        *last -= 1;
        is_record = random.once_in(2);
        bytes.push(if is_record {
            0
        } else {
            (2 + 2 * (random.next() % count.min(60)) + random.next() % 2) as u8
        });
    }
    bytes
}

fn texts(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(6) {
        let flags = random.below(2) as u8;
        bytes.extend([random.below(4) as u8, flags, random.below(9) as u8, 3]);
        bytes.extend_from_slice(random.choose(&["abc", "a\u{e9}", "a\nb"]).as_bytes());
        if flags == 1 {
            bytes.extend_from_slice(&(random.next() % 3).to_le_bytes());
        }
    }
    if random.once_in(8) {
        mutated(random, bytes, &["\u{e9}", "\0"])
    } else {
        bytes
    }
}

/// A file of up to three snapshots, whole or cut off.
pub fn file(random: &mut Random, _: &Corpus) -> Vec<u8> {
    let mut file = b"\x89CHEAP\r\n".to_vec();
    chunk(
        &mut file,
        b"INFO",
        0,
        br#"{"format": 1, "pid": 7, "base": "1000"}"#,
    );
    let mut previous = "null".to_owned();
    for number in 1..=1 + random.below(3) {
        let mut chunks: Vec<(&str, usize, usize, usize)> = Vec::new();
        let mut types = 4;
        if number == 1 && !random.once_in(20) {
            chunks.push((
                "TYPE",
                chunk(&mut file, b"TYPE", 0, TYPES.as_bytes()),
                TYPES.len(),
                0,
            ));
        }
        for tag in ["NODE", "TEXT", "FACT", "WEAK", "ADDR", "MOVE", "SAME"] {
            if random.once_in(if tag == "NODE" { 9 } else { 3 }) {
                continue;
            }
            let content = match tag {
                "NODE" => nodes(random),
                "TEXT" => texts(random),
                "SAME" => [b"NODE", &numbers(random, 4)[..]].concat(),
                _ => numbers(random, 20),
            };
            let first = random.below(3);
            let bytes: &[u8; 4] = tag.as_bytes().try_into().expect("tags have four letters");
            let offset = chunk(&mut file, bytes, first as u32, &content);
            chunks.push((tag, offset, content.len(), first));
            if random.once_in(5) {
                chunks.push((tag, offset, content.len(), first));
            }
        }
        if random.once_in(40) {
            types = random.below(9);
        }
        let mut lists: Vec<String> = Vec::new();
        for tag in ["TYPE", "NODE", "TEXT", "FACT", "WEAK", "ADDR", "MOVE"] {
            let of_tag = chunks.iter().filter(|one| one.0 == tag);
            let rows = of_tag.map(|(_, offset, length, first)| {
                format!("[{offset}, {length}, \"{:x}\", {first}]", offset * 31)
            });
            let rows: Vec<String> = rows.collect();
            if !rows.is_empty() {
                lists.push(format!("\"{tag}\": [{}]", rows.join(", ")));
            }
        }
        let directory = format!(
            "{{\"number\": {number}, \"nodes\": {}, \"edges\": 12, \"types\": {types}, \
             \"summary\": [[1, 5, {}], [{types}, 1, 16]], \"chunks\": {{{}}}, \
             \"previous\": {previous}}}",
            random.below(300),
            random.next() >> 3,
            lists.join(", ")
        );
        let snap = chunk(&mut file, b"SNAP", 0, directory.as_bytes());
        previous = snap.to_string();
        chunk(&mut file, b"TAIL", 0, &(snap as u64).to_le_bytes());
    }
    match random.below(4) {
        0 => mutated(
            random,
            file,
            &["NODE", "SNAP", "TAIL", "null", "-1", "9999999999"],
        ),
        1 => {
            let length = random.below(file.len());
            file.truncate(length);
            file
        }
        _ => file,
    }
}

/// Reads and analyses all that is there.
pub fn read(input: &[u8]) -> Result<(), String> {
    let Ok(series) = Series::from_bytes(input.to_vec()) else {
        return Ok(());
    };
    let style = Style::default();
    let _ = series_table(&series, &style);
    let _ = growing_types(series.types(), series.snapshots());
    let mut last: Option<Analysis> = None;
    for (index, directory) in series.snapshots().iter().enumerate() {
        let _ = summary(series.info(), series.types(), directory, &style);
        let Ok(heap) = series.snapshot(index) else {
            continue;
        };
        let analysis = Analysis::new(heap);
        if let Ok(mut found) = identities(&series, &[index])
            && let Some(found) = found.pop()
        {
            analysis.set_identities(found);
        }
        check(&analysis)?;
        if let Some(last) = &last {
            let _ = difference(last, &analysis);
        }
        last = Some(analysis);
    }
    Ok(())
}

fn check(analysis: &Analysis) -> Result<(), String> {
    let heap = analysis.heap();
    let bytes = heap.nodes().map(|node| heap.size(node)).sum::<u64>();
    if analysis.dominators().retained(ROOT) != bytes {
        return Err("the root does not retain all".to_owned());
    }
    let _ = analysis.table(Grouping::Type, Column::Retained);
    let _ = (
        analysis.duplicates(9),
        analysis.unused(9),
        PathSums::new(analysis),
    );
    for node in heap.nodes().take(50) {
        if heap
            .outgoing_edges(node)
            .any(|edge| edge.target as usize >= heap.len())
        {
            return Err(format!("an edge of node {node} leads nowhere"));
        }
        for path in analysis.paths(node, 3) {
            if path.first() != Some(&ROOT) || path.last() != Some(&node) {
                return Err(format!("a path to node {node} is none"));
            }
        }
        let _ = (
            analysis.why_alive(node),
            heap.incoming_edges(node, 9),
            heap.text(node),
        );
    }
    let new = Predicate::NewSince(1);
    let _ = analysis.query(&new, SortKey::Retained, 0, 9);
    let written = export::chrome(analysis, std::io::sink())
        .and_then(|()| export::json_lines(analysis, true, std::io::sink()));
    written.map_err(|error| error.to_string())
}
