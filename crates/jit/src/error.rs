//! Errors of making machine code.

use std::fmt;

/// Why there is no machine code.
#[derive(Debug)]
pub enum JitError {
    /// Machine code is not made on this machine; says what is missing.
    Unsupported(&'static str),
    /// The graph breaks one of its rules; says which.
    Invalid(String),
    /// The graph, its frames or its code are larger than what the machine provides for.
    TooLarge,
    /// The code generator refused.
    CodeGenerator(String),
    /// The memory for code or for descriptors is used up.
    MemoryExhausted,
    /// The operating system refuses memory for code.
    Memory(std::io::Error),
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JitError::Unsupported(what) => write!(f, "no machine code here: {what}"),
            JitError::Invalid(what) => write!(f, "invalid graph: {what}"),
            JitError::TooLarge => f.write_str("the procedure is too large to be compiled"),
            JitError::CodeGenerator(what) => write!(f, "code generator: {what}"),
            JitError::MemoryExhausted => f.write_str("the memory for machine code is used up"),
            JitError::Memory(error) => write!(f, "no memory for machine code: {error}"),
        }
    }
}

impl std::error::Error for JitError {}
