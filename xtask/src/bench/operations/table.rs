//! The operations as data: reads `benches/operations/*.txt`, a file for each group.
//!
//! A line states one thing; lines that begin with a space continue the line before. The forms are
//!
//! ```text
//! ; comment
//! import (srfi 1) …                 libraries that Canny needs
//! (define …), (define-… …)          a definition for both engines
//! canny FORM …, chez FORM …         definitions for one of them
//! operands NAME A B C D             the values that NAME takes in turn
//! EXPRESSION [chez: OTHER] ==> ANSWER
//! ```
//!
//! An expression uses the operands by name. The answer is one text if all four values agree, or four
//! of them in parentheses behind `each`; `first` before it says that later ones differ, since a port
//! or an object changes. `chez: none` leaves Chez out. This module knows neither engines nor times.

use std::path::Path;

use crate::workspace;

/// How many values an operand takes in turn. The loop masks its counter, so it is a power of two.
pub const TURNS: usize = 4;

const ARROW: &str = " ==> ";
const CHEZ: &str = " chez: ";
const FIRST: &str = "first ";

#[derive(Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    pub imports: String,
    /// Definitions for each engine, in the order of the file.
    pub canny: String,
    pub chez: String,
    pub operands: Vec<Operand>,
    pub operations: Vec<Operation>,
}

#[derive(Debug, PartialEq)]
pub struct Operand {
    pub name: String,
    /// The source of its values.
    pub values: String,
}

#[derive(Debug, PartialEq)]
pub struct Operation {
    pub line: usize,
    /// The measured expression, which is also the name of the operation.
    pub expression: String,
    pub chez: Chez,
    /// The names of the operands that the expression uses, in the order of their definition.
    pub operands: Vec<String>,
    /// The expected answer; `None` is filled in by `--bless`.
    pub answer: Option<String>,
    /// Whether the answer is that of the first runs only.
    pub changes: bool,
}

#[derive(Debug, PartialEq)]
pub enum Chez {
    Same,
    Other(String),
    /// Chez has nothing like it.
    Missing,
}

impl Operation {
    pub fn for_chez(&self) -> Option<&str> {
        match &self.chez {
            Chez::Same => Some(&self.expression),
            Chez::Other(expression) => Some(expression),
            Chez::Missing => None,
        }
    }
}

/// Reads all groups of a directory, or those of `only`.
pub fn read(directory: &Path, only: Option<&[String]>) -> Result<Vec<Group>, String> {
    let paths = workspace::files(directory, "txt");
    let name = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    };
    let known: Vec<String> = paths.iter().map(|path| name(path)).collect();
    if let Some(unknown) = only
        .iter()
        .copied()
        .flatten()
        .find(|wanted| !known.contains(wanted))
    {
        return Err(format!(
            "there is no group `{unknown}`; the groups are {}",
            known.join(", ")
        ));
    }
    paths
        .iter()
        .filter(|path| only.is_none_or(|only| only.contains(&name(path))))
        .map(|path| {
            let text = workspace::read(path)?;
            parse(&name(path), &text).map_err(|error| format!("{}:{error}", path.display()))
        })
        .collect()
}

pub fn parse(name: &str, text: &str) -> Result<Group, String> {
    let mut group = Group {
        name: name.to_owned(),
        ..Group::default()
    };
    for (line, statement) in statements(text) {
        let (word, rest) = statement.split_once(' ').unwrap_or((&statement, ""));
        let (places, rest) = match word {
            "import" => (vec![&mut group.imports], rest),
            "canny" => (vec![&mut group.canny], rest),
            "chez" => (vec![&mut group.chez], rest),
            _ if word.starts_with("(define") => {
                let both = vec![&mut group.canny, &mut group.chez];
                (both, statement.as_str())
            }
            "operands" => {
                let operand = parse_operand(rest).map_err(|error| format!("{line}: {error}"))?;
                group.operands.push(operand);
                continue;
            }
            _ => {
                let operation = parse_operation(line, &statement, &group.operands);
                let operation = operation.map_err(|error| format!("{line}: {error}"))?;
                if let Some(other) = group
                    .operations
                    .iter()
                    .find(|other| other.expression == operation.expression)
                {
                    return Err(format!("{line}: is the operation of line {}", other.line));
                }
                group.operations.push(operation);
                continue;
            }
        };
        data(rest).map_err(|error| format!("{line}: {error}"))?;
        for place in places {
            place.push_str(rest);
            place.push('\n');
        }
    }
    Ok(group)
}

