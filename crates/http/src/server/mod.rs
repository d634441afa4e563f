//! The connections of a server: which have a request, and what becomes of their responses.
//!
//! One `epoll` belongs to the server, and is a descriptor itself: who has nothing to do waits for that.
//! [`Server::next`] gives the next request that is whole but for its body; a connection without one
//! costs neither a task nor a buffer. A response is sent as far as the other side takes it; the rest
//! goes out when there is room, without its sender.
//!
//! | shared state | touched | condition |
//! |---|---|---|
//! | `slots` | anyone | under its lock, for moments |
//! | `ready` | anyone | the same; connections in it are `QUEUED` |
//! | [`Connection`]'s `inner` | who works at the connection, ports of its bodies | under its lock, never while waiting |
//! | [`Connection`]'s `state` | anyone | by compare-and-swap; see there |
//!
//! Nobody waits in here, and no lock is held while another is taken, but `inner` before `slots` or `ready`.

mod attention;
mod body;
mod connection;
mod gone;
mod http2;
mod journal;
mod measurements;
mod observer;
mod slots;
mod statistics;
mod stream;
#[cfg(test)]
mod tests;
mod unsent;

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use canny_io::Handle;
use canny_locks::Mutex;
use canny_replay::{Kind, Mode};
use canny_tls::{ServerLayer, TlsContext};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::time::{ClockId, clock_gettime};

use crate::chunked::LAST_CHUNK;
use crate::framing::Framing;
use crate::head::{HEAD_BYTES_MAX, HeadLimits, RequestHead};
use crate::proxies::{Forwarded, TrustedProxies};
use attention::Attention;
use connection::{Advance, Connection};
pub use journal::{Journal, LogFormat, Taken};
pub use measurements::{BOUNDS, CLASSES, METHODS, Measured};
use observer::Observer;
pub use observer::Outcome;
use slots::Slots;
pub use slots::{ConnectionId, RequestId};
use statistics::Counters;
pub use statistics::ServerStatistics;
use stream::Stream;

/// The limits and options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How much of a head.
    pub head: HeadLimits,
    /// Bytes of a request's body; `None` is no limit.
    pub body_max: Option<u64>,
    /// Connections at once. Others wait to be accepted.
    pub connections_max: usize,
    /// Connections at once from one address of the Internet; others are closed.
    pub connections_per_client: Option<usize>,
    /// Requests of one connection of HTTP/2 at once; 0 is to speak HTTP/1 only.
    pub streams_max: usize,
    /// Bytes of whole responses that may wait for their clients, of all connections together.
    pub unsent_max: usize,
    /// A connection on which so many of them wait is given no further requests.
    pub unsent_per_connection: usize,
    /// How long a connection may wait for its next request.
    pub idle: Duration,
    /// How long a head may take.
    pub head_time: Duration,
    /// How long nothing of a body may come or go.
    pub body_time: Duration,
    /// The log that is kept, if one is.
    pub log: Option<LogFormat>,
    /// Whether requests are measured.
    pub measures: bool,
    /// Proxies that may name the client. These may have any number of connections.
    pub proxies: TrustedProxies,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            head: HeadLimits::default(),
            body_max: Some(16 * 1024 * 1024),
            connections_max: 65_536,
            connections_per_client: None,
            streams_max: 128,
            unsent_max: 256 * 1024 * 1024,
            unsent_per_connection: 1024 * 1024,
            idle: Duration::from_secs(75),
            head_time: Duration::from_secs(20),
            body_time: Duration::from_secs(30),
            log: None,
            measures: false,
            proxies: TrustedProxies::default(),
        }
    }
}

/// The state that a server shares with its connections.
#[derive(Debug)]
struct Common {
    options: ServerOptions,
    is_stopping: AtomicBool,
    counters: Counters,
    observer: Option<Observer>,
    /// Bytes that wait to be sent.
    unsent: AtomicUsize,
    /// The most that waited since memory was given back.
    unsent_peak: AtomicUsize,
}

