//! Programs on several system threads of one machine: the same results as on one, whatever the threads
//! do to each other.
//!
//! A program's value is a vector of thunks, one for each thread. Those that give the same on one thread
//! are run there first; the others wait for each other and say `ok`. Every program runs with the
//! specializer at its usual pace, with code compiled as soon as it ran twice, and with a collection at
//! every few hundred allocations; all of that again with compiled code that leaves at random.

#[path = "parallel/programs.rs"]
mod programs;

use std::sync::Arc;

use canny_lib::evaluation::{Evaluation, Prepared};
use canny_syntax::diagnostic::Diagnostic;
use canny_value::Value;
use canny_vm::specializer::SpecializerConfig;
use canny_vm::specializer::compiler::{Compiler, CompilerOptions};
use canny_vm::specializer::worker::WorkerOptions;
use canny_vm::{Thread, Vm, VmConfig, string_text};

/// How a machine runs a program.
#[derive(Clone, Copy, Debug)]
struct Mode {
    name: &'static str,
    is_eager: bool,
    stress_every: u32,
    /// Compiled code leaves without a reason, once in so many chances on the average; 0 for never.
    leaves_every: u64,
}

const MODES: [Mode; 3] = [
    Mode {
        name: "usual",
        is_eager: false,
        stress_every: 0,
        leaves_every: 0,
    },
    Mode {
        name: "eager",
        is_eager: true,
        stress_every: 0,
        leaves_every: 0,
    },
    Mode {
        name: "collecting",
        is_eager: true,
        stress_every: 701,
        leaves_every: 0,
    },
];

/// The root that holds the thunks.
const THUNKS: &str = "thunks";

/// A machine that is ready to run programs, and its first thread.
fn machine(mode: Mode) -> (Arc<Vm>, Box<Thread>) {
    let config = VmConfig {
        stack_bytes: 64 << 20,
        specializer: SpecializerConfig {
            stress: mode.leaves_every,
            ..SpecializerConfig::default()
        },
        ..VmConfig::default()
    };
    let vm = Vm::new(
        config,
        canny_lib::primitive_table(),
        canny_lib::leaf_table(),
    )
    .expect("a machine");
    let compiler = Compiler::new(vm.specializer().clone(), CompilerOptions::default());
    let options = WorkerOptions {
        is_eager: mode.is_eager,
        ..WorkerOptions::default()
    };
    vm.set_compiler(options, Box::new(compiler));
    canny_lib::host::set_report(
        &vm,
        Box::new(|uncaught| eprintln!("uncaught: {uncaught:?}")),
    );
    let mut thread = vm.attach().expect("a thread");
    let prepared = Evaluation::of(&vm).prepare_machine();
    run(&vm, &mut thread, prepared);
    (vm, thread)
}

fn run(vm: &Vm, thread: &mut Thread, prepared: Result<Prepared, Vec<Diagnostic>>) -> Value {
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(diagnostics) => {
            let sources = Evaluation::of(vm).sources();
            let texts = diagnostics.iter().map(|one| one.render(sources, false));
            panic!("{}", texts.collect::<String>());
        }
    };
    let Ok(mut thunks) = Evaluation::of(vm).load(thread, &prepared) else {
        panic!("does not load");
    };
    let mut value = Value::UNSPECIFIED;
    while let Some(pair) = thunks.as_pair() {
        value = thread.run(pair.car()).expect("a value");
        thunks = pair.cdr();
    }
    value
}

/// Makes the thunks of a program on a machine of their own.
fn thunks_of(mode: Mode, text: &str) -> (Arc<Vm>, Box<Thread>, usize) {
    let (vm, mut thread) = machine(mode);
    let prepared = Evaluation::of(&vm).prepare_program("parallel.scm", text.as_bytes());
    let thunks = run(&vm, &mut thread, prepared);
    let count = thunks.as_object().expect("a vector").length();
    vm.set_root(THUNKS, thunks);
    (vm, thread, count)
}

/// Runs a thunk; gives the string that it gives.
fn call(thread: &mut Thread, index: usize) -> String {
    let thunks = thread.vm().root(THUNKS).expect("thunks");
    let thunk = thunks.as_object().expect("a vector").field(index);
    match thread.run(thunk) {
        Ok(value) => string_text(value).unwrap_or_else(|| format!("no string: {value:?}")),
        Err(exit) => format!("left: {exit:?}"),
    }
}

/// The results of the thunks, run one after the other.
fn one_by_one(text: &str) -> Vec<String> {
    let (_vm, mut thread, count) = thunks_of(MODES[0], text);
    (0..count).map(|index| call(&mut thread, index)).collect()
}

/// The results of the thunks, run at once.
fn at_once(mode: Mode, text: &str) -> Vec<String> {
    let (vm, mut main, count) = thunks_of(mode, text);
    vm.heap().set_stress(mode.stress_every);
    main.outside_heap(|| {
        std::thread::scope(|scope| {
            let run = |index| {
                let vm = &vm;
                scope.spawn(move || call(&mut vm.attach().expect("a thread"), index))
            };
            let threads: Vec<_> = (0..count).map(run).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, String>| {
                thread.join().unwrap_or_else(|_| "panicked".to_owned())
            };
            threads.into_iter().map(join).collect()
        })
    })
}

fn check_with(text: &str, expected: &[String]) {
    for mode in MODES {
        assert_eq!(at_once(mode, text), expected, "{}", mode.name);
        let leaving = Mode {
            leaves_every: 17,
            ..mode
        };
        assert_eq!(at_once(leaving, text), expected, "{leaving:?}");
    }
}

/// The threads of this program have nothing to do with each other's results.
fn check(text: &str) {
    check_with(text, &one_by_one(text));
}

/// The threads of this program need each other, and say `ok`.
fn check_together(text: &str, threads: usize) {
    check_with(text, &vec!["ok".to_owned(); threads]);
}
