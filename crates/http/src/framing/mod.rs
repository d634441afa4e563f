//! Decides from a head how long the message's body is and whether the connection persists (RFC
//! 9112, 6).
//!
//! The rules are strict, against request smuggling. Two lengths, a length together with a transfer
//! coding, and a coding other than `chunked` at the end are faults, never guesses. The module only
//! reads fields that the head's parser found; it sees no byte of the body.

#[cfg(test)]
mod tests;

use crate::head::{Fault, Field, Malformed, RequestHead, ResponseHead, is_authority};

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// So many bytes.
    Known(u64),
    /// As its chunks say.
    Chunked,
    /// Until the connection ends; responses only.
    UntilEnd,
}

impl BodyLength {
    /// There is no body.
    pub const NONE: BodyLength = BodyLength::Known(0);
}

/// The effects of a message's fields on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// How long the body is.
    pub body: BodyLength,
    /// More messages may follow on the connection.
    pub keeps_alive: bool,
    /// The client waits for `100 Continue`.
    pub expects_continue: bool,
    /// The connection is to become one of another protocol.
    pub upgrades: bool,
}

/// The fields that matter here.
#[derive(Default)]
struct Seen {
    length: Option<u64>,
    codings: u32,
    has_unknown_coding: bool,
    is_chunked: bool,
    closes: bool,
    keeps_alive: bool,
    upgrades: bool,
    hosts: u32,
    expects: bool,
}

fn look(bytes: &[u8], fields: &[Field]) -> Result<Seen, Malformed> {
    let mut seen = Seen::default();
    for field in fields {
        let (name, range) = (&bytes[field.name()], field.value());
        let value = &bytes[range.clone()];
        let is = |wanted: &[u8]| name.eq_ignore_ascii_case(wanted);
        let malformed = |fault| Malformed {
            fault,
            position: range.start,
        };
        match name.len() {
            4 if is(b"host") => {
                seen.hosts += 1;
                if !is_authority(value) {
                    return Err(malformed(Fault::Host));
                }
            }
            6 if is(b"expect") => {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(malformed(Fault::Expectation));
                }
                seen.expects = true;
            }
            10 if is(b"connection") => {
                for option in elements(value) {
                    seen.closes |= option.eq_ignore_ascii_case(b"close");
                    seen.keeps_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    seen.upgrades |= option.eq_ignore_ascii_case(b"upgrade");
                }
            }
            14 if is(b"content-length") => {
                let length = number(value).ok_or(malformed(Fault::ContentLength))?;
                if seen.length.replace(length).is_some() {
                    return Err(malformed(Fault::ContentLength));
                }
            }
            17 if is(b"transfer-encoding") => {
                for coding in elements(value) {
                    if seen.is_chunked {
                        return Err(malformed(Fault::CodingOrder));
                    }
                    seen.is_chunked = coding.eq_ignore_ascii_case(b"chunked");
                    seen.has_unknown_coding |= !seen.is_chunked;
                }
                seen.codings += 1;
            }
            _ => {}
        }
    }
    let fault = if seen.codings > 0 && seen.length.is_some() {
        Fault::Conflict
    } else if seen.codings > 0 && !seen.is_chunked {
        Fault::CodingOrder
    } else if seen.has_unknown_coding {
        Fault::Coding
    } else {
        return Ok(seen);
    };
    Err(Malformed { fault, position: 0 })
}

/// The elements of a list that commas separate.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|element| !element.is_empty())
}

/// A length: digits only.
fn number(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 19 {
        return None;
    }
    value.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

impl Framing {
    /// The framing of a request.
    pub fn of_request(bytes: &[u8], head: &RequestHead) -> Result<Framing, Malformed> {
        let seen = look(bytes, &head.fields)?;
        let is_new = head.minor == 1;
        let malformed = |fault| Malformed {
            fault,
            position: head.target.start,
        };
        if seen.hosts > 1 || (is_new && seen.hosts == 0) {
            return Err(malformed(Fault::Host));
        }
        if seen.is_chunked && !is_new {
            return Err(malformed(Fault::Conflict));
        }
        let body = match seen.length {
            _ if seen.is_chunked => BodyLength::Chunked,
            length => BodyLength::Known(length.unwrap_or(0)),
        };
        Ok(Framing {
            body,
            keeps_alive: !seen.closes && (is_new || seen.keeps_alive),
            expects_continue: is_new && seen.expects && body != BodyLength::NONE,
            upgrades: is_new && seen.upgrades,
        })
    }

    /// The framing of a response to a request with this method.
    pub fn of_response(
        bytes: &[u8],
        head: &ResponseHead,
        method: &str,
    ) -> Result<Framing, Malformed> {
        let seen = look(bytes, &head.fields)?;
        let is_new = head.minor == 1;
        let is_tunnel = method == "CONNECT" && (200..300).contains(&head.status);
        let has_none = method == "HEAD" || matches!(head.status, 100..=199 | 204 | 304);
        let body = match seen.length {
            _ if is_tunnel => BodyLength::UntilEnd,
            _ if has_none => BodyLength::NONE,
            _ if seen.is_chunked => BodyLength::Chunked,
            Some(length) => BodyLength::Known(length),
            None => BodyLength::UntilEnd,
        };
        Ok(Framing {
            body,
            keeps_alive: !seen.closes
                && (is_new || seen.keeps_alive)
                && body != BodyLength::UntilEnd,
            expects_continue: false,
            upgrades: seen.upgrades,
        })
    }
}
