//! The files for editors (`editors`), checked with the editors that are installed.
//!
//! An editor that is missing is skipped with a message. Plug-ins of others, such as debuggers, are
//! checked by hand: the pages in `editors` say how and with what. The extension for Visual Studio
//! Code is checked over a stub of the editor, which needs Node.js.

mod support;

use std::process::Command;

use support::{root, scratch};

/// Runs a check in the directory of the editors; it succeeds, or the program is not installed.
#[track_caller]
fn check(program: &str, arguments: &[&str], wanted: &str) {
    let home = scratch();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(root().join("editors"))
        .env("CANNY", env!("CARGO_BIN_EXE_canny"))
        // Neither reads nor writes files of the user.
        .env("HOME", &home)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("XDG_STATE_HOME");
    let Ok(output) = command.output() else {
        eprintln!("skipped: {program} is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let both = format!("{text}\n{errors}");
    assert!(output.status.success(), "{command:?}:\n{both}");
    assert!(both.contains(wanted), "no `{wanted}` in\n{both}");
    let _ = std::fs::remove_dir_all(home);
}

#[test]
fn the_extension_for_visual_studio_code() {
    let files = ["coverage", "debugger", "places", "suites", "testing"];
    let files = files.map(|name| format!("vscode/test/{name}.test.js"));
    let mut words = vec!["--test", "--test-reporter=tap"];
    words.extend(files.iter().map(String::as_str));
    check("node", &words, "\n# skipped 0\n");
}

#[test]
fn the_plug_in_for_neovim() {
    let words = ["--headless", "-u", "neovim/test/checks.lua"];
    check("nvim", &words, "ok: failures of tests");
}

#[test]
fn the_files_for_emacs() {
    let words = [
        "-Q",
        "--batch",
        "-L",
        "emacs",
        "-l",
        "emacs/test/checks.el",
        "-f",
        "ert-run-tests-batch-and-exit",
    ];
    check("emacs", &words, "canny-checks-prompt");
}
