//! The options of `canny heap FILE`.
//!
//! One option says what is wanted; a second one of these is refused.

use std::ffi::OsString;
use std::path::PathBuf;

use canny_snapshot::analysis::Grouping;
use lexopt::{Parser, ValueExt};

/// An option, and its meaning.
type Row = (&'static str, &'static str);

/// The options that are about a file.
pub const ROWS: &[Row] = &[
    (
        "--snapshot N",
        "the snapshot, by its number from 1; the last one with objects unless given",
    ),
    (
        "--types",
        "all types with objects, bytes and retained bytes",
    ),
    ("--by type|family|library|file|place|label", "group by this"),
    (
        "--query EXPR",
        "the objects that an expression describes, such as '(and (type? entry) (retained > 1MB))'",
    ),
    (
        "--why ID",
        "why an object is alive, and paths from the roots to it",
    ),
    ("--duplicates", "equal strings"),
    ("--unused", "room in tables and vectors that is not used"),
    (
        "--compare BEFORE",
        "what changed between the snapshots BEFORE and AFTER, the second operand, or the last one; \
         BEFORE may be another file",
    ),
    ("--growth", "types and paths that grew over the snapshots"),
    ("--rows N", "at most N rows of a table; 40 unless given"),
    ("--json", "the answer as JSON"),
    (
        "--export heapsnapshot|jsonl",
        "write the snapshot for Chrome's developer tools, or as lines of JSON, to FILE of -o",
    ),
    (
        "--prompt",
        "a Scheme prompt with the file as 'heap' and (canny heap analysis)",
    ),
    (
        "--serve PORT",
        "serve a page about the file; 0 takes a free port",
    ),
    ("--open", "serve a page about the file and open a browser"),
];

/// A format of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    HeapSnapshot,
    JsonLines,
}

/// A question about a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Wanted {
    #[default]
    Summary,
    Types,
    Query(String),
    Why(u32),
    Duplicates,
    Unused,
    /// A number or a file.
    Compare(String),
    Growth,
    Export {
        format: Format,
    },
    Prompt,
    Serve {
        port: u16,
        opens: bool,
    },
}

/// The question of a command line, with its options.
#[derive(Clone, Debug)]
pub struct FileWish {
    pub file: PathBuf,
    /// From 1; 0 is the last one with objects.
    pub snapshot: usize,
    pub wanted: Wanted,
    pub by: Grouping,
    pub rows: usize,
    pub is_json: bool,
    /// The later snapshot of a comparison.
    pub after: usize,
    pub output: Option<PathBuf>,
    /// Options that were given, to refuse two questions at once.
    asked: Option<&'static str>,
    has_file: bool,
    /// The second operand.
    late: Option<String>,
}

impl Default for FileWish {
    fn default() -> FileWish {
        FileWish {
            file: PathBuf::new(),
            snapshot: 0,
            wanted: Wanted::Summary,
            by: Grouping::Type,
            rows: 40,
            is_json: false,
            after: 0,
            output: None,
            asked: None,
            has_file: false,
            late: None,
        }
    }
}

fn number<T: std::str::FromStr>(
    parser: &mut Parser,
    option: &str,
    expected: &str,
) -> Result<T, String> {
    let text = parser.value().and_then(ValueExt::string);
    let text = text.map_err(|error| error.to_string())?;
    let wrong = || format!("{option} wants {expected}, not '{text}'");
    text.parse().ok().ok_or_else(wrong)
}

impl FileWish {
    pub fn has_file(&self) -> bool {
        self.has_file
    }

    /// Refuses options that do not fit the question.
    pub fn check(&self) -> Result<(), String> {
        let is_export = matches!(self.wanted, Wanted::Export { .. });
        if is_export && self.output.is_none() {
            return Err("--export needs -o with the file to be written".to_owned());
        }
        if !is_export && self.output.is_some() {
            return Err("-o needs --export or --attach".to_owned());
        }
        Ok(())
    }

