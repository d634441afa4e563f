//! Opcode, primitive and object-kind rows: the one source of truth of the machine.
//!
//! Encoder, decoder, disassembler, verifier, interpreter handlers, collector and optimizer read
//! these rows; nothing else states an opcode's operands, a primitive's arity or a kind's layout, or a
//! number that Rust and Scheme share.
//! This crate knows nothing of every other crate.
#![forbid(unsafe_code)]

pub mod guest;
pub mod hashing;
pub mod kinds;
pub mod layout;
pub mod leaves;
pub mod opcodes;
pub mod primitives;
pub mod protocols;
pub mod stencils;
