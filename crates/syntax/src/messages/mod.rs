//! Message rows: every code that an error or a warning can carry, with what it means.
//!
//! A code is a word that never changes its meaning. It stands in brackets in each message,
//! `canny explain` tells more about it, and `docs/errors.md` is generated from these rows. A warning is
//! turned off by its code. Each example is run by a test: the wrong program must give the code, the
//! repaired one nothing.
//!
//! The maker of a diagnostic names the code; a condition has a kind, and its row says which code stands
//! for it.

mod expanding;
mod libraries;
mod packages;
mod reading;
mod running;
mod warnings;

/// At what stage of a program's life a message is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text is read.
    Reading,
    /// Macros and syntax are expanded.
    Expanding,
    /// Libraries are found and put together.
    Libraries,
    /// Packages of programs are found and brought together.
    Packages,
    /// The compiler doubts something that it accepts.
    Warnings,
    /// The program runs.
    Running,
}

impl Stage {
    /// All stages in the order of a program's life.
    pub const ALL: [Stage; 6] = [
        Stage::Reading,
        Stage::Expanding,
        Stage::Libraries,
        Stage::Packages,
        Stage::Warnings,
        Stage::Running,
    ];

    /// A heading.
    pub const fn title(self) -> &'static str {
        match self {
            Stage::Reading => "Errors of reading",
            Stage::Expanding => "Errors of syntax",
            Stage::Libraries => "Errors of libraries",
            Stage::Packages => "Errors of packages",
            Stage::Warnings => "Warnings",
            Stage::Running => "Errors of a running program",
        }
    }
}

/// One code.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The code.
    pub code: &'static str,
    /// Where it is made.
    pub stage: Stage,
    /// Kinds of conditions that have this code.
    pub kinds: &'static [&'static str],
    /// A short sentence without a full stop.
    pub title: &'static str,
    /// The explanation of the error, and the way to repair it.
    pub text: &'static str,
    /// A program with the mistake; empty when none is short enough.
    pub wrong: &'static str,
    /// The same program repaired; empty when there is nothing to run.
    pub repaired: &'static str,
}

/// Rows of one stage: code, kinds of conditions, title, text, wrong example, repaired example.
macro_rules! rows {
    ($stage:ident: $(
        $code:literal [$($kind:literal)*] $title:literal $text:literal
            $wrong:literal => $repaired:literal;
    )*) => {
        pub(super) const ROWS: &[super::Message] = &[$(super::Message {
            code: $code,
            stage: super::Stage::$stage,
            kinds: &[$($kind),*],
            title: $title,
            text: $text,
            wrong: $wrong,
            repaired: $repaired,
        }),*];
    };
}
use rows;

/// The code of an object that was raised and is no condition.
pub const UNCAUGHT_OBJECT: &str = "uncaught-object";

/// The code of a condition whose kind has no row.
pub const OTHER_CONDITION: &str = "other-condition";

/// All rows, by stage.
pub fn all() -> impl Iterator<Item = &'static Message> {
    [
        reading::ROWS,
        expanding::ROWS,
        libraries::ROWS,
        packages::ROWS,
        warnings::ROWS,
        running::ROWS,
    ]
    .into_iter()
    .flatten()
}

/// The row of a code.
pub fn find(code: &str) -> Option<&'static Message> {
    all().find(|row| row.code == code)
}

/// The code of an object that was raised: of a condition of this kind, or of something else.
pub fn code_of_raised(kind: Option<&str>) -> &'static str {
    let Some(kind) = kind else {
        return UNCAUGHT_OBJECT;
    };
    all()
        .find(|row| row.kinds.contains(&kind))
        .map_or(OTHER_CONDITION, |row| row.code)
}

/// The rows of warnings.
pub fn warnings() -> impl Iterator<Item = &'static Message> {
    warnings::ROWS.iter()
}

/// Whether a warning is given only when it is asked for.
pub fn is_off_by_default(code: &str) -> bool {
    warnings::OFF_BY_DEFAULT.contains(&code)
}

/// All rows as a page in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Errors and warnings\n\n\
         Every message has a code in brackets. `canny explain CODE` prints what stands here about it,\n\
         `canny explain` lists all codes. A code never changes its meaning. [The command](cli.md) says\n\
         how to turn warnings off.\n\n\
         This page is generated from the table in `crates/syntax/src/messages`; its examples are run by\n\
         the tests.\n",
    );
    for stage in Stage::ALL {
        page.push_str(&format!("\n## {}\n", stage.title()));
        for row in all().filter(|row| row.stage == stage) {
            page.push_str(&format!(
                "\n### {}\n\n{}.\n\n{}\n",
                row.code,
                row.title,
                wrapped(row.text, PAGE_COLUMNS_MAX)
            ));
            if row.stage == Stage::Warnings {
                let state = if is_off_by_default(row.code) {
                    "Off unless asked for"
                } else {
                    "On by default"
                };
                page.push_str(&format!(
                    "\n{state}: `-W {code}`, `-W no-{code}`.\n",
                    code = row.code
                ));
            }
            if !row.wrong.is_empty() {
                page.push_str(&format!("\n```scheme\n{}\n```\n", row.wrong));
            }
            if !row.repaired.is_empty() {
                page.push_str(&format!(
                    "\nRepaired:\n\n```scheme\n{}\n```\n",
                    row.repaired
                ));
            }
        }
    }
    page
}

/// Columns of a line of the page.
const PAGE_COLUMNS_MAX: usize = 100;

/// A text in lines of at most so many columns.
pub fn wrapped(text: &str, columns_max: usize) -> String {
    let mut lines = String::new();
    let mut columns = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if columns > 0 && columns + 1 + length > columns_max {
            lines.push('\n');
            columns = 0;
        } else if columns > 0 {
            lines.push(' ');
            columns += 1;
        }
        lines.push_str(word);
        columns += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_and_kinds_occur_once() {
        let mut codes = HashSet::new();
        let mut kinds = HashSet::new();
        for row in all() {
            assert!(codes.insert(row.code), "{} occurs twice", row.code);
            for kind in row.kinds {
                assert!(kinds.insert(kind), "the kind {kind} has two codes");
            }
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(row.code.chars().all(is_word), "{}", row.code);
        }
        assert_eq!(
            find(UNCAUGHT_OBJECT).map(|row| row.stage),
            Some(Stage::Running)
        );
        assert_eq!(
            find(OTHER_CONDITION).map(|row| row.stage),
            Some(Stage::Running)
        );
    }

    #[test]
    fn rows_are_complete() {
        for row in all() {
            assert!(
                !row.title.is_empty() && !row.title.ends_with('.'),
                "{}",
                row.code
            );
            assert!(row.text.ends_with('.'), "{}", row.code);
            assert!(
                row.wrong.is_empty() == row.repaired.is_empty(),
                "{}",
                row.code
            );
        }
    }

    #[test]
    fn raised_objects_have_codes() {
        assert_eq!(code_of_raised(Some("type")), "wrong-type");
        assert_eq!(code_of_raised(Some("no such kind")), OTHER_CONDITION);
        assert_eq!(code_of_raised(None), UNCAUGHT_OBJECT);
    }
}
