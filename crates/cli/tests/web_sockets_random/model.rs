//! A model of RFC 6455 and RFC 7692: the answers to the bytes that a client sends to a server that
//! echoes. It is written anew and for whole sequences of bytes, and shares nothing with the tested
//! code.

use super::deflate::{Reader, Stop, TAIL, Window};

/// Bytes of a message that the server takes.
pub const LIMIT: usize = 70_000;

/// An answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    /// A farewell with the client's own code and reason.
    Answer(Vec<u8>),
    /// A farewell with this code because of what the client sent, whatever the reason.
    Refusal(u16),
    /// Anything: the bytes of the client are wrong in several ways, or only in some eyes.
    Anything,
}

enum End {
    Doubtful,
    Lost,
    Refused(u16),
    Answered(Vec<u8>),
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn number(&mut self, count: usize) -> Result<u64, End> {
        if self.0.len() < count {
            return Err(End::Lost);
        }
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        let mut number = 0_u64;
        for byte in bytes {
            number = number * 256 + u64::from(*byte);
        }
        Ok(number)
    }
}

/// A message that is on its way.
struct Message {
    kind: u64,
    is_compressed: bool,
    /// As it was sent.
    bytes: Vec<u8>,
    /// The message without compression.
    content: Vec<u8>,
}

/// The server's state.
struct Server {
    message: Option<Message>,
    /// If compression was agreed on.
    reader: Option<Reader>,
    /// A message ended in the middle of a block, which the next one may continue.
    is_doubtful: bool,
}

/// The server's answers, in order, until the connection ends. The client compresses with a window,
/// if that was agreed on.
pub fn answers(bytes: &[u8], window: Option<Window>) -> Vec<Said> {
    let mut said = Vec::new();
    let mut server = Server {
        message: None,
        reader: window.map(Reader::new),
        is_doubtful: false,
    };
    match run(&mut Bytes(bytes), &mut server, &mut said) {
        End::Doubtful => said.push(Said::Anything),
        End::Lost => {}
        End::Refused(code) => said.push(Said::Refusal(code)),
        End::Answered(payload) => said.push(Said::Answer(payload)),
    }
    said
}

fn run(bytes: &mut Bytes<'_>, server: &mut Server, said: &mut Vec<Said>) -> End {
    loop {
        if let Err(end) = frame(bytes, server, said) {
            return end;
        }
    }
}

