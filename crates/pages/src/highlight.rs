//! Highlights blocks of code as HTML with classes; the style sheet has the colours.
//!
//! It knows Scheme and sessions of shells and prompts; other languages stay plain. All code is
//! escaped, and removing the tags gives the code again.

use crate::escaped;

/// Words that stand out at the beginning of a form.
const KEYWORDS: &[&str] = &[
    "and",
    "and-let*",
    "assert",
    "begin",
    "case",
    "case-lambda",
    "cond",
    "cond-expand",
    "define",
    "define*",
    "define-class",
    "define-generic",
    "define-library",
    "define-macro",
    "define-method",
    "define-record-type",
    "define-syntax",
    "define-values",
    "define/contract",
    "delay",
    "delay-force",
    "do",
    "dotimes",
    "else",
    "export",
    "guard",
    "if",
    "import",
    "include",
    "lambda",
    "lambda*",
    "let",
    "let*",
    "let*-values",
    "let-syntax",
    "let-values",
    "let/cc",
    "let/ec",
    "letrec",
    "letrec*",
    "letrec-syntax",
    "loop",
    "match",
    "match-define",
    "match-lambda",
    "match-let",
    "named-lambda",
    "or",
    "parameterize",
    "prompt",
    "quasiquote",
    "quote",
    "receive",
    "reset",
    "set!",
    "shift",
    "syntax-case",
    "syntax-rules",
    "unless",
    "until",
    "when",
    "while",
    "with-syntax",
];

/// A block of code in that language; the word may be empty.
pub(crate) fn block(code: &str, language: &str) -> String {
    match language {
        "scheme" | "scm" => scheme(code),
        "prompt" => lines(code, &["> ", ". "]),
        "console" => lines(code, &["$ "]),
        _ => escaped(code),
    }
}

/// A session: what stands behind a mark is input, the rest is answers.
fn lines(code: &str, marks: &[&str]) -> String {
    let is_prompt = marks[0] == "> ";
    let mut html = String::new();
    for line in code.split_inclusive('\n') {
        let mark = marks.iter().find(|mark| line.starts_with(**mark));
        match mark {
            Some(mark) => {
                html.push_str(&format!("<i class=\"mark\">{}</i>", escaped(mark)));
                let input = &line[mark.len()..];
                html.push_str(&if is_prompt {
                    scheme(input)
                } else {
                    escaped(input)
                });
            }
            None => html.push_str(&format!("<i class=\"out\">{}</i>", escaped(line))),
        }
    }
    html
}

/// Scheme with spans around comments, literals, keywords and names being defined.
fn scheme(code: &str) -> String {
    let mut html = String::with_capacity(code.len() * 2);
    let mut rest = code;
    // Whether the next word begins a form, and whether it is the name that one defines.
    let (mut is_head, mut is_name) = (false, false);
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        rest = after;
        let class = match first {
            _ if first.is_whitespace() => {
                html.push_str(token);
                continue;
            }
            ';' if is_result(token) => "res",
            ';' => "com",
            '"' => "str",
            '(' | '[' => {
                is_head = true;
                html.push_str(token);
                continue;
            }
            ')' | ']' | '\'' | '`' | ',' => {
                (is_head, is_name) = (false, false);
                html.push_str(&escaped(token));
                continue;
            }
            '#' if token.starts_with("#|") => "com",
            '#' if token.len() > 1 => "lit",
            _ if token.parse::<f64>().is_ok() && token.chars().any(|one| one.is_ascii_digit()) => {
                "lit"
            }
            _ if is_head && KEYWORDS.contains(&token) => {
                is_name = token.starts_with("define");
                is_head = false;
                html.push_str(&format!("<b>{}</b>", escaped(token)));
                continue;
            }
            _ if is_name => "name",
            _ => "",
        };
        if class != "com" && class != "res" {
            (is_head, is_name) = (false, false);
        }
        match class {
            "" => html.push_str(&escaped(token)),
            class => html.push_str(&format!("<i class=\"{class}\">{}</i>", escaped(token))),
        }
    }
    html
}

/// Whether a comment says what a form gives.
fn is_result(comment: &str) -> bool {
    let text = comment.trim_start_matches(';').trim_start();
    text.starts_with("=> ") || text.starts_with("error: ") || text.starts_with("prints: ")
}

fn token_length(rest: &str, first: char) -> usize {
    let until = |stop: &dyn Fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
    match first {
        ';' => until(&|one| one == '\n'),
        '"' => quoted_length(rest),
        '(' | ')' | '[' | ']' | '\'' | '`' | ',' => 1,
        '#' if rest.starts_with("#|") => rest.find("|#").map_or(rest.len(), |end| end + 2),
        '#' if rest.starts_with("#\\") => {
            let character = rest[2..].chars().next().map_or(0, char::len_utf8);
            let name = &rest[2 + character..];
            2 + character + name.find(is_delimiter).unwrap_or(name.len())
        }
        '#' if rest.starts_with("#(") || rest.starts_with("#;") || rest.starts_with("#'") => 1,
        _ if first.is_whitespace() => until(&|one| !one.is_whitespace()),
        _ => until(&is_delimiter).max(first.len_utf8()),
    }
}

fn quoted_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (offset, one) in rest.char_indices().skip(1) {
        match one {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return offset + 1,
            _ => {}
        }
    }
    rest.len()
}

fn is_delimiter(one: char) -> bool {
    one.is_whitespace() || matches!(one, '(' | ')' | '[' | ']' | '"' | ';' | '\'')
}
