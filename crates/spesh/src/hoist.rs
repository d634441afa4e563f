//! Loop-invariant code motion: checks and computations that a loop does not change move before it.
//!
//! A check of a value that a loop leaves alone, its length, a captured variable or what a global
//! variable holds are the same in each iteration. They move to the end of the block from which the loop
//! is entered, and leave from there in the state in which the loop is entered
//! ([`crate::graph::Block::entry_state`]): the interpreter then takes the loop from its start. Where
//! such checks failed too often, the profile says so, there is no such state, and checks stay where
//! they are.
//!
//! In a loop with a call nothing that was computed before is at hand behind it, except for values
//! with slots. There only checks of values that were there before move: the checked value is the
//! value itself.
//!
//! A loop that may end by a condition that none of its variables decides waits for a store by
//! another thread: the loads of such a condition stay in the loop.
//!
//! An operation may stand before the loop only if its operands alone allow it, since the branches
//! that lead to it are left out: a load from a pair needs a value that is known to be one in
//! itself. An operation that relies on an earlier check without a value (an index inside of a
//! vector, a record of a type) moves only if that check moved, or was made before.

use crate::code_map::{FastMap, FastSet};
use crate::graph::{Condition, Graph, Memories, Memory, NodeId, Op, StateId, Terminator, Test};
use crate::passes::replace_nodes;
use crate::types::Type;

/// Nodes that are looked at to find an equal one before a loop.
const LOOK_BACK: usize = 200;

/// Moves what can be moved out of each loop, inner loops first. The graph is settled
/// ([`crate::passes::settle`]).
pub fn hoist(graph: &mut Graph) {
    if !graph.blocks.iter().any(|block| block.is_loop) {
        return;
    }
    let predecessors = predecessors(graph);
    let mut loops = loops(graph, &predecessors);
    if loops.is_empty() {
        return;
    }
    loops.sort_by_key(|one| one.body.len());
    let dominators = dominators(&predecessors);
    let mut replaced = FastMap::default();
    for one in &loops {
        let hoister = Hoister::new(graph, one, &predecessors, &dominators, &mut replaced);
        hoister.run();
    }
    if !replaced.is_empty() {
        replace_nodes(graph, |id| resolve(&replaced, id));
    }
}

/// The node that is used in place of one: a replacement may be replaced itself, by a loop around.
fn resolve(replaced: &FastMap<NodeId, NodeId>, mut id: NodeId) -> NodeId {
    while let Some(other) = replaced.get(&id) {
        id = *other;
    }
    id
}

/// A loop that one edge enters.
struct Loop {
    head: usize,
    /// The block before it.
    entry: usize,
    /// Its blocks in order, the head first.
    body: Vec<usize>,
    /// Those that go back to the head.
    latches: Vec<usize>,
}

fn predecessors(graph: &Graph) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); graph.blocks.len()];
    for (from, block) in graph.blocks.iter().enumerate() {
        for edge in block.terminator.edges() {
            predecessors[edge.target.index()].push(from);
        }
    }
    predecessors
}

fn loops(graph: &Graph, predecessors: &[Vec<usize>]) -> Vec<Loop> {
    let mut loops = Vec::new();
    for (head, block) in graph.blocks.iter().enumerate() {
        if !block.is_loop {
            continue;
        }
        let (entries, latches): (Vec<usize>, Vec<usize>) =
            predecessors[head].iter().partition(|from| **from < head);
        let [entry] = entries[..] else { continue };
        if latches.is_empty() || !matches!(graph.blocks[entry].terminator, Terminator::Jump(_)) {
            continue;
        }
        let mut body = FastSet::from_iter([head as u32]);
        let mut work = latches.clone();
        while let Some(block) = work.pop() {
            if body.insert(block as u32) {
                work.extend(&predecessors[block]);
            }
        }
        let mut body: Vec<usize> = body.into_iter().map(|block| block as usize).collect();
        body.sort_unstable();
        if body[0] == head {
            loops.push(Loop {
                head,
                entry,
                body,
                latches,
            });
        }
    }
    loops
}

/// The block through which every way to a block goes last; the entry's is itself. Blocks are in reverse
/// postorder.
fn dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut dominators: Vec<Option<usize>> = vec![None; predecessors.len()];
    dominators[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..predecessors.len() {
            let mut new = None;
            for &from in &predecessors[block] {
                if dominators[from].is_some() {
                    new = Some(new.map_or(from, |other| common(&dominators, other, from)));
                }
            }
            if new != dominators[block] {
                dominators[block] = new;
                changed = true;
            }
        }
    }
    dominators
        .into_iter()
        .map(|block| block.unwrap_or(0))
        .collect()
}

