//! Tagged words and object layouts.
//!
//! A [`Value`] is one 64-bit word as `canny_tables::layout` draws it. The crate reads objects; it
//! allocates nothing, writes only through `unsafe` functions (a store may need the heap's write
//! barrier) and knows nothing of the heap's policy.
//!
//! Invariant behind every safe accessor: a `Value` that is a reference names an object of a
//! well-formed kind that is alive. It is made by [`Value::from_bits`], which is `unsafe`, or read out of
//! another object. The collector keeps it true for words it can see: VM stack slots, heap slots and
//! the native stack and registers (conservatively). A `Value` kept anywhere else, such as a `Vec`,
//! goes stale at the next allocation.

mod header;
mod object;
#[cfg(test)]
mod tests;
mod word;

pub use header::Header;
pub use object::{ObjectRef, PairRef};
pub use word::Value;
