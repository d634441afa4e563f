//! Tasks on the threads of a pool: which words wait for a worker, how a worker takes one up, which
//! system threads there are.
//!
//! The pool of `canny_sched` holds words and knows nothing of them; here they are references to
//! *waiters*, records whose fields a row of `canny_tables::protocols` has. Everything else about tasks
//! (what they are waited for by, what becomes of their results) is in Scheme, in `(canny tasks)`.
//!
//! | shared state | written by | read by |
//! |---|---|---|
//! | words in the pool | mutators that are not at a safepoint | the same; the collector, which updates them |
//! | `workers` | who starts or ends as a worker | who preempts one |
//! | `exit` | a worker whose task asked for the end of the program | the main thread |
//!
//! A worker is a system thread with a [`Thread`] of the machine. It runs the machine once, from its
//! beginning to its retirement: tasks are entered by [switches](crate::switch), from the primitive that
//! looks for work.

mod host;
mod parking;
mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use canny_heap::{Account, CollectionMode, RootLabel, RootListing, RootVisitor, Roots};
use canny_sched::{
    Deposit, Idle, Lane, Next, Pool, PoolConfig, PoolStatistics, Ticket, TraceSink, Wake, WorkerId,
};
use canny_tables::kinds::Kind;
use canny_tables::protocols::{LOCK_WORD, TicketOutcome, task, waiter};
use canny_value::{ObjectRef, Value};

use crate::control::condition::ConditionKind;
use crate::primitive::Raise;
use crate::thread::offload::ParkedComputations;
use crate::thread::{Exit, Thread};

pub(crate) use self::thread::ThreadTasks;

/// Options of the threads that run tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TasksConfig {
    /// How many threads compute at once, unless the number of processors.
    pub cores: Option<usize>,
    /// How many threads there may be when others are blocked, unless 64 or eight for each processor.
    pub threads_max: Option<usize>,
    /// Tells on standard error why each thread comes and goes.
    pub is_traced: bool,
    /// All tasks run on the first thread, in an order that depends on nothing but them and what comes
    /// from outside.
    pub is_alone: bool,
}

/// Name of the root with the procedure that waits for a ticket.
const RESUMER: &str = "waiting for a ticket";

/// Name of the root with the procedure that the main thread runs when all tasks wait for each other.
const STANDSTILL: &str = "all tasks wait";

/// The same when it is interrupted while it is idle.
const INTERRUPTED: &str = "interrupted while idle";

/// The tasks of a machine.
pub struct Tasks {
    pool: Arc<Pool>,
    host: Arc<host::MachineHost>,
    /// Tasks that were started and have not ended.
    count: AtomicI64,
    /// The number of the next one.
    next_number: AtomicI64,
    pub(crate) computations: ParkedComputations,
}

impl Tasks {
    /// Whether anybody else could run while the current task of a thread waits.
    fn are_there_others(&self, thread: &Thread) -> bool {
        thread.tasks.worker != Some(WorkerId::MAIN) || self.count.load(Ordering::SeqCst) > 0
    }
}

/// The words in a pool as the heap holds them.
struct PoolRoots(Arc<Pool>);

impl Roots for PoolRoots {
    unsafe fn visit_roots(&mut self, visitor: &mut RootVisitor<'_, '_>, mode: CollectionMode) {
        let young_only = mode == CollectionMode::Minor;
        let visit = &mut |word: &mut u64| {
            // SAFETY: the pool holds words of values only, and every collection updates them.
            let mut value = unsafe { Value::from_bits(*word) };
            visitor.visit(&mut value);
            *word = value.bits();
        };
        self.0.visit_words(visit, young_only);
    }

    unsafe fn list_roots(&mut self, listing: &mut RootListing) {
        let node = listing.group(RootLabel::of_family("tasks that are ready or wait"));
        let show = &mut |word: u64| {
            // SAFETY: as in `visit_roots`.
            listing.add(node, unsafe { Value::from_bits(word) });
        };
        self.0.each_word(show);
    }
}

