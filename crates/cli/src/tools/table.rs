//! Parses the rows of [`TOOLS`](super::TOOLS): the options that a row names, and the words that
//! stand for their arguments.
//!
//! The text of a row is the source of it all. `-h, --help` are two names of one option; the word behind
//! them is the option's argument: words of small letters with `|` between them are all that it may be,
//! and of words in capitals those of [`Argument::of`] are known. A word in the operands is read in the
//! same way. A command whose operands name `ARGUMENT` hands all that follows its first operand to a
//! program.

use std::ffi::OsString;

use canny_syntax::name::Name;
use canny_syntax::spelling::similar_name;
use lexopt::{Arg, Parser};

use super::Tool;

/// An option or a variable, and what it means.
pub type Row = (&'static str, &'static str);

/// Options that every command takes.
pub const COMMON_OPTIONS: &[Row] = &[("-h, --help", "print this")];

/// Options of what compiles.
pub const LIBRARY_OPTIONS: &[Row] = &[
    (
        "-A DIR",
        "search DIR for libraries after the other directories",
    ),
    (
        "-I DIR",
        "search DIR for libraries before the other directories",
    ),
    ("-D FEATURE", "let cond-expand know FEATURE"),
    (
        "--replace LIBRARY",
        "take this SRFI, such as '(srfi 64)', from the directories instead of Canny's own",
    ),
    (
        "--no-project",
        "leave the project around the program out of account, and its packages",
    ),
];

/// Two lists as one.
pub const fn joined<const N: usize>(first: &[Row], second: &[Row]) -> [Row; N] {
    assert!(first.len() + second.len() == N);
    let mut rows = [("", ""); N];
    let mut at = 0;
    while at < N {
        rows[at] = if at < first.len() {
            first[at]
        } else {
            second[at - first.len()]
        };
        at += 1;
    }
    rows
}

/// The kinds of argument, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// One of the words in the text, with `|` between them.
    Choice(&'static str),
    File,
    Directory,
    /// The code of a message.
    Code,
    /// The name of a library.
    Library,
    /// Something that only the user knows.
    Other,
}

impl Argument {
    fn of(word: &'static str) -> Argument {
        let is_choice = word.contains('|')
            && word
                .chars()
                .all(|c| c == '|' || c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit());
        match word {
            _ if is_choice => Argument::Choice(word),
            "FILE" | "PROGRAM" | "PATH" => Argument::File,
            "DIR" | "DIRECTORY" => Argument::Directory,
            "CODE" | "WARNING" => Argument::Code,
            "LIBRARY" => Argument::Library,
            _ => Argument::Other,
        }
    }
}

/// An option of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionShape {
    /// With their dashes.
    pub names: Vec<&'static str>,
    pub argument: Option<Argument>,
    pub meaning: &'static str,
}

impl OptionShape {
    /// Reads a row; `None` for one about an operand, such as `-`.
    fn read(&(text, meaning): &Row) -> Option<OptionShape> {
        let mut names = Vec::new();
        let mut argument = None;
        for part in text.split(", ") {
            let (name, value) = match part.split_once(' ') {
                Some((name, value)) => (name, Some(value)),
                None => (part, None),
            };
            if name.starts_with('-') && name != "-" {
                names.push(name);
            }
            argument = argument.or(value);
        }
        (!names.is_empty()).then_some(OptionShape {
            names,
            argument: argument.map(Argument::of),
            meaning,
        })
    }

    fn is(&self, argument: &Arg<'_>) -> bool {
        let named = |name: &str| match argument {
            Arg::Short(letter) => name.strip_prefix('-') == Some(letter.to_string().as_str()),
            Arg::Long(word) => name.strip_prefix("--") == Some(word),
            Arg::Value(_) => false,
        };
        self.names.iter().any(|name| named(name))
    }
}

impl Tool {
    /// The options that it takes.
    pub fn option_shapes(&self) -> Vec<OptionShape> {
        let rows = self.options.iter().chain(COMMON_OPTIONS);
        let mut shapes: Vec<OptionShape> = rows.filter_map(OptionShape::read).collect();
        // A row may have its own word about --help.
        let is_help = |shape: &OptionShape| shape.names.contains(&"--help");
        if shapes.iter().filter(|shape| is_help(shape)).count() > 1 {
            shapes.pop();
        }
        shapes
    }

