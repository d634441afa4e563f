//! `compile-r7rs`, the command line of SRFI 138, on top of `canny compile`.
//!
//! `canny` behaves so under the name `compile-r7rs` too, which a link gives it.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use lexopt::Parser;

use super::Tool;
use super::compile::{self, OPTIONS, Words};
use crate::environment::Environment;
use crate::exit_code;

pub const TOOL: Tool = Tool {
    name: "compile-r7rs",
    operands: "[OPTION…] [FILE]",
    summary: "Compiles a program as SRFI 138 says; also the name of a link to canny",
    options: OPTIONS,
    details: "As 'canny compile', but PROGRAM is in the directory of FILE unless given. Without FILE it does \
        nothing.\n\
              If the variable COMPILE_R7RS names another program, that runs instead, with the same \
              arguments.",
    run,
};

/// Names the program that is to be run instead.
const VARIABLE: &str = "COMPILE_R7RS";

fn run(parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    if let Some(other) = other_compiler(environment) {
        return Ok(forward(&other));
    }
    let Words {
        options,
        file,
        output,
    } = compile::parse(parser, environment)?;
    let Some(file) = file else {
        return Ok(0);
    };
    let output = match output {
        Some(output) => output,
        None if file.extension().is_some() => file.with_extension(""),
        None => return Err("a file without an ending needs -o".to_owned()),
    };
    Ok(crate::on_large_stack(move || {
        compile::compile(&options, &file, &output)
    }))
}

/// The program that the environment names, if it is not this one.
fn other_compiler(environment: &Environment) -> Option<PathBuf> {
    let name = std::env::var_os(VARIABLE).filter(|name| !name.is_empty())?;
    // It may be a script that calls this one.
    if environment.is_forwarded {
        return None;
    }
    let path = on_search_path(&name).unwrap_or_else(|| PathBuf::from(&name));
    let is_this = match (std::fs::canonicalize(&path), std::env::current_exe()) {
        (Ok(other), Ok(this)) => std::fs::canonicalize(&this).is_ok_and(|this| this == other),
        _ => false,
    };
    (!is_this).then_some(path)
}

/// Where a program is whose name has no directory.
fn on_search_path(name: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() != 1 || name.as_encoded_bytes().contains(&b'/') {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).map(|directory| directory.join(name));
    candidates.find(|candidate| candidate.is_file())
}

/// Becomes another program; gives an exit code if that fails.
fn forward(program: &Path) -> u8 {
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default();
    let is_link = Path::new(&called).file_name() == Some(OsStr::new(TOOL.name));
    // Behind `canny compile-r7rs` there is one word more.
    let arguments = words.skip(usize::from(!is_link));
    let error = Command::new(program)
        .args(arguments)
        .env(crate::environment::FORWARDED, "1")
        .exec();
    eprintln!(
        "compile-r7rs: cannot run {}, which {VARIABLE} names: {error}",
        program.display()
    );
    exit_code::OS
}
