//! Deflate (RFC 1951) for the model, bit by bit: a reader that knows what the bytes of a part of a
//! message stand for, and a writer that takes any way to write a message. Neither shares anything with
//! the coders of the server.

use std::collections::HashMap;

use super::generator::Random;

/// The last bytes of every message, which are not sent.
pub const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// The window of the side that compresses.
#[derive(Clone, Copy)]
pub struct Window {
    pub bits: u32,
    pub keeps_context: bool,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the end of the bytes, between blocks.
    Between,
    /// At the end of the bytes, in a block.
    Within,
    Corrupt,
    /// At what coders may take or refuse: a distance that was not agreed on.
    Doubtful,
}

const LENGTHS: [(u32, usize); 29] = lengths();
const DISTANCES: [(u32, usize); 30] = distances();

/// Extra bits and the least length of each symbol.
const fn lengths() -> [(u32, usize); 29] {
    let mut table = [(0, 258); 29];
    let (mut symbol, mut length) = (0, 3);
    while symbol < 28 {
        let extra = if symbol < 8 { 0 } else { symbol as u32 / 4 - 1 };
        table[symbol] = (extra, length);
        length += 1 << extra;
        symbol += 1;
    }
    table
}

const fn distances() -> [(u32, usize); 30] {
    let mut table = [(0, 0); 30];
    let (mut symbol, mut distance) = (0, 1);
    while symbol < 30 {
        let extra = if symbol < 4 { 0 } else { symbol as u32 / 2 - 1 };
        table[symbol] = (extra, distance);
        distance += 1 << extra;
        symbol += 1;
    }
    table
}

/// The order in which the lengths of the code of code lengths are written.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

fn fixed_lengths() -> Vec<u32> {
    [(144, 8), (112, 9), (24, 7), (8, 8)]
        .into_iter()
        .flat_map(|(count, length)| std::iter::repeat_n(length, count))
        .collect()
}

/// A prefix code: the symbol of each length and code.
struct Code(HashMap<(u32, u32), usize>);

/// The code of each symbol whose length is not 0.
fn codes(lengths: &[u32]) -> Vec<u32> {
    let mut codes = vec![0; lengths.len()];
    let mut code = 0;
    for length in 1..=15 {
        code <<= 1;
        for (symbol, _) in lengths.iter().enumerate().filter(|(_, is)| **is == length) {
            codes[symbol] = code;
            code += 1;
        }
    }
    codes
}

impl Code {
    /// `None` if the code has too many words, or too few of them unless there is one of one bit only.
    fn new(lengths: &[u32], may_be_single: bool) -> Option<Code> {
        let used: Vec<u32> = lengths.iter().copied().filter(|&is| is > 0).collect();
        let total: u32 = used.iter().map(|length| 1 << (15 - length)).sum();
        let is_single = may_be_single && (used.is_empty() || used == [1]);
        if total != 1 << 15 && !is_single {
            return None;
        }
        let codes = codes(lengths);
        let words = lengths.iter().zip(&codes).enumerate();
        Some(Code(
            words
                .filter(|(_, (length, _))| **length > 0)
                .map(|(symbol, (&length, &code))| ((length, code), symbol))
                .collect(),
        ))
    }

    fn symbol(&self, bits: &mut Bits<'_>) -> Result<usize, Stop> {
        let (mut length, mut code) = (0, 0);
        loop {
            code = code << 1 | bits.take(1)? as u32;
            length += 1;
            if let Some(symbol) = self.0.get(&(length, code)) {
                return Ok(*symbol);
            }
            if length == 15 {
                return Err(Stop::Corrupt);
            }
        }
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Result<usize, Stop> {
        let mut number = 0;
        if self.position + count as usize > self.bytes.len() * 8 {
            return Err(Stop::Within);
        }
        for bit in 0..count {
            let byte = usize::from(self.bytes[self.position / 8]);
            number |= (byte >> (self.position % 8) & 1) << bit;
            self.position += 1;
        }
        Ok(number)
    }

    fn align(&mut self) {
        self.position = self.position.next_multiple_of(8);
    }
}

/// Reads messages with what the ones before have left.
#[derive(Clone)]
pub struct Reader {
    window: Window,
    history: Vec<u8>,
}

impl Reader {
    pub fn new(window: Window) -> Reader {
        Reader {
            window,
            history: Vec::new(),
        }
    }

    /// Decompresses the bytes of a message, from its start on.
    pub fn read(&self, bytes: &[u8], limit: usize) -> (Vec<u8>, Stop) {
        let mut reading = Reading {
            window: self.window,
            output: self.history.clone(),
            start: 0,
            end: self.history.len() + limit + 1,
        };
        let mut bits = Bits { bytes, position: 0 };
        let stop = loop {
            if bits.position == bytes.len() * 8 {
                break Stop::Between;
            }
            if let Err(stop) = reading.block(&mut bits) {
                break stop;
            }
        };
        (reading.output.split_off(self.history.len()), stop)
    }

