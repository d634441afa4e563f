//! Opcode rows of the register bytecode.
//!
//! ```text
//! first word   31     24 23     16 15      8 7       0
//!             |    c    |    b    |    a    |  opcode |     three byte fields, or
//!             |      wide         |    a    |  opcode |     one byte and one 16-bit field, or
//!             |           far               |  opcode |     one signed 24-bit field
//! ```
//!
//! Extension words follow as the row's `extensions` say. Branch offsets count words from the end
//! of the whole instruction. Pool distances count words from the end of the first word (for
//! `wide`) or of the extension word that holds them back to the pool
//! slot's first word. Registers are numbered from fp.

/// Meaning of a field of the first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Not used, zero.
    None,
    /// Register written.
    Def,
    /// Register written with a new box.
    DefBox,
    /// Register read.
    Use,
    /// Register read that holds a box.
    UseBox,
    /// Register read that holds the cell of a global variable.
    UseCell,
    /// Register read that holds a new closure, to be given a captured value.
    UseClosure,
    /// Register read, then written.
    UseDef,
    /// An unsigned count.
    Count,
    /// A count that is not zero.
    Positive,
    /// Zero or one.
    Flag,
    /// A signed 8-bit integer.
    Signed8,
    /// An unsigned 8-bit number (a kind).
    Unsigned8,
    /// 16-bit field: a signed integer.
    Signed16,
    /// 16-bit field: a raw word, sign-extended.
    Word16,
    /// 16-bit field: an unsigned integer.
    Unsigned16,
    /// 16-bit field: the number of a captured value of the closure.
    Captured16,
    /// 16-bit field: distance to a pool slot with a value.
    Constant16,
    /// 16-bit field: distance to a pool slot with the cell of a global variable.
    Cell16,
    /// 16-bit field: distance to a pool slot with a symbol.
    Name16,
    /// 24-bit field: branch offset.
    Offset24,
}

impl Operand {
    /// Whether a register is read.
    pub const fn is_read(self) -> bool {
        use Operand::*;
        matches!(self, Use | UseBox | UseCell | UseClosure | UseDef)
    }

    /// Whether a register is written.
    pub const fn is_written(self) -> bool {
        use Operand::*;
        matches!(self, Def | DefBox | UseDef)
    }

    /// Whether it takes the place of two fields or all three.
    pub const fn is_wide(self) -> bool {
        use Operand::*;
        let is_word = matches!(self, Signed16 | Word16 | Unsigned16 | Captured16 | Offset24);
        is_word || self.slot().is_some()
    }

    /// Returns the content of the pool slot whose distance the field is, if it is one.
    pub const fn slot(self) -> Option<Slot> {
        match self {
            Operand::Constant16 => Some(Slot::Value),
            Operand::Cell16 => Some(Slot::Cell),
            Operand::Name16 => Some(Slot::Name),
            _ => None,
        }
    }
}

/// Content of a pool slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A literal, a closure or primitive, or a cell as a value.
    Value,
    /// The cell of a global variable.
    Cell,
    /// A code object.
    Code,
    /// A description of keyword parameters.
    Keywords,
    /// A symbol.
    Name,
}

/// Meaning of an extension word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Signed branch offset.
    Offset,
    /// Live map of a call; always the last word.
    LiveMap,
    /// Distance to a pool slot with a value.
    Constant,
    /// Distance to a pool slot with a code object.
    Code,
    /// Distance to a pool slot with a description of keyword parameters.
    Keywords,
    /// Distance to a pool slot with a symbol.
    Name,
    /// A primitive's number.
    Primitive,
    /// A plain unsigned number.
    Number,
}

impl Extension {
    /// Returns the content of the pool slot whose distance the word is, if it is one.
    pub const fn slot(self) -> Option<Slot> {
        match self {
            Extension::Constant => Some(Slot::Value),
            Extension::Code => Some(Slot::Code),
            Extension::Keywords => Some(Slot::Keywords),
            Extension::Name => Some(Slot::Name),
            Extension::Offset | Extension::LiveMap | Extension::Primitive | Extension::Number => {
                None
            }
        }
    }
}

/// Registers that an instruction touches besides its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// None.
    None,
    /// A call: reads `a` and `a+2 ..= a+1+b`, then everything from `a` on is clobbered and `a` written.
    Call,
    /// A tail call: reads `a` and `a+2 ..= a+1+b`, does not continue.
    TailCall,
    /// Reads `a .. a+b`, writes `a`.
    Arguments,
    /// Reads `a`, writes `a .. a+b+c`.
    Unpack,
    /// Entry of a procedure: parameters `0 .. a+b+c` are written (a required, b optional, c rest).
    Entry,
    /// Entry with keywords: like `Entry`, `b` counting optionals and keywords, from a description in
    /// the pool.
    KeywordEntry,
    /// Machine stub: reads the argument registers that it was called with.
    Stub,
}

