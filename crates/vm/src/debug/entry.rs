//! The runtime entry of `break`, and of every instruction while a thread is stepped through: it decides
//! whether the task stops, and has the instruction executed. It does not know when a step ends
//! (`step`), nor what a client sees (`stop`).

use std::rc::Rc;
use std::sync::atomic::Ordering;

use canny_tables::opcodes::{Opcode, OpcodeFlags};
use canny_value::Value;

use super::breakpoints::{BreakpointId, Condition};
use super::seen::{Asked, SeenBreak};
use super::stop::{Kind, Stop};
use super::{Call, Resume, Verdict, patches};
use crate::frames::bytecode_of;
use crate::thread::{Exit, Thread};

/// Name of the root with the arguments of calls that the debugger makes: pairs of number and argument.
const ARGUMENTS: &str = "arguments of the debugger's calls";

/// The fate of an instruction.
enum Outcome {
    /// It is executed.
    Execute,
    /// The thread continues elsewhere, or leaves the machine.
    Elsewhere(*const u32),
}

impl Thread {
    /// Asks whether the task stops before the instruction at hand, whose word this is, and has it
    /// executed. Gives the address that the stub in the generator expects.
    pub(crate) fn debug_instruction(&mut self, word: u32) -> *const u32 {
        self.carried[0] = 0;
        // SAFETY: stubs save pc behind the first word of the instruction.
        let at = unsafe { self.pc.sub(1) };
        if self.may_ask_quickly()
            && let Some(seen) = self.seen_again(at)
            && let Some((asked, condition)) = seen.alone()
        {
            return self.ask_quickly(word, &seen, asked, condition);
        }
        self.debug_thoroughly(at, word)
    }

    /// Whether nothing is there but breakpoints: no step, no count, no call in progress.
    #[inline]
    fn may_ask_quickly(&self) -> bool {
        let debugger = &self.vm.debugger;
        self.debug.step.is_none()
            && self.debug.counting.is_none()
            && debugger.calls.load(Ordering::Relaxed) == 0
            && debugger.repetitions.load(Ordering::Relaxed) == 0
            && !self.is_critical()
    }

    /// The same as [`Thread::debug_thoroughly`] for the break that was met last, if it has one breakpoint:
    /// in a loop its condition is mostly false.
    #[inline]
    fn ask_quickly(
        &mut self,
        word: u32,
        seen: &SeenBreak,
        asked: &Asked,
        condition: &Condition,
    ) -> *const u32 {
        if asked.count() {
            let verdict = condition(&mut Stop::asking(self, asked.id, seen));
            let met = || Kind::Breakpoints(vec![asked.id]);
            let outcome = match verdict {
                Verdict::Pass => Outcome::Execute,
                Verdict::Stop => self.stop(met(), Value::FALSE),
                Verdict::Call(procedure, argument) => {
                    self.call(procedure, argument, met(), Some(asked.id), true)
                }
            };
            if let Outcome::Elsewhere(next) = outcome {
                return next;
            }
        }
        self.execute(word, seen.opcode)
    }

    /// Does the work of [`Thread::debug_instruction`] for any instruction.
    #[inline(never)]
    fn debug_thoroughly(&mut self, at: *const u32, word: u32) -> *const u32 {
        let Some(read) = Opcode::from_byte(word as u8) else {
            return at;
        };
        let seen = match read {
            Opcode::Break => match self.seen_break(at) {
                Some(seen) => Some(seen),
                // It was taken away meanwhile.
                None => return at,
            },
            _ => None,
        };
        let opcode = seen.as_ref().map_or(read, |seen| seen.opcode);
        if self.rests(opcode, seen.is_some()) {
            return at;
        }
        if self.is_stepping()
            && matches!(opcode, Opcode::Native | Opcode::Retired | Opcode::Stitched)
        {
            // Frames of compiled code are the interpreter's.
            return bytecode_of(at);
        }
        match self.ask(at, opcode, seen.as_ref()) {
            Outcome::Elsewhere(next) => next,
            Outcome::Execute => self.execute(word, opcode),
        }
    }

