//! The numbers of errors in WASI, and those of the system.
//!
//! An error without a number of its own is an error of input or output.

use canny_io::IoError;
use rustix::io::Errno as System;

/// A number of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub u16);

impl Errno {
    pub const AGAIN: Errno = Errno(6);
    pub const BAD_DESCRIPTOR: Errno = Errno(8);
    pub const FAULT: Errno = Errno(21);
    pub const INVALID: Errno = Errno(28);
    pub const IO: Errno = Errno(29);
    pub const IS_DIRECTORY: Errno = Errno(31);
    pub const TOO_MANY_FILES: Errno = Errno(33);
    pub const NOT_CONNECTED: Errno = Errno(53);
    pub const NOT_DIRECTORY: Errno = Errno(54);
    pub const NOT_SOCKET: Errno = Errno(57);
    pub const NOT_SUPPORTED: Errno = Errno(58);
    pub const NOT_PERMITTED: Errno = Errno(63);
    pub const PIPE: Errno = Errno(64);
    pub const READ_ONLY: Errno = Errno(69);
    pub const SEEK: Errno = Errno(70);
}

/// Errors of the system and their numbers in WASI.
const NUMBERS: &[(System, u16)] = &[
    (System::TOOBIG, 1),
    (System::ACCESS, 2),
    (System::ADDRINUSE, 3),
    (System::ADDRNOTAVAIL, 4),
    (System::AFNOSUPPORT, 5),
    (System::AGAIN, 6),
    (System::ALREADY, 7),
    (System::BADF, 8),
    (System::BUSY, 10),
    (System::CANCELED, 11),
    (System::CONNABORTED, 13),
    (System::CONNREFUSED, 14),
    (System::CONNRESET, 15),
    (System::DEADLK, 16),
    (System::DQUOT, 19),
    (System::EXIST, 20),
    (System::FAULT, 21),
    (System::FBIG, 22),
    (System::HOSTUNREACH, 23),
    (System::ILSEQ, 25),
    (System::INPROGRESS, 26),
    (System::INTR, 27),
    (System::INVAL, 28),
    (System::IO, 29),
    (System::ISCONN, 30),
    (System::ISDIR, 31),
    (System::LOOP, 32),
    (System::MFILE, 33),
    (System::MLINK, 34),
    (System::MSGSIZE, 35),
    (System::NAMETOOLONG, 37),
    (System::NETDOWN, 38),
    (System::NETRESET, 39),
    (System::NETUNREACH, 40),
    (System::NFILE, 41),
    (System::NOBUFS, 42),
    (System::NODEV, 43),
    (System::NOENT, 44),
    (System::NOLCK, 46),
    (System::NOMEM, 48),
    (System::NOPROTOOPT, 50),
    (System::NOSPC, 51),
    (System::NOSYS, 52),
    (System::NOTCONN, 53),
    (System::NOTDIR, 54),
    (System::NOTEMPTY, 55),
    (System::NOTSOCK, 57),
    (System::NOTSUP, 58),
    (System::NOTTY, 59),
    (System::NXIO, 60),
    (System::OVERFLOW, 61),
    (System::PERM, 63),
    (System::PIPE, 64),
    (System::PROTO, 65),
    (System::RANGE, 68),
    (System::ROFS, 69),
    (System::SPIPE, 70),
    (System::SRCH, 71),
    (System::STALE, 72),
    (System::TIMEDOUT, 73),
    (System::TXTBSY, 74),
    (System::XDEV, 75),
];

impl From<System> for Errno {
    fn from(error: System) -> Errno {
        let mut numbers = NUMBERS.iter();
        let found = numbers.find(|(known, _)| *known == error);
        found.map_or(Errno::IO, |(_, number)| Errno(*number))
    }
}

impl From<&IoError> for Errno {
    fn from(error: &IoError) -> Errno {
        match error {
            IoError::BrokenPipe(_) => Errno::PIPE,
            IoError::WouldBlock => Errno::AGAIN,
            error => match error.os_code() {
                Some(code) => System::from_raw_os_error(code).into(),
                None => Errno::IO,
            },
        }
    }
}
