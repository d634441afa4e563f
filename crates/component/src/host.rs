//! Functions and resources that the host gives to components.

use canny_wasm::{Store, Trap};

use crate::value::Value;

/// The end of a call of a function of the host.
#[derive(Debug)]
pub enum Answer {
    /// It has returned, with its result if it has one.
    Done(Option<Value>),
    /// It would wait, and has changed nothing. It is called again with the same arguments.
    Wait,
}

/// A function of the host. Results are checked against the type that the component expects.
pub type HostFunction = Box<dyn FnMut(&mut Store, &[Value]) -> Result<Answer, Trap> + Send>;

/// Called with the representation of a resource that a component drops.
pub type Destructor = Box<dyn FnMut(&mut Store, u32) -> Result<(), Trap> + Send>;

/// Interfaces that the host gives to components.
///
/// An interface has the full name of the import, such as `wasi:io/streams@0.2.6`, and a function the
/// name that it has there, such as `[method]input-stream.read`. Both are asked for while a component
/// is instantiated.
pub trait Host: Send + Sync {
    /// A function, or nothing if the host has none of that name.
    fn function(&self, interface: &str, name: &str) -> Option<HostFunction>;

    /// The destructor of a type of resources, or nothing if the host has none of that name.
    fn resource(&self, interface: &str, name: &str) -> Option<Destructor>;
}
