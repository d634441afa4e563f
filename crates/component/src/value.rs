//! Values of interface types, as functions of the host take and give them.
//!
//! A value does not know its type; the function that takes it does.

/// A value of an interface type.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `bool`
    Bool(bool),
    /// `s8`
    S8(i8),
    /// `u8`
    U8(u8),
    /// `s16`
    S16(i16),
    /// `u16`
    U16(u16),
    /// `s32`
    S32(i32),
    /// `u32`
    U32(u32),
    /// `s64`
    S64(i64),
    /// `u64`
    U64(u64),
    /// `f32`
    F32(f32),
    /// `f64`
    F64(f64),
    /// `char`
    Char(char),
    /// `string`
    String(String),
    /// `list<u8>`
    Bytes(Vec<u8>),
    /// A list of anything else.
    List(Vec<Value>),
    /// The fields of a record or the elements of a tuple, in order.
    Record(Vec<Value>),
    /// The number of a case and what it holds.
    Variant(u32, Option<Box<Value>>),
    /// The number of a case.
    Enum(u32),
    /// `option`
    Option(Option<Box<Value>>),
    /// `result`
    Result(Result<Option<Box<Value>>, Option<Box<Value>>>),
    /// Flags, in order.
    Flags(Vec<bool>),
    /// A resource that is passed on: its representation, a number of whoever made it.
    Own(u32),
    /// A resource that is lent for the time of a call.
    Borrow(u32),
}
