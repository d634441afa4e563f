//! The machine in which transformers run, and the talk between it and the expander.
//!
//! It lives on a thread of the system and answers one request at a time. While a transformer runs it may ask
//! whether two identifiers mean the same: it sends the question where it would send its result, and waits for
//! the answer. An error in a transformer ends that step, not the machine.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use canny_compiler::unit::CompiledUnit;
use canny_locks::Mutex;
use canny_syntax::core::LibraryKey;
use canny_syntax::procedural::{MacroFailure, MacroIdentifier};
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;
use canny_tables::protocols::{Enumerated, TransformerKind};
use canny_value::Value;
use canny_vm::{Exit, InterruptState, Raise, Thread, Vm, VmConfig};

use super::DRIVER;
use super::convert::{Places, RawResult, Symbols, heap_object, result_syntax};
use crate::evaluation::{Evaluation, EvaluationConfig, FormPosition, Prepared};
use crate::host;
use crate::uncaught::{Uncaught, set_report};

/// Stack for the expander inside of the machine: transformers may call `eval`.
const STACK_BYTES: usize = 256 << 20;

/// Names of the machine's roots.
mod root {
    /// The procedure that makes a transformer of [`VALUE`] and gives its number and kind.
    pub(super) const REGISTER: &str = "macro-register";
    /// The procedure that applies a transformer to [`VALUE`].
    pub(super) const STEP: &str = "macro-step";
    /// The operand of these two procedures.
    pub(super) const VALUE: &str = "macro-value";
}

/// A transformer of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registered {
    pub number: usize,
    pub symbols: Symbols,
    pub takes_identifier: bool,
    pub takes_assignment: bool,
}

/// A request from the expander's side.
pub(super) enum Request {
    /// Loads libraries, runs a unit, and makes its value a transformer if asked to.
    Load {
        libraries: Vec<(LibraryKey, Arc<CompiledUnit>)>,
        unit: Arc<CompiledUnit>,
        registers: bool,
    },
    /// Applies a transformer.
    Step {
        transformer: Registered,
        form: Syntax,
        epoch: u64,
    },
    /// The answer to [`Reply::Compare`].
    Answer(bool),
}

/// The two equalities of identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentifierEquality {
    /// Whether a binding of one would capture the other.
    Bound,
    /// Whether both mean the same.
    Free,
}

/// A message from the machine.
pub(super) enum Reply {
    Loaded(Result<Option<Registered>, MacroFailure>),
    Compare(IdentifierEquality, MacroIdentifier, MacroIdentifier),
    Stepped(Result<RawResult, MacroFailure>),
}

/// The talk with the expander, if the machine is one that runs transformers for an expander elsewhere.
#[derive(Default)]
pub(crate) struct ConversationCell(OnceLock<Conversation>);

/// The talk of a machine with the expander that it runs transformers for.
pub(crate) fn conversation(vm: &Vm) -> Option<&Conversation> {
    host::state::<ConversationCell>(vm).0.get()
}

/// The machine's side of the talk.
pub(crate) struct Conversation {
    requests: Mutex<Receiver<Request>>,
    replies: Sender<Reply>,
    step: Mutex<StepState>,
}

/// The state of the step under way.
#[derive(Default)]
struct StepState {
    /// The number of the transformer, the use, and the expansion that it belongs to.
    transformer: usize,
    form: Option<Syntax>,
    epoch: u64,
    /// A violation that the transformer reported: message, and where.
    violation: Option<(String, Option<Span>)>,
    /// The error that no handler took.
    uncaught: Option<Uncaught>,
}

impl Conversation {
    fn step(&self) -> canny_locks::MutexGuard<'_, StepState> {
        self.step.lock()
    }

    fn next_request(&self) -> Option<Request> {
        let requests = self.requests.lock();
        requests.recv().ok()
    }

    /// Asks the expander whether two identifiers are the same; false when nobody is there any more.
    pub(crate) fn compare(
        &self,
        equality: IdentifierEquality,
        left: MacroIdentifier,
        right: MacroIdentifier,
    ) -> bool {
        if self
            .replies
            .send(Reply::Compare(equality, left, right))
            .is_err()
        {
            return false;
        }
        matches!(self.next_request(), Some(Request::Answer(true)))
    }

    /// The number of the expansion whose step is under way.
    pub(crate) fn epoch(&self) -> u64 {
        self.step().epoch
    }

    /// The number of the transformer to be applied.
    pub(crate) fn transformer(&self) -> usize {
        self.step().transformer
    }

    /// Notes what a transformer says is wrong with a part of its use.
    pub(crate) fn note_violation(&self, thread: &Thread, message: String, part: Value) {
        let mut step = self.step();
        let input = thread.vm().root(root::VALUE).unwrap_or(Value::FALSE);
        let span = step
            .form
            .as_ref()
            .and_then(|form| Places::of(form, input).span(part));
        step.violation = Some((message, span));
    }
}

