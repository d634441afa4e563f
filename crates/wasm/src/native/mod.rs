//! Machine code of functions that run often.
//!
//! Runs start in the interpreter. The function at which a run uses up its slice is a candidate: a thread of
//! the compiler turns its bytes into machine code (`compile`), and the first instruction of its register
//! code then leads there (`bridges`). So does the first instruction of a loop in which a call was found,
//! for calls that last long. Machine code has frames on a stack of its own (`switch`), and calls other
//! functions directly, or by an adapter if they are interpreted. The rest are operations of the
//! runtime, as in the interpreter; functions that catch or throw exceptions are interpreted always.

mod bridges;
mod compile;
mod tier;

pub use tier::{Policy, code, sample, set_policy, translate_all};
