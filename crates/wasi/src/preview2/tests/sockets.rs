//! `wasi:sockets`, with addresses of this machine only.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use canny_component::{Answer, Value};

use super::super::Network;
use super::{Guest, bytes, closed, lent, none, settings, some, text};

const READ: &str = "io/streams#[method]input-stream.blocking-read";
const WRITE: &str = "io/streams#[method]output-stream.blocking-write-and-flush";

/// Codes of errors.
const ACCESS_DENIED: Value = Value::Enum(1);
const INVALID_ARGUMENT: Value = Value::Enum(3);
const CONCURRENCY_CONFLICT: Value = Value::Enum(6);
const NOT_IN_PROGRESS: Value = Value::Enum(7);
const WOULD_BLOCK: Value = Value::Enum(8);
const INVALID_STATE: Value = Value::Enum(9);
const ADDRESS_IN_USE: Value = Value::Enum(12);
const CONNECTION_REFUSED: Value = Value::Enum(14);
const DATAGRAM_TOO_LARGE: Value = Value::Enum(17);

const IPV4: Value = Value::Enum(0);
const IPV6: Value = Value::Enum(1);

fn tcp(name: &str) -> String {
    format!("sockets/tcp#[method]tcp-socket.{name}")
}

fn udp(name: &str) -> String {
    format!("sockets/udp#[method]udp-socket.{name}")
}

fn networked() -> (Guest, Value) {
    let allowed = Network {
        sockets: true,
        names: true,
        requests: false,
    };
    let mut guest = Guest::on_network(settings(), allowed);
    let network = guest.get("sockets/instance-network#instance-network", &[]);
    (guest, network)
}

fn address(ip: [u8; 4], port: u16) -> Value {
    let ip = Value::Record(ip.map(Value::U8).into());
    let fields = Value::Record(vec![Value::U16(port), ip]);
    Value::Variant(0, Some(Box::new(fields)))
}

fn local(port: u16) -> Value {
    address([127, 0, 0, 1], port)
}

fn port(address: &Value) -> u16 {
    let Value::Variant(_, Some(held)) = address else {
        panic!("{address:?} is no address");
    };
    match &**held {
        Value::Record(fields) => match fields[0] {
            Value::U16(port) => port,
            _ => panic!("a port"),
        },
        _ => panic!("a record"),
    }
}

fn record(value: Value) -> Vec<Value> {
    match value {
        Value::Record(fields) => fields,
        other => panic!("{other:?} is no record"),
    }
}

fn make_tcp(guest: &mut Guest) -> Value {
    guest.ok("sockets/tcp-create-socket#create-tcp-socket", &[IPV4])
}

fn wait_for(guest: &mut Guest, socket: &Value) {
    let pollable = guest.get(&tcp("subscribe"), &[lent(socket)]);
    guest.block(&pollable);
    guest.drop("io/poll#pollable", &pollable).unwrap();
}

/// A connection to a listener of the test, with the streams and the other side.
fn connected() -> (Guest, Value, Value, Value, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut guest, network) = networked();
    let socket = make_tcp(&mut guest);
    let remote = local(listener.local_addr().unwrap().port());
    guest.done(
        &tcp("start-connect"),
        &[lent(&socket), lent(&network), remote.clone()],
    );
    let again = [lent(&socket), lent(&network), remote.clone()];
    assert_eq!(
        guest.error(&tcp("start-connect"), &again),
        CONCURRENCY_CONFLICT
    );
    wait_for(&mut guest, &socket);
    let streams = record(guest.ok(&tcp("finish-connect"), &[lent(&socket)]));
    assert_eq!(guest.ok(&tcp("remote-address"), &[lent(&socket)]), remote);
    let (peer, _) = listener.accept().unwrap();
    let here = guest.ok(&tcp("local-address"), &[lent(&socket)]);
    assert_eq!(port(&here), peer.peer_addr().unwrap().port());
    let [input, output] = &streams[..] else {
        panic!("two streams");
    };
    (guest, socket, input.clone(), output.clone(), peer)
}