impl Common {
    /// How many connections the client at an address may have.
    fn limit_for(&self, peer: Option<SocketAddr>) -> Option<usize> {
        let limit = self.options.connections_per_client?;
        let is_trusted = self.options.proxies.trusts(peer.map(|peer| peer.ip()));
        (!is_trusted).then_some(limit)
    }

    /// Facts about a request from a trusted proxy; None if the peer is not one.
    fn forwarded(
        &self,
        peer: Option<SocketAddr>,
        bytes: &[u8],
        head: &RequestHead,
    ) -> Option<Forwarded> {
        let proxies = &self.options.proxies;
        if proxies.is_empty() {
            return None;
        }
        let fields = head.fields.iter();
        let fields = fields.map(|field| (&bytes[field.name()], &bytes[field.value()]));
        proxies.read(peer.map(|peer| peer.ip()), fields)
    }
}

/// A request whose head was read. Its bytes are in the [`Scratch`] until the next one.
#[derive(Clone, Debug)]
pub struct Request {
    /// The name of the request.
    pub id: RequestId,
    /// The head, as ranges of the scratch's bytes.
    pub head: RequestHead,
    /// Where the body ends, and whether the connection persists.
    pub framing: Framing,
    /// It came over TLS, to the server or to a proxy that is trusted.
    pub is_secure: bool,
    /// It came by HTTP/2, though its head is written as HTTP/1.1 has it.
    pub is_http2: bool,
}

/// A buffer of a thread, in which heads are read.
#[derive(Debug)]
pub struct Scratch {
    bytes: Box<[u8]>,
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch {
            bytes: vec![0; HEAD_BYTES_MAX].into_boxed_slice(),
        }
    }
}

impl Scratch {
    /// The bytes of the last request's head.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
}

/// Sockets that listen, and their connections.
#[derive(Debug)]
pub struct Server {
    common: Arc<Common>,
    /// None once it has stopped and nobody waits for it.
    system: Mutex<Option<Arc<System>>>,
    listeners: Mutex<Vec<(OwnedFd, Option<Arc<TlsContext>>)>>,
    /// Connections may be waiting to be accepted although the system will not say so again.
    may_accept: AtomicBool,
    trouble: Trouble,
    connections: AtomicUsize,
    slots: Mutex<Slots>,
    ready: Mutex<VecDeque<Arc<Connection>>>,
    /// Somebody waits until something happens.
    has_waiter: AtomicBool,
    attention: Attention,
}

/// The server's channel for events of the system. It becomes readable when [`Server::next`] should
/// be tried again.
#[derive(Debug)]
pub struct System {
    epoll: OwnedFd,
    bell: OwnedFd,
}

impl AsFd for System {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Failures of accepting that concern more than one connection.
#[derive(Debug, Default)]
struct Trouble {
    /// Nothing is accepted before that, in milliseconds of [`clock`].
    until: AtomicU64,
    /// When it was met last; 0 is never.
    last: AtomicU64,
    /// The number of an error that was not reported yet; 0 is none.
    untold: AtomicI32,
}

/// How long nothing is accepted after the system has refused it, unless a connection ends.
const ACCEPT_PAUSE: u64 = 100;

/// An error of accepting is reported again after so long without one.
const TROUBLE_OVER: u64 = 60_000;

const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// So many are reported at once.
const EVENTS_MAX: usize = 128;

/// So many connections are accepted before anything else is done.
const ACCEPT_MAX: usize = 128;

/// Milliseconds of a clock that never goes back.
fn clock() -> u64 {
    canny_replay::ask(Kind::Clock, || {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
    })
}

/// Tells the system about a descriptor.
fn watch(tell: impl FnOnce() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    canny_replay::ask(Kind::Watch, tell)
}

/// The events that have come: of the system, or of a recording.
fn events<'b>(
    epoll: &OwnedFd,
    buffer: &'b mut [MaybeUninit<Event>],
    kept: &'b mut Vec<Event>,
) -> Option<&'b [Event]> {
    let nothing = rustix::event::Timespec::default();
    if canny_replay::mode() == Mode::Live {
        let (events, _) = epoll::wait(epoll, buffer, Some(&nothing)).ok()?;
        return Some(events);
    }
    let words: Vec<(u64, u32)> = canny_replay::ask(Kind::Events, || {
        let Ok((events, _)) = epoll::wait(epoll, buffer, Some(&nothing)) else {
            return Vec::new();
        };
        let words = events.iter().map(|event| {
            let (data, flags) = (event.data, event.flags);
            (data.u64(), flags.bits())
        });
        words.collect()
    });
    kept.extend(words.into_iter().map(|(data, flags)| Event {
        data: EventData::new_u64(data),
        flags: EventFlags::from_bits_retain(flags),
    }));
    Some(kept)
}

