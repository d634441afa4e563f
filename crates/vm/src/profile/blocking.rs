//! Waits that block a thread of the system, since no other task could run on it meanwhile.
//!
//! A profiled thread watches the waits of its own operations. The watch learns for what they are when they
//! begin to sleep, lets the timer of samples rest until they have ended, and keeps when it began.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use canny_profile::model::{Wait, WaitKind};
use canny_sched::Interest;
use canny_sched::hook::{Parking, with_parking};

use super::capture::{Sampler, now_ns};
use crate::thread::Thread;

/// Takes note of the wait of an operation, and has it sleep.
struct Watch {
    /// That of the thread, which keeps it: it is dropped at a safepoint only.
    sampler: *const Sampler,
    /// When the first wait began, and for what it is.
    began: Cell<Option<(u64, WaitKind)>>,
}

impl Parking for Watch {
    fn park(&self, interests: &[Interest<'_>], deadline: Option<Instant>) -> bool {
        if self.began.get().is_none() {
            let kind = match interests {
                [] if deadline.is_some() => WaitKind::Timer,
                [Interest::ChildEnded(_), ..] => WaitKind::Process,
                [Interest::Notice(..)] => WaitKind::Pool,
                _ => WaitKind::Socket,
            };
            self.began.set(Some((now_ns(), kind)));
            // SAFETY: the thread runs an operation outside of the heap, and keeps its sampler meanwhile.
            unsafe { (*self.sampler).pause() };
        }
        false
    }
}

impl Thread {
    /// Runs an operation that blocks the thread when it waits. A profile gets its wait.
    pub(crate) fn wait_watched<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let sampler = self.profile.sampler.as_deref();
        let Some(sampler) = sampler.filter(|_| self.profile.budget.is_some()) else {
            return self.block_outside_heap(work);
        };
        let watch = Rc::new(Watch {
            sampler,
            began: Cell::new(None),
        });
        let hook = watch.clone();
        let result = self.block_outside_heap(|| with_parking(hook, work));
        if let Some((from_ns, kind)) = watch.began.get() {
            self.resume_samples();
            self.note_blocked(from_ns, kind);
        }
        // Said of an operation that has ended.
        self.profile.operation = None;
        result
    }

    #[cold]
    fn note_blocked(&mut self, from_ns: u64, kind: WaitKind) {
        let said = self.profile.operation.take();
        let now = now_ns();
        let chosen = match &mut self.profile.budget {
            Some(budget) => budget.choose(),
            None => return,
        };
        let is_long = now.saturating_sub(from_ns) >= self.vm.profiler.marks.long_ns();
        let weight = match chosen {
            _ if is_long => 1,
            Some(weight) => weight,
            None => return,
        };
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        let (Some(recording), Some(sampler)) = (state.as_mut(), &self.profile.sampler) else {
            return;
        };
        let number = sampler.task.load(std::sync::atomic::Ordering::Relaxed);
        recording.name_current_task(self);
        let label = self.profile_labels(&mut recording.rows);
        let task = recording.task_row(number);
        let base = recording.tasks.starter_stack(task);
        let links = self.chain();
        let stack = recording.stack(self, base, &links);
        let (kind, on) = said.map_or((kind, None), super::waits::Operation::into_parts);
        let kind = match kind {
            WaitKind::Socket if self.is_in_database_library(&links) => WaitKind::Database,
            kind => kind,
        };
        let on = on.map(|on| recording.rows.string(&on));
        let since = |at_ns: u64| at_ns.saturating_sub(recording.start_ns);
        let (from_ns, resumed_ns) = (since(from_ns), since(now));
        recording.rows.wait(Wait {
            task,
            label,
            stack,
            from_ns,
            ready_ns: resumed_ns,
            resumed_ns,
            kind,
            on,
            holder: None,
            holder_stack: None,
            weight,
        });
    }
}
