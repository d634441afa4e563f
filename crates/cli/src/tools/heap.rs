//! `canny heap`: parses its options; `crate::heap` does the work.

use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use crate::environment::Environment;
use crate::exit_code;
use crate::heap::{AttachWish, attach};

pub const TOOL: Tool = Tool {
    name: "heap",
    operands: "[OPTION…] --attach PID",
    summary: "Takes a heap snapshot of a process of yours that runs already",
    options: &[
        ("--attach PID", "the number of the process"),
        (
            "-o, --output FILE",
            "write to FILE; canny-PID.heap unless given",
        ),
        (
            "--hide-strings",
            "leave the beginnings of strings out of the file",
        ),
        (
            "--collect",
            "collect garbage before, for which the process stands still, too",
        ),
        (
            "--in-place",
            "let the process itself write, and stand still meanwhile, not a copy of it",
        ),
    ],
    details: "A FILE with snapshots of the same process gets one more.",
    run,
};

fn run(mut parser: Parser, _environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut wish = AttachWish::default();
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Long("attach") => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                let process = text.parse().ok().filter(|number| *number > 0);
                let wrong = || format!("--attach wants the number of a process, not '{text}'");
                wish.process = process.ok_or_else(wrong)?;
            }
            Arg::Short('o') | Arg::Long("output") => {
                wish.output = Some(parser.value().map_err(text_of)?.into());
            }
            Arg::Long("hide-strings") => wish.hides_strings = true,
            Arg::Long("collect") => wish.collects = true,
            Arg::Long("in-place") => wish.is_in_place = true,
            other => return Err(other.unexpected().to_string()),
        }
    }
    if wish.process == 0 {
        return Err("expected --attach with the number of a process".to_owned());
    }
    match attach(&wish) {
        Ok(()) => Ok(0),
        Err(message) => {
            eprintln!("canny: {message}");
            Ok(exit_code::OS)
        }
    }
}
