//! `canny heap`: parses its options; `crate::heap` does the work.
//!
//! The command has two ways, `--attach PID` and `FILE`. An option of one is refused in the other.

use lexopt::{Arg, Parser, ValueExt};

use super::Tool;
use super::table::{Row, joined};
use crate::environment::Environment;
use crate::exit_code;
use crate::heap::file::{self, FileWish};
use crate::heap::{AttachWish, attach};

const ATTACH_OPTIONS: &[Row] = &[
    (
        "--attach PID",
        "take a snapshot of a process of yours that runs already",
    ),
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
];

pub const TOOL: Tool = Tool {
    name: "heap",
    operands: "[OPTION…] FILE [AFTER]",
    summary: "Shows what keeps objects alive in heap snapshots, or takes one of a process",
    options: &joined::<{ file::ROWS.len() + ATTACH_OPTIONS.len() }>(file::ROWS, ATTACH_OPTIONS),
    details: "Without options it prints the snapshots of FILE and the largest types of the last one.\n\
        With --attach there is no FILE. A file with snapshots of the same process gets one more.",
    run,
};

fn run(mut parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut attached = AttachWish::default();
    let mut looked = FileWish::default();
    // An option that only one of the two ways has.
    let (mut of_attach, mut of_file) = (None, None);
    while let Some(argument) = parser.next().map_err(text_of)? {
        let name = match argument {
            Arg::Short('o') => "output".to_owned(),
            Arg::Long(name) => name.to_owned(),
            Arg::Value(value) => {
                looked.take_operand(value)?;
                continue;
            }
            other => return Err(other.unexpected().to_string()),
        };
        match name.as_str() {
            "attach" => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                let process = text.parse().ok().filter(|number| *number > 0);
                let wrong = || format!("--attach wants the number of a process, not '{text}'");
                attached.process = process.ok_or_else(wrong)?;
            }
            "output" => {
                let path = parser.value().map_err(text_of)?;
                attached.output = Some(path.clone().into());
                looked.output = Some(path.into());
                continue;
            }
            "hide-strings" => attached.hides_strings = true,
            "collect" => attached.collects = true,
            "in-place" => attached.is_in_place = true,
            name if looked.take_option(name, &mut parser)? => {
                of_file = Some(name.to_owned());
                continue;
            }
            _ => return Err(format!("there is no option '--{name}'")),
        }
        of_attach = Some(name);
    }
    looked.finish()?;
    if attached.process > 0 {
        if looked.has_file() {
            return Err("--attach takes no FILE".to_owned());
        }
        if let Some(name) = of_file {
            return Err(format!("--{name} needs a FILE, not --attach"));
        }
        return Ok(take(&attached));
    }
    if !looked.has_file() {
        return Err("expected a FILE of heap snapshots, or --attach with a process".to_owned());
    }
    if let Some(name) = of_attach {
        return Err(format!("--{name} needs --attach"));
    }
    looked.check()?;
    Ok(file::look(looked, environment))
}

fn take(wish: &AttachWish) -> u8 {
    match attach(wish) {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("canny: {message}");
            exit_code::OS
        }
    }
}
