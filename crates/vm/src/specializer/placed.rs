//! Machine code in its place, as the registry sees it.

use std::sync::atomic::{AtomicU32, Ordering};

use canny_tables::opcodes::{Opcode, encode_abc};

/// Addresses of what was compiled. The descriptors stay where they are for ever: frames and continuations may
/// refer to them.
pub(crate) struct Placed {
    /// Native descriptor of the entry: for code objects and for loops.
    pub(crate) entry: u64,
    /// Machine address for calls from compiled code.
    pub(crate) native: u64,
    /// Native descriptors that are return addresses, and the entry's.
    pub(crate) descriptors: Vec<u64>,
    /// Bytecode addresses of the exits, by number.
    pub(crate) exits: Vec<u64>,
}

impl Placed {
    /// Lets everything that stands at a descriptor go on in the bytecode.
    pub(crate) fn retire(&self) {
        let word = encode_abc(Opcode::Retired, 0, 0, 0);
        for address in &self.descriptors {
            // SAFETY: a descriptor begins with an aligned opcode word that any thread may read and write.
            let opcode = unsafe { AtomicU32::from_ptr(*address as *mut u32) };
            opcode.store(word, Ordering::Release);
        }
    }
}
