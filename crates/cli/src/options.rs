//! The command line and the environment variables, parsed into `Options`.
//!
//! `Action` is what the command does, `Source` where a program's text comes from. The options of a
//! command come from its row in `tools`.

use std::ffi::OsString;
use std::path::PathBuf;

use canny_lib::evaluation::is_standard_library;
use canny_syntax::library_name::{Family, LibraryName};
use lexopt::{Arg, Parser, ValueExt};

use crate::coverage::CoverageOptions;
use crate::environment::Environment;
use canny_compiler::counting::Counting;

use crate::debug::Target;
use crate::heap_options::{HeapWish, is_heap_option};
use crate::recording::{RecordingOptions, RingWish, is_recording_option, is_ring_option};
use crate::replays::ReplayWish;
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

/// The action that a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Program(Source),
    Repl,
    Expand(PathBuf),
    Disassemble(PathBuf),
    /// All codes of messages, or one in detail.
    Explain(Option<String>),
    /// Take a profile of the process with this number.
    Attach(u32),
    /// Show the prompt of the debugger for a process that runs.
    Debug(Target),
    Help,
    Version,
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Options {
    pub action: Action,
    /// The value of `(command-line)`.
    pub command_line: Vec<String>,
    /// Directories of `-I`.
    pub first_directories: Vec<PathBuf>,
    /// Directories of `-A`.
    pub last_directories: Vec<PathBuf>,
    pub features: Vec<String>,
    /// SRFIs of Canny that sources in the directories replace.
    pub replaced: Vec<LibraryName>,
    pub heap_limit_bytes: Option<usize>,
    pub stack_limit_bytes: Option<usize>,
    pub use_cache: bool,
    /// Keep what the specializer learns of a program for its next start, in the cache.
    pub keeps_profiles: bool,
    /// Look for a project around the program.
    pub uses_project: bool,
    pub warnings: Warnings,
    /// Whether backtraces show the values of variables.
    pub shows_values: bool,
    pub message_format: MessageFormat,
    /// Compile code that runs often.
    pub compiles: bool,
    /// Forms that are evaluated before a prompt.
    pub first_forms: String,
    /// Where `canny repl` listens to nREPL clients.
    pub listen: Option<String>,
    /// The program is run in the debugger.
    pub debugs: bool,
    /// Whether a web server serves it, whose failures people look into.
    pub serves_for_development: bool,
    /// The socket of the adapter that debugs it.
    pub debug_socket: Option<PathBuf>,
    /// The program is recorded, or replayed from a recording.
    pub replay: ReplayWish,
    /// How a replay goes on, as the debugger says.
    pub resumption: Option<String>,
    /// Tell at the end what was compiled and what was not.
    pub reports_specializer: bool,
    /// The kinds of counters that code has.
    pub counting: Counting,
    /// How coverage is shown, if it is.
    pub coverage: Option<CoverageOptions>,
    /// The profile of `canny profile`.
    pub recording: Option<RecordingOptions>,
    /// The profiles that are taken as long as the program runs.
    pub ring: RingWish,
    /// The heap snapshots that are taken while the program runs.
    pub heap: HeapWish,
    /// The settings from the environment variables of the process.
    pub environment: &'static Environment,
}

/// The commands that take the options of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Run,
    Repl,
    Expand,
    Disassemble,
    Explain,
    Profile,
    Debug,
    Record,
}

impl Verb {
    const ALL: [Verb; 8] = [
        Verb::Run,
        Verb::Repl,
        Verb::Expand,
        Verb::Disassemble,
        Verb::Explain,
        Verb::Profile,
        Verb::Debug,
        Verb::Record,
    ];

    fn word(self) -> &'static str {
        match self {
            Verb::Run => "run",
            Verb::Repl => "repl",
            Verb::Expand => "expand",
            Verb::Disassemble => "disasm",
            Verb::Explain => "explain",
            Verb::Profile => "profile",
            Verb::Debug => "debug",
            Verb::Record => "record",
        }
    }

    /// The verb that an operand is.
    fn of(word: &OsString) -> Option<Verb> {
        Verb::ALL.into_iter().find(|verb| word == verb.word())
    }
}

impl Options {
    /// The options of a command line without any.
    pub fn new(environment: &'static Environment) -> Options {
        Options {
            action: Action::Repl,
            command_line: vec!["canny".to_owned()],
            first_directories: Vec::new(),
            last_directories: Vec::new(),
            features: Vec::new(),
            replaced: Vec::new(),
            heap_limit_bytes: None,
            stack_limit_bytes: None,
            use_cache: true,
            keeps_profiles: true,
            uses_project: true,
            warnings: Warnings::default(),
            shows_values: true,
            message_format: MessageFormat::Text,
            compiles: true,
            first_forms: String::new(),
            reports_specializer: false,
            counting: Counting::default(),
            coverage: None,
            recording: None,
            ring: RingWish::default(),
            heap: HeapWish::default(),
            listen: None,
            debugs: false,
            serves_for_development: false,
            debug_socket: None,
            replay: ReplayWish::Live,
            resumption: None,
            environment,
        }
    }

