//! Code in front of a segment behind a call, written without the code generator.
//!
//! ```text
//! others:  the word into its slot; leave behind the call    <- if a fixnum or flonum is wanted
//! bridge:  the interpreter's frame to the callee's          <- the interpreter's return
//! words:   a question for that; the double of a flonum      <- compiled returns of words
//! wanted:  the segment                                      <- compiled returns of fixnums, or of doubles
//! ```
//!
//! The segment takes the callee's fp in its register, and the word in pc's register or the double
//! in the first one for doubles. If nothing is wanted there are no questions. Where doubles are not
//! wanted, they are returned to code that makes flonums of them (`doubles.rs`).

use canny_spesh::graph::Test;
use canny_tables::layout::frame;

use crate::JitError;
use crate::arguments::test_or_pass_on;
use crate::assembler::{Assembler, DOUBLES, FP, Memory, VALUE};
use crate::doubles::take_out;
use crate::relocation::{Relocation, Target};

/// The code in front of a segment, and offsets of its entries.
#[derive(Debug, Default)]
pub(crate) struct Continuation {
    pub(crate) code: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) bridge: usize,
    pub(crate) words: usize,
}

/// The test that a call's value has to pass, and the slot of a value that fails it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) test: Test,
    /// Words from the outermost fp.
    pub(crate) slot: i32,
    /// Words from the outermost fp to the callee's.
    pub(crate) callee: i32,
    /// Index of the last steps of the side exit.
    pub(crate) exit_tail: u32,
}

impl Continuation {
    /// Writes it for a call whose base register is `base`.
    pub(crate) fn new(base: usize, wanted: Option<Wanted>) -> Result<Continuation, JitError> {
        let mut to = Assembler::default();
        if let Some(wanted) = wanted {
            to.load_address(FP, Memory::far(FP, -8 * wanted.callee));
            to.store(Memory::far(FP, 8 * wanted.slot), VALUE);
            to.jump(Target::ExitTail(wanted.exit_tail));
        }
        let bridge = to.place();
        let callee = 8 * (base + frame::LINK_WORDS) as i32;
        to.load_address(FP, Memory::far(FP, callee));
        to.load(VALUE, Memory::near(FP, (8 * frame::CLOSURE) as i8));
        let words = to.place();
        if let Some(wanted) = wanted {
            test_or_pass_on(&mut to, wanted.test, VALUE)?;
            if wanted.test == Test::Flonum {
                take_out(&mut to, VALUE, DOUBLES[0]);
            }
        }
        let (code, relocations) = to.finish();
        Ok(Continuation {
            code,
            relocations,
            bridge,
            words,
        })
    }
}
