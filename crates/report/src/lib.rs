//! The common parts of what people read: tables on a terminal, and pages in a browser.
//!
//! Texts come from programs that were measured, so they may hold anything. [`printable`] shows them
//! without control characters, and [`fit`] cuts them to columns. [`Style`] has the colours, and
//! [`units`] writes amounts. The folder `page` has the parts of pages; no Rust code reads it.
#![forbid(unsafe_code)]

mod columns;
mod style;
pub mod units;

pub use columns::{columns, fit, fit_end, printable, right};
pub use style::{Colour, Style};
