//! Waits of tasks while a profile is taken: for what they are, how they end, and who holds the locks.
//!
//! The table of what tasks wait for is that of `%describe-waits!` in Scheme: rows of
//! [`wait_row`], by record types and symbols. Operations of the machine that wait for the world outside
//! say themselves for what ([`Thread::note_operation`]), since Scheme sees a ticket only.
//!
//! A wait for a lock knows the task that had it when the wait began. The stack of that task is the one
//! where it waits itself; if it runs, the one of its next sample or wait, or where it makes the next task
//! ready.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_profile::model::{Builder, LabelSetIndex, StackIndex, Translation, Wait, WaitKind};
use canny_sched::{Next, Pool};
use canny_spesh::code_map::FastMap;
use canny_tables::kinds::Kind;
use canny_tables::protocols::{task, wait_row};
use canny_value::Value;

use super::Recording;
use super::budget::{Budget, Marks, Passed};
use super::capture::{Sample, Sampler, now_ns, recent_ns};
use super::tasks::{task_number, task_of, task_of_waiter, text_of};
use super::walk::{Link, Walk, code_around};
use crate::data::values::record_type;
use crate::thread::Thread;

/// Name of the machine's root with the list of what tasks wait for.
pub(crate) const KINDS: &str = "kinds of waits";

/// The name by which operations wait for a process, and for its streams.
const PROCESS: &str = "process";

/// The thing that a task waits for.
#[derive(Clone, Debug)]
pub(super) struct Reason {
    kind: WaitKind,
    on: Option<String>,
    /// Task that has the object: number and name.
    owner: Option<(u64, Option<String>)>,
    /// It waits for an operation of the machine.
    is_operation: bool,
}

impl Reason {
    fn unknown() -> Reason {
        Reason {
            kind: WaitKind::Other,
            on: None,
            owner: None,
            is_operation: false,
        }
    }
}

/// An operation of the machine that is about to wait.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    kind: WaitKind,
    on: Option<String>,
}

impl Operation {
    pub(super) fn kind(&self) -> WaitKind {
        self.kind
    }

    pub(super) fn into_parts(self) -> (WaitKind, Option<String>) {
        (self.kind, self.on)
    }
}

/// The fate of a task that was dropped, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parking {
    /// Its wait is noted; the frames are missing.
    Noted(u64),
    /// Its wait was not chosen.
    Passed(u64),
}

/// A wait that has not ended.
#[derive(Debug)]
pub(super) struct OpenWait {
    from_ns: u64,
    ready_ns: Option<u64>,
    stack: Option<StackIndex>,
    label: LabelSetIndex,
    gives_way: bool,
    operation: Option<Operation>,
    holder: Option<u64>,
    holder_stack: Option<StackIndex>,
    /// The thing that it is for, if it had begun before the profile.
    reason: Option<Reason>,
    /// How many waits it stands for.
    weight: u64,
    /// Stack and labels are noted only when the task runs again.
    is_late: bool,
}

impl OpenWait {
    /// A wait that had begun before the profile.
    pub(super) fn parked(
        start_ns: u64,
        label: LabelSetIndex,
        stack: Option<StackIndex>,
        reason: Reason,
    ) -> OpenWait {
        OpenWait {
            from_ns: start_ns,
            stack,
            reason: Some(reason),
            ..OpenWait::begin(label, None, 1)
        }
    }

    /// The rest of the wait, in the profile that follows.
    pub(super) fn carried(
        &self,
        from_ns: u64,
        translation: &mut Translation,
        to: &mut Builder,
    ) -> OpenWait {
        let mut moved = |stack: Option<StackIndex>| stack.map(|one| translation.stack(one, to));
        let (stack, holder_stack) = (moved(self.stack), moved(self.holder_stack));
        OpenWait {
            from_ns,
            ready_ns: self.ready_ns.map(|_| from_ns),
            stack,
            label: translation.label_set(self.label, to),
            gives_way: self.gives_way,
            operation: self.operation.clone(),
            holder: self.holder,
            holder_stack,
            reason: self.reason.clone(),
            weight: self.weight,
            is_late: self.is_late,
        }
    }

    /// A wait that begins now.
    pub(super) fn begin(
        label: LabelSetIndex,
        operation: Option<Operation>,
        weight: u64,
    ) -> OpenWait {
        OpenWait {
            from_ns: now_ns(),
            ready_ns: None,
            stack: None,
            label,
            gives_way: false,
            operation,
            holder: None,
            holder_stack: None,
            reason: None,
            weight,
            is_late: false,
        }
    }