impl crate::Vm {
    /// Has the pool note when tasks become runnable, or no more.
    pub(crate) fn note_ready_times(&self, is_on: bool) {
        if let Some(tasks) = self.tasks.get() {
            tasks.pool.note_ready_times(is_on);
        }
    }
}

impl Thread {
    /// The machine's tasks. The thread has a reference of its own to them, since one that all share
    /// would be counted by all at every switch.
    fn tasks(&mut self) -> &Tasks {
        if self.tasks.shared.is_none() {
            self.tasks.shared = Some(self.find_tasks());
        }
        self.tasks.shared.as_ref().expect("it is there now")
    }

    /// The machine's tasks; the thread that asks first is the main worker.
    fn find_tasks(&mut self) -> Arc<Tasks> {
        let vm = self.vm().clone();
        if let Some(tasks) = vm.tasks.get() {
            return tasks.clone();
        }
        let interrupts = self.interrupts.clone();
        let tasks = vm.tasks.get_or_init(|| {
            let host = Arc::new(host::MachineHost::new(&vm));
            let wanted = vm.tasks_config;
            let usual = PoolConfig::default();
            let mut config = PoolConfig {
                alarms_interrupts: true,
                reports_quiet: true,
                cores: wanted.cores.unwrap_or(usual.cores).max(1),
                limit: wanted.threads_max.unwrap_or(usual.limit).max(1),
                limit_stuck: wanted.threads_max.unwrap_or(usual.limit_stuck).max(1),
                is_alone: wanted.is_alone,
                ..usual
            };
            let mut pool = Pool::new(config.clone(), host.clone());
            let alarm = pool.alarm().map(|alarm| interrupts.set_alarm(alarm));
            if !matches!(alarm, Some(Ok(()))) {
                config.alarms_interrupts = false;
                pool = Pool::new(config, host.clone());
            }
            if wanted.is_traced {
                pool.set_trace(Some(trace_sink()));
            }
            vm.heap()
                .add_global_roots(Box::new(PoolRoots(pool.clone())));
            pool.note_ready_times(vm.profiler.is_on());
            let worker = pool.enter_main();
            host.enter(worker, interrupts);
            Arc::new(Tasks {
                pool,
                host,
                count: AtomicI64::new(0),
                next_number: AtomicI64::new(0),
                computations: ParkedComputations::default(),
            })
        });
        if self.tasks.worker.is_none() {
            self.tasks.worker = Some(WorkerId::MAIN);
        }
        tasks.clone()
    }

    /// Sets the procedure that workers run, which serves, and the procedure that waits for a
    /// ticket, which gets its number. Workers begin with the default ports of this thread.
    pub fn begin_tasks(&mut self, server: Value, resumer: Value) {
        self.tasks();
        self.vm.set_root(RESUMER, resumer);
        self.vm.set_root(host::SERVER, server);
        for (key, name) in host::DEFAULT_PORTS.into_iter().enumerate() {
            self.vm.set_root(name, self.dynamic.default_ports[key]);
        }
    }

    /// Says what the main thread runs while it is idle: when all tasks wait for each other, and when it
    /// is interrupted. Both procedures end by serving again.
    pub fn set_idle_procedures(&mut self, standstill: Value, interrupted: Value) {
        self.vm.set_root(STANDSTILL, standstill);
        self.vm.set_root(INTERRUPTED, interrupted);
    }

    /// Numbers about the pool.
    pub fn pool_statistics(&mut self) -> PoolStatistics {
        self.tasks().pool.statistics()
    }

    /// Tells on standard error, or does not, why workers come and go.
    pub fn trace_pool(&mut self, is_on: bool) {
        self.tasks().pool.set_trace(is_on.then(trace_sink));
    }

    /// The number of the worker that this thread is.
    pub fn worker(&self) -> usize {
        self.tasks.worker.map_or(0, |worker| worker.index())
    }