/// The expander's end of a running machine. Dropping it ends the machine.
pub(super) struct MacroMachine {
    requests: Sender<Request>,
    replies: Receiver<Reply>,
    pub(super) interrupts: Arc<InterruptState>,
}

impl MacroMachine {
    /// Starts a machine.
    pub(super) fn start(config: EvaluationConfig) -> Result<MacroMachine, String> {
        let (requests, from_expander) = channel();
        let (to_expander, replies) = channel();
        let (started, start) = channel();
        let work = move || match Machine::new(&config, from_expander, to_expander) {
            Ok(mut machine) => {
                let interrupts = machine.thread.interrupts();
                if started.send(Ok(interrupts)).is_ok() {
                    machine.serve();
                }
            }
            Err(message) => {
                let _ = started.send(Err(message));
            }
        };
        std::thread::Builder::new()
            .name("macros".into())
            .stack_size(STACK_BYTES)
            .spawn(work)
            .map_err(|error| format!("no thread for macros: {error}"))?;
        let interrupts = start
            .recv()
            .unwrap_or_else(|_| Err("the machine for macros does not start".to_owned()))?;
        Ok(MacroMachine {
            requests,
            replies,
            interrupts,
        })
    }

    /// Sends a request and gives the next thing that the machine says; `None` when it is gone.
    pub(super) fn ask(&self, request: Request) -> Option<Reply> {
        self.requests.send(request).ok()?;
        self.replies.recv().ok()
    }
}

/// The machine on its own thread.
struct Machine {
    vm: Arc<Vm>,
    thread: Box<Thread>,
}

fn failure(message: impl Into<String>) -> MacroFailure {
    MacroFailure {
        message: message.into(),
        ..MacroFailure::default()
    }
}

impl Machine {
    fn new(
        config: &EvaluationConfig,
        requests: Receiver<Request>,
        replies: Sender<Reply>,
    ) -> Result<Machine, String> {
        let error = |error: std::io::Error| format!("cannot start the machine for macros: {error}");
        let settings = VmConfig {
            compiles: false,
            ..VmConfig::default()
        };
        let vm = Vm::new(settings, crate::primitive_table(), crate::leaf_table()).map_err(error)?;
        crate::host::blame_public_procedures(&vm);
        vm.host(|| Evaluation::new(config));
        let begun = Conversation {
            requests: Mutex::new(requests),
            replies,
            step: Mutex::default(),
        };
        let _ = host::state::<ConversationCell>(&vm).0.set(begun);
        let thread = vm.attach().map_err(error)?;
        let listener = Arc::downgrade(&vm);
        let report = move |uncaught: &Uncaught| {
            if let Some(vm) = listener.upgrade()
                && let Some(conversation) = conversation(&vm)
            {
                conversation.step().uncaught = Some(uncaught.clone());
            }
        };
        set_report(&vm, Box::new(report));
        let mut machine = Machine { vm, thread };
        machine
            .start()
            .map_err(|_| "the library for macros does not start".to_owned())?;
        Ok(machine)
    }

    fn start(&mut self) -> Result<(), ()> {
        let vm = self.vm.clone();
        let evaluation = Evaluation::of(&vm);
        let prepared = evaluation.prepare_machine().map_err(|_| ())?;
        self.run(&prepared).map_err(|_| ())?;
        let library = Syntax::list(
            Span::NONE,
            DRIVER
                .iter()
                .map(|word| Syntax::symbol(Span::NONE, word))
                .collect(),
        );
        let (environment, prepared) = evaluation.make_environment(&[library]).map_err(|_| ())?;
        self.run(&prepared).map_err(|_| ())?;
        for name in [root::REGISTER, root::STEP] {
            let symbol = Syntax::symbol(Span::NONE, &format!("%{name}"));
            let prepared = evaluation
                .prepare_forms(environment, &[symbol], FormPosition::Toplevel)
                .map_err(|_| ())?;
            let procedure = self.run(&prepared).map_err(|_| ())?;
            self.vm.set_root(name, procedure);
        }
        Ok(())
    }

    /// Runs what was prepared; gives the value of the last form.
    fn run(&mut self, prepared: &Prepared) -> Result<Value, MacroFailure> {
        let vm = self.vm.clone();
        let thunks = Evaluation::of(&vm).load(&mut self.thread, prepared);
        let mut thunks = thunks.map_err(|_| failure("the code does not fit the heap limit"))?;
        let mut value = Value::UNSPECIFIED;
        // The list stays on the native stack, which keeps it alive.
        while let Some(pair) = thunks.as_pair() {
            value = self.call(pair.car())?;
            thunks = pair.cdr();
        }
        Ok(value)
    }

    fn call(&mut self, thunk: Value) -> Result<Value, MacroFailure> {
        let result = self.thread.run(thunk);
        // The output of a transformer is seen before anything else happens.
        let _ = canny_io::registry::flush_all(canny_io::Wait::Blocking);
        result.map_err(|exit| self.failure_of(&exit))
    }

