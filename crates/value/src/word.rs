//! The tagged word, `Value`: fixnums, flonums, characters, other immediates, and references to
//! pairs and objects.
//!
//! Tags and constants come from `tables::layout`. A `Value` that is a reference names a live object
//! until the next safepoint; only a root or a native stack frame keeps it alive beyond that (see
//! the crate's documentation). Equality of `Value`s is equality of words.

use canny_tables::layout::{
    self, CHARACTER_LOW_BYTE, FIXNUM_MAX, FIXNUM_MIN, FIXNUM_SHIFT, FLONUM_MASK, TAG_MASK,
    TAG_OBJECT, TAG_PAIR,
};

/// A tagged word. See the crate's documentation for the invariant of references.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Value(u64);

impl Value {
    /// `#f`
    pub const FALSE: Value = Value(layout::FALSE);
    /// `#t`
    pub const TRUE: Value = Value(layout::TRUE);
    /// `()`
    pub const NIL: Value = Value(layout::NIL);
    /// End of file.
    pub const EOF: Value = Value(layout::EOF);
    /// The value of expressions without one.
    pub const UNSPECIFIED: Value = Value(layout::UNSPECIFIED);
    /// Not defined yet.
    pub const UNBOUND: Value = Value(layout::UNBOUND);
    /// Argument not passed.
    pub const ABSENT: Value = Value(layout::ABSENT);
    /// `#!default`
    pub const DEFAULT: Value = Value(layout::DEFAULT);
    /// A weak reference whose object died.
    pub const BROKEN: Value = Value(layout::BROKEN);
    /// A condition is pending.
    pub const RAISED: Value = Value(layout::RAISED);
    /// A free hash-table entry.
    pub const VACANT: Value = Value(layout::VACANT);
    /// A leaf function did nothing.
    pub const DECLINED: Value = Value(layout::DECLINED);
    /// Fixnum zero.
    pub const ZERO: Value = Value(0);

    /// The word with these bits.
    ///
    /// # Safety
    /// If the bits are a reference they name a live, well-formed object.
    #[inline(always)]
    pub const unsafe fn from_bits(bits: u64) -> Value {
        Value(bits)
    }

    /// The bits.
    #[inline(always)]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// A word that looks like a fixnum and holds a 4-aligned address.
    #[inline(always)]
    pub fn from_aligned_address(address: usize) -> Value {
        debug_assert_eq!(address & 3, 0);
        Value(address as u64)
    }

    /// A boolean.
    #[inline(always)]
    pub const fn boolean(b: bool) -> Value {
        if b { Value::TRUE } else { Value::FALSE }
    }

    /// Whether the word counts as true.
    #[inline(always)]
    pub const fn is_true(self) -> bool {
        self.0 != layout::FALSE
    }

    /// Whether the word is a boolean.
    #[inline(always)]
    pub const fn is_boolean(self) -> bool {
        self.0 == layout::FALSE || self.0 == layout::TRUE
    }

    /// Whether this is the empty list.
    #[inline(always)]
    pub const fn is_nil(self) -> bool {
        self.0 == layout::NIL
    }

    /// Whether an integer fits a fixnum.
    #[inline(always)]
    pub const fn fits_fixnum(n: i64) -> bool {
        n >= FIXNUM_MIN && n <= FIXNUM_MAX
    }

    /// A fixnum; the caller knows that it fits.
    #[inline(always)]
    pub const fn fixnum(n: i64) -> Value {
        debug_assert!(Value::fits_fixnum(n));
        Value((n << FIXNUM_SHIFT) as u64)
    }

    /// A fixnum, if the integer fits.
    #[inline(always)]
    pub const fn try_fixnum(n: i64) -> Option<Value> {
        if Value::fits_fixnum(n) {
            Some(Value((n << FIXNUM_SHIFT) as u64))
        } else {
            None
        }
    }

    /// Whether this is a fixnum.
    #[inline(always)]
    pub const fn is_fixnum(self) -> bool {
        self.0 & 3 == 0
    }

    /// The fixnum's value.
    #[inline(always)]
    pub const fn as_fixnum(self) -> Option<i64> {
        if self.is_fixnum() {
            Some((self.0 as i64) >> FIXNUM_SHIFT)
        } else {
            None
        }
    }

    /// The fixnum as an index: a fixnum that is not negative.
    #[inline(always)]
    pub const fn as_index(self) -> Option<usize> {
        match self.as_fixnum() {
            Some(n) if n >= 0 => Some(n as usize),
            _ => None,
        }
    }

    /// A character.
    #[inline(always)]
    pub const fn character(c: char) -> Value {
        Value((c as u64) << 8 | CHARACTER_LOW_BYTE)
    }

    /// Whether this is a character.
    #[inline(always)]
    pub const fn is_character(self) -> bool {
        self.0 & 0xff == CHARACTER_LOW_BYTE
    }

    /// The character.
    #[inline(always)]
    pub const fn as_character(self) -> Option<char> {
        if self.is_character() {
            char::from_u32((self.0 >> 8) as u32)
        } else {
            None
        }
    }

    /// A flonum held in the word, if its magnitude allows.
    #[inline(always)]
    pub const fn try_inline_flonum(f: f64) -> Option<Value> {
        let bits = f.to_bits().rotate_left(4).wrapping_sub(1);
        if FLONUM_MASK >> (bits & 31) & 1 == 1 {
            Some(Value(bits))
        } else {
            None
        }
    }

    /// Whether this is a flonum held in the word.
    #[inline(always)]
    pub const fn is_inline_flonum(self) -> bool {
        FLONUM_MASK >> (self.0 & 31) & 1 == 1
    }

    /// The flonum held in the word.
    #[inline(always)]
    pub const fn as_inline_flonum(self) -> Option<f64> {
        if self.is_inline_flonum() {
            Some(f64::from_bits(self.0.wrapping_add(1).rotate_right(4)))
        } else {
            None
        }
    }

    /// Whether the word points into the heap.
    #[inline(always)]
    pub const fn is_reference(self) -> bool {
        self.0 & 3 == 1
    }

    /// Whether this is a pair.
    #[inline(always)]
    pub const fn is_pair(self) -> bool {
        self.0 & TAG_MASK == TAG_PAIR
    }

    /// Whether this is an object with a header.
    #[inline(always)]
    pub const fn is_object(self) -> bool {
        self.0 & TAG_MASK == TAG_OBJECT
    }

    /// Address of the object or pair.
    #[inline(always)]
    pub const fn address(self) -> usize {
        (self.0 & !TAG_MASK) as usize
    }

    /// Reference to the pair at an address.
    ///
    /// # Safety
    /// A live pair starts there.
    #[inline(always)]
    pub const unsafe fn pair_at(address: usize) -> Value {
        Value(address as u64 | TAG_PAIR)
    }

    /// Reference to the object at an address.
    ///
    /// # Safety
    /// A live object with a header starts there.
    #[inline(always)]
    pub const unsafe fn object_at(address: usize) -> Value {
        Value(address as u64 | TAG_OBJECT)
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(n) = self.as_fixnum() {
            write!(f, "fixnum {n}")
        } else if let Some(c) = self.as_character() {
            write!(f, "character {c:?}")
        } else if let Some(x) = self.as_inline_flonum() {
            write!(f, "flonum {x:?}")
        } else {
            write!(f, "word {:#x}", self.0)
        }
    }
}
