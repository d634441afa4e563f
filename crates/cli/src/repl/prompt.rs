//! The state of a session at the prompt, and the evaluation of an input.
//!
//! An input is evaluated form by form; the first error drops the rest. A failure opens a level,
//! which keeps the failed frames until it is left. The terminal, plain input and the nREPL server
//! all use this state, one at a time.

use std::sync::Arc;

use canny_lib::evaluation::{EnvironmentId, FormPosition, INTERACTION};
use canny_lib::failure;
use canny_syntax::reader::{SourceForms, read_source};
use canny_syntax::syntax::Syntax;
use canny_value::Value;
use canny_vm::Exit;

use super::commands;
use super::results::{self, Printing};
use crate::debug::Console;
use crate::report;
use crate::session::{Failure, Session};

/// The next step of the prompt after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Next,
    Exit(u8),
}

/// A session at the prompt.
pub struct Prompt {
    pub session: Session,
    /// Where forms are evaluated, and the library that this is inside of.
    pub(super) environment: EnvironmentId,
    pub(super) module: Option<String>,
    /// The frame that is looked at, among those of the newest failure.
    pub(super) frame: usize,
    pub(super) printing: Printing,
    /// Begins with its first use.
    pub(super) debugger: Option<Arc<Console>>,
    /// Numbers of the last input and of the last result.
    inputs: u64,
    pub(super) results: u64,
}

impl Prompt {
    pub fn new(session: Session) -> Prompt {
        failure::keep_failures(&session.vm);
        Prompt {
            session,
            environment: INTERACTION,
            module: None,
            frame: 0,
            printing: Printing::default(),
            debugger: None,
            inputs: 0,
            results: 0,
        }
    }

    /// Where forms are evaluated.
    pub fn environment(&self) -> EnvironmentId {
        self.environment
    }

    /// How many evaluations failed and were not left.
    pub(super) fn level(&self) -> usize {
        failure::failure_count(&self.session.vm)
    }

    /// The text that stands before the input.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(module) = &self.module {
            text.push_str(module);
        }
        let level = self.level();
        if level > 0 {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&format!("[{level}]"));
        }
        text.push_str("> ");
        text
    }

    /// The name of the next input in positions.
    pub(super) fn next_name(&mut self) -> String {
        self.inputs += 1;
        format!("prompt {}", self.inputs)
    }

    /// Evaluates an input, or does what a command says.
    pub fn input(&mut self, text: &str) -> Outcome {
        // Ctrl-C that came too late is for nobody.
        self.session.thread.interrupts().take_interrupt();
        let outcome = if commands::is_command(text) {
            commands::answer(self, text)
        } else if let Some(asked) = commands::question_of(self, text) {
            commands::answer_question(self, &asked)
        } else {
            self.evaluate(text)
        };
        let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
        outcome
    }

    /// Reads forms as an input with a name of its own. Errors are reported.
    pub(super) fn read_forms(&mut self, text: &str) -> Option<Vec<Syntax>> {
        let name = self.next_name();
        read_forms(&self.session, &name, text.as_bytes())
    }

    fn evaluate(&mut self, text: &str) -> Outcome {
        let Some(forms) = self.read_forms(text) else {
            return Outcome::Next;
        };
        for form in &forms {
            match self.value_of(form) {
                Ok(value) => self.show(value),
                // The message was printed; the rest of the input is dropped.
                Err(outcome) => return outcome,
            }
        }
        Outcome::Next
    }

    /// The value of a form. After a failure the message was printed.
    pub(super) fn value_of(&mut self, form: &Syntax) -> Result<Value, Outcome> {
        let result = evaluate_form(&mut self.session, self.environment, form);
        self.settled(result)
    }

    /// Turns a failure into the next step of the prompt.
    pub(super) fn settled<T>(&mut self, result: Result<T, Failure>) -> Result<T, Outcome> {
        result.map_err(|failure| match failure {
            Failure::Exit(Exit::Code(code)) => Outcome::Exit(code as u8),
            Failure::Exit(Exit::Uncaught) => {
                self.frame = 0;
                Outcome::Next
            }
            Failure::Syntax => Outcome::Next,
        })
    }

    /// Shows a value under a new name.
    pub(super) fn show(&mut self, value: Value) {
        results::show(self, value);
    }

    /// Ctrl-D, or the end of the file: leaves a level, or the prompt.
    pub fn end_of_input(&mut self, is_terminal: bool) -> Outcome {
        if is_terminal && self.level() > 0 {
            self.leave_level();
            return Outcome::Next;
        }
        Outcome::Exit(0)
    }

    /// Forgets the newest failure.
    pub(super) fn leave_level(&mut self) {
        let level = self.level();
        failure::forget_failures(&self.session.vm, level.saturating_sub(1));
        self.frame = 0;
    }
}

/// Reads forms; nothing after errors, which are reported.
pub fn read_forms(session: &Session, name: &str, bytes: &[u8]) -> Option<Vec<Syntax>> {
    let (_, forms): (_, SourceForms) =
        read_source(session.evaluation().sources(), name, bytes, false);
    if forms.has_errors() {
        report::diagnostics(&forms.diagnostics, session.evaluation().sources());
        return None;
    }
    Some(forms.forms)
}

/// Evaluates one form.
pub fn evaluate_form(
    session: &mut Session,
    environment: EnvironmentId,
    form: &Syntax,
) -> Result<Value, Failure> {
    let forms = std::slice::from_ref(form);
    let prepared = session
        .evaluation()
        .prepare_forms(environment, forms, FormPosition::Toplevel);
    session.run(prepared)
}
