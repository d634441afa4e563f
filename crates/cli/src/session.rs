//! A machine with its library, and running programs on it.
//!
//! A `Session` is one machine and its main thread, with the search path of the project around the
//! program. Syntax errors and uncaught objects are printed here, once; callers get a `Failure` and
//! turn it into an exit code.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_compiler::counting::Counting;
use canny_heap::{HeapConfig, OutsideMemory, Statistics};
use canny_lib::ProfileFile;
use canny_lib::evaluation::{Evaluation, EvaluationConfig, Prepared};
use canny_lib::snapshots::Watcher;
use canny_packages::project::Project;
use canny_syntax::diagnostic::Diagnostic;
use canny_value::Value;
use canny_vm::specializer::compiler::Compiler;
use canny_vm::survey::SummaryRow;
use canny_vm::{Exit, InterruptState, TasksConfig, Thread, Vm, VmConfig, VmStack};

use crate::environment::Environment;
use crate::exit_code;
use crate::options::{Action, Options};
use crate::replays::ReplayWish;
use crate::report;

/// A thread of a machine, ready to run programs.
pub struct Session {
    pub vm: Arc<Vm>,
    pub thread: Box<Thread>,
    /// The settings from the environment variables of the process.
    pub environment: &'static Environment,
    /// Code counts, so that no code or profile of other runs fits it.
    is_counting: bool,
    /// Where the profile of the program is kept, if one is.
    profile: Option<ProfileFile>,
}

/// Why something did not run to its end.
pub enum Failure {
    /// Syntax errors, already printed.
    Syntax,
    /// The machine was left.
    Exit(Exit),
}

impl Failure {
    /// The exit code of a process that ends with this.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Syntax => exit_code::DATA,
            Failure::Exit(Exit::Code(code)) => *code as u8,
            Failure::Exit(Exit::Uncaught) if report::was_interrupted() => exit_code::INTERRUPTED,
            Failure::Exit(Exit::Uncaught) => exit_code::SOFTWARE,
        }
    }
}

impl Session {
    /// Makes a machine. `program` is the file to be run, if there is one; the project around it is used.
    pub fn new(options: &Options, program: Option<&Path>) -> Result<Session, String> {
        let project = crate::project::find(options, program)?;
        Session::in_project(options, program, project.as_ref())
    }

    /// Makes a machine for a program in a project that was looked for.
    pub fn in_project(
        options: &Options,
        program: Option<&Path>,
        project: Option<&Project>,
    ) -> Result<Session, String> {
        let environment = options.environment;
        let counting = Counting {
            calls: options.counting.calls || environment.counts_calls,
            coverage: options.counting.coverage || environment.coverage.is_some(),
        };
        if counting.is_on() {
            canny_vm::profile::counts::turn_on(counting);
        }
        let compiles = options.compiles && environment.compiles;
        // A recorded guest must not depend on when a function is compiled.
        set_guest_code(compiles && options.replay == ReplayWish::Live, environment);
        let config = VmConfig {
            heap: heap_config(options, environment),
            stack_bytes: options
                .stack_limit_bytes
                .unwrap_or(VmStack::DEFAULT_FRAME_BYTES),
            compiles,
            specializer: environment.specializer,
            tasks: TasksConfig {
                is_alone: environment.tasks.is_alone || options.replay != ReplayWish::Live,
                ..environment.tasks
            },
        };
        let vm = Vm::new(
            config,
            canny_lib::primitive_table(),
            canny_lib::leaf_table(),
        )
        .map_err(|error| format!("cannot start: {error}"))?;
        if options.reports_specializer {
            vm.specializer().ledger().turn_on(false);
        }
        if vm.specializer().is_enabled() {
            let compiler = Compiler::new(vm.specializer().clone(), environment.compiler.clone());
            vm.set_compiler(environment.worker.clone(), Box::new(compiler));
        }
        let mut evaluation = EvaluationConfig {
            cache: if options.use_cache {
                environment.cache_directory()
            } else {
                None
            },
            is_interactive: options.action == Action::Repl
                || options.debugs
                || options.serves_for_development,
            documents: None,
            counting,
            ..crate::project::libraries(options, program, project)
        };
        if options.debugs {
            // Every variable and every expression is there.
            evaluation.optimizer.limit = Some(0);
        }
        if options.serves_for_development {
            // Names of the program and parameters of its procedures are there, warnings too.
            let passes = ["remove-globals", "propagate", "inline", "simplify"];
            let disabled = &mut evaluation.optimizer.disabled;
            disabled.extend(passes.map(str::to_owned));
        }
        vm.host(|| Evaluation::new(&evaluation));
        canny_lib::host::blame_public_procedures(&vm);
        canny_lib::host::set_command_line(&vm, options.command_line.clone());
        if environment.reports_open_ports {
            canny_lib::host::report_open_ports(&vm);
        }
        let thread = vm
            .attach()
            .map_err(|error| format!("cannot start: {error}"))?;
        let sources = Evaluation::of(&vm).sources().clone();
        canny_lib::host::set_report(
            &vm,
            Box::new(move |uncaught| report::uncaught(uncaught, &sources)),
        );
        if options.debugs && options.debug_socket.is_none() {
            crate::debug::handle_interrupts(&vm, thread.interrupts());
        } else {
            handle_interrupts(&vm, thread.interrupts());
        }
        canny_lib::host::handle_asks(&vm);
        crate::debug::serve_attached();
        let mut session = Session {
            vm,
            thread,
            environment,
            is_counting: counting.is_on(),
            profile: None,
        };
        let prepared = Evaluation::of(&session.vm).prepare_machine();
        match session.run(prepared) {
            Ok(_) => Ok(session),
            Err(_) => Err("the standard library does not start".to_owned()),
        }
    }

