//! The chunked coding (RFC 9112, 7.1).
//!
//! Extensions of chunks are skipped, up to a limit; trailers are fields like those of heads. Sizes are
//! read strictly.

#[cfg(test)]
mod tests;

use crate::head::{Fault, HeadLimits, Malformed, read_trailers};

/// Bytes of a chunk's line that are taken: the size with its extensions.
const LINE_BYTES_MAX: usize = 1024;

/// Digits of a size.
const DIGITS_MAX: usize = 15;

/// Where in the coding a reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the line of a chunk.
    Size,
    /// In a chunk, with so many bytes to come.
    Data(u64),
    /// Behind a chunk, before the end of its line.
    DataEnd,
    /// Behind the last chunk.
    Trailers,
    Ended,
}

/// Reads a chunked body.
#[derive(Clone, Debug)]
pub struct ChunkReader {
    state: State,
}

/// The next part of a chunked body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// So many bytes are to be skipped.
    Skip(usize),
    /// So many bytes at the start of the input are of the body.
    Data(usize),
    /// The body has ended; the trailers are so many bytes at the start.
    End(usize),
    /// More bytes are needed.
    More,
}

impl Default for ChunkReader {
    fn default() -> ChunkReader {
        ChunkReader { state: State::Size }
    }
}

impl ChunkReader {
    /// Looks at the bytes that come next; whoever calls consumes what the piece says, at most `room`
    /// bytes of the body.
    pub fn next(
        &mut self,
        bytes: &[u8],
        room: usize,
        limits: &HeadLimits,
    ) -> Result<Piece, Malformed> {
        let malformed = |position| Malformed {
            fault: Fault::Chunk,
            position,
        };
        match self.state {
            State::Size => {
                let Some(end) = memchr::memchr(b'\n', bytes) else {
                    // A line that cannot become right is refused before its end.
                    size(bytes, false).ok_or(malformed(0))?;
                    if bytes.len() > LINE_BYTES_MAX {
                        return Err(malformed(LINE_BYTES_MAX));
                    }
                    return Ok(Piece::More);
                };
                if end > LINE_BYTES_MAX || end == 0 || bytes[end - 1] != b'\r' {
                    return Err(malformed(end));
                }
                let size = size(&bytes[..end - 1], true).ok_or(malformed(0))?;
                self.state = match size {
                    0 => State::Trailers,
                    size => State::Data(size),
                };
                Ok(Piece::Skip(end + 1))
            }
            State::Data(_) if bytes.is_empty() || room == 0 => Ok(Piece::More),
            State::Data(left) => {
                let count = left.min(bytes.len().min(room) as u64);
                self.state = match left - count {
                    0 => State::DataEnd,
                    left => State::Data(left),
                };
                Ok(Piece::Data(count as usize))
            }
            State::DataEnd => match bytes {
                [b'\r', b'\n', ..] => {
                    self.state = State::Size;
                    Ok(Piece::Skip(2))
                }
                [] | [b'\r'] => Ok(Piece::More),
                _ => Err(malformed(0)),
            },
            State::Trailers => Ok(match read_trailers(bytes, limits)? {
                Some((length, _)) => {
                    self.state = State::Ended;
                    Piece::End(length)
                }
                None => Piece::More,
            }),
            State::Ended => Ok(Piece::End(0)),
        }
    }

    /// Whether the last chunk and its trailers were read.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }
}

/// The size in a chunk's line. A line that has not ended may have no digits yet.
fn size(line: &[u8], is_whole: bool) -> Option<u64> {
    let digits = line
        .iter()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    if digits > DIGITS_MAX || (digits == 0 && (is_whole || !line.is_empty())) {
        return None;
    }
    let blanks = line[digits..].iter();
    let blanks = blanks
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let rest = &line[digits + blanks..];
    let is_extension = rest
        .first()
        .is_none_or(|byte| *byte == b';' || (!is_whole && *byte == b'\r'));
    let is_clean = rest.iter().enumerate().all(|(index, byte)| {
        (*byte >= b' ' && *byte != 0x7F)
            || *byte == b'\t'
            || (!is_whole && *byte == b'\r' && index + 1 == rest.len())
    });
    if !is_extension || !is_clean {
        return None;
    }
    line[..digits].iter().try_fold(0u64, |size, byte| {
        let digit = char::from(*byte).to_digit(16)?;
        Some(size * 16 + u64::from(digit))
    })
}

/// Appends a chunk; nothing for no bytes, since that would be the last one.
pub fn push_chunk(output: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let mut digits = [0; 16];
    let mut at = digits.len();
    let mut left = bytes.len();
    while left > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[left % 16];
        left /= 16;
    }
    output.extend_from_slice(&digits[at..]);
    output.extend_from_slice(b"\r\n");
    output.extend_from_slice(bytes);
    output.extend_from_slice(b"\r\n");
}

/// The last chunk, without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
