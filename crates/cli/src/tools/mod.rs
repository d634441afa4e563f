//! The commands of `canny`, and the one table of them and of their options. `--help`, completions for
//! shells and the manual page are made of it, and a command line is checked against it before a command
//! sees it.

mod bench;
pub mod compile;
mod compile_r7rs;
mod completions;
mod components;
mod dap;
pub mod doc;
pub mod files;
mod fmt;
mod heap;
pub mod help;
mod lsp;
mod man;
mod new;
pub mod packages;
pub mod programs;
mod replay;
mod serve;
pub mod table;
pub mod test;
mod wasm;

use std::ffi::OsString;

use lexopt::Parser;
use table::Checked;

use crate::environment::Environment;
use crate::exit_code;

/// A tool and how it is called.
pub struct Tool {
    pub name: &'static str,
    /// The operands in the usage line, behind the name. [`table`] describes their words.
    pub operands: &'static str,
    /// One line about it, without a full stop.
    pub summary: &'static str,
    /// Options with what they mean; `--help` is understood.
    pub options: &'static [(&'static str, &'static str)],
    /// More about it, in lines.
    pub details: &'static str,
    /// Runs it in the environment of the process; the message says what is wrong with the command line.
    run: fn(Parser, &'static Environment) -> Result<u8, String>,
}

/// Every command, in the order of `--help`.
pub const TOOLS: &[Tool] = &[
    programs::RUN,
    programs::REPL,
    programs::PROFILE,
    programs::DEBUG,
    programs::RECORD,
    replay::TOOL,
    heap::TOOL,
    programs::EXPAND,
    programs::DISASM,
    serve::TOOL,
    new::TOOL,
    test::TOOL,
    bench::TOOL,
    doc::TOOL,
    compile::TOOL,
    compile_r7rs::TOOL,
    fmt::TOOL,
    lsp::TOOL,
    dap::TOOL,
    wasm::TOOL,
    packages::ADD,
    packages::REMOVE,
    packages::LOCK,
    packages::UPDATE,
    packages::VENDOR,
    packages::TREE,
    programs::EXPLAIN,
    completions::TOOL,
    man::TOOL,
];

/// Runs the tool that the first word of a command line names, or the name that `canny` was called by;
/// `None` if there is none.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &'static Environment,
) -> Option<u8> {
    let mut words = arguments.into_iter();
    let program = words.next()?;
    let called = std::path::Path::new(&program).file_name();
    let tool = if called.is_some_and(|called| called == compile_r7rs::TOOL.name) {
        &compile_r7rs::TOOL
    } else {
        // A file of that name is run by `canny run NAME` or `canny ./NAME`.
        let name = words.next()?;
        TOOLS.iter().find(|tool| name == tool.name)?
    };
    let rest: Vec<OsString> = words.collect();
    let result = match table::check(tool, &rest) {
        Ok(Checked::Help) => {
            crate::print_all(&help::of_command(tool));
            return Some(0);
        }
        Ok(Checked::Fine) => (tool.run)(
            Parser::from_iter(std::iter::once(program).chain(rest)),
            environment,
        ),
        Err(message) => Err(message),
    };
    Some(result.unwrap_or_else(|message| {
        eprintln!(
            "canny {}: {message}\nTry 'canny {} --help'.",
            tool.name, tool.name
        );
        exit_code::USAGE
    }))
}
