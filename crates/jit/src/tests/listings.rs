//! Filetests of machine code: `tests/filetests/*.txt` say bytecode and a graph, as those of `spesh` do,
//! and behind a line of dashes the code of each segment for any processor of x86-64-v2. `CANNY_BLESS=1`
//! writes that part.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use canny_spesh::verify::verify;
use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};

use super::support::World;
use crate::relocation::Target;
use crate::trampoline;
use crate::{Compiled, Environment, Processor, compile};

const DASHES: &str = "\n-----\n";

/// Addresses outside of the code, which the listings show as they are.
fn environment() -> Environment {
    Environment {
        call_slow_stub: 0xca11,
        tail_call_slow_stub: 0x7a11ca11,
        capture_apart: 0xca97,
        allocate: 0xa110c,
        box_flonum: 0xb0f10,
        leaves: (0..canny_tables::leaves::ROWS.len())
            .map(|leaf| 0x1eaf_0000 + leaf)
            .collect(),
        disassembles: false,
        processor: Processor::Baseline,
        leaves_at_random: false,
    }
}

/// The name of a displacement's target.
fn target_name(target: Target) -> String {
    match target {
        Target::Return(number) => format!("return-{number}"),
        Target::Exit(number) => format!("exit-{number}"),
        Target::Resumption(number) => format!("resumption-{number}"),
        Target::Stub(stub) => format!("stub-{stub:?}").to_lowercase(),
        Target::Inlined(number) => format!("inlined-{number}"),
        Target::Segment(number) => format!("segment-{number}"),
        Target::Next => "next".to_owned(),
        Target::ExitTail(number) => format!("exit-tail-{number}"),
        Target::Link(number) => format!("link-{number}"),
        Target::LinkOfWords(number) => format!("link-of-words-{number}"),
    }
}

/// The instructions from an offset on, up to an end.
fn decode(code: &[u8], start: usize, end: usize) -> Vec<Instruction> {
    let bytes = &code[start..end];
    let mut decoder = Decoder::with_ip(64, bytes, start as u64, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        // The instructions that made the frame are stripped, and left as fillers.
        if instruction.mnemonic() != iced_x86::Mnemonic::Int3 {
            instructions.push(instruction);
        }
    }
    instructions
}

fn listing(compiled: &Compiled) -> String {
    let mut out = String::new();
    let mut formatter = IntelFormatter::new();
    formatter
        .options_mut()
        .set_space_after_operand_separator(true);
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    for (number, segment) in compiled.segments.iter().enumerate() {
        let frame = if segment.has_frame {
            ", with a native frame"
        } else {
            ""
        };
        let _ = writeln!(out, "segment {number}{frame}");
        let instructions = decode(
            &compiled.code,
            segment.offset,
            segment.offset + segment.length,
        );
        let relocation = |one: &Instruction| {
            let range = one.ip() as usize..one.next_ip() as usize;
            let mut relocations = compiled.relocations.iter();
            relocations.find(|relocation| range.contains(&relocation.offset))
        };
        let is_branch = |one: &Instruction| one.near_branch_target() != 0;
        let mut targets: Vec<u64> = instructions
            .iter()
            .filter(|one| is_branch(one) && relocation(one).is_none())
            .map(Instruction::near_branch_target)
            .filter(|target| instructions.iter().any(|one| one.ip() == *target))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        let labels: HashMap<u64, usize> = targets.iter().copied().zip(0..).collect();
        for instruction in &instructions {
            if let Some(label) = labels.get(&instruction.ip()) {
                let _ = writeln!(out, "  L{label}:");
            }
            let mut text = String::new();
            formatter.format(instruction, &mut text);
            // Trampolines are where the system put this process.
            for (address, name) in [
                (trampoline::making(), "trampoline-making"),
                (trampoline::runtime(), "trampoline-runtime"),
            ] {
                text = text.replace(&format!("0x{address:X}"), name);
            }
            let mnemonic = text.split(' ').next().unwrap_or_default().to_owned();
            let label = labels
                .get(&instruction.near_branch_target())
                .filter(|_| is_branch(instruction));
            let _ = match (relocation(instruction), label) {
                (Some(relocation), _) => {
                    let goal = target_name(relocation.target);
                    if is_branch(instruction) {
                        writeln!(out, "    {mnemonic} {goal}")
                    } else {
                        writeln!(out, "    {text} ; {goal}")
                    }
                }
                (None, Some(label)) => writeln!(out, "    {mnemonic} L{label}"),
                (None, None) => writeln!(out, "    {text}"),
            };
        }
    }
    out
}

fn run(input: &str) -> Result<String, String> {
    let world = World::read(input)?;
    let graph = world.graph()?;
    verify(&graph)?;
    let compiled = compile(&graph, &environment()).map_err(|error| error.to_string())?;
    Ok(listing(&compiled))
}

#[test]
fn files_give_what_they_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = text.split_once(DASHES).unwrap_or((&text, ""));
        let input = input.trim_end();
        match run(input) {
            Ok(actual) if actual == expected => {}
            Ok(actual) if std::env::var_os("CANNY_BLESS").is_some() => {
                std::fs::write(&path, format!("{input}{DASHES}{actual}")).unwrap();
            }
            Ok(actual) => failures.push(format!(
                "{}: expected\n{expected}\nbut got\n{actual}",
                path.display()
            )),
            Err(problem) => failures.push(format!("{}: {problem}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
