//! WebAssembly guests.
//!
//! A [`Module`] is decoded and validated in one pass. Its functions are translated to register code
//! when they are called first ([`translate`]); instances of a module share that code. An instance lives
//! in a [`Store`] with the memories, tables and global variables that it shares with others. The
//! interpreter's handlers are generated when Canny is built (`crates/llint-generator/src/guest`), and
//! `canny_tables::guest` has the rows of the instructions.
//!
//! Functions that run often become machine code ([`native`]), with frames on another stack
//! ([`switch`]).
//!
//! A run of guest code has frames of its own, apart from the stack of the thread. Code that meets
//! something that it cannot do, or a call of a function of the host, returns to [`run`], so that no
//! frame of Rust is between two frames of a guest.

mod activation;
mod aggregates;
mod arena;
mod backtrace;
mod binary_types;
mod casts;
mod code;
mod code_memory;
mod code_origins;
mod collect;
mod constant;
mod definitions;
mod dwarf;
mod error;
mod exceptions;
mod fields;
mod frames;
mod handlers;
mod heap;
mod held;
mod inspection;
mod instance;
mod link;
mod listing;
mod machine_code;
mod memory;
mod module;
mod names;
mod native;
mod notifications;
mod objects;
mod operations;
mod parts;
mod places;
mod racing;
mod record;
mod remembered;
mod run;
mod sampling;
mod sections;
mod store;
mod switch;
mod table;
mod translate;
mod types;
mod unwind;
mod waiting;
mod waits;

pub use activation::{Event, Limits, Outcome, RunId};
pub use canny_tables::guest::Reason;
pub use casts::Referent;
pub use definitions::{Hierarchy, function_type, is_below};
pub use dwarf::SourcePlace;
pub use error::{Error, GuestFrame, Trap};
pub use exceptions::{Exception, Tag};
pub use inspection::{GuestLocal, InspectedFrame};
pub use instance::{Extern, Imports, Instance};
pub use listing::{listing, listing_with_line};
pub use memory::{Memory, SharedMemory};
pub use module::{Module, features, to_binary};
pub use native::{
    Policy as MachineCodePolicy, set_policy as set_machine_code_policy, translate_all,
};
pub use parts::{Export, ExternType, Import};
pub use remembered::ValidModules;
pub use sampling::{SampleAnswer, SampleRegisters, SampleRequest, SampledFrame, answers, ask};
pub use store::{Body, Function, Global, Store};
pub use table::Table;
pub use types::{
    FieldType, FunctionType, GlobalType, HeapType, MemoryType, Storage, TableType, ValueType,
};
pub use waits::Waiter;
