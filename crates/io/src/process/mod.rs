//! Processes: starting them, waiting for their end, signals.
//!
//! | field | touched | condition |
//! |---|---|---|
//! | `id`, `leads_group` | read by anyone | fixed at creation |
//! | `state` | any operation | under its lock, and never while sleeping |
//!
//! A process that ended stays known to the system until its status was taken, and only under the lock
//! is it taken. So a signal sent under the lock, before that, never reaches a stranger that got the
//! same number later.
//!
//! Nothing is left behind: a [`Process`] that is dropped while it runs goes to a list that every start
//! looks through.

#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_locks::{Mutex, MutexGuard};
use canny_replay::{Answer, Kind, Mode, Reading};
use canny_sched::{Interest, Wake};
use rustix::process::{Pid, Signal};
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::wait::Wait;

/// The destination of a stream of a new process.
#[derive(Debug)]
pub enum Stream {
    /// The destination of this process's own stream.
    Inherit,
    /// Nowhere.
    Null,
    /// Here, by a pipe.
    Pipe,
    /// To something open.
    Given(OwnedFd),
    /// The destination of its output; for its error stream only.
    Output,
}

/// The group of a new process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// That of this process.
    Same,
    /// One of its own.
    New,
    /// That of the process with this number.
    Of(i32),
}

/// The program to start, and its options.
#[derive(Debug)]
pub struct Start {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// All variables, if they are not those of this process.
    pub environment: Option<Vec<(OsString, OsString)>>,
    pub directory: Option<PathBuf>,
    pub input: Stream,
    pub output: Stream,
    pub error: Stream,
    pub group: Group,
    /// Rows and columns of a terminal that all three streams lead to, in place of what they say.
    pub terminal: Option<(u16, u16)>,
}

impl Start {
    /// The leader of a session leads a group.
    fn leads_group(&self) -> bool {
        self.group == Group::New || self.terminal.is_some()
    }
}

/// A process that was started, and our ends of its pipes.
#[derive(Debug)]
pub struct Started {
    pub process: Process,
    pub input: Option<OwnedFd>,
    pub output: Option<OwnedFd>,
    pub error: Option<OwnedFd>,
}

/// A child of this process.
#[derive(Debug)]
pub struct Process {
    id: i32,
    leads_group: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Running {
        /// None in a replay.
        child: Option<Child>,
        /// Readable when the process ended, on systems that have such descriptors.
        end: Option<Arc<OwnedFd>>,
    },
    Ended(Ending),
    /// Somebody else looks after it.
    Orphan,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Answer for Ending {
    fn write(&self, bytes: &mut Vec<u8>) {
        match *self {
            Ending::Code(code) => (true, code).write(bytes),
            Ending::Signal(signal) => (false, signal).write(bytes),
        }
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Ending> {
        let (is_code, number) = <(bool, i32)>::read(bytes)?;
        Some(if is_code {
            Ending::Code(number)
        } else {
            Ending::Signal(number)
        })
    }
}

/// Processes that no task waits for any more.
static ORPHANS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Processes that end when this one does, though whoever started them may be gone by then.
static COMPANIONS: Mutex<Vec<Arc<Process>>> = Mutex::new(Vec::new());

/// How long they have after a polite signal.
const COMPANION_GRACE: Duration = Duration::from_millis(500);

fn companions() -> MutexGuard<'static, Vec<Arc<Process>>> {
    COMPANIONS.lock()
}

/// Remembers that a process, with its group if it leads one, ends when this one does: see [`end_companions`].
pub fn end_with_program(process: &Arc<Process>) {
    let mut companions = companions();
    companions.retain(|known| known.is_awaited());
    companions.push(Arc::clone(process));
}

/// Ends the processes that were to end with this one, first politely. The code that ends the program
/// calls this.
pub fn end_companions() {
    let mut running = std::mem::take(&mut *companions());
    running.retain(|process| process.is_awaited());
    for process in &running {
        let _ = process.signal(Signal::TERM, true);
    }
    let deadline = Instant::now() + COMPANION_GRACE;
    for process in &running {
        if !matches!(process.wait(Some(deadline), Wait::Blocking), Ok(Some(_))) {
            let _ = process.signal(Signal::KILL, true);
        }
    }
}

fn orphans() -> MutexGuard<'static, Vec<Child>> {
    ORPHANS.lock()
}

