//! The records in memory that handlers of guests know: offsets in bytes, and numbers of reasons.
//!
//! The runtime's records assert that they have these offsets.

/// Words between the parameters of a frame (or its results, if they are more) and its locals: return
/// address, frame of the caller, and three more that a call of another instance uses as the
/// instruction [`Plain::ReturnAcross`](super::Plain::ReturnAcross).
pub const LINK_WORDS: usize = 5;

/// The state of one run of guest code.
pub mod activation {
    /// Jumps back and calls until the runtime is asked, a signed number of 64 bits.
    pub const BUDGET: i32 = 0;
    /// Where the frames' memory ends.
    pub const STACK_LIMIT: i32 = 8;
    /// Instruction at which the machine was left.
    pub const PC: i32 = 16;
    /// Frame at which it was left.
    pub const FRAME: i32 = 24;
    /// Instance in which it was left.
    pub const INSTANCE: i32 = 32;
    /// A callee, while a frame is made ready for it.
    pub const CALLEE: i32 = 40;
    /// A link, while a frame is made ready for another function.
    pub const SCRATCH: i32 = 48;
    /// The stack pointer of machine code that was left.
    pub const NATIVE_STACK: i32 = 96;
    /// That of the runtime, while code runs.
    pub const HOST_STACK: i32 = 104;
    /// Where the stack of machine code is used up.
    pub const NATIVE_LIMIT: i32 = 112;
    /// The newest call of machine code by the interpreter.
    pub const TRANSITION: i32 = 120;
    /// Where the next frame of the interpreter begins, while machine code runs.
    pub const TOP: i32 = 128;
}

/// An instance, as code sees it.
pub mod instance {
    /// Where the first memory begins.
    pub const MEMORY: i32 = 0;
    /// Addresses of the records of memories.
    pub const MEMORIES: i32 = 8;
    /// Addresses of the code of the module's own functions, shared by its instances.
    pub const CODES: i32 = 16;
    /// Addresses of the records of imported functions.
    pub const IMPORTS: i32 = 24;
    /// Addresses of the records of tables.
    pub const TABLES: i32 = 32;
    /// Addresses of the cells of globals.
    pub const GLOBALS: i32 = 40;
    /// Addresses of the machine code of the module's own functions, or 0.
    pub const NATIVES: i32 = 48;
}

/// A memory.
pub mod memory {
    /// Where it begins; it never moves.
    pub const BASE: i32 = 0;
    /// Its size in bytes.
    pub const BYTES: i32 = 8;
    /// Logarithm of the size of its pages.
    pub const PAGE_SHIFT: i32 = 16;
}

/// A table.
pub mod table {
    /// Where its elements are, a word each.
    pub const BASE: i32 = 0;
    /// How many it has.
    pub const LENGTH: i32 = 8;
}

/// A function of an instance, or of the host; references are addresses of these, or 0.
pub mod function {
    /// Address of its code.
    pub const CODE: i32 = 0;
    /// Its instance.
    pub const INSTANCE: i32 = 8;
    /// Its type, as the runtime numbers them.
    pub const TYPE: i32 = 16;
    /// Where the numbers of its type's supertypes are, by depth: 32 bits each.
    pub const DISPLAY: i32 = 24;
    /// Its index among the module's own functions, 32 bits.
    pub const INDEX: i32 = 60;
    /// Address of its machine code, or 0.
    pub const NATIVE: i32 = 64;
}

/// Why guest code returns to the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Reason {
    /// The first function of the run has returned.
    Finished = 0,
    /// The instruction is for the runtime.
    Operation = 1,
    /// The budget is used up.
    Budget = 2,
    /// A function has returned to machine code.
    Returned = 3,
    /// Machine code has met a trap; its address says which.
    Fault = 4,
    /// The runtime has changed where the interpreter goes on. Code never returns this.
    Resumed = 5,
    /// A trap; the following are further ones.
    Unreachable = 16,
    /// An integer was divided by zero.
    DivideByZero = 17,
    /// A result does not fit an integer.
    IntegerOverflow = 18,
    /// A float that is no number was converted to an integer.
    InvalidConversion = 19,
    /// An address is outside of its memory.
    OutOfBoundsMemory = 20,
    /// An index is outside of its table.
    OutOfBoundsTable = 21,
    /// The element of a table has no function.
    UninitializedElement = 22,
    /// A function has another type than its caller says.
    IndirectTypeMismatch = 23,
    /// A null reference was used.
    NullReference = 24,
    /// The frames do not fit their memory.
    StackExhausted = 25,
    /// The index of an indirect call is outside of its table.
    UndefinedElement = 26,
    /// A null reference was called.
    NullFunction = 27,
    /// A field of a null reference was used.
    NullStruct = 28,
    /// An element of a null reference was used.
    NullArray = 29,
    /// A null reference was to be an integer.
    NullI31 = 30,
    /// A reference does not have the type that a cast says.
    CastFailure = 31,
    /// An index is outside of its array.
    OutOfBoundsArray = 32,
    /// The objects do not fit their memory.
    HeapExhausted = 33,
    /// The address of an atomic access is not a multiple of its width.
    UnalignedAtomic = 34,
    /// A memory that no other thread has cannot be waited for.
    UnsharedMemory = 35,
}

impl Reason {
    /// All reasons.
    pub const ALL: &[Reason] = &[
        Reason::Finished,
        Reason::Operation,
        Reason::Budget,
        Reason::Returned,
        Reason::Fault,
        Reason::Resumed,
        Reason::Unreachable,
        Reason::DivideByZero,
        Reason::IntegerOverflow,
        Reason::InvalidConversion,
        Reason::OutOfBoundsMemory,
        Reason::OutOfBoundsTable,
        Reason::UninitializedElement,
        Reason::IndirectTypeMismatch,
        Reason::NullReference,
        Reason::StackExhausted,
        Reason::UndefinedElement,
        Reason::NullFunction,
        Reason::NullStruct,
        Reason::NullArray,
        Reason::NullI31,
        Reason::CastFailure,
        Reason::OutOfBoundsArray,
        Reason::HeapExhausted,
        Reason::UnalignedAtomic,
        Reason::UnsharedMemory,
    ];
}
