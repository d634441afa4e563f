//! Reader, syntax objects, source positions, hygienic expander.
//!
//! Source text becomes syntax objects, syntax objects become the core language ([`core`]). This
//! crate knows nothing of bytecode, of the heap and of the file system beyond finding the sources
//! of libraries.
#![forbid(unsafe_code)]

pub mod binding;
pub mod core;
pub mod core_form;
pub mod datum;
mod datum_serialize;
pub mod diagnostic;
pub mod environment;
pub mod expander;
mod foreign_forms;
pub mod foreign_libraries;
pub mod foreign_names;
pub mod interface;
pub mod library;
pub mod library_name;
pub mod macro_definition;
pub mod messages;
pub mod name;
pub mod number;
pub mod pretty;
pub mod print;
pub mod procedural;
pub mod reader;
pub mod recording;
pub mod rules;
pub mod span;
pub mod spelling;
pub mod syntax;
pub mod unexpand;
