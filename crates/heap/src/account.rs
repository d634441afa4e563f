//! The numbers of accounts, which blocks carry.
//!
//! [`crate::accounts`] says which memory belongs to an account, [`crate::notices`] which accounts are
//! notified.

/// The number of an account. It is used again after four billion others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(pub u32);

impl Account {
    /// The program itself, as far as nobody has another account. It is notified only if it runs.
    pub const PROGRAM: Account = Account(0);
    /// Work that must be done whatever the others have used: it is never told.
    pub const EXEMPT: Account = Account(u32::MAX);
}
