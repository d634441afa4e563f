//! Documents of the two libraries without sources: `(canny primitives)` and `(canny syntax)`.
//!
//! Their entries are made from the table of primitives and the list of core forms, so that none can
//! be missing. Parameters of primitives have the names of their types.

use canny_syntax::core_form::CoreForm;
use canny_tables::primitives::{GROUPS, Primitive};

use crate::model::{Document, Entry, Kind, Parameter, Role, Signature};

/// The pseudo-library of that name.
pub(crate) fn document(name: &str) -> Option<Document> {
    let (text, entries) = match name {
        "(canny primitives)" => (
            "The procedures that are not written in Scheme.",
            GROUPS
                .iter()
                .flat_map(|group| group.iter())
                .map(primitive)
                .collect(),
        ),
        "(canny syntax)" => (
            "The forms that the expander knows.",
            CoreForm::ALL.iter().map(core_form).collect(),
        ),
        _ => return None,
    };
    Some(Document {
        name: name.to_owned(),
        is_library: true,
        text: text.to_owned(),
        examples: Vec::new(),
        sections: Vec::new(),
        entries,
        internal: Vec::new(),
        place: None,
    })
}

fn entry(name: &str, kind: Kind) -> Entry {
    Entry {
        name: name.to_owned(),
        kind,
        signatures: Vec::new(),
        text: String::new(),
        examples: Vec::new(),
        group: None,
        section: String::new(),
        origin: None,
        place: None,
    }
}

fn core_form(form: &CoreForm) -> Entry {
    entry(form.name(), Kind::Syntax)
}

fn primitive(row: &Primitive) -> Entry {
    Entry {
        signatures: vec![Signature::of_primitive(row)],
        text: row.doc.to_owned(),
        ..entry(row.name, Kind::Procedure)
    }
}

impl Signature {
    /// How a primitive is called, its parameters called by their types.
    fn of_primitive(row: &Primitive) -> Signature {
        let (types, result) = match row.signature.split_once("->") {
            Some((types, result)) => (types, Some(result.trim().to_owned())),
            None => (row.signature, None),
        };
        let mut parameters: Vec<Parameter> = Vec::new();
        for word in types.split_whitespace() {
            if word == "..." {
                if let Some(last) = parameters.last_mut() {
                    last.role = Role::Rest;
                }
                continue;
            }
            let optional = word
                .strip_prefix('[')
                .and_then(|word| word.strip_suffix(']'));
            parameters.push(Parameter {
                name: optional.unwrap_or(word).to_owned(),
                role: match optional {
                    Some(_) => Role::Optional,
                    None => Role::Required,
                },
                default: None,
            });
        }
        Signature {
            result,
            ..Signature::of_procedure(row.user_name(), parameters)
        }
    }
}
