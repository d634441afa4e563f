//! Sockets, and sessions of TLS over them. A socket object names, by its number, a socket of `canny_io`
//! in the machine's table; so does a context of TLS.
//!
//! Every wait happens outside of the heap, and can be interrupted.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use canny_io::socket::{
    Address, Connecting, DATAGRAM_BYTES_MAX, Family, ListenOptions, OptionName, OptionValue,
    Resolving, Shutdown, inherited_listener, send_notice, standard_input_listener,
};
use canny_io::{Handle, IoError, Wait};
use canny_tables::protocols::{self, secured};
use canny_tls::{ClientOptions, ContextError, Handshake, Identity, Trust};
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{ConditionKind, PrimitiveFunction, Raise, Thread, string_text};

use super::ports::open::with_descriptors;
use super::ports::table::{is_open as is_open_port, port_over};
use super::ports::{failed, flag, on_binary_input, on_binary_output, required_port};
use super::tasks::resumable;
use crate::arguments::{Call, implementations};
use crate::host::{find, keep, kept_in_table};
use crate::list::list_at;

pub(crate) use canny_io::socket::Socket;
pub(crate) use canny_tls::TlsContext;

kept_in_table!(Socket);
kept_in_table!(TlsContext);

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%socket?" => |thread, call: Call| {
        Ok(Value::boolean(find::<Socket>(thread, call.at(0)).is_some()))
    };
    "%address?" => |_, call: Call| Ok(Value::boolean(address_of(call.at(0)).is_some()));
    "%resolve-host" => resolve_host;
    "%socket-connect" => connect;
    "%socket-listen" => listen;
    "%inherited-listener" => |thread, call: Call| {
        let taken = if call.at(0) == Value::FALSE {
            standard_input_listener()
        } else {
            let place = u16::try_from(call.index(thread, 0)?);
            let place = place.map_err(|_| call.range_error(thread, 0, "a number of 16 bits"))?;
            inherited_listener(place)
        };
        match taken {
            Ok(socket) => socket_object(thread, socket),
            Err(error) => Err(failed(thread, call.who, None, &error)),
        }
    };
    "%socket-copy" => |thread, call: Call| match socket(thread, call)?.copy() {
        Ok(copy) => socket_object(thread, copy),
        Err(error) => Err(failed(thread, call.who, None, &error)),
    };
    "%socket-stream" => |thread, call: Call| {
        let socket = socket(thread, call)?;
        match socket.duplicate() {
            Ok(copy) => {
                let handle = Handle::from_descriptor(copy, socket.name());
                port_over(thread, handle, flag::BINARY | flag::INPUT)
            }
            Err(error) => Err(failed(thread, call.who, None, &error)),
        }
    };
    "%send-notice" => |thread, call: Call| {
        let name = call.string(thread, 0)?.value();
        let name = string_text(name).unwrap_or_default();
        let text = call.bytevector(thread, 1)?.with_bytes(<[u8]>::to_vec);
        Ok(Value::boolean(send_notice(&name, &text).is_ok()))
    };
    "%socket-accept" => accept;
    "%socket-ports" => ports;
    "%socket-shut-down" => shut_down;
    "%datagram-socket" => datagram_socket;
    "%datagrams-connect" => connect_datagrams;
    "%socket-send" => send;
    "%socket-receive" => receive;
    "%socket-address" => |thread, call| end_address(thread, call, Socket::local_address);
    "%socket-peer-address" => |thread, call| end_address(thread, call, Socket::peer_address);
    "%socket-option" => option;
    "%set-socket-option!" => set_option;
    "%set-socket-membership!" => set_membership;
    "%tls-client-context" => tls_client_context;
    "%tls-server-context" => tls_server_context;
    "%socket-secure" => secure;
    "%socket-release" => release;
    "%close-socket" => close;
    "%socket-open?" => is_open;
};

fn address_of(value: Value) -> Option<Address> {
    string_text(value)?.parse().ok()
}

fn socket(thread: &mut Thread, call: Call) -> Result<Arc<Socket>, Raise> {
    find(thread, call.at(0)).ok_or_else(|| call.type_error(thread, 0, "socket"))
}

fn socket_object(thread: &mut Thread, socket: Socket) -> Result<Value, Raise> {
    let name = format!("socket {}", socket.name());
    keep(thread, socket, &name)
}

fn address(thread: &mut Thread, call: Call, position: usize) -> Result<Address, Raise> {
    address_of(call.at(position)).ok_or_else(|| call.type_error(thread, position, "address"))
}

