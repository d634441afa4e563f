//! The command line of `canny bench`: its options, their bounds, and which of them exclude each
//! other. Files are not looked at here.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use super::super::table::Row;
use crate::environment::Environment;
use crate::options::Options;

pub const OWN_OPTIONS: &[Row] = &[
    (
        "--against FILE",
        "measure FILE too, in turns, and compare with it",
    ),
    (
        "--against-commit REVISION",
        "compare with the files as they are in this commit of git",
    ),
    (
        "--canny PROGRAM",
        "compare with another build of canny, which runs the other side",
    ),
    (
        "--fail-above RATIO",
        "exit with 1 if a ratio is above RATIO with confidence",
    ),
    (
        "--filter TEXT",
        "run the benchmarks with TEXT in FILE: NAME; may be given several times",
    ),
    ("--list", "name the benchmarks and run none"),
    (
        "--time SECONDS",
        "the time for each benchmark and side; 5 unless given",
    ),
    (
        "--processes N",
        "start N processes for each benchmark and side; 5 unless given",
    ),
    ("--quick", "as --time 1 --processes 3, for a first look"),
    (
        "--json",
        "write the results as JSON, one object on each line",
    ),
    (
        "--heap-limit N",
        "let each process use at most N bytes of heap",
    ),
    ("--no-jit", "do not compile code that runs often"),
];

/// The options and operands of the command line.
pub struct Wishes {
    /// Options of every process.
    pub options: Vec<OsString>,
    pub files: Vec<PathBuf>,
    pub against: Option<PathBuf>,
    pub against_commit: Option<String>,
    pub canny: Option<PathBuf>,
    pub fail_above: Option<f64>,
    pub filters: Vec<String>,
    pub lists: bool,
    pub seconds: f64,
    pub processes: usize,
    pub is_json: bool,
}

impl Wishes {
    pub fn compares(&self) -> bool {
        self.against.is_some() || self.against_commit.is_some() || self.canny.is_some()
    }

    /// Whether a benchmark is to be run.
    pub fn wants(&self, title: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|text| title.contains(text))
    }
}

pub fn parse(mut parser: Parser, environment: &'static Environment) -> Result<Wishes, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut options = Options::new(environment);
    let mut machine: Vec<OsString> = Vec::new();
    let mut is_quick = false;
    let mut seconds = None;
    let mut processes = None;
    let mut wishes = Wishes {
        options: Vec::new(),
        files: Vec::new(),
        against: None,
        against_commit: None,
        canny: None,
        fail_above: None,
        filters: Vec::new(),
        lists: false,
        seconds: 5.0,
        processes: 5,
        is_json: false,
    };
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short(option @ ('A' | 'I' | 'D')) => {
                options.take_library_option(option, &mut parser)?;
            }
            Arg::Long("replace") => options.take_replaced(&mut parser)?,
            Arg::Long("no-project") => options.uses_project = false,
            Arg::Long("against") => {
                wishes.against = Some(parser.value().map_err(text_of)?.into());
            }
            Arg::Long("against-commit") => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                wishes.against_commit = Some(text);
            }
            Arg::Long("canny") => wishes.canny = Some(parser.value().map_err(text_of)?.into()),
            Arg::Long("fail-above") => {
                wishes.fail_above = Some(number(&mut parser, "--fail-above", 0.01..=1000.0)?);
            }
            Arg::Long("filter") => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                if text.is_empty() {
                    return Err("--filter wants a text".to_owned());
                }
                wishes.filters.push(text);
            }
            Arg::Long("list") => wishes.lists = true,
            Arg::Long("time") => seconds = Some(number(&mut parser, "--time", 0.01..=86_400.0)?),
            Arg::Long("processes") => {
                let count = number(&mut parser, "--processes", 1.0..=1000.0)?;
                if count.fract() != 0.0 {
                    return Err(format!("--processes wants a whole number, not '{count}'"));
                }
                processes = Some(count as usize);
            }
            Arg::Long("quick") => is_quick = true,
            Arg::Long("json") => wishes.is_json = true,
            Arg::Long("heap-limit") => {
                let value = parser.value().map_err(text_of)?;
                crate::options::size("--heap-limit", value.clone())?;
                machine.extend(["--heap-limit".into(), value]);
            }
            Arg::Long("no-jit") => machine.push("--no-jit".into()),
            Arg::Value(file) => wishes.files.push(file.into()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    wishes.seconds = seconds.unwrap_or(if is_quick { 1.0 } else { 5.0 });
    wishes.processes = processes.unwrap_or(if is_quick { 3 } else { 5 });
    wishes.options = options.library_words();
    wishes.options.extend(machine);
    check(wishes)
}

/// Options that do not go together.
fn check(wishes: Wishes) -> Result<Wishes, String> {
    let problem = if wishes.files.is_empty() {
        "there is no file to measure"
    } else if wishes.against.is_some() && wishes.files.len() > 1 {
        "--against wants one file to compare with another"
    } else if wishes.fail_above.is_some() && !wishes.compares() {
        "--fail-above wants a comparison: --against, --against-commit or --canny"
    } else if wishes.compares() && wishes.processes < 2 {
        "a comparison wants two processes or more"
    } else {
        return Ok(wishes);
    };
    Err(problem.to_owned())
}

/// The value of an option: a number within bounds.
fn number(
    parser: &mut Parser,
    option: &str,
    bounds: std::ops::RangeInclusive<f64>,
) -> Result<f64, String> {
    let value = parser.value().map_err(|error| error.to_string())?;
    let text = value.to_string_lossy();
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        format!("{option} wants a number from {least} to {most}, not '{text}'")
    })
}
