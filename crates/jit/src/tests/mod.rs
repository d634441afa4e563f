//! Graphs built by hand, run under the real interpreter on a machine that is otherwise made up.

mod calls;
mod floats;
mod leaves;
mod listings;
mod machine;
mod memory;
mod numbers;
mod objects;
mod ports;
mod programs;
mod states;
#[allow(dead_code, reason = "its other user builds graphs")]
#[path = "../../../spesh/tests/support/mod.rs"]
mod support;
