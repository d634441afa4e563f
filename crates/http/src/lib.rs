//! HTTP/1.1 without Scheme: heads of messages, how long bodies are, chunks, and a server's connections.
//!
//! A head is read strictly: whatever two readers might understand in different ways is refused, since
//! that is how requests are smuggled. Nothing is parsed of a field but what framing needs; the rest is
//! found by [`HeadIndex`] when somebody asks.
//!
//! | module | owns |
//! |---|---|
//! | `head` | the start line and the fields, with limits |
//! | `framing` | where the body ends, whether the connection persists |
//! | `chunked` | the chunked coding, reading and writing |
//! | `proxies` | who is trusted to say for whom it asks, and what it says |
//! | `response` | heads of responses as bytes, status codes, dates |
//! | `server` | sockets that listen, connections, which of them have a request (Linux) |
//! | `websocket` | frames of WebSockets, what they say, what ends a connection |
//!
//! Boundaries, stated as absences: nothing here knows ports, values of Scheme or tasks, and nothing waits.

#![forbid(unsafe_code)]

pub mod chunked;
pub mod date;
pub mod framing;
pub mod head;
pub mod proxies;
pub mod response;
#[cfg(target_os = "linux")]
pub mod server;
pub mod websocket;