    /// The kinds of argument that its operands may be.
    pub fn operand_arguments(&self) -> Vec<Argument> {
        let words = self.operands.split_whitespace();
        let words = words.map(|word| word.trim_matches(['[', ']', '…']));
        let mut arguments: Vec<Argument> = Vec::new();
        let mut is_value = false;
        for word in words {
            // The word behind an option is its argument.
            if std::mem::replace(&mut is_value, word.starts_with('-')) {
                continue;
            }
            let parts: Vec<&'static str> = match Argument::of(word) {
                Argument::Choice(words) => vec![words],
                _ => word.split('|').collect(),
            };
            for argument in parts.into_iter().map(Argument::of) {
                if argument != Argument::Other && !arguments.contains(&argument) {
                    arguments.push(argument);
                }
            }
        }
        arguments
    }

    /// Whether what follows the first operand belongs to a program.
    fn runs_programs(&self) -> bool {
        self.operands.contains("ARGUMENT")
    }
}

/// The result of checking the options of a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Checked {
    Fine,
    Help,
}

/// Checks that the words behind a command are options of its row.
pub fn check(tool: &Tool, words: &[OsString]) -> Result<Checked, String> {
    let shapes = tool.option_shapes();
    let text_of = |error: lexopt::Error| error.to_string();
    let mut parser = Parser::from_args(words);
    while let Some(argument) = parser.next().map_err(text_of)? {
        if matches!(argument, Arg::Value(_)) {
            if tool.runs_programs() {
                break;
            }
            continue;
        }
        let Some(shape) = shapes.iter().find(|shape| shape.is(&argument)) else {
            return Err(unknown(&argument, &shapes));
        };
        if shape.names.contains(&"--help") {
            return Ok(Checked::Help);
        }
        if shape.argument.is_some() {
            parser.value().map_err(text_of)?;
        }
    }
    Ok(Checked::Fine)
}

fn unknown(argument: &Arg<'_>, shapes: &[OptionShape]) -> String {
    let name = match argument {
        Arg::Long(word) => format!("--{word}"),
        Arg::Short(letter) => format!("-{letter}"),
        Arg::Value(word) => word.to_string_lossy().into_owned(),
    };
    let names = shapes.iter().flat_map(|shape| shape.names.iter());
    let names = names.map(|name| Name::new(name));
    match similar_name(Name::new(&name), names) {
        Some(similar) => format!("there is no option '{name}'; did you mean '{similar}'?"),
        None => format!("there is no option '{name}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::TOOLS;
    use super::*;

    const TOOL: Tool = Tool {
        name: "try",
        operands: "[--check] [-o FILE] [CODE] [FILE|DIRECTORY…]",
        summary: "Tries",
        options: &[
            ("-o, --output FILE", "where"),
            ("--format text|json", "how"),
            ("-", "standard input"),
        ],
        details: "",
        run: |_, _| Ok(0),
    };

    #[test]
    fn rows_are_read() {
        let shapes = TOOL.option_shapes();
        assert_eq!(shapes.len(), 3);
        assert_eq!(shapes[0].names, ["-o", "--output"]);
        assert_eq!(shapes[0].argument, Some(Argument::File));
        assert_eq!(shapes[1].argument, Some(Argument::Choice("text|json")));
        assert_eq!(
            TOOL.operand_arguments(),
            [Argument::Code, Argument::File, Argument::Directory]
        );
    }

    #[test]
    fn words_are_checked() {
        let checked = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            check(&TOOL, &words)
        };
        assert_eq!(
            checked(&["-ox", "--output=-y", "a", "--format", "-z"]),
            Ok(Checked::Fine)
        );
        assert_eq!(checked(&["a", "--", "--other"]), Ok(Checked::Fine));
        assert_eq!(checked(&["a", "-h"]), Ok(Checked::Help));
        assert_eq!(checked(&["--output", "-h"]), Ok(Checked::Fine));
        let message = checked(&["--outptu", "x"]).unwrap_err();
        assert!(message.contains("did you mean '--output'?"), "{message}");
        assert!(checked(&["-o"]).is_err());
        assert!(checked(&["-x"]).is_err());
    }

    #[test]
    fn every_row_can_be_read() {
        for tool in TOOLS {
            for row in tool.options {
                let shape = OptionShape::read(row);
                assert_eq!(
                    shape.is_some(),
                    row.0.starts_with('-') && row.0 != "-",
                    "{}: {}",
                    tool.name,
                    row.0
                );
                for name in shape.iter().flat_map(|shape| &shape.names) {
                    let is_long = name.starts_with("--") && name.len() > 3;
                    let is_short = !name.starts_with("--") && name.len() == 2;
                    assert!(is_long || is_short, "{}: {name}", tool.name);
                }
                assert!(!row.1.is_empty() && !row.1.contains('\n'), "{}", row.0);
            }
            assert!(!tool.summary.ends_with('.'), "{}", tool.name);
            assert!(
                tool.details.lines().all(|line| line.chars().count() <= 130),
                "{}",
                tool.name
            );
        }
    }
}
