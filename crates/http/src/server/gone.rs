//! Clients that have gone while their requests are handled.
//!
//! A connection over which nothing can come any more says so by an event; so does one whose client has
//! ended only its own direction, and may still read. The two cannot be distinguished before something
//! is written, so that the asking task waits a while between two looks.

use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

use super::connection::Connection;
use super::http2::Http2;
use super::{RequestId, Server};

impl Server {
    /// Whether the client of a request has gone, or the request is over.
    pub fn is_gone(&self, id: RequestId) -> bool {
        let Some(connection) = self.find(id.connection) else {
            return true;
        };
        match connection.http2() {
            Some(http2) => http2.is_gone(id.serial),
            None => connection.is_gone(id.serial),
        }
    }
}

impl Connection {
    fn is_gone(&self, serial: u32) -> bool {
        self.has_ended.load(Ordering::SeqCst) && self.is_at(serial)
    }
}

impl Http2 {
    fn is_gone(&self, serial: u32) -> bool {
        let mut inner = self.inner.lock();
        if inner.is_ended() {
            return true;
        }
        let Some(exchange) = inner.handled(serial) else {
            return true;
        };
        // A task that waits for the stream is woken by this as before.
        let signal = Waker::from(exchange.signal());
        exchange.is_reset(&mut Context::from_waker(&signal))
    }
}
