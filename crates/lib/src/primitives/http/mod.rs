//! The rows of HTTP: servers, requests as records, responses as bytes.
//!
//! A request's head goes to Scheme as one bytevector: an index of its fields, then its bytes. Fields
//! are looked for there when somebody asks, so that a head is good for as long as anybody has it, and
//! what nobody looks at costs nothing.

mod heads;
mod observations;
mod responses;

use std::cell::RefCell;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use canny_http::head::HeadLimits;
use canny_http::proxies::{Network, ProxyField, TrustedProxies};
use canny_http::server::{
    ConnectionId, LogFormat, Request, RequestId, Scratch, Server, ServerOptions,
};
use canny_io::{IoError, Operation, Wait};
use canny_profile::model::WaitKind;
use canny_sched::{Interest, Wake};
use canny_tables::kinds::Kind;
use canny_tables::protocols::{
    self, Enumerated, RequestFlag, present as present_field, request as request_field,
    server_option as option,
};
use canny_tls::TlsContext;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::short_ratio_to_f64;
use canny_vm::values::record_type;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};

use super::ports::table::port_over;
use super::ports::{failed, flag};
use super::tasks::{Then, resume, suspend};
use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table, number_of_value, table};
use crate::primitives::sockets::Socket;

pub(crate) use canny_http::server::Server as HttpServer;

kept_in_table!(HttpServer);

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%http-server" => make_server;
    "%http-listen!" => listen;
    "%http-next!" => next;
    "%http-field" => heads::field;
    "%http-fields" => heads::fields;
    "%http-target" => heads::target;
    "%http-respond!" => responses::respond;
    "%http-respond-in-parts!" => responses::respond_in_parts;
    "%http-end-response!" => responses::end_response;
    "%http-trailers" => heads::trailers;
    "%http-body" => body;
    "%http-detach!" => detach;
    "%http-abort!" => |thread, call: Call| {
        let (server, request) = request(thread, call)?;
        server.abort(request.id);
        Ok(Value::UNSPECIFIED)
    };
    "%http-gone?" => |thread, call: Call| {
        let (server, request) = request(thread, call)?;
        Ok(Value::boolean(server.is_gone(request.id)))
    };
    "%http-fault" => |thread, call: Call| {
        let (server, request) = request(thread, call)?;
        let status = server.fault(request.id);
        Ok(status.map_or(Value::FALSE, |status| Value::fixnum(status.into())))
    };
    "%http-begun?" => |thread, call: Call| {
        let (server, request) = request(thread, call)?;
        Ok(Value::boolean(server.has_begun(request.id)))
    };
    "%http-peer" => |thread, call: Call| {
        let (server, request) = request(thread, call)?;
        Ok(match server.peer(request.id.connection) {
            Some(peer) => thread.string(&peer.to_string()),
            None => Value::FALSE,
        })
    };
    "%http-client" => heads::client;
    "%http-proxy?" => |_, call: Call| {
        let text = string_text(call.at(0));
        Ok(Value::boolean(text.is_some_and(|text| text == LOCAL || Network::parse(&text).is_some())))
    };
    "%http-sweep!" => |thread, call: Call| {
        let server = server(thread, call, call.at(0))?;
        server.sweep();
        Ok(Value::fixnum(server.statistics().connections as i64))
    };
    "%http-deserted?" => |thread, call: Call| {
        Ok(Value::boolean(server(thread, call, call.at(0))?.is_deserted()))
    };
    "%http-stop!" => |thread, call: Call| {
        let server = server(thread, call, call.at(0))?;
        server.stop();
        if call.at(1).is_true() {
            server.close_all();
        }
        Ok(Value::UNSPECIFIED)
    };
    "%http-wake!" => |thread, call: Call| {
        server(thread, call, call.at(0))?.wake();
        Ok(Value::UNSPECIFIED)
    };
    "%http-statistics" => observations::statistics;
    "%http-measured" => observations::measured;
    "%http-stopping?" => |thread, call: Call| {
        Ok(Value::boolean(server(thread, call, call.at(0))?.is_stopping()))
    };
    "%http-take-log!" => observations::take_log;
    "%http-close-log!" => |thread, call: Call| {
        if let Some(journal) = server(thread, call, call.at(0))?.journal() {
            journal.close();
        }
        Ok(Value::UNSPECIFIED)
    };
    "%http-log-dropped!" => |thread, call: Call| {
        let server = server(thread, call, call.at(0))?;
        let dropped = server.journal().map_or(0, |journal| journal.take_dropped());
        Ok(thread.integer(dropped as i64))
    };
    "%http-trouble!" => |thread, call: Call| {
        let trouble = server(thread, call, call.at(0))?.take_trouble();
        Ok(trouble.map_or(Value::FALSE, |error| thread.string(&error.to_string())))
    };
    "%http-read-response" => heads::read_response;
    "%http-reason" => |thread, call: Call| {
        let status = call.index(thread, 0)?;
        let reason = u16::try_from(status).map_or("", canny_http::response::reason);
        Ok(thread.string(reason))
    };
    "%http-date" => |thread, call: Call| {
        let seconds = call.at(0).as_fixnum();
        let seconds = seconds.ok_or_else(|| call.type_error(thread, 0, "exact integer"))?;
        thread.string_from_latin1(&canny_http::date::date(seconds))
    };
};

