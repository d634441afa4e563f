//! Calls: whether a callee is inlined, and the nodes of calls, tail calls and returns.
//!
//! A callee is known if its closure is a constant, was made in this graph, or is guarded by its
//! code. Inlining follows the callee's bytecode in place of the call, in an activation of its own
//! with its own frame slots, within the limits of `super::Options` on size, depth and recursion. A
//! call that is not inlined ends the reach of loaded values: its state lists the registers that are
//! live across it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use canny_compiler::instruction::Instruction;
use canny_tables::layout::code::VARIADIC;
use canny_tables::layout::frame::{LINK_WORDS, SMALL_FRAME_WORDS};
use canny_tables::opcodes::{Opcode, OpcodeFlags};

use super::environment::{Arrival, Environment};
use super::{Activation, BuildError, Builder, Return};
use crate::graph::{Callee, Frame, NodeId, Op, State, StateId, Terminator, Test};
use crate::results::state_behind;
use crate::snapshot::CodeSnapshot;
use crate::types::Type;

/// The call that is built for an instruction.
#[derive(Clone)]
pub(super) struct Site {
    /// The callee, checked as far as it is known.
    pub(super) closure: NodeId,
    pub(super) arguments: Vec<NodeId>,
    pub(super) is_tail: bool,
    /// Times that it is made for each run of the outermost procedure, as far as was seen.
    pub(super) frequency: f64,
}

