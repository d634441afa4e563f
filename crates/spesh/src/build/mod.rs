//! From bytecode to the graph, by abstract interpretation.
//!
//! The builder follows the bytecode in order of its addresses (branches go forward, only `loop` goes back),
//! with a node for each register. Everything is decided on the way: types follow guards and branches, equal
//! computations are found again, known calls are inlined by building the callee's bytecode in place.
//!
//! A loop's variables become parameters of its head, of the type that they have on entry. When the loop turns
//! out to give them another type, or no single type was worth guarding, the whole graph is built again with
//! what was found out, until nothing is added ([`Fixpoint`]). A few attempts are enough.

mod arithmetic;
mod boxes;
mod calls;
mod class_keys;
mod complex;
mod control;
mod counting;
mod elements;
mod entry;
mod environment;
mod instructions;
#[cfg(test)]
mod intrinsics;
mod keywords;
mod leaf;
mod number_kinds;
mod objects;
mod polymorphic;
mod primitives;
mod selection;
mod spread;
mod steps;

use crate::code_map::{FastMap, FastSet};
use std::sync::Arc;

use crate::graph::{
    BlockId, EntryPoint, FrameId, Graph, NodeId, Op, Representation, State, StateId, Terminator,
    Test,
};
use crate::snapshot::{CodeSnapshot, CodeSource, CodeWord, Profile};
use crate::types::Type;

use environment::{Environment, Numbering};

/// Switches and limits of building.
#[derive(Clone, Debug)]
pub struct Options {
    /// Copy the bodies of known procedures.
    pub inline: bool,
    /// Words of bytecode up to which a procedure is inlined at a call that nearly every run makes.
    pub inline_words: usize,
    /// The same of a procedure in itself.
    pub inline_words_recursive: usize,
    /// The same at a call that some runs make.
    pub inline_words_rare: usize,
    /// The same at a call that was never seen, or hardly ever.
    pub inline_words_cold: usize,
    /// How deep inlined procedures may nest.
    pub inline_depth: usize,
    /// How often a procedure may stand inside itself.
    pub recursion_depth: usize,
    /// Nodes after which nothing more is inlined: in any case, and for each word of the procedure's own
    /// bytecode beyond a free start.
    pub nodes_soft: usize,
    /// See [`Options::nodes_soft`].
    pub nodes_soft_free: usize,
    /// See [`Options::nodes_soft`].
    pub nodes_soft_per_word: usize,
    /// Nodes beyond which building the graph fails.
    pub nodes_max: usize,
    /// Look for equal computations.
    pub number_values: bool,
    /// Leave for the interpreter where calls were never seen.
    pub leaves_cold_code: bool,
    /// Make objects in exits that only exits need.
    pub sinks_objects: bool,
    /// Keep what is in boxes of assigned variables as values, where only exits need the boxes.
    pub replaces_boxes: bool,
    /// Compute before a loop what it does not change.
    pub hoists: bool,
    /// Copy procedures to calls that enter several.
    pub inline_several: bool,
    /// An entry at the start has checked the types of arguments ([`Graph::required`]).
    pub selects_at_entry: bool,
    /// Compile procedures that ask for the types of records once for each of them.
    pub divides_by_class: bool,
    /// Hold flonums unboxed from calls to procedures and from returns to callers.
    pub passes_floats: bool,
    /// Ask right behind calls whether their values are fixnums.
    pub asks_early: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            inline: true,
            inline_words: 40,
            inline_words_recursive: 60,
            inline_words_rare: 10,
            inline_words_cold: 5,
            inline_depth: 6,
            recursion_depth: 1,
            nodes_soft: 3000,
            nodes_soft_free: 500,
            nodes_soft_per_word: 4,
            nodes_max: 20000,
            number_values: true,
            leaves_cold_code: true,
            sinks_objects: true,
            replaces_boxes: true,
            hoists: true,
            inline_several: true,
            selects_at_entry: true,
            divides_by_class: true,
            passes_floats: true,
            asks_early: true,
        }
    }
}

