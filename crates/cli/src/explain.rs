//! `canny explain`: prints what the code of a message means, with an example and its repair.
//!
//! The texts are rows of `canny_syntax::messages`; this module only selects and wraps them. An
//! unknown code is an error that suggests a similar one.

use canny_syntax::messages::{self, Message, Stage};
use canny_syntax::name::Name;
use canny_syntax::spelling::similar_name;

use crate::exit_code;

/// Explains a code, or lists all codes.
pub fn run(code: Option<&str>) -> u8 {
    let Some(code) = code else {
        crate::print_all(&list());
        return 0;
    };
    // As it stands in a message.
    let word = code.trim_start_matches('[').trim_end_matches(']');
    if let Some(row) = messages::find(word) {
        crate::print_all(&explanation(row));
        return 0;
    }
    let codes = messages::all().map(|row| Name::new(row.code));
    let hint = match similar_name(Name::new(word), codes) {
        Some(similar) => format!("did you mean '{similar}'?"),
        None => "'canny explain' lists all codes.".to_owned(),
    };
    eprintln!("canny: no message has the code '{code}'; {hint}");
    exit_code::USAGE
}

fn list() -> String {
    let width = messages::all().map(|row| row.code.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for stage in Stage::ALL {
        let break_before = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{break_before}{}:\n", stage.title()));
        for row in messages::all().filter(|row| row.stage == stage) {
            text.push_str(&format!("  {:width$}  {}\n", row.code, row.title));
        }
    }
    text
}

fn explanation(row: &Message) -> String {
    let mut text = format!(
        "{}: {}.\n\n{}\n",
        row.code,
        row.title,
        messages::wrapped(row.text, COLUMNS_MAX)
    );
    for (heading, example) in [("Wrong", row.wrong), ("Right", row.repaired)] {
        if !example.is_empty() {
            let lines: Vec<String> = example.lines().map(|line| format!("    {line}")).collect();
            text.push_str(&format!("\n{heading}:\n\n{}\n", lines.join("\n")));
        }
    }
    if row.stage == Stage::Warnings {
        let code = row.code;
        text.push_str(&if messages::is_off_by_default(code) {
            format!("\nThe warning is off unless -W {code} turns it on.\n")
        } else {
            format!("\nThe warning is turned off by -W no-{code}.\n")
        });
    }
    text
}

/// Columns of a line of text.
const COLUMNS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short() {
        for row in messages::all() {
            let text = messages::wrapped(row.text, COLUMNS_MAX);
            assert!(
                text.lines().all(|line| line.chars().count() <= COLUMNS_MAX),
                "{text}"
            );
            assert_eq!(text.replace('\n', " "), row.text);
        }
    }
}
