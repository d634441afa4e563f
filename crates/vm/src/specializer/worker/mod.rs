//! The worker: takes logs in, plans, and has the plans compiled, beside the running program.
//!
//! There is one worker for a machine. It starts with the first full log, ends when the machine goes,
//! and keeps no process alive. It is no mutator: it never touches the heap, names code by words that it
//! only compares, and reads code from snapshots, which the machine keeps alive while somebody holds
//! them. The compiler is behind [`Compile`], and the machine behind [`Machine`], so that the worker can
//! be tested without either.
//!
//! A profile that an earlier run of the program left is taken in with the first log, see [`kept`].
//!
//! A failure here never takes the program down: a plan whose compilation panics is turned off, a
//! panic anywhere else turns the worker off; both say so in the specializer's log.

pub(super) mod account;
pub(super) mod kept;
mod retirement;
mod snapshots;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use canny_locks::Mutex;
use canny_spesh::code_map::CodeSet;
use canny_spesh::dump::{code_title, plan_text, statistics_text};
use canny_spesh::graph::EntryPoint;
use canny_spesh::planner::{Budget, Plan, Planner, Selection};
use canny_spesh::snapshot::{
    Callees, CodeSnapshot, CodeSource, CodeWord, Profile, RecordTypeSnapshot,
};
use canny_spesh::statistics::{Log, Statistics};
use canny_spesh::types::Type;

pub(super) use account::WorkerAccount;
use kept::{KeptPlans, Learned, Restored, UsedPlan};
pub use retirement::Retired;

use super::ledger::Ledger;
use super::log::LogQuota;
use super::mapped;

/// Time from the arrival of a log to the return of its quota, doubled for each log that led to nothing new.
const REST_MIN: Duration = Duration::from_millis(2);
/// The same for a thread's first log: a short program is over by then.
const REST_FIRST: Duration = Duration::from_millis(6);
/// Greatest such time.
const REST_MAX: Duration = Duration::from_secs(1);
/// Logs after which the rest doubles, though there is always something new.
const LOGS_PER_AGE: u32 = 2;
/// Such doublings at most.
const AGE_MAX: u32 = 4;
/// Logs in a row that led to nothing new, as the rest counts them, while there is something to compile later.
const IDLE_LOGS_WITH_DEFERRED_MAX: u32 = 2;
/// Assumed time to compile a word of bytecode, inlined code included, before it was measured.
const COST_PER_WORD: Duration = Duration::from_micros(20);
/// Words after which the measured cost counts.
const WORDS_TO_LEARN_FROM: usize = 200;
/// Time that may go into compiling in any case, and beyond that one part in so many of the program's.
const TIME_FREE: Duration = Duration::from_millis(20);
/// See [`TIME_FREE`].
const TIME_SHARE: u32 = 8;
/// Running time after which a program is likely to run on: one part in [`LONG_RUN_SHARE`] of its
/// time from then on is free too.
const LONG_RUN: Duration = Duration::from_millis(400);
/// See [`LONG_RUN`].
const LONG_RUN_SHARE: u32 = 2;
/// Name of the worker's thread.
const THREAD_NAME: &str = "canny-specializer";

/// The outcome of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Compiled code is in use; the text says more for people.
    Installed(String),
    /// Nothing is in use, for this reason; it is not tried again.
    Refused(String),
    /// Nothing is in use, for this reason, but another try may succeed.
    TryAgain(String),
}

/// The part that builds, compiles and publishes.
pub trait Compile: Send {
    /// Does so for a plan. `log` takes text for the specializer's log, if there is one.
    fn compile(
        &mut self,
        plan: &Plan,
        profile: &dyn Profile,
        log: Option<&mut dyn Write>,
    ) -> Outcome;

    /// Stitches code that is worth it.
    fn stitch(&mut self, _codes: &[Arc<CodeSnapshot>]) {}

    /// Specializations retired since the last call, for the planner.
    fn retracted(&mut self) -> Vec<Retired> {
        Vec::new()
    }

    /// So many specializations of an entry point were retired in earlier runs of the program.
    fn restore_retractions(&mut self, _code: CodeWord, _entry: EntryPoint, _count: u32) {}

    /// How many specializations of a procedure there can be.
    fn selection(&self) -> Selection {
        Selection::One
    }

    /// Whether procedures may be compiled once for each of several record types.
    fn divides_by_class(&self) -> bool {
        true
    }

    /// These codes are no more.
    fn forget(&mut self, _dead: &[CodeWord]) {}
}

