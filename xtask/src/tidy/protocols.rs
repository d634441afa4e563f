//! Numbers that Rust and Scheme share come from the rows in `crates/tables/src/protocols`.
//!
//! Three things are looked for. The library `(canny machine protocols)` is what the rows say. Scheme
//! libraries pass no literal number where the signature of a primitive has an enumeration. Primitives
//! take no such number apart by themselves: no literal number of cases for `index_below`, and no
//! literals as cases of a number of the call.
//!
//! Two kinds of number cannot be seen: one that goes through a variable, and the result of a
//! primitive.

use std::path::Path;

use canny_tables::primitives::{self, Primitive};
use canny_tables::protocols::{enumeration, library_source};

use super::{Complaint, RustFile, line_of, relative};
use crate::protocols::LIBRARY;
use crate::workspace;

pub fn check(root: &Path, files: &[RustFile]) -> Result<Vec<Complaint>, String> {
    let mut complaints = Vec::new();
    if workspace::read(&root.join(LIBRARY))? != library_source() {
        complaints.push(Complaint {
            path: LIBRARY.into(),
            line: None,
            message: "is not what crates/tables/src/protocols says: run `cargo xtask protocols`"
                .to_owned(),
        });
    }
    for path in workspace::files(&root.join("lib"), "sld") {
        let text = workspace::read(&path)?;
        let found = literal_arguments(&text);
        complaints.extend(found.into_iter().map(|(line, message)| Complaint {
            path: relative(root, &path),
            line: Some(line),
            message,
        }));
    }
    for file in files {
        if file.path.starts_with("crates/lib/src/primitives") {
            let found = literal_cases(&file.code);
            complaints.extend(found.into_iter().map(|line| {
                Complaint {
                    path: file.path.clone(),
                    line: Some(line),
                    message: "takes a number apart by hand: make it an enumeration of \
                          crates/tables/src/protocols and use `Call::case`"
                        .to_owned(),
                }
            }));
        }
    }
    Ok(complaints)
}

/// The primitives with an argument that is an enumeration: the positions, and the enumerations' names.
fn enumerated(row: &Primitive) -> Vec<(usize, &'static str)> {
    let parameters = row.signature.split("->").next().unwrap_or_default();
    let words = parameters.split_whitespace();
    let words = words.map(|word| word.trim_matches(['[', ']']));
    let known = words.map(|word| enumeration(word).map(|row| row.name));
    known
        .enumerate()
        .filter_map(|(position, name)| Some((position, name?)))
        .collect()
}

/// Calls with a literal number in the place of an enumeration, with their lines.
fn literal_arguments(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for row in primitives::all() {
        let positions = enumerated(row);
        if positions.is_empty() {
            continue;
        }
        let call = format!("({} ", row.name);
        for (start, _) in text.match_indices(&call) {
            let arguments = arguments(&text[start + call.len()..]);
            for (position, name) in &positions {
                let Some(argument) = arguments.get(*position) else {
                    continue;
                };
                if has_literal_number(argument) {
                    let message = format!(
                        "`{}` is called with a literal number: use a name of (canny machine protocols) \
                         that begins with `{name}/`",
                        row.name
                    );
                    found.push((line_of(text, start), message));
                }
            }
        }
    }
    found
}

/// The arguments of a call, whose text begins behind the operator.
fn arguments(text: &str) -> Vec<&str> {
    let (mut arguments, mut depth, mut start) = (Vec::new(), 0_usize, None);
    let mut is_string = false;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'(' => depth += 1,
            b')' if depth == 0 => {
                arguments.extend(start.map(|start| &text[start..offset]));
                return arguments;
            }
            b')' => depth -= 1,
            byte if byte.is_ascii_whitespace() && depth == 0 => {
                arguments.extend(start.take().map(|start| &text[start..offset]));
                continue;
            }
            _ => {}
        }
        start.get_or_insert(offset);
    }
    arguments
}

/// Whether an argument is a number, or an expression with one outside of calls of other procedures than
/// those that combine flags.
fn has_literal_number(argument: &str) -> bool {
    let inner = ["(if ", "(+ ", "(bitwise-ior "]
        .iter()
        .find_map(|start| argument.strip_prefix(start));
    match inner {
        Some(inner) => arguments(inner).into_iter().any(has_literal_number),
        None => argument.trim_start_matches("#x").parse::<i64>().is_ok(),
    }
}

/// Lines where a number of a call is compared with literal cases.
fn literal_cases(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("call.index_below(") {
        let rest = &code[start..];
        let last = rest
            .split([')', ';'])
            .next()
            .and_then(|call| call.rsplit(',').next());
        if last.is_some_and(|last| last.trim().parse::<usize>().is_ok()) {
            found.push(line_of(code, start));
        }
    }
    for (start, _) in code.match_indices("match call.index(") {
        let arms = code[start..].split_once('{').map_or("", |(_, arms)| arms);
        let first = arms.split("=>").next().unwrap_or_default().trim();
        if first.parse::<usize>().is_ok() {
            found.push(line_of(code, start));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_numbers_are_found() {
        let lines = |text: &str| -> Vec<usize> {
            literal_arguments(text)
                .into_iter()
                .map(|(line, _)| line)
                .collect()
        };
        assert_eq!(lines("(a\n (%clock-nanoseconds 1))"), [2]);
        assert_eq!(lines("(%pipe (if binary 0 port-kind/textual-input))"), [1]);
        assert_eq!(
            lines("(%open-file \"a) b\" kind (+ open-flag/create 4) #o666)"),
            [1]
        );
        assert_eq!(
            lines("(%open-file (f 2) kind open-flag/create #o666)"),
            [0; 0]
        );
        assert_eq!(lines("(%clock-nanoseconds clock/monotonic)"), [0; 0]);
        assert_eq!(lines("(%socket-listen address 10 #t #f #f)"), [0; 0]);
    }

    #[test]
    fn literal_cases_are_found() {
        let code = "let kind = call.index_below(thread, 0, 2)?;\n\
                    match call.index(thread, 0)? {\n    0 => a,\n    _ => b,\n}\n\
                    call.index_below(thread, 1, vector.length())?;\n\
                    match call.index(thread, 1)? {\n    radix @ 2..=36 => radix,\n}";
        assert_eq!(literal_cases(code), [1, 2]);
    }
}
