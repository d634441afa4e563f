//! Base 64 (RFC 4648, both alphabets) and base 16.

/// Which characters stand for 62 and 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`.
    Standard,
    /// `-` and `_`.
    UrlSafe,
}

impl Alphabet {
    fn characters(self) -> &'static [u8; 64] {
        match self {
            Alphabet::Standard => {
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            }
            Alphabet::UrlSafe => {
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
            }
        }
    }

    fn values(self) -> &'static [u8; 256] {
        const fn invert(characters: &[u8; 64]) -> [u8; 256] {
            let mut values = [NO_VALUE; 256];
            let mut index = 0;
            while index < 64 {
                values[characters[index] as usize] = index as u8;
                index += 1;
            }
            values
        }
        static STANDARD: [u8; 256] =
            invert(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
        static URL_SAFE: [u8; 256] =
            invert(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
        match self {
            Alphabet::Standard => &STANDARD,
            Alphabet::UrlSafe => &URL_SAFE,
        }
    }
}

const NO_VALUE: u8 = 0xff;

/// The text of bytes, with `=` up to a multiple of four characters if it is `padded`.
pub fn encode(bytes: &[u8], alphabet: Alphabet, padded: bool) -> Vec<u8> {
    let characters = alphabet.characters();
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    let mut groups = bytes.chunks_exact(3);
    for group in &mut groups {
        let word = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        text.extend([18, 12, 6, 0].map(|shift| characters[(word >> shift & 63) as usize]));
    }
    let rest = groups.remainder();
    if !rest.is_empty() {
        let second = rest.get(1).copied().unwrap_or(0);
        let word = u32::from(rest[0]) << 16 | u32::from(second) << 8;
        for index in 0..=rest.len() {
            text.push(characters[(word >> (18 - 6 * index) & 63) as usize]);
        }
        if padded {
            text.resize(text.len().next_multiple_of(4), b'=');
        }
    }
    text
}

/// What to do about `=` at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    Required,
    Optional,
    Refused,
}

/// What is wrong with a text, and the index of the character where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub index: usize,
    pub message: &'static str,
}

/// The bytes of a text. White space is passed over if `skips_space`.
pub fn decode(
    text: &[u8],
    alphabet: Alphabet,
    padding: Padding,
    skips_space: bool,
) -> Result<Vec<u8>, Fault> {
    let fault = |index, message| Err(Fault { index, message });
    let values = alphabet.values();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut word, mut count, mut pads) = (0u32, 0, 0);
    let mut at = 0;
    while at < text.len() {
        if count == 0
            && pads == 0
            && let Some(group) = text.get(at..at + 4)
        {
            let digits = [0, 1, 2, 3].map(|index| values[usize::from(group[index])]);
            if digits.iter().all(|&digit| digit < 64) {
                let word = digits
                    .iter()
                    .fold(0, |word, &digit| word << 6 | u32::from(digit));
                bytes.extend_from_slice(&word.to_be_bytes()[1..]);
                at += 4;
                continue;
            }
        }
        let byte = text[at];
        let value = values[usize::from(byte)];
        if skips_space && matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
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
                bytes.extend_from_slice(&word.to_be_bytes()[1..]);
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
        bytes.extend_from_slice(&word.to_be_bytes()[1..1 + kept]);
    }
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
            if skips_space && matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
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
            prop_assert_eq!(decode(&text, alphabet, Padding::Optional, false), Ok(bytes.clone()));
            let lines: Vec<u8> = text.chunks(5).flat_map(|line| [line, b"\r\n"].concat()).collect();
            prop_assert_eq!(decode(&lines, alphabet, Padding::Optional, true), Ok(bytes.clone()));
            prop_assert_eq!(decode_hex(&encode_hex(&bytes, url_safe), false), Ok(bytes));
        }

        #[test]
        fn any_text_is_decoded_or_refused(text in "[A-D=\n ]{0,12}") {
            let _ = decode(text.as_bytes(), Alphabet::Standard, Padding::Optional, true);
        }
    }
}
