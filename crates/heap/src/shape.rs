//! Sizes and parts of objects, seen from their addresses, for the collector.
//!
//! Everything derives from the rows of `tables::kinds`. The functions work on raw words at
//! addresses of live objects. `FORWARDED` marks an evacuated pair in its car.

use canny_tables::kinds::{KINDS, Kind, Trace};
use canny_tables::layout::{self, GRANULE_BYTES, TAG_MASK, TAG_OBJECT, TAG_PAIR, code};
use canny_value::{Header, Value};

use crate::block::state;

/// In the car of an evacuated pair; the cdr is the new reference. An immediate that no program sees.
pub(crate) const FORWARDED: u64 = 31 << 3 | layout::TAG_IMMEDIATE;

const KIND_LIMIT: usize = 256;

const fn unit_table() -> [u8; KIND_LIMIT] {
    let mut table = [8; KIND_LIMIT];
    let mut index = 0;
    while index < KINDS.len() {
        table[index] = KINDS[index].unit_bytes;
        index += 1;
    }
    table
}

const fn content_table() -> [u8; KIND_LIMIT] {
    let mut table = [state::SCANNABLE; KIND_LIMIT];
    let mut index = 0;
    while index < KINDS.len() {
        table[index] = match KINDS[index].trace {
            Trace::Scannable => state::SCANNABLE,
            Trace::Leaf => state::LEAF,
            Trace::Special => state::SPECIAL,
            Trace::Code => state::CODE,
        };
        index += 1;
    }
    table
}

static UNIT_BYTES: [u8; KIND_LIMIT] = unit_table();
static CONTENTS: [u8; KIND_LIMIT] = content_table();

/// Block content in which objects of a kind live.
#[inline]
pub(crate) fn content_of(kind: Kind) -> u8 {
    CONTENTS[kind as usize]
}

/// Bytes of an object of `length` units, or `None` when no address space could hold it.
pub(crate) fn object_bytes(kind: Kind, length: usize) -> Option<usize> {
    if length > Header::LENGTH_MAX {
        return None;
    }
    let payload = length.checked_mul(UNIT_BYTES[kind as usize] as usize)?;
    Some(Header::size_for_payload(payload))
}

/// Bytes of the object with this header word.
#[inline(always)]
pub(crate) fn bytes_of_header(word: u64) -> usize {
    let header = Header(word);
    let unit = UNIT_BYTES[header.kind_byte() as usize] as usize;
    Header::size_for_payload(header.length() * unit)
}

/// Reads the word at an address.
///
/// # Safety
/// The address is that of a word in a block in use, or in a large object.
#[inline(always)]
pub(crate) unsafe fn read(address: usize) -> u64 {
    // SAFETY: the caller's contract.
    unsafe { *(address as *const u64) }
}

/// Writes the word at an address.
///
/// # Safety
/// As for [`read`]; the object there is the caller's to change.
#[inline(always)]
pub(crate) unsafe fn write(address: usize, word: u64) {
    // SAFETY: the caller's contract.
    unsafe { *(address as *mut u64) = word }
}

/// Whether a word refers to an object or pair.
#[inline(always)]
pub(crate) fn is_reference(word: u64) -> bool {
    word & 3 == TAG_PAIR
}

/// Address that a reference names.
#[inline(always)]
pub(crate) fn address_of(word: u64) -> usize {
    (word & !TAG_MASK) as usize
}

/// Whether the thing at this address starts with a header; otherwise it is a pair.
///
/// # Safety
/// A live object or pair, not evacuated, starts at the address.
#[inline(always)]
pub(crate) unsafe fn has_header(address: usize) -> bool {
    // SAFETY: the caller's contract.
    Header::is_header(unsafe { read(address) })
}

/// Bytes of the object or pair at an address in a block where pairs may be.
///
/// # Safety
/// As for [`has_header`].
#[inline(always)]
pub(crate) unsafe fn bytes_at(address: usize) -> usize {
    // SAFETY: the caller's contract.
    let word = unsafe { read(address) };
    if Header::is_header(word) {
        bytes_of_header(word)
    } else {
        GRANULE_BYTES
    }
}

