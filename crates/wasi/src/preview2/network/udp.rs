//! `wasi:sockets/udp`: datagrams.
//!
//! A socket may get new streams for another address. The older ones fail from then on.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use canny_component::Value;
use canny_locks::Mutex;
use canny_sched::{Interest, is_ready};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};

use super::super::Row;
use super::super::call::{Call, Outcome, Stop, success, success_with, trap};
use super::super::poll::{Always, Ready, subscribe};
use super::super::table::{Opened, Resource};
use super::super::values;
use super::super::waits::Waits;
use super::{Code, Network, check_family, check_remote, failed, local_address, options};
use super::{family, family_value, open, socket_address, socket_address_value};

pub const ROWS: &[Row] = &[
    ("[method]udp-socket.start-bind", |call| {
        let socket = socket(call)?;
        call.get::<Network>(1)?;
        let address = socket_address(call.value(2)?)?;
        check_family(&address, socket.family)?;
        let mut state = socket.state.lock();
        match state.phase {
            Phase::Unbound => {}
            Phase::Binding => return Err(Code::CONCURRENCY_CONFLICT.into()),
            Phase::Bound => return Err(Code::INVALID_STATE.into()),
        }
        rustix::net::bind(&*socket.opened, &address).map_err(failed)?;
        state.phase = Phase::Binding;
        success()
    }),
    ("[method]udp-socket.finish-bind", |call| {
        let socket = socket(call)?;
        let mut state = socket.state.lock();
        if state.phase != Phase::Binding {
            return Err(Code::NOT_IN_PROGRESS.into());
        }
        state.phase = Phase::Bound;
        success()
    }),
    ("[method]udp-socket.stream", stream),
    ("[method]udp-socket.local-address", |call| {
        let socket = socket(call)?;
        if socket.state.lock().phase != Phase::Bound {
            return Err(Code::INVALID_STATE.into());
        }
        success_with(socket_address_value(local_address(&socket.opened)?))
    }),
    ("[method]udp-socket.remote-address", |call| {
        let remote = socket(call)?.state.lock().remote;
        success_with(socket_address_value(remote.ok_or(Code::INVALID_STATE)?))
    }),
    ("[method]udp-socket.address-family", |call| {
        Ok(Some(family_value(socket(call)?.family)))
    }),
    ("[method]udp-socket.unicast-hop-limit", |call| {
        let socket = socket(call)?;
        options::hop_limit(&socket.opened, socket.family)
    }),
    ("[method]udp-socket.set-unicast-hop-limit", |call| {
        let socket = socket(call)?;
        options::set_hop_limit(&socket.opened, socket.family, call.value(1)?)
    }),
    ("[method]udp-socket.receive-buffer-size", |call| {
        options::receive_buffer(&socket(call)?.opened)
    }),
    ("[method]udp-socket.set-receive-buffer-size", |call| {
        let size = call.wide(1)?;
        options::set_receive_buffer(&socket(call)?.opened, size)
    }),
    ("[method]udp-socket.send-buffer-size", |call| {
        options::send_buffer(&socket(call)?.opened)
    }),
    ("[method]udp-socket.set-send-buffer-size", |call| {
        let size = call.wide(1)?;
        options::set_send_buffer(&socket(call)?.opened, size)
    }),
    ("[method]udp-socket.subscribe", |call| {
        socket(call)?;
        subscribe(call, Arc::new(Always))
    }),
    ("[method]incoming-datagram-stream.receive", receive),
    ("[method]incoming-datagram-stream.subscribe", |call| {
        let Incoming(stream) = call.get::<Incoming>(0)?;
        let ready = Receiving(Arc::clone(&stream.socket));
        subscribe(call, Arc::new(ready))
    }),
    ("[method]outgoing-datagram-stream.check-send", |call| {
        let Outgoing { stream, allowed } = call.get::<Outgoing>(0)?;
        stream.check()?;
        let is_ready = is_ready(Interest::Writable(stream.socket.opened.as_fd()));
        *allowed = if is_ready { AT_ONCE } else { 0 };
        let allowed = *allowed as u64;
        success_with(Value::U64(allowed))
    }),
    ("[method]outgoing-datagram-stream.send", send),
    ("[method]outgoing-datagram-stream.subscribe", |call| {
        let Outgoing { stream, .. } = call.get::<Outgoing>(0)?;
        let ready = Sending(Arc::clone(&stream.socket));
        subscribe(call, Arc::new(ready))
    }),
];

/// Most datagrams of one call.
const AT_ONCE: usize = 16;

/// Most bytes of a datagram.
const BYTES_MAX: usize = 65_535;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unbound,
    Binding,
    Bound,
}

struct Socket {
    opened: Arc<Opened>,
    family: AddressFamily,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    remote: Option<SocketAddr>,
    /// The number of the newest streams, the only ones that work.
    generation: u64,
}

/// The resource of a socket.
struct Shared(Arc<Socket>);

impl Resource for Shared {
    const NAME: &'static str = "udp-socket";
}

#[derive(Clone)]
struct Stream {
    socket: Arc<Socket>,
    generation: u64,
}

struct Incoming(Stream);

impl Resource for Incoming {
    const NAME: &'static str = "incoming-datagram-stream";
}

struct Outgoing {
    stream: Stream,
    /// So many datagrams may be sent.
    allowed: usize,
}

impl Resource for Outgoing {
    const NAME: &'static str = "outgoing-datagram-stream";
}

impl Stream {
    /// The address to which the streams are bound, if they are still the newest ones.
    fn check(&self) -> Result<Option<SocketAddr>, Code> {
        let state = self.socket.state.lock();
        if state.generation != self.generation {
            return Err(Code::INVALID_STATE);
        }
        Ok(state.remote)
    }
}

