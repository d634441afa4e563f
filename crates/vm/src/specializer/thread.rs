//! The part of a thread in the life of compiled code: OSR entries of loops, counting of side exits,
//! assignments of watched variables.
//!
//! An assignment of a watched variable stops all threads at safepoints, retires the code that
//! relies on the variable, and then stores. `Detour` is a retired descriptor of the thread's own:
//! compiled code that the runtime returns to through it deoptimizes. It is used before the next one
//! is asked for, so one is enough.

use canny_spesh::types::Type;
use canny_tables::opcodes::{Opcode, encode_abc, field_a, field_b, field_c};
use canny_value::Value;

use super::CandidateId;
use super::ledger::PauseCause;
use super::log::ThreadLog;
use super::snapshot::type_of;
use crate::data::globals;
use crate::thread::Thread;

/// A retired descriptor of a thread; see [`Thread::detour`].
#[derive(Debug)]
#[repr(C, align(16))]
struct Detour {
    word: u32,
    unused: [u32; 3],
    bytecode: *const u32,
}

const _: () = {
    use canny_tables::layout::descriptor;
    assert!(std::mem::offset_of!(Detour, bytecode) == descriptor::BYTECODE);
};

impl Detour {
    const NOWHERE: Detour = Detour {
        word: encode_abc(Opcode::Retired, 0, 0, 0),
        unused: [0; 3],
        bytecode: std::ptr::null(),
    };
}

/// State that the specializer keeps for a thread, beside the registers of generated code.
pub(crate) struct ThreadSpecializer {
    pub(crate) log: ThreadLog,
    detour: Detour,
    /// Compiled code was retired since the runtime was entered.
    pub(crate) code_was_retired: bool,
    /// From which the next number of chances is made.
    stress_state: u64,
}

impl Default for ThreadSpecializer {
    fn default() -> ThreadSpecializer {
        ThreadSpecializer {
            log: ThreadLog::default(),
            detour: Detour::NOWHERE,
            code_was_retired: false,
            stress_state: 1,
        }
    }
}

impl Thread {
    /// An address that stands for an address of the bytecode and differs from it, so that compiled code
    /// which expects to continue leaves. The thread that gets it executes what is there before anything
    /// else asks for a detour.
    pub(crate) fn detour(&mut self, next: *const u32) -> *const u32 {
        self.specializer.detour.bytecode = next;
        (&raw const self.specializer.detour).cast()
    }

    /// Where a loop continues: in compiled code if some fits the registers of the current frame, else
    /// at the head.
    pub(crate) fn enter_loop(&mut self, head: *const u32) -> *const u32 {
        let specializer = self.vm.specializer.clone();
        let fp = self.fp;
        let register_type = |register: u32| {
            // SAFETY: candidates ask for registers that are live at the head.
            type_of(unsafe { *fp.add(register as usize) })
        };
        let entry = specializer.ledger().time(PauseCause::EnterLoop, || {
            specializer.lock().enter_loop(head as u64, register_type)
        });
        if entry.is_some() && self.profile.is_on() {
            self.vm.profiler.note_loop_entry(self);
        }
        entry.map_or(head, |descriptor| descriptor as *const u32)
    }

    /// Whether compiled code left because its chances had run out; it gets new ones.
    pub(crate) fn leaves_without_reason(&mut self) -> bool {
        let Some(stress) = self.vm.specializer.stress else {
            return false;
        };
        if self.chances != 0 {
            return false;
        }
        // A linear congruential generator: always the same numbers, so that a run can be repeated.
        self.specializer.stress_state = self
            .specializer
            .stress_state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.chances = 1 + (self.specializer.stress_state >> 33) % (2 * stress - 1);
        true
    }

    /// Counts an exit of compiled code; pc and fp are those that the interpreter continues with.
    pub(crate) fn count_exit(&mut self, id: CandidateId, exit: usize) {
        let specializer = self.vm.specializer.clone();
        let fp = self.fp;
        let operand_types = |word: u32| operand_types(word, fp);
        let retired = specializer.ledger().time(PauseCause::CountExit, || {
            specializer.lock().count_exit(id, exit, operand_types)
        });
        specializer.counters.note_deoptimization();
        self.specializer.code_was_retired |= retired;
        if self.profile.is_on() {
            // SAFETY: pc is behind the first word of the instruction that the interpreter continues with.
            let word = unsafe { *self.pc.sub(1) };
            self.vm.profiler.note_exit(self, &wrong_guess(word, fp));
        }
    }

    /// Changes a watched cell: retires the compiled code that relies on it, and stores the value, while
    /// all other threads stand at safepoints. From there they do not resume in what was retired, and
    /// what they see next is the new value.
    pub(crate) fn change_watched_cell(&mut self, cell: Value, value: Value) {
        let specializer = self.vm.specializer.clone();
        let ledger = specializer.ledger();
        let place = self.protect(value);
        let cell_place = self.protect(cell);
        let (retired, cell) = loop {
            let (cell, value) = (self.protected(cell_place), self.protected(place));
            let change = || {
                ledger.time(PauseCause::ChangeCell, || {
                    let mut registry = specializer.lock();
                    let retired = registry.cell_changes(cell);
                    globals::set_cell_value(cell, value);
                    retired
                })
            };
            if let Some(retired) = self.mutator().try_alone(change) {
                break (retired, cell);
            }
        };
        self.release(place);
        globals::note_change(self.mutator(), cell);
        if specializer.lock().has_wishes() {
            specializer.ask_for_snapshots();
        }
        if retired {
            self.specializer.code_was_retired = true;
            // Calls of the runtime on other threads end in a safepoint, not in compiled code that
            // was retired.
            specializer.heap.request_safepoints();
        }
    }
}

/// A sentence about an instruction for which compiled code had guessed wrong.
fn wrong_guess(word: u32, fp: *const Value) -> String {
    let types = operand_types(word, fp);
    match Opcode::from_byte(word as u8) {
        Some(opcode) if types != Type::NONE => {
            let name = opcode.row().name;
            format!("compiled code had guessed wrong at {name}: {types}")
        }
        _ => "compiled code had not expected to come here".to_owned(),
    }
}

/// Types of the registers that an instruction reads by its fields, together.
fn operand_types(word: u32, fp: *const Value) -> Type {
    let Some(opcode) = Opcode::from_byte(word as u8) else {
        return Type::NONE;
    };
    let fields = [field_a(word), field_b(word), field_c(word)];
    opcode
        .row()
        .operands
        .iter()
        .zip(fields)
        .filter(|(operand, _)| operand.is_read())
        .map(|(_, register)| {
            // SAFETY: the frame is about to execute the instruction, so the registers that it reads are live.
            type_of(unsafe { *fp.add(register as usize) })
        })
        .fold(Type::NONE, Type::or)
}
