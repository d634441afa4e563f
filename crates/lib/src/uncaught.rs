//! Objects that were raised and that no handler took: what is known of them, and how the host program
//! shows them.
//!
//! An [`Uncaught`] is text only and holds no Scheme value, so that it outlives the collections and the
//! machine. The reporter is set once, by the host program, before code runs.

use std::sync::{Arc, OnceLock};

use canny_syntax::diagnostic::Diagnostic;
use canny_vm::{FrameDescription, Position, Thread, Vm};

use crate::host;

/// An object that was raised and that no handler took, ready to be shown.
#[derive(Clone, Debug)]
pub struct Uncaught {
    /// The kind of the condition; `None` when the object is no condition.
    pub kind: Option<String>,
    /// The code of the message: a row of the table of messages.
    pub code: &'static str,
    /// The text of the condition, or the written form of another object.
    pub message: String,
    /// File, line and column of the condition.
    pub position: Option<Position>,
    /// The procedure to blame.
    pub who: Option<String>,
    /// Its argument to blame, from 1.
    pub argument: Option<usize>,
    /// For a call with wrong arguments: the procedure.
    pub procedure: Option<BlamedProcedure>,
    /// For a variable without a value: a name that looks like it.
    pub similar_name: Option<String>,
    /// Sentences that may help.
    pub notes: Vec<String>,
    /// For what is wrong with a source that was loaded, or with a library: the errors with their places.
    pub syntax_errors: Arc<Vec<Diagnostic>>,
    /// The newest frames, newest first.
    pub frames: Vec<FrameDescription>,
    /// The object was raised by `raise-continuable`.
    pub is_continuable: bool,
}

/// A procedure that was called with wrong arguments.
#[derive(Clone, Debug)]
pub struct BlamedProcedure {
    /// Its name.
    pub name: Option<String>,
    /// Where it is defined, unless that is in the standard library.
    pub position: Option<Position>,
    /// How it is called, once for each of its clauses.
    pub calls: Vec<String>,
}

/// How uncaught objects are shown.
pub type Report = Box<dyn Fn(&Uncaught) + Send + Sync>;

/// How a machine shows uncaught objects.
#[derive(Default)]
pub(crate) struct Reporter(OnceLock<Report>);

/// Sets how uncaught objects are shown. Only the first call has an effect.
pub fn set_report(vm: &Vm, report: Report) {
    let _ = host::state::<Reporter>(vm).0.set(report);
}

/// Shows an uncaught object, on standard error unless the host program has its own way.
pub(crate) fn report(thread: &Thread, uncaught: &Uncaught) {
    match host::state::<Reporter>(thread.vm()).0.get() {
        Some(report) => report(uncaught),
        None => eprintln!("{}", uncaught.plain_text()),
    }
}

impl Uncaught {
    /// One line: position and message.
    pub fn plain_text(&self) -> String {
        let mut text = String::new();
        if let Some(position) = &self.position {
            let Position {
                file, line, column, ..
            } = position;
            text = format!("{file}:{line}:{column}: ");
        }
        format!("{text}error[{}]: {}", self.code, self.text())
    }

    /// The message; an object that is no condition is called what it is.
    pub fn text(&self) -> String {
        match self.kind {
            Some(_) => self.message.clone(),
            None => format!("uncaught object: {}", self.message),
        }
    }
}
