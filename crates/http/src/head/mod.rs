//! Heads of messages: the start line and the fields, as ranges of the bytes in which they stand.
//!
//! These are refused beyond the rules of the grammar: a line feed without a carriage return, a line
//! that continues in the next one, blanks before a colon, control characters and fields without a
//! name. One empty line before a request is skipped.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::Ipv6Addr;
use std::ops::Range;

/// The largest head that there can be: positions are of 16 bits.
pub const HEAD_BYTES_MAX: usize = 0xFFFF;

/// How much of a head is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of the whole head, at most [`HEAD_BYTES_MAX`].
    pub bytes: usize,
    /// Fields.
    pub fields: usize,
    /// Bytes of a request's target.
    pub target: usize,
}

impl Default for HeadLimits {
    fn default() -> HeadLimits {
        HeadLimits {
            bytes: 32 * 1024,
            fields: 100,
            target: 8 * 1024,
        }
    }
}

/// Why a head is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The kind of the fault.
    pub fault: Fault,
    /// Where, in bytes from the start of the head.
    pub position: usize,
}

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident $status:literal $text:literal;)*) => {
        /// The faults of a head, each with the status of the answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// The status to answer with.
            pub fn status(self) -> u16 {
                match self { $(Fault::$name => $status,)* }
            }

            /// The fault in words.
            pub fn text(self) -> &'static str {
                match self { $(Fault::$name => $text,)* }
            }
        }
    };
}

faults! {
    /// No token before the first blank.
    Method 400 "malformed method";
    /// A byte that a target cannot have, or none of its forms.
    Target 400 "malformed request target";
    /// Longer than the limit.
    TargetLength 414 "request target too long";
    /// Not `HTTP/1.0` or `HTTP/1.1` where it should be.
    Version 400 "malformed version";
    /// Another version.
    OtherVersion 505 "this version of HTTP is not served";
    /// A carriage return or a line feed by itself.
    LineEnd 400 "a line does not end in CR LF";
    /// A field continues in the next line.
    Folded 400 "a field continues in the next line";
    /// The name of a field is no token, or blanks are before the colon.
    FieldName 400 "malformed field name";
    /// A control character in a field.
    FieldValue 400 "control character in a field";
    /// More fields than the limit.
    FieldCount 431 "too many fields";
    /// The head is longer than the limit.
    Length 431 "head too long";
    /// Not a number, or several of them.
    ContentLength 400 "malformed Content-Length";
    /// A length and a transfer coding, or a coding in HTTP/1.0.
    Conflict 400 "conflicting lengths of the body";
    /// Nobody can tell where the body ends: `chunked` is not last, or there more than once.
    CodingOrder 400 "chunked is not the last transfer coding";
    /// Another coding before `chunked`.
    Coding 501 "this transfer coding is not served";
    /// None, several or a malformed one.
    Host 400 "malformed or missing Host";
    /// An unknown expectation of the client.
    Expectation 417 "this expectation is not served";
    /// A status code that is no number of three digits.
    Status 400 "malformed status line";
    /// A chunk's size or end.
    Chunk 400 "malformed chunk";
    /// The body is longer than the limit.
    BodyLength 413 "body too long";
    /// The connection, or the direction of the client, ended within the body.
    BodyEnd 400 "the body ends too soon";
    /// It took too long.
    Slow 408 "the request took too long";
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}, at byte {}",
            self.fault.text(),
            self.position
        )
    }
}

impl std::error::Error for Malformed {}

/// A field, as ranges of the head's bytes. The value has no blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    name: (u16, u16),
    value: (u16, u16),
}

/// Bytes of a field in a [`HeadIndex`].
pub const FIELD_BYTES: usize = 8;

impl Field {
    /// Where the name is.
    pub fn name(self) -> Range<usize> {
        usize::from(self.name.0)..usize::from(self.name.1)
    }

    /// Where the value is.
    pub fn value(self) -> Range<usize> {
        usize::from(self.value.0)..usize::from(self.value.1)
    }