/// The statements of a text with their first lines. A continued line keeps its end of line.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        match found.last_mut() {
            Some((_, statement)) if line.starts_with(' ') => {
                statement.push('\n');
                statement.push_str(line);
            }
            _ if line.is_empty() || line.starts_with(';') => {}
            _ => found.push((index + 1, line.to_owned())),
        }
    }
    found
}

fn parse_operand(text: &str) -> Result<Operand, String> {
    let (name, values) = text.split_once(' ').unwrap_or((text, ""));
    match data(values)?.len() {
        TURNS => Ok(Operand {
            name: name.to_owned(),
            values: values.to_owned(),
        }),
        count => Err(format!("`{name}` needs {TURNS} values, not {count}")),
    }
}

fn parse_operation(
    line: usize,
    statement: &str,
    operands: &[Operand],
) -> Result<Operation, String> {
    let (left, answer) = match statement.rsplit_once(ARROW) {
        Some((left, answer)) => (left, Some(answer.trim().to_owned())),
        None => (statement, None),
    };
    let (answer, changes) = match answer {
        Some(answer) => match answer.strip_prefix(FIRST) {
            Some(first) => (Some(first.to_owned()), true),
            None => (Some(answer), false),
        },
        None => (None, false),
    };
    let (expression, chez) = match left.split_once(CHEZ) {
        None => (left, Chez::Same),
        Some((expression, "none")) => (expression, Chez::Missing),
        Some((expression, other)) => (expression, Chez::Other(other.trim().to_owned())),
    };
    let expression = expression.trim().to_owned();
    for source in [Some(expression.as_str()), other_source(&chez)]
        .into_iter()
        .flatten()
    {
        match data(source)?.len() {
            1 => {}
            count => {
                return Err(format!(
                    "an operation is one expression, not {count}: {source}"
                ));
            }
        }
    }
    let words = words(&expression);
    let used = operands
        .iter()
        .filter(|operand| words.contains(&operand.name.as_str()))
        .map(|operand| operand.name.clone())
        .collect();
    Ok(Operation {
        line,
        expression,
        chez,
        operands: used,
        answer,
        changes,
    })
}

fn other_source(chez: &Chez) -> Option<&str> {
    match chez {
        Chez::Other(expression) => Some(expression),
        _ => None,
    }
}

/// The data of a text at its outermost level. It knows parentheses, strings, characters and prefixes,
/// which is all that it takes to find their ends.
pub fn data(text: &str) -> Result<Vec<&str>, String> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut start = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let ends_here = match character {
            '(' => {
                start.get_or_insert(at);
                depth += 1;
                false
            }
            ')' => {
                depth = depth.checked_sub(1).ok_or("a parenthesis too many")?;
                depth == 0
            }
            '"' => {
                start.get_or_insert(at);
                skip_string(&mut characters)?;
                depth == 0
            }
            '#' if text[at..].starts_with("#\\") => {
                start.get_or_insert(at);
                characters.next();
                characters.next();
                false
            }
            _ if character.is_whitespace() => {
                if depth == 0 {
                    found.extend(start.take().map(|start| text[start..at].trim_end()));
                }
                false
            }
            _ => {
                start.get_or_insert(at);
                false
            }
        };
        if ends_here {
            let end = characters.peek().map_or(text.len(), |(next, _)| *next);
            found.extend(start.take().map(|start| &text[start..end]));
        }
    }
    if depth > 0 {
        return Err("a parenthesis is never closed".to_owned());
    }
    found.extend(start.map(|start| text[start..].trim_end()));
    Ok(found)
}

fn skip_string(characters: &mut impl Iterator<Item = (usize, char)>) -> Result<(), String> {
    while let Some((_, character)) = characters.next() {
        match character {
            '"' => return Ok(()),
            '\\' => {
                characters.next();
            }
            _ => {}
        }
    }
    Err("a string is never closed".to_owned())
}

