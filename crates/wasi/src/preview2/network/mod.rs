//! `wasi:sockets`: the network, addresses, codes of errors.
//!
//! Sockets are non-blocking descriptors of the system. A guest that may not use them can make none.

mod names;
mod options;
mod tcp;
mod udp;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_component::Value;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType};

use super::call::{Call, Stop, failure_with};
use super::failures::{Cause, Failure};
use super::table::{Opened, Resource};
use super::values::{self, Mistake};
use super::{Interface, Row};

pub const INTERFACES: &[Interface] = &[
    Interface {
        name: "wasi:sockets/network",
        functions: ROWS,
        resources: &["network"],
    },
    Interface {
        name: "wasi:sockets/instance-network",
        functions: &[("instance-network", |call| call.give(Network).map(Some))],
        resources: &[],
    },
    Interface {
        name: "wasi:sockets/tcp-create-socket",
        functions: &[("create-tcp-socket", tcp::create)],
        resources: &[],
    },
    Interface {
        name: "wasi:sockets/tcp",
        functions: tcp::ROWS,
        resources: &["tcp-socket"],
    },
    Interface {
        name: "wasi:sockets/udp-create-socket",
        functions: &[("create-udp-socket", udp::create)],
        resources: &[],
    },
    Interface {
        name: "wasi:sockets/udp",
        functions: udp::ROWS,
        resources: &[
            "udp-socket",
            "incoming-datagram-stream",
            "outgoing-datagram-stream",
        ],
    },
    Interface {
        name: "wasi:sockets/ip-name-lookup",
        functions: names::ROWS,
        resources: &["resolve-address-stream"],
    },
];

const ROWS: &[Row] = &[("network-error-code", |call| {
    let code = match call.get::<Failure>(0)?.cause {
        Cause::Socket(error) => Some(Value::Enum(Code::from(error).0)),
        _ => None,
    };
    Ok(Some(values::optional(code)))
})];

/// The network. There is one, so that it has no parts.
struct Network;

impl Resource for Network {
    const NAME: &'static str = "network";
}

/// A number of `wasi:sockets/network.error-code`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Code(u32);

impl Code {
    const UNKNOWN: Code = Code(0);
    const ACCESS_DENIED: Code = Code(1);
    const INVALID_ARGUMENT: Code = Code(3);
    const CONCURRENCY_CONFLICT: Code = Code(6);
    const NOT_IN_PROGRESS: Code = Code(7);
    const WOULD_BLOCK: Code = Code(8);
    const INVALID_STATE: Code = Code(9);
    const ADDRESS_IN_USE: Code = Code(12);
    const NAME_UNRESOLVABLE: Code = Code(18);
    const TEMPORARY_FAILURE: Code = Code(19);
}

impl From<Errno> for Code {
    fn from(error: Errno) -> Code {
        Code(match error {
            Errno::ACCESS | Errno::PERM => 1,
            Errno::OPNOTSUPP | Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT => 2,
            Errno::INVAL => 3,
            Errno::NOMEM | Errno::NOBUFS => 4,
            Errno::TIMEDOUT => 5,
            Errno::ALREADY => 6,
            Errno::AGAIN => 8,
            Errno::ISCONN | Errno::NOTCONN => 9,
            Errno::MFILE | Errno::NFILE => 10,
            Errno::ADDRNOTAVAIL => 11,
            Errno::ADDRINUSE => 12,
            Errno::HOSTUNREACH
            | Errno::HOSTDOWN
            | Errno::NETUNREACH
            | Errno::NETDOWN
            | Errno::NONET => 13,
            Errno::CONNREFUSED => 14,
            Errno::CONNRESET | Errno::NETRESET | Errno::PIPE => 15,
            Errno::CONNABORTED => 16,
            Errno::MSGSIZE => 17,
            _ => return Code::UNKNOWN,
        })
    }
}

impl From<Code> for Stop {
    fn from(code: Code) -> Stop {
        failure_with(Value::Enum(code.0))
    }
}

/// An error of the system as the error of a function on sockets.
fn failed(error: Errno) -> Stop {
    Code::from(error).into()
}

/// The family that an argument names.
fn family(value: &Value) -> Result<AddressFamily, Stop> {
    match values::case(value)? {
        0 => Ok(AddressFamily::INET),
        1 => Ok(AddressFamily::INET6),
        _ => Err(Mistake.into()),
    }
}

