//! Tasks in profiles: who started them, when they run and begin to wait, and labels.
//!
//! The number of the task that runs is in the thread's sampler, for the signal handler. A task that parks
//! does so in two steps, as `canny_sched` does: it is dropped (`%set-current-task!`), and its thread then
//! looks for another one (`%serve`), with the frames of the wait still there. In between another thread may
//! have taken it up; then its wait has no frames.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_profile::model::{Builder, LabelSetIndex, Rows, StackIndex, TaskIndex, Translation};
use canny_spesh::code_map::FastMap;
use canny_tables::kinds::Kind;
use canny_tables::layout::continuation::PARAMETERS;
use canny_tables::protocols::{task, waiter};
use canny_value::Value;

use super::Recording;
use super::budget::Marks;
use super::capture::now_ns;
use super::waits::{OpenWait, OpenWaits, Operation, Parking, Reason};
use super::walk::{Execution, FRAMES_MAX, Link};
use crate::Vm;
use crate::control::dynamic_state::entry_of;
use crate::data::strings::string_text;
use crate::data::symbols::symbol_name;
use crate::frames::FrameWalk;
use crate::thread::Thread;

/// Name of the machine's root with the parameter of labels.
pub(crate) const LABELS: &str = "profile-labels";
/// Name of the root with the record type of tasks.
pub(crate) const TASK_TYPE: &str = "profile-task-type";

/// The tasks of a profile.
#[derive(Debug)]
pub(super) struct TaskTable {
    rows: FastMap<u64, TaskIndex>,
    /// By row: the stack that started the task.
    stacks: Vec<Option<StackIndex>>,
    /// The starters of tasks that are not known yet.
    starters: FastMap<u64, (TaskIndex, Option<StackIndex>, u64)>,
    pub(super) waits: OpenWaits,
    machine: Option<TaskIndex>,
}

/// The number of the main program as long as tasks are not used, and of a thread that runs no task.
pub(super) const MAIN: u64 = u64::MAX;

impl TaskTable {
    /// A table with the main program.
    pub(super) fn new(rows: &mut Builder, marks: Arc<Marks>) -> TaskTable {
        let main = rows.task(0, Some("main"), None, 0);
        TaskTable {
            rows: FastMap::from_iter([(MAIN, main)]),
            stacks: vec![None],
            starters: FastMap::default(),
            waits: OpenWaits::new(marks),
            machine: None,
        }
    }

    /// The row of what the machine does for all tasks.
    pub(super) fn machine(&mut self, rows: &mut Builder) -> TaskIndex {
        if let Some(row) = self.machine {
            return row;
        }
        let row = rows.task(MAIN, Some("machine"), None, 0);
        self.stacks.push(None);
        self.machine = Some(row);
        row
    }

    /// The row of a task.
    pub(super) fn row(&mut self, number: u64, rows: &mut Builder) -> TaskIndex {
        match self.rows.get(&number) {
            Some(row) => *row,
            None => self.add(number, None, rows),
        }
    }

    /// Makes the row of a task whose name is known, unless there is one.
    pub(super) fn name(&mut self, number: u64, name: Option<&str>, rows: &mut Builder) {
        if !self.rows.contains_key(&number) {
            self.add(number, name, rows);
        }
    }

    fn add(&mut self, number: u64, name: Option<&str>, rows: &mut Builder) -> TaskIndex {
        if name == Some("main") {
            // The main program has a number of its own once tasks are used.
            let main = self.rows[&MAIN];
            self.rows.insert(number, main);
            return main;
        }
        let starter = self.starters.remove(&number);
        let (starter, stack, at_ns) = match starter {
            Some((starter, stack, at_ns)) => (Some(starter), stack, at_ns),
            None => (None, None, 0),
        };
        let row = rows.task(number, name, starter, at_ns);
        self.rows.insert(number, row);
        self.stacks.push(stack);
        row
    }

    /// Gives the next table the waits that last, as if they began at a time, and the stacks that started
    /// their tasks. `rows` has all tables of this profile.
    pub(super) fn carry_waits(
        &self,
        rows: &Rows,
        next: &mut TaskTable,
        builder: &mut Builder,
        from_ns: u64,
    ) {
        let mut translation = Translation::new(rows);
        for (number, wait) in self.waits.iter() {
            let wait = wait.carried(from_ns, &mut translation, builder);
            next.waits.begin(*number, wait);
            let Some(task) = self.rows.get(number) else {
                continue;
            };
            if task.row() == 0 {
                next.rows.insert(*number, *task);
                continue;
            }
            let row = rows.tasks.get(task.row()).copied().unwrap_or_default();
            let name = row.name.and_then(|name| rows.strings.get(name.row()));
            let starter = self.starter_stack(*task);
            let starter = starter.map(|stack| translation.stack(stack, builder));
            let task = builder.task(*number, name.map(|name| &**name), None, 0);
            next.rows.insert(*number, task);
            next.stacks.push(starter);
        }
    }

    /// A task has ended.
    pub(super) fn end(&mut self, number: u64) {
        self.waits.end(number);
        self.starters.remove(&number);
    }

