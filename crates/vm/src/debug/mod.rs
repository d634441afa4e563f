//! The debugger's part of the machine: breakpoints, stepping, and what is seen of a task that stands
//! still.
//!
//! A breakpoint replaces the opcode byte of an instruction by `break` ([`patches`]); compiled code that
//! contains the instruction is retired, and later code leaves it to the interpreter. A thread whose task
//! is stepped through has a dispatch table in which every opcode leads here ([`step`]). A task that stops
//! blocks its thread outside of the heap, in its [`Client`], so that collections and other tasks go on.
//! This module does not know who the client is, nor how an expression becomes a procedure.
//!
//! | state | written by | read by |
//! |---|---|---|
//! | breaks in the bytecode | a thread that sets or removes breakpoints | generated dispatch |
//! | `State` | everybody, under its lock | the same |
//! | `is_on` | whoever sets the first breakpoint or asks for a pause | switches between tasks, the loader |
//! | a thread's `ThreadDebug` | this thread | the same |
//! | `version` | whoever changes breakpoints | threads, before they use what they remember |

mod breakpoints;
mod callees;
mod counting;
mod entry;
mod expansions;
mod frames;
mod hits;
mod jumps;
mod kept;
pub(crate) mod patches;
mod places;
mod seen;
mod step;
mod stop;
mod tasks;
mod watched;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use canny_locks::{Mutex, MutexGuard};
use canny_value::Value;

use crate::thread::interrupt::{DEBUG, InterruptState};

pub use breakpoints::{Breakpoint, BreakpointId, BreakpointState, Condition, Location};
pub use counting::{Back, CountOrder, Counted};
pub use expansions::{Expanded, ExpansionId, ExpansionView};
pub use frames::{Assignment, DebugFrame, DebugVariable, Home};
pub use jumps::Ahead;
pub use kept::Kept;
pub use step::{Granularity, StepKind};
pub use stop::{Reason, Stop};
pub use tasks::{TaskDescription, TaskState, Wake};
pub use watched::{Change, PartName};

use breakpoints::Known;
use seen::Seen;
use step::Step;

/// Names a task: the number of its record, or none for what runs as no task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey(pub Option<i64>);

/// The answer of a condition.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// The task stops.
    Stop,
    /// It goes on.
    Pass,
    /// It calls a procedure with an argument first; then the condition is asked again, with the
    /// argument.
    Call(Value, Value),
}

/// How a task that stands still goes on.
#[derive(Clone, Copy, Debug)]
pub enum Resume {
    /// To the next breakpoint.
    Continue,
    /// To the end of a step.
    Step(StepKind, Granularity),
    /// To the end of a step in an opened expansion: a line or an expression of its text.
    StepExpanded(StepKind, Granularity, ExpansionId),
    /// To the first place of an expansion, or to another line.
    EnterExpansion(ExpansionId),
    /// To a place of this procedure outside of an expansion and of the use, or of an older one.
    LeaveExpansion(ExpansionId),
    /// It calls a procedure with one argument in the middle of the instruction at which it stands, and
    /// stops there again, with the argument.
    Call(Value, Value),
    /// Into one of the calls of [`Stop::calls`]: to the first place of the procedure that it calls.
    Into(u32),
    /// The newest frame continues at one of the places of [`Stop::jumps`], and stops there.
    Jump(u32),
    /// It returns a value from the newest frame.
    Return(Value),
    /// It begins the newest frame again, if [`Stop::can_restart`] says so.
    Restart,
    /// It raises an object.
    Raise(Value),
    /// The program ends with an exit code.
    Exit(i32),
}

/// A debugger for people or for an editor.
pub trait Client: Send + Sync {
    /// A task has stopped; this runs on its thread, which goes on as the result says. To wait for
    /// somebody it uses [`Stop::wait`].
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume;

    /// Whether it shows [`Wake`]s, which cost each wake some microseconds.
    fn shows_wakes(&self) -> bool {
        false
    }
}

/// A procedure that a task which stands still has called.
#[derive(Clone, Debug)]
struct Call {
    /// The instruction, and the depth of its frame.
    at: usize,
    depth: usize,
    /// The instruction has a break, by which the end of the call is noticed.
    is_break: bool,
    reason: stop::Kind,
    /// Those whose conditions were asked before are not asked again.
    asked: Option<BreakpointId>,
    /// Names the argument among the machine's roots.
    number: i64,
    /// The thread that has made it, for what runs as no task.
    thread: usize,
}

#[derive(Default)]
struct State {
    client: Option<Arc<dyn Client>>,
    breakpoints: Vec<Known>,
    breakpoints_made: u32,
    /// Steps of tasks that do not run just now.
    steps: HashMap<TaskKey, Box<Step>>,
    /// Tasks that are to stop soon.
    pauses: HashSet<TaskKey>,
    pauses_all: bool,
    /// Counts how often everything was told to stop.
    interrupts: usize,
    /// By task, the innermost last.
    calls: HashMap<TaskKey, Vec<Call>>,
    calls_made: i64,
    /// Instructions that are executed again, after something came in between: address and depth.
    repetitions: HashMap<TaskKey, (usize, usize)>,
    threads: Vec<Weak<InterruptState>>,
    starts: tasks::Starts,
    wakes: tasks::Wakes,
    kept: kept::Places,
    count_orders: Vec<CountOrder>,
    /// Code that is kept alive since steps have put breaks there.
    stepped: HashSet<u64>,
}