/// The worker's interface to the machine.
pub trait Machine: Send {
    /// The snapshot of a code if there is one now; else one is made soon.
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>>;
    /// The same without wishing for one, and whether one may still be made that was wished for.
    fn awaited(&self, code: CodeWord) -> (Option<Arc<CodeSnapshot>>, bool) {
        (self.snapshot(code), true)
    }
    /// The record type with a class key.
    fn record_type(&self, _class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        None
    }
    /// Class keys of the record types that have a name of their own.
    fn named_record_types(&self) -> HashMap<String, u32> {
        HashMap::new()
    }
    /// File and line of an instruction, for people.
    fn place(&self, _code: CodeWord, _pc: usize) -> Option<String> {
        None
    }
    /// Types of the operands with which speculation failed.
    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type;
    /// Whether speculation failed too often.
    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool;
    /// Whether checks before the loop whose head is at `pc` failed too often.
    fn fails_before_loop(&self, _code: CodeWord, _pc: usize) -> bool {
        false
    }
    /// Whether a leaf function declined too often.
    fn declines(&self, _code: CodeWord, _pc: usize) -> bool {
        false
    }
    /// Whether compiled code was ever left at an instruction.
    fn was_left_at(&self, _code: CodeWord, _pc: usize) -> bool {
        false
    }
    /// Code that died since the last call.
    fn take_dead(&self) -> Vec<CodeWord> {
        Vec::new()
    }
    /// Where the worker writes what became of plans, for people.
    fn ledger(&self) -> Option<&Ledger> {
        None
    }
}

impl Machine for Arc<super::Specializer> {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        super::Specializer::snapshot(self, code)
    }

    fn awaited(&self, code: CodeWord) -> (Option<Arc<CodeSnapshot>>, bool) {
        super::Specializer::awaited(self, code)
    }

    fn record_type(&self, class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        super::Specializer::record_type(self, class)
    }

    fn named_record_types(&self) -> HashMap<String, u32> {
        super::Specializer::named_record_types(self)
    }

    fn place(&self, code: CodeWord, pc: usize) -> Option<String> {
        super::Specializer::ledger(self).place(code, pc)
    }

    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        super::Specializer::failed_operands(self, code, pc)
    }

    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        super::Specializer::is_unstable(self, code, pc)
    }

    fn fails_before_loop(&self, code: CodeWord, pc: usize) -> bool {
        super::Specializer::fails_before_loop(self, code, pc)
    }

    fn declines(&self, code: CodeWord, pc: usize) -> bool {
        super::Specializer::declines(self, code, pc)
    }

    fn was_left_at(&self, code: CodeWord, pc: usize) -> bool {
        super::Specializer::was_left_at(self, code, pc)
    }

    fn take_dead(&self) -> Vec<CodeWord> {
        super::Specializer::take_dead(self)
    }

    fn ledger(&self) -> Option<&Ledger> {
        Some(super::Specializer::ledger(self))
    }
}

/// Switches of the worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Where statistics and plans are written.
    pub log: Option<PathBuf>,
    /// Threads wait for the worker.
    pub is_blocking: bool,
    /// How many plans are compiled.
    pub limit: Option<usize>,
    /// Compile what ran twice.
    pub is_eager: bool,
}

/// A log on its way to the worker.
pub(crate) struct FullLog {
    pub(super) quota: Arc<LogQuota>,
    pub(super) buffer: Vec<u64>,
    /// Words of the buffer that were written.
    pub(super) used_words: usize,
    pub(super) is_continued: bool,
    /// The thread has handed none over before.
    pub(super) is_first: bool,
    /// The thread waits until the worker is done.
    pub(super) waits: bool,
}

enum Message {
    Log(FullLog),
    ThreadEnded(u32),
    /// Somebody asks what the worker knows.
    Account(Sender<WorkerAccount>),
}

/// A machine's end of the way to its worker.
#[derive(Default)]
pub(crate) struct LogWorker {
    is_wanted: AtomicBool,
    is_blocking: AtomicBool,
    next_thread: AtomicU32,
    state: Mutex<WorkerState>,
    /// The worker's knowledge, for the profile that is kept at the end.
    learned: Mutex<Option<Arc<Learned>>>,
}

#[derive(Default)]
enum WorkerState {
    /// Nobody compiles: nothing is logged.
    #[default]
    Off,
    /// Waits for the first log.
    Ready(Box<Worker>),
    Running(Sender<Message>),
}

