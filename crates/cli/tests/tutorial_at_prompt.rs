//! The tutorial typed form by form at a real prompt: a terminal is driven, and what a person sees after
//! each form is what the page says. `guides.rs` runs the same pages as programs; it says how they are
//! marked.
//!
//! | on the page | at the prompt |
//! |---|---|
//! | a line `; => VALUE` behind a form | the last thing that is seen is `$N = VALUE`, perhaps in several lines |
//! | lines `; prints: TEXT` behind a form | the forms since the last mark show that text |
//! | a line `; error: TEXT` behind a form | the message has that text, and the prompt is a level deeper |
//! | a form without a mark | no message is seen |
//! | a block `prompt` | a prompt of its own shows what the block shows |
//! | a block `scheme NAME` | a file of that name beside |
//!
//! A form is typed as a person does it: line by line, without blanks at their start, for which the
//! prompt is there. `CANNY_GUIDE=NAME` looks at the pages with this in their name only.

mod support;
#[path = "support/terminal.rs"]
mod terminal;

use std::path::Path;
use std::sync::Mutex;

use support::{Canny, root, scratch};
use terminal::Terminal;

/// Wide enough for every line of the pages, so that one row is one line.
const COLUMNS: u16 = 250;

/// The result that a page gives for a form.
enum Mark {
    Value(String),
    Prints(Vec<String>),
    Error(String),
}

/// The steps of typing a page, in its order.
enum Step {
    /// A new prompt, and whether it is one of the page's program.
    Begin,
    File {
        name: String,
        text: String,
    },
    Form {
        text: String,
        mark: Option<Mark>,
    },
    /// An input of a block `prompt`, and the lines that follow it.
    Exchange {
        input: String,
        output: Vec<String>,
    },
}

/// Takes a page apart.
fn steps_of(page: &str) -> Vec<Step> {
    let sections = page.contains("<!-- each section is a program -->");
    let (mut steps, mut program) = (Vec::new(), vec![Step::Begin]);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if sections && line.starts_with("## ") {
            program.push(Step::Begin);
        }
        let Some(kind) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind.split_once(' ') {
            // A file is there before the first form is typed.
            Some((_, name)) => steps.push(Step::File {
                name: name.to_owned(),
                text: block.iter().map(|line| format!("{line}\n")).collect(),
            }),
            None if kind == "scheme" => forms(&block, &mut program),
            None if kind == "prompt" => {
                steps.push(Step::Begin);
                exchanges(&block, &mut steps);
            }
            None => {}
        }
    }
    // The page's program is one session; the blocks between are sessions of their own.
    steps.extend(program);
    steps
}

/// The forms of a block, which begin at the start of a line, with their marks.
fn forms(block: &[&str], steps: &mut Vec<Step>) {
    let mut is_in_form = false;
    for line in block {
        let set = |steps: &mut Vec<Step>, new: Mark| match steps.last_mut() {
            Some(Step::Form { mark, .. }) => *mark = Some(new),
            _ => panic!("a mark stands behind a form: {line}"),
        };
        if let Some(value) = line.strip_prefix("; => ") {
            set(steps, Mark::Value(value.to_owned()));
        } else if let Some(message) = line.strip_prefix("; error: ") {
            set(steps, Mark::Error(message.to_owned()));
        } else if let Some(text) = line.strip_prefix("; prints:") {
            let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
            match steps.last_mut() {
                Some(Step::Form {
                    mark: Some(Mark::Prints(texts)),
                    ..
                }) => texts.push(text),
                _ => set(steps, Mark::Prints(vec![text])),
            }
        } else if line.starts_with(|first: char| !first.is_whitespace() && first != ';') {
            is_in_form = true;
            steps.push(Step::Form {
                text: (*line).to_owned(),
                mark: None,
            });
            continue;
        } else if is_in_form
            && line.starts_with(' ')
            && let Some(Step::Form { text, mark: None }) = steps.last_mut()
        {
            text.push('\n');
            text.push_str(line.trim_start());
            continue;
        }
        is_in_form = is_in_form && line.is_empty();
    }
}

fn exchanges(block: &[&str], steps: &mut Vec<Step>) {
    for line in block {
        if let Some(input) = line.strip_prefix("> ") {
            steps.push(Step::Exchange {
                input: input.to_owned(),
                output: Vec::new(),
            });
            continue;
        }
        let Some(Step::Exchange { input, output }) = steps.last_mut() else {
            panic!("the block begins with an input");
        };
        match line.strip_prefix(". ") {
            Some(more) if output.is_empty() => {
                input.push('\n');
                input.push_str(more.trim_start());
            }
            _ => output.push((*line).to_owned()),
        }
    }
}

