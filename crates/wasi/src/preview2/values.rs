//! Values of interfaces, taken apart and made.
//!
//! A value of another type than expected is a [`Mistake`] of the component.

use canny_component::Value;

/// A value has another type than it must have.
#[derive(Debug)]
pub struct Mistake;

/// A number of 64 bits.
pub fn wide(value: &Value) -> Result<u64, Mistake> {
    match value {
        Value::U64(number) => Ok(*number),
        _ => Err(Mistake),
    }
}

/// A number of 32 bits.
pub fn number(value: &Value) -> Result<u32, Mistake> {
    match value {
        Value::U32(number) => Ok(*number),
        _ => Err(Mistake),
    }
}

/// A number of 16 bits.
pub fn short(value: &Value) -> Result<u16, Mistake> {
    match value {
        Value::U16(number) => Ok(*number),
        _ => Err(Mistake),
    }
}

/// A number of 8 bits.
pub fn byte(value: &Value) -> Result<u8, Mistake> {
    match value {
        Value::U8(number) => Ok(*number),
        _ => Err(Mistake),
    }
}

/// A boolean.
pub fn boolean(value: &Value) -> Result<bool, Mistake> {
    match value {
        Value::Bool(is_true) => Ok(*is_true),
        _ => Err(Mistake),
    }
}

/// A text.
pub fn text(value: &Value) -> Result<&str, Mistake> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(Mistake),
    }
}

/// A list of bytes.
pub fn bytes(value: &Value) -> Result<&[u8], Mistake> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        Value::List(list) if list.is_empty() => Ok(&[]),
        _ => Err(Mistake),
    }
}

/// A list.
pub fn list(value: &Value) -> Result<&[Value], Mistake> {
    match value {
        Value::List(list) => Ok(list),
        Value::Bytes(bytes) if bytes.is_empty() => Ok(&[]),
        _ => Err(Mistake),
    }
}

/// The fields of a record, or the elements of a tuple.
pub fn fields<const COUNT: usize>(value: &Value) -> Result<&[Value; COUNT], Mistake> {
    match value {
        Value::Record(fields) => fields.as_slice().try_into().map_err(|_| Mistake),
        _ => Err(Mistake),
    }
}

/// The number of a case of an enumeration.
pub fn case(value: &Value) -> Result<u32, Mistake> {
    match value {
        Value::Enum(case) => Ok(*case),
        _ => Err(Mistake),
    }
}

/// The number of a case, and what it holds.
pub fn variant(value: &Value) -> Result<(u32, Option<&Value>), Mistake> {
    match value {
        Value::Variant(case, held) => Ok((*case, held.as_deref())),
        _ => Err(Mistake),
    }
}

/// The value that an option holds.
pub fn option(value: &Value) -> Result<Option<&Value>, Mistake> {
    match value {
        Value::Option(held) => Ok(held.as_deref()),
        _ => Err(Mistake),
    }
}

/// Flags.
pub fn flags<const COUNT: usize>(value: &Value) -> Result<[bool; COUNT], Mistake> {
    match value {
        Value::Flags(flags) => flags.as_slice().try_into().map_err(|_| Mistake),
        _ => Err(Mistake),
    }
}

/// The number of a resource.
pub fn resource(value: &Value) -> Result<u32, Mistake> {
    match value {
        Value::Own(number) | Value::Borrow(number) => Ok(*number),
        _ => Err(Mistake),
    }
}

/// An option that holds something.
pub fn some(value: Value) -> Value {
    Value::Option(Some(Box::new(value)))
}

/// An option that holds a value if there is one.
pub fn optional(value: Option<Value>) -> Value {
    Value::Option(value.map(Box::new))
}

/// A case that holds something.
pub fn holding(case: u32, value: Value) -> Value {
    Value::Variant(case, Some(Box::new(value)))
}