    /// Takes `-A`, `-I` or `-D`, which every command that compiles has; false if it is none of them.
    pub fn take_library_option(
        &mut self,
        option: char,
        parser: &mut Parser,
    ) -> Result<bool, String> {
        let mut value = || parser.value().map_err(|error| error.to_string());
        match option {
            'A' => self.last_directories.push(value()?.into()),
            'I' => self.first_directories.push(value()?.into()),
            'D' => self.features.push(string(value()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes an option about continuous profiles or heap snapshots.
    fn take_record_option(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        if is_heap_option(option) {
            self.heap.take(option, parser)
        } else if option.starts_with("coverage") {
            if !CoverageOptions::take(&mut self.coverage, option, parser)? {
                return Err(Arg::Long(option).unexpected().to_string());
            }
            self.counting.coverage = true;
            Ok(())
        } else {
            self.ring.take(option, parser)
        }
    }

    /// Takes the process that a prompt attaches to, or the socket of an adapter.
    fn take_debugged(&mut self, attaches: bool, value: OsString) -> Result<(), String> {
        if attaches {
            self.action = Action::Debug(Target::read(&string(value)?)?);
        } else {
            self.debug_socket = Some(value.into());
        }
        Ok(())
    }

    /// Takes the library behind `--replace`.
    pub fn take_replaced(&mut self, parser: &mut Parser) -> Result<(), String> {
        let text = string(parser.value().map_err(|error| error.to_string())?)?;
        let words: Vec<&str> = text
            .trim_matches(['(', ')'])
            .split_ascii_whitespace()
            .collect();
        let name = LibraryName::from_words(&words);
        let key = name.key();
        if key.family() != Family::Srfi || !is_standard_library(key.as_str()) {
            return Err(format!(
                "--replace wants a SRFI that Canny has, such as '(srfi 64)', not '{text}'"
            ));
        }
        self.replaced.push(name);
        Ok(())
    }

    /// The options that give another process the same libraries.
    pub fn library_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for (option, directories) in [
            ("-I", &self.first_directories),
            ("-A", &self.last_directories),
        ] {
            for directory in directories {
                words.extend([option.into(), directory.clone().into_os_string()]);
            }
        }
        for feature in &self.features {
            words.extend(["-D".into(), feature.into()]);
        }
        for name in &self.replaced {
            words.extend(["--replace".into(), name.to_string().into()]);
        }
        if !self.uses_project {
            words.push("--no-project".into());
        }
        words
    }
}

/// Parses the command line; the message says what is wrong with it.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: &'static Environment,
) -> Result<Options, String> {
    parse_rest(Parser::from_iter(arguments), None, environment)
}

/// Parses what is behind a verb, or a whole command line, which may name the verb behind options.
pub fn parse_rest(
    mut parser: Parser,
    verb: Option<Verb>,
    environment: &'static Environment,
) -> Result<Options, String> {
    let mut options = Options::new(environment);
    let mut verb = verb;
    let mut expressions: Vec<String> = Vec::new();
    let mut operands: Vec<OsString> = Vec::new();
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
            Arg::Short(option @ ('A' | 'I' | 'D')) => {
                options.take_library_option(option, &mut parser)?;
            }
            Arg::Long("replace") => options.take_replaced(&mut parser)?,
            Arg::Short('o') if verb == Some(Verb::Profile) => {
                let recording = options.recording.get_or_insert_default();
                recording.take("output", &mut parser)?;
            }
            Arg::Short('o') if verb == Some(Verb::Record) => {
                options.replay = ReplayWish::Record(parser.value().map_err(text_of)?.into());
            }
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
            Arg::Long("no-profiles") => options.keeps_profiles = false,
            Arg::Long("no-project") => options.uses_project = false,
            Arg::Long("listen") if verb == Some(Verb::Repl) => {
                options.listen = Some(string(parser.value().map_err(text_of)?)?);
            }
            Arg::Long(option @ ("connect" | "attach")) if verb == Some(Verb::Debug) => {
                let attaches = option == "attach";
                options.take_debugged(attaches, parser.value().map_err(text_of)?)?;
            }
            // The prompt, which is what there is without it.
            Arg::Short('t') if verb == Some(Verb::Debug) => {}
            Arg::Long(option) if verb == Some(Verb::Profile) && is_recording_option(option) => {
                let option = option.to_owned();
                let recording = options.recording.get_or_insert_default();
                recording.take(&option, &mut parser)?;
            }
            Arg::Long(option)
                if matches!(verb, None | Some(Verb::Run))
                    && (is_ring_option(option)
                        || is_heap_option(option)
                        || option.starts_with("coverage")) =>
            {
                let option = option.to_owned();
                options.take_record_option(&option, &mut parser)?;
            }
            Arg::Long("no-warnings") => options.warnings.choose_none(),
            Arg::Long("no-values") => options.shows_values = false,
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
            Arg::Value(word) => match verb {
                // With -e, all operands are arguments.
                None if expressions.is_empty() && Verb::of(&word).is_some() => {
                    verb = Verb::of(&word);
                }
                None | Some(Verb::Run | Verb::Profile | Verb::Debug | Verb::Record) => {
                    // The rest belongs to the program.
                    operands.push(word);
                    operands.extend(parser.raw_args().map_err(text_of)?);
                    break;
                }
                Some(_) => operands.push(word),
            },
            other => return Err(other.unexpected().to_string()),
        }
    }
    settle(options, verb, expressions, operands)
}

