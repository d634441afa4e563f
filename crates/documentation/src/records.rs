//! The definitions that a record type makes: the type, constructor, predicate, accessors and
//! modifiers.
//!
//! It understands `define-record-type` of R7RS and the extensions with a parent or with `#t` for
//! usual names. Names without a text of their own get a default sentence.

use canny_syntax::syntax::Syntax;

use crate::definition::{Definition, Meaning};
use crate::model::{Kind, Parameter, Part, Role, Signature};

/// The definitions that a `define-record-type` form, or one like it, stands for.
pub(crate) fn definitions(form: &Syntax, operands: &[Syntax]) -> Vec<Definition> {
    let [type_name, constructor, predicate, fields @ ..] = operands else {
        return Vec::new();
    };
    // `(name parent)` has a parent.
    let Some(type_identifier) = first_name(type_name) else {
        return Vec::new();
    };
    let bare = type_identifier
        .trim_start_matches('<')
        .trim_end_matches('>');
    let field_names: Vec<String> = fields.iter().filter_map(first_name).collect();
    let mut found = vec![definition(
        &type_identifier,
        type_name,
        form,
        Kind::RecordType {
            fields: field_names.clone(),
        },
        None,
        String::new(),
    )];
    let one = with_article(bare);
    let part =
        |name: String, at: &Syntax, comment_of: &Syntax, part: Part, arguments: Vec<String>| {
            let text = match &part {
                Part::Constructor if arguments.is_empty() => format!("Makes {one}."),
                Part::Constructor => format!("Makes {one} of the values of its fields."),
                Part::Predicate => format!("Whether an object is {one}."),
                Part::Accessor(field) => format!("The field `{field}` of {one}."),
                Part::Modifier(field) => format!("Changes the field `{field}` of {one}."),
            };
            let kind = Kind::RecordPart {
                record: type_identifier.clone(),
                part,
            };
            definition(&name, at, comment_of, kind, Some(arguments), text)
        };
    if let Some(name) = part_name(constructor, || format!("make-{bare}")) {
        let arguments = constructor.elements().map_or_else(
            || field_names.clone(),
            |parts| parts.iter().skip(1).filter_map(first_name).collect(),
        );
        found.push(part(name, constructor, form, Part::Constructor, arguments));
    }
    if let Some(name) = part_name(predicate, || format!("{bare}?")) {
        let arguments = vec!["object".to_owned()];
        found.push(part(name, predicate, form, Part::Predicate, arguments));
    }
    for field in fields {
        let Some(field_name) = first_name(field) else {
            continue;
        };
        let parts = field.elements().unwrap_or_default();
        if let Some(accessor) = parts.get(1)
            && let Some(name) = part_name(accessor, || format!("{bare}-{field_name}"))
        {
            let arguments = vec![bare.to_owned()];
            let what = Part::Accessor(field_name.clone());
            found.push(part(name, accessor, field, what, arguments));
        }
        if let Some(modifier) = parts.get(2)
            && let Some(name) = part_name(modifier, || format!("{bare}-{field_name}-set!"))
        {
            let arguments = vec![bare.to_owned(), field_name.clone()];
            let what = Part::Modifier(field_name.clone());
            found.push(part(name, modifier, field, what, arguments));
        }
    }
    found
}

fn definition(
    name: &str,
    at: &Syntax,
    comment_of: &Syntax,
    kind: Kind,
    arguments: Option<Vec<String>>,
    default_text: String,
) -> Definition {
    let parameters = |arguments: Vec<String>| {
        let parameter = |name| Parameter {
            name,
            role: Role::Required,
            default: None,
        };
        arguments.into_iter().map(parameter).collect()
    };
    // The comment above the form is about the type.
    let has_comment = !matches!(
        kind,
        Kind::RecordPart {
            part: Part::Constructor | Part::Predicate,
            ..
        }
    );
    Definition {
        name: name.to_owned(),
        at: at.span,
        comment_above: has_comment.then_some(comment_of.span),
        doc_string: None,
        default_text,
        meaning: Meaning::Known {
            kind,
            signatures: arguments
                .map(|arguments| Signature::of_procedure(name, parameters(arguments)))
                .into_iter()
                .collect(),
        },
    }
}

/// A name, or the first name of a list.
fn first_name(syntax: &Syntax) -> Option<String> {
    let identifier = match syntax.as_identifier() {
        Some(identifier) => identifier,
        None => syntax.as_pair()?.car.as_identifier()?,
    };
    Some(identifier.name.as_str().to_owned())
}

/// The name of a part, which `#t` stands for the usual one of.
fn part_name(syntax: &Syntax, usual: impl FnOnce() -> String) -> Option<String> {
    match syntax.as_atom() {
        Some(canny_syntax::datum::Datum::Boolean(true)) => Some(usual()),
        _ => first_name(syntax),
    }
}

/// "a `point`", "an `account`". A name such as `user` or `unit` is spoken with a consonant.
fn with_article(name: &str) -> String {
    let has_vowel = name.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U'])
        && !["uni", "use", "eu", "one-"]
            .iter()
            .any(|start| name.starts_with(start));
    format!("{} `{name}`", if has_vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::with_article;

    #[test]
    fn articles_go_with_names() {
        for (name, shown) in [
            ("point", "a `point`"),
            ("account", "an `account`"),
            ("user", "a `user`"),
            ("union-find", "a `union-find`"),
            ("update", "an `update`"),
        ] {
            assert_eq!(with_article(name), shown);
        }
    }
}
