//! Record types, class keys and multiple values as the machine reads them.
//!
//! `is_instance` decides for runtime entries and primitives what a record test in bytecode means.
//! Layouts come from `canny_tables::layout`. The functions on words allocate nothing.

use canny_tables::kinds::Kind;
use canny_tables::layout::{self, class_key};
use canny_value::{ObjectRef, Value};

use crate::thread::Thread;

pub use canny_tables::layout::record_type;

/// The class key of an object; see [`class_key`].
pub fn class_key_of(value: Value) -> i64 {
    if let Some(object) = value.as_object() {
        let kind = object.kind();
        return match kind {
            Kind::Record => object
                .field(0)
                .as_kind(Kind::RecordType)
                .and_then(|its_type| its_type.field(record_type::SERIAL).as_fixnum())
                .unwrap_or(class_key::CROWDED),
            _ => kind as i64,
        };
    }
    match value.bits() & layout::TAG_MASK {
        0 | 4 => class_key::FIXNUM,
        layout::TAG_PAIR => class_key::PAIR,
        layout::TAG_IMMEDIATE => match value.bits() {
            layout::NIL => class_key::NIL,
            layout::TRUE | layout::FALSE => class_key::BOOLEAN,
            layout::EOF => class_key::EOF,
            bits if bits & 0xff == layout::CHARACTER_LOW_BYTE => class_key::CHARACTER,
            _ => class_key::OTHER,
        },
        _ => Kind::Flonum as i64,
    }
}

/// A record type object.
pub fn record_type_of(value: Value) -> Option<ObjectRef> {
    value.as_kind(Kind::RecordType)
}

/// Whether a value is a record of the type or of one derived from it.
pub fn is_instance(value: Value, wanted: Value) -> bool {
    let Some(record) = value.as_kind(Kind::Record) else {
        return false;
    };
    let actual = record.field(0);
    actual == wanted || is_derived(actual, wanted)
}

/// Whether a record type is derived from another one.
fn is_derived(actual: Value, wanted: Value) -> bool {
    let (Some(actual), Some(wanted_type)) = (record_type_of(actual), record_type_of(wanted)) else {
        return false;
    };
    let place = wanted_type.field(record_type::PLACE).as_fixnum();
    place.is_some_and(|place| {
        let place = place as usize;
        place < actual.length() && actual.field(place) == wanted
    })
}

impl Thread {
    /// Returns the result of `values` for the protected values from `first` on.
    pub fn values_of_protected(&mut self, first: crate::Protected) -> Value {
        let count = self.scratch.len() - first.index();
        if count == 1 {
            return self.scratch[first.index()];
        }
        let object = self.object(Kind::Values, 0, count, Value::FALSE);
        for index in 0..count {
            let value = self.scratch[first.index() + index];
            self.store(object, index, value);
        }
        object
    }

    /// Two values.
    pub fn two_values(&mut self, first: Value, second: Value) -> Value {
        let place = self.protect(first);
        self.scratch.push(second);
        let values = self.values_of_protected(place);
        self.release(place);
        values
    }
}
