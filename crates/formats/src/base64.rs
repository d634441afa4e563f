//! Base 64 (RFC 4648, both alphabets) and base 16: encoding, decoding and checking.
//!
//! Decoding is strict about characters, padding and unused bits, except for what the caller allows;
//! a fault has the index of the wrong character. Decoded bytes are handed over in pieces of bounded
//! size.

/// The characters that stand for 62 and 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`.
    Standard,
    /// `-` and `_`.
    UrlSafe,
}

/// Tables to encode groups of three bytes, and to decode them.
struct Tables {
    /// The two characters of twelve bits.
    pairs: [[u8; 2]; 4096],
    /// The values of characters.
    values: [u8; 256],
    /// The values at each of the four places of a group, or a bit above them.
    places: [[u32; 256]; 4],
}

const NO_VALUE: u8 = 0xff;
/// Set in a group one of whose characters has no value.
const NO_GROUP: u32 = 1 << 24;

const fn tables(characters: &[u8; 64]) -> Tables {
    let mut tables = Tables {
        pairs: [[0; 2]; 4096],
        values: [NO_VALUE; 256],
        places: [[NO_GROUP; 256]; 4],
    };
    let mut index = 0;
    while index < 4096 {
        tables.pairs[index] = [characters[index >> 6], characters[index & 63]];
        index += 1;
    }
    index = 0;
    while index < 64 {
        let character = characters[index] as usize;
        tables.values[character] = index as u8;
        let mut place = 0;
        while place < 4 {
            tables.places[place][character] = (index as u32) << (18 - 6 * place);
            place += 1;
        }
        index += 1;
    }
    tables
}

static STANDARD: Tables =
    tables(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
static URL_SAFE: Tables =
    tables(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

impl Alphabet {
    fn tables(self) -> &'static Tables {
        match self {
            Alphabet::Standard => &STANDARD,
            Alphabet::UrlSafe => &URL_SAFE,
        }
    }
}

/// How many characters that many bytes become.
pub fn encoded_length(byte_count: usize, padded: bool) -> usize {
    match byte_count % 3 {
        rest if padded || rest == 0 => byte_count.div_ceil(3) * 4,
        rest => byte_count / 3 * 4 + rest + 1,
    }
}

/// Writes the text of bytes, with `=` up to a multiple of four characters if it is `padded`, into one
/// that has just the length for it.
pub fn encode_into(bytes: &[u8], alphabet: Alphabet, padded: bool, text: &mut [u8]) {
    let pairs = &alphabet.tables().pairs;
    let characters = |word: u32| {
        let [first, second] = pairs[(word >> 12 & 0xfff) as usize];
        let [third, fourth] = pairs[(word & 0xfff) as usize];
        [first, second, third, fourth]
    };
    let (groups, rest) = bytes.as_chunks::<3>();
    let (text, last) = text.split_at_mut(4 * groups.len());
    for (group, text) in groups.iter().zip(text.as_chunks_mut::<4>().0) {
        let &[first, second, third] = group;
        *text = characters(u32::from_be_bytes([0, first, second, third]));
    }
    if let &[first, ref second @ ..] = rest {
        let second = second.first().copied().unwrap_or(0);
        let mut group = characters(u32::from_be_bytes([0, first, second, 0]));
        group[rest.len() + 1..].fill(b'=');
        debug_assert_eq!(last.len(), if padded { 4 } else { rest.len() + 1 });
        last.copy_from_slice(&group[..last.len()]);
    }
}

/// The text of bytes; see [`encode_into`].
pub fn encode(bytes: &[u8], alphabet: Alphabet, padded: bool) -> Vec<u8> {
    let mut text = vec![0; encoded_length(bytes.len(), padded)];
    encode_into(bytes, alphabet, padded, &mut text);
    text
}

/// The treatment of `=` at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    Required,
    Optional,
    Refused,
}

/// A fault in a text, with the index of the wrong character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub index: usize,
    pub message: &'static str,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// How many bytes a text stands for, if nothing is wrong with it.
