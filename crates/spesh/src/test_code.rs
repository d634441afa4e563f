//! Builds code objects by hand, for the unit tests of statistics and planner.
//!
//! Addresses follow from a code's number, so that a test computes the words of a log without a
//! machine. Code for tests of graphs and passes is text instead, in the filetests.

use std::collections::HashMap;
use std::sync::Arc;

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, log};
use canny_tables::opcodes::{Opcode, encode_abc, encode_far};

use crate::snapshot::{CodeSnapshot, CodeSource, CodeWord, LazyLiveness, PoolItem};

/// Types as logs have them.
pub const FIXNUM: u16 = 0;
pub const PAIR: u16 = 1;
pub const FLONUM: u16 = 2;
pub const NIL: u16 = layout::NIL as u16;
pub const STRING: u16 = log::TYPE_OBJECT | Kind::String as u16;
pub const VECTOR: u16 = log::TYPE_OBJECT | Kind::Vector as u16;
pub const BOX: u16 = log::TYPE_OBJECT | Kind::Box as u16;

/// A few code objects.
#[derive(Default)]
pub struct Codes {
    snapshots: HashMap<CodeWord, Arc<CodeSnapshot>>,
}

impl Codes {
    /// Code number `number` with these instructions, at an address that follows from the number.
    pub fn add(&mut self, number: u64, name: &str, arity: u32, instructions: &[u32]) -> CodeWord {
        self.add_with_pool(number, name, arity, instructions, Vec::new())
    }

    pub fn add_with_pool(
        &mut self,
        number: u64,
        name: &str,
        arity: u32,
        instructions: &[u32],
        pool: Vec<PoolItem>,
    ) -> CodeWord {
        let word = word(number);
        let frame_words = 16;
        let snapshot = CodeSnapshot {
            breaks: Default::default(),
            word,
            entry: entry(number),
            name: name.to_owned(),
            instructions: instructions.into(),
            pool,
            arity,
            frame_words,
            liveness: LazyLiveness::new(instructions.into(), frame_words as usize),
        };
        self.snapshots.insert(word, Arc::new(snapshot));
        word
    }

    /// Code of `words` words that only returns.
    pub fn add_plain(&mut self, number: u64, name: &str, arity: u32, words: usize) -> CodeWord {
        let mut instructions = vec![Opcode::Nop as u32; words - 1];
        instructions.push(encode_abc(Opcode::Return, 0, 0, 0));
        self.add(number, name, arity, &instructions)
    }
}

impl CodeSource for Codes {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        self.snapshots.get(&code).cloned()
    }
}

/// The tagged word of a code object.
pub fn word(number: u64) -> CodeWord {
    CodeWord(0x7f00_0000_0005 + number * 0x10_0000)
}

/// Address of the first instruction.
pub fn entry(number: u64) -> u64 {
    word(number).0 - 5 + 0x100
}

/// Address of an instruction.
pub fn at(number: u64, pc: u64) -> u64 {
    entry(number) + 4 * pc
}

/// A caller: `call`s at 0, 2 and 4, then returns.
pub fn calls() -> Vec<u32> {
    let call = encode_abc(Opcode::Call, 4, 1, 0);
    vec![
        call,
        0,
        call,
        0,
        call,
        0,
        encode_abc(Opcode::Return, 4, 0, 0),
    ]
}

/// A loop whose head is at 1 and whose `loop` instruction is at 4, with registers 0 to 2 live and 3 not.
pub fn looping() -> Vec<u32> {
    vec![
        Opcode::Nop as u32,
        encode_abc(Opcode::JumpNotFixnum, 0, 0, 0),
        2,
        encode_abc(Opcode::Add, 0, 1, 2),
        encode_far(Opcode::Loop, -4),
        encode_abc(Opcode::Return, 0, 0, 0),
    ]
}
