//! The numbers by which workers and parked words are known.
//!
//! Both are used again. A ticket's generation tells a late event from one for the word that is there
//! now; a worker's number has none, since only the pool keeps it.

/// The number of a worker. Numbers of workers that went are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(u32);

impl WorkerId {
    /// The first thread that came to the pool.
    pub const MAIN: WorkerId = WorkerId(0);

    /// A small number that no other worker has at the time.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The worker with a number.
    pub fn from_index(index: usize) -> WorkerId {
        WorkerId(index as u32)
    }
}

/// The number of a parked word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Ticket {
    /// A number of 60 bits that stands for the ticket.
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The ticket with a number.
    pub fn with_number(number: u64) -> Ticket {
        Ticket {
            index: number as u32,
            generation: (number >> 32) as u32,
        }
    }
}
