//! Lifting: values out of flat words and memory.
//!
//! Nothing that a guest gives is trusted: addresses, lengths, numbers of cases, characters and handles
//! are checked. A guest can refer to the same bytes many times, so the bytes that the values of a call
//! take in the host are limited too, by [`HOST_BYTES_MAX`].

use std::sync::Arc;

use canny_wasm::{Memory, Store, Trap};

use crate::options::{Encoding, Options};
use crate::resource::State;
use crate::types::{FLAT_RESULTS_MAX, FunctionType, Shape, Type};
use crate::value::Value;

/// Most bytes that the values of one call may take in the host.
const HOST_BYTES_MAX: u64 = 1 << 29;

/// Bytes of a value in the host, without those that it refers to.
const VALUE_BYTES: u64 = size_of::<Value>() as u64;

/// Most bytes of a string or a list.
pub const BYTES_MAX: u64 = (1 << 28) - 1;

/// The bit of a length that tells a string in UTF-16 from one in Latin-1.
pub const UTF16_TAG: u32 = 1 << 31;

pub fn trap<T>(text: impl Into<String>) -> Result<T, Trap> {
    Err(Trap::Host(text.into()))
}

/// The words of a call that were not read yet.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn next(&mut self) -> u64 {
        match self.0.split_first() {
            Some((word, rest)) => {
                self.0 = rest;
                *word
            }
            None => 0,
        }
    }
}

/// The place that values are lifted from.
pub struct Lift<'a> {
    memory: &'a [u8],
    encoding: Encoding,
    state: &'a Arc<State>,
    /// Handles that are lent to the call.
    pub lent: Vec<u32>,
    /// Bytes that its values take.
    host_bytes: u64,
}

