//! Breaks in the bytecode: instructions whose opcode byte was replaced, and their own opcodes.
//!
//! The table belongs to the process, like the addresses that it is about. An entry is there before the
//! opcode is written, and goes after the instruction has its own opcode again; whoever has read a break
//! and finds no entry reads the instruction once more. Code with breaks is kept alive, so that an
//! address never means something else.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use canny_jit::publication;
use canny_locks::Mutex;
use canny_tables::opcodes::Opcode;

use crate::code::CodeRef;

static OPCODES: Mutex<BTreeMap<usize, Opcode>> = Mutex::new(BTreeMap::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether there are breaks in the process.
pub(crate) fn are_there() -> bool {
    COUNT.load(Ordering::Acquire) != 0
}

/// The opcode of the instruction at an address that has a break; none if it has none any more.
pub(crate) fn original(at: *const u32) -> Option<Opcode> {
    OPCODES.lock().get(&(at as usize)).copied()
}

/// The opcode of an instruction that has or had a break.
pub(crate) fn covered(at: *const u32) -> Opcode {
    loop {
        if let Some(opcode) = original(at) {
            return opcode;
        }
        // SAFETY: the address is that of an instruction of code that is alive.
        let byte = unsafe { std::ptr::read_volatile(at.cast::<u8>()) };
        match Opcode::from_byte(byte) {
            Some(Opcode::Break) | None => std::hint::spin_loop(),
            Some(opcode) => return opcode,
        }
    }
}

/// An instruction word with another opcode.
pub(crate) fn with_opcode(word: u32, opcode: Opcode) -> u32 {
    (word & !0xff) | opcode as u32
}

/// Puts a break at an instruction, unless there is one.
pub(super) fn put(code: CodeRef, index: usize) {
    let instruction = code.shared_instruction(index);
    let at = instruction.as_ptr() as usize;
    let mut opcodes = OPCODES.lock();
    let word = instruction.load(Ordering::Relaxed);
    let opcode = Opcode::from_byte(word as u8).expect("verified code has known opcodes");
    if opcode == Opcode::Break {
        return;
    }
    opcodes.insert(at, opcode);
    COUNT.store(opcodes.len(), Ordering::Release);
    publication::patch(instruction, with_opcode(word, Opcode::Break));
}

/// Takes a break away.
pub(super) fn remove(code: CodeRef, index: usize) {
    let instruction = code.shared_instruction(index);
    let at = instruction.as_ptr() as usize;
    let mut opcodes = OPCODES.lock();
    let Some(opcode) = opcodes.get(&at).copied() else {
        return;
    };
    let word = instruction.load(Ordering::Relaxed);
    publication::patch(instruction, with_opcode(word, opcode));
    opcodes.remove(&at);
    COUNT.store(opcodes.len(), Ordering::Release);
}