impl Window {
    /// Whether the instruction puts the parameters of a procedure in place.
    pub const fn is_entry(self) -> bool {
        matches!(self, Window::Entry | Window::KeywordEntry)
    }

    /// Whether the instruction finds the arguments in the first registers, as they were passed.
    pub const fn reads_arguments(self) -> bool {
        self.is_entry() || matches!(self, Window::Stub)
    }
}

/// How control leaves an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the offset, forward.
    Jump,
    /// To the offset, back.
    Loop,
    /// To the next instruction or the offset.
    Branch,
    /// Does not continue in this code.
    Stop,
}

/// Facts about an opcode that are true or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpcodeFlags(u32);

macro_rules! flags {
    ($($name:ident $bit:literal $doc:literal;)*) => {
        impl OpcodeFlags {
            $(#[doc = $doc] pub const $name: OpcodeFlags = OpcodeFlags(1 << $bit);)*
        }
    };
}

flags! {
    RAISES 0 "May build and raise a condition.";
    ALLOCATES 1 "May allocate, so the collector may run.";
    SLOW_PATH 2 "The runtime has an entry for it, although it neither raises nor allocates.";
    RUNTIME_ONLY 3 "The interpreter has no handler for it: its runtime entry does all the work.";
    MACHINE 4 "Only the machine writes it; a unit never contains it.";
    CALLS 5 "Calls the procedure in R[a].";
    CALLS_PRIMITIVE 6 "Calls the primitive of its extension word.";
    LOGS_CALL 7
        "The specializer's log gets an entry with the code that is called and the types of the arguments.";
    LOGS_RETURN 8 "The log gets an entry with the type of the value returned.";
    LOGS_LOOP 9 "The log gets an entry with the types of the first registers.";
    LOGS_RESULT 10 "The log gets an entry with the type of the result.";
    INTERPRETER 11 "The graph builder leaves it to the interpreter: a side exit there is no wrong guess.";
    RUNTIME_CALL 12 "The graph builder leaves it to a call of its runtime entry.";
    OWN_FRAME 13 "Needs a frame of its own, so its code is not inlined.";
    BEFORE_ENTRY 14 "Stands before the parameters are in place, and nowhere else.";
    PORT 15 "Uses the loan of the port in its last register operand, with its runtime entry for the rest.";
    COUNTS 17
        "Counts for a profile. Its numbers mean something in the process that compiled it only, so the \
         verifier refuses it.";
    FILLS_CLOSURES 16
        "May stand between make-closure and its closure-set: it runs no Scheme code and lets no register \
         escape.";
}

impl OpcodeFlags {
    /// No flag.
    pub const NONE: OpcodeFlags = OpcodeFlags(0);

    /// These flags and others.
    pub const fn or(self, others: OpcodeFlags) -> OpcodeFlags {
        OpcodeFlags(self.0 | others.0)
    }

    /// Whether any of these flags is set.
    pub const fn has(self, any: OpcodeFlags) -> bool {
        self.0 & any.0 != 0
    }
}

/// One opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpcodeRow {
    /// Mnemonic.
    pub name: &'static str,
    /// Fields a, b, c of the first word (a 16- or 24-bit field takes the place of those it covers).
    pub operands: [Operand; 3],
    /// Extension words.
    pub extensions: &'static [Extension],
    /// Registers beyond the operands.
    pub window: Window,
    /// Control flow.
    pub flow: Flow,
    /// Everything else that other crates ask.
    pub flags: OpcodeFlags,
    /// The primitives that it stands for, operand by operand: a call of one of them is compiled to it.
    /// The first one does its work where it has no runtime entry of its own.
    pub primitives: &'static [&'static str],
    /// One line of documentation.
    pub doc: &'static str,
}

macro_rules! opcodes {
    ($(
        $id:ident
            $name:literal [$a:ident $b:ident $c:ident] [$($ext:ident)*] $window:ident $flow:ident
            [$($flag:ident)*]
            $doc:literal $(for $($primitive:literal)+)?;
    )*) => {
        /// The opcodes, in table order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode { $(#[doc = $doc] $id),* }

        /// The rows, indexed by opcode.
        pub static OPCODES: &[OpcodeRow] = &[$(OpcodeRow {
            name: $name,
            operands: [Operand::$a, Operand::$b, Operand::$c],
            extensions: &[$(Extension::$ext),*],
            window: Window::$window,
            flow: Flow::$flow,
            flags: OpcodeFlags::NONE$(.or(OpcodeFlags::$flag))*,
            primitives: &[$($($primitive),+)?],
            doc: $doc,
        }),*];

        impl Opcode {
            /// Every opcode, in order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$id),*];
        }
    };
}

