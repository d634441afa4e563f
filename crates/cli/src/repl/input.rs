//! Where inputs come from: the editor on a terminal, lines with a prompt on a dumb one, lines without
//! in every other case.
//!
//! Bytes that are no UTF-8 become replacement characters, which the reader has something to say about.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use canny_lib::evaluation::EnvironmentId;
use canny_vm::{InterruptState, Vm};

use super::completion::Helper;
use super::editor::{self, Editor, Input};
use super::history::History;
use super::lexis::Scanner;

/// How often a dumb terminal looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The result of reading an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// One or more forms, or a command.
    Input(String),
    /// Ctrl-C: what was typed counts for nothing.
    Interrupted,
    End {
        is_terminal: bool,
    },
    /// The end came in the middle of a form.
    Unfinished(String),
}

/// A source of inputs.
pub struct Source {
    vm: Arc<Vm>,
    interrupts: Arc<InterruptState>,
    kind: Kind,
}

enum Kind {
    Edited(Box<(Editor, History)>),
    Lines(Lines),
}

/// Lines that were read and not yet used.
#[derive(Default)]
struct Lines {
    is_terminal: bool,
    bytes: Vec<u8>,
    /// Bytes before this were given out.
    at: usize,
    is_at_end: bool,
}

impl Source {
    /// Input from standard input; a terminal's history is kept in the file.
    pub fn new(vm: Arc<Vm>, interrupts: Arc<InterruptState>, history: Option<PathBuf>) -> Source {
        let kind = if editor::is_capable() {
            let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let (history, problem) = History::open(history);
            if let Some(problem) = problem {
                eprintln!("canny: {problem}");
            }
            Kind::Edited(Box::new((Editor::new(is_coloured), history)))
        } else {
            Kind::Lines(Lines {
                is_terminal: std::io::stdin().is_terminal(),
                ..Lines::default()
            })
        };
        Source {
            vm,
            interrupts,
            kind,
        }
    }

    fn is_terminal(&self) -> bool {
        !matches!(&self.kind, Kind::Lines(lines) if !lines.is_terminal)
    }

    /// Says hello to people.
    pub fn greet(&self) {
        if self.is_terminal() {
            let version = env!("CARGO_PKG_VERSION");
            crate::print_all(&format!(
                "Canny {version}. Ctrl-D ends, ,help tells more.\n"
            ));
        }
    }

    /// The next input.
    pub fn next(&mut self, prompt: &str, environment: EnvironmentId) -> std::io::Result<Line> {
        if self.is_terminal() {
            // The program's last output may have left a line unfinished.
            crate::report::begin_line();
        }
        match &mut self.kind {
            Kind::Edited(parts) => {
                let (editor, history) = &mut **parts;
                let helper = Helper::new(self.vm.clone(), environment);
                match editor.read(prompt, history, &helper)? {
                    Input::Text(text) => {
                        if let Some(problem) = history.add(&text) {
                            eprintln!("canny: {problem}");
                        }
                        Ok(Line::Input(text))
                    }
                    Input::Interrupted => Ok(Line::Interrupted),
                    Input::End => Ok(Line::End { is_terminal: true }),
                }
            }
            Kind::Lines(lines) => lines.next(prompt, &self.interrupts),
        }
    }
}

impl Lines {
    /// Reads lines until they may be whole.
    fn next(&mut self, prompt: &str, interrupts: &InterruptState) -> std::io::Result<Line> {
        let mut text = String::new();
        let mut scanner = Scanner::default();
        self.show(prompt);
        loop {
            let Some(line) = self.line(interrupts)? else {
                let is_terminal = self.is_terminal;
                if is_terminal {
                    crate::print_all("\n");
                }
                return Ok(if text.trim().is_empty() {
                    Line::End { is_terminal }
                } else {
                    Line::Unfinished(text)
                });
            };
            if self.is_terminal && interrupts.take_interrupt() {
                // The lines before this one were taken back.
                text.clear();
                scanner = Scanner::default();
            }
            scanner.scan(&line, |_| {});
            text.push_str(&line);
            if text.trim().is_empty() {
                text.clear();
            } else if scanner.is_complete() || is_whole_command(&text, &scanner) {
                return Ok(Line::Input(text));
            } else {
                self.show(". ");
                continue;
            }
            self.show(prompt);
        }
    }

    fn show(&self, prompt: &str) {
        if self.is_terminal {
            crate::print_all(prompt);
        }
    }

    /// The next line with its end; nothing at the end of input.
    fn line(&mut self, interrupts: &InterruptState) -> std::io::Result<Option<String>> {
        let mut searched = self.at;
        loop {
            let end = self.bytes[searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let end = searched + end + 1;
                let line = String::from_utf8_lossy(&self.bytes[self.at..end]).into_owned();
                self.at = end;
                return Ok(Some(line));
            }
            searched = self.bytes.len();
            if self.is_at_end {
                let rest = String::from_utf8_lossy(&self.bytes[self.at..]).into_owned();
                self.at = self.bytes.len();
                return Ok((!rest.is_empty()).then_some(rest));
            }
            if self.at > 0 {
                self.bytes.drain(..self.at);
                searched -= self.at;
                self.at = 0;
            }
            while self.is_terminal && !editor::is_ready(Some(LOOK_EVERY)) {
                if interrupts.take_interrupt() {
                    crate::print_all("\n");
                    self.bytes.clear();
                    interrupts.interrupt();
                    return Ok(Some(String::new()));
                }
            }
            let more = editor::read_bytes()?;
            self.is_at_end = more.is_empty();
            self.bytes.extend(more);
        }
    }
}

/// Whether a text is a command without a form that continues: the name of one may look like anything.
fn is_whole_command(text: &str, scanner: &Scanner) -> bool {
    super::commands::is_command(text) && text.trim().len() == 1 && !scanner.is_complete()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(text: &str) -> Vec<Line> {
        let mut lines = Lines {
            bytes: text.as_bytes().to_vec(),
            is_at_end: true,
            ..Lines::default()
        };
        let interrupts = InterruptState::default();
        let mut found = Vec::new();
        loop {
            let line = lines.next("> ", &interrupts).expect("nothing is read");
            let is_last = matches!(line, Line::End { .. } | Line::Unfinished(_));
            found.push(line);
            if is_last {
                return found;
            }
        }
    }

    #[test]
    fn forms_may_take_several_lines() {
        let input = |text: &str| Line::Input(text.to_owned());
        let end = Line::End { is_terminal: false };
        assert_eq!(
            inputs("\n(a\n b) c\n'\nd\n,time (f\n x)\n"),
            [
                input("(a\n b) c\n"),
                input("'\nd\n"),
                input(",time (f\n x)\n"),
                end
            ]
        );
        assert_eq!(inputs("(a"), [Line::Unfinished("(a".to_owned())]);
    }

    #[test]
    fn long_input_takes_linear_time() {
        let text = format!("({}\n)\n", "(x)\n".repeat(200_000));
        assert_eq!(inputs(&text).len(), 2);
        let text = "'\n".repeat(200_000);
        assert!(matches!(inputs(&text)[..], [Line::Unfinished(_)]));
    }
}
