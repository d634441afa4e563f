//! The table of commands and options: the texts that are made from it, and that it has the options which the
//! commands take.

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{canny, root, scratch};

/// The commands that `canny --help` lists, and what stands behind each.
fn commands() -> Vec<String> {
    let help = canny(&["--help"]).run().exits_with(0).output;
    let (_, rest) = help.split_once("Commands:\n").expect("there are commands");
    let (list, _) = rest.split_once("\n\n").expect("there is more");
    let lines = list
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let words = lines.filter_map(|line| line.split_whitespace().next());
    words.map(str::to_owned).collect()
}

/// Names and argument of each option in a command's help.
fn options(command: &str) -> Vec<(Vec<String>, Option<String>)> {
    let help = canny(&[command, "--help"]).run().exits_with(0).output;
    let (_, rest) = help.split_once("Options:\n").expect("there are options");
    let (list, _) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let mut found = Vec::new();
    for line in list.lines().filter(|line| line.starts_with("  -")) {
        let (left, _) = line[2..].split_at(line[2..].find("  ").unwrap_or(line.len() - 2));
        let mut names = Vec::new();
        let mut argument = None;
        for part in left.split(", ") {
            let mut words = part.split(' ');
            names.extend(words.next().filter(|name| *name != "-").map(str::to_owned));
            argument = argument.or(words.next().map(str::to_owned));
        }
        if !names.is_empty() {
            found.push((names, argument));
        }
    }
    found
}

/// The message of a command about a wrong command line; nothing if it still runs after a while.
fn complaint(words: &[&str]) -> String {
    let directory = scratch();
    let errors = directory.join("errors");
    let mut child = Command::new(env!("CARGO_BIN_EXE_canny"))
        .args(words)
        .current_dir(&directory)
        .env("CANNY_CACHE_DIR", directory.join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&errors).expect("a file can be made"))
        .spawn()
        .expect("canny starts");
    let start = Instant::now();
    while child.try_wait().expect("waiting works").is_none() {
        if start.elapsed() > Duration::from_secs(5) {
            child.kill().expect("killing works");
            child.wait().expect("waiting works");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::read_to_string(errors).expect("it is text")
}

#[test]
fn commands_take_the_options_of_their_rows() {
    for command in commands() {
        for (names, argument) in options(&command) {
            for name in names {
                let value = argument.as_ref().map(|word| match word.as_str() {
                    "N" => "1",
                    "WARNING" => "all",
                    word => word.split('|').next().unwrap_or_default(),
                });
                let mut words = vec![command.as_str(), name.as_str()];
                words.extend(value);
                let complaint = complaint(&words);
                for wrong in ["invalid option", "there is no option", "unexpected"] {
                    assert!(!complaint.contains(wrong), "{words:?}: {complaint}");
                }
            }
        }
    }
}

#[test]
fn commands_take_no_other_options() {
    for command in commands() {
        for option in ["--no-such-option", "-7"] {
            canny(&[&command, option])
                .run()
                .exits_with(64)
                .complains("there is no option");
        }
    }
    canny(&["fmt", "--chekc"])
        .run()
        .exits_with(64)
        .complains("there is no option '--chekc'; did you mean '--check'?");
}

#[test]
fn the_page_about_the_command_has_every_command_and_option() {
    let page = std::fs::read_to_string(root().join("docs/cli.md")).expect("the page is there");
    for command in commands() {
        assert!(
            page.contains(&format!("canny {command}")) || command == "run",
            "{command}"
        );
        for (names, _) in options(&command) {
            for name in names {
                assert!(
                    page.contains(&format!("`{name}")) || page.contains(&format!("[{name}")),
                    "{command} {name}"
                );
            }
        }
    }
}

#[test]
fn a_command_may_have_options_before_and_behind_it() {
    let file = "(import (scheme base))\n(cond-expand (tiger 'yes) (else 'no))";
    for words in [
        ["-D", "tiger", "expand", "p.scm"],
        ["expand", "-D", "tiger", "p.scm"],
    ] {
        let outcome = canny(&words).file("p.scm", file).run().exits_with(0);
        assert!(outcome.output.contains("yes"), "{outcome:?}");
    }
}

/// Whether a program is on this machine.
fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    found.is_ok()
}

/// Whether a program succeeds with a text as its input, and its output.
fn through(program: &mut Command, text: &str) -> (bool, String) {
    let input = scratch().join("input");
    std::fs::write(&input, text).expect("a file can be written");
    let file = std::fs::File::open(input).expect("it is there");
    let output = program.stdin(file).output().expect("it starts");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn bash_completes() {
    if !has("bash") {
        return;
    }
    let script = canny(&["completions", "bash"]).run().exits_with(0).output;
    let tries = "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _canny; echo \"${COMPREPLY[*]}\"; }\n\
        try canny comp\ntry canny --message-format ''\ntry canny -I lib fm\ntry canny fmt --\n\
        try \"$CANNY\" explain unclosed-st\n";
    let mut bash = Command::new("bash");
    bash.arg("-s")
        .current_dir(scratch())
        .env("CANNY", env!("CARGO_BIN_EXE_canny"));
    let (succeeds, text) = through(&mut bash, &(script + tries));
    assert!(succeeds, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("compile compile-r7rs completions"),
        "{text}"
    );
    assert_eq!(
        lines[1..],
        ["text json", "fmt", "--check --help", "unclosed-string"]
    );
}

#[test]
fn zsh_and_fish_can_read_their_scripts() {
    for (shell, flag) in [("zsh", "-n"), ("fish", "--no-execute")] {
        if has(shell) {
            let script = canny(&["completions", shell]).run().exits_with(0).output;
            let file = scratch().join("script");
            std::fs::write(&file, script).expect("a file can be written");
            let (succeeds, text) = through(Command::new(shell).arg(flag).arg(file), "");
            assert!(succeeds && text.is_empty(), "{shell}: {text}");
        }
    }
}

#[test]
fn the_manual_page_has_no_mistake() {
    let page = canny(&["man"]).run().exits_with(0).output;
    assert!(page.starts_with(".TH CANNY 1"), "{page}");
    if has("groff") {
        let mut groff = Command::new("groff");
        groff.args(["-ww", "-z", "-man"]);
        let (succeeds, text) = through(&mut groff, &page);
        assert!(succeeds && text.is_empty(), "{text}");
    }
}
