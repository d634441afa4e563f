//! How long a thread waits that cannot be parked.

use std::time::{Duration, Instant};

use canny_sched::hook;

/// How long a thread that nobody parks waits before somebody looks whether it is interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// When a wait that cannot be parked is interrupted to look at the world.
pub fn patience() -> Option<Instant> {
    (!hook::is_parking()).then(|| Instant::now() + LOOK)
}