fn family_value(family: AddressFamily) -> Value {
    Value::Enum(u32::from(family == AddressFamily::INET6))
}

/// A new socket, if the guest may have one.
fn open(call: &mut Call<'_>, family: AddressFamily, kind: SocketType) -> Result<Arc<Opened>, Stop> {
    if !call.state.network.sockets {
        return Err(Code::ACCESS_DENIED.into());
    }
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, kind, flags, None).map_err(failed)?;
    if family == AddressFamily::INET6 {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true).map_err(failed)?;
    }
    counted(call, socket)
}

fn counted(call: &mut Call<'_>, socket: OwnedFd) -> Result<Arc<Opened>, Stop> {
    call.state.table.open(socket).map_err(failed)
}

/// An address of a socket.
fn socket_address(value: &Value) -> Result<SocketAddr, Stop> {
    match values::variant(value)? {
        (0, Some(held)) => {
            let [port, address] = values::fields(held)?;
            let [a, b, c, d] = values::fields(address)?;
            let address = Ipv4Addr::new(
                values::byte(a)?,
                values::byte(b)?,
                values::byte(c)?,
                values::byte(d)?,
            );
            Ok(SocketAddrV4::new(address, values::short(port)?).into())
        }
        (1, Some(held)) => {
            let [port, flow, address, scope] = values::fields(held)?;
            let mut segments = [0; 8];
            for (segment, value) in segments.iter_mut().zip(values::fields::<8>(address)?) {
                *segment = values::short(value)?;
            }
            let (flow, scope) = (values::number(flow)?, values::number(scope)?);
            let port = values::short(port)?;
            Ok(SocketAddrV6::new(Ipv6Addr::from(segments), port, flow, scope).into())
        }
        _ => Err(Mistake.into()),
    }
}

fn ipv4_value(address: Ipv4Addr) -> Value {
    Value::Record(address.octets().map(Value::U8).into())
}

fn ipv6_value(address: Ipv6Addr) -> Value {
    Value::Record(address.segments().map(Value::U16).into())
}

fn address_value(address: IpAddr) -> Value {
    match address {
        IpAddr::V4(address) => values::holding(0, ipv4_value(address)),
        IpAddr::V6(address) => values::holding(1, ipv6_value(address)),
    }
}

fn socket_address_value(address: SocketAddr) -> Value {
    match address {
        SocketAddr::V4(address) => {
            let fields = vec![Value::U16(address.port()), ipv4_value(*address.ip())];
            values::holding(0, Value::Record(fields))
        }
        SocketAddr::V6(address) => {
            let fields = vec![
                Value::U16(address.port()),
                Value::U32(address.flowinfo()),
                ipv6_value(*address.ip()),
                Value::U32(address.scope_id()),
            ];
            values::holding(1, Value::Record(fields))
        }
    }
}

/// The address that the system tells.
fn told(address: SocketAddrAny) -> Result<SocketAddr, Stop> {
    SocketAddr::try_from(address).map_err(|_| Code::UNKNOWN.into())
}

/// The address of this side of a socket.
fn local_address(opened: &Opened) -> Result<SocketAddr, Stop> {
    told(rustix::net::getsockname(opened).map_err(failed)?)
}

/// Refuses an address of another family, and one of IPv4 in a guise of IPv6.
fn check_family(address: &SocketAddr, family: AddressFamily) -> Result<(), Stop> {
    let is_right = match address {
        SocketAddr::V4(_) => family == AddressFamily::INET,
        SocketAddr::V6(address) => {
            family == AddressFamily::INET6 && address.ip().to_ipv4_mapped().is_none()
        }
    };
    is_right.then_some(()).ok_or(Code::INVALID_ARGUMENT.into())
}

/// Refuses an address that stands for several.
fn check_unicast(address: &SocketAddr) -> Result<(), Stop> {
    let is_several = match address.ip() {
        IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_multicast(),
    };
    (!is_several)
        .then_some(())
        .ok_or(Code::INVALID_ARGUMENT.into())
}

/// Refuses an address to which nothing can be sent.
fn check_remote(address: &SocketAddr) -> Result<(), Stop> {
    let is_one = !address.ip().is_unspecified() && address.port() != 0;
    is_one.then_some(()).ok_or(Code::INVALID_ARGUMENT.into())
}