    /// Counts tasks that begin or, if negative, end; gives how many there are.
    pub fn count_tasks(&mut self, change: i64) -> i64 {
        if change < 0 {
            self.profile_end_of_task();
            self.debug_end_of_task();
        }
        self.tasks().count.fetch_add(change, Ordering::SeqCst) + change
    }

    /// A number that no other task has.
    pub fn new_task_number(&mut self) -> i64 {
        let number = self.tasks().next_number.fetch_add(1, Ordering::Relaxed);
        self.profile_start(number);
        self.debug_start(number);
        number
    }

    /// Asks every worker's task to give way.
    pub fn preempt_workers(&mut self) {
        self.tasks().host.preempt_all();
    }

    /// The lane of the current task; `free` if it may run anywhere.
    pub(crate) fn lane_of_task(&self, free: Lane) -> Lane {
        let lane = self
            .tasks
            .current
            .as_kind(Kind::Record)
            .filter(|task| task.length() >= task::WORDS)
            .and_then(|task| task.field(task::LANE).as_index());
        lane.map_or(free, |worker| Lane::Pinned(WorkerId::from_index(worker)))
    }

    /// Hands a waiter that was claimed to the workers, behind all others or where it is soon found.
    pub fn make_ready(&mut self, waiter: Value, behind: bool) -> Result<(), Raise> {
        // A task that gives way to others is not woken.
        if !behind {
            self.debug_ready(waiter);
        }
        if self.try_make_ready(waiter, behind) {
            Ok(())
        } else {
            Err(self.raise_type("%make-ready!", 1, "waiter", waiter))
        }
    }

    /// The same without a note for a debugger, which would look at the frames; whether it is a waiter.
    pub(crate) fn try_make_ready(&mut self, waiter: Value, behind: bool) -> bool {
        let Some(lane) = lane_of(waiter) else {
            return false;
        };
        self.profile_ready(waiter);
        let worker = self.tasks.worker;
        let pool = &self.tasks().pool;
        if behind {
            pool.yield_word(worker.unwrap_or(WorkerId::MAIN), lane, waiter.bits());
        } else {
            pool.push(worker, lane, waiter.bits());
        }
        true
    }

    /// Makes a waiter that was claimed stand by on this worker: it is taken up when what runs there
    /// waits and nothing else is ready. If that does not happen for long others have it.
    pub fn hand_over(&mut self, waiter: Value) -> Result<(), Raise> {
        let Some(lane) = lane_of(waiter) else {
            return Err(self.raise_type("%hand-over!", 1, "waiter", waiter));
        };
        self.profile_ready(waiter);
        self.debug_ready(waiter);
        let worker = self.tasks.worker;
        let pool = &self.tasks().pool;
        match worker {
            Some(worker) if lane == Lane::General => pool.hand_over(worker, waiter.bits()),
            _ => pool.push(worker, lane, waiter.bits()),
        }
        Ok(())
    }

    /// The task that runs here begins the next of several steps; `behind` more wait to be begun.
    /// Gives a number for [`Thread::shall_step_aside`].
    pub fn begin_step(&mut self, behind: usize) -> i64 {
        let worker = self.tasks.worker.unwrap_or(WorkerId::MAIN);
        let item = self.tasks().pool.begin_step(worker, behind);
        step_number(worker, item)
    }

    /// Whether a task that ends such a step had better make way for others: it was away since the step
    /// began, so that others do the same meanwhile, or somebody waits.
    pub fn shall_step_aside(&mut self, step: i64) -> bool {
        let worker = self.tasks.worker.unwrap_or(WorkerId::MAIN);
        let item = step >> WORKER_BITS;
        step != step_number(worker, item as u64)
            || self.tasks().pool.shall_step_aside(worker, item as u64)
    }

    /// How a task has asked the program to end.
    pub(crate) fn exit_of_tasks(&self) -> Option<Exit> {
        self.vm.tasks.get()?.host.exit()
    }

    /// Drops what the thread runs and takes up what waits for a worker; sleeps while there is nothing.
    pub fn serve(&mut self) -> Raise {
        self.profile_parking();
        let tasks = match self.tasks.shared.take() {
            Some(tasks) => tasks,
            None => self.find_tasks(),
        };
        let raise = self.serve_tasks(&tasks);
        self.tasks.shared = Some(tasks);
        raise
    }

