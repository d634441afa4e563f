//! The machine: frames, calls, continuations, safepoints, and what generated code leaves to Rust.
//!
//! A [`Vm`] is what threads share: heap, symbols, global cells, the code's metadata, libraries. A
//! [`Thread`] runs Scheme code on its own VM stack through the generated interpreter. Primitives are
//! Rust functions of type [`PrimitiveFunction`]; the host hands in their table, so this crate knows no
//! library and does no input or output.
//!
//! Invariants:
//! - No Rust frame stands between two Scheme frames. A primitive never calls a procedure; what the
//!   machine wants called it puts on the VM stack as a trap frame.
//! - At every allocation the live registers of the top frame and of all frames below are precise roots;
//!   Rust locals are roots conservatively; Rust collections are not roots.
//! - Locks are never held across an allocation.

mod accounts;
mod allocate;
mod arithmetic;
mod bulk;
mod code;
pub mod condition;
mod continuation;
mod disassemble;
mod dynamic_state;
mod embedded;
mod escape;
mod frames;
mod globals;
mod graft;
mod inspect;
mod interrupt;
mod leaf;
mod loader;
pub mod numbers;
mod offload;
mod places;
mod primitive;
mod procedures;
mod raise;
mod roots;
mod run;
mod runtime;
mod safepoint;
pub mod specializer;
mod stack;
pub mod strings;
mod stubs;
mod switch;
pub mod symbols;
mod tail_calls;
pub mod tasks;
mod thread;
mod units;
pub mod values;
mod vm;

pub use code::{CodeMetadata, UnitMetadata};
pub use condition::ConditionKind;
pub use frames::{FrameDescription, Position, TailCaller};
pub use graft::NewState;
pub use inspect::{FrameVariable, KeptFrame};
pub use interrupt::InterruptState;
pub use leaf::{InPlace, LeafFunction};
pub use numbers::{Numeric, numeric};
pub use primitive::{Arguments, PrimitiveFunction, Raise};
pub use stack::VmStack;
pub use strings::{TextBuilder, string_text};
pub use tasks::TasksConfig;
pub use thread::{Exit, Protected, Thread};
pub use vm::{Vm, VmConfig};
