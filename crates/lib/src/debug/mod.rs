//! The language's part of debuggers: expressions in frames, conditions and messages of breakpoints,
//! and the parts of values.
//!
//! Below: [`expressions`] are compiled for a frame and called by the task that stands there;
//! [`conditions`] decide whether a task stops at a breakpoint; [`parts`] are what an object consists of;
//! [`listing`] shows bytecode;
//! [`rerun`] lets replays go backwards; [`watching`] finds what is to be watched.

pub mod conditions;
mod expressions;
pub mod listing;
pub mod parts;
pub mod rerun;
mod simple;
pub mod watching;

pub use expressions::{
    Compiled, Expression, Outcome, begin, begin_again, end, keep, names_in_force, procedure_for,
};
