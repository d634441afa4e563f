//! What the library keeps for each machine outside of the Scheme heap: the ports' other halves, the
//! generator of random numbers, the command line, and the hook that reports uncaught objects.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `ports` | threads that open ports; the sweep of dead ports | every port operation that misses its thread's cache |
//! | `generator` | the random rows | the same |
//! | `loaders` | the rows that load files; the sweep | the same |
//! | `processes`, `watches`, `sockets`, `http_servers`, `tls_contexts`, `json_readers`, `regexes`, `databases`, `cursors`, `syntax_errors` | the rows that make them; the sweep | the rows that use them |
//! | `signals` | the rows of signals, the host program | the rows; the thread that takes them |
//! | `failures` | `%uncaught`, and the host program | the host program |
//! | `identifiers` | whoever makes an identifier | whoever looks at one |
//! | `conversation` | the machine for macros, once | the rows of transformers |
//! | `suspended` | operations that give up for a ticket, tasks that go on | the same |
//! | `command_line`, `script_file`, `report` | the host program, once, before it runs code | any thread |
//! | `environment` | the row that changes an environment variable | the rows that read them |
//!
//! Nothing here holds a Scheme value.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use canny_formats::json::Reader as JsonReader;
use canny_io::process::Process;
use canny_io::socket::Socket;
use canny_syntax::diagnostic::Diagnostic;
use canny_tls::TlsContext;
use canny_vm::{FrameDescription, Position, Thread, Vm};

use crate::evaluation::{EnvironmentId, Evaluation, EvaluationConfig};
use crate::failure::Failures;
use crate::macros::Conversation;
use crate::macros::identifiers::Identifiers;
use crate::primitives::evaluation::Loaders;
use crate::primitives::host_objects::HostTable;
use crate::primitives::http::HttpServer;
use crate::primitives::numbers::random::Generator;
use crate::primitives::ports::table::{PortTable, close_dead_ports};
use crate::primitives::regexp::Expression;
use crate::primitives::signals::Signals;
use crate::primitives::sqlite::{Cursor, Database};
use crate::primitives::tasks::Suspended;
use crate::primitives::watches::Watch;
use crate::primitives::websocket::WebSocketCodec;

pub use crate::primitives::signals::{handle_interrupts, run_beside, take_shutdown_procedure};

pub use crate::primitives::tasks::take_failure_procedure;

pub use crate::primitives::ports::standard::{
    HostOutput, StandardOutput, end_line, finish_output, is_at_line_start, note_line_start,
    open_standard_ports,
};
pub use crate::primitives::system::{set_served_value, take_exit_hook};

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

/// The host data of a machine.
pub(crate) struct Host {
    pub(crate) ports: PortTable,
    pub(crate) loaders: Loaders,
    pub(crate) processes: HostTable<Process>,
    pub(crate) watches: HostTable<Watch>,
    pub(crate) sockets: HostTable<Socket>,
    pub(crate) http_servers: HostTable<HttpServer>,
    pub(crate) tls_contexts: HostTable<TlsContext>,
    pub(crate) websockets: HostTable<WebSocketCodec>,
    generator: Mutex<Generator>,
    pub(crate) identifiers: Identifiers,
    /// A reader is taken out while it is used.
    pub(crate) json_readers: HostTable<Mutex<Option<Box<JsonReader>>>>,
    pub(crate) regexes: HostTable<Expression>,
    pub(crate) databases: HostTable<Database>,
    pub(crate) cursors: HostTable<Cursor>,
    pub(crate) syntax_errors: HostTable<Vec<Diagnostic>>,
    pub(crate) signals: Signals,
    conversation: OnceLock<Conversation>,
    command_line: OnceLock<Vec<String>>,
    script_file: OnceLock<Option<String>>,
    environment: Mutex<HashMap<String, Option<String>>>,
    report: OnceLock<Report>,
    /// Set to tell on standard error of ports that were left open when nothing holds them any more.
    open_port_notices: OnceLock<()>,
    suspended: Mutex<HashMap<u64, Suspended>>,
    pub(crate) failures: Failures,
}

impl Host {
    fn new() -> Host {
        Host {
            ports: PortTable::default(),
            loaders: Loaders::default(),
            processes: HostTable::default(),
            watches: HostTable::default(),
            sockets: HostTable::default(),
            http_servers: HostTable::default(),
            tls_contexts: HostTable::default(),
            websockets: HostTable::default(),
            generator: Mutex::new(Generator::new()),
            identifiers: Identifiers::default(),
            json_readers: HostTable::default(),
            regexes: HostTable::default(),
            databases: HostTable::default(),
            cursors: HostTable::default(),
            syntax_errors: HostTable::default(),
            signals: Signals::default(),
            conversation: OnceLock::new(),
            command_line: OnceLock::new(),
            script_file: OnceLock::new(),
            environment: Mutex::default(),
            report: OnceLock::new(),
            open_port_notices: OnceLock::new(),
            suspended: Mutex::default(),
            failures: Failures::default(),
        }
    }

    /// Whether ports that were left open are reported.
    pub(crate) fn tells_of_open_ports(&self) -> bool {
        self.open_port_notices.get().is_some()
    }

    /// The host data of the thread's machine.
    pub(crate) fn of(thread: &Thread) -> &Host {
        Host::of_machine(thread.vm())
    }

    pub(crate) fn of_machine(vm: &Vm) -> &Host {
        vm.host(Host::new)
    }

    /// Makes the machine one that runs macro transformers for an expander elsewhere.
    pub(crate) fn begin_conversation(&self, conversation: Conversation) {
        let _ = self.conversation.set(conversation);
    }