    /// Continues behind a message; `bytes` are all of it.
    pub fn end_message(&mut self, bytes: &[u8], content: &[u8]) {
        if !self.window.keeps_context {
            return;
        }
        self.history.extend_from_slice(content);
        if let Some(count) = behind_final_block(bytes) {
            self.history.drain(..self.history.len() - count);
        }
    }
}

/// How many bytes of a message are behind the last block that says it is the last one, if there is such
/// a block.
fn behind_final_block(bytes: &[u8]) -> Option<usize> {
    let mut reading = Reading {
        window: Window {
            bits: 15,
            keeps_context: false,
        },
        // Far enough for any distance.
        output: vec![0; 1 << 15],
        start: 0,
        end: usize::MAX,
    };
    let mut bits = Bits { bytes, position: 0 };
    while bits.position < bytes.len() * 8 && reading.block(&mut bits).is_ok() {}
    (reading.start > 0).then(|| reading.output.len() - reading.start)
}

struct Reading {
    window: Window,
    output: Vec<u8>,
    /// Bytes before this position are forgotten.
    start: usize,
    /// Nothing is read beyond this.
    end: usize,
}

impl Reading {
    fn block(&mut self, bits: &mut Bits<'_>) -> Result<(), Stop> {
        let header = bits.take(3)?;
        match header >> 1 {
            0 => self.stored(bits)?,
            1 => {
                let lengths = fixed_lengths();
                let literals = Code::new(&lengths, false).ok_or(Stop::Corrupt)?;
                let distances = Code::new(&[5; 32], false).ok_or(Stop::Corrupt)?;
                self.tokens(bits, &literals, &distances)?;
            }
            2 => {
                let (literals, distances) = dynamic(bits)?;
                self.tokens(bits, &literals, &distances)?;
            }
            _ => return Err(Stop::Corrupt),
        }
        if header & 1 == 1 {
            bits.align();
            self.start = self.output.len();
        }
        Ok(())
    }

    fn stored(&mut self, bits: &mut Bits<'_>) -> Result<(), Stop> {
        bits.align();
        let lengths = bits.take(32)?;
        let length = lengths & 0xFFFF;
        if length != !(lengths >> 16) & 0xFFFF {
            return Err(Stop::Corrupt);
        }
        for _ in 0..length {
            let byte = bits.take(8)?;
            self.push(byte as u8)?;
        }
        Ok(())
    }

    fn push(&mut self, byte: u8) -> Result<(), Stop> {
        if self.output.len() == self.end {
            return Err(Stop::Within);
        }
        self.output.push(byte);
        Ok(())
    }

    fn tokens(&mut self, bits: &mut Bits<'_>, literals: &Code, far: &Code) -> Result<(), Stop> {
        loop {
            let symbol = literals.symbol(bits)?;
            if symbol == 256 {
                return Ok(());
            }
            if symbol < 256 {
                self.push(symbol as u8)?;
                continue;
            }
            let &(extra, least) = LENGTHS.get(symbol - 257).ok_or(Stop::Corrupt)?;
            let length = least + bits.take(extra)?;
            let &(extra, least) = DISTANCES.get(far.symbol(bits)?).ok_or(Stop::Corrupt)?;
            let distance = least + bits.take(extra)?;
            if distance > self.output.len() - self.start {
                return Err(Stop::Corrupt);
            }
            if distance > 1 << self.window.bits {
                return Err(Stop::Doubtful);
            }
            for _ in 0..length {
                self.push(self.output[self.output.len() - distance])?;
            }
        }
    }
}

/// The codes at the start of a block that has its own.
fn dynamic(bits: &mut Bits<'_>) -> Result<(Code, Code), Stop> {
    let counts = bits.take(14)?;
    let literal_count = 257 + (counts & 31);
    let distance_count = 1 + (counts >> 5 & 31);
    if literal_count > 286 || distance_count > 30 {
        return Err(Stop::Corrupt);
    }
    let mut lengths = [0; 19];
    for &place in &ORDER[..4 + (counts >> 10)] {
        lengths[place] = bits.take(3)? as u32;
    }
    // Some coders take a code without words for one of noughts, and find out later.
    if lengths == [0; 19] {
        return Err(Stop::Doubtful);
    }
    let code = Code::new(&lengths, false).ok_or(Stop::Corrupt)?;
    let total = literal_count + distance_count;
    let mut lengths: Vec<u32> = Vec::new();
    while lengths.len() < total {
        let (value, count) = match code.symbol(bits)? {
            symbol @ 0..16 => (symbol as u32, 1),
            16 => {
                let count = 3 + bits.take(2)?;
                (*lengths.last().ok_or(Stop::Corrupt)?, count)
            }
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        if lengths.len() + count > total {
            return Err(Stop::Corrupt);
        }
        lengths.extend(std::iter::repeat_n(value, count));
    }
    let (literals, distances) = lengths.split_at(literal_count);
    if literals[256] == 0 {
        return Err(Stop::Corrupt);
    }
    let literals = Code::new(literals, true).ok_or(Stop::Corrupt)?;
    let distances = Code::new(distances, true).ok_or(Stop::Corrupt)?;
    Ok((literals, distances))
}

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    filled: u32,
}

impl Output {
    fn put(&mut self, number: usize, count: u32) {
        for bit in 0..count {
            if self.filled == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((number >> bit & 1) as u8) << self.filled;
            }
            self.filled = (self.filled + 1) % 8;
        }
    }

