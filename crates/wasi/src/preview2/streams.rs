//! `wasi:io/streams`: streams of bytes over sources and sinks of any kind.
//!
//! A sink may take fewer bytes than a stream has allowed the guest to write. The stream holds the rest
//! back, allows no more until that is taken, and the rest is sent while later calls wait. So a stream
//! that is dropped loses nothing.

use std::sync::Arc;

use canny_component::Value;
use canny_locks::{Mutex, MutexGuard};

use super::call::{Call, Outcome, Stop, failure_with, success, success_with, trap};
use super::failures::End;
use super::poll::{Ready, subscribe};
use super::table::Resource;
use super::values;
use super::waits::Waits;
use super::{Interface, Row};

pub const INTERFACES: &[Interface] = &[Interface {
    name: "wasi:io/streams",
    functions: ROWS,
    resources: &["input-stream", "output-stream"],
}];

/// Most bytes of one read, and of one write.
pub const AT_ONCE: usize = 1 << 16;

/// Most bytes of a write that waits, as its interface says.
const WAITING_MAX: u64 = 4096;

/// A place that bytes are read from.
pub trait Source: Send {
    /// Takes at most so many bytes, which is not zero. None are there now if it gives none.
    fn read(&mut self, bytes_max: usize) -> Result<Vec<u8>, End>;

    /// Whether reading gives bytes or the end.
    fn is_ready(&mut self) -> bool;

    /// Adds the events after which it may be.
    fn await_ready(&mut self, waits: &mut Waits);
}

/// A place that bytes are written to.
pub trait Sink: Send {
    /// Whether writing takes bytes or fails. It may be wrong if only a try can tell.
    fn is_ready(&mut self) -> bool;

    /// Most bytes of a write when it is ready.
    fn room(&mut self) -> usize {
        AT_ONCE
    }

    /// Writes bytes, and gives how many it has taken.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, End>;

    /// Has others take the bytes too. It is to be called again if the answer is false.
    fn flush(&mut self) -> Result<bool, End> {
        Ok(true)
    }

    /// Tells others that nothing follows.
    fn finish(&mut self) {}

    /// Adds the events after which it may be ready.
    fn await_ready(&mut self, waits: &mut Waits);
}

/// An input stream. Clones are the same one.
#[derive(Clone)]
pub struct Input(Arc<Mutex<Reading>>);

struct Reading {
    source: Box<dyn Source>,
    has_ended: bool,
}

impl Resource for Input {
    const NAME: &'static str = "input-stream";
}

impl Input {
    pub fn new(source: impl Source + 'static) -> Input {
        let source: Box<dyn Source> = Box::new(source);
        let has_ended = false;
        Input(Arc::new(Mutex::new(Reading { source, has_ended })))
    }

    /// Reads what is there, of at most so many bytes.
    fn read(&self, bytes_max: u64) -> Result<Vec<u8>, End> {
        let mut reading = self.0.lock();
        if reading.has_ended {
            return Err(End::Closed);
        }
        let bytes_max = usize::try_from(bytes_max).unwrap_or(AT_ONCE).min(AT_ONCE);
        if bytes_max == 0 {
            return Ok(Vec::new());
        }
        let read = reading.source.read(bytes_max);
        reading.has_ended = read.is_err();
        read
    }

    /// The same, or the events to wait for if there is nothing.
    fn read_or_wait(&self, bytes_max: u64) -> Result<Result<Vec<u8>, End>, Waits> {
        let is_something = |read: &Result<Vec<u8>, End>| match read {
            Ok(bytes) => !bytes.is_empty() || bytes_max == 0,
            Err(_) => true,
        };
        let read = self.read(bytes_max);
        if is_something(&read) {
            return Ok(read);
        }
        let mut waits = Waits::default();
        self.await_ready(&mut waits);
        let read = self.read(bytes_max);
        if is_something(&read) {
            Ok(read)
        } else {
            Err(waits)
        }
    }
}

impl Ready for Input {
    fn is_ready(&self) -> bool {
        let mut reading = self.0.lock();
        reading.has_ended || reading.source.is_ready()
    }

    fn await_ready(&self, waits: &mut Waits) {
        self.0.lock().source.await_ready(waits);
    }
}

/// An output stream. Clones are the same one.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Writing>>);

struct Writing {
    sink: Box<dyn Sink>,
    /// Bytes that the sink has not taken.
    unsent: Vec<u8>,
    /// So many bytes may be written.
    allowed: usize,
    /// A write that waits has begun: its bytes are not to be written once more.
    has_begun: bool,
    /// The end of the stream, until the guest knows of it.
    end: Option<End>,
    has_ended: bool,
    /// The sink is to be finished when it has taken everything.
    is_closing: bool,
}

impl Resource for Output {
    const NAME: &'static str = "output-stream";
}

