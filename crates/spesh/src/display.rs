//! Graphs as text.

use std::fmt::{self, Display, Write};

use canny_compiler::instruction::Instruction;
use canny_tables::opcodes::Extension;
use canny_tables::primitives::PrimitiveId;

use crate::graph::{BlockId, Edge, EntryPoint, Graph, NodeId, Op, StateId, Terminator};

/// Shows a graph block by block: nodes with types, states by the instruction that they go on at.
impl Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.codes[0].name;
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
        for (index, block) in self.blocks.iter().enumerate() {
            write!(f, "  b{index}")?;
            if !block.parameters.is_empty() {
                f.write_char('(')?;
                for (position, parameter) in block.parameters.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}n{}: {}", parameter.0, self.node(*parameter).ty)?;
                    if let Op::BlockParameter(crate::graph::Representation::Float) =
                        self.node(*parameter).op
                    {
                        f.write_str(" unboxed")?;
                    }
                }
                f.write_char(')')?;
            }
            writeln!(f, ":{}", if block.is_loop { " loop" } else { "" })?;
            for id in &block.nodes {
                let node = self.node(*id);
                write!(f, "    n{} = {}", id.0, Compact(&node.op))?;
                if node.op.representation() != crate::graph::Representation::Nothing {
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
            self.write_end(f, BlockId(index as u32))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Graph {
    fn write_state(&self, f: &mut fmt::Formatter<'_>, id: StateId) -> fmt::Result {
        let state = self.state(id);
        let code = self.code_of(state.frame);
        let instruction = Instruction::decode(&code.instructions, state.pc).ok();
        let opcode = instruction.as_ref().map_or("?", |known| known.row().name);
        write!(f, "  [{} {} {opcode}", code.name, state.pc)?;
        if let Some(number) = instruction.and_then(|known| known.extension(Extension::Primitive)) {
            write!(f, " {}", PrimitiveId(number as u16).row().name)?;
        }
        f.write_char(';')?;
        for (register, node) in &state.registers {
            write!(f, " r{register}=n{}", node.0)?;
        }
        f.write_char(']')
    }

    fn write_end(&self, f: &mut fmt::Formatter<'_>, block: BlockId) -> fmt::Result {
        match &self.blocks[block.index()].terminator {
            Terminator::None => f.write_str("?"),
            Terminator::Jump(edge) => write!(f, "jump {}", Goal(edge)),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => write!(
                f,
                "if {} then {} else {}",
                Compact(condition),
                Goal(then),
                Goal(otherwise)
            ),
            Terminator::RuntimeBranch { state, taken, fall } => {
                write!(f, "runtime branch {} or {}", Goal(taken), Goal(fall))?;
                self.write_state(f, *state)
            }
            Terminator::Return(value) => write!(f, "return n{}", value.0),
            Terminator::TailCall(callee, arguments, state) => {
                write!(f, "tail call {} {}", Compact(callee), Nodes(arguments))?;
                self.write_state(f, *state)
            }
            Terminator::Exit(state) => {
                f.write_str("exit")?;
                self.write_state(f, *state)
            }
        }
    }
}

/// The debug text of an operation with shorter names of nodes and without states.
struct Compact<T>(T);

impl<T: fmt::Debug> Display for Compact<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{:?}", self.0).replace("NodeId(", "n(");
        while let Some(start) = text.find(", StateId(") {
            let end = text[start..]
                .find(')')
                .map_or(text.len(), |at| start + at + 1);
            text.replace_range(start..end, "");
        }
        f.write_str(&text)
    }
}

struct Goal<'a>(&'a Edge);

impl Display for Goal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0.target.0)?;
        if !self.0.arguments.is_empty() {
            write!(f, "{}", Nodes(&self.0.arguments))?;
        }
        Ok(())
    }
}

struct Nodes<'a>(&'a [NodeId]);

impl Display for Nodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (position, node) in self.0.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            write!(f, "{comma}n{}", node.0)?;
        }
        f.write_char(')')
    }
}
