//! The screen of the prompt: output that has no line end, inputs that are corrected, suggestions
//! and documentation, windows that change, and a program that is stopped and resumes.

mod support;
#[path = "support/terminal.rs"]
mod terminal;

use std::path::PathBuf;
use std::time::Duration;

use support::{Canny, scratch};
use terminal::Terminal;

const CONTROL_C: &str = "\x03";
const CONTROL_D: &str = "\x04";
const CONTROL_Z: &str = "\x1a";
const UP: &str = "\x1b[A";
const LEFT: &str = "\x1b[D";
const RIGHT: &str = "\x1b[C";

/// A prompt with a history in a directory, in a window of this size.
fn open_in(directory: PathBuf, term: &str, columns: u16, rows: u16) -> Terminal {
    let history = directory.join("history");
    let mut command = Canny::new(directory, &[]).command();
    command
        .env("TERM", term)
        .env("CANNY_HISTORY", history)
        .env_remove("NO_COLOR")
        .env_remove("XTERM_VERSION")
        .env_remove("COLORTERM")
        .env_remove("STY");
    let terminal = Terminal::start(command, columns, rows);
    terminal.wait_for(",help tells more.");
    terminal.wait_for_line(">");
    terminal
}

fn open() -> Terminal {
    open_in(scratch(), "xterm", 80, 24)
}

