//! Packages as a user meets them: the guide's walk, runs in and below a project, and wrong command lines.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Canny, Outcome, root, scratch};

/// A step of a walk.
#[derive(Debug)]
enum Step {
    File {
        path: String,
        text: String,
    },
    Command {
        words: String,
        expected: Vec<String>,
    },
}

/// The files and commands of a page.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut file: Option<String> = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("File `") {
            file = rest.strip_suffix("`:").map(str::to_owned);
        }
        let Some(kind) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match (kind, file.take()) {
            ("scheme", Some(path)) => steps.push(Step::File {
                path,
                text: block.join("\n") + "\n",
            }),
            ("console", _) => {
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(words), _) => steps.push(Step::Command {
                            words: words.to_owned(),
                            expected: Vec::new(),
                        }),
                        (None, Some(Step::Command { expected, .. })) => {
                            expected.push(line.to_owned());
                        }
                        _ => panic!("a block begins with a command: {line}"),
                    }
                }
            }
            _ => {}
        }
    }
    steps
}

/// Whether lines are as expected: `…` at a line's end stands for more of it, alone for any lines.
fn agrees(expected: &[String], found: &[&str]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line == "…" => {
            (0..=found.len()).any(|skip| agrees(rest, &found[skip..]))
        }
        Some((line, rest)) => found.split_first().is_some_and(|(first, others)| {
            let same = match line.strip_suffix('…') {
                Some(start) => first.starts_with(start),
                None => first == line,
            };
            same && agrees(rest, others)
        }),
    }
}