#[test]
fn without_permission_there_is_no_network() {
    let mut guest = Guest::new(settings());
    for name in [
        "sockets/tcp-create-socket#create-tcp-socket",
        "sockets/udp-create-socket#create-udp-socket",
    ] {
        assert_eq!(guest.error(name, &[IPV4]), ACCESS_DENIED);
    }
    let network = guest.get("sockets/instance-network#instance-network", &[]);
    for name in ["localhost", "127.0.0.1"] {
        let lookup = [lent(&network), text(name)];
        let error = guest.error("sockets/ip-name-lookup#resolve-addresses", &lookup);
        assert_eq!(error, ACCESS_DENIED);
    }
}

#[test]
fn a_guest_connects() {
    let (mut guest, socket, input, output, mut peer) = connected();
    guest.done(WRITE, &[lent(&output), bytes("ping")]);
    let mut buffer = [0; 4];
    peer.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"ping");
    let most = [lent(&input), Value::U64(u64::MAX)];
    assert!(matches!(guest.once(READ, &most), Ok(Answer::Wait)));
    peer.write_all(b"pong").unwrap();
    assert_eq!(guest.ok(READ, &most), bytes("pong"));
    // Streams work without their socket.
    guest.drop("sockets/tcp#tcp-socket", &socket).unwrap();
    guest.done(WRITE, &[lent(&output), bytes("more")]);
    drop(peer);
    guest.drop("io/streams#output-stream", &output).unwrap();
    // The peer has closed with bytes that it has not read.
    let Value::Variant(0, Some(error)) = guest.error(READ, &most) else {
        panic!("the connection is reset");
    };
    let code = guest.get("sockets/network#network-error-code", &[lent(&error)]);
    assert_eq!(code, some(Value::Enum(15)));
    let code = guest.get("filesystem/types#filesystem-error-code", &[lent(&error)]);
    assert_eq!(code, none());
    assert_eq!(guest.error(READ, &most), closed());
}

#[test]
fn directions_are_shut_down() {
    let (mut guest, socket, input, output, mut peer) = connected();
    // The output holds bytes back: they come before the end.
    let mut written = 0;
    let check = "io/streams#[method]output-stream.check-write";
    while let Value::U64(allowed @ 1..) = guest.ok(check, &[lent(&output)]) {
        let part = bytes(vec![1; allowed as usize]);
        guest.done(
            "io/streams#[method]output-stream.write",
            &[lent(&output), part],
        );
        written += allowed as usize;
    }
    guest.done(&tcp("shutdown"), &[lent(&socket), Value::Enum(1)]);
    assert_eq!(guest.error(check, &[lent(&output)]), closed());
    let thread = std::thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        peer.write_all(b"answer").unwrap();
        (all.len(), peer)
    });
    // While the guest waits for the answer, the rest is sent.
    let most = [lent(&input), Value::U64(100)];
    assert_eq!(guest.ok(READ, &most), bytes("answer"));
    let (received, peer) = thread.join().unwrap();
    assert_eq!(received, written);
    guest.done(&tcp("shutdown"), &[lent(&socket), Value::Enum(2)]);
    assert_eq!(guest.error(READ, &most), closed());
    drop(peer);
}