impl Builder<'_> {
    pub(super) fn call(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
    ) -> Result<(), BuildError> {
        let (base, count) = (instruction.a(), instruction.b());
        let callee = self.register(activation, base)?;
        let mut arguments = Vec::with_capacity(count);
        for index in 0..count {
            arguments.push(self.register(activation, base + LINK_WORDS + index)?);
        }
        let mut closure = self.tagged(callee);
        let mut code = self.known_code.get(&closure).copied();
        if code.is_none()
            && self.ty(closure).may_be(Type::CLOSURE)
            && !self
                .profile
                .is_unstable(activation.code.word, activation.pc)
            && let Some(likely) = self.profile.callee(activation.code.word, activation.pc)
            && self.source.snapshot(likely).is_some()
        {
            closure = self.guard(activation, Test::ClosureOf(likely.0), closure);
            if self.block.is_none() {
                return Ok(());
            }
            code = Some(likely);
        }
        let mut snapshot = code.and_then(|code| self.source.snapshot(code));
        let calls_per_run = self
            .profile
            .calls_per_run(activation.code.word, activation.pc);
        let mut site = Site {
            closure,
            arguments,
            is_tail: instruction.opcode == Opcode::TailCall,
            frequency: activation.frequency * calls_per_run.unwrap_or(1.0),
        };
        if let Some(machine) = &snapshot {
            if let Some(spread) = self.spread_call(activation, machine, &site.arguments) {
                if self.block.is_none() {
                    return Ok(());
                }
                (site.closure, site.arguments) = spread;
                code = self.known_code.get(&site.closure).copied();
                snapshot = code.and_then(|code| self.source.snapshot(code));
            } else if let Some(applied) = self.applied(activation, machine, &site) {
                return self.apply_by_length(activation, instruction, &site, applied);
            }
        }
        if let Some(snapshot) = &snapshot
            && self.is_worth_inlining(activation, snapshot, &site.arguments, site.frequency)
        {
            return self.inline(activation, instruction, site, snapshot.clone());
        }
        if code.is_none() {
            let likely = self.likely_callees(activation, &site);
            if !likely.is_empty() {
                return self.call_one_of(activation, instruction, site, likely);
            }
        }
        self.call_out_of_line(activation, instruction, &site, snapshot.as_deref());
        Ok(())
    }

    /// Calls, or tail-calls, without a copy of the callee.
    pub(super) fn call_out_of_line(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        site: &Site,
        callee: Option<&CodeSnapshot>,
    ) {
        let made = self.make_boxes(activation);
        let now = |builder: &Self, node: NodeId| {
            let new = made.get(&builder.graph.unchecked(node));
            new.copied().unwrap_or(node)
        };
        let (base, closure) = (instruction.a(), now(self, site.closure));
        let is_last = site.is_tail && self.graph.frame(activation.frame).caller.is_none();
        let receiver = callee
            .filter(|_| !is_last)
            .and_then(|snapshot| self.receiver(snapshot, site));
        let callee = match (callee, receiver) {
            (Some(snapshot), Some(receiver)) => Callee::Capture {
                closure,
                code: snapshot.word.0,
                receiver,
                repeats: !activation.loops.is_empty(),
            },
            (Some(snapshot), _) if takes_directly(snapshot, site.arguments.len()) => {
                Callee::Known {
                    closure,
                    code: snapshot.word.0,
                }
            }
            _ => Callee::Unknown(closure),
        };
        let takes_floats = self.options.passes_floats && matches!(callee, Callee::Known { .. });
        let mut arguments = Vec::with_capacity(site.arguments.len());
        for argument in &site.arguments {
            let argument = now(self, *argument);
            arguments.push(if takes_floats && self.ty(argument).is(Type::FLONUM) {
                self.float_at_hand(argument)
            } else {
                self.tagged(argument)
            });
        }
        if !site.is_tail {
            let state = self.call_state(activation, instruction);
            let value = self.push_call(activation, callee, arguments, state);
            activation.environment.set(base, value);
            return;
        }
        match self.graph.frame(activation.frame).caller {
            // The outermost frame's place is taken.
            None => {
                let state = self.state(activation);
                self.terminate(Terminator::TailCall(callee, arguments, state));
            }
            // The inlined frame's place is taken: a call from the frame that it was inlined into.
            Some(caller) => {
                let value = self.push_call(activation, callee, arguments, caller);
                self.return_value(activation, value);
            }
        }
    }

    /// The code of the closure that a call passes to `call-with-current-continuation`, if that is what
    /// is called and the closure takes the continuation.
    fn receiver(&self, callee: &CodeSnapshot, site: &Site) -> Option<u64> {
        let first = Instruction::decode(&callee.instructions, 0).ok()?;
        let [argument] = site.arguments[..] else {
            return None;
        };
        if first.opcode != Opcode::CaptureStub {
            return None;
        }
        let receiver = self.source.snapshot(*self.known_code.get(&argument)?)?;
        takes_directly(&receiver, 1).then_some(receiver.word.0)
    }

    /// Calls; gives the value, as a double where it has always been a flonum.
    fn push_call(
        &mut self,
        activation: &Activation,
        callee: Callee,
        arguments: Vec<NodeId>,
        state: StateId,
    ) -> NodeId {
        let value = self.push(Op::Call(callee, arguments, state), Type::ANY);
        self.safepoint();
        self.expect(activation, value);
        if !self.options.passes_floats || self.likely.get(&value) != Some(&Type::FLONUM) {
            return value;
        }
        match state_behind(&mut self.graph, self.profile, state, value) {
            Some(behind) => self.push(Op::FloatResult(value, behind), Type::FLONUM),
            None => value,
        }
    }

    /// Continues behind a call with its value.
    pub(super) fn give(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        value: NodeId,
    ) {
        if self.block.is_none() {
            return;
        }
        if instruction.opcode == Opcode::TailCall {
            return self.return_value(activation, value);
        }
        activation.environment.set(instruction.a(), value);
        self.jump(activation, instruction.next_pc());
    }

    /// The state at a call: the registers live across it.
    fn call_state(&mut self, activation: &Activation, instruction: &Instruction) -> StateId {
        let mut live = activation
            .code
            .liveness
            .live_after(&activation.code.instructions, activation.pc);
        live.remove_from(instruction.a());
        let registers = live
            .iter()
            .filter_map(|register| Some((register as u32, activation.environment.get(register)?)))
            .collect();
        self.graph.add_state(State {
            frame: activation.frame,
            pc: activation.pc,
            registers,
        })
    }

    pub(super) fn is_worth_inlining(
        &self,
        activation: &Activation,
        callee: &CodeSnapshot,
        arguments: &[NodeId],
        frequency: f64,
    ) -> bool {
        let options = self.options;
        let own_words = self.graph.codes[0].instructions.len();
        let nodes_max = options.nodes_soft_free + options.nodes_soft_per_word * own_words;
        let words_max = match frequency {
            0.3.. if callee.word == activation.code.word => options.inline_words_recursive,
            0.3.. => options.inline_words,
            0.02.. => options.inline_words_rare,
            _ => options.inline_words_cold,
        };
        if !options.inline
            || self.graph.nodes.len() > nodes_max.min(options.nodes_soft)
            || activation.path.len() >= options.inline_depth
        {
            return false;
        }
        let clause = if callee.arity == VARIADIC && self.takes_keywords(callee, arguments) {
            Some(0..callee.instructions.len())
        } else {
            clause_for(callee, arguments.len())
        };
        let Some(clause) = clause.filter(|clause| clause.len() <= words_max) else {
            return false;
        };
        let inside = activation
            .path
            .iter()
            .map(|(code, _)| *code)
            .chain([activation.code.word])
            .filter(|code| *code == callee.word)
            .count();
        if inside > options.recursion_depth {
            return false;
        }
        can_inline(callee, clause)
    }

    /// Follows the callee's bytecode in place of the call.
    pub(super) fn inline(
        &mut self,
        activation: &mut Activation,
        instruction: &Instruction,
        site: Site,
        callee: Arc<CodeSnapshot>,
    ) -> Result<(), BuildError> {
        let base = instruction.a();
        let caller = self.graph.frame(activation.frame).clone();
        let code = self
            .graph
            .codes
            .iter()
            .position(|known| known.word == callee.word)
            .unwrap_or_else(|| {
                self.graph.codes.push(callee.clone());
                self.graph.codes.len() - 1
            });
        let frame = if site.is_tail {
            Frame {
                code,
                closure: site.closure,
                ..caller
            }
        } else {
            Frame {
                code,
                caller: Some(self.call_state(activation, instruction)),
                base: caller.base + (base + LINK_WORDS) as u32,
                closure: site.closure,
                return_address: Some(activation.code.address(instruction.next_pc())),
            }
        };
        let frame = self.graph.add_frame(frame);
        let mut environment = Environment::new(callee.frame_words as usize);
        for (register, argument) in site.arguments.iter().enumerate() {
            environment.set(register, *argument);
        }
        let mut path = activation.path.clone();
        path.push((activation.code.word, activation.pc));
        // A tail call's frame returns where the frame whose place it takes does.
        let returns = if site.is_tail {
            activation.returns.take()
        } else {
            Some(Vec::new())
        };
        let mut inner = Activation {
            frame,
            code: callee,
            path,
            frequency: site.frequency,
            argument_count: Some(site.arguments.len()),
            pc: 0,
            state: None,
            environment,
            pending: BTreeMap::new(),
            outer_heads: BTreeMap::new(),
            loops: Vec::new(),
            returns,
        };
        self.follow(&mut inner, 0)?;
        if site.is_tail {
            activation.returns = inner.returns;
            return Ok(());
        }
        // Each return continues in the caller, so that a question for the value may find its answer
        // before the ways meet.
        for returned in inner.returns.unwrap_or_default() {
            let mut environment = activation.environment.clone();
            // Facts learned of an argument hold for the value in the caller, too.
            for (before, after) in site.arguments.iter().zip(returned.arguments) {
                if let Some(after) = after
                    && self.graph.unchecked(after) == self.graph.unchecked(*before)
                    && self.ty(after).is(self.ty(*before))
                {
                    environment.replace(*before, after);
                }
            }
            environment.set(base, returned.value);
            let arrival = Arrival {
                block: returned.block,
                environment,
                numbering: returned.numbering,
            };
            let next = activation.pending.entry(instruction.next_pc());
            next.or_default().push(arrival);
        }
        Ok(())
    }

    /// Returns from the procedure being followed.
    pub(super) fn return_value(&mut self, activation: &mut Activation, value: NodeId) {
        match &mut activation.returns {
            None => {
                let value = if self.options.passes_floats && self.ty(value).is(Type::FLONUM) {
                    self.float_at_hand(value)
                } else {
                    self.tagged(value)
                };
                self.terminate(Terminator::Return(value));
            }
            Some(returns) => {
                if let Some(block) = self.block.take() {
                    let count = activation.argument_count.unwrap_or(0);
                    returns.push(Return {
                        arguments: (0..count)
                            .map(|register| activation.environment.get(register))
                            .collect(),
                        block,
                        value,
                        numbering: std::mem::take(&mut self.numbering),
                    });
                }
            }
        }
    }
}

