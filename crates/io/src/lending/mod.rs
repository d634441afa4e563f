//! Ports that several threads share, and the loan by which one of them uses a port's buffer without the lock.
//!
//! A [`SharedPort`] is a port behind a lock, beside which lies a [`Loan`]: addresses that generated
//! code may go through, one character at a time, on the thread that the port is lent to, and what
//! generated code calls through, a line or a short text at a time (`put_through_loan`;
//! lines are made where the machine makes objects). Everybody else, and that thread for everything
//! else, locks the port, which takes the loan back first: the used part is reported to the port
//! ([`Lender::take_back`]), so that who holds the lock sees the port as if every character had gone
//! through it.
//!
//! ```text
//!   generated code, on behalf of the borrower      whoever holds the lock, on another system thread
//!     flag = 1                                       owner = 0
//!     owner is the flag + use? no: flag = 0, slow    every thread of the process passes a barrier
//!     cursor < limit?          no: flag = 0, slow    wait until the owner's flag = 0
//!     take or put the byte, cursor += 1              every thread passes a barrier
//!     flag = 0                                       read cursor
//! ```
//!
//! The borrower's side has no atomic instruction and no fence: the other side, which is rare, makes up
//! for that with the barrier (`membarrier`). After the first one the borrower either sees that it owns
//! nothing any more, or its flag is seen; after the second all that it did is. On the system thread
//! that the port was lent on nothing of this is needed, since it is not in generated code when it locks
//! the port.
//!
//! The kind of the loan ([`Lent`]) is added to the flag's address in `owner`, so that one comparison shows
//! generated code that the port is lent to its thread and that it has characters, or bytes, to be read, or
//! room for some.
//!
//! Text is lent as UTF-8. Up to `limit` it is ASCII, which is all that most code wants; up to
//! `text_limit` it is whole characters of any kind. The cursor may pass `limit` by such characters;
//! code that wants ASCII finds nothing then. Output takes UTF-8 up to `text_limit`, which is 0 where
//! the encoding is another one.
//!
//! The flag belongs to the borrower and not to the loan, and its address is what the borrower is known
//! by: a flag in the loan would have two writers when a borrower that lost the port finds that out
//! while the next one uses it.
//!
//! | shared state | written by | when |
//! |---|---|---|
//! | `owner`, `limit` | who holds the lock | the loan is made or taken back |
//! | `has_plain_lines`, `text_limit` | who holds the lock | the loan is made |
//! | `cursor` | who holds the lock | the loan is made |
//! | | generated code of the borrower | while it owns the loan and its flag is 1 |
//! | a [`Borrower`]'s flag | generated code on its thread | around each use of any loan, tried or done |
//!
//! A borrower never leaves its system thread. A port that is often wanted elsewhere is not lent any
//! more; nor is any where the system has no such barrier.

#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use canny_locks::{Mutex, MutexGuard};

/// The kind of a loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Lent {
    /// Characters to be read.
    TextInput = 0,
    /// Room for characters.
    TextOutput = 1,
    /// Bytes to be read.
    ByteInput = 2,
    /// Room for bytes.
    ByteOutput = 3,
}

/// Times that a loan is taken from another thread before there are no more.
const REVOCATIONS_MAX: u32 = 4;

/// A port whose buffer can be lent.
pub trait Lender {
    /// The kind of the loan.
    const LENT: Lent;

    /// The addresses of the bytes that may be taken (of text, all of them ASCII) or that may be written
    /// to. They stay valid until the loan is taken back.
    fn lend(&mut self) -> Range<usize>;

    /// The first `count` bytes of what was lent were taken or written.
    fn take_back(&mut self, count: usize);

    /// The end of the lent text, ASCII or not, or of the room that takes UTF-8; 0 where there is no such
    /// thing. It is not less than the end of what [`Lender::lend`] gave. If that is empty and this is no
    /// greater, nothing is lent.
    fn text_limit(&self, lent: &Range<usize>) -> usize {
        let _ = lent;
        0
    }

    /// Whether each line feed in what is lent ends a line, and nothing else does but perhaps a carriage
    /// return.
    fn has_plain_lines(&self) -> bool {
        false
    }
}

/// A thread's flag, by whose address it is known.
pub type Borrower = Arc<AtomicU64>;

/// The part that generated code uses; see the module's description.
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Loan {
    owner: AtomicU64,
    cursor: AtomicU64,
    limit: AtomicU64,
    has_plain_lines: AtomicU64,
    text_limit: AtomicU64,
}

