//! WebAssembly components.
//!
//! [`Value`] has the values of interface types, [`host`] what the host gives to components.

#![forbid(unsafe_code)]

mod host;
mod value;

pub use host::{Answer, Destructor, Host, HostFunction};
pub use value::Value;
