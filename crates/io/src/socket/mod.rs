//! Sockets: connections, what listens for them, and datagrams, over IP and in the file system.
//!
//! A connection is used through two handles, one for each direction, which share the descriptor: closing the
//! one for output shows the other side that nothing follows, closing both frees the descriptor. The
//! [`Socket`] itself stays good for its addresses and options as long as one of them is open.
//!
//! All descriptors are non-blocking. A wait goes through `canny_sched`, without a lock.
//!
//! | field | touched | condition |
//! |---|---|---|
//! | `name` | read by anyone | fixed at creation |
//! | `held` | any operation | under its lock, and never while waiting |
//! | `closed` | any operation | given by `close` |

mod address;
mod connect;
mod options;
mod resolve;
mod service;
#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use canny_locks::{Mutex, MutexGuard};
use canny_replay::Kind;
use canny_sched::{Interest, Notice, Wake};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::error::{IoError, Operation};
use crate::handle::{Access, Handle};
use crate::wait::Wait;

pub use address::{Address, NoAddress, UnixName};
pub use connect::Connecting;
pub use options::{OptionName, OptionValue};
pub use resolve::{Family, Resolving, resolve};
pub use rustix::net::Shutdown;
pub use service::{inherited_listener, send_notice, standard_input_listener};

/// The greatest datagram that there is.
pub const DATAGRAM_BYTES_MAX: usize = 65_535;

/// An open, or no longer open, socket.
#[derive(Debug)]
pub struct Socket {
    name: Box<str>,
    held: Mutex<Held>,
    closed: Notice,
}

#[derive(Debug)]
enum Held {
    Own(Arc<OwnedFd>),
    /// The handles of the connection have it, those of [`Socket::handles`] unless it was taken without them.
    Lent(Weak<OwnedFd>, Option<[Weak<Handle>; 2]>),
    Closed,
}

/// The options of a new listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    /// Connections that wait to be accepted.
    pub backlog: u32,
    /// An address whose last connections have just ended may be used again.
    pub reuses_address: bool,
    /// Several listeners share the address, and the system divides the connections.
    pub reuses_port: bool,
    /// IPv6 only, where the system would take IPv4 too.
    pub ipv6_only: bool,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: 1024,
            reuses_address: true,
            reuses_port: false,
            ipv6_only: false,
        }
    }
}

/// A datagram as it arrived.
#[derive(Debug)]
pub struct Datagram {
    pub bytes: Vec<u8>,
    /// `None` if the sender has no address.
    pub sender: Option<Address>,
    /// It was longer than there was room for, and its end is lost.
    pub truncated: bool,
}

impl Socket {
    fn new(descriptor: OwnedFd, name: String) -> Socket {
        Socket {
            name: name.into(),
            held: Mutex::new(Held::Own(Arc::new(descriptor))),
            closed: Notice::new(),
        }
    }

    /// A connection to the first of these addresses that takes one; see [`Connecting`].
    pub fn connect(
        addresses: &[Address],
        local: Option<&Address>,
        wait: Wait<'_>,
    ) -> Result<Socket, IoError> {
        Connecting::new(addresses.to_vec(), local.cloned()).proceed(wait)
    }

    /// Listens for connections at an address. Port 0 takes any that is free.
    pub fn listen(address: &Address, options: ListenOptions) -> Result<Socket, IoError> {
        let name = address.to_string();
        let failed = |errno: Errno| IoError::from_system(Operation::Listen, &name, errno.into());
        let descriptor = open(address.family(), SocketType::STREAM).map_err(failed)?;
        let set_up = || -> rustix::io::Result<()> {
            use rustix::net::sockopt;
            if matches!(address, Address::Inet(_)) {
                sockopt::set_socket_reuseaddr(&descriptor, options.reuses_address)?;
                sockopt::set_socket_reuseport(&descriptor, options.reuses_port)?;
            }
            if address.family() == AddressFamily::INET6 {
                sockopt::set_ipv6_v6only(&descriptor, options.ipv6_only)?;
            }
            address.bind(&descriptor)?;
            let backlog = i32::try_from(options.backlog).unwrap_or(i32::MAX);
            rustix::net::listen(&descriptor, backlog)
        };
        canny_replay::ask(Kind::Socket, set_up).map_err(failed)?;
        let bound = local_address(&descriptor).unwrap_or_else(|| address.clone());
        Ok(Socket::new(descriptor, bound.to_string()))
    }

