//! Heap snapshots at the command line.
//!
//! Below: the snapshots of a program that `canny run` runs; one snapshot now, for the prompt; snapshots of
//! a process that runs already; sentences about snapshots; answers about files of them.

mod attach;
pub mod file;
mod now;
mod run;
mod says;

pub use self::attach::{AttachWish, attach};
pub use self::now::at_prompt;
pub use self::run::begin;

/// The file of a process if no other one is named.
fn default_file(process: u32) -> std::path::PathBuf {
    format!("canny-{process}.heap").into()
}
