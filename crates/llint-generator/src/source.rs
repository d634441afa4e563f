//! Stencils as Rust source, which `crates/llint` includes.

use std::fmt::Write;

use canny_tables::opcodes::Opcode;

use crate::emit::StencilPair;
use crate::stencils::{Part, Stencil};

/// The table of stencils by opcode, as an expression.
pub fn stencil_source(stencils: &[Option<StencilPair>]) -> String {
    let mut text = String::from("[\n");
    for index in 0..Opcode::ALL.len() {
        match stencils.get(index).and_then(Option::as_ref) {
            None => text.push_str("    None,\n"),
            Some((first, second)) => {
                let second = match second {
                    Some(second) => format!("Some({})", stencil(second)),
                    None => "None".to_owned(),
                };
                // Writing to a string does not fail.
                let _ = writeln!(text, "    Some(({}, {second})),", stencil(first));
            }
        }
    }
    text.push(']');
    text
}

fn stencil(stencil: &Stencil) -> String {
    format!(
        "Stencil {{ usual: {}, rare: {}, needs_word: {}, needs_pc: {} }}",
        part(&stencil.usual),
        part(&stencil.rare),
        stencil.needs_word,
        stencil.needs_pc
    )
}

fn part(part: &Part) -> String {
    let patches: Vec<String> = part
        .patches
        .iter()
        .map(|(offset, patch)| format!("({offset}, {patch:?})"))
        .collect();
    format!(
        "Part {{ code: &{:?}, patches: &[{}] }}",
        part.code,
        patches.join(", ")
    )
}
