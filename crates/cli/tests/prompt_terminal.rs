//! The prompt on a terminal: keys, what is seen, and windows and files that are not as they should be.

mod support;
#[path = "support/terminal.rs"]
mod terminal;

use std::path::{Path, PathBuf};

use support::{Canny, scratch};
use terminal::Terminal;

const CONTROL_C: &str = "\x03";
const CONTROL_D: &str = "\x04";
const UP: &str = "\x1b[A";

struct Window {
    directory: PathBuf,
    words: Vec<&'static str>,
    term: &'static str,
    columns: u16,
}

/// A prompt in a directory of its own.
fn window() -> Window {
    Window {
        directory: scratch(),
        words: Vec::new(),
        term: "xterm",
        columns: 80,
    }
}

impl Window {
    fn open(&self) -> Terminal {
        let mut command = Canny::new(self.directory.clone(), &self.words).command();
        command
            .env("TERM", self.term)
            .env("CANNY_HISTORY", history(&self.directory))
            .env_remove("NO_COLOR");
        let terminal = Terminal::start(command, self.columns, 24);
        terminal.wait_until("prompt", |screen| {
            screen.contains(",help tells more.") || self.columns < 40
        });
        terminal
    }
}

fn history(directory: &Path) -> PathBuf {
    directory.join("state/history")
}

