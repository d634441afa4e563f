//! Heap snapshots at the command line.
//!
//! Below: the options of `canny run` and the snapshots of its program; one snapshot now, for the
//! prompt; snapshots of a process that runs already; sentences about snapshots;
//! what files of snapshots say.

mod attach;
pub mod file;
mod now;
mod run;
mod says;
mod wish;

pub use self::attach::{AttachWish, attach};
pub use self::now::at_prompt;
pub use self::run::begin;
pub use self::wish::{HeapWish, ROWS, is_heap_option};

/// The file of a process if no other one is named.
fn default_file(process: u32) -> std::path::PathBuf {
    format!("canny-{process}.heap").into()
}
