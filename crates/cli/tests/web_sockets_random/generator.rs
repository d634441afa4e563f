//! Bytes that a client might send: frames as they should be, and what chance makes of them.

use super::deflate::Writer;

/// Numbers by chance (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 11) % limit as u64) as usize
    }

    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn choose<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len())]
    }
}

/// A frame of a client.
pub fn frame(random: &mut Random, first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    let length = payload.len();
    // Now and then longer than it need be.
    match length {
        0..126 if !random.once_in(200) => bytes.push(0x80 | length as u8),
        126..0x1_0000 if !random.once_in(100) => {
            bytes.push(0xFE);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(0xFF);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let key = if random.once_in(3) {
        [0; 4]
    } else {
        (random.next() as u32).to_be_bytes()
    };
    bytes.extend_from_slice(&key);
    bytes.extend(
        payload
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    bytes
}

fn length(random: &mut Random) -> usize {
    match random.below(40) {
        0 => *random.choose(&[125, 126, 127, 128]),
        1 => *random.choose(&[65_535, 65_536, 69_999, 70_000, 70_001]),
        2 => random.below(20_000),
        3..8 => random.below(600),
        8..12 => 0,
        _ => random.below(30),
    }
}

/// Text, at times not quite.
fn text(random: &mut Random) -> Vec<u8> {
    const WRONG: [&[u8]; 9] = [
        b"\x80",
        b"\xC0\x80",
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
        b"\xFF",
        b"\xE2\x82",
        b"\xC3(",
        b"\xF0\x80\x80\x80",
        b"\xE0\x80\x80",
    ];
    let length = length(random);
    let mut bytes = Vec::new();
    let is_ascii = random.once_in(2);
    while bytes.len() < length {
        if is_ascii {
            bytes.push(b' ' + random.below(95) as u8);
        } else {
            let characters = [
                "a",
                "é",
                "λ",
                "€",
                "\u{ffff}",
                "😀",
                "\u{10ffff}",
                "\u{800}",
            ];
            bytes.extend_from_slice(random.choose(&characters).as_bytes());
        }
    }
    if random.once_in(12) {
        let place = random.below(bytes.len() + 1);
        bytes.splice(place..place, random.choose(&WRONG).iter().copied());
    }
    bytes
}

fn binary(random: &mut Random) -> Vec<u8> {
    let length = length(random);
    (0..length).map(|_| random.next() as u8).collect()
}

fn control(random: &mut Random) -> Vec<u8> {
    let payload: Vec<u8> = (0..*random.choose(&[0, 1, 4, 20, 125]))
        .map(|_| random.next() as u8)
        .collect();
    let first = *random.choose(&[0x89, 0x89, 0x8A]);
    frame(random, first, &payload)
}

fn farewell(random: &mut Random) -> Vec<u8> {
    let codes: [u16; 18] = [
        1000, 1001, 1003, 1004, 1005, 1006, 1007, 1011, 1014, 1015, 1016, 2999, 3000, 4999, 5000,
        0, 999, 65_535,
    ];
    let mut payload = random.choose(&codes).to_be_bytes().to_vec();
    match random.below(8) {
        0 => payload.clear(),
        1 => payload.truncate(1),
        2 => payload.extend_from_slice(b"\xE2\x82"),
        3 => payload.extend_from_slice(&[b'x'; 123]),
        4 => payload.extend_from_slice("grüß".as_bytes()),
        _ => {}
    }
    frame(random, 0x88, &payload)
}

/// A message in one frame or several, with control frames in between.
fn message(random: &mut Random, frames: &mut Vec<Vec<u8>>, writer: Option<&mut Writer>) {
    let is_text = random.once_in(2);
    let mut payload = if is_text {
        text(random)
    } else if writer.is_some() && random.once_in(2) {
        // Something that is worth compressing.
        let part = binary(random);
        let part = &part[..part.len().min(20)];
        part.repeat(length(random) / part.len().max(1))
    } else {
        binary(random)
    };
    let mut opcode = if is_text { 1 } else { 2 };
    if let Some(writer) = writer
        && !random.once_in(4)
    {
        payload = writer.write(random, &payload);
        opcode |= 0x40;
    }
    let count = match random.below(5) {
        0 => 2 + random.below(4),
        1 if payload.len() < 40 => payload.len() + 1,
        _ => 1,
    };
    let mut cuts: Vec<usize> = (1..count)
        .map(|_| random.below(payload.len() + 1))
        .collect();
    cuts.sort_unstable();
    cuts.push(payload.len());
    let mut start = 0;
    for (index, end) in cuts.into_iter().enumerate() {
        let last = if index + 1 == count { 0x80 } else { 0 };
        let opcode = if index == 0 { opcode } else { 0 };
        frames.push(frame(random, last | opcode, &payload[start..end]));
        if last == 0 && random.once_in(4) {
            frames.push(control(random));
        }
        start = end;
    }
}

fn mutate_frames(random: &mut Random, frames: &mut Vec<Vec<u8>>) {
    let (one, other) = (random.below(frames.len()), random.below(frames.len()));
    match random.below(3) {
        0 => frames.swap(one, other),
        1 => frames.insert(one, frames[other].clone()),
        _ => drop(frames.remove(one)),
    }
}

fn mutate_bytes(random: &mut Random, frames: &mut [Vec<u8>]) {
    let Some(frame) = frames.len().checked_sub(1) else {
        return;
    };
    let frame = random.below(frame + 1);
    let bytes = &mut frames[frame];
    // Heads are where most is to be found.
    let length = if random.once_in(4) {
        bytes.len()
    } else {
        bytes.len().min(14)
    };
    if length == 0 {
        return;
    }
    let place = random.below(length);
    match random.below(4) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.next() as u8,
        2 => bytes.insert(place, random.next() as u8),
        _ => bytes.truncate(place),
    }
}

/// The bytes that a client sends.
pub fn session(random: &mut Random, mut writer: Option<Writer>) -> Vec<u8> {
    let mut frames = Vec::new();
    for _ in 0..1 + random.below(6) {
        match random.below(8) {
            0 => frames.push(control(random)),
            1 if random.once_in(3) => frames.push(farewell(random)),
            _ => message(random, &mut frames, writer.as_mut()),
        }
    }
    if random.once_in(2) {
        frames.push(farewell(random));
    }
    if random.once_in(3) {
        mutate_frames(random, &mut frames);
    }
    if random.once_in(2) {
        for _ in 0..1 + random.below(2) {
            mutate_bytes(random, &mut frames);
        }
    }
    frames.concat()
}

/// The lengths of the parts in which so many bytes are sent.
pub fn parts(random: &mut Random, bytes: usize) -> Vec<usize> {
    let mut parts = Vec::new();
    let mut left = bytes;
    let size = *random.choose(&[1, 3, 20, 1000, 100_000]);
    while left > 0 {
        let part = match parts.len() {
            // A system call for each byte of the first ones.
            0..20 => (1 + random.below(size)).min(left),
            _ => left,
        };
        parts.push(part);
        left -= part;
    }
    parts
}
