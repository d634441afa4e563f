//! Answers the line editor's questions about the language: completion, indentation, colours,
//! whether a form is complete.
//!
//! It only reads the environment: nothing that is typed is evaluated. Inputs and directories beyond
//! a size are not looked at, so that each key is answered quickly. The nREPL server completes by
//! the same functions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use canny_lib::Evaluation;
use canny_lib::evaluation::{EnvironmentId, NameKind};
use canny_locks::Mutex;
use canny_vm::Vm;

use super::commands;
use super::editor::{Assistant, Completions, Known, Styled, What};
use super::lexis::{self, TokenKind};
use super::{highlight, indent};

/// Texts that are looked at for completion at most.
const BYTES_MAX: usize = 64 * 1024;
/// Files of a directory that are offered at most.
const FILES_MAX: usize = 500;

/// Answers the editor's questions.
pub struct Helper {
    vm: Arc<Vm>,
    environment: EnvironmentId,
    /// Names that were asked about while this input is edited.
    forms: Mutex<HashMap<String, bool>>,
}

impl Helper {
    pub fn new(vm: Arc<Vm>, environment: EnvironmentId) -> Helper {
        Helper {
            vm,
            environment,
            forms: Mutex::default(),
        }
    }

    fn evaluation(&self) -> &Evaluation {
        Evaluation::of(&self.vm)
    }

    fn is_form(&self, name: &str) -> bool {
        let mut forms = self.forms.lock();
        if let Some(known) = forms.get(name) {
            return *known;
        }
        let info = self.evaluation().name_info(self.environment, name);
        let is_form =
            info.is_some_and(|info| matches!(info.kind, NameKind::Form | NameKind::Macro));
        forms.insert(name.to_owned(), is_form);
        is_form
    }

    /// How a name is used, and a sentence about it.
    fn about_name(&self, name: &str) -> Option<(String, String)> {
        let info = self.evaluation().name_info(self.environment, name)?;
        let Some(library) = &info.library else {
            return Some((name.to_owned(), "defined here".to_owned()));
        };
        let (usage, sentence) = crate::tools::doc::summary(library, name)
            .or_else(|| {
                let (usage, sentence) = info.documentation?;
                Some((usage.to_owned(), sentence.to_owned()))
            })
            .unwrap_or_default();
        if sentence.is_empty() {
            return Some((name.to_owned(), format!("from {library}")));
        }
        let is_use = usage.starts_with('(');
        Some((if is_use { usage } else { name.to_owned() }, sentence))
    }
}

impl Assistant for Helper {
    fn is_complete(&self, text: &str, known: &mut Known) -> bool {
        // The comma alone is a command without a name, not an unquotation to come.
        if text.trim() == "," {
            return true;
        }
        // Behind what was asked about before stands the end of a line, so that no token continues there.
        known.scanner.scan(&text[known.length..], |_| {});
        known.length = text.len();
        known.scanner.is_complete()
    }

    fn indentation(&self, text: &str) -> usize {
        indent::indentation(text)
    }

    fn styles(&self, text: &str, cursor: usize) -> Vec<Styled> {
        highlight::styles(text, cursor, |name| self.is_form(name))
    }

    fn completions(&self, text: &str, cursor: usize) -> Completions {
        completions(self.evaluation(), self.environment, text, cursor)
    }

    fn about(&self, what: What, candidate: &str) -> Option<(String, String)> {
        match what {
            What::Name => self.about_name(candidate),
            What::Library => {
                let summary = crate::tools::doc::summary_of_library(candidate)?;
                Some((candidate.to_owned(), summary))
            }
            What::Command => commands::usage(candidate),
            What::File => None,
        }
    }

    fn end_line_of_program(&self) -> bool {
        crate::report::begin_line()
    }
}

/// The candidates to replace the word before the cursor.
pub fn completions(
    evaluation: &Evaluation,
    environment: EnvironmentId,
    text: &str,
    cursor: usize,
) -> Completions {
    let before = &text[..cursor];
    if before.len() > BYTES_MAX {
        return Completions::default();
    }
    let trimmed = before.trim_start();
    if let Some(name) = trimmed.strip_prefix(',')
        && !name.contains(char::is_whitespace)
    {
        return Completions {
            start: cursor - name.len(),
            what: What::Command,
            candidates: starting_with(name, commands::names().map(str::to_owned)),
        };
    }
    if let Some(name) = trimmed.strip_prefix('?')
        && !name.is_empty()
        && !name.contains(char::is_whitespace)
    {
        return Completions {
            start: cursor - name.len(),
            what: What::Name,
            candidates: starting_with(name, evaluation.bound_names(environment).into_iter()),
        };
    }
    let tokens = lexis::tokens(before);
    let last = tokens.last().filter(|token| token.range.end == cursor);
    if let Some(token) = last.filter(|token| token.kind == TokenKind::String) {
        let start = token.range.start + 1;
        return files(start, &before[start..]);
    }
    if let Some(found) = libraries(evaluation, before, &tokens) {
        return found;
    }
    let word = last.filter(|token| matches!(token.kind, TokenKind::Symbol | TokenKind::Constant));
    let Some(word) = word else {
        return Completions::default();
    };
    let prefix = &before[word.range.clone()];
    Completions {
        start: word.range.start,
        what: What::Name,
        candidates: starting_with(prefix, evaluation.bound_names(environment).into_iter()),
    }
}

