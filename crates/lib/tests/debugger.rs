//! The machine's debugger, driven by scripts: a program, what is done at each stop, and what is seen.
//!
//! Each script runs interpreted, with the specializer at its usual pace, with code compiled as soon as
//! it ran twice, and with a collection at every few allocations.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use canny_compiler::optimize::Switches;
use canny_heap::HeapConfig;
use canny_lib::evaluation::{Evaluation, EvaluationConfig, Prepared};
use canny_syntax::diagnostic::Diagnostic;
use canny_value::Value;
use canny_vm::debug::{Breakpoint, Client, Granularity, Location, Reason, Resume, StepKind, Stop};
use canny_vm::specializer::compiler::{Compiler, CompilerOptions};
use canny_vm::specializer::worker::WorkerOptions;
use canny_vm::{Thread, Vm, VmConfig};

/// How a machine runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Interpreted,
    Usual,
    Eager,
    Collecting,
    /// The optimizer inlines and folds.
    Optimized,
}

const MODES: [Mode; 5] = [
    Mode::Interpreted,
    Mode::Usual,
    Mode::Eager,
    Mode::Collecting,
    Mode::Optimized,
];

/// An action at a stop.
#[derive(Clone, Copy, Debug)]
enum Command {
    Continue,
    In,
    Over,
    Out,
    OverExpression,
}

/// Does what a script says, and writes down what it sees.
struct Script {
    commands: Mutex<VecDeque<Command>>,
    seen: Mutex<Vec<String>>,
    /// Variables to be shown, if they are there.
    shown: Vec<&'static str>,
}

impl Client for Script {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let line = describe(stop, &self.shown);
        self.seen.lock().unwrap().push(line);
        match self.commands.lock().unwrap().pop_front() {
            None | Some(Command::Continue) => Resume::Continue,
            Some(Command::In) => Resume::Step(StepKind::In, Granularity::Line),
            Some(Command::Over) => Resume::Step(StepKind::Over, Granularity::Line),
            Some(Command::Out) => Resume::Step(StepKind::Out, Granularity::Line),
            Some(Command::OverExpression) => Resume::Step(StepKind::Over, Granularity::Expression),
        }
    }
}

/// A stop in one line: why, the procedure, the line, the variables.
fn describe(stop: &mut Stop<'_>, shown: &[&str]) -> String {
    let why = match stop.reason() {
        Reason::Breakpoints(_) => "break",
        Reason::Step => "step",
    };
    let frame = stop.frames(0, 1).pop().expect("a frame");
    let name = match frame.name {
        _ if frame.is_program => "program".to_owned(),
        name => name.unwrap_or_else(|| "lambda".to_owned()),
    };
    let line = frame.position.map_or(0, |position| position.line);
    let mut text = format!("{why} {name}:{line}");
    for variable in shown {
        if let Some(value) = stop.value(0, variable) {
            let value = written(stop.thread(), value);
            text.push_str(&format!(" {variable}={value}"));
        }
    }
    text
}

fn written(thread: &mut Thread, value: Value) -> String {
    canny_lib::printer::written(thread, value)
}