#[test]
fn the_guide_is_true() {
    let page = fs::read_to_string(root().join("docs/guide/packages.md")).unwrap();
    let directory = scratch();
    let mut current = directory.clone();
    let program = Path::new(env!("CARGO_BIN_EXE_canny")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(program.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let mut count = 0;
    for step in steps(&page) {
        match step {
            Step::File { path, text } => {
                let path = directory.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Step::Command { words, expected } => {
                if let Some(to) = words.strip_prefix("cd ") {
                    current.push(to);
                    continue;
                }
                count += 1;
                let output = Command::new("sh")
                    .arg("-c")
                    .arg(format!("exec 2>&1; {words}"))
                    .current_dir(&current)
                    .env("PATH", &path)
                    .env("CANNY_CACHE_DIR", directory.join("cache"))
                    .env_remove("CANNY_LIBRARY_PATH")
                    .env("GIT_CONFIG_GLOBAL", "/dev/null")
                    .env("GIT_AUTHOR_NAME", "A")
                    .env("GIT_AUTHOR_EMAIL", "a@example.org")
                    .env("GIT_COMMITTER_NAME", "A")
                    .env("GIT_COMMITTER_EMAIL", "a@example.org")
                    .output()
                    .unwrap();
                let output = String::from_utf8(output.stdout).unwrap();
                let found: Vec<&str> = output.lines().collect();
                assert!(
                    agrees(&expected, &found),
                    "$ {words}\nexpected:\n{}\nfound:\n{output}",
                    expected.join("\n")
                );
            }
        }
    }
    assert!(count > 20, "{count} commands");
}

/// A project with a package beside it.
struct World {
    directory: PathBuf,
}

impl World {
    fn new() -> World {
        let world = World {
            directory: scratch(),
        };
        world.write(
            "app/package.scm",
            "(package\n  (name app)\n  (libraries \"src\"))\n",
        );
        world.write(
            "app/src/own.sld",
            "(define-library (own) (export own) (import (scheme base) (json)) (begin (define own (list 'own \
             json))))",
        );
        world.write(
            "app/tools/deep/main.scm",
            "(import (scheme base) (scheme write) (own))\n(write own)\n",
        );
        world.write(
            "json/json.sld",
            "(define-library (json) (export json) (import (scheme base)) (include \"parts/value.scm\")\n\
             (cond-expand ((library (extra)) (begin (define kind 'extra))) (else (begin (define kind \
             'plain)))) (begin (define json (list value kind))))",
        );
        world.write("json/parts/value.scm", "(define value 1)\n");
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn canny(&self, words: &[&str]) -> Canny {
        self.canny_in("app", words)
    }

    fn canny_in(&self, directory: &str, words: &[&str]) -> Canny {
        Canny::new(self.directory.join(directory), words)
            .environment("CANNY_CACHE_DIR", self.directory.join("cache"))
    }

    fn add(&self, words: &[&str]) -> Outcome {
        let words: Vec<&str> = std::iter::once("add")
            .chain(words.iter().copied())
            .collect();
        self.canny(&words).run().exits_with(0)
    }
}

const MAIN: &str = "tools/deep/main.scm";

#[test]
fn programs_find_the_project_around_them() {
    let world = World::new();
    world.add(&["../json"]);
    world
        .canny(&[MAIN])
        .run()
        .exits_with(0)
        .prints("(own (1 plain))");
    world
        .canny(&["run", MAIN])
        .run()
        .exits_with(0)
        .prints("(own (1 plain))");
    world
        .canny_in("app/tools/deep", &["main.scm"])
        .run()
        .exits_with(0)
        .prints("(own (1 plain))");
    world
        .canny_in("json", &["../app/tools/deep/main.scm"])
        .run()
        .exits_with(0)
        .prints("(own (1 plain))");
    world
        .canny_in("app/tools", &["-e", "(import (json))", "-e", "json"])
        .run()
        .exits_with(0)
        .prints("(1 plain)\n");
    world
        .canny_in("app/tools", &["repl"])
        .input("(import (own))\nown\n")
        .run()
        .exits_with(0)
        .prints("$1 = (own (1 plain))\n");
    world.canny(&["expand", MAIN]).run().exits_with(0);
    world
        .canny(&["--no-project", MAIN])
        .run()
        .exits_with(65)
        .complains("(own) was not found");
    world
        .canny(&["compile", "--no-project", MAIN])
        .run()
        .exits_with(65)
        .complains("(own) was not found");
    world
        .canny(&["compile", MAIN, "-o", "../program"])
        .run()
        .exits_with(0);
    // A compiled program needs no project, and looks for none.
    world.write("app/package.lock", "damaged");
    let output = Command::new(world.directory.join("program"))
        .current_dir(world.directory.join("app"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "(own (1 plain))");
}

#[test]
fn tools_find_the_project_too() {
    let world = World::new();
    world.add(&["../json"]);
    world.write(
        "app/tests/own.scm",
        "(import (scheme base) (canny test) (own))\n(test '(own (1 plain)) own)\n",
    );
    let outcome = world.canny(&["test"]).run().exits_with(0);
    let all = outcome.output + &outcome.errors;
    assert!(all.contains("1 passed"), "{all}");
    world.canny(&["test", "--no-project"]).run().exits_with(1);
    let outcome = world.canny(&["doc", "(json)"]).run().exits_with(0);
    assert!(outcome.output.contains("json"), "{outcome:?}");
}

#[test]
fn other_directories_come_in_their_order() {
    let world = World::new();
    world.add(&["../json"]);
    let other = |value: &str| {
        format!(
            "(define-library (json) (export json) (import (scheme base)) (begin (define json '{value})))"
        )
    };
    world.write("first/json.sld", &other("first"));
    world.write("path/json.sld", &other("path"));
    let run = |words: &[&str]| {
        let path = world.directory.join("path");
        world
            .canny(words)
            .environment("CANNY_LIBRARY_PATH", path)
            .run()
            .exits_with(0)
            .output
    };
    assert_eq!(run(&[MAIN]), "(own (1 plain))");
    assert_eq!(run(&["-A", "../path", MAIN]), "(own (1 plain))");
    assert_eq!(run(&["-I", "../first", MAIN]), "(own first)");
}

#[test]
fn compiled_libraries_are_kept_as_long_as_they_are_right() {
    let world = World::new();
    world.add(&["../json"]);
    let run = || world.canny(&[MAIN]).run().exits_with(0).output;
    assert_eq!(run(), "(own (1 plain))");
    let kept = || fs::read_dir(world.directory.join("cache")).unwrap().count();
    let before = kept();
    assert_eq!(run(), "(own (1 plain))");
    assert_eq!(kept(), before);
    // An included file, and a library that `cond-expand` asks for.
    world.write("json/parts/value.scm", "(define value 2)\n");
    assert_eq!(run(), "(own (2 plain))");
    world.write("extra/extra.sld", "(define-library (extra) (export))");
    world.add(&["../extra"]);
    assert_eq!(run(), "(own (2 extra))");
    world.canny(&["remove", "extra"]).run().exits_with(0);
    assert_eq!(run(), "(own (2 plain))");
}

#[test]
fn a_project_that_cannot_be_used_says_so() {
    let world = World::new();
    world
        .canny(&[MAIN])
        .run()
        .exits_with(65)
        .complains("no package of the project `app` has it: `canny add SOURCE`");
    world.add(&["../json"]);
    fs::rename(world.directory.join("json"), world.directory.join("moved")).unwrap();
    let outcome = world.canny(&[MAIN]).run().exits_with(65);
    outcome
        .complains("error[missing-package]: the directory `../json` of json is not there")
        .complains("--no-project");
    fs::rename(world.directory.join("moved"), world.directory.join("json")).unwrap();
    world.write("app/package.scm", "(package\n  (name app)\n  (depnds))\n");
    let outcome = world.canny(&[MAIN]).run().exits_with(65);
    outcome
        .complains("package.scm:3:4: error[bad-manifest]: there is no field `depnds`")
        .complains("did you mean `depends`?");
    let outcome = world
        .canny(&["--message-format", "json", MAIN])
        .run()
        .exits_with(65);
    outcome.complains("\"code\":\"bad-manifest\"");
    // The prompt continues without.
    world
        .canny(&["repl"])
        .input("(+ 1 2)\n")
        .run()
        .exits_with(0)
        .prints("$1 = 3\n")
        .complains("without the project");
    // A program that is called like a manifest is none.
    world.write("app/package.scm", "(display 1)");
    world
        .canny(&["package.scm"])
        .run()
        .exits_with(0)
        .prints("1");
}

#[test]
fn libraries_of_r6rs_are_called_so() {
    let world = World::new();
    world.write("json/old.sls", "(library (old) (export) (import (rnrs)))");
    world
        .add(&["../json"])
        .complains("(old) is in the form of R6RS");
    world.write("app/old.scm", "(import (old))");
    world
        .canny(&["old.scm"])
        .run()
        .exits_with(65)
        .complains("old.sls:1:1: error[not-a-library]: this library is in the form of R6RS");
    // A library that is locked and lost.
    world.canny(&["vendor"]).run().exits_with(0);
    world
        .canny(&["old.scm"])
        .run()
        .exits_with(65)
        .complains("the package json has it, but in the form of R6RS");
    fs::remove_file(world.directory.join("app/vendor/json/json.sld")).unwrap();
    world
        .canny(&[MAIN])
        .run()
        .exits_with(65)
        .complains("`canny lock --check` tells what is missing");
}

#[test]
fn wrong_command_lines_are_refused() {
    let world = World::new();
    for (words, part) in [
        (&["add"][..], "add what?"),
        (&["add", "a", "b"], "one package at a time"),
        (&["add", "../json", "--nmae", "x"], "did you mean '--name'?"),
        (&["add", "../json", "--name", ""], "must not be empty"),
        (&["add", "../json", "--name", "(a b"], "is not the name"),
        (
            &["add", "../json", "--tag", "a", "--rev", "b"],
            "only one of them",
        ),
        (
            &["add", "../json", "--tag", "--upload-pack=x"],
            "cannot be the name of a revision",
        ),
        (&["add", "json", "--version", "one"], "not a range"),
        (&["remove"], "remove what?"),
        (&["lock", "x"], "takes no operands"),
        (&["tree", "--check"], "no option"),
    ] {
        world.canny(words).run().exits_with(64).complains(part);
    }
    for (words, part) in [
        (
            &["add", "../nowhere"][..],
            "error[unreachable-package]: there is no `../nowhere`",
        ),
        (&["add", "package.scm"], "error[bad-archive]"),
        (&["add", "."], "is the project itself"),
        (&["add", "../json", "--path", "../x"], "leads out"),
        (
            &["add", "https://example.org/x"],
            "neither an archive nor a git repository",
        ),
        (
            &["add", "http://example.org/x.tgz"],
            "only `https` and `file`",
        ),
        (
            &["add", "--offline", "https://example.org/x.tgz"],
            "offline",
        ),
        (
            &["add", "json", "--version", "^1"],
            "error[no-such-package]",
        ),
        (&["remove", "jsno"], "no dependency `jsno`"),
        (&["update", "jsno"], "no dependency `jsno`"),
    ] {
        world.canny(words).run().exits_with(65).complains(part);
    }
    assert_eq!(
        fs::read_to_string(world.directory.join("app/package.scm")).unwrap(),
        "(package\n  (name app)\n  (libraries \"src\"))\n"
    );
    assert!(!world.directory.join("app/package.lock").exists());
    Canny::new(scratch(), &["tree"])
        .run()
        .exits_with(65)
        .complains("error[no-project]");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_left_as_it_was() {
    let world = World::new();
    // A directory where the next manifest would be written.
    fs::create_dir(world.directory.join("app/.package.scm.new")).unwrap();
    world
        .canny(&["add", "../json"])
        .run()
        .exits_with(71)
        .complains("error[unwritable-project]");
    assert!(!world.directory.join("app/package.lock").exists());
    fs::remove_dir(world.directory.join("app/.package.scm.new")).unwrap();
    world.add(&["../json"]);
}
