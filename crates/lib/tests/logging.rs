//! Programs whose threads log for the specializer: what is planned, and that nothing else changes.

use std::io::Write;
use std::sync::{Arc, Mutex};

use canny_compiler::compile::{Options, compile_unit};
use canny_spesh::graph::EntryPoint;
use canny_spesh::planner::{Plan, Reason};
use canny_spesh::snapshot::Profile;
use canny_spesh::types::Type;
use canny_syntax::core::LibraryKey;
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::reader::read_source;
use canny_syntax::span::SourceMap;
use canny_vm::specializer::worker::{Compile, Outcome, WorkerOptions};
use canny_vm::{Vm, VmConfig};

/// Notes plans and compiles nothing.
struct Notes {
    plans: Arc<Mutex<Vec<Plan>>>,
    text: Arc<Mutex<String>>,
}

impl Compile for Notes {
    fn compile(
        &mut self,
        plan: &Plan,
        profile: &dyn Profile,
        _: Option<&mut dyn Write>,
    ) -> Outcome {
        self.plans.lock().unwrap().push(plan.clone());
        let mut text = self.text.lock().unwrap();
        for pc in 0..200 {
            if let Some(ty) = profile.result_type(plan.code, pc) {
                text.push_str(&format!("{pc} gives {ty}\n"));
            }
        }
        Outcome::Refused("only planned".to_owned())
    }
}

/// The outcome of a program.
struct Run {
    value: Option<i64>,
    plans: Vec<Plan>,
    results: String,
}

fn run(config: VmConfig, is_blocking: bool, text: &str) -> Run {
    let sources = Arc::new(SourceMap::new());
    let mut libraries = Libraries::new(sources.clone(), Box::new(SearchPath::default()), &[]);
    let text = format!("(import (canny syntax) (canny primitives)) {text}");
    let (_, forms) = read_source(&sources, "test.scm", text.as_bytes(), false);
    let key = LibraryKey::new("program");
    let expansion = expand_program(&mut libraries, key, &forms.forms, &[]);
    let options = Options {
        sources: Some(&sources),
        ..Options::default()
    };
    let unit = compile_unit(expansion.unit.expect("no errors"), &options)
        .expect("compiles")
        .unit;
    let vm = Vm::new(
        config,
        canny_lib::primitive_table(),
        canny_lib::leaf_table(),
    )
    .expect("a machine");
    let (plans, results) = (Arc::default(), Arc::default());
    let notes = Notes {
        plans: Arc::clone(&plans),
        text: Arc::clone(&results),
    };
    let worker = WorkerOptions {
        is_blocking,
        ..WorkerOptions::default()
    };
    vm.set_compiler(worker, Box::new(notes));
    let mut thread = vm.attach().expect("a thread");
    let thunk = thread
        .load_unit(&unit, false)
        .unwrap_or_else(|_| panic!("does not load"));
    let value = thread.run(thunk).expect("a value").as_fixnum();
    let plans = plans.lock().unwrap().clone();
    let results = results.lock().unwrap().clone();
    Run {
        value,
        plans,
        results,
    }
}

const FIB: &str = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 25)";

#[test]
fn recursion_is_planned_for_its_types() {
    let run = run(VmConfig::default(), true, FIB);
    assert_eq!(run.value, Some(75025));
    let plan = &run.plans[0];
    assert_eq!(
        (plan.entry, plan.reason),
        (EntryPoint::Start, Reason::Observed)
    );
    assert_eq!(plan.parameter_types, [Type::FIXNUM]);
    assert!(run.results.contains("gives fixnum"), "{}", run.results);
    let again = self::run(VmConfig::default(), true, FIB);
    assert_eq!(again.plans.len(), run.plans.len(), "runs can be repeated");
}

#[test]
fn the_main_loop_is_found_though_it_is_entered_once() {
    let run = run(
        VmConfig::default(),
        true,
        "(define v (make-vector 10 1.5))
         (let loop ((i 0) (sum 0.0))
           (if (< i 100000) (loop (+ i 1) (+ sum (vector-ref v (remainder i 10)))) (* 4 (exact-truncate \
           sum))))",
    );
    let plan = run
        .plans
        .iter()
        .find(|plan| matches!(plan.entry, EntryPoint::Loop(_)))
        .expect("the loop is hot");
    assert!(plan.parameter_types.contains(&Type::FIXNUM), "{plan:?}");
    assert!(plan.parameter_types.contains(&Type::FLONUM), "{plan:?}");
    assert!(run.results.contains("gives flonum"), "{}", run.results);
}

#[test]
fn everything_that_is_logged_goes_on_as_without() {
    let text = "
      (define (list-of n) (let loop ((i n) (l '())) (if (= i 0) l (loop (- i 1) (cons i l)))))
      (define (many a b c d e f g h i j) (+ a (+ j (length (list b c d e f g h i)))))
      (define (sum l) (if (null? l) 0 (+ (car l) (sum (cdr l)))))
      (define (even-count l n) (if (null? l) n (even-count (cdr l) (if (= 0 (remainder (car l) 2)) (+ n 1) \
      n))))
      (define (pairs n) (let ((l (list-of n))) (values (sum l) (even-count l 0))))
      (define counter 0)
      (define (bump! k) (set! counter (+ counter k)))
      (define (adder n) (lambda (x) (bump! 1) (+ x n)))
      (let loop ((round 0) (total 0))
        (if (= round 600)
            (+ total counter)
            (let-values (((s e) (pairs 20)))
              (loop (+ round 1)
                    (+ total (+ ((adder s) e) (many round 'b #\\c \"d\" 1.5 #t #f '() (vector 1) 2)))))))";
    let expected = Some(600 * (210 + 10 + 8 + 2) + 599 * 300 + 600);
    let mut stress = VmConfig::default();
    stress.heap.stress_every = 97;
    stress.heap.stress_full_every = 50;
    stress.heap.verify = true;
    stress.heap.poison = true;
    for (config, is_blocking) in [
        (VmConfig::default(), true),
        (VmConfig::default(), false),
        (stress, true),
    ] {
        let run = run(config, is_blocking, text);
        assert_eq!(run.value, expected);
    }
}

#[test]
fn short_programs_start_no_worker() {
    let run = run(
        VmConfig::default(),
        true,
        "(define (double x) (+ x x)) (double 21)",
    );
    assert_eq!(run.value, Some(42));
    assert_eq!(run.plans, []);
}
