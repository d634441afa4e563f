//! Errors of guests: modules that are not valid, instances that cannot be made, and traps.
//!
//! The texts of traps are those of the standard's suite.

use std::fmt;

use canny_tables::guest::Reason;

use crate::dwarf::SourcePlace;
use crate::exceptions::Exception;

/// The reason for which a run ended before its function returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trap {
    /// Guest code did what the standard forbids.
    Reason(Reason),
    /// The run has used up what it may.
    OutOfFuel,
    /// The guest has ended itself, with a code.
    Exit(u32),
    /// An exception that nothing has caught. A function of the host that ends with it raises it.
    Exception(Exception),
    /// A function of the host failed, with a text.
    Host(String),
}

impl Trap {
    /// Its kind in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Trap::Reason(reason) => match reason {
                Reason::Finished
                | Reason::Operation
                | Reason::Budget
                | Reason::Returned
                | Reason::Fault
                | Reason::Resumed => "none",
                Reason::Unreachable => "unreachable",
                Reason::DivideByZero => "divide-by-zero",
                Reason::IntegerOverflow => "integer-overflow",
                Reason::InvalidConversion => "invalid-conversion",
                Reason::OutOfBoundsMemory => "out-of-bounds-memory",
                Reason::OutOfBoundsTable => "out-of-bounds-table",
                Reason::UninitializedElement => "uninitialized-element",
                Reason::IndirectTypeMismatch => "indirect-type-mismatch",
                Reason::NullReference => "null-reference",
                Reason::UndefinedElement => "undefined-element",
                Reason::NullFunction => "null-function",
                Reason::NullStruct => "null-structure",
                Reason::NullArray => "null-array",
                Reason::NullI31 => "null-i31",
                Reason::CastFailure => "cast-failure",
                Reason::OutOfBoundsArray => "out-of-bounds-array",
                Reason::HeapExhausted => "heap-exhausted",
                Reason::UnalignedAtomic => "unaligned-atomic",
                Reason::UnsharedMemory => "unshared-memory",
                Reason::StackExhausted => "stack-exhausted",
            },
            Trap::OutOfFuel => "out-of-fuel",
            Trap::Exit(_) => "exit",
            Trap::Exception(_) => "exception",
            Trap::Host(_) => "host",
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trap::Reason(reason) => match reason {
                Reason::Finished
                | Reason::Operation
                | Reason::Budget
                | Reason::Returned
                | Reason::Fault
                | Reason::Resumed => "no trap",
                Reason::Unreachable => "unreachable code was reached",
                Reason::DivideByZero => "integer divide by zero",
                Reason::IntegerOverflow => "integer overflow",
                Reason::InvalidConversion => "invalid conversion to integer",
                Reason::OutOfBoundsMemory => "out of bounds memory access",
                Reason::OutOfBoundsTable => "out of bounds table access",
                Reason::UninitializedElement => "uninitialized element",
                Reason::IndirectTypeMismatch => "indirect call type mismatch",
                Reason::NullReference => "null reference",
                Reason::UndefinedElement => "undefined element",
                Reason::NullFunction => "null function reference",
                Reason::NullStruct => "null structure reference",
                Reason::NullArray => "null array reference",
                Reason::NullI31 => "null i31 reference",
                Reason::CastFailure => "cast failure",
                Reason::OutOfBoundsArray => "out of bounds array access",
                Reason::HeapExhausted => "the objects of guests do not fit their memory",
                Reason::UnalignedAtomic => "unaligned atomic",
                Reason::UnsharedMemory => "expected shared memory",
                Reason::StackExhausted => "call stack exhausted",
            },
            Trap::OutOfFuel => "all fuel is used up",
            Trap::Exit(code) => return write!(f, "the guest has ended with code {code}"),
            Trap::Exception(_) => "an exception was not caught",
            Trap::Host(text) => text,
        })
    }
}

impl std::error::Error for Trap {}

impl From<Reason> for Trap {
    fn from(reason: Reason) -> Trap {
        Trap::Reason(reason)
    }
}

/// The reason for which a module or an instance could not be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The bytes are no valid module.
    Invalid {
        /// The fault.
        text: String,
        /// Offset in bytes.
        offset: u64,
    },
    /// The text is no module.
    Text {
        /// The fault.
        text: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The module uses a part of the standard that is not supported.
    Unsupported(String),
    /// Imports that were not given, or are of another type: one text for each.
    Imports(Vec<String>),
    /// A trap while the instance was made.
    Trap(Trap),
    /// The system did not give the memory.
    NoMemory(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid { text, offset } => write!(f, "{text} (at offset {offset:#x})"),
            Error::Text { text, line, column } => {
                write!(f, "line {line}, column {column}: {text}")
            }
            Error::Unsupported(text) => f.write_str(text),
            Error::Imports(texts) => f.write_str(&texts.join("; ")),
            Error::Trap(trap) => trap.fmt(f),
            Error::NoMemory(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<wasmparser::BinaryReaderError> for Error {
    fn from(error: wasmparser::BinaryReaderError) -> Error {
        Error::Invalid {
            // Some texts have several lines.
            text: words(error.message()),
            offset: error.offset(),
        }
    }
}

impl From<Trap> for Error {
    fn from(trap: Trap) -> Error {
        Error::Trap(trap)
    }
}

/// A text in one line.
fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// A frame of a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestFrame {
    /// The function's index in its module.
    pub function: u32,
    /// Its name, if the module has one.
    pub name: Option<String>,
    /// The name of its module or of the file, if either is known.
    pub module: Option<String>,
    /// The offset in the module's bytes of the instruction that has trapped or calls the newer frame.
    pub offset: Option<u32>,
    /// Whether it is machine code.
    pub is_machine_code: bool,
    /// Whether a compiler has put it in the place of a call before the module was made: it is a part of the
    /// next frame that is not inlined.
    pub is_inlined: bool,
    /// Where it is in source text, by the module's debug information.
    pub place: Option<SourcePlace>,
}

impl GuestFrame {
    /// The name, or the index in words.
    pub fn name_text(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("function {}", self.function),
        }
    }

    /// The name, the offset and the place in source text, such as `divide@0x1a3f at ratio.c:12:7`.
    pub fn text(&self) -> String {
        let mut text = self.name_text();
        if let Some(offset) = self.offset {
            text.push_str(&format!("@{offset:#x}"));
        }
        if let Some(place) = &self.place {
            text.push_str(&format!(" at {place}"));
        }
        if self.is_inlined {
            text.push_str(" (inlined)");
        }
        text
    }
}
