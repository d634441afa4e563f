//! The examples of the guides and of the tutorial are run, and print what the pages say.
//!
//! | in a page | |
//! |---|---|
//! | a block `scheme` | a piece of the page's program; all of them are one program |
//! | a line `; => VALUE` behind a form | the form's value, as `write` shows it |
//! | a line `; error: TEXT` behind a form | the form raises a condition with that text |
//! | lines `; prints: TEXT` behind a form | what the form writes to the current output port |
//! | a block `LANGUAGE NAME` | a file of that name beside the program |
//! | a block `console` | lines `$ canny …`, perhaps with `< FILE`, run beside the files so far, and what they print |
//! | a block `prompt` | a session: `> ` begins an input, `. ` continues it, the rest is what is printed |
//!
//! A form that is looked at begins at the start of a line, as do imports, which may stand in any block.
//! A program without imports has the names of the prompt. In what is printed a line `…` stands for any
//! number of lines, and `…` at the end of a line for the rest of that. Errors and warnings count as
//! printed.
//!
//! On a page that says `<!-- each section is a program -->` a heading of the second level begins a new
//! program. `CANNY_GUIDE=NAME` looks at the pages with this in their name only.

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use support::{Canny, root, scratch};

/// The parts of a page that are tested, in the order of the page.
enum Example {
    Program(Program),
    File { name: String, text: String },
    Console(Vec<Exchange>),
    Prompt(Vec<Exchange>),
}

/// Something that is typed, and the lines that come of it.
struct Exchange {
    input: String,
    output: Vec<String>,
}

/// The blocks that are one program, and the lines that it prints if the page is right.
#[derive(Default)]
struct Program {
    imports: String,
    body: String,
    expected: Vec<String>,
    /// Lines since the last form that was looked at.
    pending: Vec<String>,
    in_import: bool,
    /// The line before was `; prints:`.
    in_prints: bool,
}

impl Program {
    fn line(&mut self, line: &str) {
        self.in_import = line.starts_with("(import ") || self.in_import && line.starts_with(' ');
        if self.in_import {
            self.imports.push_str(line);
            self.imports.push('\n');
            return;
        }
        if let Some(text) = line.strip_prefix("; prints:") {
            if !std::mem::replace(&mut self.in_prints, true) {
                let form = self.take_form();
                let _ = writeln!(self.body, "{form}\n(guide-fresh-line)");
            }
            self.expected
                .push(text.strip_prefix(' ').unwrap_or(text).to_owned());
            return;
        }
        self.in_prints = false;
        if let Some(value) = line.strip_prefix("; => ") {
            let form = self.take_form();
            let _ = writeln!(self.body, "(guide-write {form})\n(guide-newline)");
            self.expected.push(value.to_owned());
        } else if let Some(message) = line.strip_prefix("; error: ") {
            let form = self.take_form();
            let _ = writeln!(
                self.body,
                "(guide-display (guide-call-with-current-continuation (guide-lambda (k) \
                 (guide-with-exception-handler \
                 (guide-lambda (e) (k (guide-condition->string e))) \
                 (guide-lambda () {form})))))\n(guide-newline)"
            );
            self.expected.push(message.to_owned());
        } else {
            self.pending.push(line.to_owned());
        }
    }

    /// The last form of the lines so far; the lines before it go to the program.
    fn take_form(&mut self) -> String {
        let starts =
            |line: &String| line.starts_with(|first: char| !first.is_whitespace() && first != ';');
        let first = self.pending.iter().rposition(starts);
        let form = self.pending.split_off(first.expect("a form comes first"));
        self.finish();
        form.join("\n")
    }

    /// Puts the lines that no marker follows into the program.
    fn finish(&mut self) {
        for line in self.pending.drain(..) {
            let _ = writeln!(self.body, "{line}");
        }
    }

    fn text(&self) -> String {
        let prompt_names = if self.imports.is_empty() {
            "(import (canny base))\n"
        } else {
            ""
        };
        let names = "(import (prefix (canny base) guide-))\n";
        format!("{names}{prompt_names}{}{}", self.imports, self.body)
    }
}

/// Takes a page apart.
fn examples_of(page: &str) -> Vec<Example> {
    let sections = page.contains("<!-- each section is a program -->");
    let mut examples = Vec::new();
    let mut program = Program::default();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if sections && line.starts_with("## ") {
            examples.push(Example::Program(std::mem::take(&mut program)));
        }
        let Some(kind) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind.split_once(' ') {
            Some((_, name)) => examples.push(Example::File {
                name: name.to_owned(),
                text: block.iter().map(|line| format!("{line}\n")).collect(),
            }),
            None if kind == "scheme" => block.iter().for_each(|line| program.line(line)),
            None if kind == "console" => examples.push(Example::Console(exchanges(&block, "$ "))),
            None if kind == "prompt" => examples.push(Example::Prompt(exchanges(&block, "> "))),
            None => {}
        }
    }
    examples.push(Example::Program(program));
    examples
}

fn exchanges(block: &[&str], prompt: &str) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for line in block {
        if let Some(input) = line.strip_prefix(prompt) {
            exchanges.push(Exchange {
                input: input.to_owned(),
                output: Vec::new(),
            });
            continue;
        }
        let last = exchanges
            .last_mut()
            .expect("the block begins with an input");
        match line.strip_prefix(". ") {
            Some(more) if prompt == "> " && last.output.is_empty() => {
                last.input.push('\n');
                last.input.push_str(more);
            }
            _ => last.output.push((*line).to_owned()),
        }
    }
    exchanges
}

