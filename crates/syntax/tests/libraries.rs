//! Libraries, imports, environments and limits.

#[path = "support/memory.rs"]
mod memory;
mod support;

use std::sync::Arc;

use canny_syntax::core::{LibraryKey, Unit, UnitKind};
use canny_syntax::environment::{Environment, EnvironmentKind};
use canny_syntax::expander::{NESTING_LIMIT, expand_toplevel_form};
use canny_syntax::interface::Interface;
use canny_syntax::library::Libraries;
use canny_syntax::library::MacroHost;
use canny_syntax::name::Name;
use canny_syntax::procedural::{
    Hygiene, MacroFailure, MacroIdentifier, MadeTransformer, ProcedureTransformer,
};
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use canny_syntax::syntax::Syntax;
use memory::{Memory, registry};
use support::{Machine, Run, run, show};

/// Files are given as `("path", "text")`.
fn run_files(program: &str, files: &[(&str, &str)]) -> Run {
    run(program, &mut registry(memory(files)), &[])
}

fn memory(files: &[(&str, &str)]) -> Memory {
    let mut memory = Memory::default();
    for (path, text) in files {
        memory.files.insert((*path).into(), (*text).to_owned());
    }
    memory
}

/// Runs a program twice: with libraries from source, and from serialised interfaces.
fn check(program: &str, files: &[(&str, &str)], expected: &str) {
    let first = run_files(program, files);
    assert_eq!(first.last(), expected, "from source: {program}");
    let mut memory = memory(files);
    for interface in &first.interfaces {
        let bytes =
            postcard::to_stdvec::<Interface>(Arc::as_ref(interface)).expect("it serialises");
        memory.interfaces.insert(interface.name.key(), bytes);
    }
    let second = run(program, &mut registry(memory), &first.units);
    assert!(second.units.is_empty(), "nothing is expanded again");
    assert_eq!(second.last(), expected, "from interfaces: {program}");
}

/// The error of a program, rendered.
fn check_error(program: &str, files: &[(&str, &str)], expected: &str) {
    let result = run_files(program, files);
    assert_eq!(result.text, expected, "{program}");
}

const BASE: &str = "(import (canny syntax) (canny primitives))";

fn library(name: &str, exports: &str, body: &str) -> String {
    format!("(define-library {name} (export {exports}) {BASE} (begin {body}))")
}

