//! What RFC 6455 makes of the bytes that a client sends to a server that echoes, written anew and for whole sequences of bytes:
//! it shares nothing with what is tested.

/// Bytes of a message that the server takes.
pub const LIMIT: usize = 70_000;

/// What a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    /// A farewell with the client's own code and reason.
    Answer(Vec<u8>),
    /// A farewell with this code because of what the client sent, whatever the reason.
    Refusal(u16),
}

enum End {
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

/// What the server says, in order, and then the connection ends.
pub fn answers(bytes: &[u8]) -> Vec<Said> {
    let mut said = Vec::new();
    match run(&mut Bytes(bytes), &mut said) {
        End::Lost => {}
        End::Refused(code) => said.push(Said::Refusal(code)),
        End::Answered(payload) => said.push(Said::Answer(payload)),
    }
    said
}

fn run(bytes: &mut Bytes<'_>, said: &mut Vec<Said>) -> End {
    let mut message: Option<(u64, Vec<u8>)> = None;
    loop {
        if let Err(end) = frame(bytes, &mut message, said) {
            return end;
        }
    }
}

fn frame(
    bytes: &mut Bytes<'_>,
    message: &mut Option<(u64, Vec<u8>)>,
    said: &mut Vec<Said>,
) -> Result<(), End> {
    let start = bytes.number(2)?;
    let opcode = start >> 8 & 15;
    let is_last = start >> 15 == 1;
    let is_control = opcode > 7;
    let short = start & 127;
    let is_known = matches!(opcode, 0..=2 | 8..=10);
    let has_reserved_bits = start >> 12 & 7 != 0;
    let is_masked = start & 128 != 0;
    let is_in_sequence = is_control || (opcode == 0) == message.is_some();
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
    let before = message.as_ref().map_or(0, |(_, bytes)| bytes.len());
    if !is_control && length > (LIMIT - before) as u64 {
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
    let (kind, text) = message.get_or_insert((opcode, Vec::new()));
    text.extend(payload);
    let is_end = is_whole && is_last;
    if *kind == 1 && !is_text(text, is_end) {
        return Err(End::Refused(1007));
    }
    if !is_whole {
        return Err(End::Lost);
    }
    if is_end && let Some((kind, content)) = message.take() {
        said.push(match kind {
            1 => Said::Text(content),
            _ => Said::Binary(content),
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
    match is_code {
        true => End::Answered(payload),
        false => End::Refused(1002),
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
