//! Running macro transformers that are procedures.
//!
//! The expander works beside a machine that may be in the middle of a program, so transformers run in a
//! machine of their own, on a thread of the system of its own: [`machine`]. It has its own heap and its
//! own instances of the libraries that transformers use, which keeps what happens while a program is
//! expanded apart from what happens when it runs. [`bridge`] is the expander's side: it compiles
//! transformer expressions, sends code and macro uses over, and answers the questions of transformers.
//! [`convert`] brings macro uses into the heap and results back, positions included. [`identifiers`]
//! numbers the identifiers that heap objects stand for.

mod bridge;
mod convert;
pub(crate) mod identifiers;
mod machine;

pub(crate) use bridge::MacroBridge;
pub(crate) use machine::{ConversationCell, IdentifierEquality, conversation, macro_value};

/// The library that drives transformers in their machine.
const DRIVER: [&str; 3] = ["canny", "machine", "syntax-runtime"];

/// Most parts that one expansion may have.
const RESULT_NODES_MAX: usize = 2_000_000;