struct Receiving(Arc<Socket>);

impl Ready for Receiving {
    fn is_ready(&self) -> bool {
        is_ready(Interest::Readable(self.0.opened.as_fd()))
    }

    fn await_ready(&self, waits: &mut Waits) {
        waits.readable(&self.0.opened);
    }
}

struct Sending(Arc<Socket>);

impl Ready for Sending {
    fn is_ready(&self) -> bool {
        is_ready(Interest::Writable(self.0.opened.as_fd()))
    }

    fn await_ready(&self, waits: &mut Waits) {
        waits.writable(&self.0.opened);
    }
}

fn socket(call: &mut Call<'_>) -> Result<Arc<Socket>, Stop> {
    Ok(Arc::clone(&call.get::<Shared>(0)?.0))
}

pub fn create(call: &mut Call<'_>) -> Outcome {
    let family = family(call.value(0)?)?;
    let opened = open(call, family, SocketType::DGRAM)?;
    let state = State {
        phase: Phase::Unbound,
        remote: None,
        generation: 0,
    };
    let socket = Arc::new(Socket {
        opened,
        family,
        state: Mutex::new(state),
    });
    success_with(call.give(Shared(socket))?)
}

fn stream(call: &mut Call<'_>) -> Outcome {
    let socket = socket(call)?;
    let remote = values::option(call.value(1)?)?;
    let remote = remote.map(socket_address).transpose()?;
    if let Some(remote) = &remote {
        check_family(remote, socket.family)?;
        check_remote(remote)?;
    }
    let generation = {
        let mut state = socket.state.lock();
        if state.phase != Phase::Bound {
            return Err(Code::INVALID_STATE.into());
        }
        if state.remote.take().is_some() {
            rustix::net::connect_unspec(&*socket.opened).map_err(failed)?;
        }
        if let Some(remote) = &remote {
            rustix::net::connect(&*socket.opened, remote).map_err(failed)?;
        }
        state.remote = remote;
        state.generation += 1;
        state.generation
    };
    let stream = Stream { socket, generation };
    let incoming = call.give(Incoming(stream.clone()))?;
    let outgoing = call.give(Outgoing { stream, allowed: 0 })?;
    success_with(Value::Record(vec![incoming, outgoing]))
}

fn receive(call: &mut Call<'_>) -> Outcome {
    let most = call.wide(1)?.min(AT_ONCE as u64) as usize;
    let Incoming(stream) = call.get::<Incoming>(0)?;
    let remote = stream.check()?;
    let mut buffer = vec![0; if most == 0 { 0 } else { BYTES_MAX }];
    let mut datagrams = Vec::new();
    while datagrams.len() < most {
        let flags = RecvFlags::DONTWAIT;
        let received = rustix::net::recvfrom(&*stream.socket.opened, &mut *buffer, flags);
        let (count, sender) = match received {
            Ok((count, _, sender)) => (count, sender),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => break,
            // The error comes again, or was one of a datagram that was sent.
            Err(_) if !datagrams.is_empty() => break,
            Err(error) => return Err(failed(error)),
        };
        let sender = sender.and_then(|sender| SocketAddr::try_from(sender).ok());
        // Others may have sent before the socket was connected.
        let Some(sender) = sender.filter(|sender| remote.is_none_or(|remote| remote == *sender))
        else {
            continue;
        };
        let bytes = Value::Bytes(buffer[..count].to_vec());
        datagrams.push(Value::Record(vec![bytes, socket_address_value(sender)]));
    }
    success_with(Value::List(datagrams))
}

/// Where a datagram goes that is for an address; nothing if that is where the socket is connected.
fn target(
    address: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    family: AddressFamily,
) -> Result<Option<SocketAddr>, Stop> {
    match (address, remote) {
        (Some(address), None) => {
            check_family(&address, family)?;
            check_remote(&address)?;
            Ok(Some(address))
        }
        (None, Some(_)) => Ok(None),
        (Some(address), Some(remote)) if address == remote => Ok(None),
        _ => Err(Code::INVALID_ARGUMENT.into()),
    }
}

fn send(call: &mut Call<'_>) -> Outcome {
    let datagrams = values::list(call.value(1)?)?;
    let Outgoing { stream, allowed } = call.get::<Outgoing>(0)?;
    if datagrams.len() > *allowed {
        let count = datagrams.len();
        return Err(trap(format!(
            "a guest sends {count} datagrams, but check-send has allowed {allowed}"
        )));
    }
    *allowed = 0;
    let remote = stream.check()?;
    let socket = Arc::clone(&stream.socket);
    let mut sent = 0;
    for datagram in datagrams {
        let [bytes, address] = values::fields(datagram)?;
        let bytes = values::bytes(bytes)?;
        let address = values::option(address)?.map(socket_address).transpose()?;
        match send_one(&socket, bytes, address, remote) {
            Ok(true) => sent += 1,
            Ok(false) => break,
            Err(_) if sent > 0 => break,
            Err(stop) => return Err(stop),
        }
    }
    success_with(Value::U64(sent))
}

/// Says whether the system took the datagram.
fn send_one(
    socket: &Socket,
    bytes: &[u8],
    address: Option<SocketAddr>,
    remote: Option<SocketAddr>,
) -> Result<bool, Stop> {
    let target = target(address, remote, socket.family)?;
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    loop {
        let sent = match &target {
            Some(target) => rustix::net::sendto(&*socket.opened, bytes, flags, target),
            None => rustix::net::send(&*socket.opened, bytes, flags),
        };
        match sent {
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(failed(error)),
        }
    }
}
