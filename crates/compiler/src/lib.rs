//! Core language to optimized core to bytecode; disassembler and verifier.
//!
//! Knows nothing of the machine beyond the rows of `canny_tables`.
#![forbid(unsafe_code)]

pub mod instruction;
pub mod liveness;
pub mod unit;
