//! Zstandard. The decoder is given whole blocks, one at a time, so that neither input nor output piles
//! up. The encoder makes a frame of each megabyte.

use std::io::{self, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{Corrupt, Decoder, Encoder, State, Step};

const MAGIC: u32 = 0xfd2f_b528;
/// Frames with these are skipped.
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
const CHECKSUM_BYTES: usize = 4;
/// A larger window is refused.
const WINDOW_BYTES_MAX: u64 = 64 << 20;

enum Phase {
    /// Before a frame, or at the end.
    Frame {
        is_first: bool,
    },
    /// So many bytes of a skippable frame are left.
    Skip(usize),
    Blocks,
    /// Everything is decoded; what the decoder holds is taken.
    Drain {
        is_last: bool,
    },
}

pub(super) struct ZstandardDecoder {
    inner: FrameDecoder,
    phase: Phase,
}

impl ZstandardDecoder {
    pub(super) fn new() -> ZstandardDecoder {
        ZstandardDecoder {
            inner: FrameDecoder::new(),
            phase: Phase::Frame { is_first: true },
        }
    }

    /// A frame's header, or the end. Gives what was consumed, or `None` when more is needed.
    fn frame(&mut self, input: &[u8], is_first: bool) -> Result<Option<usize>, Corrupt> {
        let word = |at: usize| {
            let bytes = input.get(at..at + 4)?;
            Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let Some(magic) = word(0) else {
            return Ok(None);
        };
        if SKIPPABLE.contains(&magic) {
            let Some(length) = word(4) else {
                return Ok(None);
            };
            self.phase = Phase::Skip(length as usize);
            return Ok(Some(8));
        }
        if magic != MAGIC {
            let what = if is_first {
                "no frame"
            } else {
                "something else follows"
            };
            return Err(Corrupt(what.into()));
        }
        let Some(&descriptor) = input.get(4) else {
            return Ok(None);
        };
        let single_segment = descriptor >> 5 & 1;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size_flag = descriptor >> 6;
        let size = if size_flag == 0 {
            single_segment
        } else {
            1 << size_flag
        };
        let length = 5 + usize::from(1 - single_segment) + dictionary + usize::from(size);
        let Some(mut header) = input.get(..length) else {
            return Ok(None);
        };
        let window = if single_segment == 0 {
            let exponent = u32::from(input[5] >> 3);
            let base = 1u64 << (10 + exponent);
            base + base / 8 * u64::from(input[5] & 7)
        } else {
            let mut bytes = [0; 8];
            let field = &input[length - usize::from(size)..length];
            bytes[..field.len()].copy_from_slice(field);
            u64::from_le_bytes(bytes)
        };
        if window > WINDOW_BYTES_MAX {
            return Err(Corrupt(format!("a window of {window} bytes is too large")));
        }
        self.inner
            .reset(&mut header)
            .map_err(|error| Corrupt(error.to_string()))?;
        self.phase = Phase::Blocks;
        Ok(Some(length))
    }

    /// One block. Gives what was consumed, or `None` when more is needed.
    fn block(&mut self, input: &[u8]) -> Result<Option<usize>, Corrupt> {
        const HEADER_BYTES: usize = 3;
        const BLOCK_BYTES_MAX: usize = 128 << 10;
        let Some(header) = input.get(..HEADER_BYTES) else {
            return Ok(None);
        };
        let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, (header >> 3) as usize);
        if size > BLOCK_BYTES_MAX || kind == 3 {
            return Err(Corrupt("a malformed block".into()));
        }
        let content = if kind == 1 { 1 } else { size };
        // The decoder reads the checksum together with the last block, where there is one; that it is
        // there is only known to the decoder, so that it is given what there is.
        let needed = HEADER_BYTES + content;
        if input.len() < needed {
            return Ok(None);
        }
        let mut source = input;
        let outcome = self
            .inner
            .decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1));
        match outcome {
            Ok(_) => {}
            // Nothing but the checksum can be missing.
            Err(_)
                if is_last
                    && input.len() < needed + CHECKSUM_BYTES
                    && source.len() < CHECKSUM_BYTES =>
            {
                return Err(Corrupt("the end of a frame is missing".into()));
            }
            Err(error) => return Err(Corrupt(error.to_string())),
        }
        self.phase = Phase::Drain { is_last };
        Ok(Some(input.len() - source.len()))
    }
}

