//! A reader of JSON (RFC 8259) that is fed text piece by piece.
//!
//! It notes what it saw on a [`Tape`], structures after their contents, so that whoever makes objects
//! of it needs nothing but a stack. A tape that is full is emptied by the caller and reading continues,
//! so that neither side needs memory for the whole text. A piece may end anywhere: what stands at its
//! end and is not complete waits in `pending`, or, for strings, on the tape.
//!
//! Exactly one value is read; white space before it is passed over, what comes after it is left.

#[cfg(test)]
mod tests;

/// An event of the reader. The text of numbers, strings and keys stands on the tape's text, one
/// after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    Null,
    True,
    False,
    /// An integer that fits 60 bits.
    Integer(i64),
    /// A number with a fraction or an exponent, read as a flonum.
    Flonum(f64),
    /// Another number: the next bytes are its text.
    Number(usize),
    /// The next bytes are the contents of a string.
    String(usize),
    /// The next bytes are a key; its value follows.
    Key(usize),
    /// A structure begins; noted only on demand.
    Start {
        is_object: bool,
    },
    /// The last so many values are the elements.
    Array(usize),
    /// The last so many keys and values are the members.
    Object(usize),
}

/// The reader's events since the tape was last emptied.
#[derive(Debug, Default)]
pub struct Tape {
    pub events: Vec<Event>,
    /// UTF-8.
    pub text: Vec<u8>,
}

/// A tape with so much on it is full.
const EVENTS_MAX: usize = 1 << 14;
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Why the text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text ends inside of a value.
    EndOfText,
    /// A character that cannot stand here.
    Unexpected(char),
    ControlCharacter(char),
    Escape(char),
    /// Half of a surrogate pair, which no string can hold.
    Surrogate,
    Number,
    /// More structures in one another than allowed.
    Depth,
}

impl Fault {
    /// The message for people.
    pub fn message(self) -> String {
        match self {
            Fault::EndOfText => "the text ends too early".into(),
            Fault::Unexpected(character) => format!("an unexpected character {character:?}"),
            Fault::ControlCharacter(character) => {
                format!("a control character {character:?} in a string")
            }
            Fault::Escape(character) => format!("an escape that JSON does not know, {character:?}"),
            Fault::Surrogate => "half of a surrogate pair".into(),
            Fault::Number => "a malformed number".into(),
            Fault::Depth => "the structures are nested too deeply".into(),
        }
    }
}

/// Where the reader stopped, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The piece is used up.
    NeedsMore,
    /// The value is complete.
    Done,
    /// Nothing came but white space, and nothing more will.
    End,
    /// The tape is full; call again with the rest of the piece.
    Full,
    /// The fault stands `behind` characters, all of them ASCII, before the place that was reached.
    Fault { fault: Fault, behind: usize },
}

/// How decimal numbers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimals {
    /// As flonums.
    Flonum,
    /// As text.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A value, or nothing.
    Start,
    Value,
    FirstElement,
    AfterElement,
    FirstMember,
    Key,
    Colon,
    AfterMember,
    /// Inside of a string or key; its bytes on the tape so far count from `string_start`.
    InString,
    /// Inside of an escape, a number or a word, whose text so far is pending.
    InEscape,
    InNumber,
    InWord,
    /// Behind a number or a word that is the whole value, which something must delimit.
    Delimiter,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    is_object: bool,
    count: usize,
}

/// See the module's description.
#[derive(Debug)]
pub struct Reader {
    pub tape: Tape,
    /// Starts of structures are noted too.
    pub notes_starts: bool,
    phase: Phase,
    stack: Vec<Open>,
    pending: Vec<u8>,
    string_start: usize,
    is_key: bool,
    decimals: Decimals,
    depth_max: usize,
}

/// Bytes that end a run of ordinary characters in a string: the quote, the backslash, control characters.
const ENDS_RUN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

/// Bytes that numbers consist of, malformed ones included.
const IN_NUMBER: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b'0';
    while byte <= b'9' {
        table[byte as usize] = true;
        byte += 1;
    }
    table[b'-' as usize] = true;
    table[b'+' as usize] = true;
    table[b'.' as usize] = true;
    table[b'e' as usize] = true;
    table[b'E' as usize] = true;
    table
};

