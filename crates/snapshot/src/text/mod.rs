//! Tables for a terminal.
//!
//! Each function answers lines of a given width; [`Style`] says how wide, and whether with colours.
//! Names are cut at the width, so a line never wraps. Control characters of names are replaced, so
//! that a snapshot cannot move the cursor.

mod series;
mod tables;

#[cfg(test)]
mod tests;

pub use canny_report::Style;

pub use series::{difference_table, paths_table, series_table, suspects_table};
pub use tables::{
    duplicates_table, edges_table, head, nodes_table, path_text, rows_table, summary, unused_table,
};
