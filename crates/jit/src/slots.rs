//! Known contents of the frame's slots, so that only missing contents are stored.
//!
//! A forward data flow over the graph. A slot holds any number of contents that are equal there. The
//! entry knows what it was entered with; after a call or an instruction in the runtime exactly the
//! contents of its state are known (everything else may have moved or been overwritten); at joins,
//! the contents that all ways agree on, arguments of edges being renamed to parameters.

use canny_spesh::code_map::FastMap;
use std::collections::BTreeMap;

use canny_compiler::instruction::Instruction;
use canny_spesh::graph::{BlockId, Edge, Graph, NodeId, Op, SlotContent, StateId, Terminator};
use canny_tables::layout::frame;
use canny_tables::leaves::{self, LeafId};
use canny_tables::opcodes::{OpcodeFlags, Window};
use canny_tables::primitives::PrimitiveId;

use crate::JitError;
use crate::arguments::Arguments;
use crate::values::Values;

/// States that may name an argument before its slot gets it on entry.
const STATES_MAX: usize = 8;

/// A store that a state needs: slot, in words from the outermost fp, and content.
pub(crate) type SlotStore = (i32, SlotContent);

/// Contents by slot, in order of the slots: a slot can be there several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(Vec<SlotStore>);

impl Known {
    /// Whether a slot holds a content.
    pub(crate) fn holds(&self, slot: i32, content: SlotContent) -> bool {
        let first = self.0.partition_point(|(there, _)| *there < slot);
        self.0[first..]
            .iter()
            .take_while(|(there, _)| *there == slot)
            .any(|(_, known)| *known == content)
    }

    /// The contents of slots that are in order.
    fn exactly(slots: &[SlotStore]) -> Known {
        debug_assert!(slots.is_sorted_by_key(|(slot, _)| *slot));
        Known(slots.to_vec())
    }

    fn add(&mut self, slot: i32, content: SlotContent) {
        let behind = self.0.partition_point(|(there, _)| *there <= slot);
        self.0.insert(behind, (slot, content));
    }

    fn set(&mut self, slot: i32, content: SlotContent) {
        self.0.retain(|(there, _)| *there != slot);
        self.add(slot, content);
    }

    /// The node gets a new value: facts about the old one hold no longer.
    fn define(&mut self, id: NodeId) {
        self.0
            .retain(|(_, content)| *content != SlotContent::Node(id));
    }

    /// Keeps what the other knows too; says whether anything went.
    fn meet(&mut self, other: &Known) -> bool {
        let before = self.0.len();
        self.0
            .retain(|(slot, content)| other.holds(*slot, *content));
        self.0.len() != before
    }

    fn along(&self, graph: &Graph, values: &Values, edge: &Edge) -> Known {
        let parameters = &graph.blocks[edge.target.index()].parameters;
        if parameters.is_empty() {
            return self.clone();
        }
        let names: Vec<(NodeId, SlotContent)> = parameters
            .iter()
            .zip(&edge.arguments)
            .map(|(parameter, argument)| {
                let root = values.slot_root(graph, *argument);
                (*parameter, SlotContent::Node(root))
            })
            .collect();
        let mut known = Vec::with_capacity(self.0.len() + names.len());
        for (slot, content) in &self.0 {
            let is_renewed = matches!(content, SlotContent::Node(id) if parameters.contains(id));
            if !is_renewed {
                known.push((*slot, *content));
            }
            let renamed = names.iter().filter(|(_, argument)| argument == content);
            known.extend(renamed.map(|(parameter, _)| (*slot, SlotContent::Node(*parameter))));
        }
        Known(known)
    }
}

/// Contents that states need in slots, the stores that they are short of, and contents known before
/// tail calls.
pub(crate) struct Slots {
    states: Vec<Vec<SlotStore>>,
    at_nodes: FastMap<NodeId, Vec<SlotStore>>,
    at_ends: FastMap<BlockId, Vec<SlotStore>>,
    /// Contents that are known at the ends of blocks with tail calls.
    at_tail_calls: FastMap<BlockId, Known>,
}