    fn serve_tasks(&mut self, tasks: &Tasks) -> Raise {
        let worker = self.tasks.worker.unwrap_or(WorkerId::MAIN);
        self.tasks.current = Value::FALSE;
        self.mutator().set_account(Account::EXEMPT);
        loop {
            if let Some(next) = tasks.pool.try_next(worker) {
                self.profile_taken(&tasks.pool, &next);
                if let Some(switch) = self.take_up(next) {
                    return switch;
                }
                continue;
            }
            let interrupts = self.interrupts.clone();
            let flag = (worker == WorkerId::MAIN).then(|| interrupts.interrupt_waiting());
            self.pause_samples();
            let idle = {
                let _region = self.mutator().enter_native();
                tasks.pool.wait(worker, flag, None)
            };
            self.resume_samples();
            match idle {
                Idle::Look | Idle::TimedOut => {}
                Idle::Quiet => return self.tell_main(STANDSTILL),
                Idle::Retire => {
                    tasks.pool.leave(worker);
                    self.tasks.retires = true;
                    return self.leave(Exit::Uncaught);
                }
                Idle::Interrupted => {
                    if let Some(exit) = tasks.host.exit() {
                        return self.leave(exit);
                    }
                    interrupts.take_interrupt();
                    return self.tell_main(INTERRUPTED);
                }
            }
            if worker == WorkerId::MAIN
                && let Some(exit) = tasks.host.exit()
            {
                return self.leave(exit);
            }
        }
    }

    /// Runs, as no task, a procedure that is to end the wait of the main task.
    fn tell_main(&mut self, procedure: &'static str) -> Raise {
        let procedure = self.vm.root(procedure).unwrap_or(Value::FALSE);
        self.switch_to_call(procedure, Value::NIL)
    }

    /// Continues with the task of a waiter; `None` if another one was faster to wake it.
    fn take_up(&mut self, next: Next) -> Option<Raise> {
        // SAFETY: a word from the pool's queues, which the collector has kept up to date, and there was
        // no safepoint since.
        let waiter = unsafe { Value::from_bits(next.word) };
        let (object, task) = waiter_parts(waiter)?;
        if let Some(wake) = next.wake {
            if !self.claim(waiter, waiter::STATE) {
                return None;
            }
            let value = Value::fixnum(wake_number(wake));
            self.store(waiter, waiter::VALUE, value);
            self.debug_wake_without_task(task.value());
        }
        let (value, task_value) = (object.field(waiter::VALUE), task.value());
        let continuation = task.field(task::CONTINUATION);
        self.profile_going_on(task_value, continuation);
        self.store(task_value, task::CONTINUATION, Value::FALSE);
        self.set_current_task(task_value);
        Some(if self.sealed_of(continuation).is_some() {
            self.switch_to(continuation, value)
        } else {
            self.switch_to_call(continuation, task.field(task::PARAMETERS))
        })
    }

    /// Changes a field from `#f` to `#t`; whether it was this call that did.
    pub fn claim(&mut self, object: Value, field: usize) -> bool {
        self.mutator().raise_flag(object, field)
    }

    /// Locks a record by its first field and enters a critical section.
    pub fn lock_record(&mut self, record: Value) {
        /// Attempts before the system is asked to run another thread.
        const SPINS: u32 = 200;
        self.enter_critical();
        loop {
            for _ in 0..SPINS {
                if self.claim(record, LOCK_WORD) {
                    return;
                }
                std::hint::spin_loop();
            }
            // The holder of the lock may stand at a safepoint.
            self.mutator().safepoint();
            std::thread::yield_now();
        }
    }

    /// Unlocks it and leaves the section.
    pub fn unlock_record(&mut self, record: Value) {
        self.mutator().lower_flag(record, LOCK_WORD);
        self.leave_critical();
    }

