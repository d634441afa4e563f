//! The file of a profile: lines of JSON, perhaps compressed. `docs/profile-format.md` describes it.
//!
//! [`Writer`] writes as a program runs, so that a killed program leaves a readable file. [`read`]
//! takes any bytes: it answers a profile whose references are valid, or an [`Error`] that names the
//! line. Memory for reading is limited by a multiple of the input's size, compressed or not.

mod compressed;
mod error;
mod lines;
mod reader;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub use compressed::{Compressed, gunzip, gzip, is_compressed};
pub use error::{Error, Problem};
pub use reader::read;
pub use writer::{Writer, write};