/// Whether the lines are the expected ones, where `…` stands for any number of lines or for the rest of one.
fn agree(lines: &[String], expected: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| agree(&lines[skipped..], rest))
        }
        Some((first, rest)) => lines.split_first().is_some_and(|(line, more)| {
            let same = match first.strip_suffix('…') {
                Some(start) => line.starts_with(start),
                None => line == first,
            };
            same && agree(more, rest)
        }),
    }
}

/// Runs `canny` in a directory, with both kinds of output in the order in which they came.
fn output_of(directory: &Path, words: &[&str], input: &str) -> Vec<String> {
    let path = directory.join("output");
    let output = std::fs::File::create(&path).expect("a file can be written");
    let input_path = directory.join("input");
    std::fs::write(&input_path, input).expect("a file can be written");
    let mut child = Canny::new(directory.to_owned(), words)
        .environment("NO_COLOR", "1")
        .command()
        .stdin(std::fs::File::open(&input_path).expect("the file can be read"))
        .stderr(output.try_clone().expect("the file can be shared"))
        .stdout(output)
        .spawn()
        .expect("canny starts");
    let status = support::wait(&mut child);
    assert!(status.is_some(), "canny {words:?} hangs");
    let text = std::fs::read_to_string(path).expect("the output is UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// Runs a line of a `console` block.
fn run_command(directory: &Path, line: &str) -> Vec<String> {
    let (command, input) = line.split_once(" < ").unwrap_or((line, ""));
    let input = match input {
        "" => String::new(),
        name => std::fs::read_to_string(directory.join(name)).expect("the input can be read"),
    };
    let words: Vec<&str> = command.split(' ').collect();
    match words.split_first() {
        Some((&"canny", words)) => output_of(directory, words, &input),
        Some((&"cat", [name])) => {
            let text = std::fs::read_to_string(directory.join(name)).expect("a file to show");
            text.lines().map(str::to_owned).collect()
        }
        _ => panic!("only `canny` and `cat` may be run: {line}"),
    }
}

/// Runs the examples of a page. Gives how many results were compared, and what was wrong.
fn check_page(text: &str) -> (usize, Vec<String>) {
    let directory = scratch();
    let mut count = 0;
    let mut wrong = Vec::new();
    let mut compare = |what: &str, lines: &[String], expected: &[String]| {
        count += expected.len().max(1);
        if !agree(lines, expected) {
            let (lines, expected) = (lines.join("\n"), expected.join("\n"));
            wrong.push(format!("{what}\nprints\n{lines}\ninstead of\n{expected}\n"));
        }
    };
    for example in examples_of(text) {
        match example {
            Example::File { name, text } => {
                let path = directory.join(name);
                let parent = path.parent().expect("a file is in a directory");
                std::fs::create_dir_all(parent).expect("a directory can be made");
                std::fs::write(path, text).expect("a file can be written");
            }
            Example::Console(exchanges) => {
                for Exchange { input, output } in exchanges {
                    compare(&input, &run_command(&directory, &input), &output);
                }
            }
            Example::Prompt(exchanges) => {
                let inputs: String = exchanges.iter().map(|e| format!("{}\n", e.input)).collect();
                let expected: Vec<String> =
                    exchanges.iter().flat_map(|e| e.output.clone()).collect();
                compare(
                    "a session",
                    &output_of(&directory, &["repl"], &inputs),
                    &expected,
                );
            }
            Example::Program(mut program) => {
                program.finish();
                if !program.body.trim().is_empty() {
                    std::fs::write(directory.join("page.scm"), program.text())
                        .expect("the program can be written");
                    let lines = output_of(&directory, &["page.scm"], "");
                    compare("the program", &lines, &program.expected);
                }
            }
        }
    }
    (count, wrong)
}

/// The pages of a directory of the documentation whose examples are marked.
fn pages(directory: &str) -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs").join(directory))
        .expect("the directory exists")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

fn check(directory: &str, unmarked: &[&str]) {
    let only = std::env::var("CANNY_GUIDE").unwrap_or_default();
    let mut wrong = String::new();
    for path in pages(directory) {
        let page = path.file_stem().expect("a name").to_string_lossy();
        if unmarked.contains(&&*page) || !page.contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("the page can be read");
        let (count, failures) = check_page(&text);
        let has_examples = text.contains("```scheme\n");
        assert!(count >= 5 || !has_examples, "{page}: {count} examples");
        for failure in failures {
            let _ = writeln!(wrong, "{page}: {failure}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn guides_say_what_is_true() {
    // These show listings of tools; tests of their own look at three of them.
    let unmarked = [
        "packages",
        "prompt",
        "why-is-it-slow",
        "specializer-examples",
        "generic-functions",
    ];
    check("guide", &unmarked);
}

#[test]
fn the_tutorial_says_what_is_true() {
    check("tutorial", &["README"]);
}

#[test]
fn a_wrong_page_is_found() {
    let wrong = [
        "```scheme\n(+ 1 2)\n; => 4\n```\n",
        "```scheme\n(display 1)\n; prints: 2\n```\n",
        "```scheme\n(car '())\n; error: something else\n```\n",
        "```scheme a.scm\n(display 1)\n```\n```console\n$ canny a.scm\n2\n```\n",
        "```prompt\n> (+ 1 2)\n$1 = 4\n```\n",
    ];
    for page in wrong {
        let (_, failures) = check_page(page);
        assert_eq!(failures.len(), 1, "{page}");
    }
}
