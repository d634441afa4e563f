//! The tasks of the machine, as a debugger lists them: names, what they do, what they wait for, where.
//!
//! Tasks are found by a walk through the heap, so that no program pays for the list. A task that waits
//! has its frames in its continuation; one that runs shows them when it stops.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use canny_tables::kinds::Kind;
use canny_tables::protocols::{task, waiter};
use canny_value::{ObjectRef, Value};

use super::TaskKey;
use super::frames::DebugFrame;
use crate::data::strings::string_text;
use crate::data::symbols::symbol_name;
use crate::frames::FrameDescription;
use crate::tasks::waiter_parts;
use crate::thread::Thread;

/// Field of a future with its state.
const FUTURE_STATE: usize = 2;
/// The state of one that has no value yet.
const PENDING: &str = "pending";

/// Frames of the place where a task was started that are kept.
const START_FRAMES: usize = 10;
/// The same for the place where one was woken up.
const WAKE_FRAMES: usize = 16;
/// Tasks whose start is kept, and those whose wake is.
const TASKS_MAX: usize = 20_000;

/// The activity of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It runs, or stands still in a debugger.
    Running,
    /// It waits for a thread only.
    Ready,
    /// It waits for something else.
    Waiting,
}

/// A task that has not ended.
#[derive(Clone, Debug)]
pub struct TaskDescription {
    /// Its key.
    pub key: TaskKey,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// Its activity.
    pub state: TaskState,
    /// The thing that it waits for: the kind, and the thing's name.
    pub waits_for: Option<String>,
    /// The task that has the thing.
    pub owner: Option<TaskKey>,
}

/// Where tasks were started: the starter, and its frames.
#[derive(Debug, Default)]
pub(super) struct Starts(HashMap<i64, (TaskKey, Vec<DebugFrame>)>);

/// Where another task has ended a wait: by a value that it sent, by an event, by its end.
#[derive(Clone, Debug)]
pub struct Wake {
    /// The other task.
    pub waker: TaskKey,
    /// The procedure of the library that it had called.
    pub by: Option<String>,
    /// Its newest frames of the program.
    pub frames: Vec<DebugFrame>,
}

/// The last wakes of tasks that have not ended.
#[derive(Debug, Default)]
pub(super) struct Wakes(HashMap<i64, Wake>);

impl Wakes {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The name of a task by its record; none for what is no task.
pub(super) fn key_of(record: Value) -> TaskKey {
    let record = record.as_kind(Kind::Record);
    let number = record
        .filter(|record| record.length() > task::NUMBER)
        .and_then(|record| record.field(task::NUMBER).as_fixnum());
    TaskKey(number)
}

impl Thread {
    /// The tasks that have not ended, by number. Collects the whole heap.
    pub fn debug_tasks(&mut self) -> Vec<TaskDescription> {
        let mut found: Vec<TaskDescription> = Vec::new();
        self.each_task(&mut |thread, record| found.extend(thread.describe_task(record)));
        found.sort_by_key(|one| one.key);
        found
    }

    /// The continuation of a task that waits, whose frames can be read. Collects the whole heap.
    pub fn debug_continuation_of_task(&mut self, key: TaskKey) -> Option<Value> {
        let mut found = None;
        self.each_task(&mut |_, record| {
            if record.field(task::NUMBER).as_fixnum() == key.0 {
                found = Some(record.field(task::CONTINUATION));
            }
        });
        found
    }

    /// Where a task was started, if that happened under the debugger.
    pub fn debug_start_of_task(&self, key: TaskKey) -> Option<(TaskKey, Vec<DebugFrame>)> {
        let state = self.vm.debugger.lock();
        state.starts.0.get(&key.0?).cloned()
    }

    /// A task is started here, with this number.
    #[inline]
    pub(crate) fn debug_start(&self, number: i64) {
        // The main task has the number 0.
        if number > 0 && self.vm.debugger.is_on() {
            self.note_start_for_debugger(number);
        }
    }

