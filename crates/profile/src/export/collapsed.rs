//! Collapsed stacks: a line for each stack, names from the oldest to the newest with `;` between
//! them, then a space and the weight. `flamegraph.pl`, `inferno` and speedscope read it.
//!
//! The format knows no escapes: in a name `;` becomes `:`, and a control character a space.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{CUT, DEPTH_MAX, UNKNOWN};
use crate::analysis::{Grain, Weights};
use crate::model::StackKind;

/// The text of collapsed stacks, in nanoseconds or bytes.
pub fn collapsed(weights: &Weights) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, cost) in weights.stacks() {
        let profile = weights.profile;
        let mut names: Vec<String> = Vec::new();
        let mut next = Some(stack);
        while let Some(stack) = next {
            let name = weights.place(stack, Grain::Function).name(profile);
            names.push(escaped(name));
            next = weights.parent(stack);
            let is_too_deep = names.len() >= DEPTH_MAX && next.is_some();
            if is_too_deep || weights.kind(stack) == StackKind::Cut {
                names.push(CUT.to_owned());
            }
            if is_too_deep {
                break;
            }
        }
        names.reverse();
        let weight = lines.entry(names.join(";")).or_default();
        *weight = weight.saturating_add(cost.weight);
    }
    if weights.unknown.count > 0 {
        lines.insert(UNKNOWN.to_owned(), weights.unknown.weight);
    }
    let mut text = String::new();
    for (names, weight) in lines {
        let _ = writeln!(text, "{names} {weight}");
    }
    text
}

fn escaped(name: &str) -> String {
    let escape = |character: char| match character {
        ';' => ':',
        character if character.is_control() => ' ',
        // Unicode's own ends of lines.
        '\u{2028}' | '\u{2029}' => ' ',
        character => character,
    };
    name.chars().map(escape).collect()
}