impl Writing {
    /// The end of the stream, if it has one.
    fn check_end(&mut self) -> Result<(), End> {
        match self.end.take() {
            Some(end) => Err(end),
            None if self.has_ended => Err(End::Closed),
            None => Ok(()),
        }
    }

    fn ended(&mut self, end: End) {
        self.unsent = Vec::new();
        self.is_closing = false;
        self.allowed = 0;
        self.has_ended = true;
        self.end = Some(end);
    }

    /// Has the sink take what is held back. Says whether nothing is left.
    fn send(&mut self) -> bool {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.sink.write(&self.unsent[sent..]) {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(end) => {
                    self.ended(end);
                    return true;
                }
            }
        }
        self.unsent.drain(..sent);
        if self.unsent.is_empty() && std::mem::take(&mut self.is_closing) {
            self.sink.finish();
        }
        self.unsent.is_empty()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        self.send();
    }

    fn is_ready(&mut self) -> bool {
        let is_empty = self.send();
        self.has_ended || is_empty && self.sink.is_ready()
    }

    /// Sends everything and flushes, or gives the events to wait for.
    fn complete(&mut self) -> Result<Result<(), End>, Waits> {
        let mut waits = Waits::default();
        self.sink.await_ready(&mut waits);
        if !self.send() {
            return Err(waits);
        }
        if let Err(end) = self.check_end() {
            return Ok(Err(end));
        }
        match self.sink.flush() {
            Ok(true) => Ok(Ok(())),
            Ok(false) => Err(waits),
            Err(end) => {
                self.ended(end);
                Ok(self.check_end())
            }
        }
    }
}

