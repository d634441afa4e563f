//! The specializer: what logs tell, what to compile for which types, and the graph of it.
//!
//! Owns statistics, plan, graph, facts, passes and states; knows nothing of code emission or of the heap.
#![forbid(unsafe_code)]

pub mod graph;
pub mod snapshot;
pub mod types;
