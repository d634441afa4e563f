//! Gzip around whole files, with a limit for what comes out.
//!
//! A few kilobytes of gzip can become gigabytes. The limit is a multiple of the compressed size.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{Error, Problem};

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Decompressed bytes for each compressed one. Deflate reaches 1,032, profiles some 30.
const RATIO_MAX: usize = 256;
/// The limit for files of a few bytes.
const BYTES_MAX_LEAST: usize = 16 << 20;
const BYTES_MAX: usize = 4 << 30;

/// Whether bytes begin as gzip does.
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The bytes, compressed.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::default());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// The decompressed bytes, and whether the end of the compressed ones is missing.
///
/// # Errors
/// For damaged bytes, and for more output than a profile of this size can have.
pub fn gunzip(bytes: &[u8]) -> Result<(Vec<u8>, bool), Error> {
    let ratio_max = bytes.len().saturating_mul(RATIO_MAX);
    gunzip_within(bytes, ratio_max.clamp(BYTES_MAX_LEAST, BYTES_MAX))
}

fn gunzip_within(bytes: &[u8], bytes_max: usize) -> Result<(Vec<u8>, bool), Error> {
    let fail = |problem| Err(Error { line: 0, problem });
    let mut decoder = MultiGzDecoder::new(bytes);
    let mut output = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok((output, false)),
            Ok(count) if output.len() + count > bytes_max => {
                return fail(Problem::TooLarge { bytes_max });
            }
            Ok(count) => output.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok((output, true));
            }
            Err(error) => return fail(Problem::Compressed(error.to_string())),
        }
    }
}

/// A stream that compresses what is written to it.
///
/// Flushing it makes everything so far readable, at the price of a few bytes.
#[derive(Debug)]
pub struct Compressed<W: Write>(GzEncoder<W>);

impl<W: Write> Compressed<W> {
    pub fn new(output: W) -> Compressed<W> {
        Compressed(GzEncoder::new(output, Compression::fast()))
    }

    /// Writes the rest and the checksum.
    ///
    /// # Errors
    /// Those of the stream below.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_limited() {
        let bomb = gzip(&vec![b'0'; 1 << 20]);
        assert_eq!(
            gunzip_within(&bomb, 1 << 19),
            Err(Error {
                line: 0,
                problem: Problem::TooLarge { bytes_max: 1 << 19 }
            })
        );
        assert_eq!(gunzip(&bomb), Ok((vec![b'0'; 1 << 20], false)));
    }

    #[test]
    fn a_flushed_stream_is_readable_and_cut() {
        let mut stream = Compressed::new(Vec::new());
        stream.write_all(b"one\n").unwrap();
        stream.flush().unwrap();
        let bytes = stream.0.get_ref().clone();
        assert_eq!(gunzip(&bytes), Ok((b"one\n".to_vec(), true)));
        assert_eq!(
            gunzip(&stream.finish().unwrap()),
            Ok((b"one\n".to_vec(), false))
        );
    }
}
