//! Finding out that nothing can happen any more: no word is ready or parked, and every worker is idle.
//!
//! The main worker is notified, since it never goes. The worker that goes idle last wakes it for that; it
//! looks by itself whenever it is awake. Words from outside, such as those of a thread of another library,
//! are not foreseen.

use super::super::names::WorkerId;
use super::super::statistics::read;
use super::super::sync::atomic::Ordering;
use super::super::workers::WorkerState;
use super::Pool;

impl Pool {
    /// Whether nothing can happen any more. A worker that goes idle has pushed what it had to push
    /// before, so that the queues are looked at after the workers; one that came for a word meanwhile
    /// has counted a turn.
    pub(crate) fn is_quiet(&self) -> bool {
        if !self.config.reports_quiet || self.parked() > 0 {
            return false;
        }
        let turns = self.turns();
        self.workers.all().all(|(_, worker)| {
            matches!(
                worker.state(),
                WorkerState::Free | WorkerState::Idle | WorkerState::Leaving
            ) && worker.pinned.len() == 0
        }) && self.queued() == 0
            && self.timed.len() == 0
            && self.parked() == 0
            && self.turns() == turns
    }

    /// How many items were begun.
    fn turns(&self) -> u64 {
        let workers = self.workers.all();
        workers
            .map(|(_, worker)| worker.turns.load(Ordering::SeqCst))
            .fold(read(&self.counters.started), u64::wrapping_add)
    }

    /// This worker has gone idle: the main one shall know if it was the last.
    pub(crate) fn tell_if_quiet(&self, id: WorkerId) {
        if id != WorkerId::MAIN && self.is_quiet() {
            self.rouse(&self.workers.get(WorkerId::MAIN).sleeper);
        }
    }
}
