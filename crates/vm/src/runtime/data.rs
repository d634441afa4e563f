//! Runtime entries of variables, closures, boxes, pairs, indexed objects and records.
//!
//! They run when the nursery is full or a check of the handler failed. Each does the whole
//! operation again with all checks, since modes without fast paths always call it, and raises the
//! error if a check fails. Assignments of variables that compiled code watches retire that code
//! first.

use canny_tables::kinds::Kind;
use canny_tables::layout::{FIELD0, FLAG_IMMUTABLE};
use canny_value::{ObjectRef, Value};

use super::{Next, Site};
use crate::control::condition::ConditionKind;
use crate::data::globals;
use crate::data::strings::{string_character, string_length};
use crate::data::values::{is_instance, record_type, record_type_of};
use crate::primitive::Raise;
use crate::thread::Thread;

fn raise_no_value(site: &mut Site, cell: Value) -> Raise {
    let name = globals::cell_name(cell);
    site.thread.raise_unbound("the variable has no value", name)
}

pub(crate) fn global(site: &mut Site, cell: Value) -> Next {
    let value = globals::cell_value(cell);
    if value == Value::UNBOUND {
        return Err(raise_no_value(site, cell));
    }
    site.set_a(value);
    Ok(site.next())
}

/// Assignment of an unbound variable, or of one on whose value compiled code relies.
pub(crate) fn assign(site: &mut Site, cell: Value, value: Value) -> Next {
    if globals::cell_value(cell) == Value::UNBOUND {
        return Err(raise_no_value(site, cell));
    }
    define(site, cell, value)
}

/// Definition of a variable on whose value compiled code relies.
pub(crate) fn define(site: &mut Site, cell: Value, value: Value) -> Next {
    site.thread.set_cell(cell, value);
    Ok(site.next())
}

pub(crate) fn check_defined(site: &mut Site) -> Next {
    if site.ra() != Value::UNBOUND {
        return Ok(site.next());
    }
    let name = site.pool_wide();
    Err(site
        .thread
        .raise_unbound("the variable is used before its definition", name))
}

impl crate::Thread {
    fn raise_unbound(&mut self, message: &str, name: Value) -> Raise {
        self.raise(ConditionKind::Unbound, message, &[name], None)
    }
}

pub(crate) fn make_closure(site: &mut Site) -> Next {
    let captured = site.b_index();
    let closure = site
        .thread
        .object(Kind::Closure, 0, 1 + captured, Value::ZERO);
    // Code never moves, so the pool slot can be read after the allocation.
    let code = site.pool_extension(0);
    site.thread.store(closure, 0, code);
    site.set_a(closure);
    Ok(site.next())
}

pub(crate) fn make_box(site: &mut Site) -> Next {
    let value = site.rb();
    let object = site.thread.make_box(value);
    site.set_a(object);
    Ok(site.next())
}

pub(crate) fn cons(site: &mut Site) -> Next {
    let (car, cdr) = (site.rb(), site.rc());
    let pair = site.thread.cons(car, cdr);
    site.set_a(pair);
    Ok(site.next())
}

/// The primitive that the instruction stands for, for messages.
fn who(site: &Site) -> &'static str {
    let names = site.opcode().row().primitives;
    names.first().copied().unwrap_or("")
}

/// `car` and the like; handlers come here with what is no pair.
pub(crate) fn pair_ref(site: &mut Site, part: fn(Value) -> Option<Value>) -> Next {
    let object = site.rb();
    if let Some(value) = part(object) {
        site.set_a(value);
        return Ok(site.next());
    }
    let who = who(site);
    let expected = match who {
        "cadr" | "cddr" => "list of at least two pairs",
        _ => "pair",
    };
    Err(site.thread.raise_type(who, 1, expected, object))
}

pub(crate) fn pair_set(site: &mut Site, set: fn(&mut Thread, Value, Value)) -> Next {
    let (pair, value) = (site.ra(), site.rb());
    if pair.is_pair() {
        set(site.thread, pair, value);
        return Ok(site.next());
    }
    let who = who(site);
    Err(site.thread.raise_type(who, 1, "pair", pair))
}

fn element_count(object: ObjectRef) -> usize {
    if object.kind() == Kind::String {
        string_length(object)
    } else {
        object.length()
    }
}

/// The object, checked to be of the kind, and the index, checked to be inside.
fn checked(
    site: &mut Site,
    kind: Kind,
    [object, index]: [Value; 2],
) -> Result<(ObjectRef, usize), Raise> {
    let who = who(site);
    let Some(container) = object.as_kind(kind) else {
        return Err(site.thread.raise_type(who, 1, kind.row().name, object));
    };
    let count = element_count(container);
    match index.as_index().filter(|at| *at < count) {
        Some(at) => Ok((container, at)),
        None => Err(site.thread.raise_index(who, 2, index, count)),
    }
}

/// The fast path does all of these; kept whole for modes that always come here.
pub(crate) fn element(site: &mut Site, kind: Kind) -> Next {
    let operands = [site.rb(), site.rc()];
    let (container, at) = checked(site, kind, operands)?;
    let value = match kind {
        Kind::Vector => container.field(at),
        Kind::String => Value::character(string_character(container, at)),
        _ => container.with_bytes(|bytes| Value::fixnum(i64::from(bytes[at]))),
    };
    site.set_a(value);
    Ok(site.next())
}

