//! Bencode, the encoding of nREPL messages: integers, byte strings, lists and dictionaries.
//!
//! Decoding accepts bytes from the network: depth and lengths are limited, and malformed bytes give
//! an error. Incomplete bytes have a result of their own, so that the caller reads more.

use std::collections::BTreeMap;

/// Deepest nesting that is read.
const DEPTH_MAX: usize = 64;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bencode {
    Integer(i64),
    Bytes(Vec<u8>),
    List(Vec<Bencode>),
    Dictionary(BTreeMap<Vec<u8>, Bencode>),
}

/// Why bytes are no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// More bytes may make one of them.
    Incomplete,
    Malformed,
}

impl Bencode {
    /// A string.
    pub fn text(text: impl Into<String>) -> Bencode {
        Bencode::Bytes(text.into().into_bytes())
    }

    /// A list of strings.
    pub fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Bencode {
        Bencode::List(texts.into_iter().map(Bencode::text).collect())
    }

    /// A dictionary.
    pub fn dictionary<'a>(entries: impl IntoIterator<Item = (&'a str, Bencode)>) -> Bencode {
        let entries = entries.into_iter();
        Bencode::Dictionary(entries.map(|(key, value)| (key.into(), value)).collect())
    }

    /// The value of a key of a dictionary.
    pub fn get(&self, key: &str) -> Option<&Bencode> {
        match self {
            Bencode::Dictionary(entries) => entries.get(key.as_bytes()),
            _ => None,
        }
    }

    /// The text of a key, if its value is a string.
    pub fn text_of(&self, key: &str) -> Option<String> {
        match self.get(key)? {
            Bencode::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// Appends the encoded form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Bencode::Integer(number) => out.extend(format!("i{number}e").bytes()),
            Bencode::Bytes(bytes) => {
                out.extend(format!("{}:", bytes.len()).bytes());
                out.extend(bytes);
            }
            Bencode::List(elements) => {
                out.push(b'l');
                elements.iter().for_each(|element| element.encode(out));
                out.push(b'e');
            }
            Bencode::Dictionary(entries) => {
                out.push(b'd');
                for (key, value) in entries {
                    out.extend(format!("{}:", key.len()).bytes());
                    out.extend(key);
                    value.encode(out);
                }
                out.push(b'e');
            }
        }
    }

    /// Reads a value; also how many bytes it takes. No string may be longer than `bytes_max`.
    pub fn decode(bytes: &[u8], bytes_max: usize) -> Result<(Bencode, usize), Problem> {
        let mut at = 0;
        let value = decode_at(bytes, &mut at, bytes_max, 0)?;
        Ok((value, at))
    }
}

fn decode_at(
    bytes: &[u8],
    at: &mut usize,
    bytes_max: usize,
    depth: usize,
) -> Result<Bencode, Problem> {
    if depth > DEPTH_MAX {
        return Err(Problem::Malformed);
    }
    match bytes.get(*at).ok_or(Problem::Incomplete)? {
        b'i' => {
            *at += 1;
            Ok(Bencode::Integer(number(bytes, at, b'e')?))
        }
        b'l' => {
            *at += 1;
            let mut elements = Vec::new();
            while !is_end(bytes, at)? {
                elements.push(decode_at(bytes, at, bytes_max, depth + 1)?);
            }
            Ok(Bencode::List(elements))
        }
        b'd' => {
            *at += 1;
            let mut entries = BTreeMap::new();
            while !is_end(bytes, at)? {
                let Bencode::Bytes(key) = decode_at(bytes, at, bytes_max, depth + 1)? else {
                    return Err(Problem::Malformed);
                };
                entries.insert(key, decode_at(bytes, at, bytes_max, depth + 1)?);
            }
            Ok(Bencode::Dictionary(entries))
        }
        b'0'..=b'9' => {
            let length = number(bytes, at, b':')?;
            let length = usize::try_from(length).map_err(|_| Problem::Malformed)?;
            if length > bytes_max {
                return Err(Problem::Malformed);
            }
            let content = bytes.get(*at..*at + length).ok_or(Problem::Incomplete)?;
            *at += length;
            Ok(Bencode::Bytes(content.to_vec()))
        }
        _ => Err(Problem::Malformed),
    }
}

fn is_end(bytes: &[u8], at: &mut usize) -> Result<bool, Problem> {
    let is_end = *bytes.get(*at).ok_or(Problem::Incomplete)? == b'e';
    *at += usize::from(is_end);
    Ok(is_end)
}

/// Digits up to a mark, which is taken too.
fn number(bytes: &[u8], at: &mut usize, mark: u8) -> Result<i64, Problem> {
    const DIGITS_MAX: usize = 20;
    let rest = &bytes[*at..];
    let Some(end) = rest
        .iter()
        .take(DIGITS_MAX + 1)
        .position(|byte| *byte == mark)
    else {
        let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
        let may_go_on = rest.len() <= DIGITS_MAX && rest.iter().all(is_number);
        return Err(if may_go_on {
            Problem::Incomplete
        } else {
            Problem::Malformed
        });
    };
    let digits = std::str::from_utf8(&rest[..end]).map_err(|_| Problem::Malformed)?;
    *at += end + 1;
    digits.parse().map_err(|_| Problem::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> Result<(Bencode, usize), Problem> {
        Bencode::decode(text.as_bytes(), 1000)
    }

    #[test]
    fn values_come_back() {
        let value = Bencode::dictionary([
            ("a", Bencode::Integer(-7)),
            (
                "b",
                Bencode::List(vec![Bencode::text("λ"), Bencode::texts(["x", ""])]),
            ),
        ]);
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        assert_eq!(bytes, "d1:ai-7e1:bl2:λl1:x0:eee".as_bytes());
        assert_eq!(Bencode::decode(&bytes, 1000), Ok((value, bytes.len())));
        for end in 0..bytes.len() {
            assert_eq!(
                Bencode::decode(&bytes[..end], 1000),
                Err(Problem::Incomplete)
            );
        }
    }

    #[test]
    fn garbage_is_refused() {
        for text in [
            "x",
            "e",
            "-",
            "ie",
            "i1x",
            "2000:",
            "99999999999999999999999:",
            "di1ei2ee",
            "ix",
            &"l".repeat(100),
            "-5:abc",
            "1-:a",
        ] {
            assert_eq!(decode(text), Err(Problem::Malformed), "{text}");
        }
    }
}
