//! A flame graph of text: each function a bar as long as its share, below its caller.
//!
//! An only child has no mark before its name, so that long chains of calls are easy to skip.

use canny_report::{Colour, Style, fit, right};

use super::table::amount;
use crate::analysis::{Tree, Weights};

/// Columns for bar, share and amount.
const BAR: usize = 16;
const SHARE: usize = 8;
const AMOUNT: usize = 11;
/// Columns of indentation for each depth; deep trees stay in the left half.
const INDENT: usize = 2;

/// Eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The tree with bars; functions below `share_min` of the whole are left out.
pub fn flame_graph(weights: &Weights, tree: &Tree, share_min: f64, style: &Style) -> String {
    let mut text = String::new();
    walk(tree, share_min, |index, depth, is_only| {
        let node = &tree.nodes[index];
        let share = node.total.share_of(tree.total);
        let indent = (depth * INDENT).min(style.width / 2);
        let mark = if is_only { "" } else { "├ " };
        let name = format!(
            "{}{mark}{}",
            " ".repeat(indent),
            node.place.name(weights.profile)
        );
        let bar = fit(&bar(share), BAR);
        let line = format!(
            "{} {}  {}",
            style.paint(heat(share), &bar),
            style.fraction(share),
            fit(&name, style.width.saturating_sub(BAR + SHARE + 2)).trim_end()
        );
        text += &(line + "\n");
    });
    text
}

/// The tree with amounts, in which each line has its own weight too.
pub fn tree_text(weights: &Weights, tree: &Tree, share_min: f64, style: &Style) -> String {
    let unit = weights.measure.unit();
    let mut text = String::new();
    walk(tree, share_min, |index, depth, _| {
        let node = &tree.nodes[index];
        let indent = " ".repeat((depth * INDENT).min(style.width / 2));
        let name = format!("{indent}{}", node.place.name(weights.profile));
        let own = amount(node.own.weight, unit);
        let total = amount(node.total.weight, unit);
        let line = format!(
            " {}{}{}  {}",
            style.fraction(node.total.share_of(tree.total)),
            right(&total, AMOUNT),
            right(&own, AMOUNT),
            fit(&name, style.width.saturating_sub(2 * AMOUNT + SHARE + 2)).trim_end()
        );
        text += &(line + "\n");
    });
    text
}

fn heat(share: f64) -> Colour {
    match share {
        share if share >= 0.5 => Colour::Red,
        share if share >= 0.1 => Colour::Yellow,
        _ => Colour::Green,
    }
}

fn bar(share: f64) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Calls back for each node with its depth, and whether it has no siblings that are shown.
fn walk(tree: &Tree, share_min: f64, mut show: impl FnMut(usize, usize, bool)) {
    let shown = |list: &[usize]| -> Vec<usize> {
        let list = list.iter().copied();
        list.filter(|index| tree.nodes[*index].total.share_of(tree.total) >= share_min)
            .collect()
    };
    let mut pending: Vec<(usize, usize, bool)> = Vec::new();
    let push = |pending: &mut Vec<(usize, usize, bool)>, list: &[usize], depth: usize| {
        let list = shown(list);
        let is_only = list.len() == 1;
        pending.extend(list.into_iter().rev().map(|index| (index, depth, is_only)));
    };
    push(&mut pending, &tree.roots, 0);
    while let Some((index, depth, is_only)) = pending.pop() {
        show(index, depth, is_only);
        push(&mut pending, &tree.nodes[index].children, depth + 1);
    }
}