pub(crate) fn set_element(site: &mut Site, kind: Kind) -> Next {
    let object = site.ra();
    let operands = [object, site.rb()];
    let (container, at) = checked(site, kind, operands)?;
    let who = who(site);
    if container.has_flag(FLAG_IMMUTABLE) {
        return Err(site.thread.raise_immutable(who, object));
    }
    let value = site.rc();
    if kind == Kind::Vector {
        site.thread.store(object, at, value);
        return Ok(site.next());
    }
    match value.as_fixnum().and_then(|n| u8::try_from(n).ok()) {
        Some(byte) => container.set_byte(at, byte),
        None => return Err(site.thread.raise_type(who, 3, "byte", value)),
    }
    Ok(site.next())
}

impl crate::Thread {
    /// Raises: argument `position` is no index below `count`.
    pub fn raise_index(&mut self, who: &str, position: usize, index: Value, count: usize) -> Raise {
        if index.as_fixnum().is_none() {
            return self.raise_type(who, position, "exact integer", index);
        }
        let expected = match count {
            0 => "there are no elements".to_owned(),
            1 => "the only index is 0".to_owned(),
            _ => format!("the indices are 0 to {}", count - 1),
        };
        self.raise_range(who, position, &expected, index)
    }

    /// Raises: a literal must not be changed.
    pub fn raise_immutable(&mut self, who: &str, object: Value) -> Raise {
        self.raise(
            ConditionKind::Immutable,
            "a literal cannot be changed",
            &[object],
            Some(who),
        )
    }
}

pub(crate) fn length(site: &mut Site, kind: Kind) -> Next {
    let object = site.rb();
    let Some(container) = object.as_kind(kind) else {
        let who = who(site);
        return Err(site.thread.raise_type(who, 1, kind.row().name, object));
    };
    site.set_a(Value::fixnum(element_count(container) as i64));
    Ok(site.next())
}

pub(crate) fn class_key(site: &mut Site) -> Next {
    let key = crate::data::values::class_key_of(site.rb());
    site.set_a(Value::fixnum(key));
    Ok(site.next())
}

pub(crate) fn character_to_integer(site: &mut Site) -> Next {
    let object = site.rb();
    let Some(character) = object.as_character() else {
        return Err(site
            .thread
            .raise_type("char->integer", 1, "character", object));
    };
    site.set_a(Value::fixnum(i64::from(character as u32)));
    Ok(site.next())
}

pub(crate) fn integer_to_character(site: &mut Site) -> Next {
    let object = site.rb();
    let Some(code) = object.as_fixnum() else {
        return Err(site
            .thread
            .raise_type("integer->char", 1, "exact integer", object));
    };
    let Some(character) = u32::try_from(code).ok().and_then(char::from_u32) else {
        return Err(site.thread.raise_range(
            "integer->char",
            1,
            "not a Unicode scalar value",
            object,
        ));
    };
    site.set_a(Value::character(character));
    Ok(site.next())
}

/// The field that a record instruction names, as a payload index, after all checks.
fn record_field(site: &mut Site, object: Value, wanted: Value) -> Result<usize, Raise> {
    let index = site.extension(0) as usize;
    if is_instance(object, wanted)
        && let Some(record) = object.as_object()
        && index + 1 < record.length()
    {
        return Ok(index + 1);
    }
    let name = site.pool_extension(1);
    let who = crate::data::symbols::symbol_name(name);
    let expected = record_type_of(wanted)
        .and_then(|record_type| {
            crate::data::symbols::symbol_name(record_type.field(record_type::NAME))
        })
        .map_or_else(
            || "record".to_owned(),
            |name| format!("record of type {name}"),
        );
    Err(site.thread.raise_type(
        who.as_deref().unwrap_or("record access"),
        1,
        &expected,
        object,
    ))
}

pub(crate) fn record_ref(site: &mut Site) -> Next {
    let (object, wanted) = (site.rb(), site.rc());
    let index = record_field(site, object, wanted)?;
    let value = object
        .as_object()
        .map_or(Value::FALSE, |record| record.field(index));
    site.set_a(value);
    Ok(site.next())
}

pub(crate) fn record_set(site: &mut Site) -> Next {
    let (object, wanted, value) = (site.ra(), site.rb(), site.rc());
    let index = record_field(site, object, wanted)?;
    site.thread.store(object, index, value);
    Ok(site.next())
}

pub(crate) fn make_record(site: &mut Site) -> Next {
    let (first, count) = (site.a_index(), site.b_index());
    let wanted = site.ra();
    let Some(record_type) = record_type_of(wanted) else {
        return Err(site.thread.raise_type("%record", 1, "record type", wanted));
    };
    let fields = record_type
        .field(record_type::FIELDS)
        .as_object()
        .map_or(0, |fields| fields.length());
    if fields != count - 1 {
        let message = format!(
            "the record type has {fields} fields, {} values are given",
            count - 1
        );
        return Err(site
            .thread
            .raise(ConditionKind::Arity, &message, &[wanted], Some("%record")));
    }
    let record = site.thread.object(Kind::Record, 0, count, Value::FALSE);
    for index in 0..count {
        let value = site.register(first + index);
        site.thread.store(record, index, value);
    }
    debug_assert_eq!(FIELD0, 3);
    site.set_a(record);
    Ok(site.next())
}
