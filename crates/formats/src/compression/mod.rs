//! Compressed bytes: devices that stand behind a port and read from, or write to, another one.
//!
//! A [`DecompressingDevice`] owns the input it reads; a [`CompressingDevice`] shares the output it
//! writes, which may be one in memory whose bytes somebody wants afterwards. Neither waits while its
//! handle's lock is held: who cannot go on says `WouldBlock` and names the handle to wait for. Only
//! closing waits, which happens without that lock.
//!
//! Memory is bounded whatever the input says about itself: decompressed bytes are made as they are
//! asked for, and the window of a format is limited.

mod deflate;
mod messages;
#[cfg(test)]
mod tests;
mod zstandard;

use std::io;
use std::sync::Arc;

pub use messages::{InflateFault, MessageDeflater, MessageInflater, MessageWindow};

use canny_io::{Awaited, BinaryInput, BinaryOutput, ByteDevice, IoError, SharedPort, Wait};

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 1952; several members may follow one another.
    Gzip,
    /// RFC 1950.
    Zlib,
    /// RFC 1951, without header and checksum.
    Deflate,
    /// RFC 8878; several frames may follow one another.
    Zstandard,
}

impl Format {
    /// The format with this name.
    pub fn named(name: &str) -> Option<Format> {
        match name {
            "gzip" => Some(Format::Gzip),
            "zlib" => Some(Format::Zlib),
            "deflate" => Some(Format::Deflate),
            "zstd" => Some(Format::Zstandard),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Gzip => "gzip",
            Format::Zlib => "zlib",
            Format::Deflate => "deflate",
            Format::Zstandard => "zstd",
        }
    }

    /// Levels of compression that there are.
    pub fn levels(self) -> std::ops::RangeInclusive<u32> {
        match self {
            Format::Zstandard => 1..=1,
            _ => 0..=9,
        }
    }

    fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Format::Zstandard => Box::new(zstandard::ZstandardDecoder::new()),
            _ => Box::new(deflate::DeflateDecoder::new(self)),
        }
    }

    fn encoder(self, level: Option<u32>) -> Box<dyn Encoder> {
        match self {
            Format::Zstandard => Box::new(zstandard::ZstandardEncoder::new()),
            _ => Box::new(deflate::DeflateEncoder::new(self, level)),
        }
    }
}

/// The result of a step of a decoder.
struct Step {
    consumed: usize,
    produced: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Another step may do more.
    Going,
    /// More input is needed.
    Hungry,
    /// The data are complete.
    Ended,
}

/// Data that are not of the format.
#[derive(Clone, Debug)]
struct Corrupt(String);

trait Decoder: Send {
    /// Decodes some of `input`, after which nothing comes if `is_last`.
    fn decode(&mut self, input: &[u8], is_last: bool, output: &mut [u8]) -> Result<Step, Corrupt>;
}

trait Encoder: Send {
    fn encode(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> io::Result<()>;
    /// Makes what was encoded so far decodable.
    fn flush(&mut self, output: &mut Vec<u8>) -> io::Result<()>;
    fn finish(&mut self, output: &mut Vec<u8>) -> io::Result<()>;
}

/// See the module's description.
pub struct DecompressingDevice {
    source: BinaryInput,
    format: Format,
    decoder: Box<dyn Decoder>,
    input: Vec<u8>,
    /// `input[position..]` is not decoded yet.
    position: usize,
    /// Bytes of the source in front of `input`.
    offset: u64,
    is_last: bool,
    ended: bool,
}

impl DecompressingDevice {
    /// Decompresses what comes from `source`.
    pub fn new(source: BinaryInput, format: Format) -> DecompressingDevice {
        let offset = source.byte_offset();
        DecompressingDevice {
            source,
            format,
            decoder: format.decoder(),
            input: Vec::new(),
            position: 0,
            offset,
            is_last: false,
            ended: false,
        }
    }

    fn fault(&self, what: &str) -> io::Error {
        let offset = self.offset + self.position as u64;
        let name = self.format.name();
        let message = format!("the {name} data {what} at byte {offset}");
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.offset += self.position as u64;
        self.input.drain(..self.position);
        self.position = 0;
        match self.source.read_available(Wait::NonBlocking) {
            Ok(Some(bytes)) => self.input.extend_from_slice(bytes),
            Ok(None) => self.is_last = true,
            Err(error) => return Err(system_error(&error)),
        }
        Ok(())
    }
}

/// An error of an inner port as one of a device.
fn system_error(error: &IoError) -> io::Error {
    match error {
        IoError::WouldBlock => io::ErrorKind::WouldBlock.into(),
        error => io::Error::other(error.to_string()),
    }
}

impl ByteDevice for DecompressingDevice {
    /// The decoder does not say what it holds.
    fn memory_bytes(&self) -> usize {
        self.input.capacity()
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.ended {
                return Ok(0);
            }
            let input = &self.input[self.position..];
            let step = match self.decoder.decode(input, self.is_last, buffer) {
                Ok(step) => step,
                Err(Corrupt(what)) => return Err(self.fault(&format!("are corrupt ({what})"))),
            };
            self.position += step.consumed;
            self.ended = step.state == State::Ended;
            if step.produced > 0 {
                return Ok(step.produced);
            }
            if step.state == State::Hungry {
                if self.is_last {
                    return Err(self.fault("end too early"));
                }
                self.fill()?;
            }
        }
    }

