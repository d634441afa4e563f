//! From a graph to machine code.
//!
//! The graph is cut into segments ([`crate::cuts`]); each becomes one Cranelift function in the
//! convention of the interpreter's handlers and contains every block that can be reached from its root
//! without a cut, so small blocks behind a join may stand in several segments. A graph whose segments
//! grow too large is compiled again with cuts at calls only.

mod bits;
mod calls;
mod conditions;
mod counting;
mod elements;
mod equality;
mod general;
mod kinds;
mod leaf;
mod mixed;
mod numbers;
mod objects;
mod ports;
mod segment;
mod side_exits;
mod tables;
mod values;

use canny_spesh::code_map::{FastMap, FastSet};
use canny_spesh::graph::{
    BlockId, Edge, EntryPoint, Graph, NodeId, Op, SlotContent, StateId, Terminator, Test,
};
use canny_spesh::types::Type;
use canny_tables::layout::frame;
use cranelift_codegen::Context;
use cranelift_frontend::FunctionBuilderContext;

use crate::arguments::{Arguments, Front};
use crate::compiled::{
    Compiled, ExitPlan, InlinedPlan, LinkPlan, NO_PLACE, ResumptionPlan, ReturnPlan, Starts,
};
use crate::continuations::{Continuation, Wanted};
use crate::cut_choice::choose_cuts;
use crate::cuts::Cuts;
use crate::exits::{ExitTail, Way};
use crate::joins::Joins;
use crate::liveness::Liveness;
use crate::machine::{self, Effort, FunctionCode, direct_signature};
use crate::places::{PlaceNumbers, PlaceTable};
use crate::slots::{Slots, instruction, operands_tried};
use crate::values::Values;
use crate::{Environment, JitError};
use segment::Segment;

/// Nodes that all segments of a procedure together may have, for each node of the graph, and in any case.
const GROWTH_MAX: usize = 6;
const NODES_FREE: usize = 2_000;
/// Instructions in the runtime that may cut: a segment takes longer to compile than what it contains.
const RUNTIME_CUTS_MAX: usize = 12;
/// Nodes that all segments together may have when nothing but calls cuts.
const NODES_MAX: usize = 40_000;

/// Compiles a graph for this machine.
pub fn compile(graph: &Graph, environment: &Environment) -> Result<Compiled, JitError> {
    machine::target(environment.processor, Effort::Much)?;
    check(graph)?;
    let values = Values::new(graph);
    let mut arguments = Arguments::of(graph);
    let slots = Slots::new(graph, &values, &mut arguments)?;
    check_slots(graph, &slots)?;
    let nodes_max = NODES_FREE + GROWTH_MAX * graph.nodes.len();
    let instructions_in_runtime = graph
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter(|node| match graph.node(**node).op {
            Op::Runtime(state) => operands_tried(graph, state).is_none(),
            _ => false,
        })
        .count();
    let cuts = if instructions_in_runtime <= RUNTIME_CUTS_MAX {
        choose_cuts(graph, &values, &slots)?
    } else {
        Cuts::none_at_runtime()
    };
    let lower = |cuts: &Cuts, nodes_max| {
        let liveness = Liveness::new(graph, &values, &slots, cuts);
        let joins = Joins::new(graph, cuts, &liveness);
        let procedure = Procedure {
            graph,
            environment,
            values: &values,
            slots: &slots,
            arguments,
            liveness: &liveness,
            cuts,
            joins: &joins,
        };
        lower(&procedure, nodes_max)
    };
    match lower(&cuts, nodes_max) {
        Err(JitError::TooLarge) => lower(&Cuts::none_at_runtime(), NODES_MAX),
        result => result,
    }
}

