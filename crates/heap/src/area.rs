//! The kinds of a mutator's areas.

/// The kinds of a mutator's areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AreaKind {
    Scannable,
    Leaf,
    Special,
}