#[test]
fn a_guest_listens() {
    let (mut guest, network) = networked();
    let socket = make_tcp(&mut guest);
    let bind = [lent(&socket), lent(&network), local(0)];
    for name in ["local-address", "remote-address", "accept", "start-listen"] {
        let error = guest.error(&tcp(name), &[lent(&socket)]);
        assert_eq!(error, INVALID_STATE, "{name}");
    }
    for name in ["finish-bind", "finish-listen", "finish-connect"] {
        let error = guest.error(&tcp(name), &[lent(&socket)]);
        assert_eq!(error, NOT_IN_PROGRESS, "{name}");
    }
    guest.done(&tcp("start-bind"), &bind);
    assert_eq!(guest.error(&tcp("start-bind"), &bind), CONCURRENCY_CONFLICT);
    guest.done(&tcp("finish-bind"), &[lent(&socket)]);
    assert_eq!(guest.error(&tcp("start-bind"), &bind), INVALID_STATE);
    guest.done(&tcp("start-listen"), &[lent(&socket)]);
    guest.done(&tcp("finish-listen"), &[lent(&socket)]);
    assert_eq!(
        guest.get(&tcp("is-listening"), &[lent(&socket)]),
        Value::Bool(true)
    );
    assert_eq!(guest.error(&tcp("accept"), &[lent(&socket)]), WOULD_BLOCK);
    let connect = [lent(&socket), lent(&network), local(1)];
    assert_eq!(guest.error(&tcp("start-connect"), &connect), INVALID_STATE);
    let port = port(&guest.ok(&tcp("local-address"), &[lent(&socket)]));
    let other = make_tcp(&mut guest);
    let bind = [lent(&other), lent(&network), local(port)];
    assert_eq!(guest.error(&tcp("start-bind"), &bind), ADDRESS_IN_USE);
    let thread = std::thread::spawn(move || {
        let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
        peer.write_all(b"hello").unwrap();
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        answer
    });
    wait_for(&mut guest, &socket);
    let accepted = record(guest.ok(&tcp("accept"), &[lent(&socket)]));
    let [connection, input, output] = &accepted[..] else {
        panic!("a socket and two streams");
    };
    let most = [lent(input), Value::U64(100)];
    assert_eq!(guest.ok(READ, &most), bytes("hello"));
    guest.done(WRITE, &[lent(output), bytes("welcome")]);
    for (kind, resource) in [
        ("sockets/tcp#tcp-socket", connection),
        ("io/streams#input-stream", input),
        ("io/streams#output-stream", output),
    ] {
        guest.drop(kind, resource).unwrap();
    }
    assert_eq!(thread.join().unwrap(), "welcome");
}

#[test]
fn refused_connections_close_the_socket() {
    let (mut guest, network) = networked();
    let socket = make_tcp(&mut guest);
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = unused.local_addr().unwrap().port();
    drop(unused);
    let connect = [lent(&socket), lent(&network), local(port)];
    let error = match guest.get(&tcp("start-connect"), &connect) {
        Value::Result(Err(Some(error))) => *error,
        _ => {
            wait_for(&mut guest, &socket);
            guest.error(&tcp("finish-connect"), &[lent(&socket)])
        }
    };
    assert_eq!(error, CONNECTION_REFUSED);
    guest.ok(&tcp("local-address"), &[lent(&socket)]);
    assert_eq!(
        guest.error(&tcp("remote-address"), &[lent(&socket)]),
        INVALID_STATE
    );
    assert_eq!(guest.error(&tcp("start-connect"), &connect), INVALID_STATE);
}

#[test]
fn senseless_addresses_are_refused() {
    let (mut guest, network) = networked();
    let socket = make_tcp(&mut guest);
    let mut segments = [0; 8];
    segments[7] = 1;
    let ipv6 = Value::Record(vec![
        Value::U16(80),
        Value::U32(0),
        Value::Record(segments.map(Value::U16).into()),
        Value::U32(0),
    ]);
    for remote in [
        local(0),
        address([0, 0, 0, 0], 80),
        address([224, 0, 0, 1], 80),
        address([255, 255, 255, 255], 80),
        Value::Variant(1, Some(Box::new(ipv6))),
    ] {
        let connect = [lent(&socket), lent(&network), remote];
        assert_eq!(
            guest.error(&tcp("start-connect"), &connect),
            INVALID_ARGUMENT
        );
    }
    guest.trap(
        &tcp("start-connect"),
        &[lent(&socket), lent(&socket), local(80)],
    );
    let connect = [lent(&socket), lent(&network), Value::Variant(9, None)];
    guest.trap(&tcp("start-connect"), &connect);
}

