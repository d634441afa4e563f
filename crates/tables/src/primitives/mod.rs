//! Primitive rows: the procedures written in Rust, one row each.
//!
//! A row's position in [`PRIMITIVES`] order is its [`PrimitiveId`]. The rows are grouped by topic
//! in sibling modules; a name occurs once.

/// What the optimizer may assume of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No assumption: may read and write anything, may raise.
    pub const NONE: Flags = Flags(0);
    /// The same arguments give the same result and nothing is read or written; may be folded on constants.
    pub const FOLDABLE: Flags = Flags(1);
    /// No effect when it does not raise: an unused call may be dropped if its arguments are certain to be right.
    pub const PURE: Flags = Flags(2);
    /// Cannot raise, whatever its arguments (of the right number).
    pub const NEVER_RAISES: Flags = Flags(4);
    /// Allocates a fresh object as its result.
    pub const ALLOCATES: Flags = Flags(8);

    /// The union of two flag sets.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether every flag of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One primitive.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    /// Scheme name.
    pub name: &'static str,
    /// Least number of arguments.
    pub arity_min: u8,
    /// Greatest number of arguments; `None` for any number.
    pub arity_max: Option<u8>,
    /// What the optimizer may assume.
    pub flags: Flags,
    /// Parameter and result types, for error messages and documentation: `"string k -> char"`.
    pub signature: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
}