/// Whether compiled code may jump to the code without looking: it takes exactly so many arguments, and
/// its frame fits where the interpreter would not have checked the stack either.
fn takes_directly(code: &CodeSnapshot, count: usize) -> bool {
    code.arity == count as u32 && code.frame_words as usize <= SMALL_FRAME_WORDS
}

/// The instructions that run when code is called with so many arguments; none if it does not take them,
/// or parses keywords among them.
fn clause_for(code: &CodeSnapshot, count: usize) -> Option<Range<usize>> {
    let whole = 0..code.instructions.len();
    if code.arity != VARIADIC {
        return (code.arity == count as u32).then_some(whole);
    }
    let mut start = 0;
    loop {
        let first = Instruction::decode(&code.instructions, start).ok()?;
        match first.opcode {
            Opcode::Entry => {
                let is_open = first.c() == 1;
                let takes = count >= first.a() && (is_open || count <= first.a() + first.b());
                return takes.then_some(whole);
            }
            Opcode::CaseEntry => {
                let end = first.branch_target()? as usize;
                if count == first.a() || (first.b() == 1 && count > first.a()) {
                    let entry = Instruction::decode(&code.instructions, first.next_pc()).ok()?;
                    return (entry.opcode == Opcode::Entry).then_some(first.next_pc()..end);
                }
                start = end;
            }
            _ => return None,
        }
    }
}

/// Whether the clause has nothing that needs a frame of its own.
fn can_inline(code: &CodeSnapshot, clause: Range<usize>) -> bool {
    let own_frame = OpcodeFlags::OWN_FRAME.or(OpcodeFlags::INTERPRETER);
    let mut pc = clause.start;
    while pc < clause.end {
        match Instruction::decode(&code.instructions, pc) {
            Ok(instruction) if !instruction.opcode.has(own_frame) && !code.breaks.contains(&pc) => {
                pc = instruction.next_pc();
            }
            _ => return false,
        }
    }
    true
}
