//! Edits the text of a manifest: adds or removes a dependency.
//!
//! Everything else in the text stays, comments and layout included. The text was parsed without
//! errors before, and the result parses to the old manifest plus or minus the dependency.

use canny_syntax::span::SourceMap;
use canny_syntax::syntax::Syntax;

use crate::fields::{self, Form};
use crate::name::PackageName;
use crate::problem::{Fallible, Problem};
use crate::source::Dependency;

const CODE: &str = "bad-manifest";

/// The form `(package …)` of a text that was read before.
fn package(text: &str) -> Fallible<Form> {
    let (_, data) = fields::read_data(&SourceMap::new(), "", text.as_bytes())?;
    data.first()
        .and_then(Form::of)
        .ok_or_else(|| Problem::plain(CODE, "a manifest is `(package FIELD …)`"))
}

/// The end of lines in a text.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The column of a byte, in characters from zero.
fn column(text: &str, offset: usize) -> usize {
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..offset].chars().count()
}

fn field<'a>(package: &'a Form, word: &str) -> Option<(&'a Syntax, Form)> {
    let fields = package.operands.iter();
    fields
        .filter_map(|one| Some((one, Form::of(one)?)))
        .find(|(_, form)| form.head == word)
}

/// Inserts `new` on a line of its own before the paren at `closing`.
fn insertion(text: &str, closing: usize, new: &str, columns: usize) -> String {
    let before = &text[..closing];
    let kept = before.trim_end();
    let mut changed = String::from(kept);
    changed.push_str(line_end(text));
    changed.push_str(&" ".repeat(columns));
    changed.push_str(new);
    // Only blanks before the paren are dropped. A comment behind the last element ends with its
    // line.
    changed.push_str(&text[closing..]);
    changed
}

/// The text with another dependency in the field `depends` or `test-depends`; one of the same name is
/// replaced.
pub fn add(text: &str, dependency: &Dependency, word: &str) -> Fallible<String> {
    let text = match remove(text, &dependency.name, word)? {
        Some(without) => without,
        None => text.to_owned(),
    };
    let package = package(&text)?;
    let new = dependency.text();
    Ok(match field(&package, word) {
        Some((_, form)) => {
            // Below the first dependency, or below the word and two columns in.
            let columns = match form.operands.first() {
                Some(first) => column(&text, first.span.start as usize),
                None => column(&text, form.span.start as usize) + 2,
            };
            insertion(&text, form.span.end as usize - 1, &new, columns)
        }
        None => {
            let columns = column(&text, package.span.start as usize) + 2;
            let indent = " ".repeat(columns + 2);
            let field = format!("({word}{}{indent}{new})", line_end(&text));
            insertion(&text, package.span.end as usize - 1, &field, columns)
        }
    })
}

/// The text without a dependency; `None` if the field has none of that name.
pub fn remove(text: &str, name: &PackageName, word: &str) -> Fallible<Option<String>> {
    let package = package(text)?;
    let Some((_, form)) = field(&package, word) else {
        return Ok(None);
    };
    let found = form.operands.iter().find(|operand| {
        Dependency::is_one(operand)
            && Dependency::from_syntax(operand, CODE)
                .is_ok_and(|one| one.name.as_str() == name.as_str())
    });
    let Some(found) = found else {
        return Ok(None);
    };
    let (start, end) = (found.span.start as usize, found.span.end as usize);
    let before = &text[..start];
    let trimmed = before.trim_end_matches([' ', '\t']);
    let is_first_in_line = trimmed.ends_with('\n');
    let rest = &text[end..];
    let rest_of_line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    // A line of its own goes as a whole; else only the blanks before it.
    let kept = if is_first_in_line
        && !rest_of_line.trim().is_empty()
        && !rest_of_line.trim_start().starts_with(')')
    {
        // Something follows in the line and moves to its place.
        return Ok(Some(format!(
            "{before}{}",
            rest.trim_start_matches([' ', '\t'])
        )));
    } else if is_first_in_line && !ends_with_comment(&trimmed[..trimmed.len() - 1]) {
        trimmed.trim_end_matches(['\n', '\r'])
    } else {
        trimmed
    };
    Ok(Some(format!("{kept}{rest}")))
}

