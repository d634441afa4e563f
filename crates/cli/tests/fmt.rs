//! `canny fmt`: files, directories, and what it refuses.

mod support;

use support::{canny, files_below, root};

const UGLY: &str = "(define  (f x)\n(list x\nx) )\n";
const NEAT: &str = "(define (f x)\n  (list x\n        x))\n";

#[test]
fn files_are_replaced() {
    let run = canny(&["fmt", "a.scm", "b.scm"])
        .file("a.scm", UGLY)
        .file("b.scm", NEAT);
    let directory = run.directory.clone();
    run.run().exits_with(0).complains("1 file of 2 changed");
    let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("it is there");
    assert_eq!(read("a.scm"), NEAT);
    assert_eq!(read("b.scm"), NEAT);
}

#[test]
fn directories_are_searched() {
    let run = canny(&["fmt", "--check"])
        .file("src/a.sld", UGLY)
        .file("src/b.txt", UGLY)
        .file(".hidden/c.scm", UGLY)
        .file("target/d.scm", UGLY)
        .file("e.scm", NEAT);
    run.run().exits_with(1).prints("src/a.sld\n");
}

#[test]
fn checking_changes_nothing() {
    let run = canny(&["fmt", "--check", "a.scm"]).file("a.scm", UGLY);
    let directory = run.directory.clone();
    run.run().exits_with(1).prints("a.scm\n");
    let text = std::fs::read_to_string(directory.join("a.scm")).expect("it is there");
    assert_eq!(text, UGLY);
}

#[test]
fn what_is_not_balanced_is_left_alone() {
    let run = canny(&["fmt", "bad.scm", "good.scm", "binary.scm"])
        .file("bad.scm", "(f\n  (g)\n")
        .file("good.scm", UGLY)
        .file("binary.scm", b"(a)\n\xff\xfe");
    let directory = run.directory.clone();
    run.run()
        .exits_with(65)
        .complains("bad.scm:1:1: error: this paren is never closed; the file is left alone")
        .complains("binary.scm:2: error: this is not UTF-8; the file is left alone");
    let read = |name: &str| std::fs::read(directory.join(name)).expect("it is there");
    assert_eq!(read("bad.scm"), b"(f\n  (g)\n");
    assert_eq!(read("good.scm"), NEAT.as_bytes());
    assert_eq!(read("binary.scm"), b"(a)\n\xff\xfe");
}

#[test]
fn wrong_command_lines_are_told() {
    canny(&["fmt", "none.scm"])
        .run()
        .exits_with(66)
        .complains("cannot read none.scm");
    canny(&["fmt", "--wrong"])
        .run()
        .exits_with(64)
        .complains("--wrong");
    canny(&["fmt", "-", "a.scm"])
        .run()
        .exits_with(64)
        .complains("'-' stands alone");
    canny(&["fmt", "--help"]).run().exits_with(0);
}

#[test]
fn standard_input_goes_to_standard_output() {
    canny(&["fmt", "-"])
        .input(UGLY)
        .run()
        .exits_with(0)
        .prints(NEAT);
    canny(&["fmt", "-"])
        .input("(")
        .run()
        .exits_with(65)
        .complains("standard input:1:1")
        .prints("");
}

/// The libraries read the same after they are laid out.
#[test]
fn libraries_keep_their_meaning() {
    for path in files_below(&root().join("lib/canny")) {
        let text = std::fs::read_to_string(&path).expect("it is text");
        let laid_out = canny_format::format(&text).expect("it is balanced");
        let data = |text: &str| {
            let id = canny_syntax::span::SourceId::NONE;
            let forms = canny_syntax::reader::read_text(text, id, false).forms;
            let data = forms.iter().map(|form| form.to_string());
            data.collect::<Vec<String>>()
        };
        assert_eq!(data(&text), data(&laid_out), "{}", path.display());
    }
}
