//! Tables and pictures for a terminal.
//!
//! Each function answers lines of a given width; `Style` says how wide, and whether with colours.
//! Names are cut at the width, so a line never wraps. Control characters of names are
//! replaced, so that a profile cannot move the cursor.

mod allocation;
mod counts;
mod explain;
mod flame;
mod guests;
mod table;
mod waits;

#[cfg(test)]
mod tests;

pub use canny_report::Style;

pub use allocation::{allocation_sites_table, allocation_types_table, collections_table};
pub use counts::{call_edges_table, counts_table};
pub use explain::explain;
pub use flame::{flame_graph, tree_text};
pub use guests::guests_tables;
pub use table::{callers_table, changes_table, functions_table};
pub use waits::{explain_locks, waits_table};