/// The tagged word that refers to what starts at an address.
///
/// # Safety
/// As for [`has_header`].
#[inline(always)]
pub(crate) unsafe fn reference_to(address: usize) -> u64 {
    // SAFETY: the caller's contract.
    if unsafe { has_header(address) } {
        address as u64 | TAG_OBJECT
    } else {
        address as u64 | TAG_PAIR
    }
}

/// The tagged word that refers to an object with a header.
#[inline(always)]
pub(crate) fn reference_to_object(address: usize) -> u64 {
    address as u64 | TAG_OBJECT
}

/// Header word of a hole of so many bytes.
#[inline(always)]
pub(crate) fn filler_header(bytes: usize) -> u64 {
    Header::new(Kind::Filler, 0, bytes / 8 - 1).0
}

/// Makes a range a hole that a linear walk steps over and a scan of every word finds empty.
///
/// # Safety
/// The range is whole granules of one block and holds nothing live.
pub(crate) unsafe fn clear_hole(start: usize, end: usize) {
    if start < end {
        // SAFETY: the caller's contract.
        unsafe {
            (start as *mut u8).write_bytes(0, end - start);
            write(start, filler_header(end - start));
        }
    }
}

/// Address and number of the pool words of a code object. A length that its host has not written yet
/// counts as zero words, and one that exceeds the object as none.
pub(crate) fn pool_of(address: usize) -> (usize, usize) {
    let tagged = reference_to_object(address) as usize;
    let pool = tagged.wrapping_add_signed(code::POOL as isize);
    // SAFETY: a code object has at least its fixed fields, which the allocation zeroed.
    let (length, bytes) = unsafe {
        let length = *(tagged.wrapping_add_signed(code::POOL_LENGTH as isize) as *const u32);
        (length as usize, bytes_at(address))
    };
    if pool + 8 * length > address + bytes {
        return (pool, 0);
    }
    (pool, length)
}

/// Whether a header word is a hole's.
#[inline(always)]
pub(crate) fn is_filler(word: u64) -> bool {
    word & 0xffff == filler_header(GRANULE_BYTES) & 0xffff
}

/// The value with these bits.
///
/// # Safety
/// As for [`Value::from_bits`].
#[inline(always)]
pub(crate) unsafe fn value(bits: u64) -> Value {
    // SAFETY: the caller's contract.
    unsafe { Value::from_bits(bits) }
}

/// Copies bytes, without a call where there are few.
///
/// # Safety
/// So many bytes can be read and written; the two ranges have nothing in common.
#[inline(always)]
pub(crate) unsafe fn copy_apart(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the caller's contract; two words cover the bytes together, of which each is inside.
    unsafe {
        match count {
            17.. => std::ptr::copy_nonoverlapping(from, to, count),
            8.. => {
                let (first, last) = (from.cast::<u64>(), from.add(count - 8).cast::<u64>());
                let (first, last) = (first.read_unaligned(), last.read_unaligned());
                to.cast::<u64>().write_unaligned(first);
                to.add(count - 8).cast::<u64>().write_unaligned(last);
            }
            4.. => {
                let (first, last) = (from.cast::<u32>(), from.add(count - 4).cast::<u32>());
                let (first, last) = (first.read_unaligned(), last.read_unaligned());
                to.cast::<u32>().write_unaligned(first);
                to.add(count - 4).cast::<u32>().write_unaligned(last);
            }
            2.. => {
                let (first, last) = (from.cast::<u16>(), from.add(count - 2).cast::<u16>());
                let (first, last) = (first.read_unaligned(), last.read_unaligned());
                to.cast::<u16>().write_unaligned(first);
                to.add(count - 2).cast::<u16>().write_unaligned(last);
            }
            1 => *to = *from,
            0 => {}
        }
    }
}
