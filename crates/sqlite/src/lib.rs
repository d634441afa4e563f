//! SQLite databases: connections with their prepared statements and cursors, without Scheme values.
//!
//! - [`Connection`]: opening, running statements, cursors, copies of whole databases, parts of blobs.
//! - [`Parameters`] and [`Tape`]: what goes in and what comes out, as plain Rust data.
//! - [`Failure`]: what SQLite or the binding of arguments refused.
//!
//! SQLite is compiled into the binary. It is used without its own locks: whoever has a [`Connection`]
//! has it alone, and the only thing that others may do to it is to interrupt what it runs, by its
//! [`Interrupter`].
//!
//! A statement may take microseconds or minutes, and nobody can tell beforehand. The caller's [`Watch`]
//! is notified as soon as it turns out long, and asked now and then whether to stop.
//!
//! All unsafe code is in `raw`.

mod blob;
mod cache;
mod connection;
mod failure;
mod interrupter;
mod raw;
mod tape;
#[cfg(test)]
mod tests;

pub use blob::BlobPlace;
pub use connection::{Connection, CursorNumber, Request, Rows};
pub use failure::Failure;
pub use interrupter::Interrupter;
pub use raw::{OpenMode, Watch, version};
pub use tape::{Cell, Parameter, Parameters, Tape};
