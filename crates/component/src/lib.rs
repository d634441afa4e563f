//! WebAssembly components.
//!
//! A [`Component`] is read and validated with the modules in it. [`Component::instantiate`] carries out
//! its sections in a [`canny_wasm::Store`] and gives an [`Instance`], whose functions take and give a
//! [`Value`]. [`Imports`] say what a component gets: interfaces of a [`Host`], things of other
//! instances, and functions that the embedder carries out.
//!
//! [`types`] has the types of values, `lift` and `lower` the canonical ABI by which values come out of
//! a guest's memory and into it, and [`resource`] the handles.

#![forbid(unsafe_code)]

mod component;
mod function;
mod host;
mod imports;
mod instance;
mod instantiate;
mod lift;
mod listing;
mod lower;
mod options;
pub mod resource;
mod scope;
pub mod types;
mod value;
pub mod wave;

pub use canny_wasm::{Error, to_binary};
pub use component::Component;
pub use function::{Call, Function, Lowered, destroy};
pub use host::{Answer, Destructor, Host, HostFunction};
pub use imports::{Imports, OutsideNames, ROOT};
pub use instance::{Exports, Instance, Item};
pub use instantiate::Made;
pub use listing::{Listing, Row};
pub use value::Value;
