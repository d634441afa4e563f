//! `canny dap`: the debug adapter that editors start.
//!
//! The adapter is `canny_dap::adapter`; this module says how programs are started and found. Nothing but
//! messages of the protocol goes to standard output.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use canny_dap::Surroundings;
use canny_dap::adapter;
use canny_dap::connection;
use canny_lib::ask;
use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use crate::debug;
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
            "--listen [HOST:]PORT",
            "talk to whoever connects to this port of the loopback interface, 0 for any that is free; \
             at another host, only to adapters that show a token",
        ),
    ],
    details: "It speaks the Debug Adapter Protocol. Editors start it; docs/guide/debugging.md says how.",
    run,
};

fn run(mut parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut place = None;
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Long("stdio") => {}
            Arg::Long("listen") => {
                let value = parser.value().and_then(|value| value.string());
                let value = value.map_err(text_of)?;
                place = Some(Place::read(&value)?);
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    let served = match place {
        None => {
            let input = BufReader::new(io::stdin());
            surroundings().and_then(|own| adapter::serve(&own, input, Box::new(io::stdout())))
        }
        Some(place) => listen(&place, environment),
    };
    match served {
        Ok(()) => Ok(0),
        Err(error) => {
            eprintln!("canny dap: {error}");
            Ok(exit_code::OS)
        }
    }
}

/// Where to listen.
struct Place {
    host: String,
    port: u16,
}

impl Place {
    fn read(text: &str) -> Result<Place, String> {
        let (host, port) = text.rsplit_once(':').unwrap_or(("127.0.0.1", text));
        let wrong = |_| format!("--listen wants a port, or HOST:PORT, not '{text}'");
        let port = port.parse::<u16>().map_err(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Place {
            host: host.to_owned(),
            port,
        })
    }
}

/// Bytes of a token that is made.
const TOKEN_BYTES: usize = 16;
/// Time in which a token has to come.
const TOKEN_TIME: Duration = Duration::from_secs(5);
/// Time that somebody has to wait who has shown a wrong token.
const PENALTY: Duration = Duration::from_secs(1);

/// Serves one editor after the other.
fn listen(place: &Place, environment: &Environment) -> io::Result<()> {
    let listener = TcpListener::bind((place.host.as_str(), place.port))?;
    let address = listener.local_addr()?;
    eprintln!("canny dap: listening on {address}");
    let token = match &environment.debugger_token {
        _ if address.ip().is_loopback() => None,
        Some(token) => Some(token.clone()),
        None => Some(new_token()?),
    };
    for stream in listener.incoming() {
        let served = stream.and_then(|stream| serve_one(stream, token.as_deref()));
        // An editor that has gone is no reason to end.
        if let Err(error) = served {
            eprintln!("canny dap: {error}");
        }
    }
    Ok(())
}

/// A token that others have to show, which is told.
fn new_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    eprintln!("canny dap: the token is {token}");
    Ok(token)
}

fn serve_one(stream: TcpStream, token: Option<&str>) -> io::Result<()> {
    let output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    if let Some(token) = token {
        input.get_ref().set_read_timeout(Some(TOKEN_TIME))?;
        if !connection::shows_token(&mut input, token)? {
            std::thread::sleep(PENALTY);
            return Err(io::Error::other(
                "somebody has shown no token, or a wrong one",
            ));
        }
        input.get_ref().set_read_timeout(None)?;
    }
    adapter::serve(&surroundings()?, input, Box::new(output))
}

fn surroundings() -> io::Result<Surroundings> {
    Ok(Surroundings {
        command: std::env::current_exe()?,
        directory: ask::private_directory()?,
        attach: Box::new(debug::connect_to_process),
        processes: Box::new(ask::processes),
    })
}
