//! The session in `docs/lsp-session.md` is run and compared; CANNY_BLESS=1 writes it.

mod client;

use std::fmt::Write;

use client::{Client, root};
use serde_json::{Value, json};

/// The same with the members of objects by their names, whatever order the reader of JSON was built to keep.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(in_order).collect(),
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<&String, &Value> = members.iter().collect();
            let sorted = sorted.into_iter();
            sorted
                .map(|(name, member)| (name.clone(), in_order(member)))
                .collect()
        }
        other => other.clone(),
    }
}

/// A message with ranges as `line:character-line:character`, to be read by people.
fn shown(client: &Client, value: &Value) -> Value {
    let at = |place: &Value| format!("{}:{}", place["line"], place["character"]);
    match value {
        Value::Object(members) if members.len() == 2 && value["start"].is_object() => {
            format!("{}-{}", at(&value["start"]), at(&value["end"])).into()
        }
        Value::Object(members)
            if members.len() == 2
                && value["line"].is_number()
                && value["character"].is_number() =>
        {
            at(value).into()
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                (
                    name.replace(&client.uri(""), "file:///project/"),
                    shown(client, value),
                )
            });
            Value::Object(members.collect())
        }
        Value::Array(elements) => elements.iter().map(|one| shown(client, one)).collect(),
        Value::String(text) => {
            // The name of a directory in the cache depends on the library's text.
            let text = text.replace(&client.uri(""), "file:///project/");
            match text.split_once("library-") {
                Some((_, rest)) if text.contains("/cache/") => {
                    let file = rest.split_once('/').map_or(rest, |(_, file)| file);
                    format!("file:///cache/canny/{file}").into()
                }
                _ => text.into(),
            }
        }
        other => other.clone(),
    }
}

struct Page {
    client: Client,
    text: String,
}

impl Page {
    fn say(&mut self, text: &str) {
        writeln!(self.text, "\n{text}\n").expect("a string takes all");
    }

    fn block(&mut self, lines: &str) {
        writeln!(self.text, "```text\n{}\n```", lines.trim_end()).expect("a string takes all");
    }

    fn lines(&self, value: &Value) -> String {
        let value = in_order(&shown(&self.client, value));
        match value.as_array() {
            Some(elements) if elements.len() > 1 => {
                elements.iter().map(|one| format!("← {one}\n")).collect()
            }
            _ => format!("← {value}\n"),
        }
    }

    fn ask(&mut self, what: &str, method: &str, marked: &str, more: Value) {
        let file = "main.scm";
        let found = self.client.at_with(method, file, marked, more.clone());
        self.say(what);
        let more = if more == json!({}) {
            String::new()
        } else {
            format!(" {more}")
        };
        let answer = self.lines(&found);
        self.block(&format!(
            "→ textDocument/{method} at {marked}{more}\n{answer}"
        ));
    }

    fn diagnostics(&mut self, what: &str, found: &Value) {
        self.say(what);
        let answer = self.lines(found);
        self.block(&format!("textDocument/publishDiagnostics\n{answer}"));
    }
}

const LIBRARY: &str = "\
;;; Shapes and their sizes.
(define-library (shapes)
  (export area with-shape)
  (import (scheme base))
  (begin
    ;; The area of a rectangle.
    (define (area width height)
      (* width height))
    (define-syntax with-shape
      (syntax-rules ()
        ((_ (name w h) body ...)
         (let ((name (area w h))) body ...))))))
";

const PROGRAM: &str = "\
(import (scheme base) (scheme write) (scheme char) (shapes))
;; Twice a number.
(define (double x)
  (let loop ((i 0) (total x))
    (if (= i 1) total (loop (+ i 1) (+ total x)))))
(with-shape (size 2 3)
  (displya (double size)))
";

