//! Options of functions that are lifted or lowered: where values of a guest are, and how strings are written.
//!
//! Memories and functions are those of the store.

/// How strings are written in a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    #[default]
    Utf8,
    Utf16,
    /// Latin-1, or UTF-16 if a tag says so.
    Compact,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Compact => "latin-1 or utf-16",
        }
    }
}

/// Options of a function that is lifted or lowered.
#[derive(Clone, Copy, Default)]
pub struct Options {
    pub encoding: Encoding,
    pub memory: Option<u32>,
    pub realloc: Option<canny_wasm::Function>,
    pub post_return: Option<canny_wasm::Function>,
}
