//! What stands in front of a segment behind a call, written without the code generator.
//!
//! ```text
//! others:  the word into its slot; leave behind the call    <- if a fixnum or flonum is wanted
//! bridge:  the interpreter's frame to the callee's          <- the interpreter's return
//! words:   a question for that; the double of a flonum      <- compiled returns of words
//! wanted:  the segment                                      <- compiled returns of fixnums, or of doubles
//! ```
//!
//! The segment takes the callee's fp in its register, and the word in pc's register or the double in the first one for doubles. If
//! nothing is wanted there are no questions. Where doubles are not, they are returned to what makes flonums of
//! them (`doubles.rs`).

use canny_spesh::graph::Test;
use canny_tables::layout::frame;

use crate::JitError;
use crate::arguments::Front;
use crate::doubles::{RETURNED, take_out};
use crate::machine::{Relocation, Target};

/// What stands there; places are offsets.
#[derive(Debug, Default)]
pub(crate) struct Continuation {
    pub(crate) code: Vec<u8>,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) bridge: usize,
    pub(crate) words: usize,
}

/// What a call's value has to be, and where it belongs if it is something else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) test: Test,
    /// Words from the outermost fp.
    pub(crate) slot: i32,
    /// Words from the outermost fp to the callee's.
    pub(crate) callee: i32,
    /// Index of the last steps of the way out.
    pub(crate) exit_tail: u32,
}

impl Continuation {
    /// Writes it for a call whose base register is `base`.
    pub(crate) fn new(base: usize, wanted: Option<Wanted>) -> Result<Continuation, JitError> {
        let mut front = Front::default();
        if let Some(wanted) = wanted {
            // lea rsi, [rsi - callee]; mov [rsi + slot], rdi; jmp tail
            move_fp(&mut front.code, -wanted.callee);
            front.code.extend([0x48, 0x89, 0xbe]);
            front.code.extend((8 * wanted.slot).to_le_bytes());
            front.code.push(0xe9);
            front.relocations.push(Relocation {
                offset: front.code.len(),
                target: Target::ExitTail(wanted.exit_tail),
                addend: -4,
            });
            front.code.extend([0; 4]);
        }
        let bridge = front.code.len();
        move_fp(&mut front.code, (base + frame::LINK_WORDS) as i32);
        // mov rdi, [rsi + value]
        front
            .code
            .extend([0x48, 0x8b, 0x7e, (8 * frame::CLOSURE) as i8 as u8]);
        let words = front.code.len();
        if let Some(wanted) = wanted {
            front.test(wanted.test, RETURNED)?;
            if wanted.test == Test::Flonum {
                take_out(&mut front.code, RETURNED, 0);
            }
        }
        Ok(Continuation {
            code: front.code,
            relocations: front.relocations,
            bridge,
            words,
        })
    }
}

/// lea rsi, [rsi + words]
fn move_fp(code: &mut Vec<u8>, words: i32) {
    code.extend([0x48, 0x8d, 0xb6]);
    code.extend((8 * words).to_le_bytes());
}