    /// A long wait that was not chosen when it began.
    fn late(label: LabelSetIndex, passed: Passed) -> OpenWait {
        let operation = passed.operation.map(|kind| Operation { kind, on: None });
        OpenWait {
            from_ns: passed.from_ns,
            is_late: true,
            ..OpenWait::begin(label, operation, 1)
        }
    }
}

/// The waits that have not ended.
#[derive(Debug)]
pub(super) struct OpenWaits {
    by_task: FastMap<u64, OpenWait>,
    marks: Arc<Marks>,
    /// By task that has a lock: the waiting tasks that do not know its stack yet.
    holders: HashMap<u64, Vec<u64>>,
}

impl OpenWaits {
    pub(super) fn new(marks: Arc<Marks>) -> OpenWaits {
        marks.want_stacks(0);
        OpenWaits {
            by_task: FastMap::default(),
            marks,
            holders: HashMap::new(),
        }
    }

    pub(super) fn begin(&mut self, number: u64, wait: OpenWait) {
        if self.by_task.insert(number, wait).is_none() {
            self.marks.begin(number);
        }
    }

    pub(super) fn end(&mut self, number: u64) -> Option<OpenWait> {
        let wait = self.by_task.remove(&number)?;
        self.marks.end(number);
        if let Some(holder) = wait.holder
            && wait.holder_stack.is_none()
            && let Some(waiting) = self.holders.get_mut(&holder)
        {
            waiting.retain(|other| *other != number);
            if waiting.is_empty() {
                self.holders.remove(&holder);
                self.marks.want_stacks(self.holders.len());
            }
        }
        Some(wait)
    }

    /// All waits, which are no longer open.
    fn take_all(&mut self) -> FastMap<u64, OpenWait> {
        let all = std::mem::take(&mut self.by_task);
        all.keys().for_each(|number| self.marks.end(*number));
        all
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&u64, &OpenWait)> {
        self.by_task.iter()
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.by_task.contains_key(&number)
    }

    /// Notes the frames of a wait, and the task that has what it is for.
    fn park(&mut self, number: u64, stack: Option<StackIndex>, holder: Option<u64>) {
        let holder = holder.filter(|holder| *holder != number);
        // A holder that was just handed the lock still has the wait for it.
        let parked = holder.and_then(|holder| self.by_task.get(&holder));
        let parked = parked.filter(|wait| wait.ready_ns.is_none());
        let holder_stack = parked.and_then(|wait| wait.stack);
        let Some(wait) = self.by_task.get_mut(&number) else {
            return;
        };
        wait.stack = stack;
        wait.holder = holder;
        wait.holder_stack = holder_stack;
        if let (Some(holder), None) = (holder, holder_stack) {
            self.holders.entry(holder).or_default().push(number);
            self.marks.want_stacks(self.holders.len());
        }
        self.stack_of_holder(number, now_ns(), stack);
    }

    /// Whether a task waits for a socket, by an operation of the machine.
    fn is_at_socket(&self, number: u64) -> bool {
        let wait = self.by_task.get(&number);
        let operation = wait.and_then(|wait| wait.operation.as_ref());
        operation.is_some_and(|operation| operation.kind == WaitKind::Socket)
    }

    /// The socket that the task waits for is that of a database.
    fn is_for_database(&mut self, number: u64) {
        if let Some(wait) = self.by_task.get_mut(&number)
            && let Some(operation) = &mut wait.operation
        {
            operation.kind = WaitKind::Database;
        }
    }

    /// Whether a task waits for another one whose stack is not known.
    pub(super) fn wants_stack_of(&self, holder: u64) -> bool {
        !self.holders.is_empty() && self.holders.contains_key(&holder)
    }

    /// The stack of a task at a time, for the waits that began before and for what it has.
    pub(super) fn stack_of_holder(&mut self, holder: u64, at_ns: u64, stack: Option<StackIndex>) {
        if stack.is_none() {
            return;
        }
        let Some(mut waiting) = self.holders.remove(&holder) else {
            return;
        };
        waiting.retain(|number| match self.by_task.get_mut(number) {
            Some(wait) if wait.from_ns > at_ns => true,
            Some(wait) => {
                wait.holder_stack = stack;
                false
            }
            None => false,
        });
        if !waiting.is_empty() {
            self.holders.insert(holder, waiting);
        }
        self.marks.want_stacks(self.holders.len());
    }
}