#[test]
fn options_are_set_within_limits() {
    let (mut guest, _) = networked();
    let socket = make_tcp(&mut guest);
    let numbers = [
        (
            "keep-alive-idle-time",
            Value::U64(0),
            Value::U64(5_000_000_000),
        ),
        (
            "keep-alive-interval",
            Value::U64(0),
            Value::U64(7_000_000_000),
        ),
        ("keep-alive-count", Value::U32(0), Value::U32(3)),
        ("hop-limit", Value::U8(0), Value::U8(9)),
    ];
    for (name, zero, number) in numbers {
        let set = tcp(&format!("set-{name}"));
        assert_eq!(guest.error(&set, &[lent(&socket), zero]), INVALID_ARGUMENT);
        guest.done(&set, &[lent(&socket), number.clone()]);
        assert_eq!(guest.ok(&tcp(name), &[lent(&socket)]), number);
    }
    for name in [
        "receive-buffer-size",
        "send-buffer-size",
        "keep-alive-idle-time",
    ] {
        let set = tcp(&format!("set-{name}"));
        assert_eq!(
            guest.error(&set, &[lent(&socket), Value::U64(0)]),
            INVALID_ARGUMENT
        );
        guest.done(&set, &[lent(&socket), Value::U64(u64::MAX)]);
        assert!(matches!(
            guest.ok(&tcp(name), &[lent(&socket)]),
            Value::U64(1..)
        ));
    }
    guest.done(
        &tcp("set-keep-alive-enabled"),
        &[lent(&socket), Value::Bool(true)],
    );
    let is_kept = guest.ok(&tcp("keep-alive-enabled"), &[lent(&socket)]);
    assert_eq!(is_kept, Value::Bool(true));
    assert_eq!(guest.get(&tcp("address-family"), &[lent(&socket)]), IPV4);
    guest.done(
        &tcp("set-listen-backlog-size"),
        &[lent(&socket), Value::U64(u64::MAX)],
    );
    let backlog = [lent(&socket), Value::U64(0)];
    assert_eq!(
        guest.error(&tcp("set-listen-backlog-size"), &backlog),
        INVALID_ARGUMENT
    );
}

fn bound_udp(guest: &mut Guest, network: &Value) -> (Value, u16) {
    let socket = guest.ok("sockets/udp-create-socket#create-udp-socket", &[IPV4]);
    assert_eq!(
        guest.error(&udp("stream"), &[lent(&socket), none()]),
        INVALID_STATE
    );
    guest.done(
        &udp("start-bind"),
        &[lent(&socket), lent(network), local(0)],
    );
    guest.done(&udp("finish-bind"), &[lent(&socket)]);
    let port = port(&guest.ok(&udp("local-address"), &[lent(&socket)]));
    (socket, port)
}

fn datagram(contents: &[u8], target: Option<Value>) -> Value {
    let target = target.map_or(none(), some);
    Value::Record(vec![bytes(contents), target])
}

