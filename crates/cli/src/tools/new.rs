//! `canny new`: the beginning of a project.
//!
//! The directory is made under another name beside the place, and renamed when it is whole, so that
//! there is never a part of a project.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lexopt::{Arg, Parser};

use super::Tool;
use crate::environment::Environment;
use crate::exit_code;

pub const TOOL: Tool = Tool {
    name: "new",
    operands: "[--library|--program] NAME",
    summary: "Makes a directory with the beginning of a project",
    options: &[
        (
            "--program",
            "a program with a library; so it is unless given",
        ),
        ("--library", "a library without a program"),
    ],
    details: "NAME is the name of the project, of its directory and of its first library: small letters, \
        digits and '-'.\n\
              It may have a directory in front. A place that exists already is an error and is left alone.",
    run,
};

/// First parts of names of libraries that are not for projects.
const TAKEN: [&str; 6] = ["canny", "scheme", "srfi", "rnrs", "main", "tests"];

/// Characters of a name at most.
const NAME_CHARACTERS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Program,
    Library,
}

fn run(mut parser: Parser, _: &'static Environment) -> Result<u8, String> {
    let mut kind = None;
    let mut place: Option<PathBuf> = None;
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        let wanted = match argument {
            Arg::Long("program") => Kind::Program,
            Arg::Long("library") => Kind::Library,
            Arg::Value(path) if place.is_none() => {
                place = Some(path.into());
                continue;
            }
            other => return Err(other.unexpected().to_string()),
        };
        if kind.is_some_and(|kind| kind != wanted) {
            return Err("a project is a program or a library".to_owned());
        }
        kind = Some(wanted);
    }
    let place = place.ok_or("which name?")?;
    let name = checked_name(&place)?;
    let kind = kind.unwrap_or(Kind::Program);
    if let Err(error) = make(&place, &files(name, kind)) {
        let place = place.display();
        return Ok(match error.kind() {
            io::ErrorKind::AlreadyExists => {
                eprintln!("canny new: '{place}' exists already; it is left alone");
                exit_code::OS
            }
            _ => {
                eprintln!("canny new: cannot make {place}: {error}");
                exit_code::OS
            }
        });
    }
    eprintln!("{} is made; to try it:", place.display());
    eprintln!("  cd {}", place.display());
    if kind == Kind::Program {
        eprintln!("  canny main.scm");
    }
    eprintln!("  canny test");
    Ok(0)
}

/// The name in a path.
fn checked_name(place: &Path) -> Result<&str, String> {
    let last = place.file_name().filter(|_| {
        // `name/..` and `name/.` have no last name, and `name/` has.
        !matches!(
            place.components().next_back(),
            Some(std::path::Component::ParentDir | std::path::Component::CurDir)
        )
    });
    let Some(name) = last.and_then(OsStr::to_str) else {
        return Err(format!("'{}' ends in no name", place.display()));
    };
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(is_fine)
        || name.ends_with('-')
    {
        return Err(format!(
            "a name has small letters, digits and '-', and begins with a letter, not '{name}'"
        ));
    }
    if name.len() > NAME_CHARACTERS_MAX {
        return Err(format!(
            "a name has at most {NAME_CHARACTERS_MAX} characters"
        ));
    }
    if TAKEN.contains(&name) {
        return Err(format!("the name '{name}' is taken"));
    }
    Ok(name)
}

/// Paths and texts of what a project begins with.
fn files(name: &str, kind: Kind) -> Vec<(String, String)> {
    let what = match kind {
        Kind::Program => "A program.",
        Kind::Library => "A library.",
    };
    let mut files = vec![
        (
            "package.scm".to_owned(),
            format!(
                "(package\n (name {name})\n (version \"0.1.0\")\n (description \"{what}\")\n (license \
                 \"\")\n \
                (authors \"\")\n (libraries \"src\")\n (depends))\n"
            ),
        ),
        (
            format!("src/{name}.sld"),
            format!(
                ";;; ({name}): what this library is for.\n\n(define-library ({name})\n  (export greeting)\n  \
                (import (scheme base))\n  (begin\n\n    ;; A greeting for somebody.\n    \
                (define (greeting name)\n      (string-append \"Hello, \" name \"!\"))))\n"
            ),
        ),
        (
            format!("tests/{name}.scm"),
            format!(
                "(import (scheme base) (canny test) ({name}))\n\n(test-group \"greeting\"\n  \
                (test \"Hello, Ada!\" (greeting \"Ada\"))\n  (test \"of nobody\" \"Hello, !\" (greeting \
                \"\")))\n"
            ),
        ),
        ("README.md".to_owned(), readme(name, what, kind)),
        (
            ".gitignore".to_owned(),
            format!("# What 'canny compile main.scm -o {name}' writes.\n/{name}\n"),
        ),
    ];
    if kind == Kind::Program {
        let text = format!(
            "(import (scheme base) (scheme write) (scheme process-context) ({name}))\n\n\
            (define (main arguments)\n  (for-each (lambda (name)\n              (display (greeting \
            name))\n              \
            (newline))\n            (if (null? arguments)\n                '(\"world\")\n                \
            arguments)))\n\n\
            (main (cdr (command-line)))\n"
        );
        files.push(("main.scm".to_owned(), text));
    } else {
        files.retain(|(path, _)| path != ".gitignore");
    }
    files
}

fn readme(name: &str, what: &str, kind: Kind) -> String {
    let mut text = format!("# {name}\n\n{what}\n\n```sh\n");
    if kind == Kind::Program {
        text.push_str("canny main.scm Ada                # run it\n");
    }
    text.push_str("canny test                        # run the tests\n");
    text.push_str("canny fmt                         # lay the sources out\n");
    if kind == Kind::Program {
        let command = format!("canny compile main.scm -o {name}");
        text.push_str(&format!("{command:<33} # make one executable file\n"));
    }
    text.push_str("```\n");
    text
}

/// Makes a directory with these files, all of it or nothing.
fn make(place: &Path, files: &[(String, String)]) -> io::Result<()> {
    if fs::symlink_metadata(place).is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = place.with_file_name(name);
    fs::create_dir(&temporary)?;
    let written = files.iter().try_for_each(|(path, text)| {
        let path = temporary.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)
    });
    // An empty directory that was made meanwhile would be replaced, and nothing would be lost.
    let made = written.and_then(|()| fs::rename(&temporary, place));
    if made.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for name in ["a", "hello", "a-1", "dir/hello", "/tmp/x", "hello/"] {
            assert!(checked_name(Path::new(name)).is_ok(), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "", ".", "..", "/", "Hello", "1a", "-a", "a-", "a b", "a.b", "é", "a\n", "scheme",
            "canny", "a/..", "main", &long,
        ] {
            assert!(checked_name(Path::new(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn sources_are_laid_out() {
        for kind in [Kind::Program, Kind::Library] {
            for (path, text) in files("a-rather-long-name-of-a-project", kind) {
                if path.ends_with(".scm") || path.ends_with(".sld") {
                    let laid_out = canny_format::format(&text).expect("it is balanced");
                    assert_eq!(laid_out, text, "{path}");
                }
            }
        }
    }
}
