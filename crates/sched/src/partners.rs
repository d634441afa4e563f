//! Partners: tasks that make each other ready and then wait, as over a channel. To wake another worker
//! for such a word costs more than the word's turn here, which comes next, and has the tasks move from
//! processor to processor.
//!
//! A worker foresees that: when so many words that were alone in its ring were taken by itself in the turn
//! after the one that pushed them, it wakes no worker for the next ones that are alone. The steward looks
//! after those twice in a short time. If one still waits behind the same item then, the worker was wrong:
//! others are called, and it needs twice as many such words before it believes that again. So what is lost by
//! wrong guesses is bounded, however long the items compute: about a tick of the steward for each doubling.
//!
//! | field | written by |
//! |---|---|
//! | `pushed_in`, `streak` | the worker, in pushes and takes; the steward, which sets the streak to nought |
//! | `needed` | the steward; the worker after a long streak |
//!
//! Both are guesses: a write that is lost costs a wake-up too many or a wait of one more tick.

use super::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// So many words in a row, at first.
const NEEDED_FIRST: u32 = 32;
/// At most so many.
const NEEDED_MAX: u32 = 1 << 20;
/// After so many times the words that it needed it needs half as many.
const LONG_STREAK: u32 = 64;

#[derive(Debug)]
pub(crate) struct Partners {
    /// The turn in which a word was pushed that was alone.
    pushed_in: AtomicU64,
    /// Words taken in the turn after their push, since the last wrong guess.
    streak: AtomicU32,
    needed: AtomicU32,
}

impl Default for Partners {
    fn default() -> Partners {
        Partners {
            pushed_in: AtomicU64::new(u64::MAX),
            streak: AtomicU32::new(0),
            needed: AtomicU32::new(NEEDED_FIRST),
        }
    }
}

impl Partners {
    /// The worker pushes a word in a turn, alone in its ring or not; whether it had better wake others.
    #[inline]
    pub(crate) fn push(&self, turn: u64, is_alone: bool) -> bool {
        if !is_alone {
            return true;
        }
        self.pushed_in.store(turn, Ordering::Relaxed);
        self.streak.load(Ordering::Relaxed) < self.needed.load(Ordering::Relaxed)
    }

    /// The worker takes a word of its own ring in a turn.
    #[inline]
    pub(crate) fn take(&self, turn: u64) {
        if self.pushed_in.load(Ordering::Relaxed).wrapping_add(1) != turn {
            return;
        }
        let streak = self.streak.load(Ordering::Relaxed).saturating_add(1);
        let needed = self.needed.load(Ordering::Relaxed);
        if streak > needed.saturating_mul(LONG_STREAK) && needed > NEEDED_FIRST {
            self.needed.store(needed / 2, Ordering::Relaxed);
            self.streak.store(needed / 2, Ordering::Relaxed);
        } else {
            self.streak.store(streak, Ordering::Relaxed);
        }
    }

    /// Whether the worker wakes no other one for a word that is alone.
    pub(crate) fn are_foreseen(&self) -> bool {
        self.streak.load(Ordering::Relaxed) >= self.needed.load(Ordering::Relaxed)
    }

    /// A word that no worker was woken for has to wait.
    pub(crate) fn was_wrong(&self) {
        let needed = self.needed.load(Ordering::Relaxed);
        self.needed
            .store(needed.saturating_mul(2).min(NEEDED_MAX), Ordering::Relaxed);
        self.streak.store(0, Ordering::Relaxed);
    }
}
