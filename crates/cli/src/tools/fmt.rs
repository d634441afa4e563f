//! `canny fmt`: lays out source files, or checks their layout.
//!
//! A file is replaced only if its text changes, and as a whole. Each file is handled even if
//! another one fails; the first failure decides the exit code.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use lexopt::{Arg, Parser};

use super::{Tool, files};
use crate::environment::Environment;
use crate::exit_code;

pub const TOOL: Tool = Tool {
    name: "fmt",
    operands: "[--check] [FILE|DIRECTORY…]",
    summary: "Lays out source files: indentation, blanks, comments in columns",
    options: &[
        (
            "--check",
            "change nothing; name the files that are laid out otherwise",
        ),
        ("-", "from standard input to standard output"),
    ],
    details: "Without operands it takes the Scheme files below the current directory. Where lines end is \
        left to\n\
              the author, but lines of more than 100 columns are broken. A file whose parens do not match up \
              is\n\
              left alone. Exit code 1: with --check, something is laid out otherwise; 65: a file was \
              refused;\n\
              66: a file cannot be read or written.",
    run,
};

fn run(mut parser: Parser, _: &'static Environment) -> Result<u8, String> {
    let mut checks = false;
    let mut paths: Vec<PathBuf> = Vec::new();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Arg::Long("check") => checks = true,
            Arg::Value(path) => paths.push(path.into()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if paths.iter().any(|path| path == Path::new("-")) {
        if paths.len() > 1 {
            return Err("'-' stands alone".to_owned());
        }
        return Ok(standard_input(checks));
    }
    if paths.is_empty() {
        paths.push(PathBuf::from("."));
    }
    let mut work = Work {
        checks,
        ..Work::default()
    };
    let mut sources = Vec::new();
    for path in &paths {
        if let Err(error) = files::collect(path, &mut sources) {
            eprintln!(
                "canny fmt: cannot read {}: {error}",
                files::shown(path).display()
            );
            work.fail(exit_code::NO_INPUT);
        }
    }
    sources.dedup();
    for source in &sources {
        work.file(source);
    }
    if !checks {
        let files = if work.changed == 1 { "file" } else { "files" };
        eprintln!("{} {files} of {} changed", work.changed, sources.len());
    }
    Ok(match work.code {
        0 if checks && work.changed > 0 => 1,
        code => code,
    })
}

#[derive(Default)]
struct Work {
    checks: bool,
    changed: usize,
    code: u8,
}

impl Work {
    /// Keeps the first failure as the exit code.
    fn fail(&mut self, code: u8) {
        if self.code == 0 {
            self.code = code;
        }
    }

    fn file(&mut self, path: &Path) {
        let name = files::shown(path).display();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("canny fmt: cannot read {name}: {error}");
                return self.fail(exit_code::NO_INPUT);
            }
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..valid]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count()
                    + 1;
                eprintln!("{name}:{line}: error: this is not UTF-8; the file is left alone");
                return self.fail(exit_code::DATA);
            }
        };
        let laid_out = match canny_format::format(&text) {
            Ok(laid_out) => laid_out,
            Err(error) => {
                eprintln!(
                    "{name}:{}:{}: error: {}; the file is left alone",
                    error.line, error.column, error.message
                );
                return self.fail(exit_code::DATA);
            }
        };
        if laid_out == text {
            return;
        }
        if self.checks {
            println!("{name}");
        } else if let Err(error) = files::replace(path, laid_out.as_bytes()) {
            eprintln!("canny fmt: cannot write {name}: {error}");
            return self.fail(exit_code::NO_INPUT);
        }
        self.changed += 1;
    }
}

/// From standard input to standard output.
fn standard_input(checks: bool) -> u8 {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        eprintln!("canny fmt: cannot read standard input: {error}");
        return exit_code::NO_INPUT;
    }
    match canny_format::format(&text) {
        Ok(laid_out) if checks => u8::from(laid_out != text),
        Ok(laid_out) => match std::io::stdout().write_all(laid_out.as_bytes()) {
            Ok(()) => 0,
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
            Err(error) => {
                eprintln!("canny fmt: cannot write: {error}");
                exit_code::OS
            }
        },
        Err(error) => {
            eprintln!(
                "standard input:{}:{}: error: {}",
                error.line, error.column, error.message
            );
            exit_code::DATA
        }
    }
}
