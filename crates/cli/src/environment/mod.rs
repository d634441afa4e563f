//! The environment variables of Canny: one table, parsed once when the process starts.
//!
//! Owns every `CANNY_…` variable that a process of `canny` reads. [`set_up`] checks them all against
//! [`table::ROWS`] before anything else happens: a malformed value ends the process, a name without a
//! row gives a warning. The values are an [`Environment`], which `main` hands to the tools and which
//! [`Options`](crate::options::Options) carry. Its parts are the settings of the crates below: those
//! are handed down, and no other crate reads a `CANNY_…` variable itself. Libraries in
//! Scheme read a few of them as any program does; their rows only check the value.
//!
//! The variables of others (`NO_COLOR`, `TERM`, `HOME` and so on) are not checked, so each is read
//! where it is needed.

pub mod table;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use canny_compiler::optimize::Switches;
use canny_heap::HeapConfig;
use canny_syntax::name::Name;
use canny_syntax::spelling::similar_name;
use canny_vm::TasksConfig;
use canny_vm::specializer::SpecializerConfig;
use canny_vm::specializer::compiler::CompilerOptions;
use canny_vm::specializer::worker::WorkerOptions;

use crate::debug::Automatic;

use table::{ROWS, Takes, Variable};

/// With this prefix a name is one of ours.
const PREFIX: &[u8] = b"CANNY_";

/// Says to a process that it serves one version of a program, at the socket that is its standard input.
pub const SERVE_WORKER: &str = "CANNY_SERVE_WORKER";

/// Says to `compile-r7rs` that it was called by the program that it was to run instead of itself.
pub const FORWARDED: &str = "CANNY_COMPILE_R7RS_FORWARDED";

/// Names the file to which a suite that `canny test` has started reports.
const TEST_REPORT: &str = "CANNY_TEST_REPORT";

/// Names the file to which a process that `canny bench` has started reports.
const BENCH_REPORT: &str = "CANNY_BENCH_REPORT";

/// Set for processes that another process of Canny starts, which has written the warnings.
const INHERITED: [&str; 4] = [SERVE_WORKER, FORWARDED, TEST_REPORT, BENCH_REPORT];

/// Settings from the environment variables.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Directories to search for libraries.
    pub library_path: Vec<PathBuf>,
    /// Where compiled libraries and packages are kept, if a variable says so.
    pub cache_directory: Option<PathBuf>,
    /// The file of the prompt's history; an empty path for none.
    pub history: Option<PathBuf>,
    /// Where the heap's statistics are written at the end.
    pub statistics: Option<PathBuf>,
    /// Compile code that counts its calls.
    pub counts_calls: bool,
    /// The directory to which lines and branches that ran are written.
    pub coverage: Option<PathBuf>,
    /// Report ports that were left open.
    pub reports_open_ports: bool,
    /// The token of a debug adapter that other machines reach.
    pub debugger_token: Option<String>,
    /// Where a suite reports.
    pub test_report: Option<PathBuf>,
    /// How often a suite is run between two counts of what is left behind.
    pub test_leaks: Option<u64>,
    /// Compile code that runs often.
    pub compiles: bool,
    /// When functions of WebAssembly guests become machine code, in a word.
    pub guest_code: String,
    /// Keep what the specializer learns of a program for its next start.
    pub keeps_profiles: bool,
    pub specializer: SpecializerConfig,
    pub worker: WorkerOptions,
    pub compiler: CompilerOptions,
    pub tasks: TasksConfig,
    pub heap: HeapConfig,
    /// The program is debugged by nobody.
    pub automatic: Automatic,
    pub optimizer: Switches,
    /// This process serves one version of a program.
    pub is_serve_worker: bool,
    /// `compile-r7rs` was called by the program that it was to run instead of itself.
    pub is_forwarded: bool,
}

impl Default for Environment {
    fn default() -> Environment {
        Environment {
            library_path: Vec::new(),
            cache_directory: None,
            history: None,
            statistics: None,
            counts_calls: false,
            coverage: None,
            reports_open_ports: false,
            debugger_token: None,
            test_report: None,
            test_leaks: None,
            compiles: true,
            guest_code: String::new(),
            keeps_profiles: true,
            specializer: SpecializerConfig::default(),
            worker: WorkerOptions::default(),
            compiler: CompilerOptions::default(),
            tasks: TasksConfig::default(),
            heap: HeapConfig::default(),
            automatic: Automatic::default(),
            optimizer: Switches::default(),
            is_serve_worker: false,
            is_forwarded: false,
        }
    }
}