    /// Has the instruction at hand executed by its own handler.
    fn execute(&mut self, word: u32, opcode: Opcode) -> *const u32 {
        let (opcode, table) = match (self.is_stepping(), opcode) {
            (true, Opcode::LoopNative) => (Opcode::Loop, canny_llint::fast_table()),
            (true, opcode) => (opcode, canny_llint::fast_table()),
            (false, opcode) => (opcode, self.specializer.log.table()),
        };
        let is_asked = self.limit.load(Ordering::Relaxed) == 0;
        let handler = if opcode == Opcode::Loop && is_asked {
            canny_llint::slow_stub(Opcode::Loop)
        } else {
            table[opcode as usize]
        };
        self.carried[0] = handler as u64;
        self.carried[1] = u64::from(patches::with_opcode(word, opcode));
        self.pc
    }

    /// The instruction at hand will begin again after something else: its breakpoints were met.
    pub(crate) fn note_repetition(&mut self) {
        if !self.vm.debugger.is_on() {
            return;
        }
        // SAFETY: stubs save pc behind the first word of the instruction.
        let at = unsafe { self.pc.sub(1) };
        // SAFETY: as above.
        if unsafe { *at } as u8 != Opcode::Break as u8 {
            return;
        }
        let place = (at as usize, self.depth());
        let task = self.task_key();
        let debugger = &self.vm.debugger;
        let mut state = debugger.lock();
        state.repetitions.insert(task, place);
        let count = state.repetitions.len();
        debugger.repetitions.store(count, Ordering::Relaxed);
    }

    /// Whether the break at hand was met before, and something came in between.
    fn is_repeated(&mut self, place: (usize, usize)) -> bool {
        if self.vm.debugger.repetitions.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let task = self.task_key();
        let debugger = &self.vm.debugger;
        let mut state = debugger.lock();
        let is_it = state.repetitions.get(&task) == Some(&place);
        if is_it {
            state.repetitions.remove(&task);
            let count = state.repetitions.len();
            debugger.repetitions.store(count, Ordering::Relaxed);
        }
        is_it
    }

    /// Whether the task stops here, and what it does then.
    fn ask(&mut self, at: *const u32, opcode: Opcode, seen: Option<&Rc<SeenBreak>>) -> Outcome {
        let place = (at as usize, self.depth());
        let returned = self.returned_call(place, opcode, seen.is_some());
        let step_ends = self.step_ends(at, opcode);
        if let Some(call) = returned {
            return self.stop_after(call, seen);
        }
        // Instructions of the machine may have no frame.
        let is_counted = !opcode.has(OpcodeFlags::MACHINE) && self.count_place(at);
        let step_ends = step_ends || is_counted;
        if let Some(seen) = seen
            && !self.is_repeated(place)
            && !self.is_critical()
        {
            let mut met = self.take_met();
            self.meet(seen, &mut met);
            let outcome = self.stop_at(seen, &met, None, step_ends);
            self.give_met(met);
            return outcome;
        }
        if step_ends {
            return self.stop(Kind::Step, Value::FALSE);
        }
        Outcome::Execute
    }

    /// A call in the middle of an instruction has returned to that.
    pub(crate) fn note_return(&mut self, at: *const u32) {
        if self.vm.debugger.calls.load(Ordering::Relaxed) != 0 {
            self.debug.resumed = Some((at as usize, self.fp as usize));
        }
    }

    /// The call whose end this is, if it is one that the debugger made. Calls that have ended otherwise,
    /// by an escape, are forgotten: a call in progress is deeper than the frame that has made it.
    fn returned_call(
        &mut self,
        place: (usize, usize),
        opcode: Opcode,
        is_break: bool,
    ) -> Option<Call> {
        if self.vm.debugger.calls.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let resumed = self.debug.resumed.take();
        let is_return = resumed == Some((place.0, self.fp as usize));
        // Elsewhere the depth need not be that of a frame of the task.
        let is_own = !opcode.has(OpcodeFlags::MACHINE) && !self.is_critical();
        if !is_return && !(is_own && (is_break || self.is_in_program())) {
            return None;
        }
        let mut over = self.calls_over(place.1);
        let is_it = |call: &Call| is_return && (call.at, call.depth) == place;
        let returned = over.iter().rposition(is_it);
        let returned = returned.map(|index| over.remove(index));
        for call in over {
            self.take_argument(call.number);
        }
        if returned.is_none() {
            self.forget_return(place.1);
        }
        returned
    }