impl LogWorker {
    /// Makes the worker, to be started by the first log.
    pub(crate) fn prepare(
        &self,
        options: WorkerOptions,
        machine: Box<dyn Machine>,
        compile: Box<dyn Compile>,
    ) {
        self.is_blocking
            .store(options.is_blocking, Ordering::Relaxed);
        let worker = Box::new(Worker::new(options, machine, compile));
        *self.learned.lock() = Some(worker.learned.clone());
        *self.lock() = WorkerState::Ready(worker);
        self.is_wanted.store(true, Ordering::Release);
    }

    fn lock(&self) -> canny_locks::MutexGuard<'_, WorkerState> {
        self.state.lock()
    }

    /// Whether threads shall log.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// Whether threads wait for the worker.
    pub(crate) fn is_blocking(&self) -> bool {
        self.is_blocking.load(Ordering::Relaxed)
    }

    pub(crate) fn new_thread_number(&self) -> u32 {
        self.next_thread.fetch_add(1, Ordering::Relaxed)
    }

    /// Hands a log over; false if there is nobody to take it, and then there will be nobody any more.
    pub(crate) fn send(&self, log: FullLog) -> bool {
        let mut state = self.lock();
        if let WorkerState::Ready(_) = &*state {
            *state = match std::mem::take(&mut *state) {
                WorkerState::Ready(worker) => start(worker),
                other => other,
            };
        }
        let sent = match &*state {
            WorkerState::Running(sender) => sender.send(Message::Log(log)).is_ok(),
            _ => false,
        };
        if !sent {
            *state = WorkerState::Off;
            self.is_wanted.store(false, Ordering::Release);
        }
        sent
    }

    pub(crate) fn end_thread(&self, thread: u32) {
        if let WorkerState::Running(sender) = &*self.lock() {
            // A worker that is gone does not care.
            let _ = sender.send(Message::ThreadEnded(thread));
        }
    }
}

fn start(worker: Box<Worker>) -> WorkerState {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
    match thread.spawn(move || {
        lower_priority();
        worker.run(&receiver);
    }) {
        Ok(_) => WorkerState::Running(sender),
        Err(_) => WorkerState::Off,
    }
}

/// The program comes first where there are fewer processors than threads, and a thread that hands a
/// log over continues: the system does not put a thread of the batch policy in the place of the one
/// that wakes it. Threads that somebody gave another policy keep it.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: changes the priority and the policy of the calling thread only; the parameter lives until
    // the call ends, and zero is what this policy wants in it.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, libc::gettid() as libc::id_t, 5);
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            let parameter: libc::sched_param = std::mem::zeroed();
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameter);
        }
    }
}

/// Processor time of this thread: where others want the processor too, the clock on the wall tells what
/// they cost.
fn processor_time() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place to be written is valid.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    match failed {
        0 => Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32),
        _ => Duration::ZERO,
    }
}

thread_local! {
    static PANIC: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
}

/// Runs the work; a panic in it is quiet, and its message is given.
fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let ours = std::thread::current().name() == Some(THREAD_NAME);
            if ours {
                PANIC.with(|message| *message.borrow_mut() = Some(panic.to_string()));
            } else {
                usual(panic);
            }
        }));
    });
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        PANIC
            .with(|message| message.borrow_mut().take())
            .unwrap_or_else(|| "panic".to_owned())
    })
}

/// A buffer that goes back to its thread after a rest.
struct Return {
    due: Instant,
    quota: Arc<LogQuota>,
    buffer: Vec<u64>,
    was_useful: bool,
}

/// The end of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiled {
    /// It is in use; compiling it took so long.
    Installed(Duration),
    /// It is not tried again.
    No,
    /// Another try may succeed.
    NotNow,
}

/// See the module.
pub(crate) struct Worker {
    options: WorkerOptions,
    file: Option<File>,
    machine: Box<dyn Machine>,
    compile: Box<dyn Compile>,
    learned: Arc<Learned>,
    planner: Planner,
    /// The profile of earlier runs, until the first log comes.
    restored: Option<Restored>,
    /// Plans of earlier runs that are to be compiled.
    kept: KeptPlans,
    /// Instructions of the code in the statistics: another object may get the address of one that died.
    known: HashMap<CodeWord, Arc<[u32]>>,
    /// Code that is to be looked at again although no log told anything new.
    pending: CodeSet,
    compiled: usize,
    /// Logs in a row that led to nothing new.
    idle_logs: u32,
    returns: Vec<Return>,
    birth: Instant,
    time_compiling: Duration,
    words_compiled: usize,
}

