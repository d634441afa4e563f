//! The machine's debugger, driven by scripts: a program, what is done at each stop, and what is seen.
//!
//! Each script runs interpreted, with the specializer at its usual pace, with code that is compiled as
//! soon as it ran twice and left at random, and with a collection at every few allocations.

#[path = "debugger/callees.rs"]
mod callees;
#[path = "debugger/conditions.rs"]
mod conditions;
#[path = "debugger/continuations.rs"]
mod continuations;
#[path = "debugger/elsewhere.rs"]
mod elsewhere;
#[path = "debugger/escapes.rs"]
mod escapes;
#[path = "debugger/variables/mod.rs"]
mod variables;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use canny_compiler::optimize::Switches;
use canny_heap::HeapConfig;
use canny_lib::debug::Expression;
use canny_lib::evaluation::{Evaluation, EvaluationConfig, Prepared};
use canny_syntax::diagnostic::Diagnostic;
use canny_value::Value;
use canny_vm::debug::{
    Breakpoint, Client, Granularity, Location, Reason, Resume, StepKind, Stop, Verdict,
};
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
    OptimizedUsual,
    OptimizedInterpreted,
    /// As `canny serve` compiles for development.
    Served,
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
        let command = self.commands.lock().unwrap().pop_front();
        resume(command.unwrap_or(Command::Continue))
    }
}

