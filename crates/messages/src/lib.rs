//! Messages on a stream of bytes: headers, an empty line, JSON.
//!
//! A malformed message is reported once and skipped up to the next header, so that one bad message
//! costs no other.

#![forbid(unsafe_code)]

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// Longer messages are skipped.
pub const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Longest header line that is looked at.
const HEADER_BYTES_MAX: u64 = 16 << 10;

const LENGTH_HEADER: &str = "content-length:";

/// The result of reading.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// A JSON value.
    Message(Value),
    /// Something else; what is wrong with it.
    Malformed(String),
}

/// Reads messages.
#[derive(Debug)]
pub struct MessageReader<R> {
    input: R,
    /// The last skipped bytes were reported.
    in_garbage: bool,
}

/// A line of a header.
enum Header {
    /// Nothing: the end of the headers.
    Empty,
    /// How long the message is.
    Length(usize),
    /// Something that may stand there.
    Other,
    /// Something else; what is wrong with it.
    Garbage(String),
}

fn header(line: &[u8]) -> Header {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\r', '\n']);
    let lower = text.to_ascii_lowercase();
    // The text before it is the rest of a message whose length was wrong.
    if let Some(at) = lower.find(LENGTH_HEADER) {
        return match lower[at + LENGTH_HEADER.len()..].trim().parse() {
            Ok(number) => Header::Length(number),
            Err(_) => Header::Garbage(format!("not a length: {}", shortened(text))),
        };
    }
    match text {
        "" => Header::Empty,
        _ if lower.starts_with("content-type:") => Header::Other,
        _ => Header::Garbage(format!("not a header: {}", shortened(text))),
    }
}

impl<R: BufRead> MessageReader<R> {
    /// From the beginning of a stream.
    pub fn new(input: R) -> MessageReader<R> {
        MessageReader {
            input,
            in_garbage: false,
        }
    }

    /// The next message; `None` at the end of the stream.
    pub fn read(&mut self) -> io::Result<Option<Incoming>> {
        let mut length: Option<usize> = None;
        let length = loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.input).take(HEADER_BYTES_MAX);
            if limited.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            match header(&line) {
                Header::Empty => {
                    if let Some(length) = length {
                        break length;
                    }
                }
                Header::Length(number) => length = Some(number),
                Header::Other => {}
                Header::Garbage(_) if length.is_some() || self.in_garbage => {}
                Header::Garbage(problem) => {
                    self.in_garbage = true;
                    return Ok(Some(Incoming::Malformed(problem)));
                }
            }
        };
        self.in_garbage = false;
        let mut limited = (&mut self.input).take(length as u64);
        if length > MESSAGE_BYTES_MAX {
            io::copy(&mut limited, &mut io::sink())?;
            let message = format!("a message of {length} bytes is too long");
            return Ok(Some(Incoming::Malformed(message)));
        }
        let mut body = Vec::new();
        limited.read_to_end(&mut body)?;
        if body.len() < length {
            return Ok(None);
        }
        Ok(Some(match serde_json::from_slice(&body) {
            Ok(value) => Incoming::Message(value),
            Err(error) => Incoming::Malformed(format!("not JSON: {error}")),
        }))
    }
}

/// Writes one message.
pub fn write_message(output: &mut impl Write, message: &Value) -> io::Result<()> {
    write_body(output, &message.to_string())
}

/// Writes a message that is JSON already.
pub fn write_body(output: &mut impl Write, body: &str) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_all(bytes: &[u8]) -> Vec<Incoming> {
        let mut reader = MessageReader::new(bytes);
        let mut found = Vec::new();
        while let Some(one) = reader.read().expect("reading from memory works") {
            found.push(one);
        }
        found
    }

    #[test]
    fn messages_come_back() {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &json!({"λ": 1})).unwrap();
        write_message(&mut bytes, &json!([2])).unwrap();
        let expected = [json!({"λ": 1}), json!([2])].map(Incoming::Message);
        assert_eq!(read_all(&bytes), expected);
    }

    #[test]
    fn garbage_costs_no_other_message() {
        let good = "Content-Length: 2\r\n\r\n{}";
        let short = "Content-Length: 3\r\n\r\n{\"a\":1}";
        for bad in [
            "what is this\n\n",
            short,
            "Content-Length: 2\r\n\r\n}{",
            "Content-Length: x\r\n\r\n",
        ] {
            let found = read_all(format!("{bad}{good}").as_bytes());
            assert!(
                matches!(found[0], Incoming::Malformed(_)),
                "{bad}: {found:?}"
            );
            assert_eq!(found.last(), Some(&Incoming::Message(json!({}))), "{bad}");
        }
    }

    #[test]
    fn half_a_message_is_the_end() {
        assert_eq!(read_all(b"Content-Length: 10\r\n\r\n{}"), []);
    }
}
