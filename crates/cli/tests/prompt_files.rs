//! The prompt without a terminal: every `tests/prompt/*.scm` is the input of `canny repl`, and what is
//! printed, messages in between, is compared with the `.expected` file beside it. `CANNY_BLESS=1`
//! writes those files; review the difference.
//!
//! The walk in `docs/repl-walk.md` is run on a dumb terminal, where the screen shows what the page shows.

mod support;
#[path = "support/terminal.rs"]
mod terminal;

use std::path::Path;

use support::{Canny, blessing, canny, programs, root, scratch};
use terminal::Terminal;

/// A library for the files.
const LIBRARY: &str = "(define-library (shapes)
  (export area)
  (import (scheme base))
  (begin
    (define pi 3)
    (define (area r) (* pi (square r)))))
";

/// The output of a file, on one stream with the messages.
fn transcript(path: &Path) -> String {
    let directory = scratch();
    std::fs::write(directory.join("shapes.sld"), LIBRARY).expect("a file can be written");
    let input = std::fs::File::open(path).expect("the test can be read");
    let output = directory.join("both");
    let both = std::fs::File::create(&output).expect("a file can be written");
    let mut command = Canny::new(directory, &["repl"]).command();
    let errors = both.try_clone().expect("descriptors can be duplicated");
    let status = command
        .stdin(input)
        .stdout(both)
        .stderr(errors)
        .status()
        .expect("canny runs");
    let printed = std::fs::read(output).expect("the output can be read");
    let code = status
        .code()
        .map_or("none".to_owned(), |code| code.to_string());
    format!(
        "{}--- exit code: {code}\n",
        String::from_utf8_lossy(&printed)
    )
}

#[test]
fn files() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prompt");
    let mut wrong = Vec::new();
    for path in programs(&directory) {
        let transcript = transcript(&path);
        let expectation = path.with_extension("expected");
        if blessing() {
            std::fs::write(&expectation, &transcript).expect("the expectation can be written");
        }
        let expected = std::fs::read_to_string(&expectation).unwrap_or_default();
        if transcript != expected {
            let path = path.display();
            wrong.push(format!("== {path}\n{transcript}\n== expected\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn procedures_are_disassembled() {
    let text = "(import (only (canny primitives) %specialize))
(define (double x) (* 2 x))
,disassemble double
(%specialize double)
,disassemble double
,disassemble 5
,x car
";
    let outcome = canny(&["repl"]).input(text).run().exits_with(0);
    for part in [
        "double (x)",
        "not compiled to machine code: not hot enough",
        "compiled, entered at its start",
        "graph of double",
        "segment 0 of double",
        "It is no procedure.",
        "car r1 r0",
    ] {
        assert!(outcome.output.contains(part), "{part}: {outcome:#?}");
    }
}

#[test]
fn long_and_binary_input_is_read() {
    let long = format!("(string-length \"{}\")\n(+ 1 2)\n", "x".repeat(10 << 20));
    let outcome = canny(&["repl"]).input(long).run().exits_with(0);
    assert_eq!(outcome.output, "$1 = 10485760\n$2 = 3\n");
    let deep = format!("{}\n(+ 1 2)\n", "(".repeat(1 << 20));
    canny(&["repl"]).input(deep).run().exits_with(65);
    let many = format!("{}\n", "(car '())\n".repeat(300));
    let outcome = canny(&["repl"]).input(many).run().exits_with(0);
    assert!(outcome.errors.contains("prompt 300:1:1"), "{outcome:?}");
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    canny(&["repl"]).input(bytes).run();
    let outcome = canny(&["repl"])
        .input(b"\xff\xfe\n(+ 1 2)\n")
        .run()
        .exits_with(0);
    assert_eq!(outcome.output, "$1 = 3\n");
    let unfinished = canny(&["repl"]).input("(+ 1 2)\n(list 1").run();
    unfinished.exits_with(65).complains("prompt 2:1:1");
}

/// The lines of the page's transcript.
fn walk() -> (String, String) {
    let path = root().join("docs/repl-walk.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let (_, rest) = page
        .split_once("```text\n")
        .expect("the page has a transcript");
    let (text, _) = rest.split_once("\n```").expect("the transcript ends");
    (page.clone(), text.to_owned())
}

/// The input that a line of the transcript shows.
fn typed(line: &str) -> Option<&str> {
    let prompt_end = line.find("> ")? + 2;
    let prompt = &line[..prompt_end - 2];
    let is_prompt = prompt.is_empty()
        || (prompt.ends_with(']') || prompt.ends_with(')')) && prompt.starts_with(['[', '(']);
    is_prompt.then(|| &line[prompt_end..])
}

/// Times differ from run to run.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.split_once(" elapsed, ") {
        Some(_) => "; time".to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_walk_goes_as_the_page_shows() {
    let (page, expected) = walk();
    let directory = scratch();
    std::fs::write(directory.join("shapes.sld"), LIBRARY).expect("a file can be written");
    let mut command = Canny::new(directory, &[]).command();
    command.env("TERM", "dumb");
    let mut terminal = Terminal::start(command, 80, 24);
    for line in expected.lines() {
        let input = typed(line).or_else(|| line.strip_prefix(". "));
        let Some(input) = input else { continue };
        let prompt = line[..line.len() - input.len()].trim_end().to_owned();
        terminal.wait_for_line(&prompt);
        let before = terminal.written().len();
        terminal.keys(format!("{input}\n"));
        // The terminal shows what was typed before anything comes of it.
        terminal.wait_until(input, |_| terminal.written().len() > before + input.len());
    }
    terminal.wait_for_line(">");
    terminal.keys("\x04");
    let screen = terminal.screen();
    assert_eq!(terminal.end(), Some(0));
    let found = screen
        .trim_end()
        .trim_end_matches('>')
        .trim_end()
        .to_owned();
    if blessing() {
        let new = page.replace(&expected, &found);
        std::fs::write(root().join("docs/repl-walk.md"), new).expect("the page can be written");
        return;
    }
    assert_eq!(without_times(&found), without_times(&expected));
}