fn resume(command: Command) -> Resume {
    match command {
        Command::Continue => Resume::Continue,
        Command::In => Resume::Step(StepKind::In, Granularity::Line),
        Command::Over => Resume::Step(StepKind::Over, Granularity::Line),
        Command::Out => Resume::Step(StepKind::Out, Granularity::Line),
        Command::OverExpression => Resume::Step(StepKind::Over, Granularity::Expression),
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
    machine_for(mode, true)
}

/// A machine whose programs are compiled for people to look into them, or not.
fn machine_for(mode: Mode, is_for_debugging: bool) -> (Arc<Vm>, Box<Thread>) {
    let compiles = !matches!(mode, Mode::Interpreted | Mode::OptimizedInterpreted);
    let mut config = VmConfig {
        stack_bytes: 64 << 20,
        compiles,
        ..VmConfig::default()
    };
    if mode == Mode::Eager {
        // Compiled code leaves without a reason, too.
        config.specializer.stress = 5;
    }
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
    if compiles {
        let compiler = Compiler::new(vm.specializer().clone(), CompilerOptions::default());
        let options = WorkerOptions {
            is_eager: !matches!(mode, Mode::Usual | Mode::OptimizedUsual),
            ..WorkerOptions::default()
        };
        vm.set_compiler(options, Box::new(compiler));
    }
    let is_optimized = matches!(
        mode,
        Mode::Optimized | Mode::OptimizedUsual | Mode::OptimizedInterpreted | Mode::Served
    );
    let limit = (!is_optimized).then_some(0);
    let disabled: &[&str] = match mode {
        Mode::Served => &["remove-globals", "propagate", "inline", "simplify"],
        _ => &[],
    };
    let evaluation = EvaluationConfig {
        is_interactive: is_for_debugging,
        optimizer: Switches {
            limit,
            disabled: disabled.iter().map(|pass| (*pass).to_owned()).collect(),
        },
        ..EvaluationConfig::default()
    };
    vm.host(|| Evaluation::new(&evaluation));
    canny_lib::host::set_command_line(&vm, vec!["test".to_owned()]);
    let mut thread = vm.attach().expect("a thread");
    let prepared = Evaluation::of(&vm).prepare_machine();
    run(&vm, &mut thread, prepared);
    let prepared = Evaluation::of(&vm).prepare_debugger();
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
            "step factorial:6 n=2",
            "step factorial:3 n=1",
            "step factorial:5 n=2",
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
            "step lambda:16",
            "step lambda:17",
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

/// Evaluates expressions at a stop, each in the newest frame, and writes down their values.
struct Evaluator {
    expressions: Mutex<VecDeque<&'static str>>,
    pending: Mutex<Option<Expression>>,
    seen: Mutex<Vec<String>>,
}

impl Client for Evaluator {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let pending = self.pending.lock().unwrap().take();
        if let Some(expression) = pending {
            let outcome = canny_lib::debug::end(stop, &expression);
            let (mark, value) = match outcome.value {
                Ok(value) => ("", value),
                Err(object) => ("raised ", object),
            };
            let mut text = format!("{mark}{}", written(stop.thread(), value));
            for (name, assignment) in outcome.assigned {
                text.push_str(&format!(" {name}: {assignment:?}"));
            }
            self.seen.lock().unwrap().push(text);
        }
        let next = self.expressions.lock().unwrap().pop_front();
        let Some(text) = next else {
            return Resume::Continue;
        };
        match canny_lib::debug::begin(stop, 0, text) {
            Ok((resume, expression)) => {
                *self.pending.lock().unwrap() = Some(expression);
                resume
            }
            Err(message) => {
                self.seen.lock().unwrap().push(message);
                Resume::Continue
            }
        }
    }
}

#[test]
fn expressions_are_evaluated_and_assign_in_a_frame() {
    const VARIABLES: &str = "\
(import (scheme base) (canny tasks))
(define total 10)
(define (make count)
  (lambda (x)
    (let ((y (+ x 1)))
      (set! count (+ count y))
      (vector x y count total))))
((make 100) 5)
";
    for mode in &MODES[..4] {
        let (vm, mut thread) = machine(*mode);
        let expressions = [
            "(* x (+ y total))",
            "(begin (set! count 7) (set! y 2) count)",
            "(vector x y count)",
            "(raise 'wrong)",
            "(await (start (begin (sleep 0.001) (+ x 1))))",
            "(call-with-current-continuation (lambda (k) (k y)))",
            "(set! total 1000)",
            "(let loop ((i 0)) (if (< i 20000) (loop (+ i 1)) i))",
        ];
        let client = Arc::new(Evaluator {
            expressions: Mutex::new(expressions.into_iter().collect()),
            pending: Mutex::default(),
            seen: Mutex::default(),
        });
        vm.debugger().set_client(Some(client.clone()));
        thread.set_breakpoint(at_line(6));
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", VARIABLES.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        let value = written(&mut thread, value);
        let seen = std::mem::take(&mut *client.seen.lock().unwrap());
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        assert_eq!(
            seen,
            [
                "80",
                "7 y: DoneInFrame count: Done",
                "#(5 2 7)",
                "raised wrong",
                "6",
                "2",
                "#!unspecific",
                "20000",
            ],
            "{mode:?}"
        );
        assert_eq!(value, "#(5 2 9 1000)", "{mode:?}");
    }
}

/// Makes the newest frame begin again, once, with another argument.
struct Again {
    is_over: Mutex<bool>,
}

impl Client for Again {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        let is_over = std::mem::replace(&mut *self.is_over.lock().unwrap(), true);
        if is_over {
            return Resume::Continue;
        }
        assert!(stop.can_restart());
        stop.assign(0, "n", Value::fixnum(30));
        Resume::Restart
    }
}

