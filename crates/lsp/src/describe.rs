//! The description of a name by its definition: how it is called, and the text about it.
//!
//! The expander knows where a name is defined. The source there is shown as it is written.

use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;

/// The description of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// How it is used, one form per line.
    pub signatures: Vec<String>,
    /// The kind of its meaning, for example `procedure`.
    pub kind: &'static str,
    /// Comment or doc string.
    pub text: String,
}

/// The forms around a place, outermost first; the last is the innermost.
pub fn path_to(forms: &[Syntax], start: usize, end: usize) -> Vec<Syntax> {
    let covers =
        |form: &&Syntax| form.span.start as usize <= start && end <= form.span.end as usize;
    let mut path: Vec<Syntax> = Vec::new();
    // Forms at top level stand in their order.
    let begun = forms.partition_point(|form| form.span.start as usize <= start);
    let mut next = forms[..begun].iter().next_back().filter(covers).cloned();
    while let Some(form) = next {
        let form = form.unlabelled().clone();
        let parts = match form.as_vector() {
            Some(elements) => elements.to_vec(),
            None => {
                let mut parts = form.parts();
                if !parts.tail.is_nil() && !parts.elements.is_empty() {
                    parts.elements.push(parts.tail.clone());
                }
                parts.elements
            }
        };
        path.push(form);
        // A quotation mark stands where its keyword's place is.
        next = parts.iter().rev().find(covers).cloned();
    }
    path
}

fn head(form: &Syntax) -> Option<&'static str> {
    Some(form.as_pair()?.car.as_identifier()?.name.as_str())
}

fn is_at(form: &Syntax, span: Span) -> bool {
    form.span.start == span.start && form.span.end == span.end
}

/// Longest signature that is shown.
const SIGNATURE_CHARACTERS_MAX: usize = 300;

fn shown(form: &Syntax) -> String {
    let mut text = form.to_datum().to_string();
    if text.chars().count() > SIGNATURE_CHARACTERS_MAX {
        text = text
            .chars()
            .take(SIGNATURE_CHARACTERS_MAX)
            .chain(['…'])
            .collect();
    }
    text
}

/// A call of `name` with these parameters.
fn call(name: &str, formals: &Syntax) -> String {
    let parts = formals.parts();
    let mut text = format!("({name}");
    for element in &parts.elements {
        text.push(' ');
        text.push_str(&shown(element));
    }
    if !parts.tail.is_nil() {
        text.push_str(" . ");
        text.push_str(&shown(&parts.tail));
    }
    text.push(')');
    text
}

/// Describes the name that is defined at `span`.
pub fn describe(text: &str, forms: &[Syntax], span: Span, name: &str) -> Description {
    let path = path_to(forms, span.start as usize, span.end as usize);
    let mut description = Description::default();
    let count = path.len();
    let parent = count.checked_sub(2).map(|index| &path[index]);
    let grandparent = count.checked_sub(3).map(|index| &path[index]);
    if let Some(parent) = parent {
        from_parent(&mut description, parent, grandparent, span, name);
    }
    let definition = path.iter().rev().find(|form| {
        head(form).is_some_and(|head| head.starts_with("define") && head != "define-library")
    });
    if let Some(definition) = definition {
        let belongs = is_defined_by(definition, span);
        if belongs {
            description.text = comment_above(text, definition.span.start as usize)
                .or_else(|| doc_string(definition))
                .unwrap_or_default();
        }
    }
    description
}

/// Whether a definition is about that name, and not about something inside of it.
fn is_defined_by(definition: &Syntax, span: Span) -> bool {
    if head(definition) == Some("define-record-type") {
        return true;
    }
    let elements = definition.parts().elements;
    let Some(target) = elements.get(1) else {
        return false;
    };
    let mut target = target.clone();
    loop {
        if is_at(&target, span) {
            return true;
        }
        match target.as_pair() {
            Some(pair) => target = pair.car.clone(),
            None => return false,
        }
    }
}