fn end(mut terminal: Terminal) {
    terminal.keys(CONTROL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn output_without_a_line_end_stays() {
    for term in ["xterm", "dumb"] {
        let mut terminal = open_in(scratch(), term, 80, 24);
        terminal.keys("(display \"hello\")\r");
        terminal.wait_for("> (display \"hello\")\nhello\n>");
        terminal.keys("(display 'wrong (current-error-port))\r");
        terminal.wait_for("\nwrong\n>");
        terminal.keys("(begin (display 'told (current-error-port)) 'value)\r");
        terminal.wait_for("\ntold\n$1 = value\n>");
        terminal.keys("(begin (display 1) (display 2 (current-error-port)) 3)\r");
        // Output without a line end is written when the form is done.
        terminal.wait_for("\n21\n$2 = 3\n>");
        terminal.keys("(begin (display \"half\") (car 5))\r");
        terminal.wait_for("\nhalf\nprompt 5:1:25: error");
        terminal.wait_for_line("[1]>");
        terminal.keys("(begin (display \"whole\") (newline))\r");
        terminal.wait_for("(newline))\nwhole\n[1]>");
        terminal.keys(CONTROL_D);
        terminal.wait_for_line(">");
        end(terminal);
    }
}

#[test]
fn what_other_programs_write_stays_too() {
    let mut terminal = open();
    terminal.keys("(import (canny process))\r");
    terminal.wait_for("process))\n>");
    terminal.keys("(run (list \"printf\" \"from elsewhere\"))\r");
    terminal.wait_for("\nfrom elsewhere");
    terminal.wait_for_line(">");
    end(terminal);
}

#[test]
fn a_line_as_wide_as_the_window_leaves_no_empty_one() {
    let mut terminal = open();
    terminal.keys("(begin (display (make-string 80 #\\x)) (newline))\r");
    terminal.wait_for(&format!("\n{}\n>", "x".repeat(80)));
    terminal.keys("(display (make-string 80 #\\y))\r");
    terminal.wait_for(&format!("\n{}\n", "y".repeat(80)));
    terminal.wait_for_line(">");
    end(terminal);
}

#[test]
fn enter_takes_a_whole_input_wherever_the_cursor_stands() {
    let mut terminal = open();
    terminal.keys("(* 6 7)");
    terminal.keys(LEFT.repeat(3));
    terminal.keys("\r");
    terminal.wait_for("> (* 6 7)\n$1 = 42\n>");
    // A recalled input is corrected at its first line, and run with one key.
    terminal.keys("(list 1\r2)\r");
    terminal.wait_for("$2 = (1 2)\n>");
    terminal.keys(UP);
    terminal.wait_for(">\u{20}(list 1\n        2)\n$2 = (1 2)\n> (list 1\n        2)");
    terminal.keys(UP);
    terminal.keys("0\r");
    terminal.wait_for("$3 = (10 2)");
    // An incomplete form continues below, from where the cursor stands.
    terminal.keys("(list 3 4");
    terminal.keys(LEFT);
    terminal.keys("\r)");
    terminal.wait_for("> (list 3\n        )4");
    terminal.keys("\r");
    terminal.wait_for("$4 = (3)\n$5 = 4");
    end(terminal);
}

#[test]
fn a_line_in_a_string_is_not_indented() {
    let mut terminal = open();
    terminal.keys("(define text \"a\rb\")\r(string-length text)\r");
    terminal.wait_for("$1 = 3");
    end(terminal);
}

#[test]
fn the_history_suggests_how_to_go_on() {
    let mut terminal = open();
    terminal.keys("(list 'red 'green)\r");
    terminal.wait_for("$1 = (red green)\n>");
    terminal.keys("(li");
    terminal.wait_for_line("> (list 'red 'green)");
    assert_eq!(terminal.dim_text(), "st 'red 'green)");
    assert_eq!(terminal.cursor().1, 5);
    // Enter takes what was typed only.
    terminal.keys(")\r");
    terminal.wait_for("> (li)\n");
    terminal.wait_for_line("[1]>");
    terminal.keys("(lis");
    terminal.wait_until("suggestion", |_| terminal.dim_text() == "t 'red 'green)");
    terminal.keys(RIGHT);
    terminal.wait_until("end of it", |_| terminal.dim_text().is_empty());
    terminal.keys("\r");
    terminal.wait_for("$2 = (red green)");
    terminal.wait_for_line("[1]>");
    // A word with Alt-F; another text takes the rest away.
    terminal.keys("(lis");
    terminal.wait_until("suggestion", |_| terminal.dim_text() == "t 'red 'green)");
    terminal.keys("\x1bf");
    terminal.wait_until("a word", |_| terminal.dim_text() == " 'red 'green)");
    terminal.keys("-");
    terminal.wait_for_line("[1]> (list-");
    terminal.keys(CONTROL_C);
    // Of an input of several lines the first is shown, and all are taken.
    terminal.keys("(vector 1\r2)\r");
    terminal.wait_for("$3 = #(1 2)");
    terminal.keys("(v");
    terminal.wait_until("suggestion", |_| terminal.dim_text() == "ector 1 …");
    terminal.keys("\x05\r");
    terminal.wait_for("$4 = #(1 2)");
    terminal.keys(CONTROL_D);
    end(terminal);
}

#[test]
fn a_question_mark_asks_for_documentation() {
    let mut terminal = open();
    for (question, answers) in [
        (
            "?car",
            vec![
                "car: procedure, imported from",
                "(car pair)",
                "Returns the first field of a pair",
            ],
        ),
        ("? list-copy", vec!["list-copy: ", "(list-copy"]),
        (
            "?fold-righ",
            vec!["fold-righ means nothing here. Did you mean fold-right?"],
        ),
        (
            "?no-such-name-at-all",
            vec!["no-such-name-at-all means nothing here. ,apropos"],
        ),
        (
            "?list-queue-front",
            vec!["not imported; exported by (scheme list-queue), (srfi"],
        ),
        ("?printf", vec!["`format` of (srfi 48)"]),
        ("?(scheme lazy)", vec!["(scheme lazy)", "(delay-force"]),
        ("?", vec![",describe EXPR"]),
    ] {
        terminal.keys(format!("{question}\r"));
        for answer in answers {
            terminal.wait_for(answer);
        }
        terminal.wait_for_line(">");
        terminal.keys("\x0c");
    }
    terminal.keys("(define ?x 'found)\r?x\r");
    terminal.wait_for("$1 = found");
    end(terminal);
}

#[test]
fn completions_are_told_of() {
    let mut terminal = open();
    terminal.keys("(call-with-esc\t");
    terminal.wait_for("> (call-with-escape-continuation\n(call-with-escape-continuation");
    terminal.keys(" ");
    terminal.wait_until("nothing below", |screen| {
        screen.ends_with("> (call-with-escape-continuation")
    });
    terminal.keys("\x15,opti\t");
    terminal.wait_for("\n,option [NAME [VALUE]]  see or change");
    terminal.keys("\x15(import (scheme laz\t");
    terminal.wait_for("\n(scheme lazy)  ");
    terminal.keys("\x15?list-ta\t");
    terminal.wait_for("> ?list-ta\n(list-tabulate");
    terminal.keys("\x15");
    end(terminal);
}

#[test]
fn control_z_stops_the_program_until_it_goes_on() {
    let mut terminal = open();
    terminal.keys("(list 1\r2");
    terminal.wait_for("> (list 1\n        2");
    terminal.keys(LEFT);
    terminal.keys(CONTROL_Z);
    terminal.wait_until_stopped();
    assert!(terminal.is_cooked());
    let before = "> (list 1\n        2";
    assert!(terminal.screen().ends_with(before), "{}", terminal.screen());
    // The cursor is behind the text, where the shell resumes.
    assert_eq!(terminal.cursor().1, 9);
    terminal.print("\r\n[1]+  Stopped\r\nsh$ fg\r\ncanny\r\n");
    terminal.go_on();
    let after = format!("{before}\n[1]+  Stopped\nsh$ fg\ncanny\n{before}");
    terminal.wait_for(&after);
    // The cursor is where it was.
    terminal.wait_until("the cursor", |_| terminal.cursor().1 == 8);
    terminal.keys("3)\r");
    terminal.wait_for("$1 = (1 3)\n$2 = 2");
    end(terminal);
}

#[test]
fn a_program_that_others_stopped_shows_its_input_again() {
    let mut terminal = open();
    terminal.keys("(list 1");
    terminal.wait_for_line("> (list 1");
    terminal.stop();
    terminal.wait_until_stopped();
    // The shell takes the terminal.
    terminal.cook();
    terminal.print("\r\nsh$ fg\r\n");
    terminal.go_on();
    terminal.wait_for("sh$ fg\n> (list 1");
    terminal.keys(" 2)\r");
    terminal.wait_for("$1 = (1 2)");
    end(terminal);
}

/// The input that a window is resized around.
const LONG: &str =
    "(define (a-long-name first second) (list first second first second first second";

#[test]
fn another_width_leaves_no_stale_line() {
    for reflows in [true, false] {
        let directory = scratch();
        let mut command = Canny::new(directory.clone(), &[]).command();
        command
            .env("TERM", "xterm")
            .env("CANNY_HISTORY", directory.join("history"))
            .env("COLORTERM", "")
            .env("STY", "");
        if reflows {
            command.env_remove("XTERM_VERSION");
        } else {
            command.env("XTERM_VERSION", "XTerm(390)");
        }
        let mut terminal = Terminal::start_with(command, 60, 24, reflows);
        terminal.wait_for_line(">");
        terminal.keys(LONG);
        let shows_it_once = |columns: usize| {
            let rows = terminal.rows();
            let start = rows.iter().position(|row| row.starts_with('>'));
            let rows = &rows[start.unwrap_or(rows.len())..];
            let text: String = rows.iter().map(|row| &row[2.min(row.len())..]).collect();
            let is_narrow = rows.iter().all(|row| row.len() <= columns);
            is_narrow && text.replace(' ', "") == LONG.replace(' ', "")
        };
        terminal.wait_until("input", |_| shows_it_once(60));
        for columns in [40, 70, 25, 33, 100, 20] {
            terminal.resize(columns, 24);
            terminal.wait_until("text of another width", |_| shows_it_once(columns.into()));
        }
        terminal.keys("\x01\x0b\r");
        terminal.wait_for_line(">");
        end(terminal);
    }
}

#[test]
fn an_interrupted_loop_has_a_place() {
    let mut terminal = open();
    terminal.keys("(define (self) (self))\r");
    terminal.keys("(define (ping) (pong))\r(define (pong) (ping))\r");
    terminal.wait_for("(define (pong) (ping))\n>");
    // An input, and the column of the call that never returns; or the place of the loop, where another
    // input has it.
    let loops = [
        ("(let loop () (loop))", ":1:36:"),
        ("(do () (#f))", ":1:23:"),
        ("(self)", "prompt 1:1:16:"),
        (
            "(for-each (lambda (x) (let loop () (loop))) '(1 2))",
            ":1:58:",
        ),
        ("(let loop ((i 0)) (loop (+ i 1)))", ":1:41:"),
        ("(ping)", "prompt "),
    ];
    let mut interrupts = 0;
    for (input, place) in loops {
        // An interrupt may come before the loop is entered; that has the place of the input. The next
        // comes later, for as long as that takes on this machine.
        let is_of_the_loop = (0..20).any(|attempt| {
            interrupts += 1;
            terminal.keys(format!("(write-string \"r{interrupts}\\n\") {input}\r"));
            terminal.wait_for_line(&format!("r{interrupts}"));
            std::thread::sleep(Duration::from_millis(5) * attempt * attempt);
            terminal.interrupt();
            terminal.wait_for_line(&format!("[{interrupts}]>"));
            let screen = terminal.screen();
            let mut lines = screen.lines();
            let message = lines.rfind(|line| line.contains("error[interrupted]"));
            let message = message.expect("a message");
            let line = interrupts + 3;
            let own = format!("prompt {line}:1:");
            let place = match place.strip_prefix(":1:") {
                Some(column) => format!("{own}{column}"),
                None => place.to_owned(),
            };
            let is_early = message.starts_with(&own);
            assert!(
                is_early || message.starts_with(&place),
                "{message} for {input}"
            );
            message.starts_with(&place)
        });
        assert!(is_of_the_loop, "no interrupt had the place of {input}");
    }
    terminal.keys("(exit 0)\r");
    assert_eq!(terminal.end(), Some(0));
}
