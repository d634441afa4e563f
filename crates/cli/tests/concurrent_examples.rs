//! The programs of `examples/concurrent`: what they print and how they end.

mod support;

use std::path::PathBuf;

use support::{Canny, Outcome, Running, root, scratch};

fn example(name: &str) -> String {
    let path = root().join("examples/concurrent").join(name);
    path.to_str().expect("the path is UTF-8").to_owned()
}

/// Runs an example with these words behind its name.
fn run(name: &str, words: &[&str]) -> Canny {
    let path = example(name);
    let words: Vec<&str> = std::iter::once(path.as_str())
        .chain(words.iter().copied())
        .collect();
    Canny::new(scratch(), &words)
}

fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A web server, and its address.
fn server() -> (Running, String) {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/concurrent/server.scm");
    let mut server = Canny::new(scratch(), &[program.to_str().expect("the path is UTF-8")]).start();
    server.wait_for_output("\n");
    let address = server.output().trim().to_owned();
    (server, format!("http://{address}"))
}

fn check_links(words: &[&str]) -> Outcome {
    run("check-links.scm", words).run()
}

#[test]
fn links_are_followed_and_broken_ones_are_told() {
    let (server, address) = server();
    let directory = scratch();
    let kept = directory.join("kept");
    let outcome = check_links(&[
        "--jobs",
        "3",
        "--timeout",
        "60",
        "--save",
        kept.to_str().expect("the path is UTF-8"),
        &format!("{address}/site/"),
    ])
    .exits_with(1);
    let lines: Vec<&str> = outcome.output.lines().collect();
    // Pages may be found in several places, of which one is reported.
    assert_eq!(lines.len(), 3, "{outcome:#?}");
    assert!(
        lines[0].starts_with(&format!(
            "broken: {address}/site/missing: 404 Not Found, linked from {address}/site/"
        )),
        "{outcome:#?}"
    );
    assert_eq!(
        lines[1],
        format!(
            "broken: {address}/site/sub/gone: 404 Not Found, linked from {address}/site/sub/b.html"
        )
    );
    assert!(
        lines[2].starts_with("11 checked, 2 broken, 1 tried again, "),
        "{outcome:#?}"
    );
    let picture = std::fs::read_dir(&kept)
        .expect("the directory was made")
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().ends_with("pic.png"))
        .expect("the picture was kept");
    assert_eq!(
        std::fs::read(picture.path()).expect("the picture can be read"),
        b"picture"
    );
    server.signal("KILL");
    server.wait();
}

#[test]
fn what_is_no_web_server_is_a_broken_link() {
    let (server, address) = server();
    check_links(&["--retries", "0", &format!("{address}/nonsense")])
        .exits_with(1)
        .prints(&format!(
            "broken: {address}/nonsense: the server sends no HTTP\n\
             1 checked, 1 broken, 0 tried again, 0 bytes\n"
        ));
    check_links(&["--verbose", &format!("{address}/site/sub/pic.png")])
        .exits_with(0)
        .prints(&format!(
            "200 {address}/site/sub/pic.png\n1 checked, 0 broken, 0 tried again, 7 bytes\n"
        ));
    server.signal("KILL");
    server.wait();
}

#[test]
fn wrong_usage_of_the_link_checker_is_told() {
    check_links(&["--help"]).exits_with(0);
    check_links(&[]).exits_with(2).complains("which address?");
    check_links(&["--fast"])
        .exits_with(2)
        .complains("unknown option --fast");
    check_links(&["--jobs", "0", "http://localhost/"])
        .exits_with(2)
        .complains("--jobs takes another value than 0");
    check_links(&["--jobs"])
        .exits_with(2)
        .complains("--jobs needs a value");
    check_links(&["ftp://localhost/"])
        .exits_with(2)
        .complains("no address of the web: ftp://localhost/");
}

#[test]
fn a_command_runs_for_each_line() {
    let outcome = run(
        "for-each-line.scm",
        &["--jobs", "2", "sh", "-c", "echo got $0; [ $0 != b ]", "{}"],
    )
    .input("a\nb\nc\n")
    .run()
    .exits_with(1)
    .complains("2 done, 1 failed");
    assert_eq!(
        sorted_lines(&outcome.output),
        [
            "a: done",
            "a: got a",
            "b: failed, exit code 1",
            "b: got b",
            "c: done",
            "c: got c"
        ]
    );
}

#[test]
fn the_lines_may_come_from_a_command() {
    let outcome = run(
        "for-each-line.scm",
        &[
            "--from", "seq 20", "--jobs", "4", "--quiet", "test", "5", "-ne",
        ],
    )
    .run()
    .exits_with(1)
    .complains("19 done, 1 failed");
    assert!(
        outcome.output.contains("5: failed, exit code 1"),
        "{outcome:#?}"
    );
    run("for-each-line.scm", &["--from", "exit 4", "true"])
        .run()
        .exits_with(3)
        .complains("the command of --from failed, exit code 4");
}

#[test]
fn what_takes_too_long_has_failed() {
    run(
        "for-each-line.scm",
        &["--timeout", "0.05", "--jobs", "1", "sh", "-c", "sleep 1000"],
    )
    .input("x\n")
    .run()
    .exits_with(1)
    .prints("x: failed, took too long\n");
}

#[test]
fn a_signal_ends_what_runs() {
    let mut running = run(
        "for-each-line.scm",
        &[
            "--from",
            "yes",
            "--jobs",
            "1",
            "sh",
            "-c",
            "echo begun; sleep 1000",
        ],
    )
    .start();
    running.wait_for_output("begun");
    running.signal("TERM");
    running
        .wait()
        .exits_with(143)
        .complains("0 done, 0 failed, 1 ended by sigterm");
}

#[test]
fn wrong_usage_of_the_runner_is_told() {
    let usage = |words: &[&str]| run("for-each-line.scm", words).input("").run();
    usage(&["--help"]).exits_with(0);
    usage(&[]).exits_with(2).complains("which command?");
    usage(&["--jobs", "x", "true"])
        .exits_with(2)
        .complains("--jobs takes a positive number, not x");
    usage(&["--slow", "true"])
        .exits_with(2)
        .complains("unknown option --slow");
    usage(&["true"]).exits_with(0).complains("0 done, 0 failed");
}
