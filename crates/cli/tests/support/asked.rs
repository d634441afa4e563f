//! Programs that run while a test asks them from outside: by their sockets, by signals, over HTTP.
//!
//! The sockets of each program lie in a directory of its own, so that tests do not meet.
#![allow(
    dead_code,
    reason = "each test target uses a part of this module, and each is a crate of its own"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Outcome, scratch, wait};

/// Longest wait for something that takes a moment.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A command whose sockets lie in a directory of their own.
pub fn command(directory: &Path) -> Command {
    let session = directory.join("session");
    std::fs::create_dir_all(&session).expect("a directory can be made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_canny"));
    command
        .current_dir(directory)
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        .env("XDG_RUNTIME_DIR", session);
    command
}

/// Runs a command to its end.
pub fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().expect("it starts");
    Outcome {
        code: output.status.code(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Starts a command whose standard error the test reads.
pub fn spawned(command: &mut Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// A program that runs until the test ends.
pub struct Program {
    pub child: Child,
    input: Option<ChildStdin>,
    pub output: BufReader<ChildStdout>,
    pub directory: PathBuf,
}

impl Program {
    /// Starts one with words before its name, and waits for its first line.
    pub fn start(text: &str, words: &[&str]) -> (Program, String) {
        Program::start_with_input(text, words, b"")
    }

    /// The same with something to read at its beginning.
    pub fn start_with_input(text: &str, words: &[&str], first: &[u8]) -> (Program, String) {
        let directory = scratch();
        std::fs::write(directory.join("program.scm"), text).expect("a file can be written");
        let mut child = command(&directory)
            .args(words)
            .arg("program.scm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("it was asked for");
        input.write_all(first).expect("it reads");
        let mut output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it prints a line");
        let program = Program {
            input: Some(input),
            child,
            output,
            directory,
        };
        (program, line.trim_end().to_owned())
    }

    /// A command such as `canny heap` that asks this program.
    pub fn attach_command(&self, tool: &str, words: &[&str]) -> Command {
        let mut command = command(&self.directory);
        let process = self.child.id().to_string();
        command.args([tool, "--attach", &process]).args(words);
        command
    }

    pub fn attach(&self, tool: &str, words: &[&str]) -> Outcome {
        outcome(&mut self.attach_command(tool, words))
    }

    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Ends its input and waits for its end; gives what it wrote to standard error.
    pub fn end(mut self) -> String {
        drop(self.input.take());
        let status = wait(&mut self.child);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it is text");
        let mut errors = String::new();
        let mut stream = self.child.stderr.take().expect("it was asked for");
        stream.read_to_string(&mut errors).expect("it is text");
        assert!(status.is_some_and(|status| status.success()), "{errors}");
        errors
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request and the answer to it: head and body.
pub fn get(address: &str, target: &str, fields: &str) -> (String, Vec<u8>) {
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).expect("it takes it");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = answer.split_off(end.expect("there is a head") + 4);
    let head = String::from_utf8_lossy(&answer).into_owned();
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    (head, if is_chunked { unchunked(&body) } else { body })
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n");
        let (size, rest) = body.split_at(end.expect("a chunk has a size"));
        let size = std::str::from_utf8(size).expect("it is text");
        let size = usize::from_str_radix(size, 16).expect("it is a number");
        if size == 0 {
            return all;
        }
        all.extend_from_slice(&rest[2..2 + size]);
        body = &rest[2 + size + 2..];
    }
}

/// The status of an answer.
pub fn status(answer: &(String, Vec<u8>)) -> &str {
    answer.0.split(' ').nth(1).unwrap_or_default()
}
