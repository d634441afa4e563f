//! Control flow while the graph is built: joins, branches and loops.
//!
//! The builder follows bytecode in the order of addresses, and only `loop` goes back. So every
//! forward edge into an instruction is known when the builder reaches it, and a join makes
//! parameters only for registers that differ. A loop's head is opened before its body is known:
//! each register that the loop changes becomes a parameter with the type it has on entry. If the
//! back edge brings another type, that is noted in `super::Fixpoint`, and the graph is built again.

use std::collections::{BTreeMap, HashSet};

use canny_compiler::instruction::Instruction;
use canny_tables::opcodes::Flow;

use super::environment::{Arrival, Environment, asked};
use super::instructions::TypeQuestion;
use super::{Activation, BuildError, Builder, LoopKey, decode_flonum};
use crate::graph::{BlockId, Condition, Edge, NodeId, Op, Place, Representation, Terminator, Test};
use crate::types::Type;

/// A loop whose body is being followed.
pub(super) struct OpenLoop {
    head: usize,
    /// The last instruction that goes back to the head.
    last: usize,
    block: BlockId,
    variables: Vec<Variable>,
    key: LoopKey,
    went_back: bool,
    /// See [`super::environment::Numbering::epoch`].
    epoch: u32,
}

/// A register that the loop changes, or what is in a box that is not made.
struct Variable {
    /// A number above those of registers for a box.
    register: usize,
    the_box: Option<NodeId>,
    parameter: NodeId,
    /// Type on entry.
    initial: Type,
    /// Types that came round, together.
    around: Type,
}

/// A variable of a loop: the number of the register or box, its value on entry, and the box.
type Carried = (usize, NodeId, Option<NodeId>);

/// Types of values that hold on one way of a branch.
pub(super) type Facts = Vec<(NodeId, Type)>;

