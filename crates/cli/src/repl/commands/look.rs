//! Going from frame to frame.

use super::Reply;
use crate::repl::frames;
use crate::repl::prompt::Prompt;

/// `,frame [NUMBER]`
pub(super) fn frame(prompt: &mut Prompt, rest: &str) -> Reply {
    let number = if rest.is_empty() {
        Some(prompt.frame)
    } else {
        rest.parse().ok()
    };
    Reply::Text(frames::go(prompt, number))
}

/// `,up [COUNT]`: to the caller.
pub(super) fn up(prompt: &mut Prompt, rest: &str) -> Reply {
    step(prompt, rest, |frame, count| frame.checked_add(count))
}

/// `,down [COUNT]`: to the frame that was called.
pub(super) fn down(prompt: &mut Prompt, rest: &str) -> Reply {
    step(prompt, rest, |frame, count| frame.checked_sub(count))
}

fn step(prompt: &mut Prompt, rest: &str, move_by: impl Fn(usize, usize) -> Option<usize>) -> Reply {
    let count = if rest.is_empty() { Ok(1) } else { rest.parse() };
    let Ok(count) = count else {
        return Reply::Usage;
    };
    let frame = move_by(prompt.frame, count);
    Reply::Text(frames::go(prompt, frame))
}