    /// The four positions as bytes.
    pub fn to_bytes(self) -> [u8; FIELD_BYTES] {
        let words = [self.name.0, self.name.1, self.value.0, self.value.1];
        let mut bytes = [0; FIELD_BYTES];
        for (place, word) in bytes.chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The field of such bytes.
    pub fn from_bytes(bytes: [u8; FIELD_BYTES]) -> Field {
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Field {
            name: (word(0), word(2)),
            value: (word(4), word(6)),
        }
    }
}

/// A request's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHead {
    /// Bytes up to the body.
    pub length: usize,
    /// Where the method is.
    pub method: Range<usize>,
    /// Where the target is.
    pub target: Range<usize>,
    /// 0 or 1: of HTTP/1.0 or HTTP/1.1.
    pub minor: u8,
    /// The fields in order.
    pub fields: Vec<Field>,
}

/// A response's head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// Bytes up to the body.
    pub length: usize,
    /// The status code.
    pub status: u16,
    /// Where the reason is.
    pub reason: Range<usize>,
    /// 0 or 1: of HTTP/1.0 or HTTP/1.1.
    pub minor: u8,
    /// The fields in order.
    pub fields: Vec<Field>,
}

/// Bytes of tokens: names of fields and methods.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`'
            | b'|' | b'~'
            | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
        byte += 1;
    }
    table
};

/// Whether these bytes are a token, as names of fields and methods are.
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| TOKEN[usize::from(*byte)])
}

/// Whether a byte may stand in the value of a field.
fn is_value_byte(byte: u8) -> bool {
    (byte >= b' ' && byte != 0x7F) || byte == b'\t'
}

/// The offset of the first byte that a value cannot have, eight bytes at a time.
pub(crate) fn value_length(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        // Bytes below a blank, and 127 after flipping its bits.
        let below = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let flipped = word ^ (ONES * 0x7F);
        let deletes = flipped.wrapping_sub(ONES) & !flipped & HIGH;
        if below | deletes != 0 {
            break;
        }
        at += 8;
    }
    at + bytes[at..]
        .iter()
        .position(|byte| !is_value_byte(*byte))
        .unwrap_or(bytes.len() - at)
}

/// The result of a reading step; `None` if the bytes end before the head does.
type Step<T> = Result<Option<T>, Malformed>;

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn malformed<T>(&self, fault: Fault) -> Result<T, Malformed> {
        Err(Malformed {
            fault,
            position: self.at,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// A token before `end`, which is consumed with it.
    fn token(&mut self, end: u8, fault: Fault) -> Step<Range<usize>> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let Some(length) = rest.iter().position(|byte| !TOKEN[usize::from(*byte)]) else {
            return Ok(None);
        };
        self.at += length;
        if length == 0 || rest[length] != end {
            return self.malformed(fault);
        }
        self.at += 1;
        Ok(Some(start..start + length))
    }

    /// The end of a line.
    fn line_end(&mut self) -> Step<()> {
        match (self.peek(), self.bytes.get(self.at + 1)) {
            (Some(b'\r'), Some(b'\n')) => {
                self.at += 2;
                Ok(Some(()))
            }
            (None, _) | (Some(b'\r'), None) => Ok(None),
            _ => self.malformed(Fault::LineEnd),
        }
    }

    /// `HTTP/1.0` or `HTTP/1.1`: the last digit.
    fn version(&mut self) -> Step<u8> {
        const NAME: &[u8] = b"HTTP/";
        for (index, wanted) in NAME.iter().enumerate() {
            match self.bytes.get(self.at + index) {
                None => return Ok(None),
                Some(byte) if byte == wanted => {}
                Some(_) => return self.malformed(Fault::Version),
            }
        }
        let Some(&[major, dot, minor]) = self.bytes.get(self.at + 5..self.at + 8) else {
            return Ok(None);
        };
        if !(major.is_ascii_digit() && dot == b'.' && minor.is_ascii_digit()) {
            return self.malformed(Fault::Version);
        }
        if major != b'1' {
            return self.malformed(Fault::OtherVersion);
        }
        self.at += 8;
        Ok(Some((minor - b'0').min(1)))
    }

    /// The fields and the empty line behind them.
    fn fields(&mut self, limits: &HeadLimits, fields: &mut Vec<Field>) -> Step<()> {
        loop {
            match self.peek() {
                None => return Ok(None),
                Some(b'\r') => return self.line_end(),
                Some(b' ' | b'\t') => return self.malformed(Fault::Folded),
                Some(b'\n') => return self.malformed(Fault::LineEnd),
                Some(_) => {}
            }
            if fields.len() == limits.fields {
                return self.malformed(Fault::FieldCount);
            }
            let Some(name) = self.token(b':', Fault::FieldName)? else {
                return Ok(None);
            };
            let Some(value) = self.value()? else {
                return Ok(None);
            };
            fields.push(Field {
                name: (name.start as u16, name.end as u16),
                value: (value.start as u16, value.end as u16),
            });
        }
    }

    /// The value of a field without blanks around it, and the end of its line.
    fn value(&mut self) -> Step<Range<usize>> {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        loop {
            self.at += value_length(&self.bytes[self.at..]);
            // The quick search stops at tabs.
            if self.peek() != Some(b'\t') {
                break;
            }
            self.at += 1;
        }
        let mut end = self.at;
        match self.peek() {
            None => return Ok(None),
            Some(b'\r' | b'\n') => {}
            Some(_) => return self.malformed(Fault::FieldValue),
        }
        if self.line_end()?.is_none() {
            return Ok(None);
        }
        while end > start && matches!(self.bytes[end - 1], b' ' | b'\t') {
            end -= 1;
        }
        Ok(Some(start..end))
    }
}

/// A cursor over the bytes that are read: no more than the limit, so that positions fit.
fn begin<'a>(bytes: &'a [u8], limits: &HeadLimits) -> Cursor<'a> {
    let bytes = &bytes[..bytes.len().min(limits.bytes.min(HEAD_BYTES_MAX))];
    Cursor { bytes, at: 0 }
}