opcodes! {
    // Control.
    Nop "nop" [None None None] [] None Next [] "Does nothing.";
    Halt "halt" [Use None None] [] None Stop [MACHINE INTERPRETER] "Leaves the interpreter with R[a].";
    Return "return" [Use None None] [] None Stop [LOGS_RETURN] "Returns R[a] to the caller.";
    Jump "jump" [Offset24 None None] [] None Jump [] "Goes forward.";
    Loop "loop" [Offset24 None None] [] None Loop [RAISES ALLOCATES LOGS_LOOP] "Goes back; a safepoint.";
    JumpFalse "jump-false" [Use None None] [Offset] None Branch [] "Branches if R[a] is #f.";
    JumpTrue "jump-true" [Use None None] [Offset] None Branch [] "Branches if R[a] is not #f.";
    JumpEq "jump-eq" [Use Use None] [Offset] None Branch [] "Branches if R[a] and R[b] are the same word.";
    JumpNotEq "jump-not-eq" [Use Use None] [Offset] None Branch []
        "Branches if R[a] and R[b] are different words.";
    JumpEqImmediate "jump-eq-immediate" [Use Word16 None] [Offset] None Branch []
        "Branches if R[a] is the sign-extended raw word.";
    JumpNotEqImmediate "jump-not-eq-immediate" [Use Word16 None] [Offset] None Branch []
        "Branches if R[a] is not the sign-extended raw word.";
    JumpPair "jump-pair" [Use None None] [Offset] None Branch [] "Branches if R[a] is a pair.";
    JumpNotPair "jump-not-pair" [Use None None] [Offset] None Branch [] "Branches if R[a] is not a pair.";
    JumpFixnum "jump-fixnum" [Use None None] [Offset] None Branch [] "Branches if R[a] is a fixnum.";
    JumpNotFixnum "jump-not-fixnum" [Use None None] [Offset] None Branch []
        "Branches if R[a] is not a fixnum.";
    JumpFlonum "jump-flonum" [Use None None] [Offset] None Branch [SLOW_PATH] "Branches if R[a] is a flonum.";
    JumpNotFlonum "jump-not-flonum" [Use None None] [Offset] None Branch [SLOW_PATH]
        "Branches if R[a] is not a flonum.";
    JumpCharacter "jump-character" [Use None None] [Offset] None Branch [] "Branches if R[a] is a character.";
    JumpNotCharacter "jump-not-character" [Use None None] [Offset] None Branch []
        "Branches if R[a] is not a character.";
    JumpKind "jump-kind" [Use Unsigned8 None] [Offset] None Branch []
        "Branches if R[a] is an object of kind b.";
    JumpNotKind "jump-not-kind" [Use Unsigned8 None] [Offset] None Branch []
        "Branches if R[a] is not an object of kind b.";
    JumpRecord "jump-record" [Use Use None] [Offset] None Branch [RAISES]
        "Branches if R[a] is a record of type R[b] or of a type derived from it.";
    JumpNotRecord "jump-not-record" [Use Use None] [Offset] None Branch [RAISES]
        "Branches if R[a] is not a record of type R[b].";
    JumpLess "jump-less" [Use Use None] [Offset] None Branch [RAISES] "Branches if R[a] < R[b].";
    JumpNotLess "jump-not-less" [Use Use None] [Offset] None Branch [RAISES] "Branches unless R[a] < R[b].";
    JumpLessEqual "jump-less-equal" [Use Use None] [Offset] None Branch [RAISES] "Branches if R[a] <= R[b].";
    JumpNotLessEqual "jump-not-less-equal" [Use Use None] [Offset] None Branch [RAISES]
        "Branches unless R[a] <= R[b].";
    JumpNumberEqual "jump-number-equal" [Use Use None] [Offset] None Branch [RAISES]
        "Branches if R[a] = R[b].";
    JumpNotNumberEqual "jump-not-number-equal" [Use Use None] [Offset] None Branch [RAISES]
        "Branches unless R[a] = R[b].";
    JumpLessImmediate "jump-less-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
        "Branches if R[a] < the integer.";
    JumpNotLessImmediate "jump-not-less-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
        "Branches unless R[a] < the integer.";
    JumpLessEqualImmediate "jump-less-equal-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
        "Branches if R[a] <= the integer.";
    JumpNotLessEqualImmediate
        "jump-not-less-equal-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
            "Branches unless R[a] <= the integer.";
    JumpGreaterImmediate "jump-greater-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
        "Branches if R[a] > the integer.";
    JumpNotGreaterImmediate "jump-not-greater-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
        "Branches unless R[a] > the integer.";
    JumpGreaterEqualImmediate
        "jump-greater-equal-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
            "Branches if R[a] >= the integer.";
    JumpNotGreaterEqualImmediate
        "jump-not-greater-equal-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
            "Branches unless R[a] >= the integer.";
    JumpNumberEqualImmediate "jump-number-equal-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
        "Branches if R[a] = the integer.";
    JumpNotNumberEqualImmediate
        "jump-not-number-equal-immediate" [Use Signed16 None] [Offset] None Branch [RAISES]
            "Branches unless R[a] = the integer.";
    JumpCharacterEqual "jump-character-equal" [Use Use None] [Offset] None Branch [RAISES]
        "Branches if the characters R[a] and R[b] are equal.";
    JumpNotCharacterEqual "jump-not-character-equal" [Use Use None] [Offset] None Branch [RAISES]
        "Branches unless the characters R[a] and R[b] are equal.";
    JumpCharacterLess "jump-character-less" [Use Use None] [Offset] None Branch [RAISES]
        "Branches if the character R[a] comes before R[b].";
    JumpNotCharacterLess "jump-not-character-less" [Use Use None] [Offset] None Branch [RAISES]
        "Branches unless the character R[a] comes before R[b].";

    // Entry of procedures that take a variable number of arguments; the count is in the thread block.
    Entry "entry" [Count Count Flag] [] Entry Next [RAISES ALLOCATES BEFORE_ENTRY]
        "Takes a required and b optional arguments (absent ones marked) and, if c is 1, a rest list.";
    KeywordEntry
        "keyword-entry" [Count Count Flag] [Keywords] KeywordEntry Next
            [RAISES ALLOCATES RUNTIME_ONLY BEFORE_ENTRY]
            "Like entry, then parses keyword arguments after the positional ones by the pool's description.";
    CaseEntry "case-entry" [Count Flag None] [Offset] None Branch [SLOW_PATH BEFORE_ENTRY]
        "Branches unless the argument count is a (b = 0) or at least a (b = 1).";
    ArityError
        "arity-error" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY INTERPRETER BEFORE_ENTRY]
            "Raises: no clause takes this number of arguments.";

    // Moves, constants, variables.
    Move "move" [Def Use None] [] None Next [FILLS_CLOSURES] "R[a] = R[b].";
    LoadImmediate "load-immediate" [Def Word16 None] [] None Next [FILLS_CLOSURES]
        "R[a] = the sign-extended raw word.";
    LoadConstant "load-constant" [Def Constant16 None] [] None Next [FILLS_CLOSURES] "R[a] = the pool slot.";
    LoadConstantFar "load-constant-far" [Def None None] [Constant] None Next [FILLS_CLOSURES]
        "R[a] = the pool slot, at any distance.";
    GlobalRef "global-ref" [Def Cell16 None] [] None Next [RAISES LOGS_RESULT]
        "R[a] = value of the cell in the pool; raises if unbound.";
    GlobalSet "global-set" [Use Cell16 None] [] None Next [RAISES]
        "Sets the cell in the pool to R[a]; raises if unbound.";
    GlobalDefine "global-define" [Use Cell16 None] [] None Next [SLOW_PATH RUNTIME_CALL]
        "Defines the cell in the pool as R[a].";
    CellRef "cell-ref" [Def UseCell None] [] None Next [RAISES LOGS_RESULT RUNTIME_CALL]
        "R[a] = value of the cell R[b]; raises if unbound.";
    CellSet "cell-set" [UseCell Use None] [] None Next [RAISES RUNTIME_CALL]
        "Sets the cell R[a] to R[b]; raises if unbound.";
    CellDefine "cell-define" [UseCell Use None] [] None Next [SLOW_PATH RUNTIME_CALL]
        "Defines the cell R[a] as R[b].";
    Free "free" [Def Captured16 None] [] None Next [LOGS_RESULT FILLS_CLOSURES]
        "R[a] = captured value of this closure.";
    SelfRef "self" [Def None None] [] None Next [FILLS_CLOSURES] "R[a] = this closure.";
    MakeClosure "make-closure" [Def Count None] [Code] None Next [ALLOCATES FILLS_CLOSURES]
        "R[a] = a closure over the code in the pool with b captured values, set by the closure-set that \
         follow.";
    ClosureSet "closure-set" [UseClosure Use Unsigned8] [] None Next [FILLS_CLOSURES]
        "Captured value c of the closure R[a] = R[b].";
    MakeBox "make-box" [DefBox Use None] [] None Next [ALLOCATES] "R[a] = a box holding R[b].";
    BoxRef "box-ref" [Def UseBox None] [] None Next [LOGS_RESULT] "R[a] = content of the box R[b].";
    BoxSet "box-set" [UseBox Use None] [] None Next [] "Sets the box R[a] to R[b].";
    CheckDefined "check-defined" [Use Name16 None] [] None Next [RAISES]
        "Raises if R[a] is the unbound marker; the pool has the variable's name.";

    // Pairs.
    Cons "cons" [Def Use Use] [] None Next [ALLOCATES] "R[a] = (R[b] . R[c])." for "cons";
    Car "car" [Def Use None] [] None Next [RAISES LOGS_RESULT] "R[a] = car of R[b]." for "car";
    Cdr "cdr" [Def Use None] [] None Next [RAISES LOGS_RESULT] "R[a] = cdr of R[b]." for "cdr";
    Cadr "cadr" [Def Use None] [] None Next [RAISES LOGS_RESULT] "R[a] = cadr of R[b]." for "cadr";
    Cddr "cddr" [Def Use None] [] None Next [RAISES LOGS_RESULT] "R[a] = cddr of R[b]." for "cddr";
    SetCar "set-car" [Use Use None] [] None Next [RAISES] "Sets the car of R[a] to R[b]." for "set-car!";
    SetCdr "set-cdr" [Use Use None] [] None Next [RAISES] "Sets the cdr of R[a] to R[b]." for "set-cdr!";

    // Numbers.
    Add "add" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = R[b] + R[c].";
    Subtract "subtract" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = R[b] - R[c].";
    Multiply "multiply" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = R[b] * R[c].";
    Divide "divide" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = R[b] / R[c].";
    AddImmediate "add-immediate" [Def Use Signed8] [] None Next [RAISES ALLOCATES] "R[a] = R[b] + c.";
    Quotient "quotient" [Def Use Use] [] None Next [RAISES ALLOCATES]
        "R[a] = truncate-quotient of R[b] and R[c]." for "quotient" "truncate-quotient";
    Remainder "remainder" [Def Use Use] [] None Next [RAISES ALLOCATES]
        "R[a] = truncate-remainder of R[b] and R[c]." for "remainder" "truncate-remainder";
    Modulo "modulo" [Def Use Use] [] None Next [RAISES ALLOCATES]
        "R[a] = floor-remainder of R[b] and R[c]." for "modulo" "floor-remainder";
    BitAnd "bit-and" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = bitwise-and of R[b] and R[c].";
    BitOr "bit-or" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = bitwise-ior of R[b] and R[c].";
    BitXor "bit-xor" [Def Use Use] [] None Next [RAISES ALLOCATES] "R[a] = bitwise-xor of R[b] and R[c].";
    ShiftLeft "shift" [Def Use Use] [] None Next [RAISES ALLOCATES]
        "R[a] = arithmetic-shift of R[b] by R[c]." for "arithmetic-shift";

    // Vectors, strings, bytevectors, characters, records.
    VectorRef "vector-ref" [Def Use Use] [] None Next [RAISES LOGS_RESULT FILLS_CLOSURES]
        "R[a] = element R[c] of the vector R[b]." for "vector-ref";
    VectorSet "vector-set" [Use Use Use] [] None Next [RAISES] "Element R[b] of the vector R[a] = R[c]." for
        "vector-set!";
    VectorLength "vector-length" [Def Use None] [] None Next [RAISES] "R[a] = length of the vector R[b]." for
        "vector-length";
    StringRef "string-ref" [Def Use Use] [] None Next [RAISES]
        "R[a] = character R[c] of the string R[b]." for "string-ref";
    StringLength "string-length" [Def Use None] [] None Next [RAISES] "R[a] = length of the string R[b]." for
        "string-length";
    BytevectorRef "bytevector-ref" [Def Use Use] [] None Next [RAISES]
        "R[a] = byte R[c] of the bytevector R[b]." for "bytevector-u8-ref";
    BytevectorSet "bytevector-set" [Use Use Use] [] None Next [RAISES]
        "Byte R[b] of the bytevector R[a] = R[c]." for "bytevector-u8-set!";
    BytevectorLength "bytevector-length" [Def Use None] [] None Next [RAISES]
        "R[a] = length of the bytevector R[b]." for "bytevector-length";
    CharacterToInteger "char-to-integer" [Def Use None] [] None Next [RAISES]
        "R[a] = code point of the character R[b]." for "char->integer";
    IntegerToCharacter "integer-to-char" [Def Use None] [] None Next [RAISES]
        "R[a] = character with the code point R[b]." for "integer->char";
    RecordRef "record-ref" [Def Use Use] [Number Name] None Next [RAISES LOGS_RESULT]
        "R[a] = field (number) of R[b], a record of type R[c]; the pool has the accessor's name.";
    RecordSet "record-set" [Use Use Use] [Number Name] None Next [RAISES]
        "Field (number) of R[a], a record of type R[b], = R[c]; the pool has the modifier's name.";
    ClassKey "class-key" [Def Use None] [] None Next [SLOW_PATH]
        "R[a] = class key of R[b]: the number of its record type, or of its kind." for "%class-key";
    MakeRecord "make-record" [UseDef Positive None] [] Arguments Next [RAISES ALLOCATES RUNTIME_ONLY]
        "R[a] = a record of type R[a] with the fields R[a+1 .. a+b); b counts the type too.";

    // Characters and bytes of ports; each is named like the primitive that does it when the port is not
    // lent to the thread.
    ReadCharacter "read-char" [Def Use None] [] None Next [RAISES ALLOCATES RUNTIME_CALL PORT]
        "R[a] = next character of the port R[b], or the end-of-file object." for "read-char";
    PeekCharacter "peek-char" [Def Use None] [] None Next [RAISES ALLOCATES RUNTIME_CALL PORT]
        "R[a] = next character of the port R[b], left in place, or the end-of-file object." for "peek-char";
    WriteCharacter "write-char" [Use Use None] [] None Next [RAISES ALLOCATES RUNTIME_CALL PORT]
        "Writes the character R[a] to the port R[b]." for "write-char";
    ReadByte "read-u8" [Def Use None] [] None Next [RAISES ALLOCATES RUNTIME_CALL PORT]
        "R[a] = next byte of the port R[b], or the end-of-file object." for "read-u8";
    PeekByte "peek-u8" [Def Use None] [] None Next [RAISES ALLOCATES RUNTIME_CALL PORT]
        "R[a] = next byte of the port R[b], left in place, or the end-of-file object." for "peek-u8";
    WriteByte "write-u8" [Use Use None] [] None Next [RAISES ALLOCATES RUNTIME_CALL PORT]
        "Writes the byte R[a] to the port R[b]." for "write-u8";

    // Calls.
    Call "call" [Use Count None] [LiveMap] Call Next [RAISES ALLOCATES CALLS LOGS_CALL]
        "R[a] = result of calling R[a] with the b arguments from R[a+2].";
    TailCall "tail-call" [Use Count None] [] TailCall Stop [RAISES ALLOCATES CALLS LOGS_CALL]
        "Calls R[a] with the b arguments from R[a+2] in place of this frame.";
    CallPrimitive
        "call-primitive" [Def Count None] [Primitive] Arguments Next
            [RAISES ALLOCATES RUNTIME_ONLY CALLS_PRIMITIVE LOGS_RESULT]
            "R[a] = primitive applied to the b arguments from R[a].";
    CallPrimitive1
        "call-primitive-1" [Def Use None] [Primitive] None Next
            [RAISES ALLOCATES RUNTIME_ONLY CALLS_PRIMITIVE LOGS_RESULT]
            "R[a] = primitive applied to R[b].";
    CallPrimitive2
        "call-primitive-2" [Def Use Use] [Primitive] None Next
            [RAISES ALLOCATES RUNTIME_ONLY CALLS_PRIMITIVE LOGS_RESULT]
            "R[a] = primitive applied to R[b] and R[c].";
    Unpack "unpack" [UseDef Count Flag] [] Unpack Next [RAISES ALLOCATES LOGS_RESULT]
        "Spreads the value or values R[a] over R[a .. a+b) and, if c is 1, a list of the others in R[a+b].";
    TailApply
        "tail-apply" [Use Use None] [] None Stop [RAISES ALLOCATES RUNTIME_ONLY CALLS MACHINE INTERPRETER]
        "Calls R[a] with the elements of the list R[b] in place of this frame.";
    TailCallValues
        "tail-call-values" [Use Use None] [] None Stop
            [RAISES ALLOCATES RUNTIME_ONLY CALLS MACHINE INTERPRETER]
            "Calls R[a] with the value or values R[b] in place of this frame.";

    // Counters of exact profiles and of coverage; see the compiler's ledger.
    Count "count" [Flag None None] [Number] None Next [COUNTS]
        "Adds one to the thread's counter (number); if a is 1, in compiled code to the next one, and in \
         inlined code to the one behind that.";
    CountCall "count-call" [Use Count None] [Number] None Next [SLOW_PATH COUNTS]
        "Counts a call of R[a] with b arguments at the call site whose counters begin at the thread's \
         counter (number).";

    MakeEscape "make-escape" [Def None None] [] None Next [ALLOCATES MACHINE RUNTIME_CALL OWN_FRAME]
        "R[a] = an escape procedure for this frame, which must hold it as long as it is valid.";

    // Bodies of the machine's own procedures; the argument count is in the thread block or fixed.
    ApplyStub "apply-stub" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
        "Body of apply: R[0] procedure, then arguments, the last a list.";
    CaptureStub "capture-stub" [None None None] [] Stub Stop [RAISES ALLOCATES MACHINE INTERPRETER]
        "Body of call-with-current-continuation: seals the frames below and calls R[0] with the \
         continuation.";
    ContinueStub "continue-stub" [None None None] [] Stub Stop [RAISES ALLOCATES MACHINE INTERPRETER]
        "Body of continuations: brings back the frames, and returns the arguments to them as values.";
    EscapeStub
        "escape-stub" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
            "Body of escape procedures: returns the arguments as values from the frame that holds this \
             closure.";
    ThrowStub "throw-stub" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
        "Body of %throw: returns the value R[1] to the continuation R[0].";
    PrimitiveStub
        "primitive-stub" [None None None] [Primitive] Stub Stop
            [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
            "Body of a primitive as a procedure: applies it to the arguments and returns.";

    // Return addresses of frames that the machine itself pushed.
    ReturnUnderflow "return-underflow" [None None None] [] Stub Stop [RAISES ALLOCATES MACHINE INTERPRETER]
        "Below the oldest frame on the stack: brings back frames of the sealed continuation.";
    ReturnBarrier
        "return-barrier" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
            "In place of a return address that the machine keeps elsewhere.";
    ReturnTrap
        "return-trap" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
            "Continues after a call that the machine made in the middle of an instruction.";
    ReturnExit
        "return-exit" [None None None] [] Stub Stop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
            "Leaves the interpreter with the value returned.";

    // Compiled code. The first four are not instructions of code objects: they begin descriptors (see
    // `layout::descriptor`), which stand where return addresses, entries and places to resume at are wanted.
    Native "native" [None None None] [] Stub Stop [MACHINE INTERPRETER]
        "Continues in compiled code, at the machine address of the descriptor.";
    Retired "retired" [None None None] [] Stub Stop [MACHINE INTERPRETER]
        "Resumes in the bytecode, at the descriptor's address there: compiled code was retired.";
    Stitched "stitched" [None None None] [] Stub Stop [MACHINE INTERPRETER]
        "Continues in stitched code, at the machine address of the descriptor; in the bytecode while the \
         thread logs.";
    Leave "leave" [None None None] [] Stub Stop [RUNTIME_ONLY MACHINE INTERPRETER]
        "Compiled code was left because a guess was wrong: counts the exit, and resumes at the descriptor's \
         address in the bytecode.";
    // Written over `loop` while there is compiled code for the loop.
    LoopNative
        "loop-native" [Offset24 None None] [] None Loop [RAISES ALLOCATES RUNTIME_ONLY MACHINE INTERPRETER]
            "Goes back, in compiled code if the registers have the types that it was made for; a safepoint.";
    // Written over the opcode byte of an instruction at which a debugger wants to be asked. The fields and
    // the extensions stay those of the instruction, and the machine knows its opcode.
    Break "break" [None None None] [] None Stop [RUNTIME_ONLY MACHINE INTERPRETER]
        "Asks the debugger, then executes the instruction whose place it takes.";
}

