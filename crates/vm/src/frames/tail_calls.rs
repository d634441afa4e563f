//! Tail calls that led from a frame to the one above it, found when a backtrace asks for them.
//!
//! A tail call leaves no trace, and keeping one would cost each of them. But the code is still there:
//! the call instruction of the older frame names the procedure that it called, and if another procedure
//! is running there, tail calls led from the one to the other. Their operators are mostly globals and
//! constants, so a search through the code finds the ways. A step is certain if every tail call that
//! the search met named its procedure and no other one leads there; else it is reported as possible.
//! Loops do not show, and a global that was changed since is taken for what it is now. Running code
//! pays nothing.

use canny_tables::kinds::Kind;
use canny_tables::opcodes::{Flow, Opcode, OpcodeFlags, Window, field_a, field_b, field_wide};
use canny_value::Value;

use crate::code::CodeRef;
use crate::data::globals::cell_value;
use crate::frames::TailCaller;
use crate::thread::Thread;

/// Procedures that a search for a backtrace looks at.
const PROCEDURES_MAX: usize = 200;

/// The same for a profile, which has many places.
const PROFILED_PROCEDURES_MAX: usize = 50;

/// Tail calls that are shown between two frames.
const STEPS_MAX: usize = 8;

/// How often a value is followed from register to register.
const MOVES_MAX: usize = 4;

/// A procedure that was found, and the tail calls that lead to it: which procedure makes each, and the index
/// behind the first word of the instruction.
struct Found {
    callee: Callee,
    calls: Vec<(usize, usize)>,
}

/// A procedure, of which maybe only the code is known.
#[derive(Clone, Copy)]
struct Callee {
    closure: Option<Value>,
    code: CodeRef,
}

impl Callee {
    fn of(value: Value) -> Option<Callee> {
        let code = CodeRef::of_closure(value)?;
        Some(Callee {
            closure: Some(value),
            code,
        })
    }
}

/// The result of a search.
struct Ways {
    /// The procedure that was called is the first.
    found: Vec<Found>,
    /// The place of the running procedure.
    goal: usize,
    /// Whether every tail call named its procedure.
    is_complete: bool,
}

impl Thread {
    /// The procedures whose tail calls led from the call before a return address of a frame to the code
    /// that runs above it, the last one first. Empty if there were none or they are not known.
    pub(crate) fn tail_callers(
        &self,
        caller: Value,
        return_pc: *const u32,
        running: CodeRef,
    ) -> Vec<TailCaller> {
        let ways = Callee::of(caller)
            .and_then(|caller| called_before(caller, return_pc))
            .and_then(|called| search(called, running, PROCEDURES_MAX));
        ways.map_or_else(Vec::new, |ways| {
            self.steps_to(&ways.found, ways.goal, ways.is_complete)
        })
    }

    /// The addresses behind the first words of the tail calls that led from a call in one code to another
    /// code, the last one first. Only what is certain, of a frame whose closure may be gone. `pc` is the
    /// address behind the first word of the call, or its return address.
    pub(crate) fn certain_tail_calls(
        &self,
        caller: CodeRef,
        pc: *const u32,
        running: CodeRef,
    ) -> Vec<*const u32> {
        let caller = Callee {
            closure: None,
            code: caller,
        };
        let called = called_around(caller, pc);
        let ways = called.and_then(|called| search(called, running, PROFILED_PROCEDURES_MAX));
        let mut steps = Vec::new();
        let Some(Ways {
            found,
            mut goal,
            is_complete: true,
        }) = ways
        else {
            return steps;
        };
        while goal != 0 && steps.len() < STEPS_MAX {
            let calls = &found[goal].calls;
            let Some(&(from, at)) = calls.first() else {
                break;
            };
            if calls.iter().any(|(other, _)| *other != from) {
                break;
            }
            // SAFETY: the address lies behind an instruction of the code.
            steps.push(unsafe { found[from].callee.code.start().add(at) });
            goal = from;
        }
        steps
    }

    /// Goes back from the running procedure as long as one procedure only can have called.
    fn steps_to(&self, found: &[Found], mut goal: usize, is_complete: bool) -> Vec<TailCaller> {
        let mut steps = Vec::new();
        // The first procedure was called by the frame; a way back to it is a loop.
        while goal != 0 && steps.len() < STEPS_MAX {
            let calls = &found[goal].calls;
            let is_certain = is_complete && calls.len() == 1;
            for &(from, at) in calls {
                self.describe_tail_call(&found[from], at, is_certain, &mut steps);
            }
            let Some(&(from, _)) = calls.first() else {
                break;
            };
            if calls.iter().any(|(other, _)| *other != from) {
                break;
            }
            goal = from;
        }
        steps.truncate(STEPS_MAX);
        steps
    }

    fn describe_tail_call(
        &self,
        caller: &Found,
        at: usize,
        is_certain: bool,
        steps: &mut Vec<TailCaller>,
    ) {
        let mut frames = Vec::new();
        let Callee { closure, code } = caller.callee;
        // SAFETY: the address lies behind an instruction of the code.
        let pc = unsafe { code.start().add(at) };
        let name = closure.and_then(|closure| self.vm().procedure_name(closure));
        self.describe_code(code, pc, name, &mut frames);
        steps.extend(frames.into_iter().map(|frame| TailCaller {
            name: frame.name,
            position: frame.position,
            is_library: frame.is_library,
            is_certain,
        }));
    }
}

