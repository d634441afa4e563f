//! Answers about one snapshot: groups, objects, edges, paths, tiles and waste.
//!
//! Lists are cut to pages here, and long paths and chains of dominators to their ends.

use serde_json::{Map, Value, json};

use super::page;
use super::question::ROWS_MAX;
use super::session::{Opened, Session};
use crate::analysis::{Predicate, Row, SortKey, Tile};
use crate::expression;
use crate::heap::Edge;

/// The deepest chain of dominators that an answer has whole.
const DOMINATORS_MAX: usize = 60;
/// Steps of a path at each end.
const STEPS_MAX: usize = 100;
/// Smaller parts of a map than this share could not be seen.
const TILE_SHARE: u64 = 2000;
/// Characters of a text.
const TEXT_MAX: usize = 2000;

/// Whether a query needs to know which objects are the same.
fn follows(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::NewSince(_) => true,
        Predicate::All(parts) | Predicate::Any(parts) => parts.iter().any(follows),
        Predicate::Not(one) | Predicate::HeldBy(one) | Predicate::Holds(one) => follows(one),
        _ => false,
    }
}

impl Opened {
    pub(super) fn types_answer(&self, rows: &[&Row], first: usize, count: usize) -> Value {
        let types = self.analysis().heap().types();
        let one = |row: &&Row| {
            let mut answer = json!({
                "name": row.name,
                "objects": row.objects,
                "bytes": row.bytes,
                "retained": row.retained,
                "outside": row.outside,
            });
            if let (Some(number), Some(answer)) = (row.type_number, answer.as_object_mut()) {
                let found = &types[number as usize];
                answer.insert("type".into(), number.into());
                answer.insert("family".into(), found.family.as_str().into());
                place_into(answer, found.file.as_deref(), found.line);
            }
            if let (Some((file, line)), Some(answer)) = (&row.place, answer.as_object_mut()) {
                place_into(answer, Some(file), Some(*line));
            }
            answer
        };
        json!({
            "rows": page(rows, first, count.min(ROWS_MAX)).iter().map(one).collect::<Vec<_>>(),
            "count": rows.len(),
            "objects": rows.iter().map(|row| row.objects).sum::<u64>(),
            "bytes": rows.iter().map(|row| row.bytes).sum::<u64>(),
        })
    }

    /// The fields of an object in lists.
    pub(super) fn brief(&self, node: u32) -> Value {
        let analysis = self.analysis();
        let heap = analysis.heap();
        let row = heap.type_of(node);
        let mut answer = Map::new();
        answer.insert("id".into(), node.into());
        answer.insert("label".into(), heap.label(node).into());
        answer.insert("type".into(), row.title().into());
        answer.insert("family".into(), row.family.as_str().into());
        answer.insert("size".into(), heap.size(node).into());
        let retained = analysis.dominators().retained(node);
        answer.insert("retained".into(), retained.into());
        place_into(&mut answer, row.file.as_deref(), row.line);
        Value::Object(answer)
    }

    fn briefs(&self, nodes: &[u32]) -> Vec<Value> {
        nodes.iter().map(|node| self.brief(*node)).collect()
    }

    pub(super) fn object_answer(&self, node: u32) -> Result<Value, String> {
        self.check(node)?;
        let analysis = self.analysis();
        let heap = analysis.heap();
        let mut answer = self.brief(node);
        let mut above = Vec::new();
        let mut at = analysis.dominators().idom(node);
        let mut depth = 0;
        while let Some(one) = at {
            if depth < DOMINATORS_MAX {
                above.push(one);
            }
            depth += 1;
            at = analysis.dominators().idom(one);
        }
        above.reverse();
        let facts = heap.facts().of(node);
        let facts: Map<String, Value> = facts
            .map(|(fact, value)| (fact.name().to_owned(), value.into()))
            .collect();
        let weak = heap.weak_edges();
        if let Some(answer) = answer.as_object_mut() {
            answer.insert("virtual".into(), heap.is_virtual(node).into());
            answer.insert("library".into(), heap.type_of(node).is_library.into());
            if let Some(text) = heap.text(node) {
                let shown: String = text.preview.chars().take(TEXT_MAX).collect();
                let is_cut = text.is_cut() || shown.len() < text.preview.len();
                answer.insert("text".into(), shown.into());
                answer.insert("cut".into(), is_cut.into());
                answer.insert("characters".into(), text.characters.into());
            }
            answer.insert("facts".into(), facts.into());
            if let Some(place) = analysis.place_of(node) {
                answer.insert("allocated".into(), json!(place));
            }
            answer.insert("distance".into(), analysis.distances().of(node).into());
            let incoming = heap.incoming().of(node).len()
                + weak.iter().filter(|edge| edge.target == node).count();
            answer.insert("incoming".into(), incoming.into());
            let outgoing = heap.outgoing_edges(node).count();
            answer.insert("outgoing".into(), outgoing.into());
            let dominated = analysis.dominators().children(node).len();
            answer.insert("dominated".into(), dominated.into());
            answer.insert("why".into(), analysis.why_alive(node).into());
            answer.insert("dominators".into(), self.briefs(&above).into());
            answer.insert("depth".into(), depth.into());
        }
        Ok(answer)
    }

