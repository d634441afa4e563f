use super::*;
use canny_syntax::library::{LibraryLoader, Loaded};
use canny_syntax::library_name::LibraryName;

/// Libraries and files that are texts.
struct Texts(Vec<(&'static str, &'static str)>);

impl LibraryLoader for Texts {
    fn load(&mut self, name: &LibraryName) -> Loaded {
        let found = self.0.iter().find(|(key, _)| *key == name.to_string());
        match found {
            Some((key, text)) => Loaded::Source {
                path: key.into(),
                bytes: text.as_bytes().to_vec(),
            },
            None => Loaded::NotFound {
                searched: Vec::new(),
            },
        }
    }

    fn read_file(&mut self, path: &std::path::Path) -> std::io::Result<Vec<u8>> {
        let found = self.0.iter().find(|(key, _)| path.to_str() == Some(key));
        found
            .map(|(_, text)| text.as_bytes().to_vec())
            .ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

fn document(source: &str) -> Document {
    with_texts(source, Vec::new())
}

fn with_texts(source: &str, texts: Vec<(&'static str, &'static str)>) -> Document {
    let mut extractor = Extractor::new(Box::new(Texts(texts)), &["r7rs"]);
    let documents = extractor.source("test.scm", source);
    (*documents[0]).clone()
}

/// Kind, signatures and text of each entry, one line each.
fn listing(document: &Document) -> String {
    let mut lines = Vec::new();
    for entry in &document.entries {
        let signatures: Vec<&str> = entry.signatures.iter().map(|it| it.text.as_str()).collect();
        let origin = entry
            .origin
            .as_ref()
            .map(|origin| format!(" from {} {}", origin.library, origin.name))
            .unwrap_or_default();
        lines.push(format!(
            "{}: {} {}{origin} | {}",
            entry.name,
            entry.kind.label(),
            signatures.join(" "),
            entry.text.replace('\n', "/"),
        ));
    }
    lines.join("\n")
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(listing(&document(source)), expected);
}

#[test]
fn doc_strings_come_before_comments() {
    check(
        ";; The comment.\n(define (f x)\n  \"The string.\"\n  x)\n\n;; Only a comment.\n(define (g) \"no \
         doc\")\n",
        "f: procedure (f x) | The string.\ng: procedure (g) | Only a comment.",
    );
}

#[test]
fn comments_belong_to_what_follows_directly() {
    check(
        ";; About the file.\n\n; not this\n(define a 1)\n;; Section.\n\n(define b 2)\n;; Yes,\n;;   ;; \
         x\n(define c 3)",
        "a: constant  | \nb: constant  | \nc: constant  | Yes,//```scheme/;; x/```",
    );
    assert_eq!(document(";; About.\n\n(define a 1)").text, "About.");
    assert_eq!(document(";; About a.\n(define a 1)").text, "");
    assert_eq!(
        document("#!/usr/bin/env canny\n;; About.\n(import (scheme base))").text,
        "About."
    );
}

#[test]
fn every_kind_of_parameter_is_told() {
    check(
        "(define* (f a #:optional (b 1) c #:key (d (list 1 2)) . e) a)\n\
         (define g (case-lambda ((a) a) ((a . b) b)))\n\
         (define h (let ((x 1)) (lambda a \"Doc.\" a)))\n\
         (define ((curried a) b) b)",
        "f: procedure (f a [b = 1] [c] [#:d = (list 1 2)] e ...) | \n\
         g: procedure (g a) (g a b ...) | \n\
         h: procedure (h a ...) | Doc.\n\
         curried: procedure (curried a) | ",
    );
}

#[test]
fn records_have_parts() {
    check(
        ";; A place.\n(define-record-type <point> (make-point x y) point?\n  ;; To the right.\n  (x point-x \
         set-point-x!)\n  (y point-y))",
        "<point>: record type  | A place.\n\
         make-point: constructor (make-point x y) | Makes a `point` of the values of its fields.\n\
         point?: predicate (point? object) | Whether an object is a `point`.\n\
         point-x: accessor (point-x point) | To the right.\n\
         set-point-x!: modifier (set-point-x! point x) | To the right.\n\
         point-y: accessor (point-y point) | The field `y` of a `point`.",
    );
}

#[test]
fn syntax_tells_its_patterns() {
    check(
        "(define-syntax my-if\n  (syntax-rules (then)\n    ((_ test then yes . no) 1)\n    ((_ \"step\" x) \
         2)\n    ((_ test => f) 3)))\n\
         (define-syntax other (er-macro-transformer f))\n(define-syntax mine my-if)",
        "my-if: syntax (my-if test then yes . no) (my-if test => f) | \n\
         other: syntax  | \n\
         mine: syntax (mine test then yes . no) (mine test => f) | ",
    );
}

#[test]
fn exports_are_followed_through_imports() {
    let inner = "(define-library (inner)\n (export f (rename g gee) car) (import (canny primitives))\n \
        (begin\n ;; Does f.\n (define (f x) x)\n (define g 'sym)))";
    let source = "(define-library (outer)\n (export (rename p:f eff) gee h car missing)\n \
         (import (rename (prefix (only (inner) f) p:)) (only (inner) gee car))\n (begin (define h p:f)))";
    let document = with_texts(source, vec![("(inner)", inner)]);
    assert_eq!(
        listing(&document),
        "eff: procedure (eff x) from (inner) f | Does f.\n\
         gee: constant  from (inner) gee | \n\
         h: procedure (h x) | Does f.\n\
         car: procedure (car pair) from (canny primitives) car | The first field of a pair.\n\
         missing: variable  | "
    );
}

#[test]
fn includes_and_features_are_followed() {
    let source = "(define-library (lib)\n (cond-expand (r7rs (export a)) (else (export b)))\n \
                  (include \"body.scm\"))";
    let document = with_texts(
        source,
        vec![("body.scm", ";; From a file.\n(define (a) 1)")],
    );
    assert_eq!(listing(&document), "a: procedure (a) | From a file.");
    let place = document.entries[0].place.as_ref().unwrap();
    assert_eq!(
        (place.file.as_str(), place.line, place.column),
        ("body.scm", 2, 10)
    );
    let endless = with_texts(
        "(include \"self.scm\")",
        vec![("self.scm", "(include \"self.scm\") (define x 1)")],
    );
    assert_eq!(endless.entries.len(), 1);
}

#[test]
fn examples_have_lines_and_expectations() {
    let source = ";;; Text:\n;;;\n;;;   (define x 1)\n;;;   (+ x 1)\n;;;   ; => 2\n;;;   (car x) ; error: \
        car: no\n;;; More.\n\n(import (scheme base))";
    let document = document(source);
    assert_eq!(
        document.text,
        "Text:\n\n```scheme\n(define x 1)\n(+ x 1)\n; => 2\n(car x) ; error: car: no\n```\n\nMore."
    );
    let examples: Vec<_> = document
        .examples
        .iter()
        .map(|one| (one.form.as_str(), one.expectation.clone(), one.line))
        .collect();
    assert_eq!(
        examples,
        [
            ("(define x 1)", None, 3),
            ("(+ x 1)", Some(Expectation::Value("2".to_owned())), 4),
            ("(car x)", Some(Expectation::Error("car: no".to_owned())), 6),
        ]
    );
}

#[test]
fn examples_say_what_they_print() {
    let source = "(display 1) ; prints: 1\n(begin (display 1) (newline) (display '(a  b)))\n; prints: 1\n; \
        prints: (a  b)\n(f)\n; => 1\n";
    let found = crate::markdown_examples("page.md", &format!("```scheme\n{source}```\n"));
    let expectations: Vec<_> = found.into_iter().map(|one| one.expectation).collect();
    assert_eq!(
        expectations,
        [
            Some(Expectation::Prints("1".to_owned())),
            Some(Expectation::Prints("1\n(a  b)".to_owned())),
            Some(Expectation::Value("1".to_owned())),
        ]
    );
}

#[test]
fn lists_are_no_code() {
    let source = ";; - one\n;;   more\n;; - two\n;;\n;;   still two\n(define a 1)";
    assert_eq!(
        document(source).entries[0].text,
        "- one\n  more\n- two\n\n  still two"
    );
}

#[test]
fn fenced_blocks_stay_and_others_are_no_examples() {
    let source = "(define (f)\n  \"Text.\n\n  ```text\n  (f) ; => 1\n  ```\n  ```\n  (f)\n\
                  \x20 ; => 2\n  ```\"\n  1)";
    let entry = &document(source).entries[0];
    assert_eq!(
        entry.text,
        "Text.\n\n```text\n(f) ; => 1\n```\n\n```scheme\n(f)\n; => 2\n```"
    );
    assert_eq!(entry.examples.len(), 1);
    assert_eq!(entry.examples[0].line, 8);
}

#[test]
fn broken_sources_give_what_can_be_read() {
    check("(define (f x) x)\n(define (g", "f: procedure (f x) | ");
    check(
        "(define)\n(define . 3)\n(define-record-type)\n(define-syntax x)\n)",
        "",
    );
    let nested = format!("(define x {}1{})", "(f ".repeat(50_000), ")".repeat(50_000));
    assert_eq!(document(&nested).entries.len(), 1);
}

#[test]
fn pages_complete_libraries_and_what_hands_out_the_same() {
    let page = "# (inner)\n\nFor tests.\n\n## Some\n\nAbout some.\n\n### `(f a [b] c ...)`, `(f)`, `g`\n\n- \
        `f`: The first. It has\n  two sentences.\n- `g`: The second.\n\nBoth.\n\n```scheme\n(f 1)\n; => \
        1\n```\n\n### `nothing`\n";
    let page = Page::read("inner.md", page).unwrap();
    let inner = "(define-library (inner) (export f g) (import (canny primitives)) (begin (define (f . all) \
        1) (define g 2)))";
    let outer = "(define-library (outer) (export (rename f eff)) (import (inner)))";
    let other = "(define-library (other) (export (rename f old-f)) (import (inner)))";
    let old = Page::read("old.md", "# (other)\n\n### `(old-f a)`\n\nAs `f`.\n").unwrap();
    let mut extractor = Extractor::new(Box::new(Texts(Vec::new())), &[]);
    let mut documents: Vec<Document> = extractor
        .source("inner.sld", inner)
        .into_iter()
        .chain(extractor.source("outer.sld", outer))
        .chain(extractor.source("other.sld", other))
        .map(|document| (*document).clone())
        .collect();
    let complaints = complete(&mut documents, &[page, old]);
    assert_eq!(complaints, ["inner.md:22: (inner) does not export nothing"]);
    assert_eq!(documents[0].text, "For tests.");
    let sections: Vec<(&str, &str)> = documents[0]
        .sections
        .iter()
        .map(|section| (section.title.as_str(), section.text.as_str()))
        .collect();
    assert_eq!(sections, [("Some", "About some.")]);
    let entry = documents[0].entry("g").unwrap();
    assert_eq!(
        (entry.section.as_str(), entry.summary()),
        ("Some", "The second.")
    );
    assert!(entry.text.starts_with("The second.\n\nBoth.\n\n```scheme"));
    assert_eq!(entry.examples[0].line, 18);
    let entry = documents[1].entry("eff").unwrap();
    let signatures: Vec<&str> = entry.signatures.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(signatures, ["(eff a [b] c ...)", "(eff)"]);
    assert_eq!(entry.signatures[0].parameters[1].role, Role::Optional);
    assert!(
        entry
            .text
            .starts_with("The first. It has\ntwo sentences.\n\nBoth.")
    );
    assert_eq!(documents[2].entry("old-f").unwrap().text, "As `f`.");
    assert_eq!(Page::read("x.md", "# Title\n"), None);
}

#[test]
fn each_name_of_a_heading_has_an_item() {
    let page = "# (inner)\n\n### `(f a)`, `g`\n\n- `f`: The first.\n- `h`: Another.\n- `f`: Again.\n\n\
                Both.\n";
    let page = Page::read("inner.md", page).unwrap();
    let inner = "(define-library (inner) (export f g) (begin (define (f . all) 1) (define g 2)))";
    let mut extractor = Extractor::new(Box::new(Texts(Vec::new())), &[]);
    let found = extractor.source("inner.sld", inner);
    let mut documents: Vec<Document> = found.iter().map(|it| (**it).clone()).collect();
    assert_eq!(
        complete(&mut documents, &[page]),
        [
            "inner.md:6: the heading above does not ask for an item about h",
            "inner.md:7: the heading above does not ask for an item about f",
            "inner.md:3: the heading has several names and there is no item about g",
        ]
    );
}

#[test]
fn several_names_of_a_thing_keep_their_texts() {
    let inner = "(define-library (inner) (export f (rename f g)) (begin (define (f) 1)))";
    let outer = "(define-library (outer) (export f g) (import (inner)))";
    let page = "# (inner)\n\n### `(f)`, `(g)`\n\n- `f`: The first.\n- `g`: A short name of `f`.\n";
    let page = Page::read("inner.md", page).unwrap();
    let mut extractor = Extractor::new(Box::new(Texts(Vec::new())), &[]);
    let mut documents: Vec<Document> = extractor
        .source("inner.sld", inner)
        .into_iter()
        .chain(extractor.source("outer.sld", outer))
        .map(|document| (*document).clone())
        .collect();
    assert!(complete(&mut documents, &[page]).is_empty());
    assert_eq!(documents[1].entry("f").unwrap().text, "The first.");
    assert_eq!(
        documents[1].entry("g").unwrap().text,
        "A short name of `f`."
    );
}

#[test]
fn headings_show_calls_that_are_defined() {
    let calls = "`(f a [b])`, `(f a b c)`, `(g a [b c] [#:key key])`, `(h a ...)`, `(k a #:no)`";
    let items = "- `f`: F.\n- `g`: G.\n- `h`: H.\n- `k`: K.\n";
    let page = format!("# (inner)\n\n### {calls}\n\n{items}");
    let page = Page::read("inner.md", &page).unwrap();
    let inner = "(define-library (inner) (export f g h k) (begin (define* (f a #:optional b) 1)\
                 (define* (g a #:optional b c #:key key) 2) (define (h a . b) 3)\
                 (define* (k a #:key key) 4)))";
    let mut extractor = Extractor::new(Box::new(Texts(Vec::new())), &[]);
    let found = extractor.source("inner.sld", inner);
    let mut documents: Vec<Document> = found.iter().map(|it| (**it).clone()).collect();
    assert_eq!(
        complete(&mut documents, &[page]),
        [
            "inner.md:3: f does not take all arguments that the heading shows",
            "inner.md:3: k does not take all arguments that the heading shows",
        ]
    );
    let signature = &documents[0].entry("g").unwrap().signatures[0];
    let parameters: Vec<(&str, Role)> = signature
        .parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), parameter.role))
        .collect();
    assert_eq!(
        parameters,
        [
            ("a", Role::Required),
            ("b", Role::Optional),
            ("c", Role::Optional),
            ("key", Role::Keyword)
        ]
    );
}