impl Loan {
    /// Offsets of `owner`, `cursor`, `limit`, `has_plain_lines` and `text_limit`, for who goes through
    /// the loan.
    pub const OFFSETS: [usize; 5] = [
        std::mem::offset_of!(Loan, owner),
        std::mem::offset_of!(Loan, cursor),
        std::mem::offset_of!(Loan, limit),
        std::mem::offset_of!(Loan, has_plain_lines),
        std::mem::offset_of!(Loan, text_limit),
    ];

    const fn none() -> Loan {
        Loan {
            owner: AtomicU64::new(0),
            cursor: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            has_plain_lines: AtomicU64::new(0),
            text_limit: AtomicU64::new(0),
        }
    }

    /// A loan that is never made.
    pub fn never() -> &'static Loan {
        static NEVER: Loan = Loan::none();
        &NEVER
    }

    /// The address for generated code, a multiple of 16.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).expose_provenance()
    }
}

/// The state that the lock protects.
#[derive(Debug)]
struct Locked<P> {
    port: P,
    /// To whom the port was lent last, and on which system thread.
    borrower: Option<Borrower>,
    lent_on: usize,
    /// The cursor at the start of the loan.
    start: u64,
    /// Times that the loan was taken from another system thread.
    revocations: u32,
}

impl<P: Lender> Locked<P> {
    /// Lends to a borrower, on whose system thread this runs.
    #[inline]
    fn make(&mut self, loan: &Loan, borrower: &Borrower) {
        let range = self.port.lend();
        let text_limit = self.port.text_limit(&range);
        let is_empty = range.is_empty() && text_limit <= range.start;
        if is_empty || self.revocations >= REVOCATIONS_MAX || !barrier::is_available() {
            return;
        }
        if !matches!(&self.borrower, Some(last) if Arc::ptr_eq(last, borrower)) {
            self.borrower = Some(borrower.clone());
        }
        self.lent_on = system_thread();
        self.start = range.start as u64;
        loan.cursor.store(range.start as u64, Ordering::Relaxed);
        loan.limit.store(range.end as u64, Ordering::Relaxed);
        loan.has_plain_lines
            .store(self.port.has_plain_lines().into(), Ordering::Relaxed);
        loan.text_limit.store(text_limit as u64, Ordering::Relaxed);
        let owner = owner_word(borrower, P::LENT);
        loan.owner.store(owner, Ordering::Release);
    }

    /// Ends the loan, if it was made.
    #[inline]
    fn end(&mut self, loan: &Loan) {
        if loan.owner.load(Ordering::Relaxed) == 0 {
            return;
        }
        loan.owner.store(0, Ordering::Release);
        if self.lent_on != system_thread() {
            self.revoke();
        }
        let used = loan.cursor.load(Ordering::Relaxed) - self.start;
        self.port.take_back(used as usize);
    }

    /// Waits until the borrower must have noticed that it owns nothing any more.
    #[cold]
    #[inline(never)]
    fn revoke(&mut self) {
        self.revocations += 1;
        barrier::pass_everywhere();
        if let Some(borrower) = &self.borrower {
            // A few instructions of the borrower's, or the making of a short string, unless its thread
            // was just suspended among them.
            while borrower.load(Ordering::SeqCst) != 0 {
                std::thread::yield_now();
            }
        }
        barrier::pass_everywhere();
    }
}

/// The value of `owner` while a borrower has the loan.
#[inline(always)]
fn owner_word(borrower: &Borrower, lent: Lent) -> u64 {
    Arc::as_ptr(borrower).addr() as u64 + lent as u64
}

/// A number for the system thread that this runs on, which no other has at the same time.
#[inline]
fn system_thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here).addr())
}

/// A port behind a lock.
#[derive(Debug)]
pub struct SharedPort<P: Lender> {
    loan: Loan,
    locked: Mutex<Locked<P>>,
}

impl<P: Lender> SharedPort<P> {
    /// Shares a port.
    pub fn new(port: P) -> SharedPort<P> {
        SharedPort {
            loan: Loan::none(),
            locked: Mutex::new(Locked {
                port,
                borrower: None,
                lent_on: 0,
                start: 0,
                revocations: 0,
            }),
        }
    }

    /// The part that generated code uses, as long as this port stays where it is.
    pub fn loan(&self) -> &Loan {
        &self.loan
    }

