//! Commands that stop evaluations: `,break`, `,watch`, `,catch`, `,step` and what belongs to them.
//!
//! Where an evaluation stops, the prompt of the debugger reads commands. It is the one of `canny debug`.

use std::sync::Arc;

use super::{Reply, form_of, reply};
use crate::debug::{self, Console};
use crate::repl::prompt::Prompt;

/// The debugger of the prompt, which begins with its first use.
fn console(prompt: &mut Prompt) -> Result<Arc<Console>, Reply> {
    if let Some(console) = &prompt.debugger {
        return Ok(console.clone());
    }
    let prepared = prompt.session.evaluation().prepare_debugger();
    if prompt.session.run(prepared).is_err() {
        return Err(Reply::Text("; the debugger does not start\n".to_owned()));
    }
    let console = debug::at_prompt(&prompt.session.thread);
    prompt.debugger = Some(console.clone());
    Ok(console)
}

/// A command about breakpoints: `,break`, `,watch`, `,catch`, `,breakpoints` or `,delete`.
pub(super) fn breakpoints(prompt: &mut Prompt, word: &str, rest: &str) -> Reply {
    let is_line = rest
        .split_whitespace()
        .next()
        .is_some_and(|place| place.parse::<u32>().is_ok());
    if word == "break" && is_line {
        return Reply::Text("; a line wants its file: FILE:LINE\n".to_owned());
    }
    reply(console(prompt).map(|console| {
        let line = format!("{word} {rest}");
        let told = console.command(&mut prompt.session.thread, &line);
        let told = told.trim_end();
        if told.is_empty() {
            Reply::Done
        } else {
            Reply::Text(format!("{told}\n"))
        }
    }))
}

/// `,step EXPR`
pub(super) fn step(prompt: &mut Prompt, rest: &str) -> Reply {
    reply(form_of(prompt, rest).and_then(|form| {
        console(prompt)?;
        prompt.session.thread.pause();
        let value = prompt.value_of(&form);
        prompt.session.thread.end_pause();
        prompt.show(value.map_err(Reply::Leave)?);
        Ok(Reply::Done)
    }))
}
