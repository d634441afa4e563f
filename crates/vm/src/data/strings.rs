//! Strings: a header object with the length, and narrow (Latin-1) or wide (UTF-32) data.
//!
//! The data object's kind says how wide it is, so a reader that loaded the data pointer sees a
//! consistent string while another thread widens it. Data may be longer than the string, whose length
//! never changes, and never become narrow again. A character that one thread puts into the narrow
//! data while another one widens the string may be lost.
//!
//! The ASCII flag of narrow data is a promise, which is taken back before it is broken. Threads
//! that change a string at once may find it kept a moment too long: code that relies on it gets a
//! wrong character, nothing worse. While there are several threads the promise is made for fresh
//! data only.

use canny_tables::kinds::Kind;
use canny_tables::layout::{FLAG_ASCII, FLAG_IMMUTABLE};
use canny_value::{ObjectRef, Value};

use crate::leaf::InPlace;
use crate::primitive::Raise;
use crate::thread::Thread;

pub(crate) const LENGTH: usize = 0;
pub(crate) const DATA: usize = 1;

/// The fields of a string object, in their order.
#[inline]
pub(crate) fn fields(length: Value, data: Value) -> [Value; 2] {
    let mut fields = [length; 2];
    fields[DATA] = data;
    fields
}

/// The text of a string object as a Rust string (surrogates cannot occur).
pub fn string_text(string: Value) -> Option<String> {
    let string = string.as_kind(Kind::String)?;
    let length = string_length(string);
    let data = string.field(DATA).as_object()?;
    if data.kind() == Kind::String8 {
        // The text is checked in a copy, which no other thread changes meanwhile.
        let bytes = data.with_bytes(|bytes| bytes[..length].to_vec());
        if !bytes.is_ascii() {
            return Some(bytes.iter().map(|&byte| byte as char).collect());
        }
        return String::from_utf8(bytes).ok();
    }
    Some(data.with_utf32(|units| {
        units[..length]
            .iter()
            .map(|&unit| char::from_u32(unit).unwrap_or('\u{fffd}'))
            .collect()
    }))
}

/// Length of a string object in characters.
#[inline]
pub fn string_length(string: ObjectRef) -> usize {
    string.field(LENGTH).as_index().unwrap_or(0)
}

/// The data object of a string object.
#[inline]
pub fn string_data(string: ObjectRef) -> ObjectRef {
    string
        .field(DATA)
        .as_object()
        .expect("a string has a data object")
}

/// Character `index` of a string object; the caller checked the range.
#[inline]
pub fn string_character(string: ObjectRef, index: usize) -> char {
    let data = string_data(string);
    if data.kind() == Kind::String8 {
        data.with_bytes(|bytes| bytes[index] as char)
    } else {
        data.with_utf32(|units| char::from_u32(units[index]).unwrap_or('\u{fffd}'))
    }
}

impl Thread {
    /// A fresh mutable string.
    pub fn string(&mut self, text: &str) -> Value {
        self.string_with_flags(text, 0)
    }

    /// A literal: an immutable string.
    pub fn literal_string(&mut self, text: &str) -> Value {
        self.string_with_flags(text, FLAG_IMMUTABLE)
    }

    pub(crate) fn string_with_flags(&mut self, text: &str, flags: u8) -> Value {
        let mut builder = TextBuilder::new();
        builder.push_str(text);
        builder.finish_with_flags(self, flags)
    }

    /// A fresh string of Latin-1 characters.
    pub fn string_from_latin1(&mut self, bytes: &[u8]) -> Result<Value, Raise> {
        let flags = if bytes.is_ascii() { FLAG_ASCII } else { 0 };
        let data = self.try_leaf_to_fill(Kind::String8, flags, bytes.len())?;
        data.as_object()
            .expect("a leaf is an object")
            .copy_bytes_in(0, bytes);
        Ok(self.string_of_data(data, bytes.len(), 0))
    }

    /// A fresh string of `length` copies of a character, to be filled in.
    pub fn make_string(&mut self, length: usize, fill: char) -> Result<Value, Raise> {
        let code = fill as u32;
        let data = if let Ok(byte) = u8::try_from(code) {
            let data = self.try_leaf(Kind::String8, 0, length)?;
            // SAFETY: the payload of the fresh leaf, `length` bytes long.
            unsafe {
                std::ptr::write_bytes(
                    data.as_object().expect("a leaf").payload_address() as *mut u8,
                    byte,
                    length,
                );
            }
            data
        } else {
            let data = self.try_leaf(Kind::String32, 0, length)?;
            let object = data.as_object().expect("a leaf");
            for index in 0..length {
                object.set_utf32(index, code);
            }
            data
        };
        Ok(self.string_of_data(data, length, 0))
    }

