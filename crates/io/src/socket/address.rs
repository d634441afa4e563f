//! Addresses of sockets as values: IP address and port, or a name of a Unix socket.
//!
//! The text that an address prints as parses back to the same address. Names are not resolved here:
//! `inet` takes numeric addresses only. System structures of addresses do not leave this module.

use std::ffi::OsStr;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use canny_replay::{Answer, Kind, Reading};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrAny, SocketAddrUnix};

/// The address of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a port.
    Inet(SocketAddr),
    /// A name on this machine.
    Unix(UnixName),
}

/// The name of a socket of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnixName {
    /// A file.
    Path(PathBuf),
    /// A name of Linux that no file has.
    Abstract(Vec<u8>),
    /// Nothing: the usual case for who connects.
    None,
}

impl Address {
    /// An IP address in text, and a port.
    pub fn inet(host: &str, port: u16) -> Option<Address> {
        let host: IpAddr = host.parse().ok()?;
        Some(Address::Inet(SocketAddr::new(host, port)))
    }

    pub(super) fn family(&self) -> AddressFamily {
        match self {
            Address::Inet(SocketAddr::V4(_)) => AddressFamily::INET,
            Address::Inet(SocketAddr::V6(_)) => AddressFamily::INET6,
            Address::Unix(_) => AddressFamily::UNIX,
        }
    }

    pub(super) fn from_any(any: &SocketAddrAny) -> Option<Address> {
        if let Ok(address) = SocketAddr::try_from(any.clone()) {
            return Some(Address::Inet(address));
        }
        let address = SocketAddrUnix::try_from(any.clone()).ok()?;
        let name = if let Some(path) = address.path_bytes() {
            UnixName::Path(PathBuf::from(OsStr::from_bytes(path)))
        } else {
            abstract_name(&address)
        };
        Some(Address::Unix(name))
    }

    pub(super) fn bind(&self, descriptor: impl AsFd) -> rustix::io::Result<()> {
        canny_replay::ask(Kind::Socket, || match self {
            Address::Inet(address) => rustix::net::bind(descriptor, address),
            Address::Unix(name) => rustix::net::bind(descriptor, &name.encoded()?),
        })
    }

    pub(super) fn connect(&self, descriptor: BorrowedFd<'_>) -> rustix::io::Result<()> {
        canny_replay::ask(Kind::Socket, || match self {
            Address::Inet(address) => rustix::net::connect(descriptor, address),
            Address::Unix(name) => rustix::net::connect(descriptor, &name.encoded()?),
        })
    }

    pub(super) fn send_to(
        &self,
        descriptor: BorrowedFd<'_>,
        bytes: &[u8],
        flags: SendFlags,
    ) -> rustix::io::Result<usize> {
        match self {
            Address::Inet(address) => rustix::net::sendto(descriptor, bytes, flags, address),
            Address::Unix(name) => rustix::net::sendto(descriptor, bytes, flags, &name.encoded()?),
        }
    }
}

#[cfg(target_os = "linux")]
fn abstract_name(address: &SocketAddrUnix) -> UnixName {
    match address.abstract_name() {
        Some(name) if !name.is_empty() => UnixName::Abstract(name.to_vec()),
        _ => UnixName::None,
    }
}

#[cfg(not(target_os = "linux"))]
fn abstract_name(_: &SocketAddrUnix) -> UnixName {
    UnixName::None
}

impl Answer for Address {
    fn write(&self, bytes: &mut Vec<u8>) {
        let (kind, text) = match self {
            Address::Inet(address) => (0u8, address.to_string().into_bytes()),
            Address::Unix(UnixName::Path(path)) => (1, path.as_os_str().as_bytes().to_vec()),
            Address::Unix(UnixName::Abstract(name)) => (2, name.clone()),
            Address::Unix(UnixName::None) => (3, Vec::new()),
        };
        (kind, text).write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Address> {
        let (kind, text) = <(u8, Vec<u8>)>::read(bytes)?;
        Some(match kind {
            0 => Address::Inet(String::from_utf8(text).ok()?.parse().ok()?),
            1 => Address::Unix(UnixName::Path(PathBuf::from(OsStr::from_bytes(&text)))),
            2 => Address::Unix(UnixName::Abstract(text)),
            _ => Address::Unix(UnixName::None),
        })
    }
}

impl UnixName {
    fn encoded(&self) -> rustix::io::Result<SocketAddrUnix> {
        match self {
            UnixName::Path(path) => SocketAddrUnix::new(path),
            #[cfg(target_os = "linux")]
            UnixName::Abstract(name) => SocketAddrUnix::new_abstract_name(name),
            #[cfg(not(target_os = "linux"))]
            UnixName::Abstract(_) => Err(Errno::AFNOSUPPORT),
            UnixName::None => Err(Errno::INVAL),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Inet(address) => address.fmt(formatter),
            Address::Unix(UnixName::Path(path)) => {
                let here = if path.as_os_str().as_bytes().starts_with(b"@") {
                    "./"
                } else {
                    ""
                };
                write!(formatter, "unix:{here}{}", path.display())
            }
            Address::Unix(UnixName::Abstract(name)) => {
                write!(formatter, "unix:@{}", String::from_utf8_lossy(name))
            }
            Address::Unix(UnixName::None) => formatter.write_str("unix:"),
        }
    }
}

/// A text that is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddress;

impl FromStr for Address {
    type Err = NoAddress;

    /// The inverse of the text that an address is shown as.
    fn from_str(text: &str) -> Result<Address, NoAddress> {
        let Some(name) = text.strip_prefix("unix:") else {
            return text.parse().map(Address::Inet).map_err(|_| NoAddress);
        };
        if name.contains('\0') {
            return Err(NoAddress);
        }
        Ok(Address::Unix(match name.strip_prefix('@') {
            Some(name) => UnixName::Abstract(name.as_bytes().to_vec()),
            None if name.is_empty() => UnixName::None,
            None => UnixName::Path(PathBuf::from(name)),
        }))
    }
}