/// Why there is no graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The graph became too large.
    TooLarge,
    /// The types of loops did not settle.
    Unsettled,
    /// The bytecode cannot be entered there, or has something that compiled code cannot do.
    Unsupported(&'static str),
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::TooLarge => f.write_str("the graph became too large"),
            BuildError::Unsettled => f.write_str("the types of a loop did not settle"),
            BuildError::Unsupported(what) => write!(f, "not supported: {what}"),
        }
    }
}

impl std::error::Error for BuildError {}

/// Builds the graph of a procedure, entered at its start or at a loop.
///
/// `slot_types` gives the types of the parameters, or at a loop those of all registers, which the
/// code that enters there has checked; the graph checks those of parameters if
/// [`Options::selects_at_entry`] is off. [`Type::ANY`] and missing ones are open.
pub fn build(
    code: Arc<CodeSnapshot>,
    entry: EntryPoint,
    slot_types: &[Type],
    profile: &dyn Profile,
    source: &dyn CodeSource,
    options: &Options,
) -> Result<Graph, BuildError> {
    const ATTEMPTS: usize = 16;
    let mut fixpoint = Fixpoint::default();
    for attempt in 0..ATTEMPTS {
        fixpoint.is_conservative = attempt + 3 >= ATTEMPTS;
        fixpoint.changed = false;
        let mut builder = Builder {
            graph: Graph::new(code.clone(), entry),
            block: None,
            numbering: Numbering::default(),
            likely: FastMap::default(),
            known_code: FastMap::default(),
            known_types: FastMap::default(),
            keywords: FastMap::default(),
            entry_slots: Vec::new(),
            replaced_boxes: FastMap::default(),
            copied_boxes: FastMap::default(),
            epochs: 0,
            invariants: Vec::new(),
            profile,
            source,
            options,
            fixpoint: &mut fixpoint,
        };
        builder.build_root(slot_types)?;
        let Builder {
            mut graph,
            replaced_boxes,
            copied_boxes,
            ..
        } = builder;
        if !fixpoint.changed {
            crate::passes::settle(&mut graph);
            if options.hoists {
                crate::hoist::hoist(&mut graph);
            }
            crate::passes::clean(&mut graph);
            crate::unboxed::keep_words(&mut graph);
            if options.asks_early {
                crate::results::ask_early(&mut graph, profile);
            }
            if options.sinks_objects {
                crate::sink::sink(&mut graph);
            }
            if fixpoint.learn_real_boxes(&graph, &replaced_boxes, &copied_boxes) {
                continue;
            }
            let entry = &graph.blocks[0];
            if matches!(entry.terminator, Terminator::Exit(_)) {
                return Err(BuildError::Unsupported("its first instructions"));
            }
            return Ok(graph);
        }
    }
    Err(BuildError::Unsettled)
}

/// A loop in an inlined procedure: the calls that lead there, and the head.
type LoopKey = (Vec<(CodeWord, usize)>, CodeWord, usize);

/// Findings of earlier attempts. Building repeats until an attempt adds nothing: a fixpoint.
#[derive(Debug, Default)]
struct Fixpoint {
    /// Types of loop variables, by register.
    loop_types: FastMap<LoopKey, FastMap<usize, Type>>,
    /// Types worth a guard before the loop.
    loop_guards: FastMap<LoopKey, FastMap<usize, Type>>,
    /// Loops in which values from before them may be lost, by calls above all.
    noisy: FastSet<LoopKey>,
    /// Boxes that are made where the bytecode makes them, by the calls that lead there and the instruction.
    real_boxes: FastSet<LoopKey>,
    /// Numbers of boxes.
    box_numbers: FastMap<LoopKey, usize>,
    /// Something was added in this attempt.
    changed: bool,
    /// The last attempts: a loop variable whose type has not settled may have any type.
    is_conservative: bool,
}

/// A record type in a watched variable.
#[derive(Clone, Copy, Debug)]
struct KnownType {
    /// Class key of its records, which no other type's have.
    class_key: i64,
    /// Fields that its records have at least.
    field_count: u32,
}