impl Builder<'_> {
    /// Follows an activation's bytecode from `start`, control being in the current block.
    pub(super) fn follow(
        &mut self,
        activation: &mut Activation,
        start: usize,
    ) -> Result<(), BuildError> {
        let words = activation.code.instructions.clone();
        let heads = loop_heads(&words);
        let mut pc = start;
        loop {
            if let Some(mut arrivals) = activation.pending.remove(&pc) {
                if let Some(block) = self.block.take() {
                    arrivals.push(Arrival {
                        block,
                        environment: activation.environment.clone(),
                        numbering: std::mem::take(&mut self.numbering),
                    });
                }
                if !heads.contains_key(&pc) {
                    self.answer_early(activation, pc, &mut arrivals);
                }
                if !arrivals.is_empty() {
                    self.join(activation, pc, arrivals);
                }
            }
            if self.block.is_none() {
                if let Some(next) = activation.pending.keys().next() {
                    pc = *next;
                    continue;
                }
                self.close_loops(activation, usize::MAX);
                // A loop around the one that the graph was entered at. Only now, since from its head on
                // everything is followed once more, and must not meet what came from the entry.
                match activation.outer_heads.pop_last() {
                    Some((head, arrivals)) => {
                        activation.pending.insert(head, arrivals);
                        pc = head;
                    }
                    None => return Ok(()),
                }
                continue;
            }
            activation.pc = pc;
            activation.state = None;
            self.graph.place = Place {
                frame: activation.frame.0,
                pc: pc as u32,
            };
            self.close_loops(activation, pc);
            if let Some(last) = heads.get(&pc) {
                self.open_loop(activation, pc, *last)?;
                activation.state = None;
                if self.block.is_none() {
                    continue;
                }
            }
            let instruction = Instruction::decode(&words, pc)
                .map_err(|_| BuildError::Unsupported("the bytecode cannot be decoded"))?;
            pc = instruction.next_pc();
            if let Some(skipped_to) = self.instruction(activation, &instruction)? {
                pc = skipped_to;
            }
            if self.graph.nodes.len() > self.options.nodes_max {
                return Err(BuildError::TooLarge);
            }
        }
    }

    /// Sends those ways straight on that know the answer to the question asked where they meet: an
    /// inlined procedure that gave `#t` or `#f`, or a test that was made before.
    fn answer_early(
        &mut self,
        activation: &mut Activation,
        pc: usize,
        arrivals: &mut Vec<Arrival>,
    ) {
        if arrivals.len() < 2 || activation.code.breaks.contains(&pc) {
            return;
        }
        let Some(question) = Instruction::decode(&activation.code.instructions, pc)
            .ok()
            .and_then(|instruction| TypeQuestion::of(&instruction))
        else {
            return;
        };
        for arrival in std::mem::take(arrivals) {
            let value = arrival.environment.get(question.register);
            let answer = value.and_then(|value| {
                question
                    .answer(self.ty(value))
                    .or_else(|| question.answer_for(self.constant(value)?))
            });
            match answer {
                Some(holds) => {
                    let target = if holds {
                        question.holds
                    } else {
                        question.fails
                    };
                    activation.pending.entry(target).or_default().push(arrival);
                }
                None => arrivals.push(arrival),
            }
        }
    }

    /// Brings several ways together.
    fn join(&mut self, activation: &mut Activation, pc: usize, mut arrivals: Vec<Arrival>) {
        if arrivals.len() == 1 {
            let arrival = arrivals.remove(0);
            self.block = Some(arrival.block);
            activation.environment = arrival.environment;
            self.numbering = arrival.numbering;
            return;
        }
        let live = activation
            .code
            .liveness
            .live_before(&activation.code.instructions, pc);
        let block = self.graph.add_block();
        let mut environment = Environment::new(activation.code.frame_words as usize);
        let mut arguments: Vec<Vec<NodeId>> = vec![Vec::new(); arrivals.len()];
        for register in live.iter() {
            let values: Option<Vec<NodeId>> = arrivals
                .iter()
                .map(|arrival| arrival.environment.get(register))
                .collect();
            let Some(values) = values else { continue };
            let node = self.join_values(block, &values, &mut arrivals, &mut arguments);
            environment.set(register, node);
        }
        let boxes = self.join_boxes(block, &mut arrivals, &mut arguments);
        let mut numbering = arrivals[0].numbering.clone();
        numbering.boxes = boxes;
        for arrival in &arrivals[1..] {
            numbering.intersect(&arrival.numbering, |value| self.graph.unchecked(value));
        }
        for (arrival, arguments) in arrivals.iter().zip(arguments) {
            self.graph.blocks[arrival.block.index()].terminator = Terminator::Jump(Edge {
                target: block,
                arguments,
            });
        }
        self.block = Some(block);
        self.numbering = numbering;
        activation.environment = environment;
    }

    /// One value for the values that several ways bring, as a parameter of the block unless they
    /// agree.
    pub(super) fn join_values(
        &mut self,
        block: BlockId,
        values: &[NodeId],
        arrivals: &mut [Arrival],
        arguments: &mut [Vec<NodeId>],
    ) -> NodeId {
        if values.iter().all(|value| *value == values[0]) {
            return values[0];
        }
        if let Some(same) = self.join_checked(block, values) {
            return same;
        }
        let ty = values
            .iter()
            .fold(Type::NONE, |ty, value| ty.or(self.ty(*value)));
        let representation = if ty.is(Type::FLONUM) && !ty.is_none() {
            Representation::Float
        } else {
            Representation::Tagged
        };
        let parameter = self.graph.add_parameter(block, representation, ty);
        for ((value, arrival), arguments) in values.iter().zip(arrivals).zip(arguments) {
            let held = (self.block, std::mem::take(&mut self.numbering));
            self.block = Some(arrival.block);
            self.numbering = std::mem::take(&mut arrival.numbering);
            let argument = if representation == Representation::Float {
                self.float(*value)
            } else {
                self.tagged(*value)
            };
            arguments.push(argument);
            arrival.numbering = std::mem::take(&mut self.numbering);
            (self.block, self.numbering) = held;
        }
        let code = self.known_code.get(&values[0]).copied();
        if let Some(code) = code
            && values
                .iter()
                .all(|value| self.known_code.get(value) == Some(&code))
        {
            self.known_code.insert(parameter, code);
        }
        let guess = values
            .iter()
            .fold(Type::NONE, |ty, value| ty.or(self.guess(*value)));
        self.likely.insert(parameter, guess);
        parameter
    }

    /// One value of which several ways learned different things, or nothing: no parameter is needed for it.
    fn join_checked(&mut self, block: BlockId, values: &[NodeId]) -> Option<NodeId> {
        let value = self.graph.unchecked(values[0]);
        let is_same = values
            .iter()
            .all(|other| self.graph.unchecked(*other) == value);
        if !is_same || self.graph.representation(value) == Representation::Float {
            return None;
        }
        let ty = values
            .iter()
            .fold(Type::NONE, |ty, value| ty.or(self.ty(*value)));
        let ty = ty.and(self.ty(value));
        // An unboxed double is better than one that is known to be a flonum.
        if ty.is(Type::FLONUM) {
            return None;
        }
        let code = self.known_code.get(&values[0]).copied();
        let agree = |other: &NodeId| self.known_code.get(other).copied() == code;
        let code = code.filter(|_| values.iter().all(agree));
        if ty == self.ty(value) && (code.is_none() || self.known_code.get(&value).copied() == code)
        {
            return Some(value);
        }
        let node = self.graph.push(block, Op::Refine(value), ty);
        if let Some(code) = code {
            self.known_code.insert(node, code);
        }
        if let Some(likely) = self.likely.get(&value).copied() {
            self.likely.entry(node).or_insert(likely);
        }
        Some(node)
    }

    /// Goes to a later instruction.
    pub(super) fn jump(&mut self, activation: &mut Activation, target: usize) {
        if let Some(block) = self.block.take() {
            let arrival = Arrival {
                block,
                environment: activation.environment.clone(),
                numbering: std::mem::take(&mut self.numbering),
            };
            activation.pending.entry(target).or_default().push(arrival);
        }
    }

    /// Goes to `target` if the condition holds, else to `next`, with what either way tells. A condition
    /// whose answer an earlier branch has found is not asked again.
    pub(super) fn branch(
        &mut self,
        activation: &mut Activation,
        condition: Condition,
        target: (usize, Facts),
        next: (usize, Facts),
    ) {
        let (question, is_opposite) = asked(condition, |value| self.graph.unchecked(value));
        if self.options.number_values
            && let Some(answer) = self.numbering.answer(&question)
            && let Some(block) = self.block.take()
        {
            let way = if answer != is_opposite { target } else { next };
            self.arrive(activation, block, way);
            self.block = None;
            return;
        }
        let [then, otherwise] = self.fork(condition);
        let numbering = self.numbering.clone();
        self.numbering.add_answer(question, !is_opposite);
        self.arrive(activation, then, target);
        self.numbering = numbering;
        self.numbering.add_answer(question, is_opposite);
        self.arrive(activation, otherwise, next);
        self.block = None;
    }

    /// Leaves the branch instruction at hand to the runtime.
    pub(super) fn runtime_branch(
        &mut self,
        activation: &mut Activation,
        target: usize,
        next: usize,
    ) {
        self.make_boxes(activation);
        let state = self.state(activation);
        let [taken, fall] = [self.graph.add_block(), self.graph.add_block()];
        self.terminate(Terminator::RuntimeBranch {
            state,
            taken: to(taken),
            fall: to(fall),
        });
        self.safepoint();
        self.arrive(activation, taken, (target, Vec::new()));
        self.arrive(activation, fall, (next, Vec::new()));
        self.block = None;
    }

    /// Ends the block with a branch; gives where it goes if the condition holds, and where if not.
    pub(super) fn fork(&mut self, condition: Condition) -> [BlockId; 2] {
        let [then, otherwise] = [self.graph.add_block(), self.graph.add_block()];
        self.terminate(Terminator::Branch {
            condition,
            then: to(then),
            otherwise: to(otherwise),
        });
        [then, otherwise]
    }

    /// Follows one side of a branch; afterwards is known what was known before.
    pub(super) fn follow_aside(
        &mut self,
        activation: &mut Activation,
        side: BlockId,
        follow: impl FnOnce(&mut Self, &mut Activation),
    ) {
        let environment = activation.environment.clone();
        let numbering = self.numbering.clone();
        self.block = Some(side);
        follow(self, activation);
        activation.environment = environment;
        self.numbering = numbering;
    }

    pub(super) fn arrive(
        &mut self,
        activation: &mut Activation,
        block: BlockId,
        way: (usize, Facts),
    ) {
        let (pc, facts) = way;
        let environment = activation.environment.clone();
        let numbering = self.numbering.clone();
        self.block = Some(block);
        for (value, ty) in facts {
            self.refine(activation, value, ty);
        }
        let arrival = Arrival {
            block,
            environment: std::mem::replace(&mut activation.environment, environment),
            numbering: std::mem::replace(&mut self.numbering, numbering),
        };
        activation.pending.entry(pc).or_default().push(arrival);
    }

    /// The head of a loop: variables that the loop changes become parameters.
    fn open_loop(
        &mut self,
        activation: &mut Activation,
        head: usize,
        last: usize,
    ) -> Result<(), BuildError> {
        let key = (activation.path.clone(), activation.code.word, head);
        let changed = changed_registers(&activation.code.instructions, head, last);
        let live = activation
            .code
            .liveness
            .live_before(&activation.code.instructions, head);
        let live: Vec<usize> = live
            .iter()
            .filter(|register| activation.environment.get(*register).is_some())
            .collect();
        let entry_state = (!self.profile.fails_before_loop(activation.code.word, head))
            .then(|| self.state(activation));
        let is_quiet = self.is_quiet(&key);
        if !is_quiet {
            self.numbering.boxes.clear();
        }
        if entry_state.is_some() {
            self.guard_entry(activation, &key, &live);
            if self.block.is_none() {
                return Ok(());
            }
        }
        let invariants = live
            .iter()
            .filter(|register| !changed.contains(register))
            .filter_map(|register| Some((activation.environment.get(*register)?, *register)))
            .collect();
        self.invariants.push((key.clone(), invariants));
        let registers = live
            .into_iter()
            .filter(|register| changed.contains(register));
        let block = self.graph.add_block();
        self.graph.blocks[block.index()].is_loop = true;
        self.graph.blocks[block.index()].entry_state = entry_state;
        let registers = registers.filter_map(|register| {
            let value = activation.environment.get(register)?;
            Some((register, value, None))
        });
        let boxes = self.numbering.boxes.iter();
        let boxes =
            boxes.map(|(object, content)| (self.box_register(*object), *content, Some(*object)));
        let carried: Vec<Carried> = registers.chain(boxes).collect();
        let (variables, arguments) = self.loop_variables(&key, block, carried);
        self.terminate(Terminator::Jump(Edge {
            target: block,
            arguments,
        }));
        self.block = Some(block);
        if is_quiet {
            self.numbering.enter_quiet_loop();
        } else {
            self.safepoint();
        }
        for variable in &variables {
            match variable.the_box {
                Some(the_box) => {
                    self.numbering.boxes.insert(the_box, variable.parameter);
                }
                None => activation
                    .environment
                    .set(variable.register, variable.parameter),
            }
        }
        activation.loops.push(OpenLoop {
            head,
            last,
            block,
            variables,
            key,
            went_back: false,
            epoch: self.numbering.epoch,
        });
        Ok(())
    }

    /// Checks values before a loop that were found to deserve it: registers, and contents of boxes.
    fn guard_entry(&mut self, activation: &mut Activation, key: &LoopKey, live: &[usize]) {
        let Some(guards) = self.fixpoint.loop_guards.get(key).cloned() else {
            return;
        };
        let registers = live.iter().filter_map(|register| {
            let value = activation.environment.get(*register)?;
            Some((*register, value))
        });
        let boxes = self.numbering.boxes.iter();
        let boxes = boxes.map(|(object, content)| (self.box_register(*object), *content));
        let values: Vec<(usize, NodeId)> = registers.chain(boxes).collect();
        for (register, value) in values {
            if let Some(test) = guards.get(&register).and_then(|ty| test_for(*ty))
                && self.graph.representation(value) == Representation::Tagged
            {
                self.guard(activation, test, value);
                if self.block.is_none() {
                    return;
                }
            }
        }
    }

    /// Makes parameters of a loop's head for its variables, and the arguments of its entry.
    fn loop_variables(
        &mut self,
        key: &LoopKey,
        block: BlockId,
        carried: Vec<Carried>,
    ) -> (Vec<Variable>, Vec<NodeId>) {
        let learned = self.fixpoint.loop_types.get(key);
        let learned = learned.cloned().unwrap_or_default();
        let mut variables = Vec::new();
        let mut arguments = Vec::new();
        for (register, value, the_box) in carried {
            let initial = self.ty(value);
            let mut ty = initial.or(learned.get(&register).copied().unwrap_or(Type::NONE));
            if self.fixpoint.is_conservative && learned.contains_key(&register) {
                ty = Type::ANY;
            }
            let representation = if ty.is(Type::FLONUM) {
                Representation::Float
            } else {
                Representation::Tagged
            };
            arguments.push(if representation == Representation::Float {
                self.float(value)
            } else {
                self.tagged(value)
            });
            let parameter = self.graph.add_parameter(block, representation, ty);
            let guess = self.guess(value);
            self.likely.insert(parameter, guess);
            variables.push(Variable {
                register,
                the_box,
                parameter,
                initial,
                around: Type::NONE,
            });
        }
        (variables, arguments)
    }

    /// The `loop` instruction.
    pub(super) fn go_back(&mut self, activation: &mut Activation, head: usize) {
        let state = self.state(activation);
        self.push(Op::Poll(state), Type::NONE);
        let Some(at) = activation.loops.iter().rposition(|open| open.head == head) else {
            // The head lies before where the graph was entered.
            if let Some(block) = self.block.take() {
                let arrivals = activation.outer_heads.entry(head).or_default();
                arrivals.push(Arrival {
                    block,
                    environment: activation.environment.clone(),
                    numbering: std::mem::take(&mut self.numbering),
                });
            }
            return;
        };
        let mut open = activation.loops.remove(at);
        open.went_back = true;
        if open.epoch != self.numbering.epoch {
            self.learn_noisy(&open.key);
        }
        let mut arguments = Vec::new();
        for variable in &mut open.variables {
            let value = match variable.the_box {
                Some(the_box) => self.numbering.boxes.get(&the_box).copied(),
                None => activation.environment.get(variable.register),
            };
            let Some(value) = value else {
                arguments.push(variable.parameter);
                continue;
            };
            let ty = self.ty(value);
            let parameter = self.graph.node(variable.parameter);
            let (wanted, representation) = (parameter.ty, parameter.op.representation());
            variable.around = variable.around.or(ty);
            if !ty.is(wanted) {
                let learned = self
                    .fixpoint
                    .loop_types
                    .entry(open.key.clone())
                    .or_default();
                let known = learned.entry(variable.register).or_insert(Type::NONE);
                *known = known.or(wanted).or(ty);
                self.fixpoint.changed = true;
                arguments.push(variable.parameter);
                continue;
            }
            arguments.push(if representation == Representation::Float {
                self.float(value)
            } else {
                self.tagged(value)
            });
        }
        self.terminate(Terminator::Jump(Edge {
            target: open.block,
            arguments,
        }));
        activation.loops.insert(at, open);
    }

    /// Forgets loops that lie behind, and learns from them which variables deserve a guard on entry.
    fn close_loops(&mut self, activation: &mut Activation, pc: usize) {
        while let Some(open) = activation.loops.pop_if(|open| open.last < pc) {
            self.invariants.pop();
            if !open.went_back {
                continue;
            }
            for variable in open.variables {
                let narrow = variable.around;
                let worth = narrow != variable.initial
                    && narrow.is(variable.initial)
                    && test_for(narrow).is_some();
                if !worth || self.fixpoint.is_conservative {
                    continue;
                }
                let guards = self
                    .fixpoint
                    .loop_guards
                    .entry(open.key.clone())
                    .or_default();
                if guards.insert(variable.register, narrow).is_none() {
                    self.fixpoint.changed = true;
                }
            }
        }
    }
}

