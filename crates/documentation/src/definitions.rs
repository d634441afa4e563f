//! Finds the definitions in a body, by the shape of forms in the source.
//!
//! Nothing is expanded: known defining forms are taken apart, and for unknown macros only the names
//! that they may define are guessed. A name's text is its doc string or the comment above.

use canny_syntax::datum::Datum;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;

use crate::definition::{Definition, Meaning};
use crate::model::{Kind, Parameter, Signature};
use crate::{records, signature};

/// Nested `let`s around a procedure that are looked through.
const LETS_MAX: usize = 8;

/// The definitions that a form of a body makes. Forms that contain definitions, such as `begin`,
/// are taken apart by the caller.
pub(crate) fn definitions(form: &Syntax) -> Vec<Definition> {
    let Some(parts) = form.elements() else {
        return Vec::new();
    };
    let Some(head) = parts.first().and_then(Syntax::as_identifier) else {
        return Vec::new();
    };
    let operands = &parts[1..];
    let head = head.name.as_str();
    match head {
        "define-syntax" | "define-syntax-rule" | "define-syntax-parameter" => {
            syntax_definition(form, operands).into_iter().collect()
        }
        "define-values" => operands
            .first()
            .map(|formals| values(form, formals))
            .unwrap_or_default(),
        "define-class" => class(form, operands),
        _ if head.starts_with("define-record-type") => records::definitions(form, operands),
        "define/contract" | "define-generic" => {
            procedure_or_variable(form, operands).into_iter().collect()
        }
        _ if head == "define" || head.starts_with("define*") || head == "define-inline" => {
            procedure_or_variable(form, operands).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The names that a form of an unknown macro may define: identifiers in it, not very deep.
pub(crate) fn possible_definition(form: &Syntax, name: &str) -> Option<Span> {
    let parts = form.parts().elements;
    let (head, operands) = parts.split_first()?;
    if !head.as_identifier()?.name.as_str().contains("define") {
        return None;
    }
    let is_name = |syntax: &Syntax| {
        let identifier = syntax.as_identifier();
        identifier.is_some_and(|identifier| identifier.name.as_str() == name)
    };
    for operand in operands {
        if is_name(operand) {
            return Some(operand.span);
        }
        let inner = operand.parts().elements;
        if let Some(found) = inner.iter().find(|inner| is_name(inner)) {
            return Some(found.span);
        }
    }
    None
}

/// A definition without a text of its own yet.
fn definition(name: &Syntax, form: &Syntax, meaning: Meaning) -> Option<Definition> {
    Some(Definition {
        name: name.as_identifier()?.name.as_str().to_owned(),
        at: name.span,
        comment_above: Some(form.span),
        doc_string: None,
        default_text: String::new(),
        meaning,
    })
}

fn known(kind: Kind, signatures: Vec<Signature>) -> Meaning {
    Meaning::Known { kind, signatures }
}

fn syntax_definition(form: &Syntax, operands: &[Syntax]) -> Option<Definition> {
    let (name, rest) = operands.split_first()?;
    if let Some(pair) = name.as_pair() {
        // `(define-syntax (name form …) …)` and `(define-syntax-rule (name . pattern) …)`
        let is_rule = form.as_pair()?.car.as_identifier()?.name.as_str() == "define-syntax-rule";
        let signatures = if is_rule {
            vec![Signature::of_syntax(name.to_string())]
        } else {
            Vec::new()
        };
        return definition(&pair.car, form, known(Kind::Syntax, signatures));
    }
    let identifier = name.as_identifier()?;
    let transformer = rest.first()?;
    if let Some(other) = transformer.as_identifier() {
        return definition(name, form, Meaning::Alias(other.name.as_str().to_owned()));
    }
    let signatures = signature::macro_signatures(identifier.name.as_str(), transformer);
    definition(name, form, known(Kind::Syntax, signatures))
}

fn values(form: &Syntax, formals: &Syntax) -> Vec<Definition> {
    let parts = formals.parts();
    parts
        .elements
        .iter()
        .chain([&parts.tail])
        .filter_map(|name| definition(name, form, known(Kind::Variable, Vec::new())))
        .collect()
}

/// `(define-class name (parent …) constructor predicate field …)` is a record type with its parent elsewhere.
fn class(form: &Syntax, operands: &[Syntax]) -> Vec<Definition> {
    let [name, _, rest @ ..] = operands else {
        return Vec::new();
    };
    let mut record = vec![name.clone()];
    record.extend_from_slice(rest);
    records::definitions(form, &record)
}

fn procedure_or_variable(form: &Syntax, operands: &[Syntax]) -> Option<Definition> {
    let (target, rest) = operands.split_first()?;
    if target.as_pair().is_some() {
        // The outermost procedure of `(define ((name a) b) …)` takes a.
        let mut target = target;
        let mut is_curried = false;
        let mut pair = target.as_pair()?;
        while pair.car.as_pair().is_some() {
            target = &pair.car;
            pair = target.as_pair()?;
            is_curried = true;
        }
        let parameters = signature::parameters(&pair.cdr);
        let mut found = procedure(form, &pair.car, vec![parameters])?;
        if !is_curried {
            found.doc_string = doc_string(rest);
        }
        return Some(found);
    }
    let name = target;
    let Some(value) = rest.last() else {
        return definition(name, form, known(Kind::Variable, Vec::new()));
    };
    if let Some(other) = value.as_identifier() {
        return definition(name, form, Meaning::Alias(other.name.as_str().to_owned()));
    }
    if is_literal(value) {
        let kind = Kind::Constant {
            value: value.to_string(),
        };
        return definition(name, form, known(kind, Vec::new()));
    }
    let mut value = value.clone();
    for _ in 0..LETS_MAX {
        let parts = value.parts().elements;
        let Some(head) = parts.first().and_then(Syntax::as_identifier) else {
            break;
        };
        match head.name.as_str() {
            "lambda" | "lambda*" | "named-lambda" | "lambda/contract" if parts.len() > 1 => {
                let formals = match head.name.as_str() {
                    "named-lambda" => parts[1].as_pair().map(|pair| pair.cdr.clone()),
                    _ => Some(parts[1].clone()),
                };
                let parameters = signature::parameters(&formals?);
                let mut found = procedure(form, name, vec![parameters])?;
                found.doc_string = doc_string(&parts[2..]);
                return Some(found);
            }
            "case-lambda" => {
                let clauses = &parts[1..];
                let formals = clauses.iter().filter_map(Syntax::as_pair);
                let lists = formals.map(|clause| signature::parameters(&clause.car));
                let mut found = procedure(form, name, lists.collect())?;
                found.doc_string = clauses.first().and_then(|clause| {
                    let clause = clause.elements()?;
                    doc_string(clause.get(1..)?)
                });
                return Some(found);
            }
            "make-parameter" | "make-settable-parameter" | "make-unsettable-parameter" => {
                let signature =
                    Signature::of_procedure(name.as_identifier()?.name.as_str(), Vec::new());
                return definition(name, form, known(Kind::Parameter, vec![signature]));
            }
            "let" | "let*" | "letrec" | "letrec*" | "let-values" if parts.len() > 2 => {
                value = parts[parts.len() - 1].clone();
            }
            _ => break,
        }
    }
    definition(name, form, known(Kind::Variable, Vec::new()))
}

/// A procedure with these parameter lists.
fn procedure(form: &Syntax, name: &Syntax, lists: Vec<Vec<Parameter>>) -> Option<Definition> {
    let text = name.as_identifier()?.name;
    let signatures = lists
        .into_iter()
        .map(|parameters| Signature::of_procedure(text.as_str(), parameters))
        .collect();
    definition(name, form, known(Kind::Procedure, signatures))
}

/// The string that a body begins with, if something follows it.
fn doc_string(body: &[Syntax]) -> Option<(String, Span)> {
    match body {
        [first, _, ..] => match first.as_atom() {
            Some(Datum::String(text)) => Some((text.to_string(), first.span)),
            _ => None,
        },
        _ => None,
    }
}

fn is_literal(value: &Syntax) -> bool {
    match value.as_atom() {
        Some(datum) => !matches!(datum, Datum::Nil),
        None => value.as_pair().is_some_and(|pair| {
            let head = pair.car.as_identifier();
            head.is_some_and(|head| head.name.as_str() == "quote")
        }),
    }
}
