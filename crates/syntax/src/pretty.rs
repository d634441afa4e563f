//! Pretty printing of data as code.
//!
//! A datum that fits on a line is written on one. Otherwise the well-known forms put their first
//! operands beside the keyword and their bodies two columns in; calls align their operands; other
//! lists put one element on each line. Data nested too deeply for that are written on one line.

use crate::datum::Datum;

/// Deepest nesting that is broken into lines.
const BROKEN_DEPTH_MAX: usize = 500;

/// The datum as text, lines no longer than `width` where possible; no final newline.
pub fn pretty(datum: &Datum, width: usize) -> String {
    let mut printer = Printer {
        out: String::new(),
        width,
    };
    printer.datum(datum, 0, 0);
    printer.out
}

struct Printer {
    out: String,
    width: usize,
}

/// How many operands stand beside the keyword of a form whose other operands are a body.
pub fn distinguished_operands(head: &str) -> Option<usize> {
    match head {
        "begin" | "case-lambda" => Some(0),
        "define" | "define*" | "lambda" | "lambda*" | "let" | "let*" | "letrec" | "letrec*"
        | "let-values" | "let*-values" | "when" | "unless" | "case" | "define-syntax"
        | "define-record-type" | "let-syntax" | "letrec-syntax" | "syntax-rules"
        | "define-library" | "named-lambda" => Some(1),
        "do" | "receive" => Some(2),
        _ => None,
    }
}

/// The same for source text, where programs have forms of their own: what is called like a form with a
/// body is taken for one.
pub fn body_operands(head: &str) -> Option<usize> {
    known_body_operands(head).or_else(|| is_called_like_a_form_with_a_body(head).then_some(1))
}

/// Whether [`body_operands`] knows nothing of a form but what it is called.
pub fn is_guessed(head: &str) -> bool {
    known_body_operands(head).is_none()
}

fn is_called_like_a_form_with_a_body(head: &str) -> bool {
    !matches!(
        head,
        "call-with-current-continuation" | "call-with-escape-continuation"
    ) && [
        "def",
        "with-",
        "call-with-",
        "let-",
        "test-group",
        "eval-when",
    ]
    .iter()
    .any(|start| head.starts_with(start))
}

fn known_body_operands(head: &str) -> Option<usize> {
    distinguished_operands(head).or(match head {
        "syntax-case"
        | "match"
        | "guard"
        | "parameterize"
        | "while"
        | "until"
        | "dotimes"
        | "dolist"
        | "let"
        | "let/cc"
        | "let/ec"
        | "module"
        | "library"
        | "and-let*"
        | "fluid-let"
        | "syntax-parameterize"
        | "match-let"
        | "match-let*"
        | "rec" => Some(1),
        "begin-for-syntax" | "match-lambda" | "match-lambda*" | "cond-expand" => Some(0),
        _ => None,
    })
}

impl Printer {
    fn newline(&mut self, column: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', column));
    }

    fn datum(&mut self, datum: &Datum, column: usize, depth: usize) {
        let text = short_text(datum, self.width.saturating_sub(column));
        if let Some(text) = text.or_else(|| (depth > BROKEN_DEPTH_MAX).then(|| datum.to_string())) {
            self.out.push_str(&text);
            return;
        }
        match list_parts(datum) {
            Some(parts) => self.list(&parts, column, depth),
            None => self.out.push_str(&datum.to_string()),
        }
    }

    fn list(&mut self, parts: &[&Datum], column: usize, depth: usize) {
        self.out.push('(');
        let head = match parts[0] {
            Datum::Symbol(name) => Some(name.as_str()),
            _ => None,
        };
        let distinguished = head.and_then(distinguished_operands);
        if let (Some(head), Some(count)) = (head, distinguished) {
            self.out.push_str(head);
            let beside = column + head.chars().count() + 2;
            for part in parts.iter().skip(1).take(count) {
                self.out.push(' ');
                if matches!(part, Datum::Pair(_)) && head.starts_with("let") {
                    self.bindings(part, beside, depth + 1);
                } else {
                    self.datum(part, beside, depth + 1);
                }
            }
            for part in parts.iter().skip(1 + count) {
                self.newline(column + 2);
                self.datum(part, column + 2, depth + 1);
            }
        } else if let Some(head) = head.filter(|head| parts.len() > 1 && head.chars().count() < 20)
        {
            self.out.push_str(parts[0].to_string().as_str());
            self.out.push(' ');
            let beside = column
                + parts[0]
                    .to_string()
                    .chars()
                    .count()
                    .max(head.chars().count())
                + 2;
            for (index, part) in parts[1..].iter().enumerate() {
                if index > 0 {
                    self.newline(beside);
                }
                self.datum(part, beside, depth + 1);
            }
        } else {
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    self.newline(column + 1);
                }
                self.datum(part, column + 1, depth + 1);
            }
        }
        self.out.push(')');
    }

    /// `((name value) …)`, one to a line, the values after their names.
    fn bindings(&mut self, datum: &Datum, column: usize, depth: usize) {
        let Some(parts) = list_parts(datum) else {
            return self.datum(datum, column, depth);
        };
        self.out.push('(');
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.newline(column + 1);
            }
            match list_parts(part).as_deref() {
                Some([name @ (Datum::Symbol(_) | Datum::Pair(_)), value]) => {
                    let name = name.to_string();
                    self.out.push('(');
                    self.out.push_str(&name);
                    self.out.push(' ');
                    self.datum(value, column + 3 + name.chars().count(), depth + 1);
                    self.out.push(')');
                }
                _ => self.datum(part, column + 1, depth + 1),
            }
        }
        self.out.push(')');
    }
}

/// The datum on one line, if it is a proper line of at most `width` columns.
fn short_text(datum: &Datum, width: usize) -> Option<String> {
    if !has_fewer_parts(datum, width) {
        return None;
    }
    let text = datum.to_string();
    (text.chars().count() <= width).then_some(text)
}

/// A quick look whether the datum can be short at all.
fn has_fewer_parts(datum: &Datum, limit: usize) -> bool {
    let mut pending = vec![datum];
    let mut count = 0;
    while let Some(datum) = pending.pop() {
        count += 1;
        if count > limit.max(1) {
            return false;
        }
        match datum {
            Datum::Pair(pair) => pending.extend([&pair.cdr, &pair.car]),
            Datum::Vector(elements) => pending.extend(elements.iter()),
            _ => {}
        }
    }
    true
}

/// The elements of a proper list that is not written with a quotation mark.
fn list_parts(datum: &Datum) -> Option<Vec<&Datum>> {
    let mut parts = Vec::new();
    let mut rest = datum;
    while let Datum::Pair(pair) = rest {
        parts.push(&pair.car);
        rest = &pair.cdr;
    }
    let quotes = |name: &str| {
        matches!(
            name,
            "quote" | "quasiquote" | "unquote" | "unquote-splicing"
        )
    };
    let quoted =
        parts.len() == 2 && matches!(parts[0], Datum::Symbol(name) if quotes(name.as_str()));
    (matches!(rest, Datum::Nil) && !parts.is_empty() && !quoted).then_some(parts)
}
