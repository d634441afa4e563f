//! Turns at the prompt of the debugger: tasks that stand still come one after the other, in the order in
//! which they stopped. People may choose another one. The holder of the turn owns what the
//! prompt keeps. Threads wait for their turn outside of the heap.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use canny_locks::{Condvar, Mutex, MutexGuard};
use canny_vm::debug::TaskKey;

/// Time in which a task that has made a step, or that people have chosen, comes back before others.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// Somebody at the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A task that stands still.
    Task(TaskKey),
    /// People, while no task stands still for them.
    People,
}

#[derive(Default)]
struct State {
    holder: Option<Who>,
    /// Those who wait, with numbers of their own.
    waiting: VecDeque<(u64, Who)>,
    tickets: u64,
    /// Until then nobody else gets the turn.
    preferred: Option<(Who, Instant)>,
    /// Tasks that stand still.
    standing: Vec<TaskKey>,
    /// Nobody asks any more.
    is_closed: bool,
}

impl State {
    /// How long somebody has to wait at least; none if it is their turn.
    fn delay(&mut self, ticket: u64, who: Who) -> Option<Duration> {
        const LONG: Duration = Duration::from_secs(3600);
        if self.holder.is_some() {
            return Some(LONG);
        }
        let now = Instant::now();
        match self.preferred {
            Some((preferred, until)) if until > now => {
                let is_first = self.waiting.iter().find(|(_, other)| *other == who);
                let is_own = preferred == who && is_first.is_some_and(|first| first.0 == ticket);
                (!is_own).then(|| until - now)
            }
            _ => {
                self.preferred = None;
                let is_first = self.waiting.front().is_some_and(|first| first.0 == ticket);
                (!is_first).then_some(LONG)
            }
        }
    }
}

/// Turns at something.
#[derive(Default)]
pub struct Turns<T> {
    state: Mutex<State>,
    changed: Condvar,
    kept: Mutex<T>,
}

/// The turn at hand, which ends with this value.
pub struct Turn<'t, T> {
    turns: &'t Turns<T>,
    /// There until the end.
    kept: Option<MutexGuard<'t, T>>,
}

impl<T> Turns<T> {
    /// Waits for a turn; none if nobody asks any more.
    pub fn take(&self, who: Who) -> Option<Turn<'_, T>> {
        let mut state = self.state.lock();
        state.tickets += 1;
        let ticket = state.tickets;
        state.waiting.push_back((ticket, who));
        loop {
            let delay = if state.is_closed {
                None
            } else {
                state.delay(ticket, who)
            };
            let Some(delay) = delay else {
                break;
            };
            state = self.changed.wait_timeout(state, delay).0;
        }
        state.waiting.retain(|one| one.0 != ticket);
        if state.is_closed {
            return None;
        }
        if state
            .preferred
            .is_some_and(|(preferred, _)| preferred == who)
        {
            state.preferred = None;
        }
        state.holder = Some(who);
        self.changed.notify_all();
        drop(state);
        // The holder before has left it.
        let kept = Some(self.kept.lock());
        Some(Turn { turns: self, kept })
    }

    /// A turn, unless somebody has or wants it.
    pub fn take_if_free(&self, who: Who) -> Option<Turn<'_, T>> {
        let is_free = {
            let state = self.state.lock();
            state.holder.is_none() && state.waiting.is_empty()
        };
        if is_free { self.take(who) } else { None }
    }

    /// The last turn, for the end: nobody gets another one.
    pub fn take_last(&self) -> MutexGuard<'_, T> {
        self.close();
        self.kept.lock()
    }

    /// Gives a turn to a task, and waits for another one. Whether the task took it in time.
    pub fn lend<'t>(
        &'t self,
        turn: Turn<'t, T>,
        own: Who,
        task: TaskKey,
    ) -> (Option<Turn<'t, T>>, bool) {
        let other = Who::Task(task);
        self.prefer(other);
        drop(turn);
        // Taking the turn ends the preference.
        let is_taken = self.waits_until(|state| {
            let preferred = state.preferred.map(|(preferred, _)| preferred);
            preferred != Some(other)
        });
        (self.take(own), is_taken)
    }

    /// Whether somebody gets the turn in time.
    pub fn is_taken_soon(&self) -> bool {
        self.waits_until(|state| state.holder.is_some())
    }

    fn waits_until(&self, is_so: impl Fn(&State) -> bool) -> bool {
        let end = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            if now >= end || state.is_closed {
                return false;
            }
            if is_so(&state) {
                return true;
            }
            state = self.changed.wait_timeout(state, end - now).0;
        }
    }

    /// Keeps the next turn for somebody, for a while.
    pub fn prefer(&self, who: Who) {
        self.state.lock().preferred = Some((who, Instant::now() + PATIENCE));
    }

    /// The holder of the turn.
    pub fn holder(&self) -> Option<Who> {
        self.state.lock().holder
    }

    /// A task has stopped, or goes on.
    pub fn note(&self, task: TaskKey, stands: bool) {
        let mut state = self.state.lock();
        state.standing.retain(|other| *other != task);
        if stands {
            state.standing.push(task);
        }
    }

    /// The tasks that stand still.
    pub fn standing(&self) -> Vec<TaskKey> {
        self.state.lock().standing.clone()
    }

    /// Nobody asks any more: all who wait go on.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.kept.as_ref().expect("it is there until the end")
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.kept.as_mut().expect("it is there until the end")
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.kept = None;
        self.turns.state.lock().holder = None;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const fn task(number: i64) -> Who {
        Who::Task(TaskKey(Some(number)))
    }

    #[test]
    fn turns_are_taken_in_order_unless_one_is_chosen() {
        let turns = Arc::new(Turns::<Vec<i64>>::default());
        let own = turns.take(Who::People).expect("it is open");
        let wait = |count: usize| {
            while turns.state.lock().waiting.len() < count {
                std::thread::yield_now();
            }
        };
        let mut threads = Vec::new();
        for number in 1..=3 {
            let turns = turns.clone();
            threads.push(std::thread::spawn(move || {
                let mut turn = turns.take(task(number)).expect("it is open");
                turn.push(number);
            }));
            wait(number as usize);
        }
        let (own, is_taken) = turns.lend(own, Who::People, TaskKey(Some(2)));
        drop(own);
        for thread in threads {
            thread.join().expect("it does not fail");
        }
        assert!(is_taken);
        assert_eq!(*turns.take(Who::People).expect("it is open"), [2, 1, 3]);
        turns.close();
        assert!(turns.take(Who::People).is_none());
    }
}