/// The snapshots of one round.
#[derive(Default)]
struct Snapshots(HashMap<CodeWord, Arc<CodeSnapshot>>);

impl CodeSource for Snapshots {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        self.0.get(&code).cloned()
    }
}

/// Snapshots, and the machine's record types.
struct Named<'a> {
    snapshots: &'a Snapshots,
    machine: &'a dyn Machine,
}

impl CodeSource for Named<'_> {
    fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        self.snapshots.snapshot(code)
    }

    fn record_type(&self, class: u32) -> Option<Arc<RecordTypeSnapshot>> {
        self.machine.record_type(class)
    }
}

/// The profile that statistics and machine have together of the code of a plan and of others.
struct WorkerProfile<'a> {
    statistics: &'a Statistics,
    machine: &'a dyn Machine,
    plan: &'a Plan,
}

impl Profile for WorkerProfile<'_> {
    fn result_type(&self, code: CodeWord, pc: usize) -> Option<Type> {
        let plan = self.plan;
        let of_such_calls = (code == plan.code && plan.entry == EntryPoint::Start).then(|| {
            self.statistics
                .result_type_for(code, pc, &plan.parameter_types)
        });
        of_such_calls
            .flatten()
            .or_else(|| self.statistics.result_type(code, pc))
    }

    fn callee(&self, code: CodeWord, pc: usize) -> Option<CodeWord> {
        self.statistics.callee(code, pc)
    }

    fn callees(&self, code: CodeWord, pc: usize) -> Callees {
        self.statistics.callees(code, pc)
    }

    fn calls_per_run(&self, code: CodeWord, pc: usize) -> Option<f64> {
        self.statistics.calls_per_run(code, pc)
    }

    fn is_cold(&self, code: CodeWord, pc: usize) -> bool {
        self.statistics.is_cold(code, pc) && !self.machine.was_left_at(code, pc)
    }

    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        let failed = self.statistics.failed_operands(code, pc);
        failed.or(self.machine.failed_operands(code, pc))
    }

    fn fails_before_loop(&self, code: CodeWord, pc: usize) -> bool {
        self.machine.fails_before_loop(code, pc)
    }

    fn declines(&self, code: CodeWord, pc: usize) -> bool {
        self.machine.declines(code, pc)
    }

    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        self.statistics.is_unstable(code, pc) || self.machine.is_unstable(code, pc)
    }
}

impl Worker {
    fn new(options: WorkerOptions, machine: Box<dyn Machine>, compile: Box<dyn Compile>) -> Worker {
        let file = options
            .log
            .as_ref()
            .and_then(|path| match File::create(path) {
                Ok(file) => Some(file),
                Err(error) => {
                    eprintln!("canny: cannot write {}: {error}", path.display());
                    None
                }
            });
        let mut planner = Planner::new(compile.selection());
        planner.set_eager(options.is_eager);
        planner.divide_by_class(compile.divides_by_class());
        Worker {
            options,
            file,
            machine,
            compile,
            learned: Learned::new(),
            planner,
            restored: None,
            kept: KeptPlans::default(),
            known: HashMap::new(),
            pending: CodeSet::default(),
            compiled: 0,
            idle_logs: 0,
            returns: Vec::new(),
            birth: Instant::now(),
            time_compiling: Duration::ZERO,
            words_compiled: 0,
        }
    }

