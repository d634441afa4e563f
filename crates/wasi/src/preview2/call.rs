//! The arguments of a call, which are checked: a component may declare functions of the host with types of
//! its own.

use canny_component::Value;
use canny_wasm::Trap;

use super::State;
use super::table::Resource;
use super::values::{self, Mistake};
use super::waits::Waits;

/// Why a function gives no result.
#[derive(Debug)]
pub enum Stop {
    /// Its result is this error.
    Error(Option<Box<Value>>),
    /// It is to be called again after one of these events.
    Wait(Waits),
    Trap(Trap),
}

/// The result of a function.
pub type Outcome = Result<Option<Value>, Stop>;

impl From<Trap> for Stop {
    fn from(trap: Trap) -> Stop {
        Stop::Trap(trap)
    }
}

impl From<Mistake> for Stop {
    fn from(_: Mistake) -> Stop {
        trap("an argument of a function of WASI has another type than in its interface")
    }
}

/// A trap with a text.
pub fn trap(text: impl Into<String>) -> Stop {
    Stop::Trap(Trap::Host(text.into()))
}

/// A result without an error, and without a value.
pub fn success() -> Outcome {
    Ok(Some(Value::Result(Ok(None))))
}

/// A result without an error.
pub fn success_with(value: Value) -> Outcome {
    Ok(Some(Value::Result(Ok(Some(Box::new(value))))))
}

/// An error that has no value.
pub fn failure() -> Stop {
    Stop::Error(None)
}

/// An error.
pub fn failure_with(value: Value) -> Stop {
    Stop::Error(Some(Box::new(value)))
}

/// A call.
pub struct Call<'a> {
    pub state: &'a mut State,
    pub arguments: &'a [Value],
}

impl<'a> Call<'a> {
    /// An argument.
    pub fn value(&self, index: usize) -> Result<&'a Value, Stop> {
        Ok(self.arguments.get(index).ok_or(Mistake)?)
    }

    /// A number of 64 bits.
    pub fn wide(&self, index: usize) -> Result<u64, Stop> {
        Ok(values::wide(self.value(index)?)?)
    }

    /// A text.
    pub fn text(&self, index: usize) -> Result<&'a str, Stop> {
        Ok(values::text(self.value(index)?)?)
    }

    /// A list of bytes.
    pub fn bytes(&self, index: usize) -> Result<&'a [u8], Stop> {
        Ok(values::bytes(self.value(index)?)?)
    }

    /// The resource that an argument names, to be looked at.
    pub fn get<T: Resource>(&mut self, index: usize) -> Result<&mut T, Stop> {
        let number = values::resource(self.value(index)?)?;
        Ok(self.state.table.get(number)?)
    }

    /// The resource that an argument passes on.
    pub fn take<T: Resource>(&mut self, index: usize) -> Result<T, Stop> {
        match self.value(index)? {
            Value::Own(number) => Ok(self.state.table.take(*number)?),
            _ => Err(Mistake.into()),
        }
    }

    /// A new resource, which the guest gets.
    pub fn give<T: Resource>(&mut self, resource: T) -> Result<Value, Stop> {
        Ok(Value::Own(self.state.table.add(resource)?))
    }
}
