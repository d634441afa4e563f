//! Selects which warnings are shown: `-W` and `--no-warnings`.
//!
//! The last option about a warning wins. Errors are never hidden; with `-W error` the warnings that
//! are shown count as errors. Every code of a warning is valid here.

use canny_syntax::diagnostic::{Diagnostic, Severity};
use canny_syntax::messages;

/// Choices about warnings from the command line. The last option about a warning wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// In order: code and whether it is shown; no code means all.
    choices: Vec<(Option<&'static str>, bool)>,
    are_errors: bool,
}

impl Warnings {
    /// Takes the word of one `-W`: `CODE`, `no-CODE`, `all`, `none` or `error`.
    pub fn choose(&mut self, word: &str) -> Result<(), String> {
        let find = |code: &str| messages::warnings().find(|row| row.code == code);
        let choice = match word {
            "error" => {
                self.are_errors = true;
                return Ok(());
            }
            "all" => (None, true),
            "none" => (None, false),
            _ => match (find(word), word.strip_prefix("no-").and_then(find)) {
                (Some(row), _) => (Some(row.code), true),
                (None, Some(row)) => (Some(row.code), false),
                (None, None) => {
                    let codes: Vec<&str> = messages::warnings().map(|row| row.code).collect();
                    return Err(format!(
                        "-W wants the code of a warning, with or without 'no-', not '{word}'; there are {}; \
                        and 'all', 'none', 'error'",
                        codes.join(", ")
                    ));
                }
            },
        };
        self.choices.push(choice);
        Ok(())
    }

    /// Turns all off.
    pub fn choose_none(&mut self) {
        self.choices.push((None, false));
    }

    fn shows(&self, code: &str) -> bool {
        let concerns = |(one, _): &&(Option<&'static str>, bool)| one.is_none_or(|one| one == code);
        match self.choices.iter().rev().find(concerns) {
            Some((_, shown)) => *shown,
            None => !messages::is_off_by_default(code),
        }
    }

    /// The diagnostics that are to be shown; with `-W error` warnings have become errors.
    pub fn choose_from(&self, diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
        let shown = diagnostics
            .iter()
            .filter(|one| one.is_error() || self.shows(one.code));
        shown
            .cloned()
            .map(|mut one| {
                if self.are_errors {
                    one.severity = Severity::Error;
                }
                one
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_syntax::span::Span;

    fn codes(words: &[&str]) -> Vec<&'static str> {
        let mut warnings = Warnings::default();
        for word in words {
            warnings.choose(word).unwrap();
        }
        let all = ["unbound-variable", "shadowed-name"];
        let all = all.map(|code| Diagnostic::warning(code, Span::NONE, "w"));
        let chosen = warnings.choose_from(&all);
        chosen.iter().map(|one| one.code).collect()
    }

    #[test]
    fn the_last_word_holds() {
        assert_eq!(codes(&[]), ["unbound-variable"]);
        assert_eq!(codes(&["all"]), ["unbound-variable", "shadowed-name"]);
        assert!(codes(&["no-unbound-variable"]).is_empty());
        assert_eq!(codes(&["none", "shadowed-name"]), ["shadowed-name"]);
        assert!(codes(&["shadowed-name", "none"]).is_empty());
    }

    #[test]
    fn warnings_become_errors() {
        let mut warnings = Warnings::default();
        warnings.choose("error").unwrap();
        let one = Diagnostic::warning("unbound-variable", Span::NONE, "w");
        assert!(warnings.choose_from(&[one])[0].is_error());
    }

    #[test]
    fn wrong_words_are_refused() {
        let mut warnings = Warnings::default();
        assert!(warnings.choose("wrong-type").is_err());
        assert!(warnings.choose("").is_err());
    }
}
