//! The machine: frames, calls, continuations, safepoints, and the work that generated code leaves
//! to Rust.
//!
//! A [`Vm`] holds the state that threads share: heap, symbols, global cells, the code's metadata,
//! libraries. A [`Thread`] runs Scheme code on its own VM stack through the generated interpreter.
//! Primitives are Rust functions of type [`PrimitiveFunction`]; the host hands in their table, so
//! this crate knows no library and does no input or output.
//!
//! Invariants:
//! - No Rust frame stands between two Scheme frames. A primitive never calls a procedure; the
//!   machine puts its own calls on the VM stack as trap frames.
//! - At every allocation the live registers of the top frame and of all frames below are precise roots;
//!   Rust locals are roots conservatively; Rust collections are not roots.
//! - Locks are never held across an allocation.

mod code;
mod control;
mod data;
pub mod debug;
mod frames;
mod leaf;
mod primitive;
pub mod profile;
mod runtime;
pub mod specializer;
pub mod survey;
pub mod tasks;
mod thread;
mod vm;

pub use code::{CodeMetadata, UnitMetadata};
pub use control::condition::{self, ConditionKind};
pub use control::graft::NewState;
pub use data::numbers::{self, Numeric, numeric};
pub use data::strings::{self, TextBuilder, string_text};
pub use data::{symbols, values};
pub use frames::guests;
pub use frames::inspect::{FrameVariable, KeptFrame};
pub use frames::stack::VmStack;
pub use frames::{FrameDescription, Position, TailCaller};
pub use leaf::{InPlace, LeafFunction};
pub use primitive::{Arguments, PrimitiveFunction, Raise};
pub use tasks::TasksConfig;
pub use thread::interrupt::InterruptState;
pub use thread::{Exit, Protected, Thread};
pub use vm::{Vm, VmConfig};
