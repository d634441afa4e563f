//! Primitives of identifiers, which procedural macros make and compare.
//!
//! Only identifiers are objects of their own; the rest of a syntax object is pairs and vectors.
//! The expander knows the meanings of identifiers: comparisons ask it, and nothing is looked up
//! here.

use canny_syntax::core::LibraryKey;
use canny_syntax::macro_definition::ClosedAlias;
use canny_syntax::name::Name;
use canny_syntax::procedural::MacroIdentifier;
use canny_syntax::syntax::Identifier;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::macros::identifiers::{field, fresh_number, identifier_object, identifier_of};
use crate::macros::{IdentifierEquality, conversation, macro_value};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%identifier?" => |_, call: Call| Ok(Value::boolean(call.at(0).is_kind(Kind::Identifier)));
    "%identifier-name" => identifier_name;
    "%template-identifier" => template_identifier;
    "%rename-identifier" => rename_identifier;
    "%plain-identifier" => plain_identifier;
    "%identifier-like" => identifier_like;
    "%fresh-identifier" => fresh_identifier;
    "%bound-identifier=?" => bound_identifier;
    "%free-identifier=?" => free_identifier;
    "%macro-value" => |thread, _| Ok(macro_value(thread.vm()));
    "%macro-transformer" => macro_transformer;
    "%note-violation" => note_violation;
};

fn symbol_at(thread: &mut Thread, call: Call, position: usize) -> Result<Name, Raise> {
    let symbol = call.symbol(thread, position)?.value();
    Ok(Name::new(&symbol_name(symbol).unwrap_or_default()))
}

/// The identifier that an argument is; a symbol counts as one of the program's own.
fn identifier_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<MacroIdentifier, Raise> {
    let argument = call.at(position);
    if let Some(name) = symbol_name(argument) {
        return Ok(plain(thread, Name::new(&name)));
    }
    call.object(thread, position, Kind::Identifier, "identifier")?;
    let found = identifier_of(thread, argument);
    Ok(found.unwrap_or_else(|| MacroIdentifier::Renamed(Name::new(""))))
}

fn plain(thread: &Thread, name: Name) -> MacroIdentifier {
    let epoch = conversation(thread.vm()).map_or(0, |conversation| conversation.epoch());
    MacroIdentifier::Known {
        epoch,
        identifier: Identifier::plain(name),
    }
}

fn identifier_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let object = call.object(thread, 0, Kind::Identifier, "identifier")?;
    Ok(object.field(field::NAME))
}

/// Name, then either the name to look up and its library, or the number of a local one and its expansion.
fn template_identifier(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = symbol_at(thread, call, 0)?;
    let identifier = match (call.at(1).as_index(), call.at(2).as_index()) {
        (Some(number), Some(epoch)) => MacroIdentifier::Live {
            epoch: epoch as u64,
            name,
            number: number as u32,
        },
        _ => {
            let lookup = symbol_at(thread, call, 1)?;
            let library = string_text(call.string(thread, 2)?.value()).unwrap_or_default();
            MacroIdentifier::Closed(ClosedAlias {
                name,
                lookup,
                library: LibraryKey::new(&library),
            })
        }
    };
    identifier_object(thread, &identifier)
}

fn rename_identifier(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = symbol_at(thread, call, 0)?;
    identifier_object(thread, &MacroIdentifier::Renamed(name))
}

fn plain_identifier(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = symbol_at(thread, call, 0)?;
    let identifier = plain(thread, name);
    identifier_object(thread, &identifier)
}

fn identifier_like(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let context = identifier_at(thread, call, 0)?;
    let name = symbol_at(thread, call, 1)?;
    // Where an identifier of the source stands, the symbol is the identifier that could be written there,
    // and the two must be the same to `bound-identifier=?`.
    let identifier = match context {
        MacroIdentifier::Known { epoch, identifier }
            if identifier == Identifier::plain(identifier.name) =>
        {
            MacroIdentifier::Known {
                epoch,
                identifier: Identifier::plain(name),
            }
        }
        context => MacroIdentifier::Like(Box::new(context), name),
    };
    identifier_object(thread, &identifier)
}

fn fresh_identifier(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let name = symbol_at(thread, call, 0)?;
    let number = fresh_number(thread);
    identifier_object(thread, &MacroIdentifier::Fresh(name, number))
}

fn bound_identifier(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let left = identifier_at(thread, call, 0)?;
    let right = identifier_at(thread, call, 1)?;
    // An identifier that datum->syntax made may equal one that there is already; the expander
    // knows.
    let is_like = |identifier: &MacroIdentifier| matches!(identifier, MacroIdentifier::Like(..));
    if left == right || !(is_like(&left) || is_like(&right)) {
        return Ok(Value::boolean(left == right));
    }
    Ok(ask(thread, IdentifierEquality::Bound, left, right))
}

fn ask(
    thread: &mut Thread,
    equality: IdentifierEquality,
    left: MacroIdentifier,
    right: MacroIdentifier,
) -> Value {
    let vm = thread.vm().clone();
    let same = thread.outside_heap(|| match conversation(&vm) {
        Some(conversation) => conversation.compare(equality, left, right),
        None => false,
    });
    Value::boolean(same)
}

fn free_identifier(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let left = identifier_at(thread, call, 0)?;
    let right = identifier_at(thread, call, 1)?;
    if left == right {
        return Ok(Value::TRUE);
    }
    Ok(ask(thread, IdentifierEquality::Free, left, right))
}

fn macro_transformer(thread: &mut Thread, _: Call) -> Result<Value, Raise> {
    let number = conversation(thread.vm()).map_or(0, |conversation| conversation.transformer());
    Ok(Value::fixnum(number as i64))
}

fn note_violation(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let message = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    if let Some(conversation) = conversation(thread.vm()) {
        conversation.note_violation(thread, message, call.at(1));
    }
    Ok(Value::UNSPECIFIED)
}