    /// The stack that started a task.
    pub(super) fn starter_stack(&self, task: TaskIndex) -> Option<StackIndex> {
        self.stacks.get(task.row()).copied().flatten()
    }
}

/// The number of a task, and its name.
pub(super) fn task_of(record: Value) -> Option<(u64, Option<String>)> {
    let record = record.as_kind(Kind::Record)?;
    if record.length() < task::WORDS {
        return None;
    }
    let number = record.field(task::NUMBER).as_index()? as u64;
    Some((number, text_of(record.field(task::NAME))))
}

pub(super) fn text_of(value: Value) -> Option<String> {
    match value.as_kind(Kind::Symbol) {
        Some(_) => symbol_name(value),
        None => string_text(value),
    }
}

/// The number of a task.
pub(super) fn task_number(record: Value) -> Option<u64> {
    let record = record.as_kind(Kind::Record)?;
    let record = (record.length() >= task::WORDS).then_some(record)?;
    Some(record.field(task::NUMBER).as_index()? as u64)
}

/// The same of the task of a waiter.
pub(super) fn task_of_waiter(waiter: Value) -> Option<u64> {
    let record = waiter.as_kind(Kind::Record)?;
    let record = (record.length() >= waiter::WORDS).then_some(record)?;
    task_number(record.field(waiter::TASK))
}

impl Thread {
    /// Tells the profiler which task runs; `#f` if none does.
    pub(super) fn note_task(&mut self, record: Value) {
        // The labels and continuations of the task that is left are still in force.
        if self.profile.has_samples() || self.mutator().has_pending_samples() {
            self.read_samples();
        }
        let Some(sampler) = &self.profile.sampler else {
            return;
        };
        let number = task_number(record);
        // Nobody else writes it.
        let last = sampler.task.load(Ordering::Relaxed);
        sampler
            .task
            .store(number.unwrap_or(MAIN), Ordering::Relaxed);
        let Some(budget) = &mut self.profile.budget else {
            return;
        };
        let marks = &self.vm.profiler.marks;
        match number {
            Some(number) if marks.may_be_noted(number) => self.note_end_of_wait(number, record),
            None if last != MAIN => {
                let operation = self.profile.operation.take();
                match budget.choose() {
                    Some(weight) => self.note_wait(last, operation, weight),
                    None => {
                        marks.pass(last, operation.map(|operation| operation.kind()));
                        self.profile.parking = Some(Parking::Passed(last));
                    }
                }
            }
            _ => {}
        }
    }

    #[cold]
    fn note_end_of_wait(&mut self, number: u64, record: Value) {
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        if let Some(recording) = state.as_mut()
            && recording.tasks.waits.has(number)
        {
            if let Some((number, name)) = task_of(record) {
                recording.name_task(number, name.as_deref());
            }
            recording.end_wait(number, self.reason_of(record));
        }
    }

    /// The current task, with this number, is about to wait or to end.
    #[cold]
    fn note_wait(&mut self, number: u64, operation: Option<Operation>, weight: u64) {
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        let Some(recording) = state.as_mut() else {
            return;
        };
        recording.name_current_task(self);
        let label = self.profile_labels(&mut recording.rows);
        let wait = OpenWait::begin(label, operation, weight);
        recording.tasks.waits.begin(number, wait);
        self.profile.parked = self.tasks.current;
        self.profile.parking = Some(Parking::Noted(number));
    }

    /// The thread is about to change its task.
    #[inline]
    pub(crate) fn profile_task(&mut self, record: Value) {
        if self.profile.is_on() {
            self.note_task(record);
        }
    }

    /// The thread starts the task with this number.
    #[inline]
    pub(crate) fn profile_start(&self, number: i64) {
        if self.profile.is_on() {
            self.note_start(number as u64);
        }
    }

    #[cold]
    fn note_start(&self, number: u64) {
        let mut state = self.vm.profiler.lock();
        if let (Some(recording), Some(sampler)) = (state.as_mut(), &self.profile.sampler) {
            recording.name_current_task(self);
            let starter = recording.task_row(sampler.task.load(Ordering::Relaxed));
            let base = recording.tasks.starter_stack(starter);
            let stack = recording.stack(self, base, &self.chain());
            let at_ns = now_ns() - recording.start_ns;
            let started = (starter, stack, at_ns);
            recording.tasks.starters.insert(number, started);
        }
    }

    /// The places that are active now, the newest first. In a primitive.
    pub(super) fn chain(&self) -> Vec<Link> {
        let mut links = Vec::new();
        let mut walk = FrameWalk::without_liveness(self);
        while let Some(step) = walk.next() {
            if links.len() >= FRAMES_MAX {
                links.push(Link::Cut);
                return links;
            }
            if !step.is_trap {
                links.push(Link::Frame(step.pc as u64, Execution::Interpreted));
            }
        }
        let mut is_whole = true;
        self.each_sealed_frame(self.sealed, &mut |_, pc, _| {
            links.push(Link::Frame(pc as u64, Execution::Interpreted));
            is_whole = links.len() < FRAMES_MAX;
            is_whole
        });
        if !is_whole {
            links.push(Link::Cut);
        }
        links
    }