/// Follows tail calls from a procedure until all ways to the running one are known; nothing if there is
/// none, or if it is the procedure that was called.
fn search(called: Callee, running: CodeRef, procedures_max: usize) -> Option<Ways> {
    if called.code.word() == running.word() {
        return None;
    }
    let first = Found {
        callee: called,
        calls: Vec::new(),
    };
    let mut found = vec![first];
    let mut is_complete = true;
    let mut next = 0;
    while next < found.len() && found.len() < procedures_max {
        let callee = found[next].callee;
        // The tail calls of the running procedure are still to come.
        let calls = if callee.code.word() == running.word() {
            Vec::new()
        } else {
            tail_calls(callee)
        };
        for (at, target) in calls {
            let Some(target) = target else {
                is_complete = false;
                continue;
            };
            if target.code.word() == callee.code.word() {
                continue;
            }
            match found
                .iter_mut()
                .find(|one| one.callee.code.word() == target.code.word())
            {
                Some(known) => known.calls.push((next, at)),
                None => found.push(Found {
                    callee: target,
                    calls: vec![(next, at)],
                }),
            }
        }
        next += 1;
    }
    is_complete &= next == found.len();
    let goal = found
        .iter()
        .position(|one| one.callee.code.word() == running.word())?;
    Some(Ways {
        found,
        goal,
        is_complete,
    })
}

/// The procedure that the call before a return address called, if its operator tells.
fn called_before(caller: Callee, return_pc: *const u32) -> Option<Callee> {
    let code = caller.code;
    let behind = (return_pc as usize).checked_sub(code.start() as usize)? / 4;
    // The instruction and its live map.
    let at = behind.checked_sub(Opcode::Call.words())?;
    let word = *code.readable_instructions().get(at)?;
    (Opcode::from_byte(word as u8)? == Opcode::Call).then_some(())?;
    operator(caller, at, field_a(word))
}

/// The same for the call whose first word or whose end is before an address.
fn called_around(caller: Callee, pc: *const u32) -> Option<Callee> {
    let behind = (pc as usize).checked_sub(caller.code.start() as usize)? / 4;
    let mut call = None;
    each_instruction(caller.code, &mut |at, opcode, word| {
        let ends = [at + 1, at + opcode.words()];
        if opcode == Opcode::Call && ends.contains(&behind) {
            call = Some((at, word));
        }
    });
    let (at, word) = call?;
    operator(caller, at, field_a(word))
}

/// The tail calls of a procedure: the index behind their first words, and their callees, if those are known.
fn tail_calls(callee: Callee) -> Vec<(usize, Option<Callee>)> {
    let mut calls = Vec::new();
    each_instruction(callee.code, &mut |at, opcode, word| {
        let row = opcode.row();
        if !row.flags.has(OpcodeFlags::CALLS) || row.flow != Flow::Stop {
            return;
        }
        // The others have whom they call in a register only.
        let is_plain = row.window == Window::TailCall;
        let called = is_plain.then(|| operator(callee, at, field_a(word)));
        calls.push((at + 1, called.flatten()));
    });
    calls
}

fn each_instruction(code: CodeRef, visit: &mut dyn FnMut(usize, Opcode, u32)) {
    let words = code.readable_instructions();
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        let Some(opcode) = Opcode::from_byte(word as u8) else {
            return;
        };
        visit(at, opcode, word);
        at += opcode.words();
    }
}

/// The procedure that is in a register before the instruction at an index: the value that the last
/// instruction before it put there. Operators are computed right before their calls, so no branch
/// lies between.
fn operator(callee: Callee, mut before: usize, mut register: u8) -> Option<Callee> {
    let Callee { closure, code } = callee;
    for _ in 0..MOVES_MAX {
        let mut last = None;
        each_instruction(code, &mut |at, opcode, word| {
            if at < before && defines(opcode, word, register) {
                last = Some((at, opcode, word));
            }
        });
        let (at, opcode, word) = last?;
        let slot = || pool_slot(code, at, field_wide(word));
        return match opcode {
            Opcode::GlobalRef => slot().map(cell_value).and_then(Callee::of),
            Opcode::LoadConstant => slot().and_then(Callee::of),
            Opcode::SelfRef => Some(callee),
            Opcode::Free => closure?
                .as_kind(Kind::Closure)
                .map(|object| object.field(1 + field_wide(word) as usize))
                .and_then(Callee::of),
            Opcode::Move => {
                (before, register) = (at, field_b(word));
                continue;
            }
            _ => None,
        };
    }
    None
}

/// The pool slot at a distance, in words, before the end of an instruction's first word.
fn pool_slot(code: CodeRef, at: usize, distance: u16) -> Option<Value> {
    let slots = code.pool().count();
    // The pool ends where the instructions begin; a slot is two words.
    let word = (2 * slots + at + 1).checked_sub(distance as usize)?;
    code.pool().nth(word / 2)
}

/// Whether an instruction writes a register.
fn defines(opcode: Opcode, word: u32, register: u8) -> bool {
    let row = opcode.row();
    match row.window {
        // A call writes its result, and everything above is lost.
        Window::Call | Window::Unpack => register >= field_a(word),
        _ => row.operands[0].is_written() && field_a(word) == register,
    }
}
