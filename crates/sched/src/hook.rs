//! Waits that are abandoned, since the system thread has something better to do meanwhile.
//!
//! A thread that runs tasks puts itself in charge of the waits of its own thread for as long as an
//! operation lasts. A wait that would sleep then ends with [`Wake::Parked`](crate::Wake::Parked) when
//! the parking has taken note of what it was for; the operation, which has consumed nothing, is done
//! again once that has come.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use crate::Interest;

/// In charge of the waits of a thread.
pub trait Parking {
    /// Takes note of a wait; `false` to have it sleep.
    fn park(&self, interests: &[Interest<'_>], deadline: Option<Instant>) -> bool;
}

thread_local! {
    static PARKING: RefCell<Option<Rc<dyn Parking>>> = const { RefCell::new(None) };
}

/// Hands the waits of the calling thread to a hook while `work` runs.
pub fn with_parking<R>(parking: Rc<dyn Parking>, work: impl FnOnce() -> R) -> R {
    /// Puts things back when `work` unwinds, too.
    struct Restore(Option<Rc<dyn Parking>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            PARKING.set(self.0.take());
        }
    }
    let _restore = Restore(PARKING.replace(Some(parking)));
    work()
}

/// Whether a hook is in charge on this thread.
pub fn is_parking() -> bool {
    PARKING.with_borrow(Option::is_some)
}

/// The hook in charge on this thread.
pub(crate) fn parking() -> Option<Rc<dyn Parking>> {
    PARKING.with_borrow(Clone::clone)
}
