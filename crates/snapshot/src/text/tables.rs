//! Tables about one snapshot: a summary, groups, objects, paths and waste.
//!
//! Numbers come first, in columns of fixed width; names share the rest.

use canny_report::units::{bytes, count};
use canny_report::{Colour, Style, fit, printable, right};

use crate::analysis::{Analysis, Duplicates, Row, Unused};
use crate::file::{Directory, Info, TypeRow, Way};
use crate::heap::Edge;

pub(super) const COUNT: usize = 13;
pub(super) const AMOUNT: usize = 10;
const SHARE: usize = 8;

/// A line of cells and a name that takes the rest.
pub(super) fn line(style: &Style, cells: &str, used: usize, name: &str) -> String {
    let name = fit(name, style.width.saturating_sub(used + 2));
    format!("{cells}  {}\n", name.trim_end())
}

pub(super) fn title(style: &Style, text: &str) -> String {
    style.paint(Colour::Bold, fit(text, style.width).trim_end()) + "\n"
}

pub(super) fn more(shown: usize, all: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!("{} more\n", count(more as u64)),
    }
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Fork => "by a copy of the process",
        Way::InPlace => "in place",
        Way::Summary => "sums only",
        Way::Other => "in an unknown way",
    }
}

/// The facts of a snapshot.
pub fn head(info: &Info, directory: &Directory, style: &Style) -> String {
    let program = if info.program.is_empty() {
        "a program"
    } else {
        &info.program
    };
    let head = format!(
        "snapshot {} of {program}, process {}",
        directory.number, info.pid
    );
    let mut text = title(style, &head);
    let reason = format!(
        "taken {}, reason: {}; the program stood still for {:.1} ms",
        way(directory.way),
        directory.reason,
        directory.stopped as f64 / 1000.0
    );
    let sums = format!(
        "{} objects, {}; blocks {}, outside of the heap {}",
        count(directory.objects),
        bytes(directory.bytes),
        bytes(directory.heap),
        bytes(directory.outside)
    );
    for one in [reason, sums] {
        text += &(fit(&one, style.width).trim_end().to_owned() + "\n");
    }
    text
}

/// The facts of a snapshot, with the types that have most bytes. It needs no graph.
pub fn summary(info: &Info, types: &[TypeRow], directory: &Directory, style: &Style) -> String {
    let mut text = head(info, directory, style);
    text += "\n";
    let cells = [
        right("objects", COUNT),
        right("bytes", AMOUNT),
        right("share", SHARE),
    ]
    .concat();
    text += &title(style, &format!("{cells}  type"));
    for sum in directory.summary.iter().take(style.rows_max) {
        let name = types
            .get(sum.type_number as usize)
            .map_or("", |row| row.title());
        let cells = [
            right(&count(sum.objects), COUNT),
            right(&bytes(sum.bytes), AMOUNT),
            format!(" {}", style.share(sum.bytes, directory.bytes)),
        ];
        text += &line(style, &cells.concat(), COUNT + AMOUNT + SHARE, name);
    }
    text + &more(style.rows_max, directory.summary.len())
}

/// Groups with their sums.
pub fn rows_table(rows: &[Row], style: &Style) -> String {
    let has_outside = rows.iter().any(|row| row.outside > 0);
    let outside = |text: &str| {
        if has_outside {
            right(text, AMOUNT)
        } else {
            String::new()
        }
    };
    let cells = [
        right("objects", COUNT),
        right("bytes", AMOUNT),
        right("share", SHARE),
        right("retained", AMOUNT),
        outside("outside"),
    ];
    let used = COUNT + (2 + usize::from(has_outside)) * AMOUNT + SHARE;
    let mut text = title(style, &(cells.concat() + "  group"));
    let whole = rows.iter().map(|row| row.bytes).sum();
    let amount = |number: u64| match number {
        0 => "-".to_owned(),
        number => bytes(number),
    };
    for row in rows.iter().take(style.rows_max) {
        let cells = [
            right(&count(row.objects), COUNT),
            right(&bytes(row.bytes), AMOUNT),
            format!(" {}", style.share(row.bytes, whole)),
            right(&amount(row.retained), AMOUNT),
            outside(&amount(row.outside)),
        ];
        text += &line(style, &cells.concat(), used, &row.name);
    }
    text + &more(style.rows_max, rows.len())
}

