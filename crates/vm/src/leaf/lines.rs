//! Lines through the loan of a port: `layout::loan` tells its words, `canny_io::lending` the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use canny_tables::kinds::Kind;
use canny_tables::layout::{FLAG_ASCII, loan, port};
use canny_value::Value;

use super::InPlace;
use crate::data::strings;

impl InPlace {
    /// The next line of a port as a fresh string, and steps over it and its line feed: if it is ASCII,
    /// lent to this thread as a whole, short and for [`canny_heap::Mutator::line_in_place`] to be made.
    /// Else nothing is done.
    #[inline]
    pub fn lent_line(&mut self, port: Value) -> Option<Value> {
        let lent = port.as_kind(Kind::Port)?.field(port::LOAN);
        let flag = Arc::as_ptr(self.0.loan_flag());
        // SAFETY: the flag lives as long as the thread.
        let flag = unsafe { &*flag };
        flag.store(1, Ordering::Relaxed);
        // The thread that revokes the loan issues the barrier.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: the field of a port object is the address of its port's loan, which lives as long as
        // the object, and nothing is collected here; the flag is up.
        let line = unsafe { self.take_lent_line(lent.bits() as usize, flag) };
        compiler_fence(Ordering::SeqCst);
        flag.store(0, Ordering::Release);
        line
    }

    /// # Safety
    /// There is a loan at this address, and the thread's flag is up.
    #[inline]
    unsafe fn take_lent_line(&mut self, lent: usize, flag: &AtomicU64) -> Option<Value> {
        let word = |offset: i32| {
            let address = lent + offset as usize;
            // SAFETY: the caller vouches for the loan, whose words are atomic.
            unsafe { AtomicU64::from_ptr(address as *mut u64) }
        };
        if word(loan::OWNER).load(Ordering::Relaxed) != std::ptr::from_ref(flag).addr() as u64
            || word(loan::HAS_PLAIN_LINES).load(Ordering::Relaxed) == 0
        {
            return None;
        }
        let cursor = word(loan::CURSOR).load(Ordering::Relaxed) as usize;
        let limit = word(loan::LIMIT).load(Ordering::Relaxed) as usize;
        let start = std::ptr::with_exposed_provenance::<u8>(cursor);
        // SAFETY: the text between the two was lent to the owner of this flag: until the flag is
        // down the text stays where it is, and nobody writes to it.
        let text = unsafe { std::slice::from_raw_parts(start, limit.saturating_sub(cursor)) };
        let mutator = self.0.mutator();
        let (data, length) = mutator.line_in_place(FLAG_ASCII, text)?;
        let fields = strings::fields(Value::fixnum(length as i64), data);
        let string = mutator.fields_in_place(Kind::String, fields);
        let next = cursor + length + 1;
        word(loan::CURSOR).store(next as u64, Ordering::Relaxed);
        Some(string)
    }
}
