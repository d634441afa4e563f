//! Typed access to pairs and objects through a tagged word.
//!
//! A `PairRef` or `ObjectRef` has passed the check of its tag, so reads need no further check but
//! that of the field's index. Reading is all: stores that may create a reference from an old object
//! to a young one belong to the heap, which has the write barrier.

use std::sync::atomic::{AtomicU64, Ordering};

use canny_tables::kinds::Kind;
use canny_tables::layout::{FLAG_ASCII, FLAG_IMMUTABLE};

use crate::{Header, Value};

/// A word known to be a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairRef(Value);

/// A word known to be an object with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRef(Value);

impl Value {
    /// This pair.
    #[inline(always)]
    pub fn as_pair(self) -> Option<PairRef> {
        if self.is_pair() {
            Some(PairRef(self))
        } else {
            None
        }
    }

    /// This object, whatever its kind.
    #[inline(always)]
    pub fn as_object(self) -> Option<ObjectRef> {
        if self.is_object() {
            Some(ObjectRef(self))
        } else {
            None
        }
    }

    /// Whether this is an object of the kind.
    #[inline(always)]
    pub fn is_kind(self, kind: Kind) -> bool {
        match self.as_object() {
            Some(object) => object.header().kind_byte() == kind as u8,
            None => false,
        }
    }

    /// This object, if it is of the kind.
    #[inline(always)]
    pub fn as_kind(self, kind: Kind) -> Option<ObjectRef> {
        if self.is_kind(kind) {
            Some(ObjectRef(self))
        } else {
            None
        }
    }

    /// The flonum, in the word or boxed.
    #[inline(always)]
    pub fn as_flonum(self) -> Option<f64> {
        if let Some(f) = self.as_inline_flonum() {
            return Some(f);
        }
        self.as_kind(Kind::Flonum)
            .map(|object| f64::from_bits(object.raw_word(0)))
    }

    /// The car of a pair.
    #[inline(always)]
    pub fn car(self) -> Option<Value> {
        self.as_pair().map(PairRef::car)
    }

    /// The cdr of a pair.
    #[inline(always)]
    pub fn cdr(self) -> Option<Value> {
        self.as_pair().map(PairRef::cdr)
    }
}

impl PairRef {
    /// The word.
    #[inline(always)]
    pub fn value(self) -> Value {
        self.0
    }

    /// The car.
    #[inline(always)]
    pub fn car(self) -> Value {
        // SAFETY: a reference names a live pair (crate invariant); its car is a valid word.
        unsafe { *(self.0.address() as *const Value) }
    }

    /// The cdr.
    #[inline(always)]
    pub fn cdr(self) -> Value {
        // SAFETY: as for `car`; a pair is two words.
        unsafe { *((self.0.address() + 8) as *const Value) }
    }

    /// Address of the car, the cdr follows.
    #[inline(always)]
    pub fn slot_address(self) -> usize {
        self.0.address()
    }
}

impl ObjectRef {
    /// The word.
    #[inline(always)]
    pub fn value(self) -> Value {
        self.0
    }

    /// The header.
    #[inline(always)]
    pub fn header(self) -> Header {
        // SAFETY: a reference names a live object (crate invariant), which starts with its header.
        unsafe { *(self.0.address() as *const Header) }
    }