/// Objects with sizes and retained bytes.
pub fn nodes_table(analysis: &Analysis, nodes: &[u32], style: &Style) -> String {
    let cells = [
        right("node", COUNT),
        right("bytes", AMOUNT),
        right("retained", AMOUNT),
    ];
    let mut text = title(style, &(cells.concat() + "  object"));
    for &node in nodes.iter().take(style.rows_max) {
        let cells = [
            right(&node.to_string(), COUNT),
            right(&bytes(analysis.heap().size(node)), AMOUNT),
            right(&bytes(analysis.dominators().retained(node)), AMOUNT),
        ];
        let label = analysis.heap().label(node);
        text += &line(style, &cells.concat(), COUNT + 2 * AMOUNT, &label);
    }
    text + &more(style.rows_max, nodes.len())
}

/// Edges of a node: incoming ones with their sources, outgoing ones with their targets.
pub fn edges_table(analysis: &Analysis, edges: &[Edge], node: u32, style: &Style) -> String {
    let heap = analysis.heap();
    let mut text = String::new();
    for edge in edges.iter().take(style.rows_max) {
        let is_incoming = edge.target == node;
        let other = if is_incoming {
            edge.source
        } else {
            edge.target
        };
        let mark = if is_incoming { "←" } else { "→" };
        let weak = if edge.is_weak { " (weak)" } else { "" };
        let name = heap.edge_name(edge);
        let cells = right(&other.to_string(), COUNT);
        let label = format!("{mark} {name}{weak}: {}", heap.label(other));
        text += &line(style, &cells, COUNT, &label);
    }
    text + &more(style.rows_max, edges.len())
}

/// A path, a line for each node, and the sentence about its end.
pub fn path_text(analysis: &Analysis, path: &[u32], style: &Style) -> String {
    let mut text = String::new();
    let lines = analysis.path_lines(path);
    let half = style.rows_max.div_ceil(2);
    for (index, one) in lines.iter().enumerate() {
        if index >= half && index + half < lines.len() {
            if index == half {
                text += &format!("  {} more\n", lines.len() - 2 * half);
            }
            continue;
        }
        let indent = if index == 0 { "" } else { "  " };
        text += &(fit(&format!("{indent}{one}"), style.width)
            .trim_end()
            .to_owned()
            + "\n");
    }
    text
}

/// Equal strings.
pub fn duplicates_table(analysis: &Analysis, found: &[Duplicates], style: &Style) -> String {
    let cells = [right("copies", COUNT), right("saves", AMOUNT)];
    let mut text = title(style, &(cells.concat() + "  text"));
    for one in found.iter().take(style.rows_max) {
        let cells = [
            right(&count(one.count), COUNT),
            right(&bytes(one.saved), AMOUNT),
        ];
        let label = printable(&analysis.heap().label(one.node));
        text += &line(style, &cells.concat(), COUNT + AMOUNT, &label);
    }
    text + &more(style.rows_max, found.len())
}

/// Room that is not used.
pub fn unused_table(analysis: &Analysis, found: &[Unused], style: &Style) -> String {
    let cells = [
        right("used", COUNT),
        right("room", COUNT),
        right("saves", AMOUNT),
    ];
    let mut text = title(style, &(cells.concat() + "  object"));
    for one in found.iter().take(style.rows_max) {
        let cells = [
            right(&count(one.used), COUNT),
            right(&count(one.room), COUNT),
            right(&bytes(one.bytes), AMOUNT),
        ];
        let label = analysis.heap().label(one.node);
        text += &line(style, &cells.concat(), 2 * COUNT + AMOUNT, &label);
    }
    text + &more(style.rows_max, found.len())
}