impl Decoder for ZstandardDecoder {
    fn decode(&mut self, input: &[u8], is_last: bool, output: &mut [u8]) -> Result<Step, Corrupt> {
        let mut produced = 0;
        let mut state = State::Going;
        let consumed = match self.phase {
            Phase::Frame { is_first } => {
                if input.is_empty() && is_last && !is_first {
                    state = State::Ended;
                    Some(0)
                } else {
                    self.frame(input, is_first)?
                }
            }
            Phase::Skip(0) => {
                self.phase = Phase::Frame { is_first: false };
                Some(0)
            }
            Phase::Skip(left) => {
                let count = left.min(input.len());
                self.phase = Phase::Skip(left - count);
                Some(count).filter(|&count| count > 0)
            }
            Phase::Blocks => {
                // A checksum may follow the last block; all of it must be there.
                const BLOCK_BYTES: usize = 3;
                let size = input.get(..BLOCK_BYTES).map(|header| {
                    let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
                    let content = if header >> 1 & 3 == 1 {
                        1
                    } else {
                        (header >> 3) as usize
                    };
                    BLOCK_BYTES + content + CHECKSUM_BYTES
                });
                if !is_last && size.is_none_or(|size| input.len() < size.min(1 << 18)) {
                    None
                } else {
                    self.block(input)?
                }
            }
            Phase::Drain { is_last: was_last } => {
                produced = self
                    .inner
                    .read(output)
                    .map_err(|error| Corrupt(error.to_string()))?;
                if produced == 0 && was_last {
                    let stored = self.inner.get_checksum_from_data();
                    if stored.is_some() && stored != self.inner.get_calculated_checksum() {
                        return Err(Corrupt("the checksum is wrong".into()));
                    }
                    self.phase = Phase::Frame { is_first: false };
                } else if produced == 0 {
                    self.phase = Phase::Blocks;
                }
                Some(0)
            }
        };
        if consumed.is_none() {
            state = State::Hungry;
        }
        Ok(Step {
            consumed: consumed.unwrap_or(0),
            produced,
            state,
        })
    }
}

/// Bytes that make a frame.
const FRAME_BYTES: usize = 1 << 20;

pub(super) struct ZstandardEncoder {
    collected: Vec<u8>,
    has_frames: bool,
}

impl ZstandardEncoder {
    pub(super) fn new() -> ZstandardEncoder {
        ZstandardEncoder {
            collected: Vec::new(),
            has_frames: false,
        }
    }

    fn frame(&mut self, bytes: &[u8], output: &mut Vec<u8>) {
        output.extend_from_slice(&compress_to_vec(bytes, CompressionLevel::Fastest));
        self.has_frames = true;
    }
}

impl Encoder for ZstandardEncoder {
    fn encode(&mut self, mut bytes: &[u8], output: &mut Vec<u8>) -> io::Result<()> {
        while self.collected.len() + bytes.len() >= FRAME_BYTES {
            let (now, later) = bytes.split_at(FRAME_BYTES - self.collected.len());
            self.collected.extend_from_slice(now);
            let collected = std::mem::take(&mut self.collected);
            self.frame(&collected, output);
            bytes = later;
        }
        self.collected.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        if !self.collected.is_empty() {
            let collected = std::mem::take(&mut self.collected);
            self.frame(&collected, output);
        }
        Ok(())
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        if !self.has_frames && self.collected.is_empty() {
            self.frame(&[], output);
        }
        self.flush(output)
    }
}