fn lower(procedure: &Procedure, nodes_max: usize) -> Result<Compiled, JitError> {
    let Procedure {
        graph, environment, ..
    } = *procedure;
    let front = Front::new(graph, &procedure.arguments)?;
    let mut output = Output {
        roots: vec![Root::Entry],
        nodes_left: nodes_max,
        ..Output::default()
    };
    let code = &graph.codes[0];
    let mut compiled = Compiled {
        code: Vec::new(),
        relocations: Vec::new(),
        entry: 0,
        starts: None,
        start: match graph.entry {
            EntryPoint::Start => code.entry,
            EntryPoint::Loop(pc) => code.address(pc),
        },
        returns: Vec::new(),
        inlined: Vec::new(),
        exits: Vec::new(),
        resumptions: Vec::new(),
        links: Vec::new(),
        boxing_stubs: Vec::new(),
        exit_tails: Vec::new(),
        segments: Vec::new(),
        places: PlaceTable::default(),
        name: code.name.clone(),
        disassembly: String::new(),
    };
    let mut context = Context::new();
    let mut builder_context = FunctionBuilderContext::new();
    let mut places = Vec::new();
    while let Some(&root) = output.roots.get(places.len()) {
        machine::clear(&mut context);
        let doubles = procedure.arguments.doubles.count();
        if root == Root::Entry {
            context.func.signature = direct_signature(procedure.arguments.count - doubles, doubles);
        } else if matches!(procedure.wanted_result(root), Some((Test::Flonum, ..))) {
            context.func.signature = direct_signature(0, 1);
        }
        let built = Segment::build(
            procedure,
            &mut output,
            root,
            &mut context.func,
            &mut builder_context,
        )?;
        let isa = machine::target(environment.processor, built.effort)?;
        let mut function =
            machine::generate(&mut context, built.exits, isa, environment.disassembles)?;
        function.entered_above = built.entered_above;
        let place = add_root(
            procedure,
            &mut compiled,
            &mut output,
            &front,
            root,
            function,
        )?;
        places.push(place);
    }
    let place = |root: usize| places[root];
    compiled.links = output.links;
    compiled.add_exit_tails(&output.exit_tails);
    for (state, root) in &output.returns {
        let instruction = instruction(graph, *state)?;
        let code = graph.code_of(graph.state(*state).frame);
        let place = place(*root);
        compiled.returns.push(ReturnPlan {
            call_word: instruction.first_word(),
            live_map: code.instructions[instruction.pc + 1],
            bytecode: code.address(instruction.next_pc()),
            native: place.words,
            float: place.float,
            fixnum: place.fixnum,
            bridge: place.bridge,
        });
    }
    compiled.add_boxing_stubs(environment.box_flonum);
    for &address in &output.inlined {
        compiled.inlined.push(inlined_plan(graph, address)?);
    }
    compiled.exits = exit_plans(graph, &output.exits);
    compiled.places.addresses = output.places.addresses(graph);
    compiled.places.parts = output.places.parts();
    compiled.places.escapes = output.places.escapes();
    for resumption in &output.resumptions {
        compiled.resumptions.push(ResumptionPlan {
            next: (resumption.0.0, place(resumption.0.1).segment),
            taken: (resumption.1.0, place(resumption.1.1).segment),
        });
    }
    Ok(compiled)
}

/// The exit descriptors of states.
fn exit_plans(graph: &Graph, exits: &[StateId]) -> Vec<ExitPlan> {
    let before_loops: FastSet<StateId> = graph
        .blocks
        .iter()
        .filter_map(|block| block.entry_state)
        .collect();
    let plan = |&state: &StateId| ExitPlan {
        state,
        bytecode: graph
            .code_of(graph.state(state).frame)
            .address(graph.state(state).pc),
        is_before_loop: before_loops.contains(&state),
    };
    exits.iter().map(plan).collect()
}

/// Appends the segment of a root, with what stands in front of it.
fn add_root(
    procedure: &Procedure,
    compiled: &mut Compiled,
    output: &mut Output,
    front: &Front,
    root: Root,
    function: FunctionCode,
) -> Result<Place, JitError> {
    Ok(match root {
        Root::Entry => {
            let place = compiled.add_segment(function, &front.code, &front.relocations);
            place_front(compiled, front, procedure, place);
            Place::plain(place.0)
        }
        Root::AfterCall(..) => {
            let before = procedure.continuation(root, output)?;
            let (segment, start) =
                compiled.add_segment(function, &before.code, &before.relocations);
            Place {
                segment,
                bridge: start + before.bridge,
                words: start + before.words,
                float: match procedure.wanted_result(root) {
                    Some((Test::Flonum, ..)) => segment,
                    _ => NO_PLACE,
                },
                fixnum: match procedure.wanted_result(root) {
                    Some((Test::Flonum, ..)) => start + before.words,
                    _ => segment,
                },
            }
        }
        _ => Place::plain(compiled.add_segment(function, &[], &[]).0),
    })
}

/// Where the ways into a segment are; all of one place but for continuations.
#[derive(Clone, Copy, Debug)]
struct Place {
    segment: usize,
    bridge: usize,
    words: usize,
    float: usize,
    fixnum: usize,
}