#[test]
fn the_page_is_what_happens() {
    let client = Client::new();
    client.write("shapes.sld", LIBRARY);
    let mut page = Page {
        client,
        text: String::new(),
    };
    page.text.push_str(
        "# A session with `canny lsp`\n\n\
         This is a dialogue between an editor and the server. A test runs it and compares. Positions are\n\
         written `line:character` and ranges with a `-`, both from zero; `^` marks a place in the text.\n\n\
         `shapes.sld` lies beside the program:\n",
    );
    writeln!(
        page.text,
        "\n```scheme\n{LIBRARY}```\n\nThe editor opens `main.scm`:\n\n```scheme\n{PROGRAM}```"
    )
    .expect("a string takes all");
    let found = page.client.open("main.scm", PROGRAM);
    page.diagnostics("The server looks at it and says what is doubtful.", &found);
    let nothing = || json!({});
    page.ask(
        "What is this procedure?",
        "hover",
        "(dou^ble size)",
        nothing(),
    );
    page.ask(
        "And this macro of the library?",
        "hover",
        "(with-^shape (size",
        nothing(),
    );
    page.ask(
        "Where is the macro defined?",
        "definition",
        "(with-^shape (size",
        nothing(),
    );
    page.ask(
        "Where is the variable defined, which the macro binds?",
        "definition",
        "(double si^ze)",
        nothing(),
    );
    page.ask(
        "Names of the standard library lead to its sources.",
        "definition",
        "(i^f (=",
        nothing(),
    );
    page.ask(
        "All places of a name:",
        "references",
        "(dou^ble x)",
        json!({"context": {"includeDeclaration": true}}),
    );
    page.ask(
        "Another name for a variable:",
        "rename",
        "to^tal (loop",
        json!({"newName": "sum"}),
    );
    page.ask(
        "A name that would be caught by another binding is refused.",
        "rename",
        "to^tal (loop",
        json!({"newName": "i"}),
    );
    page.ask(
        "So are names of others.",
        "rename",
        "(i^f (=",
        json!({"newName": "when"}),
    );
    page.ask(
        "What parameters come next?",
        "signatureHelp",
        "(double ^size)",
        nothing(),
    );
    let place = page.client.place("main.scm", "(displ^ya");
    let range = json!({"start": place["position"], "end": place["position"]});
    let uri = place["textDocument"].clone();
    let params = json!({"textDocument": uri, "range": range, "context": {"diagnostics": [], "only": [
        "quickfix"]}});
    let found = page.client.request("textDocument/codeAction", params);
    page.say("What can be done about the misspelt name?");
    let answer = page.lines(&found);
    page.block(&format!("→ textDocument/codeAction at (displ^ya\n{answer}"));
    page.client.replace("main.scm", "displya", "display");
    page.client.replace("main.scm", " (scheme char)", "");
    let found = page.client.wait_for_diagnostics("main.scm");
    page.diagnostics(
        "The editor makes that change and takes the unused import away; nothing is doubtful any \
        more.",
        &found,
    );
    let place = page.client.place("main.scm", "(with-^shape (size");
    let arguments = json!([place["textDocument"]["uri"], place["position"]]);
    let params = json!({"command": "canny.expandMacro", "arguments": arguments});
    let found = page.client.request("workspace/executeCommand", params);
    page.say("What does the macro use become?");
    let answer = page.lines(&found);
    page.block(&format!(
        "→ workspace/executeCommand canny.expandMacro at (with-^shape (size\n{answer}"
    ));
    page.client.replace("main.scm", "(double size)", "(dou");
    let unclosed = page.client.wait_for_diagnostics("main.scm");
    let found = page.client.at("completion", "main.scm", "(display (dou^");
    page.say(
        "While something is being written, parens do not match up; names are known nevertheless.",
    );
    let first: Vec<Value> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .take(2)
        .cloned()
        .collect();
    let answer = page.lines(&first.into());
    page.block(&format!(
        "→ textDocument/completion at (display (dou^\n{answer}"
    ));
    page.diagnostics(
        "The error is where the list begins that is not closed.",
        &unclosed,
    );
    let path = root().join("docs/lsp-session.md");
    if std::env::var_os("CANNY_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page.text).expect("the page can be written");
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        old, page.text,
        "docs/lsp-session.md is not what happens; CANNY_BLESS=1 writes it"
    );
    assert!(page.client.end());
}
