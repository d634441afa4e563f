//! Profiles of a running machine: samples of processor time with whole stacks, waits of tasks, events.
//!
//! A [`Profiler`] belongs to the machine; while it is on, each thread has a [`capture::Sampler`] that its
//! timer's signal fills, and hands its samples over at its safepoints, where names are looked up and rows
//! made. Somebody takes the rows now and then and writes them ([`Profiler::take`]). Below: taking samples;
//! from a sample to places; names of places; names of the machine's own code; frames of guests; tasks; their
//! waits.
//!
//! While no profile is taken the machine does nothing for it but compare a number at safepoints and
//! where threads switch between tasks.

mod allocation;
mod blocking;
mod budget;
pub(crate) mod capture;
pub mod counts;
pub mod guests;
mod names;
mod native;
pub(crate) mod places;
mod tasks;
pub(crate) mod waits;
mod walk;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use canny_heap::{Heap, Pause};
use canny_locks::{Mutex, MutexGuard};
use canny_profile::model::{
    Builder, Event, EventKind, FrameIndex, LabelSetIndex, Rows, Sample as SampleRow, StackIndex,
    StackKind, TaskIndex, ThreadIndex, Tier,
};
use canny_spesh::code_map::FastMap;
use canny_value::Value;

use self::allocation::{Observer, SharedNotes};
use self::budget::{Budget, Marks};
use self::capture::{Interrupted, Sample, Sampler, now_ns};
use self::counts::Baseline;
use self::guests::GuestFrames;
use self::places::LivePlaces;
pub(crate) use self::tasks::TASK_TYPE;
use self::tasks::TaskTable;
use self::waits::{Operation, Parking};
use self::walk::{Link, ReturnPlaces, Walk};
use crate::Vm;
use crate::thread::Thread;

/// The wanted content of a profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileOptions {
    /// Time between samples of a thread that computes, in nanoseconds; 0 for none.
    pub interval_ns: u64,
    /// Allocated bytes between two sampled objects, on average; each object is one if that is 1.
    pub allocation_interval_bytes: Option<usize>,
    /// Whether everything is collected at the end, so that it is known which sampled objects are dead.
    pub collects_at_end: bool,
    /// How many waits of tasks each thread notes in a second before it chooses among them; `None` if no
    /// waits are noted.
    pub waits_per_second: Option<u32>,
    /// Whether functions of the machine's own code are told apart; else only what they are for.
    pub names_native: bool,
    /// Whether calls are counted; the machine must have been made for it ([`counts`]).
    pub counts_calls: bool,
    /// Whether [`Vm::turn_profile`] is going to be called.
    pub is_turned: bool,
}

impl Default for ProfileOptions {
    fn default() -> ProfileOptions {
        ProfileOptions {
            interval_ns: 1_000_000,
            allocation_interval_bytes: None,
            collects_at_end: true,
            waits_per_second: Some(WAITS_PER_SECOND),
            names_native: false,
            counts_calls: false,
            is_turned: false,
        }
    }
}

/// The usual number of waits of a second that a thread notes.
pub const WAITS_PER_SECOND: u32 = 4000;

/// Why a profile was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileError {
    /// One is being taken.
    Busy,
    /// Samples need x86-64 Linux.
    Unsupported,
    /// The code of this process was not compiled to count its calls.
    NotCounting,
}

/// The machine's profiler.
#[derive(Debug, Default)]
pub struct Profiler {
    /// Changes whenever a profile begins or ends; odd while one is taken.
    epoch: AtomicU32,
    /// Changes when code may have been freed, so that an address may stand for other code.
    code_epoch: AtomicU32,
    state: Mutex<Option<Recording>>,
    marks: Arc<Marks>,
}

/// A profile while it is taken.
#[derive(Debug)]
struct Recording {
    options: ProfileOptions,
    start_ns: u64,
    rows: Builder,
    frames: FastMap<Link, Vec<FrameIndex>>,
    returns: ReturnPlaces,
    stacks: FastMap<(Option<StackIndex>, Link, StackKind), Option<StackIndex>>,
    code_epoch: u32,
    /// Threads that have taken part.
    threads: HashSet<u64>,
    tasks: TaskTable,
    lost: u64,
    /// Deoptimizations and OSR entries.
    transitions: u64,
    /// The counts as the profile began, if it counts.
    counted: Option<Baseline>,
    /// Rows of the tables that were taken, if the profile is going to be turned.
    taken: Rows,
    /// The places of sampled objects that live.
    live: LivePlaces,
}