#[inline(always)]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The length of the longest start of `bytes` without a byte that ends a run, eight bytes at a time.
#[inline(always)]
fn run_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // A byte below what is subtracted borrows; only the lowest hit is used, and it is exact.
        let hits = (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hits = hits & HIGHS;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < bytes.len() && !ENDS_RUN[bytes[at] as usize] {
        at += 1;
    }
    at
}

/// Why a scan of a piece stopped.
enum Stop {
    Progress(Progress),
    /// At a fault; the place is that of the fault.
    Fault(Fault),
}

impl Reader {
    /// A reader that accepts so many structures in one another.
    pub fn new(decimals: Decimals, depth_max: usize) -> Reader {
        Reader {
            tape: Tape::default(),
            notes_starts: false,
            phase: Phase::Start,
            stack: Vec::new(),
            pending: Vec::new(),
            string_start: 0,
            is_key: false,
            decimals,
            depth_max,
        }
    }

    /// The value is complete.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Forgets what was noted, but for the string that is not complete yet.
    pub fn empty_tape(&mut self) {
        self.tape.events.clear();
        if matches!(self.phase, Phase::InString | Phase::InEscape) {
            self.tape.text.drain(..self.string_start);
            self.string_start = 0;
        } else {
            self.tape.text.clear();
        }
    }

    /// Reads on. `is_last` says that nothing comes after the piece. Gives how much of the piece was
    /// used, which is a boundary between characters.
    pub fn feed(&mut self, piece: &str, is_last: bool) -> (usize, Progress) {
        let bytes = piece.as_bytes();
        let mut at = 0;
        match self.scan(bytes, &mut at, is_last) {
            Stop::Progress(Progress::NeedsMore) if is_last => {
                match self.phase {
                    Phase::Start => return (at, Progress::End),
                    Phase::Delimiter => {
                        self.phase = Phase::Done;
                        return (at, Progress::Done);
                    }
                    _ => {}
                }
                let fault = Fault::EndOfText;
                (at, Progress::Fault { fault, behind: 0 })
            }
            Stop::Progress(progress) => (at, progress),
            Stop::Fault(fault) => {
                // Pending bytes of a wrong number or escape are in front of the place.
                let at = at.min(bytes.len());
                let fault = self.with_character(fault, piece, at);
                let behind = match fault {
                    Fault::Number | Fault::Surrogate => self.pending.len(),
                    _ => 0,
                };
                (at, Progress::Fault { fault, behind })
            }
        }
    }

    /// The fault with the character that stands at its place.
    fn with_character(&self, fault: Fault, piece: &str, at: usize) -> Fault {
        let mut start = at;
        while !piece.is_char_boundary(start) {
            start -= 1;
        }
        let character = piece[start..].chars().next();
        match (fault, character) {
            (Fault::Unexpected(_), Some(character)) => Fault::Unexpected(character),
            (Fault::ControlCharacter(_), Some(character)) => Fault::ControlCharacter(character),
            (Fault::Escape(_), Some(character)) => Fault::Escape(character),
            (fault, _) => fault,
        }
    }

    fn scan(&mut self, bytes: &[u8], at: &mut usize, is_last: bool) -> Stop {
        match self.continue_token(bytes, at, is_last) {
            Ok(()) => {}
            Err(stop) => return stop,
        }
        loop {
            if self.phase == Phase::Delimiter
                && let Err(stop) = self.delimiter(bytes, *at)
            {
                return stop;
            }
            if self.phase == Phase::Done {
                return Stop::Progress(Progress::Done);
            }
            while *at < bytes.len() && is_space(bytes[*at]) {
                *at += 1;
            }
            let Some(&byte) = bytes.get(*at) else {
                return Stop::Progress(Progress::NeedsMore);
            };
            let outcome = match self.phase {
                Phase::Start | Phase::Value => self.value(byte, bytes, at, is_last),
                Phase::FirstElement if byte == b']' => self.close(at),
                Phase::FirstElement => self.value(byte, bytes, at, is_last),
                Phase::AfterElement => match byte {
                    b',' => {
                        *at += 1;
                        self.phase = Phase::Value;
                        Ok(())
                    }
                    b']' => self.close(at),
                    _ => Err(Stop::Fault(Fault::Unexpected(' '))),
                },
                Phase::FirstMember if byte == b'}' => self.close(at),
                Phase::FirstMember | Phase::Key => match byte {
                    b'"' => {
                        *at += 1;
                        self.begin_string(true);
                        self.string(bytes, at)
                    }
                    _ => Err(Stop::Fault(Fault::Unexpected(' '))),
                },
                Phase::Colon => match byte {
                    b':' => {
                        *at += 1;
                        self.phase = Phase::Value;
                        Ok(())
                    }
                    _ => Err(Stop::Fault(Fault::Unexpected(' '))),
                },
                Phase::AfterMember => match byte {
                    b',' => {
                        *at += 1;
                        self.phase = Phase::Key;
                        Ok(())
                    }
                    b'}' => self.close(at),
                    _ => Err(Stop::Fault(Fault::Unexpected(' '))),
                },
                Phase::InString
                | Phase::InEscape
                | Phase::InNumber
                | Phase::InWord
                | Phase::Delimiter
                | Phase::Done => Ok(()),
            };
            if let Err(stop) = outcome {
                return stop;
            }
            if self.tape.events.len() >= EVENTS_MAX || self.tape.text.len() >= TEXT_BYTES_MAX {
                return Stop::Progress(match self.phase {
                    Phase::Done => Progress::Done,
                    _ => Progress::Full,
                });
            }
        }
    }

