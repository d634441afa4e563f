//! Connections of an adapter: to a program on this machine, or to an adapter on another one, which wants
//! to see a token first.

use std::io::{self, BufRead, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use canny_messages::{Incoming, MessageReader, write_message};
use serde_json::{Value as Json, json};

/// Time in which another machine must answer.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The request that shows a token. It is no request of the protocol: adapters use it among themselves.
const TOKEN: &str = "canny.token";

/// A stream in both directions.
pub enum Connection {
    /// To a process of this machine.
    Local(UnixStream),
    /// To another machine.
    Network(TcpStream),
}

impl Connection {
    /// Connects to an adapter that listens at an address, `HOST:PORT`, and shows it the token. The error is
    /// a sentence.
    pub fn to_adapter(address: &str, token: &str) -> Result<Connection, String> {
        let wrong = |error: io::Error| format!("cannot reach {address}: {error}");
        let mut last = None;
        for address in address.to_socket_addrs().map_err(wrong)? {
            match TcpStream::connect_timeout(&address, CONNECT_TIME) {
                Ok(mut stream) => {
                    let request = json!({
                        "seq": 0,
                        "type": "request",
                        "command": TOKEN,
                        "arguments": {"token": token},
                    });
                    write_message(&mut stream, &request).map_err(wrong)?;
                    return Ok(Connection::Network(stream));
                }
                Err(error) => last = Some(error),
            }
        }
        let error = last.map_or_else(|| "there is no such host".to_owned(), |one| one.to_string());
        Err(format!("cannot reach {address}: {error}"))
    }

    /// Another handle of it.
    ///
    /// # Errors
    /// The system has no more handles.
    pub fn try_clone(&self) -> io::Result<Connection> {
        Ok(match self {
            Connection::Local(stream) => Connection::Local(stream.try_clone()?),
            Connection::Network(stream) => Connection::Network(stream.try_clone()?),
        })
    }

    /// Ends it in both directions.
    pub fn shut_down(&self) {
        let _ = match self {
            Connection::Local(stream) => stream.shutdown(Shutdown::Both),
            Connection::Network(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Connection {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Local(stream) => stream.read(bytes),
            Connection::Network(stream) => stream.read(bytes),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Local(stream) => stream.write(bytes),
            Connection::Network(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Connection::Local(stream) => stream.flush(),
            Connection::Network(stream) => stream.flush(),
        }
    }
}

/// Whether the first message on a stream shows a token.
///
/// # Errors
/// The stream fails.
pub fn shows_token(input: &mut impl BufRead, token: &str) -> io::Result<bool> {
    let first = MessageReader::new(input).read()?;
    let Some(Incoming::Message(message)) = first else {
        return Ok(false);
    };
    let shown = match &message["arguments"]["token"] {
        Json::String(shown) if message["command"] == TOKEN => shown.as_bytes(),
        _ => return Ok(false),
    };
    // The time does not depend on how much of it is right.
    let expected = token.as_bytes();
    let pairs = shown.iter().zip(expected);
    let difference = pairs.fold(0, |sum, (one, other)| sum | (one ^ other));
    Ok(shown.len() == expected.len() && difference == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_a_token() {
        let shows = |message: Json| {
            let mut bytes = Vec::new();
            write_message(&mut bytes, &message).expect("memory");
            shows_token(&mut bytes.as_slice(), "abc").expect("memory")
        };
        let request = |command: &str, token: Json| {
            let arguments = json!({"token": token});
            json!({"type": "request", "command": command, "arguments": arguments})
        };
        assert!(shows(request(TOKEN, "abc".into())));
        for wrong in ["", "ab", "abd", "abcd"] {
            assert!(!shows(request(TOKEN, wrong.into())), "{wrong}");
        }
        assert!(!shows(request(TOKEN, 5.into())));
        assert!(!shows(request("initialize", "abc".into())));
        for mut other in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b""] {
            assert!(!shows_token(&mut other, "abc").expect("memory"));
        }
    }
}