impl Environment {
    /// Where compiled libraries and packages are kept; `None` if there is no place.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        if let Some(directory) = &self.cache_directory {
            return Some(directory.clone());
        }
        let base = std::env::var_os("XDG_CACHE_HOME").filter(|directory| !directory.is_empty());
        let base = match base {
            Some(directory) => PathBuf::from(directory),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
        };
        Some(base.join("canny"))
    }
}

/// The result of parsing the environment variables.
#[derive(Clone, Debug, Default)]
struct Parsed {
    environment: Environment,
    /// Malformed values, a sentence for each.
    errors: Vec<String>,
    /// Names without a row, a sentence for each.
    warnings: Vec<String>,
}

/// Parses the environment of this process, once: the result lives as long as the process. Writes what
/// is wrong with it to standard error, on lines that begin with the program's name; nothing if a value
/// is malformed.
pub fn set_up(program: &str) -> Option<&'static Environment> {
    let parsed = parse(std::env::vars_os());
    for warning in &parsed.warnings {
        eprintln!("{program}: warning: {warning}");
    }
    for error in &parsed.errors {
        eprintln!("{program}: {error}");
    }
    parsed
        .errors
        .is_empty()
        .then(|| &*Box::leak(Box::new(parsed.environment)))
}

/// Parses those of some variables that are ours.
fn parse(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut ours: Vec<(OsString, OsString)> = variables
        .into_iter()
        .filter(|(name, _)| name.as_bytes().starts_with(PREFIX))
        .collect();
    // The system gives them in any order.
    ours.sort();
    for (name, value) in &ours {
        match ROWS.iter().find(|row| name == row.name) {
            Some(row) => {
                if let Err(error) = take(row, value, &mut parsed.environment) {
                    parsed.errors.push(error);
                }
            }
            None => parsed.warnings.push(unknown(name)),
        }
    }
    if ours
        .iter()
        .any(|(name, _)| INHERITED.iter().any(|known| name == known))
    {
        parsed.warnings.clear();
    }
    parsed
}

/// Takes the value of a variable. An empty one is the same as none, except where the row says otherwise.
fn take(row: &Variable, value: &OsStr, environment: &mut Environment) -> Result<(), String> {
    let name = row.name;
    if value.is_empty() && !matches!(row.takes, Takes::FileOrNone(_)) {
        return Ok(());
    }
    let wrong = |wanted: &str| Err(format!("{name} wants {wanted}, not '{}'", value.display()));
    match (row.takes, value.to_str()) {
        (Takes::Flag(set), Some("0")) => set(environment, false),
        (Takes::Flag(set), Some("1")) => set(environment, true),
        (Takes::Flag(_), _) => return wrong("0 or 1"),
        (Takes::Number(set), text) => match text.and_then(|text| text.parse().ok()) {
            Some(number) => set(environment, number),
            None => return wrong("a whole number"),
        },
        (Takes::Integer, text) => {
            let digits = text.map(|text| text.strip_prefix('-').unwrap_or(text));
            let is_integer = |digits: &str| {
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            if !digits.is_some_and(is_integer) {
                return wrong("an integer");
            }
        }
        (Takes::File(set) | Takes::FileOrNone(set), _) => set(environment, value.into()),
        (Takes::Directories(set), _) => {
            let directories = std::env::split_paths(value);
            let directories = directories.filter(|path| !path.as_os_str().is_empty());
            set(environment, directories.collect());
        }
        (Takes::Passes(known, turn_off), _) => {
            let text = value.to_string_lossy();
            for pass in text.split(',').map(str::trim) {
                if known().contains(&pass) {
                    turn_off(environment, pass);
                } else if !pass.is_empty() {
                    return Err(format!("{name}: {}", no_pass(pass, &known())));
                }
            }
        }
        (Takes::Word(word), text) => {
            if text != Some(word) {
                return wrong(&format!("'{word}'"));
            }
        }
        (Takes::Text(set), _) => set(environment, value.to_string_lossy().into_owned()),
    }
    Ok(())
}

fn no_pass(pass: &str, known: &[&str]) -> String {
    let names = known.iter().map(|name| Name::new(name));
    let hint = match similar_name(Name::new(pass), names) {
        Some(similar) => format!("did you mean '{similar}'? The passes are"),
        None => "the passes are".to_owned(),
    };
    format!("there is no pass '{pass}'; {hint} {}", known.join(", "))
}

fn unknown(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let names = ROWS.iter().map(|row| Name::new(row.name));
    match similar_name(Name::new(&name), names) {
        Some(similar) => format!("there is no variable '{name}'; did you mean '{similar}'?"),
        None => format!("there is no variable '{name}'; 'canny man' lists those there are"),
    }
}
