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

use canny_profile::model::{Builder, LabelSetIndex, StackIndex, Translation, Wait, WaitKind};
use canny_sched::{Next, Pool};
use canny_tables::kinds::Kind;
use canny_tables::protocols::{task, wait_row};
use canny_value::Value;

use super::Recording;
use super::capture::{Sample, Sampler, now_ns};
use super::tasks::{task_of, task_of_waiter, text_of};
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
    pub(super) fn into_parts(self) -> (WaitKind, Option<String>) {
        (self.kind, self.on)
    }
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
            ..OpenWait::begin(label, None)
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
        }
    }

    /// A wait that begins now.
    pub(super) fn begin(label: LabelSetIndex, operation: Option<Operation>) -> OpenWait {
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
        }
    }
}

/// The waits that have not ended.
#[derive(Debug, Default)]
pub(super) struct OpenWaits {
    by_task: HashMap<u64, OpenWait>,
    /// By task that has a lock: the waiting tasks that do not know its stack yet.
    holders: HashMap<u64, Vec<u64>>,
}

impl OpenWaits {
    pub(super) fn begin(&mut self, number: u64, wait: OpenWait) {
        self.by_task.insert(number, wait);
    }

    pub(super) fn end(&mut self, number: u64) -> Option<OpenWait> {
        let wait = self.by_task.remove(&number)?;
        if let Some(holder) = wait.holder
            && wait.holder_stack.is_none()
            && let Some(waiting) = self.holders.get_mut(&holder)
        {
            waiting.retain(|other| *other != number);
            if waiting.is_empty() {
                self.holders.remove(&holder);
            }
        }
        Some(wait)
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

    /// Says what the operation is for that is about to wait for a ticket.
    #[inline]
    pub fn note_operation(&mut self, kind: WaitKind, on: Option<&str>) {
        if self.profile.is_on() {
            let (kind, on) = match on {
                Some(PROCESS) if kind == WaitKind::Socket => (WaitKind::Process, None),
                _ => (kind, on),
            };
            self.profile.operation = Some(Operation {
                kind,
                on: on.map(str::to_owned),
            });
        }
    }

    /// Whether the thread takes part in a profile.
    pub fn is_profiled(&self) -> bool {
        self.profile.is_on()
    }

    /// The frames of the task that was dropped last are still there: its wait gets them.
    #[inline]
    pub(crate) fn profile_parking(&mut self) {
        if self.profile.parking.is_some() {
            self.note_parking();
        }
    }

    #[cold]
    fn note_parking(&mut self) {
        let Some(number) = self.profile.parking.take() else {
            return;
        };
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
        if let Some(number) = self.profile.parking.take() {
            self.profile.parked = Value::FALSE;
            if let Some(recording) = self.vm.profiler.lock().as_mut() {
                recording.tasks.waits.end(number);
            }
        }
    }

    /// A task may be taken up from now on; `waiter` is that of its wait.
    #[inline]
    pub(crate) fn profile_ready(&self, waiter: Value) {
        if self.profile.is_on() {
            self.note_ready(waiter);
        }
    }

    #[cold]
    fn note_ready(&self, waiter: Value) {
        let Some((number, _)) = task_of_waiter(waiter) else {
            return;
        };
        let mut state = self.vm.profiler.lock();
        let Some(recording) = state.as_mut() else {
            return;
        };
        if let Some(wait) = recording.tasks.waits.by_task.get_mut(&number) {
            wait.ready_ns = Some(now_ns());
            // A task that makes itself ready has given way to others.
            wait.gives_way = self.profile.parking == Some(number);
        }
        if let Some(sampler) = &self.profile.sampler {
            let me = sampler.task.load(std::sync::atomic::Ordering::Relaxed);
            if recording.tasks.waits.wants_stack_of(me) {
                let task = recording.task_row(me);
                let base = recording.tasks.starter_stack(task);
                let stack = recording.stack_here(self, sampler, base);
                let waits = &mut recording.tasks.waits;
                waits.stack_of_holder(me, now_ns(), stack);
            }
        }
    }

    /// A word was taken from the pool: if it is a task that has waited for a ticket, the pool knows
    /// since when it could have run.
    #[inline]
    pub(crate) fn profile_taken(&self, pool: &Pool, next: &Next) {
        if self.profile.is_on()
            && let Some(ago) = pool.since_ready(next)
        {
            // SAFETY: a word from the pool's queues, which the collector has kept up to date, and
            // there was no safepoint since.
            let waiter = unsafe { Value::from_bits(next.word) };
            self.note_taken(waiter, ago.as_nanos() as u64);
        }
    }

    #[cold]
    fn note_taken(&self, waiter: Value, ago_ns: u64) {
        if let Some((number, _)) = task_of_waiter(waiter)
            && let Some(recording) = self.vm.profiler.lock().as_mut()
            && let Some(wait) = recording.tasks.waits.by_task.get_mut(&number)
        {
            let ready_ns = now_ns().saturating_sub(ago_ns);
            wait.ready_ns = Some(ready_ns.max(wait.from_ns));
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
        self.rows.wait(Wait {
            task,
            label: wait.label,
            stack: wait.stack,
            from_ns: since(wait.from_ns),
            ready_ns: since(wait.ready_ns.unwrap_or(resumed_ns)),
            resumed_ns: since(resumed_ns),
            kind,
            on,
            holder,
            holder_stack: wait.holder_stack,
        });
    }

    /// The profile ends: those who wait have waited until now.
    pub(super) fn end_waits(&mut self, elapsed_ns: u64) {
        let waits = std::mem::take(&mut self.tasks.waits);
        let end_ns = self.start_ns + elapsed_ns;
        for (number, mut wait) in waits.by_task {
            let reason = wait.reason.take().unwrap_or_else(Reason::unknown);
            self.add_wait(number, wait, reason, end_ns);
        }
    }
}