    /// Takes away the calls of the task that cannot be in progress while it runs at a depth.
    fn calls_over(&mut self, depth: usize) -> Vec<Call> {
        let task = self.task_key();
        let thread = &raw const *self as usize;
        let debugger = &self.vm.debugger;
        let mut state = debugger.lock();
        let Some(calls) = state.calls.get_mut(&task) else {
            return Vec::new();
        };
        let is_mine = |call: &Call| task.0.is_some() || call.thread == thread;
        let is_over = |call: &mut Call| call.depth >= depth && is_mine(call);
        let over: Vec<Call> = calls.extract_if(.., is_over).collect();
        if calls.is_empty() {
            state.calls.remove(&task);
        }
        debugger.calls.fetch_sub(over.len(), Ordering::Relaxed);
        for _ in &over {
            canny_replay::come_back();
        }
        over
    }

    /// Waits again for the end of the innermost call in progress, if nothing else notices that.
    fn await_last_call(&mut self) {
        if self.vm.debugger.calls.load(Ordering::Relaxed) == 0 {
            return;
        }
        let task = self.task_key();
        let last = {
            let state = self.vm.debugger.lock();
            let calls = state.calls.get(&task);
            calls.and_then(|calls| calls.last().filter(|call| !call.is_break).cloned())
        };
        if let Some(call) = last {
            self.await_return(call.at, call.depth);
        }
    }

    /// Stops again where the debugger has made a call.
    fn stop_after(&mut self, call: Call, seen: Option<&Rc<SeenBreak>>) -> Outcome {
        let argument = self.take_argument(call.number);
        match (call.asked, call.reason, seen) {
            (Some(asked), Kind::Breakpoints(met), Some(seen)) => {
                self.stop_at(seen, &met, Some((asked, argument)), false)
            }
            (_, reason, _) => self.stop(reason, argument),
        }
    }

    /// Breakpoints were met: asks their conditions, from the one on that was asked before. Those that
    /// were removed meanwhile are not asked.
    fn stop_at(
        &mut self,
        seen: &SeenBreak,
        met: &[BreakpointId],
        asked: Option<(BreakpointId, Value)>,
        step_ends: bool,
    ) -> Outcome {
        let mut stops = Vec::new();
        let is_before = |id: BreakpointId| asked.is_some_and(|(asked, _)| id < asked);
        for known in &seen.asked {
            let id = known.id;
            if is_before(id) || !met.contains(&id) {
                continue;
            }
            let Some(condition) = &known.condition else {
                stops.push(id);
                continue;
            };
            let answer = asked.filter(|(asked, _)| *asked == id);
            let answer = answer.map_or(Value::FALSE, |(_, argument)| argument);
            let verdict = condition(&mut Stop::new(self, Kind::Asked(id), answer));
            match verdict {
                Verdict::Stop => stops.push(id),
                Verdict::Pass => {}
                Verdict::Call(procedure, argument) => {
                    let reason = Kind::Breakpoints(met.to_vec());
                    return self.call(procedure, argument, reason, Some(id), true);
                }
            }
        }
        if !stops.is_empty() {
            return self.stop(Kind::Breakpoints(stops), Value::FALSE);
        }
        if step_ends {
            return self.stop(Kind::Step, Value::FALSE);
        }
        Outcome::Execute
    }