impl Place {
    fn plain(segment: usize) -> Place {
        Place {
            segment,
            bridge: segment,
            words: segment,
            float: NO_PLACE,
            fixnum: segment,
        }
    }
}

/// The ways in that a front has, given where the first segment begins and where the front in front of
/// it does.
fn place_front(
    compiled: &mut Compiled,
    front: &Front,
    procedure: &Procedure,
    (direct, before): (usize, usize),
) {
    compiled.entry = before + front.memory;
    if procedure.graph.entry == EntryPoint::Start {
        compiled.starts = Some(Starts {
            checked: before + front.checked,
            known: before + front.known,
            direct,
            doubles: procedure.arguments.doubles,
        });
    }
}

/// The call whose return address an inlined frame has.
fn inlined_plan(graph: &Graph, address: u64) -> Result<InlinedPlan, JitError> {
    let caller = graph
        .frames
        .iter()
        .find(|frame| frame.return_address == Some(address))
        .and_then(|frame| frame.caller)
        .ok_or_else(|| JitError::Invalid("a return address of no inlined call".into()))?;
    let call = instruction(graph, caller)?;
    let code = graph.code_of(graph.state(caller).frame);
    Ok(InlinedPlan {
        call_word: call.first_word(),
        live_map: code.instructions[call.pc + 1],
        bytecode: address,
    })
}

/// Where a segment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Root {
    /// At the entry.
    Entry,
    /// Behind the call at this index of the block's nodes.
    AfterCall(BlockId, usize),
    /// Behind the instruction in the runtime at this index of the block's nodes.
    AfterRuntime(BlockId, usize),
    /// On an edge of the branch in the runtime that ends a block.
    Taken(BlockId),
    /// On the other edge.
    Fall(BlockId),
    /// At a block that several segments continue with.
    Join(BlockId),
}

/// Inputs that every segment reads.
struct Procedure<'a> {
    graph: &'a Graph,
    environment: &'a Environment,
    values: &'a Values,
    slots: &'a Slots,
    arguments: Arguments,
    liveness: &'a Liveness,
    cuts: &'a Cuts,
    joins: &'a Joins,
}