pub fn decoded_length(text: &[u8], skips_space: bool) -> usize {
    let spaces = if skips_space {
        text.iter().filter(|&&byte| is_space(byte)).count()
    } else {
        0
    };
    let end = text
        .iter()
        .rev()
        .take_while(|&&byte| byte == b'=' || is_space(byte));
    let pads = end.filter(|&&byte| byte == b'=').count();
    let characters = text.len() - spaces - pads;
    characters / 4 * 3 + (characters % 4).saturating_sub(1)
}

/// Bytes that are decoded before they are handed over.
const PIECE: usize = 3 * 1024;

/// Hands the bytes of a text to `take`, one piece after the other. White space is passed over if
/// `skips_space`.
pub fn decode_pieces(
    text: &[u8],
    alphabet: Alphabet,
    padding: Padding,
    skips_space: bool,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Fault> {
    let fault = |index, message| Err(Fault { index, message });
    let tables = alphabet.tables();
    let mut piece = [0; PIECE];
    let (mut word, mut count, mut pads) = (0u32, 0, 0);
    let mut at = 0;
    while at < text.len() {
        if count == 0 && pads == 0 {
            let groups = decode_groups(&text[at..], tables, &mut piece);
            take(&piece[..3 * groups]);
            at += 4 * groups;
            if groups == PIECE / 3 {
                continue;
            }
        }
        let Some(&byte) = text.get(at) else {
            break;
        };
        let value = tables.values[usize::from(byte)];
        if skips_space && is_space(byte) {
        } else if byte == b'=' {
            pads += 1;
            if padding == Padding::Refused || count < 2 || count + pads > 4 {
                return fault(at, "padding at a wrong place");
            }
        } else if value == NO_VALUE {
            return fault(at, "a character that is not of base 64");
        } else if pads > 0 {
            return fault(at, "a character behind the padding");
        } else {
            word = word << 6 | u32::from(value);
            count += 1;
            if count == 4 {
                take(&word.to_be_bytes()[1..]);
                (word, count) = (0, 0);
            }
        }
        at += 1;
    }
    if count == 1 || count + pads != 4 && pads > 0 {
        return fault(text.len(), "the text ends too early");
    }
    if count > 0 {
        if pads == 0 && padding == Padding::Required {
            return fault(text.len(), "the padding is missing");
        }
        let word = word << (6 * (4 - count));
        let kept = count - 1;
        if word & (0xff_ffff >> (8 * kept)) != 0 {
            return fault(text.len(), "the last character has bits that are not used");
        }
        take(&word.to_be_bytes()[1..1 + kept]);
    }
    Ok(())
}

/// Decodes groups of four characters until one of them has no value, the text ends or the piece is
/// full. Returns how many.
fn decode_groups(text: &[u8], tables: &Tables, piece: &mut [u8; PIECE]) -> usize {
    let [first, second, third, fourth] = &tables.places;
    let groups = text.as_chunks::<4>().0.iter();
    let mut done = 0;
    for (group, bytes) in groups.zip(piece.as_chunks_mut::<3>().0) {
        let &[one, two, three, four] = group;
        let word = first[usize::from(one)]
            | second[usize::from(two)]
            | third[usize::from(three)]
            | fourth[usize::from(four)];
        if word & NO_GROUP != 0 {
            break;
        }
        let [_, high, middle, low] = word.to_be_bytes();
        *bytes = [high, middle, low];
        done += 1;
    }
    done
}

/// The bytes of a text; see [`decode_pieces`].
pub fn decode(
    text: &[u8],
    alphabet: Alphabet,
    padding: Padding,
    skips_space: bool,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(decoded_length(text, skips_space));
    decode_pieces(text, alphabet, padding, skips_space, |piece| {
        bytes.extend_from_slice(piece);
    })?;
    Ok(bytes)
}

/// Two digits for each byte.
pub fn encode_hex(bytes: &[u8], upper: bool) -> Vec<u8> {
    let digits = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let digit = |value: u8| digits[usize::from(value)];
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The bytes of a text of two digits each.
pub fn decode_hex(text: &[u8], skips_space: bool) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high = None;
    for (index, &byte) in text.iter().enumerate() {
        let Some(digit) = char::from(byte).to_digit(16) else {
            if skips_space && is_space(byte) {
                continue;
            }
            let message = "a character that is no hexadecimal digit";
            return Err(Fault { index, message });
        };
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push((16 * high + digit) as u8),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err(Fault {
            index: text.len(),
            message: "the number of digits is odd",
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn examples() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(
                encode(bytes.as_bytes(), Alphabet::Standard, true),
                text.as_bytes()
            );
            let bare = text.trim_end_matches('=').as_bytes();
            assert_eq!(encode(bytes.as_bytes(), Alphabet::Standard, false), bare);
            let decoded = decode(
                text.as_bytes(),
                Alphabet::Standard,
                Padding::Required,
                false,
            );
            assert_eq!(decoded.as_deref(), Ok(bytes.as_bytes()));
        }
        assert_eq!(encode(&[0xfb, 0xff], Alphabet::UrlSafe, false), b"-_8");
        assert_eq!(encode_hex(&[0, 0xaf], false), b"00af");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let wrong = |text: &str, padding| {
            decode(text.as_bytes(), Alphabet::Standard, padding, false)
                .expect_err(text)
                .index
        };
        assert_eq!(wrong("Zm9v!A==", Padding::Optional), 4);
        assert_eq!(wrong("Zg", Padding::Required), 2);
        assert_eq!(wrong("Zg==", Padding::Refused), 2);
        assert_eq!(wrong("Zg=", Padding::Optional), 3);
        assert_eq!(wrong("Z===", Padding::Optional), 1);
        assert_eq!(wrong("=", Padding::Optional), 0);
        assert_eq!(wrong("Zg==Zg==", Padding::Optional), 4);
        assert_eq!(wrong("Z", Padding::Optional), 1);
        assert_eq!(wrong("Zh==", Padding::Optional), 4);
        assert_eq!(wrong("Zm 9", Padding::Optional), 2);
        assert_eq!(decode_hex(b"0", false).map_err(|fault| fault.index), Err(1));
        assert_eq!(
            decode_hex(b"0g", false).map_err(|fault| fault.index),
            Err(1)
        );
        assert_eq!(decode_hex(b"0a 0B", true), Ok(vec![10, 11]));
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in any::<Vec<u8>>(), url_safe in any::<bool>(), padded in any::<bool>()) {
            let alphabet = if url_safe { Alphabet::UrlSafe } else { Alphabet::Standard };
            let text = encode(&bytes, alphabet, padded);
            prop_assert_eq!(decoded_length(&text, false), bytes.len());
            prop_assert_eq!(decode(&text, alphabet, Padding::Optional, false), Ok(bytes.clone()));
            let lines: Vec<u8> = text.chunks(5).flat_map(|line| [line, b"\r\n"].concat()).collect();
            prop_assert_eq!(decoded_length(&lines, true), bytes.len());
            prop_assert_eq!(decode(&lines, alphabet, Padding::Optional, true), Ok(bytes.clone()));
            prop_assert_eq!(decode_hex(&encode_hex(&bytes, url_safe), false), Ok(bytes));
        }

        #[test]
        fn any_text_is_decoded_or_refused(text in "[A-D=\n ]{0,12}") {
            if let Ok(bytes) = decode(text.as_bytes(), Alphabet::Standard, Padding::Optional, true) {
                prop_assert_eq!(decoded_length(text.as_bytes(), true), bytes.len());
            }
        }

        #[test]
        fn pieces_meet(length in 2 * PIECE - 8..2 * PIECE + 8, space in 0..3 * PIECE) {
            let bytes: Vec<u8> = (0..length).map(|index| (index * 7) as u8).collect();
            let mut text = encode(&bytes, Alphabet::Standard, true);
            prop_assert_eq!(decode(&text, Alphabet::Standard, Padding::Required, false), Ok(bytes.clone()));
            text.insert(space.min(text.len()), b' ');
            prop_assert_eq!(decode(&text, Alphabet::Standard, Padding::Required, true), Ok(bytes));
        }
    }
}
