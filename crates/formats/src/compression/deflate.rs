//! Deflate with a header of zlib or gzip, or without one, as steps of an encoder and a decoder.
//!
//! The window is the format's largest. A gzip text may have several members and zeros behind them;
//! everything else behind the end is an error. The algorithm is a crate's; the devices around it
//! are in the parent module.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::{Corrupt, Decoder, Encoder, Format, State, Step};

const WINDOW_BITS: u8 = 15;

fn decompress(format: Format) -> Decompress {
    match format {
        Format::Gzip => Decompress::new_gzip(WINDOW_BITS),
        format => Decompress::new(format == Format::Zlib),
    }
}

pub(super) struct DeflateDecoder {
    format: Format,
    inner: Decompress,
    /// Between members of gzip; false before the first.
    between: bool,
}

impl DeflateDecoder {
    pub(super) fn new(format: Format) -> DeflateDecoder {
        DeflateDecoder {
            format,
            inner: decompress(format),
            between: false,
        }
    }

    /// Reads on behind a member: another member, zeros up to the end, or nothing.
    fn behind_member(&mut self, input: &[u8], is_last: bool) -> Result<Step, Corrupt> {
        const MAGIC: u8 = 0x1f;
        let zeros = input.iter().take_while(|&&byte| byte == 0).count();
        let state = match input.get(zeros) {
            Some(&MAGIC) if zeros == 0 => {
                self.inner = decompress(self.format);
                self.between = false;
                State::Going
            }
            Some(_) => return Err(Corrupt("something else follows".into())),
            None if is_last => State::Ended,
            None => State::Hungry,
        };
        Ok(Step {
            consumed: zeros,
            produced: 0,
            state,
        })
    }
}

impl Decoder for DeflateDecoder {
    fn decode(&mut self, input: &[u8], is_last: bool, output: &mut [u8]) -> Result<Step, Corrupt> {
        if self.between {
            return self.behind_member(input, is_last);
        }
        let (in_before, out_before) = (self.inner.total_in(), self.inner.total_out());
        let status = self.inner.decompress(input, output, FlushDecompress::None);
        let consumed = (self.inner.total_in() - in_before) as usize;
        let produced = (self.inner.total_out() - out_before) as usize;
        let state = match status {
            Ok(Status::StreamEnd) if self.format == Format::Gzip => {
                self.between = true;
                State::Going
            }
            Ok(Status::StreamEnd) => State::Ended,
            Ok(Status::Ok | Status::BufError) => {
                if consumed == input.len() && produced < output.len() || consumed + produced == 0 {
                    State::Hungry
                } else {
                    State::Going
                }
            }
            Err(error) => {
                let message = error.message().unwrap_or("not of this format");
                return Err(Corrupt(message.to_owned()));
            }
        };
        Ok(Step {
            consumed,
            produced,
            state,
        })
    }
}

pub(super) struct DeflateEncoder {
    inner: Compress,
}

impl DeflateEncoder {
    pub(super) fn new(format: Format, level: Option<u32>) -> DeflateEncoder {
        let level = level.map_or(Compression::default(), Compression::new);
        let inner = match format {
            Format::Gzip => Compress::new_gzip(level, WINDOW_BITS),
            format => Compress::new(level, format == Format::Zlib),
        };
        DeflateEncoder { inner }
    }

    pub(super) fn into_inner(self) -> Compress {
        self.inner
    }

    /// Compresses all of `bytes`, and with a flush all that is held back.
    fn run(
        &mut self,
        mut bytes: &[u8],
        flush: FlushCompress,
        output: &mut Vec<u8>,
    ) -> io::Result<()> {
        const ROOM_BYTES: usize = 1 << 14;
        loop {
            output.reserve(ROOM_BYTES);
            let room = output.capacity() - output.len();
            let (in_before, out_before) = (self.inner.total_in(), self.inner.total_out());
            let status = self
                .inner
                .compress_vec(bytes, output, flush)
                .map_err(io::Error::other)?;
            let consumed = (self.inner.total_in() - in_before) as usize;
            let produced = (self.inner.total_out() - out_before) as usize;
            bytes = &bytes[consumed..];
            let is_done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                // Room that is left says that nothing is held back.
                _ => bytes.is_empty() && produced < room,
            };
            if is_done {
                return Ok(());
            }
        }
    }
}

impl From<Compress> for DeflateEncoder {
    fn from(inner: Compress) -> DeflateEncoder {
        DeflateEncoder { inner }
    }
}

impl Encoder for DeflateEncoder {
    fn encode(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        self.run(bytes, FlushCompress::None, output)
    }

    fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.run(&[], FlushCompress::Sync, output)
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.run(&[], FlushCompress::Finish, output)
    }
}