    fn conversation(&self) -> Option<&Conversation> {
        conversation(&self.vm)
    }

    fn failure_of(&self, exit: &Exit) -> MacroFailure {
        if let Exit::Code(_) = exit {
            return failure("its procedure called exit");
        }
        let Some(conversation) = self.conversation() else {
            return MacroFailure::default();
        };
        let mut step = conversation.step();
        let violation = step.violation.take();
        let Some(uncaught) = step.uncaught.take() else {
            return failure("its procedure failed");
        };
        let text = uncaught.text();
        match violation.filter(|(message, _)| text.contains(message.as_str())) {
            Some((message, span)) => MacroFailure {
                message,
                span,
                notes: Vec::new(),
            },
            None => {
                let frames = uncaught.frames.iter();
                let place = uncaught.position.clone().or_else(|| {
                    frames
                        .filter(|frame| !frame.is_library)
                        .find_map(|frame| frame.position.clone())
                });
                let note = place.map(|place| {
                    format!(
                        "raised by its procedure at {}:{}:{}",
                        place.file, place.line, place.column
                    )
                });
                MacroFailure {
                    message: text,
                    span: None,
                    notes: note.into_iter().collect(),
                }
            }
        }
    }

    fn serve(&mut self) {
        loop {
            let Some(conversation) = self.conversation() else {
                return;
            };
            let Some(request) = conversation.next_request() else {
                return;
            };
            let reply = match request {
                Request::Load {
                    libraries,
                    unit,
                    registers,
                } => Reply::Loaded(self.load(libraries, unit, registers)),
                Request::Step {
                    transformer,
                    form,
                    epoch,
                } => Reply::Stepped(self.step(transformer, form, epoch)),
                // Nothing was asked.
                Request::Answer(_) => continue,
            };
            let Some(conversation) = self.conversation() else {
                return;
            };
            if conversation.replies.send(reply).is_err() {
                return;
            }
        }
    }

    fn load(
        &mut self,
        libraries: Vec<(LibraryKey, Arc<CompiledUnit>)>,
        unit: Arc<CompiledUnit>,
        registers: bool,
    ) -> Result<Option<Registered>, MacroFailure> {
        let vm = self.vm.clone();
        let prepared = Evaluation::of(&vm)
            .prepare_compiled(libraries, unit)
            .map_err(|diagnostics| {
                failure(diagnostics.first().map_or("", |first| &first.message))
            })?;
        let value = self.run(&prepared)?;
        if !registers {
            return Ok(None);
        }
        self.vm.set_root(root::VALUE, value);
        let register = self.vm.root(root::REGISTER).unwrap_or(Value::FALSE);
        let registered = self.call(register)?;
        self.vm.set_root(root::VALUE, Value::FALSE);
        let answer = registered.as_pair().and_then(|pair| {
            let kind = pair.cdr().as_fixnum()?;
            Some((pair.car().as_index()?, TransformerKind::from_number(kind)?))
        });
        let Some((number, kind)) = answer else {
            return Err(failure("the library for macros is not that of this build"));
        };
        Ok(Some(Registered {
            number,
            symbols: match kind {
                TransformerKind::Procedure | TransformerKind::Variable => Symbols::Refused,
                TransformerKind::Explicit => Symbols::Plain,
                TransformerKind::Implicit => Symbols::Inserted,
                TransformerKind::Closing => Symbols::Renamed,
            },
            takes_identifier: matches!(
                kind,
                TransformerKind::Procedure | TransformerKind::Variable
            ),
            takes_assignment: kind == TransformerKind::Variable,
        }))
    }

    fn step(
        &mut self,
        transformer: Registered,
        form: Syntax,
        epoch: u64,
    ) -> Result<RawResult, MacroFailure> {
        let symbols = transformer.symbols;
        let too_large = |_: Raise| failure("the macro use does not fit the heap limit");
        let input = heap_object(&mut self.thread, &form, epoch, symbols).map_err(too_large)?;
        self.vm.set_root(root::VALUE, input);
        if let Some(conversation) = self.conversation() {
            *conversation.step() = StepState {
                transformer: transformer.number,
                form: Some(form.clone()),
                epoch,
                ..StepState::default()
            };
        }
        let step = self.vm.root(root::STEP).unwrap_or(Value::FALSE);
        let result = self.call(step)?;
        let input = self.vm.root(root::VALUE).unwrap_or(Value::FALSE);
        let places = Places::of(&form, input);
        let converted = result_syntax(&self.thread, result, &places, form.span, symbols);
        drop(places);
        self.vm.set_root(root::VALUE, Value::FALSE);
        converted.map_err(failure)
    }
}

/// The operand of the transformer under way.
pub(crate) fn macro_value(vm: &Vm) -> Value {
    vm.root(root::VALUE).unwrap_or(Value::FALSE)
}