/// Names of the environment that begin so.
pub fn names_starting_with(
    evaluation: &Evaluation,
    environment: EnvironmentId,
    prefix: &str,
) -> Vec<String> {
    let names = evaluation.bound_names(environment);
    let libraries = prefix.starts_with('(').then(|| evaluation.library_names());
    starting_with(
        prefix,
        names.into_iter().chain(libraries.into_iter().flatten()),
    )
}

fn starting_with(prefix: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// The name of a library inside of an import or of a command that takes one.
fn libraries(
    evaluation: &Evaluation,
    before: &str,
    tokens: &[lexis::Token],
) -> Option<Completions> {
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Open => open.push(index),
            TokenKind::Close => {
                open.pop();
            }
            _ => {}
        }
    }
    let innermost = *open.last()?;
    let head = |open: usize| {
        let token = tokens.get(open + 1)?;
        before.get(token.range.clone())
    };
    let is_import_set =
        |word: &str| matches!(word, "import" | "only" | "except" | "prefix" | "rename");
    let outer = open.len().checked_sub(2).map(|at| open[at]);
    let is_wanted = match outer {
        Some(outer) => head(outer).is_some_and(is_import_set),
        None => {
            let words = [",import", ",use", ",module", ",m ", ",reload", ",re "];
            words
                .iter()
                .any(|word| before.trim_start().starts_with(word))
        }
    };
    if !is_wanted {
        return None;
    }
    let start = tokens[innermost].range.start;
    let typed = before[start..]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let typed = if before.ends_with(char::is_whitespace) && !typed.ends_with('(') {
        format!("{typed} ")
    } else {
        typed
    };
    let candidates = starting_with(&typed, evaluation.library_names().into_iter());
    (!candidates.is_empty()).then_some(Completions {
        start,
        what: What::Library,
        candidates,
    })
}

/// Files whose path begins so.
fn files(start: usize, typed: &str) -> Completions {
    let (directory, name) = match typed.rfind('/') {
        Some(slash) => typed.split_at(slash + 1),
        None => ("", typed),
    };
    let place = if directory.is_empty() { "." } else { directory };
    let mut candidates = Vec::new();
    for entry in std::fs::read_dir(Path::new(place))
        .into_iter()
        .flatten()
        .flatten()
    {
        let file = entry.file_name();
        let Some(file) = file.to_str() else { continue };
        let is_hidden = file.starts_with('.') && !name.starts_with('.');
        if !file.starts_with(name) || is_hidden {
            continue;
        }
        let is_directory = entry.path().is_dir();
        let end = if is_directory { "/" } else { "" };
        candidates.push(format!("{directory}{file}{end}"));
        if candidates.len() >= FILES_MAX {
            break;
        }
    }
    candidates.sort();
    Completions {
        start,
        what: What::File,
        candidates,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_lib::EvaluationConfig;
    use canny_lib::evaluation::INTERACTION;

    fn complete(text: &str) -> Vec<String> {
        let evaluation = Evaluation::new(&EvaluationConfig::default());
        completions(&evaluation, INTERACTION, text, text.len()).candidates
    }

    #[test]
    fn names_libraries_and_commands_are_completed() {
        assert_eq!(complete("(list-ta"), ["list-tabulate", "list-tail"]);
        assert!(complete("(import (scheme b").contains(&"(scheme base)".to_owned()));
        assert!(complete("(import (only (scheme c").contains(&"(scheme char)".to_owned()));
        assert!(complete(",import (srfi ").contains(&"(srfi 1)".to_owned()));
        assert_eq!(complete(",opti"), ["optimize", "option"]);
        assert_eq!(complete("?list-ta"), ["list-tabulate", "list-tail"]);
        assert_eq!(complete("(no-such-name-"), [""; 0]);
        assert_eq!(complete(""), [""; 0]);
    }

    #[test]
    fn files_are_completed_in_strings() {
        assert!(complete("(load \"Cargo.to").contains(&"Cargo.toml".to_owned()));
        assert!(complete("(load \"sr").contains(&"src/".to_owned()));
    }
}
