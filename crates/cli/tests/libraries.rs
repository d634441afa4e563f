//! Libraries: where they are searched, how their absence is reported, and the cache of compiled ones.

mod support;

use support::{Canny, canny, program};

fn greeting(text: &str) -> String {
    format!(
        "(define-library (my greeting)\n  (export greet)\n  (import (scheme base) (scheme write))\n  \
         (begin (define (greet) (display \"{text}\"))))\n"
    )
}

const GREET: &str = "(import (scheme base) (my greeting))\n(greet)\n";

#[test]
fn a_library_lies_beside_the_program() {
    program(GREET)
        .file("my/greeting.sld", greeting("beside"))
        .run()
        .exits_with(0)
        .prints("beside");
}

#[test]
fn sls_files_are_libraries_too() {
    program(GREET)
        .file("my/greeting.sls", greeting("sls"))
        .run()
        .exits_with(0)
        .prints("sls");
}

#[test]
fn directories_are_searched_in_order() {
    let run = |words: &[&str], path: &str| {
        canny(words)
            .file("program.scm", GREET)
            .file("first/my/greeting.sld", greeting("first"))
            .file("path/my/greeting.sld", greeting("path"))
            .file("last/my/greeting.sld", greeting("last"))
            .environment("CANNY_LIBRARY_PATH", path)
            .run()
            .exits_with(0)
            .output
    };
    assert_eq!(run(&["-A", "last", "program.scm"], ""), "last");
    assert_eq!(run(&["-A", "last", "program.scm"], "path"), "path");
    assert_eq!(
        run(&["-I", "first", "-A", "last", "program.scm"], "path"),
        "first"
    );
    assert_eq!(run(&["program.scm"], "nowhere:path"), "path");
}

#[test]
fn srfis_have_two_names() {
    program("(import (scheme base) (scheme write) (srfi 1) (prefix (srfi srfi-69) h:))\n(display (iota 3))")
        .run()
        .exits_with(0)
        .prints("(0 1 2)");
}

#[test]
fn a_backtrace_names_inlined_procedures_of_a_library_called_as_a_standard_one() {
    let library = "(define-library (srfi 4711)\n  (import (scheme base))\n  (export first-plus-one)\n  \
                   (begin (define (first-plus-one list) (+ (car list) 1))))\n";
    program(
        "(import (scheme base) (scheme write) (srfi 4711))\n(display (* 2 (first-plus-one 5)))\n",
    )
    .file("srfi/4711.sld", library)
    .run()
    .exits_with(70)
    .complains("car: argument 1 is not a pair: 5")
    .complains("in first-plus-one");
}

#[test]
fn a_missing_library_tells_where_it_was_searched() {
    program("(import (scheme base)\n        (no such thing))\n")
        .run()
        .exits_with(65)
        .complains("program.scm:2:9")
        .complains("(no such thing)")
        .complains("no/such/thing.sld");
}

#[test]
fn a_missing_export_has_a_position() {
    program("(import (scheme base) (only (my greeting) greet wave))\n(greet)")
        .file("my/greeting.sld", greeting("x"))
        .run()
        .exits_with(65)
        .complains("program.scm:1:")
        .complains("wave");
}

#[test]
fn cyclic_imports_are_told_with_positions() {
    let library = |name: &str, other: &str| {
        format!("(define-library (cycle {name})\n  (import (scheme base) (cycle {other})))\n")
    };
    program("(import (cycle a))\n")
        .file("cycle/a.sld", library("a", "b"))
        .file("cycle/b.sld", library("b", "a"))
        .run()
        .exits_with(65)
        .complains("cycle/b.sld:2:")
        .complains("(cycle a)");
}

#[test]
fn an_error_in_a_library_has_its_position() {
    program("(import (bad))\n")
        .file(
            "bad.sld",
            "(define-library (bad)\n  (import (scheme base))\n  (begin (if)))\n",
        )
        .run()
        .exits_with(65)
        .complains("bad.sld:3:10");
}

/// Runs again in the directory of an earlier run.
fn again(directory: &std::path::Path) -> Canny {
    Canny::new(directory.to_path_buf(), &["program.scm"])
}

fn cache_files(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.join("cache")];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                pending.push(entry.path())
            } else {
                found.push(entry.path())
            }
        }
    }
    found
}

