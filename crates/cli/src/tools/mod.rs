//! The tools beside running programs: `canny fmt` and its kin. Each has its own options.

pub mod compile;
mod files;
mod fmt;
mod lsp;

use std::ffi::OsString;

use lexopt::Parser;

use crate::exit_code;

/// A tool and how it is called.
pub struct Tool {
    pub name: &'static str,
    /// What stands behind the name.
    pub operands: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Options with what they mean, for `--help`.
    pub options: &'static [(&'static str, &'static str)],
    /// More about it, for `--help`.
    pub details: &'static str,
    /// Runs it; the message says what is wrong with the command line.
    run: fn(Parser) -> Result<u8, String>,
}

/// Every tool.
pub const TOOLS: &[Tool] = &[compile::TOOL, fmt::TOOL, lsp::TOOL];

/// Runs the tool that the first word of a command line names; `None` if it names none.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Option<u8> {
    let mut words = arguments.into_iter();
    let program = words.next()?;
    let name = words.next()?;
    let tool = TOOLS.iter().find(|tool| name == tool.name)?;
    // A program of that name comes first, as it does for the other words.
    if std::path::Path::new(&name).is_file() {
        return None;
    }
    let rest: Vec<OsString> = words.collect();
    if rest.iter().any(|word| word == "--help" || word == "-h") {
        crate::print_all(&help(tool));
        return Some(0);
    }
    let parser = Parser::from_iter(std::iter::once(program).chain(rest));
    Some(match (tool.run)(parser) {
        Ok(code) => code,
        Err(message) => {
            eprintln!(
                "canny {}: {message}\nTry 'canny {} --help'.",
                tool.name, tool.name
            );
            exit_code::USAGE
        }
    })
}

fn help(tool: &Tool) -> String {
    let Tool {
        name,
        operands,
        summary,
        ..
    } = tool;
    let mut text = format!("usage: canny {name} {operands}\n\n{summary}.\n");
    if !tool.options.is_empty() {
        text.push_str("\noptions\n");
    }
    for (option, meaning) in tool.options {
        text.push_str(&format!("  {option:<16} {meaning}\n"));
    }
    if !tool.details.is_empty() {
        text.push_str(&format!("\n{}\n", tool.details));
    }
    text
}
