//! `wasi:sockets/ip-name-lookup`: addresses of names, found by resolvers on threads of their own.
//!
//! A name is a host's in ASCII, or an address, for which nobody is asked.

use std::net::IpAddr;
use std::sync::Arc;

use canny_io::socket::{Address, Family, Resolving};
use canny_io::{IoError, Wait};
use canny_locks::Mutex;

use super::super::Row;
use super::super::call::{Call, Outcome, success_with};
use super::super::poll::{Ready, subscribe};
use super::super::table::Resource;
use super::super::values;
use super::super::waits::Waits;
use super::{Code, Network, address_value};

pub const ROWS: &[Row] = &[
    ("resolve-addresses", resolve),
    (
        "[method]resolve-address-stream.resolve-next-address",
        |call| {
            let Lookup(state) = call.get::<Lookup>(0)?;
            let next = state.lock().next()?;
            success_with(values::optional(next.map(address_value)))
        },
    ),
    ("[method]resolve-address-stream.subscribe", |call| {
        let lookup = call.get::<Lookup>(0)?.clone();
        subscribe(call, Arc::new(lookup))
    }),
];

#[derive(Clone)]
struct Lookup(Arc<Mutex<State>>);

impl Resource for Lookup {
    const NAME: &'static str = "resolve-address-stream";
}

enum State {
    Asked(Resolving),
    /// The rest of the addresses, the last one first.
    Found(Vec<IpAddr>),
    Failed(Code),
}

impl State {
    fn look(&mut self) {
        if let State::Asked(resolving) = self {
            *self = match resolving.proceed(Wait::NonBlocking) {
                Ok(found) => State::Found(wanted(&found)),
                Err(error) if error.is_retryable() => return,
                Err(error) => State::Failed(code(&error)),
            };
        }
    }

    fn next(&mut self) -> Result<Option<IpAddr>, Code> {
        self.look();
        match self {
            State::Asked(_) => Err(Code::WOULD_BLOCK),
            State::Found(addresses) => Ok(addresses.pop()),
            State::Failed(code) => Err(*code),
        }
    }
}

/// Each address once, in the order of the resolver from the end on.
fn wanted(found: &[Address]) -> Vec<IpAddr> {
    let mut wanted = Vec::new();
    for address in found.iter().rev() {
        if let Address::Inet(address) = address {
            let address = address.ip().to_canonical();
            wanted.retain(|known| *known != address);
            wanted.push(address);
        }
    }
    wanted
}

/// The resolver tells the reason in words only.
fn code(error: &IoError) -> Code {
    if error.message().contains("Temporary failure") {
        Code::TEMPORARY_FAILURE
    } else {
        Code::NAME_UNRESOLVABLE
    }
}

impl Ready for Lookup {
    fn is_ready(&self) -> bool {
        let mut state = self.0.lock();
        state.look();
        !matches!(*state, State::Asked(_))
    }

    fn await_ready(&self, waits: &mut Waits) {
        if let State::Asked(resolving) = &*self.0.lock() {
            waits.notice(resolving.notice());
        }
    }
}

/// Most bytes of a name.
const NAME_BYTES_MAX: usize = 253;

/// Whether a text can be the name of a host.
fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.len() <= NAME_BYTES_MAX
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(is_part)
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

fn resolve(call: &mut Call<'_>) -> Outcome {
    call.get::<Network>(0)?;
    let name = call.text(1)?;
    if !call.state.network.names {
        return Err(Code::ACCESS_DENIED.into());
    }
    let state = match name.parse::<IpAddr>() {
        Ok(address) => State::Found(vec![address.to_canonical()]),
        Err(_) if !is_name(name) => return Err(Code::INVALID_ARGUMENT.into()),
        Err(_) => match Resolving::begin(name, 0, Family::Any) {
            Ok(resolving) => State::Asked(resolving),
            Err(error) => State::Failed(code(&error)),
        },
    };
    success_with(call.give(Lookup(Arc::new(Mutex::new(state))))?)
}
