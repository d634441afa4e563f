//! Between a service and what has started it, as systemd does that: sockets that listen already, and notices.
//!
//! The sockets are the descriptors from 3 on. One that was inherited is recognized by that it outlived
//! `exec`: whatever this process opens itself is closed then.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::io::{Errno, FdFlags};

use super::{Address, Socket, local_address};
use crate::{IoError, Operation};

/// The first descriptor that is handed over.
const FIRST: RawFd = 3;

/// `O_CLOEXEC` as `/proc` shows it.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// Whether a descriptor is a socket that the process was started with and that was not taken over.
fn is_inherited_socket(descriptor: RawFd) -> bool {
    let is_socket = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).is_ok_and(|target| {
        target
            .as_os_str()
            .as_encoded_bytes()
            .starts_with(b"socket:")
    });
    let flags = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}"))
        .ok()
        .and_then(|info| {
            let line = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            u32::from_str_radix(line.trim(), 8).ok()
        });
    is_socket && flags.is_some_and(|flags| flags & CLOSE_ON_EXEC == 0)
}

/// Takes over the socket at this place among those that were handed over. It must listen.
pub fn inherited_listener(place: u16) -> Result<Socket, IoError> {
    let number = FIRST + RawFd::from(place);
    let name = format!("descriptor {number}");
    let failed = |errno: Errno| IoError::from_system(Operation::Listen, &name, errno.into());
    if !is_inherited_socket(number) {
        return Err(failed(Errno::BADF));
    }
    #[expect(unsafe_code, reason = "a descriptor comes as a number")]
    // SAFETY: The descriptor is open, and nothing in this process owns it: all that was opened here is closed
    // by `exec`, which this one is not. From here on it is closed by `exec` as well, so that it is taken over
    // once.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&descriptor, FdFlags::CLOEXEC).map_err(failed)?;
    adopt(descriptor, name)
}

/// Takes the socket that is the standard input, which stays what it is. It must listen.
pub fn standard_input_listener() -> Result<Socket, IoError> {
    let name = "standard input".to_owned();
    match rustix::stdio::stdin().try_clone_to_owned() {
        Ok(descriptor) => adopt(descriptor, name),
        Err(error) => Err(IoError::from_system(Operation::Listen, &name, error)),
    }
}

fn adopt(descriptor: OwnedFd, name: String) -> Result<Socket, IoError> {
    let failed = |errno: Errno| IoError::from_system(Operation::Listen, &name, errno.into());
    let set_up = || {
        if !rustix::net::sockopt::socket_acceptconn(&descriptor)? {
            return Err(Errno::INVAL);
        }
        rustix::io::ioctl_fionbio(&descriptor, true)
    };
    set_up().map_err(failed)?;
    let bound = local_address(&descriptor).map_or(name, |address: Address| address.to_string());
    Ok(Socket::new(descriptor, bound))
}

/// Sends a notice to a socket of this machine: the name of a file, or of no file when it begins with `@`.
pub fn send_notice(name: &str, text: &[u8]) -> io::Result<()> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A program that does not read the output of services blocks none of them.
    socket.set_nonblocking(true)?;
    socket.send_to_addr(text, &address).map(|_| ())
}