    /// The next connection.
    pub fn accept(&self, wait: Wait<'_>) -> Result<Socket, IoError> {
        let (descriptor, peer) = self.attempt(Operation::Accept, wait, |descriptor| {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let mut peer = None;
            let accepted = canny_replay::ask_for_descriptor(Kind::Connection, || {
                let (accepted, address) = rustix::net::acceptfrom_with(descriptor, flags)?;
                peer = address.and_then(|address| Address::from_any(&address));
                Ok(accepted)
            });
            match accepted {
                // It was abandoned while it waited; there may be another one.
                Err(Errno::CONNABORTED) => Err(Errno::INTR),
                Err(errno) => Err(errno),
                Ok(accepted) => Ok((accepted, canny_replay::ask(Kind::Connection, || peer))),
            }
        })?;
        let name = peer.map_or_else(|| self.name.to_string(), |peer| peer.to_string());
        Ok(Socket::new(descriptor, name))
    }

    /// A socket for datagrams, bound to an address if there is one.
    pub fn datagram(family: Family, local: Option<&Address>) -> Result<Socket, IoError> {
        let name = local.map_or_else(|| "datagram socket".to_owned(), Address::to_string);
        let failed = |errno: Errno| IoError::from_system(Operation::Listen, &name, errno.into());
        let family = match local {
            Some(address) => address.family(),
            None if family == Family::Inet6 => AddressFamily::INET6,
            None => AddressFamily::INET,
        };
        let descriptor = open(family, SocketType::DGRAM).map_err(failed)?;
        if let Some(address) = local {
            address.bind(&descriptor).map_err(failed)?;
        }
        let bound = local_address(&descriptor).filter(|_| local.is_some());
        let name = bound.map_or(name, |bound| bound.to_string());
        Ok(Socket::new(descriptor, name))
    }

    /// Sends a datagram whole, to an address or to where the socket is connected.
    pub fn send(
        &self,
        bytes: &[u8],
        target: Option<&Address>,
        wait: Wait<'_>,
    ) -> Result<usize, IoError> {
        self.attempt(Operation::Send, wait, |descriptor| {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            canny_replay::ask_to_write(Kind::Write, bytes, |bytes| match target {
                Some(target) => target.send_to(descriptor, bytes, flags),
                None => rustix::net::send(descriptor, bytes, flags),
            })
        })
    }

    /// The next datagram, of which at most so many bytes are kept; of a connection, the next bytes.
    pub fn receive(&self, bytes_max: usize, wait: Wait<'_>) -> Result<Datagram, IoError> {
        let mut buffer = vec![0; bytes_max.min(DATAGRAM_BYTES_MAX)];
        let (count, length, sender) = self.attempt(Operation::Receive, wait, |descriptor| {
            let (mut length, mut sender) = (0, None);
            let count = canny_replay::ask_for_bytes(Kind::Read, &mut buffer, |buffer| {
                let flags = match rustix::net::sockopt::socket_type(descriptor)? {
                    SocketType::DGRAM => RecvFlags::DONTWAIT | RecvFlags::TRUNC,
                    // Bytes of a connection that do not fit wait for the next time; with that flag they
                    // would be lost.
                    _ => RecvFlags::DONTWAIT,
                };
                let received = rustix::net::recvfrom(descriptor, &mut *buffer, flags)?;
                length = received.1;
                sender = received.2.and_then(|sender| Address::from_any(&sender));
                Ok::<usize, Errno>(received.0)
            })?;
            let (length, sender) = canny_replay::ask(Kind::Connection, || (length, sender));
            Ok((count, length, sender))
        })?;
        buffer.truncate(count);
        Ok(Datagram {
            bytes: buffer,
            sender,
            truncated: length > count,
        })
    }

    /// Fixes where datagrams go to and come from.
    pub fn connect_datagrams(&self, target: &Address) -> Result<(), IoError> {
        self.configure(Operation::Connect, |descriptor| target.connect(descriptor))
    }