fn machine(mode: Mode) -> (Arc<Vm>, Box<Thread>) {
    let mut config = VmConfig {
        stack_bytes: 64 << 20,
        compiles: mode != Mode::Interpreted,
        ..VmConfig::default()
    };
    if mode == Mode::Collecting {
        config.heap = HeapConfig {
            stress_every: 97,
            stress_full_every: 11,
            ..HeapConfig::default()
        };
    }
    let vm = Vm::new(
        config,
        canny_lib::primitive_table(),
        canny_lib::leaf_table(),
    )
    .expect("a machine");
    if mode != Mode::Interpreted {
        let compiler = Compiler::new(vm.specializer().clone(), CompilerOptions::default());
        let options = WorkerOptions {
            is_eager: mode != Mode::Usual,
            ..WorkerOptions::default()
        };
        vm.set_compiler(options, Box::new(compiler));
    }
    let limit = (mode != Mode::Optimized).then_some(0);
    let evaluation = EvaluationConfig {
        is_interactive: true,
        optimizer: Switches {
            limit,
            ..Switches::default()
        },
        ..EvaluationConfig::default()
    };
    vm.host(|| Evaluation::new(&evaluation));
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

/// A breakpoint at a line of the program.
fn at_line(line: u32) -> Breakpoint {
    Breakpoint::new(Location::Line {
        file: "test.scm".to_owned(),
        line,
    })
}

/// The stops of a program, and its value.
fn debug(
    mode: Mode,
    text: &str,
    breakpoints: &[Breakpoint],
    commands: &[Command],
    shown: &[&'static str],
) -> (Vec<String>, String) {
    let (vm, mut thread) = machine(mode);
    let script = Arc::new(Script {
        commands: Mutex::new(commands.iter().copied().collect()),
        seen: Mutex::default(),
        shown: shown.to_vec(),
    });
    vm.debugger().set_client(Some(script.clone()));
    for breakpoint in breakpoints {
        thread.set_breakpoint(breakpoint.clone());
    }
    let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", text.as_bytes());
    let value = run(&vm, &mut thread, prepared);
    let value = written(&mut thread, value);
    let seen = std::mem::take(&mut *script.seen.lock().unwrap());
    (seen, value)
}

/// Checks a script in some ways of running.
fn check(
    modes: &[Mode],
    text: &str,
    breakpoints: &[Breakpoint],
    commands: &[Command],
    shown: &[&'static str],
    expected: &[&str],
) {
    for mode in modes {
        let (seen, _) = debug(*mode, text, breakpoints, commands, shown);
        assert_eq!(seen, expected, "{mode:?}");
    }
}

const FACTORIAL: &str = "\
(import (scheme base))
(define (factorial n)
  (if (= n 0)
      1
      (* n
         (factorial (- n 1)))))
(define x
  (factorial 3))
(list x
      (factorial 2))
";

#[test]
fn a_breakpoint_by_line_is_met_in_every_call() {
    check(
        &MODES,
        FACTORIAL,
        &[at_line(4)],
        &[],
        &["n"],
        &["break factorial:4 n=0", "break factorial:4 n=0"],
    );
    let (seen, value) = debug(Mode::Eager, FACTORIAL, &[at_line(3)], &[], &["n"]);
    assert_eq!(seen.len(), 7);
    assert_eq!(value, "(6 2)");
}

#[test]
fn steps_go_over_in_and_out() {
    use Command::{In, Out, Over};
    check(
        &MODES[..4],
        FACTORIAL,
        &[at_line(8)],
        &[Over, Over, In, In, In, Out],
        &["n"],
        &[
            "break program:8",
            "step program:9",
            "step program:10",
            "step factorial:3 n=2",
            "step factorial:5 n=2",
            "step factorial:6 n=2",
            "step program:9",
        ],
    );
}

const HOT: &str = "\
(import (scheme base))
(define (square x)
  (* x x))
(define (sum n)
  (let loop ((i 0) (s 0))
    (if (= i n)
        s
        (loop (+ i 1)
              (+ s (square i))))))
(define before (sum 300000))
(define again (sum 300000))
(define after (sum 2))
(list before after)
";

/// Sets breakpoints at its first stop.
struct Later {
    script: Script,
    breakpoints: Mutex<Vec<Breakpoint>>,
}

impl Client for Later {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        for breakpoint in self.breakpoints.lock().unwrap().drain(..) {
            stop.thread().set_breakpoint(breakpoint);
        }
        self.script.stopped(stop)
    }
}

#[test]
fn a_breakpoint_in_hot_code_is_met_when_it_is_set_later() {
    for mode in &MODES[..4] {
        let (vm, mut thread) = machine(*mode);
        let client = Arc::new(Later {
            script: Script {
                commands: Mutex::default(),
                seen: Mutex::default(),
                shown: vec!["i", "s", "x"],
            },
            breakpoints: Mutex::new(vec![at_line(3), at_line(9)]),
        });
        vm.debugger().set_client(Some(client.clone()));
        thread.set_breakpoint(at_line(12));
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", HOT.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        let value = written(&mut thread, value);
        let seen = std::mem::take(&mut *client.script.seen.lock().unwrap());
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        assert_eq!(value, "(8999955000050000 1)", "{mode:?}");
        assert_eq!(
            seen,
            [
                "break program:12",
                "break sum:9 i=0 s=0",
                "break square:3 x=0",
                "break sum:9 i=1 s=0",
                "break square:3 x=1",
            ],
            "{mode:?}"
        );
    }
}

/// Ends an endless loop by a value for its frame.
struct Ender;

impl Client for Ender {
    fn stopped(&self, _: &mut Stop<'_>) -> Resume {
        Resume::Return(Value::fixnum(42))
    }
}

#[test]
fn a_breakpoint_is_met_in_a_loop_that_runs_compiled_meanwhile() {
    const ENDLESS: &str = "\
(import (scheme base))
(define (spin v)
  (let loop ((i 0))
    (vector-set! v 0 i)
    (if (eq? i 'never)
        i
        (loop (if (> i 1000) 0 (+ i 1))))))
(spin (vector 0))
";
    for mode in MODES {
        let (vm, mut thread) = machine(mode);
        vm.debugger().set_client(Some(Arc::new(Ender)));
        let other = vm.clone();
        let setter = std::thread::spawn(move || {
            // Long enough for the loop to be compiled.
            std::thread::sleep(std::time::Duration::from_millis(300));
            let mut thread = other.attach().expect("a thread");
            thread.set_breakpoint(at_line(7));
        });
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", ENDLESS.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        assert_eq!(value, Value::fixnum(42), "{mode:?}");
        setter.join().expect("no panic");
    }
}

#[test]
fn copies_of_procedures_have_the_breakpoint_too() {
    check(
        &[Mode::Optimized],
        HOT,
        &[at_line(12)],
        &[],
        &[],
        &["break sum:5"],
    );
    const COPIED: &str = "\
(import (scheme base))
(define (twice x)
  (+ x x))
(define (f y)
  (vector (twice (car y))
          (twice (cdr y))))
(f (cons 1 2))
";
    check(
        &MODES,
        COPIED,
        &[at_line(3)],
        &[Command::Out],
        &[],
        &["break twice:3", "step f:6", "break twice:3"],
    );
}

#[test]
fn steps_follow_tail_calls_and_loops() {
    use Command::{In, Over};
    const TAIL: &str = "\
(import (scheme base))
(define (even n)
  (if (= n 0)
      #t
      (odd (- n 1))))
(define (odd n)
  (if (= n 0)
      #f
      (even (- n 1))))
(define a
  (even 4))
(define (count n)
  (if (= n 0)
      'end
      (count (- n 1))))
(define b (count 2))
(list a b)
";
    // A step over a tail call ends in the caller of the procedure that is gone.
    check(
        &MODES[..4],
        TAIL,
        &[at_line(5)],
        &[In, Over, Over, Over],
        &["n"],
        &[
            "break even:5 n=4",
            "step odd:7 n=3",
            "step odd:9 n=3",
            "break even:5 n=2",
            "step program:11",
        ],
    );
    // One of the same procedure is a loop.
    check(
        &MODES[..4],
        TAIL,
        &[at_line(13)],
        &[Over, Over, Over, Over],
        &["n"],
        &[
            "break count:13 n=2",
            "step count:15 n=2",
            "break count:13 n=1",
            "step count:15 n=1",
            "break count:13 n=0",
        ],
    );
}

#[test]
fn steps_follow_escapes_and_winders() {
    use Command::Over;
    const ESCAPES: &str = "\
(import (scheme base) (scheme write))
(define (leave k)
  (dynamic-wind
   (lambda () 'before)
   (lambda () (k 1))
   (lambda () 'after)))
(define (f)
  (let ((x (call-with-current-continuation
            (lambda (k)
              (leave k)
              2))))
    (set! x (+ x 1))
    x))
(define y (f))
(guard (e (#t
           (display \"\")
           (set! y (list y e))))
  (leave
   (lambda (x)
     (raise x))))
y
";
    check(
        &MODES[..4],
        ESCAPES,
        &[at_line(10)],
        &[Over, Over, Over],
        &["x"],
        &[
            "break lambda:10",
            "step f:8",
            "step f:12 x=1",
            "step f:13 x=2",
        ],
    );
    check(
        &MODES[..4],
        ESCAPES,
        &[at_line(18)],
        &[Over, Over, Over, Over],
        &[],
        &[
            "break lambda:18",
            "step lambda:19",
            "step lambda:18",
            "step lambda:15",
            "step lambda:16",
        ],
    );
}

const TASKS: &str = "\
(import (scheme base) (canny tasks))
(define (work n)
  (let ((m (* n 2)))
    (sleep 0.01)
    (+ m 1)))
(define (both)
  (let* ((a (start (work 1)))
         (b (start (work 2))))
    (list (await a)
          (await b))))
(both)
";

#[test]
fn a_step_over_a_wait_ends_when_the_task_resumes() {
    use Command::{Continue, Over};
    let (seen, value) = debug(Mode::Usual, TASKS, &[at_line(9)], &[Over, Continue], &[]);
    assert_eq!(seen, ["break both:9", "step both:10"]);
    assert_eq!(value, "(3 5)");
    for mode in &MODES[..4] {
        let (mut seen, value) = debug(
            *mode,
            TASKS,
            &[at_line(4)],
            &[Over, Over, Continue, Continue],
            &["m"],
        );
        assert_eq!(value, "(3 5)", "{mode:?}");
        seen.sort();
        assert!(seen.contains(&"break work:4 m=2".to_owned()), "{seen:?}");
        assert!(seen.contains(&"break work:4 m=4".to_owned()), "{seen:?}");
        assert!(seen.len() == 4, "{seen:?}");
    }
}

#[test]
fn expressions_are_steps_too() {
    use Command::OverExpression as Next;
    const EXPRESSIONS: &str = "\
(import (scheme base))
(define (f x y) (* (+ x 1) (- y 1)))
(f 2 3)
";
    check(
        &MODES[..4],
        EXPRESSIONS,
        &[at_line(2)],
        &[Next, Next, Next],
        &[],
        &["break f:2", "step f:2", "step f:2", "step program:3"],
    );
}