/// The next connection of a listener, and the address of the client.
fn accept(listener: &OwnedFd) -> Result<(OwnedFd, Option<SocketAddr>), Errno> {
    let mut peer = None;
    let descriptor = canny_replay::ask_for_descriptor(Kind::Connection, || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (descriptor, address) = rustix::net::acceptfrom_with(listener, flags)?;
        peer = address.and_then(|peer| SocketAddr::try_from(peer).ok());
        Ok::<_, Errno>(descriptor)
    })?;
    Ok((descriptor, canny_replay::ask(Kind::Connection, || peer)))
}

impl Server {
    /// A server that listens nowhere yet.
    pub fn new(options: ServerOptions) -> io::Result<Server> {
        let epoll =
            canny_replay::ask_for_descriptor(Kind::Watch, || epoll::create(CreateFlags::CLOEXEC))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = EventFlags::IN | EventFlags::ET;
        watch(|| epoll::add(&epoll, &bell, EventData::new_u64(BELL), flags))?;
        Ok(Server {
            common: Arc::new(Common {
                observer: Observer::new(&options)?,
                options,
                is_stopping: AtomicBool::new(false),
                counters: Counters::default(),
                unsent: AtomicUsize::new(0),
                unsent_peak: AtomicUsize::new(0),
            }),
            system: Mutex::new(Some(Arc::new(System { epoll, bell }))),
            listeners: Mutex::default(),
            may_accept: AtomicBool::new(false),
            trouble: Trouble::default(),
            connections: AtomicUsize::new(0),
            slots: Mutex::default(),
            ready: Mutex::default(),
            has_waiter: AtomicBool::new(false),
            attention: Attention::default(),
        })
    }

    /// The options it was made with.
    pub fn options(&self) -> &ServerOptions {
        &self.common.options
    }

    /// Accepts connections from a socket that listens and does not block.
    /// With a context, they are over TLS.
    /// If the context names no protocols, HTTP/2 and HTTP/1.1 are offered inside.
    pub fn listen(&self, listener: OwnedFd, tls: Option<Arc<TlsContext>>) -> io::Result<()> {
        let tls = match tls {
            Some(context) if self.options().streams_max > 0 => {
                Some(Arc::new(context.offering(&["h2", "http/1.1"])))
            }
            tls => tls,
        };
        // Accepted sockets inherit the option. Sockets in the file system do not have it.
        watch(|| {
            let _ = rustix::net::sockopt::set_tcp_nodelay(&listener, true);
            rustix::io::ioctl_fionbio(&listener, true)
        })?;
        let flags = EventFlags::IN | EventFlags::ET;
        let system = self
            .system()
            .ok_or_else(|| io::Error::other("the server has stopped"))?;
        watch(|| {
            let data = EventData::new_u64(LISTENER);
            epoll::add(&system.epoll, &listener, data, flags)
        })?;
        self.listeners.lock().push((listener, tls));
        self.may_accept.store(true, Ordering::SeqCst);
        self.ring();
        Ok(())
    }

    /// A channel that becomes readable when [`Server::next`] should be tried again; none once the
    /// server has stopped.
    pub fn system(&self) -> Option<Arc<System>> {
        self.system.lock().clone()
    }

    /// Closes the descriptors of a server that has stopped. A thread that still waits for them is
    /// woken, and has to call this then.
    pub fn release(&self) {
        if self.has_waiter.load(Ordering::SeqCst) {
            self.ring();
        } else if self.has_stopped() {
            self.system.lock().take();
        }
    }

    /// Whether the caller is now the one who waits for [`Server::readiness`]: one is enough.
    pub fn begin_to_wait(&self) -> bool {
        !self.has_waiter.swap(true, Ordering::SeqCst)
    }