    /// The end of a run: what the program wants to be done at its end, and what was asked to be
    /// reported about it. Gives the exit code of an `exit` meanwhile, such as that of a signal which
    /// has had the program's text come to its end.
    #[must_use]
    pub fn finish(mut self, options: &Options) -> Option<u8> {
        let shutdown = canny_lib::host::take_shutdown_procedure(&self.vm);
        let code = shutdown.and_then(|procedure| match self.thread.run(procedure) {
            Err(exit @ Exit::Code(_)) => Some(Failure::Exit(exit).exit_code()),
            _ => None,
        });
        if let Some(procedure) = canny_lib::host::take_failure_procedure(&self.vm) {
            let _ = self.thread.run(procedure);
        }
        let Session {
            vm,
            thread,
            environment,
            ..
        } = self;
        if let Some(directory) = &environment.coverage {
            crate::coverage::write_counted(directory);
        }
        if options.reports_specializer {
            report::text(&vm.specializer_report());
        }
        // The statistics include a thread's allocations once the thread has ended.
        drop(thread);
        // The program may have begun it.
        let _ = canny_lib::snapshots::end_watch(&vm, Watcher::Program);
        if let Some(path) = &environment.statistics {
            write_statistics(path, &vm.heap().statistics());
        }
        code
    }

    /// Ends after a program whose text has come to its end with an exit code, or that has failed; gives
    /// the exit code.
    pub fn end(mut self, options: &Options, result: Result<u8, Failure>) -> u8 {
        // `exit` has run it already.
        if !matches!(result, Err(Failure::Exit(Exit::Code(_)))) {
            self.run_exit_hook();
        }
        if matches!(result, Ok(_) | Err(Failure::Exit(Exit::Code(_)))) {
            self.keep_profile();
        }
        let ended = self.finish(options);
        match result {
            Ok(code) => ended.unwrap_or(code),
            Err(failure) => failure.exit_code(),
        }
    }

    /// Calls the procedure that the program has set for its end, as `exit` does.
    pub fn run_exit_hook(&mut self) {
        if let Some(hook) = canny_lib::host::take_exit_hook(&self.vm) {
            // How the program ended stays as it is.
            let _ = self.thread.run(hook);
        }
    }

    /// The compiler's side of the machine.
    pub fn evaluation(&self) -> &Evaluation {
        Evaluation::of(&self.vm)
    }

    /// Runs the program of a file, with what earlier runs learned of it.
    pub fn run_program(
        &mut self,
        options: &Options,
        file: &Path,
        prepared: Result<Prepared, Vec<Diagnostic>>,
    ) -> Result<Value, Failure> {
        let is_wanted = options.use_cache
            && !self.is_counting
            && options.keeps_profiles
            && self.environment.keeps_profiles
            // Plans are counted.
            && self.environment.worker.limit.is_none()
            && self.vm.specializer().is_enabled();
        if is_wanted
            && let Ok(prepared) = &prepared
            && let Some(cache) = self.environment.cache_directory()
        {
            self.profile = ProfileFile::new(&cache, file, prepared);
        }
        self.run(prepared)
    }

    /// Calls a procedure without arguments.
    pub fn call(&mut self, procedure: Value) -> Result<Value, Failure> {
        self.thread.run(procedure).map_err(Failure::Exit)
    }

