//! Damaged binaries of components, damaged texts, and bytes that a guest gives.
//!
//! Half-valid input goes deeper than noise: most changes keep lengths, or move whole sections.

use std::ops::Range;

use crate::corpus::Corpus;
use crate::guests::Choices;
use crate::random::Random;

/// Bytes before the sections of a component.
const BEGINNING: &[u8] = b"\0asm\x0d\0\x01\0";

/// Places of sections, which have a number, a length and contents.
fn sections(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut place = BEGINNING.len();
    while place < bytes.len() {
        let start = place;
        let (mut length, mut shift) = (0_usize, 0);
        place += 1;
        while let Some(byte) = bytes.get(place) {
            place += 1;
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift > 28 {
                break;
            }
        }
        place = place.saturating_add(length);
        if place > bytes.len() {
            break;
        }
        found.push(start..place);
    }
    found
}

/// A component after some changes of bytes, lengths or sections, or random bytes.
pub fn damaged(random: &mut Random, mut bytes: Vec<u8>, corpus: &Corpus) -> Vec<u8> {
    if random.once_in(16) {
        let rest = (0..random.below(200)).map(|_| random.next() as u8);
        return BEGINNING.iter().copied().chain(rest).collect();
    }
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len().max(1));
        match random.below(8) {
            0 => move_sections(random, &mut bytes, corpus),
            1 => {
                let end = bytes.len().min(at + random.below(8));
                bytes.drain(at.min(end)..end);
            }
            2 => {
                let end = bytes.len().min(at + random.below(20));
                let copy = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, copy);
            }
            change => {
                let Some(byte) = bytes.get_mut(at) else {
                    continue;
                };
                *byte = match change {
                    3 => random.next() as u8,
                    4 => byte.wrapping_add(1),
                    5 => byte.wrapping_sub(1),
                    6 => *byte ^ 1 << random.below(8),
                    // Few items and small indices are what most bytes mean.
                    _ => random.below(12) as u8,
                };
            }
        }
    }
    bytes
}

/// Leaves a section out, or puts one of this or another component at the place of a section.
fn move_sections(random: &mut Random, bytes: &mut Vec<u8>, corpus: &Corpus) {
    let own = sections(bytes);
    if own.is_empty() {
        return;
    }
    let place = random.choose(&own).clone();
    match random.below(3) {
        0 => drop(bytes.drain(place)),
        1 => {
            let copy = bytes[random.choose(&own).clone()].to_vec();
            bytes.splice(place.start..place.start, copy);
        }
        _ => {
            let other = random.choose(&corpus.components);
            let places = sections(other);
            if !places.is_empty() {
                let copy = other[random.choose(&places).clone()].to_vec();
                bytes.splice(place, copy);
            }
        }
    }
}

/// Bytes at 1024 of a memory of a page, many of which are addresses in it, lengths and text.
pub fn data(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..choices.below(100) {
        let word = match choices.below(8) {
            0 => 0,
            1 | 2 => u32::from(choices.byte()) % 8,
            3 => 1024 + 4 * u32::from(choices.byte()),
            4 => 0x6162_63c3 ^ u32::from(choices.byte()) << 8,
            5 => 1 << 31 | u32::from(choices.byte()),
            6 => 65536 - u32::from(choices.byte()),
            _ => choices.word() as u32,
        };
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

const PIECES: [&str; 18] = [
    "{", "}", "[", "]", "(", ")", ",", ":", "\"", "'", "\\u{", "some(", "none", "-", "1e9", "%",
    "λ", " ",
];

/// A text after some changes.
pub fn damaged_text(choices: &mut Choices<'_>, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().take(2000).collect();
    for _ in 0..1 + choices.below(4) {
        let at = choices.word() as usize % (characters.len() + 1);
        let end = characters.len().min(at + choices.below(6));
        let piece: Vec<char> = match choices.below(3) {
            0 => Vec::new(),
            1 => characters[at..end].repeat(2),
            _ => choices.choose(&PIECES).chars().collect(),
        };
        characters.splice(at..end, piece);
    }
    characters.into_iter().collect()
}