/// The debugger of a machine.
#[derive(Default)]
pub struct Debugger {
    is_on: AtomicBool,
    /// A task may stop, and the client shows who has woken it.
    notes_wakes: AtomicBool,
    /// Calls of the debugger that have not returned.
    calls: AtomicUsize,
    /// Entries of `repetitions`.
    repetitions: AtomicUsize,
    /// Counts the changes of breakpoints and breaks, for what threads remember.
    version: AtomicUsize,
    still: Mutex<Still>,
    state: Mutex<State>,
}

/// The time in which any task stood still.
#[derive(Debug, Default)]
struct Still {
    /// Tasks that do just now.
    tasks: usize,
    since: Option<Instant>,
    /// The time before that.
    before: Duration,
}

impl Debugger {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether anything is debugged.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether somebody may ask who has woken a task.
    pub(crate) fn notes_wakes(&self) -> bool {
        self.notes_wakes.load(Ordering::Relaxed)
    }

    /// From now on tasks may stop.
    fn begin_wakes(&self, state: &State) {
        if state
            .client
            .as_ref()
            .is_some_and(|client| client.shows_wakes())
        {
            self.notes_wakes.store(true, Ordering::Relaxed);
        }
    }

    fn turn_on(&self) {
        self.is_on.store(true, Ordering::SeqCst);
    }

    /// The time in which any task stood still.
    pub fn stood_still(&self) -> Duration {
        let still = self.still.lock();
        let now = still.since.map_or(Duration::ZERO, |since| since.elapsed());
        still.before + now
    }

    /// A task begins to stand still, or ends it.
    fn note_still(&self, begins: bool) {
        let mut still = self.still.lock();
        if begins {
            still.tasks += 1;
            still.since.get_or_insert_with(Instant::now);
        } else {
            still.tasks -= 1;
            if still.tasks == 0
                && let Some(since) = still.since.take()
            {
                still.before += since.elapsed();
            }
        }
    }

    /// Says who is asked when a task stops. Without a client none does.
    pub fn set_client(&self, client: Option<Arc<dyn Client>>) {
        self.turn_on();
        let mut state = self.lock();
        state.client = client;
        self.notes_wakes.store(false, Ordering::Relaxed);
        state.wakes.clear();
        if !state.breakpoints.is_empty() {
            self.begin_wakes(&state);
        }
    }

    /// A thread of the machine begins.
    pub(crate) fn know_thread(&self, interrupts: &Arc<InterruptState>) {
        let mut state = self.lock();
        state.threads.retain(|thread| thread.strong_count() > 0);
        state.threads.push(Arc::downgrade(interrupts));
    }

    /// Stops a task at the next place in the program's own code.
    pub fn pause(&self, task: TaskKey) {
        self.turn_on();
        let mut state = self.lock();
        state.pauses.insert(task);
        self.begin_wakes(&state);
        drop(state);
        self.ask_threads();
    }

    /// A task that was to stop is not to stop any more.
    pub fn cancel_pause(&self, task: TaskKey) {
        self.lock().pauses.remove(&task);
    }

    /// Stops every task there, those too that begin or resume later; or lets that be. Gives what was in
    /// force before.
    pub fn pause_all(&self, pauses: bool) -> bool {
        self.turn_on();
        let mut state = self.lock();
        let before = std::mem::replace(&mut state.pauses_all, pauses);
        if pauses {
            self.begin_wakes(&state);
            drop(state);
            self.ask_threads();
        }
        before
    }

    /// The same, and steps that go on end there, too.
    pub fn interrupt_all(&self) -> bool {
        self.lock().interrupts += 1;
        self.pause_all(true)
    }

    fn ask_threads(&self) {
        let threads: Vec<_> = self.lock().threads.clone();
        for thread in threads.iter().filter_map(Weak::upgrade) {
            thread.notify_if_alive(DEBUG);
        }
    }
}

/// A thread's part of the debugger.
#[derive(Default)]
pub(crate) struct ThreadDebug {
    /// The step of the task that runs.
    step: Option<Box<Step>>,
    /// Breaks that it has met.
    seen: Seen,
    /// The places that it passes are counted.
    counting: Option<Box<counting::Counting>>,
    /// The task that the thread has left last.
    left: TaskKey,
    /// The instruction and the frame to which a call in the middle of an instruction has just returned.
    resumed: Option<(usize, usize)>,
}

impl crate::Vm {
    /// The machine's debugger.
    pub fn debugger(&self) -> &Debugger {
        &self.debugger
    }
}