impl Slots {
    /// Runs the data flow.
    pub(crate) fn new(
        graph: &Graph,
        values: &Values,
        arguments: &mut Arguments,
    ) -> Result<Slots, JitError> {
        let mut slots = Slots {
            states: (0..graph.states.len() as u32)
                .map(|id| state_slots(graph, values, StateId(id)))
                .collect(),
            at_nodes: FastMap::default(),
            at_ends: FastMap::default(),
            at_tail_calls: FastMap::default(),
        };
        slots.spare(graph, arguments);
        let mut entries: Vec<Option<Known>> = vec![None; graph.blocks.len()];
        entries[0] = Some(slots.at_entry(graph, arguments));
        let mut work = vec![BlockId(0)];
        while let Some(block) = work.pop() {
            let Some(known) = entries[block.index()].clone() else {
                continue;
            };
            let after = slots.block(graph, block, known, false)?;
            for edge in graph.blocks[block.index()].terminator.edges() {
                let along = after.along(graph, values, edge);
                let target = &mut entries[edge.target.index()];
                let changed = match target {
                    Some(there) => there.meet(&along),
                    None => {
                        *target = Some(along);
                        true
                    }
                };
                if changed {
                    work.push(edge.target);
                }
            }
        }
        for (index, known) in entries.into_iter().enumerate() {
            if let Some(known) = known {
                slots.block(graph, BlockId(index as u32), known, true)?;
            }
        }
        Ok(slots)
    }

    /// Everything that a state fills.
    pub(crate) fn of_state(&self, state: StateId) -> &[SlotStore] {
        &self.states[state.index()]
    }

    /// Returns the contents of a state that are still in their slots behind the instruction at its
    /// pc, which overwrites some.
    pub(crate) fn behind(&self, graph: &Graph, id: StateId) -> Result<Vec<SlotStore>, JitError> {
        let instruction = instruction(graph, id)?;
        let base = frame_base(graph, id);
        let mut slots = self.of_state(id).to_vec();
        if let Some(first) = instruction.clobbered_from() {
            slots.retain(|(slot, _)| *slot < base + first as i32);
        }
        instruction.each_definition(|register| {
            slots.retain(|(slot, _)| *slot != base + register as i32);
        });
        Ok(slots)
    }