    /// The waiting thread does not wait any more.
    pub fn end_waiting(&self) {
        self.has_waiter.store(false, Ordering::SeqCst);
    }

    /// The next request, if there is one.
    pub fn next(&self, scratch: &mut Scratch) -> Option<Request> {
        self.attention.note();
        loop {
            let connection = self.ready.lock().pop_front();
            let Some(connection) = connection else {
                if self.poll() {
                    continue;
                }
                return None;
            };
            if let Some(request) = self.advance(&connection, scratch) {
                self.common
                    .counters
                    .requests
                    .fetch_add(1, Ordering::Relaxed);
                return Some(request);
            }
        }
    }

    /// Asks the system what has happened; whether there is something to look at.
    fn poll(&self) -> bool {
        let mut buffer = [const { MaybeUninit::<Event>::uninit() }; EVENTS_MAX];
        let Some(system) = self.system() else {
            return false;
        };
        let mut kept = Vec::new();
        let Some(events) = events(&system.epoll, &mut buffer, &mut kept) else {
            return false;
        };
        let mut accepts = self.may_accept.load(Ordering::Relaxed);
        let mut queued = Vec::new();
        if !events.is_empty() {
            let slots = self.slots.lock();
            for event in events.iter() {
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    LISTENER => accepts = true,
                    BELL => {}
                    number => {
                        let id = ConnectionId::with_number(number);
                        let Some(connection) = slots.find(id) else {
                            continue;
                        };
                        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                        let has_input = flags.contains(EventFlags::IN);
                        if connection.has_event(has_input, flags.intersects(ended)) {
                            queued.push(connection.clone());
                        }
                    }
                }
            }
        }
        if accepts {
            let until = self.trouble.until.load(Ordering::Relaxed);
            if until != 0 && clock() < until {
                self.may_accept.store(true, Ordering::SeqCst);
            } else {
                self.accept(&mut queued);
            }
        }
        let is_any = !queued.is_empty();
        self.ready.lock().extend(queued);
        is_any
    }

    fn accept(&self, queued: &mut Vec<Arc<Connection>>) {
        self.may_accept.store(false, Ordering::SeqCst);
        let listeners = self.listeners.lock();
        for (listener, tls) in listeners.iter() {
            for turn in 0.. {
                let count = self.connections.load(Ordering::Relaxed);
                if turn == ACCEPT_MAX || count >= self.common.options.connections_max {
                    self.may_accept.store(true, Ordering::SeqCst);
                    // Otherwise the end of a connection rings.
                    if turn == ACCEPT_MAX {
                        self.ring();
                    }
                    break;
                }
                match accept(listener) {
                    Ok((descriptor, peer)) => {
                        queued.extend(self.admit(descriptor, peer, tls.as_deref()));
                    }
                    Err(Errno::AGAIN) => break,
                    // Errors that concern one connection only.
                    Err(Errno::CONNABORTED | Errno::INTR | Errno::PERM | Errno::PROTO) => {}
                    Err(error) => {
                        // Out of descriptors or memory: tried again when a connection ends or time passes.
                        self.may_accept.store(true, Ordering::SeqCst);
                        self.note_trouble(error);
                        break;
                    }
                }
            }
        }
    }

    fn note_trouble(&self, error: Errno) {
        self.common
            .counters
            .accept_failures
            .fetch_add(1, Ordering::Relaxed);
        let now = clock();
        self.trouble
            .until
            .store(now + ACCEPT_PAUSE, Ordering::Relaxed);
        let last = self.trouble.last.swap(now, Ordering::Relaxed);
        if last == 0 || now - last > TROUBLE_OVER {
            let number = error.raw_os_error();
            self.trouble.untold.store(number, Ordering::Relaxed);
        }
    }

    /// Why nothing could be accepted, once for each time that this begins.
    pub fn take_trouble(&self) -> Option<io::Error> {
        let number = self.trouble.untold.swap(0, Ordering::Relaxed);
        (number != 0).then(|| io::Error::from_raw_os_error(number))
    }

    fn admit(
        &self,
        descriptor: OwnedFd,
        peer: Option<SocketAddr>,
        tls: Option<&TlsContext>,
    ) -> Option<Arc<Connection>> {
        let tls = match tls {
            Some(context) => Some(ServerLayer::new(context).ok()?),
            None => None,
        };
        let stream = Stream::new(descriptor, tls);
        let mut slots = self.slots.lock();
        if let (Some(limit), Some(peer)) = (self.common.limit_for(peer), peer) {
            let count = slots.clients.entry(peer.ip()).or_default();
            if *count >= limit {
                self.common
                    .counters
                    .turned_away
                    .fetch_add(1, Ordering::Relaxed);
                drop(slots);
                if let Some(observer) = &self.common.observer {
                    let record = observer.begin_refused(b"", Outcome::TurnedAway);
                    observer.finish(&record, Some(peer.ip()), 0, Outcome::TurnedAway);
                }
                return None;
            }
            *count += 1;
        }
        let deadline = clock() + self.common.options.head_time.as_millis() as u64;
        let connection =
            slots.insert(|id| Connection::new(id, stream, peer, deadline, self.common.clone()));
        drop(slots);
        self.connections.fetch_add(1, Ordering::SeqCst);
        self.common
            .counters
            .accepted
            .fetch_add(1, Ordering::Relaxed);
        let data = EventData::new_u64(connection.id().number());
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let system = self.system();
        let added = system.map(|system| {
            watch(|| epoll::add(&system.epoll, connection.descriptor(), data, flags))
        });
        if !matches!(added, Some(Ok(()))) {
            self.close(&connection);
            return None;
        }
        // Most often the first request is there already.
        Some(connection)
    }

    /// Does for a connection what can be done without anybody: gives a request if that has come.
    fn advance(&self, connection: &Arc<Connection>, scratch: &mut Scratch) -> Option<Request> {
        match connection.advance(scratch) {
            Advance::Request(request) => Some(request),
            Advance::Stream(request) => {
                self.rest(connection);
                Some(request)
            }
            Advance::Close => {
                self.close(connection);
                None
            }
            Advance::Rest => {
                self.rest(connection);
                None
            }
        }
    }

    /// Nobody works at the connection until something happens.
    fn rest(&self, connection: &Arc<Connection>) {
        if !connection.rest() {
            self.ready.lock().push_back(connection.clone());
        }
    }

    /// Ends a connection, to which the caller has one reference.
    fn close(&self, connection: &Arc<Connection>) {
        if self.common.observer.is_some() {
            connection.conclude(Outcome::ClientGone);
        }
        let mut slots = self.slots.lock();
        if !slots.remove(connection.id()) {
            return;
        }
        if let Some(peer) = connection.peer()
            && self.common.limit_for(Some(peer)).is_some()
            && let Some(count) = slots.clients.get_mut(&peer.ip())
        {
            *count -= 1;
            if *count == 0 {
                slots.clients.remove(&peer.ip());
            }
        }
        drop(slots);
        self.connections.fetch_sub(1, Ordering::SeqCst);
        // A task that works at it still, or waits at a port of it, must not keep the other side
        // waiting, or what was to be sent.
        if Arc::strong_count(connection) > 1 || Arc::weak_count(connection) > 0 {
            connection.shut_down();
        }
        self.trouble.until.store(0, Ordering::Relaxed);
        if self.may_accept.load(Ordering::SeqCst) || self.common.is_stopping.load(Ordering::SeqCst)
        {
            self.ring();
        }
    }

    fn ring(&self) {
        if let Some(system) = self.system() {
            // It fails only when it was rung 2^64 times.
            let _ = rustix::io::write(&system.bell, &1u64.to_ne_bytes());
        }
    }

    /// Has those who wait for requests look again.
    pub fn wake(&self) {
        self.ring();
    }

    fn find(&self, id: ConnectionId) -> Option<Arc<Connection>> {
        self.slots.lock().find(id).cloned()
    }

    /// Sends a whole response, or what is left of one. Whether the connection persists is up to the
    /// request, and to `closes`. `false` if the connection has ended, or this is not its present
    /// request.
    pub fn respond(&self, id: RequestId, bytes: &[u8], closes: bool) -> bool {
        let Some(connection) = self.find(id.connection) else {
            return false;
        };
        if let Some(http2) = connection.http2() {
            let answered = http2.respond(&connection, id.serial, bytes);
            self.shed();
            return self.attend(&connection, answered);
        }
        let closes = closes || self.common.is_stopping.load(Ordering::Relaxed);
        match connection.respond(id.serial, bytes, closes) {
            None => return false,
            Some(Advance::Close) => self.close(&connection),
            Some(_) => {
                self.shed();
                self.rest(&connection);
            }
        }
        true
    }

    /// Sends the head of a response whose body is written to the handle that this gives.
    pub fn respond_with_body(
        &self,
        id: RequestId,
        head: &[u8],
        coding: BodyCoding,
        closes: bool,
    ) -> Option<Arc<Handle>> {
        let connection = self.find(id.connection)?;
        let patience = self.common.options.body_time;
        if let Some(http2) = connection.http2() {
            http2.begin(&connection, id.serial, head, coding)?;
            return Some(http2::bodies::writer(&connection, id.serial, patience));
        }
        connection.begin_response(id.serial, head, coding, closes)?;
        Some(body::writer(&connection, id.serial, patience))
    }

    /// The trailers of a request's body, lines and an empty one, after all of it was read; none otherwise.
    pub fn trailers(&self, id: RequestId) -> Vec<u8> {
        let Some(connection) = self.find(id.connection) else {
            return Vec::new();
        };
        match connection.http2() {
            Some(http2) => http2.trailers(id.serial),
            None => connection.trailers(id.serial),
        }
    }

    /// Completes a response whose body was written, with trailers, which are whole lines, where the
    /// body is of a kind that has these. `false` if that is not possible; the connection has then
    /// ended.
    pub fn end_response(&self, id: RequestId, trailers: &[u8]) -> bool {
        let Some(connection) = self.find(id.connection) else {
            return false;
        };
        if let Some(http2) = connection.http2() {
            let answered = http2.finish(&connection, id.serial, trailers);
            if answered.is_none() {
                self.abort(id);
            }
            return self.attend(&connection, answered);
        }
        match connection.last_bytes(id.serial) {
            Some(LAST_CHUNK) if !trailers.is_empty() => {
                let bytes = [&LAST_CHUNK[..3], trailers, &LAST_CHUNK[3..]].concat();
                self.respond(id, &bytes, false)
            }
            Some(bytes) => self.respond(id, bytes, false),
            None => {
                self.abort(id);
                false
            }
        }
    }

    /// Where the body of a request is read.
    pub fn body(&self, id: RequestId) -> Option<Arc<Handle>> {
        let connection = self.find(id.connection)?;
        let patience = self.common.options.body_time;
        if connection.http2().is_some() {
            return Some(http2::bodies::reader(&connection, id.serial, patience));
        }
        Some(body::reader(&connection, id.serial, patience))
    }

    /// Takes the connection of a request out of the server, for another protocol. Returns the
    /// handles to read from it and to write to it. Queued output is sent first.
    pub fn detach(&self, id: RequestId) -> Option<(Arc<Handle>, Arc<Handle>)> {
        let connection = self.find(id.connection)?;
        connection.detach(id.serial)?;
        // It is counted until its handles are closed, but not looked at any more.
        if let Some(system) = self.system() {
            let _ = watch(|| epoll::delete(&system.epoll, connection.descriptor()));
        }
        self.slots.lock().remove(id.connection);
        self.connections.fetch_sub(1, Ordering::SeqCst);
        Some(body::whole(connection, self.common.options.body_time))
    }

    /// Ends a connection whose response cannot be completed.
    pub fn abort(&self, id: RequestId) {
        let Some(connection) = self.find(id.connection) else {
            return;
        };
        if let Some(http2) = connection.http2() {
            // The other streams of the connection continue.
            let answered = http2.abort(&connection, id.serial);
            self.attend(&connection, answered);
        } else if connection.is_at(id.serial) {
            connection.decide(if self.is_gone(id) {
                Outcome::ClientGone
            } else {
                Outcome::Aborted
            });
            self.close(&connection);
        }
    }

    /// Has a connection of HTTP/2 looked at, if what was done with one of its streams wants that;
    /// whether it was done.
    fn attend(&self, connection: &Arc<Connection>, answered: Option<http2::Answered>) -> bool {
        let Some(answered) = answered else {
            return false;
        };
        if answered.wants_attention && connection.mark() {
            self.ready.lock().push_back(connection.clone());
            self.ring();
        }
        true
    }

    /// Why the body of a request could not be read: the status to answer with.
    pub fn fault(&self, id: RequestId) -> Option<u16> {
        let connection = self.find(id.connection)?;
        match connection.http2() {
            Some(http2) => http2.fault(id.serial, connection.patience()),
            None => connection.fault(id.serial),
        }
    }

    /// Whether a response was begun.
    pub fn has_begun(&self, id: RequestId) -> bool {
        self.find(id.connection)
            .is_none_or(|connection| match connection.http2() {
                Some(http2) => http2.has_begun(id.serial),
                None => connection.has_begun(id.serial),
            })
    }

    /// The address of the client, unless that is not of the Internet.
    pub fn peer(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.find(id)?.peer()
    }

    /// For whom a request of a connection asks that has these fields: who made it, unless that is a
    /// proxy that is trusted and says something else.
    pub fn client<'a>(
        &self,
        id: ConnectionId,
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Option<IpAddr> {
        let peer = self.find(id)?.peer().map(|peer| peer.ip());
        match self.common.options.proxies.read(peer, fields) {
            Some(forwarded) => forwarded.client,
            None => peer.map(|peer| peer.to_canonical()),
        }
    }

    /// Ends what has taken too long. To be called about once in a second while there are connections.
    pub fn sweep(&self) {
        self.give_back();
        let now = clock();
        let is_stopping = self.common.is_stopping.load(Ordering::SeqCst);
        let overdue: Vec<Arc<Connection>> = self
            .slots
            .lock()
            .connections()
            .filter(|connection| connection.is_overdue(now, is_stopping))
            .cloned()
            .collect();
        let mut is_any = false;
        for connection in overdue {
            if connection.expire() {
                is_any = true;
                self.ready.lock().push_back(connection);
            }
        }
        if is_any || self.may_accept.load(Ordering::SeqCst) {
            self.ring();
        }
    }

    /// Stops accepting; connections end when they have answered their present requests.
    pub fn stop(&self) {
        // Connections that the system has accepted already are answered.
        let mut queued = Vec::new();
        self.accept(&mut queued);
        self.ready.lock().extend(queued);
        self.common.is_stopping.store(true, Ordering::SeqCst);
        let system = self.system();
        for (listener, _) in self.listeners.lock().drain(..) {
            if let Some(system) = &system {
                let _ = epoll::delete(&system.epoll, &listener);
            }
        }
        self.sweep();
        self.ring();
    }

    /// Whether [`Server::stop`] was called.
    pub fn is_stopping(&self) -> bool {
        self.common.is_stopping.load(Ordering::SeqCst)
    }

    /// Whether that was called and nothing is left.
    pub fn has_stopped(&self) -> bool {
        self.is_stopping() && self.connections.load(Ordering::SeqCst) == 0
    }

    /// Closes all connections.
    pub fn close_all(&self) {
        let all: Vec<Arc<Connection>> = self.slots.lock().connections().cloned().collect();
        for connection in all {
            connection.decide(Outcome::Aborted);
            self.close(&connection);
        }
    }

    /// The log of the server, if one is kept.
    pub fn journal(&self) -> Option<&Arc<Journal>> {
        self.common.observer.as_ref()?.journal()
    }

    /// Numbers about its requests, if these are measured.
    pub fn measured(&self) -> Option<Measured> {
        let observer = self.common.observer.as_ref()?;
        Some(observer.measurements()?.read())
    }
}

/// How the body of a response is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyCoding {
    /// In chunks.
    Chunked,
    /// So many bytes; more are an error, fewer end the connection.
    Known(u64),
    /// Until the connection ends.
    UntilEnd,
    /// Not at all: the request was for the head only.
    Ignored,
}
