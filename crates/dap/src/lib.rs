//! The Debug Adapter Protocol: how editors debug programs of Canny.
//!
//! A [`Server`] lives in the process that is debugged. It reads requests on a thread of its own; those
//! about a task that stands still are done by that task's thread, between its stop and its next step
//! ([`stops`], [`queues`]). An [`adapter`] is the process that an editor starts: it starts the program,
//! or finds one that runs, and passes messages on. The state of a connection is in [`shared`]; below it
//! are messages and the duty to answer them, and numbers of values; above it values and their parts,
//! breakpoints, and the [`requests`].

#![forbid(unsafe_code)]

pub mod adapter;
mod breakpoints;
mod capabilities;
mod code;
pub mod connection;
mod data;
mod evaluating;
mod expansions;
mod numbers;
mod output;
mod progress;
pub mod prompt;
mod queues;
mod requests;
mod server;
mod shared;
mod stacks;
mod stops;
mod surroundings;
mod values;

pub use server::Server;
pub use shared::{Ending, Run};
pub use surroundings::{Service, Surroundings};