/// Takes the status of those that ended meanwhile.
fn bury_orphans() {
    orphans().retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}

/// Starts a process. It gets no descriptors but the three streams. In a replay there is none, and what it
/// wrote comes from the recording.
pub fn start(start: Start) -> io::Result<Started> {
    let leads_group = start.leads_group();
    let mut started = None;
    let id = canny_replay::ask(Kind::Process, || {
        let now = start_now(start)?;
        let id = now.process.id;
        started = Some(now);
        Ok::<i32, io::Error>(id)
    })?;
    if canny_replay::mode() == Mode::Live
        && let Some(started) = started
    {
        return Ok(started);
    }
    let (process, input, output, error) = match started {
        Some(now) => (Some(now.process), now.input, now.output, now.error),
        None => (None, None, None, None),
    };
    let process = process.unwrap_or_else(|| Process {
        id,
        leads_group,
        state: Mutex::new(State::Running {
            child: None,
            end: None,
        }),
    });
    let end = match &mut *process.state() {
        State::Running { end, .. } => end.take(),
        State::Ended(_) | State::Orphan => None,
    };
    let end = kept_descriptor(end.and_then(Arc::into_inner))?;
    if let State::Running { end: place, .. } = &mut *process.state() {
        *place = end.map(Arc::new);
    }
    Ok(Started {
        process,
        input: kept_descriptor(input)?,
        output: kept_descriptor(output)?,
        error: kept_descriptor(error)?,
    })
}

/// A descriptor that is there, or was.
fn kept_descriptor(present: Option<OwnedFd>) -> io::Result<Option<OwnedFd>> {
    if !canny_replay::ask(Kind::Process, || present.is_some()) {
        return Ok(None);
    }
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    canny_replay::ask_for_descriptor(Kind::Process, || present.ok_or_else(missing)).map(Some)
}

fn start_now(mut start: Start) -> io::Result<Started> {
    bury_orphans();
    let mut command = Command::new(&start.program);
    command.args(&start.arguments);
    if let Some(environment) = start.environment.take() {
        command.env_clear().envs(environment);
    }
    if let Some(directory) = &start.directory {
        if !directory.is_dir() {
            // The system would blame the program.
            std::fs::read_dir(directory)?;
        }
        command.current_dir(directory);
    }
    let mut started = Ends::default();
    match start.terminal {
        Some(size) => started.connect_terminal(&mut command, size)?,
        None => started.connect_streams(&mut command, &mut start)?,
    }
    match start.group {
        // The leader of a session leads a group.
        _ if start.terminal.is_some() => {}
        Group::Same => {}
        Group::New => {
            command.process_group(0);
        }
        Group::Of(leader) => {
            command.process_group(leader);
        }
    }
    let child = command.spawn()?;
    // This closes our copies of the child's ends.
    drop(command);
    let id = i32::try_from(child.id()).unwrap_or_default();
    let process = Process {
        id,
        leads_group: start.leads_group(),
        state: Mutex::new(State::Running {
            child: Some(child),
            end: end_of(id).map(Arc::new),
        }),
    };
    Ok(Started {
        process,
        input: started.input,
        output: started.output,
        error: started.error,
    })
}

