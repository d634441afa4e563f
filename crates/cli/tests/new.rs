//! `canny new`: the project that it makes runs, passes its tests and is laid out. Existing files are not
//! touched.

mod support;

use std::path::{Path, PathBuf};

use support::{Canny, canny, scratch};

fn make(words: &[&str]) -> PathBuf {
    let directory = scratch();
    Canny::new(directory.clone(), &[&["new"], words].concat())
        .run()
        .exits_with(0)
        .complains("is made");
    directory
}

fn run(directory: &Path, words: &[&str]) -> support::Outcome {
    Canny::new(directory.to_owned(), words).run()
}

/// The files below a directory, without what the runs above it left.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("it is there") {
        let path = entry.expect("it is readable").path();
        if path.is_dir() {
            let name = path
                .file_name()
                .expect("it has one")
                .to_string_lossy()
                .into_owned();
            found.extend(
                files(&path)
                    .into_iter()
                    .map(|file| format!("{name}/{file}")),
            );
        } else {
            found.push(
                path.file_name()
                    .expect("it has one")
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
    found.sort();
    found
}

#[test]
fn a_program_is_whole() {
    let directory = make(&["hello"]).join("hello");
    assert_eq!(
        files(&directory),
        [
            ".gitignore",
            "README.md",
            "main.scm",
            "package.scm",
            "src/hello.sld",
            "tests/hello.scm"
        ]
    );
    let package = std::fs::read_to_string(directory.join("package.scm")).expect("it is there");
    assert!(
        package.starts_with("(package\n (name hello)\n (version \"0.1.0\")\n"),
        "{package}"
    );
    run(&directory, &["fmt", "--check"])
        .exits_with(0)
        .prints("");
    let tests = run(&directory, &["test", "-A", "src"]).exits_with(0);
    assert!(tests.output.contains("2 passed in 1 file"), "{tests:?}");
    let program = run(&directory, &["-A", "src", "main.scm", "Ada", "Alan"]).exits_with(0);
    assert_eq!(
        (program.output.as_str(), program.errors.as_str()),
        ("Hello, Ada!\nHello, Alan!\n", "")
    );
    run(&directory, &["-A", "src", "main.scm"])
        .exits_with(0)
        .prints("Hello, world!\n");
}

#[test]
fn a_library_is_whole() {
    let directory = make(&["--library", "shapes"]).join("shapes");
    assert_eq!(
        files(&directory),
        [
            "README.md",
            "package.scm",
            "src/shapes.sld",
            "tests/shapes.scm"
        ]
    );
    run(&directory, &["fmt", "--check"]).exits_with(0);
    run(&directory, &["test", "-A", "src"]).exits_with(0);
}

#[test]
fn it_may_be_made_elsewhere() {
    let directory = make(&["--program", "./hello/"]);
    assert!(directory.join("hello/main.scm").is_file());
    canny(&["new", "no/such/directory/hello"])
        .run()
        .exits_with(71)
        .complains("cannot make no/such/directory/hello");
}

#[test]
fn nothing_is_overwritten() {
    for name in ["taken/file", "taken"] {
        let run = canny(&["new", "taken"]).file(name, "mine");
        let directory = run.directory.clone();
        run.run().exits_with(71).complains("'taken' exists already");
        assert_eq!(
            std::fs::read_to_string(directory.join(name)).expect("it is there"),
            "mine"
        );
        let left = files(&directory);
        assert!(left.iter().all(|name| !name.contains(".new")), "{left:?}");
    }
}

#[test]
fn wrong_words_are_refused() {
    for words in [
        &[][..],
        &["Hello"],
        &["a b"],
        &["../"],
        &["srfi"],
        &["a", "b"],
        &["--library", "--program", "a"],
    ] {
        canny(&[&["new"], words].concat())
            .run()
            .exits_with(64)
            .complains("canny new: ");
    }
}
