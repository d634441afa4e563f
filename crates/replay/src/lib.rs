//! The world outside of a program while it runs: its answers are kept in a file, or given again.
//!
//! Code that asks the system something asks through here. In a usual run that is a call of the system
//! and the test of a flag. While a program is recorded, each answer is also written to a file, in the
//! order in which the program's thread asked. While it is replayed, nobody asks the system: the
//! answers come from the file. So the program does the same again.
//!
//! | mode | who sets it | what an operation does |
//! |---|---|---|
//! | live | nobody | asks the system |
//! | recording | [`record`], before the machine starts | asks the system and keeps the answer |
//! | replaying | [`replay`], before the machine starts | takes the next answer of the file |
//!
//! Only the thread that called [`record`] or [`replay`] is recorded and replayed: that of the program.
//! Other threads of the process, such as the compiler's, always ask the system, and so does whoever
//! is [`aside`]. A question inside of a question belongs to the outer one.
//!
//! A program that asks something else than it did *diverges*: that ends the replay with a message.
//! Boundaries, stated as absences: nothing here knows handles, ports, tasks or Scheme values.

#![forbid(unsafe_code)]

mod answer;
mod file;
mod kinds;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canny_locks::Mutex;
use rustix::fs::{Mode as FileMode, OFlags};

pub use answer::{Answer, Reading};
pub use file::{Beginning, Recording, is_recording};
pub use kinds::Kind;

use file::Writer;

const LIVE: u8 = 0;
const RECORDING: u8 = 1;
const REPLAYING: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(LIVE);

/// How many answers were kept or given.
static ANSWERS: AtomicU64 = AtomicU64::new(0);

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// The instant from which recorded instants are counted.
static EPOCH: OnceLock<Instant> = OnceLock::new();

/// Called with the number of answers before each one is given. Set once.
static OBSERVER: OnceLock<Observer> = OnceLock::new();

/// Learns how many answers were given.
type Observer = Box<dyn Fn(u64) + Send + Sync>;

/// Bytes on standard output and standard error: those that a replay has written, and those from which on
/// people see them.
static WRITTEN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static SHOWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

thread_local! {
    /// Whether this is the thread of the program, and how often it has stepped aside.
    static IS_PROGRAM: Cell<bool> = const { Cell::new(false) };
    static ASIDE: Cell<u32> = const { Cell::new(0) };
}

enum State {
    Recording(Writer),
    Replaying {
        recording: Recording,
        /// Descriptors of the replay, by their numbers when it was recorded.
        descriptors: HashMap<RawFd, RawFd>,
    },
}

/// The mode, for who has to do something else than to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Live,
    Recording,
    Replaying,
}

/// The mode of this process.
#[inline]
pub fn mode() -> Mode {
    match MODE.load(Ordering::Relaxed) {
        RECORDING => Mode::Recording,
        REPLAYING => Mode::Replaying,
        _ => Mode::Live,
    }
}

/// Whether this thread asks the system, as in a usual run.
#[inline]
fn is_live() -> bool {
    MODE.load(Ordering::Relaxed) == LIVE || !IS_PROGRAM.get() || ASIDE.get() > 0
}

/// Keeps the answers that this thread gets from now on in a file.
pub fn record(path: &Path, beginning: &Beginning) -> io::Result<()> {
    let writer = Writer::create(path, beginning)?;
    begin(State::Recording(writer), RECORDING);
    Ok(())
}

/// Gives this thread the answers of a recording from now on.
pub fn replay(recording: Recording) {
    let state = State::Replaying {
        recording,
        descriptors: HashMap::new(),
    };
    begin(state, REPLAYING);
}

fn begin(state: State, mode: u8) {
    let _ = EPOCH.set(Instant::now());
    *STATE.lock() = Some(state);
    IS_PROGRAM.set(true);
    MODE.store(mode, Ordering::SeqCst);
}

/// The recording is complete, as far as it goes: writes what is not in the file yet.
pub fn flush() -> io::Result<()> {
    match &mut *STATE.lock() {
        Some(State::Recording(writer)) => writer.flush(),
        _ => Ok(()),
    }
}

/// How many answers were kept or given so far.
pub fn answers() -> u64 {
    ANSWERS.load(Ordering::Relaxed)
}

