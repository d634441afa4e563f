//! Calls of guests that wait for an address of a shared memory.
//!
//! The wait is one for a notice, which is given when the guest is notified. In a task it parks that, so
//! that no thread of the pool stands still. Elsewhere it ends now and then, to let interrupts be seen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_sched::{Interest, Notice, hook};
use canny_wasm::Waiter;

/// How long a thread that nobody parks waits before somebody looks whether it is interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until a guest is notified, or has the task parked. The wait may end earlier: the run finds out
/// what has become of it.
pub(super) fn wait(waiter: &Waiter) {
    let notice = Arc::new(Notice::new());
    let seen = notice.look();
    let given = Arc::clone(&notice);
    waiter.on_notification(move || given.give());
    let look = (!hook::is_parking()).then(|| Instant::now() + LOOK);
    let deadline = [waiter.deadline(), look].into_iter().flatten().min();
    canny_sched::wait(&[Interest::Notice(&notice, seen)], deadline, None);
}
