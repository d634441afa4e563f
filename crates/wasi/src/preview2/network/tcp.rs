//! `wasi:sockets/tcp`: connections and what listens for them.
//!
//! The system binds and listens at once, so that the second half of these operations has only to say so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use canny_component::Value;
use canny_locks::Mutex;
use canny_sched::{Interest, is_ready};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, sockopt,
};
use std::os::fd::AsFd;

use super::super::Row;
use super::super::call::{Call, Outcome, Stop, success, success_with};
use super::super::failures::End;
use super::super::poll::{Ready, subscribe};
use super::super::streams::{Input, Output, Sink, Source};
use super::super::table::{Opened, Resource};
use super::super::values::{self, Mistake};
use super::super::waits::Waits;
use super::{Code, Network, options};
use super::{check_family, check_remote, check_unicast, failed, local_address, socket_address};
use super::{counted, family, family_value, open, socket_address_value, told};

pub const ROWS: &[Row] = &[
    ("[method]tcp-socket.start-bind", start_bind),
    ("[method]tcp-socket.finish-bind", |call| {
        let socket = socket(call)?;
        socket.finish(Phase::Binding, Phase::Bound)
    }),
    ("[method]tcp-socket.start-connect", start_connect),
    ("[method]tcp-socket.finish-connect", finish_connect),
    ("[method]tcp-socket.start-listen", |call| {
        let socket = socket(call)?;
        let mut state = socket.state.lock();
        state.phase.check(&[Phase::Bound])?;
        rustix::net::listen(&*socket.opened, state.backlog).map_err(failed)?;
        state.phase = Phase::ListenBegun;
        success()
    }),
    ("[method]tcp-socket.finish-listen", |call| {
        let socket = socket(call)?;
        socket.finish(Phase::ListenBegun, Phase::Listening)
    }),
    ("[method]tcp-socket.accept", accept),
    ("[method]tcp-socket.local-address", |call| {
        let socket = socket(call)?;
        match socket.phase() {
            Phase::Unbound | Phase::Binding => Err(Code::INVALID_STATE.into()),
            // A socket that could not connect has an address as well: C libraries count on it.
            _ => success_with(socket_address_value(local_address(&socket.opened)?)),
        }
    }),
    ("[method]tcp-socket.remote-address", |call| {
        let socket = socket(call)?;
        if socket.phase() != Phase::Connected {
            return Err(Code::INVALID_STATE.into());
        }
        let address = rustix::net::getpeername(&*socket.opened).map_err(failed)?;
        let address = told(address.ok_or(Code::INVALID_STATE)?)?;
        success_with(socket_address_value(address))
    }),
    ("[method]tcp-socket.is-listening", |call| {
        let is_listening = socket(call)?.phase() == Phase::Listening;
        Ok(Some(Value::Bool(is_listening)))
    }),
    ("[method]tcp-socket.address-family", |call| {
        Ok(Some(family_value(socket(call)?.family)))
    }),
    ("[method]tcp-socket.set-listen-backlog-size", |call| {
        let size = options::not_zero(call.wide(1)?)?;
        let socket = socket(call)?;
        let mut state = socket.state.lock();
        state.backlog = size.min(i32::MAX as u64) as i32;
        match state.phase {
            Phase::Connecting | Phase::Connected | Phase::Closed => Err(Code::INVALID_STATE.into()),
            Phase::Listening => {
                options::finished(rustix::net::listen(&*socket.opened, state.backlog))
            }
            _ => success(),
        }
    }),
    ("[method]tcp-socket.keep-alive-enabled", |call| {
        let is_kept = sockopt::socket_keepalive(&*socket(call)?.opened);
        success_with(Value::Bool(is_kept.map_err(failed)?))
    }),
    ("[method]tcp-socket.set-keep-alive-enabled", |call| {
        let is_kept = values::boolean(call.value(1)?)?;
        let socket = socket(call)?;
        options::finished(sockopt::set_socket_keepalive(&*socket.opened, is_kept))
    }),
    ("[method]tcp-socket.keep-alive-idle-time", |call| {
        duration(sockopt::tcp_keepidle(&*socket(call)?.opened))
    }),
    ("[method]tcp-socket.set-keep-alive-idle-time", |call| {
        let time = seconds(call.wide(1)?)?;
        options::finished(sockopt::set_tcp_keepidle(&*socket(call)?.opened, time))
    }),
    ("[method]tcp-socket.keep-alive-interval", |call| {
        duration(sockopt::tcp_keepintvl(&*socket(call)?.opened))
    }),
    ("[method]tcp-socket.set-keep-alive-interval", |call| {
        let time = seconds(call.wide(1)?)?;
        options::finished(sockopt::set_tcp_keepintvl(&*socket(call)?.opened, time))
    }),
    ("[method]tcp-socket.keep-alive-count", |call| {
        let count = sockopt::tcp_keepcnt(&*socket(call)?.opened);
        success_with(Value::U32(count.map_err(failed)?))
    }),
    ("[method]tcp-socket.set-keep-alive-count", |call| {
        let count = options::not_zero(values::number(call.value(1)?)?.into())?;
        let count = count.min(PROBES_MAX) as u32;
        options::finished(sockopt::set_tcp_keepcnt(&*socket(call)?.opened, count))
    }),
    ("[method]tcp-socket.hop-limit", |call| {
        let socket = socket(call)?;
        options::hop_limit(&socket.opened, socket.family)
    }),
    ("[method]tcp-socket.set-hop-limit", |call| {
        let socket = socket(call)?;
        options::set_hop_limit(&socket.opened, socket.family, call.value(1)?)
    }),
    ("[method]tcp-socket.receive-buffer-size", |call| {
        options::receive_buffer(&socket(call)?.opened)
    }),
    ("[method]tcp-socket.set-receive-buffer-size", |call| {
        let size = call.wide(1)?;
        options::set_receive_buffer(&socket(call)?.opened, size)
    }),
    ("[method]tcp-socket.send-buffer-size", |call| {
        options::send_buffer(&socket(call)?.opened)
    }),
    ("[method]tcp-socket.set-send-buffer-size", |call| {
        let size = call.wide(1)?;
        options::set_send_buffer(&socket(call)?.opened, size)
    }),
    ("[method]tcp-socket.subscribe", |call| {
        let socket = socket(call)?;
        subscribe(call, socket)
    }),
    ("[method]tcp-socket.shutdown", shut_down),
];

