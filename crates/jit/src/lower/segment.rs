//! One segment: its entry, its blocks, and its cold side exits.
//!
//! Each root of the graph that is no constant is a Cranelift variable, so that loading a value again behind a
//! native call is a definition like any other. Instructions that leave the function have source locations of
//! their own, from which [`crate::strip`] finds them.

use canny_spesh::code_map::{FastMap, FastSet};
use canny_spesh::graph::{
    BlockId, Condition, Edge, EntryPoint, NodeId, Op, Place, SlotContent, StateId, Terminator, Test,
};
use canny_tables::layout::{frame, thread};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, FuncRef, Function, GlobalValue, InstBuilder, MemFlagsData, SigRef, Signature,
    SourceLoc, Value,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::objects::object_bytes;
use super::side_exits::Exit;
use super::{Output, Procedure, Root};
use crate::arguments::Arguments;
use crate::liveness::RootSet;
use crate::machine::{self, Effort, direct_signature, segment_signature};
use crate::relocation::Target;
use crate::slots::{defines_a, instruction, leaf_of, operands_tried};
use crate::values::is_float;
use crate::{Environment, JitError};

pub(super) const TRUSTED: MemFlagsData = MemFlagsData::trusted();

/// A function that was built.
pub(super) struct Built {
    /// Number of instructions that leave it.
    pub(super) exits: u32,
    /// The effort that it is worth.
    pub(super) effort: Effort,
    /// Words by which the fp that it is entered with lies above its own.
    pub(super) entered_above: i32,
}

/// A segment under construction.
pub(super) struct Segment<'a, 'b> {
    pub(super) procedure: &'a Procedure<'a>,
    pub(super) output: &'a mut Output,
    root: Root,
    pub(super) builder: FunctionBuilder<'b>,
    pub(super) thread: Value,
    pub(super) fp: Variable,
    pub(super) variables: FastMap<NodeId, Variable>,
    blocks: FastMap<BlockId, Block>,
    queue: Vec<BlockId>,
    /// Edges to each block that are not written yet.
    ways: FastMap<BlockId, usize>,
    pub(super) exits: Vec<Exit>,
    pub(super) exit_count: u32,
    /// The source location of the node being written; see [`crate::places`].
    pub(super) location: SourceLoc,
    /// Words by which the fp that the segment is entered with lies above its own.
    entered_above: i32,
    /// The code being written is out of the way of the rest.
    pub(super) is_cold: bool,
    /// Signatures by number of registers that matter to the target of a jump.
    pub(super) signatures: [SigRef; 6],
    /// Signatures of jumps with arguments or values in registers, by numbers of words and doubles.
    direct_signatures: FastMap<(usize, usize), SigRef>,
    /// Arguments that came in registers, if this is the entry.
    arguments: Vec<Value>,
    pub(super) maker_signature: SigRef,
    pub(super) runtime_signature: SigRef,
    pub(super) stubs: FastMap<(u32, u32), FuncRef>,
    pub(super) addresses: FastMap<(u32, u32), GlobalValue>,
    /// Headers of objects whose lengths were taken in the block at hand, by the nodes that took them.
    pub(super) headers: FastMap<NodeId, Value>,
    /// Memory that was taken for the next objects of the block in one piece, and how much of it is left.
    pub(super) reserve: Option<(Value, usize, usize)>,
    /// Where a node goes in place of its exit, while its usual case is written.
    pub(super) detour: Option<Block>,
    /// Nodes whose doubles were taken out when it was asked whether they are flonums.
    unboxed: FastSet<NodeId>,
}

