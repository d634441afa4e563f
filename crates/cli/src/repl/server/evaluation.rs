//! Evaluates requests of nREPL clients on the session's thread and sends the answers.
//!
//! Requests run one at a time. Output of a program goes to the client whose request runs at that
//! time. Every request is ended by exactly one final message, also after a failure or an interrupt.

use std::io;
use std::sync::Arc;

use canny_io::ByteDevice;
use canny_lib::evaluation::{EnvironmentId, INTERACTION, LibraryWords};
use canny_lib::failure;
use canny_lib::host::HostOutput;
use canny_lib::printer::shown;
use canny_syntax::core::GlobalName;
use canny_syntax::library_name::LibraryKey;
use canny_syntax::name::Name;
use canny_syntax::reader::read_source;
use canny_syntax::syntax::Syntax;
use canny_value::Value;

use super::Shared;
use super::bencode::Bencode;
use super::connection::Client;
use crate::repl::prompt::{Outcome, Prompt, evaluate_form};
use crate::repl::results;
use crate::report;

/// An operation that a client requests.
pub enum Operation {
    /// Evaluate forms, perhaps inside of a library.
    Evaluate {
        code: String,
        library: Option<String>,
    },
    /// Evaluate the forms of a file.
    Load { name: String, content: String },
    /// Tell about a name.
    Look {
        name: String,
        /// The answer's entries stand in the message itself.
        answers_flatly: bool,
    },
}

/// A request.
pub struct Request {
    pub client: Client,
    pub session: String,
    pub id: String,
    pub operation: Operation,
}

/// Sends what programs write to the client whose request is evaluated.
struct Forwarder {
    shared: Arc<Shared>,
    /// Bytes of a character whose rest is to come.
    rest: Vec<u8>,
}

impl ByteDevice for Forwarder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend(bytes);
        let valid = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.rest.len(),
        };
        let text = String::from_utf8_lossy(&self.rest[..valid]).into_owned();
        self.rest.drain(..valid);
        let listener = self.shared.state().listener.clone();
        match listener {
            Some((client, session, id)) if !text.is_empty() => {
                client.send(&session, &id, [("out", Bencode::text(text))]);
            }
            Some(_) => {}
            // A program kept the port and writes to it now.
            None => crate::print_all(&text),
        }
        Ok(bytes.len())
    }
}

/// Answers requests.
pub struct Evaluator {
    shared: Arc<Shared>,
    output: HostOutput,
}

impl Evaluator {
    /// Makes the port for what programs write.
    pub fn new(prompt: &mut Prompt, shared: Arc<Shared>) -> Option<Evaluator> {
        let forwarder = Forwarder {
            shared: shared.clone(),
            rest: Vec::new(),
        };
        let output = HostOutput::new(&mut prompt.session.thread, Box::new(forwarder)).ok()?;
        Some(Evaluator { shared, output })
    }

    /// Answers a request.
    pub fn answer(&self, prompt: &mut Prompt, request: &Request) -> Outcome {
        match &request.operation {
            Operation::Look {
                name,
                answers_flatly,
            } => {
                look(prompt, request, name, *answers_flatly);
                Outcome::Next
            }
            Operation::Evaluate { code, library } => {
                let before = (prompt.environment, prompt.module.clone());
                let level = prompt.level();
                self.begin(prompt, request);
                let is_known = library
                    .as_deref()
                    .is_none_or(|library| enter(prompt, library));
                let name = prompt.next_name();
                let outcome = if is_known {
                    self.evaluate(prompt, request, &name, code)
                } else {
                    Err(Outcome::Next)
                };
                let outcome = self.end(prompt, request, outcome, level);
                (prompt.environment, prompt.module) = before;
                outcome
            }
            Operation::Load { name, content } => {
                let level = prompt.level();
                self.begin(prompt, request);
                let outcome = self.evaluate(prompt, request, name, content);
                self.end(prompt, request, outcome, level)
            }
        }
    }

    fn begin(&self, prompt: &mut Prompt, request: &Request) {
        prompt.session.thread.interrupts().take_interrupt();
        let (session, id) = (request.session.clone(), request.id.clone());
        {
            let mut state = self.shared.state();
            state.running = Some((session.clone(), id.clone()));
            state.listener = Some((request.client.clone(), session, id));
        }
        report::begin_capture();
        self.output.enter(&mut prompt.session.thread);
    }

    /// Sends what is left to say about a request. A client has no level to leave: its failures are
    /// reported and forgotten.
    fn end(
        &self,
        prompt: &mut Prompt,
        request: &Request,
        result: Result<(), Outcome>,
        level: usize,
    ) -> Outcome {
        let Request {
            client,
            session,
            id,
            ..
        } = request;
        self.output.leave(&mut prompt.session.thread);
        {
            let mut state = self.shared.state();
            state.running = None;
            state.listener = None;
        }
        let messages = report::end_capture();
        if !messages.is_empty() {
            client.send(session, id, [("err", Bencode::text(messages))]);
        }
        let outcome = match result {
            Ok(()) => {
                client.finish(session, id, []);
                return Outcome::Next;
            }
            Err(Outcome::Exit(code)) => {
                client.finish(session, id, ["session-closed"]);
                return Outcome::Exit(code);
            }
            Err(Outcome::Next) => Outcome::Next,
        };
        let vm = &prompt.session.vm;
        let failure = failure::newest_failure(vm).filter(|_| prompt.level() > level);
        let kind = match failure {
            Some(failure) => failure.uncaught.kind.unwrap_or_else(|| "object".to_owned()),
            None => "syntax".to_owned(),
        };
        failure::forget_failures(vm, level);
        let entries = [
            ("ex", Bencode::text(kind.clone())),
            ("root-ex", Bencode::text(kind.clone())),
            ("status", Bencode::texts(["eval-error"])),
        ];
        client.send(session, id, entries);
        let interrupted = (kind == "interrupt").then_some("interrupted");
        client.finish(session, id, interrupted);
        outcome
    }