    /// The task stands still until its client says how it goes on.
    fn stop(&mut self, reason: Kind, argument: Value) -> Outcome {
        let client = self.vm.debugger.lock().client.clone();
        self.end_step();
        let Some(client) = client else {
            return Outcome::Execute;
        };
        let vm = self.vm.clone();
        vm.debugger.note_still(true);
        let resume = {
            let mut stop = Stop::new(self, reason.clone(), argument);
            client.stopped(&mut stop)
        };
        vm.debugger.note_still(false);
        // The break of a step has gone with it, and the client may have set or removed breakpoints.
        // SAFETY: stubs save pc behind the first word of the instruction.
        let is_break = unsafe { *self.pc.sub(1) } as u8 == Opcode::Break as u8;
        match resume {
            Resume::Continue => {
                self.await_last_call();
                Outcome::Execute
            }
            Resume::Step(kind, granularity) => {
                self.step_from_here(kind, granularity);
                Outcome::Execute
            }
            Resume::StepExpanded(kind, granularity, id) => {
                self.step_in_expansion(kind, granularity, id);
                Outcome::Execute
            }
            Resume::EnterExpansion(id) => {
                self.step_into_expansion(id);
                Outcome::Execute
            }
            Resume::LeaveExpansion(id) => {
                self.step_out_of_expansion(id);
                Outcome::Execute
            }
            Resume::Into(index) => {
                self.step_into(index);
                Outcome::Execute
            }
            Resume::Jump(index) => match self.jump(index) {
                Some(at) => {
                    self.pause();
                    Outcome::Elsewhere(at)
                }
                None => self.stop(Kind::Step, Value::FALSE),
            },
            Resume::Call(procedure, argument) => {
                self.call(procedure, argument, reason, None, is_break)
            }
            Resume::Return(value) => Outcome::Elsewhere(self.return_value(value)),
            Resume::Restart => match self.restart() {
                Some(start) => Outcome::Elsewhere(start),
                None => Outcome::Execute,
            },
            Resume::Raise(object) => {
                self.await_last_call();
                self.pending = object;
                Outcome::Elsewhere(self.begin_raise(crate::primitive::Raise(())))
            }
            Resume::Exit(code) => {
                self.exit = Some(Exit::Code(code));
                Outcome::Elsewhere(std::ptr::null())
            }
        }
    }

    /// Calls a procedure in the middle of the instruction; the task stops there again afterwards.
    fn call(
        &mut self,
        procedure: Value,
        argument: Value,
        reason: Kind,
        asked: Option<BreakpointId>,
        is_break: bool,
    ) -> Outcome {
        // SAFETY: stubs save pc behind the first word of the instruction.
        let at = unsafe { self.pc.sub(1) };
        let depth = self.depth();
        let place = self.protect(procedure);
        let number = self.keep_argument(argument);
        let procedure = self.protected(place);
        self.release(place);
        let task = self.task_key();
        let call = Call {
            at: at as usize,
            depth,
            is_break,
            reason,
            asked,
            number,
            thread: &raw const *self as usize,
        };
        let mut state = self.vm.debugger.lock();
        state.calls.entry(task).or_default().push(call);
        drop(state);
        self.vm.debugger.calls.fetch_add(1, Ordering::Relaxed);
        canny_replay::step_aside();
        if !is_break {
            self.await_return(at as usize, depth);
        }
        let argument = self.argument(number);
        Outcome::Elsewhere(self.trap_call(at, procedure, &[argument]))
    }

    fn keep_argument(&mut self, argument: Value) -> i64 {
        let number = {
            let mut state = self.vm.debugger.lock();
            state.calls_made += 1;
            state.calls_made
        };
        let entry = self.cons(Value::fixnum(number), argument);
        let list = self.vm.root(ARGUMENTS).unwrap_or(Value::NIL);
        let list = self.cons(entry, list);
        self.vm.set_root(ARGUMENTS, list);
        number
    }

    fn argument(&self, number: i64) -> Value {
        let list = self.vm.root(ARGUMENTS).unwrap_or(Value::NIL);
        let entries = std::iter::successors(list.as_pair(), |pair| pair.cdr().as_pair());
        let entries = entries.filter_map(|pair| pair.car().as_pair());
        let mut own = entries.filter(|entry| entry.car().as_fixnum() == Some(number));
        own.next().map_or(Value::FALSE, |entry| entry.cdr())
    }

    fn take_argument(&mut self, number: i64) -> Value {
        let argument = self.argument(number);
        let place = self.protect(argument);
        let list = self.vm.root(ARGUMENTS).unwrap_or(Value::NIL);
        let entries = std::iter::successors(list.as_pair(), |pair| pair.cdr().as_pair());
        let others: Vec<Value> = entries
            .map(|pair| pair.car())
            .filter(|entry| entry.car().and_then(|car| car.as_fixnum()) != Some(number))
            .collect();
        let first = self.protect(Value::NIL);
        self.scratch.extend(others);
        self.scratch.remove(first.index());
        let list = self.list_of_protected(first, Value::NIL);
        self.vm.set_root(ARGUMENTS, list);
        let argument = self.protected(place);
        self.release(place);
        argument
    }
}
