//! The wrong programs of `docs/messages`: what Canny says of them stands there, beside what other
//! implementations say. `CANNY_BLESS=1` writes our part and the page; `CANNY_RIVALS=1` also runs the
//! other implementations that are installed and writes theirs.

mod support;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Canny, blessing, programs, root, scratch};

/// An implementation that is not ours.
struct Rival {
    name: &'static str,
    /// Also the ending of the files with its messages.
    command: &'static str,
    arguments: &'static [&'static str],
    /// The arguments that print its version.
    version: &'static [&'static str],
    /// Stands in place of the first line, which is a comment.
    first_line: Option<&'static str>,
}

const RIVALS: [Rival; 3] = [
    Rival {
        name: "Guile",
        command: "guile",
        arguments: &["--fresh-auto-compile"],
        version: &["-c", "(display (version))"],
        first_line: None,
    },
    Rival {
        name: "Racket",
        command: "racket",
        arguments: &[],
        version: &["-e", "(display (version))"],
        first_line: Some("#lang racket/base"),
    },
    Rival {
        name: "Chez Scheme",
        command: "chezscheme",
        arguments: &["--script"],
        version: &["--version"],
        first_line: None,
    },
];

/// Lines of a message that are shown.
const LINES_MAX: usize = 30;

fn directory() -> PathBuf {
    root().join("docs/messages")
}

fn name_of(program: &Path) -> String {
    let name = program.file_name().expect("a program has a name");
    name.to_string_lossy().into_owned()
}

/// Canny's message about a program.
fn our_message(program: &Path) -> String {
    let name = name_of(program);
    let text = std::fs::read(program).expect("the program can be read");
    let outcome = Canny::new(scratch(), &[&name]).file(&name, &text).run();
    outcome.errors.trim_end().to_owned() + "\n"
}

/// Another implementation's message about a program; `None` if it is not installed.
fn rival_message(rival: &Rival, program: &Path) -> Option<String> {
    let name = name_of(program);
    let text = std::fs::read_to_string(program).ok()?;
    let text = match rival.first_line {
        Some(line) => format!("{line}\n{}", text.split_once('\n')?.1),
        None => text,
    };
    let directory = scratch();
    std::fs::write(directory.join(&name), text).ok()?;
    let output = Command::new(rival.command)
        .args(rival.arguments)
        .arg(&name)
        .current_dir(&directory)
        .env("XDG_CACHE_HOME", directory.join("cache"))
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let here = directory.canonicalize().ok()?.display().to_string() + "/";
    let text = String::from_utf8_lossy(&output.stderr).replace(&here, "");
    let notes = [
        ";;; note: ",
        ";;;       or ",
        ";;; compiling ",
        ";;; compiled ",
    ];
    let mut lines: Vec<&str> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !notes.iter().any(|note| line.starts_with(note)))
        .collect();
    if lines.len() > LINES_MAX {
        lines.truncate(LINES_MAX);
        lines.push("…");
    }
    Some(lines.join("\n").trim().to_owned() + "\n")
}

fn version(rival: &Rival) -> String {
    let output = Command::new(rival.command).args(rival.version).output();
    let output = output.map(|output| [output.stdout, output.stderr].concat());
    let text = output.unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// Runs the other implementations and keeps what they say.
fn write_rivals(programs: &[PathBuf]) {
    let mut versions = String::new();
    for rival in &RIVALS {
        let version = version(rival);
        if version.is_empty() {
            continue;
        }
        let _ = writeln!(versions, "{} {version}", rival.name);
        for program in programs {
            if let Some(message) = rival_message(rival, program) {
                let path = program.with_extension(rival.command);
                std::fs::write(path, message).expect("the message can be written");
            }
        }
    }
    std::fs::write(directory().join("versions.txt"), versions)
        .expect("the versions can be written");
}

/// Whether a message names a line of the program, in one of the ways that the implementations have.
fn names_line(message: &str, name: &str, line: &str) -> bool {
    message.contains(&format!("{name}:{line}:"))
        || message.contains(&format!("at line {line}, char "))
        || message.contains(&format!("on line {line}"))
}

/// Title of a program and the line of its mistake, as its first line has them: `;;; TITLE (line N).`
fn heading(program: &str) -> (&str, &str) {
    let first = program.lines().next().unwrap_or_default();
    let first = first.trim_start_matches(';').trim();
    let (title, rest) = first.split_once(" (line ").unwrap_or((first, ""));
    (title, rest.trim_end_matches(['.', ')']))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The page, from the programs and the messages that are kept beside them.
fn page(programs: &[PathBuf]) -> String {
    let versions = read(&directory().join("versions.txt"));
    let versions: Vec<&str> = versions.lines().collect();
    let mut page = format!(
        "# Twenty wrong programs\n\n\
        What Canny prints on standard error, and what {} print.\n\
        Racket's programs begin with `#lang racket/base` in place of the comment; Guile compiles before it\n\
        runs; of its output the lines that tell of that are left out. Chez Scheme runs them by `--script`.\n\
        Racket's errortrace and Chez Scheme's inspector tell more; they are not on by themselves.\n\n\
        This page is written by `crates/cli/tests/wrong_programs.rs`, which also checks that Canny still\n\
        prints this.\n\n",
        versions.join(", ")
    );
    let implementations: Vec<(&str, &str)> = std::iter::once(("Canny", "canny"))
        .chain(RIVALS.iter().map(|rival| (rival.name, rival.command)))
        .collect();
    page.push_str("| messages that name the line of the mistake | |\n|---|---|\n");
    for (title, ending) in &implementations {
        let count = programs
            .iter()
            .filter(|program| {
                let message = read(&program.with_extension(ending));
                let text = read(program);
                names_line(&message, &name_of(program), heading(&text).1)
            })
            .count();
        let _ = writeln!(page, "| {title} | {count} of {} |", programs.len());
    }
    for program in programs {
        let text = read(program);
        let title = heading(&text).0;
        let _ = write!(page, "\n## {title}\n\n```scheme\n{text}```\n");
        for (name, ending) in &implementations {
            let message = read(&program.with_extension(ending));
            let _ = write!(page, "\n{name}:\n\n```text\n{message}```\n");
        }
    }
    page
}

#[test]
fn messages_are_those_of_the_page() {
    let programs = programs(&directory());
    if std::env::var_os("CANNY_RIVALS").is_some_and(|value| value == "1") {
        write_rivals(&programs);
    }
    let mut wrong = Vec::new();
    for program in &programs {
        let message = our_message(program);
        let path = program.with_extension("canny");
        if blessing() {
            std::fs::write(&path, &message).expect("the message can be written");
        }
        let expected = read(&path);
        if message != expected {
            wrong.push(format!(
                "== {}\n{message}== expected\n{expected}",
                path.display()
            ));
        }
    }
    let page = page(&programs);
    let path = directory().join("README.md");
    if blessing() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    if read(&path) != page {
        wrong.push("docs/messages/README.md is not made of these files".to_owned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(programs.len(), 20);
}