#[test]
fn forms_take_several_lines_and_are_indented() {
    let mut terminal = window().open();
    terminal.keys("(define (square x)\r(* x\rx))\r");
    terminal.wait_for("> (define (square x)\n    (* x\n       x))\n>");
    terminal.keys("(square 7)\r");
    terminal.wait_for("$1 = 49");
    terminal.keys("(+ $1 1)\r");
    terminal.wait_for("$2 = 50");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn inputs_are_remembered() {
    let window = window();
    let mut terminal = window.open();
    terminal.keys("(* 6\r7)\r");
    terminal.wait_for("$1 = 42");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
    let mut terminal = window.open();
    terminal.keys(UP);
    terminal.wait_for("> (* 6\n     7)");
    terminal.keys("\r");
    terminal.wait_for("$1 = 42");
    terminal.keys("(list 1)\r");
    terminal.wait_for("$2 = (1)");
    terminal.keys("\x126\r\r");
    terminal.wait_for("$3 = 42");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn names_are_completed() {
    let mut terminal = window().open();
    terminal.keys("(list-tab\t car\t");
    terminal.wait_for("> (list-tabulate car");
    terminal.keys(CONTROL_C);
    terminal.keys("(li\t");
    terminal.wait_for("list-tabulate");
    terminal.keys(CONTROL_C);
    terminal.keys("(list-ta\t");
    terminal.wait_for("\n(list-tabulate k procedure)  A list of what the procedure");
    assert!(
        terminal
            .screen()
            .contains("\n(list-tail list k)           The list without")
    );
    terminal.keys("\x15(import (scheme proc\t)\r(command-line)\r");
    terminal.wait_for("$1 = (\"canny\")");
    terminal.keys(",disas\t car\r");
    terminal.wait_for("car r1 r0");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn keys_edit() {
    let mut terminal = window().open();
    // Ctrl-A, Ctrl-E, Left, Ctrl-W, Alt-B and Ctrl-Y.
    terminal.keys("bar foo)\x01(list 'x '\x05\x1b[D\x17\x1bb\x19 '\x05\r");
    terminal.wait_for("(x foo");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn control_c_and_control_d_do_what_people_expect() {
    let mut terminal = window().open();
    terminal.keys("(this is not\rto be evaluated");
    terminal.wait_for("to be evaluated");
    terminal.keys(CONTROL_C);
    terminal.wait_for_line(">");
    terminal.keys("(car 5)\r");
    terminal.wait_for_line("[1]>");
    terminal.keys("(begin (display \"looping\") (newline) (let loop () (loop)))\r");
    terminal.wait_for("\nlooping");
    terminal.interrupt();
    terminal.wait_for_line("[2]>");
    assert!(
        terminal
            .screen()
            .contains("prompt 2:1:51: error[interrupted]")
    );
    terminal.keys("(+ 1 2)\r");
    terminal.wait_for("$1 = 3");
    terminal.keys(CONTROL_D);
    terminal.wait_for_line("[1]>");
    terminal.keys(CONTROL_D);
    terminal.wait_for_line(">");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn pasted_text_is_not_indented_anew() {
    let mut terminal = window().open();
    terminal.keys("\x1b[200~(define text \"a\n      b\")\n(string-length text)\x1b[201~\r");
    terminal.wait_for("$1 = 9");
    // Also if it comes before the prompt.
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_dumb_terminal_gets_no_control_sequences() {
    let mut dumb = window();
    dumb.term = "dumb";
    let mut terminal = dumb.open();
    // Input that is typed before the prompt would be shown before it.
    terminal.wait_for_line(">");
    terminal.keys("(define (f x)\n");
    terminal.wait_for_line(".");
    terminal.keys("x)\n(f 'done)\n");
    terminal.wait_for("$1 = done");
    terminal.wait_for_line(">");
    terminal.keys("(forgotten\n");
    terminal.wait_for_line(".");
    terminal.interrupt();
    terminal.wait_for_line(">");
    terminal.keys("(f 2)\n");
    terminal.wait_for("$2 = 2");
    let written = terminal.written();
    assert!(
        !written.contains("\x1b[?") && !written.contains("\x1b[J"),
        "{written:?}"
    );
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn windows_may_be_narrow() {
    for columns in [1, 2, 3, 7] {
        let mut narrow = window();
        narrow.columns = columns;
        let mut terminal = narrow.open();
        terminal.keys("(list\t 'a 'b)\r(car 日本)\r(exit 7)\r");
        assert_eq!(terminal.end(), Some(7), "{columns}");
    }
}

#[test]
fn ten_megabytes_on_one_line_are_an_input_like_others() {
    let mut terminal = window().open();
    let text = format!("(string-length \"{}\")\r", "x".repeat(10 << 20));
    terminal.keys(text);
    terminal.wait_for("$1 = 10485760");
    terminal.keys("\x1b[200~(+ 1\n");
    terminal.keys("; comment\n".repeat(100_000));
    terminal.keys("2)\x1b[201~\r");
    terminal.wait_for("$2 = 3");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn bytes_that_mean_nothing_do_no_harm() {
    let mut terminal = window().open();
    let bytes: Vec<u8> = (5..=255u8)
        .filter(|byte| ![b'\r', b'\n', 0x1a].contains(byte))
        .collect();
    terminal.keys(&bytes);
    terminal.keys("\x1b[999;999;999q\x1b[200~\x1b[201~\x03\x07\x03");
    terminal.keys("\r(+ 1 2)\r");
    terminal.wait_for("$1 = 3");
    terminal.keys("(exit 0)\r");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_history_that_cannot_be_kept_is_told_once() {
    let window = window();
    std::fs::write(window.directory.join("state"), "in the way").expect("a file can be written");
    let mut terminal = window.open();
    terminal.wait_for("(os error 20)");
    terminal.keys("(+ 1 2)\r(+ 2 3)\r");
    terminal.wait_for("$2 = 5");
    let screen = terminal.screen();
    assert_eq!(screen.matches("the history").count(), 1, "{screen}");
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn evaluations_stop_at_breakpoints() {
    let mut terminal = window().open();
    terminal.keys("(define (square x) (* x x))\r");
    terminal.keys(",break 3\r");
    terminal.wait_for("a line wants its file");
    terminal.keys(",break square if (= x 4)\r");
    terminal.wait_for("Breakpoint 1 at square.");
    terminal.keys("(+ (square 3) (square 4))\r");
    terminal.wait_for("(debug)");
    terminal.keys("locals\r");
    terminal.wait_for("x = 4");
    terminal.keys("print (* x 100)\r");
    terminal.wait_for("400");
    terminal.keys("continue\r");
    terminal.wait_for("$1 = 25");
    terminal.keys(",delete 1\r");
    terminal.keys(",step (square 5)\r");
    terminal.wait_for("the program at prompt 3:1:2\n(debug)");
    // The evaluation ends, not the prompt.
    terminal.keys("quit\r");
    terminal.wait_for("the evaluation was ended in the debugger");
    terminal.keys("(square 6)\r");
    terminal.wait_for("$2 = 36");
}
