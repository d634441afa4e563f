//! Waiting for an address of a shared memory, and waking those who wait.
//!
//! A run that waits is left with [`Event::WaitFor`](crate::Event::WaitFor), and its [`Waiter`] stands in
//! the queue of the address until somebody notifies it, its time is over, or the run ends. The embedder
//! parks the task, or blocks the thread.
//!
//! | shared state | written by | when |
//! |---|---|---|
//! | the queues | a run that waits, notifies or stops waiting | under their lock |
//! | a waiter's state | a run that notifies, under the lock of the queues too | under its own lock |
//! | the callback in it | the embedder of the run that waits | under the same lock |
//!
//! The expected value is compared under the lock of the queues. A guest changes the number before it
//! notifies, so that no notification is lost.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use canny_locks::{Condvar, Mutex};

/// The runs that wait for addresses of a memory, by address, the longest first.
#[derive(Default, Debug)]
pub struct WaitQueues {
    by_address: Mutex<HashMap<u64, VecDeque<Waiter>>>,
}

/// A run that waits for an address of a shared memory. Clones are the same one.
#[derive(Clone)]
pub struct Waiter {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    notified: Condvar,
    ends: Option<Instant>,
}

#[derive(Default)]
struct State {
    is_notified: bool,
    callback: Option<Box<dyn FnOnce() + Send>>,
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a waiter until {:?}", self.shared.ends)
    }
}

impl Waiter {
    fn new(ends: Option<Instant>) -> Waiter {
        Waiter {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                notified: Condvar::new(),
                ends,
            }),
        }
    }

    /// When it stops waiting, if ever.
    pub fn deadline(&self) -> Option<Instant> {
        self.shared.ends
    }

    /// Blocks the thread until the wait is over.
    pub fn block(&self) {
        let mut state = self.shared.state.lock();
        while !state.is_notified {
            state = match self.shared.ends {
                None => self.shared.notified.wait(state),
                Some(ends) => {
                    let rest = ends.saturating_duration_since(Instant::now());
                    if rest.is_zero() {
                        return;
                    }
                    self.shared.notified.wait_timeout(state, rest).0
                }
            };
        }
    }

    /// Has something called as soon as the wait is notified, in the place of what was said before. It may
    /// be called at once, and on any thread, which holds locks meanwhile.
    pub fn on_notification(&self, call: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state.lock();
        if state.is_notified {
            drop(state);
            call();
        } else {
            state.callback = Some(Box::new(call));
        }
    }

    pub fn is_notified(&self) -> bool {
        self.shared.state.lock().is_notified
    }

    fn notify(&self) {
        let callback = {
            let mut state = self.shared.state.lock();
            state.is_notified = true;
            self.shared.notified.notify_all();
            state.callback.take()
        };
        if let Some(call) = callback {
            call();
        }
    }
}

impl WaitQueues {
    /// Takes a place in the queue of an address if a condition holds.
    pub fn enter(
        &self,
        address: u64,
        ends: Option<Instant>,
        holds: impl FnOnce() -> bool,
    ) -> Option<Waiter> {
        let mut queues = self.by_address.lock();
        holds().then(|| {
            let waiter = Waiter::new(ends);
            queues.entry(address).or_default().push_back(waiter.clone());
            waiter
        })
    }

    /// Leaves a queue; whether the waiter was notified before.
    pub fn leave(&self, address: u64, waiter: &Waiter) -> bool {
        let mut queues = self.by_address.lock();
        if let Some(queue) = queues.get_mut(&address) {
            queue.retain(|known| !Arc::ptr_eq(&known.shared, &waiter.shared));
            if queue.is_empty() {
                queues.remove(&address);
            }
        }
        waiter.is_notified()
    }

    /// Wakes those who have waited longest for an address, as many as that at most; gives how many.
    pub fn notify(&self, address: u64, count: u32) -> u32 {
        let mut queues = self.by_address.lock();
        let Some(queue) = queues.get_mut(&address) else {
            return 0;
        };
        let woken = queue.len().min(count as usize);
        let waiters: Vec<Waiter> = queue.drain(..woken).collect();
        if queue.is_empty() {
            queues.remove(&address);
        }
        // Under the lock, so that none of them finds its time over when it was counted here.
        waiters.iter().for_each(Waiter::notify);
        woken as u32
    }
}

/// Bits of an offset in an instruction that waits; no memory reaches farther.
const OFFSET_BITS: u32 = 48;

/// The numbers of an instruction that waits: its memory and its offset. An offset that no memory reaches
/// becomes another one, which is a multiple of the same numbers.
pub fn pack(memory: u32, offset: u64) -> [u32; 2] {
    let greatest = (1 << OFFSET_BITS) - 8;
    let offset = offset.min(greatest | offset & 7);
    [memory << 16 | (offset >> 32) as u32, offset as u32]
}

/// Memory and offset of such an instruction.
pub fn unpack(numbers: [u32; 2]) -> (usize, u64) {
    let [upper, lower] = numbers;
    let offset = u64::from(upper & 0xffff) << 32 | u64::from(lower);
    ((upper >> 16) as usize, offset)
}