    /// The talk with that expander.
    pub(crate) fn conversation(&self) -> Option<&Conversation> {
        self.conversation.get()
    }

    /// Operations of tasks that gave up, by their tickets. Not to be held across an allocation.
    pub(crate) fn suspended(&self) -> MutexGuard<'_, HashMap<u64, Suspended>> {
        self.suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The generator of random numbers. Not to be held across an allocation.
    pub(crate) fn generator(&self) -> MutexGuard<'_, Generator> {
        self.generator
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What `(command-line)` gives.
    pub(crate) fn command_line(&self) -> &[String] {
        self.command_line.get().map_or(&[], Vec::as_slice)
    }

    /// The absolute name of the program file, if the command line has one.
    pub(crate) fn script_file(&self) -> Option<&str> {
        self.script_file.get()?.as_deref()
    }

    /// What the program has done to its environment variables: new values, and `None` for a variable
    /// that it took away. Not to be held across an allocation.
    pub(crate) fn environment(&self) -> MutexGuard<'_, HashMap<String, Option<String>>> {
        self.environment
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the program sees as an environment variable.
    pub(crate) fn set_environment_variable(&self, name: String, value: Option<String>) {
        self.environment().insert(name, value);
    }

    /// Shows an uncaught object, on standard error unless the host program has its own way.
    pub(crate) fn report(&self, uncaught: &Uncaught) {
        match self.report.get() {
            Some(report) => report(uncaught),
            None => eprintln!("{}", uncaught.plain_text()),
        }
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

/// The compiler's side of the thread's machine.
pub(crate) fn evaluation(vm: &Vm) -> &Evaluation {
    vm.host(|| Evaluation::new(&EvaluationConfig::default()))
}

/// Objects of the host's that the collector reports dead are told apart by the high bits of their ids.
pub(crate) mod external {
    pub(crate) const PORT: u64 = 0;
    pub(crate) const ENVIRONMENT: u64 = 1 << 60;
    pub(crate) const LOADER: u64 = 2 << 60;
    pub(crate) const SOCKET: u64 = 3 << 60;
    pub(crate) const PROCESS: u64 = 4 << 60;
    pub(crate) const WATCH: u64 = 5 << 60;
    pub(crate) const TLS_CONTEXT: u64 = 6 << 60;
    pub(crate) const JSON_READER: u64 = 7 << 60;
    pub(crate) const REGEX: u64 = 8 << 60;
    pub(crate) const HTTP_SERVER: u64 = 11 << 60;
    pub(crate) const DATABASE: u64 = 9 << 60;
    pub(crate) const CURSOR: u64 = 10 << 60;
    pub(crate) const WEBSOCKET: u64 = 12 << 60;
    pub(crate) const SYNTAX_ERRORS: u64 = 13 << 60;
    pub(crate) const SPACE: u64 = 15 << 60;
}

/// Lets go of what belonged to Scheme objects that the collector found dead.
pub(crate) fn sweep_dead(thread: &mut Thread) {
    let dead = thread.vm().heap().take_dead_externals();
    if dead.is_empty() && !Host::of(thread).ports.has_late() {
        return;
    }
    let mut ports = Vec::new();
    for id in dead {
        let number = id & !external::SPACE;
        match id & external::SPACE {
            external::PORT => ports.push(number),
            external::ENVIRONMENT => {
                evaluation(thread.vm()).drop_environment(EnvironmentId(number));
            }
            external::LOADER => Host::of(thread).loaders.remove(number),
            external::PROCESS => drop(Host::of(thread).processes.remove(number)),
            external::WATCH => drop(Host::of(thread).watches.remove(number)),
            external::SOCKET => drop(Host::of(thread).sockets.remove(number)),
            external::TLS_CONTEXT => drop(Host::of(thread).tls_contexts.remove(number)),
            external::JSON_READER => drop(Host::of(thread).json_readers.remove(number)),
            external::DATABASE => drop(Host::of(thread).databases.remove(number)),
            external::CURSOR => drop(Host::of(thread).cursors.remove(number)),
            external::REGEX => drop(Host::of(thread).regexes.remove(number)),
            external::HTTP_SERVER => drop(Host::of(thread).http_servers.remove(number)),
            external::SYNTAX_ERRORS => drop(Host::of(thread).syntax_errors.remove(number)),
            external::WEBSOCKET => drop(Host::of(thread).websockets.remove(number)),
            _ => {}
        }
    }
    close_dead_ports(thread, &ports);
}

/// Sets what `(command-line)` gives: the program and its arguments. Only the first call has an effect.
pub fn set_command_line(vm: &Vm, words: Vec<String>) {
    let host = Host::of_machine(vm);
    let _ = host.script_file.set(script_file(&words));
    let _ = host.command_line.set(words);
}

/// The absolute name of the program of a command line. The command's own name and `-` are no programs.
/// It is found before the program runs, which may change the current directory.
fn script_file(words: &[String]) -> Option<String> {
    let first = words.first()?;
    if first == "canny" || first == "-" {
        return None;
    }
    let path = std::path::absolute(first).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Has conditions blame the procedures that users know.
pub fn blame_public_procedures(vm: &Vm) {
    vm.set_public_names(crate::public_names::is_public);
}

/// Reports ports on standard error that are closed because nothing holds them any more.
pub fn report_open_ports(vm: &Vm) {
    let _ = Host::of_machine(vm).open_port_notices.set(());
}

/// Sets how uncaught objects are shown. Only the first call has an effect.
pub fn set_report(vm: &Vm, report: Report) {
    let _ = Host::of_machine(vm).report.set(report);
}
