//! Lines that are copied into the heap while their ends are looked for.
//!
//! The length of a line is known when its end was found, and then it has been looked at as a whole. So
//! each block of sixteen bytes that is looked at is stored where the area that is bumped continues, and
//! the room for the object is taken when the end is there. A search and a copy of their own take a
//! third more time for a line of 60 characters.

use canny_tables::kinds::Kind;
use canny_value::{Header, Value};

use crate::block::LARGE_ABOVE_BYTES;
use crate::mutator::Mutator;
use crate::nursery::AllocationArea;
use crate::shape;

/// Bytes that are looked at in one step.
const BLOCK: usize = 16;

/// Longer lines are not made here: with what they are preceded by and followed by they must not be large.
const LINE_BYTES_MAX: usize = 2048;
const _: () = assert!(LINE_BYTES_MAX + 4 * BLOCK <= LARGE_ABOVE_BYTES);

impl Mutator {
    /// A leaf string of units of a byte, with these flags, of what stands in a text before its first
    /// line feed, and how many bytes that are. It does not collect. `None` if there is no line feed, a
    /// carriage return comes first, the line is long, or there is no room for it without taking another
    /// block.
    #[inline]
    pub fn line_in_place(&mut self, flags: u8, text: &[u8]) -> Option<(Value, usize)> {
        let area = self.area();
        let at = area.leaf_cursor;
        // Behind the line, a step may write as much as it reads, and a block of zeros follows.
        let room = area.leaf_limit.saturating_sub(at + 8 + 2 * BLOCK);
        let reach = text.len().min(room).min(LINE_BYTES_MAX);
        // SAFETY: the room between the cursor and the limit is this thread's and nobody reads it.
        // The search writes less than two blocks behind `reach`, and `reach` is so much smaller
        // than the room.
        let length = unsafe { copy_line(&text[..reach], (at + 8) as *mut u8) }?;
        // SAFETY: as above, `length` is less than `reach`.
        Some((unsafe { finish(area, flags, length) }, length))
    }
}

/// Takes the room for a line that was copied behind the cursor of an area, and makes it an object.
///
/// # Safety
/// The line is there, and room for a block behind it.
#[inline]
unsafe fn finish(area: &mut AllocationArea, flags: u8, length: usize) -> Value {
    let at = area.leaf_cursor;
    // SAFETY: the caller vouches for the line and the block. The object's size is that of its header
    // and payload and padding of less than a block, which is what is written here.
    unsafe {
        ((at + 8 + length) as *mut [u8; BLOCK]).write_unaligned([0; BLOCK]);
        shape::write(at, Header::new(Kind::String8, flags, length).0);
        area.leaf_cursor = at + Header::size_for_payload(length);
        Value::object_at(at)
    }
}

/// Copies a text up to its first line feed, and perhaps what follows, and gives the length of that line.
///
/// # Safety
/// There is room for the text and one block more.
#[inline]
unsafe fn copy_line(text: &[u8], to: *mut u8) -> Option<usize> {
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        // SAFETY: there is room for the text, of which this block is a part.
        let ends = unsafe { copy_block(block, to.add(BLOCK * index)) };
        if ends != 0 {
            let end = ends.trailing_zeros() as usize;
            return (block[end % BLOCK] == b'\n').then_some(BLOCK * index + end);
        }
    }
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let begin = BLOCK * blocks.len();
    // SAFETY: there is room for the text, of which this is a part.
    unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), to.add(begin), end) };
    (rest[end] == b'\n').then_some(begin + end)
}

/// Copies a block, and gives a bit for each of its line feeds and carriage returns.
///
/// # Safety
/// There is room for it.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy_block(block: &[u8; BLOCK], to: *mut u8) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_storeu_si128,
    };
    // SAFETY: every processor of this architecture has these instructions; the block is as long as what
    // is loaded, and the caller vouches for the room.
    unsafe {
        let block = _mm_loadu_si128(block.as_ptr().cast::<__m128i>());
        _mm_storeu_si128(to.cast::<__m128i>(), block);
        let line_feeds = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\n' as i8));
        let returns = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\r' as i8));
        _mm_movemask_epi8(_mm_or_si128(line_feeds, returns)) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn copy_block(block: &[u8; BLOCK], to: *mut u8) -> u32 {
    // SAFETY: the caller vouches for the room.
    unsafe { to.cast::<[u8; BLOCK]>().write_unaligned(*block) };
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    block
        .iter()
        .rev()
        .fold(0, |ends, byte| 2 * ends + u32::from(is_end(byte)))
}