impl Thread {
    /// Sets the list of what tasks wait for, vectors of [`wait_row`].
    pub fn set_kinds_of_waits(&mut self, rows: Value) {
        self.vm.set_root(KINDS, rows);
    }

    /// The row of a record type or symbol.
    fn wait_row(&self, key: Value) -> Option<Value> {
        let mut rows = self.vm.root(KINDS)?;
        while let Some(pair) = rows.as_pair() {
            let row = pair.car();
            let vector = row.as_kind(Kind::Vector)?;
            if vector.length() > wait_row::OWNER && vector.field(wait_row::KEY) == key {
                return Some(row);
            }
            rows = pair.cdr();
        }
        None
    }

    /// The thing that a task waits for.
    pub(super) fn reason_of(&self, record: Value) -> Reason {
        let record = record.as_kind(Kind::Record);
        let record = record.filter(|record| record.length() >= task::WORDS);
        let Some(why) = record.map(|record| record.field(task::WAITS_FOR)) else {
            return Reason::unknown();
        };
        let object = why.as_kind(Kind::Record);
        let key = object.map_or(why, |object| object.field(0));
        let type_name = || text_of(key.as_kind(Kind::RecordType)?.field(record_type::NAME));
        let Some(row) = self.wait_row(key).and_then(|row| row.as_kind(Kind::Vector)) else {
            return Reason {
                on: type_name().or_else(|| text_of(why)),
                ..Reason::unknown()
            };
        };
        let field = |place: usize| {
            let index = 1 + row.field(place).as_index()?;
            object
                .filter(|object| index < object.length())
                .map(|object| object.field(index))
        };
        let kind = text_of(row.field(wait_row::KIND)).unwrap_or_default();
        let kind = WaitKind::of_word(&kind);
        let name = field(wait_row::NAME).and_then(text_of);
        Reason {
            kind,
            // A barrier without a name need not be called so twice.
            on: name.or_else(|| type_name().filter(|name| name != kind.word())),
            owner: field(wait_row::OWNER).and_then(task_of),
            is_operation: object.is_none() && kind == WaitKind::Socket,
        }
    }

    /// The kind of thing that a task waits for, the thing's name, and the number of the task that has it.
    pub(crate) fn purpose_of_wait(
        &self,
        record: Value,
    ) -> (&'static str, Option<String>, Option<u64>) {
        let reason = self.reason_of(record);
        let owner = reason.owner.map(|(number, _)| number);
        (reason.kind.word(), reason.on, owner)
    }

    /// Says what the operation is for that is about to wait for a ticket.
    #[inline]
    pub fn note_operation(&mut self, kind: WaitKind, on: Option<&str>) {
        if self.profile.is_on() {
            let (kind, on) = match on {
                Some(PROCESS) if kind == WaitKind::Socket => (WaitKind::Process, None),
                _ => (kind, on),
            };
            let is_next = self.profile.budget.as_ref().is_some_and(Budget::is_next);
            let on = on.filter(|_| is_next).map(str::to_owned);
            self.profile.operation = Some(Operation { kind, on });
        }
    }

    /// Whether the thread takes part in a profile.
    pub fn is_profiled(&self) -> bool {
        self.profile.is_on()
    }

    /// The frames of the task that was dropped last are still there: its wait gets them.
    #[inline]
    pub(crate) fn profile_parking(&mut self) {
        if let Some(Parking::Noted(number)) = self.profile.parking.take() {
            self.note_parking(number);
        }
    }

    #[cold]
    fn note_parking(&mut self, number: u64) {
        let parked = std::mem::replace(&mut self.profile.parked, Value::FALSE);
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        if let Some(recording) = state.as_mut()
            && recording.tasks.waits.has(number)
        {
            let owner = self.reason_of(parked).owner;
            if let Some((owner, name)) = &owner {
                recording.name_task(*owner, name.as_deref());
            }
            let task = recording.task_row(number);
            let base = recording.tasks.starter_stack(task);
            let links = self.chain();
            let stack = recording.stack(self, base, &links);
            if recording.tasks.waits.is_at_socket(number) && self.is_in_database_library(&links) {
                recording.tasks.waits.is_for_database(number);
            }
            let owner = owner.map(|(number, _)| number);
            recording.tasks.waits.park(number, stack, owner);
        }
    }

    /// The task that was dropped last has ended, and does not wait.
    #[inline]
    pub(crate) fn profile_end_of_task(&mut self) {
        if let Some(parking) = self.profile.parking.take() {
            self.note_end_of_task(parking);
        }
    }