    /// Continues with the token that the last piece ended in.
    fn continue_token(&mut self, bytes: &[u8], at: &mut usize, is_last: bool) -> Result<(), Stop> {
        match self.phase {
            Phase::InString => self.string(bytes, at),
            Phase::InEscape => {
                self.escape(bytes, at)?;
                self.string(bytes, at)
            }
            Phase::InNumber => {
                let length = bytes
                    .iter()
                    .take_while(|&&byte| IN_NUMBER[byte as usize])
                    .count();
                self.pending.extend_from_slice(&bytes[..length]);
                *at = length;
                if length == bytes.len() && !is_last {
                    return Err(Stop::Progress(Progress::NeedsMore));
                }
                let text = std::mem::take(&mut self.pending);
                let outcome = self.number(&text);
                self.pending = text;
                outcome?;
                self.pending.clear();
                Ok(())
            }
            Phase::InWord => self.word(bytes, at),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn value(&mut self, byte: u8, bytes: &[u8], at: &mut usize, is_last: bool) -> Result<(), Stop> {
        match byte {
            b'"' => {
                *at += 1;
                self.begin_string(false);
                self.string(bytes, at)
            }
            b'-' | b'0'..=b'9' => {
                let start = *at;
                let mut end = start + 1;
                while end < bytes.len() && IN_NUMBER[bytes[end] as usize] {
                    end += 1;
                }
                if end == bytes.len() && !is_last {
                    self.pending.clear();
                    self.pending.extend_from_slice(&bytes[start..]);
                    self.phase = Phase::InNumber;
                    *at = end;
                    return Err(Stop::Progress(Progress::NeedsMore));
                }
                self.number(&bytes[start..end])?;
                *at = end;
                Ok(())
            }
            b'[' | b'{' => {
                if self.stack.len() >= self.depth_max {
                    return Err(Stop::Fault(Fault::Depth));
                }
                *at += 1;
                let is_object = byte == b'{';
                self.stack.push(Open {
                    is_object,
                    count: 0,
                });
                if self.notes_starts {
                    self.tape.events.push(Event::Start { is_object });
                }
                self.phase = if is_object {
                    Phase::FirstMember
                } else {
                    Phase::FirstElement
                };
                Ok(())
            }
            b't' | b'f' | b'n' => {
                self.pending.clear();
                self.phase = Phase::InWord;
                self.word(bytes, at)
            }
            _ => Err(Stop::Fault(Fault::Unexpected(' '))),
        }
    }

    /// Notes a number or a word.
    #[inline(always)]
    fn note_open_end(&mut self, event: Event) {
        self.note(event);
        if self.phase == Phase::Done {
            self.phase = Phase::Delimiter;
        }
    }

    /// Checks that a delimiter follows a value: white space, a byte that comes behind elements and
    /// members, or the separator of sequences of texts (RFC 7464). The delimiter is not taken.
    fn delimiter(&mut self, bytes: &[u8], at: usize) -> Result<(), Stop> {
        const SEPARATOR: u8 = 0x1e;
        match bytes.get(at) {
            None => Err(Stop::Progress(Progress::NeedsMore)),
            Some(b',' | b']' | b'}' | &SEPARATOR) => {
                self.phase = Phase::Done;
                Ok(())
            }
            Some(&byte) if is_space(byte) => {
                self.phase = Phase::Done;
                Ok(())
            }
            Some(_) => Err(Stop::Fault(Fault::Unexpected(' '))),
        }
    }

    /// Notes a value that is complete.
    #[inline(always)]
    fn note(&mut self, event: Event) {
        self.tape.events.push(event);
        self.phase = match self.stack.last_mut() {
            None => Phase::Done,
            Some(open) => {
                open.count += 1;
                if open.is_object {
                    Phase::AfterMember
                } else {
                    Phase::AfterElement
                }
            }
        };
    }

    #[inline(always)]
    fn close(&mut self, at: &mut usize) -> Result<(), Stop> {
        *at += 1;
        if let Some(open) = self.stack.pop() {
            self.note(if open.is_object {
                Event::Object(open.count)
            } else {
                Event::Array(open.count)
            });
        }
        Ok(())
    }

    #[inline(always)]
    fn begin_string(&mut self, is_key: bool) {
        self.is_key = is_key;
        self.string_start = self.tape.text.len();
        self.phase = Phase::InString;
    }

    /// The rest of a string.
    #[inline(always)]
    fn string(&mut self, bytes: &[u8], at: &mut usize) -> Result<(), Stop> {
        loop {
            let rest = &bytes[*at..];
            let length = run_length(rest);
            self.tape.text.extend_from_slice(&rest[..length]);
            *at += length;
            match rest.get(length) {
                None => return Err(Stop::Progress(Progress::NeedsMore)),
                Some(b'"') => {
                    *at += 1;
                    let length = self.tape.text.len() - self.string_start;
                    if self.is_key {
                        self.tape.events.push(Event::Key(length));
                        self.phase = Phase::Colon;
                    } else {
                        self.note(Event::String(length));
                    }
                    return Ok(());
                }
                Some(b'\\') => {
                    *at += 1;
                    self.pending.clear();
                    self.phase = Phase::InEscape;
                    self.escape(bytes, at)?;
                }
                Some(_) => return Err(Stop::Fault(Fault::ControlCharacter(' '))),
            }
        }
    }

    /// Reads an escape behind its backslash. Bytes that were seen of it are pending.
    fn escape(&mut self, bytes: &[u8], at: &mut usize) -> Result<(), Stop> {
        loop {
            let Some(&byte) = bytes.get(*at) else {
                return Err(Stop::Progress(Progress::NeedsMore));
            };
            match self.pending.len() {
                0 => {
                    let character = match byte {
                        b'"' | b'\\' | b'/' => byte,
                        b'b' => 8,
                        b'f' => 12,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'u' => {
                            self.pending.push(byte);
                            *at += 1;
                            continue;
                        }
                        _ => return Err(Stop::Fault(Fault::Escape(' '))),
                    };
                    self.tape.text.push(character);
                    *at += 1;
                    break;
                }
                // u1234, and \u1234 for the second half.
                5 if byte == b'\\' => {}
                6 if byte == b'u' => {}
                5 | 6 => return Err(Stop::Fault(Fault::Surrogate)),
                _ if byte.is_ascii_hexdigit() => {}
                _ => return Err(Stop::Fault(Fault::Escape(' '))),
            }
            self.pending.push(byte);
            *at += 1;
            let code = match self.pending.len() {
                5 => {
                    let code = hexadecimal(&self.pending[1..5]);
                    match code {
                        0xd800..=0xdbff => continue,
                        0xdc00..=0xdfff => return Err(Stop::Fault(Fault::Surrogate)),
                        _ => code,
                    }
                }
                11 => {
                    let high = hexadecimal(&self.pending[1..5]);
                    let low = hexadecimal(&self.pending[7..11]);
                    if !(0xdc00..=0xdfff).contains(&low) {
                        return Err(Stop::Fault(Fault::Surrogate));
                    }
                    0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                }
                _ => continue,
            };
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            let mut buffer = [0; 4];
            let encoded = character.encode_utf8(&mut buffer);
            self.tape.text.extend_from_slice(encoded.as_bytes());
            break;
        }
        self.pending.clear();
        self.phase = Phase::InString;
        Ok(())
    }

    /// `true`, `false` or `null`.
    fn word(&mut self, bytes: &[u8], at: &mut usize) -> Result<(), Stop> {
        loop {
            let Some(&byte) = bytes.get(*at) else {
                return Err(Stop::Progress(Progress::NeedsMore));
            };
            let first = self.pending.first().copied().unwrap_or(byte);
            let (word, event): (&[u8], Event) = match first {
                b't' => (b"true", Event::True),
                b'f' => (b"false", Event::False),
                _ => (b"null", Event::Null),
            };
            if word[self.pending.len()] != byte {
                return Err(Stop::Fault(Fault::Unexpected(' ')));
            }
            self.pending.push(byte);
            *at += 1;
            if self.pending.len() == word.len() {
                self.pending.clear();
                self.note_open_end(event);
                return Ok(());
            }
        }
    }

    /// A complete number.
    #[inline(always)]
    fn number(&mut self, text: &[u8]) -> Result<(), Stop> {
        let event = match shape(text) {
            None => return Err(Stop::Fault(Fault::Number)),
            Some(Shape::Integer) => match small_integer(text) {
                Some(integer) => Event::Integer(integer),
                None => Event::Number(text.len()),
            },
            Some(Shape::Decimal) if self.decimals == Decimals::Text => Event::Number(text.len()),
            Some(Shape::Decimal) => {
                // The shape is one that the standard library reads.
                let parsed = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse().ok());
                Event::Flonum(parsed.unwrap_or(0.0))
            }
        };
        if let Event::Number(_) = event {
            self.tape.text.extend_from_slice(text);
        }
        self.note_open_end(event);
        Ok(())
    }
}

fn hexadecimal(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |number, &digit| {
        16 * number + char::from(digit).to_digit(16).unwrap_or(0)
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Integer,
    Decimal,
}

/// The kind of number that a text of digits, signs, points and `e` is.
#[inline(always)]
fn shape(text: &[u8]) -> Option<Shape> {
    let mut at = usize::from(text.first() == Some(&b'-'));
    let digits = |from: usize| {
        text[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let whole = digits(at);
    if whole == 0 || whole > 1 && text[at] == b'0' {
        return None;
    }
    at += whole;
    if at == text.len() {
        return Some(Shape::Integer);
    }
    if text[at] == b'.' {
        let count = digits(at + 1);
        if count == 0 {
            return None;
        }
        at += 1 + count;
    }
    if at < text.len() && matches!(text[at], b'e' | b'E') {
        at += 1;
        if at < text.len() && matches!(text[at], b'-' | b'+') {
            at += 1;
        }
        let count = digits(at);
        if count == 0 {
            return None;
        }
        at += count;
    }
    (at == text.len()).then_some(Shape::Decimal)
}

/// The value of an integer of at most seventeen digits.
#[inline(always)]
fn small_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > 17 {
        return None;
    }
    let value = digits
        .iter()
        .fold(0, |value, &digit| 10 * value + i64::from(digit - b'0'));
    Some(if negative { -value } else { value })
}

/// Appends the text of a string with quotes and escapes. `ascii` escapes what is not ASCII.
pub fn write_string(text: &str, ascii: bool, output: &mut String) {
    output.push('"');
    let bytes = text.as_bytes();
    let mut start = 0;
    loop {
        let run = if ascii {
            let ordinary = |&byte: &u8| byte.is_ascii() && !ENDS_RUN[byte as usize];
            bytes[start..]
                .iter()
                .take_while(|byte| ordinary(byte))
                .count()
        } else {
            run_length(&bytes[start..])
        };
        output.push_str(&text[start..start + run]);
        start += run;
        let Some(character) = text[start..].chars().next() else {
            break;
        };
        start += character.len_utf8();
        write_escaped(character, output);
    }
    output.push('"');
}

/// The same for Latin-1 characters.
pub fn write_latin1(bytes: &[u8], ascii: bool, output: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => write_string(text, ascii, output),
        _ => {
            let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
            write_string(&text, ascii, output);
        }
    }
}

fn write_escaped(character: char, output: &mut String) {
    let short = match character {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        _ => "",
    };
    if !short.is_empty() {
        output.push_str(short);
        return;
    }
    let mut units = [0; 2];
    for unit in character.encode_utf16(&mut units) {
        output.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Appends a flonum; `false` when JSON has no form for it.
pub fn write_flonum(flonum: f64, output: &mut String) -> bool {
    use std::fmt::Write;
    if !flonum.is_finite() {
        return false;
    }
    // The shortest text that reads back as the same number; writing to a string does not fail.
    let _ = write!(output, "{flonum:?}");
    true
}
