//! Relocations: what machine code refers to that has no address yet.
//!
//! In the code generator a target has a name of two numbers; both directions of that are here.

/// Where a relocation points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A return descriptor.
    Return(u32),
    /// An exit descriptor.
    Exit(u32),
    /// The point where compiled code continues after a native call of the runtime.
    Resumption(u32),
    /// The descriptor of an inlined call.
    Inlined(u32),
    /// A stub of the code memory.
    Stub(Stub),
    /// A segment of the same procedure.
    Segment(u32),
    /// The word with the address that passed-on calls go to.
    Next,
    /// The last steps of a side exit of the same procedure.
    ExitTail(u32),
    /// A link word.
    Link(u32),
    /// The second word of a link, for arguments that are words.
    LinkOfWords(u32),
}

/// A stub that every code memory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stub {
    /// Executes the instruction at pc in the interpreter.
    Dispatch,
    /// Executes the instruction before pc in the runtime and continues where a resumption says.
    Runtime,
    /// Returns the word in pc's register from the frame to the interpreter.
    Return,
}

impl Target {
    /// Namespace and index of the name that stands for the target in Cranelift.
    pub(crate) fn name(self) -> (u32, u32) {
        match self {
            Target::Return(index) => (0, index),
            Target::Exit(index) => (1, index),
            Target::Resumption(index) => (2, index),
            Target::Stub(Stub::Dispatch) => (3, 0),
            Target::Stub(Stub::Runtime) => (3, 1),
            Target::Stub(Stub::Return) => (3, 2),
            Target::Inlined(index) => (4, index),
            Target::Segment(index) => (5, index),
            Target::Next => (6, 0),
            Target::ExitTail(index) => (7, index),
            Target::Link(index) => (8, index),
            Target::LinkOfWords(index) => (9, index),
        }
    }

    pub(crate) fn from_name(namespace: u32, index: u32) -> Option<Target> {
        Some(match (namespace, index) {
            (0, _) => Target::Return(index),
            (1, _) => Target::Exit(index),
            (2, _) => Target::Resumption(index),
            (3, 0) => Target::Stub(Stub::Dispatch),
            (3, 1) => Target::Stub(Stub::Runtime),
            (3, 2) => Target::Stub(Stub::Return),
            (4, _) => Target::Inlined(index),
            (5, _) => Target::Segment(index),
            (6, 0) => Target::Next,
            (7, _) => Target::ExitTail(index),
            (8, _) => Target::Link(index),
            (9, _) => Target::LinkOfWords(index),
            _ => return None,
        })
    }
}

/// A 32-bit displacement in code: `target + addend - (address of the displacement)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub(crate) offset: usize,
    pub(crate) target: Target,
    pub(crate) addend: i64,
}