/// A prompt on a terminal.
struct Prompt {
    terminal: Terminal,
    /// The row of the newest prompt.
    row: usize,
}

/// Whether a row is a prompt without an input.
fn is_prompt(row: &str) -> bool {
    let level = row.strip_suffix('>');
    level.is_some_and(|level| level.is_empty() || level.starts_with('[') && level.ends_with(']'))
}

impl Prompt {
    fn open(directory: &Path) -> Prompt {
        let mut command = Canny::new(directory.to_owned(), &[]).command();
        command
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env("CANNY_HISTORY", "");
        let terminal = Terminal::start(command, COLUMNS, 50);
        terminal.wait_until("prompt", |screen| {
            screen.lines().last().is_some_and(is_prompt)
        });
        let row = terminal.cursor().0;
        Prompt { terminal, row }
    }

    /// Types an input line by line; gives the rows that are seen between it and the next prompt.
    fn type_input(&mut self, text: &str) -> Vec<String> {
        for line in text.lines() {
            self.terminal.keys(line);
            self.terminal.keys("\r");
        }
        let before = self.row;
        self.terminal
            .wait_until(&format!("prompt behind {text}"), |_| {
                let (row, _) = self.terminal.cursor();
                row > before
                    && self
                        .terminal
                        .rows()
                        .get(row)
                        .is_some_and(|row| is_prompt(row))
            });
        self.row = self.terminal.cursor().0;
        let rows = self.terminal.rows();
        rows[before + text.lines().count()..self.row].to_vec()
    }

    fn close(mut self) {
        let is_deep = |terminal: &Terminal| terminal.rows()[terminal.cursor().0].starts_with('[');
        while is_deep(&self.terminal) {
            self.type_input(",q");
        }
        self.terminal.keys("\x04");
        assert_eq!(self.terminal.end(), Some(0));
    }
}

fn without_blanks(text: &str) -> String {
    text.replace(char::is_whitespace, "")
}

/// Whether a text is what a page says, where `…` stands for the rest. Values may be laid out in several
/// lines.
fn is_as(found: &str, expected: &str) -> bool {
    let found = without_blanks(found);
    match expected.trim_end().strip_suffix('…') {
        Some(start) => found.starts_with(&without_blanks(start)),
        None => found == without_blanks(expected),
    }
}

/// Whether rows are lines of a page, where `…` stands for any number of lines or for the rest of one.
fn agree(rows: &[String], expected: &[String]) -> bool {
    match expected.split_first() {
        None => rows.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=rows.len()).any(|skipped| agree(&rows[skipped..], rest))
        }
        Some((first, rest)) => rows.split_first().is_some_and(|(row, more)| {
            let is_same = match first.strip_suffix('…') {
                Some(start) => row.starts_with(start),
                None => row.trim_end() == first.trim_end(),
            };
            is_same && agree(more, rest)
        }),
    }
}

/// The value that rows end with, without its name.
fn value_of(rows: &[String]) -> Option<(usize, String)> {
    let start = rows.iter().rposition(|row| row.starts_with('$'))?;
    let text = rows[start..].join("\n");
    let (name, value) = text.split_once(" = ")?;
    let is_name = name[1..].bytes().all(|byte| byte.is_ascii_digit());
    is_name.then(|| (start, value.to_owned()))
}

/// The expectation of a form's mark that the rows since the last mark do not meet; nothing if they
/// do.
fn against(mark: Option<&Mark>, seen: &[String], before: &[String]) -> Option<String> {
    let is_error = |row: &&String| row.contains(": error[");
    let error = seen.iter().find(is_error);
    match mark {
        Some(Mark::Error(text)) => {
            let message = error?.split_once("]: ").map_or("", |(_, message)| message);
            (!is_as(message, text)).then(|| format!("the error: {text}"))
        }
        _ if error.is_some() => Some("no error".to_owned()),
        None => None,
        Some(Mark::Value(value)) => {
            let found = value_of(seen);
            let is_so = found.is_some_and(|(_, found)| is_as(&found, value));
            (!is_so).then(|| format!("the value {value}"))
        }
        Some(Mark::Prints(lines)) => {
            // A value is shown as well. Of several forms each has lines of its own, where a program
            // would continue one.
            let end = value_of(seen).map_or(seen.len(), |(start, _)| start);
            let all: String = before.iter().chain(&seen[..end]).cloned().collect();
            let is_so = agree(&seen[..end], lines)
                || without_blanks(&all) == without_blanks(&lines.concat());
            (!is_so).then(|| format!("to print {}", lines.join("\n")))
        }
    }
}

