//! Addresses of hosts by name. The system's resolver blocks, so that it runs on a thread of its own, which nobody waits for
//! longer than wanted.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};

use canny_sched::{Interest, Notice, Wake};

use super::Address;
use crate::error::{IoError, Operation};
use crate::wait::Wait;

/// Which addresses are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Any,
    Inet,
    Inet6,
}

impl Family {
    fn includes(self, address: &SocketAddr) -> bool {
        match self {
            Family::Any => true,
            Family::Inet => address.is_ipv4(),
            Family::Inet6 => address.is_ipv6(),
        }
    }
}

#[derive(Default)]
struct Answer {
    found: Mutex<Option<io::Result<Vec<SocketAddr>>>>,
    notice: Notice,
}

/// The addresses of a host, in the order in which they should be tried: at least one.
pub fn resolve(
    host: &str,
    port: u16,
    family: Family,
    wait: Wait<'_>,
) -> Result<Vec<Address>, IoError> {
    let found = match host.parse() {
        Ok(ip) => vec![SocketAddr::new(ip, port)],
        Err(_) => look_up(host, port, wait)?,
    };
    let wanted: Vec<Address> = found
        .into_iter()
        .filter(|address| family.includes(address))
        .map(Address::Inet)
        .collect();
    if wanted.is_empty() {
        let error = io::Error::new(io::ErrorKind::NotFound, "no address of that family");
        return Err(IoError::from_system(Operation::Resolve, host, error));
    }
    Ok(wanted)
}

fn look_up(host: &str, port: u16, wait: Wait<'_>) -> Result<Vec<SocketAddr>, IoError> {
    let answer = Arc::new(Answer::default());
    let question = (host.to_owned(), port);
    let for_thread = answer.clone();
    let started = std::thread::Builder::new()
        .name("resolver".to_owned())
        .spawn(move || {
            let found = question.to_socket_addrs().map(Iterator::collect);
            *for_thread
                .found
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(found);
            for_thread.notice.give();
        });
    if let Err(error) = started {
        return Err(IoError::from_system(Operation::Resolve, host, error));
    }
    loop {
        let given = Interest::Notice(&answer.notice, answer.notice.look());
        let found = answer
            .found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match found {
            Some(Ok(found)) => return Ok(found),
            Some(Err(error)) => {
                return Err(IoError::from_system(Operation::Resolve, host, plain(error)));
            }
            None => {}
        }
        if wait.is_non_blocking() {
            return Err(IoError::WouldBlock);
        }
        match canny_sched::wait(&[given], wait.deadline(), wait.interrupt()) {
            Wake::Ready(_) => {}
            Wake::TimedOut => return Err(IoError::timed_out(Operation::Resolve, host)),
            // The answer would be lost.
            Wake::Interrupted | Wake::Parked => return Err(IoError::Interrupted),
        }
    }
}

/// The resolver's own words, without those of the standard library before them.
fn plain(error: io::Error) -> io::Error {
    let words = error.to_string();
    match words.split_once(": ") {
        Some((_, reason)) => io::Error::other(reason.to_owned()),
        None => error,
    }
}
