//! The library: primitives in Rust, and the libraries in Scheme that are built on them.
//!
//! [`primitive_table`] is what a machine is made with. Primitives are grouped as their rows are; what
//! several groups need (arguments, lists, text, equality) has modules of its own. Primitives are
//! first-order: none calls a procedure.
//!
//! Rules for values in Rust code: a [`Value`](canny_value::Value) in a local variable survives a
//! collection, one in a Rust collection does not; no slice of an object's content is kept across an
//! allocation.

#![forbid(unsafe_code)]

mod arguments;
pub mod ask;
mod cache;
mod character_facts;
pub mod debug;
mod decimal;
mod equality;
pub mod evaluation;
pub mod failure;
pub mod features;
pub mod guest_libraries;
mod hash_table;
pub mod host;
mod leaves;
mod library_loader;
mod library_units;
mod list;
mod macros;
mod misplaced;
mod outside;
mod primitives;
pub mod printer;
pub(crate) mod public_names;
pub mod recorder;
pub mod snapshots;
#[cfg(test)]
mod testing;
mod text;
mod uncaught;
mod unicode;

pub use cache::profiles::ProfileFile;
pub use canny_compiler::optimize::Switches;
pub use evaluation::{Evaluation, EvaluationConfig};
pub use host::{finish_output, open_standard_ports};
pub use leaves::leaf_table;
pub use primitives::evaluation::bytecode_text;
pub use primitives::primitive_table;
pub use uncaught::{Report, Uncaught};
