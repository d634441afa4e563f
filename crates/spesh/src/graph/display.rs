//! Prints graphs as text, for filetests, reports and messages of the verifier.
//!
//! [`super::parse`] reads the same text back: a detail that is printed here has to be parsed there.
//! The rows of [`super::ops`] print the operations; this module prints blocks, edges, frames,
//! states and terminators.

use std::fmt::{self, Display, Write};

use canny_compiler::instruction::Instruction;
use canny_tables::opcodes::Extension;
use canny_tables::primitives::PrimitiveId;

use super::{BlockId, EntryPoint, FrameId, Graph, Op, Representation, StateId, Terminator};

/// Shows a graph block by block: nodes with types, states by the instruction that they resume at.
impl Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.label(0);
        match self.entry {
            EntryPoint::Start => {
                write!(f, "graph of {name}")?;
                for (position, (register, ty)) in self.required.iter().enumerate() {
                    let before = if position == 0 {
                        ", called with"
                    } else {
                        " and"
                    };
                    write!(f, "{before} r{register}: {ty}")?;
                }
                writeln!(f)?;
            }
            EntryPoint::Loop(pc) => writeln!(f, "graph of {name}, entered at the loop at {pc}")?,
        }
        for index in 1..self.frames.len() {
            self.write_frame(f, FrameId(index as u32))?;
        }
        if !self.watched.is_empty() {
            let cells: Vec<String> = self.watched.iter().map(u32::to_string).collect();
            writeln!(f, "  watches {}", cells.join(", "))?;
        }
        for index in 0..self.blocks.len() {
            self.write_block(f, BlockId(index as u32))?;
        }
        Ok(())
    }
}

impl Graph {
    /// The name of a procedure as one word, with a number behind it if another one before has the same.
    pub(super) fn label(&self, code: usize) -> String {
        let name = |index: usize| {
            let name = self.codes[index].name.chars();
            let has_meaning = |letter: char| letter.is_whitespace() || ",:;[]\"".contains(letter);
            name.map(|letter| if has_meaning(letter) { '_' } else { letter })
                .collect::<String>()
        };
        let label = name(code);
        match (0..code).filter(|other| name(*other) == label).count() {
            0 if label.is_empty() => "_".to_owned(),
            0 => label,
            before => format!("{label}'{}", before + 1),
        }
    }

    /// How a block ends, in a message.
    pub fn end_text(&self, block: BlockId) -> String {
        struct End<'a>(&'a Graph, &'a Terminator);
        impl Display for End<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write_end(f, self.1)
            }
        }
        End(self, &self.blocks[block.index()].terminator).to_string()
    }

    fn write_frame(&self, f: &mut fmt::Formatter<'_>, id: FrameId) -> fmt::Result {
        let frame = self.frame(id);
        let name = self.label(frame.code);
        write!(f, "  f{}: {name} at {}", id.0, frame.base)?;
        write!(f, ", closure n{}", frame.closure.0)?;
        if let Some(address) = frame.return_address {
            write!(f, ", returns to {address:#x}")?;
        }
        if let Some(caller) = frame.caller {
            f.write_str(", called in")?;
            self.write_state(f, caller)?;
        }
        writeln!(f)
    }

    fn write_block(&self, f: &mut fmt::Formatter<'_>, id: BlockId) -> fmt::Result {
        let block = &self.blocks[id.index()];
        write!(f, "  b{}", id.0)?;
        if !block.parameters.is_empty() {
            f.write_char('(')?;
            for (position, parameter) in block.parameters.iter().enumerate() {
                let comma = if position > 0 { ", " } else { "" };
                write!(f, "{comma}n{}: {}", parameter.0, self.node(*parameter).ty)?;
                if self.representation(*parameter) == Representation::Float {
                    f.write_str(" unboxed")?;
                }
            }
            f.write_char(')')?;
        }
        f.write_char(':')?;
        if block.is_loop {
            f.write_str(" loop")?;
        }
        if let Some(state) = block.entry_state {
            self.write_state(f, state)?;
        }
        writeln!(f)?;
        for id in &block.nodes {
            let node = self.node(*id);
            write!(
                f,
                "    n{} = {}",
                id.0,
                Written::of(|out| node.op.write(out))
            )?;
            if node.op.representation() != Representation::Nothing {
                write!(f, " : {}", node.ty)?;
            }
            if self.is_sunk(*id) {
                f.write_str(", in exits only")?;
            }
            if let Some(state) = node.op.state() {
                self.write_state(f, state)?;
            }
            writeln!(f)?;
        }
        f.write_str("    ")?;
        self.write_end(f, &block.terminator)?;
        writeln!(f)
    }

    fn write_state(&self, f: &mut fmt::Formatter<'_>, id: StateId) -> fmt::Result {
        let state = self.state(id);
        let code = self.code_of(state.frame);
        let instruction = Instruction::decode(&code.instructions, state.pc).ok();
        let opcode = instruction.as_ref().map_or("?", |known| known.row().name);
        f.write_str("  [")?;
        if state.frame != FrameId(0) {
            write!(f, "f{}: ", state.frame.0)?;
        }
        let name = self.label(self.frame(state.frame).code);
        write!(f, "{name} {} {opcode}", state.pc)?;
        if let Some(number) = instruction.and_then(|known| known.extension(Extension::Primitive)) {
            write!(f, " {}", PrimitiveId(number as u16).row().name)?;
        }
        f.write_char(';')?;
        for (register, node) in &state.registers {
            write!(f, " r{register}=n{}", node.0)?;
        }
        f.write_char(']')
    }

    fn write_end(&self, f: &mut fmt::Formatter<'_>, end: &Terminator) -> fmt::Result {
        write!(f, "{}", Written::of(|out| end.write(out)))?;
        match end.state() {
            Some(state) => self.write_state(f, state),
            None => Ok(()),
        }
    }
}

/// An operation and its operands, without its state.
impl Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Written::of(|out| self.write(out)))
    }
}

/// A text that something wrote.
struct Written(String);

impl Written {
    fn of(write: impl FnOnce(&mut String)) -> Written {
        let mut text = String::new();
        write(&mut text);
        Written(text)
    }
}

impl Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