/// The guard that narrows any value to a type, if there is a single one.
pub(super) fn test_for(ty: Type) -> Option<Test> {
    Test::of_type(ty)
}

/// An edge without arguments.
pub(super) fn to(target: BlockId) -> Edge {
    Edge {
        target,
        arguments: Vec::new(),
    }
}

/// Heads of loops and the last instruction that goes back to each.
fn loop_heads(words: &[u32]) -> BTreeMap<usize, usize> {
    let mut heads = BTreeMap::new();
    for instruction in canny_compiler::instruction::instructions(words).flatten() {
        if instruction.row().flow == Flow::Loop
            && let Some(target) = instruction.branch_target()
        {
            heads.insert(target as usize, instruction.pc);
        }
    }
    heads
}

/// Registers written between the head of a loop and its last instruction.
fn changed_registers(words: &[u32], head: usize, last: usize) -> HashSet<usize> {
    let mut changed = HashSet::new();
    let mut pc = head;
    while pc <= last {
        let Ok(instruction) = Instruction::decode(words, pc) else {
            break;
        };
        instruction.each_definition(|register| {
            changed.insert(register);
        });
        pc = instruction.next_pc();
    }
    changed
}

/// The double that a constant number is, if it is a fixnum or flonum word.
pub(super) fn constant_double(bits: u64) -> Option<f64> {
    match Type::of_immediate(bits)? {
        Type::FIXNUM => Some((bits as i64 >> canny_tables::layout::FIXNUM_SHIFT) as f64),
        Type::FLONUM => Some(decode_flonum(bits)),
        _ => None,
    }
}