    /// A word of a code, whose first bit is its highest.
    fn word(&mut self, code: u32, length: u32) {
        for bit in (0..length).rev() {
            self.put((code >> bit & 1) as usize, 1);
        }
    }

    fn align(&mut self) {
        self.filled = 0;
    }
}

/// Writes messages in any way that there is.
pub struct Writer {
    window: Window,
    history: Vec<u8>,
}

impl Writer {
    pub fn new(window: Window) -> Writer {
        Writer {
            window,
            history: Vec::new(),
        }
    }

    /// A message without its tail.
    pub fn write(&mut self, random: &mut Random, content: &[u8]) -> Vec<u8> {
        if !self.window.keeps_context {
            self.history.clear();
        }
        let mut output = Output::default();
        let cut = if random.once_in(3) {
            random.below(content.len() + 1)
        } else {
            0
        };
        for part in [&content[..cut], &content[cut..]] {
            let is_final = random.once_in(30);
            self.block(random, &mut output, part, is_final);
            if is_final {
                output.align();
                self.history.clear();
            }
        }
        // The rest of an empty block is the tail.
        output.put(0, 3);
        output.bytes
    }

    fn block(&mut self, random: &mut Random, output: &mut Output, part: &[u8], is_final: bool) {
        let is_stored = part.len() < 0x1_0000 && random.once_in(4);
        let is_dynamic = random.once_in(2);
        output.put(usize::from(is_final), 1);
        if is_stored {
            output.put(0, 2);
            output.align();
            output.put(part.len() | (!part.len() & 0xFFFF) << 16, 32);
            output.bytes.extend_from_slice(part);
            self.history.extend_from_slice(part);
            return;
        }
        output.put(if is_dynamic { 2 } else { 1 }, 2);
        let literals = fixed_lengths();
        let mut far = vec![5; 32];
        if is_dynamic {
            // Lengths that are written without repetition: a code of four bits for each.
            let literals = dynamic_lengths(286, 8);
            far = dynamic_lengths(30, 4);
            output.put(29 | 29 << 5 | 15 << 10, 14);
            for place in ORDER {
                output.put(if place < 16 { 4 } else { 0 }, 3);
            }
            for length in literals.iter().chain(&far) {
                output.word(*length, 4);
            }
            return self.tokens(random, output, part, &literals, &far);
        }
        self.tokens(random, output, part, &literals, &far);
    }

    fn tokens(
        &mut self,
        random: &mut Random,
        output: &mut Output,
        part: &[u8],
        literals: &[u32],
        far: &[u32],
    ) {
        let (literal_codes, far_codes) = (codes(literals), codes(far));
        let start = self.history.len();
        self.history.extend_from_slice(part);
        let mut seen: HashMap<&[u8], usize> = HashMap::new();
        let all = &self.history;
        for (place, bytes) in all[..start].windows(3).enumerate() {
            seen.insert(bytes, place);
        }
        let mut place = start;
        while place < all.len() {
            let bytes = all.get(place..place + 3);
            let found = bytes.and_then(|bytes| seen.insert(bytes, place));
            let found = found.filter(|found| place - found <= 1 << self.window.bits);
            let Some(found) = found.filter(|_| !random.once_in(8)) else {
                let symbol = usize::from(all[place]);
                output.word(literal_codes[symbol], literals[symbol]);
                place += 1;
                continue;
            };
            let mut length = 3;
            while length < 258 && all.get(place + length) == all.get(found + length) {
                length += 1;
            }
            length = length.min(all.len() - place);
            let symbol = LENGTHS.iter().rposition(|(_, least)| *least <= length);
            let symbol = symbol.expect("a length of 3 at least");
            output.word(literal_codes[257 + symbol], literals[257 + symbol]);
            output.put(length - LENGTHS[symbol].1, LENGTHS[symbol].0);
            let distance = place - found;
            let symbol = DISTANCES.iter().rposition(|(_, least)| *least <= distance);
            let symbol = symbol.expect("a distance of 1 at least");
            output.word(far_codes[symbol], far[symbol]);
            output.put(distance - DISTANCES[symbol].1, DISTANCES[symbol].0);
            place += length;
        }
        output.word(literal_codes[256], literals[256]);
    }
}

/// Lengths of a code for so many symbols: words of a length, and of one more.
fn dynamic_lengths(count: usize, short: u32) -> Vec<u32> {
    // A word of the shorter length is as much as two of the longer one.
    let shorter = (2 << short) - count;
    (0..count)
        .map(|symbol| if symbol < shorter { short } else { short + 1 })
        .collect()
}