impl Procedure<'_> {
    /// Words from the outermost fp to the base register of the call at a state.
    fn call_base(&self, state: StateId) -> Result<i32, JitError> {
        Ok(self.frame_base(state) + instruction(self.graph, state)?.a() as i32)
    }

    /// Words from the outermost fp to that of a state's innermost frame.
    fn frame_base(&self, state: StateId) -> i32 {
        self.graph.frame(self.graph.state(state).frame).base as i32
    }

    /// Whether an edge goes to another segment than the one that began at a root.
    fn is_left_on(&self, root: Root, edge: &Edge) -> bool {
        self.joins.contains(edge.target) && root != Root::Join(edge.target)
    }

    /// How many edges lead to each block inside of the segment of a root.
    fn ways(&self, root: Root) -> FastMap<BlockId, usize> {
        let mut ways: FastMap<BlockId, usize> = FastMap::default();
        let mut work = Vec::new();
        let mut follow = |edge: BlockId, work: &mut Vec<(BlockId, usize)>| {
            let known = ways.entry(edge).or_default();
            *known += 1;
            if *known == 1 {
                work.push((edge, 0));
            }
        };
        match root {
            Root::Entry => work.push((BlockId(0), 0)),
            Root::AfterCall(block, index) | Root::AfterRuntime(block, index) => {
                work.push((block, index + 1));
            }
            Root::Join(block) => follow(block, &mut work),
            Root::Taken(block) | Root::Fall(block) => {
                let edges = self.graph.blocks[block.index()].terminator.edges();
                let number = usize::from(matches!(root, Root::Fall(_)));
                for edge in edges.skip(number).take(1) {
                    if !self.is_left_on(root, edge) {
                        follow(edge.target, &mut work);
                    }
                }
            }
        }
        while let Some((id, from)) = work.pop() {
            if self.ends_in_cut(id, from) {
                continue;
            }
            for edge in self.graph.blocks[id.index()].terminator.edges() {
                if !self.is_left_on(root, edge) {
                    follow(edge.target, &mut work);
                }
            }
        }
        ways
    }

    /// Whether a block, from one of its nodes on, never gets to its edges in the same segment.
    fn ends_in_cut(&self, id: BlockId, from: usize) -> bool {
        let block = &self.graph.blocks[id.index()];
        let cuts = block.nodes[from..]
            .iter()
            .any(|node| match self.graph.node(*node).op {
                Op::Call(..) => true,
                Op::Runtime(_) => self.cuts.cuts_node(*node),
                _ => false,
            });
        cuts || matches!(block.terminator, Terminator::RuntimeBranch { .. })
            && self.cuts.cuts_end(id)
    }

    /// Returns the test that the segment of a root wants the value of the call before it to pass,
    /// the node that says so, and the state to leave to if it fails. Only the value's slot is
    /// stored there.
    fn wanted_result(&self, root: Root) -> Option<(Test, NodeId, StateId)> {
        let Root::AfterCall(block, index) = root else {
            return None;
        };
        let nodes = &self.graph.blocks[block.index()].nodes;
        let (call, next) = (nodes[index], *nodes.get(index + 1)?);
        match self.graph.node(next).op {
            Op::FloatResult(_, behind) => Some((Test::Flonum, next, behind)),
            Op::Guard(test @ Test::Fixnum, x, behind) if x == call => {
                let Op::Call(_, _, state) = self.graph.node(call).op else {
                    return None;
                };
                let value = (self.call_base(state).ok()?, SlotContent::Node(call));
                let is_missing_alone = self.slots.at_node(next).iter().all(|it| *it == value);
                is_missing_alone.then_some((test, next, behind))
            }
            _ => None,
        }
    }

    /// Writes the code in front of the segment of a root behind a call.
    fn continuation(&self, root: Root, output: &mut Output) -> Result<Continuation, JitError> {
        let Root::AfterCall(block, index) = root else {
            return Err(JitError::Invalid("no continuation".into()));
        };
        let node = self.graph.blocks[block.index()].nodes[index];
        let Op::Call(_, _, state) = self.graph.node(node).op else {
            return Err(JitError::Invalid("a continuation without a call".into()));
        };
        let slot = self.call_base(state)?;
        let wanted = match self.wanted_result(root) {
            Some((test, result, behind)) => Some(Wanted {
                test,
                slot,
                callee: slot + frame::LINK_WORDS as i32,
                exit_tail: self.exit_behind(result, behind, slot, output)?,
            }),
            None => None,
        };
        Continuation::new(instruction(self.graph, state)?.a(), wanted)
    }

    /// The last steps of leaving behind a call whose value, which is no flonum, is in its slot already.
    fn exit_behind(
        &self,
        result: NodeId,
        state: StateId,
        slot: i32,
        output: &mut Output,
    ) -> Result<u32, JitError> {
        let missing = self.slots.at_node(result);
        if missing.iter().any(|(there, _)| *there != slot) {
            return Err(JitError::Invalid(
                "behind a call not everything is in its slot".into(),
            ));
        }
        let tail = ExitTail {
            way: self.way_out(state, output),
            base: self.frame_base(state),
            stores: Vec::new(),
        };
        Ok(output.exit_tail(tail))
    }

    /// Where leaving for a state leads.
    fn way_out(&self, state: StateId, output: &mut Output) -> Way {
        match self.graph.place_left_to_interpreter(state) {
            Some(address) => Way::Bytecode(address),
            None => Way::Exit(output.exit_descriptor(state)),
        }
    }
}

/// An address that the runtime may give, and the root for it.
type Resumed = (u64, usize);

/// Parts of the procedure that segments add.
#[derive(Default)]
struct Output {
    roots: Vec<Root>,
    root_indices: FastMap<Root, usize>,
    returns: Vec<(StateId, usize)>,
    return_indices: FastMap<NodeId, u32>,
    /// Return addresses of inlined frames.
    inlined: Vec<u64>,
    exits: Vec<StateId>,
    exit_indices: FastMap<StateId, u32>,
    exit_tails: Vec<ExitTail>,
    exit_tail_indices: FastMap<ExitTail, u32>,
    resumptions: Vec<(Resumed, Resumed)>,
    links: Vec<LinkPlan>,
    /// Places that code was made for.
    places: PlaceNumbers,
    nodes_left: usize,
}

impl Output {
    fn root(&mut self, root: Root) -> usize {
        *self.root_indices.entry(root).or_insert_with(|| {
            self.roots.push(root);
            self.roots.len() - 1
        })
    }

