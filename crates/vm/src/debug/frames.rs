//! Frames of a task that stands still, or of a continuation that somebody keeps: descriptions,
//! variables, and assignments of variables.
//!
//! A variable has a value while its register is live. A changed register is seen by this frame only:
//! closures have copies of captured variables that are never assigned. A variable that the program
//! assigns may be in a box, which all share. Compiled code may know the type of a register across a
//! call, so that a frame of compiled code continues in the bytecode before one of its registers is
//! changed. Frames in continuations may be resumed more than once: only boxes are changed there.

use canny_compiler::liveness::decode_live_map;
use canny_compiler::unit::{VariablePlace, VariableScope};
use canny_tables::kinds::Kind;
use canny_tables::layout::{code, frame};
use canny_value::{ObjectRef, Value};

use super::seen::{SeenBreak, SeenVariable};
use crate::code::CodeRef;
use crate::control::continuation::SealedFrame;
use crate::frames::guests::{Listing, ShownRun};
use crate::frames::{FrameDescription, FrameWalk, Live, Newer, Position, TailCaller};
use crate::frames::{bytecode_of, hide_stand_ins};
use crate::thread::{Protected, Sealed, Thread};

/// The frames that are read.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// Those of the thread.
    Thread,
    /// Those of a continuation.
    Continuation(Value),
}

/// A frame, or a procedure that was inlined into one.
#[derive(Clone, Debug)]
pub struct DebugFrame {
    /// The procedure's name.
    pub name: Option<String>,
    /// Where it stands.
    pub position: Option<Position>,
    /// Whether the procedure belongs to the standard library.
    pub is_library: bool,
    /// Whether it is the body of a program or of a form at the prompt.
    pub is_program: bool,
    /// The code of a function of a guest, which has no variables of Scheme.
    pub listing: Option<Listing>,
    /// The variables of such a function, as far as they are known.
    pub values: Vec<(String, String)>,
    /// Procedures between this frame and the next older one that ended with a tail call.
    pub tail_callers: Vec<TailCaller>,
    /// Name of the library or program that it belongs to.
    pub unit: String,
    /// The address of the bytecode instruction that it is in, or stands before.
    pub address: Option<u64>,
}

impl DebugFrame {
    /// Whether it is a function of a guest.
    pub fn is_guest(&self) -> bool {
        self.listing.is_some()
    }

    fn of((frame, (unit, address)): (FrameDescription, (String, Option<u64>))) -> DebugFrame {
        DebugFrame {
            unit,
            address,
            name: frame.name,
            position: frame.position,
            is_library: frame.is_library,
            is_program: frame.is_program,
            listing: frame.listing,
            values: frame.values,
            tail_callers: frame.tail_callers,
        }
    }
}

/// The place of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A box, which closures share.
    Box,
    /// A register of this frame.
    Register,
    /// A copy in the frame's closure.
    Closure,
}

/// A variable of a frame.
#[derive(Clone, Debug)]
pub struct DebugVariable {
    /// Its name.
    pub name: String,
    /// The value; none when the code has let go of it.
    pub value: Option<Protected>,
    /// Where it is.
    pub home: Home,
}

/// The outcome of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Everybody sees the new value.
    Done,
    /// The rest of this frame sees it; closures that were made before keep the old one.
    DoneInFrame,
    /// The frame has no such variable, or the code has let go of it.
    Gone,
    /// It is a copy that nobody can change: the program never assigns the variable.
    NeverAssigned,
    /// The frame is in a continuation, which may be resumed more than once.
    InContinuation,
}

/// A frame on the stack, or in a continuation.
pub(super) struct Physical<'a> {
    pub(super) closure: Value,
    pc: *const u32,
    live: Live,
    registers: Registers<'a>,
}

#[derive(Clone, Copy)]
enum Registers<'a> {
    /// From here on; and the frame that it has called, if any.
    Stack(*mut Value, Option<*mut Value>),
    /// Fields of a continuation from this one on.
    Sealed(ObjectRef, usize, std::marker::PhantomData<&'a ()>),
}

impl Physical<'_> {
    fn register(&self, index: usize) -> Value {
        match self.registers {
            // SAFETY: callers ask for live registers of live frames.
            Registers::Stack(fp, _) => unsafe { *fp.add(index) },
            Registers::Sealed(object, first, _) => object.field(first + index),
        }
    }

    /// The values of live registers.
    fn live_values(&self) -> Vec<Value> {
        let mut values = Vec::new();
        self.live.each(|index| values.push(self.register(index)));
        values
    }

    /// Word index of the instruction that the frame is in, or stands before.
    pub(super) fn index(&self, code: CodeRef) -> usize {
        ((self.pc as usize).wrapping_sub(code.start() as usize) / 4).wrapping_sub(1)
    }
}