    /// The string object over a data object.
    pub fn string_of_data(&mut self, data: Value, length: usize, flags: u8) -> Value {
        let data = self.protect(data);
        let string = self.object(Kind::String, flags, 2, Value::ZERO);
        self.store(string, LENGTH, Value::fixnum(length as i64));
        self.store(string, DATA, self.protected(data));
        self.release(data);
        string
    }

    /// Changes character `index` of a mutable string, widening it if it must; the caller checked range and
    /// mutability.
    pub fn set_string_character(
        &mut self,
        string: Value,
        index: usize,
        character: char,
    ) -> Result<(), Raise> {
        let object = string.as_kind(Kind::String).expect("a string");
        if InPlace::of(self).set_string_character(object, index, character) {
            return Ok(());
        }
        let string = self.protect(string);
        self.widen_string(self.protected(string))?;
        let object = self.protected(string).as_kind(Kind::String);
        string_data(object.expect("a string")).set_utf32(index, character as u32);
        self.release(string);
        Ok(())
    }

    /// Gives a narrow string wide data.
    pub fn widen_string(&mut self, string: Value) -> Result<(), Raise> {
        let string = self.protect(string);
        let length = string_length(
            self.protected(string)
                .as_kind(Kind::String)
                .expect("a string"),
        );
        let wide = self.try_leaf(Kind::String32, 0, length)?;
        let object = self
            .protected(string)
            .as_kind(Kind::String)
            .expect("a string");
        let narrow = string_data(object);
        if narrow.kind() == Kind::String8 {
            widen_into(narrow, wide, length);
            self.store(object.value(), DATA, wide);
        }
        self.release(string);
        Ok(())
    }
}

/// Copies the characters of narrow data to wide data.
pub(crate) fn widen_into(narrow: ObjectRef, wide: Value, length: usize) {
    let wide = wide.as_object().expect("a leaf");
    narrow.with_bytes(|bytes| {
        for (index, &byte) in bytes[..length].iter().enumerate() {
            wide.set_utf32(index, u32::from(byte));
        }
    });
}

/// Collects characters and makes the narrowest string of them.
#[derive(Debug, Default)]
pub struct TextBuilder {
    narrow: Vec<u8>,
    wide: Vec<u32>,
}

impl TextBuilder {
    /// An empty builder.
    pub fn new() -> TextBuilder {
        TextBuilder::default()
    }

    /// A builder that holds characters, at least one of which is not Latin-1.
    pub fn of_wide(wide: Vec<u32>) -> TextBuilder {
        let narrow = Vec::new();
        TextBuilder { narrow, wide }
    }

    /// Appends a character.
    #[inline]
    pub fn push(&mut self, character: char) {
        let code = character as u32;
        if !self.wide.is_empty() {
            self.wide.push(code);
        } else if code < 256 {
            self.narrow.push(code as u8);
        } else {
            self.wide = self.narrow.drain(..).map(u32::from).collect();
            self.wide.push(code);
        }
    }

    /// Appends a text.
    pub fn push_str(&mut self, text: &str) {
        if self.wide.is_empty() && text.is_ascii() {
            self.narrow.extend_from_slice(text.as_bytes());
        } else {
            text.chars().for_each(|character| self.push(character));
        }
    }

    /// Appends Latin-1 characters.
    pub fn push_latin1(&mut self, bytes: &[u8]) {
        if self.wide.is_empty() {
            self.narrow.extend_from_slice(bytes);
        } else {
            self.wide.extend(bytes.iter().map(|&byte| u32::from(byte)));
        }
    }

    /// Number of characters.
    pub fn length(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }

    /// Makes a fresh mutable string.
    pub fn finish(self, thread: &mut Thread) -> Value {
        self.finish_with_flags(thread, 0)
    }

    /// Makes a fresh mutable string, which may be of any size: raises at the heap limit.
    pub fn try_finish(self, thread: &mut Thread) -> Result<Value, Raise> {
        if self.wide.is_empty() {
            return thread.string_from_latin1(&self.narrow);
        }
        let data = thread.try_leaf_to_fill(Kind::String32, 0, self.wide.len())?;
        let object = data.as_object().expect("a leaf");
        object.copy_utf32_in(0, &self.wide);
        Ok(thread.string_of_data(data, self.wide.len(), 0))
    }

    pub(crate) fn finish_with_flags(self, thread: &mut Thread, flags: u8) -> Value {
        if self.wide.is_empty() {
            let data_flags = if self.narrow.is_ascii() {
                FLAG_ASCII
            } else {
                0
            };
            let data = thread.leaf(Kind::String8, data_flags, self.narrow.len());
            data.as_object()
                .expect("a leaf")
                .copy_bytes_in(0, &self.narrow);
            return thread.string_of_data(data, self.narrow.len(), flags);
        }
        let data = thread.leaf(Kind::String32, 0, self.wide.len());
        let object = data.as_object().expect("a leaf");
        object.copy_utf32_in(0, &self.wide);
        thread.string_of_data(data, self.wide.len(), flags)
    }
}
