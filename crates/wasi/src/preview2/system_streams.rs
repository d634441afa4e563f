//! Sources and sinks over files and Canny's handles.
//!
//! Files have an offset of the stream's own. Handles are never waited for here.

use std::io::IoSlice;
use std::sync::Arc;

use canny_io::{Handle, IoError, Operation, Wait};
use rustix::io::{Errno, ReadWriteFlags};

use super::failures::End;
use super::streams::{Sink, Source};
use super::table::Opened;
use super::waits::Waits;

/// A source that is at its end, and a sink that takes everything.
pub struct Nothing;

impl Source for Nothing {
    fn read(&mut self, _: usize) -> Result<Vec<u8>, End> {
        Err(End::Closed)
    }

    fn is_ready(&mut self) -> bool {
        true
    }

    fn await_ready(&mut self, _: &mut Waits) {}
}

impl Sink for Nothing {
    fn is_ready(&mut self) -> bool {
        true
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, End> {
        Ok(bytes.len())
    }

    fn await_ready(&mut self, _: &mut Waits) {}
}

/// A file from an offset on.
pub struct FileSource {
    pub file: Arc<Opened>,
    pub offset: u64,
}

impl Source for FileSource {
    fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, End> {
        let mut bytes = vec![0; bytes_max];
        let count = loop {
            match rustix::io::pread(&*self.file, &mut bytes, self.offset) {
                Ok(0) => return Err(End::Closed),
                Ok(count) => break count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(End::of_file(error)),
            }
        };
        self.offset += count as u64;
        bytes.truncate(count);
        Ok(bytes)
    }

    fn is_ready(&mut self) -> bool {
        true
    }

    fn await_ready(&mut self, _: &mut Waits) {}
}

/// A file from an offset on, or its end.
pub struct FileSink {
    pub file: Arc<Opened>,
    pub offset: Option<u64>,
}

impl Sink for FileSink {
    fn is_ready(&mut self) -> bool {
        true
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, End> {
        loop {
            let written = match self.offset {
                Some(offset) => rustix::io::pwrite(&*self.file, bytes, offset),
                None => {
                    let bytes = [IoSlice::new(bytes)];
                    rustix::io::pwritev2(&*self.file, &bytes, 0, ReadWriteFlags::APPEND)
                }
            };
            match written {
                Ok(0) => return Err(End::of_file(Errno::IO)),
                Ok(count) => {
                    if let Some(offset) = &mut self.offset {
                        *offset = offset.saturating_add(count as u64);
                    }
                    return Ok(count);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(End::of_file(error)),
            }
        }
    }

    fn await_ready(&mut self, _: &mut Waits) {}
}

/// How many bytes of a handle are read to find out whether there are any.
const AHEAD_BYTES: usize = 4096;

/// A handle to be read.
pub struct HandleSource {
    handle: Arc<Handle>,
    /// Bytes or an end that a try has found.
    ahead: Option<Result<Vec<u8>, End>>,
}

impl HandleSource {
    pub fn new(handle: Arc<Handle>) -> HandleSource {
        HandleSource {
            handle,
            ahead: None,
        }
    }

    /// Nothing if it would wait.
    fn try_read(&self, bytes_max: usize) -> Option<Result<Vec<u8>, End>> {
        let mut bytes = vec![0; bytes_max];
        match self.handle.read(&mut bytes, Wait::NonBlocking) {
            Ok(0) => Some(Err(End::Closed)),
            Ok(count) => {
                bytes.truncate(count);
                Some(Ok(bytes))
            }
            Err(error) if error.is_retryable() => None,
            Err(error) => Some(Err(error.into())),
        }
    }
}

impl Source for HandleSource {
    fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, End> {
        let read = self.ahead.take().or_else(|| self.try_read(bytes_max));
        let mut bytes = read.unwrap_or(Ok(Vec::new()))?;
        if bytes.len() > bytes_max {
            self.ahead = Some(Ok(bytes.split_off(bytes_max)));
        }
        Ok(bytes)
    }

    fn is_ready(&mut self) -> bool {
        if self.ahead.is_some() || self.handle.is_regular_file() {
            return true;
        }
        // Bytes of a descriptor are left to others that read it.
        if let Some(is_ready) = self.handle.pending(Operation::Read).is_ready() {
            return is_ready;
        }
        self.ahead = self.try_read(AHEAD_BYTES);
        self.ahead.is_some()
    }

    fn await_ready(&mut self, waits: &mut Waits) {
        waits.handle(self.handle.pending(Operation::Read));
    }
}

/// A handle to be written.
pub struct HandleSink(pub Arc<Handle>);

impl HandleSink {
    fn result(result: Result<usize, IoError>) -> Result<usize, End> {
        match result {
            Err(error) if error.is_retryable() => Ok(0),
            result => Ok(result?),
        }
    }
}

impl Sink for HandleSink {
    fn is_ready(&mut self) -> bool {
        let is_ready = self.0.pending(Operation::Write).is_ready();
        is_ready.unwrap_or(true)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, End> {
        HandleSink::result(self.0.write(bytes, Wait::NonBlocking))
    }

    fn flush(&mut self) -> Result<bool, End> {
        let flushed = self.0.flush(Wait::NonBlocking).map(|()| 1);
        Ok(HandleSink::result(flushed)? == 1)
    }

    fn await_ready(&mut self, waits: &mut Waits) {
        waits.handle(self.0.pending(Operation::Write));
    }
}
