//! Loans: bytes that are used through one are neither lost nor used twice, if other threads lock the port
//! meanwhile.

use std::sync::atomic::{AtomicBool, compiler_fence};

use super::*;
use crate::Handle;
use crate::port::{EncodeOptions, TextOutput};
use crate::wait::Wait;

/// Gives out the numbers from `next` up to `end`, as addresses that are never read.
struct Numbers {
    next: usize,
    end: usize,
    at_once: usize,
}

impl Numbers {
    fn take(&mut self) -> Option<usize> {
        let number = self.next;
        (number < self.end).then(|| {
            self.next += 1;
            number
        })
    }
}

impl Lender for Numbers {
    const LENT: Lent = Lent::TextInput;

    fn lend(&mut self) -> Range<usize> {
        self.next..self.end.min(self.next + self.at_once)
    }

    fn take_back(&mut self, count: usize) {
        self.next += count;
    }
}

fn numbers(end: usize, at_once: usize) -> SharedPort<Numbers> {
    let next = 1;
    SharedPort::new(Numbers { next, end, at_once })
}

/// The steps of generated code, in the same order.
fn take_lent(loan: &Loan, borrower: &Borrower) -> Option<usize> {
    take_lent_with(loan, borrower, || ())
}

/// The same, with something that happens at the worst time.
fn take_lent_with(loan: &Loan, borrower: &Borrower, interlude: impl FnOnce()) -> Option<usize> {
    borrower.store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let mut taken = None;
    if loan.owner.load(Ordering::Relaxed) == Arc::as_ptr(borrower).addr() as u64 {
        let cursor = loan.cursor.load(Ordering::Relaxed);
        interlude();
        if cursor < loan.limit.load(Ordering::Relaxed) {
            loan.cursor.store(cursor + 1, Ordering::Relaxed);
            taken = Some(cursor as usize);
        }
    }
    compiler_fence(Ordering::SeqCst);
    borrower.store(0, Ordering::Relaxed);
    taken
}

#[test]
fn what_was_used_is_told_to_who_locks_the_port() {
    let port = numbers(100, 10);
    let borrower = Borrower::default();
    assert_eq!(take_lent(port.loan(), &borrower), None);
    port.lock().release_to(&borrower);
    for number in 1..4 {
        assert_eq!(take_lent(port.loan(), &borrower), Some(number));
    }
    assert_eq!(port.lock().take(), Some(4));
    // Locking took the loan back, and the port was not lent again.
    assert_eq!(take_lent(port.loan(), &borrower), None);
    port.lock().release_to(&borrower);
    for number in 5..15 {
        assert_eq!(take_lent(port.loan(), &borrower), Some(number));
    }
    assert_eq!(take_lent(port.loan(), &borrower), None);
    assert_eq!(port.try_lock().unwrap().next, 15);
}

#[test]
fn only_the_borrower_uses_the_loan() {
    let port = numbers(100, 10);
    let (one, other) = (Borrower::default(), Borrower::default());
    port.lock().release_to(&one);
    assert_eq!(take_lent(port.loan(), &other), None);
    assert_eq!(take_lent(port.loan(), &one), Some(1));
    port.lock().release_to(&other);
    assert_eq!(take_lent(port.loan(), &one), None);
    assert_eq!(take_lent(port.loan(), &other), Some(2));
    assert_eq!(take_lent(Loan::never(), &one), None);
}

#[test]
fn nothing_is_lent_of_an_empty_range_or_after_many_revocations() {
    let borrower = Borrower::default();
    let port = numbers(1, 10);
    port.lock().release_to(&borrower);
    assert_eq!(take_lent(port.loan(), &borrower), None);
    let port = numbers(100, 10);
    let mut used = 0;
    for _ in 0..2 * REVOCATIONS_MAX {
        port.lock().release_to(&borrower);
        used += usize::from(take_lent(port.loan(), &borrower).is_some());
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(port.lock().next, used + 1));
        });
    }
    assert_eq!(used, REVOCATIONS_MAX as usize);
}

#[test]
fn a_loan_ends_when_the_port_is_dropped() {
    struct Last<'a>(&'a AtomicU64);
    impl Lender for Last<'_> {
        const LENT: Lent = Lent::TextInput;

        fn lend(&mut self) -> Range<usize> {
            16..32
        }
        fn take_back(&mut self, count: usize) {
            self.0.store(count as u64, Ordering::Relaxed);
        }
    }
    let taken_back = AtomicU64::new(0);
    let borrower = Borrower::default();
    let port = SharedPort::new(Last(&taken_back));
    port.lock().release_to(&borrower);
    take_lent(port.loan(), &borrower);
    take_lent(port.loan(), &borrower);
    drop(port);
    assert_eq!(taken_back.into_inner(), 2);
}