    fn return_descriptor(&mut self, node: NodeId, state: StateId, root: Root) -> u32 {
        if let Some(index) = self.return_indices.get(&node) {
            return *index;
        }
        let root = self.root(root);
        self.returns.push((state, root));
        let index = self.returns.len() as u32 - 1;
        self.return_indices.insert(node, index);
        index
    }

    fn inlined_descriptor(&mut self, address: u64) -> u32 {
        let known = self.inlined.iter().position(|there| *there == address);
        known.unwrap_or_else(|| {
            self.inlined.push(address);
            self.inlined.len() - 1
        }) as u32
    }

    fn exit_descriptor(&mut self, state: StateId) -> u32 {
        *self.exit_indices.entry(state).or_insert_with(|| {
            self.exits.push(state);
            self.exits.len() as u32 - 1
        })
    }

    fn exit_tail(&mut self, tail: ExitTail) -> u32 {
        if let Some(index) = self.exit_tail_indices.get(&tail) {
            return *index;
        }
        let index = self.exit_tails.len() as u32;
        self.exit_tails.push(tail.clone());
        self.exit_tail_indices.insert(tail, index);
        index
    }

    fn resumption(&mut self, next: (u64, Root), taken: (u64, Root)) -> u32 {
        let ways = ((next.0, self.root(next.1)), (taken.0, self.root(taken.1)));
        let known = self.resumptions.iter().position(|there| *there == ways);
        known.unwrap_or_else(|| {
            self.resumptions.push(ways);
            self.resumptions.len() - 1
        }) as u32
    }

    fn link(&mut self, code: u64, types: Vec<Type>) -> u32 {
        let plan = LinkPlan { code, types };
        let known = self.links.iter().position(|there| *there == plan);
        known.unwrap_or_else(|| {
            self.links.push(plan);
            self.links.len() - 1
        }) as u32
    }

    /// Counts a node against the budget.
    fn spend(&mut self) -> Result<(), JitError> {
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(JitError::TooLarge)?;
        Ok(())
    }
}

fn check(graph: &Graph) -> Result<(), JitError> {
    let invalid = |what: &str| Err(JitError::Invalid(what.into()));
    if graph.blocks.is_empty() || !graph.blocks[0].parameters.is_empty() {
        return invalid("the entry block has parameters");
    }
    for (index, block) in graph.blocks.iter().enumerate() {
        let mut is_entered = index == 0;
        let mut is_behind_runtime = false;
        let mut before = None;
        for id in &block.nodes {
            match graph.node(*id).op {
                Op::FloatResult(call, _) if before != Some(call) => {
                    return invalid("a call's value is taken later");
                }
                Op::Slot(_) | Op::FloatSlot(_) | Op::Closure | Op::ArgumentCount if !is_entered => {
                    return invalid("what the frame held on entry is read later");
                }
                Op::Reload(_) if !is_behind_runtime => {
                    return invalid("what the runtime wrote is read later");
                }
                Op::Call(..) | Op::Runtime(_) => is_entered = false,
                _ => {}
            }
            before = Some(*id);
            is_behind_runtime = match graph.node(*id).op {
                Op::Runtime(_) => true,
                Op::Reload(_) => is_behind_runtime,
                _ => false,
            }
        }
        for edge in block.terminator.edges() {
            if edge.target == BlockId(0) {
                return invalid("an edge leads to the entry block");
            }
            let parameters = &graph.blocks[edge.target.index()].parameters;
            if parameters.len() != edge.arguments.len() {
                return invalid("an edge has not one argument for each parameter");
            }
            for (parameter, argument) in parameters.iter().zip(&edge.arguments) {
                if graph.representation(*parameter) != graph.representation(*argument) {
                    return invalid("an edge's argument is held otherwise than the parameter");
                }
            }
        }
    }
    Ok(())
}

/// A frame is entered below the limit, above which a small frame may lie unchecked.
fn check_slots(graph: &Graph, slots: &Slots) -> Result<(), JitError> {
    let highest = (0..graph.states.len() as u32)
        .flat_map(|id| slots.of_state(StateId(id)))
        .map(|(slot, _)| *slot)
        .chain(
            graph
                .frames
                .iter()
                .map(|frame| frame.base as i32 + graph.codes[frame.code].frame_words as i32),
        )
        .max()
        .unwrap_or(0);
    if highest as usize > frame::RED_ZONE_WORDS / 2 {
        return Err(JitError::TooLarge);
    }
    Ok(())
}
