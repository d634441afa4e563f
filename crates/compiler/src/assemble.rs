//! Bytecode from the text that [`crate::disassemble`] prints.
//!
//! Reads the instructions of one code; pool, name and parameters stay those of the block that is
//! given, so that pool operands are recognised by how they are printed. Where two slots look the
//! same, the first is taken. Meant for tests and for trying out instruction sequences by hand.

use std::collections::HashMap;

use canny_tables::layout::{self, frame::WIDE_MAP};
use canny_tables::opcodes::{Extension, Opcode, Operand, encode_far};
use canny_tables::primitives;

use crate::disassemble::{show_pool_entry, show_word};
use crate::liveness::{RegisterSet, encode_live_map};
use crate::unit::CompiledUnit;

/// Why a line is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembleError {
    /// Line, from one.
    pub line: usize,
    /// The reason why it cannot be assembled.
    pub message: String,
}

/// Instruction words and wide live maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Instruction words.
    pub instructions: Vec<u32>,
    /// Wide live maps.
    pub wide_maps: Vec<u64>,
}

/// Reads the listing of the code with this index in its unit.
pub fn assemble_code(
    unit: &CompiledUnit,
    index: usize,
    text: &str,
) -> Result<Words, AssembleError> {
    let code = unit.codes.get(index).ok_or_else(|| AssembleError {
        line: 1,
        message: "the unit has no such code".to_owned(),
    })?;
    let pool = code.pool.iter().map(|entry| show_pool_entry(unit, entry));
    assemble(text, pool.collect(), code.frame_words as usize)
}

/// Reads instructions whose pool operands are written as the slots are here.
pub fn assemble(text: &str, pool: Vec<String>, frame_words: usize) -> Result<Words, AssembleError> {
    let mut reader = Reader {
        pool,
        frame_words,
        words: Words {
            instructions: Vec::new(),
            wide_maps: Vec::new(),
        },
        labels: HashMap::new(),
        fixups: Vec::new(),
        rest: "",
    };
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("code ") {
            continue;
        }
        reader
            .line(line, number + 1)
            .map_err(|message| AssembleError {
                line: number + 1,
                message,
            })?;
    }
    reader.finish()
}

struct Fixup {
    line: usize,
    label: String,
    /// Word that holds the offset.
    at: usize,
    /// Word from which the offset counts.
    from: usize,
    narrow: bool,
}

struct Reader<'a> {
    frame_words: usize,
    /// How each slot is printed.
    pool: Vec<String>,
    words: Words,
    labels: HashMap<String, usize>,
    fixups: Vec<Fixup>,
    /// The rest of the line.
    rest: &'a str,
}

