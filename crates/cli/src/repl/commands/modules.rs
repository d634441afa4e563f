//! Commands about libraries: `,module`, `,in`, `,import`, `,load`, `,reload`, and `,tasks`.
//!
//! They change the prompt's environment only after the library was loaded, so that an error leaves
//! the prompt where it was. Errors were printed when a command returns.

use canny_lib::evaluation::{INTERACTION, LibraryWords};
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;

use super::{Reply, form_of, forms_of, reply};
use crate::repl::prompt::{Outcome, Prompt, evaluate_form, read_forms};
use crate::report;

/// The library that a form names. Errors are reported.
pub(super) fn library_of(prompt: &Prompt, form: &Syntax) -> Result<LibraryWords, Reply> {
    LibraryWords::of(form).map_err(|diagnostic| {
        report::diagnostics(&[*diagnostic], prompt.session.evaluation().sources());
        Reply::Done
    })
}

/// `,module [LIBRARY]`
pub(super) fn module(prompt: &mut Prompt, rest: &str) -> Reply {
    if rest.is_empty() {
        let place = prompt
            .module
            .as_deref()
            .unwrap_or("the interaction environment");
        return Reply::Text(format!("{place}\n"));
    }
    reply(form_of(prompt, rest).and_then(|form| {
        if form.is_nil() {
            prompt.environment = INTERACTION;
            prompt.module = None;
            return Ok(Reply::Done);
        }
        enter(prompt, &form)?;
        Ok(Reply::Done)
    }))
}

/// Goes inside of a library.
fn enter(prompt: &mut Prompt, form: &Syntax) -> Result<(), Reply> {
    let words = library_of(prompt, form)?;
    match prompt.session.evaluation().enter_library(&words, form.span) {
        Ok((environment, prepared)) => {
            let result = prompt.session.run(Ok(prepared));
            prompt.settled(result).map_err(Reply::Leave)?;
            prompt.environment = environment;
            prompt.module = Some(words.to_string());
            Ok(())
        }
        Err(diagnostics) => {
            report::diagnostics(&diagnostics, prompt.session.evaluation().sources());
            Err(Reply::Done)
        }
    }
}

/// `,in LIBRARY EXPR`
pub(super) fn inside(prompt: &mut Prompt, rest: &str) -> Reply {
    let before = (prompt.environment, prompt.module.clone());
    let result = forms_of(prompt, rest).and_then(|forms| {
        let [library, form] = &forms[..] else {
            return Err(Reply::Usage);
        };
        enter(prompt, library)?;
        prompt.value_of(form).map_err(Reply::Leave)
    });
    (prompt.environment, prompt.module) = before;
    match result {
        Ok(value) => {
            prompt.show(value);
            Reply::Done
        }
        Err(early) => early,
    }
}

/// `,tasks [all]`
pub(super) fn tasks(prompt: &mut Prompt, rest: &str) -> Reply {
    match rest {
        "" => inside(prompt, "(canny tasks monitor) (write-tasks)"),
        "all" => inside(
            prompt,
            "(canny tasks monitor) (write-tasks #:backtraces #t)",
        ),
        _ => Reply::Usage,
    }
}

/// `,import SET ...`
pub(super) fn import(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(forms_of(prompt, rest).and_then(|sets| {
        if sets.is_empty() {
            return Err(Reply::Usage);
        }
        let mut parts = vec![Syntax::symbol(Span::NONE, "import")];
        parts.extend(sets);
        let form = Syntax::list(Span::NONE, parts);
        // The name may have been given another meaning at the prompt.
        prompt.value_of(&form).map_err(Reply::Leave)?;
        Ok(Reply::Done)
    }))
}

/// `,load FILE`, with or without quotation marks
pub(super) fn load(prompt: &mut Prompt, rest: &str) -> Reply {
    let name = super::file_name(rest);
    if name.is_empty() {
        return Reply::Usage;
    }
    match load_file(prompt, &name) {
        Ok(()) => Reply::Done,
        Err(early) => early,
    }
}

/// Evaluates the forms of a file where the prompt is.
pub fn load_file(prompt: &mut Prompt, name: &str) -> Result<(), Reply> {
    let bytes = std::fs::read(name)
        .map_err(|error| Reply::Text(format!("{name} cannot be read: {error}\n")))?;
    let forms = read_forms(&prompt.session, name, &bytes).ok_or(Reply::Done)?;
    for form in &forms {
        let result = evaluate_form(&mut prompt.session, prompt.environment, form);
        prompt.settled(result).map_err(Reply::Leave)?;
    }
    Ok(())
}

/// `,reload LIBRARY`
pub(super) fn reload(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).and_then(|form| {
        let words = library_of(prompt, &form)?;
        let prepared = prompt
            .session
            .evaluation()
            .reload_library(&words, form.span);
        let result = prompt.session.run(prepared);
        match prompt.settled(result) {
            Ok(_) => {}
            Err(Outcome::Next) => return Ok(Reply::Done),
            Err(outcome) => return Ok(Reply::Leave(outcome)),
        }
        let users = prompt.session.evaluation().dependents(&words);
        Ok(if users.is_empty() {
            Reply::Done
        } else {
            Reply::Text(format!(
                "; libraries that import it, to be reloaded too if they use its macros: {}\n",
                users.join(" ")
            ))
        })
    }))
}