/// Limits of the system.
const PROBES_MAX: u64 = 127;
const SECONDS_MAX: u64 = 32_767;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// How far a socket has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Unbound,
    Binding,
    Bound,
    ListenBegun,
    Listening,
    Connecting,
    Connected,
    Closed,
}

impl Phase {
    /// Fails unless it is one of those in which an operation can begin.
    fn check(self, allowed: &[Phase]) -> Result<(), Code> {
        match self {
            phase if allowed.contains(&phase) => Ok(()),
            Phase::Binding | Phase::ListenBegun | Phase::Connecting => {
                Err(Code::CONCURRENCY_CONFLICT)
            }
            _ => Err(Code::INVALID_STATE),
        }
    }
}

struct Socket {
    opened: Arc<Opened>,
    family: AddressFamily,
    state: Mutex<State>,
    /// Nothing more is received.
    is_deaf: Arc<AtomicBool>,
}

struct State {
    phase: Phase,
    backlog: i32,
    output: Option<Output>,
}

/// The resource of a socket.
struct Shared(Arc<Socket>);

impl Resource for Shared {
    const NAME: &'static str = "tcp-socket";
}

impl Socket {
    fn new(opened: Arc<Opened>, family: AddressFamily, phase: Phase) -> Arc<Socket> {
        Arc::new(Socket {
            opened,
            family,
            state: Mutex::new(State {
                phase,
                backlog: BACKLOG,
                output: None,
            }),
            is_deaf: Arc::default(),
        })
    }

    fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    fn finish(&self, from: Phase, to: Phase) -> Outcome {
        let mut state = self.state.lock();
        if state.phase != from {
            return Err(Code::NOT_IN_PROGRESS.into());
        }
        state.phase = to;
        success()
    }

    /// The streams of a connection.
    fn streams(&self, call: &mut Call<'_>) -> Result<[Value; 2], Stop> {
        let output = Output::new(ConnectionSink(Arc::clone(&self.opened)));
        self.state.lock().output = Some(output.clone());
        let input = Input::new(ConnectionSource {
            opened: Arc::clone(&self.opened),
            is_deaf: Arc::clone(&self.is_deaf),
        });
        Ok([call.give(input)?, call.give(output)?])
    }
}

impl Ready for Socket {
    fn is_ready(&self) -> bool {
        match self.phase() {
            Phase::Listening => is_ready(Interest::Readable(self.opened.as_fd())),
            Phase::Connecting => is_ready(Interest::Writable(self.opened.as_fd())),
            _ => true,
        }
    }

    fn await_ready(&self, waits: &mut Waits) {
        match self.phase() {
            Phase::Listening => waits.readable(&self.opened),
            Phase::Connecting => waits.writable(&self.opened),
            _ => {}
        }
    }
}

fn socket(call: &mut Call<'_>) -> Result<Arc<Socket>, Stop> {
    Ok(Arc::clone(&call.get::<Shared>(0)?.0))
}

pub fn create(call: &mut Call<'_>) -> Outcome {
    let family = family(call.value(0)?)?;
    let opened = open(call, family, SocketType::STREAM)?;
    let socket = Socket::new(opened, family, Phase::Unbound);
    success_with(call.give(Shared(socket))?)
}

/// The address of the third argument, for a socket. The second one is the network.
fn address(call: &mut Call<'_>, socket: &Socket) -> Result<SocketAddr, Stop> {
    call.get::<Network>(1)?;
    let address = socket_address(call.value(2)?)?;
    check_family(&address, socket.family)?;
    check_unicast(&address)?;
    Ok(address)
}

fn start_bind(call: &mut Call<'_>) -> Outcome {
    let socket = socket(call)?;
    let address = address(call, &socket)?;
    let mut state = socket.state.lock();
    state.phase.check(&[Phase::Unbound])?;
    // An address whose last connections have just ended can be used.
    sockopt::set_socket_reuseaddr(&*socket.opened, true).map_err(failed)?;
    rustix::net::bind(&*socket.opened, &address).map_err(failed)?;
    state.phase = Phase::Binding;
    success()
}

fn start_connect(call: &mut Call<'_>) -> Outcome {
    let socket = socket(call)?;
    let address = address(call, &socket)?;
    check_remote(&address)?;
    let mut state = socket.state.lock();
    state.phase.check(&[Phase::Unbound, Phase::Bound])?;
    match rustix::net::connect(&*socket.opened, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {
            state.phase = Phase::Connecting;
            success()
        }
        Err(error) => {
            state.phase = Phase::Closed;
            Err(match error {
                // No port is free for this side.
                Errno::ADDRNOTAVAIL => Code::ADDRESS_IN_USE.into(),
                error => failed(error),
            })
        }
    }
}

fn finish_connect(call: &mut Call<'_>) -> Outcome {
    let socket = socket(call)?;
    if socket.phase() != Phase::Connecting {
        return Err(Code::NOT_IN_PROGRESS.into());
    }
    if !socket.is_ready() {
        return Err(Code::WOULD_BLOCK.into());
    }
    let connected = sockopt::socket_error(&*socket.opened).and_then(|result| result);
    let phase = match connected {
        Ok(()) => Phase::Connected,
        Err(_) => Phase::Closed,
    };
    socket.state.lock().phase = phase;
    connected.map_err(failed)?;
    let streams = socket.streams(call)?;
    success_with(Value::Record(streams.into()))
}

