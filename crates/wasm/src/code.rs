//! Register code in memory: words with handlers' addresses and operands.
//!
//! Operands are written and read by their offset in bytes, as the rows of opcodes give them.

use std::sync::atomic::{AtomicU64, Ordering};

use canny_tables::guest::Opcode;

use crate::handlers;

/// Code under construction. Places are numbers of words.
#[derive(Default, Debug)]
pub struct Code {
    words: Vec<u64>,
    /// Where each instruction is from, if that is asked for: its place, and an offset in the module's bytes.
    origins: Option<Vec<(u32, u32)>>,
    origin: u32,
}

impl Code {
    /// Code that notes where its instructions are from.
    pub fn with_origins() -> Code {
        Code {
            origins: Some(Vec::new()),
            ..Code::default()
        }
    }

    /// The next instructions are from there in the module's bytes.
    pub fn set_origin(&mut self, offset: u64) {
        self.origin = offset as u32;
    }

    /// Where its instructions are from, in the order of their places.
    pub fn origins(self) -> Origins {
        Origins(self.origins.unwrap_or_default().into())
    }

    /// Where the next instruction will be.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Adds an instruction whose operands are zero; gives its place.
    pub fn put(&mut self, opcode: Opcode) -> usize {
        let place = self.words.len();
        if let Some(origins) = &mut self.origins {
            origins.push((place as u32, self.origin));
        }
        self.words.push(handlers::address(opcode) as u64);
        self.words.resize(place + opcode.bytes() / 8, 0);
        place
    }

    /// Makes an instruction another one that has the same operands.
    pub fn set_opcode(&mut self, place: usize, opcode: Opcode) {
        self.words[place] = handlers::address(opcode) as u64;
    }

    /// Adds words behind a jump table.
    pub fn extend(&mut self, words: usize) {
        self.words.resize(self.words.len() + words, 0);
    }

    /// Forgets everything from a place on.
    pub fn truncate(&mut self, place: usize) {
        self.words.truncate(place);
        if let Some(origins) = &mut self.origins {
            origins.truncate(origins.partition_point(|(at, _)| (*at as usize) < place));
        }
    }

    fn set(&mut self, place: usize, at: usize, bits: u64, value: u64) {
        let word = &mut self.words[place + at / 8];
        let shift = 8 * (at % 8);
        let mask = if bits == 64 {
            u64::MAX
        } else {
            (1 << bits) - 1
        };
        *word = *word & !(mask << shift) | (value & mask) << shift;
    }

    /// Sets an operand of 16 bits of the instruction at a place.
    pub fn set16(&mut self, place: usize, at: usize, value: u16) {
        self.set(place, at, 16, u64::from(value));
    }

    /// Sets an operand of 32 bits.
    pub fn set32(&mut self, place: usize, at: usize, value: u32) {
        self.set(place, at, 32, u64::from(value));
    }

    /// Sets an operand of 64 bits.
    pub fn set64(&mut self, place: usize, at: usize, value: u64) {
        self.set(place, at, 64, value);
    }

    /// An operand of 16 bits of the instruction at a place.
    pub fn operand16(&self, place: usize, at: usize) -> u16 {
        read16(&self.words[place..], at)
    }

    /// An operand of 32 bits.
    pub fn operand32(&self, place: usize, at: usize) -> u32 {
        read32(&self.words[place..], at)
    }

    /// The finished words.
    pub fn finish(self) -> Box<[u64]> {
        self.words.into_boxed_slice()
    }
}

/// Offsets in a module's bytes of the instructions of a function, in the order of their places.
#[derive(Debug)]
pub struct Origins(Box<[(u32, u32)]>);

impl Origins {
    /// The offset of the instruction that has a word.
    pub fn of_word(&self, word: u32) -> Option<u32> {
        let behind = self.0.partition_point(|(place, _)| *place <= word);
        Some(self.0[behind.checked_sub(1)?].1)
    }
}

/// The code of a function.
#[derive(Debug)]
pub struct FunctionBody {
    /// The first word of an instruction may become the address of machine code.
    pub words: Box<[AtomicU64]>,
    /// Slots of its frame.
    pub frame_slots: usize,
    /// The slot of the link in its frame.
    pub link: u16,
    /// The clauses of its blocks that catch exceptions, those of inner blocks first.
    pub clauses: Box<[Clause]>,
    /// Its loops in the order in which they begin.
    pub loops: Box<[Loop]>,
}

/// A loop, at whose beginning machine code may take over.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where it is in the module's bytes.
    pub offset: u64,
    /// The number of the word at which it begins.
    pub place: u32,
    /// The operands there, its parameters last.
    pub operands: Box<[LoopOperand]>,
}

/// Where an operand is at the beginning of a loop.
#[derive(Clone, Copy, Debug)]
pub enum LoopOperand {
    /// In a slot, the first of two if it is a vector.
    Slot(u16),
    /// It is a constant with these bits.
    Constant(u64),
}

/// A clause that catches exceptions. Places are numbers of words.
#[derive(Clone, Copy, Debug)]
pub struct Clause {
    /// Where its block begins and ends.
    pub start: u32,
    pub end: u32,
    /// The module's tag, if it does not catch all exceptions.
    pub tag: Option<u32>,
    /// Whether it takes the exception itself, behind its values.
    pub takes_reference: bool,
    /// Where it goes on.
    pub target: u32,
    /// Where the values go.
    pub slot: u16,
}

impl FunctionBody {
    /// Its words as they are now.
    pub fn copy(&self) -> Vec<u64> {
        let words = self.words.iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// Where it begins.
    pub fn address(&self) -> *const u64 {
        self.words.as_ptr().cast()
    }
}

/// An operand of 16 bits of an instruction.
pub fn read16(words: &[u64], at: usize) -> u16 {
    (words[at / 8] >> (8 * (at % 8))) as u16
}

/// An operand of 32 bits.
pub fn read32(words: &[u64], at: usize) -> u32 {
    (words[at / 8] >> (8 * (at % 8))) as u32
}

#[cfg(test)]
mod tests {
    use super::{Code, read16, read32};
    use canny_tables::guest::{Opcode, Plain};

    #[test]
    fn operands_keep_their_neighbours() {
        let mut code = Code::default();
        let place = code.put(Opcode::Plain(Plain::Select));
        code.set16(place, 8, 0xffff);
        code.set16(place, 10, 0x1234);
        code.set32(place, 12, 0x8765_4321);
        code.set16(place, 10, 7);
        let words = code.finish();
        assert_eq!(read16(&words, 8), 0xffff);
        assert_eq!(read16(&words, 10), 7);
        assert_eq!(read32(&words, 12), 0x8765_4321);
    }
}
