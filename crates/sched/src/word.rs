//! A word to run: for which workers it is, and why it woke.

use super::Wake;
use super::names::WorkerId;

/// The workers that may run a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Any worker but that for timers.
    General,
    /// Any worker, before other work.
    Timer,
    /// This worker only, while there is one.
    Pinned(WorkerId),
}

/// A word to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    pub word: u64,
    /// If it was parked, why it woke.
    pub wake: Option<Wake>,
    /// If it was parked, when it was made ready: microseconds of the pool's clock, which wrap; zero
    /// unless the pool notes these times.
    pub ready_us: u32,
}

impl Next {
    /// A word that was not parked.
    pub(crate) fn new(word: u64) -> Next {
        Next {
            word,
            wake: None,
            ready_us: 0,
        }
    }

    /// Everything but the word, as one number.
    pub(crate) fn origin(self) -> u64 {
        u64::from(self.ready_us) << 32 | u64::from(wake_number(self.wake))
    }

    /// The inverse of [`Next::origin`].
    pub(crate) fn with_origin(word: u64, origin: u64) -> Next {
        Next {
            word,
            wake: wake_of_number(origin as u32),
            ready_us: (origin >> 32) as u32,
        }
    }
}

/// Why a word woke, as a number.
pub(crate) fn wake_number(wake: Option<Wake>) -> u32 {
    match wake {
        // Nobody makes a ticket ready with `Parked`, which a wait gives and not a ticket.
        None | Some(Wake::Parked) => 0,
        Some(Wake::TimedOut) => 1,
        Some(Wake::Interrupted) => 2,
        Some(Wake::Ready(index)) => 3 + u32::try_from(index).unwrap_or(u32::MAX - 3),
    }
}

/// The inverse of [`wake_number`].
pub(crate) fn wake_of_number(number: u32) -> Option<Wake> {
    match number {
        0 => None,
        1 => Some(Wake::TimedOut),
        2 => Some(Wake::Interrupted),
        _ => Some(Wake::Ready(number as usize - 3)),
    }
}
