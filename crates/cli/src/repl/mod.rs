//! The prompt: reading inputs, evaluating them, showing results; and `-e`.
//!
//! | module | owns |
//! |---|---|
//! | `prompt` | the state of a session at the prompt, what becomes of an input |
//! | `results` | `$1` and its kin, and how values are shown |
//! | `frames` | the frames of failed evaluations |
//! | `commands` | lines that begin with a comma |
//! | `input` | where inputs come from: an editor, a dumb terminal, a file |
//! | `editor` | keys and the screen; knows nothing of Scheme |
//! | `lexis`, `indent`, `highlight`, `completion` | what the editor asks about the language |
//! | `history` | inputs of former sessions |
//! | `server` | `--listen`: nREPL clients |
//!
//! Everything of the machine happens on one thread, that of the session. With `--listen` inputs come to
//! it as jobs, from the prompt and from clients alike.

mod commands;
mod completion;
mod editor;
mod frames;
mod highlight;
mod history;
mod indent;
mod input;
mod lexis;
mod prompt;
mod results;
mod server;

use canny_lib::evaluation::INTERACTION;

use crate::exit_code;
use crate::options::Options;
use crate::session::{Failure, Session};
use input::{Line, Source};
use prompt::{Outcome, Prompt};

/// Evaluates forms in the interaction environment, one after the other, and prints what has a value.
pub fn evaluate_and_print(session: &mut Session, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let forms = prompt::read_forms(session, name, bytes).ok_or(Failure::Syntax)?;
    for form in &forms {
        let value = prompt::evaluate_form(session, INTERACTION, form)?;
        results::each_value(session, value, |session, value| {
            results::print_plainly(session, value);
        });
    }
    Ok(())
}

/// Reads, evaluates and prints until the end of input or `(exit)`.
pub fn run(options: &Options) -> u8 {
    // A prompt is of use without the project too, to find out what is wrong with it.
    let project = crate::project::find(options, None).unwrap_or_else(|_| {
        eprintln!("canny: the prompt runs without the project");
        None
    });
    let mut session = match Session::in_project(options, None, project.as_ref()) {
        Ok(session) => session,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    let forms = options.first_forms.as_bytes();
    if let Err(failure) = evaluate_and_print(&mut session, "canny", forms) {
        let code = failure.exit_code();
        return session.finish(options).unwrap_or(code);
    }
    session.vm.specializer().ledger().turn_on(true);
    let mut prompt = Prompt::new(session);
    let code = match &options.listen {
        Some(address) => server::run(&mut prompt, address),
        None => read_and_answer(&mut prompt),
    };
    prompt.session.finish(options).unwrap_or(code)
}

/// The loop of a prompt without clients.
fn read_and_answer(prompt: &mut Prompt) -> u8 {
    let vm = prompt.session.vm.clone();
    let history = history::path(prompt.session.environment);
    let mut source = Source::new(vm, prompt.session.thread.interrupts(), history);
    source.greet();
    loop {
        // Tasks that stop meanwhile wait for the terminal.
        let debugger = prompt.debugger.clone();
        let held = debugger.as_ref().map(|console| console.hold());
        let next = source.next(&prompt.text(), prompt.environment());
        drop(held);
        let line = match next {
            Ok(line) => line,
            Err(error) => {
                eprintln!("canny: cannot read standard input: {error}");
                return exit_code::NO_INPUT;
            }
        };
        match answer(prompt, line) {
            Outcome::Next => {}
            Outcome::Exit(code) => return code,
        }
    }
}

/// Does what a line asks.
fn answer(prompt: &mut Prompt, line: Line) -> Outcome {
    match line {
        Line::Input(text) => prompt.input(&text),
        Line::Interrupted => Outcome::Next,
        Line::End { is_terminal } => prompt.end_of_input(is_terminal),
        Line::Unfinished(text) => {
            // The message says where the form began.
            prompt.read_forms(&text);
            Outcome::Exit(exit_code::DATA)
        }
    }
}