    #[cold]
    fn note_start_for_debugger(&self, number: i64) {
        let (_, frames) = self.own_frames_for_debugger(START_FRAMES);
        let starter = self.task_key();
        let mut state = self.vm.debugger.lock();
        if state.starts.0.len() < TASKS_MAX {
            state.starts.0.insert(number, (starter, frames));
        }
    }

    /// Where another task has ended the last wait of this one, if that is known.
    pub fn debug_wake_of_task(&self, key: TaskKey) -> Option<Wake> {
        let state = self.vm.debugger.lock();
        state.wakes.0.get(&key.0?).cloned()
    }

    /// A waiter's task is woken up here.
    #[inline]
    pub(crate) fn debug_ready(&self, waiter: Value) {
        if self.vm.debugger.notes_wakes() {
            self.note_wake_for_debugger(waiter);
        }
    }

    #[cold]
    fn note_wake_for_debugger(&self, waiter: Value) {
        let Some((_, task)) = waiter_parts(waiter) else {
            return;
        };
        // One that has not begun yet is started, not woken.
        if self.sealed_of(task.field(task::CONTINUATION)).is_none() {
            return;
        }
        let woken = key_of(task.value());
        let TaskKey(Some(number)) = woken else {
            return;
        };
        let wake = self.wake_by_this_task(woken);
        let mut state = self.vm.debugger.lock();
        let wakes = &mut state.wakes.0;
        match wake {
            Some(wake) if wakes.len() < TASKS_MAX || wakes.contains_key(&number) => {
                wakes.insert(number, wake);
            }
            _ => {
                wakes.remove(&number);
            }
        }
    }

    fn wake_by_this_task(&self, woken: TaskKey) -> Option<Wake> {
        // A task that parks wakes others when it is none any more, but its frames are there.
        let current = self.task_key();
        let waker = current.0.map_or(self.debug.left, |_| current);
        if waker.0.is_none() || waker == woken {
            return None;
        }
        let (by, frames) = self.own_frames_for_debugger(WAKE_FRAMES);
        // The machine itself may have ended the wait, after the task that was there before.
        if current.0.is_none() && frames.is_empty() {
            return None;
        }
        Some(Wake { waker, by, frames })
    }

    /// Time, a file or a socket has ended the wait of a task, so nobody has woken it.
    #[inline]
    pub(crate) fn debug_wake_without_task(&self, task: Value) {
        if self.vm.debugger.notes_wakes() {
            self.forget_wake(task);
        }
    }

    #[cold]
    fn forget_wake(&self, task: Value) {
        if let TaskKey(Some(number)) = key_of(task) {
            self.vm.debugger.lock().wakes.0.remove(&number);
        }
    }

    /// The newest frames of the program, up to so many; before them the name of the procedure of the
    /// library that the newest one has called.
    fn own_frames_for_debugger(&self, count_max: usize) -> (Option<String>, Vec<DebugFrame>) {
        /// Frames that are looked at for those of the program.
        const SEARCHED: usize = 40;
        let mut frames = self.describe_frames(SEARCHED);
        let newest = frames.iter().position(|frame| !frame.is_library);
        let Some(newest) = newest else {
            return called_in_the_end(&self.describe_frames_and_tail_calls(SEARCHED));
        };
        let called = frames[..newest].last().and_then(|frame| frame.name.clone());
        let own = frames.drain(newest..).filter(|frame| !frame.is_library);
        let own = own.take(count_max).map(DebugFrame::without_unit);
        (called, own.collect())
    }

    /// The thread has left a task, whose record this is.
    pub(crate) fn debug_leave_task(&mut self, record: Value) {
        self.debug.left = key_of(record);
    }

    /// The task that was left last has come to its end.
    #[inline]
    pub(crate) fn debug_end_of_task(&mut self) {
        if self.vm.debugger.is_on() {
            self.forget_ended_task();
        }
    }

