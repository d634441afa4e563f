//! Nodes and paths in plain English.
//!
//! Repeated steps, such as those along a list, are told once with their number.

use super::Analysis;
use crate::heap::{Edge, EdgeName, Heap};

/// Characters of a text in a sentence.
const TEXT_MAX: usize = 40;
/// Steps of a path that are told at each end.
const STEPS_MAX: usize = 6;

/// A short text in quotes.
pub fn quoted(text: &str, is_cut: bool) -> String {
    let mut shown: String = text.chars().take(TEXT_MAX).collect();
    if is_cut || text.chars().nth(TEXT_MAX).is_some() {
        shown.push('…');
    }
    // Only what would disturb a line or the quotes is escaped.
    let shown = shown.escape_debug().to_string().replace("\\'", "'");
    format!("\"{shown}\"")
}

impl Heap {
    /// A node for people: `string "abc"`, `record entry`, `procedure handler (app.scm:12)`.
    pub fn label(&self, node: u32) -> String {
        let row = self.type_of(node);
        let mut label = match &row.name {
            Some(name) if *name != row.family && !row.is_virtual => {
                format!("{} {name}", row.family)
            }
            Some(name) => name.clone(),
            None => row.family.clone(),
        };
        if let Some(text) = self.text(node) {
            label += " ";
            label += &match row.family.as_str() {
                "symbol" if !text.is_cut() => text.preview.to_owned(),
                _ => quoted(text.preview, text.is_cut()),
            };
        }
        if let (Some(file), Some(line)) = (&row.file, row.line) {
            label += &format!(" ({file}:{line})");
        }
        label
    }
}

/// Equal steps of a path, one after the other.
struct Step {
    source: u32,
    target: u32,
    name: EdgeName,
    count: usize,
}

fn steps(heap: &Heap, path: &[u32]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for pair in path.windows(2) {
        let word = heap.word_between(pair[0], pair[1]).unwrap_or(0);
        let name = heap.edge_name(&Edge {
            source: pair[0],
            target: pair[1],
            word,
            is_weak: false,
        });
        if let Some(last) = steps.last_mut()
            && last.name == name
            && heap.type_number(last.source) == heap.type_number(pair[0])
        {
            last.target = pair[1];
            last.count += 1;
            continue;
        }
        steps.push(Step {
            source: pair[0],
            target: pair[1],
            name,
            count: 1,
        });
    }
    steps
}

/// How a step leads to its target.
fn by(name: &EdgeName, count: usize) -> String {
    let by = match name {
        EdgeName::Field(name) => format!("`{name}`"),
        EdgeName::Element(index) => format!("element {index}"),
        EdgeName::Word(word) => format!("word {word}"),
    };
    match count {
        1 => format!("by {by}"),
        count => format!("by {by}, {count} times in a row"),
    }
}

/// Whether the number of a step's edge says nothing: roots have their edges in no order.
fn is_unnamed(heap: &Heap, step: &Step) -> bool {
    heap.is_virtual(step.source) && matches!(step.name, EdgeName::Word(_))
}

fn step_text(heap: &Heap, step: &Step) -> String {
    let label = heap.label(step.target);
    if is_unnamed(heap, step) {
        return label;
    }
    format!("{label} ({})", by(&step.name, step.count))
}

impl Analysis {
    /// Why a node is alive, in one or two sentences.
    pub fn why_alive(&self, node: u32) -> String {
        let heap = self.heap();
        let path = self.distances().shortest(node);
        if path.len() < 2 {
            return "The roots are where all paths begin.".to_owned();
        }
        let mut text = self.path_sentence(&path);
        let mut idom = self.dominators().idom(node);
        while let Some(above) = idom.filter(|above| heap.is_virtual(*above)) {
            idom = self.dominators().idom(above);
        }
        if let Some(above) = idom {
            let bytes = canny_report::units::bytes(self.dominators().retained(above));
            let label = heap.label(above);
            text += &format!(" All paths lead through {label}; without it, {bytes} would be free.");
        } else {
            let bytes = canny_report::units::bytes(self.dominators().retained(node));
            text += &format!(" No single object keeps it alive; it retains {bytes}.");
        }
        text
    }

    /// A path as a sentence.
    pub fn path_sentence(&self, path: &[u32]) -> String {
        let heap = self.heap();
        let Some((&node, _)) = path.split_last() else {
            return String::new();
        };
        let mut text = format!("{} is alive because ", capital(&heap.label(node)));
        // The root and the places below it are no news, unless they are all there is.
        let first = path
            .iter()
            .position(|node| heap.is_virtual(*node) && *node != 0);
        let path = &path[first.unwrap_or(0)..];
        let steps = steps(heap, path);
        if steps.is_empty() {
            return text + "the machine itself refers to it.";
        }
        text += &heap.label(path[0]);
        let last = steps.len() - 1;
        for (index, step) in steps.iter().enumerate() {
            if index >= STEPS_MAX && index + STEPS_MAX < steps.len() {
                if index == STEPS_MAX {
                    let skipped = steps.len() - 2 * STEPS_MAX;
                    text += &format!(", which holds the next one through {skipped} more steps");
                }
                continue;
            }
            text += if index == 0 {
                " holds "
            } else {
                ", which holds "
            };
            if index == last && is_unnamed(heap, step) {
                text += "it";
            } else if index == last {
                text += &format!("it {}", by(&step.name, step.count));
            } else {
                text += &step_text(heap, step);
            }
        }
        text + "."
    }

    /// A path as lines: each node with the edge that leads to it.
    pub fn path_lines(&self, path: &[u32]) -> Vec<String> {
        let heap = self.heap();
        let mut lines: Vec<String> = path
            .first()
            .map(|node| heap.label(*node))
            .into_iter()
            .collect();
        for step in steps(heap, path) {
            let times = match step.count {
                1 => String::new(),
                count => format!(" ×{count}"),
            };
            let label = heap.label(step.target);
            lines.push(if is_unnamed(heap, &step) {
                label
            } else {
                format!("{}{times} → {label}", step.name)
            });
        }
        lines
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) if first.is_ascii_lowercase() => {
            format!("The {first}{}", characters.as_str())
        }
        _ => text.to_owned(),
    }
}