#[test]
fn macros_reach_private_parts_of_their_library() {
    let counter = library(
        "(counter)",
        "next! (rename reset reset!) helper-user",
        "(define count 0)
         (define-syntax bump (syntax-rules () ((_) (set! count (+ count 1)))))
         (define-syntax next! (syntax-rules () ((_) (begin (bump) count))))
         (define (reset) (set! count 0))
         (define (secret x) (list 'secret x))
         (define-syntax private (syntax-rules () ((_ x) (secret x))))
         (define-syntax helper-user (syntax-rules () ((_ x) (private x))))",
    );
    let files = [("counter.sld", counter.as_str())];
    let program = format!(
        "{BASE} (import (counter)) (define count 'mine) (next!) (list (next!) (helper-user count))"
    );
    check(&program, &files, "(2 (secret mine))");
    let run = run_files(&program, &files);
    let counted = run.units[0]
        .globals
        .iter()
        .find(|global| global.name.as_str() == "count")
        .expect("defined");
    assert!(counted.assigned && counted.exported);
    let reset = run.units[0]
        .globals
        .iter()
        .find(|global| global.name.as_str() == "reset")
        .expect("defined");
    assert!(!reset.assigned && reset.exported);
}

#[test]
fn hidden_definitions_of_libraries() {
    let hidden = library(
        "(hidden)",
        "def-counter tick",
        "(define-syntax def-counter
           (syntax-rules ()
             ((_ next) (begin (define count 0)
                              (define-syntax next (syntax-rules () ((_) (begin (set! count (+ count 1)) \
                              count))))))))
         (def-counter tick)
         (def-counter tock)",
    );
    let files = [("hidden.sld", hidden.as_str())];
    check(
        &format!(
            "{BASE} (import (hidden)) (def-counter mine) (tick) (mine) (mine) (list (tick) (mine))"
        ),
        &files,
        "(2 3)",
    );
}

#[test]
fn macros_may_mention_keywords_of_a_let_syntax_around_them() {
    let lib = library(
        "(spliced)",
        "m n",
        "(define (f x) (list 'f x))
         (let-syntax ((g (syntax-rules () ((_ x) (f x)))) (my-if if))
           (define-syntax m (syntax-rules () ((_ x) (my-if #t (g x) 2))))
           (define (n x) (m x)))",
    );
    let program =
        format!("{BASE} (import (spliced)) (let ((g 1) (if list) (my-if 2)) (list (m g) (n 3)))");
    check(&program, &[("spliced.sld", &lib)], "((f 1) (f 3))");
}

#[test]
fn macros_may_mention_other_names_of_imported_macros() {
    let first = library(
        "(first)",
        "plain",
        "(define (f x) (list 'f x)) (define-syntax plain (syntax-rules () ((_ x) (f x))))",
    );
    let second = format!(
        "(define-library (second) (export m) {BASE} (import (first))
           (begin (let-syntax ((alias plain))
                    (define-syntax m (syntax-rules () ((_ x) (alias x)))))))"
    );
    let program = format!("{BASE} (import (second)) (let ((alias 1) (plain 2) (f 3)) (m plain))");
    check(
        &program,
        &[("first.sld", &first), ("second.sld", &second)],
        "(f 2)",
    );
}

#[test]
fn import_sets() {
    let lib = library(
        "(a b)",
        "one two (rename three drei)",
        "(define one 1) (define two 2) (define three 3)",
    );
    let files = [("a/b.sld", lib.as_str())];
    let list = "(import (only (canny primitives) list) (only (canny syntax) define))";
    check(
        &format!("{list} (import (a b)) (list one two drei)"),
        &files,
        "(1 2 3)",
    );
    check(
        &format!("{list} (import (only (a b) two)) (define one 10) (list one two)"),
        &files,
        "(10 2)",
    );
    check(
        &format!("{BASE} (import (except (a b) two)) (define two 20) (list one two)"),
        &files,
        "(1 20)",
    );
    check(
        &format!("{list} (import (prefix (a b) x:)) (list x:one x:drei)"),
        &files,
        "(1 3)",
    );
    check(
        &format!("{list} (import (rename (a b) (one two) (two one))) (list one two)"),
        &files,
        "(2 1)",
    );
    check(
        &format!(
            "{list} (import (prefix (rename (only (a b) one two) (one eins)) my-)) (list my-eins my-two)"
        ),
        &files,
        "(1 2)",
    );
}

#[test]
fn import_errors() {
    let lib = library("(a b)", "one two", "(define one 1) (define two 2)");
    let other = library("(other)", "one", "(define one 'other)");
    let files = [("a/b.sld", lib.as_str()), ("other.sld", other.as_str())];
    check_error(
        "(import (only (a b) tow))",
        &files,
        "program.scm:1:21: error[missing-export]: (a b) does not export `tow`\n 1 | (import (only (a b) \
         tow))\n   |                     ^^^\n  note: did you mean `two`?\n",
    );
    check_error(
        "(import (rename (a b) (onne one)))",
        &files,
        "program.scm:1:24: error[missing-export]: (a b) does not export `onne`
 1 | (import (rename (a b) (onne one)))
   |                        ^^^^
  note: did you mean `one`?
",
    );
    check_error(
        "(import (a b) (other))",
        &files,
        "program.scm:1:15: error[conflicting-import]: `one` is imported from (a b) and, as something else, \
         from (other)
 1 | (import (a b) (other))
   |               ^^^^^^^
program.scm:1:9: note: the import from (a b)
 1 | (import (a b) (other))
   |         ^^^^^
",
    );
    check_error(
        "(import (missing library 2))",
        &files,
        "program.scm:1:9: error[library-not-found]: the library (missing library 2) was not found
 1 | (import (missing library 2))
   |         ^^^^^^^^^^^^^^^^^^^
  note: searched missing/library/2.sld
",
    );
    check_error(
        "(import (canny syntax) (a b))\n(set! one 2)",
        &files,
        "program.scm:2:7: error[immutable-variable]: `one` is imported from (a b) and cannot be assigned
 2 | (set! one 2)
   |       ^^^
  note: a definition of the name here would make it a variable of its own
",
    );
}

#[test]
fn cyclic_imports_are_reported() {
    let result = run_files(
        "(import (a))",
        &[
            ("a.sld", "(define-library (a) (import (b)))"),
            ("b.sld", "(define-library (b) (import (c)))"),
            ("c.sld", "(define-library (c) (import (a)))"),
        ],
    );
    assert!(
        result.text.contains(
            "c.sld:1:29: error[cyclic-import]: libraries import each other: (a) → (b) → (c) → (a)"
        ),
        "{}",
        result.text
    );
    assert!(
        result
            .text
            .contains("a.sld:1:29: note: (b) is imported here"),
        "{}",
        result.text
    );
    assert!(
        result
            .text
            .contains("program.scm:1:9: note: (a) is imported here"),
        "{}",
        result.text
    );
    assert_eq!(result.diagnostics.len(), 1);
}

#[test]
fn a_file_may_hold_several_libraries_and_a_program() {
    let program = format!(
        "(define-library (x) (export v) {BASE} (import (y)) (begin (define v (list w w))))
         (define-library (y) (export w) {BASE} (begin (define w 1)))
         {BASE} (import (x)) v"
    );
    let result = run_files(&program, &[]);
    assert_eq!(result.last(), "(1 1)");
    let order: Vec<&str> = result.units.iter().map(|unit| unit.name.as_str()).collect();
    assert_eq!(order, ["(y)", "(x)"]);
}

#[test]
fn declarations() {
    let lib = "(define-library (decl)
        (export a b c)
        (import (canny syntax) (canny primitives))
        (include-library-declarations \"more.scm\")
        (cond-expand ((and r7rs (not unknown) (library (canny syntax))) (begin (define a 1)))
                     (else (begin (define a 'wrong))))
        (include \"body.scm\")
        (include-ci \"folded.scm\"))";
    let files = [
        ("decl.sld", lib),
        ("more.scm", "(export d)"),
        ("body.scm", "(define b 2) (define d 4)"),
        ("folded.scm", "(DEFINE C 'FOLDED)"),
    ];
    check(
        &format!("{BASE} (import (decl)) (list a b c d)"),
        &files,
        "(1 2 folded 4)",
    );
    let result = run_files(
        "(import (bad))",
        &[(
            "bad.sld",
            "(define-library (bad) (export x y) (define z 1) (frob))",
        )],
    );
    let codes: Vec<&str> = result.diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(
        codes,
        ["bad-declaration", "bad-declaration"],
        "{}",
        result.text
    );
    let result = run_files(
        "(import (bad))",
        &[("bad.sld", &library("(bad)", "xs", "(define x 1)"))],
    );
    assert!(
        result
            .text
            .contains("exports `xs`, which it neither defines nor imports"),
        "{}",
        result.text
    );
}

#[test]
fn re_exports_keep_identity() {
    let first = library(
        "(first)",
        "f m",
        "(define (f x) (list 'f x)) (define (g x) (list 'g x)) (define-syntax m (syntax-rules () ((_ x) (g \
         x))))",
    );
    let second = "(define-library (second) (export f (rename m n)) (import (first)))";
    let files = [("first.sld", first.as_str()), ("second.sld", second)];
    // The same binding through two libraries is no conflict.
    check(
        &format!("{BASE} (import (first) (second)) (list (f 1) (m 2) (n 3))"),
        &files,
        "((f 1) (g 2) (g 3))",
    );
    check(&format!("{BASE} (import (second)) (n 3)"), &files, "(g 3)");
}

#[test]
fn srfi_names_are_one_library() {
    let lib = library("(srfi 1)", "first-one", "(define first-one 'yes)");
    let files = [("srfi/1.sld", lib.as_str())];
    check("(import (srfi srfi-1)) first-one", &files, "yes");
    check(
        "(import (srfi :1 lists)) (import (srfi 1)) first-one",
        &files,
        "yes",
    );
}

#[test]
fn records_with_parents_across_libraries() {
    let lib = library(
        "(shapes)",
        "shape make-shape shape-name",
        "(define-record-type shape (make-shape name) shape? (name shape-name set-name!))",
    );
    let files = [("shapes.sld", lib.as_str())];
    check(
        &format!(
            "{BASE} (import (shapes))
             (define-record-type (circle shape) (make-circle radius name) circle? (radius circle-radius))
             (define c (make-circle 5 'round))
             (list (shape-name c) (circle-radius c))"
        ),
        &files,
        "(round 5)",
    );
}

struct Session {
    libraries: Libraries,
    environment: Environment,
    machine: Machine,
}

impl Session {
    fn new(kind: EnvironmentKind) -> Session {
        let libraries = registry(Memory::default());
        let environment = Environment::new(LibraryKey::new("environment:1"), kind);
        let mut session = Session {
            libraries,
            environment,
            machine: Machine::default(),
        };
        let mut diagnostics = Vec::new();
        for set in read_text("(canny syntax) (canny primitives)", SourceId::NONE, false).forms {
            let Session {
                libraries,
                environment,
                ..
            } = &mut session;
            libraries
                .import_into(environment, &set, &mut diagnostics)
                .expect("it exists");
        }
        assert!(diagnostics.is_empty());
        session
    }

    /// The value of a form, or its error.
    fn eval(&mut self, text: &str) -> String {
        let form = read_text(text, SourceId::NONE, false).forms.remove(0);
        let expansion = expand_toplevel_form(&mut self.libraries, &mut self.environment, &form);
        let Some(unit) = expansion.unit else {
            return expansion.diagnostics[0].message.clone();
        };
        assert_eq!(unit.kind, UnitKind::Toplevel);
        match self.machine.run(&unit) {
            Ok(values) => values.last().map(show).unwrap_or_default(),
            Err(message) => message,
        }
    }
}

#[test]
fn interaction_environments_grow() {
    let mut session = Session::new(EnvironmentKind::Interaction);
    assert_eq!(session.eval("(define x 1)"), "");
    assert_eq!(session.eval("(+ x 1)"), "2");
    assert_eq!(session.eval("(define (f) (later 5))"), "");
    assert_eq!(session.eval("(define (later n) (* n x))"), "");
    assert_eq!(session.eval("(f)"), "5");
    assert_eq!(
        session.eval("(define-syntax twice (syntax-rules () ((_ e) (+ e e))))"),
        ""
    );
    assert_eq!(session.eval("(twice x)"), "2");
    assert_eq!(session.eval("(define x 10)"), "");
    assert_eq!(session.eval("(f)"), "50");
    // An imported name can be redefined; what was compiled before keeps the old meaning.
    assert_eq!(session.eval("(define (g) (car '(1 2)))"), "");
    assert_eq!(session.eval("(define (car x) 'mine)"), "");
    assert_eq!(session.eval("(list (g) (car '(1)))"), "(1 mine)");
    // A macro sees definitions that come later.
    assert_eq!(
        session.eval("(define-syntax call-h (syntax-rules () ((_) (h))))"),
        ""
    );
    assert_eq!(session.eval("(define (h) 'h)"), "");
    assert_eq!(session.eval("(let ((h 1)) (call-h))"), "h");
    // Hidden definitions survive their form.
    let def =
        "(define-syntax def (syntax-rules () ((_ get v) (begin (define tmp v) (define (get) tmp)
                 (define-syntax also (syntax-rules () ((_) tmp)))))))";
    assert_eq!(session.eval(def), "");
    assert_eq!(session.eval("(def a 1)"), "");
    assert_eq!(session.eval("(def b 2)"), "");
    assert_eq!(session.eval("(list (a) (b))"), "(1 2)");
    assert!(session.eval("tmp").contains("unbound"));
}

#[test]
fn errors_leave_an_environment_as_it_was() {
    let mut session = Session::new(EnvironmentKind::Interaction);
    assert!(
        session
            .eval("(begin (define car 1) (if))")
            .starts_with("if:")
    );
    assert_eq!(session.eval("(car '(1))"), "1");
    assert!(
        session
            .eval("(begin (define-syntax list (syntax-rules () ((_) 1))) (let))")
            .starts_with("let:")
    );
    assert_eq!(session.eval("(list 1 2)"), "(1 2)");
    assert_eq!(
        session.eval("(set! car 2)"),
        "`car` is imported from (canny primitives) and cannot be assigned"
    );
}

#[test]
fn immutable_environments_refuse_definitions() {
    let mut session = Session::new(EnvironmentKind::Interaction);
    session.environment.freeze();
    assert_eq!(session.eval("(list 1 2)"), "(1 2)");
    assert!(session.eval("(define x 1)").contains("immutable"));
    session.environment.retain_syntax();
    assert_eq!(session.eval("(if #t 1 2)"), "1");
    assert!(session.eval("(list 1)").contains("unbound"));
}

#[test]
fn libraries_can_be_defined_and_replaced_at_the_prompt() {
    let mut session = Session::new(EnvironmentKind::Interaction);
    let define = |value: &str| {
        format!(
            "(define-library (p) (export p) {BASE} (begin (define-syntax p (syntax-rules () ((_) {value})))))"
        )
    };
    assert_eq!(session.eval(&define("1")), "");
    assert_eq!(session.eval("(import (p))"), "");
    assert_eq!(session.eval("(p)"), "1");
    assert_eq!(session.eval(&define("2")), "");
    assert_eq!(session.eval("(import (p))"), "");
    assert_eq!(session.eval("(p)"), "2");
}

/// An explicit-renaming `swap!`, written in Rust.
struct Swap;

impl ProcedureTransformer for Swap {
    fn transform(&self, form: &Syntax, hygiene: &mut dyn Hygiene) -> Result<Syntax, MacroFailure> {
        let parts = form
            .elements()
            .filter(|parts| parts.len() == 3)
            .ok_or_else(|| MacroFailure {
                message: "expected two variables".to_owned(),
                ..MacroFailure::default()
            })?;
        let span = form.span;
        let mut renamed = |text: &str| {
            let renamed = MacroIdentifier::Renamed(Name::new(text));
            Syntax::identifier(span, hygiene.identifier(&renamed))
        };
        let (a, b) = (parts[1].clone(), parts[2].clone());
        let list = |elements| Syntax::list(span, elements);
        let binding = list(vec![list(vec![renamed("tmp"), a.clone()])]);
        let first = list(vec![renamed("set!"), a, b.clone()]);
        let second = list(vec![renamed("set!"), b, renamed("tmp")]);
        Ok(list(vec![renamed("let"), binding, first, second]))
    }

    fn takes_identifier(&self) -> bool {
        false
    }

    fn takes_assignment(&self) -> bool {
        false
    }
}

/// Makes a [`Swap`] of every transformer expression.
struct SwapHost;

impl MacroHost for SwapHost {
    fn make(&mut self, _: &mut Libraries, unit: Unit) -> Result<MadeTransformer, MacroFailure> {
        assert_eq!(unit.body.len(), 1);
        let transformer = Arc::new(Swap);
        let code = Arc::from(*b"swap");
        Ok(MadeTransformer { transformer, code })
    }

    fn load(
        &mut self,
        _: &mut Libraries,
        code: &[u8],
    ) -> Result<Arc<dyn ProcedureTransformer>, MacroFailure> {
        assert_eq!(code, b"swap");
        Ok(Arc::new(Swap))
    }

    fn define(&mut self, _: &mut Libraries, _: Unit) -> Result<Arc<[u8]>, MacroFailure> {
        unreachable!("nothing is defined for syntax here")
    }

    fn define_again(
        &mut self,
        _: &mut Libraries,
        code: &[Vec<u8>],
        _: &LibraryKey,
    ) -> Result<(), MacroFailure> {
        assert!(code.is_empty());
        Ok(())
    }
}

#[test]
fn procedural_transformers_are_hygienic() {
    let mut session = Session::new(EnvironmentKind::Interaction);
    session.libraries.set_macro_host(Box::new(SwapHost));
    assert_eq!(session.eval("(define-syntax swap! (car 1))"), "");
    assert_eq!(
        session.eval(
            "(let ((tmp 1) (let 2) (set! 3)) (swap! tmp let) (swap! let set!) (list tmp let set!))"
        ),
        "(2 3 1)"
    );
    assert_eq!(session.eval("(swap! 1)"), "swap!: expected two variables");
}

#[test]
fn deep_code_is_refused_and_deep_data_is_not() {
    with_large_stack(|| {
        let nest = |open: &str, close: &str, depth: usize| {
            format!("{}1{}", open.repeat(depth), close.repeat(depth))
        };
        let too_deep = |program: String| {
            let result = run_files(&program, &[]);
            let codes: Vec<&str> = result.diagnostics.iter().map(|one| one.code).collect();
            assert_eq!(codes, ["nested-too-deeply"], "{:.200}", result.text);
        };
        too_deep(nest("(+ 1 ", ")", 20_000));
        too_deep(nest("(lambda () ", ")", 200_000));
        too_deep(nest("(let ((x 1)) ", ")", 20_000));
        too_deep(nest("(cond (#f 1) (else ", "))", 20_000));
        too_deep(nest("(begin ", ")", 200_000).replacen("(begin", "(if 1", 1));
        too_deep(nest("`(,", ")", 30_000));
        too_deep(format!("(or {})", "x ".repeat(20_000)));
        // Code of the allowed depth must fit on the stack.
        let allowed = NESTING_LIMIT - 10;
        for (open, close, weight) in [
            ("(if 1 ", ")", 1),
            ("(lambda () ", ")", 3),
            ("(let ((x ", ")) x)", 1),
            ("(let* ((x 1)) ", ")", 4),
        ] {
            let result = run_files(
                &format!("'ok (lambda () {})", nest(open, close, allowed / weight)),
                &[],
            );
            assert!(
                result.diagnostics.is_empty(),
                "{open}: {:.300}",
                result.text
            );
        }
        let data = format!("(pair? '{})", nest("(", ")", 300_000));
        let (_, source) = canny_syntax::reader::read_source(
            &canny_syntax::span::SourceMap::new(),
            "t",
            data.as_bytes(),
            false,
        );
        assert!(source.diagnostics.is_empty());
        let mut session = Session::new(EnvironmentKind::Interaction);
        let expansion = expand_toplevel_form(
            &mut session.libraries,
            &mut session.environment,
            &source.forms[0],
        );
        assert!(expansion.unit.is_some());
        let quasi = data.replacen('\'', "`", 1);
        let (_, source) = canny_syntax::reader::read_source(
            &canny_syntax::span::SourceMap::new(),
            "t",
            quasi.as_bytes(),
            false,
        );
        assert!(
            expand_toplevel_form(
                &mut session.libraries,
                &mut session.environment,
                &source.forms[0]
            )
            .unit
            .is_some()
        );
    });
}

#[test]
fn runaway_macros_are_stopped() {
    with_large_stack(|| {
        let stopped = |program: &str, code: &str| {
            let result = run_files(program, &[]);
            let codes: Vec<&str> = result.diagnostics.iter().map(|one| one.code).collect();
            assert_eq!(codes, [code], "{program}: {:.300}", result.text);
            assert!(!result.diagnostics[0].expansion.is_empty());
        };
        stopped(
            "(define-syntax m (syntax-rules () ((_) (m)))) (m)",
            "endless-expansion",
        );
        stopped(
            "(define-syntax m (syntax-rules () ((_ x ...) (m x ... x ...)))) (m 1)",
            "endless-expansion",
        );
        stopped(
            "(define-syntax m (syntax-rules () ((_) (+ 1 (m))))) (m)",
            "nested-too-deeply",
        );
        stopped(
            "(define-syntax m (syntax-rules () ((_) (begin (m) (m))))) (m)",
            "endless-expansion",
        );
        stopped(
            "(define-syntax m (syntax-rules () ((_) (let () (m))))) (m)",
            "nested-too-deeply",
        );
    });
}

#[test]
fn a_file_that_includes_itself_is_stopped() {
    let result = run_files(
        "(import (canny syntax)) (include \"self.scm\")",
        &[("self.scm", "(include \"self.scm\")")],
    );
    assert_eq!(result.diagnostics[0].code, "endless-include");
    let result = run_files("(import (canny syntax)) (include \"none.scm\")", &[]);
    assert!(
        result
            .text
            .contains("the file `none.scm` cannot be included"),
        "{}",
        result.text
    );
}

#[test]
fn similar_names_are_suggested() {
    let result = run_files(&format!("{BASE} (vector-lenght '#(1))"), &[]);
    assert!(
        result.text.contains("did you mean `vector-length`?"),
        "{}",
        result.text
    );
}

/// Runs something on a stack of the size that the expander asks for.
fn with_large_stack(body: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(body)
        .expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
