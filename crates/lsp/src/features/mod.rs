//! The answers of the server, a module for each group of requests. Each is a function of a
//! [`Snapshot`] or a text alone.
//!
//! [`Snapshot`]: crate::snapshot::Snapshot

pub mod actions;
pub mod completion;
pub mod diagnostics;
pub mod formatting;
pub mod hover;
pub mod navigation;
pub mod rename;
pub mod signature;
pub mod structure;
pub mod symbols;
pub mod tokens;