/// The word for proxies that connect over a Unix-domain socket.
const LOCAL: &str = "unix";

/// The identity and the flags of a request record.
#[derive(Clone, Copy)]
struct RequestFields {
    id: RequestId,
    flags: i64,
}

thread_local! {
    /// The server that this thread used last, and its number.
    static LAST_SERVER: RefCell<Option<(u64, Arc<Server>)>> = const { RefCell::new(None) };
    static SCRATCH: RefCell<Option<Scratch>> = const { RefCell::new(None) };
}

fn server(thread: &mut Thread, call: Call, value: Value) -> Result<Arc<Server>, Raise> {
    let number = number_of_value(value).unwrap_or(0);
    let last = LAST_SERVER.with_borrow(|last| match last {
        Some((of, server)) if *of == number => Some(server.clone()),
        _ => None,
    });
    if let Some(server) = last {
        return Ok(server);
    }
    let Some(server) = table::<HttpServer>(thread).find(number) else {
        return Err(call.type_error_of(thread, 0, "HTTP server", value));
    };
    LAST_SERVER.set(Some((number, server.clone())));
    Ok(server)
}

/// The first argument: a request, and its server.
fn request(thread: &mut Thread, call: Call) -> Result<(Arc<Server>, RequestFields), Raise> {
    let record = call.object(thread, 0, Kind::Record, "request")?;
    let read = || {
        let number = |field: usize| record.field(field).as_fixnum();
        let connection = u64::try_from(number(request_field::ID)?).ok()?;
        Some(RequestFields {
            id: RequestId {
                connection: ConnectionId::with_number(connection),
                serial: u32::try_from(number(request_field::SERIAL)?).ok()?,
            },
            flags: number(request_field::FLAGS)?,
        })
    };
    let is_whole = record.length() >= request_field::WORDS;
    let Some(fields) = is_whole.then(read).flatten() else {
        return Err(call.type_error(thread, 0, "request of a server"));
    };
    let server = server(thread, call, record.field(request_field::SERVER))?;
    Ok((server, fields))
}

/// A list of what `%http-proxy?` takes, and the number of the field in which they say for whom they ask.
fn trusted_proxies(mut list: Value, field: Value) -> TrustedProxies {
    let field = field.as_fixnum().and_then(Enumerated::from_number);
    let mut proxies = TrustedProxies {
        field: match field {
            Some(protocols::ProxyField::Forwarded) => ProxyField::Forwarded,
            Some(protocols::ProxyField::XForwardedFor) | None => ProxyField::XForwardedFor,
        },
        ..TrustedProxies::default()
    };
    while let Some(pair) = list.as_pair() {
        match string_text(pair.car()) {
            Some(text) if text == LOCAL => proxies.local = true,
            Some(text) => proxies.networks.extend(Network::parse(&text)),
            None => {}
        }
        list = pair.cdr();
    }
    proxies
}

