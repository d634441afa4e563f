//! Running one suite in a process of its own.
//!
//! The process leads a group, so that what it starts ends with it. Its output goes to a pipe, of which
//! beginning and end are kept; what it tells goes to a file ([`report`](super::report)). At the end of
//! its time it is interrupted, which names the test that hangs, and killed if that does not help.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use super::report::{Report, Test, TestResult, read};
use crate::exit_code;

/// Bytes of output that are kept of the beginning and of the end.
const KEPT_BYTES: usize = 64 << 10;

/// Runs of a suite between two counts of what it leaves behind.
const LEAK_RUNS: &str = "3";

/// How long an interrupted process may take to end.
const GRACE: Duration = Duration::from_secs(1);

/// How long to wait at most before looking whether the run was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// Settings that all suites of a run share.
pub struct Setting {
    /// Options for the child, before the file.
    pub options: Vec<OsString>,
    /// Texts that names of tests are to contain, one on each line.
    pub filter: String,
    pub lists: bool,
    pub time_limit: Option<Duration>,
    /// Where processes write what they ran, if anybody wants to know.
    pub coverage: Option<PathBuf>,
    /// Whether processes look for what the suites leave behind.
    pub looks_for_leaks: bool,
    /// Where reports are written.
    pub directory: PathBuf,
}

/// How a suite's process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// Its time was over.
    TimeOver(Duration),
    /// Because the run was stopped.
    Stopped,
    NotStarted(String),
}

/// A rough description of the content of a suite's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Empty,
    Text,
    /// It has zero bytes.
    Binary,
}

impl Content {
    /// The process reports an unreadable file.
    fn of(file: &Path) -> Content {
        if !std::fs::metadata(file).is_ok_and(|data| data.is_file()) {
            return Content::Text;
        }
        let mut bytes = Vec::new();
        let looked =
            std::fs::File::open(file).and_then(|file| file.take(4096).read_to_end(&mut bytes));
        match looked {
            Ok(0) => Content::Empty,
            _ if bytes.contains(&0) => Content::Binary,
            _ => Content::Text,
        }
    }
}

/// A suite that was run.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub file: PathBuf,
    pub end: End,
    pub report: Report,
    /// The text that the suite printed.
    pub output: String,
    pub time: Duration,
    content: Content,
    is_filtered: bool,
}

impl Outcome {
    pub fn failures(&self) -> usize {
        self.count(|result| matches!(result, TestResult::Failed(_)))
    }

    pub fn passed(&self) -> usize {
        self.count(|one| matches!(one, TestResult::Passed | TestResult::ExpectedFailure))
    }

    pub fn skipped(&self) -> usize {
        self.count(|result| *result == TestResult::Skipped)
    }

    fn count(&self, is_meant: impl Fn(&TestResult) -> bool) -> usize {
        let tests = self.report.tests.iter();
        tests.filter(|test| is_meant(&test.result)).count()
    }

    /// Whether something is wrong with it.
    pub fn is_wrong(&self) -> bool {
        self.failures() > 0 || !self.problems().is_empty()
    }

    /// Problems other than failed tests.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.report.problems.clone();
        let last = match self.report.tests.last() {
            Some(Test { groups, name, .. }) => {
                let title: Vec<&str> = groups.iter().chain([name]).map(String::as_str).collect();
                format!("; the last test that ended was '{}'", title.join(": "))
            }
            None if self.report.has_library => "; no test had ended".to_owned(),
            None => String::new(),
        };
        let said_by_tests = |code: i32| self.failures() > 0 && !(64..=78).contains(&code);
        let code_of = |code: u8| i32::from(code);
        match &self.end {
            End::Exit(0) => {
                if let Some(group) = self.report.open_groups.first() {
                    problems.push(format!("it ended inside of the group '{group}'"));
                }
                if self.report.tests.is_empty() && problems.is_empty() && !self.is_filtered {
                    match self.content {
                        Content::Empty => problems.push("the file is empty".to_owned()),
                        Content::Binary => problems.push("it is no text".to_owned()),
                        Content::Text if self.report.has_library => {
                            problems.push("it ran no test".to_owned());
                        }
                        Content::Text => {}
                    }
                }
            }
            End::Exit(code) if said_by_tests(*code) => {}
            End::Exit(code) if *code == code_of(exit_code::DATA) => {
                let problem = match self.content {
                    Content::Binary => "it is no text",
                    _ => "it has syntax errors",
                };
                problems.push(problem.to_owned());
            }
            End::Exit(code) if *code == code_of(exit_code::NO_INPUT) => {
                problems.push("it cannot be read".to_owned());
            }
            End::Exit(code) if *code == code_of(exit_code::SOFTWARE) => {
                problems.push(format!("an error that no handler took{last}"));
            }
            End::Exit(code) => problems.push(format!("it left with exit code {code}{last}")),
            End::Signal(signal) => problems.push(format!("signal {signal} ended it{last}")),
            End::TimeOver(limit) => problems.push(format!(
                "it did not end within {} s{last}",
                limit.as_secs_f64()
            )),
            End::Stopped => problems.push("it was stopped".to_owned()),
            End::NotStarted(error) => problems.push(format!("it cannot be started: {error}")),
        }
        problems
    }
}