    /// Says under which key the parameters register has labels.
    pub fn set_profile_labels_key(&mut self, key: Value) {
        self.vm.set_root(LABELS, key);
    }

    /// In a profile that has just begun: notes the waits of tasks that were parked before, as if they
    /// began with it. Collects the whole heap to find them.
    pub fn note_parked_tasks(&mut self) {
        let vm = self.vm.clone();
        let Some(task_type) = vm.root(TASK_TYPE) else {
            return;
        };
        // There is no safepoint until all of the list was read.
        let mut rest = self.instances_of(task_type);
        while let Some(pair) = rest.as_pair() {
            rest = pair.cdr();
            if let Some(links) = self.parked_links(pair.car())
                && let Some((number, name)) = task_of(pair.car())
                && let Some(recording) = vm.profiler.lock().as_mut()
            {
                let why = self.reason_of(pair.car());
                recording.add_parked(self, (number, name), why, &links);
            }
        }
    }

    /// The places at which a task waits, the newest first; none unless it waits.
    fn parked_links(&self, record: Value) -> Option<Vec<Link>> {
        let record = record.as_kind(Kind::Record)?;
        if record.length() < task::WORDS {
            return None;
        }
        let its_waiter = record.field(task::WAITER).as_kind(Kind::Record)?;
        if its_waiter.length() < waiter::WORDS || its_waiter.field(waiter::STATE).is_true() {
            return None;
        }
        self.links_of_continuation(record.field(task::CONTINUATION))
    }

    /// The places at which a continuation goes on, the newest first.
    pub(super) fn links_of_continuation(&self, continuation: Value) -> Option<Vec<Link>> {
        let sealed = self.sealed_of(continuation)?;
        let mut links = Vec::new();
        self.each_sealed_frame(sealed, &mut |_, pc, _| {
            links.push(Link::Frame(pc as u64, Execution::Interpreted));
            links.len() < FRAMES_MAX
        });
        if links.len() >= FRAMES_MAX {
            links.push(Link::Cut);
        }
        Some(links)
    }

    /// The labels in force.
    pub(super) fn profile_labels(&self, rows: &mut Builder) -> LabelSetIndex {
        label_set(&self.labels(), rows)
    }

    /// The labels in force where a continuation goes on.
    pub(super) fn labels_of_continuation(
        &self,
        continuation: Value,
        rows: &mut Builder,
    ) -> LabelSetIndex {
        let sealed = self.sealed_of(continuation);
        let newest = sealed.and_then(|sealed| sealed.newest());
        let parameters = newest.map_or(Value::NIL, |(object, _)| object.field(PARAMETERS));
        label_set(&self.labels_among(parameters), rows)
    }

    /// The labels in force as one text, empty if there are none.
    pub(super) fn label_text(&self) -> Arc<str> {
        let labels = self.labels().into_iter();
        let texts: Vec<String> = labels
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        texts.join(", ").into()
    }

    /// The same as texts.
    fn labels(&self) -> Vec<(String, String)> {
        self.labels_among(self.dynamic.parameters)
    }

    /// The labels of a value of the parameters register. Inner labels of a key hide outer ones.
    fn labels_among(&self, parameters: Value) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        let key = self.vm.root(LABELS);
        let entry = key.and_then(|key| entry_of(parameters, key));
        let mut rest = entry.and_then(Value::cdr).unwrap_or(Value::NIL);
        while let Some(pair) = rest.as_pair() {
            let label = pair.car();
            if let (Some(key), Some(value)) = (label.car(), label.cdr())
                && let (Some(key), Some(value)) = (text_of(key), text_of(value))
                && found.iter().all(|(known, _)| *known != key)
            {
                found.push((key, value));
            }
            rest = pair.cdr();
        }
        found
    }
}

fn label_set(labels: &[(String, String)], rows: &mut Builder) -> LabelSetIndex {
    let labels: Vec<_> = labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    rows.label_set(&labels)
}

impl Vm {
    /// Says which record type tasks have.
    pub fn set_profile_task_type(&self, task_type: Value) {
        self.set_root(TASK_TYPE, task_type);
    }
}

impl Recording {
    /// Notes a task that was parked before the profile began.
    fn add_parked(
        &mut self,
        thread: &Thread,
        (number, name): (u64, Option<String>),
        why: Reason,
        links: &[Link],
    ) {
        if self.tasks.waits.has(number) {
            return;
        }
        if !self.tasks.rows.contains_key(&number) {
            // The main task has the number 0.
            let name = if number == 0 {
                Some("main")
            } else {
                name.as_deref()
            };
            self.tasks.add(number, name, &mut self.rows);
        }
        let stack = self.stack(thread, None, links);
        let label = self.rows.label_set(&[]);
        let wait = OpenWait::parked(self.start_ns, label, stack, why);
        self.tasks.waits.begin(number, wait);
    }
}