/// Types what is on a page; gives how many forms were compared, and what was wrong.
fn type_page(page: &str) -> (usize, Vec<String>) {
    let directory = scratch();
    let (mut count, mut wrong) = (0, Vec::new());
    let mut prompt: Option<Prompt> = None;
    // Rows of forms without a mark.
    let mut before: Vec<String> = Vec::new();
    for step in steps_of(page) {
        match step {
            Step::File { name, text } => {
                let path = directory.join(name);
                let parent = path.parent().expect("a file is in a directory");
                std::fs::create_dir_all(parent).expect("a directory can be made");
                std::fs::write(path, text).expect("a file can be written");
            }
            Step::Begin => {
                if let Some(prompt) = prompt.replace(Prompt::open(&directory)) {
                    prompt.close();
                }
            }
            Step::Form { text, mark } => {
                let typed = prompt.as_mut().expect("a prompt is open");
                let seen = typed.type_input(&text);
                if let Some(expected) = against(mark.as_ref(), &seen, &before) {
                    let (seen, before) = (seen.join("\n"), before.join("\n"));
                    wrong.push(format!(
                        "{text}\nshows\n{before}\n--\n{seen}\ninstead of {expected}\n"
                    ));
                }
                count += usize::from(mark.is_some());
                match mark {
                    None => before.extend(seen),
                    Some(_) => before.clear(),
                }
            }
            Step::Exchange { input, output } => {
                let typed = prompt.as_mut().expect("a prompt is open");
                let seen = typed.type_input(&input);
                count += 1;
                if !agree(&seen, &output) {
                    let (seen, output) = (seen.join("\n"), output.join("\n"));
                    wrong.push(format!("{input}\nshows\n{seen}\ninstead of\n{output}\n"));
                }
            }
        }
    }
    if let Some(prompt) = prompt {
        prompt.close();
    }
    (count, wrong)
}

#[test]
fn the_tutorial_can_be_typed() {
    let only = std::env::var("CANNY_GUIDE").unwrap_or_default();
    let mut pages: Vec<_> = std::fs::read_dir(root().join("docs/tutorial"))
        .expect("the directory exists")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter(|path| path.to_string_lossy().contains(&only))
        .collect();
    pages.sort();
    pages.reverse();
    let (pages, results) = (Mutex::new(pages), Mutex::new((0, String::new())));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(path) = pages.lock().unwrap().pop() else {
                        return;
                    };
                    let text = std::fs::read_to_string(&path).expect("the page can be read");
                    let (count, wrong) = type_page(&text);
                    let name = path.file_stem().expect("a name").to_string_lossy();
                    let mut results = results.lock().unwrap();
                    results.0 += count;
                    for one in wrong {
                        results.1.push_str(&format!("== {name}: {one}"));
                    }
                }
            });
        }
    });
    let (count, wrong) = results.into_inner().unwrap();
    println!("{count} marks were compared");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 250 || !only.is_empty(), "{count} marks");
}

#[test]
fn a_wrong_page_is_found() {
    let wrong = [
        "```scheme\n(+ 1 2)\n; => 4\n```\n",
        "```scheme\n(define (f)\n  1)\n(f)\n; => 2\n```\n",
        "```scheme\n(display 1)\n; prints: 2\n```\n",
        "```scheme\n(display 1)\n(newline)\n; prints: 2\n```\n",
        "```scheme\n(car '())\n; error: something else\n```\n",
        "```scheme\n(car '())\n```\n",
        "```prompt\n> (+ 1 2)\n$1 = 4\n```\n",
    ];
    for page in wrong {
        let (_, failures) = type_page(page);
        assert_eq!(failures.len(), 1, "{page}");
    }
    let right = "```scheme\n(display \"a\")\n(display 'b)\n(newline)\n; prints: ab\n(car '())\n; error: car: \
        argument 1 is not a pair: ()\n```\n";
    assert_eq!(type_page(right), (2, Vec::new()));
}