/// One thread uses loans while others lock the port: each number is taken once.
#[test]
fn threads_share_a_port() {
    const END: usize = 60_000;
    for round in 0..6 {
        let port = numbers(END, 7 + 300 * round);
        let is_done = AtomicBool::new(false);
        let borrow = || {
            let borrower = Borrower::default();
            let mut taken = Vec::new();
            loop {
                let interlude = || {
                    if taken.len() % 16 == 0 {
                        std::thread::yield_now();
                    }
                };
                if let Some(number) = take_lent_with(port.loan(), &borrower, interlude) {
                    taken.push(number);
                    continue;
                }
                let mut locked = port.lock();
                let Some(number) = locked.take() else {
                    is_done.store(true, Ordering::Relaxed);
                    return taken;
                };
                taken.push(number);
                // Each of these threads starts its share of loans anew, or there would soon be none.
                locked.locked.revocations = 0;
                locked.release_to(&borrower);
            }
        };
        let lock = || {
            let mut taken = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                taken.extend(port.lock().take());
                std::thread::yield_now();
            }
            taken
        };
        let mut all: Vec<usize> = std::thread::scope(|scope| {
            let threads = [scope.spawn(borrow), scope.spawn(borrow), scope.spawn(lock)];
            let taken = threads.map(|thread| thread.join().unwrap());
            taken.into_iter().flatten().collect()
        });
        all.sort_unstable();
        assert!(all.iter().copied().eq(1..END), "round {round}");
    }
}

/// Short texts go through the loan, or else under the lock, and arrive in order. Texts without room are left
/// to others.
#[test]
fn short_texts_arrive_in_order() {
    let handle = Handle::channel("channel");
    let port = TextOutput::new(handle, EncodeOptions::default()).share();
    let (one, other) = (Borrower::default(), Borrower::default());
    let mut expected = Vec::new();
    let mut put = |port: &SharedPort<TextOutput>, borrower: &Borrower, text: &[u8]| {
        let done = port.put_through_loan(borrower, text) || port.put_at_once(borrower, text);
        if done {
            expected.extend_from_slice(text);
        }
        done
    };
    for number in 0..2000 {
        let borrower = if number % 100 < 90 { &one } else { &other };
        assert!(put(&port, borrower, format!("{number} ").as_bytes()));
    }
    // Longer than what is lent, and than the buffer.
    assert!(put(&port, &one, &[b'x'; 10_000]));
    assert!(!put(&port, &one, &[b'y'; 100_000]));
    let mut locked = port.lock();
    locked.write_str("é", Wait::Blocking).unwrap();
    locked.flush(Wait::Blocking).unwrap();
    drop(locked);
    expected.extend_from_slice("é".as_bytes());
    assert_eq!(port.lock().take_accepted(), expected);
    port.lock().close(Wait::Blocking).unwrap();
    assert!(!port.put_through_loan(&one, b"z") && !port.put_at_once(&one, b"z"));
}

#[test]
fn what_leaves_line_by_line_is_not_put_at_once() {
    let handle = Handle::channel("channel");
    let port = TextOutput::new(handle, EncodeOptions::default()).share();
    port.lock().set_buffering(crate::Buffering::Line);
    let borrower = Borrower::default();
    assert!(!port.put_at_once(&borrower, b"line\n"));
}

#[test]
fn an_error_is_left_to_who_tries_again() {
    let handle = Handle::channel("channel");
    let port = TextOutput::new(handle.clone(), EncodeOptions::default()).share();
    let borrower = Borrower::default();
    assert!(port.put_at_once(&borrower, b"begin"));
    handle.close().unwrap();
    let put = || {
        port.put_through_loan(&borrower, &[b'x'; 100]) || port.put_at_once(&borrower, &[b'x'; 100])
    };
    assert!((0..10_000).any(|_| !put()), "the buffer ends somewhere");
    assert!(!put());
    let outcome = port.lock().write_latin1(&[b'x'; 100], Wait::NonBlocking);
    assert!(
        matches!(outcome, Err(crate::IoError::Closed(_))),
        "{outcome:?}"
    );
}