    /// Nobody asks for the start of a task that has ended, nor waits for a step of it.
    #[cold]
    fn forget_ended_task(&mut self) {
        let task = self.debug.left;
        let TaskKey(Some(number)) = task else {
            return;
        };
        let mut state = self.vm.debugger.lock();
        state.starts.0.remove(&number);
        state.wakes.0.remove(&number);
        state.steps.remove(&task);
        state.pauses.remove(&task);
        state.repetitions.remove(&task);
        let left = state.repetitions.len();
        self.vm.debugger.repetitions.store(left, Ordering::Relaxed);
    }

    fn each_task(&mut self, visit: &mut dyn FnMut(&Thread, ObjectRef)) {
        let Some(task_type) = self.vm.root(crate::profile::TASK_TYPE) else {
            return;
        };
        // There is no safepoint until all of the list was read.
        let mut rest = self.instances_of(task_type);
        while let Some(pair) = rest.as_pair() {
            rest = pair.cdr();
            let record = pair.car().as_kind(Kind::Record);
            if let Some(record) = record.filter(|record| record.length() >= task::WORDS) {
                visit(self, record);
            }
        }
    }

    fn describe_task(&self, record: ObjectRef) -> Option<TaskDescription> {
        let future = record.field(task::FUTURE).as_kind(Kind::Record)?;
        let is_pending = future.length() > FUTURE_STATE
            && symbol_name(future.field(FUTURE_STATE)).as_deref() == Some(PENDING);
        let number = record.field(task::NUMBER).as_fixnum()?;
        // The main task's future is never settled.
        if !is_pending {
            return None;
        }
        let its_waiter = record.field(task::WAITER).as_kind(Kind::Record);
        let is_claimed = its_waiter.is_none_or(|one| one.field(waiter::STATE).is_true());
        let state = match record.field(task::CONTINUATION) {
            Value::FALSE => TaskState::Running,
            _ if is_claimed => TaskState::Ready,
            _ => TaskState::Waiting,
        };
        let wait = (state == TaskState::Waiting).then(|| self.described_wait(record.value()));
        let name = record.field(task::NAME);
        Some(TaskDescription {
            key: TaskKey(Some(number)),
            name: symbol_name(name).or_else(|| string_text(name)),
            state,
            owner: wait.as_ref().and_then(|(_, owner)| *owner),
            waits_for: wait.map(|(text, _)| text),
        })
    }

    fn described_wait(&self, record: Value) -> (String, Option<TaskKey>) {
        let (kind, name, owner) = self.purpose_of_wait(record);
        let text = match name {
            Some(name) => format!("{kind} {name}"),
            None => kind.to_owned(),
        };
        (text, owner.map(|number| TaskKey(Some(number as i64))))
    }
}

/// The procedure of the program that has ended with a tail call, and what it has called, if there are only
/// frames of the library.
fn called_in_the_end(frames: &[FrameDescription]) -> (Option<String>, Vec<DebugFrame>) {
    for frame in frames {
        let mut called = &frame.name;
        for caller in frame.tail_callers.iter().take_while(|one| one.is_certain) {
            if !caller.is_library {
                let own = DebugFrame {
                    unit: String::new(),
                    address: None,
                    name: caller.name.clone(),
                    position: caller.position.clone(),
                    is_library: false,
                    is_program: false,
                    listing: None,
                    values: Vec::new(),
                    tail_callers: Vec::new(),
                };
                return (called.clone(), vec![own]);
            }
            called = &caller.name;
        }
    }
    (None, Vec::new())
}

impl DebugFrame {
    fn without_unit(frame: FrameDescription) -> DebugFrame {
        DebugFrame {
            unit: String::new(),
            address: None,
            name: frame.name,
            position: frame.position,
            is_library: frame.is_library,
            is_program: frame.is_program,
            listing: frame.listing,
            values: frame.values,
            tail_callers: frame.tail_callers,
        }
    }
}
