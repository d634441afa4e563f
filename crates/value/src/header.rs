//! The header word of an object: kind, flags and length, in the layout of `tables::layout`.
//!
//! The length counts units of the kind, which the kind's row gives in bytes; `payload_bytes`
//! converts. A header looks like an immediate, so that a walk over words can skip it; pairs have
//! none.

use canny_tables::kinds::{KINDS, Kind};
use canny_tables::layout::{
    GRANULE_BYTES, HEADER_FLAGS_SHIFT, HEADER_KIND_SHIFT, HEADER_LENGTH_SHIFT, TAG_IMMEDIATE,
};

/// A header word: kind, flags and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Header(pub u64);

/// The bytes of a unit of each kind, as a shift: asked for at every access to a field.
static UNIT_SHIFTS: [u8; 256] = {
    let mut shifts = [0; 256];
    let mut kind = 0;
    while kind < KINDS.len() {
        assert!(KINDS[kind].unit_bytes.is_power_of_two());
        shifts[kind] = KINDS[kind].unit_bytes.trailing_zeros() as u8;
        kind += 1;
    }
    shifts
};

impl Header {
    /// Greatest length that a header holds.
    pub const LENGTH_MAX: usize = (1 << 40) - 1;

    /// A header; `length` is in the kind's units and at most [`Header::LENGTH_MAX`].
    #[inline(always)]
    pub const fn new(kind: Kind, flags: u8, length: usize) -> Header {
        Header(
            TAG_IMMEDIATE
                | (kind as u64) << HEADER_KIND_SHIFT
                | (flags as u64) << HEADER_FLAGS_SHIFT
                | (length as u64) << HEADER_LENGTH_SHIFT,
        )
    }

    /// Whether a word of a scannable block is a header: immediate tag, subtag 0, a known kind.
    #[inline(always)]
    pub fn is_header(word: u64) -> bool {
        word & 0xff == TAG_IMMEDIATE
    }

    /// Number of the kind.
    #[inline(always)]
    pub const fn kind_byte(self) -> u8 {
        (self.0 >> HEADER_KIND_SHIFT) as u8
    }

    /// The kind.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        Kind::ALL[self.kind_byte() as usize]
    }

    /// Flags.
    #[inline(always)]
    pub const fn flags(self) -> u8 {
        (self.0 >> HEADER_FLAGS_SHIFT) as u8
    }

    /// Length in the kind's units.
    #[inline(always)]
    pub const fn length(self) -> usize {
        (self.0 >> HEADER_LENGTH_SHIFT) as usize
    }

    /// The same header with other flags.
    #[inline(always)]
    pub const fn with_flags(self, flags: u8) -> Header {
        Header(self.0 & !(0xff << HEADER_FLAGS_SHIFT) | (flags as u64) << HEADER_FLAGS_SHIFT)
    }

    /// Bytes of payload.
    #[inline(always)]
    pub fn payload_bytes(self) -> usize {
        self.length() << UNIT_SHIFTS[self.kind_byte() as usize]
    }

    /// Bytes of the whole object, padding included.
    #[inline(always)]
    pub fn object_bytes(self) -> usize {
        Header::size_for_payload(self.payload_bytes())
    }

    /// Bytes of an object with so many bytes of payload.
    #[inline(always)]
    pub const fn size_for_payload(payload_bytes: usize) -> usize {
        (8 + payload_bytes + GRANULE_BYTES - 1) & !(GRANULE_BYTES - 1)
    }
}
