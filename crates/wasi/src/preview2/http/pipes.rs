//! Bodies of messages on their way between a guest and its embedder: bounded pipes in memory.
//!
//! | shared state | touched by | condition |
//! |---|---|---|
//! | `content` | both sides | under its lock, and never while waiting |
//! | `changed` | both sides | given after each change of `content` |
//!
//! The side that writes ends a pipe: with trailers if the body is whole, else with a code. One that is
//! dropped before has failed. When the side that reads is dropped, what is written has no reader.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use canny_io::{Access, Awaited, ByteDevice, Handle, IoError, Wait};
use canny_locks::Mutex;
use canny_sched::{Notice, Seen};

use super::super::failures::End;
use super::super::poll::Ready;
use super::super::streams::{Sink, Source};
use super::super::waits::Waits;
use super::codes::ErrorCode;
use super::fields::Headers;
use super::waiting::wait_for;

/// Most bytes that a pipe holds.
const ROOM: usize = 1 << 16;

/// The end of a body: its trailers, or why it is not whole.
pub type Ending = Result<Headers, ErrorCode>;

struct Pipe {
    content: Mutex<Content>,
    changed: Arc<Notice>,
}

#[derive(Default)]
struct Content {
    bytes: VecDeque<u8>,
    ending: Option<Ending>,
    /// Bytes are not wanted any more, but the ending is.
    discards: bool,
    has_no_reader: bool,
    written: u64,
}

/// The state of a pipe with nothing to read.
enum Empty {
    Open,
    Ended(Ending),
}

impl Pipe {
    fn read(&self, buffer: &mut [u8]) -> Result<usize, Empty> {
        let mut content = self.content.lock();
        if content.bytes.is_empty() {
            return Err(match &content.ending {
                Some(ending) => Empty::Ended(ending.clone()),
                None => Empty::Open,
            });
        }
        let count = io::Read::read(&mut content.bytes, buffer).unwrap_or(0);
        drop(content);
        self.changed.give();
        Ok(count)
    }

    /// Takes as many bytes as there is room for; nothing if nobody reads them.
    fn write(&self, bytes: &[u8]) -> Option<usize> {
        let mut content = self.content.lock();
        if content.has_no_reader || content.ending.is_some() {
            return None;
        }
        let room = if content.discards {
            bytes.len()
        } else {
            ROOM - content.bytes.len()
        };
        let count = bytes.len().min(room);
        if !content.discards {
            content.bytes.extend(&bytes[..count]);
        }
        content.written += count as u64;
        drop(content);
        // A try that takes nothing must not wake up its own wait.
        if count > 0 {
            self.changed.give();
        }
        Some(count)
    }

    fn take_whole(&self) -> Option<(Vec<u8>, Headers)> {
        let mut content = self.content.lock();
        let Some(Ok(trailers)) = content.ending.clone() else {
            return None;
        };
        Some((std::mem::take(&mut content.bytes).into(), trailers))
    }

    fn end(&self, ending: Ending) {
        let mut content = self.content.lock();
        content.ending.get_or_insert(ending);
        drop(content);
        self.changed.give();
    }

    fn has_bytes_or_end(&self) -> bool {
        let content = self.content.lock();
        !content.bytes.is_empty() || content.ending.is_some()
    }

    fn has_room_or_end(&self) -> bool {
        let content = self.content.lock();
        content.bytes.len() < ROOM || content.has_no_reader || content.ending.is_some()
    }
}

/// The two sides of a new pipe.
pub(super) fn pipe() -> (Writer, Reader) {
    let pipe = Arc::new(Pipe {
        content: Mutex::default(),
        changed: Arc::default(),
    });
    (Writer(Arc::clone(&pipe)), Reader(pipe))
}

/// The side of a pipe that writes.
pub(super) struct Writer(Arc<Pipe>);

impl Writer {
    pub fn end(&self, ending: Ending) {
        self.0.end(ending);
    }

    /// How many bytes were written.
    pub fn written(&self) -> u64 {
        self.0.content.lock().written
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.end(Err(ErrorCode::terminated()));
    }
}

/// The side of a pipe that reads.
pub(super) struct Reader(Arc<Pipe>);

impl Reader {
    /// Forgets all bytes, those to come too, and keeps the ending.
    pub fn discard(&self) {
        let mut content = self.0.content.lock();
        content.bytes = VecDeque::new();
        content.discards = true;
        drop(content);
        self.0.changed.give();
    }

    /// The ending, if it has come and everything before it was read.
    pub fn ending(&self) -> Option<Ending> {
        let content = self.0.content.lock();
        content.ending.clone().filter(|_| content.bytes.is_empty())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut content = self.0.content.lock();
        content.bytes = VecDeque::new();
        content.has_no_reader = true;
        drop(content);
        self.0.changed.give();
    }
}

impl Ready for Reader {
    fn is_ready(&self) -> bool {
        self.ending().is_some()
    }

    fn await_ready(&self, waits: &mut Waits) {
        waits.notice(&self.0.changed);
    }
}

/// A body that a guest reads.
pub(super) struct BodySource {
    pub reader: Arc<Reader>,
    /// It is alive as long as the stream.
    pub _is_read: Arc<()>,
}

