//! Small programs through expander, compiler, loader and interpreter, over primitives alone.

use std::sync::Arc;

use canny_compiler::compile::{Options, compile_unit};
use canny_compiler::unit::CompiledUnit;
use canny_syntax::core::LibraryKey;
use canny_syntax::expander::expand_program;
use canny_syntax::library::{Libraries, SearchPath};
use canny_syntax::messages::is_off_by_default;
use canny_syntax::reader::read_source;
use canny_syntax::span::SourceMap;
use canny_value::Value;
use canny_vm::{Vm, VmConfig};

/// Compiles a program over `(canny syntax)` and `(canny primitives)` alone.
fn compile(text: &str) -> CompiledUnit {
    let sources = Arc::new(SourceMap::new());
    let mut libraries = Libraries::new(sources.clone(), Box::new(SearchPath::default()), &[]);
    let text = format!("(import (canny syntax) (canny primitives)) {text}");
    let (_, forms) = read_source(&sources, "test.scm", text.as_bytes(), false);
    let expansion = expand_program(
        &mut libraries,
        LibraryKey::new("program"),
        &forms.forms,
        &[],
    );
    let mut diagnostics = forms.diagnostics.iter().chain(&expansion.diagnostics);
    if let Some(diagnostic) = diagnostics.find(|one| !is_off_by_default(one.code)) {
        panic!("{}", diagnostic.render(&sources, false));
    }
    let options = Options {
        sources: Some(&sources),
        ..Options::default()
    };
    let unit = compile_unit(expansion.unit.expect("no errors"), &options)
        .expect("compiles")
        .unit;
    canny_compiler::verifier::verify_unit(&unit).expect("verifies");
    if std::env::var_os("CANNY_TEST_DISASSEMBLE").is_some_and(|value| value == "1") {
        println!("{}", canny_compiler::disassemble::disassemble_unit(&unit));
    }
    unit
}

fn run(config: VmConfig, text: &str) -> Value {
    let unit = compile(text);
    let vm = Vm::new(
        config,
        canny_lib::primitive_table(),
        canny_lib::leaf_table(),
    )
    .expect("a machine");
    let mut thread = vm.attach().expect("a thread");
    let thunk = thread
        .load_unit(&unit, false)
        .unwrap_or_else(|_| panic!("does not load"));
    thread.run(thunk).expect("a value")
}

fn check(text: &str, expected: i64) {
    assert_eq!(
        run(VmConfig::default(), text).as_fixnum(),
        Some(expected),
        "{text}"
    );
    let mut stress = VmConfig::default();
    stress.heap.stress_every = 7;
    stress.heap.verify = true;
    stress.heap.poison = true;
    assert_eq!(
        run(stress, text).as_fixnum(),
        Some(expected),
        "with collections: {text}"
    );
}

#[test]
fn recursion() {
    check(
        "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 15)",
        610,
    );
}

#[test]
fn loops_and_closures() {
    check(
        "(let loop ((i 0) (sum 0)) (if (< i 1000) (loop (+ i 1) (+ sum i)) sum))",
        499500,
    );
    check("(define (adder n) (lambda (x) (+ x n))) ((adder 3) 4)", 7);
    check(
        "(define n 0) (define (bump!) (set! n (+ n 1)) n) (bump!) (bump!) (bump!)",
        3,
    );
}

#[test]
fn lists_survive_collections() {
    let text =
        "(define (iota n) (let loop ((i n) (l '())) (if (= i 0) l (loop (- i 1) (cons i l)))))
                (define (sum l) (if (null? l) 0 (+ (car l) (sum (cdr l)))))
                (sum (iota 1000))";
    check(text, 500500);
}

#[test]
fn rest_arguments_and_apply() {
    check(
        "(define (count . l) (let loop ((l l) (n 0)) (if (null? l) n (loop (cdr l) (+ n 1))))) (count 1 2 3)",
        3,
    );
    check("(define (f a b) (- a b)) (%apply f '(10 4))", 6);
    check(
        "(define f (case-lambda ((a) a) ((a b) (+ a b)) ((a . r) (car r)))) (+ (f 1) (f 2 3) (f 9 10 11))",
        16,
    );
}

#[test]
fn continuations_are_reentrant() {
    let text = "(define k #f) (define n 0)
                (define (f) (+ 100 (call-with-current-continuation (lambda (c) (set! k c) 1))))
                (define r (f))
                (set! n (+ n 1))
                (if (< n 5) (k n))
                (+ r (* 1000 n))";
    check(text, 5104);
}

#[test]
fn deep_recursion() {
    let text = "(define (down n) (if (= n 0) 0 (+ 1 (down (- n 1))))) (down 1000000)";
    assert_eq!(run(VmConfig::default(), text).as_fixnum(), Some(1_000_000));
    let building = "(define (down n) (if (= n 0) '() (cons n (down (- n 1)))))
                    (let loop ((l (down 300000)) (n 0)) (if (null? l) n (loop (cdr l) (+ n 1))))";
    let mut small = VmConfig::default();
    small.heap.nursery_bytes = 1 << 20;
    assert_eq!(run(small, building).as_fixnum(), Some(300_000));
}

#[test]
fn units_are_forgotten_with_their_code() {
    let unit = compile("(let loop ((i 0)) (if (< i 3) (loop (+ i 1)) (lambda (x) (+ x i))))");
    let vm = Vm::new(
        VmConfig::default(),
        canny_lib::primitive_table(),
        canny_lib::leaf_table(),
    )
    .expect("a machine");
    let mut thread = vm.attach().expect("a thread");
    let before = vm.unit_count();
    let mut last = Value::FALSE;
    for _ in 0..100 {
        let thunk = thread
            .load_unit(&unit, false)
            .unwrap_or_else(|_| panic!("does not load"));
        last = thread.run(thunk).expect("a value");
    }
    let kept = thread.protect(last);
    assert_eq!(vm.unit_count(), before + 100);
    // The stack and the registers may still show where some of the last ones were.
    thread.collect_garbage(true);
    thread.collect_garbage(true);
    let after = vm.unit_count() - before;
    assert!((1..=5).contains(&after), "{after} of 100 units are kept");
    let kept = thread.protected(kept);
    assert!(vm.procedure_arity(kept).is_some());
}

/// The outputs of the process are flushed on its way out by the thread that ends it, while another
/// thread writes to them by the character: nothing is lost or comes twice.
#[test]
fn other_threads_flush_what_is_written_by_the_character() {
    use std::sync::atomic::{AtomicBool, Ordering};

    const CHARACTERS: usize = 400_000;
    let name = format!("canny-programs-{}.txt", std::process::id());
    let path = std::env::temp_dir().join(name);
    let text = format!(
        "(define port (open-output-file {:?}))
         (define (loop i)
           (if (< i {CHARACTERS})
               (begin (write-char (integer->char (+ 48 (remainder i 7))) port) (loop (+ i 1)))))
         (loop 0)
         (close-port port)
         7",
        path.to_str().expect("a path in UTF-8")
    );
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                canny_io::flush_all(canny_io::Wait::Blocking);
            }
        });
        let value = std::panic::catch_unwind(|| run(VmConfig::default(), &text));
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(value.expect("a value").as_fixnum(), Some(7));
    });
    let written = std::fs::read(&path).expect("the file");
    let _ = std::fs::remove_file(&path);
    assert_eq!(written.len(), CHARACTERS);
    let is_right = |(index, byte): (usize, &u8)| usize::from(*byte) == 48 + index % 7;
    assert!(written.iter().enumerate().all(is_right));
}
