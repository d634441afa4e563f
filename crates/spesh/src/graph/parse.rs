//! Reads the text of a graph ([`std::fmt::Display`] of [`Graph`] writes it), so that tests can say a
//! graph by hand.
//!
//! Equal states are one state afterwards.

use std::collections::HashMap;
use std::sync::Arc;

use super::text::{Reader, Text, Wrong};
use super::{
    Block, EntryPoint, Frame, FrameId, Graph, Node, NodeId, Op, Representation, State, StateId,
    Terminator,
};
use crate::snapshot::CodeSnapshot;
use crate::types::Type;

impl Graph {
    /// Reads the text of a graph over these procedures, the first of which is the one that is compiled.
    /// An error names line and column, from one.
    pub fn parse(text: &str, codes: &[Arc<CodeSnapshot>]) -> Result<Graph, String> {
        let mut parser = Parser::new(codes)?;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if !line.trim_start().is_empty() {
                parser.line(line).map_err(|wrong| {
                    format!("{}:{}: {}", index + 1, wrong.offset + 1, wrong.message)
                })?;
            }
        }
        parser.finish()
    }
}

/// Whether the text of a graph is read as the same graph, numbers of states aside.
pub fn check_text(graph: &Graph) -> Result<(), String> {
    let text = graph.to_string();
    let again = Graph::parse(&text, &graph.codes)?.to_string();
    let mut lines = text.lines().zip(again.lines());
    match lines.find(|(one, other)| one != other) {
        Some((one, other)) => Err(format!("{one} is read as {other}")),
        None if text == again => Ok(()),
        None => Err("its text is cut off when it is read".to_owned()),
    }
}

struct Parser {
    graph: Graph,
    /// States that there are already.
    states: HashMap<State, StateId>,
    has_title: bool,
    /// How the text names the procedures.
    labels: Vec<String>,
    /// Nodes that something defines, by number.
    defined: Vec<bool>,
}

