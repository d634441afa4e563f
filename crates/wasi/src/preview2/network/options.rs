//! Options that sockets of both kinds have. A value of zero is wrong, any other is limited to what the
//! system takes.

use canny_component::Value;
use rustix::net::{AddressFamily, sockopt};

use super::super::call::{Outcome, Stop, success, success_with};
use super::super::table::Opened;
use super::super::values;
use super::{Code, failed};

/// The result of a call of the system that gives nothing.
pub fn finished(result: rustix::io::Result<()>) -> Outcome {
    result.map_err(failed)?;
    success()
}

/// A number that is not zero.
pub fn not_zero(number: u64) -> Result<u64, Stop> {
    (number != 0)
        .then_some(number)
        .ok_or(Code::INVALID_ARGUMENT.into())
}

pub fn hop_limit(opened: &Opened, family: AddressFamily) -> Outcome {
    let limit = match family {
        AddressFamily::INET6 => sockopt::ipv6_unicast_hops(opened),
        _ => sockopt::ip_ttl(opened).map(|limit| limit as u8),
    };
    success_with(Value::U8(limit.map_err(failed)?))
}

pub fn set_hop_limit(opened: &Opened, family: AddressFamily, value: &Value) -> Outcome {
    let limit = values::byte(value)?;
    not_zero(limit.into())?;
    finished(match family {
        AddressFamily::INET6 => sockopt::set_ipv6_unicast_hops(opened, Some(limit)),
        _ => sockopt::set_ip_ttl(opened, limit.into()),
    })
}

pub fn receive_buffer(opened: &Opened) -> Outcome {
    size(sockopt::socket_recv_buffer_size(opened))
}

pub fn send_buffer(opened: &Opened) -> Outcome {
    size(sockopt::socket_send_buffer_size(opened))
}

pub fn set_receive_buffer(opened: &Opened, size: u64) -> Outcome {
    finished(sockopt::set_socket_recv_buffer_size(opened, limited(size)?))
}

pub fn set_send_buffer(opened: &Opened, size: u64) -> Outcome {
    finished(sockopt::set_socket_send_buffer_size(opened, limited(size)?))
}

fn size(size: rustix::io::Result<usize>) -> Outcome {
    success_with(Value::U64(size.map_err(failed)? as u64))
}

/// The system takes numbers that it can double.
fn limited(size: u64) -> Result<usize, Stop> {
    Ok(not_zero(size)?.min(i32::MAX as u64 / 2) as usize)
}
