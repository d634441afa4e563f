//! Lowering: values into flat words and memory.
//!
//! Memory comes from the function of the guest that the options name; it is called while imported
//! functions may not be called.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use canny_wasm::{Store, Trap};

use crate::lift::{BYTES_MAX, UTF16_TAG, trap};
use crate::options::{Encoding, Options};
use crate::resource::{Borrows, State};
use crate::types::{FunctionType, Shape, Type};
use crate::value::Value;

/// Where values are lowered to.
pub struct Lower<'a> {
    pub store: &'a mut Store,
    pub options: &'a Options,
    pub state: &'a Arc<State>,
    /// Handles that are lent to the call.
    pub borrows: Borrows,
}

impl<'a> Lower<'a> {
    pub fn new(store: &'a mut Store, options: &'a Options, state: &'a Arc<State>) -> Lower<'a> {
        Lower {
            store,
            options,
            state,
            borrows: Arc::new(AtomicU32::new(0)),
        }
    }

    /// The arguments of a call of an exported function.
    pub fn arguments(&mut self, kind: &FunctionType, values: &[Value]) -> Result<Vec<u64>, Trap> {
        if values.len() != kind.parameters.len() {
            return trap(format!(
                "{} was given {} arguments",
                kind.text(),
                values.len()
            ));
        }
        let mut words = Vec::new();
        if kind.has_indirect_parameters() {
            let tuple = &kind.tuple;
            let address = self.allocate(tuple.alignment, tuple.size)?;
            let mut bytes = vec![0; tuple.size as usize];
            self.fields(tuple, values, &mut bytes)?;
            self.write(address, &bytes)?;
            words.push(address);
        } else {
            for (value, (_, kind)) in values.iter().zip(&kind.parameters) {
                self.flat(kind, value, &mut words)?;
            }
        }
        Ok(words)
    }

    /// The result of an imported function. Its place is the last argument if it is passed in memory.
    pub fn result(
        &mut self,
        kind: &FunctionType,
        value: Option<&Value>,
        arguments: &[u64],
    ) -> Result<Vec<u64>, Trap> {
        let (result, value) = match (&kind.result, value) {
            (Some(result), Some(value)) => (result, value),
            (None, None) => return Ok(Vec::new()),
            (None, Some(_)) => return trap("a function without a result has given one"),
            (Some(result), None) => {
                return trap(format!(
                    "a function has not given its result {}",
                    result.text()
                ));
            }
        };
        if !kind.has_indirect_result() {
            let mut words = Vec::new();
            self.flat(result, value, &mut words)?;
            return Ok(words);
        }
        let address = u64::from(arguments.last().copied().unwrap_or(0) as u32);
        self.check(address, result.alignment, result.size)?;
        let mut bytes = vec![0; result.size as usize];
        self.store(result, value, &mut bytes)?;
        self.write(address, &bytes)?;
        Ok(Vec::new())
    }

    fn allocate(&mut self, alignment: u64, size: u64) -> Result<u64, Trap> {
        self.reallocate([0, 0, alignment, size])
    }

    /// Old place, old size, alignment, new size.
    fn reallocate(&mut self, arguments: [u64; 4]) -> Result<u64, Trap> {
        let Some(function) = self.options.realloc else {
            return trap("a function that takes values in memory has no 'realloc'");
        };
        let [_, _, alignment, size] = arguments;
        if size > u64::from(u32::MAX) {
            return trap(format!("a value of {size} bytes does not fit a memory"));
        }
        self.state.set_may_leave(false);
        let words = self.store.call(function, &arguments);
        self.state.set_may_leave(true);
        let address = match words {
            Ok(words) => u64::from(words.first().copied().unwrap_or(0) as u32),
            Err(Trap::Exception(_)) => return trap("'realloc' has thrown an exception"),
            Err(reason) => return Err(reason),
        };
        self.check(address, alignment, size)?;
        Ok(address)
    }

    fn check(&self, address: u64, alignment: u64, size: u64) -> Result<(), Trap> {
        if !address.is_multiple_of(alignment) {
            return trap(format!(
                "unaligned pointer: {address} is no multiple of {alignment}"
            ));
        }
        let memory = self.options.memory;
        let memory = memory.and_then(|number| self.store.memory_at(number));
        let length = memory.map_or(0, canny_wasm::Memory::size);
        if address.saturating_add(size) > length {
            return trap(format!(
                "pointer out of bounds of memory: {size} bytes at {address} of {length}"
            ));
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Trap> {
        let memory = self.options.memory;
        let memory = memory.and_then(|number| self.store.memory_at_mut(number));
        match memory.is_some_and(|memory| memory.write(address, bytes)) {
            true => Ok(()),
            false if bytes.is_empty() => Ok(()),
            false => trap("pointer out of bounds of memory"),
        }
    }

    /// The bytes of a value as they are in memory. Parts elsewhere are written there.
    fn store(&mut self, kind: &Type, value: &Value, bytes: &mut [u8]) -> Result<(), Trap> {
        match (&kind.shape, value) {
            (Shape::String | Shape::List(_), _) => {
                let [start, length] = self.sequence(kind, value)?;
                bytes[..4].copy_from_slice(&start.to_le_bytes());
                bytes[4..8].copy_from_slice(&length.to_le_bytes());
            }
            (Shape::FixedList(element, count), _) => {
                let places = bytes.chunks_mut(element.size.max(1) as usize);
                for (value, place) in elements(kind, value, *count)?.iter().zip(places) {
                    self.store(element, value, place)?;
                }
            }
            (Shape::Record(_) | Shape::Tuple(_), Value::Record(values)) => {
                self.fields(kind, values, bytes)?;
            }
            (Shape::Variant(_) | Shape::Enum(_) | Shape::Option(_) | Shape::Result(..), _) => {
                let (number, held) = case_of(kind, value)?;
                let size = kind.discriminant_size() as usize;
                bytes[..size].copy_from_slice(&number.to_le_bytes()[..size]);
                if let Some((case, held)) = held {
                    self.store(case, held, &mut bytes[kind.payload_offset() as usize..])?;
                }
            }
            _ => {
                let word = self.word(kind, value)?;
                let size = kind.size as usize;
                bytes[..size].copy_from_slice(&word.to_le_bytes()[..size]);
            }
        }
        Ok(())
    }

    fn fields(&mut self, kind: &Type, values: &[Value], bytes: &mut [u8]) -> Result<(), Trap> {
        let fields = kind.fields();
        if fields.len() != values.len() {
            return wrong(kind);
        }
        let mut place = 0_u64;
        for (field, value) in fields.into_iter().zip(values) {
            place = place.next_multiple_of(field.alignment);
            self.store(field, value, &mut bytes[place as usize..])?;
            place += field.size;
        }
        Ok(())
    }

    fn flat(&mut self, kind: &Type, value: &Value, words: &mut Vec<u64>) -> Result<(), Trap> {
        match (&kind.shape, value) {
            (Shape::String | Shape::List(_), _) => {
                words.extend(self.sequence(kind, value)?.map(u64::from));
            }
            (Shape::FixedList(element, count), _) => {
                for value in elements(kind, value, *count)?.iter() {
                    self.flat(element, value, words)?;
                }
            }
            (Shape::Record(_) | Shape::Tuple(_), Value::Record(values)) => {
                let fields = kind.fields();
                if fields.len() != values.len() {
                    return wrong(kind);
                }
                for (field, value) in fields.into_iter().zip(values) {
                    self.flat(field, value, words)?;
                }
            }
            (Shape::Variant(_) | Shape::Enum(_) | Shape::Option(_) | Shape::Result(..), _) => {
                let end = words.len() + kind.flat.len();
                let (number, held) = case_of(kind, value)?;
                words.push(u64::from(number));
                if let Some((case, held)) = held {
                    self.flat(case, held, words)?;
                }
                words.resize(end, 0);
            }
            _ => words.push(self.word(kind, value)?),
        }
        Ok(())
    }

    /// A value that is one word.
    fn word(&mut self, kind: &Type, value: &Value) -> Result<u64, Trap> {
        Ok(match (&kind.shape, value) {
            (Shape::Bool, Value::Bool(value)) => u64::from(*value),
            (Shape::S8, Value::S8(value)) => u64::from(i32::from(*value) as u32),
            (Shape::U8, Value::U8(value)) => u64::from(*value),
            (Shape::S16, Value::S16(value)) => u64::from(i32::from(*value) as u32),
            (Shape::U16, Value::U16(value)) => u64::from(*value),
            (Shape::S32, Value::S32(value)) => u64::from(*value as u32),
            (Shape::U32, Value::U32(value)) => u64::from(*value),
            (Shape::S64, Value::S64(value)) => *value as u64,
            (Shape::U64, Value::U64(value)) => *value,
            (Shape::F32, Value::F32(value)) => u64::from(value.to_bits()),
            (Shape::F64, Value::F64(value)) => value.to_bits(),
            (Shape::Char, Value::Char(value)) => u64::from(u32::from(*value)),
            (Shape::Flags(names), Value::Flags(flags)) if flags.len() == names.len() => {
                let bits = flags.iter().enumerate();
                bits.fold(0, |word, (bit, flag)| word | u64::from(*flag) << bit)
            }
            (Shape::Own(resource), Value::Own(representation)) => {
                u64::from(self.state.handles.lock().own(resource, *representation)?)
            }
            (Shape::Borrow(resource), Value::Borrow(representation)) => {
                if resource.is_of(self.state) {
                    return Ok(u64::from(*representation));
                }
                let mut handles = self.state.handles.lock();
                u64::from(handles.borrow(resource, *representation, &self.borrows)?)
            }
            _ => return wrong(kind),
        })
    }

    /// Place and length of a string or list.
    fn sequence(&mut self, kind: &Type, value: &Value) -> Result<[u32; 2], Trap> {
        match (&kind.shape, value) {
            (Shape::String, Value::String(text)) => self.string(text),
            (Shape::List(element), Value::Bytes(bytes)) if matches!(element.shape, Shape::U8) => {
                self.put(1, bytes, bytes.len())
            }
            (Shape::List(element), Value::List(values)) => {
                let size = element.size as usize;
                let whole = (values.len() as u64).saturating_mul(element.size);
                if whole > BYTES_MAX {
                    return trap(format!(
                        "a list of {whole} bytes is longer than {BYTES_MAX}"
                    ));
                }
                let address = self.allocate(element.alignment, whole)?;
                let mut bytes = vec![0; whole as usize];
                for (value, place) in values.iter().zip(bytes.chunks_mut(size.max(1))) {
                    self.store(element, value, place)?;
                }
                self.write(address, &bytes)?;
                Ok([address as u32, values.len() as u32])
            }
            _ => wrong(kind),
        }
    }

    fn put(&mut self, alignment: u64, bytes: &[u8], length: usize) -> Result<[u32; 2], Trap> {
        if bytes.len() as u64 > BYTES_MAX {
            return trap(format!("{} bytes are longer than {BYTES_MAX}", bytes.len()));
        }
        let address = self.allocate(alignment, bytes.len() as u64)?;
        self.write(address, bytes)?;
        Ok([address as u32, length as u32])
    }

    fn string(&mut self, text: &str) -> Result<[u32; 2], Trap> {
        let wide = || -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        match self.options.encoding {
            Encoding::Utf8 => self.put(1, text.as_bytes(), text.len()),
            Encoding::Utf16 => {
                let bytes = wide();
                self.put(2, &bytes, bytes.len() / 2)
            }
            Encoding::Compact => {
                let narrow: Option<Vec<u8>> = text
                    .chars()
                    .map(|it| u8::try_from(u32::from(it)).ok())
                    .collect();
                match narrow {
                    Some(bytes) => self.put(2, &bytes, bytes.len()),
                    None => {
                        let bytes = wide();
                        let [address, units] = self.put(2, &bytes, bytes.len() / 2)?;
                        Ok([address, units | UTF16_TAG])
                    }
                }
            }
        }
    }
}

fn wrong<T>(kind: &Type) -> Result<T, Trap> {
    trap(format!("a value of type {} is expected", kind.text()))
}

/// The elements of a list of fixed length.
fn elements<'a>(kind: &Type, value: &'a Value, count: u32) -> Result<Cow<'a, [Value]>, Trap> {
    let elements = match value {
        Value::List(values) => Cow::Borrowed(values.as_slice()),
        Value::Bytes(bytes) => bytes.iter().map(|byte| Value::U8(*byte)).collect(),
        _ => return wrong(kind),
    };
    if elements.len() != count as usize {
        return wrong(kind);
    }
    Ok(elements)
}

/// A case by its number, with the type of what it holds and that.
type Case<'a> = (u32, Option<(&'a Type, &'a Value)>);

fn case_of<'a>(kind: &'a Type, value: &'a Value) -> Result<Case<'a>, Trap> {
    let (number, held) = match (&kind.shape, value) {
        (Shape::Variant(_), Value::Variant(number, held)) => (*number, held.as_deref()),
        (Shape::Enum(_), Value::Enum(number)) => (*number, None),
        (Shape::Option(_), Value::Option(held)) => (u32::from(held.is_some()), held.as_deref()),
        (Shape::Result(..), Value::Result(Ok(held))) => (0, held.as_deref()),
        (Shape::Result(..), Value::Result(Err(held))) => (1, held.as_deref()),
        _ => return wrong(kind),
    };
    if number as usize >= kind.case_count() {
        return wrong(kind);
    }
    match (kind.case(number as usize), held) {
        (Some(case), Some(held)) => Ok((number, Some((case, held)))),
        (None, None) => Ok((number, None)),
        _ => wrong(kind),
    }
}