impl Opcode {
    /// The opcode with this number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Opcode> {
        Opcode::ALL.get(byte as usize).copied()
    }

    /// This opcode's row.
    pub const fn row(self) -> &'static OpcodeRow {
        &OPCODES[self as usize]
    }

    /// Whether its row has any of the flags.
    pub const fn has(self, any: OpcodeFlags) -> bool {
        self.row().flags.has(any)
    }

    /// Whether the runtime has an entry for it.
    pub const fn has_runtime_entry(self) -> bool {
        use OpcodeFlags as F;
        self.has(
            F::RAISES
                .or(F::ALLOCATES)
                .or(F::SLOW_PATH)
                .or(F::RUNTIME_ONLY),
        )
    }

    /// Words that an instruction of this opcode takes.
    pub fn words(self) -> usize {
        1 + self.row().extensions.len()
    }
}

/// Entries of a dispatch table: a power of two so that an opcode byte is always inside.
pub const TABLE_ENTRIES: usize = 256;

/// Where a table of runtime entries has what hands a full log over, which no opcode does.
pub const LOG_FULL_ENTRY: usize = TABLE_ENTRIES - 1;

/// Where a dispatch table has what calls of compiled code go through that enter bytecode.
pub const NATIVE_ENTER_ENTRY: usize = TABLE_ENTRIES - 2;