    fn edge(&self, edge: &Edge, other: u32) -> Value {
        json!({
            "name": self.analysis().heap().edge_name(edge).to_string(),
            "weak": edge.is_weak,
            "object": self.brief(other),
        })
    }

    pub(super) fn outgoing_answer(
        &self,
        node: u32,
        first: usize,
        count: usize,
    ) -> Result<Value, String> {
        self.check(node)?;
        let heap = self.analysis().heap();
        let edges = heap.outgoing_edges(node);
        let shown = edges.skip(first).take(count.min(ROWS_MAX));
        let shown: Vec<Value> = shown.map(|edge| self.edge(&edge, edge.target)).collect();
        Ok(json!({ "edges": shown, "count": heap.outgoing_edges(node).count() }))
    }

    pub(super) fn incoming_answer(
        &self,
        node: u32,
        first: usize,
        count: usize,
    ) -> Result<Value, String> {
        self.check(node)?;
        let heap = self.analysis().heap();
        let edges = heap.incoming_edges(node, first.saturating_add(count.min(ROWS_MAX)));
        let shown = page(&edges, first, count.min(ROWS_MAX));
        let shown: Vec<Value> = shown
            .iter()
            .map(|edge| self.edge(edge, edge.source))
            .collect();
        let weak = heap.weak_edges().iter().filter(|edge| edge.target == node);
        let all = heap.incoming().of(node).len() + weak.count();
        Ok(json!({ "edges": shown, "count": all }))
    }

    pub(super) fn paths_answer(&self, node: u32, count: usize) -> Result<Value, String> {
        self.check(node)?;
        let analysis = self.analysis();
        let paths = analysis.paths(node, count.clamp(1, 100));
        let answers = paths.iter().map(|path| {
            let left_out = path.len().saturating_sub(2 * STEPS_MAX);
            let steps: Vec<Value> = path
                .iter()
                .enumerate()
                .filter(|(index, _)| *index < STEPS_MAX || *index >= STEPS_MAX + left_out)
                .map(|(index, node)| self.step(path, index, *node))
                .collect();
            json!({
                "length": path.len() - 1,
                "left-out": left_out,
                "sentence": analysis.path_sentence(path),
                "steps": steps,
            })
        });
        Ok(json!({ "paths": answers.collect::<Vec<_>>() }))
    }

    /// A node of a path with the edge that leads to it.
    fn step(&self, path: &[u32], index: usize, node: u32) -> Value {
        let heap = self.analysis().heap();
        let mut answer = self.brief(node);
        if let (Some(before), Some(answer)) = (index.checked_sub(1), answer.as_object_mut()) {
            let source = path[before];
            let edge = Edge {
                source,
                target: node,
                word: heap.word_between(source, node).unwrap_or(0),
                is_weak: false,
            };
            answer.insert("edge".into(), heap.edge_name(&edge).to_string().into());
        }
        answer
    }

    pub(super) fn dominated_answer(
        &self,
        node: u32,
        first: usize,
        count: usize,
    ) -> Result<Value, String> {
        self.check(node)?;
        let analysis = self.analysis();
        let count = count.min(ROWS_MAX);
        let (nodes, _, _) = analysis.dominated(node, first.saturating_add(count));
        let all = analysis.dominators().children(node).len();
        Ok(json!({ "objects": self.briefs(page(&nodes, first, count)), "count": all }))
    }

