//! Core language to optimized core to bytecode; disassembler and verifier.
//!
//! Knows nothing of the machine beyond the rows of `canny_tables`.
#![forbid(unsafe_code)]

pub mod assemble;
pub(crate) mod assembler;
mod bytes;
pub(crate) mod codegen;
pub mod compile;
pub(crate) mod contify;
pub mod counting;
pub mod disassemble;
pub mod doubts;
pub mod image;
pub mod instruction;
pub(crate) mod ir;
pub(crate) mod literals;
pub mod liveness;
pub(crate) mod lower;
pub mod optimize;
pub(crate) mod parallel_move;
pub mod primitive_code;
mod shadowing;
pub mod unit;
pub(crate) mod variables;
pub mod verifier;
pub(crate) mod walk;

pub use codegen::has_opcode;
