//! Control that does not follow calls and returns: continuations, escapes, conditions.
//!
//! A continuation is a chain of heap objects that hold sealed frames; capturing, entering, grafting
//! and escaping copy frames and never run Scheme code. To raise is to push a trap frame that calls
//! `raise` of `(canny machine control)`. Winders, handlers and parameters are registers here: the library
//! knows what they mean and runs them, this module does not.

pub mod condition;
pub(crate) mod continuation;
pub(crate) mod dynamic_state;
pub(crate) mod escape;
pub(crate) mod graft;
mod raise;
