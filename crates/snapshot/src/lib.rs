//! Heap snapshots: which objects a program has, and what keeps them alive.
//!
//! The crate is data, a format and analysis. It knows nothing of the virtual machine whose heap a
//! snapshot shows, and nothing of the command line that asks questions.
//!
//! A machine describes its heap to a [`file::Writer`], node after node. A tool opens a
//! [`heap::Series`] and reads a [`heap::Heap`] of it.
//! `docs/heap-snapshot-format.md` describes the file.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod answers;
pub mod export;
pub mod expression;
pub mod file;
pub mod heap;
pub mod page;
pub mod text;
