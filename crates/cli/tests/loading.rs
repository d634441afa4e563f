//! Sources that a program loads: their syntax errors are reported as those of a program are.

mod support;

use support::{Outcome, canny};

const BROKEN: &str = "(define (f x)\n  (display x)\n  (car '()\n";

fn loads(text: &str, name: &str, loaded: &str, words: &[&str]) -> Outcome {
    let mut all = words.to_vec();
    all.push("main.scm");
    canny(&all)
        .file("main.scm", text)
        .file(name, loaded)
        .run()
        .exits_with(70)
}

#[test]
fn errors_of_a_loaded_file_are_shown_where_they_are() {
    let text = "(import (scheme base) (scheme load))\n(define (start)\n  (load \"bad.scm\")\n  1)\n(start)\n";
    let loaded = loads(text, "bad.scm", BROKEN, &[]);
    let run = canny(&["bad.scm"]).file("bad.scm", BROKEN).run();
    // All that is said of the program itself, and then who loaded it.
    let rest = loaded.errors.strip_prefix(&run.exits_with(65).errors);
    let rest = rest.unwrap_or_else(|| panic!("{}", loaded.errors));
    assert_eq!(
        rest,
        "main.scm:3:3: note: load was called here\n 3 |   (load \"bad.scm\")\n   |   ^^^^^^^^^^^^^^^^\n  \
         in start at main.scm:3:3\n  in the program at main.scm:5:1\n"
    );
    let several = "(define x\n  (let ((y 1) 2) y))\n";
    loads(text, "bad.scm", several, &[])
        .complains("bad.scm:2:15: error[bad-syntax]: let: binding 2")
        .complains(" 2 |   (let ((y 1) 2) y))");
}

#[test]
fn errors_of_a_library_that_an_environment_wants_are_too() {
    let text = "(import (scheme base) (scheme eval))\n(environment '(broken))\n";
    let library = "(define-library (broken)\n  (export f)\n  (import (scheme base))\n  \
                   (begin (define f (if))))\n";
    loads(text, "broken.sld", library, &[])
        .complains("broken.sld:4:20: error[bad-syntax]: if: expected")
        .complains("main.scm:2:1: note: environment was called here");
}

#[test]
fn programs_that_catch_them_see_the_whole_text() {
    let text = "(import (scheme base) (scheme load) (scheme write))
(guard (e (#t (display (error-object-message e)) (newline) (write (error-object-irritants e))))
  (load \"bad.scm\"))";
    canny(&["main.scm"])
        .file("main.scm", text)
        .file("bad.scm", BROKEN)
        .run()
        .exits_with(0)
        .prints("bad.scm:3:3: this is not closed: a `)` is missing [unclosed]\n()");
}

#[test]
fn tools_get_both() {
    let text = "(import (scheme base) (scheme load))\n(load \"bad.scm\")\n";
    let outcome = loads(text, "bad.scm", BROKEN, &["--message-format", "json"]);
    let lines: Vec<&str> = outcome.errors.lines().collect();
    assert_eq!(lines.len(), 2, "{outcome:#?}");
    assert!(lines[0].contains("\"code\":\"unclosed\""), "{outcome:#?}");
    assert!(
        lines[0].contains("\"file\":\"bad.scm\",\"line\":3"),
        "{outcome:#?}"
    );
    assert!(
        lines[1].contains("\"code\":\"evaluated-syntax\""),
        "{outcome:#?}"
    );
}