fn from_parent(
    description: &mut Description,
    parent: &Syntax,
    grandparent: Option<&Syntax>,
    span: Span,
    name: &str,
) {
    let parts = parent.parts();
    let position = parts.elements.iter().position(|part| is_at(part, span));
    let above = grandparent.and_then(head).unwrap_or_default();
    let is_second = grandparent.is_some_and(|form| {
        form.parts()
            .elements
            .get(1)
            .is_some_and(|second| is_at(second, parent.span))
    });
    let own = head(parent).unwrap_or_default();
    match position {
        Some(0) if is_second && (above.starts_with("define") || above == "named-lambda") => {
            description.kind = match above {
                "define-record-type" => "record type",
                "define-syntax-rule" | "define-macro" => "macro",
                _ => "procedure",
            };
            description.signatures.push(shown(parent));
        }
        Some(0) if above == "define-record-type" => {
            description.kind = "procedure";
            description.signatures.push(shown(parent));
        }
        Some(index @ (1 | 2)) if above == "define-record-type" => {
            let record = grandparent.and_then(|form| form.parts().elements.get(1).map(shown));
            let record = record.unwrap_or_default();
            let record = record.trim_matches(['<', '>']);
            description.kind = "procedure";
            description.signatures.push(match index {
                1 => format!("({name} {record})"),
                _ => format!("({name} {record} {})", shown(&parts.elements[0])),
            });
        }
        Some(1) if own == "define-record-type" => description.kind = "record type",
        Some(2) if own == "define-record-type" => {
            description.kind = "procedure";
            let fields = parts.elements.iter().skip(4);
            let fields = fields.map(|field| match field.as_pair() {
                Some(pair) => shown(&pair.car),
                None => shown(field),
            });
            let fields: Vec<String> = fields.collect();
            description
                .signatures
                .push(format!("({name} {})", fields.join(" ")));
        }
        Some(3) if own == "define-record-type" => {
            description.kind = "procedure";
            description.signatures.push(format!("({name} object)"));
        }
        Some(1) if own == "let" && parts.elements.len() > 2 => {
            description.kind = "loop";
            let bindings = parts.elements[2].parts().elements;
            let names = bindings.iter().map(|binding| match binding.as_pair() {
                Some(pair) => shown(&pair.car),
                None => shown(binding),
            });
            let words: Vec<String> = std::iter::once(name.to_owned()).chain(names).collect();
            description
                .signatures
                .push(format!("({})", words.join(" ")));
        }
        Some(1) if own.starts_with("define") => {
            if let Some(value) = parts.elements.get(2) {
                from_value(description, value, name);
            }
            if description.kind.is_empty() {
                description.kind = if own.contains("syntax") {
                    "macro"
                } else {
                    "variable"
                };
            }
        }
        Some(0) if parts.elements.len() == 2 => from_value(description, &parts.elements[1], name),
        _ => {}
    }
}

/// Completes the description from the value of a definition.
fn from_value(description: &mut Description, value: &Syntax, name: &str) {
    let elements = value.parts().elements;
    match head(value) {
        Some("lambda" | "lambda*") if elements.len() > 1 => {
            description.kind = "procedure";
            description.signatures.push(call(name, &elements[1]));
        }
        Some("named-lambda") if elements.len() > 1 => {
            description.kind = "procedure";
            if let Some(pair) = elements[1].as_pair() {
                description.signatures.push(call(name, &pair.cdr));
            }
        }
        Some("case-lambda") => {
            description.kind = "procedure";
            for clause in &elements[1..] {
                if let Some(pair) = clause.as_pair() {
                    description.signatures.push(call(name, &pair.car));
                }
            }
        }
        Some(
            "syntax-rules"
            | "er-macro-transformer"
            | "ir-macro-transformer"
            | "sc-macro-transformer",
        ) => {
            description.kind = "macro";
            let first = match elements.get(1) {
                Some(ellipsis) if ellipsis.as_identifier().is_some() => 3,
                _ => 2,
            };
            for rule in elements.iter().skip(first).take(RULES_MAX) {
                if head(value) == Some("syntax-rules")
                    && let Some(rule) = rule.as_pair()
                    && let Some(pattern) = rule.car.as_pair()
                {
                    description.signatures.push(call(name, &pattern.cdr));
                }
            }
        }
        Some("make-parameter") => {
            description.kind = "parameter";
            description.signatures.push(format!("({name})"));
        }
        _ => {}
    }
}

/// So many rules of a macro are shown.
const RULES_MAX: usize = 8;

/// The doc comment that ends right above a form: lines with two semicolons or more, as `canny doc` has it.
pub fn comment_above(text: &str, start: usize) -> Option<String> {
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    // Something else on the same line has the comment.
    if !before[line_start..].trim().is_empty() {
        return None;
    }
    let mut lines: Vec<&str> = Vec::new();
    for line in before[..line_start].lines().rev() {
        match line.trim_start().strip_prefix(";;") {
            Some(rest) => lines.push(rest.trim_start_matches(';')),
            None => break,
        }
    }
    let lines: Vec<&str> = lines
        .into_iter()
        .rev()
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    let comment = lines.join("\n");
    let comment = comment.trim_matches('\n');
    (!comment.is_empty()).then(|| comment.to_owned())
}

