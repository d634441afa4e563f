//! The `canny` command: flags, environment, exit codes.
//!
//! Everything runs on one thread with a large native stack, since the expander and the compiler recurse
//! along the nesting of code. The first thread waits for its end, and for Ctrl-C.
#![forbid(unsafe_code)]

mod coverage;
mod debug;
mod environment;
mod executable;
mod explain;
mod heap;
mod heap_options;
mod inspect;
mod interrupts;
mod json;
mod options;
mod profile;
mod program;
mod project;
mod recording;
mod repl;
mod replays;
mod report;
mod session;
mod table_style;
mod terminal_size;
mod tools;
mod warnings;

use std::ffi::OsString;
use std::process::ExitCode;

use options::{Action, Options};
use tools::help;
use tools::table::Checked;

/// Exit codes of sysexits that the command uses.
mod exit_code {
    /// The command line is wrong.
    pub const USAGE: u8 = 64;
    /// The program has syntax errors.
    pub const DATA: u8 = 65;
    /// A file cannot be read.
    pub const NO_INPUT: u8 = 66;
    /// The program ended with an error.
    pub const SOFTWARE: u8 = 70;
    /// The operating system refused something.
    pub const OS: u8 = 71;
    /// Ctrl-C, as shells say it.
    pub const INTERRUPTED: u8 = 130;
}

/// Native stack of the thread that compiles and runs.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let carried = tools::compile::carried_program();
    let first_word = std::env::args_os().next().unwrap_or_default();
    let name = match &carried {
        Some(_) => first_word.to_string_lossy(),
        None => "canny".into(),
    };
    let Some(environment) = environment::set_up(&name) else {
        return ExitCode::from(exit_code::USAGE);
    };
    match carried {
        Some(Ok(program)) => {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            let command_line: Vec<String> = words.collect();
            let run = move || tools::compile::run_carried(&program, command_line, environment);
            return ExitCode::from(on_large_stack(run));
        }
        Some(Err(message)) => {
            eprintln!("{name}: {message}");
            return ExitCode::from(exit_code::OS);
        }
        None => {}
    }
    if let Some(code) = tools::run(std::env::args_os(), environment) {
        return ExitCode::from(code);
    }
    // Without a command, the options are those of `run`.
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let checked = tools::table::check(&tools::programs::RUN, &words);
    let options = match checked {
        Ok(Checked::Help) => {
            print_all(&help::text());
            return ExitCode::SUCCESS;
        }
        Ok(Checked::Fine) => options::parse(std::env::args_os(), environment),
        Err(message) => Err(message),
    };
    match options {
        Ok(options) => ExitCode::from(perform(options)),
        Err(message) => {
            eprintln!("canny: {message}\nTry 'canny --help'.");
            ExitCode::from(exit_code::USAGE)
        }
    }
}

/// Does what a command line asks for; gives the exit code.
fn perform(options: Options) -> u8 {
    report::set(options.message_format, &options.warnings);
    if !options.shows_values {
        report::hide_values();
    }
    match &options.action {
        Action::Help => print_all(&help::text()),
        Action::Version => print_all(&help::version()),
        Action::Explain(code) => return explain::run(code.as_deref()),
        Action::Attach(process) => return profile::attach(&options, *process),
        Action::Debug(target) => {
            let token = options.environment.debugger_token.as_deref();
            return debug::attach(target, token);
        }
        _ => return on_large_stack(move || run(&options)),
    }
    0
}

/// Does the work of the command on a thread with room for nested code; gives the exit code.
fn on_large_stack(work: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let thread = std::thread::Builder::new()
        .name(canny_lib::ask::PROGRAM_THREAD.into())
        .stack_size(STACK_BYTES);
    let code = match canny_lib::host::run_beside(thread, work) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => exit_code::SOFTWARE,
        Err(error) => {
            eprintln!("canny: cannot start: {error}");
            exit_code::OS
        }
    };
    // The program's output is flushed on every exit path.
    canny_lib::host::finish_output(i32::from(code)) as u8
}

fn run(options: &Options) -> u8 {
    match &options.action {
        Action::Expand(file) => inspect::expand(options, file),
        Action::Disassemble(file) => inspect::disassemble(options, file),
        Action::Repl => repl::run(options),
        Action::Program(source) => program::run(options, source),
        Action::Help
        | Action::Version
        | Action::Explain(_)
        | Action::Attach(_)
        | Action::Debug(_) => 0,
    }
}

/// Prints to standard output; a closed pipe is no error here.
fn print_all(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
