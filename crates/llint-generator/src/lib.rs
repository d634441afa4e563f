//! Writes the low-level interpreter's handlers as machine code.
//!
//! Each opcode's handler is written once in a small language over Cranelift's builder ([`dsl`],
//! [`handlers`]), compiled in the tail-calling convention, relieved of the frame that Cranelift always
//! builds on x86-64 ([`strip`]) and put into an object file with its slow stub and the dispatch tables
//! ([`emit`]). The interpreter of WebAssembly guests is made in the same way ([`guest`]). The crate runs
//! when `canny` is built; it knows the tables and nothing of the machine.
#![forbid(unsafe_code)]

mod archive;
mod dsl;
mod emit;
mod guest;
mod handlers;
mod source;
mod stencils;
mod strip;

pub use archive::archive;
pub use emit::{GenerateError, emit_object, stencils};
pub use guest::emit_guest_object;
pub use source::stencil_source;