    /// Evaluates forms and sends their values.
    fn evaluate(
        &self,
        prompt: &mut Prompt,
        request: &Request,
        name: &str,
        code: &str,
    ) -> Result<(), Outcome> {
        let sources = prompt.session.evaluation().sources();
        let (_, forms) = read_source(sources, name, code.as_bytes(), false);
        if forms.has_errors() {
            report::diagnostics(&forms.diagnostics, sources);
            return Err(Outcome::Next);
        }
        for (index, form) in forms.forms.iter().enumerate() {
            let environment = prompt.environment;
            let result = evaluate_form(&mut prompt.session, environment, form);
            let value = prompt.settled(result)?;
            // The last form has a value, be it what it may; definitions before it say nothing.
            if value != Value::UNSPECIFIED || index + 1 == forms.forms.len() {
                self.send_values(prompt, request, value);
            }
        }
        Ok(())
    }

    fn send_values(&self, prompt: &mut Prompt, request: &Request, value: Value) {
        // The program's output comes before the value.
        self.output.leave(&mut prompt.session.thread);
        let library = prompt
            .module
            .clone()
            .unwrap_or_else(|| "interaction".to_owned());
        let mut texts = Vec::new();
        results::each_value(&mut prompt.session, value, |session, value| {
            texts.push(shown(&session.thread, value));
        });
        for text in texts {
            let entries = [
                ("value", Bencode::text(text)),
                ("ns", Bencode::text(library.clone())),
            ];
            request.client.send(&request.session, &request.id, entries);
        }
        self.output.enter(&mut prompt.session.thread);
    }
}

/// Goes inside of the library that a client names; whether that went well. Errors are reported.
fn enter(prompt: &mut Prompt, library: &str) -> bool {
    if !library.starts_with('(') {
        (prompt.environment, prompt.module) = (INTERACTION, None);
        return true;
    }
    let sources = prompt.session.evaluation().sources();
    let (_, forms) = read_source(sources, "library of a client", library.as_bytes(), false);
    let words = forms
        .forms
        .first()
        .and_then(|form: &Syntax| LibraryWords::of(form).ok());
    let Some((words, form)) = words.zip(forms.forms.first()) else {
        return true;
    };
    match prompt.session.evaluation().enter_library(&words, form.span) {
        Ok((environment, prepared)) => {
            let result = prompt.session.run(Ok(prepared));
            if prompt.settled(result).is_err() {
                return false;
            }
            prompt.environment = environment;
            prompt.module = Some(words.to_string());
            true
        }
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, prompt.session.evaluation().sources());
            false
        }
    }
}

/// Tells about a name.
fn look(prompt: &mut Prompt, request: &Request, name: &str, answers_flatly: bool) {
    let Request {
        client,
        session,
        id,
        ..
    } = request;
    let environment: EnvironmentId = INTERACTION;
    let Some(info) = prompt.session.evaluation().name_info(environment, name) else {
        client.finish(session, id, ["no-info"]);
        return;
    };
    let mut entries = vec![
        ("name", Bencode::text(name)),
        (
            "ns",
            Bencode::text(
                info.library
                    .clone()
                    .unwrap_or_else(|| "interaction".to_owned()),
            ),
        ),
    ];
    if let Some((signature, documentation)) = info.documentation {
        entries.push(("arglists-str", Bencode::text(signature)));
        entries.push(("doc", Bencode::text(documentation)));
    }
    let told = info.library.as_deref().and_then(canny_reference::document);
    if let Some(entry) = told.and_then(|document| document.entry(name))
        && !entry.text.is_empty()
    {
        entries.retain(|(key, _)| *key != "doc");
        entries.push(("doc", Bencode::text(entry.text.as_str())));
    }
    let global = info.owner.as_ref().map(|(library, name)| GlobalName {
        library: LibraryKey::new(library),
        name: Name::new(name),
    });
    let value = global.and_then(|global| prompt.session.thread.global_value(&global));
    if let Some(value) = value {
        let lines = prompt.session.vm.procedure_calls(value);
        if !lines.is_empty() {
            entries.push(("arglists-str", Bencode::text(lines.join("\n"))));
        }
        if let Some(place) = prompt.session.thread.definition(value) {
            entries.push(("file", Bencode::text(place.file)));
            entries.push(("line", Bencode::Integer(place.line.into())));
            entries.push(("column", Bencode::Integer(place.column.into())));
        }
    }
    if answers_flatly {
        entries.push(("status", Bencode::texts(["done"])));
        client.send(session, id, entries);
    } else {
        let info = Bencode::dictionary(entries);
        let entries = [("info", info), ("status", Bencode::texts(["done"]))];
        client.send(session, id, entries);
    }
}
