//! Generated programs: the expander must never panic or hang, whatever it is given, and what it
//! accepts must survive serialisation and print as text that reads back.

#[path = "support/memory.rs"]
mod memory;

use canny_syntax::core::{LibraryKey, Unit};
use canny_syntax::expander::expand_program;
use canny_syntax::reader::{read_source, read_text};
use canny_syntax::span::SourceId;
use canny_syntax::unexpand::unexpand;
use memory::{Memory, registry};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Keywords, a few variables and the pieces that macros are made of.
const WORDS: &[&str] = &[
    "quote",
    "quasiquote",
    "unquote",
    "unquote-splicing",
    "lambda",
    "lambda*",
    "case-lambda",
    "named-lambda",
    "define",
    "define*",
    "define-values",
    "define-record-type",
    "define-syntax",
    "let-syntax",
    "letrec-syntax",
    "syntax-rules",
    "syntax-error",
    "let",
    "let*",
    "letrec",
    "letrec*",
    "let-values",
    "let*-values",
    "receive",
    "and",
    "or",
    "when",
    "unless",
    "cond",
    "case",
    "do",
    "begin",
    "set!",
    "if",
    "cond-expand",
    "include",
    "import",
    "export",
    "define-library",
    "_",
    "...",
    "=>",
    "else",
    "x",
    "y",
    "m",
    "n",
    "car",
    "list",
    "only",
    "prefix",
    "rename",
    "library",
    "not",
    "r7rs",
    "canny",
    "syntax",
    "1",
    "\"s\"",
    "#f",
    "#:optional",
    "#:key",
    "#:rest",
    "#0=",
    "#0#",
    ".",
    "()",
    "#(1)",
    "(_ x ...)",
    "(x ...)",
    "((_ x) (x x))",
    "(syntax-rules () ((_ x ...) (list x ...)))",
    "'",
    "`",
    ",",
    ",@",
];

/// Mostly well-nested text, so that forms get past the reader.
fn program() -> impl Strategy<Value = String> {
    let word = proptest::sample::select(WORDS).prop_map(str::to_owned);
    let form = word.prop_recursive(5, 80, 6, |inner| {
        let head = proptest::sample::select(WORDS).prop_map(str::to_owned);
        (head, proptest::collection::vec(inner, 0..6))
            .prop_map(|(head, rest)| format!("({head} {})", rest.join(" ")))
    });
    proptest::collection::vec(form, 1..6).prop_map(|forms| forms.join("\n"))
}

/// Whether the program was accepted.
fn check(text: &str) -> Result<bool, TestCaseError> {
    let mut libraries = registry(Memory::default());
    let map = libraries.sources().clone();
    let (_, source) = read_source(&map, "program.scm", text.as_bytes(), false);
    let imports = read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms;
    let key = LibraryKey::new("program");
    let expansion = expand_program(&mut libraries, key, &source.forms, &imports);
    for diagnostic in &expansion.diagnostics {
        diagnostic.render(&map, false);
    }
    let Some(unit) = expansion.unit else {
        // A refused program always says why.
        prop_assert!(
            expansion.diagnostics.iter().any(|one| one.is_error()),
            "silent: {text}"
        );
        return Ok(false);
    };
    let printed = unexpand(&unit);
    let again = read_text(&printed, SourceId::NONE, false);
    prop_assert!(
        again.diagnostics.is_empty(),
        "{text}\n{printed}\n{:?}",
        again.diagnostics
    );
    let bytes = postcard::to_stdvec(&unit).expect("a unit serialises");
    let back: Unit = postcard::from_bytes(&bytes).expect("a unit reads back");
    prop_assert_eq!(unexpand(&back), printed);
    Ok(true)
}

