//! The bottom of Canny's ports: byte handles, streaming decoders and encoders, and the buffered text
//! and binary ports made of them.
//!
//! ```text
//!   TextInput  = StreamingDecoder (Decoder + TextWindow) ← Handle        BinaryInput  = buffer ← Handle
//!   TextOutput = Encoder → OutputBuffer → Handle                         BinaryOutput = OutputBuffer → Handle
//! ```
//!
//! Boundaries, stated as absences:
//! - Nothing here knows of Scheme values, of the heap or of the scheduler.
//! - A [`Handle`] knows nothing of characters; a decoder knows nothing of where its bytes come from.
//! - Processes are started, signalled and waited for; handles carry the bytes of their pipes.
//! - No handle and no port is bound to a thread. A shared port may be lent to one ([`lending`]), for
//!   who generates code.
//!
//! The invariant the callers build on: **an operation completes or has no effect**. A read that
//! returns [`IoError::Interrupted`] or [`IoError::WouldBlock`] has consumed nothing (what arrived stays
//! buffered), and a write that returns one of them has accepted nothing, so the caller may run other
//! code and simply repeat the operation. Each operation that might have to wait says how by a [`Wait`].

#![deny(unsafe_code)]

pub mod allocator;
pub mod answer;
mod decoder;
pub mod encoding;
pub mod error;
pub mod exchange;
pub mod file;
pub mod handle;
pub mod lending;
pub mod line_separator;
pub mod memory;
pub mod port;
pub mod process;
pub mod registry;
pub mod socket;
pub mod text;
pub mod wait;
mod window;

pub use decoder::{DecodeOptions, Progress, Pull, StreamingDecoder};
pub use encoding::{ByteOrderMark, CodingPolicy, Encoding};
pub use error::{IoError, Operation, Service};
pub use file::OutputMode;
pub use handle::{Access, Awaited, ByteDevice, FileLock, Handle, Pending};
pub use lending::{Borrower, Lender, Lent, Loan, SharedPort};
pub use line_separator::LineSeparator;
pub use port::{BinaryInput, BinaryOutput, Buffering, TextInput, TextOutput};
pub use registry::{finish_all, flush_all};
pub use text::{Text, Width};
pub use wait::Wait;
pub use window::Location;
