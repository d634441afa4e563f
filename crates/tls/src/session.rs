//! A TLS session: the handshake, and the handles for both directions that it ends with.
//!
//! A step of the handshake does not wait: it says which descriptor it needs, and the caller waits
//! for that one.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use canny_io::socket::Socket;
use canny_io::{Access, Handle, IoError, Operation, Wait};
use canny_sched::{Interest, Wake};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use crate::connection::Shared;
use crate::context::TlsContext;
use crate::device::{InputDevice, OutputDevice};

/// A connection over TLS whose handshake is done.
#[derive(Debug)]
pub struct TlsSession {
    pub input: Arc<Handle>,
    pub output: Arc<Handle>,
    /// The protocol inside that both sides agreed on (ALPN).
    pub protocol: Option<String>,
    /// `TLSv1.3`.
    pub version: String,
    /// The certificate of the other side, if it has shown one, in DER form.
    pub peer_certificate: Option<Vec<u8>>,
}

/// A handshake that was begun. [`Handshake::proceed`] may end with `Parked`, `WouldBlock`, `TimedOut`
/// or `Interrupted` and be called again; dropping it ends the connection.
#[derive(Debug)]
pub struct Handshake {
    shared: Arc<Shared>,
    name: Box<str>,
}

impl Handshake {
    /// Takes a connection over, whose own handles must not have been taken. A client names the server
    /// that it wants to talk to.
    pub fn begin(
        socket: &Socket,
        context: &TlsContext,
        server_name: &str,
    ) -> Result<Handshake, IoError> {
        let failed = |error| failed(socket.name(), error);
        let connection = match context {
            TlsContext::Client(config) => {
                let name = ServerName::try_from(server_name.to_owned())
                    .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
                ClientConnection::new(config.clone(), name).map(Connection::from)
            }
            TlsContext::Server(config) => {
                ServerConnection::new(config.clone()).map(Connection::from)
            }
        };
        let connection = connection.map_err(|error| failed(io::Error::other(error)))?;
        Ok(Handshake {
            shared: Arc::new(Shared::new(socket.take_descriptor()?, connection)),
            name: socket.name().into(),
        })
    }

    /// Continues until both sides agree, or as far as it is possible without waiting longer than wanted.
    pub fn proceed(&mut self, wait: Wait<'_>) -> Result<TlsSession, IoError> {
        loop {
            let Some(interest) = self.step()? else {
                return Ok(self.session());
            };
            if wait.is_interrupted() {
                return Err(IoError::Interrupted);
            }
            if matches!(wait, Wait::NonBlocking) {
                return Err(IoError::WouldBlock);
            }
            match canny_sched::wait(&[interest], wait.deadline(), wait.interrupt()) {
                Wake::Ready(_) => {}
                Wake::TimedOut => return Err(IoError::timed_out(Operation::Secure, &self.name)),
                Wake::Interrupted => return Err(IoError::Interrupted),
                Wake::Parked => return Err(IoError::parked(Operation::Secure, &self.name)),
            }
        }
    }

    /// Sends and receives what is possible at once; what is to be waited for, or nothing when the
    /// handshake is done.
    fn step(&self) -> Result<Option<Interest<'_>>, IoError> {
        let failed = |error| failed(&self.name, error);
        let descriptor = self.shared.descriptor.as_fd();
        let mut connection = self.shared.lock();
        loop {
            if !self.shared.send(&mut connection).map_err(failed)? {
                return Ok(Some(Interest::Writable(descriptor)));
            }
            if !connection.is_handshaking() {
                return Ok(None);
            }
            match self.shared.receive(&mut connection) {
                Ok(true) => {}
                Ok(false) if connection.is_handshaking() => {
                    return Err(failed(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(false) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Some(Interest::Readable(descriptor)));
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn session(&self) -> TlsSession {
        let (protocol, version, peer_certificate) = {
            let connection = self.shared.lock();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (
                connection.alpn_protocol().map(text),
                connection
                    .protocol_version()
                    .and_then(|version| version.as_str())
                    .unwrap_or_default()
                    .replace('_', "."),
                connection
                    .peer_certificates()
                    .and_then(|chain| chain.first())
                    .map(|certificate| certificate.to_vec()),
            )
        };
        let input = Box::new(InputDevice::new(self.shared.clone()));
        let output = Box::new(OutputDevice::new(self.shared.clone()));
        TlsSession {
            input: Handle::from_device(input, &self.name, Access::Read),
            output: Handle::from_device(output, &self.name, Access::Write),
            protocol,
            version,
            peer_certificate,
        }
    }
}

/// Makes a session over a connection, which is taken over; see [`Handshake`].
pub fn wrap(
    socket: &Socket,
    context: &TlsContext,
    server_name: &str,
    wait: Wait<'_>,
) -> Result<TlsSession, IoError> {
    Handshake::begin(socket, context, server_name)?.proceed(wait)
}

fn failed(name: &str, error: io::Error) -> IoError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => IoError::Interrupted,
        _ => IoError::from_system(Operation::Secure, name, plain(error)),
    }
}

/// The reason in words for people who do not know the protocol.
fn plain(error: io::Error) -> io::Error {
    use rustls::{CertificateError, Error};
    let kind = error.kind();
    let reason = match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>())
    {
        Some(Error::InvalidCertificate(reason)) => match reason {
            CertificateError::UnknownIssuer => {
                "no trusted authority has signed the certificate".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the certificate is for another name".to_owned()
            }
            reason => format!("the certificate is not accepted: {reason}"),
        },
        Some(Error::AlertReceived(alert)) => format!("the other side refused: {alert:?}"),
        Some(Error::NoCertificatesPresented) => "the other side has no certificate".to_owned(),
        Some(Error::InvalidMessage(_)) => "what came is no TLS".to_owned(),
        Some(reason) => reason.to_string(),
        None if kind == io::ErrorKind::UnexpectedEof => {
            "the other side ended the connection".to_owned()
        }
        None => return error,
    };
    io::Error::new(kind, reason)
}