impl Output {
    pub fn new(sink: impl Sink + 'static) -> Output {
        Output(Arc::new(Mutex::new(Writing {
            sink: Box::new(sink),
            unsent: Vec::new(),
            allowed: 0,
            has_begun: false,
            end: None,
            has_ended: false,
            is_closing: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.0.lock()
    }

    /// Whether it is the same stream.
    pub fn is(&self, other: &Output) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether others have it, too.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether it holds bytes back.
    pub fn has_unsent(&self) -> bool {
        !self.lock().unsent.is_empty()
    }

    /// Sends what it holds back, and says whether nothing is left. It adds the events to wait for.
    pub fn send(&self, waits: &mut Waits) -> bool {
        let mut writing = self.lock();
        if writing.send() {
            return true;
        }
        writing.sink.await_ready(waits);
        writing.send()
    }

    /// Closes it for the guest, and for others when everything is sent.
    pub fn close(&self) {
        let mut writing = self.lock();
        writing.allowed = 0;
        writing.is_closing = !writing.has_ended;
        writing.has_ended = true;
        writing.send();
    }

    /// How many bytes may be written now.
    fn check(&self) -> Result<usize, End> {
        let mut writing = self.lock();
        let is_ready = writing.is_ready();
        writing.check_end()?;
        writing.allowed = if is_ready { writing.sink.room() } else { 0 };
        Ok(writing.allowed)
    }
}

impl Ready for Output {
    fn is_ready(&self) -> bool {
        self.lock().is_ready()
    }

    fn await_ready(&self, waits: &mut Waits) {
        self.lock().sink.await_ready(waits);
    }
}

const ROWS: &[Row] = &[
    ("[method]input-stream.read", |call| {
        let (input, most) = (call.get::<Input>(0)?.clone(), call.wide(1)?);
        let read = input.read(most);
        given(call, read.map(Value::Bytes))
    }),
    ("[method]input-stream.blocking-read", |call| {
        let (input, most) = (call.get::<Input>(0)?.clone(), call.wide(1)?);
        let read = input.read_or_wait(most).map_err(Stop::Wait)?;
        given(call, read.map(Value::Bytes))
    }),
    ("[method]input-stream.skip", |call| {
        let (input, most) = (call.get::<Input>(0)?.clone(), call.wide(1)?);
        let read = input.read(most);
        given(call, read.map(count))
    }),
    ("[method]input-stream.blocking-skip", |call| {
        let (input, most) = (call.get::<Input>(0)?.clone(), call.wide(1)?);
        let read = input.read_or_wait(most).map_err(Stop::Wait)?;
        given(call, read.map(count))
    }),
    ("[method]input-stream.subscribe", |call| {
        let input = call.get::<Input>(0)?.clone();
        subscribe(call, Arc::new(input))
    }),
    ("[method]output-stream.check-write", |call| {
        let allowed = call.get::<Output>(0)?.check();
        given(call, allowed.map(|allowed| Value::U64(allowed as u64)))
    }),
    ("[method]output-stream.write", |call| {
        let bytes = call.bytes(1)?;
        write(call, bytes)
    }),
    ("[method]output-stream.write-zeroes", |call| {
        let length = call.wide(1)?;
        let allowed = call.get::<Output>(0)?.lock().allowed;
        if length > allowed as u64 {
            return Err(not_allowed(length, allowed));
        }
        write(call, &vec![0; length as usize])
    }),
    ("[method]output-stream.blocking-write-and-flush", |call| {
        let bytes = call.bytes(1)?;
        check_waiting(bytes.len() as u64)?;
        write_and_wait(call, bytes)
    }),
    (
        "[method]output-stream.blocking-write-zeroes-and-flush",
        |call| {
            let length = call.wide(1)?;
            check_waiting(length)?;
            write_and_wait(call, &vec![0; length as usize])
        },
    ),
    ("[method]output-stream.flush", |call| {
        let output = call.get::<Output>(0)?.clone();
        let completed = output.lock().complete();
        match completed {
            Ok(Err(end)) => Err(stream_error(call, end)?),
            // `check-write` tells when it is done.
            Ok(Ok(())) | Err(_) => success(),
        }
    }),
    ("[method]output-stream.blocking-flush", |call| {
        let output = call.get::<Output>(0)?.clone();
        let completed = output.lock().complete();
        match completed.map_err(Stop::Wait)? {
            Ok(()) => success(),
            Err(end) => Err(stream_error(call, end)?),
        }
    }),
    ("[method]output-stream.subscribe", |call| {
        let output = call.get::<Output>(0)?.clone();
        subscribe(call, Arc::new(output))
    }),
    ("[method]output-stream.splice", |call| {
        let (output, input, most) = splice_arguments(call)?;
        let moved = splice(&output, &input, most);
        call.state.keep_unsent(&output);
        given(call, moved.map(|count| Value::U64(count as u64)))
    }),
    ("[method]output-stream.blocking-splice", |call| {
        let (output, input, most) = splice_arguments(call)?;
        for part in [&output as &dyn Ready, &input] {
            if !part.is_ready() {
                let mut waits = Waits::default();
                part.await_ready(&mut waits);
                if !part.is_ready() {
                    return Err(Stop::Wait(waits));
                }
            }
        }
        let moved = splice(&output, &input, most);
        call.state.keep_unsent(&output);
        given(call, moved.map(|count| Value::U64(count as u64)))
    }),
];

fn count(bytes: Vec<u8>) -> Value {
    Value::U64(bytes.len() as u64)
}

/// An error of a stream as the guest gets it.
fn stream_error(call: &mut Call<'_>, end: End) -> Result<Stop, Stop> {
    let error = match end {
        End::Closed => Value::Variant(1, None),
        End::Failed(failure) => values::holding(0, call.give(failure)?),
    };
    Ok(failure_with(error))
}

fn given(call: &mut Call<'_>, result: Result<Value, End>) -> Outcome {
    match result {
        Ok(value) => success_with(value),
        Err(end) => Err(stream_error(call, end)?),
    }
}

fn not_allowed(length: u64, allowed: usize) -> Stop {
    trap(format!(
        "a guest writes {length} bytes, but check-write has allowed {allowed}"
    ))
}

fn check_waiting(length: u64) -> Result<(), Stop> {
    if length > WAITING_MAX {
        return Err(trap(format!(
            "a write of {length} bytes that waits is longer than {WAITING_MAX}"
        )));
    }
    Ok(())
}

fn write(call: &mut Call<'_>, bytes: &[u8]) -> Outcome {
    let output = call.get::<Output>(0)?.clone();
    {
        let mut writing = output.lock();
        if let Err(end) = writing.check_end() {
            drop(writing);
            return Err(stream_error(call, end)?);
        }
        if bytes.len() > writing.allowed {
            return Err(not_allowed(bytes.len() as u64, writing.allowed));
        }
        writing.allowed -= bytes.len();
        writing.write(bytes);
    }
    call.state.keep_unsent(&output);
    success()
}

fn write_and_wait(call: &mut Call<'_>, bytes: &[u8]) -> Outcome {
    let output = call.get::<Output>(0)?.clone();
    let completed = {
        let mut writing = output.lock();
        if !writing.has_begun {
            // Bytes that were written before go first; then there is room.
            match writing.complete() {
                Ok(Ok(())) => {
                    writing.has_begun = true;
                    writing.write(bytes);
                    writing.complete()
                }
                other => other,
            }
        } else {
            writing.complete()
        }
    };
    let completed = completed.map_err(Stop::Wait)?;
    output.lock().has_begun = false;
    match completed {
        Ok(()) => success(),
        Err(end) => Err(stream_error(call, end)?),
    }
}

fn splice_arguments(call: &mut Call<'_>) -> Result<(Output, Input, u64), Stop> {
    let output = call.get::<Output>(0)?.clone();
    Ok((output, call.get::<Input>(1)?.clone(), call.wide(2)?))
}

fn splice(output: &Output, input: &Input, bytes_max: u64) -> Result<usize, End> {
    let allowed = output.check()?;
    let bytes = input.read(bytes_max.min(allowed as u64))?;
    let mut writing = output.lock();
    writing.write(&bytes);
    writing.allowed = 0;
    Ok(bytes.len())
}