/// A thread's part of a profile.
pub(crate) struct ThreadProfile {
    epoch: u32,
    sampler: Option<Box<Sampler>>,
    /// Sampled objects that were not read yet, if there are samples.
    allocations: Option<SharedNotes>,
    thread: Option<ThreadIndex>,
    /// The choice of waits that are noted, if any are.
    budget: Option<Budget>,
    /// The task that was dropped last, until it is known whether it waits or has ended.
    parking: Option<Parking>,
    /// The record of that task.
    pub(crate) parked: Value,
    /// The purpose of the operation that waits next.
    operation: Option<Operation>,
}

impl Profiler {
    fn lock(&self) -> MutexGuard<'_, Option<Recording>> {
        self.state.lock()
    }

    /// Whether a profile is being taken.
    pub fn is_on(&self) -> bool {
        self.epoch.load(Ordering::Relaxed) & 1 != 0
    }

    /// Rows since the last call, and how many samples were lost; nothing if no profile is taken.
    pub(crate) fn take(&self, heap: &Heap) -> Option<(Rows, u64)> {
        if !self.is_on() {
            return None;
        }
        // The heap's lock comes first: who has that while the world stands still may try this one.
        let (pauses, dead) = (heap.take_pauses(true), heap.take_dead_samples());
        let mut state = self.lock();
        let recording = state.as_mut()?;
        recording.note_pauses(pauses);
        recording.note_dead(dead);
        let lost = std::mem::take(&mut recording.lost);
        Some((recording.take_rows(), lost))
    }

    /// Whether a thread of the system hands over samples of its own.
    pub fn has_samples_of(&self, system_thread: u64) -> bool {
        let state = self.lock();
        state
            .as_ref()
            .is_some_and(|recording| recording.threads.contains(&system_thread))
    }

    /// Notes the processor time of a thread that runs no Scheme code.
    pub fn note_background(&self, system_thread: u64, name: &str, weight_ns: u64) {
        if let Some(recording) = self.lock().as_mut() {
            let elapsed_ns = now_ns() - recording.start_ns;
            let rows = &mut recording.rows;
            let task = recording.tasks.machine(rows);
            let (what, group) = native::background(name);
            let function = rows.function(what, None, 0, group);
            let frame = rows.frame(function, 0, 0, Tier::Native, false);
            let stack = rows.stack(None, frame, StackKind::Plain);
            let thread = rows.thread(system_thread, name);
            let label = rows.label_set(&[]);
            rows.sample(SampleRow {
                at_ns: elapsed_ns.saturating_sub(weight_ns),
                thread,
                task,
                label,
                stack: Some(stack),
                weight_ns,
            });
        }
    }

    /// Nanoseconds since the profile began.
    pub fn elapsed_ns(&self) -> u64 {
        let state = self.lock();
        state
            .as_ref()
            .map_or(0, |recording| now_ns() - recording.start_ns)
    }

    /// Code may have been freed.
    pub(crate) fn code_was_freed(&self) {
        self.code_epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that compiled code was left for a wrong guess, and what it met.
    pub(crate) fn note_exit(&self, thread: &Thread, text: &str) {
        let at_ns = now_ns();
        if let Some(recording) = self.lock().as_mut() {
            recording.note_transition(thread, EventKind::Deoptimization, text, at_ns);
        }
    }

    /// Notes that compiled code was entered in the middle of a loop.
    pub(crate) fn note_loop_entry(&self, thread: &Thread) {
        let at_ns = now_ns();
        if let Some(recording) = self.lock().as_mut() {
            let text = "a loop continues in compiled code";
            recording.note_transition(thread, EventKind::Osr, text, at_ns);
        }
    }
}

impl Thread {
    /// Takes part in a profile that has just begun, at once.
    pub fn join_profile(&mut self) {
        self.meet_profiler();
    }

    /// Ends the profile as [`Vm::end_profile`] does, with the last samples of this thread.
    pub fn end_profile(&mut self) -> Option<LastRows> {
        self.read_samples();
        self.collect_for_profile();
        let vm = self.vm.clone();
        let last = vm.end_profile()?;
        self.meet_profiler();
        Some(last)
    }

