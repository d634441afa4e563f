//! Measures what the debugger costs: a conditional breakpoint in a hot loop, and a step over a call.
//!
//! The loop runs without a debugger, with a condition that reads a variable by its name and is never true,
//! and with one that is removed soon. The call is one of a recursive procedure.
//! `cargo run --release -p canny-lib --example debugger_costs`; the arguments are a number of rounds and,
//! in place of all that, of iterations with the condition, for a run under `callgrind`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_compiler::optimize::Switches;
use canny_lib::evaluation::{Evaluation, EvaluationConfig};
use canny_locks::Mutex;
use canny_value::Value;
use canny_vm::debug::{
    Breakpoint, Client, Granularity, Location, Reason, Resume, StepKind, Stop, Verdict,
};
use canny_vm::specializer::compiler::{Compiler, CompilerOptions};
use canny_vm::specializer::worker::WorkerOptions;
use canny_vm::{Thread, Vm, VmConfig};

const ITERATIONS: u64 = 10_000_000;

/// The breakpoint is in line 5.
const PROGRAM: &str = "\
(import (scheme base))
(define (sum n)
  (let loop ((i 0) (s 0))
    (if (< i n)
        (loop (+ i 1)
              (+ s i))
        s)))
";

/// The call is in line 7.
const RECURSION: &str = "\
(import (scheme base))
(define (fib n)
  (if (< n 2)
      n
      (+ (fib (- n 1)) (fib (- n 2)))))
(define (call)
  (let ((x (fib 30)))
    (list x)))
(call)
";

/// Takes the time of the stops, and steps over.
#[derive(Default)]
struct Stepper(Mutex<Vec<Instant>>);

impl Client for Stepper {
    fn stopped(&self, _: &mut Stop<'_>) -> Resume {
        let mut times = self.0.lock();
        times.push(Instant::now());
        match times.len() {
            1 => Resume::Step(StepKind::Over, Granularity::Line),
            _ => Resume::Continue,
        }
    }
}

/// Stops nowhere.
struct Nobody;

impl Client for Nobody {
    fn stopped(&self, _: &mut Stop<'_>) -> Resume {
        Resume::Continue
    }
}

fn at_line(line: u32) -> Breakpoint {
    Breakpoint::new(Location::Line {
        file: "loop.scm".to_owned(),
        line,
    })
}

fn run(vm: &Vm, thread: &mut Thread, text: Option<&str>) -> Value {
    let evaluation = Evaluation::of(vm);
    let prepared = match text {
        Some(text) => evaluation.prepare_program("/tmp/loop.scm", text.as_bytes()),
        None => evaluation.prepare_machine(),
    };
    let prepared = prepared.expect("a program without errors");
    let mut thunks = evaluation.load(thread, &prepared).expect("code");
    let mut value = Value::UNSPECIFIED;
    while let Some(pair) = thunks.as_pair() {
        value = thread.run(pair.car()).expect("a value");
        thunks = pair.cdr();
    }
    value
}

/// How far the loop runs with the breakpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Never,
    Soon,
    End,
}

/// The iteration at which a breakpoint is removed soon.
const SOON: i64 = 1000;

fn machine() -> (Arc<Vm>, Box<Thread>) {
    let vm = Vm::new(
        VmConfig::default(),
        canny_lib::primitive_table(),
        canny_lib::leaf_table(),
    );
    let vm = vm.expect("a machine");
    let compiler = Compiler::new(vm.specializer().clone(), CompilerOptions::default());
    vm.set_compiler(WorkerOptions::default(), Box::new(compiler));
    let configuration = EvaluationConfig {
        optimizer: Switches {
            limit: Some(0),
            ..Switches::default()
        },
        ..EvaluationConfig::default()
    };
    vm.host(|| Evaluation::new(&configuration));
    let mut thread = vm.attach().expect("a thread");
    run(&vm, &mut thread, None);
    (vm, thread)
}

/// Runs the loop in a machine of its own: the time, and how often the breakpoint was met.
fn time(until: Until, iterations: u64) -> (Duration, u64) {
    let (vm, mut thread) = machine();
    let mut id = None;
    if until != Until::Never {
        let mut breakpoint = at_line(5);
        breakpoint.condition = Some(Arc::new(move |stop: &mut Stop<'_>| {
            let i = stop.value(0, "i");
            if until == Until::Soon && i == Some(Value::fixnum(SOON)) {
                remove(stop);
            }
            let is_it = i == Some(Value::fixnum(-1));
            if is_it { Verdict::Stop } else { Verdict::Pass }
        }));
        vm.debugger().set_client(Some(Arc::new(Nobody)));
        id = Some(thread.set_breakpoint(breakpoint));
    }
    let program = format!("{PROGRAM}(sum {iterations})");
    let start = Instant::now();
    let value = run(&vm, &mut thread, Some(&program));
    let took = start.elapsed();
    let expected = iterations * (iterations - 1) / 2;
    assert_eq!(value, Value::fixnum(expected as i64));
    let state = id.and_then(|id| vm.debugger().breakpoint(id));
    (took, state.map_or(0, |state| state.hits))
}

/// The time of the call, without a debugger and in a step over it.
fn time_step() -> (Duration, Duration) {
    let (vm, mut thread) = machine();
    let start = Instant::now();
    run(&vm, &mut thread, Some(RECURSION));
    let without = start.elapsed();
    let (vm, mut thread) = machine();
    let stepper = Arc::new(Stepper::default());
    vm.debugger().set_client(Some(stepper.clone()));
    thread.set_breakpoint(at_line(7));
    run(&vm, &mut thread, Some(RECURSION));
    let times = stepper.0.lock();
    let [first, second] = times[..] else {
        panic!("{} stops", times.len());
    };
    (without, second - first)
}

fn remove(stop: &mut Stop<'_>) {
    if let Reason::Breakpoints(met) = stop.reason() {
        for id in met {
            stop.thread().remove_breakpoint(id);
        }
    }
}

fn main() {
    let count = |index| std::env::args().nth(index)?.parse().ok();
    if let Some(iterations) = count(2) {
        time(Until::End, iterations);
        return;
    }
    let rounds = count(1);
    for _ in 0..rounds.unwrap_or(3) {
        let (without, _) = time(Until::Never, ITERATIONS);
        let (with, asked) = time(Until::End, ITERATIONS);
        let (soon, _) = time(Until::Soon, ITERATIONS);
        let factor = with.as_secs_f64() / without.as_secs_f64();
        let each = with.as_nanos() as f64 / asked.max(1) as f64;
        println!(
            "without {without:.1?}, removed soon {soon:.1?}, with {with:.1?}: {factor:.1} times, \
             {asked} hits, {each:.1} ns each"
        );
        let (call, step) = time_step();
        let factor = step.as_secs_f64() / call.as_secs_f64();
        println!("call {call:.1?}, step over it {step:.1?}: {factor:.1} times");
    }
}
