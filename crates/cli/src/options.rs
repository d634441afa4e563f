//! The command line and the environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use crate::report::MessageFormat;
use crate::warnings::Warnings;

/// Where a program's text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    StandardInput,
    /// The texts of `-e`.
    Expressions(Vec<String>),
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Program(Source),
    Repl,
    Expand(PathBuf),
    Disassemble(PathBuf),
    /// All codes of messages, or one in detail.
    Explain(Option<String>),
    Help,
    Version,
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub action: Action,
    /// What `(command-line)` gives.
    pub command_line: Vec<String>,
    /// Directories of `-I`.
    pub first_directories: Vec<PathBuf>,
    /// Directories of `-A`.
    pub last_directories: Vec<PathBuf>,
    pub features: Vec<String>,
    pub heap_limit_bytes: Option<usize>,
    pub stack_limit_bytes: Option<usize>,
    pub use_cache: bool,
    pub warnings: Warnings,
    pub message_format: MessageFormat,
    /// Compile code that runs often.
    pub compiles: bool,
    /// Where `canny repl` listens to nREPL clients.
    pub listen: Option<String>,
    /// Tell at the end what was compiled and what was not.
    pub reports_specializer: bool,
}

/// Parses the command line; the message says what is wrong with it.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options {
        action: Action::Repl,
        command_line: Vec::new(),
        first_directories: Vec::new(),
        last_directories: Vec::new(),
        features: Vec::new(),
        heap_limit_bytes: None,
        stack_limit_bytes: None,
        use_cache: true,
        warnings: Warnings::default(),
        message_format: MessageFormat::Text,
        compiles: true,
        reports_specializer: false,
        listen: None,
    };
    // After the word `repl`.
    let mut wants_prompt = false;
    // After the word `run`.
    let mut must_run = false;
    let mut expressions: Vec<String> = Vec::new();
    let mut parser = Parser::from_iter(arguments);
    let text_of = |error: lexopt::Error| error.to_string();
    while let Some(argument) = parser.next().map_err(text_of)? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => {
                options.action = Action::Help;
                return Ok(options);
            }
            Arg::Short('V') | Arg::Long("version") => {
                options.action = Action::Version;
                return Ok(options);
            }
            Arg::Short('A') => options
                .last_directories
                .push(parser.value().map_err(text_of)?.into()),
            Arg::Short('I') => options
                .first_directories
                .push(parser.value().map_err(text_of)?.into()),
            Arg::Short('D') => options
                .features
                .push(string(parser.value().map_err(text_of)?)?),
            Arg::Short('e') => expressions.push(string(parser.value().map_err(text_of)?)?),
            Arg::Long("heap-limit") => {
                options.heap_limit_bytes =
                    Some(size("--heap-limit", parser.value().map_err(text_of)?)?);
            }
            Arg::Long("stack-limit") => {
                options.stack_limit_bytes =
                    Some(size("--stack-limit", parser.value().map_err(text_of)?)?);
            }
            Arg::Long("no-jit") => options.compiles = false,
            Arg::Long("spesh-report") => options.reports_specializer = true,
            Arg::Long("no-cache") => options.use_cache = false,
            Arg::Long("listen") if wants_prompt => {
                options.listen = Some(string(parser.value().map_err(text_of)?)?);
            }
            Arg::Value(word) if is_verb(&word, "repl") && !must_run && !wants_prompt => {
                wants_prompt = true;
            }
            Arg::Value(word) if wants_prompt => {
                let word = word.to_string_lossy().into_owned();
                return Err(format!("'repl' takes options only, not '{word}'"));
            }
            Arg::Long("no-warnings") => options.warnings.choose_none(),
            Arg::Short('W') => options
                .warnings
                .choose(&string(parser.value().map_err(text_of)?)?)?,
            Arg::Long("message-format") => {
                options.message_format = match parser.value().map_err(text_of)?.to_str() {
                    Some("text") => MessageFormat::Text,
                    Some("json") => MessageFormat::Json,
                    _ => return Err("--message-format wants 'text' or 'json'".to_owned()),
                };
            }
            Arg::Value(word) if is_verb(&word, "run") && !must_run => must_run = true,
            Arg::Value(first) => {
                let rest: Vec<OsString> = parser.raw_args().map_err(text_of)?.collect();
                return with_operands(options, expressions, must_run, first, rest);
            }
            other => return Err(other.unexpected().to_string()),
        }
    }
    if wants_prompt && !expressions.is_empty() {
        return Err("'repl' takes no -e".to_owned());
    } else if wants_prompt {
        options.action = Action::Repl;
    } else if !expressions.is_empty() {
        options.action = Action::Program(Source::Expressions(expressions));
    } else if must_run {
        return Err("'run' takes a file".to_owned());
    } else if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        options.action = Action::Program(Source::StandardInput);
    }
    options.command_line = vec!["canny".to_owned()];
    Ok(options)
}

