//! Formats of data, without Scheme values: what `lib` makes objects of, or writes objects as.
//!
//! - [`json`]: a reader of JSON that is fed text piece by piece and notes what it saw on a tape.
//! - [`csv`]: the same for rows of fields.
//! - [`base64`]: bytes as text in base 64 and base 16.
//! - [`markup`]: HTML and XML, read into events; what escaping them takes.
//! - [`compression`]: byte devices that compress or decompress what goes through another port.
//!
//! Nothing here recurses along the nesting of its input, and nothing waits: who has no more input says so.

#![forbid(unsafe_code)]

pub mod base64;
pub mod compression;
pub mod csv;
pub mod json;
pub mod markup;