/// The words of a source that may be identifiers: strings and characters are left out.
pub fn words(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = None;
    let mut characters = source.char_indices();
    while let Some((at, character)) = characters.next() {
        let is_part = !character.is_whitespace() && !"()\"'`,".contains(character);
        match (is_part, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(&source[from..at]);
                start = None;
            }
            _ => {}
        }
        if character == '"' && skip_string(&mut characters).is_err() {
            break;
        }
        if character == '\\' && start.is_some_and(|from| source[from..at] == *"#") {
            characters.next();
        }
    }
    found.extend(start.map(|from| &source[from..]));
    found.retain(|word| !word.starts_with("#\\"));
    // `,@name` splices.
    found
        .iter()
        .map(|word| word.trim_start_matches('@'))
        .collect()
}

/// Writes the answers of operations that have none into the text of their file.
pub fn with_answers(text: &str, answers: &[(usize, String)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, answer) in answers {
        let mut last = line - 1;
        while lines
            .get(last + 1)
            .is_some_and(|next| next.starts_with(' ') && !next.trim().is_empty())
        {
            last += 1;
        }
        let end = lines[last].trim_end().len();
        lines[last].truncate(end);
        lines[last].push_str(ARROW);
        lines[last].push_str(answer);
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
; a comment
import (srfi 1)
chez (define old 1)
(define (twice x)
  (* 2 x))
operands n 1 -2 (+ 1 2) #\\(
operands s \"a b\" \"(\" \"\\\"\" \"\"

(twice n) ==> each (2 -4 6 8)
(string-append s \"n\") chez: (join s) ==> first \"a\"
(own n) chez: none
";

    #[test]
    fn statements_of_a_group_are_read() {
        let group = parse("numbers", TEXT).expect("the text is right");
        assert_eq!(group.imports, "(srfi 1)\n");
        assert_eq!(group.canny, "(define (twice x)\n  (* 2 x))\n");
        assert_eq!(group.chez, format!("(define old 1)\n{}", group.canny));
        assert_eq!(group.operands[0].values, "1 -2 (+ 1 2) #\\(");
        let [twice, append, own] = &group.operations[..] else {
            panic!("there are three operations");
        };
        assert_eq!(twice.expression, "(twice n)");
        assert_eq!(twice.operands, ["n"]);
        assert_eq!(twice.answer.as_deref(), Some("each (2 -4 6 8)"));
        assert_eq!(twice.for_chez(), Some("(twice n)"));
        assert_eq!(append.operands, ["s"]);
        assert_eq!(append.answer.as_deref(), Some("\"a\""));
        assert_eq!(append.for_chez(), Some("(join s)"));
        assert_eq!((own.for_chez(), &own.answer), (None, &None));
        assert!(!twice.changes && append.changes);
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let error = |text: &str| parse("g", text).expect_err("the text is wrong");
        assert_eq!(error("operands n 1 2 3"), "1: `n` needs 4 values, not 3");
        assert_eq!(error("\n(f 1"), "2: a parenthesis is never closed");
        assert_eq!(error("(f))"), "1: a parenthesis too many");
        assert_eq!(error("(f \"a)"), "1: a string is never closed");
        assert_eq!(error("(f)\n(f)"), "2: is the operation of line 1");
        assert!(error("(f) (g)").starts_with("1: an operation is one expression, not 2"));
    }

    #[test]
    fn identifiers_are_told_from_text() {
        assert_eq!(
            words("(f 'n \"m \\\" k\" #\\n #\\( `(,x ,@y))"),
            ["f", "n", "x", "y"]
        );
        assert_eq!(
            data("#(1) 'a \"(\" #\\) x"),
            Ok(vec!["#(1)", "'a", "\"(\"", "#\\)", "x"])
        );
    }

    #[test]
    fn answers_are_filled_in() {
        let text = "(f\n  1)\n(g) ==> 1\n(h)\n";
        let answers = [(1, "2".to_owned()), (4, "3".to_owned())];
        assert_eq!(
            with_answers(text, &answers),
            "(f\n  1) ==> 2\n(g) ==> 1\n(h) ==> 3\n"
        );
    }
}
