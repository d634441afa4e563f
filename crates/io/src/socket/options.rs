//! Socket options by name, each a flag or a number.
//!
//! `NAMES` gives every option its name for programs; reading and setting match all options, so that a new one
//! needs both. A value of the wrong type is an error before the system call. Options that a system lacks give
//! the system's error.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use canny_replay::{Answer, Reading};
use rustix::io::Errno;
use rustix::net::{AddressFamily, sockopt};

/// Options that can be read and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionName {
    /// TCP sends what is written at once.
    NoDelay,
    /// TCP asks a silent peer whether it is still there.
    KeepAlive,
    /// Seconds of silence before it asks.
    KeepAliveAfter,
    /// An address may be bound while old connections of it end.
    ReuseAddress,
    /// Several sockets may be bound to an address.
    ReusePort,
    /// Datagrams may be sent to everybody.
    Broadcast,
    /// The system's buffer for what was received, in bytes.
    ReceiveBuffer,
    /// The system's buffer for what is to be sent, in bytes.
    SendBuffer,
    /// Seconds that closing waits for what is still to be sent.
    Linger,
    /// How many routers a packet may pass.
    TimeToLive,
    /// IPv6 only.
    Ipv6Only,
}

/// A row for each option, by which programs know it.
const NAMES: &[(&str, OptionName)] = &[
    ("nodelay", OptionName::NoDelay),
    ("keepalive", OptionName::KeepAlive),
    ("keepalive-after", OptionName::KeepAliveAfter),
    ("reuse-address", OptionName::ReuseAddress),
    ("reuse-port", OptionName::ReusePort),
    ("broadcast", OptionName::Broadcast),
    ("receive-buffer", OptionName::ReceiveBuffer),
    ("send-buffer", OptionName::SendBuffer),
    ("linger", OptionName::Linger),
    ("time-to-live", OptionName::TimeToLive),
    ("ipv6-only", OptionName::Ipv6Only),
];

impl Answer for OptionValue {
    fn write(&self, bytes: &mut Vec<u8>) {
        match *self {
            OptionValue::Flag(flag) => (true, u32::from(flag)).write(bytes),
            OptionValue::Number(number) => (false, number).write(bytes),
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<OptionValue> {
        Some(match Answer::read(bytes)? {
            (true, flag) => OptionValue::Flag(flag != 0u32),
            (false, number) => OptionValue::Number(number),
        })
    }
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    Flag(bool),
    Number(u32),
}

impl OptionValue {
    fn flag(self) -> rustix::io::Result<bool> {
        match self {
            OptionValue::Flag(flag) => Ok(flag),
            OptionValue::Number(_) => Err(Errno::INVAL),
        }
    }

    fn number(self) -> rustix::io::Result<u32> {
        match self {
            OptionValue::Number(number) => Ok(number),
            OptionValue::Flag(_) => Err(Errno::INVAL),
        }
    }
}

impl OptionName {
    /// The option with a name.
    pub fn by_name(name: &str) -> Option<OptionName> {
        let row = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(row.1)
    }

    /// The names of all options.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Whether the option's values are flags; the others are numbers.
    pub fn is_flag(self) -> bool {
        !matches!(
            self,
            OptionName::KeepAliveAfter
                | OptionName::ReceiveBuffer
                | OptionName::SendBuffer
                | OptionName::TimeToLive
                | OptionName::Linger
        )
    }

    pub(super) fn get(self, descriptor: BorrowedFd<'_>) -> rustix::io::Result<OptionValue> {
        let flag = OptionValue::Flag;
        let number = OptionValue::Number;
        let size = |size: usize| OptionValue::Number(u32::try_from(size).unwrap_or(u32::MAX));
        let seconds =
            |time: Duration| OptionValue::Number(u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
        match self {
            OptionName::NoDelay => sockopt::tcp_nodelay(descriptor).map(flag),
            OptionName::KeepAlive => sockopt::socket_keepalive(descriptor).map(flag),
            OptionName::KeepAliveAfter => sockopt::tcp_keepidle(descriptor).map(seconds),
            OptionName::ReuseAddress => sockopt::socket_reuseaddr(descriptor).map(flag),
            OptionName::ReusePort => sockopt::socket_reuseport(descriptor).map(flag),
            OptionName::Broadcast => sockopt::socket_broadcast(descriptor).map(flag),
            OptionName::ReceiveBuffer => sockopt::socket_recv_buffer_size(descriptor).map(size),
            OptionName::SendBuffer => sockopt::socket_send_buffer_size(descriptor).map(size),
            OptionName::Linger => Ok(match sockopt::socket_linger(descriptor)? {
                Some(time) => seconds(time),
                None => flag(false),
            }),
            OptionName::TimeToLive => match sockopt::socket_domain(descriptor)? {
                AddressFamily::INET6 => {
                    let hops = sockopt::ipv6_unicast_hops(descriptor)?;
                    Ok(number(u32::from(hops)))
                }
                _ => sockopt::ip_ttl(descriptor).map(number),
            },
            OptionName::Ipv6Only => sockopt::ipv6_v6only(descriptor).map(flag),
        }
    }

    pub(super) fn set(
        self,
        descriptor: BorrowedFd<'_>,
        value: OptionValue,
    ) -> rustix::io::Result<()> {
        let size = || value.number().map(|number| number as usize);
        let seconds = || {
            value
                .number()
                .map(|number| Duration::from_secs(number.into()))
        };
        match self {
            OptionName::NoDelay => sockopt::set_tcp_nodelay(descriptor, value.flag()?),
            OptionName::KeepAlive => sockopt::set_socket_keepalive(descriptor, value.flag()?),
            OptionName::KeepAliveAfter => sockopt::set_tcp_keepidle(descriptor, seconds()?),
            OptionName::ReuseAddress => sockopt::set_socket_reuseaddr(descriptor, value.flag()?),
            OptionName::ReusePort => sockopt::set_socket_reuseport(descriptor, value.flag()?),
            OptionName::Broadcast => sockopt::set_socket_broadcast(descriptor, value.flag()?),
            OptionName::ReceiveBuffer => sockopt::set_socket_recv_buffer_size(descriptor, size()?),
            OptionName::SendBuffer => sockopt::set_socket_send_buffer_size(descriptor, size()?),
            OptionName::Linger => {
                let time = match value {
                    OptionValue::Flag(false) => None,
                    _ => Some(seconds()?),
                };
                sockopt::set_socket_linger(descriptor, time)
            }
            OptionName::TimeToLive => match sockopt::socket_domain(descriptor)? {
                AddressFamily::INET6 => {
                    let hops = u8::try_from(value.number()?).map_err(|_| Errno::INVAL)?;
                    sockopt::set_ipv6_unicast_hops(descriptor, Some(hops))
                }
                _ => sockopt::set_ip_ttl(descriptor, value.number()?),
            },
            OptionName::Ipv6Only => sockopt::set_ipv6_v6only(descriptor, value.flag()?),
        }
    }
}
