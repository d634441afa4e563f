//! Snapshots in the formats of other tools: Chrome's, and JSON lines.
//!
//! Both are written node after node, so that memory does not grow with the text.

mod chrome;
mod json_lines;

#[cfg(test)]
mod tests;

pub use chrome::chrome;
pub use json_lines::json_lines;
