//! Several characters or bytes at a time through the loan of a port: `layout::loan` tells its words,
//! `canny_io::lending` the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use canny_tables::kinds::Kind;
use canny_tables::layout::{loan, port};
use canny_value::Value;

use super::InPlace;

/// The loan of a port that this thread owns, while its flag is up.
struct Owned {
    lent: usize,
}

impl Owned {
    fn word(&self, offset: i32) -> &AtomicU64 {
        let address = self.lent + offset as usize;
        // SAFETY: the maker of an `Owned` vouches for the loan at this address, whose words are
        // atomic.
        unsafe { AtomicU64::from_ptr(address as *mut u64) }
    }

    /// The address of the next byte, and how many bytes there are from it up to a limit.
    fn range(&self, limit: i32) -> (usize, usize) {
        let cursor = self.word(loan::CURSOR).load(Ordering::Relaxed) as usize;
        let limit = self.word(limit).load(Ordering::Relaxed) as usize;
        (cursor, limit.saturating_sub(cursor))
    }

    fn advance(&self, cursor: usize, count: usize) {
        let next = (cursor + count) as u64;
        self.word(loan::CURSOR).store(next, Ordering::Relaxed);
    }
}

impl InPlace {
    /// Shows what is lent to this thread, up to the given limit, and steps over as much of it as is used. The
    /// function must not use a loan. Nothing is done where the port does not lend that to this thread.
    #[inline]
    pub fn take_lent<R>(
        &mut self,
        port: Value,
        lends: u64,
        limit: i32,
        take: impl FnOnce(&mut InPlace, &[u8]) -> Option<(R, usize)>,
    ) -> Option<R> {
        self.with_loan(port, lends, |thread, owned| {
            let (cursor, count) = owned.range(limit);
            let start = std::ptr::with_exposed_provenance::<u8>(cursor);
            // SAFETY: the bytes between the two were lent to the owner of the flag, which is up:
            // until it is down they stay where they are, and nobody writes to them.
            let bytes = unsafe { std::slice::from_raw_parts(start, count) };
            let (result, used) = take(thread, bytes)?;
            owned.advance(cursor, used.min(count));
            Some(result)
        })
    }

    /// Puts bytes where a port lends room to this thread, up to the given limit, and whether it did.
    #[inline]
    pub fn put_lent(&mut self, port: Value, lends: u64, limit: i32, bytes: &[u8]) -> bool {
        let done = self.with_loan(port, lends, |_, owned| {
            let (cursor, room) = owned.range(limit);
            if room < bytes.len() {
                return None;
            }
            let place = std::ptr::with_exposed_provenance_mut::<u8>(cursor);
            // SAFETY: as above, but nobody reads it. The bytes are no part of it, since nobody but the
            // port knows it.
            unsafe {
                match bytes {
                    [byte] => place.write(*byte),
                    _ => std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()),
                }
            }
            owned.advance(cursor, bytes.len());
            Some(())
        });
        done.is_some()
    }

    #[inline]
    fn with_loan<R>(
        &mut self,
        port: Value,
        lends: u64,
        work: impl FnOnce(&mut InPlace, Owned) -> Option<R>,
    ) -> Option<R> {
        let lent = port.as_kind(Kind::Port)?.field(port::LOAN).bits() as usize;
        let flag = Arc::as_ptr(self.0.loan_flag());
        // SAFETY: the flag lives as long as the thread.
        let flag = unsafe { &*flag };
        flag.store(1, Ordering::Relaxed);
        // The thread that revokes the loan issues the barrier.
        compiler_fence(Ordering::SeqCst);
        // The field of a port object is the address of its port's loan, which lives as long as the
        // object, and nothing is collected here.
        let owned = Owned { lent };
        let owner = std::ptr::from_ref(flag).addr() as u64 + lends;
        let result = if owned.word(loan::OWNER).load(Ordering::Relaxed) == owner {
            work(self, owned)
        } else {
            None
        };
        compiler_fence(Ordering::SeqCst);
        flag.store(0, Ordering::Release);
        result
    }
}