    /// Returns the stores that a node's state needs.
    pub(crate) fn at_node(&self, id: NodeId) -> &[SlotStore] {
        self.at_nodes.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns the stores that the state of a block's end needs.
    pub(crate) fn at_end(&self, id: BlockId) -> &[SlotStore] {
        self.at_ends.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns the contents that are known before the tail call that ends a block.
    pub(crate) fn before_tail_call(&self, id: BlockId) -> Option<&Known> {
        self.at_tail_calls.get(&id)
    }

    /// Leaves to the states the arguments that few of them name.
    fn spare(&self, graph: &Graph, arguments: &mut Arguments) {
        for register in 0..arguments.count as u32 {
            let is_argument = |content: &SlotContent| match content {
                SlotContent::Node(id) => match graph.node(*id).op {
                    Op::Slot(number) | Op::FloatSlot(number) => number == register,
                    _ => false,
                },
                SlotContent::Address(_) => false,
            };
            let states = (0..graph.states.len() as u32)
                .filter(|state| {
                    let mut there = self.of_state(StateId(*state)).iter();
                    there.any(|(slot, content)| *slot == register as i32 && is_argument(content))
                })
                .count();
            arguments.is_stored[register as usize] = states > STATES_MAX;
        }
    }

    fn at_entry(&self, graph: &Graph, arguments: &Arguments) -> Known {
        let mut known = Known::default();
        for block in &graph.blocks {
            for id in &block.nodes {
                let slot = match graph.node(*id).op {
                    Op::Slot(register) | Op::FloatSlot(register)
                        if arguments.is_in_slot(register) =>
                    {
                        register as i32
                    }
                    Op::Closure => frame::CLOSURE,
                    _ => continue,
                };
                known.add(slot, SlotContent::Node(*id));
            }
        }
        known
    }

    fn missing(&self, state: StateId, known: &Known) -> Vec<SlotStore> {
        let stores = self.of_state(state).iter().copied();
        stores
            .filter(|(slot, content)| !known.holds(*slot, *content))
            .collect()
    }

    fn block(
        &mut self,
        graph: &Graph,
        id: BlockId,
        mut known: Known,
        records: bool,
    ) -> Result<Known, JitError> {
        let block = &graph.blocks[id.index()];
        for &node in &block.nodes {
            let op = &graph.node(node).op;
            if let Some(state) = op.state()
                && records
            {
                let missing = self.missing(state, &known);
                self.at_nodes.insert(node, missing);
            }
            match op {
                Op::Runtime(state) if operands_tried(graph, *state).is_some() => {
                    // Either the runtime ran, or nothing was stored and only the value is new.
                    known.meet(&Known::exactly(&self.behind(graph, *state)?));
                    known.define(node);
                }
                Op::Call(_, _, state) | Op::Runtime(state) => {
                    known = Known::exactly(&self.behind(graph, *state)?);
                    let instruction = instruction(graph, *state)?;
                    // The value of a call comes in a register, and its slot has it only by way of the
                    // interpreter.
                    if matches!(op, Op::Runtime(_)) && defines_a(&instruction) {
                        let slot = frame_base(graph, *state) + instruction.a() as i32;
                        known.set(slot, SlotContent::Node(node));
                    }
                }
                Op::Reload(slot) => {
                    known.define(node);
                    known.set(*slot as i32, SlotContent::Node(node));
                }
                // These are what the entry knows.
                Op::Slot(_) | Op::FloatSlot(_) | Op::Closure => {}
                _ => known.define(node),
            }
        }
        if let Some(state) = block.terminator.state()
            && records
        {
            let missing = self.missing(state, &known);
            self.at_ends.insert(id, missing);
            if matches!(block.terminator, Terminator::TailCall(..)) {
                self.at_tail_calls.insert(id, known.clone());
            }
        }
        if let Terminator::RuntimeBranch { state, .. } = block.terminator {
            known = Known::exactly(&self.behind(graph, state)?);
        }
        Ok(known)
    }
}

fn frame_base(graph: &Graph, id: StateId) -> i32 {
    graph.frame(graph.state(id).frame).base as i32
}

/// The instruction at a state's pc.
pub(crate) fn instruction(graph: &Graph, id: StateId) -> Result<Instruction<'_>, JitError> {
    let state = graph.state(id);
    let words = &graph.code_of(state.frame).instructions;
    Instruction::decode(words, state.pc)
        .map_err(|_| JitError::Invalid(format!("no instruction at the pc of state {}", id.0)))
}

/// Whether an instruction's value is in its register a afterwards.
pub(crate) fn defines_a(instruction: &Instruction) -> bool {
    let mut defines = false;
    instruction.each_definition(|register| defines |= register == instruction.a());
    defines || instruction.row().window == Window::Call
}

/// The operands of the instruction at a state's pc if something else is tried first, with the runtime
/// for the rest: the use of a port's loan, the port last, or a leaf function. Then what is needed
/// behind it stays in registers, unless the runtime ran.
pub(crate) fn operands_tried(graph: &Graph, id: StateId) -> Option<Vec<NodeId>> {
    let instruction = instruction(graph, id).ok()?;
    if !instruction.opcode.has(OpcodeFlags::PORT) && leaf_of(&instruction).is_none() {
        return None;
    }
    let registers = instruction.uses();
    let there = &graph.state(id).registers;
    let node = |register: usize| {
        let found = there
            .iter()
            .find(|(number, _)| *number as usize == register);
        found.map(|(_, node)| *node)
    };
    registers.into_iter().map(node).collect()
}

/// The leaf function of the primitive that an instruction calls.
pub(crate) fn leaf_of(instruction: &Instruction) -> Option<LeafId> {
    let (number, operands) = instruction.primitive_call()?;
    leaves::lookup(PrimitiveId(number as u16).row().name, operands.len())
}

fn state_slots(graph: &Graph, values: &Values, id: StateId) -> Vec<SlotStore> {
    let mut slots: BTreeMap<i32, SlotContent> = BTreeMap::new();
    for (slot, content) in graph.slots(id) {
        let content = match content {
            SlotContent::Node(node) => SlotContent::Node(values.slot_root(graph, node)),
            address => address,
        };
        slots.insert(slot, content);
    }
    slots.into_iter().collect()
}