impl<'a> Lift<'a> {
    pub fn new(store: &'a Store, options: &Options, state: &'a Arc<State>) -> Lift<'a> {
        let memory = options.memory.and_then(|number| store.memory_at(number));
        Lift {
            memory: memory.and_then(Memory::bytes).unwrap_or_default(),
            encoding: options.encoding,
            state,
            lent: Vec::new(),
            host_bytes: 0,
        }
    }

    /// The arguments of a call of an imported function.
    pub fn arguments(&mut self, kind: &FunctionType, words: &[u64]) -> Result<Vec<Value>, Trap> {
        let tuple = &kind.tuple;
        let lifted = if kind.has_indirect_parameters() {
            self.indirect(tuple, words[0])?
        } else {
            self.flat(tuple, &mut Words(words))?
        };
        match lifted {
            Value::Record(values) => Ok(values),
            other => Ok(vec![other]),
        }
    }

    /// The result of a call of an exported function.
    pub fn result(&mut self, kind: &FunctionType, words: &[u64]) -> Result<Option<Value>, Trap> {
        let Some(result) = &kind.result else {
            return Ok(None);
        };
        let lifted = if result.flat.len() > FLAT_RESULTS_MAX {
            self.indirect(result, words.first().copied().unwrap_or(0))?
        } else {
            self.flat(result, &mut Words(words))?
        };
        Ok(Some(lifted))
    }

    fn indirect(&mut self, kind: &Type, address: u64) -> Result<Value, Trap> {
        let address = u64::from(address as u32);
        self.check(address, kind.size, kind.alignment)?;
        self.load(kind, address)
    }

    fn check(&self, address: u64, size: u64, alignment: u64) -> Result<(), Trap> {
        if !address.is_multiple_of(alignment) {
            return trap(format!(
                "unaligned pointer: {address} is no multiple of {alignment}"
            ));
        }
        if address.saturating_add(size) > self.memory.len() as u64 {
            return trap(format!(
                "pointer out of bounds of memory: {size} bytes at {address} of {}",
                self.memory.len()
            ));
        }
        Ok(())
    }

    /// Bytes whose place was checked.
    fn bytes<const N: usize>(&self, address: u64) -> [u8; N] {
        let address = address as usize;
        let bytes = self.memory.get(address..address + N);
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or([0; N])
    }

    fn number(&self, address: u64, size: u64) -> u32 {
        match size {
            1 => u32::from(self.bytes::<1>(address)[0]),
            2 => u32::from(u16::from_le_bytes(self.bytes(address))),
            _ => u32::from_le_bytes(self.bytes(address)),
        }
    }

    /// The value at a place that was checked.
    fn load(&mut self, kind: &Type, address: u64) -> Result<Value, Trap> {
        match &kind.shape {
            Shape::S64 | Shape::U64 | Shape::F64 => {
                simple(kind, u64::from_le_bytes(self.bytes(address)))
            }
            Shape::String | Shape::List(_) => {
                let [start, length] = [address, address + 4].map(|place| self.number(place, 4));
                self.sequence(kind, start, length)
            }
            Shape::FixedList(element, count) => {
                self.spend_values(u64::from(*count))?;
                let places = (0..u64::from(*count)).map(|index| address + index * element.size);
                let values = places.map(|place| self.load(element, place));
                Ok(list(element, values.collect::<Result<_, _>>()?))
            }
            Shape::Record(_) | Shape::Tuple(_) => {
                let mut place = address;
                let fields = kind.fields();
                self.spend_values(fields.len() as u64)?;
                let mut values = Vec::with_capacity(fields.len());
                for field in fields {
                    place = place.next_multiple_of(field.alignment);
                    values.push(self.load(field, place)?);
                    place += field.size;
                }
                Ok(Value::Record(values))
            }
            Shape::Variant(_) | Shape::Enum(_) | Shape::Option(_) | Shape::Result(..) => {
                let number = self.number(address, kind.discriminant_size());
                let held = match case_of(kind, number)? {
                    Some(case) => {
                        self.spend_values(1)?;
                        Some(self.load(case, address + kind.payload_offset())?)
                    }
                    None => None,
                };
                Ok(variant(kind, number, held))
            }
            Shape::Own(_) | Shape::Borrow(_) => self.handle(kind, self.number(address, 4)),
            Shape::Flags(names) => {
                self.spend(names.len() as u64)?;
                simple(kind, u64::from(self.number(address, kind.size)))
            }
            _ => simple(kind, u64::from(self.number(address, kind.size))),
        }
    }

    fn flat(&mut self, kind: &Type, words: &mut Words<'_>) -> Result<Value, Trap> {
        match &kind.shape {
            Shape::String | Shape::List(_) => {
                let start = words.next() as u32;
                let length = words.next() as u32;
                self.sequence(kind, start, length)
            }
            Shape::FixedList(element, count) => {
                let values = (0..*count).map(|_| self.flat(element, words));
                Ok(list(element, values.collect::<Result<_, _>>()?))
            }
            Shape::Record(_) | Shape::Tuple(_) => {
                let fields = kind.fields();
                let values = fields.into_iter().map(|field| self.flat(field, words));
                Ok(Value::Record(values.collect::<Result<_, _>>()?))
            }
            Shape::Variant(_) | Shape::Enum(_) | Shape::Option(_) | Shape::Result(..) => {
                let number = words.next() as u32;
                let (own, rest) = words.0.split_at(words.0.len().min(kind.flat.len() - 1));
                words.0 = rest;
                let held = match case_of(kind, number)? {
                    Some(case) => Some(self.flat(case, &mut Words(own))?),
                    None => None,
                };
                Ok(variant(kind, number, held))
            }
            Shape::Own(_) | Shape::Borrow(_) => self.handle(kind, words.next() as u32),
            _ => simple(kind, words.next()),
        }
    }

    fn handle(&mut self, kind: &Type, index: u32) -> Result<Value, Trap> {
        let mut handles = self.state.handles.lock();
        match &kind.shape {
            Shape::Own(resource) => Ok(Value::Own(handles.give(index, resource)?)),
            Shape::Borrow(resource) => {
                let representation = handles.lend(index, resource)?;
                self.lent.push(index);
                Ok(Value::Borrow(representation))
            }
            _ => trap("a handle is expected"),
        }
    }

    fn sequence(&mut self, kind: &Type, start: u32, length: u32) -> Result<Value, Trap> {
        match &kind.shape {
            Shape::List(element) => self.list(element, u64::from(start), u64::from(length)),
            _ => self.string(u64::from(start), length),
        }
    }

    fn list(&mut self, element: &Type, start: u64, length: u64) -> Result<Value, Trap> {
        let size = length.saturating_mul(element.size);
        if size > BYTES_MAX {
            return trap(format!("a list of {size} bytes is longer than {BYTES_MAX}"));
        }
        self.check(start, size, element.alignment)?;
        if let Shape::U8 = element.shape {
            self.spend(size)?;
            let bytes = &self.memory[start as usize..(start + size) as usize];
            return Ok(Value::Bytes(bytes.to_vec()));
        }
        self.spend_values(length)?;
        let values = (0..length).map(|index| self.load(element, start + index * element.size));
        Ok(Value::List(values.collect::<Result<_, _>>()?))
    }

    fn spend_values(&mut self, count: u64) -> Result<(), Trap> {
        self.spend(count.saturating_mul(VALUE_BYTES))
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Trap> {
        self.host_bytes = self.host_bytes.saturating_add(bytes);
        if self.host_bytes > HOST_BYTES_MAX {
            return trap(format!(
                "the values of a call take more than {HOST_BYTES_MAX} bytes"
            ));
        }
        Ok(())
    }

    fn string(&mut self, start: u64, length: u32) -> Result<Value, Trap> {
        let tag = self.encoding == Encoding::Compact && length & UTF16_TAG != 0;
        let is_wide = tag || self.encoding == Encoding::Utf16;
        let units = if tag { length ^ UTF16_TAG } else { length };
        let size = u64::from(units) * if is_wide { 2 } else { 1 };
        if size > BYTES_MAX {
            return trap(format!(
                "a string of {size} bytes is longer than {BYTES_MAX}"
            ));
        }
        let alignment = if self.encoding == Encoding::Utf8 {
            1
        } else {
            2
        };
        self.check(start, size, alignment)?;
        // A character of two bytes has up to three of them in the host.
        self.spend(size.saturating_mul(2))?;
        let bytes = &self.memory[start as usize..(start + size) as usize];
        let text = if is_wide {
            let units = bytes
                .chunks_exact(2)
                .map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            char::decode_utf16(units)
                .collect::<Result<String, _>>()
                .ok()
        } else if self.encoding == Encoding::Utf8 {
            std::str::from_utf8(bytes).ok().map(str::to_owned)
        } else {
            Some(bytes.iter().map(|byte| char::from(*byte)).collect())
        };
        match text {
            Some(text) => Ok(Value::String(text)),
            None => trap(format!(
                "invalid {} encoding in a string",
                self.encoding.name()
            )),
        }
    }
}

