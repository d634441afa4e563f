//! The side that asks.
//!
//! The process is held by a descriptor first, then looked at, and the signal goes to the descriptor. So the
//! system may give the number to another process meanwhile.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};

use super::directory::{self, Place};
use super::frames::{self, Kind, Next, Reader, Request};
use super::{PROGRAM_THREAD, SIGNAL};

/// Time in which a process has to listen.
const LISTEN_TIME: Duration = Duration::from_secs(5);
/// Time between two signals.
const SIGNAL_TIME: Duration = Duration::from_secs(1);
/// Time between two attempts to connect.
const CONNECT_TIME: Duration = Duration::from_millis(5);
/// Time between two looks at whether the caller wants to stop.
const TICK: Duration = Duration::from_millis(100);
/// Time that an answer may take after a stop.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Why a process gave no answer, or a part of it only.
#[derive(Debug)]
pub enum AskError {
    /// There is no process of this number.
    NoProcess(u32),
    /// The process belongs to another user.
    OtherUser(u32),
    /// It does not catch the signal.
    NotCanny(u32),
    /// It listens at no socket.
    NoAnswer(u32),
    /// It ended before the answer was complete.
    Ended(u32),
    /// Its message.
    Refused(String),
    /// Its socket cannot be used, or what was received cannot be kept.
    Io(io::Error),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::NoProcess(process) => write!(f, "there is no process {process}"),
            AskError::OtherUser(process) => {
                write!(
                    f,
                    "process {process} belongs to another user; ask as that user"
                )
            }
            AskError::NotCanny(process) => {
                write!(
                    f,
                    "process {process} is no program that runs with this version of Canny"
                )
            }
            AskError::NoAnswer(process) => write!(f, "process {process} does not answer"),
            AskError::Ended(process) => {
                write!(f, "process {process} ended before its answer was complete")
            }
            AskError::Refused(message) => f.write_str(message),
            AskError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AskError {}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> AskError {
        AskError::Io(error)
    }
}

/// The caller's part.
pub trait Reply {
    /// Takes a part of the answer.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Whether the rest is not wanted. It is asked now and then.
    fn wants_stop(&mut self) -> bool {
        false
    }
}

/// Asks a process, and waits until its answer is complete.
///
/// # Errors
/// Those of [`AskError`]. The part of the answer that came before was given to `reply`.
pub fn ask(process: u32, request: &Request, reply: &mut dyn Reply) -> Result<(), AskError> {
    let mut stream = connect(process)?;
    frames::write(&mut stream, Kind::Request, &request.to_bytes())?;
    receive(process, stream, reply).map(drop)
}

/// The same with an open file, which the process gets. The text is that at the end of the answer.
///
/// # Errors
/// Those of [`AskError`].
pub fn ask_with_file(
    process: u32,
    request: &Request,
    file: &File,
    reply: &mut dyn Reply,
) -> Result<String, AskError> {
    let mut stream = connect(process)?;
    let mut frame = Vec::new();
    frames::write(&mut frame, Kind::Request, &request.to_bytes())?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    // There is room for one.
    control.push(SendAncillaryMessage::ScmRights(&files));
    let pieces = [IoSlice::new(&frame)];
    let sent = sendmsg(&stream, &pieces, &mut control, SendFlags::NOSIGNAL);
    let sent = sent.map_err(io::Error::from)?;
    stream.write_all(&frame[sent..])?;
    receive(process, stream, reply)
}

/// Receives an answer; the text at its end.
fn receive(
    process: u32,
    mut stream: UnixStream,
    reply: &mut dyn Reply,
) -> Result<String, AskError> {
    stream.set_read_timeout(Some(TICK))?;
    let mut reader = Reader::default();
    let mut stopped: Option<Instant> = None;
    loop {
        match reader.next(&mut stream)? {
            Next::Frame(Kind::Data, content) => reply.take(&content)?,
            Next::Frame(Kind::End, content) => {
                return Ok(String::from_utf8_lossy(&content).into_owned());
            }
            Next::Frame(Kind::Failure, content) => {
                let message = String::from_utf8_lossy(&content).into_owned();
                return Err(AskError::Refused(message));
            }
            Next::Frame(..) | Next::Nothing => {}
            Next::Closed => return Err(AskError::Ended(process)),
        }
        match stopped {
            None if reply.wants_stop() => {
                stopped = Some(Instant::now());
                frames::write(&mut stream, Kind::Stop, &[])?;
            }
            Some(since) if since.elapsed() > STOP_TIME => {
                return Err(AskError::NoAnswer(process));
            }
            _ => {}
        }
    }
}

fn connect(process: u32) -> Result<UnixStream, AskError> {
    let missing = || AskError::NoProcess(process);
    let number = i32::try_from(process).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(missing)?;
    let held = pidfd_open(number, PidfdFlags::empty()).map_err(|_| missing())?;
    check_process(process)?;
    let place = directory::place_of(process);
    let begun = Instant::now();
    let mut signalled: Option<Instant> = None;
    while begun.elapsed() < LISTEN_TIME {
        if signalled.is_none_or(|at| at.elapsed() > SIGNAL_TIME) {
            // A process that listens already takes no notice.
            pidfd_send_signal(&held, SIGNAL).map_err(|_| missing())?;
            signalled = Some(Instant::now());
        }
        if let Some(stream) = try_connect(process, &place)? {
            return Ok(stream);
        }
        std::thread::sleep(CONNECT_TIME);
    }
    Err(AskError::NoAnswer(process))
}

fn try_connect(process: u32, place: &Place) -> Result<Option<UnixStream>, AskError> {
    match directory::check(&place.directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        checked => checked?,
    }
    let Ok(stream) = UnixStream::connect(&place.socket) else {
        return Ok(None);
    };
    let peer = socket_peercred(&stream).map_err(io::Error::from)?;
    let is_right = peer.pid.as_raw_pid() as u32 == process;
    Ok(Some(stream).filter(|_| is_right))
}

/// Fails unless the process is one of this user's that catches the signal.
fn check_process(process: u32) -> Result<(), AskError> {
    let missing = |_| AskError::NoProcess(process);
    let status = fs::read_to_string(format!("/proc/{process}/status")).map_err(missing)?;
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    };
    let is_over = field("State").is_some_and(|state| state.starts_with(['Z', 'X']));
    if is_over {
        return Err(AskError::NoProcess(process));
    }
    // The real, effective and saved ones.
    let own = rustix::process::geteuid().as_raw().to_string();
    let users = field("Uid").unwrap_or_default();
    if users.split_whitespace().take(3).any(|user| user != own) {
        return Err(AskError::OtherUser(process));
    }
    let caught = field("SigCgt").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let catches = caught.is_some_and(|mask| mask >> (SIGNAL.as_raw() - 1) & 1 == 1);
    if catches && has_program_thread(process) {
        Ok(())
    } else {
        Err(AskError::NotCanny(process))
    }
}

/// The processes of this user that can be asked, with the ends of their command lines.
pub fn processes() -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    let asked = numbers.filter(|process| *process != own && check_process(*process).is_ok());
    let mut found: Vec<(u32, String)> = asked
        .map(|process| {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            let words: Vec<&str> = line.trim_end_matches('\0').split('\0').skip(1).collect();
            (process, words.join(" "))
        })
        .collect();
    found.sort();
    found
}

fn has_program_thread(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    threads.into_iter().flatten().flatten().any(|thread| {
        let name = fs::read_to_string(thread.path().join("comm"));
        name.is_ok_and(|name| name.trim_end() == PROGRAM_THREAD)
    })
}