#[test]
fn datagrams_are_sent_and_received() {
    let (mut guest, network) = networked();
    let (socket, port) = bound_udp(&mut guest, &network);
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    let remote = local(peer.local_addr().unwrap().port());
    let streams = record(guest.ok(&udp("stream"), &[lent(&socket), none()]));
    let (incoming, outgoing) = (&streams[0], &streams[1]);
    let receive = "sockets/udp#[method]incoming-datagram-stream.receive";
    let send = "sockets/udp#[method]outgoing-datagram-stream.send";
    let check = "sockets/udp#[method]outgoing-datagram-stream.check-send";
    let most = [lent(incoming), Value::U64(u64::MAX)];
    assert_eq!(guest.ok(receive, &most), Value::List(Vec::new()));
    let pollable = guest.get(
        "sockets/udp#[method]incoming-datagram-stream.subscribe",
        &[lent(incoming)],
    );
    assert!(!guest.is_ready(&pollable));
    peer.send_to(b"one", ("127.0.0.1", port)).unwrap();
    guest.block(&pollable);
    let one = Value::Record(vec![bytes("one"), remote.clone()]);
    assert_eq!(guest.ok(receive, &most), Value::List(vec![one]));
    let two = |target| Value::List(vec![datagram(b"two", target)]);
    guest.trap(send, &[lent(outgoing), two(Some(remote.clone()))]);
    let send = |guest: &mut Guest, outgoing: &Value, datagrams| {
        guest.ok(check, &[lent(outgoing)]);
        guest.get(send, &[lent(outgoing), datagrams])
    };
    let sent = |count| Value::Result(Ok(Some(Box::new(Value::U64(count)))));
    let failed = |code| Value::Result(Err(Some(Box::new(code))));
    assert_eq!(
        send(&mut guest, outgoing, two(Some(remote.clone()))),
        sent(1)
    );
    let mut buffer = [0; 10];
    assert_eq!(peer.recv(&mut buffer).unwrap(), 3);
    assert_eq!(
        send(&mut guest, outgoing, two(None)),
        failed(INVALID_ARGUMENT)
    );
    assert_eq!(
        send(&mut guest, outgoing, two(Some(local(0)))),
        failed(INVALID_ARGUMENT)
    );
    let long = Value::List(vec![datagram(&[0; 70_000], Some(remote.clone()))]);
    assert_eq!(send(&mut guest, outgoing, long), failed(DATAGRAM_TOO_LARGE));
    // New streams, which are for one address; the others do not work any more.
    let newer = guest.ok(&udp("stream"), &[lent(&socket), some(remote.clone())]);
    let newer = record(newer);
    assert_eq!(guest.ok(&udp("remote-address"), &[lent(&socket)]), remote);
    assert_eq!(guest.error(receive, &most), INVALID_STATE);
    assert_eq!(guest.error(check, &[lent(outgoing)]), INVALID_STATE);
    assert_eq!(send(&mut guest, &newer[1], two(None)), sent(1));
    let other = two(Some(local(1)));
    assert_eq!(send(&mut guest, &newer[1], other), failed(INVALID_ARGUMENT));
    guest.drop("sockets/udp#udp-socket", &socket).unwrap();
    for (kind, resource) in [
        ("sockets/udp#incoming-datagram-stream", &newer[0]),
        ("sockets/udp#outgoing-datagram-stream", &newer[1]),
    ] {
        guest.drop(kind, resource).unwrap();
    }
}

#[test]
fn names_are_looked_up() {
    let (mut guest, network) = networked();
    let resolve = "sockets/ip-name-lookup#resolve-addresses";
    let next = "sockets/ip-name-lookup#[method]resolve-address-stream.resolve-next-address";
    let subscribe = "sockets/ip-name-lookup#[method]resolve-address-stream.subscribe";
    for name in [
        "",
        "a b",
        "-a",
        "a..b",
        "with\0zero",
        &"x".repeat(64),
        "\u{e4}.example",
    ] {
        let lookup = [lent(&network), text(name)];
        assert_eq!(guest.error(resolve, &lookup), INVALID_ARGUMENT, "{name}");
    }
    let here = Value::Record([127, 0, 0, 1].map(Value::U8).into());
    let here = some(Value::Variant(0, Some(Box::new(here))));
    let number = guest.ok(resolve, &[lent(&network), text("127.0.0.1")]);
    assert_eq!(guest.ok(next, &[lent(&number)]), here);
    assert_eq!(guest.ok(next, &[lent(&number)]), none());
    let lookup = guest.ok(resolve, &[lent(&network), text("localhost")]);
    let pollable = guest.get(subscribe, &[lent(&lookup)]);
    guest.block(&pollable);
    let mut found = Vec::new();
    while let address @ Value::Option(Some(_)) = guest.ok(next, &[lent(&lookup)]) {
        found.push(address);
    }
    assert!(found.contains(&here), "{found:?}");
}

#[test]
fn sockets_of_ipv6_take_no_addresses_of_ipv4() {
    let (mut guest, network) = networked();
    let made = guest.get("sockets/tcp-create-socket#create-tcp-socket", &[IPV6]);
    // A machine may have no IPv6.
    let Value::Result(Ok(Some(socket))) = made else {
        return;
    };
    let bind = [lent(&socket), lent(&network), local(0)];
    assert_eq!(guest.error(&tcp("start-bind"), &bind), INVALID_ARGUMENT);
    let mapped = Value::Record(vec![
        Value::U16(0),
        Value::U32(0),
        Value::Record([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1].map(Value::U16).into()),
        Value::U32(0),
    ]);
    let mapped = Value::Variant(1, Some(Box::new(mapped)));
    let bind = [lent(&socket), lent(&network), mapped];
    assert_eq!(guest.error(&tcp("start-bind"), &bind), INVALID_ARGUMENT);
}