/// Elements, as bytes if they are.
fn list(element: &Type, values: Vec<Value>) -> Value {
    if !matches!(element.shape, Shape::U8) {
        return Value::List(values);
    }
    let bytes = values.into_iter().map(|value| match value {
        Value::U8(byte) => byte,
        _ => 0,
    });
    Value::Bytes(bytes.collect())
}

/// The type of what a case holds.
fn case_of(kind: &Type, number: u32) -> Result<Option<&Arc<Type>>, Trap> {
    let count = kind.case_count();
    if number as usize >= count {
        return trap(format!("invalid variant discriminant {number} of {count}"));
    }
    Ok(kind.case(number as usize))
}

fn variant(kind: &Type, number: u32, held: Option<Value>) -> Value {
    let held = held.map(Box::new);
    match &kind.shape {
        Shape::Enum(_) => Value::Enum(number),
        Shape::Option(_) => Value::Option(held),
        Shape::Result(..) if number == 0 => Value::Result(Ok(held)),
        Shape::Result(..) => Value::Result(Err(held)),
        _ => Value::Variant(number, held),
    }
}

/// A value that is one word.
fn simple(kind: &Type, word: u64) -> Result<Value, Trap> {
    Ok(match &kind.shape {
        Shape::Bool => Value::Bool(word as u32 != 0),
        Shape::S8 => Value::S8(word as i8),
        Shape::U8 => Value::U8(word as u8),
        Shape::S16 => Value::S16(word as i16),
        Shape::U16 => Value::U16(word as u16),
        Shape::S32 => Value::S32(word as i32),
        Shape::U32 => Value::U32(word as u32),
        Shape::S64 => Value::S64(word as i64),
        Shape::U64 => Value::U64(word),
        Shape::F32 => Value::F32(f32::from_bits(word as u32)),
        Shape::F64 => Value::F64(f64::from_bits(word)),
        Shape::Char => match char::from_u32(word as u32) {
            Some(character) => Value::Char(character),
            None => return trap(format!("invalid character {:#x}", word as u32)),
        },
        Shape::Flags(names) => {
            Value::Flags((0..names.len()).map(|bit| word >> bit & 1 == 1).collect())
        }
        _ => return trap("a value of one word is expected"),
    })
}