/// The string that a procedure's body begins with, if something follows it.
fn doc_string(definition: &Syntax) -> Option<String> {
    let elements = definition.parts().elements;
    let body = match elements.get(1)?.as_pair() {
        Some(_) => elements.get(2..)?.to_vec(),
        None => elements.get(2)?.parts().elements.get(2..)?.to_vec(),
    };
    match body.as_slice() {
        [first, _, ..] => match first.as_atom()? {
            Datum::String(text) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// How the expander's own forms are written.
pub fn core_form(name: &str) -> &'static [&'static str] {
    match name {
        "quote" => &["(quote datum)", "'datum"],
        "quasiquote" => &["(quasiquote template)", "`template"],
        "unquote" => &["(unquote expression)", ",expression"],
        "unquote-splicing" => &["(unquote-splicing expression)", ",@expression"],
        "lambda" => &[
            "(lambda (parameter ...) body ...)",
            "(lambda (parameter ... . rest) body ...)",
        ],
        "lambda*" => &[
            "(lambda* (parameter ... #:optional (name default) ... #:key (name default) ... . rest) body \
             ...)",
        ],
        "case-lambda" => &["(case-lambda ((parameter ...) body ...) ...)"],
        "named-lambda" => &["(named-lambda (name parameter ...) body ...)"],
        "define" => &[
            "(define name value)",
            "(define (name parameter ...) body ...)",
        ],
        "define*" => &[
            "(define* (name parameter ... #:optional (name default) ... #:key (name default) ...) body ...)",
        ],
        "define-values" => &["(define-values (name ...) expression)"],
        "define-record-type" => &[
            "(define-record-type name (constructor field ...) predicate (field accessor [modifier]) ...)",
        ],
        "define-syntax" => &["(define-syntax keyword transformer)"],
        "let-syntax" => &["(let-syntax ((keyword transformer) ...) body ...)"],
        "letrec-syntax" => &["(letrec-syntax ((keyword transformer) ...) body ...)"],
        "syntax-rules" => &["(syntax-rules (literal ...) (pattern template) ...)"],
        "syntax-case" => &["(syntax-case expression (literal ...) (pattern [fender] output) ...)"],
        "syntax" => &["(syntax template)", "#'template"],
        "syntax-error" => &["(syntax-error message irritant ...)"],
        "let" => &[
            "(let ((name value) ...) body ...)",
            "(let loop ((name value) ...) body ...)",
        ],
        "let*" => &["(let* ((name value) ...) body ...)"],
        "letrec" => &["(letrec ((name value) ...) body ...)"],
        "letrec*" => &["(letrec* ((name value) ...) body ...)"],
        "let-values" => &["(let-values (((name ...) expression) ...) body ...)"],
        "let*-values" => &["(let*-values (((name ...) expression) ...) body ...)"],
        "receive" => &["(receive (name ...) expression body ...)"],
        "and" => &["(and expression ...)"],
        "or" => &["(or expression ...)"],
        "when" => &["(when test expression ...)"],
        "unless" => &["(unless test expression ...)"],
        "cond" => &[
            "(cond (test expression ...) ... [(else expression ...)])",
            "(cond (test => receiver) ...)",
        ],
        "case" => &["(case key ((datum ...) expression ...) ... [(else expression ...)])"],
        "do" => &["(do ((name value step) ...) (test result ...) command ...)"],
        "begin" => &["(begin form ...)"],
        "set!" => &["(set! name value)"],
        "if" => &["(if test consequent [alternative])"],
        "match" => &["(match expression (pattern body ...) ...)"],
        "match-lambda" => &["(match-lambda (pattern body ...) ...)"],
        "match-let" => &["(match-let ((pattern expression) ...) body ...)"],
        "assert" => &["(assert expression)"],
        "cond-expand" => &["(cond-expand (requirement form ...) ... [(else form ...)])"],
        "include" => &["(include \"file\" ...)"],
        "import" => &["(import import-set ...)"],
        "define-library" => &["(define-library name declaration ...)"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_syntax::reader::read_text;
    use canny_syntax::span::SourceId;

    fn at(text: &str, name: &str) -> Description {
        let start = text.find(name).expect("the name occurs") as u32;
        let span = Span::new(SourceId(0), start, start + name.len() as u32);
        let forms = read_text(text, SourceId(0), false).forms;
        describe(text, &forms, span, name)
    }

    #[test]
    fn procedures_and_their_comments() {
        let found = at(
            ";; Adds.\n;;; Twice.\n(define (add a . b) \"doc\" a)",
            "add",
        );
        assert_eq!(found.signatures, ["(add a . b)"]);
        assert_eq!(found.text, "Adds.\nTwice.");
        let found = at("; no\n(define add (case-lambda ((a) a) ((a b) b)))", "add");
        assert_eq!(found.signatures, ["(add a)", "(add a b)"]);
        assert_eq!(found.text, "");
        assert_eq!(
            at("(define (f x) \"doc\" (define (g y) y) x)", "f ").text,
            ""
        );
        assert_eq!(at("(define (foo x) \"doc\" x)", "foo").text, "doc");
    }

    #[test]
    fn other_definitions() {
        let record = "(define-record-type point (make x y) point? (x x-of set-x!))";
        assert_eq!(at(record, "make").signatures, ["(make x y)"]);
        assert_eq!(at(record, "set-x!").signatures, ["(set-x! point x)"]);
        assert_eq!(at(record, "point?").signatures, ["(point? object)"]);
        let found = at(
            "(define-syntax swap! (syntax-rules () ((_ a b) 1)))",
            "swap!",
        );
        assert_eq!(
            (found.kind, found.signatures),
            ("macro", vec!["(swap! a b)".to_owned()])
        );
        assert_eq!(at("(let loop ((i 0)) i)", "loop").signatures, ["(loop i)"]);
    }
}
