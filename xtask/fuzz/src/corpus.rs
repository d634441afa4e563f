//! The inputs from which generators start: the project's own Scheme sources, compiled programs with all
//! forms of code, and the components in scripts.

use std::path::Path;

use wast::parser::{ParseBuffer, parse};
use wast::{Wast, WastDirective};

use crate::oracle;

#[derive(Default)]
pub struct Corpus {
    /// Texts of programs and libraries, sorted by path so that cases repeat.
    pub texts: Vec<Vec<u8>>,
    /// Encoded compiled units of small programs.
    pub units: Vec<Vec<u8>>,
    /// Binaries of the components in scripts.
    pub components: Vec<Vec<u8>>,
}

/// Programs that together use every form the compiler knows.
const PROGRAMS: &[&str] = &[
    "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 10)",
    "(define (f . rest) (apply + rest)) (f 1 2 3)",
    "(define k (case-lambda ((a) a) ((a b) (+ a b)) ((a b . c) c))) (k 1) (k 1 2 3)",
    "(let loop ((i 0) (v (make-vector 3 'x))) (if (< i 3) (begin (vector-set! v i i) (loop (+ i 1) v)) v))",
    "(define x 1) (define (bump!) (set! x (+ x 1)) x) (let ((y (bump!))) (lambda () (set! y (+ x y)) y))",
    "(call-with-values (lambda () (values 1 2 3)) (lambda (a b c) (list a b c)))",
    "(define-record-type point (make-point x y) point? (x px) (y py set-py!)) (set-py! (make-point 1 2) 3)",
    "(define* (g a #:optional (b 2) #:key (c 3)) (list a b c)) (g 1 #:c 5)",
    "(string-append \"abc\" (symbol->string 'd) (number->string 1.5)) '(1 #\\a \"s\" #u8(1 2) 1/2 1.0 (x . \
     y))",
    "(letrec ((even? (lambda (n) (or (= n 0) (odd? (- n 1))))) (odd? (lambda (n) (and (> n 0) (even? (- n \
     1)))))) (even? 9))",
];

impl Corpus {
    pub fn read(root: &Path) -> Corpus {
        let mut paths = Vec::new();
        for directory in ["tests", "lib", "examples", "benches", "crates/syntax/tests"] {
            collect(&root.join(directory), &mut paths);
        }
        paths.sort();
        let texts = paths
            .iter()
            .filter_map(|path| std::fs::read(path).ok())
            .collect();
        let units = PROGRAMS
            .iter()
            .filter_map(|text| oracle::compiled(text))
            .collect();
        let components = binaries(&root.join("crates/component/tests/scripts"));
        Corpus {
            texts,
            units,
            components,
        }
    }
}

fn collect(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "scm" || extension == "sld")
        {
            found.push(path);
        }
    }
}

/// The components in scripts, in the order of their paths.
fn binaries(directory: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let Ok(buffer) = ParseBuffer::new(&text) else {
            continue;
        };
        let Ok(script) = parse::<Wast>(&buffer) else {
            continue;
        };
        for directive in script.directives {
            let (WastDirective::Module(mut module) | WastDirective::ModuleDefinition(mut module)) =
                directive
            else {
                continue;
            };
            found.extend(module.encode().ok());
        }
    }
    found
}