type Parsed<T> = Result<T, String>;

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str, number: usize) -> Parsed<()> {
        if let Some(label) = line.strip_suffix(':') {
            self.labels
                .insert(label.to_owned(), self.words.instructions.len());
            return Ok(());
        }
        self.rest = line;
        let name = self.word()?;
        let opcode = Opcode::ALL
            .iter()
            .copied()
            .find(|opcode| opcode.row().name == name)
            .ok_or_else(|| format!("no opcode is called {name}"))?;
        let start = self.words.instructions.len();
        let mut first = opcode as u32;
        for (index, operand) in opcode.row().operands.iter().enumerate() {
            first |= self.operand(*operand, start)? << (8 + 8 * index);
        }
        self.words.instructions.push(first);
        for extension in opcode.row().extensions {
            let at = self.words.instructions.len();
            let word = self.extension(*extension, first, at)?;
            self.words.instructions.push(word);
        }
        let narrow = opcode.row().operands[0] == Operand::Offset24;
        let wide_at = opcode
            .row()
            .extensions
            .iter()
            .position(|e| *e == Extension::Offset);
        if narrow || wide_at.is_some() {
            let label = self.word()?.to_owned();
            let at = wide_at.map_or(start, |index| start + 1 + index);
            let from = self.words.instructions.len();
            self.fixups.push(Fixup {
                line: number,
                label,
                at,
                from,
                narrow,
            });
        }
        match self.rest.trim_start() {
            "" => Ok(()),
            rest if rest.starts_with(';') => Ok(()),
            rest => Err(format!("unexpected {rest}")),
        }
    }

    fn word(&mut self) -> Parsed<&'a str> {
        let text = self.rest.trim_start();
        let end = text.find(' ').unwrap_or(text.len());
        if end == 0 {
            return Err("an operand is missing".to_owned());
        }
        self.rest = &text[end..];
        Ok(&text[..end])
    }

    fn number(&mut self) -> Parsed<i64> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("{word} is not a number"))
    }

    fn register(&mut self) -> Parsed<u32> {
        let word = self.word()?;
        let number = word
            .strip_prefix('r')
            .and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| format!("{word} is not a register"))
    }

    /// A field of the first word, shifted to its place by the caller.
    fn operand(&mut self, operand: Operand, start: usize) -> Parsed<u32> {
        let ranged = |value: i64, bits: u32| {
            let fits = value >= -(1 << (bits - 1)) && value < 1 << bits;
            let mask = (1i64 << bits) - 1;
            if fits {
                Ok((value & mask) as u32)
            } else {
                Err(format!("{value} is out of range"))
            }
        };
        match operand {
            Operand::None | Operand::Offset24 => Ok(0),
            operand if operand.is_read() || operand.is_written() => {
                let register = self.register()?;
                ranged(i64::from(register), 8)
            }
            operand if operand.slot().is_some() => {
                ranged(self.pool_distance(start + 1)? as i64, 16)
            }
            Operand::Word16 => self.immediate(),
            operand if operand.is_wide() => ranged(self.number()?, 16),
            _ => ranged(self.number()?, 8),
        }
    }

    /// A literal as the 16 bits of its word.
    fn immediate(&mut self) -> Parsed<u32> {
        let text = self.rest.trim_start();
        let mut best: Option<(usize, u16)> = None;
        let constants = (0..=layout::DEFAULT >> 8).map(|payload| payload << 8 | layout::FALSE);
        let characters = (0..0x80).map(|point| point << 8 | layout::CHARACTER_LOW_BYTE);
        for word in constants.chain(characters) {
            let shown = show_word(word);
            let longer = best.is_none_or(|(length, _)| shown.len() > length);
            if longer && starts_with_word(text, &shown) {
                best = Some((shown.len(), word as u16));
            }
        }
        if let Some((length, word)) = best {
            self.rest = &text[length..];
            return Ok(u32::from(word));
        }
        let value = self.number()?.checked_mul(1 << layout::FIXNUM_SHIFT);
        let word = value.and_then(|value| i16::try_from(value).ok());
        word.map(|word| u32::from(word as u16))
            .ok_or_else(|| "literal out of range".to_owned())
    }

    /// Distance from word `from` to the slot that is printed next.
    fn pool_distance(&mut self, from: usize) -> Parsed<usize> {
        let text = self.rest.trim_start();
        let matches = self.pool.iter().enumerate();
        let matches = matches.filter(|(_, shown)| starts_with_word(text, shown));
        let best = matches.max_by_key(|(index, shown)| (shown.len(), usize::MAX - index));
        let (index, shown) = best.ok_or_else(|| format!("no pool slot holds {text}"))?;
        self.rest = &text[shown.len()..];
        Ok(from + 2 * (self.pool.len() - index))
    }

    fn extension(&mut self, extension: Extension, first: u32, at: usize) -> Parsed<u32> {
        match extension {
            Extension::Offset => Ok(0),
            Extension::Constant | Extension::Code | Extension::Keywords | Extension::Name => {
                Ok(self.pool_distance(at + 1)? as u32)
            }
            Extension::Number => u32::try_from(self.number()?).map_err(|error| error.to_string()),
            Extension::Primitive => {
                let name = self.word()?;
                let id = primitives::lookup(name).ok_or_else(|| format!("no primitive {name}"))?;
                Ok(u32::from(id.0))
            }
            Extension::LiveMap => self.live_map((first >> 8 & 0xff) as usize),
        }
    }

    /// `live (r1 r2)`
    fn live_map(&mut self, base: usize) -> Parsed<u32> {
        let text = self.rest.trim_start();
        let inner = text
            .strip_prefix("live (")
            .ok_or("the live map is missing")?;
        let (names, rest) = inner.split_once(')').ok_or("the live map is not closed")?;
        self.rest = rest;
        let mut live = RegisterSet::new(self.frame_words);
        for name in names.split_whitespace() {
            let number = name
                .strip_prefix('r')
                .and_then(|digits| digits.parse().ok());
            live.insert(number.ok_or_else(|| format!("{name} is not a register"))?);
        }
        Ok(encode_live_map(&live, base).unwrap_or_else(|words| {
            let index = self.words.wide_maps.len() as u32;
            self.words.wide_maps.extend(words);
            WIDE_MAP | index
        }))
    }

    fn finish(mut self) -> Result<Words, AssembleError> {
        for fixup in self.fixups {
            let target = self.labels.get(&fixup.label).ok_or_else(|| AssembleError {
                line: fixup.line,
                message: format!("no label {}", fixup.label),
            })?;
            let offset = *target as i64 - fixup.from as i64;
            let word = &mut self.words.instructions[fixup.at];
            *word = match Opcode::from_byte(*word as u8) {
                Some(opcode) if fixup.narrow => encode_far(opcode, offset as i32),
                _ => offset as i32 as u32,
            };
        }
        Ok(self.words)
    }
}

/// Whether the text starts with this operand, and the operand ends there.
fn starts_with_word(text: &str, operand: &str) -> bool {
    text.strip_prefix(operand)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}