impl<'a, 'b> Segment<'a, 'b> {
    /// Builds the function of a root; gives what there is to know of it.
    pub(super) fn build(
        procedure: &'a Procedure<'a>,
        output: &'a mut Output,
        root: Root,
        function: &'b mut Function,
        builder_context: &'b mut FunctionBuilderContext,
    ) -> Result<Built, JitError> {
        let mut builder = FunctionBuilder::new(function, builder_context);
        let signatures = std::array::from_fn(|registers| {
            let mut signature = segment_signature();
            signature.params.truncate(registers);
            builder.import_signature(signature)
        });
        let mut native_signature = |convention, words, results| {
            let mut native = Signature::new(convention);
            native.params.resize(words, AbiParam::new(I64));
            native.returns.resize(results, AbiParam::new(I64));
            builder.import_signature(native)
        };
        let maker_signature = native_signature(CallConv::PreserveAll, 4, 0);
        let runtime_signature = native_signature(CallConv::SystemV, 5, 1);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let registers = builder.block_params(entry).to_vec();
        let fp = builder.declare_var(I64);
        let arguments = match root {
            Root::Entry => procedure.arguments.in_order(&registers),
            _ => Vec::new(),
        };
        let value = match procedure.wanted_result(root) {
            Some((Test::Flonum, ..)) => registers[3],
            _ => registers[0],
        };
        let mut segment = Segment {
            procedure,
            output,
            root,
            thread: registers[2],
            builder,
            fp,
            variables: FastMap::default(),
            blocks: FastMap::default(),
            queue: Vec::new(),
            ways: FastMap::default(),
            exits: Vec::new(),
            exit_count: 0,
            location: SourceLoc::default(),
            entered_above: 0,
            is_cold: false,
            signatures,
            direct_signatures: FastMap::default(),
            arguments,
            maker_signature,
            runtime_signature,
            stubs: FastMap::default(),
            addresses: FastMap::default(),
            headers: FastMap::default(),
            reserve: None,
            detour: None,
            unboxed: FastSet::default(),
        };
        segment.ways = procedure.ways(root);
        segment.set_place(segment.first_place());
        segment.enter(root, value, registers[1])?;
        while let Some(block) = segment.next_block() {
            let there = segment.blocks[&block];
            segment.builder.switch_to_block(there);
            segment.set_place(segment.place_of_block(block));
            segment.block(block, 0)?;
        }
        segment.write_exits();
        let (exit_count, entered_above) = (segment.exit_count, segment.entered_above);
        debug_assert!(segment.ways.values().all(|left| *left == 0));
        segment.builder.seal_all_blocks();
        let loops = |id: &BlockId| procedure.graph.blocks[id.index()].is_loop;
        let effort = if segment.blocks.keys().any(loops) {
            Effort::Much
        } else {
            Effort::Little
        };
        let isa = machine::target(procedure.environment.processor, effort)?;
        segment.builder.finalize(isa.frontend_config());
        Ok(Built {
            exits: exit_count,
            effort,
            entered_above,
        })
    }

    /// The signature of jumps with so many words and doubles.
    pub(super) fn direct_signature(&mut self, words: usize, doubles: usize) -> SigRef {
        let builder = &mut self.builder;
        let known = self.direct_signatures.entry((words, doubles));
        *known.or_insert_with(|| builder.import_signature(direct_signature(words, doubles)))
    }

