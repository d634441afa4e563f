//! The plain read-eval-print loop, `-e`, and Ctrl-C.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use canny_lib::evaluation::{FormPosition, INTERACTION};
use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::reader::{SourceForms, read_source};
use canny_syntax::syntax::Syntax;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{Exit, InterruptState};

use crate::commands::{self, Answer};
use crate::exit_code;
use crate::options::Options;
use crate::report;
use crate::session::{Failure, Session};

/// Turns SIGINT into an interrupt of the machine's thread.
pub fn handle_interrupts(interrupts: Arc<InterruptState>) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT]) else {
        return;
    };
    let waiting = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for _ in signals.forever() {
                interrupts.interrupt();
            }
        });
    // Without the thread Ctrl-C is lost, which is no reason not to run.
    drop(waiting);
}

/// Evaluates forms in the interaction environment, one after the other, and prints what has a value.
pub fn evaluate_and_print(session: &mut Session, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let (_, forms) = read_source(session.evaluation().sources(), name, bytes, false);
    if report_errors(session, &forms) {
        return Err(Failure::Syntax);
    }
    for form in &forms.forms {
        evaluate_form(session, form)?;
    }
    Ok(())
}

fn report_errors(session: &Session, forms: &SourceForms) -> bool {
    if forms.has_errors() {
        report::diagnostics(&forms.diagnostics, session.evaluation().sources());
    }
    forms.has_errors()
}

fn evaluate_form(session: &mut Session, form: &Syntax) -> Result<(), Failure> {
    let forms = std::slice::from_ref(form);
    let prepared = session
        .evaluation()
        .prepare_forms(INTERACTION, forms, FormPosition::Toplevel);
    let value = session.run(prepared)?;
    let values = value.as_kind(Kind::Values);
    let count = values.map_or(1, |values| values.length());
    for index in 0..count {
        // The printer may collect: the elements are read through the word that the native stack holds.
        let element = match value.as_kind(Kind::Values) {
            Some(values) => values.field(index),
            None => value,
        };
        print(session, element);
    }
    Ok(())
}

fn print(session: &mut Session, value: Value) {
    if value == Value::UNSPECIFIED {
        return;
    }
    let text = canny_lib::printer::written(&mut session.thread, value);
    let mut out = std::io::stdout().lock();
    // A closed pipe ends the program at the next write of its own.
    let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
    let _ = writeln!(out, "{text}");
}

/// Reads, evaluates and prints until the end of input or `(exit)`.
pub fn run(options: &Options) -> u8 {
    let mut session = match Session::new(options, None) {
        Ok(session) => session,
        Err(message) => {
            eprintln!("canny: {message}");
            return exit_code::OS;
        }
    };
    let ledger = session.vm.specializer().ledger();
    ledger.turn_on(true);
    let terminal = std::io::stdin().is_terminal();
    if terminal {
        println!(
            "Canny {}. Ctrl-D ends, ,help tells more.",
            env!("CARGO_PKG_VERSION")
        );
    }
    let mut pending = String::new();
    loop {
        if terminal {
            print!("{}", if pending.is_empty() { "> " } else { ". " });
            let _ = std::io::stdout().flush();
        }
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => pending.push_str(&line),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => {
                eprintln!("canny: cannot read standard input: {error}");
                return exit_code::NO_INPUT;
            }
        }
        if commands::is_command(&pending) {
            match commands::answer(&mut session, &pending) {
                Answer::Incomplete => continue,
                Answer::Text(text) => crate::print_all(&text),
                Answer::Told => {}
                Answer::Exit(code) => {
                    session.finish(options);
                    return code;
                }
            }
            pending.clear();
            continue;
        }
        let (_, forms) = read_source(
            session.evaluation().sources(),
            "prompt",
            pending.as_bytes(),
            false,
        );
        if forms.is_incomplete() {
            continue;
        }
        pending.clear();
        if report_errors(&session, &forms) {
            continue;
        }
        for form in &forms.forms {
            match evaluate_form(&mut session, form) {
                Ok(()) => {}
                Err(Failure::Exit(Exit::Code(code))) => {
                    session.finish(options);
                    return code as u8;
                }
                // The message was printed; the rest of the line is dropped.
                Err(_) => break,
            }
        }
        let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
    }
    if !pending.trim().is_empty() {
        let (_, forms) = read_source(
            session.evaluation().sources(),
            "prompt",
            pending.as_bytes(),
            false,
        );
        let errors: Vec<Diagnostic> = forms.diagnostics;
        report::diagnostics(&errors, session.evaluation().sources());
        return exit_code::DATA;
    }
    if terminal {
        println!();
    }
    session.finish(options);
    0
}
