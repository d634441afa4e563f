//! The events that waits can be for, and the reasons that end them.

use std::os::fd::BorrowedFd;

use canny_replay::{Answer, Reading};
use rustix::process::Pid;

use super::notice::{Notice, Seen};

/// The reason that ends a wait.
#[derive(Clone, Copy, Debug)]
pub enum Interest<'a> {
    /// Bytes can be read from the descriptor, or its end or an error was reached.
    Readable(BorrowedFd<'a>),
    /// Bytes can be written to the descriptor, or an error was reached.
    Writable(BorrowedFd<'a>),
    /// The child process has ended. Its status is still there to be asked for.
    ChildEnded(Pid),
    /// The notice was given since it was looked at.
    Notice(&'a Notice, Seen),
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The event of the interest with this index may have happened.
    Ready(usize),
    /// The deadline has passed.
    TimedOut,
    /// The interrupt flag is set.
    Interrupted,
    /// The hook in charge of the thread's waits has taken note of it; see [`crate::hook`]. The
    /// operation is to be abandoned.
    Parked,
}

impl Answer for Wake {
    fn write(&self, bytes: &mut Vec<u8>) {
        let number = match *self {
            Wake::Ready(index) => index as u64 + 3,
            Wake::TimedOut => 0,
            Wake::Interrupted => 1,
            Wake::Parked => 2,
        };
        number.write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Wake> {
        Some(match u64::read(bytes)? {
            0 => Wake::TimedOut,
            1 => Wake::Interrupted,
            2 => Wake::Parked,
            number => Wake::Ready((number - 3) as usize),
        })
    }
}