#[test]
fn a_frame_begins_again() {
    const TWO_LINES: &str = "\
(import (scheme base))
(define log '())
(define (f n)
  (set! log (cons n log))
  (+ n 1))
(list (f 2) log)
(cons (f 3) log)
";
    for mode in &MODES[..4] {
        let (vm, mut thread) = machine(*mode);
        let is_over = Mutex::new(false);
        vm.debugger().set_client(Some(Arc::new(Again { is_over })));
        thread.set_breakpoint(at_line(5));
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", TWO_LINES.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        assert_eq!(written(&mut thread, value), "(4 3 30 2)", "{mode:?}");
    }
}

#[test]
fn frames_below_have_their_variables_and_can_be_changed() {
    /// Looks at the second frame, and changes a variable of it.
    struct Below {
        seen: Mutex<Vec<String>>,
    }
    impl Client for Below {
        fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
            let frames = stop.frames(0, 10);
            let own = frames.iter().filter(|frame| !frame.is_library);
            let names: Vec<String> = own
                .map(|frame| match frame.name.clone() {
                    _ if frame.is_program => "program".to_owned(),
                    name => name.unwrap_or_default(),
                })
                .collect();
            let value = stop.value(1, "local").expect("it lives");
            let text = written(stop.thread(), value);
            let outcome = stop.assign(1, "local", Value::fixnum(50));
            let mut seen = self.seen.lock().unwrap();
            seen.push(format!("{} {text} {outcome:?}", names.join(" ")));
            Resume::Continue
        }
    }
    const CALLS: &str = "\
(import (scheme base))
(define (inner x)
  (if (eqv? x 1999) (stop))
  x)
(define (stop)
  'here)
(define (outer i)
  (let* ((local (+ i 1))
         (result (inner i)))
    (+ result local)))
(let loop ((i 0) (sum 0))
  (if (= i 2000)
      sum
      (loop (+ i 1) (outer i))))
";
    for mode in &MODES[..4] {
        let (vm, mut thread) = machine(*mode);
        let client = Arc::new(Below {
            seen: Mutex::default(),
        });
        vm.debugger().set_client(Some(client.clone()));
        let place = Location::Procedure("inner".to_owned());
        let breakpoint = Breakpoint {
            passes: 1999,
            ..Breakpoint::new(place)
        };
        thread.set_breakpoint(breakpoint);
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", CALLS.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        let seen = std::mem::take(&mut *client.seen.lock().unwrap());
        assert_eq!(seen, ["inner outer program 2000 DoneInFrame"], "{mode:?}");
        assert_eq!(value, Value::fixnum(2049), "{mode:?}");
    }
}

#[test]
fn raised_objects_stop_and_conditions_pass() {
    const RAISES: &str = "\
(import (scheme base))
(define (f x)
  (guard (e (#t 'caught))
    (if (odd? x) (raise x) x)))
(list (f 1) (f 2) (f 3))
";
    let mut breakpoint = Breakpoint::new(Location::Raise);
    breakpoint.condition = Some(Arc::new(|stop: &mut Stop<'_>| {
        let is_it = stop.raised() == Value::fixnum(3) && stop.has_handlers();
        if is_it { Verdict::Stop } else { Verdict::Pass }
    }));
    for mode in MODES {
        let (seen, value) = debug(mode, RAISES, std::slice::from_ref(&breakpoint), &[], &[]);
        assert_eq!(seen.len(), 1, "{mode:?}: {seen:?}");
        assert!(seen[0].starts_with("break raise"), "{mode:?}: {seen:?}");
        assert_eq!(value, "(caught 2 caught)", "{mode:?}");
    }
}

#[test]
fn a_task_that_stands_still_lets_others_run_and_collect() {
    /// Waits at its first stop until another task has come far.
    struct Patient {
        vm: Arc<Vm>,
        stops: Mutex<u32>,
    }
    impl Client for Patient {
        fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
            let mut stops = self.stops.lock().unwrap();
            *stops += 1;
            if *stops == 1 {
                let before = self.vm.heap().statistics().collections;
                stop.wait(|| {
                    while self.vm.heap().statistics().collections < before + 3 {
                        std::thread::yield_now();
                    }
                });
            }
            Resume::Continue
        }
    }
    const BUSY: &str = "\
(import (scheme base) (canny tasks))
(define (stop)
  'here)
(define (fill n)
  (let loop ((i 0) (l '()))
    (cond ((< i n)
           (loop (+ i 1) (if (= 0 (modulo i 1000)) '() (cons i l))))
          (else 'full))))
(let ((waiting (start (stop)))
      (busy (start (fill 3000000))))
  (list (await waiting) (await busy)))
";
    for mode in &MODES[..3] {
        let (vm, mut thread) = machine(*mode);
        let client = Arc::new(Patient {
            vm: vm.clone(),
            stops: Mutex::default(),
        });
        vm.debugger().set_client(Some(client.clone()));
        thread.set_breakpoint(Breakpoint::new(Location::Procedure("stop".to_owned())));
        let prepared = Evaluation::of(&vm).prepare_program("/tmp/test.scm", BUSY.as_bytes());
        let value = run(&vm, &mut thread, prepared);
        assert_eq!(written(&mut thread, value), "(here full)", "{mode:?}");
        assert_eq!(*client.stops.lock().unwrap(), 1, "{mode:?}");
    }
}
