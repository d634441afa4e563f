//! Memory between the sockets of a connection and the frames in it: what came, and what is to be sent.
//!
//! The state machine of the frames reads and writes here and never waits: no more input and too much
//! output are both "not now", and whoever feeds or drains the pipe polls it again.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use canny_locks::{Mutex, MutexGuard};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::blocks::BlockTracker;

/// More output than this is not taken before some of it was sent.
const OUTPUT_MAX: usize = 64 * 1024;

/// Buffers of more than this are given back when they are empty.
const KEPT_BYTES: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct Pipe {
    input: Vec<u8>,
    taken: usize,
    /// No input follows.
    pub(super) has_ended: bool,
    output: Vec<u8>,
    written: usize,
    /// Output was not taken: there is more to do when it was sent.
    pub(super) is_full: bool,
    pub(super) blocks: BlockTracker,
}

impl Pipe {
    /// Takes what came from the other side.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.blocks.pass(bytes);
        self.input.extend_from_slice(bytes);
    }

    pub(super) fn has_input(&self) -> bool {
        self.taken < self.input.len()
    }

    /// Whether nothing is there, on either side.
    pub(super) fn is_quiet(&self) -> bool {
        !(self.has_input() || self.has_ended || self.is_full) && self.output().is_empty()
    }

    /// The bytes to be sent.
    pub(super) fn output(&self) -> &[u8] {
        &self.output[self.written..]
    }

    /// So much of the output was sent.
    pub(super) fn sent(&mut self, count: usize) {
        self.written += count;
        if self.written == self.output.len() {
            clear(&mut self.output, &mut self.written);
        }
    }
}

fn clear(buffer: &mut Vec<u8>, position: &mut usize) {
    *position = 0;
    if buffer.capacity() > KEPT_BYTES {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}

/// The pipe's end for the frames.
#[derive(Clone, Debug, Default)]
pub(super) struct PipeEnd(Arc<Mutex<Pipe>>);

impl PipeEnd {
    pub(super) fn lock(&self) -> MutexGuard<'_, Pipe> {
        self.0.lock()
    }
}

impl AsyncRead for PipeEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = self.lock();
        let pipe = &mut *pipe;
        let unread = &pipe.input[pipe.taken..];
        if unread.is_empty() && !pipe.has_ended {
            return Poll::Pending;
        }
        let count = unread.len().min(buffer.remaining());
        buffer.put_slice(&unread[..count]);
        pipe.taken += count;
        if pipe.taken == pipe.input.len() {
            clear(&mut pipe.input, &mut pipe.taken);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.lock();
        let mut room = OUTPUT_MAX.saturating_sub(pipe.output().len());
        if room == 0 {
            pipe.is_full = true;
            return Poll::Pending;
        }
        if pipe.written > 0 {
            let written = std::mem::take(&mut pipe.written);
            pipe.output.drain(..written);
        }
        let mut count = 0;
        for part in parts {
            let part = &part[..part.len().min(room)];
            pipe.output.extend_from_slice(part);
            room -= part.len();
            count += part.len();
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