/// A variable that was found: what holds it, and its value if that is still there.
struct Found<'s> {
    scope: &'s VariableScope,
    /// The box, or the value.
    held: Option<Value>,
}

impl Thread {
    /// Shows the frames, newest first, with their descriptions, until `visit` says no. The last
    /// description is that of the frame, those before it are of procedures inlined in it, from the index
    /// on that is given. Frames of guests that it continues come before. Gives them all.
    pub(super) fn each_frame(
        &self,
        origin: Origin,
        with_tail_calls: bool,
        visit: &mut dyn FnMut(&Physical<'_>, &[FrameDescription], usize) -> bool,
    ) -> Vec<FrameDescription> {
        let mut frames: Vec<FrameDescription> = Vec::new();
        let mut newer: Option<Newer> = None;
        let mut shown = Vec::new();
        let sealed = match origin {
            Origin::Thread => self.sealed,
            Origin::Continuation(continuation) => {
                if let Some(sealed) = self.sealed_of(continuation) {
                    let shown = &mut shown;
                    let state = (&mut newer, &mut frames, shown);
                    self.each_sealed_of(sealed, with_tail_calls, state, visit);
                }
                return frames;
            }
        };
        let mut walk = FrameWalk::new(self);
        let mut callee = None;
        while let Some(step) = walk.next() {
            if step.is_trap {
                (newer, callee) = (None, None);
                continue;
            }
            let physical = Physical {
                // SAFETY: the frame is live.
                closure: unsafe { Thread::closure_of(step.fp) },
                pc: step.pc,
                live: step.live,
                registers: Registers::Stack(step.fp, callee),
            };
            callee = Some(step.fp);
            let (closure, pc) = (physical.closure, physical.pc);
            let live = || physical.live_values();
            self.describe_guests(closure, live, &mut shown, &mut frames);
            let first = frames.len();
            self.describe_frame(closure, pc, with_tail_calls, &mut newer, &mut frames);
            if !visit(&physical, &frames, first) {
                return frames;
            }
        }
        let state = (&mut newer, &mut frames, &mut shown);
        self.each_sealed_of(sealed, with_tail_calls, state, visit);
        frames
    }

    /// The same for frames in continuations.
    fn each_sealed_of(
        &self,
        sealed: Sealed,
        with_tail_calls: bool,
        (newer, frames, shown): (
            &mut Option<Newer>,
            &mut Vec<FrameDescription>,
            &mut Vec<ShownRun>,
        ),
        visit: &mut dyn FnMut(&Physical<'_>, &[FrameDescription], usize) -> bool,
    ) {
        self.each_sealed(sealed, &mut |sealed| {
            let physical = Physical {
                closure: sealed.closure,
                pc: sealed.pc,
                live: self.live_of_sealed(sealed),
                registers: Registers::Sealed(
                    sealed.object,
                    sealed.first_register,
                    std::marker::PhantomData,
                ),
            };
            let (closure, pc) = (physical.closure, physical.pc);
            self.describe_guests(closure, || physical.live_values(), shown, frames);
            let first = frames.len();
            self.describe_frame(closure, pc, with_tail_calls, newer, frames);
            visit(&physical, frames, first)
        });
    }

    fn live_of_sealed(&self, sealed: &SealedFrame) -> Live {
        let Some(code) = CodeRef::of_closure(sealed.closure) else {
            return Live::First(0);
        };
        let Some(return_pc) = sealed.return_pc else {
            return code.live_at(sealed.pc, 0, &self.vm.liveness);
        };
        // SAFETY: the live map is the word before a return address, the call's registers in the one
        // before that.
        let (map, base) = unsafe { (*return_pc.sub(1), *return_pc.cast::<u8>().sub(7)) };
        if map & frame::WIDE_MAP == 0 {
            return Live::Narrow(map);
        }
        decode_live_map(map, base.into(), code.wide_maps()).map_or(Live::First(0), Live::Set)
    }

    /// Bytes of all frames below one, on the stack and in continuations.
    pub(super) fn debug_depth(&self, number: usize) -> Option<usize> {
        let mut depth = None;
        self.each_frame(Origin::Thread, false, &mut |physical, frames, _| {
            if number >= frames.len() {
                return true;
            }
            depth = Some(match physical.registers {
                Registers::Stack(fp, _) => self.depth_of(fp),
                Registers::Sealed(object, first, _) => super::callees::depth_in(object, first),
            });
            false
        });
        depth
    }

    /// The frames of a continuation, newest first, from one on and so many of them; `None` if it is
    /// something else.
    pub fn frames_of_continuation(
        &self,
        continuation: Value,
        first: usize,
        count: usize,
    ) -> Option<Vec<DebugFrame>> {
        self.sealed_of(continuation)?;
        Some(self.debug_frames(Origin::Continuation(continuation), first, count))
    }

    /// The variables of a frame of a continuation, innermost first. The caller releases the values.
    pub fn variables_of_continuation(
        &mut self,
        continuation: Value,
        frame: usize,
    ) -> Vec<DebugVariable> {
        self.debug_variables(Origin::Continuation(continuation), frame)
    }

    /// Changes a variable of a frame of a continuation, if it has a box.
    pub fn assign_in_continuation(
        &mut self,
        continuation: Value,
        frame: usize,
        name: &str,
        value: Value,
    ) -> Assignment {
        self.debug_assign(Origin::Continuation(continuation), frame, name, value)
    }

    /// Frames from one on, so many of them.
    pub(super) fn debug_frames(
        &self,
        origin: Origin,
        first: usize,
        count: usize,
    ) -> Vec<DebugFrame> {
        let wanted = first.saturating_add(count);
        let mut units = Vec::new();
        let mut found = self.each_frame(origin, true, &mut |physical, frames, first| {
            // Those before the first one are of a guest.
            units.resize(first, (String::new(), None));
            let code = CodeRef::of_closure(physical.closure);
            let unit = code.and_then(|code| self.vm.metadata(code));
            let unit = unit.map_or_else(String::new, |(unit, _)| unit.name.clone());
            let address = code.map(|code| {
                let index = physical.index(code) as u64;
                (code.start() as u64).wrapping_add(4 * index)
            });
            units.resize(frames.len(), (unit, address));
            // One more, so that the tail calls before the last one are known.
            frames.len() <= wanted
        });
        hide_stand_ins(&mut found);
        let frames = found.into_iter().zip(units).skip(first).take(count);
        frames.map(DebugFrame::of).collect()
    }

    /// Finds the frame with a number and its variables.
    fn find_variables(
        &self,
        origin: Origin,
        number: usize,
        found: &mut dyn FnMut(&Physical<'_>, &[Found<'_>]),
    ) {
        self.each_frame(origin, false, &mut |physical, frames, first| {
            if frames.len() <= number {
                return true;
            }
            if number < first {
                return false;
            }
            let code = CodeRef::of_closure(physical.closure);
            let known = code.and_then(|code| Some((code, self.vm.metadata(code)?)));
            if let Some((code, (unit, index))) = known {
                let scopes = &unit.codes[index].variables;
                let variables = variables_of(physical, code, scopes, (first, number), frames);
                found(physical, &variables);
            }
            false
        });
    }

    /// The variables of a frame, innermost first.
    pub(super) fn debug_variables(&mut self, origin: Origin, frame: usize) -> Vec<DebugVariable> {
        let mut values = Vec::new();
        let mut variables = Vec::new();
        self.find_variables(origin, frame, &mut |_, found| {
            for one in found {
                let value = one.value();
                variables.push((
                    one.scope.name.as_str().to_owned(),
                    one.home(),
                    value.is_some(),
                ));
                values.extend(value);
            }
        });
        // No safepoint was passed since the values were read.
        let mut values = values.into_iter();
        let variables = variables.into_iter().map(|(name, home, is_there)| {
            let value = is_there.then(|| values.next()).flatten();
            let value = value.map(|value| self.protect(value));
            DebugVariable { name, value, home }
        });
        variables.collect()
    }

    /// The value of a variable of a frame, which is protected as long as the stop is.
    pub(super) fn debug_value(&mut self, frame: usize, name: &str) -> Option<Value> {
        match (frame == 0).then(|| self.break_at_hand()).flatten() {
            Some(seen) => self.debug_value_at(&seen, name),
            None => {
                let value = self.find_value(frame, name).0;
                self.protect_for_stop(value)
            }
        }
    }

    /// The same for the newest frame, which stands at a break.
    #[inline]
    pub(super) fn debug_value_at(&mut self, seen: &SeenBreak, name: &str) -> Option<Value> {
        let value = match seen.variable(name) {
            Some(variable) => self.remembered_value(variable),
            None => {
                let (value, variable) = self.find_value(0, name);
                if let Some(variable) = variable {
                    seen.remember(name, variable);
                }
                value
            }
        };
        self.protect_for_stop(value)
    }

    /// Protects a value that is an object.
    #[inline]
    fn protect_for_stop(&mut self, value: Option<Value>) -> Option<Value> {
        if value.is_some_and(|value| value.as_object().is_some()) {
            self.protect(value?);
        }
        value
    }

    #[inline]
    fn remembered_value(&self, variable: SeenVariable) -> Option<Value> {
        let held = match variable.place? {
            // SAFETY: the register is live at the break where the frame stands.
            VariablePlace::Register(register) => unsafe { *self.fp.add(register.into()) },
            VariablePlace::Captured(slot) => {
                // SAFETY: the frame is live.
                captured(unsafe { Thread::closure_of(self.fp) }, slot)?
            }
            VariablePlace::Nowhere => return None,
        };
        value_of(held, variable.is_boxed)
    }

    /// The value of a variable of a frame; and how to find it again, if the thread stands at the same
    /// instruction.
    fn find_value(&self, frame: usize, name: &str) -> (Option<Value>, Option<SeenVariable>) {
        let (mut value, mut again) = (None, None);
        self.find_variables(Origin::Thread, frame, &mut |physical, found| {
            let one = found.iter().find(|one| one.scope.name.as_str() == name);
            value = one.and_then(Found::value);
            let is_newest =
                matches!(physical.registers, Registers::Stack(fp, None) if fp == self.fp);
            // Registers are live by the code, unless they are arguments of a call in the middle.
            if is_newest && matches!(physical.live, Live::Set(_)) {
                again = Some(SeenVariable {
                    place: one
                        .filter(|one| one.held.is_some())
                        .map(|one| one.scope.place),
                    is_boxed: one.is_some_and(|one| one.scope.is_boxed),
                });
            }
        });
        (value, again)
    }

    /// The box of a variable of a frame.
    pub(super) fn debug_holder(&self, frame: usize, name: &str) -> Option<Value> {
        let mut holder = None;
        self.find_variables(Origin::Thread, frame, &mut |_, found| {
            let one = found.iter().find(|one| one.scope.name.as_str() == name);
            let held = one
                .filter(|one| one.scope.is_boxed)
                .and_then(|one| one.held);
            holder = held.filter(|held| held.is_kind(Kind::Box));
        });
        holder
    }

    /// Changes a variable of a frame.
    pub(super) fn debug_assign(
        &mut self,
        origin: Origin,
        frame: usize,
        name: &str,
        value: Value,
    ) -> Assignment {
        let mut outcome = Assignment::Gone;
        let mut holder = None;
        // Frames below the barrier are not searched for young objects, such as the new value may be.
        self.remove_barrier();
        self.find_variables(origin, frame, &mut |physical, found| {
            let one = found.iter().find(|one| one.scope.name.as_str() == name);
            let Some((one, held)) = one.and_then(|one| Some((one, one.held?))) else {
                return;
            };
            if one.scope.is_boxed && held.is_kind(Kind::Box) {
                holder = Some(held);
                outcome = Assignment::Done;
                return;
            }
            outcome = match (one.scope.place, physical.registers) {
                (VariablePlace::Captured(_), _) => Assignment::NeverAssigned,
                (VariablePlace::Nowhere, _) => Assignment::Gone,
                (VariablePlace::Register(_), Registers::Sealed(..)) => Assignment::InContinuation,
                (VariablePlace::Register(register), Registers::Stack(fp, callee)) => {
                    self.leave_compiled_code(callee);
                    // SAFETY: a live register of a live frame of this thread, which stands still.
                    unsafe { *fp.add(register.into()) = value };
                    Assignment::DoneInFrame
                }
            };
        });
        if let Some(holder) = holder {
            self.store(holder, 0, value);
        }
        outcome
    }

    /// Has the frame below another one continue in the bytecode.
    pub(super) fn leave_compiled_code(&self, callee: Option<*mut Value>) {
        let Some(callee) = callee else {
            return;
        };
        // SAFETY: the frame is live, so it has its link.
        let link = unsafe { &mut *callee.offset(frame::RETURN_PC as isize) };
        let return_pc = link.bits() as *const u32;
        debug_assert_ne!(return_pc, self.vm.stubs.barrier());
        *link = Value::from_aligned_address(bytecode_of(return_pc) as usize);
    }

    /// Where the newest frame begins, if its arguments are all in their registers still.
    pub(super) fn arguments_to_restart(&self) -> Option<*const u32> {
        // SAFETY: the frame is live.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) })?;
        let count = code.arity();
        if count == code::VARIADIC || count == code::LARGE_FRAME {
            return None;
        }
        let mut live = vec![false; count as usize];
        code.live_at(self.pc, 0, &self.vm.liveness)
            .each(|register| {
                if let Some(place) = live.get_mut(register) {
                    *place = true;
                }
            });
        let (unit, index) = self.vm.metadata(code)?;
        let scopes = &unit.codes[index].variables;
        // A parameter in a register that the program assigns is in a box, which is taken out.
        let is_parameter = |register: usize| {
            let place = VariablePlace::Register(register as u8);
            scopes.iter().any(|scope| scope.place == place)
        };
        let is_there = |register: usize| live[register] && is_parameter(register);
        (0..count as usize).all(is_there).then(|| code.start())
    }

    /// Begins the newest frame again.
    pub(super) fn restart(&mut self) -> Option<*const u32> {
        let start = self.arguments_to_restart()?;
        // SAFETY: the frame is live.
        let code = CodeRef::of_closure(unsafe { Thread::closure_of(self.fp) })?;
        let (unit, index) = self.vm.metadata(code)?;
        for register in 0..code.arity() as usize {
            let place = VariablePlace::Register(register as u8);
            let scopes = unit.codes[index].variables.iter();
            let is_boxed = scopes
                .filter(|scope| scope.place == place)
                .any(|scope| scope.is_boxed);
            // SAFETY: a live register of a live frame.
            let slot = unsafe { &mut *self.fp.add(register) };
            if is_boxed && let Some(holder) = slot.as_kind(Kind::Box) {
                *slot = holder.field(0);
            }
        }
        Some(start)
    }
}

impl Found<'_> {
    fn value(&self) -> Option<Value> {
        value_of(self.held?, self.scope.is_boxed)
    }

