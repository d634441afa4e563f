//! Machine code from the specializer's graphs, and the memory that holds it.
//!
//! [`compile`] turns a graph into position-independent machine code; [`CodeMemory`] gives it an
//! address, with the descriptors by which interpreter, frames and compiled code refer to it. Frames are
//! the interpreter's: code keeps nothing on the native stack between calls, and leaves by jumps only,
//! so a walker of frames needs to know nothing of it but the descriptors.
//!
//! **Entering.** A segment takes the five registers of an interpreter's handler. The entry takes fp as
//! the callee's, with link and arguments in place, and looks at nothing else but the thread block;
//! calls of known code enter behind that, with arguments in registers (`arguments.rs`). A continuation
//! takes the value in pc's register and fp as the callee's; a few instructions before it, its *bridge*,
//! make that from what the interpreter's return leaves. One that wants a flonum takes the double, and
//! asks for the flonum in front (`continuations.rs`).
//!
//! **Leaving.** All registers but the thread block's are free; the callee-saved registers of the
//! platform are as they were on entry.
//!
//! Knows nothing of the heap's policy or of the runtime beyond the addresses in [`Environment`].

mod arguments;
mod assembler;
mod compiled;
mod continuations;
mod cut_choice;
mod cuts;
mod descriptors;
mod doubles;
mod error;
mod exits;
mod install;
mod jitdump;
mod joins;
mod liveness;
mod lower;
mod machine;
mod memory;
mod perf_map;
mod places;
pub mod publication;
mod ranges;
mod region;
mod relocation;
mod slots;
mod strip;
mod stubs;
#[cfg(test)]
mod tests;
mod trampoline;
mod values;

pub use compiled::Compiled;
pub use error::JitError;
pub use install::{
    ExitInfo, Installed, InstalledStitches, Link, LinkGoal, ReturnDescriptor, StartEntries,
    StitchedCode,
};
pub use lower::compile;
pub use memory::{CodeMemory, MemoryOptions};
pub use places::{CodePlace, LineOf};
pub use trampoline::{NativeCall, native_call};

/// The instruction set that code may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processor {
    /// Those of the processor that this process runs on.
    #[default]
    Host,
    /// Those of x86-64-v2, which are the same everywhere.
    Baseline,
}

/// Functions and stubs that compiled code calls outside itself, as machine addresses, and options.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Slow stub of the interpreter's `call`.
    pub call_slow_stub: usize,
    /// Slow stub of the interpreter's `tail-call`.
    pub tail_call_slow_stub: usize,
    /// Handler that captures for a call in a loop; its frame is ready.
    pub capture_apart: usize,
    /// `extern "C" fn(thread: *mut u8, bytes: usize) -> usize`: memory for a scannable object of so
    /// many bytes (a multiple of the granule), from a new block if need be; never collects, and asks
    /// for a safepoint instead.
    pub allocate: usize,
    /// `extern "C" fn(thread: *mut u8, bits: u64) -> u64` or `fn(thread: *mut u8, number: f64) -> u64`:
    /// the tagged flonum of a double that does not fit a word; never collects.
    pub box_flonum: usize,
    /// `extern "C" fn(thread: *mut u8, word: u64, word: u64, word: u64) -> u64`, by number: the leaf
    /// functions of `canny_tables::leaves`.
    pub leaves: Vec<usize>,
    /// Whether [`Compiled::disassembly`] gives a listing.
    pub disassembles: bool,
    /// For which processors.
    pub processor: Processor,
    /// Whether code counts its chances to leave down and leaves when there are none left, for tests of
    /// leaving.
    pub leaves_at_random: bool,
}
