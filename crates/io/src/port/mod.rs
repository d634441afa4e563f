//! Ports: handles with buffers, and for text with a decoder or encoder.
//!
//! A port is plain data used through `&mut`; to share one between threads there is
//! [`SharedPort`](crate::lending::SharedPort).

mod binary_input;
mod binary_output;
mod output_buffer;
mod room;
#[cfg(test)]
mod tests;
mod text_input;
mod text_output;

pub use binary_input::BinaryInput;
pub use binary_output::BinaryOutput;
pub use output_buffer::Buffering;
pub use text_input::TextInput;
pub use text_output::{EncodeOptions, TextOutput};

/// Bytes asked of a handle at once.
const READ_BYTES: usize = 32 * 1024;
