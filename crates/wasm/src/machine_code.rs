//! The machine code of a module's own functions, and the state of each on its way there.
//!
//! The compiler (`native`) fills it; other code and the interpreter read addresses.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicUsize, Ordering};

use canny_locks::Mutex;

use crate::code_memory::Code;

/// Why a function stays interpreted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It has something that is not compiled, or too much of it.
    Unfit(&'static str),
    /// The code generator or the system has failed.
    Failed(String),
}

/// Machine code of a module's own functions.
#[derive(Debug)]
pub struct MachineCode {
    /// Addresses of code, or 0.
    pub natives: Box<[AtomicPtr<u8>]>,
    /// Addresses for calls by other machine code, or 0: those of stubs until there is code.
    pub cells: Box<[AtomicUsize]>,
    /// How long functions were found running, as `native::tier` counts.
    pub states: Box<[AtomicU16]>,
    pub kept: Mutex<Kept>,
}

#[derive(Default, Debug)]
pub struct Kept {
    pub codes: Vec<Code>,
    pub words: Vec<Box<[u64]>>,
    /// How long calls were found in loops that were there before the code was, by function and offset.
    pub loops: HashMap<(u32, u64), u16>,
    /// The frame and the function that were found last, and how often in a row.
    pub newest: (usize, u32, u32),
    /// Functions of which a loop is with the compiler.
    pub pending: HashSet<u32>,
    /// Why functions were not compiled.
    pub refusals: Vec<(u32, Refusal)>,
}

impl MachineCode {
    pub fn of_functions(count: usize) -> MachineCode {
        MachineCode {
            natives: (0..count).map(|_| AtomicPtr::default()).collect(),
            cells: (0..count).map(|_| AtomicUsize::new(0)).collect(),
            states: (0..count).map(|_| AtomicU16::new(0)).collect(),
            kept: Mutex::default(),
        }
    }

    /// Where the addresses of code are.
    pub fn native_addresses(&self) -> *const AtomicPtr<u8> {
        self.natives.as_ptr()
    }

    /// Bytes of code.
    pub fn bytes(&self) -> usize {
        self.kept.lock().codes.iter().map(Code::bytes).sum()
    }

    /// Whether a function has code.
    pub fn has(&self, own_index: u32) -> bool {
        let native = &self.natives[own_index as usize];
        !native.load(Ordering::Relaxed).is_null()
    }

    /// Why functions do not have code that were given to the compiler.
    pub fn refusals(&self) -> Vec<(u32, Refusal)> {
        self.kept.lock().refusals.clone()
    }
}
