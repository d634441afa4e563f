//! Why a TLS context cannot be made.

use std::fmt;

/// Why a context cannot be made: what is wrong, and with which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextError {
    pub message: String,
    pub file: String,
}

impl ContextError {
    pub(crate) fn new(message: &str, file: &str) -> ContextError {
        ContextError {
            message: message.to_owned(),
            file: file.to_owned(),
        }
    }
}

impl fmt::Display for ContextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