    #[cold]
    fn note_end_of_task(&mut self, parking: Parking) {
        self.profile.parked = Value::FALSE;
        let (Parking::Noted(number) | Parking::Passed(number)) = parking;
        if let Some(recording) = self.vm.profiler.lock().as_mut() {
            recording.tasks.end(number);
        }
    }

    /// A task may be taken up from now on; `waiter` is that of its wait.
    #[inline]
    pub(crate) fn profile_ready(&mut self, waiter: Value) {
        if self.profile.budget.is_some() {
            self.note_ready(waiter);
        }
    }

    fn note_ready(&mut self, waiter: Value) {
        let Some(number) = task_of_waiter(waiter) else {
            return;
        };
        let marks = &self.vm.profiler.marks;
        if marks.may_be_noted(number) {
            self.note_ready_wait(number, now_ns());
        } else if let Some(passed) = marks.long_wait(number, recent_ns()) {
            self.note_long_wait(number, passed, now_ns());
        }
        if let Some(sampler) = &self.profile.sampler {
            let me = sampler.task.load(Ordering::Relaxed);
            if self.vm.profiler.marks.wants_stacks() {
                self.note_stack_of_holder(me);
            }
        }
    }

    /// A task whose wait may be noted is ready since a time.
    #[cold]
    fn note_ready_wait(&mut self, number: u64, ready_ns: u64) {
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        let Some(recording) = state.as_mut() else {
            return;
        };
        match recording.tasks.waits.by_task.get_mut(&number) {
            Some(wait) => {
                wait.ready_ns = Some(ready_ns.max(wait.from_ns));
                // A task that makes itself ready has given way to others.
                wait.gives_way = self.profile.parking == Some(Parking::Noted(number));
            }
            None => {
                drop(state);
                if let Some(passed) = vm.profiler.marks.long_wait(number, ready_ns) {
                    self.note_long_wait(number, passed, ready_ns);
                }
            }
        }
    }

    /// A wait that was not chosen ends, and was long.
    #[cold]
    fn note_long_wait(&mut self, number: u64, passed: Passed, ready_ns: u64) {
        let vm = self.vm.clone();
        vm.profiler.marks.take(number, self.profile.budget.as_mut());
        if let Some(recording) = vm.profiler.lock().as_mut() {
            let label = recording.rows.label_set(&[]);
            let mut wait = OpenWait::late(label, passed);
            wait.from_ns = wait.from_ns.max(recording.start_ns);
            wait.ready_ns = Some(ready_ns.max(wait.from_ns));
            recording.tasks.waits.begin(number, wait);
        }
    }

    /// Others wait for what this task has, and do not know where it is yet.
    #[cold]
    fn note_stack_of_holder(&mut self, number: u64) {
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        if let Some(recording) = state.as_mut()
            && let Some(sampler) = &self.profile.sampler
            && recording.tasks.waits.wants_stack_of(number)
        {
            recording.name_current_task(self);
            let task = recording.task_row(number);
            let base = recording.tasks.starter_stack(task);
            let stack = recording.stack_here(self, sampler, base);
            let waits = &mut recording.tasks.waits;
            waits.stack_of_holder(number, now_ns(), stack);
        }
    }

    /// A word was taken from the pool: if it is a task that has waited for a ticket, the pool knows
    /// since when it could have run.
    #[inline]
    pub(crate) fn profile_taken(&mut self, pool: &Pool, next: &Next) {
        if self.profile.budget.is_some()
            && let Some(ago) = pool.since_ready(next)
        {
            // SAFETY: a word from the pool's queues, which the collector has kept up to date, and
            // there was no safepoint since.
            let waiter = unsafe { Value::from_bits(next.word) };
            self.note_taken(waiter, ago.as_nanos() as u64);
        }
    }

    fn note_taken(&mut self, waiter: Value, ago_ns: u64) {
        let Some(number) = task_of_waiter(waiter) else {
            return;
        };
        let marks = &self.vm.profiler.marks;
        if marks.may_be_noted(number) {
            self.note_ready_wait(number, now_ns().saturating_sub(ago_ns));
        } else {
            let ready_ns = recent_ns().saturating_sub(ago_ns);
            if let Some(passed) = marks.long_wait(number, ready_ns) {
                self.note_long_wait(number, passed, ready_ns);
            }
        }
    }

    /// A task is about to go on with a continuation: what a long wait lacks is known from that.
    #[inline]
    pub(crate) fn profile_going_on(&mut self, task: Value, continuation: Value) {
        if self.profile.budget.is_some()
            && let Some(number) = task_number(task)
            && self.vm.profiler.marks.may_be_noted(number)
        {
            self.complete_late_wait(number, task, continuation);
        }
    }