/// Output of a replay that people have seen, and do not see again: bytes on standard output and on
/// standard error.
pub fn set_shown(bytes: [u64; 2]) {
    for (shown, bytes) in SHOWN.iter().zip(bytes) {
        shown.store(bytes, Ordering::Relaxed);
    }
}

/// How much of it they have seen.
pub fn shown() -> [u64; 2] {
    [0, 1].map(|index| {
        let written = WRITTEN[index].load(Ordering::Relaxed);
        written.max(SHOWN[index].load(Ordering::Relaxed))
    })
}

/// The part of output that people have not seen. `stream` is 0 for standard output, 1 for standard error.
pub fn unseen(stream: usize, bytes: &[u8]) -> &[u8] {
    let length = bytes.len() as u64;
    let before = WRITTEN[stream].fetch_add(length, Ordering::Relaxed);
    let hidden = SHOWN[stream].load(Ordering::Relaxed).saturating_sub(before);
    &bytes[hidden.min(length) as usize..]
}

/// Sets who learns of each answer in a replay, before it is given.
pub fn observe(observer: Observer) {
    let _ = OBSERVER.set(observer);
}

/// Does something that is not a part of the program, such as the work of a debugger.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    step_aside();
    let result = work();
    come_back();
    result
}

/// Questions of this thread are from now on no part of the program, until as many calls of [`come_back`].
pub fn step_aside() {
    ASIDE.set(ASIDE.get() + 1);
}

/// See [`step_aside`].
pub fn come_back() {
    ASIDE.set(ASIDE.get().saturating_sub(1));
}

/// Whether this thread gets the answers of a recording.
pub fn is_replaying() -> bool {
    MODE.load(Ordering::Relaxed) == REPLAYING && !is_live()
}

/// Asks the system something, or gives what it answered.
#[inline]
pub fn ask<T: Answer>(kind: Kind, live: impl FnOnce() -> T) -> T {
    if is_live() {
        return live();
    }
    ask_kept(kind, live)
}

#[cold]
fn ask_kept<T: Answer>(kind: Kind, live: impl FnOnce() -> T) -> T {
    if MODE.load(Ordering::Relaxed) == RECORDING {
        let answer = aside(live);
        keep(kind, &|bytes| answer.write(bytes));
        return answer;
    }
    given(kind, |payload| T::read(payload))
}

/// Reads bytes into a buffer, or gives those that were read.
#[inline]
pub fn ask_for_bytes<E>(
    kind: Kind,
    buffer: &mut [u8],
    live: impl FnOnce(&mut [u8]) -> Result<usize, E>,
) -> Result<usize, E>
where
    Result<usize, E>: Answer,
{
    if is_live() {
        return live(buffer);
    }
    if MODE.load(Ordering::Relaxed) == RECORDING {
        let answer = aside(|| live(buffer));
        let count = *answer.as_ref().unwrap_or(&0);
        keep(kind, &|bytes| {
            answer.write(bytes);
            bytes.extend_from_slice(&buffer[..count.min(buffer.len())]);
        });
        return answer;
    }
    given(kind, |payload| {
        let answer = Result::<usize, E>::read(payload)?;
        if let Ok(count) = answer {
            let read = payload.take(count)?;
            buffer.get_mut(..count)?.copy_from_slice(read);
        }
        Some(answer)
    })
}

/// Writes bytes, or gives how many of them were written. The bytes themselves are not kept; a program that
/// writes others has diverged.
#[inline]
pub fn ask_to_write<E>(
    kind: Kind,
    bytes: &[u8],
    live: impl FnOnce(&[u8]) -> Result<usize, E>,
) -> Result<usize, E>
where
    Result<usize, E>: Answer,
{
    if is_live() {
        return live(bytes);
    }
    if MODE.load(Ordering::Relaxed) == RECORDING {
        let answer = aside(|| live(bytes));
        let count = *answer.as_ref().unwrap_or(&0);
        let sum = answer::sum(&bytes[..count.min(bytes.len())]);
        keep(kind, &|kept| {
            answer.write(kept);
            sum.write(kept);
        });
        return answer;
    }
    let (answer, sum) = given(kind, |payload| {
        let answer = Result::<usize, E>::read(payload)?;
        Some((answer, u64::read(payload)?))
    });
    let count = *answer.as_ref().unwrap_or(&0);
    if bytes.get(..count).map(answer::sum) != Some(sum) {
        diverge("it writes other bytes");
    }
    answer
}

