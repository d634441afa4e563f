//! Atomic accesses to memory.
//!
//! An access takes the lower bits of its operands, and the upper bits of its result are zero. So there is
//! one row for both types of integers.

use super::Access;
use super::numeric::operations;

operations! {
    /// The operations of atomic accesses. They give the bits that were there, but for stores.
    AtomicOperation {
        Load "load",
        Store "store",
        Add "add",
        Sub "sub",
        And "and",
        Or "or",
        Xor "xor",
        Exchange "xchg",
        CompareExchange "cmpxchg",
    }
}

operations! {
    /// The bits that an atomic access reads and writes.
    AtomicWidth {
        Bits8 "8",
        Bits16 "16",
        Bits32 "32",
        Bits64 "64",
    }
}

/// An atomic access, and how its address is kept inside of its memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Atomic {
    /// Its operation.
    pub operation: AtomicOperation,
    /// How many bits it changes.
    pub width: AtomicWidth,
    /// [`Access::Guarded`] or [`Access::Checked`].
    pub access: Access,
}

impl AtomicWidth {
    /// How many bytes it has. An address has to be a multiple of that.
    pub const fn bytes(self) -> u64 {
        1 << self as u64
    }
}

impl AtomicOperation {
    /// How many operands follow the address.
    pub const fn operands(self) -> usize {
        match self {
            AtomicOperation::Load => 0,
            AtomicOperation::CompareExchange => 2,
            _ => 1,
        }
    }

    /// Whether it gives what was there.
    pub const fn has_result(self) -> bool {
        !matches!(self, AtomicOperation::Store)
    }
}

impl Atomic {
    /// All atomic accesses.
    pub fn all() -> Vec<Atomic> {
        let mut all = Vec::new();
        for access in [Access::Guarded, Access::Checked] {
            for &operation in AtomicOperation::ALL {
                all.extend(AtomicWidth::ALL.iter().map(|&width| Atomic {
                    operation,
                    width,
                    access,
                }));
            }
        }
        all
    }

    /// Bytes of the instruction.
    pub const fn bytes(self) -> usize {
        match self.access {
            Access::Checked => 32,
            _ => 24,
        }
    }

    /// The name in listings.
    pub fn name(self) -> String {
        let width = self.width.name();
        match self.operation {
            AtomicOperation::Load | AtomicOperation::Store => {
                format!("atomic.{}{width}", self.operation.name())
            }
            operation => format!("atomic.rmw{width}.{}", operation.name()),
        }
    }
}