/// Runs a suite to its end, or until `stop` is set. `number` tells its report from others.
pub fn run(file: &Path, number: usize, setting: &Setting, stop: &AtomicBool) -> Outcome {
    let report = setting.directory.join(number.to_string());
    let start = Instant::now();
    let (end, output) = match start_process(file, &report, setting) {
        Ok((child, output)) => watch(child, output, start, setting.time_limit, stop),
        Err(error) => (End::NotStarted(error.to_string()), String::new()),
    };
    let time = start.elapsed();
    let told = std::fs::read(&report).unwrap_or_default();
    // The directory is removed in the end; a full disk is met earlier.
    let _ = std::fs::remove_file(&report);
    Outcome {
        file: file.to_owned(),
        end,
        report: read(&told),
        output,
        time,
        content: if told.is_empty() {
            Content::of(file)
        } else {
            Content::Text
        },
        is_filtered: !setting.filter.is_empty(),
    }
}

fn start_process(
    file: &Path,
    report: &Path,
    setting: &Setting,
) -> std::io::Result<(Child, std::io::PipeReader)> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = Command::new(crate::executable::own_file()?);
    command
        .args(&setting.options)
        .arg("--")
        .arg(file)
        .env("CANNY_TEST_REPORT", report)
        .env("CANNY_TEST_FILE", file)
        .env("CANNY_TEST_FILTER", &setting.filter)
        .env("CANNY_TEST_MODE", if setting.lists { "list" } else { "" })
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    if setting.looks_for_leaks {
        command.env("CANNY_TEST_LEAKS", LEAK_RUNS);
    }
    if let Some(directory) = &setting.coverage {
        command.env(crate::coverage::VARIABLE, directory);
    }
    Ok((command.spawn()?, reader))
}

/// Beginning and end of what a process prints.
#[derive(Default)]
struct Kept {
    beginning: Vec<u8>,
    end: Vec<u8>,
    left_out: usize,
}

impl Kept {
    fn add(&mut self, mut bytes: &[u8]) {
        let room = KEPT_BYTES - self.beginning.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.beginning.extend_from_slice(first);
        bytes = rest;
        self.end.extend_from_slice(bytes);
        if self.end.len() > 2 * KEPT_BYTES {
            let surplus = self.end.len() - KEPT_BYTES;
            self.end.drain(..surplus);
            self.left_out += surplus;
        }
    }

    fn text(self) -> String {
        let beginning = String::from_utf8_lossy(&self.beginning).into_owned();
        let end = String::from_utf8_lossy(&self.end).into_owned();
        match self.left_out {
            0 => {
                let both = [self.beginning, self.end].concat();
                String::from_utf8_lossy(&both).into_owned()
            }
            bytes => format!("{beginning}\n... {bytes} bytes left out ...\n{end}"),
        }
    }
}

/// Waits for the end of a process and takes what it prints.
fn watch(
    mut child: Child,
    mut output: std::io::PipeReader,
    start: Instant,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> (End, String) {
    let mut kept = Kept::default();
    let mut buffer = vec![0; 16 << 10];
    let mut interrupted_at: Option<Instant> = None;
    let mut is_open = true;
    let mut pause = Duration::from_micros(100);
    while !has_ended(&child) {
        let now = Instant::now();
        let is_over = stop.load(Ordering::Relaxed)
            || limit.is_some_and(|limit| now.duration_since(start) >= limit);
        match interrupted_at {
            None if is_over => {
                interrupt(&child);
                interrupted_at = Some(now);
            }
            Some(since) if now.duration_since(since) >= GRACE => break,
            _ => {}
        }
        if is_open && is_readable(&output) {
            is_open = take(&mut output, &mut buffer, &mut kept);
        } else if !is_open {
            // Most often it has ended, or will at once.
            std::thread::sleep(pause);
            pause = (pause * 2).min(LOOK);
        }
    }
    // Ends the remaining processes of the group. The group's number is not reused before somebody
    // waits for the child.
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait();
    // Reads the rest of the pipe up to a limit: a process outside of the group may still hold it.
    for _ in 0..KEPT_BYTES / buffer.len() + 1 {
        if !is_open || !is_readable(&output) {
            break;
        }
        is_open = take(&mut output, &mut buffer, &mut kept);
    }
    let end = match status {
        _ if interrupted_at.is_some() && stop.load(Ordering::Relaxed) => End::Stopped,
        _ if interrupted_at.is_some() => End::TimeOver(limit.unwrap_or_default()),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => End::Exit(code),
            (None, signal) => End::Signal(signal.unwrap_or_default()),
        },
        Err(error) => End::NotStarted(error.to_string()),
    };
    (end, kept.text())
}

/// Takes what a process has printed; whether there may be more.
fn take(output: &mut std::io::PipeReader, buffer: &mut [u8], kept: &mut Kept) -> bool {
    match output.read(buffer) {
        Ok(0) => false,
        Ok(count) => {
            kept.add(&buffer[..count]);
            true
        }
        Err(error) => error.kind() == std::io::ErrorKind::Interrupted,
    }
}

/// Whether a process has ended; it is still to be waited for.
fn has_ended(child: &Child) -> bool {
    let Some(process) = Pid::from_raw(child.id().cast_signed()) else {
        return true;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(process), options), Ok(None))
}

fn is_readable(output: &std::io::PipeReader) -> bool {
    let descriptor = output.as_fd();
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK.as_nanos() as i64,
    };
    poll(&mut polled, Some(&wait)).is_ok_and(|ready| ready > 0)
}

/// As Ctrl-C does.
fn interrupt(child: &Child) {
    if let Some(process) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process(process, Signal::INT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let mut kept = Kept::default();
        kept.add(b"first");
        assert_eq!(kept.text(), "first");
        let mut kept = Kept::default();
        kept.add(b"first");
        for _ in 0..100 {
            kept.add(&[b'x'; 10_000]);
        }
        kept.add(b"last");
        let text = kept.text();
        assert!(text.starts_with("firstx") && text.ends_with("xlast"));
        assert!(text.contains("bytes left out"));
        assert!(text.len() < 4 * KEPT_BYTES);
    }
}
