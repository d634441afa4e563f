//! Queues of work for tasks that stand still, and expressions that they are evaluating.
//!
//! A task that has stopped takes jobs from its queue. The thread that reads requests puts them there.
//! A call that the debugger makes ends the stop and begins another one; the queue stays, and with it
//! the client's knowledge of the task.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, Sender, channel};

use canny_lib::debug::{Expression, Outcome};
use canny_vm::debug::{Resume, Stop, TaskKey};

use crate::progress::Progress;

/// Work for the thread of a task that stands still.
pub type Job = Box<dyn FnOnce(&mut Stop<'_>) -> Next + Send>;

/// The task's next act after a job.
pub enum Next {
    /// It takes another one.
    Stay,
    /// It goes on.
    Resume(Resume),
    /// It evaluates an expression, and then does something.
    Evaluate(Resume, Evaluation),
}

/// A use of the outcome of an expression.
pub type Finish = Box<dyn FnOnce(&mut Stop<'_>, Outcome) + Send>;

/// An expression that a task is evaluating.
pub struct Evaluation {
    /// The expression.
    pub expression: Expression,
    /// For its outcome.
    pub finish: Finish,
    /// The request that wants it.
    pub request: i64,
    /// The task has stopped in the middle of it.
    pub is_interrupted: bool,
    /// Nobody wants its value any more.
    pub is_cancelled: bool,
    /// Tells the client of its end, if the client was told of its beginning.
    pub progress: Option<Progress>,
}

/// The jobs of a task.
struct Queue {
    sender: Sender<Job>,
    /// Unless the task has it.
    receiver: Option<Receiver<Job>>,
}

/// Cancelled requests that are remembered.
const CANCELLED_MAX: usize = 100;

/// The tasks that stand still.
#[derive(Default)]
pub struct Tasks {
    queues: HashMap<TaskKey, Queue>,
    /// By task, the innermost last.
    evaluations: HashMap<TaskKey, Vec<Evaluation>>,
    /// Tasks that wait, and that the client takes for stopped.
    parked: HashSet<TaskKey>,
    /// Tasks that the client wants to stop.
    asked: HashSet<TaskKey>,
    /// The task for whose sake all others stand still, if they do.
    leader: Option<TaskKey>,
    /// Tasks whose next stop is the end of a step or the like, and the reason for that stop.
    steps: HashMap<TaskKey, &'static str>,
    /// The task that has stopped last.
    last: Option<TaskKey>,
    /// Requests that were cancelled before they began.
    cancelled: HashSet<i64>,
    /// The client has gone: nobody stops any more.
    is_closed: bool,
}

impl Tasks {
    /// Whether a task stands still.
    pub fn is_stopped(&self, task: TaskKey) -> bool {
        self.queues.contains_key(&task)
    }

    /// A task that stands still.
    pub fn any_stopped(&self) -> Option<TaskKey> {
        self.queues.keys().min().copied()
    }

    /// The task that has stopped last, of those that stand still.
    pub fn stopped_last(&self) -> Option<TaskKey> {
        self.last
            .filter(|task| self.is_stopped(*task))
            .or_else(|| self.any_stopped())
    }

    /// Those that stand still.
    pub fn all_stopped(&self) -> Vec<TaskKey> {
        self.queues.keys().copied().collect()
    }

    /// Has a task do a job; gives it back if the task does not stand still.
    pub fn put(&mut self, task: TaskKey, job: Job) -> Result<(), Job> {
        match self.queues.get(&task) {
            Some(queue) => queue.sender.send(job).map_err(|error| error.0),
            None => Err(job),
        }
    }

    /// Nobody asks any more: all go on, and expressions that are being evaluated end. Gives their tasks.
    pub fn close(&mut self) -> Vec<TaskKey> {
        self.is_closed = true;
        self.queues.clear();
        let mut tasks = Vec::new();
        for (task, evaluations) in &mut self.evaluations {
            for evaluation in evaluations.iter_mut() {
                evaluation.is_cancelled = true;
                tasks.push(*task);
            }
        }
        tasks.dedup();
        tasks
    }

    /// Nobody asks any more, and no expression is being evaluated.
    pub fn is_over(&self) -> bool {
        self.is_closed && self.evaluations.values().all(Vec::is_empty)
    }

    /// A task stops: its jobs come from here; none if nobody asks any more.
    pub fn begin(&mut self, task: TaskKey) -> Option<Receiver<Job>> {
        if self.is_closed {
            return None;
        }
        self.parked.remove(&task);
        self.last = Some(task);
        let queue = self.queues.entry(task).or_insert_with(|| {
            let (sender, receiver) = channel();
            Queue {
                sender,
                receiver: Some(receiver),
            }
        });
        queue.receiver.take()
    }

    /// A task has stopped, perhaps in the middle of an evaluation.
    pub fn interrupt(&mut self, task: TaskKey) {
        for evaluation in self.evaluations.get_mut(&task).into_iter().flatten() {
            evaluation.is_interrupted = true;
        }
    }

    /// A task is in the middle of so many expressions; it has escaped from others.
    pub fn forget_escaped(&mut self, task: TaskKey, pending: usize) {
        if let Some(evaluations) = self.evaluations.get_mut(&task) {
            evaluations.truncate(pending);
        }
    }

    /// The expression whose evaluation has come to its end.
    pub fn take_evaluation(&mut self, task: TaskKey) -> Option<Evaluation> {
        self.evaluations.get_mut(&task)?.pop()
    }

    /// The expression of a request is to end; gives the task that evaluates it.
    pub fn cancel(&mut self, request: i64) -> Option<TaskKey> {
        for (task, evaluations) in &mut self.evaluations {
            let own = evaluations.iter_mut().find(|one| one.request == request);
            if let Some(own) = own {
                own.is_cancelled = true;
                return Some(*task);
            }
        }
        // It has not begun, or is no expression.
        if self.cancelled.len() == CANCELLED_MAX {
            self.cancelled.clear();
        }
        self.cancelled.insert(request);
        None
    }

    /// Whether the expression that a task evaluates is to end.
    pub fn is_cancelled(&self, task: TaskKey) -> bool {
        let innermost = self.evaluations.get(&task).and_then(|all| all.last());
        innermost.is_some_and(|one| one.is_cancelled)
    }

    /// A task evaluates an expression; its jobs wait meanwhile. Whether nobody wants its value any more.
    pub fn evaluate(
        &mut self,
        task: TaskKey,
        mut evaluation: Evaluation,
        jobs: Receiver<Job>,
    ) -> bool {
        let is_cancelled = self.cancelled.remove(&evaluation.request);
        evaluation.is_cancelled = is_cancelled;
        self.evaluations.entry(task).or_default().push(evaluation);
        if let Some(queue) = self.queues.get_mut(&task) {
            queue.receiver = Some(jobs);
        }
        is_cancelled
    }

    /// A task that waits is shown as if it had stopped.
    pub fn park(&mut self, task: TaskKey) {
        self.parked.insert(task);
    }

    /// Whether a task was shown so.
    pub fn unpark(&mut self, task: TaskKey) -> bool {
        self.parked.remove(&task)
    }

    /// The client wants a task to stop.
    pub fn ask(&mut self, task: TaskKey) {
        self.asked.insert(task);
    }

    /// All others stand still for the sake of this task, or for nobody's.
    pub fn lead(&mut self, leader: Option<TaskKey>) {
        self.leader = leader;
    }

    /// Whether a task that was paused stands still for another one's sake; none if that has gone on, or
    /// if the task has a reason of its own.
    pub fn follows(&mut self, task: TaskKey) -> Option<bool> {
        let own = self.asked.remove(&task) || self.steps.contains_key(&task);
        (!own).then(|| self.leader.is_some_and(|leader| leader != task))
    }

    /// A task goes on; the reason of its next stop, if that is known.
    pub fn end(&mut self, task: TaskKey, reason: Option<&'static str>) {
        self.queues.remove(&task);
        if let Some(reason) = reason {
            self.steps.insert(task, reason);
        }
    }

    /// The reason of a task's stop, if it was going a step or the like.
    pub fn take_step(&mut self, task: TaskKey) -> Option<&'static str> {
        self.steps.remove(&task)
    }
}