/// The options that a vector of `server-option` has; those of another type are the usual ones.
fn options_of(wanted: ObjectRef) -> ServerOptions {
    let usual = ServerOptions::default();
    let number = |at: usize| wanted.field(at).as_index();
    let seconds = |at: usize, usual: Duration| {
        let value = wanted.field(at);
        let seconds = match value.as_fixnum() {
            Some(seconds) => Some(seconds as f64),
            None => value.as_flonum().or_else(|| short_ratio_to_f64(value)),
        };
        seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(usual)
    };
    let log_format = wanted.field(option::LOG_FORMAT).as_fixnum();
    ServerOptions {
        head: HeadLimits {
            bytes: number(option::HEAD_BYTES_MAX).unwrap_or(usual.head.bytes),
            fields: number(option::FIELDS_MAX).unwrap_or(usual.head.fields),
            target: number(option::TARGET_BYTES_MAX).unwrap_or(usual.head.target),
        },
        body_max: number(option::BODY_BYTES_MAX).map(|bytes| bytes as u64),
        connections_max: number(option::CONNECTIONS_MAX).unwrap_or(usual.connections_max),
        connections_per_client: number(option::CONNECTIONS_PER_CLIENT_MAX),
        idle: seconds(option::IDLE_TIMEOUT, usual.idle),
        head_time: seconds(option::HEAD_TIMEOUT, usual.head_time),
        body_time: seconds(option::BODY_TIMEOUT, usual.body_time),
        log: log_format
            .and_then(Enumerated::from_number)
            .map(|format| match format {
                protocols::LogFormat::Common => LogFormat::Common,
                protocols::LogFormat::Combined => LogFormat::Combined,
                protocols::LogFormat::Json => LogFormat::Json,
            }),
        measures: wanted.field(option::MEASURES).is_true(),
        streams_max: number(option::STREAMS_MAX).unwrap_or(usual.streams_max),
        unsent_max: number(option::UNSENT_BYTES_MAX).unwrap_or(usual.unsent_max),
        unsent_per_connection: number(option::UNSENT_BYTES_PER_CONNECTION_MAX)
            .unwrap_or(usual.unsent_per_connection),
        proxies: trusted_proxies(
            wanted.field(option::TRUSTED_PROXIES),
            wanted.field(option::PROXY_FIELD),
        ),
    }
}

fn make_server(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let wanted = call.vector(thread, 0)?;
    if wanted.length() != option::COUNT {
        return Err(call.type_error(thread, 0, "vector of options"));
    }
    let options = options_of(wanted);
    match Server::new(options) {
        Ok(server) => keep(thread, server, "HTTP server"),
        Err(error) => {
            let error = IoError::from_system(Operation::Listen, "HTTP server", error);
            Err(failed(thread, call.who, None, &error))
        }
    }
}

fn listen(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let server = server(thread, call, call.at(0))?;
    let Some(socket) = find::<Socket>(thread, call.at(1)) else {
        return Err(call.type_error(thread, 1, "socket"));
    };
    let tls = match call.at(2) {
        Value::FALSE => None,
        context => match find::<TlsContext>(thread, context) {
            Some(found) if matches!(&*found, TlsContext::Server(_)) => Some(found),
            _ => return Err(call.type_error(thread, 2, "server's context of TLS")),
        },
    };
    let listening = socket.duplicate().and_then(|descriptor| {
        let listened = server.listen(descriptor, tls);
        listened.map_err(|error| IoError::from_system(Operation::Listen, socket.name(), error))
    });
    match listening {
        Ok(()) => Ok(Value::UNSPECIFIED),
        Err(error) => Err(failed(thread, call.who, None, &error)),
    }
}

/// Waits until something happens at a server.
fn wait_for(server: &Server, wait: Wait<'_>) -> Result<(), IoError> {
    let Some(system) = server.system() else {
        return Ok(());
    };
    let interest = Interest::Readable(system.as_fd());
    match canny_sched::wait(&[interest], wait.deadline(), wait.interrupt()) {
        Wake::Ready(_) | Wake::TimedOut => Ok(()),
        Wake::Interrupted => Err(IoError::Interrupted),
        Wake::Parked => Err(IoError::parked(Operation::Read, "HTTP server")),
    }
}

/// A waiter for the events of a server; it ends its wait when it is dropped.
struct Waiting(Arc<Server>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.end_waiting();
    }
}

