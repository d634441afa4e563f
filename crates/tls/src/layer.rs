//! A server's side of a session for who polls many connections: no handles, no locks, no waits.
//!
//! A caller that has read less than there was room for must try again until nothing comes: what arrived
//! may still be here.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;

use rustls::ServerConnection;

use crate::connection::Carrier;
use crate::context::TlsContext;
use crate::error::ContextError;

/// The session of a connection.
#[derive(Debug)]
pub struct ServerLayer {
    connection: ServerConnection,
}

impl ServerLayer {
    /// A session that begins with the handshake. The context must be a server's.
    pub fn new(context: &TlsContext) -> Result<ServerLayer, ContextError> {
        let TlsContext::Server(config) = context else {
            return Err(ContextError::new("the context is a client's", ""));
        };
        match ServerConnection::new(config.clone()) {
            Ok(connection) => Ok(ServerLayer { connection }),
            Err(error) => Err(ContextError::new(&error.to_string(), "")),
        }
    }

    /// Sends what the session has to send; whether that was everything.
    pub fn flush(&mut self, descriptor: BorrowedFd<'_>) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Carrier(descriptor)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads what was said inside of the session; 0 is the end.
    pub fn receive(&mut self, descriptor: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                // Without a farewell somebody may have cut the connection: no more is believed.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            self.flush(descriptor)?;
            if self.connection.read_tls(&mut Carrier(descriptor))? == 0 {
                return Ok(0);
            }
            if let Err(error) = self.connection.process_new_packets() {
                // The other side gets an alert, if it still listens.
                let _ = self.flush(descriptor);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
            self.flush(descriptor)?;
        }
    }

    /// Takes bytes to be said inside of the session, if those before are out.
    pub fn send(&mut self, descriptor: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        if !self.flush(descriptor)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.connection.writer().write(bytes)?;
        self.flush(descriptor)?;
        Ok(count)
    }

    /// Says that nothing follows.
    pub fn say_farewell(&mut self, descriptor: BorrowedFd<'_>) {
        self.connection.send_close_notify();
        // A peer that does not take it does not wait for it.
        let _ = self.flush(descriptor);
    }

    /// The protocol inside that both sides agreed on (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }
}
