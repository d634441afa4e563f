//! `canny replay`: a recorded program runs again, to the same end.

use std::path::PathBuf;

use lexopt::{Arg, Parser};

use super::Tool;
use crate::environment::Environment;
use crate::options::{self, Verb};
use crate::replays::{self, ReplayWish};

pub const TOOL: Tool = Tool {
    name: "replay",
    operands: "[OPTION…] RECORDING",
    summary: "Runs a recorded program again, to the same end",
    options: &[
        ("-t", "stop at the first line, and ask at the prompt"),
        (
            "--connect SOCKET",
            "be debugged by the adapter at this socket; 'canny dap' starts replays so",
        ),
        (
            "--resume PLACE",
            "stop there; the prompt uses it to go backwards",
        ),
    ],
    details: "The program reads, and learns of the time, what it did when it was recorded.\n\
        It writes nothing but to standard output and standard error.",
    run: replay,
};

fn replay(mut parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut file: Option<PathBuf> = None;
    let mut debugs = false;
    let mut resumption = None;
    let mut socket: Option<PathBuf> = None;
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short('t') => debugs = true,
            Arg::Long("connect") => socket = Some(parser.value().map_err(text_of)?.into()),
            Arg::Long("resume") => {
                let text = parser.value().map_err(text_of)?;
                resumption = Some(text.to_string_lossy().into_owned());
            }
            Arg::Value(value) if file.is_none() => file = Some(value.into()),
            argument => return Err(argument.unexpected().to_string()),
        }
    }
    let file = file.ok_or("'replay' takes a recording")?;
    let words = replays::words(&replays::read(&file)?);
    let parser = Parser::from_args(words);
    let mut options = options::parse_rest(parser, Some(Verb::Record), environment)?;
    // The current directory changes.
    let file = std::path::absolute(&file).unwrap_or(file);
    options.replay = ReplayWish::Replay(file);
    // A debugger stops at places that do not depend on when something was compiled.
    options.compiles = false;
    options.debugs = debugs || socket.is_some();
    options.debug_socket = socket;
    options.resumption = resumption;
    Ok(crate::perform(options))
}
