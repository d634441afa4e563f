//! Signature help: how the call around the cursor is written, and which parameter comes next.
//!
//! The call is found in the text, since it is usually incomplete; the operator's meaning comes from
//! the last snapshot. Keyword arguments select their parameter by name.

use canny_syntax::datum::Datum;
use canny_syntax::reader::read_text;
use canny_syntax::span::SourceId;
use canny_syntax::syntax::Syntax;
use serde_json::{Value, json};

use crate::scan::{Kind, surroundings};
use crate::view::View;

/// The answer to `textDocument/signatureHelp`.
pub fn help(view: &View, offset: usize) -> Value {
    let content = &*view.text.content;
    let around = surroundings(content, view.text.tokens(), offset);
    let mut lists = around.lists.iter().rev();
    // A string or comment belongs to the call around it; data do not.
    let Some(list) = lists
        .find(|list| list.head.is_some())
        .filter(|list| !list.is_quoted)
    else {
        return Value::Null;
    };
    let Some((start, end)) = list.head else {
        return Value::Null;
    };
    let name = &content[start..end];
    let found = view
        .occurrence_at(start)
        .filter(|found| (found.start, found.end) == (start, end));
    let description = match found {
        Some(found) => view.snapshot.describe_name(&found.one),
        // It may mean something that only its name tells.
        None => match view.meaning_of(start, canny_syntax::name::Name::new(name)) {
            Some(meaning) => view.snapshot.describe(&meaning),
            None => return Value::Null,
        },
    };
    answer(
        &description.signatures,
        &description.text,
        list,
        &around,
        content,
        offset,
    )
}

fn answer(
    signatures: &[String],
    documentation: &str,
    list: &crate::scan::OpenList,
    around: &crate::scan::Surroundings,
    content: &str,
    offset: usize,
) -> Value {
    if signatures.is_empty() {
        return Value::Null;
    }
    // The operand that the place is in or that comes next.
    let is_inside = around
        .token
        .is_some_and(|token| token.kind != Kind::Comment)
        && around
            .lists
            .last()
            .is_some_and(|last| last.start == list.start);
    let behind = around
        .lists
        .last()
        .is_some_and(|last| last.start != list.start);
    let written = list.elements.saturating_sub(1);
    let position = if is_inside || behind {
        written.saturating_sub(1)
    } else {
        written
    };
    let keyword = list
        .keywords
        .iter()
        .rev()
        .find(|(index, _)| *index == position || *index == position + 1 && *index > 0)
        .and_then(|(_, start)| content[*start..offset].get(2..))
        .map(|text| {
            text.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        });
    let mut shown = Vec::new();
    let mut active_signature = None;
    for (index, signature) in signatures.iter().enumerate() {
        let parameters = parameters(signature);
        let active = active(&parameters, position, keyword.as_deref());
        if active_signature.is_none()
            && (active.is_some() || parameters.is_empty() && position == 0)
        {
            active_signature = Some(index);
        }
        let labels: Vec<Value> = parameters
            .iter()
            .map(|one| json!({"label": one.label}))
            .collect();
        let mut item = json!({"label": signature, "parameters": labels});
        if let Some(active) = active {
            item["activeParameter"] = active.into();
        }
        if !documentation.is_empty() {
            item["documentation"] = json!({"kind": "markdown", "value": documentation});
        }
        shown.push(item);
    }
    let active_signature = active_signature.unwrap_or(0);
    let active_parameter = shown[active_signature]["activeParameter"].clone();
    let mut help = json!({"signatures": shown, "activeSignature": active_signature});
    if !active_parameter.is_null() {
        help["activeParameter"] = active_parameter;
    }
    help
}

#[derive(Debug, PartialEq)]
struct Parameter {
    label: String,
    /// The keyword that it is given by.
    keyword: Option<String>,
    is_rest: bool,
}

/// The parameters of a signature such as `(name a #:key (b 1) . rest)`.
fn parameters(signature: &str) -> Vec<Parameter> {
    let call = signature.split(" → ").next().unwrap_or_default();
    let forms = read_text(call, SourceId::NONE, false).forms;
    let Some(form) = forms.first().filter(|form| form.as_pair().is_some()) else {
        return Vec::new();
    };
    let parts = form.parts();
    let mut found: Vec<Parameter> = Vec::new();
    let (mut by_keyword, mut rest_next) = (false, false);
    for element in parts.elements.iter().skip(1) {
        match element.as_atom() {
            Some(Datum::Keyword(name)) => {
                by_keyword = match name.as_str() {
                    "key" => true,
                    "optional" => false,
                    _ => by_keyword,
                };
                rest_next = name.as_str() == "rest";
                continue;
            }
            _ if is_ellipsis(element) => {
                if let Some(last) = found.last_mut() {
                    last.is_rest = true;
                }
                continue;
            }
            _ => {}
        }
        let label = call
            .get(element.span.start as usize..element.span.end as usize)
            .unwrap_or_default()
            .to_owned();
        let name = match element.as_pair() {
            Some(pair) => pair.car.to_string(),
            None => label.clone(),
        };
        found.push(Parameter {
            label,
            keyword: (by_keyword && !rest_next).then_some(name),
            is_rest: std::mem::take(&mut rest_next),
        });
    }
    if let Some(rest) = parts.tail.as_identifier() {
        found.push(Parameter {
            label: rest.name.to_string(),
            keyword: None,
            is_rest: true,
        });
    }
    found
}

fn is_ellipsis(element: &Syntax) -> bool {
    element
        .as_identifier()
        .is_some_and(|name| name.name.as_str() == "...")
}

/// The number of the parameter for an operand.
fn active(parameters: &[Parameter], position: usize, keyword: Option<&str>) -> Option<usize> {
    if let Some(keyword) = keyword {
        let found = parameters
            .iter()
            .position(|one| one.keyword.as_deref() == Some(keyword));
        if found.is_some() {
            return found;
        }
    }
    let rest = parameters.iter().position(|one| one.is_rest);
    let positional = parameters.get(position).filter(|one| one.keyword.is_none());
    match (positional, rest) {
        (Some(_), Some(rest)) => Some(position.min(rest)),
        (Some(_), None) => Some(position),
        (None, Some(rest)) => Some(rest),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(signature: &str, position: usize, keyword: Option<&str>) -> Option<String> {
        let parameters = parameters(signature);
        active(&parameters, position, keyword).map(|index| parameters[index].label.clone())
    }

    #[test]
    fn operands_have_parameters() {
        assert_eq!(at("(f a b)", 1, None).as_deref(), Some("b"));
        assert_eq!(at("(f a b)", 2, None), None);
        assert_eq!(at("(f a . more)", 5, None).as_deref(), Some("more"));
        assert_eq!(at("(list any ...) → list", 5, None).as_deref(), Some("any"));
        let star = "(f a #:optional (b 1) #:key (c 2) d #:rest r)";
        assert_eq!(at(star, 1, None).as_deref(), Some("(b 1)"));
        assert_eq!(at(star, 3, Some("c")).as_deref(), Some("(c 2)"));
        assert_eq!(at(star, 3, Some("d")).as_deref(), Some("d"));
        assert_eq!(at(star, 9, None).as_deref(), Some("r"));
    }
}
