//! Breaks in the bytecode: instructions whose opcode byte was replaced, and their own opcodes.
//!
//! The table belongs to the process, like the addresses that it is about. An entry is there before the
//! opcode is written, and goes after the instruction has its own opcode again; whoever has read a break
//! and finds no entry reads the instruction once more. Code with breaks is kept alive, so that an
//! address never means something else. An instruction may have a break for breakpoints and for steps.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use canny_jit::publication;
use canny_locks::Mutex;
use canny_tables::opcodes::Opcode;

use crate::code::CodeRef;

static BREAKS: Mutex<BTreeMap<usize, Patched>> = Mutex::new(BTreeMap::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// An instruction with a break.
struct Patched {
    opcode: Opcode,
    /// The break is for breakpoints, or for the end of a call that the debugger has made.
    is_asked: bool,
    /// Steps that wait for a return to the instruction.
    steps: usize,
}

/// Whether there are breaks in the process.
pub(crate) fn are_there() -> bool {
    COUNT.load(Ordering::Acquire) != 0
}

/// The opcode of the instruction at an address that has a break; none if it has none any more.
pub(crate) fn original(at: *const u32) -> Option<Opcode> {
    let breaks = BREAKS.lock();
    breaks.get(&(at as usize)).map(|patched| patched.opcode)
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

/// Puts a break at an instruction.
pub(super) fn put(code: CodeRef, index: usize) {
    change(code.shared_instruction(index), |patched| {
        patched.is_asked = true;
    });
}

/// Takes a break away.
pub(super) fn remove(code: CodeRef, index: usize) {
    change(code.shared_instruction(index), |patched| {
        patched.is_asked = false;
    });
}

/// Puts a break at an instruction for a step, and gives its address. The code must be kept alive.
pub(super) fn put_for_step(code: CodeRef, index: usize) -> usize {
    let instruction = code.shared_instruction(index);
    change(instruction, |patched| patched.steps += 1);
    instruction.as_ptr() as usize
}

/// Takes a break away that a step had put.
pub(super) fn remove_for_step(at: usize) {
    // SAFETY: the address of an instruction of code that is kept alive.
    let instruction = unsafe { AtomicU32::from_ptr(at as *mut u32) };
    change(instruction, |patched| patched.steps -= 1);
}

/// Changes who wants a break at an instruction; it is there as long as somebody does.
fn change(instruction: &AtomicU32, change: impl FnOnce(&mut Patched)) {
    let at = instruction.as_ptr() as usize;
    let mut breaks = BREAKS.lock();
    let word = instruction.load(Ordering::Relaxed);
    let patched = breaks.entry(at).or_insert_with(|| Patched {
        opcode: Opcode::from_byte(word as u8).expect("verified code has known opcodes"),
        is_asked: false,
        steps: 0,
    });
    change(patched);
    let opcode = patched.opcode;
    if patched.is_asked || patched.steps != 0 {
        COUNT.store(breaks.len(), Ordering::Release);
        publication::patch(instruction, with_opcode(word, Opcode::Break));
    } else {
        publication::patch(instruction, with_opcode(word, opcode));
        breaks.remove(&at);
        COUNT.store(breaks.len(), Ordering::Release);
    }
}