    fn home(&self) -> Home {
        match self.scope.place {
            _ if self.scope.is_boxed => Home::Box,
            VariablePlace::Register(_) | VariablePlace::Nowhere => Home::Register,
            VariablePlace::Captured(_) => Home::Closure,
        }
    }
}

/// The value in a box, or what has no box.
fn value_of(held: Value, is_boxed: bool) -> Option<Value> {
    let value = match held.as_kind(Kind::Box) {
        Some(holder) if is_boxed => holder.field(0),
        _ => held,
    };
    (value != Value::UNBOUND && value != Value::ABSENT).then_some(value)
}

/// The content of a closure's slot for a captured variable.
fn captured(closure: Value, slot: u16) -> Option<Value> {
    let closure = closure.as_kind(Kind::Closure)?;
    let field = 1 + usize::from(slot);
    (field < closure.length()).then(|| closure.field(field))
}

/// The variables in scope of one of the procedures of a frame: the one with the number, of those from
/// `first` on. Inner ones come first and hide those of the same name.
fn variables_of<'s>(
    physical: &Physical<'_>,
    code: CodeRef,
    scopes: &'s [VariableScope],
    (first, number): (usize, usize),
    frames: &[FrameDescription],
) -> Vec<Found<'s>> {
    let index = physical.index(code);
    let last = frames.len() - 1;
    let mut live = vec![false; code.frame_words() + 1];
    physical.live.each(|register| {
        if let Some(place) = live.get_mut(register) {
            *place = true;
        }
    });
    let mut found: Vec<Found<'s>> = Vec::new();
    for scope in scopes {
        let is_inside = (scope.start as usize..scope.end as usize).contains(&index);
        let owner = (first..=last).find(|at| frames[*at].copy == Some(scope.inlining));
        let is_own = owner.unwrap_or(last) == number;
        if !is_inside || !is_own || found.iter().any(|one| one.scope.name == scope.name) {
            continue;
        }
        let held = match scope.place {
            VariablePlace::Register(register) => {
                let register = usize::from(register);
                let is_live = live.get(register).copied().unwrap_or(false);
                is_live.then(|| physical.register(register))
            }
            VariablePlace::Captured(slot) => captured(physical.closure, slot),
            VariablePlace::Nowhere => None,
        };
        found.push(Found { scope, held });
    }
    found
}