    /// The handles of a connection: input and output. They take the descriptor over.
    pub fn handles(&self) -> Result<(Arc<Handle>, Arc<Handle>), IoError> {
        let descriptor = self.take_descriptor()?;
        let input = Handle::from_socket(descriptor.clone(), &self.name, Access::Read);
        let output = Handle::from_socket(descriptor.clone(), &self.name, Access::Write);
        let handles = [&input, &output].map(Arc::downgrade);
        *self.lock() = Held::Lent(Arc::downgrade(&descriptor), Some(handles));
        Ok((input, output))
    }

    /// Takes the descriptor of an open connection from its handles, which are closed from here on, for
    /// the code that continues with it in another way. The other side does not notice.
    pub fn take_back(&self) -> Result<(), IoError> {
        let mut held = self.lock();
        let closed = || IoError::closed(Operation::Secure, &self.name);
        match &*held {
            Held::Own(_) => Ok(()),
            Held::Lent(descriptor, Some(handles)) => {
                let descriptor = descriptor.upgrade().ok_or_else(closed)?;
                let [input, output] = handles.each_ref().map(Weak::upgrade);
                let (Some(input), Some(output)) = (input, output) else {
                    return Err(closed());
                };
                if input.is_closed() || output.is_closed() {
                    return Err(closed());
                }
                input.detach();
                output.detach();
                *held = Held::Own(descriptor);
                Ok(())
            }
            Held::Lent(_, None) | Held::Closed => Err(closed()),
        }
    }

    /// The descriptor, for who makes the handles of a connection.
    pub fn take_descriptor(&self) -> Result<Arc<OwnedFd>, IoError> {
        let mut held = self.lock();
        let Held::Own(descriptor) = std::mem::replace(&mut *held, Held::Closed) else {
            return Err(IoError::closed(Operation::Configure, &self.name));
        };
        *held = Held::Lent(Arc::downgrade(&descriptor), None);
        Ok(descriptor)
    }

    /// Another socket object over the same socket.
    pub fn copy(&self) -> Result<Socket, IoError> {
        Ok(Socket::new(self.duplicate()?, self.name.to_string()))
    }

    /// Another descriptor for the same socket.
    pub fn duplicate(&self) -> Result<OwnedFd, IoError> {
        let descriptor = self.descriptor(Operation::Configure)?;
        let copy = descriptor.as_fd().try_clone_to_owned();
        copy.map_err(|error| IoError::from_system(Operation::Configure, &self.name, error))
    }

    /// Ends a direction of a connection, or both.
    pub fn shut_down(&self, direction: Shutdown) -> Result<(), IoError> {
        self.configure(Operation::Close, |descriptor| {
            let outcome = canny_replay::ask(Kind::Socket, || {
                rustix::net::shutdown(descriptor, direction)
            });
            match outcome {
                // The other side was faster.
                Err(Errno::NOTCONN) => Ok(()),
                outcome => outcome,
            }
        })
    }

    /// The address of this side.
    pub fn local_address(&self) -> Result<Option<Address>, IoError> {
        let descriptor = self.descriptor(Operation::Configure)?;
        Ok(local_address(&descriptor))
    }

    /// The address of the other side, if there is one.
    pub fn peer_address(&self) -> Result<Option<Address>, IoError> {
        let descriptor = self.descriptor(Operation::Configure)?;
        Ok(canny_replay::ask(Kind::Connection, || {
            let peer = rustix::net::getpeername(&descriptor).ok().flatten();
            peer.and_then(|peer| Address::from_any(&peer))
        }))
    }

    /// The value of an option.
    pub fn option(&self, name: OptionName) -> Result<OptionValue, IoError> {
        self.configure(Operation::Configure, |descriptor| {
            canny_replay::ask(Kind::Socket, || name.get(descriptor))
        })
    }

    /// Sets an option.
    pub fn set_option(&self, name: OptionName, value: OptionValue) -> Result<(), IoError> {
        self.configure(Operation::Configure, |descriptor| {
            canny_replay::ask(Kind::Socket, || name.set(descriptor, value))
        })
    }

