//! Reasons why compiled code makes objects.

/// Why compiled code makes an object where its node stands. The first one that applies is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Escape {
    Returned,
    /// Passed to a procedure.
    Called,
    /// Stored in another object.
    Stored,
    /// Passed to a function of the machine.
    Machine,
    /// Passed to a loop or a join of paths.
    Joined,
    /// Compared or read in another way.
    Used,
    /// In a variable while a procedure is called.
    Kept,
}

impl Escape {
    /// A clause that says it, behind "since".
    pub fn text(self) -> &'static str {
        match self {
            Escape::Returned => "it is returned",
            Escape::Called => "it is passed to a procedure",
            Escape::Stored => "it is stored in another object",
            Escape::Machine => "a primitive takes it",
            Escape::Joined => "it goes around a loop or through a join of paths",
            Escape::Used => "compiled code reads it",
            Escape::Kept => "a procedure is called while it is needed",
        }
    }
}
