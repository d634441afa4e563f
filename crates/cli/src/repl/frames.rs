//! Prints the frames of a failed evaluation: message, backtrace, source line and local variables.
//!
//! The frames were kept as descriptions when the evaluation failed; the stack itself is gone.
//! Frames of the standard library are hidden.

use canny_lib::failure::{self, Failure};
use canny_vm::{FrameDescription, KeptFrame};

use super::prompt::Prompt;
use super::results;
use crate::report;

/// Frames that a backtrace shows at most.
const FRAMES_MAX: usize = 50;

/// The message of commands about frames when no failure is kept.
pub const NOTHING: &str = "Nothing has failed.\n";

/// The frames of a failure that people want to see: those of the library only tell how it works.
fn shown(failure: &Failure) -> Vec<&KeptFrame> {
    let frames = failure.frames.iter();
    frames
        .filter(|frame| !frame.description.is_library)
        .collect()
}

fn described(frame: &FrameDescription) -> String {
    report::frame(
        frame.name.as_deref(),
        frame.is_program,
        frame.position.as_ref(),
    )
}

/// The message of the newest failure.
pub fn message(prompt: &Prompt) -> String {
    match failure::newest_failure(&prompt.session.vm) {
        Some(failure) => format!("{}\n", failure.uncaught.plain_text()),
        None => NOTHING.to_owned(),
    }
}

/// All frames, the one that is looked at marked.
pub fn backtrace(prompt: &Prompt) -> String {
    let Some(failure) = failure::newest_failure(&prompt.session.vm) else {
        return NOTHING.to_owned();
    };
    let frames = shown(&failure);
    if frames.is_empty() {
        return "There are no frames.\n".to_owned();
    }
    let mut text = String::new();
    for (number, frame) in frames.iter().enumerate().take(FRAMES_MAX) {
        let mark = if number == prompt.frame { '*' } else { ' ' };
        let line = described(&frame.description);
        text.push_str(&format!("{mark}{number:3}  {line}\n"));
        let callers = frame.description.tail_callers.iter();
        for caller in callers.filter(|caller| !caller.is_library) {
            let perhaps = if caller.is_certain { "" } else { "perhaps " };
            let name = caller.name.as_deref().unwrap_or("an anonymous procedure");
            text.push_str(&format!("      {perhaps}by a tail call in {name}\n"));
        }
    }
    if frames.len() > FRAMES_MAX {
        text.push_str(&format!("     … and {} more\n", frames.len() - FRAMES_MAX));
    }
    text
}

/// Goes to a frame and shows it with its source line; nothing changes if there is no such frame.
pub fn go(prompt: &mut Prompt, number: Option<usize>) -> String {
    let Some(failure) = failure::newest_failure(&prompt.session.vm) else {
        return NOTHING.to_owned();
    };
    let frames = shown(&failure);
    let Some(frame) = number.and_then(|number| frames.get(number)) else {
        return match frames.len() {
            0 => "There are no frames.\n".to_owned(),
            count => format!(
                "There is no such frame: they are numbered from 0 to {}.\n",
                count - 1
            ),
        };
    };
    prompt.frame = number.unwrap_or(0);
    let mut text = format!("{:4}  {}\n", prompt.frame, described(&frame.description));
    if let Some(line) = source_line(prompt, &frame.description) {
        text.push_str(&format!("      {line}\n"));
    }
    text
}

/// The line of the source where a frame stands.
fn source_line(prompt: &Prompt, frame: &FrameDescription) -> Option<String> {
    let place = frame.position.as_ref()?;
    let sources = prompt.session.evaluation().sources();
    let text = sources
        .text_of(&place.file)
        .or_else(|| std::fs::read_to_string(&place.file).ok().map(Into::into))?;
    let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
    Some(line.trim().to_owned())
}

/// The variables of the frame that is looked at.
pub fn locals(prompt: &mut Prompt) -> String {
    let vm = prompt.session.vm.clone();
    let Some(failure) = failure::newest_failure(&vm) else {
        return NOTHING.to_owned();
    };
    let frames = shown(&failure);
    let Some(frame) = frames.get(prompt.frame) else {
        return "There are no frames.\n".to_owned();
    };
    if frame.variables.is_empty() {
        return "The frame has no variables.\n".to_owned();
    }
    let mut text = String::new();
    for variable in &frame.variables {
        let value = variable
            .index
            .and_then(|index| failure::failure_value(&vm, index));
        match value {
            Some(value) => {
                let name = results::name_result(prompt, value);
                let label = format!("  {name}  {} = ", variable.name);
                text.push_str(&results::labelled(prompt, &label, value));
                text.push('\n');
            }
            None => text.push_str(&format!(
                "      {}: no longer needed there, so its value is gone\n",
                variable.name
            )),
        }
    }
    text
}
