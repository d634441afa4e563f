//! Names of libraries as sources write them: in import sets and in `define-library` forms.

use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::library_name::{LibraryName, NamePart};
use crate::name::Name;
use crate::number;
use crate::span::Span;
use crate::syntax::Syntax;

/// The library name that a list spells.
pub fn library_name(syntax: &Syntax) -> Result<LibraryName, Box<Diagnostic>> {
    let bad = |span: Span, message: String| {
        Box::new(Diagnostic::error("bad-library-name", span, message))
    };
    let elements = syntax
        .elements()
        .filter(|elements| !elements.is_empty())
        .ok_or_else(|| {
            bad(
                syntax.span,
                format!("`{syntax}` is not a library name: it must be a list"),
            )
        })?;
    let mut parts = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        // Libraries of R6RS may have a version behind their names.
        if index + 1 == elements.len()
            && parts.first() == Some(&NamePart::Symbol(Name::new("rnrs")))
            && element.elements().is_some()
        {
            break;
        }
        let part = match (element.as_identifier(), element.as_atom()) {
            (Some(identifier), _) => Some(NamePart::Symbol(identifier.name)),
            (None, Some(Datum::Number(value))) => number::as_integer(value)
                .and_then(|value| u64::try_from(value).ok())
                .map(NamePart::Number),
            (None, Some(Datum::String(text))) if elements.len() == 2 && index == 1 => {
                let name = LibraryName::of_guest(text);
                if parts.first() == name.parts().first() {
                    return Ok(name);
                }
                None
            }
            _ => None,
        };
        parts.push(part.ok_or_else(|| {
            let message = format!(
                "`{element}` cannot be part of a library name: only symbols and numbers can"
            );
            bad(element.span, message)
        })?);
    }
    Ok(LibraryName::new(parts))
}

/// The name in a `define-library` form.
pub(super) fn declared_name(form: &Syntax) -> Result<LibraryName, Box<Diagnostic>> {
    let parts = form.elements().filter(|parts| parts.len() >= 2);
    let Some(parts) = parts else {
        let message = "define-library: expected a library name and declarations";
        return Err(Box::new(Diagnostic::error(
            "bad-syntax",
            form.span,
            message,
        )));
    };
    library_name(&parts[1])
}