fn next(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let server = server(thread, call, call.at(0))?;
    let request_type = call.object(thread, 1, Kind::RecordType, "record type")?;
    let present = call
        .at(2)
        .as_kind(Kind::Record)
        .filter(|it| it.length() > present_field::STEP);
    // If it comes back from a wait, that has ended.
    let has_waited = resume::<Waiting>(thread, call.who).is_some();
    if let Some(present) = present
        && !has_waited
        && let Some(step) = present.field(present_field::STEP).as_fixnum()
    {
        thread.store(present.value(), present_field::STEP, Value::FALSE);
        if thread.shall_step_aside(step) {
            return Ok(Value::TRUE);
        }
    }
    let mut scratch = SCRATCH.take().unwrap_or_default();
    loop {
        if let Some(request) = server.next(&mut scratch) {
            let made = make_request(thread, call, request_type, &request, &scratch);
            SCRATCH.set(Some(scratch));
            match (&made, present) {
                // From here on something may be raised, and it is known for what.
                (Ok(made), Some(present)) => {
                    thread.store(present.value(), present_field::REQUEST, *made);
                    let step = thread.begin_step(server.waiting());
                    thread.store(present.value(), present_field::STEP, Value::fixnum(step));
                }
                // Nobody will answer it.
                _ => server.abort(request.id),
            }
            return made;
        }
        if server.has_stopped() {
            server.release();
            SCRATCH.set(Some(scratch));
            return Ok(Value::FALSE);
        }
        if !server.begin_to_wait() {
            SCRATCH.set(Some(scratch));
            return Ok(Value::TRUE);
        }
        let waiting = Waiting(server.clone());
        let interrupts = thread.interrupts();
        let wait = Wait::Interruptible(interrupts.interrupt_waiting());
        let (outcome, ticket) = thread.wait_outside_heap(|| wait_for(&server, wait));
        match (outcome, ticket) {
            (Err(IoError::Parked(_)), Some(ticket)) => {
                SCRATCH.set(Some(scratch));
                thread.note_operation(WaitKind::Socket, Some("requests"));
                let then = Then::Resume(Box::new(waiting));
                return Err(suspend(thread, call.who, ticket, then));
            }
            (outcome, ticket) => {
                drop(waiting);
                if let Some(ticket) = ticket {
                    thread.disarm_ticket(ticket);
                }
                if let Err(error) = outcome {
                    SCRATCH.set(Some(scratch));
                    return Err(failed(thread, call.who, None, &error));
                }
            }
        }
    }
}

fn make_request(
    thread: &mut Thread,
    call: Call,
    request_type: ObjectRef,
    request: &Request,
    scratch: &Scratch,
) -> Result<Value, Raise> {
    use canny_http::framing::BodyLength;
    let fields = request_type
        .field(record_type::FIELDS)
        .as_kind(Kind::Vector);
    let words = 1 + fields.map_or(0, ObjectRef::length);
    if words < request_field::WORDS {
        return Err(call.type_error(thread, 1, "type of requests"));
    }
    let head = heads::pack(thread, &request.head, scratch)?;
    let method = scratch.bytes(request.head.method.clone());
    let is_head = method == b"HEAD";
    let method = thread.symbol(str::from_utf8(method).unwrap_or_default());
    let record = thread.try_object(Kind::Record, 0, words, Value::FALSE)?;
    let flag = |is_set: bool, flag: RequestFlag| if is_set { flag.number() } else { 0 };
    let framing = &request.framing;
    let flags = flag(framing.keeps_alive, RequestFlag::KeepsAlive)
        | flag(request.head.minor == 1, RequestFlag::IsNew)
        | flag(is_head, RequestFlag::IsHead)
        | flag(framing.upgrades, RequestFlag::Upgrades)
        | flag(request.is_secure, RequestFlag::IsSecure)
        | flag(request.is_http2, RequestFlag::IsHttp2);
    let length = match framing.body {
        BodyLength::Known(length) => length as i64,
        BodyLength::Chunked | BodyLength::UntilEnd => protocols::BodyLength::Chunked.number(),
    };
    thread.store(record, 0, call.at(1));
    thread.store(record, request_field::SERVER, call.at(0));
    let connection = Value::fixnum(request.id.connection.number() as i64);
    thread.store(record, request_field::ID, connection);
    let serial = Value::fixnum(request.id.serial.into());
    thread.store(record, request_field::SERIAL, serial);
    thread.store(record, request_field::METHOD, method);
    thread.store(record, request_field::FLAGS, Value::fixnum(flags));
    thread.store(record, request_field::HEAD, head);
    thread.store(record, request_field::BODY, Value::fixnum(length));
    Ok(record)
}

fn body(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    match server.body(request.id) {
        Some(handle) => port_over(thread, handle, flag::BINARY | flag::INPUT),
        None => {
            let message = "the connection of the request has ended";
            Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)))
        }
    }
}

fn detach(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (server, request) = request(thread, call)?;
    let Some((input, output)) = server.detach(request.id) else {
        return Ok(Value::FALSE);
    };
    let input = port_over(thread, input, flag::BINARY | flag::INPUT)?;
    let output = port_over(thread, output, flag::BINARY | flag::OUTPUT)?;
    Ok(thread.cons(input, output))
}
