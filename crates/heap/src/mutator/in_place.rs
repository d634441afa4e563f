//! Allocation that never collects and never stops, for leaf functions and compiled code: see
//! [`Mutator::allocate_in_place`].

use canny_tables::kinds::Kind;
use canny_tables::layout::GRANULE_BYTES;
use canny_value::{Header, Value};

use super::{
    AreaKind, Mutator, area_of, assert_leaf, init_leaf, init_object, init_pair, small_bytes,
    small_payload_bytes,
};
use crate::block::{LARGE_ABOVE_BYTES, state};
use crate::shape;

impl Mutator {
    /// Room for a scannable object of so many bytes, header included, that the caller fills at once:
    /// the address. `bytes` is a multiple of the granule.
    ///
    /// Never collects and never stops, so nothing moves: for compiled code, which keeps references in
    /// registers between its safepoints. When a collection is wanted, this thread is asked for a
    /// safepoint, where [`Mutator::safepoint`] makes it. Past the heap limit the room comes from
    /// beyond.
    pub fn allocate_in_place(&mut self, bytes: usize) -> usize {
        debug_assert!(bytes.is_multiple_of(GRANULE_BYTES));
        if bytes > LARGE_ABOVE_BYTES {
            return self.allocate_large_in_place(state::SCANNABLE, bytes);
        }
        self.take_in_place(AreaKind::Scannable, bytes)
    }

    /// A vector of any length, without collecting; see [`Mutator::allocate_in_place`].
    ///
    /// # Panics
    /// If no object has so many words.
    pub fn long_vector_in_place(&mut self, length: usize, fill: Value) -> Value {
        let bytes = shape::object_bytes(Kind::Vector, length).expect("a vector of a usual length");
        let at = self.allocate_in_place(bytes);
        let header = Header::new(Kind::Vector, 0, length);
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe { init_object(at, header, bytes, false, fill) }
    }

    /// A bytevector of zeros of any length, with the same panics.
    pub fn long_bytevector_in_place(&mut self, length: usize) -> Value {
        let kind = Kind::Bytevector;
        let bytes = shape::object_bytes(kind, length).expect("a bytevector of a usual length");
        let at = if bytes > LARGE_ABOVE_BYTES {
            self.allocate_large_in_place(state::LEAF, bytes)
        } else {
            self.take_in_place(AreaKind::Leaf, bytes)
        };
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe { init_leaf(at, Header::new(kind, 0, length), bytes, false) }
    }

    /// A pair as [`Mutator::pair`] makes it, without collecting; see [`Mutator::allocate_in_place`].
    #[inline(always)]
    pub fn pair_in_place(&mut self, car: Value, cdr: Value) -> Value {
        let at = match self.bump(AreaKind::Scannable, GRANULE_BYTES) {
            Some(at) => at,
            None => self.granule_in_place(),
        };
        // SAFETY: as in `pair`.
        unsafe { init_pair(at, car, cdr) }
    }

    #[cold]
    #[inline(never)]
    fn granule_in_place(&mut self) -> usize {
        self.take_in_place(AreaKind::Scannable, GRANULE_BYTES)
    }

    /// A scannable object as [`Mutator::small_object`] makes it, without collecting; see
    /// [`Mutator::allocate_in_place`].
    ///
    /// # Panics
    /// If the kind is not scannable or the object is larger than half a block.
    pub fn object_in_place(&mut self, kind: Kind, flags: u8, length: usize, fill: Value) -> Value {
        let bytes = small_bytes(kind, length);
        assert!(matches!(area_of(kind).0, AreaKind::Scannable));
        let at = self.take_in_place(AreaKind::Scannable, bytes);
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe { init_object(at, Header::new(kind, flags, length), bytes, false, fill) }
    }

    /// A leaf object as [`Mutator::small_leaf`] makes it, without collecting; see
    /// [`Mutator::allocate_in_place`].
    ///
    /// # Panics
    /// If the kind is not a leaf or the object is larger than half a block.
    pub fn leaf_in_place(&mut self, kind: Kind, flags: u8, length: usize) -> Value {
        let bytes = small_bytes(kind, length);
        assert_leaf(kind);
        let at = self.take_in_place(AreaKind::Leaf, bytes);
        // SAFETY: the room was just taken; it is `bytes` long.
        unsafe { init_leaf(at, Header::new(kind, flags, length), bytes, false) }
    }

    /// A leaf object of bytes as [`Mutator::leaf_in_place`] makes it, of the pieces one after the other.
    ///
    /// # Panics
    /// If the kind is not a leaf with units of a byte, or the object is larger than half a block.
    #[inline]
    pub fn bytes_in_place(&mut self, kind: Kind, flags: u8, pieces: &[&[u8]]) -> Value {
        assert!(matches!(kind, Kind::String8 | Kind::Bytevector));
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let bytes = small_payload_bytes(length);
        let at = self.take_in_place(AreaKind::Leaf, bytes);
        // SAFETY: the room was just taken, so that no piece lies in it; it is `bytes` long, which is
        // enough for the header, the pieces and padding of less than two words: the last two words hold
        // all of that.
        unsafe {
            shape::write(at + bytes - 16, 0);
            shape::write(at + bytes - 8, 0);
            shape::write(at, Header::new(kind, flags, length).0);
            let mut place = (at + 8) as *mut u8;
            for piece in pieces {
                shape::copy_apart(piece.as_ptr(), place, piece.len());
                place = place.add(piece.len());
            }
            Value::object_at(at)
        }
    }