impl Parser {
    fn new(codes: &[Arc<CodeSnapshot>]) -> Result<Parser, String> {
        let code = codes.first().ok_or("a graph needs code")?;
        let mut graph = Graph::new(code.clone(), EntryPoint::Start);
        graph.codes = codes.to_vec();
        graph.blocks.clear();
        let labels = (0..codes.len()).map(|index| graph.label(index)).collect();
        Ok(Parser {
            graph,
            labels,
            states: HashMap::new(),
            has_title: false,
            defined: Vec::new(),
        })
    }

    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        let indent = line.len() - line.trim_start().len();
        let mut reader = Reader::new(line);
        match indent {
            0 => self.title(&mut reader),
            2 if reader.take("watches ") => {
                let numbers = reader.rest().split(", ");
                let numbers = numbers.map(str::parse).collect::<Result<_, _>>();
                self.graph.watched = numbers.map_err(|_| reader.wrong("cells have numbers"))?;
                Ok(())
            }
            2 if reader.rest().starts_with('f') => self.frame(&mut reader),
            2 => self.block(&mut reader),
            _ if line.trim_start().starts_with('n') => self.node(line),
            _ => self.end(line),
        }
    }

    fn title(&mut self, reader: &mut Reader<'_>) -> Result<(), Wrong> {
        reader.expect("graph of ")?;
        reader.expect(&self.labels[0].clone())?;
        self.has_title = true;
        if reader.take(", entered at the loop at ") {
            self.graph.entry = EntryPoint::Loop(u32::read(reader)? as usize);
        } else if reader.take(", called with") {
            loop {
                let register = reader.numbered("r")?;
                reader.expect(":")?;
                self.graph.required.push((register, Type::read(reader)?));
                if !reader.take("and") {
                    break;
                }
            }
        }
        end_of_line(reader)
    }

    fn frame(&mut self, reader: &mut Reader<'_>) -> Result<(), Wrong> {
        let number = reader.numbered("f")? as usize;
        if number != self.graph.frames.len() {
            return Err(reader.wrong("frames are numbered in their order, from 1"));
        }
        reader.expect(":")?;
        let code = self.code(reader)?;
        reader.expect("at")?;
        let base = u32::read(reader)?;
        reader.expect(", closure")?;
        let closure = NodeId::read(reader)?;
        let mut return_address = None;
        if reader.take(", returns to") {
            return_address = Some(u64::read(reader)?);
        }
        let mut caller = None;
        if reader.take(", called in") {
            caller = Some(self.state(reader)?);
        }
        self.graph.frames.push(Frame {
            code,
            caller,
            base,
            closure,
            return_address,
        });
        end_of_line(reader)
    }

    /// The name of a procedure; its index.
    fn code(&self, reader: &mut Reader<'_>) -> Result<usize, Wrong> {
        let name = reader.until(char::is_whitespace)?;
        let index = self.labels.iter().position(|label| label == name);
        index.ok_or_else(|| reader.wrong(format!("there is no code {name}")))
    }

    fn block(&mut self, reader: &mut Reader<'_>) -> Result<(), Wrong> {
        let number = reader.numbered("b")? as usize;
        if number != self.graph.blocks.len() {
            return Err(reader.wrong("blocks are numbered in their order, from 0"));
        }
        let id = self.graph.add_block();
        if reader.rest().starts_with('(') {
            let parameters = reader.list("(", ")", |reader| {
                let id = NodeId::read(reader)?;
                reader.expect(":")?;
                let ty = Type::read(reader)?;
                let representation = if reader.take("unboxed") {
                    Representation::Float
                } else {
                    Representation::Tagged
                };
                Ok((id, ty, representation))
            })?;
            for (parameter, ty, representation) in parameters {
                self.define(parameter, Op::BlockParameter(representation), ty, reader)?;
                self.graph.blocks[id.index()].parameters.push(parameter);
            }
        }
        reader.expect(":")?;
        let is_loop = reader.take("loop");
        let mut entry_state = None;
        if reader.rest().starts_with('[') {
            entry_state = Some(self.state(reader)?);
        }
        let block = &mut self.graph.blocks[id.index()];
        (block.is_loop, block.entry_state) = (is_loop, entry_state);
        end_of_line(reader)
    }

    /// A reader of what a line says before its state, which it knows.
    fn with_state<'a>(&mut self, line: &'a str) -> Result<Reader<'a>, Wrong> {
        let Some(start) = line.find("  [") else {
            return Ok(Reader::new(line));
        };
        let mut reader = Reader::new(&line[..start]);
        let mut at_state = Reader::new(&line[start..]);
        let state = self.state(&mut at_state).map_err(|wrong| Wrong {
            offset: wrong.offset + start,
            ..wrong
        })?;
        reader.state = Some(state);
        Ok(reader)
    }

    fn node(&mut self, line: &str) -> Result<(), Wrong> {
        let mut reader = self.with_state(line)?;
        let id = NodeId::read(&mut reader)?;
        reader.expect("=")?;
        let op = Op::read(&mut reader)?;
        let mut ty = Type::NONE;
        if op.representation() != Representation::Nothing {
            reader.expect(":")?;
            ty = Type::read(&mut reader)?;
        }
        let is_sunk = reader.take(", in exits only");
        if op.state() != reader.state {
            return Err(reader.wrong(format!("{} has no state", op.name())));
        }
        self.define(id, op, ty, &reader)?;
        if is_sunk {
            let sunk = &mut self.graph.sunk;
            sunk.resize(sunk.len().max(id.index() + 1), false);
            sunk[id.index()] = true;
        }
        self.open_block(&reader)?.nodes.push(id);
        end_of_line(&mut reader)
    }

    /// The last block, if it has no end yet.
    fn open_block(&mut self, reader: &Reader<'_>) -> Result<&mut Block, Wrong> {
        let block = self.graph.blocks.last_mut();
        block
            .filter(|block| block.terminator == Terminator::None)
            .ok_or_else(|| reader.wrong("this is in no block, or behind its end"))
    }

    fn define(&mut self, id: NodeId, op: Op, ty: Type, reader: &Reader<'_>) -> Result<(), Wrong> {
        let nodes = self.graph.nodes.len().max(id.index() + 1);
        self.graph.nodes.resize(nodes, gone());
        self.defined.resize(nodes, false);
        if std::mem::replace(&mut self.defined[id.index()], true) {
            return Err(reader.wrong(format!("n{} is defined twice", id.0)));
        }
        self.graph.nodes[id.index()] = Node { op, ty };
        Ok(())
    }

    fn end(&mut self, line: &str) -> Result<(), Wrong> {
        let mut reader = self.with_state(line)?;
        let terminator = Terminator::read(&mut reader)?;
        if terminator.state() != reader.state {
            return Err(reader.wrong("there is no state here"));
        }
        end_of_line(&mut reader)?;
        self.open_block(&reader)?.terminator = terminator;
        Ok(())
    }

    /// `[name pc opcode; r0=n1 …]`, with the frame before the name, `f1:`, if it is not the outermost.
    fn state(&mut self, reader: &mut Reader<'_>) -> Result<StateId, Wrong> {
        reader.expect("[")?;
        // A procedure may be called like a frame, but no name has a colon.
        let word = reader.rest().split(' ').next().unwrap_or_default();
        let frame = if word.ends_with(':') {
            let number = reader.numbered("f")?;
            reader.expect(":")?;
            FrameId(number)
        } else {
            FrameId(0)
        };
        if frame.index() >= self.graph.frames.len() {
            return Err(reader.wrong(format!("there is no frame f{}", frame.0)));
        }
        let code = self.code(reader)?;
        if code != self.graph.frame(frame).code {
            return Err(reader.wrong("the frame is another procedure's"));
        }
        let pc = u32::read(reader)? as usize;
        // The name of the instruction is there for people.
        reader.until(|character| character == ';')?;
        reader.expect(";")?;
        let mut registers = Vec::new();
        while !reader.take("]") {
            let register = reader.numbered("r")?;
            reader.expect("=")?;
            registers.push((register, NodeId::read(reader)?));
        }
        let state = State {
            frame,
            pc,
            registers,
        };
        if let Some(known) = self.states.get(&state) {
            return Ok(*known);
        }
        let id = self.graph.add_state(state.clone());
        self.states.insert(state, id);
        Ok(id)
    }

    fn finish(mut self) -> Result<Graph, String> {
        if !self.has_title || self.graph.blocks.is_empty() {
            return Err("a graph begins with `graph of` and has a block".to_owned());
        }
        let (blocks, nodes) = (self.graph.blocks.len(), self.graph.nodes.len());
        for block in &self.graph.blocks {
            for edge in block.terminator.edges() {
                if edge.target.index() >= blocks {
                    return Err(format!("there is no block b{}", edge.target.0));
                }
            }
        }
        let mut unknown = None;
        let mut look = |id: NodeId| {
            if self.defined.get(id.index()) != Some(&true) {
                unknown = Some(id);
            }
        };
        for block in &self.graph.blocks {
            block.terminator.each_input(&mut look);
        }
        for node in &self.graph.nodes {
            node.op.each_input(&mut look);
        }
        if let Some(id) = unknown {
            return Err(format!("nothing defines n{}", id.0));
        }
        // A frame that no node's state is in any more may name nodes that are gone.
        let in_states = self.graph.states.iter().flat_map(|state| &state.registers);
        let in_states = in_states.map(|(_, id)| *id);
        let in_frames = self.graph.frames.iter().map(|frame| frame.closure);
        let named = in_states.chain(in_frames).map(|id| id.index() + 1);
        let nodes = named.max().unwrap_or(0).max(nodes);
        self.graph.nodes.resize(nodes, gone());
        if !self.graph.sunk.is_empty() {
            self.graph.sunk.resize(nodes, false);
        }
        Ok(self.graph)
    }
}

/// Returns a placeholder for a node that no block has: the closure, which the outermost frame
/// names.
fn gone() -> Node {
    Node {
        op: Op::Closure,
        ty: Type::CLOSURE,
    }
}

fn end_of_line(reader: &mut Reader<'_>) -> Result<(), Wrong> {
    match reader.rest() {
        "" => Ok(()),
        rest => Err(reader.wrong(format!("{rest} is not expected here"))),
    }
}