struct Builder<'a> {
    graph: Graph,
    /// The block being filled; none where control cannot get.
    block: Option<BlockId>,
    numbering: Numbering,
    /// Types that values most likely have, from the profile.
    likely: FastMap<NodeId, Type>,
    /// Closures whose code is known.
    known_code: FastMap<NodeId, CodeWord>,
    /// Record types in watched variables.
    known_types: FastMap<NodeId, KnownType>,
    /// Names of the keywords that are known.
    keywords: FastMap<NodeId, Arc<str>>,
    /// Contents of the first registers when code with clauses was entered.
    entry_slots: Vec<NodeId>,
    /// Boxes that are not made, with the calls that lead to the instruction for it.
    replaced_boxes: FastMap<NodeId, LoopKey>,
    /// Boxes that states name in their place.
    copied_boxes: FastMap<NodeId, LoopKey>,
    /// Counts where values may be lost.
    epochs: u32,
    /// Values that the loops around leave alone, by node, with their registers; outermost loop
    /// first.
    invariants: Vec<(LoopKey, FastMap<NodeId, usize>)>,
    profile: &'a dyn Profile,
    source: &'a dyn CodeSource,
    options: &'a Options,
    fixpoint: &'a mut Fixpoint,
}

/// A procedure whose bytecode is being followed.
struct Activation {
    frame: FrameId,
    code: Arc<CodeSnapshot>,
    /// Calls that were inlined to get here.
    path: Vec<(CodeWord, usize)>,
    /// Times that it runs for each run of the outermost one, as far as was seen.
    frequency: f64,
    /// Number of arguments that were passed, where it is known.
    argument_count: Option<usize>,
    /// The instruction at hand.
    pc: usize,
    /// State before that instruction, once it was needed.
    state: Option<(StateId, Option<BlockId>)>,
    environment: Environment,
    /// Arrivals at later instructions: block, registers, equal computations.
    pending: std::collections::BTreeMap<usize, Vec<environment::Arrival>>,
    /// Arrivals at loops that begin before the place where the graph was entered.
    outer_heads: std::collections::BTreeMap<usize, Vec<environment::Arrival>>,
    /// Loops being built, innermost last.
    loops: Vec<control::OpenLoop>,
    /// Where inlined code returns to.
    returns: Option<Vec<Return>>,
}

/// A return of inlined code.
struct Return {
    block: BlockId,
    value: NodeId,
    numbering: Numbering,
    /// Values in the registers of the arguments, which may be better known than before.
    arguments: Vec<Option<NodeId>>,
}

