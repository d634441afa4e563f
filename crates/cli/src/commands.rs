//! Commands at the prompt: lines that begin with a comma, which no expression there does.

use canny_lib::bytecode_text;
use canny_lib::evaluation::{FormPosition, INTERACTION};
use canny_syntax::reader::read_source;
use canny_syntax::syntax::Syntax;
use canny_value::Value;
use canny_vm::Exit;

use crate::report;
use crate::session::{Failure, Session};

/// A command.
struct Command {
    name: &'static str,
    argument: &'static str,
    help: &'static str,
    run: fn(&mut Session, &[Syntax]) -> Answer,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "disassemble",
        argument: "PROC",
        help: "bytecode of a procedure; if it was compiled, its graph and machine code",
        run: disassemble,
    },
    Command {
        name: "expand",
        argument: "EXPR",
        help: "an expression without macros",
        run: expand,
    },
    Command {
        name: "help",
        argument: "",
        help: "these lines",
        run: |_, _| Answer::Text(help()),
    },
    Command {
        name: "optimize",
        argument: "EXPR",
        help: "what the optimizer makes of an expression",
        run: optimize,
    },
];

/// What became of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The line goes on.
    Incomplete,
    /// To be printed.
    Text(String),
    /// A message was printed.
    Told,
    /// The expression ended the program.
    Exit(u8),
}

/// Whether what was typed so far is a command.
pub fn is_command(text: &str) -> bool {
    text.trim_start().starts_with(',')
}

/// Does what a command asks.
pub fn answer(session: &mut Session, text: &str) -> Answer {
    let text = text.trim_start().trim_start_matches(',');
    let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != '-');
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Answer::Text(format!("There is no command ,{name}.\n{}", help()));
    };
    let sources = session.evaluation().sources();
    let (_, forms) = read_source(sources, "prompt", rest.as_bytes(), false);
    if forms.is_incomplete() {
        return Answer::Incomplete;
    }
    if forms.has_errors() {
        report::diagnostics(&forms.diagnostics, sources);
        return Answer::Told;
    }
    let wanted = usize::from(!command.argument.is_empty());
    if forms.forms.len() != wanted {
        return Answer::Text(format!("{}\n", line(command)));
    }
    (command.run)(session, &forms.forms)
}

fn line(command: &Command) -> String {
    let call = format!(",{} {}", command.name, command.argument);
    format!("{call:<20} {}", command.help)
}

fn help() -> String {
    let lines: Vec<String> = COMMANDS.iter().map(line).collect();
    format!("{}\n", lines.join("\n"))
}

fn expand(session: &mut Session, forms: &[Syntax]) -> Answer {
    let evaluation = session.evaluation();
    match evaluation.expand_forms_text(INTERACTION, forms) {
        Ok(text) => Answer::Text(without_header(&text)),
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, evaluation.sources());
            Answer::Told
        }
    }
}

fn optimize(session: &mut Session, forms: &[Syntax]) -> Answer {
    let evaluation = session.evaluation();
    match evaluation.optimize_forms_text(INTERACTION, forms) {
        Ok(text) => Answer::Text(without_header(&text)),
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, evaluation.sources());
            Answer::Told
        }
    }
}

/// The text of a unit without the lines about the unit.
fn without_header(text: &str) -> String {
    let is_header = |line: &&str| line.starts_with(";;");
    let lines: Vec<&str> = text.lines().skip_while(is_header).collect();
    format!("{}\n", lines.join("\n"))
}

fn disassemble(session: &mut Session, forms: &[Syntax]) -> Answer {
    let prepared = session
        .evaluation()
        .prepare_forms(INTERACTION, forms, FormPosition::Toplevel);
    match session.run(prepared) {
        Ok(value) => Answer::Text(disassembly(session, value)),
        Err(Failure::Exit(Exit::Code(code))) => Answer::Exit(code as u8),
        Err(_) => Answer::Told,
    }
}