/// A descriptor that is readable when the process ended.
#[cfg(target_os = "linux")]
fn end_of(id: i32) -> Option<OwnedFd> {
    let id = Pid::from_raw(id)?;
    rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_of(_id: i32) -> Option<OwnedFd> {
    None
}

/// Our ends of the pipes.
#[derive(Default)]
struct Ends {
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    error: Option<OwnedFd>,
}

impl Ends {
    fn connect_streams(&mut self, command: &mut Command, start: &mut Start) -> io::Result<()> {
        let take = |stream: &mut Stream| std::mem::replace(stream, Stream::Inherit);
        match take(&mut start.input) {
            Stream::Inherit | Stream::Output => command.stdin(Stdio::inherit()),
            Stream::Null => command.stdin(Stdio::null()),
            Stream::Given(descriptor) => command.stdin(descriptor),
            Stream::Pipe => {
                let (reader, writer) = io::pipe()?;
                self.input = Some(writer.into());
                command.stdin(reader)
            }
        };
        // The stream that the error stream shares, if it is to share one.
        let shares = matches!(start.error, Stream::Output);
        let mut shared = None;
        match take(&mut start.output) {
            Stream::Inherit | Stream::Output => {
                if shares {
                    shared = Some(rustix::stdio::stdout().try_clone_to_owned()?);
                }
                command.stdout(Stdio::inherit())
            }
            Stream::Null => command.stdout(Stdio::null()),
            Stream::Given(descriptor) => {
                if shares {
                    shared = Some(descriptor.try_clone()?);
                }
                command.stdout(descriptor)
            }
            Stream::Pipe => {
                let (reader, writer) = io::pipe()?;
                self.output = Some(reader.into());
                if shares {
                    shared = Some(writer.try_clone()?.into());
                }
                command.stdout(writer)
            }
        };
        match take(&mut start.error) {
            Stream::Inherit => command.stderr(Stdio::inherit()),
            Stream::Null => command.stderr(Stdio::null()),
            Stream::Given(descriptor) => command.stderr(descriptor),
            Stream::Pipe => {
                let (reader, writer) = io::pipe()?;
                self.error = Some(reader.into());
                command.stderr(writer)
            }
            Stream::Output => match shared {
                Some(descriptor) => command.stderr(descriptor),
                None => command.stderr(Stdio::null()),
            },
        };
        Ok(())
    }

    /// Makes a terminal, and a session of the child's own that it controls.
    fn connect_terminal(
        &mut self,
        command: &mut Command,
        (rows, columns): (u16, u16),
    ) -> io::Result<()> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&ours)?;
        rustix::pty::unlockpt(&ours)?;
        let name = rustix::pty::ptsname(&ours, Vec::new())?;
        let theirs = rustix::fs::open(
            name,
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(&ours, size)?;
        command.stdin(theirs.try_clone()?);
        command.stdout(theirs.try_clone()?);
        command.stderr(theirs);
        // SAFETY: between fork and exec only functions that are safe in a signal handler may be called.
        // The closure makes two system calls on descriptor 0, which is the terminal by then, and
        // neither allocates nor locks.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        self.input = Some(ours.try_clone()?);
        self.output = Some(ours);
        Ok(())
    }
}