    fn close(&mut self) -> io::Result<()> {
        self.source.close().map_err(|error| system_error(&error))
    }

    fn waits_for(&self) -> Option<Awaited> {
        self.source.handle().cloned().map(Awaited::Handle)
    }
}

/// See the module's description.
pub struct CompressingDevice {
    target: Arc<SharedPort<BinaryOutput>>,
    encoder: Box<dyn Encoder>,
    /// Compressed bytes that the target has not accepted yet.
    pending: Vec<u8>,
    /// Something was written since the last flush.
    is_dirty: bool,
    closes_target: bool,
    is_complete: bool,
}

impl CompressingDevice {
    /// Writes compressed bytes to `target`, which is closed together with the device if `closes_target`.
    pub fn new(
        target: Arc<SharedPort<BinaryOutput>>,
        format: Format,
        level: Option<u32>,
        closes_target: bool,
    ) -> CompressingDevice {
        CompressingDevice {
            target,
            encoder: format.encoder(level),
            pending: Vec::new(),
            is_dirty: false,
            closes_target,
            is_complete: false,
        }
    }

    /// Hands on what is pending, all of it or nothing.
    fn drain(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let Some(mut target) = self.target.try_lock() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        match target.write_bytes(&self.pending, Wait::NonBlocking) {
            Ok(()) => {
                self.pending.clear();
                Ok(())
            }
            Err(error) => Err(system_error(&error)),
        }
    }
}

impl ByteDevice for CompressingDevice {
    /// The encoder does not say what it holds.
    fn memory_bytes(&self) -> usize {
        self.pending.capacity()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const STEP_BYTES: usize = 1 << 16;
        self.drain()?;
        let bytes = &bytes[..bytes.len().min(STEP_BYTES)];
        self.encoder.encode(bytes, &mut self.pending)?;
        self.is_dirty = true;
        match self.drain() {
            // The bytes are accepted; who writes next waits.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            outcome => outcome?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        if self.is_dirty {
            self.encoder.flush(&mut self.pending)?;
            self.is_dirty = false;
        }
        self.drain()?;
        let Some(mut target) = self.target.try_lock() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        target
            .flush(Wait::NonBlocking)
            .map_err(|error| system_error(&error))
    }

    fn completes_when_closed(&self) -> bool {
        true
    }

    fn close(&mut self) -> io::Result<()> {
        self.is_complete = true;
        self.encoder.finish(&mut self.pending)?;
        let mut target = self.target.lock();
        let written = target.write_bytes(&self.pending, Wait::Blocking);
        self.pending.clear();
        let outcome = match written {
            Ok(()) if self.closes_target => target.close(Wait::Blocking),
            Ok(()) => target.flush(Wait::Blocking),
            Err(error) => {
                if self.closes_target {
                    // The first error is the one to tell.
                    let _ = target.close(Wait::NonBlocking);
                }
                Err(error)
            }
        };
        outcome.map_err(|error| system_error(&error))
    }

    fn waits_for(&self) -> Option<Awaited> {
        self.target
            .try_lock()?
            .handle()
            .cloned()
            .map(Awaited::Handle)
    }
}

impl Drop for CompressingDevice {
    /// A port that nothing refers to any more and that was not closed: its data are completed
    /// nevertheless, if nobody uses the target just now. Nobody is left to hear of an error.
    fn drop(&mut self) {
        if !self.is_complete
            && self.encoder.finish(&mut self.pending).is_ok()
            && let Some(mut target) = self.target.try_lock()
            && target.is_open()
        {
            let _ = target.write_bytes(&self.pending, Wait::Blocking);
        }
    }
}

/// The bytes that compressed ones stand for, unless they are more than `bytes_max`.
pub fn decompress(bytes: &[u8], format: Format, bytes_max: usize) -> Result<Vec<u8>, String> {
    const STEP_BYTES: usize = 1 << 16;
    let mut decoder = format.decoder();
    let mut output = Vec::new();
    let mut position = 0;
    loop {
        let start = output.len();
        output.resize(start + STEP_BYTES, 0);
        let name = format.name();
        let step = match decoder.decode(&bytes[position..], true, &mut output[start..]) {
            Ok(step) => step,
            Err(Corrupt(what)) => {
                return Err(format!(
                    "the {name} data are corrupt ({what}) at byte {position}"
                ));
            }
        };
        position += step.consumed;
        output.truncate(start + step.produced);
        if output.len() > bytes_max {
            return Err(format!(
                "the {name} data stand for more than {bytes_max} bytes"
            ));
        }
        match step.state {
            State::Ended => return Ok(output),
            State::Hungry if step.produced == 0 => {
                return Err(format!("the {name} data end too early at byte {position}"));
            }
            State::Hungry | State::Going => {}
        }
    }
}

/// Compressed bytes.
pub fn compress(bytes: &[u8], format: Format, level: Option<u32>) -> io::Result<Vec<u8>> {
    let mut encoder = format.encoder(level);
    let mut output = Vec::new();
    encoder.encode(bytes, &mut output)?;
    encoder.finish(&mut output)?;
    Ok(output)
}