/// The rest of a command line from its first operand on.
fn with_operands(
    mut options: Options,
    expressions: Vec<String>,
    must_run: bool,
    first: OsString,
    rest: Vec<OsString>,
) -> Result<Options, String> {
    let lossy = |text: &OsString| text.to_string_lossy().into_owned();
    if !expressions.is_empty() {
        options.command_line = vec!["canny".to_owned(), lossy(&first)];
        options.action = Action::Program(Source::Expressions(expressions));
    } else if !must_run && (is_verb(&first, "expand") || is_verb(&first, "disasm")) {
        let [file] = rest.as_slice() else {
            return Err(format!("'{}' takes one file", lossy(&first)));
        };
        let file = PathBuf::from(file);
        options.action = if first == "expand" {
            Action::Expand(file)
        } else {
            Action::Disassemble(file)
        };
        return Ok(options);
    } else if !must_run && is_verb(&first, "explain") {
        options.action = match rest.as_slice() {
            [] => Action::Explain(None),
            [code] => Action::Explain(Some(lossy(code))),
            _ => return Err("'explain' takes one code".to_owned()),
        };
        return Ok(options);
    } else if first == "-" {
        options.command_line = vec!["-".to_owned()];
        options.action = Action::Program(Source::StandardInput);
    } else {
        options.command_line = vec![lossy(&first)];
        options.action = Action::Program(Source::File(first.into()));
    }
    options.command_line.extend(rest.iter().map(lossy));
    Ok(options)
}

/// Whether an operand is this verb; a file of that name is a program.
fn is_verb(word: &OsString, verb: &str) -> bool {
    word == verb && !PathBuf::from(word).exists()
}

fn string(value: OsString) -> Result<String, String> {
    value.string().map_err(|error| error.to_string())
}

/// A number of bytes with an optional suffix K, M or G.
fn size(option: &str, value: OsString) -> Result<usize, String> {
    let text = string(value)?;
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text.as_str(), 0),
    };
    let wrong = || format!("{option} wants a number of bytes such as 512M, not '{text}'");
    let number: usize = digits.parse().map_err(|_| wrong())?;
    number
        .checked_shl(shift)
        .filter(|bytes| bytes >> shift == number && *bytes > 0)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, String> {
        parse(
            std::iter::once("canny")
                .chain(words.iter().copied())
                .map(OsString::from),
        )
    }

    #[test]
    fn a_program_takes_the_rest() {
        let options = parsed(&["-I", "lib", "p.scm", "-e", "--heap-limit"]).unwrap();
        assert_eq!(
            options.action,
            Action::Program(Source::File("p.scm".into()))
        );
        assert_eq!(options.command_line, ["p.scm", "-e", "--heap-limit"]);
        assert_eq!(options.first_directories, [PathBuf::from("lib")]);
    }

    #[test]
    fn a_program_may_be_run_by_name() {
        let options = parsed(&["run", "--spesh-report", "p.scm", "run", "--spesh-report"]).unwrap();
        let program = Action::Program(Source::File("p.scm".into()));
        assert_eq!(options.action, program);
        assert_eq!(options.command_line, ["p.scm", "run", "--spesh-report"]);
        assert!(options.reports_specializer);
        let options = parsed(&["--spesh-report", "run", "expand"]).unwrap();
        assert_eq!(
            options.action,
            Action::Program(Source::File("expand".into()))
        );
        assert!(!parsed(&["p.scm"]).unwrap().reports_specializer);
        assert!(parsed(&["run"]).is_err());
    }

    #[test]
    fn a_prompt_may_be_asked_for() {
        let options = parsed(&["repl", "--listen", "localhost:0", "-I", "lib"]).unwrap();
        assert_eq!(options.action, Action::Repl);
        assert_eq!(options.listen.as_deref(), Some("localhost:0"));
        for wrong in [
            &["--listen", "1"][..],
            &["repl", "p.scm"],
            &["repl", "-e", "1"],
            &["repl", "--listen"],
        ] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(
            parsed(&["--heap-limit", "2M", "p"])
                .unwrap()
                .heap_limit_bytes,
            Some(2 << 20)
        );
        for wrong in [
            "x",
            "",
            "-1",
            "0",
            "99999999999999999999G",
            "9999999999999999G",
        ] {
            assert!(parsed(&["--heap-limit", wrong, "p"]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn wrong_words_are_refused() {
        assert!(parsed(&["--bogus"]).is_err());
        assert!(parsed(&["expand"]).is_err());
        assert!(parsed(&["-e"]).is_err());
    }
}
