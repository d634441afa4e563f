//! Runs one measured process to its end.
//!
//! The process leads a group, so that what it starts ends with it. Its output goes to a file:
//! nobody reads a pipe while it is measured. A thread blocks on its end, so that the end has an
//! exact time and nothing polls meanwhile but a look at the stop flag. A stopped process is
//! interrupted, which lets `(canny bench)` report its samples, and killed if it does not end.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use super::report::{self, Report};
use crate::exit_code;

/// Bytes of output that are kept.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// How long an interrupted process may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait before looking whether the run was stopped.
const LOOK: Duration = Duration::from_millis(50);

/// The benchmark or program that a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Lists benchmarks; a program without any is run.
    List,
    /// Takes samples of the benchmark with this index for some microseconds.
    Benchmark { index: usize, microseconds: u64 },
    /// Runs a program.
    Program,
}

/// A way to run a file.
#[derive(Clone, Debug)]
pub struct Launch {
    pub canny: PathBuf,
    /// Options in front of the file.
    pub options: Vec<OsString>,
    pub file: PathBuf,
    /// Where it runs; the current directory if there is none.
    pub directory: Option<PathBuf>,
}

/// The end of a process, and its report.
#[derive(Debug, Default)]
pub struct Run {
    pub report: Report,
    /// From the start of the process to its end.
    pub wall: Duration,
    /// Processor time by the kernel's account, in nanoseconds; `None` where it keeps none.
    pub processor_ns: Option<f64>,
    /// Bytes allocated and collections, from the statistics of the heap.
    pub heap: Option<(f64, f64)>,
    /// Its output.
    pub output: String,
    /// The reason why it failed.
    pub failure: Option<String>,
    pub was_stopped: bool,
}

/// Runs a task. `scratch` is a directory for the report and the output.
pub fn run(launch: &Launch, task: Task, scratch: &Path, stop: &AtomicBool) -> Run {
    let report_file = scratch.join("report");
    let output_file = scratch.join("output");
    let statistics_file = scratch.join("statistics");
    for file in [&report_file, &output_file, &statistics_file] {
        // It may not be there.
        let _ = fs::remove_file(file);
    }
    let start = Instant::now();
    let child = match start_process(launch, task, [&report_file, &output_file, &statistics_file]) {
        Ok(child) => child,
        Err(error) => {
            return Run {
                failure: Some(format!(
                    "{} cannot be started: {error}",
                    launch.canny.display()
                )),
                ..Run::default()
            };
        }
    };
    let (end, was_stopped) = wait_for_end(&child, stop);
    let wall = end.duration_since(start);
    let processor_ns = processor_time(child.id());
    let failure = reap(child, was_stopped);
    let output = fs::read(&output_file).unwrap_or_default();
    let cut = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    Run {
        report: report::read(&fs::read(&report_file).unwrap_or_default()),
        wall,
        processor_ns,
        heap: fs::read_to_string(&statistics_file)
            .ok()
            .and_then(|text| heap_statistics(&text)),
        output: String::from_utf8_lossy(&output[cut..]).into_owned(),
        failure,
        was_stopped,
    }
}

fn start_process(launch: &Launch, task: Task, files: [&Path; 3]) -> io::Result<Child> {
    let [report, output, statistics] = files;
    let output = File::create(output)?;
    let mut command = Command::new(&launch.canny);
    command
        .args(&launch.options)
        .arg("--")
        .arg(&launch.file)
        // A profile of an earlier run would make the second process another program than the first.
        .env("CANNY_PROFILES", "0")
        .env_remove("CANNY_BENCH_REPORT")
        .env_remove("CANNY_STATISTICS")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0);
    match task {
        Task::List => {
            command
                .env("CANNY_BENCH_REPORT", report)
                .env("CANNY_BENCH_ONLY", "-1");
        }
        Task::Benchmark {
            index,
            microseconds,
        } => {
            command
                .env("CANNY_BENCH_REPORT", report)
                .env("CANNY_BENCH_ONLY", index.to_string())
                .env("CANNY_BENCH_MICROSECONDS", microseconds.to_string());
        }
        Task::Program => {
            command.env("CANNY_STATISTICS", statistics);
        }
    }
    if let Some(directory) = &launch.directory {
        command.current_dir(directory);
    }
    command.spawn()
}

/// Blocks until a process has ended or was stopped; it remains to be reaped.
fn wait_for_end(child: &Child, stop: &AtomicBool) -> (Instant, bool) {
    let Some(process) = Pid::from_raw(child.id().cast_signed()) else {
        return (Instant::now(), false);
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(
            waitid(WaitId::Pid(process), options),
            Err(rustix::io::Errno::INTR)
        ) {}
        // The other side may have killed the process and left.
        let _ = sender.send(Instant::now());
    });
    let mut interrupted_at: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(end) => return (end, interrupted_at.is_some()),
            Err(mpsc::RecvTimeoutError::Disconnected) => return (Instant::now(), false),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        match interrupted_at {
            None if stop.load(Ordering::Relaxed) => {
                let _ = kill_process(process, Signal::INT);
                interrupted_at = Some(Instant::now());
            }
            Some(since) if since.elapsed() >= GRACE => return (Instant::now(), true),
            _ => {}
        }
    }
}

/// Ends what is left of the group and reaps the process; gives what is wrong with its end.
fn reap(mut child: Child, was_stopped: bool) -> Option<String> {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    match child.wait() {
        _ if was_stopped => Some("it was stopped".to_owned()),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(meaning_of(code)),
            (None, signal) => Some(format!("signal {} ended it", signal.unwrap_or_default())),
        },
        Err(error) => Some(error.to_string()),
    }
}

fn meaning_of(code: i32) -> String {
    match u8::try_from(code) {
        Ok(exit_code::DATA) => "it has syntax errors".to_owned(),
        Ok(exit_code::NO_INPUT) => "it cannot be read".to_owned(),
        Ok(exit_code::SOFTWARE) => "an error that no handler took".to_owned(),
        _ => format!("it left with exit code {code}"),
    }
}

/// Processor time of all threads of a process that has ended and was not reaped.
fn processor_time(process: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    processor_time_in(&text)
}

/// User and system time in a line of `/proc/PID/stat`, which counts hundredths of seconds.
fn processor_time_in(text: &str) -> Option<f64> {
    // The name of the program is in parentheses and may have any character.
    let (_, rest) = text.rsplit_once(')')?;
    let mut words = rest.split_whitespace().skip(11);
    let user: f64 = words.next()?.parse().ok()?;
    let system: f64 = words.next()?.parse().ok()?;
    Some((user + system) * 1e7)
}

/// Bytes and collections in what `CANNY_STATISTICS` asks for.
fn heap_statistics(text: &str) -> Option<(f64, f64)> {
    let number = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(word, _)| *word == name)?.1.parse().ok()
    };
    Some((number("bytes-allocated")?, number("collections")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_line_is_read() {
        let line = "17 (a) b (c)) Z 1 17 17 0 -1 4194316 100 0 0 0 250 50 3 4 20 0 5 0 99 0 0\n";
        assert_eq!(processor_time_in(line), Some(3e9));
        assert_eq!(processor_time_in(""), None);
        assert_eq!(processor_time_in("17 (a) Z"), None);
    }

    #[test]
    fn statistics_of_the_heap_are_read() {
        let text = "bytes-allocated 320\nbytes-in-use-max 64\ncollections 2\n";
        assert_eq!(heap_statistics(text), Some((320.0, 2.0)));
        assert_eq!(heap_statistics("bytes-allocated 1\n"), None);
    }
}