    /// A ticket for a point in time.
    pub fn arm_timer(&mut self, after: Duration) -> Result<u64, Raise> {
        let deadline = canny_replay::now().checked_add(after);
        let lane = self.lane_of_task(Lane::Timer);
        match self.tasks().pool.arm(&[], deadline, lane) {
            Ok(ticket) => Ok(ticket.number()),
            Err(error) => Err(self.raise(ConditionKind::System, &error.to_string(), &[], None)),
        }
    }

    /// Lets a thread that helps do a job; a ticket for its end, or why there is no such thread.
    pub fn offload(&mut self, job: Box<dyn FnOnce() + Send>) -> std::io::Result<u64> {
        let lane = self.lane_of_task(Lane::General);
        let ticket = self.tasks().pool.offload_ahead(job, lane)?;
        Ok(ticket.number())
    }

    /// Whether the current task runs on the main thread without being bound to it: where it blocks, it
    /// blocks the main program, which can continue nowhere else.
    pub fn is_guest_of_main(&self) -> bool {
        !self.vm.tasks_config.is_alone
            && self.tasks.worker == Some(WorkerId::MAIN)
            && self.tasks.current.is_true()
            && self.lane_of_task(Lane::General) == Lane::General
    }

    /// Says that a primitive has done nothing and is to be called again when a ticket is over.
    pub fn repeat_after_ticket(&mut self, ticket: u64) -> Raise {
        let resumer = self.vm.root(RESUMER).unwrap_or(Value::FALSE);
        self.repeat_after(resumer, ticket as i64)
    }

    /// Has a ticket wake a waiter; returns the ticket's outcome if it is known already.
    pub fn park_ticket(&mut self, ticket: u64, waiter: Value) -> Result<Option<i64>, Raise> {
        if waiter_parts(waiter).is_none() {
            return Err(self.raise_type("%park-ticket!", 2, "waiter", waiter));
        }
        let pool = &self.tasks().pool;
        Ok(
            match pool.deposit(Ticket::with_number(ticket), waiter.bits()) {
                Deposit::Parked => None,
                Deposit::Ready(wake) => Some(wake_number(wake)),
            },
        )
    }

    /// Gives a ticket up.
    pub fn disarm_ticket(&mut self, ticket: u64) {
        self.tasks().pool.disarm(Ticket::with_number(ticket));
    }
}

/// Bits of a number of a step that say which worker it is on.
const WORKER_BITS: u32 = 12;

/// A number that fits into a fixnum; items are so many only after centuries.
fn step_number(worker: WorkerId, item: u64) -> i64 {
    (item << WORKER_BITS) as i64 | worker.index() as i64
}

fn trace_sink() -> TraceSink {
    Arc::new(|line: &str| eprintln!("canny: pool: {line}"))
}

/// The number of a ticket's outcome.
fn wake_number(wake: Wake) -> i64 {
    let outcome = match wake {
        Wake::Ready(_) | Wake::Parked => TicketOutcome::Ready,
        Wake::TimedOut => TicketOutcome::TimedOut,
        Wake::Interrupted => TicketOutcome::Interrupted,
    };
    outcome.number()
}

/// Where the task of a waiter may run. None for a value that is no waiter.
fn lane_of(waiter: Value) -> Option<Lane> {
    let (_, task) = waiter_parts(waiter)?;
    let lane = task.field(task::LANE);
    Some(match lane.as_index() {
        Some(worker) => Lane::Pinned(WorkerId::from_index(worker)),
        None if lane == Value::TRUE => Lane::Timer,
        None => Lane::General,
    })
}

/// A waiter and its task.
pub(crate) fn waiter_parts(value: Value) -> Option<(ObjectRef, ObjectRef)> {
    let waiter = value
        .as_kind(Kind::Record)
        .filter(|waiter| waiter.length() >= waiter::WORDS)?;
    let task = waiter
        .field(waiter::TASK)
        .as_kind(Kind::Record)
        .filter(|task| task.length() >= task::WORDS)?;
    Some((waiter, task))
}
