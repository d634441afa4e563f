//! The effects of operations: which memory each reads and writes, and whether it allocates, exits
//! or calls.
//!
//! The rows of [`super::ops`] give each operation its effects, and every pass asks only these. So
//! the specializer states only once what may be moved, removed or shared. A call reads and writes
//! all memory.

use std::ops::BitOr;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Memory {
    /// Cars of pairs.
    Car,
    /// Cdrs of pairs.
    Cdr,
    /// Elements of vectors.
    Vector,
    /// Contents of boxes.
    Box,
    /// Values of global variables.
    Cell,
    /// Fields of records.
    Record,
    /// Elements of bytevectors and of numeric vectors.
    Bytes,
    /// Characters of strings.
    String,
    /// Registers of the dynamic state.
    Dynamic,
    /// Whether an object is immutable, and whether code relies on the value of a cell.
    Mutability,
    /// Memory that no row above names: tables, ports and other state of the runtime.
    Other,
    /// Captured values, code, lengths and other words that never change after construction.
    Constant,
}

/// A set of kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Memories(u16);

impl Memories {
    /// No memory.
    pub const NONE: Memories = Memories(0);
    /// All memory, constant memory included.
    pub const ALL: Memories = Memories(u16::MAX);
    /// Contents of a program's pairs, vectors, boxes, global variables and records.
    const OBJECTS: Memories = Memories::of(Memory::Car)
        .and(Memories::of(Memory::Cdr))
        .and(Memories::of(Memory::Vector))
        .and(Memories::of(Memory::Box))
        .and(Memories::of(Memory::Cell))
        .and(Memories::of(Memory::Record));

    /// One kind.
    pub const fn of(memory: Memory) -> Memories {
        Memories(1 << memory as u8)
    }

    /// Both sets together.
    pub const fn and(self, other: Memories) -> Memories {
        Memories(self.0 | other.0)
    }

    /// Returns the kinds in this set that are not in the other.
    pub const fn without(self, other: Memories) -> Memories {
        Memories(self.0 & !other.0)
    }

    /// Whether there is nothing in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether both have a kind in common.
    pub const fn overlaps(self, other: Memories) -> bool {
        self.0 & other.0 != 0
    }

    /// Without what never changes.
    pub const fn changeable(self) -> Memories {
        self.without(Memories::of(Memory::Constant))
    }
}

/// The effects of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Effects {
    /// Memory that its value depends on.
    pub reads: Memories,
    /// Memory that it may change.
    pub writes: Memories,
    /// Whether it may make an object.
    pub allocates: bool,
    /// Whether it may leave compiled code by a side exit.
    pub exits: bool,
    /// Whether it hands control to a procedure or to the runtime: that is a safepoint, and an error may
    /// be raised there.
    pub calls: bool,
}

impl Effects {
    /// Whether a node must run even if nobody wants its value.
    ///
    /// A check counts whatever becomes of its value: the builder may have answered questions by what it
    /// checks, so that nothing in the graph names it any more. An object that nobody wants need not be
    /// made.
    pub const fn must_run(self) -> bool {
        self.exits || self.calls || !self.writes.is_empty()
    }

    /// Both together.
    pub const fn and(self, other: Effects) -> Effects {
        Effects {
            reads: self.reads.and(other.reads),
            writes: self.writes.and(other.writes),
            allocates: self.allocates || other.allocates,
            exits: self.exits || other.exits,
            calls: self.calls || other.calls,
        }
    }
}

impl BitOr for Effects {
    type Output = Effects;

    fn bitor(self, other: Effects) -> Effects {
        self.and(other)
    }
}

/// A value and nothing else.
pub const NONE: Effects = Effects {
    reads: Memories::NONE,
    writes: Memories::NONE,
    allocates: false,
    exits: false,
    calls: false,
};
/// It may leave by a side exit.
pub const EXITS: Effects = Effects {
    exits: true,
    ..NONE
};
/// It may make an object.
pub const ALLOCATES: Effects = Effects {
    allocates: true,
    ..NONE
};
/// It hands control to others, which may do everything.
pub const CALLS: Effects = Effects {
    reads: Memories::ALL,
    writes: Memories::ALL,
    allocates: true,
    exits: true,
    calls: true,
};
/// A leaf function: it declines by a side exit, and writes no word of a pair, vector, box, global
/// variable or record ([`canny_tables::leaves`]).
pub const LEAF: Effects = Effects {
    reads: Memories::ALL,
    writes: Memories::ALL
        .without(Memories::OBJECTS)
        .without(Memories::of(Memory::Mutability))
        .changeable(),
    allocates: true,
    exits: true,
    calls: false,
};

/// It reads this memory.
pub const fn reads(memory: Memory) -> Effects {
    Effects {
        reads: Memories::of(memory),
        ..NONE
    }
}

/// It changes this memory.
pub const fn writes(memory: Memory) -> Effects {
    Effects {
        writes: Memories::of(memory),
        ..NONE
    }
}