impl Source for BodySource {
    fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, End> {
        let mut bytes = vec![0; bytes_max.min(ROOM)];
        match self.reader.0.read(&mut bytes) {
            Ok(count) => {
                bytes.truncate(count);
                Ok(bytes)
            }
            Err(Empty::Open) => Ok(Vec::new()),
            Err(Empty::Ended(Ok(_))) => Err(End::Closed),
            Err(Empty::Ended(Err(code))) => Err(code.end()),
        }
    }

    fn is_ready(&mut self) -> bool {
        self.reader.0.has_bytes_or_end()
    }

    fn await_ready(&mut self, waits: &mut Waits) {
        waits.notice(&self.reader.0.changed);
    }
}

/// A body that a guest writes.
pub(super) struct BodySink {
    pub writer: Arc<Writer>,
    /// The length that the message tells.
    pub length: Option<u64>,
    pub is_request: bool,
}

impl Sink for BodySink {
    fn is_ready(&mut self) -> bool {
        self.writer.0.has_room_or_end()
    }

    fn room(&mut self) -> usize {
        (ROOM - self.writer.0.content.lock().bytes.len()).max(1)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, End> {
        let written = self.writer.written().saturating_add(bytes.len() as u64);
        if self.length.is_some_and(|length| written > length) {
            let code = ErrorCode::body_size(self.is_request, written);
            self.writer.end(Err(code.clone()));
            return Err(code.end());
        }
        self.writer.0.write(bytes).ok_or(End::Closed)
    }

    fn await_ready(&mut self, waits: &mut Waits) {
        waits.notice(&self.writer.0.changed);
    }
}

/// A body that the embedder writes for a guest. One that is dropped before its end has failed.
///
/// A guest may keep a body without reading it. So an embedder stops writing when the call has ended.
pub struct BodyWriter(pub(super) Arc<Writer>);

impl BodyWriter {
    /// A handle to write the body, which waits while the guest reads slower. It fails with a broken pipe if
    /// the guest reads no more. Closing it is no end of the body.
    pub fn handle(&self) -> Arc<Handle> {
        let device = WritingDevice {
            writer: Arc::clone(&self.0),
            seen: self.0.0.changed.look(),
        };
        Handle::from_device(Box::new(device), "body", Access::Write)
    }

    /// Ends the body, which is whole.
    pub fn finish(self, trailers: Headers) {
        self.0.end(Ok(trailers));
    }

    /// Ends the body, which is not whole.
    pub fn fail(self, code: ErrorCode) {
        self.0.end(Err(code));
    }
}

impl Drop for BodyWriter {
    fn drop(&mut self) {
        self.0.end(Err(ErrorCode::terminated()));
    }
}

/// A body that a guest writes, for the embedder. Bytes of one that is dropped have no reader.
pub struct BodyReader(pub(super) Arc<Reader>);

impl BodyReader {
    /// A handle to read the body, which waits for the guest. At the end of a body that is not whole it
    /// fails. Handles of one body take its bytes from each other.
    pub fn handle(&self) -> Arc<Handle> {
        let device = ReadingDevice {
            reader: Arc::clone(&self.0),
            seen: self.0.0.changed.look(),
        };
        Handle::from_device(Box::new(device), "body", Access::Read)
    }

    /// Waits for the end of the body to come, whether the bytes before it were read or not.
    pub fn await_end(&self, wait: Wait<'_>) -> Result<(), IoError> {
        let has_ended = || self.0.0.content.lock().ending.as_ref().map(|_| ());
        wait_for(&self.0.0.changed, wait, has_ended)
    }

    /// All bytes that were not read, and the trailers, if the body is complete and its end has come.
    pub fn take_whole(&self) -> Option<(Vec<u8>, Headers)> {
        self.0.0.take_whole()
    }

    /// Ends a body that its guest does not end any more. It is not whole.
    pub fn close(&self) {
        self.0.0.end(Err(ErrorCode::terminated()));
    }

    /// The end of the body, when everything before it was read.
    pub fn ending(&self, wait: Wait<'_>) -> Result<Ending, IoError> {
        wait_for(&self.0.0.changed, wait, || self.0.ending())
    }
}

struct WritingDevice {
    writer: Arc<Writer>,
    /// Up to where the notice was seen before the last try.
    seen: Seen,
}

impl ByteDevice for WritingDevice {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.seen = self.writer.0.changed.look();
        match self.writer.0.write(bytes) {
            None => Err(io::ErrorKind::BrokenPipe.into()),
            Some(0) if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            Some(count) => Ok(count),
        }
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Notice(
            Arc::clone(&self.writer.0.changed),
            self.seen,
        ))
    }
}

struct ReadingDevice {
    reader: Arc<Reader>,
    /// Up to where the notice was seen before the last try.
    seen: Seen,
}

impl ByteDevice for ReadingDevice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.seen = self.reader.0.changed.look();
        match self.reader.0.read(buffer) {
            Ok(count) => Ok(count),
            Err(Empty::Open) => Err(io::ErrorKind::WouldBlock.into()),
            Err(Empty::Ended(Ok(_))) => Ok(0),
            Err(Empty::Ended(Err(code))) => Err(io::Error::other(code.name())),
        }
    }

    fn waits_for(&self) -> Option<Awaited> {
        Some(Awaited::Notice(
            Arc::clone(&self.reader.0.changed),
            self.seen,
        ))
    }
}
