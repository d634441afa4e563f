//! Copies and fills ranges of vectors, bytevectors and strings with one call instead of one store
//! per element.
//!
//! The caller has checked ranges and types; a range outside its object panics. Stores of values go
//! through the write barrier. Long copies reach safepoints in between, while objects stay in place.
//! String data keep their ASCII flag true.

use std::ops::Range;

use canny_tables::kinds::Kind;
use canny_tables::layout::FLAG_ASCII;
use canny_value::{ObjectRef, Value};

use crate::data::strings::{string_data, string_length};
use crate::primitive::Raise;
use crate::thread::Thread;

/// Words that are copied or filled between two safepoints: some tens of microseconds.
const WORDS_AT_ONCE: usize = 1 << 16;

impl Thread {
    /// Copies payload words `range` of a scannable object into another, or the same, from word `at` on;
    /// the ranges may overlap. Panics when a range is outside its object. Comes to safepoints in the
    /// middle of a long copy; the objects are held by the native stack and stay where they are.
    pub fn copy_fields(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) {
        let is_alone = !self.has_others();
        // Backwards if the target begins inside of what is copied.
        let backwards = source == target && range.contains(&at);
        let count = range.len();
        let mut done = 0;
        while done < count {
            let words = (count - done).min(WORDS_AT_ONCE);
            let offset = if backwards {
                count - done - words
            } else {
                done
            };
            let start = range.start + offset;
            let part = start..start + words;
            self.mutator()
                .copy_fields(source, part, target, at + offset, is_alone);
            done += words;
            if done < count {
                self.mutator().safepoint();
            }
        }
    }

    /// Stores one value in payload words `range` of a scannable object. Panics when the range is
    /// outside. Comes to safepoints as [`Thread::copy_fields`] does.
    pub fn fill_fields(&mut self, object: ObjectRef, range: Range<usize>, value: Value) {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + WORDS_AT_ONCE);
            self.mutator().fill_fields(object, start..end, value);
            start = end;
            if start < range.end {
                self.mutator().safepoint();
            }
        }
    }

    /// Copies bytes `range` of a bytevector or numeric vector into another of that kind, or the same,
    /// from index `at` on; the ranges may overlap. Panics when a range is outside its object.
    pub fn copy_bytes(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) {
        assert!(
            source.kind() == target.kind()
                && matches!(source.kind(), Kind::Bytevector | Kind::NumericVector)
        );
        copy_payload(source, target, range, at, 1);
    }

    /// Stores one byte in a range of a bytevector. Panics when the range is outside.
    pub fn fill_bytes(&mut self, object: ObjectRef, range: Range<usize>, byte: u8) {
        assert!(
            object.kind() == Kind::Bytevector
                && range.start <= range.end
                && range.end <= object.length()
        );
        // SAFETY: the range is inside the live object.
        unsafe {
            std::ptr::write_bytes(
                (object.payload_address() + range.start) as *mut u8,
                byte,
                range.len(),
            );
        }
    }

    /// Copies characters `range` of a string into another, or the same, from index `at` on; the ranges may
    /// overlap. The target is wide if a character of the range is: see [`Thread::widen_for`]. Panics when a
    /// range is outside its string.
    pub fn copy_string_units(
        &mut self,
        source: ObjectRef,
        range: Range<usize>,
        target: ObjectRef,
        at: usize,
    ) {
        assert!(range.start <= range.end && range.end <= string_length(source));
        assert!(at <= string_length(target) && range.len() <= string_length(target) - at);
        let (from, to) = (string_data(source), string_data(target));
        match (from.kind(), to.kind()) {
            (Kind::String8, Kind::String8) => {
                let is_alone = !self.has_others();
                let is_whole = is_alone && at == 0 && range.len() == to.length();
                let is_ascii = is_alone && from.is_ascii()
                    || from.with_bytes(|bytes| bytes[range.clone()].is_ascii());
                if !range.is_empty() {
                    note_content(to, is_whole, is_ascii);
                }
                copy_payload(from, to, range, at, 1);
            }
            (Kind::String8, _) => from.with_bytes(|bytes| {
                for (index, &byte) in bytes[range].iter().enumerate() {
                    to.set_utf32(at + index, u32::from(byte));
                }
            }),
            (_, Kind::String8) => from.with_utf32(|units| {
                for (index, &unit) in units[range].iter().enumerate() {
                    // Another thread may have put a wide one in since the caller looked: that one is
                    // too late for this copy.
                    if let Ok(byte) = u8::try_from(unit) {
                        note_content(to, false, byte.is_ascii());
                        to.set_byte(at + index, byte);
                    }
                }
            }),
            (_, _) => copy_payload(from, to, range, at, 4),
        }
    }

    /// Stores one character in a range of a string, which is wide enough for it. Panics when the range is
    /// outside.
    pub fn fill_string(&mut self, string: ObjectRef, range: Range<usize>, character: char) {
        assert!(range.start <= range.end && range.end <= string_length(string));
        if range.is_empty() {
            return;
        }
        let data = string_data(string);
        if data.kind() == Kind::String32 {
            assert!(range.end <= data.length());
            let start = data.payload_address() + 4 * range.start;
            for index in 0..range.len() {
                // SAFETY: the range is inside the live object, whose units are aligned.
                unsafe { *(start as *mut u32).add(index) = character as u32 };
            }
            return;
        }
        assert!(range.end <= data.length());
        let byte = u8::try_from(character as u32).expect("the string is wide enough");
        let is_whole = range == (0..data.length()) && !self.has_others();
        note_content(data, is_whole, byte.is_ascii());
        // SAFETY: the range is inside the live object.
        unsafe {
            let start = (data.payload_address() + range.start) as *mut u8;
            std::ptr::write_bytes(start, byte, range.len());
        }
    }

    /// Makes a string wide if `character` needs it.
    pub fn widen_for(&mut self, string: ObjectRef, character: char) -> Result<(), Raise> {
        if character as u32 > 0xff && string_data(string).kind() == Kind::String8 {
            self.widen_string(string.value())?;
        }
        Ok(())
    }
}

/// Copies units of string data to other data of the same width, or within it.
fn copy_payload(from: ObjectRef, to: ObjectRef, range: Range<usize>, at: usize, unit_bytes: usize) {
    assert!(range.start <= range.end && range.end <= from.length());
    assert!(at <= to.length() && range.len() <= to.length() - at);
    // SAFETY: both ranges are inside live objects; `copy` allows them to overlap.
    unsafe {
        std::ptr::copy(
            (from.payload_address() + range.start * unit_bytes) as *const u8,
            (to.payload_address() + at * unit_bytes) as *mut u8,
            range.len() * unit_bytes,
        );
    }
}

/// Keeps the promise of [`FLAG_ASCII`] before something is put into narrow string data: makes it when
/// that is the whole content and ASCII, takes it back when it is not ASCII. It may be the whole content
/// only if nobody else may change the data at once.
fn note_content(data: ObjectRef, is_whole: bool, is_ascii: bool) {
    let flags = data.header().flags();
    let was_ascii = flags & FLAG_ASCII != 0;
    if (is_whole || was_ascii) && was_ascii != is_ascii {
        // SAFETY: the flag agrees with what the caller is about to write. A thread with company only
        // clears it, which others may do at once.
        unsafe { data.set_flags(flags ^ FLAG_ASCII) };
    }
}