#[test]
fn a_compiled_library_is_cached_and_replaced_when_its_source_changes() {
    let first = program(GREET).file("my/greeting.sld", greeting("one"));
    let directory = first.directory.clone();
    first.run().exits_with(0).prints("one");
    assert!(!cache_files(&directory).is_empty(), "nothing was cached");
    again(&directory).run().exits_with(0).prints("one");
    again(&directory)
        .file("my/greeting.sld", greeting("two"))
        .run()
        .exits_with(0)
        .prints("two");
}

#[test]
fn an_imported_library_that_changes_takes_its_importers_along() {
    let outer = "(define-library (outer) (export text) (import (scheme base) (inner))\n\
                 (begin (define-syntax text (syntax-rules () ((_) (inner-text))))))";
    let inner = |text: &str| {
        format!(
            "(define-library (inner) (export inner-text) (import (scheme base))\n\
             (begin (define-syntax inner-text (syntax-rules () ((_) \"{text}\")))))"
        )
    };
    let first = program("(import (scheme base) (scheme write) (outer))\n(display (text))")
        .file("outer.sld", outer)
        .file("inner.sld", inner("one"));
    let directory = first.directory.clone();
    first.run().exits_with(0).prints("one");
    again(&directory)
        .file("inner.sld", inner("two"))
        .run()
        .exits_with(0)
        .prints("two");
}

#[test]
fn a_damaged_cache_is_as_good_as_none() {
    let first = program(GREET).file("my/greeting.sld", greeting("good"));
    let directory = first.directory.clone();
    first.run().exits_with(0).prints("good");
    let files = cache_files(&directory);
    assert!(!files.is_empty(), "nothing was cached");
    let originals: Vec<Vec<u8>> = files
        .iter()
        .map(|path| std::fs::read(path).expect("the cache can be read"))
        .collect();
    /// A way to damage the bytes of a file.
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [Damage; 5] = [
        |_| Vec::new(),
        |bytes| bytes[..bytes.len() / 2].to_vec(),
        |bytes| bytes.iter().map(|byte| byte ^ 0x55).collect(),
        |bytes| {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes
        },
        |bytes| [bytes, &[0; 100][..]].concat(),
    ];
    for damage in damages {
        for (path, original) in files.iter().zip(&originals) {
            std::fs::write(path, damage(original)).expect("the cache can be written");
        }
        let outcome = again(&directory).run().exits_with(0).prints("good");
        assert_eq!(outcome.errors, "");
    }
}

#[test]
fn a_cache_that_cannot_be_written_does_no_harm() {
    program(GREET)
        .file("my/greeting.sld", greeting("good"))
        .file("occupied", "a file where a directory should be")
        .environment("CANNY_CACHE_DIR", "occupied/cache")
        .run()
        .exits_with(0)
        .prints("good");
}

/// Macros that are procedures come back from the cache with the definitions that they need.
#[test]
fn procedural_macros_are_cached() {
    let library = "(define-library (tools)
      (export twice tell! told)
      (import (scheme base) (canny syntax-case))
      (begin
        (define told 0)
        (define (helper . all) (cons 'helped all))
        (begin-for-syntax (define (double list) (append list list)))
        (define-syntax twice
          (lambda (form)
            (syntax-case form ()
              ((_ . rest) (with-syntax ((all (double #'rest))) #'(helper . all))))))
        (define-syntax tell!
          (er-macro-transformer
           (lambda (form rename compare)
             `(,(rename 'set!) ,(rename 'told) (,(rename '+) ,(rename 'told) 1)))))))";
    let program = "(import (scheme base) (scheme write) (tools))
      (tell!) (tell!) (write (list (twice 1 2) told))";
    let first = program_with(program, "tools.sld", library);
    let directory = first.directory.clone();
    first.run().exits_with(0).prints("((helped 1 2 1 2) 2)");
    let file = &cache_files(&directory)[0];
    let written = std::fs::metadata(file).and_then(|data| data.modified());
    again(&directory)
        .run()
        .exits_with(0)
        .prints("((helped 1 2 1 2) 2)");
    let after = std::fs::metadata(file).and_then(|data| data.modified());
    assert_eq!(written.ok(), after.ok(), "the cache was written again");
}

fn program_with(text: &str, file: &str, content: &str) -> Canny {
    program(text).file(file, content)
}