    /// Collects fully; then the objects by type.
    pub fn heap_summary(&mut self) -> Vec<SummaryRow> {
        self.thread.heap_summary()
    }

    /// Gives the specializer what earlier runs learned of the program that was loaded just now.
    fn restore_profile(&mut self) {
        if let Some(file) = &self.profile {
            match file.read() {
                Ok(Some(profile)) => {
                    self.thread.restore_profile(profile);
                }
                Ok(None) => {}
                Err(sentence) => self.thread.note_for_specializer(&sentence),
            }
        }
    }

    /// Keeps what the specializer learned of the program.
    fn keep_profile(&mut self) {
        if let Some(file) = self.profile.take()
            && let Some(profile) = self.thread.learned_profile()
        {
            file.write(profile);
        }
    }

    /// Runs what was prepared; gives the value of the last form.
    pub fn run(&mut self, prepared: Result<Prepared, Vec<Diagnostic>>) -> Result<Value, Failure> {
        self.run_after(prepared, |_| Ok(()))
    }

    /// The same after something else, which is done when the code is loaded.
    pub fn run_after(
        &mut self,
        prepared: Result<Prepared, Vec<Diagnostic>>,
        before: impl FnOnce(&mut Thread) -> Result<(), Failure>,
    ) -> Result<Value, Failure> {
        let vm = self.vm.clone();
        let evaluation = Evaluation::of(&vm);
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(diagnostics) => {
                report::diagnostics(&diagnostics, evaluation.sources());
                return Err(Failure::Syntax);
            }
        };
        if report::diagnostics(&prepared.warnings, evaluation.sources()) {
            return Err(Failure::Syntax);
        }
        let Ok(mut thunks) = evaluation.load(&mut self.thread, &prepared) else {
            eprintln!("canny: the program does not fit the heap limit");
            return Err(Failure::Exit(Exit::Uncaught));
        };
        drop(prepared);
        before(&mut self.thread)?;
        self.restore_profile();
        let mut value = Value::UNSPECIFIED;
        // The list stays on the native stack, which keeps it alive.
        while let Some(pair) = thunks.as_pair() {
            value = self.thread.run(pair.car()).map_err(Failure::Exit)?;
            thunks = pair.cdr();
        }
        Ok(value)
    }
}

/// Turns SIGINT into an interrupt of the machine's thread, and of the macro that is being expanded,
/// unless the program takes it.
fn handle_interrupts(vm: &Arc<Vm>, interrupts: Arc<InterruptState>) {
    let machine = Arc::downgrade(vm);
    let interrupt = move || {
        interrupts.interrupt();
        if let Some(vm) = machine.upgrade() {
            Evaluation::of(&vm).interrupt_macros();
        }
    };
    canny_lib::host::handle_interrupts(vm, Box::new(interrupt));
}

/// Writes what the heap did, a name and a number on each line.
fn write_statistics(path: &Path, statistics: &Statistics) {
    let lines = [
        ("bytes-allocated", statistics.bytes_allocated),
        ("bytes-in-use-max", statistics.bytes_in_use_max as u64),
        ("collections", statistics.collections),
        ("full-collections", statistics.full_collections),
        ("pause-nanoseconds", statistics.pause_wall_ns_total),
        ("pause-nanoseconds-max", statistics.pause_wall_ns_max),
    ];
    let text: String = lines
        .map(|(name, number)| format!("{name} {number}\n"))
        .concat();
    if let Err(error) = std::fs::write(path, text) {
        eprintln!("canny: cannot write {}: {error}", path.display());
    }
}

/// Directories to search for libraries, in order.
pub fn directories(options: &Options, program: Option<&Path>) -> Vec<PathBuf> {
    crate::project::search_directories(options, program)
}

/// The heap's settings from the options and the environment.
fn heap_config(options: &Options, environment: &Environment) -> HeapConfig {
    HeapConfig {
        limit: options.heap_limit_bytes,
        outside: Some(OutsideMemory {
            held_bytes: canny_io::memory::held_bytes,
            allow_bytes: canny_io::memory::allow_bytes,
        }),
        ..environment.heap.clone()
    }
}

/// Says when functions of guests become machine code.
pub fn set_guest_code(compiles: bool, environment: &Environment) {
    use canny_wasm::MachineCodePolicy as Policy;
    canny_wasm::set_machine_code_policy(match environment.guest_code.as_str() {
        _ if !compiles => Policy::Never,
        "never" => Policy::Never,
        "always" => Policy::Always,
        "loops" => Policy::Loops,
        _ => Policy::Hot,
    });
}
