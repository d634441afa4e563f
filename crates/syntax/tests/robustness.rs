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

fn check(text: &str) -> Result<(), TestCaseError> {
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
        return Ok(());
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
    Ok(())
}

#[test]
fn generated_programs() {
    let body = || {
        let config = Config {
            cases: 6_000,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new(config)
            .run(&program(), |text| check(&text))
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
