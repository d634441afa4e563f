//! Places of stencils and what belongs into them. Stencils are pieces of machine code, one for each
//! opcode, from which the machine puts code together at run time. The generator of the interpreter
//! makes them and finds the places; `crates/llint` fills them.

/// An operand in a place of a stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hole {
    /// Bytes from fp to the register that field a names, 32 bits.
    A,
    /// The same of field b.
    B,
    /// The same of field c.
    C,
    /// Field b, 32 bits.
    CountB,
    /// Eight times the 16-bit field, 32 bits.
    WideBytes,
    /// The signed 16-bit field, 32 bits.
    WideWord,
    /// The signed 16-bit field as a fixnum, 32 bits.
    WideFixnum,
    /// Signed field c as a fixnum, 32 bits.
    CFixnum,
    /// Address of the pool slot that the 16-bit field names.
    PoolWide,
    /// Address of the pool slot that extension word 0 names.
    PoolExtension,
    /// Address of the descriptor that a call returns to.
    Return,
    /// Address behind the first instruction word.
    Behind,
    /// Where the address of the handler of `loop` in plain execution stands.
    PlainLoop,
}

impl Hole {
    /// All operands, by number.
    pub const ALL: [Hole; 13] = [
        Hole::A,
        Hole::B,
        Hole::C,
        Hole::CountB,
        Hole::WideBytes,
        Hole::WideWord,
        Hole::WideFixnum,
        Hole::CFixnum,
        Hole::PoolWide,
        Hole::PoolExtension,
        Hole::Return,
        Hole::Behind,
        Hole::PlainLoop,
    ];

    /// Whether the place has 64 bits.
    pub fn is_wide(self) -> bool {
        self as u8 >= Hole::PoolWide as u8
    }

    /// Whether the operand may be negative.
    pub fn is_signed(self) -> bool {
        matches!(self, Hole::WideWord | Hole::WideFixnum | Hole::CFixnum)
    }
}

/// The content of a place of a stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patch {
    /// An operand plus a number.
    Operand(Hole, i32),
    /// A displacement to the next instruction.
    Next,
    /// A displacement to the target of the branch.
    Taken,
    /// A displacement to the slow path.
    Slow,
    /// A displacement to an offset of the usual part.
    Usual(u32),
    /// A displacement to an offset of the rare part.
    Rare(u32),
}
