//! WebSockets (RFC 6455) without connections: a [`Receiver`] takes bytes as they arrive and gives
//! events, and [`frame`] makes the bytes of a frame.
//!
//! A receiver keeps the part of the message that has arrived and nothing else. An announced length
//! allocates nothing, frames are joined where they end up, and a fault is found at the first byte
//! that tells it. Its memory is at most twice the limit of a message, and next to nothing between
//! messages unless contexts of compression are kept.
//!
//! Messages may be compressed (RFC 7692), which `extension` agrees on; the limit counts their
//! decompressed bytes.

mod extension;
#[cfg(test)]
mod tests;

use canny_formats::compression::{InflateFault, MessageInflater};

pub use extension::{Agreement, accept, agreed, offer};

/// Bytes of a control frame's payload.
pub const CONTROL_BYTES_MAX: usize = 125;

/// Bytes of a frame's head: two, a length of eight, and a mask.
const HEAD_BYTES_MAX: usize = 14;

/// The bit of a compressed message's first frame.
const COMPRESSED: u8 = 0x40;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Goodbye = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    /// The one with this number.
    pub fn numbered(number: u8) -> Option<Opcode> {
        Some(match number {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Goodbye,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// A fault that ends a connection: the code to say so, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: u16,
    pub reason: &'static str,
}

const fn malformed(reason: &'static str) -> Fault {
    Fault { code: 1002, reason }
}

const NOT_UTF8: Fault = Fault {
    code: 1007,
    reason: "a text is not UTF-8",
};

const TOO_LONG: Fault = Fault {
    code: 1009,
    reason: "the message is too long",
};

/// A message or control frame that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    /// The other side closes: its code and reason, if it gave some. Nothing that follows means anything.
    Goodbye(Option<(u16, String)>),
}

const CORRUPT: Fault = Fault {
    code: 1007,
    reason: "the compressed data are corrupt",
};

/// A frame whose payload is arriving.
#[derive(Clone, Copy, Debug)]
struct Frame {
    opcode: Opcode,
    is_last: bool,
    /// The bit that the first frame of a compressed message has.
    is_compressed: bool,
    /// The mask, rotated so that its first byte belongs to the next byte of the payload.
    key: Option<[u8; 4]>,
    left: u64,
}

/// Reads frames; see the module's description.
pub struct Receiver {
    is_client: bool,
    bytes_max: usize,
    /// The agreed decompressor of the other side's messages.
    inflater: Option<MessageInflater>,
    /// The message that is on its way is compressed.
    is_compressed: bool,
    /// The head that is arriving, of which so many bytes are there.
    head: [u8; HEAD_BYTES_MAX],
    head_length: usize,
    frame: Option<Frame>,
    /// Text or binary, in the middle of a message.
    kind: Option<Opcode>,
    message: Vec<u8>,
    /// So many bytes of a text are known to be UTF-8.
    valid: usize,
    control: Vec<u8>,
}

impl Receiver {
    /// A receiver of a client or of a server, for messages of at most so many bytes, which may be
    /// compressed if there is an inflater.
    pub fn new(is_client: bool, bytes_max: usize, inflater: Option<MessageInflater>) -> Receiver {
        Receiver {
            is_client,
            bytes_max,
            inflater,
            is_compressed: false,
            head: [0; HEAD_BYTES_MAX],
            head_length: 0,
            frame: None,
            kind: None,
            message: Vec::new(),
            valid: 0,
            control: Vec::new(),
        }
    }

    /// Takes bytes up to the next event, and adds how many to `used`: all, if there is no event. After
    /// a fault or a farewell it is of no use.
    pub fn take(&mut self, bytes: &[u8], used: &mut usize) -> Result<Option<Event>, Fault> {
        let mut rest = bytes;
        loop {
            let Some(frame) = self.frame else {
                let Some((&byte, behind)) = rest.split_first() else {
                    return Ok(None);
                };
                self.head[self.head_length] = byte;
                self.head_length += 1;
                *used += 1;
                rest = behind;
                self.frame = self.read_head()?;
                continue;
            };
            let count = usize::try_from(frame.left).map_or(rest.len(), |left| rest.len().min(left));
            let (payload, behind) = rest.split_at(count);
            *used += count;
            rest = behind;
            let frame = self.take_payload(frame, payload)?;
            if frame.left > 0 {
                self.frame = Some(frame);
                return Ok(None);
            }
            self.frame = None;
            self.head_length = 0;
            if let Some(event) = self.end_frame(frame)? {
                return Ok(Some(event));
            }
        }
    }

    /// The frame whose head is there, if it is whole.
    fn read_head(&self) -> Result<Option<Frame>, Fault> {
        let head = &self.head[..self.head_length];
        let &[first, second, ref rest @ ..] = head else {
            return Ok(None);
        };
        let (is_last, is_masked, short) = (first >= 0x80, second >= 0x80, second & 0x7F);
        let number = first & 0x0F;
        let length_bytes = match short {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let Some(opcode) = Opcode::numbered(number) else {
            return Err(malformed("an opcode that there is not"));
        };
        // All that the first two bytes tell was looked at when they came.
        if rest.is_empty() {
            let allowed = match opcode {
                Opcode::Text | Opcode::Binary if self.inflater.is_some() => COMPRESSED,
                _ => 0,
            };
            if first & 0x70 & !allowed != 0 {
                return Err(malformed("a bit that no extension has asked for"));
            }
            if opcode.is_control() && (!is_last || usize::from(short) > CONTROL_BYTES_MAX) {
                return Err(malformed("a control frame that is too long or fragmented"));
            }
            if is_masked == self.is_client {
                return Err(malformed(if is_masked {
                    "a masked frame from a server"
                } else {
                    "a frame without a mask"
                }));
            }
            match (opcode == Opcode::Continuation, self.kind.is_some()) {
                (true, false) => return Err(malformed("a continuation of nothing")),
                (false, true) if !opcode.is_control() => {
                    return Err(malformed("a message in the middle of another one"));
                }
                _ => {}
            }
        }
        let Some((length, rest)) = rest.split_at_checked(length_bytes) else {
            return Ok(None);
        };
        let length = match length_bytes {
            0 => u64::from(short),
            _ => length
                .iter()
                .fold(0, |number, &byte| number << 8 | u64::from(byte)),
        };
        if rest.is_empty() {
            let least = match length_bytes {
                0 => 0,
                2 => 126,
                _ => 1 << 16,
            };
            if length < least || length >= 1 << 63 {
                return Err(malformed(
                    "a length that is not written as short as it could be",
                ));
            }
            let room = (self.bytes_max - self.message.len()) as u64;
            // The decompressed length of compressed bytes is not known yet.
            let is_counted = !opcode.is_control() && first & COMPRESSED == 0 && !self.is_compressed;
            if is_counted && length > room {
                return Err(TOO_LONG);
            }
        }
        let key = match (is_masked, <[u8; 4]>::try_from(rest)) {
            (false, _) => None,
            (true, Ok(key)) => Some(key),
            (true, Err(_)) => return Ok(None),
        };
        Ok(Some(Frame {
            opcode,
            is_last,
            is_compressed: first & COMPRESSED != 0,
            key,
            left: length,
        }))
    }

    /// Takes a part of a frame's payload, and gives what is to come of the frame.
    fn take_payload(&mut self, mut frame: Frame, payload: &[u8]) -> Result<Frame, Fault> {
        frame.left -= payload.len() as u64;
        let key = frame.key;
        if let Some(key) = &mut frame.key {
            key.rotate_left(payload.len() % 4);
        }
        if frame.opcode.is_control() {
            push_masked(&mut self.control, payload, key);
            return Ok(frame);
        }
        if self.kind.is_none() {
            self.kind = Some(frame.opcode);
            self.is_compressed = frame.is_compressed;
        }
        let is_whole = frame.is_last && frame.left == 0;
        match &mut self.inflater {
            Some(inflater) if self.is_compressed => {
                let mut part = Vec::with_capacity(payload.len());
                push_masked(&mut part, payload, key);
                inflater.inflate(&part, &mut self.message, self.bytes_max)?;
                if is_whole {
                    inflater.end_message(&mut self.message, self.bytes_max)?;
                }
            }
            _ => push_masked(&mut self.message, payload, key),
        }
        if self.kind == Some(Opcode::Text) && !is_whole {
            self.check_text()?;
        }
        Ok(frame)
    }

    /// Whether what is there of a text can be the beginning of one.
    fn check_text(&mut self) -> Result<(), Fault> {
        match std::str::from_utf8(&self.message[self.valid..]) {
            Ok(_) => self.valid = self.message.len(),
            Err(error) if error.error_len().is_some() => return Err(NOT_UTF8),
            Err(error) => self.valid += error.valid_up_to(),
        }
        Ok(())
    }

    fn end_frame(&mut self, frame: Frame) -> Result<Option<Event>, Fault> {
        Ok(Some(match frame.opcode {
            Opcode::Ping => Event::Ping(std::mem::take(&mut self.control)),
            Opcode::Pong => {
                self.control = Vec::new();
                Event::Pong
            }
            Opcode::Goodbye => goodbye(&std::mem::take(&mut self.control))?,
            _ if !frame.is_last => return Ok(None),
            _ => {
                self.valid = 0;
                self.is_compressed = false;
                let message = std::mem::take(&mut self.message);
                match self.kind.take() {
                    Some(Opcode::Text) => {
                        Event::Text(String::from_utf8(message).map_err(|_| NOT_UTF8)?)
                    }
                    _ => Event::Binary(message),
                }
            }
        }))
    }
}

fn goodbye(payload: &[u8]) -> Result<Event, Fault> {
    match payload {
        [] => Ok(Event::Goodbye(None)),
        [_] => Err(malformed("a code of one byte")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            let reason = std::str::from_utf8(reason).map_err(|_| NOT_UTF8)?;
            if !is_code(code) {
                return Err(malformed("a code that there is not"));
            }
            Ok(Event::Goodbye(Some((code, reason.to_owned()))))
        }
    }
}

/// Whether a code may be sent.
pub fn is_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Masks bytes, or unmasks them.
fn mask(bytes: &mut [u8], key: [u8; 4]) {
    let word = u64::from(u32::from_ne_bytes(key)) * 0x1_0000_0001;
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for bytes in words {
        *bytes = (u64::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= mask;
    }
}

fn push_masked(target: &mut Vec<u8>, bytes: &[u8], key: Option<[u8; 4]>) {
    let start = target.len();
    target.extend_from_slice(bytes);
    if let Some(key) = key {
        mask(&mut target[start..], key);
    }
}

impl From<InflateFault> for Fault {
    fn from(fault: InflateFault) -> Fault {
        match fault {
            InflateFault::Corrupt => CORRUPT,
            InflateFault::TooLong => TOO_LONG,
        }
    }
}

/// The bytes of a frame that is a whole message, compressed or not, or a control frame; a client's has
/// a key to mask it.
pub fn frame(opcode: Opcode, is_compressed: bool, payload: &[u8], key: Option<[u8; 4]>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES_MAX + payload.len());
    let mask_bit = if key.is_some() { 0x80 } else { 0 };
    let compressed = if is_compressed { COMPRESSED } else { 0 };
    bytes.push(0x80 | compressed | opcode as u8);
    match payload.len() {
        length @ 0..126 => bytes.push(mask_bit | length as u8),
        length @ 126..0x1_0000 => {
            bytes.push(mask_bit | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(mask_bit | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(key.as_ref().map_or(&[], |key| key.as_slice()));
    push_masked(&mut bytes, payload, key);
    bytes
}