    /// Receives what is sent to a group of this address too, or no longer.
    pub fn set_membership(&self, group: std::net::IpAddr, is_member: bool) -> Result<(), IoError> {
        use rustix::net::sockopt;
        self.configure(Operation::Configure, |descriptor| {
            canny_replay::ask(Kind::Socket, || match (group, is_member) {
                (std::net::IpAddr::V4(group), true) => {
                    let any = std::net::Ipv4Addr::UNSPECIFIED;
                    sockopt::set_ip_add_membership(descriptor, &group, &any)
                }
                (std::net::IpAddr::V4(group), false) => {
                    let any = std::net::Ipv4Addr::UNSPECIFIED;
                    sockopt::set_ip_drop_membership(descriptor, &group, &any)
                }
                (std::net::IpAddr::V6(group), true) => {
                    sockopt::set_ipv6_add_membership(descriptor, &group, 0)
                }
                (std::net::IpAddr::V6(group), false) => {
                    sockopt::set_ipv6_drop_membership(descriptor, &group, 0)
                }
            })
        })
    }

    /// The other side's address, or the own one of what listens: for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Nothing can be done with the socket or its handles any more.
    pub fn is_closed(&self) -> bool {
        match &*self.lock() {
            Held::Own(_) => false,
            Held::Lent(descriptor, _) => descriptor.strong_count() == 0,
            Held::Closed => true,
        }
    }

    /// Closes the socket; the handles of a connection are closed by themselves. Closing twice is no
    /// error. Operations that wait in other threads end with [`IoError::Closed`].
    pub fn close(&self) {
        let held = std::mem::replace(&mut *self.lock(), Held::Closed);
        self.closed.give();
        drop(held);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }

    fn descriptor(&self, operation: Operation) -> Result<Arc<OwnedFd>, IoError> {
        match &*self.lock() {
            Held::Own(descriptor) => Some(descriptor.clone()),
            Held::Lent(descriptor, _) => descriptor.upgrade(),
            Held::Closed => None,
        }
        .ok_or_else(|| IoError::closed(operation, &self.name))
    }

    /// Does what never waits.
    fn configure<R>(
        &self,
        operation: Operation,
        work: impl FnOnce(BorrowedFd<'_>) -> rustix::io::Result<R>,
    ) -> Result<R, IoError> {
        let descriptor = self.descriptor(operation)?;
        work(descriptor.as_fd())
            .map_err(|errno| IoError::from_system(operation, &self.name, errno.into()))
    }

    /// Repeats `attempt` until it is neither interrupted nor would block, or until the caller's
    /// patience ends.
    fn attempt<R>(
        &self,
        operation: Operation,
        wait: Wait<'_>,
        mut attempt: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<R>,
    ) -> Result<R, IoError> {
        loop {
            let closed = Interest::Notice(&self.closed, self.closed.look());
            let descriptor = self.descriptor(operation)?;
            match attempt(descriptor.as_fd()) {
                Ok(result) => return Ok(result),
                Err(Errno::INTR) => {
                    if wait.is_interrupted() {
                        return Err(IoError::Interrupted);
                    }
                    continue;
                }
                Err(Errno::AGAIN) => {}
                Err(errno) => {
                    return Err(IoError::from_system(operation, &self.name, errno.into()));
                }
            }
            if wait.is_interrupted() {
                return Err(IoError::Interrupted);
            }
            if wait.is_non_blocking() {
                return Err(IoError::WouldBlock);
            }
            let ready = match operation {
                Operation::Send => Interest::Writable(descriptor.as_fd()),
                _ => Interest::Readable(descriptor.as_fd()),
            };
            match canny_sched::wait(&[ready, closed], wait.deadline(), wait.interrupt()) {
                Wake::Ready(_) => {}
                Wake::TimedOut => return Err(IoError::timed_out(operation, &self.name)),
                Wake::Interrupted => return Err(IoError::Interrupted),
                Wake::Parked => return Err(IoError::parked(operation, &self.name)),
            }
        }
    }
}

fn open(family: AddressFamily, kind: SocketType) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    canny_replay::ask_for_descriptor(Kind::Socket, || {
        rustix::net::socket_with(family, kind, flags, None)
    })
}

fn local_address(descriptor: &impl AsFd) -> Option<Address> {
    canny_replay::ask(Kind::Connection, || {
        let local = rustix::net::getsockname(descriptor).ok()?;
        Address::from_any(&local)
    })
}
