//! Changes that leaf functions make: of strings, bytevectors and vectors that programs have.
//!
//! The ranges were checked; a range outside its object panics. Functions that change vectors are called
//! only where compiled code assumes that a call changes everything: see `canny_tables::leaves`.

use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_ASCII;
use canny_value::{ObjectRef, Value};

use super::{CHARACTERS_MAX, InPlace};
use crate::data::strings;

/// Words of a vector that are changed without a safepoint.
const WORDS_MAX: usize = 1 << 12;

impl InPlace {
    /// Changes a character of a mutable string inside its bounds, and makes the string wide if it must.
    /// `false` if that would take a long one.
    pub fn set_string_character(
        &mut self,
        string: ObjectRef,
        index: usize,
        character: char,
    ) -> bool {
        let data = strings::string_data(string);
        let code = character as u32;
        if data.kind() == Kind::String32 {
            data.set_utf32(index, code);
            return true;
        }
        if let Ok(byte) = u8::try_from(code) {
            if byte >= 0x80 && data.is_ascii() {
                // SAFETY: clearing the ASCII promise is always right, and the only change that threads
                // make to the flags of data that others may have; they may do it at once.
                unsafe { data.set_flags(data.header().flags() & !FLAG_ASCII) };
            }
            data.set_byte(index, byte);
            return true;
        }
        if !self.make_string_wide(string) {
            return false;
        }
        strings::string_data(string).set_utf32(index, code);
        true
    }

    /// Gives a string wide data, unless it has them. `false` if that would take a long object.
    fn make_string_wide(&mut self, string: ObjectRef) -> bool {
        let data = strings::string_data(string);
        if data.kind() == Kind::String32 {
            return true;
        }
        let length = strings::string_length(string);
        if length > CHARACTERS_MAX {
            return false;
        }
        let wide = self.0.mutator().leaf_in_place(Kind::String32, 0, length);
        strings::widen_into(data, wide, length);
        self.0.store(string.value(), strings::DATA, wide);
        true
    }

    /// Makes a mutable string wide if characters with all these bits together need it. `false` if that
    /// would take a long one.
    #[inline]
    pub fn widen_string_for(&mut self, string: ObjectRef, bits: u32) -> bool {
        bits <= 0xff || self.make_string_wide(string)
    }

    /// Copies characters of a string into another one, or the same, which is wide enough for them.
    #[inline]
    pub fn copy_characters(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) {
        self.0.copy_string_units(source, range, target, at);
    }

    /// Stores a character in a range of a string, which is wide enough for it.
    #[inline]
    pub fn fill_characters(&mut self, string: ObjectRef, range: Range<usize>, character: char) {
        self.0.fill_string(string, range, character);
    }

    /// Copies bytes of a bytevector into another one, or the same.
    #[inline]
    pub fn copy_bytes(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) {
        self.0.copy_bytes(source, range, target, at);
    }

    /// Stores a byte in a range of a bytevector.
    #[inline]
    pub fn fill_bytes(&mut self, bytes: ObjectRef, range: Range<usize>, byte: u8) {
        self.0.fill_bytes(bytes, range, byte);
    }

    /// Stores the car of a pair.
    #[inline]
    pub fn set_car(&mut self, pair: Value, value: Value) {
        self.0.set_car(pair, value);
    }

    /// Exchanges two elements of a vector.
    #[inline]
    pub fn exchange_elements(&mut self, vector: ObjectRef, left: usize, right: usize) {
        let (first, second) = (vector.field(left), vector.field(right));
        self.0.store(vector.value(), left, second);
        self.0.store(vector.value(), right, first);
    }

    /// Copies elements of a vector into another one, or the same, and whether it did: not so many.
    #[inline]
    pub fn copy_elements(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) -> bool {
        let is_short = range.len() <= WORDS_MAX;
        if is_short {
            self.0.copy_fields(source, range, target, at);
        }
        is_short
    }

    /// Stores an object in a range of a vector, and whether it did: not in a long one.
    #[inline]
    pub fn fill_elements(&mut self, vector: ObjectRef, range: Range<usize>, value: Value) -> bool {
        let is_short = range.len() <= WORDS_MAX;
        if is_short {
            self.0.fill_fields(vector, range, value);
        }
        is_short
    }
}
