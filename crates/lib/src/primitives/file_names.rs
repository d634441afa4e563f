//! Names of files as strings.
//!
//! To the system a name is any bytes but zeros and slashes; a string has characters. Names that are
//! UTF-8 are what they say. Each other byte, 0x80 to 0xFF, becomes a character of its own, U+10FF80 to
//! U+10FFFF: the last ones of a private area. Names that have these characters in UTF-8 are taken for
//! bytes that are none, so that two names never give the same string, and every string that came from a
//! name leads back to it. The same goes for arguments and variables of processes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use canny_value::Value;
use canny_vm::{Raise, Thread, string_text};

use crate::arguments::Call;

/// The character for byte 0, if that needed one.
const BYTES_START: u32 = 0x10_ff00;

fn byte_of(character: char) -> Option<u8> {
    match u32::from(character).wrapping_sub(BYTES_START) {
        byte @ 0x80..=0xff => Some(byte as u8),
        _ => None,
    }
}

fn push_byte(text: &mut String, byte: u8) {
    text.extend(char::from_u32(BYTES_START + u32::from(byte)));
}

/// The string for a name of the system's.
pub(crate) fn text_of_name(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if byte_of(character).is_none() {
                text.push(character);
                continue;
            }
            for &byte in character.encode_utf8(&mut [0; 4]).as_bytes() {
                push_byte(&mut text, byte);
            }
        }
        for &byte in chunk.invalid() {
            push_byte(&mut text, byte);
        }
    }
    text
}

/// The name of the system's that a string stands for.
pub(crate) fn name_of_text(text: String) -> OsString {
    if text.is_ascii() || !text.chars().any(|character| byte_of(character).is_some()) {
        return text.into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes)
}

/// The file that a string argument names.
pub(crate) fn path(thread: &mut Thread, call: Call, position: usize) -> Result<PathBuf, Raise> {
    let string = call.string(thread, position)?;
    let text = string_text(string.value()).unwrap_or_default();
    Ok(name_of_text(text).into())
}

/// The name of a file as a Scheme string.
pub(crate) fn path_string(thread: &mut Thread, path: &Path) -> Value {
    thread.string(&text_of_name(path.as_os_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        let names: &[&[u8]] = &[
            b"",
            b"plain",
            "größe λ 🙂".as_bytes(),
            b"\xff\xfe",
            b"a\xe4b\xc3",
            b"\xf4\x8f\xbe\x80",
            b"\xf4\x8f\xbf\xbf\x80",
            b"\xed\xa0\x80",
        ];
        let mut texts = std::collections::HashSet::new();
        for bytes in names {
            let text = text_of_name(OsStr::from_bytes(bytes));
            assert_eq!(name_of_text(text.clone()).as_bytes(), *bytes, "{text:?}");
            assert!(texts.insert(text));
        }
        assert_eq!(text_of_name(OsStr::from_bytes(b"a\xe4")), "a\u{10ffe4}");
        assert_eq!(
            text_of_name(OsStr::from_bytes("\u{10ff80}".as_bytes()))
                .chars()
                .count(),
            4
        );
    }
}