fn accept(call: &mut Call<'_>) -> Outcome {
    let listener = socket(call)?;
    if listener.phase() != Phase::Listening {
        return Err(Code::INVALID_STATE.into());
    }
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let accepted = loop {
        match rustix::net::accept_with(&*listener.opened, flags) {
            Err(Errno::INTR) => {}
            accepted => break accepted.map_err(failed)?,
        }
    };
    let opened = counted(call, accepted)?;
    let socket = Socket::new(opened, listener.family, Phase::Connected);
    let [input, output] = socket.streams(call)?;
    let socket = call.give(Shared(socket))?;
    success_with(Value::Record(vec![socket, input, output]))
}

fn shut_down(call: &mut Call<'_>) -> Outcome {
    let (receives, sends) = match values::case(call.value(1)?)? {
        0 => (true, false),
        1 => (false, true),
        2 => (true, true),
        _ => return Err(Mistake.into()),
    };
    let socket = socket(call)?;
    if socket.phase() != Phase::Connected {
        return Err(Code::INVALID_STATE.into());
    }
    if receives {
        socket.is_deaf.store(true, Ordering::Relaxed);
        ignore_disconnection(rustix::net::shutdown(&*socket.opened, Shutdown::Read))?;
    }
    if sends && let Some(output) = socket.state.lock().output.take() {
        // Bytes that it holds back are sent before.
        output.close();
        call.state.keep_unsent(&output);
    }
    success()
}

/// The other side may have been faster.
fn ignore_disconnection(result: rustix::io::Result<()>) -> Result<(), Stop> {
    match result {
        Err(Errno::NOTCONN) => Ok(()),
        result => result.map_err(failed),
    }
}

fn seconds(nanoseconds: u64) -> Result<Duration, Stop> {
    let seconds = options::not_zero(nanoseconds)?.div_ceil(1_000_000_000);
    Ok(Duration::from_secs(seconds.min(SECONDS_MAX)))
}

fn duration(duration: rustix::io::Result<Duration>) -> Outcome {
    let nanoseconds = duration.map_err(failed)?.as_nanos();
    success_with(Value::U64(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
}

struct ConnectionSource {
    opened: Arc<Opened>,
    is_deaf: Arc<AtomicBool>,
}

impl Source for ConnectionSource {
    fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, End> {
        if self.is_deaf.load(Ordering::Relaxed) {
            return Err(End::Closed);
        }
        let mut bytes = vec![0; bytes_max];
        loop {
            match rustix::net::recv(&*self.opened, &mut *bytes, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(End::Closed),
                Ok((count, _)) => {
                    bytes.truncate(count);
                    return Ok(bytes);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Vec::new()),
                Err(error) => return Err(End::of_socket(error)),
            }
        }
    }

    fn is_ready(&mut self) -> bool {
        self.is_deaf.load(Ordering::Relaxed) || is_ready(Interest::Readable(self.opened.as_fd()))
    }

    fn await_ready(&mut self, waits: &mut Waits) {
        waits.readable(&self.opened);
    }
}

struct ConnectionSink(Arc<Opened>);

impl Sink for ConnectionSink {
    fn is_ready(&mut self) -> bool {
        is_ready(Interest::Writable(self.0.as_fd()))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, End> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            match rustix::net::send(&*self.0, bytes, flags) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(0),
                count => return count.map_err(End::of_socket),
            }
        }
    }

    fn finish(&mut self) {
        // The other side may have been faster.
        let _ = rustix::net::shutdown(&*self.0, Shutdown::Write);
    }

    fn await_ready(&mut self, waits: &mut Waits) {
        waits.writable(&self.0);
    }
}