    /// The same of one piece, with the same panics.
    #[inline]
    pub fn copy_in_place(&mut self, kind: Kind, flags: u8, piece: &[u8]) -> Value {
        assert!(matches!(kind, Kind::String8 | Kind::Bytevector));
        self.payload_in_place(Header::new(kind, flags, piece.len()), piece)
    }

    /// The same of at most eight bytes: those of a word, the first of them lowest, with zeros behind them.
    ///
    /// # Panics
    /// If the kind is not a leaf with units of a byte, or there are more bytes.
    #[inline(always)]
    pub fn word_in_place(&mut self, kind: Kind, flags: u8, length: usize, word: u64) -> Value {
        assert!(matches!(kind, Kind::String8 | Kind::Bytevector) && length <= 8);
        let at = match self.bump(AreaKind::Leaf, GRANULE_BYTES) {
            Some(at) => at,
            None => self.leaf_room_in_place(GRANULE_BYTES),
        };
        // SAFETY: the room was just taken; it is a granule, which is two words.
        unsafe {
            shape::write(at, Header::new(kind, flags, length).0);
            shape::write(at + 8, word);
            Value::object_at(at)
        }
    }

    /// Data of a string of so many equal units as [`Mutator::leaf_in_place`] makes it, with the same panics.
    pub fn filled_in_place(&mut self, kind: Kind, flags: u8, length: usize, unit: u32) -> Value {
        assert!(matches!(kind, Kind::String8 | Kind::String32));
        let bytes = small_bytes(kind, length);
        let at = self.take_in_place(AreaKind::Leaf, bytes);
        // SAFETY: the room was just taken; it is `bytes` long, which is enough for the header, the units,
        // which are aligned, and padding of less than two words: the last two words hold all of that.
        unsafe {
            shape::write(at + bytes - 16, 0);
            shape::write(at + bytes - 8, 0);
            shape::write(at, Header::new(kind, flags, length).0);
            if kind == Kind::String8 {
                ((at + 8) as *mut u8).write_bytes(unit as u8, length);
            } else {
                let units = (at + 8) as *mut u32;
                (0..length).for_each(|index| units.add(index).write(unit));
            }
            Value::object_at(at)
        }
    }

    /// Data of a string of any characters as [`Mutator::leaf_in_place`] makes it, with the same panics.
    #[inline]
    pub fn units_in_place(&mut self, units: &[u32]) -> Value {
        let header = Header::new(Kind::String32, 0, units.len());
        // SAFETY: the bytes of the units.
        let bytes = unsafe { std::slice::from_raw_parts(units.as_ptr().cast(), 4 * units.len()) };
        self.payload_in_place(header, bytes)
    }

    /// A leaf object with this header, which says how long the payload is.
    #[inline(always)]
    fn payload_in_place(&mut self, header: Header, payload: &[u8]) -> Value {
        let bytes = small_payload_bytes(payload.len());
        let at = match self.bump(AreaKind::Leaf, bytes) {
            Some(at) => at,
            None => self.leaf_room_in_place(bytes),
        };
        // SAFETY: the room was just taken, so that the payload does not lie in it; it is `bytes` long, at
        // least two words, which is enough for the header, the payload and padding of less than two
        // words: the last two words hold all of that.
        unsafe {
            shape::write(at + bytes - 16, 0);
            shape::write(at + bytes - 8, 0);
            shape::write(at, header.0);
            shape::copy_apart(payload.as_ptr(), (at + 8) as *mut u8, payload.len());
            Value::object_at(at)
        }
    }

    #[cold]
    #[inline(never)]
    fn leaf_room_in_place(&mut self, bytes: usize) -> usize {
        self.take_in_place(AreaKind::Leaf, bytes)
    }

    /// An object with these fields as [`Mutator::object_in_place`] makes it, with the same panics.
    #[inline(always)]
    pub fn fields_in_place<const FIELDS: usize>(
        &mut self,
        kind: Kind,
        fields: [Value; FIELDS],
    ) -> Value {
        let bytes = Header::size_for_payload(8 * FIELDS);
        if bytes <= LARGE_ABOVE_BYTES
            && matches!(area_of(kind).0, AreaKind::Scannable)
            && let Some(at) = self.bump(AreaKind::Scannable, bytes)
        {
            // SAFETY: the room was just taken; it is `bytes` long, which is enough for the header, the
            // fields and a word of padding if they are even in number.
            unsafe {
                shape::write(at + bytes - 8, 0);
                shape::write(at, Header::new(kind, 0, FIELDS).0);
                for (index, field) in fields.iter().enumerate() {
                    shape::write(at + 8 + 8 * index, field.bits());
                }
                return Value::object_at(at);
            }
        }
        let object = self.object_in_place(kind, 0, FIELDS, Value::ZERO);
        for (index, field) in fields.into_iter().enumerate() {
            self.store(object, index, field);
        }
        object
    }
}
