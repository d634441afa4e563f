//! Records and multiple values, as the machine needs them.

use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};

use crate::thread::Thread;

/// Payload words of a record type.
pub mod record_type {
    /// Symbol.
    pub const NAME: usize = 0;
    /// Parent type or `#f`.
    pub const PARENT: usize = 1;
    /// Vector of symbols, the parent's first.
    pub const FIELDS: usize = 2;
    /// Fixnum.
    pub const FLAGS: usize = 3;
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
    let mut current = record.field(0);
    loop {
        if current == wanted {
            return true;
        }
        match record_type_of(current) {
            Some(record_type) => current = record_type.field(record_type::PARENT),
            None => return false,
        }
    }
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
