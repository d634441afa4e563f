//! Heap snapshots at the command line.
//!
//! Below: the snapshots of a program that `canny run` runs; one snapshot now, for the prompt; places of
//! allocation; snapshots of a process that runs already; sentences about snapshots; answers about files of
//! them.

mod attach;
pub mod file;
mod now;
mod places;
mod run;
mod says;

pub use self::attach::{AttachWish, attach};
pub use self::now::at_prompt;
pub use self::places::{INTERVAL_BYTES, begin_places};
pub use self::run::{HeapRun, begin};

/// The file of a process if no other one is named.
fn default_file(process: u32) -> std::path::PathBuf {
    format!("canny-{process}.heap").into()
}
