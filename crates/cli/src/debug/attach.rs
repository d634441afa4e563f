//! `canny debug --attach`: the prompt for a process that runs already, on this machine or another one.
//!
//! The prompt runs in that process (`attached`). Here lines are read and texts are written.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use canny_dap::Service;
use canny_dap::connection::Connection;
use canny_dap::prompt::{FromPeople, FromProcess, Reader};
use canny_lib::ask::{self, AskError, Reply, Request};
use canny_locks::Mutex;

use crate::exit_code;

/// A process to attach to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One of this machine.
    Here(u32),
    /// One of a machine where an adapter listens, the only one if it is not named.
    There(String, Option<u32>),
}

impl Target {
    /// Reads `PID`, `HOST:PORT` or `PID@HOST:PORT`.
    pub fn read(text: &str) -> Result<Target, String> {
        let wrong = || format!("--attach wants PID, HOST:PORT or PID@HOST:PORT, not '{text}'");
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let (process, address) = match text.split_once('@') {
            Some((process, address)) => (Some(number(process)?), address),
            None => (None, text),
        };
        match address.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Target::There(address.to_owned(), process))
            }
            None if process.is_none() => number(address).map(Target::Here),
            _ => Err(wrong()),
        }
    }
}

/// An answer without content.
struct NoReply;

impl Reply for NoReply {
    fn take(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Connects to a process that runs: it gets one end of a pair of sockets.
pub fn connect_to_process(process: u32, service: Service) -> Result<UnixStream, String> {
    let pair = UnixStream::pair();
    let (own, other) = pair.map_err(|error| error.to_string())?;
    let other = File::from(OwnedFd::from(other));
    let command = match service {
        Service::Editor => "debug",
        Service::Prompt => "prompt",
    };
    let asked = ask::ask_with_file(process, &Request::new(command), &other, &mut NoReply);
    asked.map_err(|error: AskError| error.to_string())?;
    Ok(own)
}

/// Shows the prompt of a process, until people leave it or it ends; gives the exit code. The token is for
/// adapters of other machines.
pub fn attach(target: &Target, token: Option<&str>) -> u8 {
    let served = connect(target, token).and_then(|connected| connected.serve());
    match served {
        Ok(code) => code,
        Err(message) => {
            eprintln!("canny: {message}");
            exit_code::OS
        }
    }
}

/// A connection to the prompt in a process.
struct Connected {
    output: Connection,
    input: Reader,
    process: u32,
}

fn connect(target: &Target, token: Option<&str>) -> Result<Connected, String> {
    let (output, input, process) = match target {
        Target::Here(process) => {
            let stream = connect_to_process(*process, Service::Prompt)?;
            let output = stream.try_clone().map_err(|error| error.to_string())?;
            let input = Reader::new(Connection::Local(stream));
            (Connection::Local(output), input, *process)
        }
        Target::There(address, process) => {
            Reader::of_adapter(address, token.unwrap_or_default(), *process)?
        }
    };
    Ok(Connected {
        output,
        input,
        process,
    })
}

/// The way to the process, for the threads that read lines and wait for Ctrl-C.
struct Way {
    output: Mutex<Connection>,
    /// The process has not answered the last Ctrl-C.
    is_interrupting: AtomicBool,
    is_leaving: AtomicBool,
}

impl Way {
    fn send(&self, message: &FromPeople) {
        // A process that is gone is noticed by the reader.
        let _ = message.send(&mut *self.output.lock());
    }

    fn read_lines(&self) {
        loop {
            let mut line = String::new();
            let message = match io::stdin().read_line(&mut line) {
                Ok(1..) => FromPeople::Line(line),
                // People at a terminal do not wait for what the process does.
                _ if io::stdin().is_terminal() => FromPeople::Leave,
                _ => FromPeople::End,
            };
            self.send(&message);
            if !matches!(message, FromPeople::Line(_)) {
                return;
            }
        }
    }

    fn wait_for_interrupts(&self, mut signals: UnixStream) {
        let mut byte = [0];
        while let Ok(1) = signals.read(&mut byte) {
            if self.is_interrupting.swap(true, Ordering::SeqCst) {
                self.is_leaving.store(true, Ordering::SeqCst);
                self.output.lock().shut_down();
                return;
            }
            self.send(&FromPeople::Interrupt);
        }
    }
}

impl Connected {
    fn serve(mut self) -> Result<u8, String> {
        let way = Arc::new(Way {
            output: Mutex::new(self.output),
            is_interrupting: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
        });
        let text_of = |error: io::Error| error.to_string();
        let (signals, signalled) = UnixStream::pair().map_err(text_of)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGINT, signalled)
            .map_err(text_of)?;
        let waiting = way.clone();
        thread::spawn(move || waiting.wait_for_interrupts(signals));
        let reading = way.clone();
        thread::spawn(move || reading.read_lines());
        loop {
            let message = self.input.of_process();
            way.is_interrupting.store(false, Ordering::SeqCst);
            match message {
                FromProcess::Text(text) => eprintln!("{text}"),
                FromProcess::Ask => eprint!("(debug) "),
                FromProcess::Left => return Ok(0),
                FromProcess::Ended if way.is_leaving.load(Ordering::SeqCst) => return Ok(0),
                FromProcess::Ended => return Err(format!("process {} has ended", self.process)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_named_by_number_and_address() {
        let there = |address: &str, process| Ok(Target::There(address.to_owned(), process));
        assert_eq!(Target::read("17"), Ok(Target::Here(17)));
        assert_eq!(Target::read("host:99"), there("host:99", None));
        assert_eq!(Target::read("17@host:99"), there("host:99", Some(17)));
        assert_eq!(Target::read("5@[::1]:99"), there("[::1]:99", Some(5)));
        for wrong in ["", "x", "17@", "17@5", "x@host:99", "host:", ":5", "host:x"] {
            assert!(Target::read(wrong).is_err(), "{wrong}");
        }
    }
}
