//! A stream's notes for the observer of its server, if there is one. They are passed on once, when
//! the stream is dropped at the latest.

use std::net::IpAddr;
use std::sync::Arc;

use crate::server::Common;
use crate::server::observer::{Outcome, Record};

pub(in crate::server) struct Note {
    pub(in crate::server) common: Arc<Common>,
    pub(in crate::server) peer: Option<IpAddr>,
    pub(in crate::server) record: Box<Record>,
    /// Bytes of the response so far; its head counts as it would with HTTP/1.
    pub(in crate::server) sent: u64,
}

impl Note {
    /// The response begins with this head.
    pub(super) fn answer(&mut self, head: &[u8]) {
        if let Some(observer) = &self.common.observer {
            observer.answer(&mut self.record, head, 0);
            self.sent = head.len() as u64;
        }
    }

    pub(super) fn decide(&mut self, outcome: Outcome) {
        self.record.decide(outcome);
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if let Some(observer) = &self.common.observer {
            observer.finish(&self.record, self.peer, self.sent, Outcome::ClientGone);
        }
    }
}