/// Packs three byte fields.
pub const fn encode_abc(opcode: Opcode, a: u8, b: u8, c: u8) -> u32 {
    opcode as u32 | (a as u32) << 8 | (b as u32) << 16 | (c as u32) << 24
}

/// Packs a byte field and a 16-bit field.
pub const fn encode_wide(opcode: Opcode, a: u8, wide: u16) -> u32 {
    opcode as u32 | (a as u32) << 8 | (wide as u32) << 16
}

/// Packs a signed 24-bit field; the caller checked the range.
pub const fn encode_far(opcode: Opcode, far: i32) -> u32 {
    opcode as u32 | (far as u32) << 8
}

/// The opcode byte of a first word.
pub const fn opcode_byte(word: u32) -> u8 {
    word as u8
}

/// Field a of a first word.
pub const fn field_a(word: u32) -> u8 {
    (word >> 8) as u8
}

/// Field b of a first word.
pub const fn field_b(word: u32) -> u8 {
    (word >> 16) as u8
}

/// Field c of a first word.
pub const fn field_c(word: u32) -> u8 {
    (word >> 24) as u8
}

/// The 16-bit field of a first word.
pub const fn field_wide(word: u32) -> u16 {
    (word >> 16) as u16
}

/// The signed 24-bit field of a first word.
pub const fn field_far(word: u32) -> i32 {
    (word as i32) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_the_table_and_are_consistent() {
        assert!(OPCODES.len() <= NATIVE_ENTER_ENTRY);
        for (index, row) in OPCODES.iter().enumerate() {
            assert_eq!(
                Opcode::from_byte(index as u8).map(|o| o as usize),
                Some(index)
            );
            let branches =
                row.extensions.contains(&Extension::Offset) || row.operands[0] == Operand::Offset24;
            assert_eq!(
                branches,
                matches!(row.flow, Flow::Jump | Flow::Loop | Flow::Branch),
                "{}",
                row.name
            );
            if let Some(at) = row.extensions.iter().position(|e| *e == Extension::LiveMap) {
                assert_eq!(at + 1, row.extensions.len(), "{}", row.name);
            }
        }
    }

    #[test]
    fn rows_name_primitives_that_take_the_operands() {
        for row in OPCODES {
            let reads = row.operands.iter().filter(|it| it.is_read()).count();
            let writes = row.operands[0].is_written();
            for name in row.primitives {
                let id = crate::primitives::lookup(name).expect(name);
                assert!(id.row().accepts(reads), "{name}");
                let is_plain = row.extensions.is_empty() && row.window == Window::None;
                assert!(is_plain && row.flow == Flow::Next, "{}", row.name);
                let shapes = [(true, 1), (true, 2), (false, 2), (false, 3)];
                assert!(shapes.contains(&(writes, reads)), "{}", row.name);
            }
        }
    }

    #[test]
    fn flags_do_not_contradict_each_other() {
        use OpcodeFlags as F;
        for opcode in Opcode::ALL {
            let row = opcode.row();
            if opcode.has(F::CALLS_PRIMITIVE) {
                assert!(
                    row.extensions.contains(&Extension::Primitive),
                    "{}",
                    row.name
                );
            }
            // The machine's own code is neither inlined nor compiled, but for an instruction that says so.
            if opcode.has(F::MACHINE) {
                assert!(opcode.has(F::INTERPRETER.or(F::OWN_FRAME)), "{}", row.name);
            }
            if row.window == Window::Stub {
                assert!(opcode.has(F::INTERPRETER), "{}", row.name);
            }
            if row.window.is_entry() {
                assert!(opcode.has(F::BEFORE_ENTRY), "{}", row.name);
            }
            let is_one = |flag| u32::from(opcode.has(flag));
            let logs = [F::LOGS_CALL, F::LOGS_RETURN, F::LOGS_LOOP, F::LOGS_RESULT];
            assert!(
                logs.into_iter().map(is_one).sum::<u32>() <= 1,
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn fields_round_trip() {
        let word = encode_far(Opcode::Loop, -5);
        assert_eq!(
            (opcode_byte(word), field_far(word)),
            (Opcode::Loop as u8, -5)
        );
        let word = encode_wide(Opcode::LoadImmediate, 7, -3i16 as u16);
        assert_eq!((field_a(word), field_wide(word) as i16), (7, -3));
    }
}