/// Everything that a procedure consists of.
fn disassembly(session: &Session, procedure: Value) -> String {
    let Some(mut text) = bytecode_text(&session.thread, procedure) else {
        return "It is no procedure.\n".to_owned();
    };
    let candidates = session.thread.listings(procedure);
    for candidate in &candidates {
        let retired = if candidate.is_retired {
            ", given up"
        } else {
            ""
        };
        text.push_str(&format!(
            "\n;; compiled, {}{retired}: {} bytes of machine code\n\n{}\n{}",
            candidate.entry,
            candidate.code_bytes,
            candidate.listing.graph,
            candidate.listing.machine_code
        ));
    }
    if candidates.is_empty() {
        let why = session.thread.why_not_compiled(procedure);
        text.push_str(&format!("\n;; not compiled to machine code: {why}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    /// What the commands among the lines answer; the other lines are evaluated.
    fn answers(lines: &'static [&'static str]) -> Vec<Answer> {
        let run = move || {
            let options = options::parse(["canny", "--no-cache"].map(Into::into));
            let options = options.expect("the options are right");
            let mut session = Session::new(&options, None).expect("a machine starts");
            session.vm.specializer().ledger().turn_on(true);
            let mut answers = Vec::new();
            for line in lines {
                if is_command(line) {
                    answers.push(answer(&mut session, line));
                } else {
                    let done =
                        crate::repl::evaluate_and_print(&mut session, "test", line.as_bytes());
                    assert!(done.is_ok(), "{line}");
                }
            }
            answers
        };
        let thread = std::thread::Builder::new().stack_size(crate::STACK_BYTES);
        let thread = thread.spawn(run).expect("a thread starts");
        thread.join().expect("the test does not panic")
    }

    fn text(answer: &Answer) -> &str {
        match answer {
            Answer::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    #[test]
    fn commands_begin_with_a_comma() {
        assert!(is_command(",help"));
        assert!(is_command("  ,optimize (f)"));
        assert!(!is_command("(f ,x)"));
        assert!(!is_command(""));
    }

    #[test]
    fn expressions_are_optimized_and_not_evaluated() {
        let answers = answers(&[
            "(define (square x) (* x x))",
            ",optimize (let ((a 1) (b 2)) (list (+ a b) (begin (display \"no\") 5)))",
            ",optimize (define y 5)",
            ",optimize (+ y 1)",
            ",expand (let loop ((i 0)) (loop (+ i 1)))",
        ]);
        assert_eq!(text(&answers[0]), "(list 3 (begin (display \"no\") 5))\n");
        assert!(text(&answers[1]).contains("define"), "{answers:?}");
        assert!(text(&answers[3]).contains("loop"), "{answers:?}");
    }

    #[test]
    fn procedures_are_disassembled() {
        let answers = answers(&[
            "(import (only (canny primitives) %specialize))",
            "(define (square x) (* x x))",
            ",disassemble square",
            "(%specialize square)",
            ",disassemble square",
            ",disassemble 5",
            ",disassemble car",
        ]);
        let before = text(&answers[0]);
        assert!(before.contains("square (x)"), "{before}");
        assert!(
            before.contains("not compiled to machine code: not hot enough"),
            "{before}"
        );
        let after = text(&answers[1]);
        assert!(after.contains("compiled, entered at its start"), "{after}");
        assert!(after.contains("graph of square"), "{after}");
        assert!(after.contains("segment 0 of square"), "{after}");
        assert_eq!(text(&answers[2]), "It is no procedure.\n");
        assert!(text(&answers[3]).contains("car"), "{answers:?}");
    }

    #[test]
    fn what_cannot_be_done_is_told() {
        let answers = answers(&[
            ",nonsense 5",
            ",optimize",
            ",optimize (let ((x 1))",
            ",optimize (let ((x 1)) ",
            ",disassemble (exit 7)",
            ",optimize (if)",
            ",help",
        ]);
        assert!(text(&answers[0]).starts_with("There is no command ,nonsense."));
        assert!(text(&answers[1]).starts_with(",optimize EXPR"));
        assert_eq!(answers[2], Answer::Incomplete);
        assert_eq!(answers[3], Answer::Incomplete);
        assert_eq!(answers[4], Answer::Exit(7));
        assert_eq!(answers[5], Answer::Told);
        assert!(text(&answers[6]).contains(",disassemble PROC"));
    }
}
