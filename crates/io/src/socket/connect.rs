//! Connections that are being made: to the first of several addresses that takes one, without losing
//! what was begun when the wait for it is put off.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use canny_replay::Kind;
use canny_sched::{Interest, Wake};
use rustix::io::Errno;
use rustix::net::SocketType;

use super::{Address, Socket, open};
use crate::error::{IoError, Operation};
use crate::wait::Wait;

/// How long one address of several is tried before the next one is tried beside it (RFC 8305).
const NEXT_ATTEMPT: Duration = Duration::from_millis(250);

/// How long after the first refusal a listener of this machine that has no more room is asked again,
/// and at most.
const FULL_AT_FIRST: Duration = Duration::from_millis(1);
const FULL_AT_MOST: Duration = Duration::from_millis(50);

/// A connection that is being made. [`Connecting::proceed`] may end with `Parked`, `WouldBlock`,
/// `TimedOut` or `Interrupted` and be called again; dropping it gives everything up that was begun.
#[derive(Debug)]
pub struct Connecting {
    addresses: Vec<Address>,
    local: Option<Address>,
    /// Indices of addresses, in order.
    untried: VecDeque<usize>,
    attempts: Vec<(OwnedFd, usize)>,
    failure: Option<(Errno, usize)>,
    /// When the next address is tried; at once without it.
    next_at: Option<Instant>,
    full: Duration,
}

/// How far an attempt got at once.
enum Begun {
    Done(OwnedFd),
    Waits(OwnedFd),
    /// The system says no more than that it is to be tried again.
    Full,
}

impl Connecting {
    /// A connection to the first of these addresses that takes one, which begins when it is asked to
    /// proceed. They are tried in their order; one that does not answer soon is tried on while the next
    /// one is tried too.
    pub fn new(addresses: Vec<Address>, local: Option<Address>) -> Connecting {
        Connecting {
            untried: (0..addresses.len()).collect(),
            addresses,
            local,
            attempts: Vec::new(),
            failure: None,
            next_at: None,
            full: FULL_AT_FIRST,
        }
    }

    /// Whether it is one to these addresses.
    pub fn is_to(&self, addresses: &[Address], local: Option<&Address>) -> bool {
        self.addresses == addresses && self.local.as_ref() == local
    }

    /// Connects, as far as it is possible without waiting longer than wanted.
    pub fn proceed(&mut self, wait: Wait<'_>) -> Result<Socket, IoError> {
        loop {
            let now = canny_replay::now();
            if self.next_at.is_none_or(|next_at| now >= next_at)
                && let Some(index) = self.untried.pop_front()
            {
                match self.begin(index) {
                    Ok(Begun::Done(descriptor)) => return Ok(self.connected(descriptor, index)),
                    Ok(Begun::Waits(descriptor)) => {
                        self.attempts.push((descriptor, index));
                        self.next_at = Some(now + NEXT_ATTEMPT);
                    }
                    Ok(Begun::Full) => {
                        self.untried.push_back(index);
                        self.next_at = Some(now + self.full);
                        self.full = (self.full * 2).min(FULL_AT_MOST);
                    }
                    Err(errno) => {
                        self.failed(errno, index);
                        continue;
                    }
                }
            }
            if self.attempts.is_empty() && self.untried.is_empty() {
                return Err(self.refused());
            }
            match self.wait(wait)? {
                Some(ready) => {
                    let (descriptor, index) = self.attempts.swap_remove(ready);
                    let error = canny_replay::ask(Kind::Socket, || {
                        rustix::net::sockopt::socket_error(&descriptor)
                    });
                    match error {
                        Ok(Ok(())) => return Ok(self.connected(descriptor, index)),
                        Ok(Err(errno)) | Err(errno) => self.failed(errno, index),
                    }
                }
                None if wait
                    .deadline()
                    .is_some_and(|deadline| canny_replay::now() >= deadline) =>
                {
                    return Err(IoError::timed_out(Operation::Connect, &self.name()));
                }
                None => {}
            }
        }
    }

    /// Waits for one of the attempts and gives its place, or nothing if the time has come for something else.
    fn wait(&self, wait: Wait<'_>) -> Result<Option<usize>, IoError> {
        let interests: Vec<Interest<'_>> = self
            .attempts
            .iter()
            .map(|(descriptor, _)| Interest::Writable(descriptor.as_fd()))
            .collect();
        if wait.is_non_blocking() {
            let ready = interests
                .iter()
                .position(|interest| canny_sched::is_ready(*interest));
            return ready.map(Some).ok_or(IoError::WouldBlock);
        }
        let next_at = self.next_at.filter(|_| !self.untried.is_empty());
        let deadline = [wait.deadline(), next_at].into_iter().flatten().min();
        match canny_sched::wait(&interests, deadline, wait.interrupt()) {
            Wake::Ready(ready) => Ok(Some(ready)),
            Wake::TimedOut => Ok(None),
            Wake::Interrupted => Err(IoError::Interrupted),
            Wake::Parked => Err(IoError::parked(Operation::Connect, &self.name())),
        }
    }

    fn begin(&self, index: usize) -> rustix::io::Result<Begun> {
        let address = &self.addresses[index];
        let descriptor = open(address.family(), SocketType::STREAM)?;
        if let Some(local) = &self.local {
            local.bind(&descriptor)?;
        }
        match address.connect(descriptor.as_fd()) {
            Ok(()) => Ok(Begun::Done(descriptor)),
            Err(Errno::INPROGRESS | Errno::INTR) => Ok(Begun::Waits(descriptor)),
            Err(Errno::AGAIN) if matches!(address, Address::Unix(_)) => Ok(Begun::Full),
            Err(errno) => Err(errno),
        }
    }

    /// The next address need not wait for its time.
    fn failed(&mut self, errno: Errno, index: usize) {
        self.failure = Some((errno, index));
        self.next_at = None;
    }

    /// A connection that is there. Written bytes are sent at once: ports have buffers of their own.
    fn connected(&self, descriptor: OwnedFd, index: usize) -> Socket {
        let address = &self.addresses[index];
        if matches!(address, Address::Inet(_)) {
            // A connection without it is slower, not wrong.
            let _ = canny_replay::ask(Kind::Socket, || {
                rustix::net::sockopt::set_tcp_nodelay(&descriptor, true)
            });
        }
        Socket::new(descriptor, address.to_string())
    }

    /// Why none of the addresses took a connection.
    fn refused(&self) -> IoError {
        match self.failure {
            Some((errno, index)) => {
                let name = self.addresses[index].to_string();
                IoError::from_system(Operation::Connect, &name, errno.into())
            }
            None => {
                let error = io::ErrorKind::InvalidInput.into();
                IoError::from_system(Operation::Connect, "no address", error)
            }
        }
    }

    fn name(&self) -> String {
        self.addresses
            .first()
            .map(Address::to_string)
            .unwrap_or_default()
    }
}