/// Expressions that are right: every form gets what it asks for. Nothing generated stands inside a
/// template, where a pattern variable around it would rightly replace names of inner patterns. The
/// variables `x`, `y` and `n` are bound by the program around them.
fn expression() -> impl Strategy<Value = String> {
    let leaf = proptest::sample::select(
        &[
            "x", "y", "n", "1", "-2.5", "\"s\"", "#\\a", "#t", "'(a . b)", "'#(1 x)", "#u8(1 2)",
            "car", "'()",
        ][..],
    )
    .prop_map(str::to_owned);
    let name = || proptest::sample::select(&["x", "y", "n", "if", "list", "t"][..]);
    leaf.prop_recursive(6, 96, 4, move |inner| {
        let one = inner.clone();
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner.clone());
        prop_oneof![
            three
                .clone()
                .prop_map(|(a, b, c)| format!("(if {a} {b} {c})")),
            (name(), two.clone()).prop_map(|(v, (a, b))| format!("(let (({v} {a})) {b})")),
            (name(), two.clone())
                .prop_map(|(v, (a, b))| format!("(let* (({v} {a}) (z {v})) {b} z)")),
            (name(), two.clone())
                .prop_map(|(v, (a, b))| format!("(letrec (({v} (lambda () {a}))) {b})")),
            (name(), one.clone()).prop_map(|(v, a)| format!("(lambda ({v} . rest) {a})")),
            one.clone()
                .prop_map(|a| format!("(lambda* (a #:optional (b a) #:key (c b)) {a})")),
            two.clone()
                .prop_map(|(a, b)| format!("(case-lambda ((p) {a}) ((p . q) {b}))")),
            three
                .clone()
                .prop_map(|(a, b, c)| format!("(cond ({a} {b}) ({c}) ({a} => {b}) (else {c}))")),
            three
                .clone()
                .prop_map(|(a, b, c)| format!("(case {a} ((1 2) {b}) ((z) => {c}) (else {b}))")),
            two.clone()
                .prop_map(|(a, b)| format!("(let loop ((i 0) (j {a})) (loop j {b}))")),
            two.clone()
                .prop_map(|(a, b)| format!("(do ((i 0 {a}) (j 1)) ({b} j) i)")),
            two.clone()
                .prop_map(|(a, b)| format!("(let-values (((p . q) {a}) (r {b})) (list p q r))")),
            two.clone()
                .prop_map(|(a, b)| format!("(let () (define p {a}) (define (q) (p)) {b})")),
            two.clone()
                .prop_map(|(a, b)| format!("(let () (define-values (p . q) {a}) {b} (list p q))")),
            two.clone()
                .prop_map(|(a, b)| format!("(begin (set! x {a}) (and {b} {a}) (or {a} {b}))")),
            two.clone()
                .prop_map(|(a, b)| format!("`(k ,{a} #(v ,@{b}) `(n ,(m ,{a})) . ,{b})")),
            two.clone().prop_map(|(a, b)| format!("(swap {a} {b})")),
            two.clone().prop_map(|(a, b)| format!(
                "(let-syntax ((w (syntax-rules () ((_ e) (let ((x e)) (list x y)))))) (list {a} (w {b})))"
            )),
            two.prop_map(|(a, b)| format!("(list {a} {b})")),
        ]
    })
}

/// Checks that a correct body is accepted, and means the same after serialisation.
fn check_accepted(body: &str) -> Result<(), TestCaseError> {
    let text = format!(
        "(define-syntax swap (syntax-rules () ((_ a b) (let ((t a)) (list b t)))))
         (define (f x y n) {body})"
    );
    prop_assert!(check(&text)?, "refused: {text}");
    Ok(())
}

/// Runs a test on generated text, on a stack of the size that the expander asks for.
fn run_cases<S>(cases: u32, strategy: fn() -> S, check: fn(&str) -> Result<(), TestCaseError>)
where
    S: Strategy<Value = String> + 'static,
{
    let body = move || {
        let config = Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new(config)
            .run(&strategy(), |text| check(&text))
            .expect("no counterexample");
    };
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(body)
        .expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Nearly all of these are refused: this is about never panicking and never refusing silently.
#[test]
fn malformed_programs_are_refused_with_a_reason() {
    run_cases(6_000, program, |text| check(text).map(|_| ()));
}

#[test]
fn well_formed_programs_are_accepted_and_survive_serialisation() {
    run_cases(3_000, expression, check_accepted);
}

/// Once accepted, with an object in it that stood for nothing.
#[test]
fn a_label_around_a_quotation_is_refused() {
    assert_eq!(check("(#0= ' (quote #0#))").ok(), Some(false));
    assert_eq!(check("'#0=(a #0#)").ok(), Some(true));
}
