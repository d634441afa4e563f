//! `canny dap`: the debug adapter that editors start.
//!
//! The adapter is `canny_dap::adapter`; this module says how programs are started and found. Nothing but
//! messages of the protocol goes to standard output.

use std::fs::File;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use canny_dap::adapter::{self, Surroundings};
use canny_lib::ask::{self, AskError, Reply, Request};
use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use crate::environment::Environment;
use crate::exit_code;

pub const TOOL: Tool = Tool {
    name: "dap",
    operands: "",
    summary: "Debugs for editors: breakpoints, steps, variables, tasks",
    options: &[
        (
            "--stdio",
            "talk on standard input and output, as it does without --listen",
        ),
        (
            "--listen PORT",
            "talk to whoever connects to this port of the loopback interface, 0 for any that is free",
        ),
    ],
    details: "It speaks the Debug Adapter Protocol. Editors start it; docs/guide/debugging.md says how.",
    run,
};

fn run(mut parser: Parser, _environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut port = None;
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Long("stdio") => {}
            Arg::Long("listen") => {
                let value = parser.value().and_then(|value| value.string());
                let value = value.map_err(text_of)?;
                let wrong = |_| format!("--listen wants the number of a port, not '{value}'");
                port = Some(value.parse::<u16>().map_err(wrong)?);
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    let served = match port {
        None => {
            let input = BufReader::new(io::stdin());
            surroundings().and_then(|own| adapter::serve(&own, input, Box::new(io::stdout())))
        }
        Some(port) => listen(port),
    };
    match served {
        Ok(()) => Ok(0),
        Err(error) => {
            eprintln!("canny dap: {error}");
            Ok(exit_code::OS)
        }
    }
}

/// Serves one editor after the other.
fn listen(port: u16) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    eprintln!("canny dap: listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        // An editor that has gone is no reason to end.
        if let Err(error) = stream.and_then(serve_one) {
            eprintln!("canny dap: {error}");
        }
    }
    Ok(())
}

fn serve_one(stream: TcpStream) -> io::Result<()> {
    let output = stream.try_clone()?;
    adapter::serve(&surroundings()?, BufReader::new(stream), Box::new(output))
}

fn surroundings() -> io::Result<Surroundings> {
    Ok(Surroundings {
        command: std::env::current_exe()?,
        directory: ask::private_directory()?,
        attach: Box::new(attach),
    })
}

/// An answer without content.
struct NoReply;

impl Reply for NoReply {
    fn take(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Connects to a process that runs: it gets one end of a pair of sockets.
fn attach(process: u32) -> Result<UnixStream, String> {
    let pair = UnixStream::pair();
    let (own, other) = pair.map_err(|error| error.to_string())?;
    let other = File::from(OwnedFd::from(other));
    let asked = ask::ask_with_file(process, &Request::new("debug"), &other, &mut NoReply);
    asked.map_err(|error: AskError| error.to_string())?;
    Ok(own)
}
