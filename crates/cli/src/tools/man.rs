//! `canny man`: prints the manual page in troff.
//!
//! It is made from the rows of commands, options and environment variables, like `--help`. All text
//! is escaped, so that no word of it is taken for a request.

use std::fmt::Write;

use lexopt::Parser;

use super::help::{DESCRIPTION, EXIT_CODES, FORMS, environment};
use super::table::{COMMON_OPTIONS, Row};
use super::{TOOLS, Tool, programs};
use crate::environment::Environment;
use crate::environment::table::Audience;

pub const TOOL: Tool = Tool {
    name: "man",
    operands: "",
    summary: "Prints the manual page as troff",
    options: &[],
    details: "To read it: canny man | man -l -\nTo install it: canny man > ~/.local/share/man/man1/canny.1",
    run,
};

fn run(mut parser: Parser, _: &'static Environment) -> Result<u8, String> {
    if let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        return Err(argument.unexpected().to_string());
    }
    crate::print_all(&page());
    Ok(0)
}

/// Text in which nothing is a request or an escape.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '.' | '\'' if out.is_empty() || out.ends_with('\n') => {
                out.push_str("\\&");
                out.push(character);
            }
            '\'' => out.push_str("\\(aq"),
            '…' => out.push_str("\\&..."),
            '\n' | ' '..='~' => out.push(character),
            other => {
                let _ = write!(out, "\\[u{:04X}]", other as u32);
            }
        }
    }
    out
}

/// A list of terms and what they mean.
fn list<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (term, meaning) in rows {
        let _ = writeln!(out, ".TP\n.B {}\n{}.", escaped(term), sentence(meaning));
    }
    out
}

/// With a capital, unless it begins with a word that is not one.
fn sentence(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let mut text = text.to_owned();
    if first.chars().all(|c| c.is_ascii_lowercase()) && !text.is_empty() {
        text[..1].make_ascii_uppercase();
    }
    escaped(&text)
}

fn page() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!(
        ".TH CANNY 1 \"\" \"canny {version}\" \"User Commands\"\n.SH NAME\ncanny \\- an R7RS Scheme\n.SH \
         SYNOPSIS\n"
    );
    for (at, (form, _)) in FORMS.iter().enumerate() {
        let line_break = if at > 0 { ".br\n" } else { "" };
        let _ = writeln!(out, "{line_break}.B canny\n{}", escaped(form));
    }
    out.push_str(".SH DESCRIPTION\n");
    out.push_str(&escaped(DESCRIPTION));
    out.push_str("Without a command:\n");
    for (form, meaning) in FORMS
        .iter()
        .filter(|(form, _)| !form.starts_with("COMMAND"))
    {
        let _ = writeln!(
            out,
            ".TP\n.B canny {}\n{}.",
            escaped(form),
            sentence(meaning)
        );
    }
    out.push_str(".SH OPTIONS\n");
    out.push_str(&list(programs::RUN.options.iter().copied()));
    out.push_str(&list(COMMON_OPTIONS.iter().copied()));
    out.push_str(".SH COMMANDS\n");
    for tool in TOOLS {
        let line = format!("canny {} {}", tool.name, tool.operands);
        let _ = writeln!(
            out,
            ".SS {}\n{}.",
            escaped(line.trim_end()),
            escaped(tool.summary)
        );
        let is_evaluation =
            |row: &&Row| tool.name == "run" || !programs::RUN.options.contains(*row);
        let own: Vec<Row> = tool
            .options
            .iter()
            .filter(|row| tool.name != "run" && is_evaluation(row))
            .copied()
            .collect();
        if own.len() < tool.options.len() {
            let shared: Vec<&str> = tool
                .options
                .iter()
                .filter(|row| !own.contains(row))
                .filter_map(|(option, _)| option.split([' ', ',']).next())
                .collect();
            if tool.name == "run" {
                out.push_str("Takes the options above.\n");
            } else {
                let _ = writeln!(
                    out,
                    "Takes of the options above: {}.",
                    escaped(&shared.join(", "))
                );
            }
        }
        if !tool.details.is_empty() {
            let _ = writeln!(out, "{}", escaped(tool.details));
        }
        out.push_str(&list(own));
    }
    out.push_str(".SH ENVIRONMENT\n");
    let variables = environment(&[Audience::Users, Audience::Work]);
    let variables = variables
        .iter()
        .map(|(name, meaning)| (name.as_str(), meaning.as_str()));
    out.push_str(&list(variables));
    out.push_str(".SH EXIT STATUS\n");
    out.push_str(&list(EXIT_CODES.iter().copied()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_request() {
        assert_eq!(escaped(".a\n'b\\"), "\\&.a\n\\&'b\\e");
        assert_eq!(escaped("--x…é"), "\\-\\-x\\&...\\[u00E9]");
    }

    #[test]
    fn the_page_has_every_command_and_option() {
        let page = page();
        assert!(page.is_ascii());
        for tool in TOOLS {
            assert!(page.contains(&format!(".SS canny {}", escaped(tool.name))));
            for (option, _) in tool.options {
                let name = option.split([' ', ',']).next().unwrap_or_default();
                assert!(page.contains(&escaped(name)), "{option}");
            }
        }
    }
}
