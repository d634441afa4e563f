//! Answers of the server about programs.

mod client;

use client::{Client, codes, labels};
use serde_json::{Value, json};

const SHAPES: &str = "\
;;; Shapes and their sizes.
(define-library (shapes)
  (export area (rename perimeter around) with-shape)
  (import (scheme base))
  (begin
    ;; The area of a rectangle.
    (define (area width height)
      (* width height))
    (define (perimeter w h) (* 2 (+ w h)))
    (define-syntax with-shape
      (syntax-rules ()
        ((_ (name w h) body ...) (let ((name (area w h))) body ...))))))
";

const PROGRAM: &str = "\
(import (scheme base) (scheme write)
        (prefix (only (shapes) area around) s:) (only (shapes) with-shape))
;; Twice a number.
(define (double x)
  (let loop ((i 0) (total x))
    (if (= i 1) total (loop (+ i 1) (+ total x)))))
(define-record-type point (make-point x y) point? (x point-x set-point-x!) (y point-y))
(define-syntax swap!
  (syntax-rules ()
    ((_ a b) (let ((old a)) (set! a b) (set! b (double old))))))
(define one 1) (define two 2)
(swap! one two)
(display (s:area (double one) (s:around 1 (point-x (make-point 1 2)))))
(with-shape (size 1 2) (display size))
(display (list (point? 1) point-y set-point-x!))
";

fn session() -> Client {
    let mut client = Client::new();
    client.write("shapes.sld", SHAPES);
    let found = client.open("main.scm", PROGRAM);
    assert_eq!(codes(&found), Vec::<String>::new(), "{found}");
    client
}

