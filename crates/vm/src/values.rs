//! Records and multiple values, as the machine needs them.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};

use crate::thread::Thread;

pub use canny_tables::layout::record_type;

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
    /// What `values` gives for the protected values from `first` on.
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
