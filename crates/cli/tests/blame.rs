//! The procedures that error messages blame: names that users know, even for errors inside of the
//! library.

mod support;

use support::{canny, root};

/// The libraries that people import.
fn libraries() -> Vec<String> {
    let documents = canny_reference::documents().iter();
    let names = documents.map(|document| document.name.clone());
    names
        .filter(|name| !canny_reference::is_internal(name))
        .collect()
}

#[test]
fn no_internal_name_reaches_users() {
    let program = root().join("crates/cli/tests/blame/wrong_calls.scm");
    let libraries = libraries();
    assert!(libraries.len() > 200, "{}", libraries.len());
    // Some calls allocate until their time is over, on a busy machine more than usually.
    let mut words = vec![
        "--heap-limit",
        "4G",
        program.to_str().expect("a path in UTF-8"),
    ];
    words.extend(libraries.iter().map(String::as_str));
    let outcome = canny(&words).run().exits_with(0);
    assert_eq!(outcome.output, "done\n", "{}", outcome.output);
}

#[test]
fn the_caller_is_blamed_where_a_row_has_no_public_name() {
    for (text, message) in [
        ("(load \"none.scm\")", "load: cannot open file"),
        ("(load 5)", "load: argument 1 is not a string: 5"),
        ("(eval 1 2)", "eval: argument 2 is not an environment: 2"),
        (
            "(define (f name) (load name)) (f 'x)",
            "load: argument 1 is not a string: x",
        ),
        (
            "(for-each load '(5))",
            "load: argument 1 is not a string: 5",
        ),
    ] {
        canny(&["program.scm"])
            .file(
                "program.scm",
                format!("(import (scheme base) (scheme load) (scheme eval))\n{text}"),
            )
            .run()
            .exits_with(70)
            .complains(message);
    }
}

#[test]
fn procedures_of_the_program_are_blamed_by_their_names() {
    let text = "(import (scheme base))
(define-record-type point (make-point x) point? (x compile))
(define (tokenize a b) a)
(map compile '(5))";
    canny(&["program.scm"])
        .file("program.scm", text)
        .run()
        .exits_with(70)
        .complains("compile: argument 1 is not a record of type point: 5");
    let text = "(import (scheme base)) (define (tokenize a b) a) (map tokenize '(5))";
    canny(&["program.scm"])
        .file("program.scm", text)
        .run()
        .exits_with(70)
        .complains("tokenize: called with 1 argument");
}

#[test]
fn macros_that_nobody_knows_are_not_blamed() {
    let library = "(define-library (mine)
  (export outer)
  (import (scheme base))
  (begin
    (define-syntax outer (syntax-rules () ((_ x ...) (inner x ...))))
    (define-syntax inner (syntax-rules () ((_ x) x)))))";
    for (text, message) in [
        (
            "(import (srfi 26)) (cut)",
            "no rule of the macro `cut` matches",
        ),
        (
            "(import (scheme base) (mine)) (outer 1 2)",
            "no rule of the macro `outer` matches",
        ),
        // Those of the program are.
        (
            "(import (scheme base))
             (define-syntax outer (syntax-rules () ((_ x ...) (inner x ...))))
             (define-syntax inner (syntax-rules () ((_ x) x)))
             (outer 1 2)",
            "no rule of the macro `inner` matches",
        ),
    ] {
        let outcome = canny(&["program.scm"])
            .file("program.scm", text)
            .file("mine.sld", library)
            .run()
            .exits_with(65)
            .complains(message);
        assert!(!outcome.errors.contains("clauses"), "{outcome:#?}");
    }
}