/// Says that a head that is not whole is too long already.
fn ended<T>(step: Step<T>, bytes: &[u8], limits: &HeadLimits) -> Step<T> {
    let limit = limits.bytes.min(HEAD_BYTES_MAX);
    match step {
        Ok(None) if bytes.len() >= limit => Err(Malformed {
            fault: Fault::Length,
            position: limit,
        }),
        step => step,
    }
}

/// Reads a request's head. `None` if the bytes end before it does.
pub fn read_request(bytes: &[u8], limits: &HeadLimits) -> Step<RequestHead> {
    ended(request(bytes, limits), bytes, limits)
}

fn request(bytes: &[u8], limits: &HeadLimits) -> Step<RequestHead> {
    let mut cursor = begin(bytes, limits);
    if cursor.peek() == Some(b'\r') && cursor.line_end()?.is_none() {
        return Ok(None);
    }
    let Some(method) = cursor.token(b' ', Fault::Method)? else {
        return Ok(None);
    };
    let start = cursor.at;
    let rest = &cursor.bytes[start..];
    let Some(length) = rest.iter().position(|byte| !(0x21..0x7F).contains(byte)) else {
        if rest.len() > limits.target {
            return cursor.malformed(Fault::TargetLength);
        }
        return Ok(None);
    };
    let target = start..start + length;
    if length > limits.target {
        return cursor.malformed(Fault::TargetLength);
    }
    if !is_target(&cursor.bytes[method.clone()], &rest[..length]) {
        return cursor.malformed(Fault::Target);
    }
    cursor.at = target.end;
    if rest[length] != b' ' {
        let fault = match rest[length] {
            b'\r' | b'\n' => Fault::Version,
            _ => Fault::Target,
        };
        return cursor.malformed(fault);
    }
    cursor.at += 1;
    let Some(minor) = cursor.version()? else {
        return Ok(None);
    };
    if cursor.line_end()?.is_none() {
        return Ok(None);
    }
    let mut fields = Vec::with_capacity(16);
    if cursor.fields(limits, &mut fields)?.is_none() {
        return Ok(None);
    }
    Ok(Some(RequestHead {
        length: cursor.at,
        method,
        target,
        minor,
        fields,
    }))
}

/// Whether a target has one of the four forms.
fn is_target(method: &[u8], target: &[u8]) -> bool {
    if memchr::memchr(b'#', target).is_some() {
        return false;
    }
    match method {
        b"CONNECT" => is_authority(target) && memchr::memchr(b':', target).is_some(),
        _ => match target {
            [b'/', ..] => true,
            b"*" => method == b"OPTIONS",
            _ => {
                let after = |scheme: &str| {
                    let (start, rest) = target.split_at_checked(scheme.len())?;
                    start
                        .eq_ignore_ascii_case(scheme.as_bytes())
                        .then_some(rest)
                };
                let rest = after("http://").or_else(|| after("https://"));
                rest.is_some_and(|rest| {
                    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
                    end > 0 && is_authority(&rest[..end])
                })
            }
        },
    }
}