    pub(super) fn tiles_answer(
        &self,
        node: u32,
        depth: usize,
        count: usize,
    ) -> Result<Value, String> {
        self.check(node)?;
        let mut above = Vec::new();
        let mut at = Some(node);
        while let Some(one) = at.filter(|_| above.len() < DOMINATORS_MAX) {
            above.push(one);
            at = self.analysis().dominators().idom(one);
        }
        above.reverse();
        // Without the least size the number of tiles would grow with the power of the depth.
        let analysis = self.analysis();
        let bytes_min = analysis.dominators().retained(node) / TILE_SHARE;
        let tile = analysis.tiles_of(node, depth.min(4), count.min(100), bytes_min.max(1));
        Ok(json!({ "tile": tile_answer(&tile), "above": self.briefs(&above) }))
    }

    pub(super) fn duplicates_answer(&self, first: usize, count: usize) -> Value {
        let found = self.analysis().duplicates(usize::MAX);
        let shown = page(&found, first, count.min(ROWS_MAX)).iter();
        let shown = shown.map(|one| {
            let nodes = page(&one.nodes, 0, 20);
            json!({
                "object": self.brief(one.node),
                "copies": one.count,
                "saved": one.saved,
                "ids": nodes,
            })
        });
        json!({
            "rows": shown.collect::<Vec<_>>(),
            "count": found.len(),
            "saved": found.iter().map(|one| one.saved).sum::<u64>(),
        })
    }

    pub(super) fn unused_answer(&self, first: usize, count: usize) -> Value {
        let found = self.analysis().unused(usize::MAX);
        let shown = page(&found, first, count.min(ROWS_MAX)).iter();
        let shown = shown.map(|one| {
            json!({
                "object": self.brief(one.node),
                "used": one.used,
                "room": one.room,
                "bytes": one.bytes,
            })
        });
        json!({
            "rows": shown.collect::<Vec<_>>(),
            "count": found.len(),
            "bytes": found.iter().map(|one| one.bytes).sum::<u64>(),
        })
    }
}

/// A tile with those inside of it.
fn tile_answer(tile: &Tile) -> Value {
    let children: Vec<Value> = tile.children.iter().map(tile_answer).collect();
    json!({
        "id": tile.node,
        "label": tile.label,
        "bytes": tile.bytes,
        "retained": tile.retained,
        "children": children,
        "others": tile.others,
        "others-retained": tile.others_retained,
    })
}

/// Adds the place of code to an answer.
pub(super) fn place_into(answer: &mut Map<String, Value>, file: Option<&str>, line: Option<u32>) {
    if let Some(file) = file {
        answer.insert("file".into(), file.into());
        if let Some(line) = line {
            answer.insert("line".into(), line.into());
        }
    }
}

impl Session {
    /// Finds which objects are the same as before, if a query needs to know it.
    pub fn prepare(&self, predicate: &Predicate, opened: &Opened) -> Result<(), String> {
        if follows(predicate) {
            self.follow(&[opened])?;
        }
        Ok(())
    }

    pub(super) fn objects_answer(
        &self,
        snapshot: usize,
        query: &str,
        sort: SortKey,
        first: usize,
        count: usize,
    ) -> Result<Value, String> {
        let predicate = expression::predicate(query)?;
        let opened = self.snapshot(snapshot)?;
        self.prepare(&predicate, &opened)?;
        let analysis = opened.analysis();
        let page = analysis.query(&predicate, sort, first, count.min(ROWS_MAX));
        let page = page.map_err(|error| error.to_string())?;
        Ok(json!({
            "objects": opened.briefs(&page.nodes),
            "count": page.count,
            "bytes": page.bytes,
        }))
    }

    pub(super) fn identity_answer(&self, snapshot: usize, node: u32) -> Result<Value, String> {
        let opened = self.snapshot(snapshot)?;
        opened.check(node)?;
        self.follow(&[&opened])?;
        let heap = opened.analysis().heap();
        let position = (0..node).filter(|one| !heap.is_virtual(*one)).count();
        let identities = opened.analysis().identities();
        let identity = identities.filter(|_| !heap.is_virtual(node));
        Ok(json!(identity.and_then(|ids| ids.id(position))))
    }
}
