//! Objects inside of code that is being compiled, which no text denotes: `eval` may be given procedures
//! and the like. The compiler knows them by number (`Datum::Object`) until the code is loaded.

use canny_value::Value;

use crate::control::condition::ConditionKind;
use crate::primitive::Raise;
use crate::thread::Thread;

/// The objects of the evaluation in progress. Numbers are not used again.
#[derive(Debug, Default)]
pub(crate) struct Embedded {
    values: Vec<Value>,
    /// The number of the first of them.
    first: u32,
}

impl Embedded {
    /// The objects.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter()
    }

    /// The objects, for the collector.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.values.iter_mut()
    }
}

impl Thread {
    /// Gives an object a number, under which code that is compiled from now on may contain it.
    pub fn embed(&mut self, object: Value) -> u32 {
        let embedded = &mut self.embedded;
        embedded.values.push(object);
        embedded
            .first
            .wrapping_add(embedded.values.len() as u32 - 1)
    }

    /// Forgets the objects that were given numbers: the code is loaded.
    pub fn forget_embedded(&mut self) {
        let embedded = &mut self.embedded;
        embedded.first = embedded.first.wrapping_add(embedded.values.len() as u32);
        embedded.values.clear();
    }

    /// The object with a number. One that was forgotten, which a macro may have kept, raises.
    pub(crate) fn embedded(&mut self, number: u32) -> Result<Value, Raise> {
        let place = number.wrapping_sub(self.embedded.first) as usize;
        match self.embedded.values.get(place) {
            Some(object) => Ok(*object),
            None => {
                let message = "an object of an earlier evaluation cannot be part of this one";
                Err(self.raise(ConditionKind::Syntax, message, &[], None))
            }
        }
    }
}