    #[cold]
    fn complete_late_wait(&mut self, number: u64, record: Value, continuation: Value) {
        let vm = self.vm.clone();
        let mut state = vm.profiler.lock();
        let Some(recording) = state.as_mut() else {
            return;
        };
        let waits = &recording.tasks.waits;
        if !waits.by_task.get(&number).is_some_and(|wait| wait.is_late) {
            return;
        }
        if let Some((_, name)) = task_of(record) {
            recording.name_task(number, name.as_deref());
        }
        let task = recording.task_row(number);
        let base = recording.tasks.starter_stack(task);
        let links = self.links_of_continuation(continuation);
        let stack = links.and_then(|links| recording.stack(self, base, &links));
        let label = self.labels_of_continuation(continuation, &mut recording.rows);
        if let Some(wait) = recording.tasks.waits.by_task.get_mut(&number) {
            (wait.stack, wait.label) = (stack, label);
        }
    }
}

/// Libraries whose waits for sockets are waits for a database.
const DATABASES: &str = "(canny postgresql";

impl Thread {
    /// Whether a library of databases has called what is newest on a chain, before any procedure of the
    /// program.
    pub(super) fn is_in_database_library(&self, links: &[Link]) -> bool {
        links
            .iter()
            .map_while(|link| match link {
                Link::Frame(pc, _) => self.library_at(*pc as usize),
                _ => None,
            })
            .any(|name| name.starts_with(DATABASES))
    }

    /// The name of the library whose code is at an address.
    fn library_at(&self, pc: usize) -> Option<String> {
        let (unit, _) = self.vm.metadata(code_around(self, pc)?)?;
        unit.is_library.then(|| unit.name.clone())
    }
}

impl Recording {
    /// The stack of a thread in a leaf function, which compiled code may have called without saying where
    /// it was: as a sample would have it.
    fn stack_here(
        &mut self,
        thread: &Thread,
        sampler: &Sampler,
        base: Option<StackIndex>,
    ) -> Option<StackIndex> {
        let mut sample = Sample::empty();
        // SAFETY: the sampler is that of this thread, which is in the machine's own code.
        unsafe { sampler.note_here(&mut sample) };
        let mut walk = Walk::new(thread, std::mem::take(&mut self.returns));
        walk.read(&sample);
        walk.links
            .retain(|link| !matches!(link, Link::Operation(_)));
        let stack = self.stack(thread, base, &walk.links);
        self.returns = walk.into_return_places();
        stack
    }

    /// A task runs again.
    pub(super) fn end_wait(&mut self, number: u64, why: Reason) {
        if let Some(wait) = self.tasks.waits.end(number) {
            self.add_wait(number, wait, why, now_ns());
        }
    }

    fn add_wait(&mut self, number: u64, wait: OpenWait, why: Reason, resumed_ns: u64) {
        let task = self.task_row(number);
        let (kind, on) = match wait.operation {
            _ if wait.gives_way => (WaitKind::Pool, None),
            Some(operation) if why.is_operation => (operation.kind, operation.on),
            _ => (why.kind, why.on),
        };
        let on = on.map(|on| self.rows.string(&on));
        let holder = wait.holder.map(|holder| self.task_row(holder));
        let since = |at_ns: u64| at_ns.saturating_sub(self.start_ns);
        let ready_ns = wait.ready_ns.unwrap_or(resumed_ns);
        let is_long = ready_ns.saturating_sub(wait.from_ns) >= self.tasks.waits.marks.long_ns();
        self.rows.wait(Wait {
            task,
            label: wait.label,
            stack: wait.stack,
            from_ns: since(wait.from_ns),
            ready_ns: since(ready_ns),
            resumed_ns: since(resumed_ns),
            kind,
            on,
            holder,
            holder_stack: wait.holder_stack,
            // Long waits have rows of their own, even if they are not chosen.
            weight: if is_long { 1 } else { wait.weight },
        });
    }

    /// The profile ends: those who wait have waited until now.
    pub(super) fn end_waits(&mut self, elapsed_ns: u64) {
        let end_ns = self.start_ns + elapsed_ns;
        for (number, mut wait) in self.tasks.waits.take_all() {
            let reason = wait.reason.take().unwrap_or_else(Reason::unknown);
            self.add_wait(number, wait, reason, end_ns);
        }
    }
}
