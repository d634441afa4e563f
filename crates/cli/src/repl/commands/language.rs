//! Commands that show what becomes of code: `,expand`, `,optimize`, `,disassemble` and
//! `,pretty-print`.
//!
//! They compile the given form in the prompt's environment and print a stage of it. Only operands
//! whose value is asked for are evaluated.

use canny_lib::bytecode_text;
use canny_syntax::diagnostic::Diagnostic;
use canny_value::Value;

use super::{Reply, form_of, reply, value_of};
use crate::repl::prompt::Prompt;
use crate::repl::results;
use crate::report;
use crate::session::Session;

/// `,expand EXPR`
pub(super) fn expand(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).map(|form| {
        let environment = prompt.environment();
        let evaluation = prompt.session.evaluation();
        let text = evaluation.expand_forms_text(environment, &[form]);
        unit_text(prompt, text)
    }))
}

/// `,optimize EXPR`
pub(super) fn optimize(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).map(|form| {
        let environment = prompt.environment();
        let evaluation = prompt.session.evaluation();
        let text = evaluation.optimize_forms_text(environment, &[form]);
        unit_text(prompt, text)
    }))
}

/// The text of a unit without the lines about the unit.
fn unit_text(prompt: &Prompt, text: Result<String, Vec<Diagnostic>>) -> Reply {
    match text {
        Ok(text) => {
            let is_header = |line: &&str| line.starts_with(";;");
            let lines: Vec<&str> = text.lines().skip_while(is_header).collect();
            Reply::Text(format!("{}\n", lines.join("\n")))
        }
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, prompt.session.evaluation().sources());
            Reply::Done
        }
    }
}

/// `,disassemble PROC`
pub(super) fn disassemble(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(value_of(prompt, rest).map(|value| Reply::Text(disassembly(&prompt.session, value))))
}

/// Everything that a procedure consists of.
fn disassembly(session: &Session, procedure: Value) -> String {
    let Some(mut text) = bytecode_text(&session.thread, procedure) else {
        return "It is no procedure.\n".to_owned();
    };
    let candidates = session.thread.listings(procedure);
    for candidate in &candidates {
        let retired = if candidate.is_retired {
            ", retired"
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

/// `,pretty-print EXPR`
pub(super) fn pretty_print(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(value_of(prompt, rest).map(|value| {
        let text = results::whole(prompt, value);
        Reply::Text(format!("{text}\n"))
    }))
}
