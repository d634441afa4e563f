//! Answers as bytes: numbers in groups of seven bits, lengths before texts, a tag before a choice.
//!
//! A type of another crate becomes an answer where it is defined. Reading checks everything, since a
//! file may be damaged, and allocates no more than the file has.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::io::Errno;

/// Bytes of one answer that were not read yet.
#[derive(Clone, Debug)]
pub struct Reading<'a> {
    rest: &'a [u8],
}

impl<'a> Reading<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reading<'a> {
        Reading { rest: bytes }
    }

    /// So many bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// All that is left.
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }
}

/// A value that can be kept in a recording.
pub trait Answer: Sized {
    /// Appends it.
    fn write(&self, bytes: &mut Vec<u8>);
    /// Reads what `write` has written; nothing if it is damaged.
    fn read(bytes: &mut Reading<'_>) -> Option<Self>;
}

impl Answer for u64 {
    fn write(&self, bytes: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = bytes.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

impl Answer for i64 {
    fn write(&self, bytes: &mut Vec<u8>) {
        (((*self << 1) ^ (*self >> 63)) as u64).write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<i64> {
        let folded = u64::read(bytes)?;
        Some((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
}

/// Numbers that go by way of another type.
macro_rules! by_way_of {
    ($($type:ty, $way:ty;)*) => {$(
        impl Answer for $type {
            fn write(&self, bytes: &mut Vec<u8>) {
                (*self as $way).write(bytes);
            }

            fn read(bytes: &mut Reading<'_>) -> Option<$type> {
                <$type>::try_from(<$way>::read(bytes)?).ok()
            }
        }
    )*};
}

by_way_of! {
    u8, u64;
    u16, u64;
    u32, u64;
    usize, u64;
    i32, i64;
}

impl Answer for bool {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn read(bytes: &mut Reading<'_>) -> Option<bool> {
        bytes.byte().map(|byte| byte != 0)
    }
}

impl Answer for f64 {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_bits().to_le_bytes());
    }

    fn read(bytes: &mut Reading<'_>) -> Option<f64> {
        let bits = <[u8; 8]>::try_from(bytes.take(8)?).ok()?;
        Some(f64::from_bits(u64::from_le_bytes(bits)))
    }
}

impl Answer for () {
    fn write(&self, _: &mut Vec<u8>) {}

    fn read(_: &mut Reading<'_>) -> Option<()> {
        Some(())
    }
}

impl Answer for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.len().write(bytes);
        bytes.extend_from_slice(self.as_bytes());
    }

    fn read(bytes: &mut Reading<'_>) -> Option<String> {
        let length = usize::read(bytes)?;
        let text = std::str::from_utf8(bytes.take(length)?).ok()?;
        Some(text.to_owned())
    }
}

impl Answer for SocketAddr {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.to_string().write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<SocketAddr> {
        String::read(bytes)?.parse().ok()
    }
}

impl Answer for Duration {
    fn write(&self, bytes: &mut Vec<u8>) {
        (self.as_secs(), self.subsec_nanos()).write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Duration> {
        let (seconds, nanoseconds) = <(u64, u32)>::read(bytes)?;
        Some(Duration::new(seconds, nanoseconds.min(999_999_999)))
    }
}

impl<T: Answer> Answer for Option<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_some().write(bytes);
        if let Some(value) = self {
            value.write(bytes);
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Option<T>> {
        if bool::read(bytes)? {
            T::read(bytes).map(Some)
        } else {
            Some(None)
        }
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.len().write(bytes);
        for value in self {
            value.write(bytes);
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Vec<T>> {
        let length = usize::read(bytes)?;
        (0..length).map(|_| T::read(bytes)).collect()
    }
}

/// Tuples, one element after the other.
macro_rules! tuples {
    ($(($($type:ident $index:tt),*);)*) => {$(
        impl<$($type: Answer),*> Answer for ($($type,)*) {
            fn write(&self, bytes: &mut Vec<u8>) {
                $(self.$index.write(bytes);)*
            }

            fn read(bytes: &mut Reading<'_>) -> Option<Self> {
                Some(($($type::read(bytes)?,)*))
            }
        }
    )*};
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}

impl<T: Answer, E: Answer> Answer for Result<T, E> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_ok().write(bytes);
        match self {
            Ok(value) => value.write(bytes),
            Err(error) => error.write(bytes),
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Result<T, E>> {
        if bool::read(bytes)? {
            T::read(bytes).map(Ok)
        } else {
            E::read(bytes).map(Err)
        }
    }
}

impl Answer for Errno {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.raw_os_error().write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Errno> {
        i32::read(bytes).map(Errno::from_raw_os_error)
    }
}

/// Kinds of errors without a number of the system's. Others become `Other`.
const ERROR_KINDS: &[io::ErrorKind] = &[
    io::ErrorKind::Other,
    io::ErrorKind::NotFound,
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::NotConnected,
    io::ErrorKind::BrokenPipe,
    io::ErrorKind::AlreadyExists,
    io::ErrorKind::WouldBlock,
    io::ErrorKind::InvalidInput,
    io::ErrorKind::InvalidData,
    io::ErrorKind::TimedOut,
    io::ErrorKind::WriteZero,
    io::ErrorKind::Interrupted,
    io::ErrorKind::Unsupported,
    io::ErrorKind::UnexpectedEof,
    io::ErrorKind::OutOfMemory,
];

impl Answer for io::Error {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.raw_os_error().write(bytes);
        if self.raw_os_error().is_none() {
            let kind = ERROR_KINDS.iter().position(|kind| *kind == self.kind());
            (kind.unwrap_or(0), self.to_string()).write(bytes);
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<io::Error> {
        if let Some(number) = <Option<i32>>::read(bytes)? {
            return Some(io::Error::from_raw_os_error(number));
        }
        let (kind, text) = <(usize, String)>::read(bytes)?;
        let kind = *ERROR_KINDS.get(kind)?;
        let plain = io::Error::from(kind);
        let is_plain = plain.to_string() == text;
        Some(if is_plain {
            plain
        } else {
            io::Error::new(kind, text)
        })
    }
}

/// A sum by which bytes that differ are told apart (FNV-1a).
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}