    /// At a safepoint: takes part in a profile that has begun, or takes part no more.
    #[inline]
    pub(crate) fn meet_profiler(&mut self) {
        if self.profile.epoch != self.vm.profiler.epoch.load(Ordering::Relaxed) {
            self.meet_profiler_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn meet_profiler_now(&mut self) {
        let vm = self.vm.clone();
        // The observer goes before the sampler that it uses.
        self.mutator().stop_sampling();
        let mut state = vm.profiler.lock();
        self.profile = ThreadProfile {
            epoch: vm.profiler.epoch.load(Ordering::Relaxed),
            ..ThreadProfile::default()
        };
        if let Some(recording) = state.as_mut() {
            let name = std::thread::current();
            let name = name.name().unwrap_or("thread");
            let id = system_thread();
            recording.threads.insert(id);
            let thread = recording.rows.thread(id, name);
            self.profile.thread = Some(thread);
            self.profile.budget = recording.options.waits_per_second.map(Budget::new);
            // A thread without a timer is missing in the profile, nothing more.
            let options = recording.options;
            self.profile.sampler = Sampler::start(self, options.interval_ns).ok();
            if let Some(sampler) = &self.profile.sampler
                && let Some(interval_bytes) = options.allocation_interval_bytes
            {
                let notes = SharedNotes::default();
                let observer = Box::new(Observer::new(sampler, notes.clone()));
                self.profile.allocations = Some(notes);
                let seed = now_ns() ^ id << 32;
                self.mutator()
                    .start_sampling(interval_bytes, seed, observer);
            }
        }
        drop(state);
        let task = self.tasks.current;
        self.note_task(task);
    }

    /// Hands over the samples that the thread has.
    #[cold]
    #[inline(never)]
    pub fn read_samples(&mut self) {
        let Some(sampler) = self.profile.sampler.take() else {
            return;
        };
        let allocations = self.profile.allocations.clone();
        if allocations.is_some() {
            self.mutator().show_samples();
        }
        let vm = self.vm.clone();
        sampler.set_has_labels(vm.root(tasks::LABELS).is_some());
        let mut state = vm.profiler.lock();
        if let Some(recording) = state.as_mut()
            && let Some(thread) = self.profile.thread
        {
            recording.meet_code_epoch(vm.profiler.code_epoch.load(Ordering::Relaxed));
            recording.name_current_task(self);
            let labels = self.profile_labels(&mut recording.rows);
            let label = self.label_text();
            let guests = guests::answers();
            let mut walk = Walk::new(self, std::mem::take(&mut recording.returns));
            let lost = sampler.take(|sample| {
                walk.read(sample);
                recording.add(&walk, sample, (thread, labels), &guests);
            });
            recording.returns = walk.into_return_places();
            recording.lost += lost;
            if let Some(notes) = allocations {
                recording.lost +=
                    notes
                        .borrow_mut()
                        .read(recording, self, (thread, labels, &label));
            }
        } else {
            sampler.take(|_| ());
            guests::answers();
            if let Some(notes) = allocations {
                notes.borrow_mut().clear();
            }
        }
        drop(state);
        self.profile.sampler = Some(sampler);
    }

    /// Before the end of a profile with sampled objects: finds out which of them are dead.
    fn collect_for_profile(&mut self) {
        let state = self.vm.profiler.lock();
        let wants = state.as_ref().is_some_and(|recording| {
            recording.options.collects_at_end
                && recording.options.allocation_interval_bytes.is_some()
        });
        drop(state);
        if wants {
            self.collect_garbage(true);
        }
    }

    /// Before the thread ends: what it has noted is handed over.
    pub(crate) fn leave_profile(&mut self) {
        self.read_samples();
        self.mutator().stop_sampling();
        self.profile = ThreadProfile::default();
    }

    /// The thread is about to sleep: its timer rests.
    pub(crate) fn pause_samples(&self) {
        if let Some(sampler) = &self.profile.sampler {
            sampler.pause();
        }
    }

    /// The thread works again.
    pub(crate) fn resume_samples(&self) {
        if let Some(sampler) = &self.profile.sampler {
            sampler.resume();
        }
    }
}

impl Default for ThreadProfile {
    fn default() -> ThreadProfile {
        ThreadProfile {
            epoch: 0,
            sampler: None,
            allocations: None,
            thread: None,
            budget: None,
            parking: None,
            parked: Value::FALSE,
            operation: None,
        }
    }
}

impl ThreadProfile {
    /// Whether the thread takes part in a profile.
    pub(crate) fn is_on(&self) -> bool {
        self.epoch & 1 != 0
    }

    /// Whether there are samples to hand over.
    #[inline]
    pub(crate) fn has_samples(&self) -> bool {
        let sampler = self.sampler.as_ref();
        let notes = self.allocations.as_ref();
        sampler.is_some_and(|sampler| sampler.has_samples())
            || notes.is_some_and(|notes| notes.borrow().has_any())
    }
}

/// Whether older frames of a chain are missing.
fn is_cut(links: &[Link]) -> bool {
    matches!(links.last(), Some(Link::Cut))
}

/// The kind of the oldest frame of a chain on top of the stack that started its task.
fn bottom_kind(links: &[Link], base: Option<StackIndex>) -> StackKind {
    match base {
        _ if is_cut(links) => StackKind::Cut,
        Some(_) => StackKind::Started,
        None => StackKind::Plain,
    }
}

fn system_thread() -> u64 {
    #[cfg(target_os = "linux")]
    // SAFETY: only asks.
    return unsafe { libc::gettid() } as u64;
    #[cfg(not(target_os = "linux"))]
    return 0;
}

/// The rows that nobody took, the number of samples that were lost since, and how long the profile took.
pub type LastRows = (Rows, u64, u64);

impl Vm {
    /// Begins a profile of all threads, each from its next safepoint on.
    pub fn start_profile(&self, options: ProfileOptions) -> Result<(), ProfileError> {
        if !capture::IS_AVAILABLE {
            return Err(ProfileError::Unsupported);
        }
        if options.counts_calls && !counts::counts_calls() {
            return Err(ProfileError::NotCounting);
        }
        native::prepare();
        let profiler = &self.profiler;
        let mut state = profiler.lock();
        if state.is_some() {
            return Err(ProfileError::Busy);
        }
        *state = Some(Recording::new(options, profiler));
        profiler.epoch.fetch_add(1, Ordering::Release);
        drop(state);
        self.heap.take_pauses(true);
        self.specializer.ledger().turn_on(false);
        self.note_ready_times(true);
        self.heap.request_safepoints();
        Ok(())
    }

    /// Ends the profile. Threads that are at work hand their last samples over when they come to a
    /// safepoint, which is too late for this profile; [`Vm::flush_profile`] asks for them before.
    pub fn end_profile(&self) -> Option<LastRows> {
        let mut state = self.profiler.lock();
        let recording = state.take()?;
        self.profiler.epoch.fetch_add(1, Ordering::Release);
        drop(state);
        self.note_ready_times(false);
        self.heap.request_safepoints();
        Some(recording.end(self, false))
    }

    /// Ends the profile and begins the next one with the same options. Waits that last are split: the rest
    /// of each is in the next profile, at the same place.
    pub fn turn_profile(&self) -> Option<LastRows> {
        let dead = self.heap.take_dead_samples();
        let mut state = self.profiler.lock();
        let mut recording = state.take()?;
        recording.note_dead(dead);
        let mut next = Recording::new(recording.options, &self.profiler);
        let taken = recording.all_tables();
        recording
            .tasks
            .carry_waits(&taken, &mut next.tasks, &mut next.rows, next.start_ns);
        next.live = std::mem::take(&mut recording.live);
        *state = Some(next);
        self.profiler.epoch.fetch_add(2, Ordering::Release);
        drop(state);
        self.heap.request_safepoints();
        Some(recording.end(self, true))
    }

    /// Asks all threads for the samples that they have. They hand them over at their next safepoints.
    pub fn flush_profile(&self) {
        self.heap.request_safepoints();
    }

    /// The rows of the profile since the last call, and how many samples were lost; nothing if no profile
    /// is taken.
    pub fn take_profile_rows(&self) -> Option<(Rows, u64)> {
        self.profiler.take(&self.heap)
    }
}

impl Recording {
    fn new(options: ProfileOptions, profiler: &Profiler) -> Recording {
        let mut rows = Builder::new();
        let tasks = TaskTable::new(&mut rows, profiler.marks.clone());
        Recording {
            options,
            start_ns: now_ns(),
            rows,
            frames: FastMap::default(),
            returns: ReturnPlaces::default(),
            stacks: FastMap::default(),
            code_epoch: profiler.code_epoch.load(Ordering::Relaxed),
            threads: HashSet::new(),
            tasks,
            lost: 0,
            transitions: 0,
            counted: options.counts_calls.then(Baseline::now),
            taken: Rows::default(),
            live: LivePlaces::default(),
        }
    }

    /// Ends it; the collector goes on noting its pauses if another profile follows.
    fn end(mut self, vm: &Vm, has_next: bool) -> LastRows {
        let elapsed_ns = now_ns() - self.start_ns;
        self.end_waits(elapsed_ns);
        self.note_pauses(vm.heap.take_pauses(has_next));
        self.note_dead(vm.heap.take_dead_samples());
        if !has_next {
            vm.heap.forget_samples();
        }
        self.note_specializer(vm);
        if let Some(counted) = self.counted.take() {
            counted.rows_since(&mut self.rows);
        }
        (self.rows.take(), self.lost, elapsed_ns)
    }

    /// The rows since the last call.
    fn take_rows(&mut self) -> Rows {
        let rows = self.rows.take();
        if self.options.is_turned {
            self.taken.append(rows.tables());
        }
        rows
    }

    /// All rows of the tables.
    fn all_tables(&self) -> Rows {
        let mut all = self.taken.clone();
        all.append(self.rows.new_rows().tables());
        all
    }

    /// Notes which sampled objects have died.
    fn note_dead(&mut self, dead: Vec<u64>) {
        for id in dead {
            self.rows.freed(id);
            self.live.remove(id);
        }
    }

    /// Notes collections.
    fn note_pauses(&mut self, pauses: Vec<Pause>) {
        for pause in pauses {
            let kind = if pause.is_full { "full" } else { "minor" };
            let [before, after] = [pause.bytes.0, pause.bytes.1].map(|bytes| bytes / 1000);
            let text = format!("{kind}, {before} kB in use before, {after} kB after");
            self.event(EventKind::Collection, &text, (pause.end, pause.wall));
        }
    }

    /// Notes a way into compiled code or out of it, with the stack at hand.
    fn note_transition(&mut self, thread: &Thread, kind: EventKind, text: &str, at_ns: u64) {
        const TRANSITIONS_MAX: u64 = 100_000;
        self.transitions += 1;
        if self.transitions > TRANSITIONS_MAX {
            return;
        }
        let stack = self.stack(thread, None, &thread.chain());
        let text = self.rows.string(text);
        self.rows.event(Event {
            at_ns: at_ns.saturating_sub(self.start_ns),
            duration_ns: 0,
            thread: thread.profile.thread,
            kind,
            text,
            stack,
        });
    }

    /// Notes what was compiled meanwhile, and what the specializer knows about places.
    fn note_specializer(&mut self, vm: &Vm) {
        let (notes, compilations) = vm.specializer_notes();
        for note in notes {
            let (unit, index) = note.place.code();
            let (function, line) = names::function_of(unit, index, note.pc, &mut self.rows);
            self.rows.note(Some(function), line, &note.text);
        }
        for compilation in compilations {
            let span = (compilation.at, compilation.time);
            self.event(EventKind::Compilation, &compilation.title, span);
        }
    }

    /// Adds an event that ended at a time and lasted so long, if it ended in the profile.
    fn event(&mut self, kind: EventKind, text: &str, (end, duration): (Instant, Duration)) {
        let ago_ns = end.elapsed().as_nanos() as u64;
        let duration_ns = duration.as_nanos() as u64;
        let elapsed_ns = now_ns() - self.start_ns;
        let Some(end_ns) = elapsed_ns.checked_sub(ago_ns) else {
            return;
        };
        let text = self.rows.string(text);
        self.rows.event(Event {
            at_ns: end_ns.saturating_sub(duration_ns),
            duration_ns,
            thread: None,
            kind,
            text,
            stack: None,
        });
    }

    /// Forgets what addresses stand for if code was freed.
    fn meet_code_epoch(&mut self, epoch: u32) {
        if self.code_epoch != epoch {
            self.code_epoch = epoch;
            self.frames.clear();
            self.stacks.clear();
            self.returns.clear();
            self.live.forget_links();
        }
    }

    /// Adds the rows of a sample.
    fn add(
        &mut self,
        walk: &Walk,
        sample: &Sample,
        (thread, label): (ThreadIndex, LabelSetIndex),
        guests: &[GuestFrames],
    ) {
        let task = self.tasks.row(sample.task, &mut self.rows);
        let base = self.tasks.starter_stack(task);
        let stack = self.stack(walk.thread, base, &walk.links);
        if self.tasks.waits.wants_stack_of(sample.task) {
            let waits = &mut self.tasks.waits;
            waits.stack_of_holder(sample.task, sample.at_ns, stack);
        }
        let row = |stack, weight_ns| SampleRow {
            at_ns: sample.at_ns.saturating_sub(self.start_ns),
            thread,
            task,
            label,
            stack,
            weight_ns,
        };
        if sample.interrupted != Interrupted::Native {
            let row = row(stack, sample.weight_ns);
            return self.rows.sample(row);
        }
        let places = &sample.native[..sample.native_count];
        let mut rows = Vec::with_capacity(places.len());
        for place in places {
            let link = if place.is_behind_system_call {
                Link::Kernel(place.address)
            } else {
                Link::Native(place.address)
            };
            let kind_on = |stack: Option<StackIndex>| {
                if stack.is_none() || stack == base {
                    bottom_kind(&walk.links, base)
                } else {
                    StackKind::Plain
                }
            };
            let below = match place.guest {
                0 => stack,
                // Without a program of Scheme, the guest is all that runs.
                request if matches!(walk.links[..], [Link::Loading]) => {
                    let guest = self.guest_stack(None, request, guests, StackKind::Plain);
                    guest.or(stack)
                }
                request => self.guest_stack(stack, request, guests, kind_on(stack)),
            };
            let top = if place.is_guest_code {
                below
            } else {
                self.push(walk.thread, (below, None), link, kind_on(below))
            };
            rows.push((top, place.weight_ns));
        }
        for (stack, weight_ns) in rows {
            let row = SampleRow {
                at_ns: sample.at_ns.saturating_sub(self.start_ns),
                thread,
                task,
                label,
                stack,
                weight_ns,
            };
            self.rows.sample(row);
        }
    }

    /// The stack of a chain, the newest place first, on top of the one that started the task.
    fn stack(
        &mut self,
        thread: &Thread,
        base: Option<StackIndex>,
        links: &[Link],
    ) -> Option<StackIndex> {
        // A cut stack does not say who started the task.
        let mut stack = if is_cut(links) { None } else { base };
        let mut kind = bottom_kind(links, base);
        let mut older = None;
        for link in links.iter().rev() {
            let next = self.push(thread, (stack, older), *link, kind);
            older = Some(*link);
            if next != stack {
                kind = StackKind::Plain;
            }
            stack = next;
        }
        stack
    }

    /// A stack, whose newest place is known, with the frames of one more place; the first of them is of a
    /// kind. Procedures in between that ended with tail calls have frames as well.
    fn push(
        &mut self,
        thread: &Thread,
        (below, older): (Option<StackIndex>, Option<Link>),
        link: Link,
        first: StackKind,
    ) -> Option<StackIndex> {
        let key = (below, link, first);
        if let Some(known) = self.stacks.get(&key) {
            return *known;
        }
        let tails = older.map_or_else(Vec::new, |older| names::tail_calls(thread, older, link));
        let mut stack = below;
        let mut kind = first;
        for link in tails.into_iter().rev().chain([link]) {
            for frame in self.frames_of(thread, link).into_iter().rev() {
                stack = Some(self.rows.stack(stack, frame, kind));
                kind = StackKind::Plain;
            }
        }
        self.stacks.insert(key, stack);
        stack
    }

    /// The frames of a place, the newest first.
    fn frames_of(&mut self, thread: &Thread, link: Link) -> Vec<FrameIndex> {
        if let Some(frames) = self.frames.get(&link) {
            return frames.clone();
        }
        let names_native = self.options.names_native;
        let frames = names::frames_of(thread, link, names_native, &mut self.rows);
        self.frames.insert(link, frames.clone());
        frames
    }

    /// Makes the row of the task that runs on a thread.
    fn name_current_task(&mut self, thread: &Thread) {
        if let Some((number, name)) = tasks::task_of(thread.tasks.current) {
            self.name_task(number, name.as_deref());
        }
    }

    /// Makes the row of a task whose name is known.
    fn name_task(&mut self, number: u64, name: Option<&str>) {
        self.tasks.name(number, name, &mut self.rows);
    }

    /// The row of a task that is not known by more than its number.
    fn task_row(&mut self, number: u64) -> TaskIndex {
        self.tasks.row(number, &mut self.rows)
    }
}