    /// Waits for the port. It stays consistent if a holder panics.
    pub fn lock(&self) -> PortGuard<'_, P> {
        self.guard(self.locked.lock())
    }

    /// The port, if no other thread holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<PortGuard<'_, P>> {
        Some(self.guard(self.locked.try_lock()?))
    }

    /// Looks at the port as it is, lent or not, if no other thread holds it. The port may not know yet of
    /// bytes that a borrower took or put.
    pub fn look<R>(&self, at: impl FnOnce(&P) -> R) -> Option<R> {
        let locked = self.locked.try_lock()?;
        Some(at(&locked.port))
    }

    #[inline]
    fn guard<'p>(&'p self, mut locked: MutexGuard<'p, Locked<P>>) -> PortGuard<'p, P> {
        locked.end(&self.loan);
        PortGuard {
            locked,
            loan: &self.loan,
        }
    }
}

impl<P: Lender> SharedPort<P> {
    /// Puts bytes where the port lends room to the borrower, as generated code on its thread does with
    /// one, and whether it did. To be called on the borrower's system thread. A port of text is given
    /// ASCII, or `is_wide` text in UTF-8.
    #[inline]
    pub(crate) fn put_bytes_through_loan(
        &self,
        borrower: &Borrower,
        bytes: &[u8],
        is_wide: bool,
    ) -> bool {
        borrower.store(1, Ordering::Relaxed);
        // The thread that revokes the loan issues the barrier; see above.
        compiler_fence(Ordering::SeqCst);
        let done = self.put_lent(borrower, bytes, is_wide);
        compiler_fence(Ordering::SeqCst);
        borrower.store(0, Ordering::Release);
        done
    }

    #[expect(
        unsafe_code,
        reason = "writes where the port lends room, as generated code does"
    )]
    #[inline]
    fn put_lent(&self, borrower: &Borrower, text: &[u8], is_wide: bool) -> bool {
        let owner = self.loan.owner.load(Ordering::Relaxed);
        if owner != owner_word(borrower, P::LENT) {
            return false;
        }
        let cursor = self.loan.cursor.load(Ordering::Relaxed);
        let limit = if is_wide {
            self.loan.text_limit.load(Ordering::Relaxed)
        } else {
            self.loan.limit.load(Ordering::Relaxed)
        };
        if limit.saturating_sub(cursor) < text.len() as u64 {
            return false;
        }
        let place = std::ptr::with_exposed_provenance_mut::<u8>(cursor as usize);
        // SAFETY: the port lent the bytes from the cursor up to the limit to this borrower, whose flag is up:
        // until it is down they stay where they are and no other thread uses them. The text is no part of
        // them, since only the port knows them.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), place, text.len()) };
        let next = cursor + text.len() as u64;
        self.loan.cursor.store(next, Ordering::Relaxed);
        true
    }
}

impl<P: Lender> Drop for SharedPort<P> {
    fn drop(&mut self) {
        let locked = self.locked.get_mut();
        locked.end(&self.loan);
    }
}

/// A port that is locked, and not lent.
#[derive(Debug)]
pub struct PortGuard<'p, P: Lender> {
    locked: MutexGuard<'p, Locked<P>>,
    loan: &'p Loan,
}

impl<P: Lender> PortGuard<'_, P> {
    /// Releases the port, and lends what it has to lend to a borrower on this system thread.
    #[inline]
    pub fn release_to(mut self, borrower: &Borrower) {
        self.locked.make(self.loan, borrower);
    }
}

impl<P: Lender> Deref for PortGuard<'_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.locked.port
    }
}

impl<P: Lender> DerefMut for PortGuard<'_, P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.locked.port
    }
}

/// A barrier that every running thread of the process passes.
#[cfg(target_os = "linux")]
mod barrier {
    use std::sync::OnceLock;
    use std::time::Duration;

    use rustix::thread::{MembarrierCommand, MembarrierQuery, membarrier, membarrier_query};

    /// Whether there is one.
    #[inline]
    pub(super) fn is_available() -> bool {
        static IS_AVAILABLE: OnceLock<bool> = OnceLock::new();
        *IS_AVAILABLE.get_or_init(|| {
            let wanted =
                MembarrierQuery::PRIVATE_EXPEDITED | MembarrierQuery::REGISTER_PRIVATE_EXPEDITED;
            membarrier_query().contains(wanted)
        })
    }

    /// Registering takes milliseconds, so that it is put off until the first time that a loan is revoked.
    pub(super) fn pass_everywhere() {
        static IS_REGISTERED: OnceLock<bool> = OnceLock::new();
        let is_registered = *IS_REGISTERED
            .get_or_init(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok());
        if !is_registered || membarrier(MembarrierCommand::PrivateExpedited).is_err() {
            // The system said that it can. A processor that has not written after so long never does.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Elsewhere nothing is lent.
#[cfg(not(target_os = "linux"))]
mod barrier {
    pub(super) fn is_available() -> bool {
        false
    }

    pub(super) fn pass_everywhere() {}
}
