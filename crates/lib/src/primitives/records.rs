//! Records and record types.
//!
//! A record is its type, then its fields, those of the parent type first. An index counts from the
//! first field of the outermost type.

use std::sync::atomic::{AtomicI64, Ordering};

use canny_tables::kinds::Kind;
use canny_tables::layout::{FLAG_IMMUTABLE, class_key};
use canny_value::{ObjectRef, Value};
use canny_vm::symbols::symbol_name;
use canny_vm::values::{class_key_of, is_instance, record_type as field};
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%make-record-type" => make_record_type;
    "%record" => make_record;
    "%record?" => is_record_of_type;
    "%record-ref" => record_ref;
    "%record-set!" => record_set;
    "record?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Record)));
    "record-type-descriptor" => |thread, call| Ok(call.object(thread, 0, Kind::Record, "record")?.field(0));
    "record-type?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::RecordType)));
    "record-type-name" => |thread, call| Ok(record_type(thread, call, 0)?.field(field::NAME));
    "record-type-field-names" => field_names;
    "%record-type-extension" => |thread, call| Ok(record_type(thread, call, 0)?.field(field::EXTENSION));
    "%set-record-type-extension!" => set_extension;
    "%class-key" => |_, call| Ok(Value::fixnum(class_key_of(call.at(0))));
    "%record-type-key" => |thread, call| Ok(record_type(thread, call, 0)?.field(field::SERIAL));
    "record-type-parent" => |thread, call| Ok(record_type(thread, call, 0)?.field(field::PARENT));
};

/// Serial number of the next record type.
static NEXT_SERIAL: AtomicI64 = AtomicI64::new(class_key::FIRST_SERIAL);

/// The class key of the records of a new type. The last ones share a key.
fn new_serial() -> i64 {
    let next = |serial: i64| (serial < class_key::END).then_some(serial + 1);
    NEXT_SERIAL
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .unwrap_or(class_key::CROWDED)
}

fn record_type(thread: &mut Thread, call: Call, position: usize) -> Result<ObjectRef, Raise> {
    call.object(thread, position, Kind::RecordType, "record type")
}

/// The names of all fields of a type, a vector.
fn names_of(record_type: ObjectRef) -> Option<ObjectRef> {
    record_type.field(field::FIELDS).as_kind(Kind::Vector)
}

fn field_count(record_type: ObjectRef) -> usize {
    names_of(record_type).map_or(0, ObjectRef::length)
}

fn make_record_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let own = call.vector(thread, 1)?;
    let parent = match call.at(2) {
        Value::FALSE => None,
        _ => Some(record_type(thread, call, 2)?),
    };
    let inherited = parent.and_then(names_of);
    let inherited_count = inherited.map_or(0, ObjectRef::length);
    let names = thread.make_vector(inherited_count + own.length(), Value::FALSE)?;
    if let Some(names) = names.as_object() {
        if let Some(inherited) = inherited {
            thread.copy_fields(inherited, 0..inherited_count, names, 0);
        }
        thread.copy_fields(own, 0..own.length(), names, inherited_count);
    }
    let place = |record_type: ObjectRef| {
        let place = record_type.field(field::PLACE).as_fixnum();
        place.map_or(field::ANCESTORS, |place| place as usize)
    };
    let end = parent.map_or(field::ANCESTORS, |parent| place(parent) + 1);
    let words = end.max(field::WORDS_MIN);
    let result = thread.try_object(Kind::RecordType, FLAG_IMMUTABLE, words, Value::FALSE)?;
    if let (Some(parent), Some(result)) = (parent, result.as_object()) {
        let inherited = field::ANCESTORS..end - 1;
        thread.copy_fields(parent, inherited, result, field::ANCESTORS);
        thread.store(result.value(), end - 1, parent.value());
    }
    thread.store(result, field::NAME, call.at(0));
    thread.store(result, field::PARENT, call.at(2));
    thread.store(result, field::FIELDS, names);
    thread.store(result, field::SERIAL, Value::fixnum(new_serial()));
    thread.store(result, field::PLACE, Value::fixnum(end as i64));
    thread.know_record_type(result);
    Ok(result)
}

fn set_extension(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let changed = record_type(thread, call, 0)?;
    thread.store(changed.value(), field::EXTENSION, call.at(1));
    Ok(Value::UNSPECIFIED)
}

fn make_record(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let record_type = record_type(thread, call, 0)?;
    let given = call.count() - 1;
    let wanted = field_count(record_type);
    if given != wanted {
        let expected = format!("a type with {given} fields, since so many values are given");
        return Err(call.range_error(thread, 0, &expected));
    }
    let record = thread.try_object(Kind::Record, 0, 1 + given, Value::FALSE)?;
    for position in 0..call.count() {
        thread.store(record, position, call.at(position));
    }
    Ok(record)
}

fn is_record_of_type(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let wanted = record_type(thread, call, 1)?;
    Ok(Value::boolean(is_instance(call.at(0), wanted.value())))
}

/// The record of argument 0 and the payload index of the field, if the record is of the type that
/// argument 1 gives; argument `name_position` is the accessor or modifier to blame.
fn field_of_record(
    thread: &mut Thread,
    call: Call,
    name_position: usize,
) -> Result<(ObjectRef, usize), Raise> {
    let wanted = record_type(thread, call, 1)?;
    let index = call.index_below(thread, 2, field_count(wanted))?;
    match call.at(0).as_kind(Kind::Record) {
        Some(record) if is_instance(record.value(), wanted.value()) => Ok((record, 1 + index)),
        _ => {
            let expected = match symbol_name(wanted.field(field::NAME)) {
                Some(name) => format!("record of type {name}"),
                None => "record".to_owned(),
            };
            let who = symbol_name(call.at(name_position));
            let who = who.as_deref().unwrap_or(call.who);
            Err(thread.raise_type(who, 1, &expected, call.at(0)))
        }
    }
}

fn record_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (record, index) = field_of_record(thread, call, 3)?;
    Ok(record.field(index))
}

fn record_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (record, index) = field_of_record(thread, call, 4)?;
    thread.store(record.value(), index, call.at(3));
    Ok(Value::UNSPECIFIED)
}

fn field_names(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let record_type = record_type(thread, call, 0)?;
    let length = field_count(record_type);
    let copy = thread.make_vector(length, Value::FALSE)?;
    if let (Some(names), Some(copy)) = (names_of(record_type), copy.as_object()) {
        thread.copy_fields(names, 0..length, copy, 0);
    }
    Ok(copy)
}