    pub(super) fn environment(&self) -> &'a Environment {
        self.procedure.environment
    }

    // Places.

    /// The place of the first instructions.
    fn first_place(&self) -> Place {
        let graph = self.procedure.graph;
        match self.root {
            Root::Entry => match graph.entry {
                EntryPoint::Start => Place::default(),
                EntryPoint::Loop(pc) => Place {
                    frame: 0,
                    pc: pc as u32,
                },
            },
            Root::AfterCall(block, index) | Root::AfterRuntime(block, index) => {
                let id = graph.blocks[block.index()].nodes[index];
                graph.places.get(id.index()).copied().unwrap_or_default()
            }
            Root::Taken(block) | Root::Fall(block) | Root::Join(block) => {
                self.place_of_block(block)
            }
        }
    }

    /// The place of the first node of a block.
    fn place_of_block(&self, id: BlockId) -> Place {
        let graph = self.procedure.graph;
        let block = &graph.blocks[id.index()];
        let first = block.nodes.first().or(block.parameters.first());
        let place = first.and_then(|first| graph.places.get(first.index()));
        place.copied().unwrap_or_default()
    }

    // Roots.

    /// Begins with the value that a call returned, if that is where the segment begins, and fp.
    fn enter(&mut self, root: Root, returned: Value, fp: Value) -> Result<(), JitError> {
        let graph = self.procedure.graph;
        match root {
            Root::Entry => {
                self.builder.def_var(self.fp, fp);
                if graph.entry == EntryPoint::Start {
                    self.check_stack();
                    self.store_arguments(|arguments, register| arguments.is_stored[register]);
                }
                self.block(BlockId(0), 0)
            }
            Root::AfterCall(block, index) => {
                let id = graph.blocks[block.index()].nodes[index];
                let Op::Call(_, _, state) = graph.node(id).op else {
                    return Err(JitError::Invalid("a continuation without a call".into()));
                };
                let words = self.procedure.call_base(state)? + frame::LINK_WORDS as i32;
                self.set_fp(fp, words);
                let mut next = index + 1;
                match self.procedure.wanted_result(root) {
                    Some((Test::Flonum, result, _)) => {
                        self.define(result, returned);
                        if self.environment().leaves_at_random {
                            // For leaving behind the call although it was a flonum.
                            let word = self.box_float(returned);
                            self.define(id, word);
                        }
                    }
                    wanted => {
                        self.define(id, returned);
                        // It was asked in front of the segment.
                        if wanted.is_some() && !self.environment().leaves_at_random {
                            next += 1;
                        }
                    }
                }
                self.reload_after(id, state)?;
                self.block(block, next)
            }
            Root::AfterRuntime(block, index) => {
                let id = graph.blocks[block.index()].nodes[index];
                let Op::Runtime(state) = graph.node(id).op else {
                    return Err(JitError::Invalid("a continuation without its node".into()));
                };
                self.set_fp(fp, self.procedure.frame_base(state));
                self.take_result(id, state)?;
                self.reload_after(id, state)?;
                self.block(block, index + 1)
            }
            Root::Taken(block) | Root::Fall(block) => {
                let Terminator::RuntimeBranch { state, taken, fall } =
                    &graph.blocks[block.index()].terminator
                else {
                    return Err(JitError::Invalid(
                        "a continuation without its branch".into(),
                    ));
                };
                let edge = if matches!(root, Root::Taken(_)) {
                    taken
                } else {
                    fall
                };
                self.set_fp(fp, self.procedure.frame_base(*state));
                self.reload_on_edge(edge, *state, true)?;
                self.edge(edge);
                Ok(())
            }
            Root::Join(block) => {
                self.builder.def_var(self.fp, fp);
                let live = self.procedure.liveness.at_block(block);
                for (word, id) in live.iter().enumerate() {
                    let kind = if is_float(graph, id) { F64 } else { I64 };
                    let offset = thread::CARRIED + 8 * word as i32;
                    let value = self.load(kind, self.thread, offset);
                    self.define(id, value);
                }
                self.go_to_block(block);
                Ok(())
            }
        }
    }

    /// Puts some of the arguments that came in registers into their slots.
    fn store_arguments(&mut self, is_stored: impl Fn(&Arguments, usize) -> bool) {
        for register in 0..self.arguments.len() {
            if is_stored(&self.procedure.arguments, register) {
                let argument = self.arguments[register];
                let word = if self.procedure.arguments.doubles.contains(register) {
                    self.box_float(argument)
                } else {
                    argument
                };
                self.store_slot(word, register as i32);
            }
        }
    }

    /// Goes to the interpreter at the start if the frame is beyond the limit, or a safepoint is asked for.
    fn check_stack(&mut self) {
        let limit = self.load(I64, self.thread, thread::LIMIT);
        let fp = self.fp();
        let over = self
            .builder
            .ins()
            .icmp(IntCC::UnsignedGreaterThan, fp, limit);
        let (slow, fine) = (self.cold_block(), self.builder.create_block());
        self.builder.ins().brif(over, slow, &[], fine, &[]);
        self.begin(slow);
        self.coldly(|s| s.store_arguments(|_, _| true));
        let start = self.procedure.graph.codes[0].entry;
        let pc = self.word(start);
        self.dispatch(pc, fp);
        self.begin(fine);
    }

    /// From here on code is made for a node.
    pub(super) fn set_node(&mut self, id: NodeId) {
        let place = self.procedure.graph.places.get(id.index());
        self.set_place(place.copied().unwrap_or_default());
    }

    /// From here on code is made for a place.
    pub(super) fn set_place(&mut self, place: Place) {
        self.location = SourceLoc::new(self.output.places.location(place));
        self.builder.set_srcloc(self.location);
    }

    /// From here on code is made for the instruction of a state.
    pub(super) fn set_state(&mut self, id: StateId) {
        let state = self.procedure.graph.state(id);
        self.set_place(Place {
            frame: state.frame.0,
            pc: state.pc as u32,
        });
    }

    pub(super) fn set_fp(&mut self, from: Value, words_above: i32) {
        self.entered_above = words_above;
        let fp = self
            .builder
            .ins()
            .iadd_imm_s(from, -8 * i64::from(words_above));
        self.builder.def_var(self.fp, fp);
    }

    /// Defines the value of an instruction that ran in the runtime.
    fn take_result(&mut self, id: NodeId, state: StateId) -> Result<(), JitError> {
        let instruction = instruction(self.procedure.graph, state)?;
        let is_live = self
            .procedure
            .liveness
            .after(id)
            .is_some_and(|live| live.contains(id));
        if is_live {
            let value = if defines_a(&instruction) {
                let slot = self.procedure.frame_base(state) + instruction.a() as i32;
                self.load_slot(slot)
            } else {
                self.word(canny_tables::layout::UNSPECIFIED)
            };
            self.define(id, value);
        }
        Ok(())
    }

    fn reload_after(&mut self, id: NodeId, state: StateId) -> Result<(), JitError> {
        let live = self.procedure.liveness.after(id);
        self.reload(live, state, Some(id), true)
    }

    fn reload_on_edge(
        &mut self,
        edge: &Edge,
        state: StateId,
        with_floats: bool,
    ) -> Result<(), JitError> {
        let procedure = self.procedure;
        let live = procedure
            .liveness
            .on_edge(procedure.graph, procedure.values, edge);
        self.reload(Some(&live), state, None, with_floats)
    }

    /// Loads what is live from the slots of a state.
    fn reload(
        &mut self,
        live: Option<&RootSet>,
        state: StateId,
        except: Option<NodeId>,
        with_floats: bool,
    ) -> Result<(), JitError> {
        let graph = self.procedure.graph;
        let slots = self.procedure.slots.behind(graph, state)?;
        for root in live.into_iter().flat_map(RootSet::iter) {
            let float = is_float(graph, root);
            if Some(root) == except || float && !with_floats {
                continue;
            }
            let wanted = SlotContent::Node(self.procedure.values.slot_root(graph, root));
            let slot = slots.iter().find(|(_, content)| *content == wanted);
            let Some((slot, _)) = slot else {
                return Err(JitError::Invalid(format!(
                    "node {} is needed behind state {} but has no slot there",
                    root.0, state.0
                )));
            };
            let mut value = self.load_slot(*slot);
            if float {
                value = self.unbox(value);
            }
            self.define(root, value);
        }
        Ok(())
    }

    // Blocks.

    /// Writes the nodes of a block from an index on, and its end unless the segment ends before.
    fn block(&mut self, id: BlockId, from: usize) -> Result<(), JitError> {
        let graph = self.procedure.graph;
        let block = &graph.blocks[id.index()];
        self.headers.clear();
        for (index, &node) in block.nodes.iter().enumerate().skip(from) {
            let op = &graph.node(node).op;
            if op.is_removable() && !self.procedure.liveness.is_needed(node) {
                continue;
            }
            self.output.spend()?;
            self.set_node(node);
            if self.environment().leaves_at_random
                && !matches!(op, Op::Call(..) | Op::Runtime(_))
                && op.state().is_some()
            {
                self.count_chance(node)?;
            }
            match op {
                Op::Call(callee, arguments, state) => {
                    let root = Root::AfterCall(id, index);
                    return self.call(node, callee, arguments, *state, root);
                }
                Op::Runtime(state) => {
                    if self.procedure.cuts.cuts_node(node) {
                        return self.runtime_cut(node, *state, Root::AfterRuntime(id, index));
                    }
                    let leaf = leaf_of(&instruction(graph, *state)?);
                    match (operands_tried(graph, *state), leaf) {
                        (Some(operands), Some(leaf)) => {
                            self.leaf_or_runtime(node, *state, leaf, &operands)?;
                        }
                        (Some(operands), None) => self.use_loan(node, *state, &operands)?,
                        _ => self.runtime_in_place(node, *state)?,
                    }
                }
                Op::Unbox(_) if self.unboxed.remove(&node) => {}
                Op::Guard(Test::Flonum, x, _) => {
                    match self.unboxed_behind(*x, &block.nodes[index + 1..]) {
                        Some(unboxed) => self.guard_and_unbox(node, *x, unboxed)?,
                        None => self.node(node, op)?,
                    }
                }
                _ => {
                    self.reserve_for(&block.nodes[index..]);
                    self.node(node, op)?;
                }
            }
        }
        self.end(id, &block.terminator)
    }

    /// The node that takes the double out of `x`, if it comes before anything that may keep no registers.
    fn unboxed_behind(&self, x: NodeId, nodes: &[NodeId]) -> Option<NodeId> {
        let procedure = self.procedure;
        let root = procedure.values.root(x);
        nodes
            .iter()
            .take(UNBOXED_NEAR)
            .take_while(|node| !procedure.graph.node(**node).op.is_safepoint())
            .find(|node| match procedure.graph.node(**node).op {
                Op::Unbox(y) => procedure.values.root(y) == root,
                _ => false,
            })
            .filter(|node| procedure.liveness.is_needed(**node))
            .copied()
    }

    /// Asks whether a value is a flonum and takes its double out in one go.
    fn guard_and_unbox(
        &mut self,
        guard: NodeId,
        x: NodeId,
        unboxed: NodeId,
    ) -> Result<(), JitError> {
        let exit = self.exit(guard)?;
        let x = self.value(x);
        let number = self.guarded_double(x, exit);
        self.define(unboxed, number);
        self.unboxed.insert(unboxed);
        Ok(())
    }

    /// Takes memory for all objects that the nodes make before something may leave the segment, if the
    /// first one makes an object and nothing is left of what was taken before. Objects in memory taken
    /// earlier are complete wherever somebody may look at them.
    fn reserve_for(&mut self, nodes: &[NodeId]) {
        let graph = self.procedure.graph;
        if self.reserve.is_some() || allocated_bytes(&graph.node(nodes[0]).op).is_none() {
            return;
        }
        let mut bytes = 0;
        let mut parts = Vec::new();
        for &node in nodes {
            let op = &graph.node(node).op;
            if op.is_removable() && !self.procedure.liveness.is_needed(node) {
                continue;
            }
            match allocated_bytes(op) {
                Some(more) if bytes + more <= RESERVE_MAX => {
                    bytes += more;
                    let place = graph.places.get(node.index());
                    parts.push((bytes as u32, place.copied().unwrap_or_default()));
                }
                Some(_) => break,
                None if op.is_removable() || matches!(op, Op::Store { .. }) => {}
                None => break,
            }
        }
        if parts.len() > 1 {
            let own = self.location;
            let location = self.output.places.location_of_parts(parts);
            self.location = SourceLoc::new(location);
            self.builder.set_srcloc(self.location);
            let start = self.allocate(bytes);
            self.location = own;
            self.builder.set_srcloc(own);
            self.reserve = Some((start, 0, bytes));
        }
    }

    /// An instruction in the runtime, whose value and all values needed behind it are taken from
    /// their slots.
    pub(super) fn runtime_in_place(&mut self, id: NodeId, state: StateId) -> Result<(), JitError> {
        self.runtime(id, state)?;
        self.take_result(id, state)?;
        let live = self.procedure.liveness.after(id);
        self.reload(live, state, Some(id), false)
    }

    /// Leaves here if it is time for that.
    fn count_chance(&mut self, id: NodeId) -> Result<(), JitError> {
        let chances = self.load(I64, self.thread, thread::CHANCES);
        let left = self.builder.ins().iadd_imm_s(chances, -1);
        self.builder
            .ins()
            .store(TRUSTED, left, self.thread, thread::CHANCES);
        let none = self.builder.ins().icmp_imm_s(IntCC::Equal, left, 0);
        self.exit_if(none, id)
    }

    fn node(&mut self, id: NodeId, op: &Op) -> Result<(), JitError> {
        match op {
            Op::Guard(test, x, _) => {
                let exit = self.exit(id)?;
                let ok = self.builder.create_block();
                self.test(*test, *x, ok, exit);
                self.begin(ok);
            }
            Op::Require(condition, _) => {
                let exit = self.exit(id)?;
                let ok = self.builder.create_block();
                self.condition(condition, ok, exit);
                self.begin(ok);
            }
            Op::Poll(_) => {
                // Other threads write the limit: it is loaded each time, which only an atomic load says.
                const _: () = assert!(thread::LIMIT == 0);
                let limit = self.builder.ins().atomic_load(I64, TRUSTED, self.thread);
                self.exit_unless(limit, id)?;
            }
            Op::Slot(register) | Op::FloatSlot(register)
                if (*register as usize) < self.arguments.len() =>
            {
                let value = self.arguments[*register as usize];
                self.define(id, value);
            }
            Op::FloatSlot(register) => {
                let value = self.load_slot(*register as i32);
                let double = self.unbox(value);
                self.define(id, double);
            }
            Op::Slot(register) | Op::Reload(register) => {
                let value = self.load_slot(*register as i32);
                self.define(id, value);
            }
            Op::Closure => {
                let value = self.load_slot(frame::CLOSURE);
                self.define(id, value);
            }
            Op::ArgumentCount => {
                let count = self.load(I64, self.thread, thread::ARGUMENT_COUNT);
                let shift = i64::from(canny_tables::layout::FIXNUM_SHIFT);
                let value = self.builder.ins().ishl_imm_u(count, shift);
                self.define(id, value);
            }
            Op::Boolean(condition) => {
                let value = self.boolean(condition);
                self.define(id, value);
            }
            Op::BlockParameter(_)
            | Op::Word(_)
            | Op::PoolSlot(_)
            | Op::Float(_)
            | Op::Refine(_)
            | Op::FloatResult(..)
            | Op::Call(..)
            | Op::Runtime(_) => {}
            Op::Fixnum(..)
            | Op::FloatArithmetic(..)
            | Op::FloatFunction(..)
            | Op::FixnumToFloat(_)
            | Op::FloatToFixnum(..)
            | Op::Unbox(_)
            | Op::NumberToFloat(_)
            | Op::Box(_) => self.number(id, op)?,
            Op::Count(counter) => self.count(*counter),
            Op::CountCall(callee, site, passed) => {
                self.count_call(None, [*callee, *site, *passed])?;
            }
            Op::CountKnownCall(callee, code, site, passed) => {
                self.count_call(Some(*code), [*callee, *site, *passed])?;
            }
            Op::Leaf(leaf, words, _) => self.leaf(id, *leaf, words)?,
            Op::Number(leaf, x, y, _) => self.general(id, *leaf, *x, *y)?,
            Op::ElementCount(..)
            | Op::LoadNumber(..)
            | Op::StoreNumber(..)
            | Op::StringSet(..)
            | Op::Dynamic(_)
            | Op::SetDynamic(..) => self.element_node(id, op)?,
            Op::Load(..)
            | Op::Store(..)
            | Op::LoadElement(..)
            | Op::StoreElement(..)
            | Op::RequireMutable(..)
            | Op::Length(_)
            | Op::ClassKey(_)
            | Op::StringLength(_)
            | Op::RequireIndex(..)
            | Op::StringRef(..)
            | Op::LoadByte(..)
            | Op::StoreByte(..)
            | Op::CharacterToFixnum(_)
            | Op::FixnumToCharacter(..)
            | Op::Cons(..)
            | Op::Allocate(..) => self.object(id, op)?,
        }
        Ok(())
    }

    fn end(&mut self, id: BlockId, terminator: &Terminator) -> Result<(), JitError> {
        match terminator {
            Terminator::None => {
                return Err(JitError::Invalid(format!("block {} has no end", id.0)));
            }
            Terminator::Jump(edge) => self.edge(edge),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                self.branch(condition, then, otherwise);
            }
            Terminator::RuntimeBranch { state, taken, fall } => {
                if self.procedure.cuts.cuts_end(id) {
                    return self.runtime_branch_cut(id, *state);
                }
                self.runtime_branch(id, *state, taken, fall)?;
            }
            Terminator::Return(x) => self.return_value(*x),
            Terminator::TailCall(callee, arguments, state) => {
                self.tail_call(id, callee, arguments, *state)?;
            }
            Terminator::Exit(state) => {
                let stores = self.procedure.slots.at_end(id).to_vec();
                let block = self.exit_block(*state, stores);
                self.builder.ins().jump(block, &[]);
            }
        }
        Ok(())
    }

    fn branch(&mut self, condition: &Condition, then: &Edge, otherwise: &Edge) {
        let differ = then.target != otherwise.target;
        let places = [then, otherwise].map(|edge| {
            let is_plain = differ && self.is_plain(edge);
            if is_plain {
                (self.block_of(edge.target), true)
            } else {
                (self.builder.create_block(), false)
            }
        });
        let [(yes, _), (no, _)] = places;
        self.condition(condition, yes, no);
        for ((block, is_plain), edge) in places.into_iter().zip([then, otherwise]) {
            if is_plain {
                self.edge_is_written(edge.target);
            } else {
                self.begin(block);
                self.edge(edge);
            }
        }
    }

    /// Whether nothing happens on an edge to a block of this segment.
    fn is_plain(&self, edge: &Edge) -> bool {
        let procedure = self.procedure;
        let live = procedure.liveness.at_block(edge.target);
        let parameters = &procedure.graph.blocks[edge.target.index()].parameters;
        !procedure.is_left_on(self.root, edge)
            && !parameters.iter().any(|parameter| live.contains(*parameter))
    }

    /// Goes to a block; every argument is read before a parameter is written.
    pub(super) fn edge(&mut self, edge: &Edge) {
        if self.procedure.is_left_on(self.root, edge) {
            return self.join_edge(edge);
        }
        let graph = self.procedure.graph;
        let parameters = &graph.blocks[edge.target.index()].parameters;
        let live = self.procedure.liveness.at_block(edge.target);
        let moves: Vec<(NodeId, Value)> = parameters
            .iter()
            .zip(&edge.arguments)
            .filter(|(parameter, _)| live.contains(**parameter))
            .map(|(parameter, argument)| (*parameter, self.value(*argument)))
            .collect();
        for (parameter, value) in moves {
            self.define(parameter, value);
        }
        self.go_to_block(edge.target);
    }

    fn go_to_block(&mut self, id: BlockId) {
        let target = self.block_of(id);
        self.builder.ins().jump(target, &[]);
        self.edge_is_written(id);
    }

    /// Where a block's code begins.
    fn block_of(&mut self, id: BlockId) -> Block {
        if let Some(block) = self.blocks.get(&id) {
            return *block;
        }
        let block = self.builder.create_block();
        self.blocks.insert(id, block);
        self.queue.push(id);
        block
    }

    /// The block can be sealed when no edge to it is left.
    fn edge_is_written(&mut self, id: BlockId) {
        let left = self.ways.get_mut(&id);
        debug_assert!(left.as_ref().is_some_and(|left| **left > 0));
        if let Some(left) = left {
            *left -= 1;
            if *left == 0 {
                self.builder.seal_block(self.blocks[&id]);
            }
        }
    }

    /// The block to be written next. Facts common to all edges into a block are known once these
    /// are written, but edges that go back to a loop are written after its start.
    fn next_block(&mut self) -> Option<BlockId> {
        let is_ready = |id: &BlockId| self.ways.get(id).is_none_or(|left| *left == 0);
        let is_loop = |id: &BlockId| self.procedure.graph.blocks[id.index()].is_loop;
        let at = self.queue.iter().rposition(is_ready);
        let at = at.or_else(|| self.queue.iter().rposition(is_loop));
        match at {
            Some(at) => Some(self.queue.remove(at)),
            None => self.queue.pop(),
        }
    }

    /// Begins a block to which every way has been written.
    pub(super) fn begin(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    /// Jumps to a block that is a segment of its own. Values that are live there go through the
    /// thread block.
    fn join_edge(&mut self, edge: &Edge) {
        let parameters = &self.procedure.graph.blocks[edge.target.index()].parameters;
        let live = self.procedure.liveness.at_block(edge.target);
        for (word, id) in live.iter().enumerate() {
            let place = parameters.iter().position(|parameter| *parameter == id);
            let value = self.value(place.map_or(id, |place| edge.arguments[place]));
            let offset = thread::CARRIED + 8 * word as i32;
            self.builder
                .ins()
                .store(TRUSTED, value, self.thread, offset);
        }
        let root = self.output.root(Root::Join(edge.target));
        let fp = self.fp();
        // The segment takes nothing in the register of pc.
        self.jump_to_stub(Target::Segment(root as u32), fp, fp);
    }

    /// The edge of a branch in the runtime, whose live values lie in the slots of the state.
    pub(super) fn runtime_edge(&mut self, edge: &Edge, state: StateId) -> Result<(), JitError> {
        self.reload_on_edge(edge, state, false)?;
        self.edge(edge);
        Ok(())
    }
}

/// Nodes behind a guard among which its double is looked for.
const UNBOXED_NEAR: usize = 32;

/// Most bytes of objects taken in one piece.
const RESERVE_MAX: usize = 512;

/// Bytes of the object that a node makes in scannable memory.
fn allocated_bytes(op: &Op) -> Option<usize> {
    match op {
        Op::Cons(..) => Some(16),
        Op::Allocate(_, fields) => Some(object_bytes(fields.len())),
        _ => None,
    }
}
