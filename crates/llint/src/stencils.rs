//! The stencils of this build, by opcode.

use canny_tables::opcodes::Opcode;
use canny_tables::stencils::Patch;

/// A part of a stencil.
pub(crate) struct Part {
    /// Machine code.
    pub(crate) code: &'static [u8],
    /// Offsets and what belongs there.
    pub(crate) patches: &'static [(u32, Patch)],
}

/// Machine code of a handler, with places for the operands.
pub(crate) struct Stencil {
    /// Ends where the next instruction begins.
    pub(crate) usual: Part,
    /// Stands elsewhere.
    pub(crate) rare: Part,
    /// The instruction's word has to be in its register.
    pub(crate) needs_word: bool,
    /// The address behind that word has to be in its register.
    pub(crate) needs_pc: bool,
}

/// A stencil, and the one for what it leaves.
type Pair = (Stencil, Option<Stencil>);

mod generated {
    use canny_tables::opcodes::Opcode;
    use canny_tables::stencils::Hole::*;
    use canny_tables::stencils::Patch::*;

    use super::{Pair, Part, Stencil};

    pub(super) static STENCILS: [Option<Pair>; Opcode::ALL.len()] =
        include!(concat!(env!("OUT_DIR"), "/stencils.rs"));
}

/// Whether there are stencils for this target.
pub(crate) fn are_there() -> bool {
    generated::STENCILS.iter().any(Option::is_some)
}

/// The stencils of an opcode; none if the runtime does all of its work.
pub(crate) fn of(opcode: Opcode) -> Option<&'static Pair> {
    generated::STENCILS[opcode as usize].as_ref()
}
