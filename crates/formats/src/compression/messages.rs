//! Messages that are compressed one by one over a connection, each decodable when it is there: deflate
//! without header, whose last four bytes, always the same, are left out (RFC 7692).
//!
//! A side that *keeps its context* compresses a message with what the ones before had in common with
//! it, and has memory for that as long as the connection is there: some 330 kB for both directions with
//! full windows, most of it to compress. Else a thread's spare coder does the work, and a connection
//! has none.

use std::cell::Cell;

use flate2::{Compress, Compression, Decompress, FlushDecompress, Status};

use super::deflate::DeflateEncoder;
use super::{Corrupt, Encoder};

/// The bytes that every message would end with.
const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];

/// The greatest window, which any data can be decompressed with.
const WINDOW_BITS_MAX: u8 = 15;

/// The least window of the coder; data for smaller ones can be decompressed and not made.
const WINDOW_BITS_MIN: u8 = 9;

/// The window that one side compresses with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageWindow {
    /// The logarithm of the window's bytes, from 8 to 15.
    pub bits: u8,
    /// A message may refer to those before.
    pub keeps_context: bool,
}

thread_local! {
    /// With a full window.
    static SPARE_DEFLATER: Cell<Option<Compress>> = const { Cell::new(None) };
    static SPARE_INFLATER: Cell<Option<Decompress>> = const { Cell::new(None) };
}

/// Compresses messages.
pub struct MessageDeflater {
    window: MessageWindow,
    context: Option<Compress>,
}

impl MessageDeflater {
    /// `None` for a window that is too small to be made.
    pub fn new(window: MessageWindow) -> Option<MessageDeflater> {
        (WINDOW_BITS_MIN..=WINDOW_BITS_MAX)
            .contains(&window.bits)
            .then_some(MessageDeflater {
                window,
                context: None,
            })
    }

    /// The compressed message. A context that is kept continues with it, so that it has to be sent.
    pub fn deflate(&mut self, message: &[u8]) -> std::io::Result<Vec<u8>> {
        let MessageWindow {
            bits,
            keeps_context,
        } = self.window;
        let is_shared = !keeps_context && bits == WINDOW_BITS_MAX;
        let coder = if is_shared {
            SPARE_DEFLATER.take()
        } else {
            self.context.take()
        };
        let coder = coder
            .unwrap_or_else(|| Compress::new_with_window_bits(Compression::default(), false, bits));
        let mut coder = DeflateEncoder::from(coder);
        let mut output = Vec::with_capacity(message.len() / 2 + 64);
        coder.encode(message, &mut output)?;
        coder.flush(&mut output)?;
        if output.ends_with(&TAIL) {
            output.truncate(output.len() - TAIL.len());
        }
        let mut coder = coder.into_inner();
        if keeps_context {
            self.context = Some(coder);
        } else if is_shared {
            coder.reset();
            SPARE_DEFLATER.set(Some(coder));
        }
        Ok(output)
    }

    /// Whether messages refer to those before.
    pub fn keeps_context(&self) -> bool {
        self.window.keeps_context
    }
}

/// Why a message cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateFault {
    Corrupt,
    TooLong,
}

impl From<Corrupt> for InflateFault {
    fn from(_: Corrupt) -> InflateFault {
        InflateFault::Corrupt
    }
}

/// Decompresses messages, part by part.
pub struct MessageInflater {
    window: MessageWindow,
    /// That of the message that is on its way, or of those before.
    context: Option<Decompress>,
}

impl MessageInflater {
    /// Makes a decompressor for data that was compressed with a window.
    pub fn new(window: MessageWindow) -> MessageInflater {
        MessageInflater {
            window,
            context: None,
        }
    }

    /// Appends what a part of a message stands for to `output`, which is to have at most so many bytes.
    pub fn inflate(
        &mut self,
        part: &[u8],
        output: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<(), InflateFault> {
        const STEP_BYTES: usize = 1 << 12;
        let keeps_context = self.window.keeps_context;
        let bits = if keeps_context {
            self.window.bits.max(WINDOW_BITS_MIN)
        } else {
            WINDOW_BITS_MAX
        };
        let coder = self.context.get_or_insert_with(|| {
            let spare = if keeps_context {
                None
            } else {
                SPARE_INFLATER.take()
            };
            spare.unwrap_or_else(|| Decompress::new_with_window_bits(false, bits))
        });
        let mut rest = part;
        loop {
            let (in_before, start) = (coder.total_in(), output.len());
            output.reserve(STEP_BYTES.min(bytes_max + 1 - start));
            let room = output.capacity() - start;
            let status = coder
                .decompress_vec(rest, output, FlushDecompress::Sync)
                .map_err(|_| InflateFault::Corrupt)?;
            rest = &rest[(coder.total_in() - in_before) as usize..];
            if output.len() > bytes_max {
                return Err(InflateFault::TooLong);
            }
            if status == Status::StreamEnd {
                // A block that says it is the last one: the next one begins anew.
                coder.reset(false);
            } else if rest.is_empty() && output.len() - start < room {
                return Ok(());
            }
            if status == Status::StreamEnd && rest.is_empty() {
                return Ok(());
            }
            let is_stuck = output.len() == start && coder.total_in() == in_before;
            if status == Status::BufError && is_stuck {
                return Err(InflateFault::Corrupt);
            }
        }
    }

    /// Like [`MessageInflater::inflate`], with what is missing at the end of a message.
    pub fn end_message(
        &mut self,
        output: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<(), InflateFault> {
        self.inflate(&TAIL, output, bytes_max)?;
        if !self.window.keeps_context
            && let Some(mut coder) = self.context.take()
        {
            coder.reset(false);
            SPARE_INFLATER.set(Some(coder));
        }
        Ok(())
    }
}
