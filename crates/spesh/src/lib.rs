//! The specializer: statistics from logs, plans for code and types, and graphs of these plans.
//!
//! Owns statistics, plan, graph, facts, passes and states; knows nothing of code emission or of the heap.
#![forbid(unsafe_code)]

pub mod build;
pub mod code_map;
pub mod dump;
pub mod elements;
pub mod graph;
pub mod hoist;
pub mod kept;
pub mod log;
pub mod passes;
pub mod planner;
pub mod results;
pub mod sink;
pub mod snapshot;
pub mod statistics;
pub mod switches;
pub mod types;
pub mod unboxed;
pub mod verify;

#[cfg(test)]
mod test_code;
