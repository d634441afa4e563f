//! TLS over connections: two devices, one for each direction, that share the state of a session and the
//! descriptor of a connection.
//!
//! Cryptography and protocol are those of `rustls`, which does no input or output: here is who carries
//! its bytes. All waits go through `canny_sched`; no lock is held meanwhile.
//!
//! | shared state | touched | condition |
//! |---|---|---|
//! | `Session` | the device of either direction, the handshake | under its lock, and never while waiting |
//!
//! Boundaries, stated as absences: nothing here knows ports, text or Scheme.

#![forbid(unsafe_code)]

mod authorities;
mod connection;
mod context;
mod device;
mod error;
mod layer;
mod session;
#[cfg(test)]
mod tests;

pub use context::{ClientOptions, Identity, TlsContext, Trust};
pub use error::ContextError;
pub use layer::ServerLayer;
pub use session::{Handshake, TlsSession, wrap};
