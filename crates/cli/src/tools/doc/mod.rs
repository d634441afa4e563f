//! `canny doc`: documentation of libraries, files and names.
//!
//! `find` turns operands into documents, `search` looks for words in all of them, `terminal` shows
//! Markdown in a terminal, `markdown` makes pages of documents, `site` makes HTML of them, `examples`
//! runs what is in them.

mod console;
mod examples;
mod find;
mod markdown;
mod search;
mod site;
mod terminal;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use lexopt::{Arg, Parser, ValueExt};

use super::table::{LIBRARY_OPTIONS, joined};
use super::{Tool, files};
use crate::environment::Environment;
use crate::exit_code;
use crate::options::Options;

pub const TOOL: Tool = Tool {
    name: "doc",
    operands: "[OPTION…] [LIBRARY|NAME|FILE|DIRECTORY|WORD]…",
    summary: "Shows documentation of libraries, names and source files, searches it, or tests its examples",
    options: &joined::<{ 3 + LIBRARY_OPTIONS.len() }>(
        &[
            (
                "--test",
                "run the examples, and tell which do not give what they say",
            ),
            (
                "--html DIR",
                "write a site about the libraries of files and directories",
            ),
            ("--markdown DIR", "write a page about each standard library"),
        ],
        LIBRARY_OPTIONS,
    ),
    details: "Without operands it lists the standard libraries. A library is '(scheme base)' or its words,\n\
              scheme base. Words that are no library, file or name are searched for. --test and --html take \
              the\n\
              current directory without operands. Exit code 1: an example does not give what it says; 66: \
              there\n\
              is no such library, name or file, and a search finds nothing.",
    run,
};

/// The action of the command.
enum Task {
    Show,
    Test,
    Html(PathBuf),
    Markdown(PathBuf),
}

fn run(mut parser: Parser, environment: &'static Environment) -> Result<u8, String> {
    let text_of = |error: lexopt::Error| error.to_string();
    let mut options = Options::new(environment);
    let mut task = Task::Show;
    let mut operands: Vec<String> = Vec::new();
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Long("test") => task = Task::Test,
            Arg::Long("html") => task = Task::Html(parser.value().map_err(text_of)?.into()),
            Arg::Long("markdown") => task = Task::Markdown(parser.value().map_err(text_of)?.into()),
            Arg::Short('A') => options
                .last_directories
                .push(parser.value().map_err(text_of)?.into()),
            Arg::Short('I') => options
                .first_directories
                .push(parser.value().map_err(text_of)?.into()),
            Arg::Short('D') => options
                .features
                .push(parser.value().map_err(text_of)?.string().map_err(text_of)?),
            Arg::Long("replace") => options.take_replaced(&mut parser)?,
            Arg::Long("no-project") => options.uses_project = false,
            Arg::Value(operand) => operands.push(operand.string().map_err(text_of)?),
            other => return Err(other.unexpected().to_string()),
        }
    }
    Ok(crate::on_large_stack(move || {
        let result = match task {
            Task::Show => show(&options, &operands),
            Task::Test => examples::test(&options, &operands),
            Task::Html(directory) => site::write(&options, &operands, &directory),
            Task::Markdown(directory) => markdown::write_reference(&directory),
        };
        result.unwrap_or_else(|failure| {
            eprintln!("canny doc: {}", failure.message);
            failure.code
        })
    }))
}

/// Why there is nothing to show.
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    fn no_input(message: String) -> Failure {
        Failure {
            message,
            code: exit_code::NO_INPUT,
        }
    }

    /// A file could not be read or written.
    fn of_file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::no_input(format!("cannot {what} {}: {error}", path.display()))
    }
}

fn show(options: &Options, operands: &[String]) -> Result<u8, Failure> {
    let mut pages: Vec<String> = Vec::new();
    if operands.is_empty() {
        pages.push(markdown::list_of_libraries());
    }
    for found in find::find_or_search(options, operands)? {
        pages.push(match found {
            find::Found::Matches(matches) => markdown::matches(&matches),
            find::Found::Document(document) => markdown::overview(&document),
            find::Found::Name { entry, libraries } => markdown::entry_page(&entry, &libraries),
        });
    }
    print(&pages.join("\n\n---\n\n"));
    Ok(0)
}

/// The documentation of a name that a standard library exports, in lines of that width; nothing if
/// there is none.
pub fn description(library: &str, name: &str, width: usize) -> Option<String> {
    let entry = canny_reference::document(library)?.entry(name)?;
    if entry.text.is_empty() {
        return None;
    }
    let text = markdown::entry_text(entry);
    let lines = terminal::render(&text, width.clamp(20, 100) - 2, false);
    let indented = lines.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("  {line}\n"),
    });
    Some(indented.collect())
}

/// How a name that a standard library exports is used, and the first sentence about it, as plain text
/// on one line.
pub fn summary(library: &str, name: &str) -> Option<(String, String)> {
    let entry = canny_reference::document(library)?.entry(name)?;
    let usage = entry.signatures.first().map(|first| first.text.clone());
    let sentence = plain_line(entry.summary());
    (!sentence.is_empty()).then(|| (usage.unwrap_or_default(), sentence))
}

/// The first sentence about a standard library, as plain text on one line.
pub fn summary_of_library(library: &str) -> Option<String> {
    let document = canny_reference::document(library)?;
    let sentence = plain_line(document.summary());
    (!sentence.is_empty()).then_some(sentence)
}

/// The documentation of a standard library, with a line for each name.
pub fn overview_of_library(library: &str, width: usize) -> Option<String> {
    let document = canny_reference::document(library)?;
    let text = markdown::overview(document);
    Some(terminal::render(&text, width.clamp(20, 100), false))
}

/// More columns than a sentence has.
const LINE_COLUMNS: usize = 10_000;

/// Markdown as plain text on one line.
fn plain_line(markdown: &str) -> String {
    let text = terminal::render(markdown, LINE_COLUMNS, false);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints Markdown, on a terminal page by page if it is longer than the window.
fn print(text: &str) {
    let is_terminal = std::io::stdout().is_terminal();
    let (columns, rows) = crate::terminal_size::terminal_size();
    let width = if is_terminal { columns } else { 80 };
    let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let shown = terminal::render(text, width.clamp(20, 100), is_terminal && colours);
    if is_terminal && shown.lines().count() >= rows && page(&shown) {
        return;
    }
    crate::print_all(&shown);
}

/// Shows a text with the user's pager; whether there is one.
fn page(text: &str) -> bool {
    let chosen = std::env::var("PAGER")
        .ok()
        .filter(|pager| !pager.is_empty());
    let pager = chosen.unwrap_or_else(|| "less -R".to_owned());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else {
        return false;
    };
    let child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // A reader who leaves the pager has seen enough.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}
