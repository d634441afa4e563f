//! A copy of the process that writes a snapshot, and how it tells what became of it.
//!
//! The child has one thread, that which forked. It keeps the file and the end of a pipe, and closes all
//! else: sockets of the program must not stay open because of it. When it is done it writes one line to
//! the pipe and ends at once, without anything that the program would do at its end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::SnapshotReport;

/// How much less often than others the child runs where processors are short.
const NICENESS: libc::c_int = 5;
/// The descriptors of the child: standard error stays what it is.
const FILE: RawFd = 3;
const PIPE: RawFd = 4;
/// Longest message of a child.
const MESSAGE_BYTES_MAX: u64 = 4096;

/// The two ends of a pipe.
struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

/// Makes a pipe.
fn pipe() -> io::Result<Pipe> {
    let mut ends = [0; 2];
    // SAFETY: there is room for both descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptors are new, and nobody else has them.
    let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    Ok(Pipe { reader, writer })
}

/// A child that writes a snapshot.
#[derive(Debug)]
pub(super) struct Child {
    pid: libc::pid_t,
    pipe: Option<File>,
}

/// Why a child gave no report.
#[derive(Debug)]
pub(super) enum Problem {
    /// It said why.
    Told(String),
    /// It ended without a word.
    Ended(String),
}

/// Copies the process. In the copy it does the work and ends; `work` gets the file, and is told for how
/// long the program stood still by then.
pub(super) fn fork(
    file: &File,
    began: Instant,
    work: impl FnOnce(File, Duration) -> Result<SnapshotReport, String>,
) -> io::Result<Child> {
    let pipe = pipe()?;
    // SAFETY: the child calls nothing that takes a lock of another thread, except of the C library's
    // allocator, which is made ready for that by `fork` itself; and it never returns from here.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let stopped = began.elapsed();
            become_writer(file.as_raw_fd(), pipe.writer.as_raw_fd());
            // SAFETY: the descriptor of the file, which nobody else closes.
            let file = unsafe { File::from_raw_fd(FILE) };
            let result = catch_unwind(AssertUnwindSafe(|| work(file, stopped)));
            let text = match result {
                Ok(Ok(report)) => format_report(&report),
                Ok(Err(problem)) => format!("problem {problem}"),
                Err(_) => "problem it failed, as the line above says".to_owned(),
            };
            // SAFETY: the descriptor of the pipe, which nobody else closes.
            let mut to = unsafe { File::from_raw_fd(PIPE) };
            let status = i32::from(to.write_all(text.as_bytes()).is_err());
            // SAFETY: it ends the process at once.
            unsafe { libc::_exit(status) }
        }
        pid => Ok(Child {
            pid,
            pipe: Some(File::from(pipe.reader)),
        }),
    }
}

/// Makes a process that was just copied one that only writes.
fn become_writer(file: RawFd, pipe: RawFd) {
    // SAFETY: calls of the system with numbers. The two descriptors are moved out of the way first, as
    // one may be where the other is to be. All others are closed.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"canny-heap".as_ptr());
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
        let file = libc::fcntl(file, libc::F_DUPFD, 10);
        let pipe = libc::fcntl(pipe, libc::F_DUPFD, 10);
        libc::dup2(file, FILE);
        libc::dup2(pipe, PIPE);
        libc::syscall(libc::SYS_close_range, PIPE + 1, libc::c_uint::MAX, 0);
        libc::close(0);
        libc::close(1);
    }
}

fn format_report(report: &SnapshotReport) -> String {
    let SnapshotReport {
        objects,
        bytes,
        written,
        ..
    } = report;
    format!("done {objects} {bytes} {written}")
}

fn parse_report(text: &str) -> Option<SnapshotReport> {
    let mut numbers = text.strip_prefix("done ")?.split(' ').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(SnapshotReport {
        objects: next()?,
        bytes: next()?,
        written: next()?,
        ..SnapshotReport::default()
    })
}

impl Child {
    /// Waits for its end.
    pub(super) fn wait(mut self) -> Result<SnapshotReport, Problem> {
        let mut text = String::new();
        let read = self
            .pipe
            .take()
            .map(|pipe| pipe.take(MESSAGE_BYTES_MAX).read_to_string(&mut text));
        let how = self.reap();
        if let Some(report) = parse_report(&text) {
            return Ok(report);
        }
        match text.strip_prefix("problem ") {
            Some(problem) => Err(Problem::Told(problem.to_owned())),
            None => Err(Problem::Ended(match read {
                Some(Err(error)) => error.to_string(),
                _ => how,
            })),
        }
    }

    /// Ends it, as nobody waits for it.
    pub(super) fn abandon(&mut self) {
        self.pipe = None;
        // SAFETY: a child that was not waited for, so that its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        self.reap();
    }

    fn reap(&mut self) -> String {
        let mut status = 0;
        loop {
            // SAFETY: there is room for the status.
            let pid = unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
            if pid == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return error.to_string();
            }
        }
        if libc::WIFSIGNALED(status) {
            format!("signal {}", libc::WTERMSIG(status))
        } else {
            format!("status {}", libc::WEXITSTATUS(status))
        }
    }
}