    fn ask(&mut self, option: &'static str, wanted: Wanted) -> Result<(), String> {
        let is_serving = |option: &str| option == "--open" || option == "--serve";
        match self.asked.replace(option) {
            None => {}
            Some(before) if is_serving(before) && is_serving(option) => {}
            Some(before) if before == option => {}
            Some(before) => {
                return Err(format!(
                    "{before} and {option} ask for two things; take one"
                ));
            }
        }
        self.wanted = match (wanted, &self.wanted) {
            // One of them has the port and the other one opens.
            (
                Wanted::Serve { port, opens },
                Wanted::Serve {
                    port: old,
                    opens: did,
                },
            ) => Wanted::Serve {
                port: port.max(*old),
                opens: opens || *did,
            },
            (wanted, _) => wanted,
        };
        Ok(())
    }

    /// Takes an option without its dashes if it is about files.
    pub fn take_option(&mut self, name: &str, parser: &mut Parser) -> Result<bool, String> {
        let text_of = |error: lexopt::Error| error.to_string();
        match name {
            "snapshot" => {
                self.snapshot = number(parser, "--snapshot", "the number of a snapshot from 1")?;
                if self.snapshot == 0 {
                    return Err("--snapshot wants the number of a snapshot from 1, not 0".into());
                }
            }
            "types" => self.ask("--types", Wanted::Types)?,
            "by" => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                self.by = match text.as_str() {
                    "type" => Grouping::Type,
                    "family" => Grouping::Family,
                    "library" => Grouping::Library,
                    "file" => Grouping::File,
                    "place" => Grouping::Place,
                    "label" => Grouping::Label,
                    _ => {
                        return Err(format!(
                            "--by wants type, family, library, file, place or label, not '{text}'"
                        ));
                    }
                };
                if self.asked.is_none() {
                    self.ask("--types", Wanted::Types)?;
                }
            }
            "query" => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                self.ask("--query", Wanted::Query(text))?;
            }
            "why" => {
                let node = number(parser, "--why", "the number of an object")?;
                self.ask("--why", Wanted::Why(node))?;
            }
            "duplicates" => self.ask("--duplicates", Wanted::Duplicates)?,
            "unused" => self.ask("--unused", Wanted::Unused)?,
            "compare" => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                self.ask("--compare", Wanted::Compare(text))?;
            }
            "growth" => self.ask("--growth", Wanted::Growth)?,
            "rows" => {
                self.rows = number(parser, "--rows", "a number of rows")?;
            }
            "json" => self.is_json = true,
            "export" => {
                let text = parser.value().and_then(ValueExt::string).map_err(text_of)?;
                let format = match text.as_str() {
                    "heapsnapshot" => Format::HeapSnapshot,
                    "jsonl" => Format::JsonLines,
                    _ => {
                        return Err(format!(
                            "--export wants heapsnapshot or jsonl, not '{text}'"
                        ));
                    }
                };
                self.ask("--export", Wanted::Export { format })?;
            }
            "prompt" => self.ask("--prompt", Wanted::Prompt)?,
            "serve" => {
                let port = number(parser, "--serve", "a port from 0 to 65535")?;
                self.ask("--serve", Wanted::Serve { port, opens: false })?;
            }
            "open" => self.ask(
                "--open",
                Wanted::Serve {
                    port: 0,
                    opens: true,
                },
            )?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes the file, or the later snapshot of a comparison.
    pub fn take_operand(&mut self, value: OsString) -> Result<(), String> {
        if !self.has_file {
            self.file = value.into();
            self.has_file = true;
            return Ok(());
        }
        let text = value.to_string_lossy();
        if self.late.is_some() {
            return Err(format!("there is one FILE; '{text}' is too much"));
        }
        self.late = Some(text.into_owned());
        Ok(())
    }

    /// Checks what needs all of the command line.
    pub fn finish(&mut self) -> Result<(), String> {
        let Some(text) = self.late.take() else {
            return Ok(());
        };
        if !matches!(self.wanted, Wanted::Compare(_)) {
            return Err(format!("there is one FILE; '{text}' is too much"));
        }
        let wrong = || format!("AFTER is the number of a snapshot from 1, not '{text}'");
        let after = text.parse().ok().filter(|number| *number > 0);
        self.after = after.ok_or_else(wrong)?;
        Ok(())
    }
}