fn optional_address(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Option<Address>, Raise> {
    if call.at(position).is_true() {
        address(thread, call, position).map(Some)
    } else {
        Ok(None)
    }
}

fn address_value(thread: &mut Thread, address: Option<Address>) -> Value {
    match address {
        Some(address) => thread.string(&address.to_string()),
        None => Value::FALSE,
    }
}

/// Runs what may wait until a deadline and can be done again from its beginning, outside of the heap;
/// in a task it is put off instead.
fn waiting<R>(
    thread: &mut Thread,
    call: Call,
    deadline: Option<Instant>,
    work: impl Fn(Wait<'_>) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let begin = || Ok(());
    resumable(
        thread,
        call,
        deadline,
        |()| true,
        begin,
        |(), wait| work(wait),
    )
}

/// Makes a socket without waiting.
fn making(
    thread: &mut Thread,
    call: Call,
    make: impl Fn() -> Result<Socket, IoError>,
) -> Result<Value, Raise> {
    match with_descriptors(thread, IoError::is_out_of_descriptors, make) {
        Ok(socket) => socket_object(thread, socket),
        Err(error) => Err(failed(thread, call.who, None, &error)),
    }
}

/// Does with a socket what never waits.
fn at_once<R>(
    thread: &mut Thread,
    call: Call,
    work: impl Fn(&Socket) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let socket = socket(thread, call)?;
    work(&socket).map_err(|error| failed(thread, call.who, None, &error))
}

fn port_number(thread: &mut Thread, call: Call, position: usize) -> Result<u16, Raise> {
    let port = call.index(thread, position)?;
    u16::try_from(port).map_err(|_| call.range_error(thread, position, "a port, at most 65535"))
}

fn family(thread: &mut Thread, call: Call, position: usize) -> Result<Family, Raise> {
    Ok(match call.case(thread, position)? {
        protocols::Family::Any => Family::Any,
        protocols::Family::Inet => Family::Inet,
        protocols::Family::Inet6 => Family::Inet6,
    })
}

fn resolve_host(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let host = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let port = port_number(thread, call, 1)?;
    let family = family(thread, call, 2)?;
    let deadline = call.deadline(thread, 3)?;
    let found = resumable(
        thread,
        call,
        deadline,
        |resolving: &Resolving| resolving.is_for(&host, port, family),
        || Resolving::begin(&host, port, family),
        Resolving::proceed,
    )?;
    let mut list = Value::NIL;
    for address in found.iter().rev() {
        let text = thread.string(&address.to_string());
        list = thread.cons(text, list);
    }
    Ok(list)
}

fn connect(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut addresses = Vec::new();
    let mut rest = call.at(0);
    while let Some(pair) = rest.as_pair() {
        match address_of(pair.car()) {
            Some(address) => addresses.push(address),
            None => return Err(call.type_error(thread, 0, "list of addresses")),
        }
        rest = pair.cdr();
    }
    if addresses.is_empty() {
        return Err(call.type_error(thread, 0, "list of addresses"));
    }
    let local = optional_address(thread, call, 1)?;
    let deadline = call.deadline(thread, 2)?;
    let socket = resumable(
        thread,
        call,
        deadline,
        |connecting: &Connecting| connecting.is_to(&addresses, local.as_ref()),
        || Ok(Connecting::new(addresses.clone(), local.clone())),
        Connecting::proceed,
    )?;
    socket_object(thread, socket)
}

fn listen(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let address = address(thread, call, 0)?;
    let backlog = call.index(thread, 1)?;
    let options = ListenOptions {
        backlog: u32::try_from(backlog).unwrap_or(u32::MAX),
        reuses_address: call.at(2).is_true(),
        reuses_port: call.at(3).is_true(),
        ipv6_only: call.at(4).is_true(),
    };
    making(thread, call, || Socket::listen(&address, options))
}

fn accept(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let listener = socket(thread, call)?;
    let deadline = call.deadline(thread, 1)?;
    let socket = waiting(thread, call, deadline, |wait| listener.accept(wait))?;
    socket_object(thread, socket)
}

fn ports(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (input, output) = at_once(thread, call, Socket::handles)?;
    port_pair(thread, input, output)
}

/// Two ports for two handles, as a pair.
fn port_pair(thread: &mut Thread, input: Arc<Handle>, output: Arc<Handle>) -> Result<Value, Raise> {
    let input = port_over(thread, input, flag::BINARY | flag::INPUT)?;
    let output = port_over(thread, output, flag::BINARY | flag::OUTPUT)?;
    Ok(thread.cons(input, output))
}

/// The text of an argument, or `None` for #f.
fn optional_text(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Option<String>, Raise> {
    if call.at(position).is_true() {
        Ok(string_text(call.string(thread, position)?.value()))
    } else {
        Ok(None)
    }
}

fn texts(thread: &mut Thread, call: Call, position: usize) -> Result<Vec<String>, Raise> {
    let mut texts = Vec::new();
    let mut rest = call.at(position);
    while let Some(pair) = rest.as_pair() {
        match string_text(pair.car()) {
            Some(text) => texts.push(text),
            None => return Err(call.type_error(thread, position, "list of strings")),
        }
        rest = pair.cdr();
    }
    Ok(texts)
}

fn context_object(
    thread: &mut Thread,
    call: Call,
    name: &str,
    make: impl FnOnce() -> Result<TlsContext, ContextError>,
) -> Result<Value, Raise> {
    match thread.outside_heap(make) {
        Ok(context) => keep(thread, context, name),
        Err(error) => {
            let file = thread.string(&error.file);
            Err(thread.raise(
                ConditionKind::System,
                &error.message,
                &[file],
                Some(call.who),
            ))
        }
    }
}

fn tls_client_context(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let trust = match call.at(0) {
        Value::TRUE => Trust::System,
        Value::FALSE => Trust::Anybody,
        _ => Trust::File(optional_text(thread, call, 0)?.unwrap_or_default()),
    };
    let identity = match optional_text(thread, call, 1)? {
        None => None,
        Some(certificates) => Some(Identity {
            certificates,
            key: optional_text(thread, call, 2)?.unwrap_or_default(),
        }),
    };
    let options = ClientOptions {
        trust,
        identity,
        protocols: texts(thread, call, 3)?,
    };
    context_object(thread, call, "client of TLS", || {
        TlsContext::client(&options)
    })
}

fn tls_server_context(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let identity = Identity {
        certificates: string_text(call.string(thread, 0)?.value()).unwrap_or_default(),
        key: string_text(call.string(thread, 1)?.value()).unwrap_or_default(),
    };
    let clients = optional_text(thread, call, 2)?;
    let protocols = texts(thread, call, 3)?;
    context_object(thread, call, "server of TLS", || {
        TlsContext::server(&identity, clients.as_deref(), &protocols)
    })
}

fn secure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let socket = socket(thread, call)?;
    let context = find::<TlsContext>(thread, call.at(1))
        .ok_or_else(|| call.type_error(thread, 1, "context of TLS"))?;
    let server_name = optional_text(thread, call, 2)?.unwrap_or_default();
    let deadline = call.deadline(thread, 3)?;
    let session = resumable(
        thread,
        call,
        deadline,
        |(begun, _): &(Arc<Socket>, Handshake)| Arc::ptr_eq(begun, &socket),
        || {
            Ok((
                socket.clone(),
                Handshake::begin(&socket, &context, &server_name)?,
            ))
        },
        |(_, handshake), wait| handshake.proceed(wait),
    )?;
    let ports = port_pair(thread, session.input, session.output)?;
    let certificate = match &session.peer_certificate {
        Some(certificate) => thread.bytevector(certificate)?,
        None => Value::FALSE,
    };
    let protocol = match &session.protocol {
        Some(protocol) => thread.string(protocol),
        None => Value::FALSE,
    };
    let fields = [
        (secured::PORTS, ports),
        (secured::VERSION, thread.string(&session.version)),
        (secured::PROTOCOL, protocol),
        (secured::CERTIFICATE, certificate),
    ];
    Ok(list_at::<{ secured::COUNT }>(thread, fields))
}

/// Takes a connection from its two binary ports, before it becomes one over TLS. They may have been
/// closed in favour of others, of which then nothing is known.
fn release(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    socket(thread, call)?;
    let input = required_port(thread, call, 1, flag::BINARY | flag::INPUT)?;
    let output = required_port(thread, call, 2, flag::BINARY | flag::OUTPUT)?;
    if is_open_port(thread, input) {
        let unread = on_binary_input(thread, call, input, |input, _| Ok(input.buffered()))?;
        if unread > 0 {
            // Somebody may have slipped it in; it must not pass for what comes over TLS.
            return Err(thread.raise(
                ConditionKind::System,
                "cannot make the connection secure: what was sent before was not read",
                &[],
                Some(call.who),
            ));
        }
    }
    if is_open_port(thread, output) {
        on_binary_output(thread, call, output, |output, wait| output.flush(wait))?;
    }
    at_once(thread, call, Socket::take_back)?;
    Ok(Value::UNSPECIFIED)
}

fn shut_down(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let direction = match call.case(thread, 1)? {
        protocols::Shutdown::Read => Shutdown::Read,
        protocols::Shutdown::Write => Shutdown::Write,
        protocols::Shutdown::Both => Shutdown::Both,
    };
    at_once(thread, call, |socket| socket.shut_down(direction))?;
    Ok(Value::UNSPECIFIED)
}

fn datagram_socket(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let local = optional_address(thread, call, 0)?;
    let family = family(thread, call, 1)?;
    making(thread, call, || Socket::datagram(family, local.as_ref()))
}

fn connect_datagrams(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let target = address(thread, call, 1)?;
    at_once(thread, call, |socket| socket.connect_datagrams(&target))?;
    Ok(Value::UNSPECIFIED)
}

fn send(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let socket = socket(thread, call)?;
    let (bytevector, range) = call.bytevector_range(thread, 1, 2)?;
    let target = optional_address(thread, call, 4)?;
    let deadline = call.deadline(thread, 5)?;
    let bytes = bytevector.with_bytes(|bytes| bytes[range].to_vec());
    let count = waiting(thread, call, deadline, |wait| {
        socket.send(&bytes, target.as_ref(), wait)
    })?;
    Ok(Value::fixnum(count as i64))
}

fn receive(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    use canny_tables::protocols::datagram as row;
    let socket = socket(thread, call)?;
    let bytes_max = call.index(thread, 1)?.min(DATAGRAM_BYTES_MAX);
    let deadline = call.deadline(thread, 2)?;
    let datagram = waiting(thread, call, deadline, |wait| {
        socket.receive(bytes_max, wait)
    })?;
    let fields = [
        (row::BYTES, thread.bytevector(&datagram.bytes)?),
        (row::SENDER, address_value(thread, datagram.sender)),
        (row::IS_CUT, Value::boolean(datagram.truncated)),
    ];
    Ok(list_at::<{ row::COUNT }>(thread, fields))
}

fn end_address(
    thread: &mut Thread,
    call: Call,
    address: fn(&Socket) -> Result<Option<Address>, IoError>,
) -> Result<Value, Raise> {
    let address = at_once(thread, call, address)?;
    Ok(address_value(thread, address))
}

fn option_name(thread: &mut Thread, call: Call) -> Result<OptionName, Raise> {
    let name = symbol_name(call.symbol(thread, 1)?.value()).unwrap_or_default();
    OptionName::by_name(&name).ok_or_else(|| {
        let names: Vec<&str> = OptionName::names().collect();
        let expected = format!("one of the options {}", names.join(", "));
        call.range_error(thread, 1, &expected)
    })
}

fn option(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = option_name(thread, call)?;
    Ok(match at_once(thread, call, |socket| socket.option(name))? {
        OptionValue::Flag(flag) => Value::boolean(flag),
        OptionValue::Number(number) => Value::fixnum(i64::from(number)),
    })
}

fn set_option(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = option_name(thread, call)?;
    let number = call
        .at(2)
        .as_index()
        .and_then(|number| u32::try_from(number).ok());
    let value = match (name.is_flag(), number) {
        (false, Some(number)) => OptionValue::Number(number),
        (false, None) if name == OptionName::Linger && call.at(2) == Value::FALSE => {
            OptionValue::Flag(false)
        }
        (false, None) => return Err(call.type_error(thread, 2, "index below 2³²")),
        (true, _) => OptionValue::Flag(call.at(2).is_true()),
    };
    at_once(thread, call, |socket| socket.set_option(name, value))?;
    Ok(Value::UNSPECIFIED)
}

fn set_membership(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let text = string_text(call.string(thread, 1)?.value()).unwrap_or_default();
    let Ok(group) = text.parse::<IpAddr>() else {
        return Err(call.type_error(thread, 1, "address of a host"));
    };
    let is_member = call.at(2).is_true();
    at_once(thread, call, |socket| {
        socket.set_membership(group, is_member)
    })?;
    Ok(Value::UNSPECIFIED)
}

fn close(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let socket = socket(thread, call)?;
    socket.close();
    Ok(Value::UNSPECIFIED)
}

fn is_open(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let socket = socket(thread, call)?;
    Ok(Value::boolean(!socket.is_closed()))
}
