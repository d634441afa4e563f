//! The texts of `--help` and `-V`.
//!
//! They are made from the rows of commands, options, environment variables and exit codes, so that
//! a new row appears by itself. `-V` prints data in the form of SRFI 176.

use canny_lib::features::FEATURES;

use super::programs::RUN;
use super::table::{COMMON_OPTIONS, Row};
use super::{TOOLS, Tool};
use crate::environment::table::{Audience, OTHERS, listed};

/// Ways to run programs without naming a command.
pub const FORMS: &[Row] = &[
    ("[OPTION…] FILE [ARGUMENT…]", "run a program"),
    (
        "[OPTION…] -e EXPR [ARGUMENT…]",
        "evaluate expressions and print their values",
    ),
    (
        "[OPTION…] - [ARGUMENT…]",
        "run a program from standard input",
    ),
    (
        "[OPTION…]",
        "read, evaluate, print; a program when input is no terminal",
    ),
    (
        "COMMAND …",
        "one of those below; more by 'canny COMMAND --help'",
    ),
];

pub const DESCRIPTION: &str = "\
A program is a file of R7RS Scheme; one that does not begin with an import gets the bindings of the
prompt. Libraries are .sld or .sls files: (my lib) is my/lib.sld in a directory searched. Directories are
searched in this order: those of -I, that of the program, those of the project around it (with its packages),
those of CANNY_LIBRARY_PATH (separated by colons), those of -A.
";

/// Stands behind the list of variables in `--help`.
const MORE_VARIABLES: &str = "'canny man' lists more of them, for work on Canny itself.";

/// Variables that are for these people, and those of others that Canny looks at.
pub fn environment(audiences: &[Audience]) -> Vec<(String, String)> {
    let others = OTHERS.iter();
    let others = others.map(|&(name, meaning)| (name.to_owned(), meaning.replace('`', "")));
    listed(audiences).into_iter().chain(others).collect()
}

pub const EXIT_CODES: &[Row] = &[
    ("N", "what the program gives to (exit), else 0"),
    ("64", "the command line or an environment variable is wrong"),
    ("65", "syntax errors"),
    ("66", "a file cannot be read"),
    ("70", "an error that no handler took"),
    ("71", "the operating system refused something"),
    ("130", "Ctrl-C"),
];

/// Columns of what stands on the left.
const LEFT_COLUMNS: usize = 26;

/// A list in two columns; what is too wide for the left one has a line of its own.
fn list(rows: impl Iterator<Item = (String, String)>) -> String {
    let mut text = String::new();
    for (left, right) in rows {
        if left.chars().count() >= LEFT_COLUMNS {
            text.push_str(&format!("  {left}\n  {:LEFT_COLUMNS$} {right}\n", ""));
        } else {
            text.push_str(&format!("  {left:LEFT_COLUMNS$} {right}\n"));
        }
    }
    text
}

fn rows(rows: &[Row]) -> String {
    list(
        rows.iter()
            .map(|&(left, right)| (left.to_owned(), right.to_owned())),
    )
}

/// The text of `canny --help`.
pub fn text() -> String {
    let forms = FORMS
        .iter()
        .map(|(form, meaning)| (format!("canny {form}"), (*meaning).to_owned()));
    let tools = TOOLS.iter().map(|tool| {
        let mut summary = tool.summary.to_owned();
        summary[..1].make_ascii_lowercase();
        (format!("{} {}", tool.name, tool.operands), summary)
    });
    format!(
        "Canny, an R7RS Scheme.\n\nUsage:\n{}\nCommands:\n{}\nOptions:\n{}{}\n{DESCRIPTION}\n\
         Environment:\n{}{MORE_VARIABLES}\n\n\
        Exit codes:\n{}",
        list(forms),
        list(tools),
        rows(RUN.options),
        rows(COMMON_OPTIONS),
        list(environment(&[Audience::Users]).into_iter()),
        rows(EXIT_CODES),
    )
}

/// The text of `canny COMMAND --help`.
pub fn of_command(tool: &Tool) -> String {
    let Tool {
        name,
        operands,
        summary,
        options,
        details,
        ..
    } = tool;
    let mut text = format!("Usage: canny {name} {operands}\n\n{summary}.\n");
    text.push_str(&format!(
        "\nOptions:\n{}{}",
        rows(options),
        rows(COMMON_OPTIONS)
    ));
    if !details.is_empty() {
        text.push_str(&format!("\n{details}\n"));
    }
    text
}

/// The text of `-V`: SRFI 176 data.
pub fn version() -> String {
    let mut text = format!("canny {}\n", env!("CARGO_PKG_VERSION"));
    text.push_str(&format!("(version \"{}\")\n", env!("CARGO_PKG_VERSION")));
    text.push_str(
        "(command \"canny\")\n(scheme.id canny)\n(languages scheme r5rs r7rs)\n(encodings utf-8)\n",
    );
    text.push_str(&format!(
        "(os.type {})\n(cpu.arch {})\n",
        std::env::consts::OS,
        std::env::consts::ARCH
    ));
    text.push_str(&format!("(scheme.features {})\n", FEATURES.join(" ")));
    let srfis: Vec<&str> = FEATURES
        .iter()
        .filter_map(|feature| feature.strip_prefix("srfi-"))
        .collect();
    text.push_str(&format!("(scheme.srfi {})\n", srfis.join(" ")));
    text.push_str("(scheme.path \"CANNY_LIBRARY_PATH\")\n");
    text
}