impl Builder<'_> {
    fn build_root(&mut self, slot_types: &[Type]) -> Result<(), BuildError> {
        let code = self.graph.codes[0].clone();
        let entry = BlockId(0);
        self.block = Some(entry);
        let closure = self.graph.frames[0].closure;
        self.known_code.insert(closure, code.word);
        let start = match self.graph.entry {
            EntryPoint::Start => 0,
            EntryPoint::Loop(pc) => pc,
        };
        let mut environment = Environment::new(code.frame_words as usize);
        let live: Vec<usize> = match self.graph.entry {
            EntryPoint::Start if code.arity == canny_tables::layout::code::VARIADIC => Vec::new(),
            EntryPoint::Start => (0..code.arity as usize).collect(),
            EntryPoint::Loop(pc) => code
                .liveness
                .live_before(&code.instructions, pc)
                .iter()
                .collect(),
        };
        let mut speculated = Vec::new();
        for register in live {
            let wanted = slot_types.get(register).copied().unwrap_or(Type::ANY);
            let ty = match self.graph.entry {
                EntryPoint::Loop(_) => wanted,
                EntryPoint::Start
                    if self.options.selects_at_entry && Test::of_type(wanted).is_some() =>
                {
                    self.graph.required.push((register as u32, wanted));
                    wanted
                }
                // A guess, which the graph checks.
                EntryPoint::Start => Type::ANY,
            };
            let is_argument = self.graph.entry == EntryPoint::Start;
            let op = if is_argument && self.options.passes_floats && ty == Type::FLONUM {
                Op::FloatSlot(register as u32)
            } else {
                Op::Slot(register as u32)
            };
            let node = self.graph.push(entry, op, ty);
            environment.set(register, node);
            if ty != wanted {
                self.likely.insert(node, wanted);
                speculated.extend(control::test_for(wanted).map(|test| (test, node)));
            }
        }
        let mut activation = Activation {
            frame: FrameId(0),
            code,
            path: Vec::new(),
            frequency: 1.0,
            argument_count: None,
            pc: start,
            state: None,
            environment,
            pending: Default::default(),
            outer_heads: Default::default(),
            loops: Vec::new(),
            returns: None,
        };
        if !self.profile.is_unstable(activation.code.word, start) {
            for (test, node) in speculated {
                self.guard(&mut activation, test, node);
            }
        }
        self.follow(&mut activation, start)
    }

    // Nodes.

    fn push(&mut self, op: Op, ty: Type) -> NodeId {
        match self.block {
            Some(block) => self.graph.push(block, op, ty),
            // Nothing gets here; the node is never looked at.
            None => self.graph.push(BlockId(0), Op::Word(0), ty),
        }
    }

    /// A node that depends on its operands only, or an equal one from before.
    fn pure(&mut self, op: Op, ty: Type) -> NodeId {
        if !self.options.number_values {
            return self.push(op, ty);
        }
        if let Some(node) = self.numbering.find(&op) {
            return node;
        }
        let node = self.push(op.clone(), ty);
        self.numbering.add(op, node);
        node
    }

    fn word(&mut self, bits: u64) -> NodeId {
        let ty = Type::of_immediate(bits).unwrap_or(Type::ANY);
        self.pure(Op::Word(bits), ty)
    }

    fn fixnum(&mut self, n: i64) -> NodeId {
        self.word((n << canny_tables::layout::FIXNUM_SHIFT) as u64)
    }

    fn ty(&self, node: NodeId) -> Type {
        self.graph.node(node).ty
    }

    /// The constant word that a node is.
    fn constant(&self, node: NodeId) -> Option<u64> {
        match self.graph.node(node).op {
            Op::Word(bits) => Some(bits),
            Op::Refine(inner) | Op::Guard(_, inner, _) => self.constant(inner),
            _ => None,
        }
    }

    /// Returns the likely type of a value: its type, narrowed by the profile.
    fn guess(&self, node: NodeId) -> Type {
        let ty = self.ty(node);
        match self.likely.get(&node) {
            Some(likely) if ty.may_be(*likely) => ty.and(*likely),
            _ => ty,
        }
    }

    /// The value as a tagged word.
    fn tagged(&mut self, node: NodeId) -> NodeId {
        if self.graph.representation(node) == Representation::Float {
            return self.pure(Op::Box(node), Type::FLONUM);
        }
        node
    }

    /// The double of a value known to be a flonum.
    fn float(&mut self, node: NodeId) -> NodeId {
        if self.graph.representation(node) == Representation::Float {
            return node;
        }
        if let Some(bits) = self.constant(node) {
            return self.pure(Op::Float(decode_flonum(bits)), Type::FLONUM);
        }
        if let Op::Box(inner) = self.graph.node(node).op {
            return inner;
        }
        self.pure(Op::Unbox(node), Type::FLONUM)
    }

    /// The double of a flonum, if nothing has to be done for it; else the flonum.
    fn float_at_hand(&mut self, node: NodeId) -> NodeId {
        let is_at_hand = self.constant(node).is_some()
            || self.graph.representation(node) == Representation::Float
            || matches!(self.graph.node(node).op, Op::Box(_))
            || self.numbering.find(&Op::Unbox(node)).is_some();
        if is_at_hand { self.float(node) } else { node }
    }

    // Leaving.

    /// The state before the instruction at hand.
    fn state(&mut self, activation: &mut Activation) -> StateId {
        if let Some((state, block)) = activation.state
            && (block == self.block || self.numbering.boxes.is_empty())
        {
            return state;
        }
        let live = activation
            .code
            .liveness
            .live_before(&activation.code.instructions, activation.pc);
        let registers = live
            .iter()
            .filter_map(|register| Some((register as u32, activation.environment.get(register)?)))
            .collect();
        let state = State {
            frame: activation.frame,
            pc: activation.pc,
            registers,
        };
        let state = self.with_contents(state);
        let state = self.graph.add_state(state);
        activation.state = Some((state, self.block));
        state
    }

    /// Whether the instruction at hand is taken for one that does not happen.
    fn is_cold(&self, activation: &Activation) -> bool {
        self.options.leaves_cold_code && self.profile.is_cold(activation.code.word, activation.pc)
    }

    /// Leaves for the interpreter, always.
    fn exit(&mut self, activation: &mut Activation) {
        let state = self.state(activation);
        self.terminate(Terminator::Exit(state));
    }

    fn terminate(&mut self, terminator: Terminator) {
        if let Some(block) = self.block.take() {
            self.graph.blocks[block.index()].terminator = terminator;
        }
    }

    /// The value, which passes the test from here on; without a check where its type says so already.
    fn guard(&mut self, activation: &mut Activation, test: Test, value: NodeId) -> NodeId {
        let wanted = type_of_test(test);
        let ty = self.ty(value);
        let exact = matches!(test, Test::Word(_) | Test::ClosureOf(_) | Test::Elements(_));
        if let Test::ClosureOf(code) = test {
            if self.known_code.get(&value) == Some(&CodeWord(code)) {
                return value;
            }
        } else if ty.is(wanted) && !exact {
            return value;
        }
        if !ty.may_be(wanted) {
            self.exit(activation);
            return value;
        }
        let key = Op::Guard(test, value, StateId(0));
        if let Some(node) = self.numbering.find(&key) {
            activation.environment.replace(value, node);
            return node;
        }
        self.hoist_guard(value, wanted, exact);
        let state = self.state(activation);
        let node = self.push(Op::Guard(test, value, state), ty.and(wanted));
        self.numbering.add(key, node);
        if let Some(code) = self.known_code.get(&value) {
            self.known_code.insert(node, *code);
        }
        if let Test::ClosureOf(code) = test {
            self.known_code.insert(node, CodeWord(code));
        }
        activation.environment.replace(value, node);
        self.numbering.replace_content(value, node);
        self.load_gives(value, node);
        node
    }

    /// A second load of a value finds what was learned of it.
    fn load_gives(&mut self, value: NodeId, checked: NodeId) {
        let load = self.graph.node(self.graph.unchecked(value)).op.clone();
        if matches!(load, Op::Load { .. } | Op::LoadElement(..))
            && self.numbering.find(&load) == Some(value)
        {
            self.numbering.add(load, checked);
        }
    }

    /// Learns that a guard of a value which loops around leave alone belongs before the outermost of them.
    fn hoist_guard(&mut self, value: NodeId, wanted: Type, exact: bool) {
        if exact || control::test_for(wanted).is_none() {
            return;
        }
        let outermost = self
            .invariants
            .iter()
            .find_map(|(key, nodes)| Some((key.clone(), *nodes.get(&value)?)));
        if let Some((key, register)) = outermost {
            let guards = self.fixpoint.loop_guards.entry(key).or_default();
            if guards.insert(register, wanted).is_none() {
                self.fixpoint.changed = true;
            }
        }
    }

    /// The value with a narrower type, which some check before told.
    fn refine(&mut self, activation: &mut Activation, value: NodeId, ty: Type) -> NodeId {
        let old = self.ty(value);
        let narrow = old.and(ty);
        if narrow == old || self.block.is_none() {
            return value;
        }
        if self.graph.representation(value) == Representation::Float {
            return value;
        }
        let node = self.push(Op::Refine(value), narrow);
        if let Some(code) = self.known_code.get(&value) {
            self.known_code.insert(node, *code);
        }
        activation.environment.replace(value, node);
        self.numbering.replace_content(value, node);
        self.load_gives(value, node);
        node
    }
}

/// The types of values that pass a test.
fn type_of_test(test: Test) -> Type {
    match test {
        Test::Fixnum => Type::FIXNUM,
        Test::Flonum => Type::FLONUM,
        Test::Pair => Type::PAIR,
        Test::Character => Type::CHARACTER,
        Test::Kind(kind) => Type::of_kind(kind),
        Test::Word(bits) => Type::of_immediate(bits).unwrap_or(Type::ANY),
        Test::ClosureOf(_) => Type::CLOSURE,
        Test::Elements(_) => Type::NUMERIC_VECTOR,
        Test::Class(class) => Type::record_of(i64::from(class)),
    }
}

/// The double in a flonum word.
fn decode_flonum(bits: u64) -> f64 {
    f64::from_bits(bits.wrapping_add(1).rotate_right(4))
}