    fn run(mut self: Box<Self>, messages: &Receiver<Message>) {
        // Set by an internal error: logs are only received, so that nobody waits in vain.
        let mut is_off = false;
        loop {
            let retry = self.kept.retry_at().filter(|_| !is_off);
            let due = self.returns.iter().map(|back| back.due).chain(retry);
            let message = match due.min() {
                Some(due) => {
                    match messages.recv_timeout(due.saturating_duration_since(Instant::now())) {
                        Ok(message) => message,
                        Err(RecvTimeoutError::Timeout) => {
                            self.give_back_due();
                            if retry.is_some_and(|at| at <= Instant::now())
                                && let Err(message) = guarded(|| self.retry_kept())
                            {
                                self.turn_off(&message);
                                is_off = true;
                            }
                            continue;
                        }
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
                None => match messages.recv() {
                    Ok(message) => message,
                    Err(_) => return,
                },
            };
            match message {
                Message::Log(log) if is_off => log.quota.finish_turn(),
                Message::Log(log) => {
                    let (quota, waits) = (log.quota.clone(), log.waits);
                    let result = guarded(|| self.take(log));
                    if waits {
                        quota.finish_turn();
                    }
                    if let Err(message) = result {
                        self.turn_off(&message);
                        is_off = true;
                    }
                }
                Message::ThreadEnded(thread) => {
                    self.learned.statistics.write().forget_thread(thread);
                }
                Message::Account(to) => {
                    // Nobody waits any more if it took too long.
                    let _ = to.send(self.account(is_off));
                }
            }
            self.give_back_due();
        }
    }

    fn turn_off(&mut self, message: &str) {
        self.say(&format!("The specializer is off: {message}\n"));
        self.returns.clear();
    }

    fn give_back_due(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.returns)
            .into_iter()
            .partition(|back| back.due <= now);
        self.returns = later;
        for back in Vec::from_iter::<Vec<Return>>(due) {
            back.quota.give_back(back.buffer, back.was_useful);
        }
    }

    /// Text for the specializer's log. Trouble with the file is not the program's.
    fn say(&mut self, text: &str) {
        if let Some(file) = &mut self.file {
            let _ = file.write_all(text.as_bytes());
        }
    }

    /// Takes a log in and does everything that follows from it.
    fn take(&mut self, log: FullLog) {
        let arrival = Instant::now();
        let FullLog {
            quota,
            buffer,
            used_words,
            is_continued,
            is_first,
            waits,
        } = log;
        self.forget_dead();
        self.restore_profile();
        let words = buffer.get(..used_words).unwrap_or_default();
        let mut touched = self.learned.statistics.write().add(
            Log {
                thread: quota.thread,
                is_continued,
                words,
            },
            &Snapshots::default(),
        );
        touched.extend(self.pending.drain());
        let snapshots = self.snapshots(&touched, waits.then_some(&*quota));
        self.learned.statistics.write().learn(&snapshots);
        let codes: Vec<Arc<CodeSnapshot>> = snapshots.0.values().cloned().collect();
        self.compile.stitch(&codes);
        let replayed = arrival.elapsed();
        let retired = self.compile.retracted();
        for Retired { plan, .. } in &retired {
            self.planner
                .retract(plan.code, plan.entry, &plan.parameter_types);
            self.learned.note_retired(plan);
        }
        let compiled_kept = self.compile_kept(&touched, waits.then_some(&*quota));
        let has_budget = !waits && !self.options.is_eager;
        self.planner.set_budget(has_budget.then(|| self.budget()));
        let plans = self
            .planner
            .plan(&mut self.learned.statistics.write(), &touched, &snapshots);
        if self.file.is_some() {
            for retired in &retired {
                self.say(&retirement::retired_text(retired, &*self.machine));
            }
            self.describe(&quota, words.len(), &touched, &snapshots, &plans, replayed);
        }
        let was_useful = compiled_kept || !plans.is_empty();
        for plan in plans {
            match self.compile_plan(&plan, &snapshots) {
                Compiled::Installed(time) => {
                    let logs = self.learned.statistics.read().version();
                    self.learned.note_used(UsedPlan { plan, logs, time }, true);
                }
                Compiled::No => {}
                Compiled::NotNow if !waits => self.try_soon(plan, &snapshots),
                Compiled::NotNow => {
                    self.planner
                        .invalidate(plan.code, plan.entry, &plan.parameter_types);
                    self.pending.insert(plan.code);
                }
            }
        }
        if !waits {
            self.kept.plan_retry();
        }
        let learned = self.learned.clone();
        let statistics = learned.statistics.read();
        self.known
            .retain(|code, _| statistics.code(*code).is_some());
        self.idle_logs = match (was_useful, self.planner.deferred()) {
            (true, _) => 0,
            (false, 0) => self.idle_logs + 1,
            // Time alone may make it worth while.
            (false, _) => (self.idle_logs + 1).min(IDLE_LOGS_WITH_DEFERRED_MAX),
        };
        let rest = if waits {
            Duration::ZERO
        } else if is_first {
            REST_FIRST
        } else {
            let age = (statistics.version() / LOGS_PER_AGE + self.kept.age).min(AGE_MAX);
            (REST_MIN * (1 << (age + self.idle_logs).min(10))).min(REST_MAX)
        };
        let back = Return {
            due: arrival + rest,
            quota,
            buffer,
            was_useful,
        };
        if waits {
            back.quota.give_back(back.buffer, back.was_useful);
        } else {
            self.returns.push(back);
        }
    }

    /// Forgets code that died: other code may get its address.
    fn forget_dead(&mut self) {
        let dead = self.machine.take_dead();
        for code in &dead {
            self.learned.statistics.write().forget(*code);
            self.planner.forget(*code);
            self.known.remove(code);
            self.pending.remove(code);
            self.kept.forget(*code);
        }
        self.compile.forget(&dead);
    }

    /// Returns the limits on the cost of compiling now.
    fn budget(&self) -> Budget {
        let elapsed = self.birth.elapsed();
        let cost_per_word = match self.words_compiled {
            0..WORDS_TO_LEARN_FROM => COST_PER_WORD,
            words => self.time_compiling / words as u32,
        };
        Budget {
            events: self.learned.statistics.read().events(),
            elapsed: elapsed + self.kept.time_before,
            cost_per_word,
            is_exhausted: self.time_compiling
                > TIME_FREE
                    + elapsed / TIME_SHARE
                    + elapsed.saturating_sub(LONG_RUN) / LONG_RUN_SHARE,
        }
    }

    fn compile_plan(&mut self, plan: &Plan, snapshots: &Snapshots) -> Compiled {
        let title = code_title(plan.code, snapshots);
        if self
            .options
            .limit
            .is_some_and(|limit| self.compiled >= limit)
        {
            self.say(&format!("Not compiled, the limit is reached: {title}\n\n"));
            self.note_refusal(plan, "CANNY_SPESH_LIMIT is reached", Duration::ZERO);
            return Compiled::No;
        }
        if self.compiled == 0 {
            mapped::give_back();
        }
        self.compiled += 1;
        let number = self.compiled;
        let start = processor_time();
        let Worker {
            compile,
            learned,
            machine,
            file,
            ..
        } = self;
        let learned = learned.clone();
        let statistics = learned.statistics.read();
        let profile = WorkerProfile {
            statistics: &statistics,
            machine: &**machine,
            plan,
        };
        let log = file.as_mut().map(|file| file as &mut dyn Write);
        let outcome = guarded(|| compile.compile(plan, &profile, log));
        drop(statistics);
        let time = processor_time().saturating_sub(start);
        let compiled = match outcome {
            Ok(Outcome::Installed(_)) => Compiled::Installed(time),
            Ok(Outcome::TryAgain(_)) => Compiled::NotNow,
            Ok(Outcome::Refused(_)) | Err(_) => Compiled::No,
        };
        let text = match outcome {
            Ok(Outcome::Installed(text)) => format!("installed {text}"),
            Ok(Outcome::Refused(text)) => format!("refused: {text}"),
            Ok(Outcome::TryAgain(text)) => format!("not now: {text}"),
            Err(panic) => format!("turned off by an internal error: {panic}"),
        };
        if !matches!(compiled, Compiled::Installed(_)) {
            self.note_refusal(plan, &text, time);
        }
        self.time_compiling += time;
        self.words_compiled += snapshots
            .snapshot(plan.code)
            .map_or(0, |code| code.instructions.len());
        let microseconds = time.as_micros();
        self.say(&format!(
            "Candidate {number}, {title}: {text} ({microseconds} us)\n\n"
        ));
        compiled
    }

    fn describe(
        &mut self,
        quota: &LogQuota,
        words: usize,
        touched: &CodeSet,
        snapshots: &Snapshots,
        plans: &[Plan],
        replayed: Duration,
    ) {
        let learned = self.learned.clone();
        let statistics = learned.statistics.read();
        let mut text = format!(
            "Log {} of thread {}, {} words, taken in within {} us\n\n==========\n\n",
            statistics.version(),
            quota.thread,
            words,
            replayed.as_micros()
        );
        let warm = touched
            .iter()
            .copied()
            .filter(|code| snapshots.0.contains_key(code));
        let source = Named {
            snapshots,
            machine: &*self.machine,
        };
        text.push_str(&statistics_text(&statistics, warm, &source));
        let plural = if plans.len() == 1 { "" } else { "s" };
        text.push_str(&format!(
            "Plan of {} specialization{plural}\n\n",
            plans.len()
        ));
        for plan in plans {
            text.push_str(&plan_text(plan, &source));
        }
        self.say(&text);
    }
}

impl fmt::Debug for LogWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWorker")
            .field("is_wanted", &self.is_wanted())
            .finish_non_exhaustive()
    }
}
