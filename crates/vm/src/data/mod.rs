//! Objects of the heap as the machine makes, reads and compares them.
//!
//! One module for each kind of data, beside allocation and copies of ranges, which all of them use;
//! the tables of symbols, globals and procedure names, which the machine's threads share, belong to
//! their data. Everything that allocates may collect, so no lock is held across it. This module does not
//! know frames, and of code only the parameters: functions take words and return words, or raise.

mod allocate;
pub(crate) mod arithmetic;
mod bulk;
pub(crate) mod globals;
pub(crate) mod literals;
pub mod numbers;
pub(crate) mod procedures;
pub mod strings;
pub mod symbols;
pub mod values;
