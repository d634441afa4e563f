//! The table of open connections, and what names a connection or a request outside of the server.
//!
//! A [`ConnectionId`] has the generation of its slot, which changes when the connection ends. So an
//! identifier that is used too late finds nothing, though another connection may have the slot. A
//! [`RequestId`] is checked in the same way by its connection, which compares the serial number. The
//! table knows nothing of what connections do.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::connection::Connection;

const GENERATION_BITS: u32 = 28;

/// Names a connection while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    slot: u32,
    generation: u32,
}

impl ConnectionId {
    /// A number of 60 bits that stands for the connection.
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// The connection with a number.
    pub fn with_number(number: u64) -> ConnectionId {
        ConnectionId {
            slot: number as u32,
            generation: (number >> 32) as u32,
        }
    }
}

/// Names a request until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId {
    /// The connection over which it came.
    pub connection: ConnectionId,
    /// The number of the request on its connection; with HTTP/2 the number of its stream.
    pub serial: u32,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Arc<Connection>>,
}

#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// How many connections an address of the Internet has.
    pub(super) clients: HashMap<IpAddr, usize>,
}

impl Slots {
    pub(super) fn insert(
        &mut self,
        make: impl FnOnce(ConnectionId) -> Connection,
    ) -> Arc<Connection> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let connection = Arc::new(make(ConnectionId {
            slot: index,
            generation: slot.generation,
        }));
        slot.connection = Some(connection.clone());
        connection
    }

    pub(super) fn find(&self, id: ConnectionId) -> Option<&Arc<Connection>> {
        let slot = self.slots.get(id.slot as usize)?;
        slot.connection
            .as_ref()
            .filter(|_| slot.generation == id.generation)
    }

    pub(super) fn remove(&mut self, id: ConnectionId) -> bool {
        if self.find(id).is_none() {
            return false;
        }
        let slot = &mut self.slots[id.slot as usize];
        slot.connection = None;
        slot.generation = (slot.generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free.push(id.slot);
        true
    }

    /// All that are open.
    pub(super) fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.slots
            .iter()
            .filter_map(|slot| slot.connection.as_ref())
    }
}