impl Process {
    /// The number of the process.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Whether it is the first of a group of its own.
    pub fn leads_group(&self) -> bool {
        self.leads_group
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// How the process ended, or `None` while it runs.
    pub fn ending(&self) -> io::Result<Option<Ending>> {
        let ending = canny_replay::ask(Kind::Process, || self.ending_now())?;
        if let Some(ending) = ending {
            *self.state() = State::Ended(ending);
        }
        Ok(ending)
    }

    fn ending_now(&self) -> io::Result<Option<Ending>> {
        let mut state = self.state();
        match &mut *state {
            State::Ended(ending) => Ok(Some(*ending)),
            State::Orphan => Ok(None),
            State::Running { child, .. } => {
                let Some(child) = child else {
                    return Ok(None);
                };
                let Some(status) = child.try_wait()? else {
                    return Ok(None);
                };
                let ending = match (status.code(), status.signal()) {
                    (Some(code), _) => Ending::Code(code),
                    (None, signal) => Ending::Signal(signal.unwrap_or_default()),
                };
                *state = State::Ended(ending);
                Ok(Some(ending))
            }
        }
    }

    /// Whether the status was not taken yet. It may have ended, and its group may be there all the same.
    fn is_awaited(&self) -> bool {
        matches!(*self.state(), State::Running { .. })
    }

    /// Waits for the end of the process. `Ok(None)` means that the deadline passed; an interrupt is an
    /// error of kind `Interrupted`, a wait that was put off one of kind `WouldBlock`.
    pub fn wait(&self, deadline: Option<Instant>, wait: Wait<'_>) -> io::Result<Option<Ending>> {
        loop {
            if let Some(ending) = self.ending()? {
                return Ok(Some(ending));
            }
            let end = match &*self.state() {
                State::Running { end, .. } => end.clone(),
                State::Ended(_) | State::Orphan => None,
            };
            let interest = match &end {
                Some(end) => Interest::Readable(end.as_fd()),
                None => match Pid::from_raw(self.id) {
                    Some(id) => Interest::ChildEnded(id),
                    None => return Ok(None),
                },
            };
            match canny_sched::wait(&[interest], deadline, wait.interrupt()) {
                Wake::Ready(_) => {}
                Wake::TimedOut => return self.ending(),
                Wake::Interrupted => return Err(io::ErrorKind::Interrupted.into()),
                Wake::Parked => return Err(io::ErrorKind::WouldBlock.into()),
            }
        }
    }

    /// Sends a signal to the process, or to its whole group if it leads one. `false`: it had ended before.
    pub fn signal(&self, signal: Signal, group: bool) -> io::Result<bool> {
        canny_replay::ask(Kind::Process, || self.signal_now(signal, group))
    }

    fn signal_now(&self, signal: Signal, group: bool) -> io::Result<bool> {
        let state = self.state();
        let (State::Running { .. }, Some(id)) = (&*state, Pid::from_raw(self.id)) else {
            return Ok(false);
        };
        let outcome = if group && self.leads_group {
            rustix::process::kill_process_group(id, signal)
        } else {
            rustix::process::kill_process(id, signal)
        };
        match outcome {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::SRCH) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *self.state(), State::Orphan);
        if let State::Running {
            child: Some(mut child),
            ..
        } = state
            && matches!(child.try_wait(), Ok(None))
        {
            orphans().push(child);
        }
    }
}

/// Signals by the end of their names.
const SIGNALS: &[(&str, Signal)] = &[
    ("hup", Signal::HUP),
    ("int", Signal::INT),
    ("quit", Signal::QUIT),
    ("ill", Signal::ILL),
    ("trap", Signal::TRAP),
    ("abrt", Signal::ABORT),
    ("bus", Signal::BUS),
    ("fpe", Signal::FPE),
    ("kill", Signal::KILL),
    ("usr1", Signal::USR1),
    ("segv", Signal::SEGV),
    ("usr2", Signal::USR2),
    ("pipe", Signal::PIPE),
    ("alrm", Signal::ALARM),
    ("term", Signal::TERM),
    ("chld", Signal::CHILD),
    ("cont", Signal::CONT),
    ("stop", Signal::STOP),
    ("tstp", Signal::TSTP),
    ("ttin", Signal::TTIN),
    ("ttou", Signal::TTOU),
    ("urg", Signal::URG),
    ("xcpu", Signal::XCPU),
    ("xfsz", Signal::XFSZ),
    ("vtalrm", Signal::VTALARM),
    ("prof", Signal::PROF),
    ("winch", Signal::WINCH),
    ("io", Signal::IO),
    ("sys", Signal::SYS),
];

/// The signal with a name such as `sigterm` or `term`.
pub fn signal_of_name(name: &str) -> Option<Signal> {
    let name = name.to_ascii_lowercase();
    let ending = name.strip_prefix("sig").unwrap_or(&name);
    let row = SIGNALS.iter().find(|(known, _)| *known == ending)?;
    Some(row.1)
}

/// The name of the signal with a number: `sigterm`.
pub fn name_of_signal(number: i32) -> Option<String> {
    let row = SIGNALS
        .iter()
        .find(|(_, signal)| signal.as_raw() == number)?;
    Some(format!("sig{}", row.0))
}
