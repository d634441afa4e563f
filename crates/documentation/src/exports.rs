//! The parts of a library's declarations, and which import a name comes from.
//!
//! Import sets are resolved by their text, with at most `MODIFIERS_MAX` modifiers, so that the
//! library that a name comes from need not be loaded. Malformed specifications give nothing: the
//! expander reports them.

use canny_syntax::library::library_name_of;
use canny_syntax::library_name::LibraryName;
use canny_syntax::span::Span;
use canny_syntax::syntax::Syntax;

/// Modifiers around an import set that are looked through.
const MODIFIERS_MAX: usize = 50;

/// The declarations of a library, in order.
#[derive(Default)]
pub(crate) struct Declarations {
    pub exports: Vec<Export>,
    pub imports: Vec<Syntax>,
    pub body: Vec<Syntax>,
}

pub(crate) struct Export {
    pub internal: String,
    pub external: String,
    pub at: Span,
}

/// An export specification: a name or `(rename name external-name)`.
pub(crate) fn export(specification: &Syntax) -> Option<Export> {
    let (internal, external) = match specification.as_identifier() {
        Some(identifier) => (identifier, identifier),
        None => {
            let parts = specification.elements()?;
            let [_, internal, external] = parts.as_slice() else {
                return None;
            };
            (internal.as_identifier()?, external.as_identifier()?)
        }
    };
    Some(Export {
        internal: internal.name.as_str().to_owned(),
        external: external.name.as_str().to_owned(),
        at: specification.span,
    })
}

/// The library that an import set brings a name from, and its name there, if that library has it.
pub(crate) fn imported(set: &Syntax, name: &str) -> Option<(LibraryName, String)> {
    let mut set = set.clone();
    let mut name = name.to_owned();
    for _ in 0..MODIFIERS_MAX {
        let parts = set.elements()?;
        let is_modified = parts.get(1).is_some_and(|inner| inner.as_pair().is_some());
        let head = parts
            .first()?
            .as_identifier()
            .map(|head| head.name.as_str());
        let operands = parts.get(2..).unwrap_or_default();
        let lists = |name: &str| {
            let named = |operand: &Syntax| operand.as_identifier().map(|it| it.name.as_str());
            operands.iter().any(|operand| named(operand) == Some(name))
        };
        match head {
            Some("only") if is_modified && !lists(&name) => return None,
            Some("except") if is_modified && lists(&name) => return None,
            Some("only" | "except") if is_modified => {}
            Some("prefix") if is_modified => {
                let prefix = operands.first()?.as_identifier()?.name;
                name = name.strip_prefix(prefix.as_str())?.to_owned();
            }
            Some("rename") if is_modified => name = before_renaming(operands, name)?,
            _ => return Some((library_name_of(&set).ok()?, name)),
        }
        set = parts[1].clone();
    }
    None
}

/// The name that a renamed one has inside; nothing for one that was renamed away.
fn before_renaming(renames: &[Syntax], name: String) -> Option<String> {
    let mut result = Some(name.clone());
    for rename in renames {
        let parts = rename.elements()?;
        let names: Vec<&str> = parts
            .iter()
            .filter_map(|part| part.as_identifier().map(|it| it.name.as_str()))
            .collect();
        match names.as_slice() {
            [from, to] if *to == name => return Some((*from).to_owned()),
            [from, _] if *from == name => result = None,
            _ => {}
        }
    }
    result
}