/// Determines the action from the parts of a command line.
fn settle(
    mut options: Options,
    verb: Option<Verb>,
    expressions: Vec<String>,
    operands: Vec<OsString>,
) -> Result<Options, String> {
    let lossy = |text: &OsString| text.to_string_lossy().into_owned();
    match verb {
        Some(
            verb @ (Verb::Repl | Verb::Expand | Verb::Disassemble | Verb::Explain | Verb::Debug),
        ) if !expressions.is_empty() => {
            return Err(format!("'{}' takes no -e", verb.word()));
        }
        Some(Verb::Repl) => {
            if let Some(word) = operands.first() {
                return Err(format!("'repl' takes options only, not '{}'", lossy(word)));
            }
            options.action = Action::Repl;
            return Ok(options);
        }
        Some(verb @ (Verb::Expand | Verb::Disassemble)) => {
            let [file] = operands.as_slice() else {
                return Err(format!("'{}' takes one file", verb.word()));
            };
            let file = PathBuf::from(file);
            options.action = match verb {
                Verb::Expand => Action::Expand(file),
                _ => Action::Disassemble(file),
            };
            return Ok(options);
        }
        Some(Verb::Explain) => {
            options.action = match operands.as_slice() {
                [] => Action::Explain(None),
                [code] => Action::Explain(Some(lossy(code))),
                _ => return Err("'explain' takes one code".to_owned()),
            };
            return Ok(options);
        }
        Some(Verb::Profile) => {
            let recording = options.recording.get_or_insert_default();
            recording.settle()?;
            options.counting.calls = recording.counts_calls;
            if let Some(process) = recording.attach {
                if !expressions.is_empty() || !operands.is_empty() {
                    return Err("--attach takes a process in place of a file".to_owned());
                }
                options.action = Action::Attach(process);
                return Ok(options);
            }
        }
        Some(Verb::Debug) if matches!(options.action, Action::Debug(_)) => {
            if !operands.is_empty() || options.debug_socket.is_some() {
                return Err("--attach takes a process in place of a file".to_owned());
            }
            return Ok(options);
        }
        Some(Verb::Debug) => options.debugs = true,
        Some(Verb::Record) => {
            if options.replay == ReplayWish::Live {
                options.replay = ReplayWish::Record(PathBuf::from(crate::replays::USUAL_FILE));
            }
            options.use_cache = false;
            options.keeps_profiles = false;
        }
        Some(Verb::Run) | None => {
            options.ring.settle()?;
            options.heap.settle()?;
        }
    }
    let mut words = operands.iter().map(lossy);
    if !expressions.is_empty() {
        options.action = Action::Program(Source::Expressions(expressions));
    } else if let Some(first) = words.next() {
        options.command_line = vec![first];
        options.action = Action::Program(match operands[0].to_str() {
            Some("-") => Source::StandardInput,
            _ => Source::File(PathBuf::from(&operands[0])),
        });
    } else if let Some(verb @ (Verb::Run | Verb::Profile | Verb::Debug | Verb::Record)) = verb {
        return Err(format!("'{}' takes a file", verb.word()));
    } else if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        options.action = Action::Program(Source::StandardInput);
    }
    options.command_line.extend(words);
    Ok(options)
}

fn string(value: OsString) -> Result<String, String> {
    value.string().map_err(|error| error.to_string())
}

/// A number of bytes with an optional suffix K, M or G.
pub fn size(option: &str, value: OsString) -> Result<usize, String> {
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
            Box::leak(Box::default()),
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
    fn a_srfi_may_be_replaced() {
        let options = parsed(&["--replace", "(srfi 64)", "--replace", "srfi 1", "p"]).unwrap();
        let names: Vec<String> = options.replaced.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["(srfi 64)", "(srfi 1)"]);
        let words = ["--replace", "(srfi 64)", "--replace", "(srfi 1)"];
        assert_eq!(options.library_words(), words);
        for wrong in [
            "(scheme base)",
            "(srfi 9999)",
            "",
            "(canny machine control)",
        ] {
            assert!(parsed(&["--replace", wrong, "p"]).is_err(), "{wrong}");
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
