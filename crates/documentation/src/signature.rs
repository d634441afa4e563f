//! Signatures: how procedures are called and macros are used.
//!
//! They come from parameter lists and from patterns of `syntax-rules`; a transformer of another
//! kind has none. Long defaults are shortened, and at most `PATTERNS_MAX` patterns are given.

use canny_syntax::datum::Datum;
use canny_syntax::syntax::Syntax;

use crate::model::{Parameter, Role, Signature};

/// Uses of a macro that are shown at most.
const PATTERNS_MAX: usize = 6;
/// Characters of a default that are shown at most.
const DEFAULT_MAX: usize = 24;

impl Signature {
    /// The call of a procedure with these parameters.
    pub fn of_procedure(name: &str, parameters: Vec<Parameter>) -> Signature {
        let mut text = format!("({name}");
        for parameter in &parameters {
            let name = &parameter.name;
            let default = match &parameter.default {
                Some(default) if default.chars().count() <= DEFAULT_MAX => format!(" = {default}"),
                _ => String::new(),
            };
            text.push(' ');
            text.push_str(&match parameter.role {
                Role::Required => name.clone(),
                Role::Optional => format!("[{name}{default}]"),
                Role::Keyword => format!("[#:{name}{default}]"),
                Role::Rest => format!("{name} ..."),
            });
        }
        text.push(')');
        Signature {
            text,
            parameters,
            result: None,
        }
    }

    /// A use of syntax.
    pub(crate) fn of_syntax(text: String) -> Signature {
        Signature {
            text,
            parameters: Vec::new(),
            result: None,
        }
    }
}

/// The parameters in a parameter list, with the sections of `lambda*`.
pub(crate) fn parameters(formals: &Syntax) -> Vec<Parameter> {
    let parts = formals.parts();
    let mut found = Vec::new();
    let mut role = Role::Required;
    for element in &parts.elements {
        if let Some(Datum::Keyword(marker)) = element.as_atom() {
            role = match marker.as_str() {
                "optional" => Role::Optional,
                "key" => Role::Keyword,
                "rest" => Role::Rest,
                _ => role,
            };
            continue;
        }
        let words = element.elements().unwrap_or_default();
        let (name, default) = match (element.as_identifier(), words.as_slice()) {
            (Some(identifier), _) => (identifier.name, None),
            (None, [name, rest @ ..]) => match name.as_identifier() {
                Some(identifier) => (identifier.name, rest.first()),
                None => continue,
            },
            (None, []) => continue,
        };
        // The keyword may have another name than the variable.
        let keyword = words.get(2).and_then(|keyword| match keyword.as_atom() {
            Some(Datum::Keyword(keyword)) if role == Role::Keyword => Some(*keyword),
            _ => None,
        });
        found.push(Parameter {
            name: keyword.unwrap_or(name).as_str().to_owned(),
            role,
            default: default.map(ToString::to_string),
        });
    }
    if let Some(rest) = parts.tail.as_identifier() {
        found.push(Parameter {
            name: rest.name.as_str().to_owned(),
            role: Role::Rest,
            default: None,
        });
    }
    found
}

/// The uses that a `syntax-rules` form allows; none if the transformer is something else.
pub(crate) fn macro_signatures(name: &str, transformer: &Syntax) -> Vec<Signature> {
    let parts = transformer.elements().unwrap_or_default();
    let is_rules = parts
        .first()
        .and_then(Syntax::as_identifier)
        .is_some_and(|head| head.name.as_str() == "syntax-rules");
    if !is_rules {
        return Vec::new();
    }
    let has_ellipsis = parts.get(1).is_some_and(|it| it.as_identifier().is_some());
    let mut signatures: Vec<Signature> = Vec::new();
    for rule in parts
        .get(if has_ellipsis { 3 } else { 2 }..)
        .unwrap_or_default()
    {
        let Some(pattern) = rule.as_pair().map(|rule| &rule.car) else {
            continue;
        };
        let Some(operands) = pattern.as_pair().map(|pattern| &pattern.cdr) else {
            continue;
        };
        // A pattern that begins with a string is a step of the macro's own.
        let is_step = operands
            .as_pair()
            .is_some_and(|operands| matches!(operands.car.as_atom(), Some(Datum::String(_))));
        if is_step {
            continue;
        }
        let text = Datum::cons(Datum::symbol(name), operands.to_datum()).to_string();
        let signature = Signature::of_syntax(text);
        if !signatures.contains(&signature) {
            signatures.push(signature);
        }
        if signatures.len() == PATTERNS_MAX {
            break;
        }
    }
    signatures
}
