//! `canny heap FILE`: each option, wrong options, and files that are foreign, cut off or newer.

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{Canny, Outcome, scratch};

const PROGRAM: &str = "(import (scheme base) (scheme write) (canny heap))
(define-record-type entry (make-entry name next) entry? (name entry-name) (next entry-next))
(define chain
  (let loop ((index 0) (rest #f))
    (if (= index 100)
        rest
        (loop (+ index 1)
              (make-entry (string-append \"name \" (number->string (modulo index 5))) rest)))))
(define sparse (make-vector 2000 #f))
(heap-snapshot! \"known.heap\")
(define later (vector (make-entry \"later\" #f) chain))
(heap-snapshot! \"known.heap\" #:reason \"again\")
(write (list (vector-length sparse) (vector-length later) (entry? chain)))
";

/// A directory with a file of two snapshots, `known.heap`.
fn known() -> PathBuf {
    let directory = scratch();
    let run = Canny::new(directory.clone(), &["program.scm"]).file("program.scm", PROGRAM);
    run.run().exits_with(0);
    directory
}

fn heap(directory: &Path, words: &[&str]) -> Outcome {
    let words: Vec<&str> = std::iter::once("heap")
        .chain(words.iter().copied())
        .collect();
    Canny::new(directory.to_owned(), &words).run()
}

#[track_caller]
fn shows(outcome: Outcome, parts: &[&str]) -> Outcome {
    for part in parts {
        assert!(outcome.output.contains(part), "no `{part}` in {outcome:#?}");
    }
    outcome.exits_with(0)
}

#[test]
fn tables_are_shown() {
    let directory = known();
    let show = |words: &[&str], parts: &[&str]| {
        let words: Vec<&str> = ["known.heap"].iter().chain(words).copied().collect();
        shows(heap(&directory, &words), parts)
    };
    show(
        &[],
        &[
            "again",
            "snapshot 2 of program.scm",
            "retained",
            "entry",
            "more\n",
        ],
    );
    show(&["--snapshot", "1"], &["snapshot 1 of"]);
    show(&["--types", "--rows", "3"], &["retained", "more\n"]);
    show(&["--by", "family"], &["record"]);
    show(&["--duplicates"], &["\"name 3\"", "20  ", "would be saved"]);
    show(&["--unused"], &["2,001", "vector"]);
    show(&["--compare", "1", "2"], &["entry", "objects new"]);
    show(&["--compare", "1"], &["entry", "objects new"]);
    show(&["--growth"], &["entry", "paths of the dominator tree"]);
    let query = "(and (type? 'entry) (retained > 1kB))";
    let found = show(
        &["--query", query, "--rows", "1"],
        &["record entry", "objects, "],
    );
    let line = found.output.lines().nth(1).expect("there is a row");
    let id = line.split_whitespace().next().expect("it has a number");
    show(
        &["--why", id],
        &["is alive because", "root\n", "value → record entry"],
    );
    show(&["--json"], &["\"snapshots\"", "\"reason\": \"again\""]);
    show(
        &["--json", "--why", id],
        &["\"dominators\"", "\"paths\"", "\"retained\""],
    );
    for words in [
        &["--json", "--types"][..],
        &["--json", "--duplicates"],
        &["--json", "--unused"],
        &["--json", "--growth"],
        &["--json", "--compare", "1", "2"],
        &["--json", "--query", "virtual?"],
    ] {
        let answer = show(words, &["{"]).output;
        assert!(answer.ends_with("}\n"), "{answer}");
    }
}

#[test]
fn two_files_are_compared_by_type_and_by_path() {
    let directory = known();
    // Another release: the chain is longer, and a line more stands before it.
    let longer = PROGRAM
        .replace("(define chain", "(define extra 1)\n(define chain")
        .replace("index 100", "index 900")
        .replace("known.heap", "longer.heap");
    let run = Canny::new(directory.clone(), &["longer.scm"]).file("longer.scm", &longer);
    run.run().exits_with(0);
    let words = ["longer.heap", "--compare", "known.heap"];
    let outcome = shows(
        heap(&directory, &words),
        &[
            "snapshot 2 of program.scm",
            "to snapshot 2 of longer.scm",
            "sums by name: of types, and of paths",
            "Objects of two files cannot be followed.\n",
            "path, with retained bytes",
        ],
    );
    let paths = outcome.output.split("path, with").nth(1);
    let first = paths.and_then(|text| text.lines().nth(1));
    let first = first.expect("there is a path");
    assert!(
        first.ends_with("entry") && first.contains("+64.0 kB"),
        "{first}"
    );

    let words = ["longer.heap", "--compare", "known.heap", "--json"];
    let answer = shows(heap(&directory, &words), &["\"types-and-paths\""]).output;
    assert!(answer.contains("\"followed\": false"), "{answer}");
    // Two files of one process get advice.
    std::fs::copy(directory.join("known.heap"), directory.join("copy.heap")).expect("it copies");
    let words = ["copy.heap", "1", "--compare", "known.heap"];
    shows(heap(&directory, &words), &["if they are in one file"]);
}

#[test]
fn snapshots_are_exported() {
    let directory = known();
    for (format, part) in [("heapsnapshot", "\"snapshot\""), ("jsonl", "\"name 3\"")] {
        let words = ["known.heap", "--export", format, "-o", "out"];
        shows(heap(&directory, &words), &["written to out"]);
        let text = std::fs::read_to_string(directory.join("out")).expect("it was written");
        assert!(text.contains(part), "{format}");
    }
    let words = ["known.heap", "--export", "jsonl", "-o", "none/out"];
    heap(&directory, &words)
        .exits_with(65)
        .complains("cannot write none/out");
}

#[test]
fn wrong_words_have_messages() {
    let directory = known();
    for (words, code, message) in [
        (&[][..], 64, "expected a FILE"),
        (&["a", "b"], 64, "there is one FILE"),
        (&["known.heap", "--types", "--why", "1"], 64, "take one"),
        (
            &["known.heap", "--why", "x"],
            64,
            "wants the number of an object",
        ),
        (&["known.heap", "--snapshot", "0"], 64, "from 1, not 0"),
        (
            &["known.heap", "--snapshot", "3"],
            65,
            "there is no snapshot 3; the file has 2",
        ),
        (
            &["known.heap", "--why", "99999999"],
            65,
            "there is no object 99999999",
        ),
        (&["known.heap", "--query", "(foo)"], 65, "(foo) is no query"),
        (&["known.heap", "--by", "colour"], 64, "--by wants"),
        (
            &["known.heap", "--export", "jsonl"],
            64,
            "--export needs -o",
        ),
        (
            &["known.heap", "--export", "xml"],
            64,
            "wants heapsnapshot or jsonl",
        ),
        (&["known.heap", "-o", "x"], 64, "-o needs"),
        (&["known.heap", "--compare", "1", "0"], 64, "AFTER is"),
        (
            &["known.heap", "--compare", "nothing"],
            65,
            "cannot read nothing",
        ),
        (&["known.heap", "--attach", "1"], 64, "takes no FILE"),
        (&["known.heap", "--collect"], 64, "needs --attach"),
        (&["--types", "--attach", "1"], 64, "needs a FILE"),
        (&["known.heap", "--serve", "70000"], 64, "wants a port"),
        (
            &["known.heap", "--prompt", "--snapshot", "9"],
            65,
            "no snapshot 9",
        ),
        (&["none.heap"], 66, "cannot read none.heap"),
    ] {
        heap(&directory, words).exits_with(code).complains(message);
    }
}

#[test]
fn damaged_files_show_what_is_readable() {
    let directory = known();
    let bytes = std::fs::read(directory.join("known.heap")).expect("it is there");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(directory.join(name), bytes).expect("it can be written");
    };
    write("foreign.heap", b"\x7fELF and more");
    heap(&directory, &["foreign.heap"])
        .exits_with(66)
        .complains("not a heap snapshot of Canny");
    write("empty.heap", b"");
    heap(&directory, &["empty.heap"]).exits_with(66);
    // The second snapshot has lost its end.
    write("cut.heap", &bytes[..bytes.len() - 100]);
    let cut = heap(&directory, &["cut.heap"]);
    shows(cut, &["note: ", "snapshot 1 of", "asked"]);
    for length in (0..bytes.len()).step_by(bytes.len() / 20) {
        write("part.heap", &bytes[..length]);
        let outcome = heap(&directory, &["part.heap", "--types"]);
        assert!(
            [0, 65, 66].contains(&outcome.code.unwrap_or(-1)),
            "{length}: {outcome:#?}"
        );
        assert!(!outcome.errors.contains("panicked"), "{outcome:#?}");
    }
}

#[test]
fn a_prompt_has_the_file() {
    let directory = known();
    let words = ["heap", "known.heap", "--prompt"];
    let input = "(summary)\n(find (type? 'entry) #:count 1)\n\
                 (page-count (objects heap (type? 'entry)))\n(find (foo))\n";
    let outcome = Canny::new(directory, &words).input(input).run();
    for part in ["again", "record entry", "101 objects", "101\n"] {
        assert!(outcome.output.contains(part), "no `{part}` in {outcome:#?}");
    }
    outcome.complains("(foo) is no query");
}

#[test]
fn a_page_is_served_until_a_signal() {
    let directory = known();
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .args(["heap", "known.heap", "--serve", "0"])
        .current_dir(&directory)
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("it was asked for");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it prints a line");
    let address = line
        .trim()
        .strip_prefix("page: http://")
        .expect("it is an address");
    let (host, path) = address.split_once('/').expect("it has a path");
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    assert_eq!(path.len(), 33, "{path}");
    let get = |path: &str| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(host).expect("it listens");
        let request = format!("GET /{path} HTTP/1.0\r\nhost: {host}\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .expect("it takes a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    assert!(get(path).contains("<title>Canny heap snapshots</title>"));
    assert!(get(&format!("{path}api/series")).contains("\"again\""));
    let source = get(&format!("{path}api/source?file=program.scm&line=3"));
    assert!(source.contains("(define chain"), "{source}");
    let other = get(&format!("{path}api/source?file=known.heap&line=1"));
    assert!(
        other.contains(" 400 ") && other.contains("names"),
        "{other}"
    );
    assert!(get("").starts_with("HTTP/1.0 404") || get("").starts_with("HTTP/1.1 404"));
    let process = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "TERM", &process]).status();
    assert!(sent.expect("kill is there").success());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(143));
}