fn hover(client: &mut Client, marked: &str) -> String {
    let found = client.at("hover", "main.scm", marked);
    found["contents"]["value"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn hovering() {
    let mut client = session();
    let cases = [
        (
            "(dou^ble one)",
            "(double x)\n```\nprocedure\n\nTwice a number.",
        ),
        (
            "(s:ar^ea",
            "(area width height)\n```\nprocedure from `(shapes)`, where it is called `area`\n\nThe area",
        ),
        ("(s:aro^und", "(perimeter w h)"),
        (
            "(with-sh^ape",
            "(with-shape (name w h) body ...)\n```\nmacro from `(shapes)`",
        ),
        ("(i^f (=", "keyword from `(scheme base)`"),
        ("to^tal (loop", "variable"),
        ("(lo^op (+", "(loop i total)"),
        ("(make-p^oint 1", "(make-point x y)"),
        ("set-point^-x!))", "(set-point-x! point x)"),
        ("swap!^ one", "(swap! a b)\n```\nmacro"),
        (
            "(sha^pes) area",
            "(shapes)\n```\nlibrary\n\nShapes and their sizes.",
        ),
        ("(display (s^:", "procedure from"),
    ];
    for (place, part) in cases {
        let found = hover(&mut client, place);
        assert!(found.contains(part), "{place}: {found}");
    }
    let display = hover(&mut client, "(disp^lay (s:");
    assert!(
        display.contains("(display") && display.contains("`(scheme write)`"),
        "{display}"
    );
    assert_eq!(hover(&mut client, "^;; Twice"), "");
    assert!(client.end());
}

#[test]
fn hovering_shows_what_is_said_about_that_name() {
    let mut client = Client::new();
    client.open("main.scm", "(import (scheme base))\n(cddr '(1 2 3))\n");
    let found = hover(&mut client, "(cd^dr '");
    let own = "The cdr of the cdr of a pair; for a list, the rest after its second element.";
    assert!(found.contains(own), "{found}");
    assert!(!found.contains("The car of the car"), "{found}");
    assert!(client.end());
}

fn definition(client: &mut Client, marked: &str) -> Vec<String> {
    let found = client.at("definition", "main.scm", marked);
    client.texts_at(&found)
}

#[test]
fn definitions() {
    let mut client = session();
    let cases = [
        ("(doub^le one)", "main.scm:3:double"),
        ("(doub^le old)", "main.scm:3:double"),
        ("(s:ar^ea", "shapes.sld:6:area"),
        ("(s:aro^und", "shapes.sld:8:perimeter"),
        ("(only (shapes) are^a", "shapes.sld:6:area"),
        ("(with-sh^ape", "shapes.sld:9:with-shape"),
        ("(display si^ze)", "main.scm:13:size"),
        ("(point^-x (", "main.scm:6:point-x"),
        ("(swa^p! one", "main.scm:7:swap!"),
        ("(set! ^b (", "main.scm:9:b"),
        ("(make-point ^x y)", "main.scm:6:x"),
        ("(only (shap^es) with", "shapes.sld:1:(shapes)"),
    ];
    for (place, expected) in cases {
        assert_eq!(definition(&mut client, place), [expected], "{place}");
    }
    // Names of the image lead to its sources, those that are built in to where they are exported.
    assert_eq!(
        definition(&mut client, "(disp^lay (s:"),
        ["write.sld:3:display"]
    );
    let mut client = Client::new();
    client.open(
        "lists.scm",
        "(import (scheme base) (only (srfi 1) fold))\n(fold + 0 '(1 2))\n",
    );
    let found = client.at("definition", "lists.scm", "(fo^ld + ");
    let texts = client.texts_at(&found);
    assert!(
        texts[0].contains(".sld:") && texts[0].ends_with(":fold"),
        "{texts:?}"
    );
    assert!(client.end());
}

#[test]
fn references_and_highlights() {
    let mut client = session();
    let all = json!({"context": {"includeDeclaration": true}});
    let found = client.at_with("references", "main.scm", "(define (dou^ble", all.clone());
    let places = client.texts_at(&found);
    assert_eq!(
        places,
        [
            "main.scm:3:double",
            "main.scm:9:double",
            "main.scm:12:double"
        ]
    );
    // Across files, under all its names.
    let found = client.at_with("references", "main.scm", "(s:aro^und", all);
    let places = client.texts_at(&found);
    let expected = [
        "main.scm:1:around",
        "main.scm:12:s:around",
        "shapes.sld:2:perimeter",
        "shapes.sld:2:around",
        "shapes.sld:8:perimeter",
    ];
    assert_eq!(places, expected);
    let found = client.at("documentHighlight", "main.scm", "(loop (+ ^i 1)");
    let kinds: Vec<&Value> = found
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["kind"])
        .collect();
    assert_eq!(kinds, [3, 2, 2]);
    assert!(client.end());
}

#[test]
fn renaming() {
    let mut client = session();
    let mut rename = |marked: &str, new: &str| {
        let found = client.at_with("rename", "main.scm", marked, json!({"newName": new}));
        match found.get("code") {
            Some(_) => Err(found["message"].as_str().unwrap_or_default().to_owned()),
            None => Ok((
                client.edited("main.scm", &found),
                client.edited("shapes.sld", &found),
            )),
        }
    };
    let (program, _) = rename("(define (dou^ble", "twice").expect("it can be renamed");
    assert_eq!(program, PROGRAM.replace("double", "twice"));
    let (program, _) = rename("tot^al (loop", "sum").expect("it can be renamed");
    assert_eq!(program, PROGRAM.replace("total", "sum"));
    // In a pattern, only there.
    let (program, _) = rename("(_ ^a b)", "left").expect("it can be renamed");
    let expected = "((_ left b) (let ((old left)) (set! left b) (set! b (double old))))";
    assert!(program.contains(expected), "{program}");
    // A field, but not the names of its procedures.
    let (program, _) = rename("(^x point-x", "abscissa").expect("it can be renamed");
    assert!(
        program.contains("(make-point abscissa y) point? (abscissa point-x set-point-x!)"),
        "{program}"
    );
    // A prefix stays; the library has the new name too.
    let (program, library) = rename("(only (shapes) ar^ea", "surface").expect("it can be renamed");
    assert!(
        program.contains("(only (shapes) surface around) s:)")
            && program.contains("(s:surface (double"),
        "{program}"
    );
    assert!(
        library.contains("(export surface") && library.contains("(define (surface width height)"),
        "{library}"
    );
    assert!(library.contains("(let ((name (surface w h)))"), "{library}");
    for (place, new, part) in [
        ("tot^al (loop", "i", "another meaning"),
        ("tot^al (loop", "x", "another meaning"),
        ("tot^al (loop", "if", "another meaning"),
        ("(define (dou^ble", "one", "another meaning"),
        ("(define (dou^ble", "a b", "not a name"),
        ("(define (dou^ble", "", "not a name"),
        ("(i^f (=", "when", "keyword"),
        ("(disp^lay (s:", "show", "standard procedure"),
        ("(only (shap^es) with", "forms", "library"),
    ] {
        let problem = rename(place, new).expect_err(place);
        assert!(problem.contains(part), "{place}: {problem}");
    }
    let prepared = client.at("prepareRename", "main.scm", "(define (dou^ble");
    assert_eq!(prepared["placeholder"], "double");
    assert!(client.end());
}

#[test]
fn renaming_does_not_catch_what_a_macro_binds() {
    let mut client = Client::new();
    let text = "\
(import (scheme base) (scheme write))
(define-syntax my-or
  (syntax-rules () ((_ a b) (let ((t a)) (if t t b)))))
(define (f u) (my-or #f u))
(display (f 1))
";
    client.open("or.scm", text);
    // The macro's `t` is another one.
    let found = client.at_with("rename", "or.scm", "(f ^u)", json!({"newName": "t"}));
    let expected = text.replace("(f u) (my-or #f u)", "(f t) (my-or #f t)");
    assert_eq!(client.edited("or.scm", &found), expected, "{found}");
    assert!(client.end());
}

#[test]
fn completion() {
    let mut client = session();
    let found = client.at("completion", "main.scm", "(double on^e)");
    assert_eq!(labels(&found)[0], "one");
    let found = client.at("completion", "main.scm", "tot^al (loop");
    assert_eq!(labels(&found)[0], "total");
    // A name in unfinished text: neither closed nor analysed.
    client.replace("main.scm", "(swap! one two)", "(let ((unfinished 1)) (unf");
    client.wait_for_diagnostics("main.scm");
    let found = client.at("completion", "main.scm", "(unf^");
    assert_eq!(labels(&found)[0], "unfinished", "{found}");
    client.replace("main.scm", "1)) (unf", "1)) (s:a");
    let found = client.at("completion", "main.scm", "1)) (s:a^");
    assert_eq!(labels(&found)[..2], ["s:area", "s:around"]);
    // With an import.
    client.replace("main.scm", "1)) (s:a", "1)) (filter-m");
    let found = client.at("completion", "main.scm", "(filter-m^");
    let first = &found["items"][0];
    assert_eq!(first["label"], "filter-map");
    let mut edits = vec![first["textEdit"].clone()];
    edits.extend(
        first["additionalTextEdits"]
            .as_array()
            .cloned()
            .unwrap_or_default(),
    );
    let text = client.edited("main.scm", &edits.into());
    assert!(
        text.contains("(only (shapes) with-shape)\n        ("),
        "{text}"
    );
    assert!(text.contains("(filter-map"), "{text}");
    assert!(client.end());
}

#[test]
fn completion_of_libraries_and_files() {
    let mut client = Client::new();
    client.write("parts.scm", "");
    client.write("tools/strings.sld",
        "(define-library (tools strings) (export shout) (import (scheme base)) (begin (define (shout s) \
         s)))");
    client.open(
        "main.scm",
        "(import (scheme base) (too))\n(include \"par\")\n",
    );
    let found = client.at("completion", "main.scm", "(too^)");
    assert_eq!(labels(&found), ["(tools strings)"]);
    assert_eq!(
        client.edited("main.scm", &json!([found["items"][0]["textEdit"]])),
        "(import (scheme base) (tools strings))\n(include \"par\")\n"
    );
    let found = client.at("completion", "main.scm", "\"par^\"");
    assert_eq!(labels(&found), ["parts.scm"]);
    client.replace("main.scm", "(too)", "(only (srfi 1) fol)");
    let found = client.at("completion", "main.scm", "fol^)");
    assert_eq!(labels(&found)[..2], ["fold", "fold-right"]);
    assert!(client.end());
}

#[test]
fn signatures() {
    let mut client = Client::new();
    let text = "\
(import (scheme base) (canny base))
(define* (draw x y #:optional (scale 1) #:key (colour 'red) width #:rest more)
  (list x y scale colour width more))
(draw 1 2)
(draw 1 2 #:width 3)
(vector-ref (vector 1) 0)
";
    client.open("draw.scm", text);
    let mut active = |marked: &str| {
        let found = client.at("signatureHelp", "draw.scm", marked);
        let index = found["activeParameter"]
            .as_u64()
            .map(|index| index as usize);
        let label = index.map(|index| found["signatures"][0]["parameters"][index]["label"].clone());
        label
            .and_then(|label| label.as_str().map(str::to_owned))
            .unwrap_or_default()
    };
    assert_eq!(active("(draw 1^ 2)\n"), "x");
    assert_eq!(active("(draw 1 ^2)\n"), "y");
    assert_eq!(active("(draw 1 2 #:width ^3)"), "width");
    assert_ne!(active("(vector 1) ^0)"), "");
    assert!(client.end());
}

#[test]
fn outline_and_symbols() {
    let mut client = session();
    let found = client.whole("documentSymbol", "main.scm");
    let names = |symbols: &Value| -> Vec<String> {
        let symbols = symbols.as_array().cloned().unwrap_or_default();
        symbols
            .iter()
            .map(|one| one["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(names(&found), ["double", "point", "swap!", "one", "two"]);
    let point = &found[1]["children"];
    assert_eq!(
        names(point),
        [
            "make-point",
            "point?",
            "x",
            "point-x",
            "set-point-x!",
            "y",
            "point-y"
        ]
    );
    let found = client.request("workspace/symbol", json!({"query": "peri"}));
    assert_eq!(names(&found), ["perimeter"]);
    assert_eq!(found[0]["containerName"], "(shapes)");
    assert!(client.end());
}

#[test]
fn structure_and_colours() {
    let mut client = session();
    let found = client.whole("foldingRange", "main.scm");
    assert_eq!(
        found[0],
        json!({"startLine": 0, "endLine": 1, "kind": "imports"})
    );
    let text = client.text("main.scm").to_owned();
    let uri = client.uri("main.scm");
    let at = client::position(&text, text.find("i 1) total").expect("it is there"));
    let params = json!({"textDocument": {"uri": uri}, "positions": [at]});
    let found = client.request("textDocument/selectionRange", params);
    let mut depth = 0;
    let mut range = &found[0];
    while !range.is_null() {
        depth += 1;
        range = &range["parent"];
    }
    assert!(depth >= 7, "{found}");
    let found = client.whole("semanticTokens/full", "main.scm");
    let data = found["data"].as_array().expect("numbers");
    // `import` is the second byte of the file.
    assert_eq!(data[..4], [0, 1, 6, 0].map(Value::from));
    assert_eq!(data.len() % 5, 0);
    assert!(client.end());
}

#[test]
fn repairs() {
    let mut client = Client::new();
    let text = "\
(import (scheme base)
        (scheme write)
        (scheme char))
(define (f x)
  (displya (fold + 0 x)))
(f '())
";
    let found = client.open("repair.scm", text);
    assert_eq!(
        codes(&found),
        [
            "2:unused-import",
            "4:unbound-variable",
            "4:unbound-variable"
        ],
        "{found}"
    );
    let mut actions = |marked: &str| {
        let place = client.place("repair.scm", marked);
        let range = json!({"start": place["position"], "end": place["position"]});
        let uri = place["textDocument"].clone();
        let context = json!({"diagnostics": [], "only": ["quickfix"]});
        let params = json!({"textDocument": uri, "range": range, "context": context});
        let found = client.request("textDocument/codeAction", params);
        let found = found.as_array().cloned().unwrap_or_default();
        found
            .iter()
            .map(|action| {
                let title = action["title"].as_str().unwrap_or_default().to_owned();
                (title, client.edited("repair.scm", &action["edit"]))
            })
            .collect::<Vec<_>>()
    };
    let found = actions("(disp^lya");
    assert_eq!(found[0].0, "Change to display");
    assert_eq!(found[0].1, text.replace("displya", "display"));
    let found = actions("(fo^ld +");
    let (_, edited) = found
        .iter()
        .find(|(title, _)| title == "Import (srfi 1)")
        .expect("it is offered");
    assert_eq!(
        *edited,
        text.replace("(scheme char))", "(scheme char)\n        (srfi 1))")
    );
    let found = actions("(scheme ch^ar)");
    assert_eq!(found[0].1, text.replace("\n        (scheme char)", ""));
    assert!(client.end());
}

#[test]
fn expansions() {
    let mut client = session();
    let place = client.place("main.scm", "(swa^p! one two)");
    let range = json!({"start": place["position"], "end": place["position"]});
    let params = json!({"textDocument": place["textDocument"], "range": range, "context": {
        "diagnostics": []}});
    let found = client.request("textDocument/codeAction", params);
    let action = found
        .as_array()
        .expect("actions")
        .iter()
        .find(|one| one["command"].is_object());
    let command = &action.expect("it is offered")["command"];
    assert_eq!(command["command"], "canny.expandMacro");
    let params = json!({"command": command["command"], "arguments": command["arguments"]});
    let found = client.request("workspace/executeCommand", params);
    assert_eq!(
        found,
        "(let ((old one)) (set! one two) (set! two (double old)))"
    );
    assert!(client.end());
}

#[test]
fn all_errors_are_told() {
    let mut client = Client::new();
    let text = "\
(import (scheme base) (scheme write))
(define (f) (if))
(define x 1 2)
(let ((a)) a)
(define (g y)
  (lambda (z z) (car y
(define (h) (unknown-name))
(display #\\wrong)
(lambda)
";
    let found = client.open("errors.scm", text);
    let found = codes(&found);
    for expected in [
        "1:bad-syntax",
        "2:bad-syntax",
        "3:bad-syntax",
        "5:unclosed",
        "7:bad-character",
        "8:bad-syntax",
    ] {
        assert!(
            found.contains(&expected.to_owned()),
            "{expected} is not in {found:?}"
        );
    }
    // No warnings while there are errors.
    assert!(
        !found
            .iter()
            .any(|code| code.contains("unbound") || code.contains("unused")),
        "{found:?}"
    );
    // Names of the form that is not closed are known nevertheless.
    let hover = client.at("hover", "errors.scm", "(define (^g y)");
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .contains("(g y)"),
        "{hover}"
    );
    assert!(client.end());
}

#[test]
fn changes_of_a_library_reach_the_programs_that_import_it() {
    let mut client = Client::new();
    client.open("parts.sld",
        "(define-library (parts) (export first-part) (import (scheme base)) (begin (define (first-part) \
         1)))");
    let program = "(import (scheme base) (parts))\n(list (first-part))\n";
    assert_eq!(
        codes(&client.open("main.scm", program)),
        Vec::<String>::new()
    );
    client.replace(
        "parts.sld",
        "(export first-part)",
        "(export (rename first-part part-1))",
    );
    let found = client.wait_for_diagnostics("main.scm");
    assert_eq!(
        codes(&found),
        ["0:unused-import", "1:unbound-variable"],
        "{found}"
    );
    // An error there is reported here, at the import.
    client.replace("parts.sld", "(begin", "(begin (if)");
    let found = client.wait_for_diagnostics("main.scm");
    assert_eq!(codes(&found), ["0:bad-syntax"], "{found}");
    assert!(
        found[0]["message"]
            .as_str()
            .unwrap_or_default()
            .contains("parts.sld:1"),
        "{found}"
    );
    assert!(client.end());
}

#[test]
fn a_part_of_a_library_means_what_it_means_there() {
    let mut client = Client::new();
    client.write(
        "whole.sld",
        "(define-library (whole) (export twice) (import (scheme base)) (include \"part.scm\") (begin (define \
         helper 2)))",
    );
    let text = "(define (twice x) (* helper x))\n(if)\n";
    let found = client.open("part.scm", text);
    assert_eq!(codes(&found), ["1:bad-syntax"], "{found}");
    client.replace("part.scm", "(if)", "");
    let found = client.wait_for_diagnostics("part.scm");
    assert_eq!(codes(&found), Vec::<String>::new(), "{found}");
    let found = client.at("definition", "part.scm", "(* hel^per");
    assert_eq!(client.texts_at(&found), ["whole.sld:0:helper"]);
    assert!(client.end());
}

#[test]
fn procedural_macros_call_libraries() {
    let mut client = Client::new();
    let library = "(define-library (names) (export shout) (import (scheme base)) (begin (define (shout s) \
        (string-append s \"!\"))))";
    client.open("names.sld", library);
    // First the library alone, then a macro that calls it, then a library that has changed.
    let program = "(import (canny base) (names))\n(list (shout \"a\"))\n";
    assert_eq!(
        codes(&client.open("main.scm", program)),
        Vec::<String>::new()
    );
    client.replace(
        "main.scm",
        "(list (shout \"a\"))",
        "(define-syntax loud (er-macro-transformer (lambda (form rename compare) (shout (cadr \
         form)))))\n(list (loud \"a\"))",
    );
    let found = client.wait_for_diagnostics("main.scm");
    assert_eq!(codes(&found), Vec::<String>::new(), "{found}");
    let place = client.place("main.scm", "(lo^ud \"a\")");
    let arguments = json!([place["textDocument"]["uri"], place["position"]]);
    let params = json!({"command": "canny.expandMacro", "arguments": arguments});
    assert_eq!(
        client.request("workspace/executeCommand", params.clone()),
        "\"a!\""
    );
    client.replace("names.sld", "\"!\"", "\"?\"");
    client.wait_for_diagnostics("main.scm");
    assert_eq!(client.request("workspace/executeCommand", params), "\"a?\"");
    assert!(client.end());
}

#[test]
fn formatting() {
    let mut client = Client::new();
    client.open("layout.scm", "(define (f x)\r\n      (g   x))\r\n");
    let edits = client.whole("formatting", "layout.scm");
    assert_eq!(
        client.edited("layout.scm", &edits),
        "(define (f x)\r\n  (g x))\r\n"
    );
    client.open("broken.scm", "(define (f x)\n");
    assert_eq!(client.whole("formatting", "broken.scm")["code"], -32803);
    assert!(client.end());
}

#[test]
fn positions_are_in_the_units_that_were_agreed_on() {
    for (encodings, column) in [
        (json!(["utf-16"]), 14),
        (json!(["utf-16", "utf-8"]), 17),
        (Value::Null, 14),
    ] {
        let mut client = Client::with_encodings(encodings);
        let text = "(define s \"𝄞é\")\n(list 'λ \"𝄞\" s)\n";
        client.open("wide.scm", text);
        let uri = client.uri("wide.scm");
        let place =
            json!({"textDocument": {"uri": uri}, "position": {"line": 1, "character": column + 1}});
        let found = client.request("textDocument/documentHighlight", place);
        let last = &found[1]["range"]["start"];
        assert_eq!(*last, json!({"line": 1, "character": column}), "{found}");
        assert!(client.end());
    }
}

#[test]
fn answers_come_before_the_expansion() {
    let mut client = Client::impatient();
    let text = "\
(import (scheme base) (scheme write))
;; Twice a number.
(define (double x) (* 2 x))
(define (show one) (display one))
(show (double 3))
";
    client.open("main.scm", text);
    let uri = client.uri("main.scm");
    // Two changes, before and behind the definition; the second is half written.
    client.replace("main.scm", "(import", ";; A program.\n(import");
    client.replace("main.scm", "(show (double 3))", "(show (double (double");
    let hover = client.at("hover", "main.scm", "(show (dou^ble (double");
    assert_eq!(hover["range"]["start"]["line"], 5, "{hover}");
    let shown = hover["contents"]["value"].as_str().unwrap_or_default();
    assert!(
        shown.contains("(double x)") && shown.contains("Twice a number."),
        "{shown}"
    );
    // A newly typed name is found by its name only.
    let hover = client.at("hover", "main.scm", "(show (double (dou^ble");
    assert!(
        hover["contents"]["value"]
            .as_str()
            .is_some_and(|text| text.contains("Twice a number.")),
        "{hover}"
    );
    let found = client.at("definition", "main.scm", "(show (dou^ble (double");
    assert_eq!(client.texts_at(&found), ["main.scm:3:double"]);
    let help = client.at("signatureHelp", "main.scm", "(show (double (double^");
    assert_eq!(help["signatures"][0]["label"], "(double x)", "{help}");
    let found = client.at("completion", "main.scm", "(show (double (doub^le");
    assert_eq!(labels(&found)[0], "double");
    let found = client.at("documentHighlight", "main.scm", "(define (dou^ble");
    // The others are being written.
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    let found = client.whole("documentSymbol", "main.scm");
    assert_eq!(found[0]["name"], "double");
    assert_eq!(found[0]["selectionRange"]["start"]["line"], 3);
    let found = client.whole("semanticTokens/full", "main.scm");
    assert_eq!(found["data"][0], 0, "the comment is coloured: {found}");
    let prepared = client.at("prepareRename", "main.scm", "(define (dou^ble");
    assert_eq!(prepared["placeholder"], "double");
    assert!(
        !client.diagnostics.contains_key(&uri),
        "nothing was expanded meanwhile"
    );
    let found = client.wait_for_diagnostics("main.scm");
    assert_eq!(codes(&found).len(), 1, "{found}");
    // A change of the text as a whole.
    let place = client.place("main.scm", "(define (dou^ble");
    let document = json!({"uri": uri, "version": 9});
    let whole = format!("\n{}", client.text("main.scm"));
    client.notify(
        "textDocument/didChange",
        json!({"textDocument": document, "contentChanges": [{"text": whole}]}),
    );
    let mut below = place.clone();
    below["position"]["line"] = 4.into();
    let hover = client.request("textDocument/hover", below);
    assert_eq!(hover["range"]["start"]["line"], 4, "{hover}");
    assert!(client.end());
}

#[test]
fn renaming_of_names_that_macros_make_is_checked() {
    let mut client = Client::new();
    let text = "\
(import (scheme base) (canny syntax-case))
(define-syntax define-getter
  (lambda (form)
    (syntax-case form ()
      ((_ name value)
       (with-syntax ((getter (datum->syntax #'name (string->symbol
                               (string-append \"get-\" (symbol->string (syntax->datum #'name)))))))
         #'(define (getter) value))))))
(define-getter colour 1)
(define unit 2)
(+ (get-colour) unit)
";
    let found = client.open("main.scm", text);
    if codes(&found)
        .iter()
        .any(|code| code.contains("library-not-found"))
    {
        panic!("{found}");
    }
    let found = client.at_with(
        "rename",
        "main.scm",
        "(define un^it",
        json!({"newName": "rest"}),
    );
    let expected = text.replace("unit", "rest");
    assert_eq!(client.edited("main.scm", &found), expected, "{found}");
    assert!(client.end());
}

#[test]
fn included_files_are_watched() {
    let mut client = Client::new();
    client.write("parts/part.inc", "(define (part) 1)\n");
    client.open(
        "main.scm",
        "(import (scheme base))\n(include \"./parts/part.inc\")\n(part)\n",
    );
    client.open("parts/part.inc", "(define (part) 1)\n");
    client.replace("parts/part.inc", "(part)", "(part x)");
    let found = client.wait_for_diagnostics("main.scm");
    assert!(
        codes(&found).iter().any(|code| code.starts_with("2:")),
        "{found}"
    );
    assert!(client.end());
}

#[test]
fn the_client_is_told_what_to_watch() {
    let mut client = Client::silent();
    let root = format!("file://{}", client.directory.display());
    let watches = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    client.request(
        "initialize",
        json!({"capabilities": watches, "rootUri": root}),
    );
    client.notify("initialized", json!({}));
    client.write("part.inc", "(define (part) 1)\n");
    client.open(
        "main.scm",
        "(import (scheme base))\n(include \"part.inc\")\n(part)\n",
    );
    let patterns = |client: &Client| -> Vec<String> {
        let told = client.notifications.iter();
        let told = told.filter(|one| one["method"] == "client/registerCapability");
        told.flat_map(|one| {
            let watchers = &one["params"]["registrations"][0]["registerOptions"]["watchers"];
            watchers.as_array().cloned().unwrap_or_default()
        })
        .map(|one| one["globPattern"].as_str().unwrap_or_default().to_owned())
        .collect()
    };
    // The registration of watchers comes behind the diagnostics.
    client.whole("documentSymbol", "main.scm");
    let found = patterns(&client);
    assert!(found[0].contains("scm"), "{found:?}");
    assert!(
        found.last().is_some_and(|one| one.ends_with("/part.inc")),
        "{found:?}"
    );
    // The file changes where nobody edits it.
    client.write("part.inc", "(define (part x) 1)\n");
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": []}));
    let found = client.wait_for_diagnostics("main.scm");
    assert!(
        codes(&found).iter().any(|code| code.starts_with("2:")),
        "{found}"
    );
    assert!(client.end());
}

#[test]
fn libraries_of_packages_have_names_of_their_own() {
    let mut client = Client::in_project(|directory| canny_lsp::Project {
        directories: Vec::new(),
        libraries: vec![(
            "(acme tools)".to_owned(),
            directory.join("packages/tools-1.0/all.sld"),
        )],
    });
    client.write(
        "packages/tools-1.0/all.sld",
        "(define-library (acme tools) (export polish) (import (scheme base))\n  (begin (define (polish x) \
         x)))\n",
    );
    let found = client.open(
        "main.scm",
        "(import (scheme base) (acme tools))\n(polish (list 1))\n",
    );
    assert_eq!(codes(&found), Vec::<String>::new(), "{found}");
    let found = client.at("definition", "main.scm", "(pol^ish (list 1))");
    assert_eq!(client.texts_at(&found), ["all.sld:1:polish"]);
    client.open("other.scm", "(import (scheme base))\n(poli)\n");
    let found = client.at("completion", "other.scm", "(poli^)");
    assert_eq!(
        found["items"][0]["detail"], "import (acme tools)",
        "{found}"
    );
    assert!(client.end());
}

#[test]
fn many_changes_in_a_row_are_followed() {
    let mut client = Client::impatient();
    client.open(
        "main.scm",
        "(import (scheme base))\n;; Twice a number.\n(define (double x) (* 2 x))\n(double 3)\n",
    );
    for _ in 0..300 {
        client.replace("main.scm", "(import", "\n(import");
    }
    let hover = client.at("hover", "main.scm", "(dou^ble 3)");
    assert_eq!(hover["range"]["start"]["line"], 303, "{hover}");
    let found = client.at("definition", "main.scm", "(dou^ble 3)");
    assert_eq!(client.texts_at(&found), ["main.scm:302:double"]);
    client.wait_for_diagnostics("main.scm");
    let hover = client.at("hover", "main.scm", "(dou^ble 3)");
    assert_eq!(hover["range"]["start"]["line"], 303, "{hover}");
    assert!(client.end());
}
