//! Text in markup: what would be read as markup is written as a reference.
//!
//! `<`, `>` and `&` are references everywhere, `"` in values of attributes, so that a value is safe
//! even where somebody reads it as content. Carriage returns are references, since readers would make
//! line feeds of them; in attributes of XML all white space but spaces is.

/// The grammar that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    Html,
    Xml,
}

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Content,
    Attribute,
}

/// A character that the dialect has no form for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoForm(pub char);

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// Whether a byte may need more than to be copied: a control character, not ASCII, or of meaning in markup.
#[inline(always)]
const fn is_special(byte: u8) -> bool {
    (byte.wrapping_sub(0x20) > 0x5e)
        | (byte == b'&')
        | (byte == b'<')
        | (byte == b'>')
        | (byte == b'"')
}

/// Appends Latin-1 as escaped UTF-8.
///
/// The bytes are copied first and then looked at, since another thread may change the string meanwhile.
#[inline]
pub fn push_latin1(
    bytes: &[u8],
    dialect: Dialect,
    place: Place,
    output: &mut Vec<u8>,
) -> Result<(), NoForm> {
    let start = output.len();
    output.extend_from_slice(bytes);
    match first_special(&output[start..]) {
        None => Ok(()),
        Some(index) => push_rest(start + index, dialect, place, output),
    }
}

/// The index of the first special byte, or one that is not far before it.
#[inline]
fn first_special(bytes: &[u8]) -> Option<usize> {
    let mut index = 0;
    let mut blocks = bytes.chunks_exact(BLOCK);
    for block in &mut blocks {
        let specials = block
            .iter()
            .fold(0, |found, &byte| found | u8::from(is_special(byte)));
        if specials != 0 {
            return Some(index);
        }
        index += BLOCK;
    }
    let is_found = blocks.remainder().iter().any(|&byte| is_special(byte));
    is_found.then_some(index)
}

/// Escapes what was appended as it is from `start` on.
#[inline(never)]
fn push_rest(
    start: usize,
    dialect: Dialect,
    place: Place,
    output: &mut Vec<u8>,
) -> Result<(), NoForm> {
    // The escaped text is made behind the copy, and then takes its place.
    let end = output.len();
    let mut at = start;
    while let Some(index) = next_special(&output[at..end], place) {
        output.extend_from_within(at..at + index);
        let character = char::from(output[at + index]);
        push_special(character, dialect, place, output)?;
        at += index + 1;
    }
    output.extend_from_within(at..end);
    let escaped = output.len() - end;
    output.copy_within(end.., start);
    output.truncate(start + escaped);
    Ok(())
}

/// The answers of [`is_special`], which are quicker to look up for one byte.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_special(byte as u8);
        byte += 1;
    }
    table
};

/// The index of the first byte that is not copied as it is. A quotation mark in content is.
#[inline]
fn next_special(bytes: &[u8], place: Place) -> Option<usize> {
    let is_wanted =
        |byte: u8| SPECIAL[usize::from(byte)] && (byte != b'"' || place == Place::Attribute);
    let mut from = 0;
    loop {
        let before = from + first_special(&bytes[from..])?;
        let end = bytes.len().min(before + BLOCK);
        let block = &bytes[before..end];
        if let Some(index) = block.iter().position(|&byte| is_wanted(byte)) {
            return Some(before + index);
        }
        from = end;
    }
}

/// Appends a character, escaped if need be.
#[inline]
pub fn push_character(
    character: char,
    dialect: Dialect,
    place: Place,
    output: &mut Vec<u8>,
) -> Result<(), NoForm> {
    match u8::try_from(character) {
        Ok(byte) if !is_special(byte) => {
            output.push(byte);
            Ok(())
        }
        _ => push_special(character, dialect, place, output),
    }
}

#[inline(never)]
fn push_special(
    character: char,
    dialect: Dialect,
    place: Place,
    output: &mut Vec<u8>,
) -> Result<(), NoForm> {
    let reference: &[u8] = match (character, place, dialect) {
        ('&', ..) => b"&amp;",
        ('<', ..) => b"&lt;",
        ('>', ..) => b"&gt;",
        ('"', Place::Attribute, _) => b"&quot;",
        ('\r', ..) => b"&#13;",
        ('\n', Place::Attribute, Dialect::Xml) => b"&#10;",
        ('\t', Place::Attribute, Dialect::Xml) => b"&#9;",
        // A reader of HTML drops it or makes this of it.
        ('\0', _, Dialect::Html) => "\u{fffd}".as_bytes(),
        (_, _, Dialect::Xml) if !is_xml_character(character) => return Err(NoForm(character)),
        _ => {
            push_utf8(character, output);
            return Ok(());
        }
    };
    output.extend_from_slice(reference);
    Ok(())
}

/// Appends a character as it is.
pub fn push_utf8(character: char, output: &mut Vec<u8>) {
    let mut bytes = [0; 4];
    output.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
}

/// Whether XML 1.0 has the character.
pub fn is_xml_character(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => character >= ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str, dialect: Dialect, place: Place) -> Result<String, NoForm> {
        let mut output = Vec::new();
        for character in text.chars() {
            push_character(character, dialect, place, &mut output)?;
        }
        if text.chars().all(|character| u32::from(character) < 256) {
            let latin1: Vec<u8> = text.chars().map(|character| character as u8).collect();
            let mut whole = Vec::new();
            push_latin1(&latin1, dialect, place, &mut whole)?;
            assert_eq!(whole, output);
        }
        Ok(String::from_utf8(output).expect("UTF-8"))
    }

    #[test]
    fn what_means_something_is_a_reference() {
        let text = "0123456789abcdef<a href=\"x\">&é\r\n0123456789abcdef";
        assert_eq!(
            escaped(text, Dialect::Html, Place::Content).as_deref(),
            Ok("0123456789abcdef&lt;a href=\"x\"&gt;&amp;é&#13;\n0123456789abcdef")
        );
        // Blocks whose only special bytes are copied, and such bytes in the last one.
        let text = "\"0123456789abcdef\"0123456789abcdef<\"0123456789abcdef0123\"";
        assert_eq!(
            escaped(text, Dialect::Html, Place::Content).as_deref(),
            Ok("\"0123456789abcdef\"0123456789abcdef&lt;\"0123456789abcdef0123\"")
        );
        assert_eq!(
            escaped("\"\n→", Dialect::Xml, Place::Attribute).as_deref(),
            Ok("&quot;&#10;→")
        );
    }

    #[test]
    fn characters_without_a_form() {
        assert_eq!(
            escaped("a\u{1}", Dialect::Xml, Place::Content),
            Err(NoForm('\u{1}'))
        );
        assert_eq!(
            escaped("\0", Dialect::Html, Place::Content).as_deref(),
            Ok("\u{fffd}")
        );
        assert!(escaped("\u{ffff}", Dialect::Xml, Place::Content).is_err());
    }
}