/// Whether these bytes could be a host with a port; without credentials.
pub(crate) fn is_authority(bytes: &[u8]) -> bool {
    if let Some(inside) = bytes.strip_prefix(b"[") {
        let Some(end) = memchr::memchr(b']', inside) else {
            return false;
        };
        let address = str::from_utf8(&inside[..end]);
        let is_address = address.is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
        return is_address && is_port(&inside[end + 1..]);
    }
    let end = memchr::memchr(b':', bytes).unwrap_or(bytes.len());
    is_host_name(&bytes[..end]) && is_port(&bytes[end..])
}

/// Bytes that may stand in the name of a host as they are.
const HOST: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let is_mark = matches!(
            byte as u8,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
        );
        table[byte] = is_mark || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// Whether these bytes are the name of a host. A percent-encoded byte is one that could stand there
/// itself, or belongs to a character beyond ASCII. A control character, a slash or a colon is one
/// for readers that decode it, and none for others.
fn is_host_name(mut bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| HOST[usize::from(*byte)];
    loop {
        let plain = bytes.iter().position(|byte| !is_plain(byte));
        let Some(plain) = plain else {
            return true;
        };
        let [b'%', high, low, rest @ ..] = &bytes[plain..] else {
            return false;
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
            return false;
        };
        let byte = (high * 16 + low) as u8;
        if byte.is_ascii() && !is_plain(&byte) {
            return false;
        }
        bytes = rest;
    }
}

/// Nothing, or a colon with the number of a port behind it, which may be missing.
fn is_port(bytes: &[u8]) -> bool {
    match bytes {
        [] => true,
        [b':', digits @ ..] if digits.len() <= 5 => {
            let port = digits.iter().try_fold(0u32, |port, byte| {
                let digit = char::from(*byte).to_digit(10)?;
                Some(port * 10 + digit)
            });
            port.is_some_and(|port| port <= u32::from(u16::MAX))
        }
        _ => false,
    }
}

/// Reads a response's head. `None` if the bytes end before it does.
pub fn read_response(bytes: &[u8], limits: &HeadLimits) -> Step<ResponseHead> {
    ended(response(bytes, limits), bytes, limits)
}

fn response(bytes: &[u8], limits: &HeadLimits) -> Step<ResponseHead> {
    let mut cursor = begin(bytes, limits);
    let Some(minor) = cursor.version()? else {
        return Ok(None);
    };
    let Some(&[blank, a, b, c]) = cursor.bytes.get(cursor.at..cursor.at + 4) else {
        return Ok(None);
    };
    let digits = [a, b, c];
    if blank != b' ' || !digits.iter().all(u8::is_ascii_digit) || a == b'0' {
        return cursor.malformed(Fault::Status);
    }
    let status = digits
        .iter()
        .fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
    cursor.at += 4;
    match cursor.peek() {
        None => return Ok(None),
        Some(b' ' | b'\r') => {}
        Some(_) => return cursor.malformed(Fault::Status),
    }
    let Some(reason) = cursor.value()? else {
        return Ok(None);
    };
    let mut fields = Vec::with_capacity(16);
    if cursor.fields(limits, &mut fields)?.is_none() {
        return Ok(None);
    }
    Ok(Some(ResponseHead {
        length: cursor.at,
        status,
        reason,
        minor,
        fields,
    }))
}

/// Reads fields and the empty line behind them, as after the last chunk: how many bytes they are, and
/// the fields.
pub fn read_trailers(bytes: &[u8], limits: &HeadLimits) -> Step<(usize, Vec<Field>)> {
    let mut cursor = begin(bytes, limits);
    let mut fields = Vec::new();
    let step = cursor.fields(limits, &mut fields);
    let step = step.map(|end| end.map(|()| (cursor.at, fields)));
    ended(step, bytes, limits)
}

/// Notes how far the end of a head was looked for, so that a head that comes in many pieces is not read
/// anew for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndSearch {
    looked: usize,
}

impl EndSearch {
    /// Whether a head may have ended in these bytes, which begin as those of the last call did.
    pub fn may_have_ended(&mut self, bytes: &[u8]) -> bool {
        let start = self.looked.saturating_sub(3);
        self.looked = bytes.len();
        memchr::memmem::find(&bytes[start.min(bytes.len())..], b"\n\r\n").is_some()
    }
}