fn frame(bytes: &mut Bytes<'_>, server: &mut Server, said: &mut Vec<Said>) -> Result<(), End> {
    let start = bytes.number(2)?;
    let opcode = start >> 8 & 15;
    let is_last = start >> 15 == 1;
    let is_control = opcode > 7;
    let short = start & 127;
    let is_known = matches!(opcode, 0..=2 | 8..=10);
    let is_compressed = start >> 14 & 1 == 1;
    let may_be_compressed = server.reader.is_some() && matches!(opcode, 1 | 2);
    let has_reserved_bits = start >> 12 & 3 != 0 || is_compressed && !may_be_compressed;
    let is_masked = start & 128 != 0;
    let is_in_sequence = is_control || (opcode == 0) == server.message.is_some();
    let is_right_control = !is_control || is_last && short < 126;
    if !is_known || has_reserved_bits || !is_masked || !is_in_sequence || !is_right_control {
        return Err(End::Refused(1002));
    }
    let length = match short {
        126 => bytes.number(2)?,
        127 => bytes.number(8)?,
        _ => short,
    };
    let shortest = match length {
        0..126 => short < 126,
        126..0x1_0000 => short == 126,
        0x1_0000..0x8000_0000_0000_0000 => short == 127,
        _ => false,
    };
    if !shortest {
        return Err(End::Refused(1002));
    }
    let before = match &server.message {
        Some(message) if message.is_compressed => None,
        Some(message) => Some(message.content.len()),
        None => Some(0).filter(|_| !is_compressed),
    };
    if !is_control && before.is_some_and(|before| length > (LIMIT - before) as u64) {
        return Err(End::Refused(1009));
    }
    let key = bytes.number(4)?;
    let mut payload = Vec::new();
    for index in 0..length {
        let Ok(byte) = bytes.number(1) else { break };
        payload.push(byte as u8 ^ (key >> (24 - index % 4 * 8)) as u8);
    }
    let is_whole = payload.len() as u64 == length;
    if is_control {
        if !is_whole {
            return Err(End::Lost);
        }
        return control(opcode, payload, said);
    }
    let message = server.message.get_or_insert(Message {
        kind: opcode,
        is_compressed,
        bytes: Vec::new(),
        content: Vec::new(),
    });
    message.bytes.extend(payload);
    let is_end = is_whole && is_last;
    if let Some(reader) = server.reader.as_mut().filter(|_| message.is_compressed) {
        if server.is_doubtful {
            return Err(End::Doubtful);
        }
        if is_end {
            message.bytes.extend(TAIL);
        }
        // Beyond the limit it shows whether something else is wrong, which a server may find first.
        let (content, stop) = reader.read(&message.bytes, 3 * LIMIT);
        message.content = content;
        let is_wrong = stop == Stop::Corrupt
            || message.kind == 1 && !is_text(&message.content, is_end && stop != Stop::Within);
        let is_long = message.content.len() > LIMIT;
        if stop == Stop::Doubtful || is_long && is_wrong {
            return Err(End::Doubtful);
        } else if is_long {
            return Err(End::Refused(1009));
        } else if stop == Stop::Corrupt {
            return Err(End::Refused(1007));
        }
        if is_end {
            server.is_doubtful = stop == Stop::Within;
            reader.end_message(&message.bytes, &message.content);
        }
    } else {
        message.content = message.bytes.clone();
    }
    if message.kind == 1 && !is_text(&message.content, is_end) {
        return Err(End::Refused(1007));
    }
    if !is_whole {
        return Err(End::Lost);
    }
    if is_end && let Some(message) = server.message.take() {
        said.push(match message.kind {
            1 => Said::Text(message.content),
            _ => Said::Binary(message.content),
        });
    }
    Ok(())
}

fn control(opcode: u64, payload: Vec<u8>, said: &mut Vec<Said>) -> Result<(), End> {
    match opcode {
        8 => Err(farewell(payload)),
        9 => {
            said.push(Said::Pong(payload));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn farewell(payload: Vec<u8>) -> End {
    if payload.is_empty() {
        return End::Answered(payload);
    }
    if payload.len() == 1 {
        return End::Refused(1002);
    }
    let code = u32::from(payload[0]) * 256 + u32::from(payload[1]);
    if !is_text(&payload[2..], true) {
        return End::Refused(1007);
    }
    // 1004 is reserved, 1005, 1006 and 1015 are never sent.
    let is_code = (1000..1015).contains(&code) && !(1004..=1006).contains(&code)
        || (3000..5000).contains(&code);
    if is_code {
        End::Answered(payload)
    } else {
        End::Refused(1002)
    }
}

/// Whether bytes are UTF-8, or a beginning of it if more is to come (RFC 3629, section 4).
fn is_text(bytes: &[u8], is_end: bool) -> bool {
    let mut rest = bytes;
    while let Some((&first, behind)) = rest.split_first() {
        let (count, least, most) = match first {
            0..=0x7F => (0, 0, 0),
            0xC2..=0xDF => (1, 0x80, 0xBF),
            0xE0 => (2, 0xA0, 0xBF),
            0xE1..=0xEC | 0xEE..=0xEF => (2, 0x80, 0xBF),
            0xED => (2, 0x80, 0x9F),
            0xF0 => (3, 0x90, 0xBF),
            0xF1..=0xF3 => (3, 0x80, 0xBF),
            0xF4 => (3, 0x80, 0x8F),
            _ => return false,
        };
        let tail = &behind[..behind.len().min(count)];
        let is_right = tail.iter().enumerate().all(|(index, byte)| match index {
            0 => (least..=most).contains(byte),
            _ => (0x80..=0xBF).contains(byte),
        });
        if !is_right || tail.len() < count && is_end {
            return false;
        }
        rest = &behind[tail.len()..];
    }
    true
}