    /// The kind.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        self.header().kind()
    }

    /// Length in the kind's units.
    #[inline(always)]
    pub fn length(self) -> usize {
        self.header().length()
    }

    /// Whether a flag is set.
    #[inline(always)]
    pub fn has_flag(self, flag: u8) -> bool {
        self.header().flags() & flag != 0
    }

    /// Whether the object must not be changed by a program.
    #[inline(always)]
    pub fn is_immutable(self) -> bool {
        self.has_flag(FLAG_IMMUTABLE)
    }

    /// Whether a `string8` is known to be ASCII.
    #[inline(always)]
    pub fn is_ascii(self) -> bool {
        self.has_flag(FLAG_ASCII)
    }

    /// Address of payload word `index`.
    #[inline(always)]
    pub fn slot_address(self, index: usize) -> usize {
        self.0.address() + 8 + 8 * index
    }

    /// Payload word `index` of a scannable object. Panics when out of range.
    #[inline(always)]
    pub fn field(self, index: usize) -> Value {
        assert!(
            index * 8 + 8 <= self.header().payload_bytes(),
            "field index out of range"
        );
        // SAFETY: the slot is inside the live object and, the kind being scannable, holds a valid word.
        unsafe { *(self.slot_address(index) as *const Value) }
    }

    /// Payload word `index` as raw bits. Panics when out of range.
    #[inline(always)]
    pub fn raw_word(self, index: usize) -> u64 {
        assert!(
            index * 8 + 8 <= self.header().payload_bytes(),
            "word index out of range"
        );
        // SAFETY: the word is inside the live object.
        unsafe { *(self.slot_address(index) as *const u64) }
    }

    /// Changes payload word `index` of a bytevector. Panics when out of range.
    #[inline(always)]
    pub fn set_raw_word(self, index: usize, word: u64) {
        let header = self.header();
        assert!(
            header.kind_byte() == Kind::Bytevector as u8 && index < header.length() / 8,
            "word index out of range"
        );
        // SAFETY: the word is inside the live object; raw bytes need no barrier.
        unsafe { *(self.slot_address(index) as *mut u64) = word }
    }

    /// Address of the first payload byte.
    #[inline(always)]
    pub fn payload_address(self) -> usize {
        self.0.address() + 8
    }

    /// Runs `use_bytes` on the payload of a leaf object (bytevector, string data, bignum limbs).
    /// The slice must not be kept: the function cannot allocate in the Scheme heap.
    #[inline(always)]
    pub fn with_bytes<R>(self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        let length = self.header().payload_bytes();
        // SAFETY: the payload of a live object; no collection can run inside the closure's borrow,
        // since allocation needs the thread, which a caller holding only bytes does not have to use.
        use_bytes(unsafe {
            std::slice::from_raw_parts(self.payload_address() as *const u8, length)
        })
    }

    /// Runs `use_units` on the UTF-32 payload of a `string32`.
    #[inline(always)]
    pub fn with_utf32<R>(self, use_units: impl FnOnce(&[u32]) -> R) -> R {
        assert_eq!(self.kind(), Kind::String32);
        // SAFETY: as for `with_bytes`; the payload is 8-aligned and its length counts 4-byte units.
        use_units(unsafe {
            std::slice::from_raw_parts(self.payload_address() as *const u32, self.length())
        })
    }

    /// Runs `use_limbs` on the limbs of a bignum.
    #[inline(always)]
    pub fn with_limbs<R>(self, use_limbs: impl FnOnce(&[u64]) -> R) -> R {
        assert_eq!(self.kind(), Kind::Bignum);
        // SAFETY: as for `with_bytes`; the payload is 8-aligned and its length counts words.
        use_limbs(unsafe {
            std::slice::from_raw_parts(self.payload_address() as *const u64, self.length())
        })
    }

    /// Changes a byte of a bytevector or `string8`. Panics when out of range.
    #[inline(always)]
    pub fn set_byte(self, index: usize, byte: u8) {
        assert!(matches!(self.kind(), Kind::Bytevector | Kind::String8) && index < self.length());
        // SAFETY: inside the live object; raw bytes need no barrier.
        unsafe { *((self.payload_address() + index) as *mut u8) = byte }
    }

    /// Changes a unit of a `string32`. Panics when out of range.
    #[inline(always)]
    pub fn set_utf32(self, index: usize, unit: u32) {
        assert!(self.kind() == Kind::String32 && index < self.length());
        // SAFETY: inside the live object; raw units need no barrier.
        unsafe { *((self.payload_address() + 4 * index) as *mut u32) = unit }
    }

    /// Copies bytes into a bytevector, numeric vector or `string8` from `start` on. Panics when out of range.
    pub fn copy_bytes_in(self, start: usize, bytes: &[u8]) {
        assert!(matches!(
            self.kind(),
            Kind::Bytevector | Kind::String8 | Kind::NumericVector
        ));
        assert!(start <= self.length() && bytes.len() <= self.length() - start);
        // SAFETY: the range is inside the live object; `copy` allows the source to overlap.
        unsafe {
            std::ptr::copy(
                bytes.as_ptr(),
                (self.payload_address() + start) as *mut u8,
                bytes.len(),
            );
        }
    }

    /// Payload word `index` as a lock: the fixnum 0 says that it is free, another word that it is
    /// taken. Panics when out of range.
    #[inline(always)]
    fn lock_word(&self, index: usize) -> &AtomicU64 {
        assert!(
            index * 8 + 8 <= self.header().payload_bytes(),
            "word index out of range"
        );
        // SAFETY: the word is inside the live object, which does not move as long as nobody comes to a
        // safepoint; that word is used through this function only.
        unsafe { AtomicU64::from_ptr(self.slot_address(index) as *mut u64) }
    }

    /// Takes the lock that payload word `index` is, if it is free. Its holder comes to no safepoint before
    /// [`ObjectRef::unlock`].
    #[inline(always)]
    pub fn try_lock(self, index: usize) -> bool {
        self.lock_word(index)
            .compare_exchange(
                Value::ZERO.bits(),
                Value::fixnum(1).bits(),
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Gives the lock that payload word `index` is back.
    #[inline(always)]
    pub fn unlock(self, index: usize) {
        self.lock_word(index)
            .store(Value::ZERO.bits(), Ordering::Release);
    }

    /// Copies units into a `string32` from `start` on. Panics when out of range.
    pub fn copy_utf32_in(self, start: usize, units: &[u32]) {
        assert!(self.kind() == Kind::String32);
        assert!(start <= self.length() && units.len() <= self.length() - start);
        // SAFETY: the range is inside the live object, whose units are aligned; `copy` allows the
        // source to overlap.
        unsafe {
            std::ptr::copy(
                units.as_ptr(),
                (self.payload_address() + 4 * start) as *mut u32,
                units.len(),
            );
        }
    }

    /// Replaces the flags.
    ///
    /// # Safety
    /// The flags must fit the kind, and no other thread may be reading them.
    #[inline(always)]
    pub unsafe fn set_flags(self, flags: u8) {
        let header = self.header().with_flags(flags);
        // SAFETY: the header of a live object.
        unsafe { *(self.0.address() as *mut Header) = header }
    }
}