/// Opens something, or stands in for it by a descriptor that leads nowhere.
pub fn ask_for_descriptor<E>(
    kind: Kind,
    live: impl FnOnce() -> Result<OwnedFd, E>,
) -> Result<OwnedFd, E>
where
    Result<i32, E>: Answer,
    E: From<rustix::io::Errno>,
{
    if is_live() {
        return live();
    }
    if MODE.load(Ordering::Relaxed) == RECORDING {
        let opened = aside(live);
        let answer = opened.map(|descriptor| (descriptor.as_raw_fd(), descriptor));
        let (answer, descriptor) = match answer {
            Ok((number, descriptor)) => (Ok(number), Some(descriptor)),
            Err(error) => (Err(error), None),
        };
        keep(kind, &|bytes| answer.write(bytes));
        return answer.map(|_| descriptor.expect("it was opened"));
    }
    let number = given(kind, Result::<i32, E>::read)?;
    let nowhere = rustix::fs::open(
        "/dev/null",
        OFlags::RDWR | OFlags::CLOEXEC,
        FileMode::empty(),
    )?;
    if let Some(State::Replaying { descriptors, .. }) = &mut *STATE.lock() {
        descriptors.insert(number, nowhere.as_fd().as_raw_fd());
    }
    Ok(nowhere)
}

/// The descriptor of the replay that stands for one of the recording.
pub fn descriptor_of(recorded: RawFd) -> RawFd {
    match &*STATE.lock() {
        Some(State::Replaying { descriptors, .. }) => {
            descriptors.get(&recorded).copied().unwrap_or(recorded)
        }
        _ => recorded,
    }
}

/// Now, by the clock that only goes forward.
#[inline]
pub fn now() -> Instant {
    if is_live() {
        return Instant::now();
    }
    let epoch = *EPOCH.get_or_init(Instant::now);
    let since = ask_kept(Kind::Clock, || {
        let since = Instant::now().saturating_duration_since(epoch);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    });
    epoch + Duration::from_nanos(since)
}

/// The text of a source file: it is kept once, by its name, and not as an answer in order.
pub fn source(path: &Path, live: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    if is_live() {
        return live();
    }
    let name = path.to_string_lossy();
    if MODE.load(Ordering::Relaxed) == RECORDING {
        let bytes = aside(live)?;
        if let Some(State::Recording(writer)) = &mut *STATE.lock() {
            writer.source(&name, &bytes);
        }
        return Ok(bytes);
    }
    match &*STATE.lock() {
        Some(State::Replaying { recording, .. }) => recording
            .source(&name)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| io::ErrorKind::NotFound.into()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn keep(kind: Kind, write: &dyn Fn(&mut Vec<u8>)) {
    ANSWERS.fetch_add(1, Ordering::Relaxed);
    if let Some(State::Recording(writer)) = &mut *STATE.lock() {
        writer.answer(kind, write);
        if matches!(kind, Kind::Events | Kind::Ready) {
            writer.flush_now_and_then();
        }
    }
}

/// The next answer of the recording.
fn given<T>(kind: Kind, read: impl FnOnce(&mut Reading<'_>) -> Option<T>) -> T {
    let before = ANSWERS.fetch_add(1, Ordering::Relaxed);
    if let Some(observer) = OBSERVER.get() {
        observer(before);
    }
    let outcome = match &mut *STATE.lock() {
        Some(State::Replaying { recording, .. }) => match recording.next() {
            None => Err("the recording ends here".to_owned()),
            Some((found, mut payload)) if found == kind => {
                let answer = read(&mut payload);
                answer.ok_or_else(|| format!("the answer to '{}' is damaged", kind.name()))
            }
            Some((found, _)) => Err(format!(
                "it asks for '{}', and asked for '{}' when it was recorded",
                kind.name(),
                found.name()
            )),
        },
        _ => Err("there is no recording".to_owned()),
    };
    match outcome {
        Ok(answer) => answer,
        Err(message) => diverge(&message),
    }
}

/// The replay cannot go on, for a reason that who asked knows.
pub fn give_up(message: &str) -> ! {
    diverge(message)
}

/// The program does something else than it did, and cannot go on.
fn diverge(message: &str) -> ! {
    let text = format!(
        "the replay cannot go on after {} answers: {message}",
        answers()
    );
    eprintln!("canny: {text}");
    std::process::exit(70);
}
