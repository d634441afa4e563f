//! Heap snapshots: what is alive, who holds it, written to a file while the program goes on.

mod frames;