fn common(dominators: &[Option<usize>], mut x: usize, mut y: usize) -> usize {
    while x != y {
        if x < y {
            (x, y) = (y, x);
        }
        x = dominators[x].unwrap_or(0);
    }
    x
}

/// Moves what one loop does not change.
struct Hoister<'a> {
    graph: &'a mut Graph,
    one: &'a Loop,
    predecessors: &'a [Vec<usize>],
    /// Nodes in whose place others are used.
    replaced: &'a mut FastMap<NodeId, NodeId>,
    /// Where checks leave.
    state: Option<StateId>,
    /// Nodes that are computed in the loop.
    inside: FastSet<NodeId>,
    /// Blocks through which each iteration goes.
    always: FastSet<u32>,
    has_safepoint: bool,
    /// Nodes from which exit conditions are computed that no variable of the loop decides.
    awaited: FastSet<NodeId>,
    /// Memory that the loop changes.
    stored: Memories,
    /// The test that guards make of a value; nothing if they differ.
    tests: FastMap<NodeId, Option<Test>>,
    /// Values of whose record types something is asked in the loop.
    asked: FastSet<NodeId>,
    /// Indices that are checked in the loop.
    indices: FastSet<NodeId>,
}

impl<'a> Hoister<'a> {
    fn new(
        graph: &'a mut Graph,
        one: &'a Loop,
        predecessors: &'a [Vec<usize>],
        dominators: &[usize],
        replaced: &'a mut FastMap<NodeId, NodeId>,
    ) -> Hoister<'a> {
        let mut hoister = Hoister {
            state: graph.blocks[one.head].entry_state,
            always: always(one, dominators),
            graph,
            one,
            predecessors,
            replaced,
            inside: FastSet::default(),
            has_safepoint: false,
            awaited: FastSet::default(),
            stored: Memories::NONE,
            tests: FastMap::default(),
            asked: FastSet::default(),
            indices: FastSet::default(),
        };
        hoister.look_around();
        hoister.awaited = hoister.awaited();
        hoister
    }

    /// Finds out what the loop does.
    fn look_around(&mut self) {
        let graph = &*self.graph;
        for &block in &self.one.body {
            let block = &graph.blocks[block];
            self.inside.extend(&block.parameters);
            for &id in &block.nodes {
                let op = &graph.node(id).op;
                if !op.is_constant() {
                    self.inside.insert(id);
                }
                self.has_safepoint |= op.is_safepoint();
                self.stored = self.stored.and(op.effects().writes);
                match op {
                    Op::ClassKey(x) => {
                        self.asked.insert(graph.unchecked(*x));
                    }
                    Op::Guard(test, x, _) => {
                        let known = self.tests.entry(graph.unchecked(*x)).or_insert(Some(*test));
                        if *known != Some(*test) {
                            *known = None;
                        }
                    }
                    _ => {}
                }
            }
            self.has_safepoint |= block.terminator.is_safepoint();
            if let Terminator::Branch {
                condition: Condition::RecordOf(x, _),
                ..
            } = &block.terminator
            {
                self.asked.insert(graph.unchecked(*x));
            }
        }
    }

    /// Returns the nodes from which the loop's exit conditions are computed, without conditions
    /// that its variables decide.
    fn awaited(&self) -> FastSet<NodeId> {
        let steady = self.steady_variables();
        let mut awaited = FastSet::default();
        for &block in &self.one.body {
            let terminator = &self.graph.blocks[block].terminator;
            let Terminator::Branch { condition, .. } = terminator else {
                continue;
            };
            let mut edges = terminator.edges();
            if edges.any(|edge| !self.one.body.contains(&edge.target.index())) {
                awaited.extend(self.sources(*condition, &steady).into_iter().flatten());
            }
        }
        awaited
    }

    /// The loop's variables whose values do not change but for what is loaded: those that stay, and
    /// those that come from loads and from other such variables alone.
    fn steady_variables(&self) -> FastSet<NodeId> {
        let parameters = &self.graph.blocks[self.one.head].parameters;
        let uses: Vec<FastSet<NodeId>> = parameters
            .iter()
            .map(|parameter| self.variables_behind(*parameter))
            .collect();
        let mut steady: FastSet<NodeId> = FastSet::default();
        let mut grows = true;
        while grows {
            grows = false;
            for (parameter, uses) in parameters.iter().zip(&uses) {
                if uses.iter().all(|other| steady.contains(other)) {
                    grows |= steady.insert(*parameter);
                }
            }
        }
        steady
    }

    /// The loop's variables from which the next value of one is computed. Its own value does not count
    /// where it is only kept.
    fn variables_behind(&self, parameter: NodeId) -> FastSet<NodeId> {
        let next = self.next_values(parameter).into_iter();
        let mut work: Vec<(NodeId, bool)> = next.map(|id| (id, false)).collect();
        let mut seen = FastSet::default();
        let mut variables = FastSet::default();
        while let Some((id, is_computed)) = work.pop() {
            if !self.inside.contains(&id) || !seen.insert((id, is_computed)) {
                continue;
            }
            let op = &self.graph.node(id).op;
            if matches!(op, Op::BlockParameter(_)) {
                match self.arguments_inside(id) {
                    Some(arguments) => {
                        work.extend(arguments.into_iter().map(|id| (id, is_computed)))
                    }
                    None if id == parameter && !is_computed => {}
                    None => _ = variables.insert(id),
                }
            }
            op.each_input(|input| work.push((input, true)));
        }
        variables
    }

    /// The values that a variable of the loop has in the next iteration.
    fn next_values(&self, parameter: NodeId) -> Vec<NodeId> {
        let head = self.one.head;
        let parameters = &self.graph.blocks[head].parameters;
        let Some(index) = parameters.iter().position(|id| *id == parameter) else {
            return Vec::new();
        };
        let latches = self.one.latches.iter();
        let edges = latches.flat_map(|latch| self.graph.blocks[*latch].terminator.edges());
        let here = edges.filter(|edge| edge.target.index() == head);
        here.map(|edge| edge.arguments[index]).collect()
    }

    /// The nodes in the loop from which a condition is computed; nothing if a variable that changes is
    /// among them.
    fn sources(&self, condition: Condition, steady: &FastSet<NodeId>) -> Option<FastSet<NodeId>> {
        let mut work = Vec::new();
        condition.each_operand(&mut |id, _| work.push(id));
        let mut sources = FastSet::default();
        while let Some(id) = work.pop() {
            if !self.inside.contains(&id) || !sources.insert(id) {
                continue;
            }
            if steady.contains(&id) {
                work.extend(self.next_values(id));
                continue;
            }
            let op = &self.graph.node(id).op;
            if matches!(op, Op::BlockParameter(_)) {
                work.extend(self.arguments_inside(id)?);
            }
            op.each_input(|input| work.push(input));
        }
        Some(sources)
    }

    /// Returns the values that a parameter of a block may have; nothing for a variable of the loop.
    fn arguments_inside(&self, parameter: NodeId) -> Option<Vec<NodeId>> {
        let blocks = self.one.body.iter().skip(1);
        let (block, index) = blocks.copied().find_map(|block| {
            let parameters = &self.graph.blocks[block].parameters;
            let index = parameters.iter().position(|id| *id == parameter)?;
            Some((block, index))
        })?;
        let edges = self.predecessors[block]
            .iter()
            .flat_map(|from| self.graph.blocks[*from].terminator.edges());
        let here = edges.filter(|edge| edge.target.index() == block);
        Some(here.map(|edge| edge.arguments[index]).collect())
    }

    fn run(mut self) {
        for &block in &self.one.body {
            let is_always = self.always.contains(&(block as u32));
            let nodes = std::mem::take(&mut self.graph.blocks[block].nodes);
            let mut stay = Vec::with_capacity(nodes.len());
            for id in nodes {
                if !self.moves(id, is_always) {
                    stay.push(id);
                }
            }
            self.graph.blocks[block].nodes = stay;
        }
    }

    /// Moves a node before the loop, if it can be.
    fn moves(&mut self, id: NodeId, is_always: bool) -> bool {
        let mut op = self.graph.node(id).op.clone();
        let mut is_inside = false;
        op.map_inputs(|input| {
            let input = resolve(self.replaced, input);
            is_inside |= self.inside.contains(&input);
            input
        });
        if is_inside || !self.may_move(id, &op, is_always) {
            self.note_question(&op);
            return false;
        }
        self.inside.remove(&id);
        if let Some(equal) = self.equal_before(&op, self.graph.node(id).ty) {
            self.replaced.insert(id, equal);
            if self.asked.contains(&id) {
                self.asked.insert(self.graph.unchecked(equal));
            }
            return true;
        }
        if let Some(state) = self.state {
            op = op.with_state(state);
        }
        self.graph.nodes[id.index()].op = op;
        self.graph.blocks[self.one.entry].nodes.push(id);
        true
    }

    /// Notes what stays in the loop and makes something safe there.
    fn note_question(&mut self, op: &Op) {
        match op {
            Op::RequireIndex(index, length, _) => {
                self.indices.insert(*index);
                if let Op::Length(object) = self.graph.node(*length).op {
                    self.asked.insert(self.graph.unchecked(object));
                }
            }
            Op::Require(Condition::RecordOf(record, _), _) => {
                self.asked.insert(self.graph.unchecked(*record));
            }
            _ => {}
        }
    }

    /// Whether an operation on values from before the loop can be done before it.
    fn may_move(&self, id: NodeId, op: &Op, is_always: bool) -> bool {
        let ty = |id: NodeId| self.graph.node(id).ty;
        // A check that not every iteration makes might fail for a value that the loop does not use.
        let leaves = self.state.is_some() && is_always;
        let keeps = !self.has_safepoint;
        let reads = op.effects().reads.changeable();
        let may_change =
            !reads.is_empty() && (self.awaited.contains(&id) || self.stored.overlaps(reads));
        match op {
            Op::Guard(_, x, _) => {
                let is_only_test = || {
                    let tests = self.tests.get(&self.graph.unchecked(*x));
                    tests.is_some_and(Option::is_some)
                };
                self.state.is_some() && (is_always || is_only_test())
            }
            Op::Require(..) | Op::RequireIndex(..) => leaves,
            // Whether code relies on a global variable may change at any time.
            Op::RequireMutable(x, _) => leaves && keeps && !ty(*x).may_be(Type::CELL),
            Op::Fixnum(..)
            | Op::Number(..)
            | Op::FloatToFixnum(..)
            | Op::FixnumToCharacter(..)
            | Op::FloatFunction(_, _, Some(_)) => leaves && keeps,
            Op::Load(object, _, memory) => {
                let is_safe = match memory {
                    Memory::Car | Memory::Cdr => ty(*object).is(Type::PAIR),
                    Memory::Box => is_always || ty(*object).is(Type::BOX),
                    Memory::Record => {
                        is_always && !self.asked.contains(&self.graph.unchecked(*object))
                    }
                    Memory::Cell | Memory::Constant => true,
                    _ => false,
                };
                keeps && is_safe && !may_change
            }
            Op::LoadElement(x, index) => {
                let is_safe = ty(*x).is(Type::VECTOR) && !self.indices.contains(index);
                keeps && is_always && is_safe && !may_change
            }
            Op::Unbox(x) => keeps && ty(*x).is(Type::FLONUM),
            Op::NumberToFloat(x) => keeps && ty(*x).is(Type::FIXNUM.or(Type::FLONUM)),
            Op::Length(_)
            | Op::StringLength(_)
            | Op::ElementCount(..)
            | Op::FixnumToFloat(_)
            | Op::FloatArithmetic(..)
            | Op::FloatFunction(_, _, None)
            | Op::CharacterToFixnum(_) => keeps,
            _ => false,
        }
    }

    /// An equal computation at hand at the end of the block before the loop.
    fn equal_before(&self, op: &Op, ty: Type) -> Option<NodeId> {
        let graph = &*self.graph;
        let wanted = op.clone().with_state(NO_STATE);
        let kind = std::mem::discriminant(&wanted);
        let reads = op.effects().reads.changeable();
        let mut block = self.one.entry;
        let mut left = LOOK_BACK;
        loop {
            for &id in graph.blocks[block].nodes.iter().rev() {
                let node = graph.node(id);
                let is_equal = std::mem::discriminant(&node.op) == kind
                    && node.ty.is(ty)
                    && node.op.clone().with_state(NO_STATE) == wanted;
                if is_equal {
                    return Some(id);
                }
                let effects = node.op.effects();
                if effects.calls || effects.writes.overlaps(reads) {
                    return None;
                }
                left = left.checked_sub(1)?;
            }
            let [from] = self.predecessors[block][..] else {
                return None;
            };
            if graph.blocks[from].terminator.is_safepoint() {
                return None;
            }
            block = from;
        }
    }
}

/// A placeholder, to compare operations without their states.
const NO_STATE: StateId = StateId(0);

/// The blocks of a loop through which every way from its head back to it goes.
fn always(one: &Loop, dominators: &[usize]) -> FastSet<u32> {
    let mut times: FastMap<u32, usize> = FastMap::default();
    for &latch in &one.latches {
        let mut block = latch;
        loop {
            *times.entry(block as u32).or_default() += 1;
            if block == one.head || block == dominators[block] {
                break;
            }
            block = dominators[block];
        }
    }
    times
        .into_iter()
        .filter(|(_, times)| *times == one.latches.len())
        .map(|(block, _)| block)
        .collect()
}
