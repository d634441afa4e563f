//! Runs one program to its end, with input, captured output, resource usage and a time limit.
//!
//! Output goes to files, so that neither a full pipe nor a surviving child blocks the runner. A
//! program over its limit is killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use crate::workspace;

/// A command with its input, its time limit and the files for its output.
pub struct Run<'a> {
    pub command: Command,
    /// The file it reads as standard input; `None` is an empty input.
    pub input: Option<&'a Path>,
    /// Standard output goes to `CAPTURE.out`, standard error to `CAPTURE.err`. Files, not pipes, so
    /// that a program that is killed, or that leaves children behind, cannot block the runner.
    pub capture: PathBuf,
    pub time_limit: Duration,
}

pub struct Outcome {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub timed_out: bool,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
    /// User and system time of the process and the children it waited for.
    pub cpu: Duration,
    pub wall: Duration,
    pub peak_bytes: u64,
}

impl Outcome {
    pub fn succeeded(&self) -> bool {
        self.code == Some(0) && !self.timed_out
    }

    /// How it ended, for a message.
    pub fn ending(&self) -> String {
        match self.code {
            _ if self.timed_out => "timed out".to_owned(),
            Some(code) => format!("exit code {code}"),
            None => "killed by a signal".to_owned(),
        }
    }

    /// The first lines of what it said on standard error, or else on standard output, in one line.
    pub fn complaint(&self) -> String {
        let text = match self.errors_text() {
            errors if errors.trim().is_empty() => self.output_text(),
            errors => errors,
        };
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .take(6)
            .collect();
        workspace::shortened(&lines.join(" | "), 300)
    }

    pub fn output_text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    pub fn errors_text(&self) -> String {
        String::from_utf8_lossy(&self.errors).into_owned()
    }
}

impl Run<'_> {
    pub fn run(mut self) -> Result<Outcome, String> {
        let out_path = self.capture.with_extension("out");
        let err_path = self.capture.with_extension("err");
        let create = |path: &Path| {
            File::create(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let input = match self.input {
            None => Stdio::null(),
            Some(path) => File::open(path)
                .map_err(|error| format!("{}: {error}", path.display()))?
                .into(),
        };
        self.command
            .stdin(input)
            .stdout(create(&out_path)?)
            .stderr(create(&err_path)?);
        let start = Instant::now();
        let mut child = self
            .command
            .spawn()
            .map_err(|error| format!("{:?} does not start: {error}", self.command.get_program()))?;
        let mut timed_out = false;
        let mut pause = Duration::from_micros(200);
        let used = loop {
            let finished = child
                .try_wait4()
                .map_err(|error| format!("waiting for a process: {error}"))?;
            if let Some(used) = finished {
                break used;
            }
            if start.elapsed() > self.time_limit && !timed_out {
                timed_out = true;
                child
                    .kill()
                    .map_err(|error| format!("stopping a process: {error}"))?;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        };
        let wall = start.elapsed();
        let capture = |path: &Path| {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Outcome {
            code: used.status.code(),
            timed_out,
            output: capture(&out_path)?,
            errors: capture(&err_path)?,
            cpu: used.rusage.utime + used.rusage.stime,
            wall,
            peak_bytes: used.rusage.maxrss,
        })
    }
}

/// Wall and processor time of a program that ends by itself, soon. Nobody looks whether it has ended
/// before it has, so its times are its own.
pub fn quiet_times(mut command: Command) -> Result<(Duration, Duration), String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let child = command
        .spawn()
        .map_err(|error| format!("{:?} does not start: {error}", command.get_program()))?;
    let used = child
        .wait4()
        .map_err(|error| format!("waiting for a process: {error}"))?;
    let wall = start.elapsed();
    if used.status.success() {
        Ok((wall, used.rusage.utime + used.rusage.stime))
    } else {
        Err(format!("{:?} failed", command.get_program()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, name: &str, limit: Duration) -> Outcome {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let capture = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        Run {
            command,
            input: None,
            capture,
            time_limit: limit,
        }
        .run()
        .expect("sh runs")
    }

    #[test]
    fn output_errors_and_code_are_captured() {
        let outcome = shell(
            "echo out; echo err >&2; exit 3",
            "capture",
            Duration::from_secs(60),
        );
        assert_eq!(outcome.output_text(), "out\n");
        assert_eq!(outcome.errors_text(), "err\n");
        assert_eq!(outcome.code, Some(3));
        assert!(!outcome.succeeded());
    }

    #[test]
    fn a_program_over_its_time_is_stopped() {
        let outcome = shell("exec sleep 60", "limit", Duration::from_millis(50));
        assert!(outcome.timed_out);
        assert_eq!(outcome.code, None);
    }
}
