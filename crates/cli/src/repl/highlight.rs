//! Colours of the input while it is typed.
//!
//! It works on tokens, not on forms, so that incomplete input has colours too. Long inputs stay as
//! they are. Colours change nothing about the text.

use super::editor::Styled;
use super::lexis::{TokenKind, matching, tokens};

/// Texts longer than this stay as they are.
const BYTES_MAX: usize = 32 * 1024;

const STRING: &str = "32";
const COMMENT: &str = "2";
const CONSTANT: &str = "36";
const FORM: &str = "34";
const COMMAND: &str = "35";
const MATCHING: &str = "1;7";

/// The coloured parts of a text, in order. `is_form` tells which names are keywords.
pub fn styles(text: &str, cursor: usize, is_form: impl Fn(&str) -> bool) -> Vec<Styled> {
    if text.len() > BYTES_MAX {
        return Vec::new();
    }
    let mut styles = Vec::new();
    // A command's name is no unquotation.
    let blank = text.len() - text.trim_start().len();
    let command_end = text[blank..].strip_prefix(',').map(|rest| {
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        blank + 1 + length
    });
    if let Some(end) = command_end {
        styles.push(Styled {
            range: blank..end,
            style: COMMAND,
        });
    }
    let tokens = tokens(text);
    let pair = matching(&tokens, cursor);
    for (index, token) in tokens.iter().enumerate() {
        if command_end.is_some_and(|end| token.range.start < end) {
            continue;
        }
        let style = match token.kind {
            _ if pair.is_some_and(|(at, other)| other == index && at != other) => MATCHING,
            TokenKind::String | TokenKind::Character => STRING,
            TokenKind::Comment => COMMENT,
            TokenKind::Constant => CONSTANT,
            TokenKind::Symbol if is_form(&text[token.range.clone()]) => FORM,
            _ => continue,
        };
        styles.push(Styled {
            range: token.range.clone(),
            style,
        });
    }
    styles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_colours() {
        let text = "(if \"a\" 5)";
        let found = styles(text, text.len(), |name| name == "if");
        let shown: Vec<(&str, &str)> = found
            .iter()
            .map(|one| (&text[one.range.clone()], one.style))
            .collect();
        assert_eq!(
            shown,
            [
                ("(", MATCHING),
                ("if", FORM),
                ("\"a\"", STRING),
                ("5", CONSTANT)
            ]
        );
    }

    #[test]
    fn commands_are_no_unquotations() {
        let found = styles(",time (f)", 0, |_| false);
        assert_eq!(found[0].range, 0..5);
    }
}