/// Whether the last line of a text may have a comment, which would swallow what is put behind it.
fn ends_with_comment(text: &str) -> bool {
    let start = text.rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].contains(';')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Source, Wish};
    use canny_syntax::span::Span;

    fn directory(name: &str, path: &str) -> Dependency {
        Dependency {
            name: PackageName::new(name).unwrap(),
            wish: Wish::Source(Source::Directory {
                path: path.to_owned(),
            }),
            span: Span::NONE,
        }
    }

    #[track_caller]
    fn adds(text: &str, expected: &str) {
        assert_eq!(
            add(text, &directory("json", "../json"), "depends").unwrap(),
            expected
        );
    }

    #[test]
    fn dependencies_are_added() {
        adds(
            "(package (name app))",
            "(package (name app)\n  (depends\n    (json (directory \"../json\"))))",
        );
        adds(
            "(package\r\n  (name app)\r\n  (depends))\r\n",
            "(package\r\n  (name app)\r\n  (depends\r\n    (json (directory \"../json\"))))\r\n",
        );
        adds(
            "(package\n  (depends (a (version \"1\"))) ; why\n  (name x))",
            "(package\n  (depends (a (version \"1\"))\n           (json (directory \"../json\"))) ; why\n  \
             (name x))",
        );
        // Behind a comment the paren stands on a line of its own.
        adds(
            "(package\n  (depends\n    (a (version \"1\")) ; a) is good\n  ))",
            "(package\n  (depends\n    (a (version \"1\")) ; a) is good\n    (json (directory \
             \"../json\"))))",
        );
        adds(
            "(package (depends (json (version \"1\"))))",
            "(package (depends\n           (json (directory \"../json\"))))",
        );
    }

    #[track_caller]
    fn removes(text: &str, expected: &str) {
        assert_eq!(
            remove(text, &PackageName::new("json").unwrap(), "depends")
                .unwrap()
                .unwrap(),
            expected
        );
    }

    #[test]
    fn dependencies_are_removed() {
        removes("(package (depends (json \"1\")))", "(package (depends))");
        removes(
            "(package (depends (json \"1\") (a \"1\")))",
            "(package (depends (a \"1\")))",
        );
        removes(
            "(package\n  (depends\n    (a \"1\")\n    (json \"1\")\n    (b \"1\")))",
            "(package\n  (depends\n    (a \"1\")\n    (b \"1\")))",
        );
        removes(
            "(package\n  (depends\n    (json \"1\")\n    (b \"1\")))",
            "(package\n  (depends\n    (b \"1\")))",
        );
        removes(
            "(package\n  (depends\n    (a \"1\") ; one\n    (json \"1\")))",
            "(package\n  (depends\n    (a \"1\") ; one\n))",
        );
        assert_eq!(
            remove(
                "(package (depends ((json x) \"1\")))",
                &PackageName::new("json").unwrap(),
                "depends"
            )
            .unwrap(),
            None
        );
    }

    #[test]
    fn adding_and_removing_keeps_the_rest() {
        for text in [
            "(package (name app))",
            "(package\n  (name app)\n  (depends\n    (a \"1\")))\n; end\n",
            "; head\n(package ; x\n (depends ; y\n (a \"1\") ; z\n ) ; end\n (name b))",
            "(package)",
            "(package (depends ;)\n ))",
        ] {
            let added = add(text, &directory("json", "a b\\\"c"), "depends").unwrap();
            let platform = fields::Platform {
                features: Vec::new(),
                has_library: |_| false,
            };
            let manifest =
                crate::manifest::parse(&SourceMap::new(), "m", added.as_bytes(), &platform)
                    .unwrap();
            assert!(
                manifest
                    .depends
                    .iter()
                    .any(|one| one.name.as_str() == "json"),
                "{added}"
            );
            let removed = remove(&added, &PackageName::new("json").unwrap(), "depends")
                .unwrap()
                .unwrap();
            let comments = |text: &str| text.matches(';').count();
            assert_eq!(comments(&removed), comments(text), "{removed}");
            let again =
                crate::manifest::parse(&SourceMap::new(), "m", removed.as_bytes(), &platform)
                    .unwrap();
            assert_eq!(again.depends.len() + 1, manifest.depends.len());
        }
    }
}
