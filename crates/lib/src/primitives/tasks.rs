//! The machine's side of `(canny tasks)`: parking, tickets, timers and operations that are resumed.
//!
//! A primitive that would block in a task raises a suspension with a ticket. The scheduler parks
//! the task, and calls the primitive again when the ticket is over. State that must survive until
//! then is kept by ticket in [`SuspendedOperations`], and is dropped if the task is cancelled.

use std::any::Any;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use canny_io::{IoError, Operation, Wait};
use canny_locks::{Mutex, MutexGuard};
use canny_profile::model::WaitKind;
use canny_tables::kinds::Kind;
use canny_tables::protocols::TicketOutcome;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread, Vm};

use super::ports::failed;
use super::ports::open::free_descriptors;
use crate::arguments::{Call, implementations};
use crate::host;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%begin-tasks!" => |thread, call: Call| {
        let server = call.object(thread, 0, Kind::Closure, "procedure")?;
        let resumer = call.object(thread, 1, Kind::Closure, "procedure")?;
        let check = call.object(thread, 2, Kind::Closure, "procedure")?;
        thread.begin_tasks(server.value(), resumer.value());
        thread.set_check(check.value());
        Ok(Value::UNSPECIFIED)
    };
    "%set-idle-procedures!" => |thread, call: Call| {
        let standstill = call.object(thread, 0, Kind::Closure, "procedure")?;
        let interrupted = call.object(thread, 1, Kind::Closure, "procedure")?;
        thread.set_idle_procedures(standstill.value(), interrupted.value());
        Ok(Value::UNSPECIFIED)
    };
    "%pool-statistics" => pool_statistics;
    "%trace-pool!" => |thread, call: Call| {
        thread.trace_pool(call.at(0).is_true());
        Ok(Value::UNSPECIFIED)
    };
    "%current-task" => |thread, _| Ok(thread.current_task());
    "%set-current-task!" => |thread, call: Call| {
        thread.set_current_task(call.at(0));
        Ok(Value::UNSPECIFIED)
    };
    "%enter-critical!" => |thread, _| {
        thread.enter_critical();
        Ok(Value::UNSPECIFIED)
    };
    "%leave-critical!" => |thread, _| {
        thread.leave_critical();
        Ok(Value::UNSPECIFIED)
    };
    "%lock!" => |thread, call| {
        let record = record(thread, call)?;
        thread.lock_record(record);
        Ok(Value::UNSPECIFIED)
    };
    "%unlock!" => |thread, call| {
        let record = record(thread, call)?;
        thread.unlock_record(record);
        Ok(Value::UNSPECIFIED)
    };
    "%claim!" => |thread, call| {
        let record = record(thread, call)?;
        Ok(Value::boolean(thread.claim(record, 1)))
    };
    "%compare-and-swap!" => compare_and_swap;
    "%make-ready!" => |thread, call: Call| {
        thread.make_ready(call.at(0), call.at(1).is_true())?;
        Ok(Value::UNSPECIFIED)
    };
    "%hand-over!" => |thread, call: Call| {
        thread.hand_over(call.at(0))?;
        Ok(Value::UNSPECIFIED)
    };
    "%serve" => |thread, _| Err(thread.serve());
    "%preempted-in-library?" => |thread, _| {
        Ok(Value::boolean(thread.take_preempted_in_library()))
    };
    "%preempt-all!" => |thread, _| {
        thread.preempt_workers();
        Ok(Value::UNSPECIFIED)
    };
    "%arm-timer" => arm_timer;
    "%stood-still" => |thread, _| {
        let nanoseconds = thread.vm().debugger().stood_still().as_nanos() as i64;
        Ok(thread.integer(nanoseconds))
    };
    "%park-ticket!" => |thread, call: Call| {
        let ticket = call.index(thread, 0)?;
        let outcome = thread.park_ticket(ticket as u64, call.at(1))?;
        Ok(outcome.map_or(Value::FALSE, Value::fixnum))
    };
    "%disarm-ticket!" => |thread, call: Call| {
        let ticket = call.index(thread, 0)?;
        thread.disarm_ticket(ticket as u64);
        if let Some(on_cancel) = forget(thread, ticket as u64).and_then(|it| it.on_cancel) {
            on_cancel(thread);
        }
        Ok(Value::UNSPECIFIED)
    };
    "%ticket-over!" => ticket_over;
    "%set-kinds-of-waits!" => |thread, call| {
        thread.set_kinds_of_waits(call.at(0));
        Ok(Value::UNSPECIFIED)
    };
    "%set-expired!" => |thread, call: Call| {
        let ticket = call.at(0).as_index();
        thread.set_resumption(ticket.map(|ticket| ticket as u64));
        Ok(Value::UNSPECIFIED)
    };
    "%expired?" => |thread, _| {
        let ticket = thread.take_resumption();
        Ok(ticket.map_or(Value::FALSE, |ticket| Value::fixnum(ticket as i64)))
    };
    "%worker" => |thread, _| Ok(Value::fixnum(thread.worker() as i64));
    "%new-task-number" => |thread, _| Ok(Value::fixnum(thread.new_task_number()));
    "%set-failure-procedure!" => |thread, call: Call| {
        thread.vm().set_root(FAILURES, call.at(0));
        Ok(Value::UNSPECIFIED)
    };
    "%report-failure" => super::errors::report_failure;
    "%new-account" => |thread, call: Call| {
        let limit = match call.at(0) {
            Value::FALSE => None,
            _ => Some(call.index(thread, 0)?),
        };
        Ok(Value::fixnum(thread.new_account(limit)))
    };
    "%child-account" => |thread, _| Ok(Value::fixnum(thread.child_account()));
    "%begin-account!" => |thread, call: Call| {
        let limit = match call.at(0) {
            Value::FALSE => None,
            _ => Some(call.index(thread, 0)?),
        };
        thread.begin_account(limit);
        Ok(Value::boolean(thread.vm().heap().is_short()))
    };
    "%end-account!" => |thread, _| {
        thread.end_account();
        Ok(Value::UNSPECIFIED)
    };
    "%set-account!" => |thread, call: Call| {
        let account = call.index(thread, 0)?;
        thread.set_account(account as i64);
        Ok(Value::UNSPECIFIED)
    };
    "%close-account!" => |thread, call: Call| {
        let account = call.index(thread, 0)?;
        thread.close_account(account as i64, call.at(1).is_true());
        Ok(Value::UNSPECIFIED)
    };
    "%heap-short?" => |thread, _| Ok(Value::boolean(thread.vm().heap().is_short()));
    "%task-counted!" => |thread, call: Call| {
        let change = call.at(0).as_fixnum().unwrap_or(0);
        Ok(Value::fixnum(thread.count_tasks(change)))
    };
};

/// Name of the root with the procedure that reports failures.
const FAILURES: &str = "failures of tasks";

/// Takes the procedure that reports failures of tasks that nobody waited for, if there are tasks.
pub fn take_failure_procedure(vm: &Vm) -> Option<Value> {
    let procedure = vm.root(FAILURES).filter(|procedure| procedure.is_true())?;
    vm.set_root(FAILURES, Value::FALSE);
    Some(procedure)
}

/// The first argument: a record with a field.
fn record(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let record = call.object(thread, 0, Kind::Record, "record")?;
    if record.length() < 2 {
        return Err(call.type_error(thread, 0, "record with a field"));
    }
    Ok(record.value())
}

fn compare_and_swap(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let record = call.object(thread, 0, Kind::Record, "record")?;
    let index = call.index_below(thread, 1, record.length() - 1)?;
    Ok(thread.compare_and_swap(record.value(), index + 1, call.at(2), call.at(3)))
}

/// Operations of tasks that wait for tickets, by the tickets.
#[derive(Default)]
pub(crate) struct SuspendedOperations(Mutex<HashMap<u64, Suspended>>);

/// Those of the thread's machine. Not to be held across an allocation.
fn suspended(thread: &Thread) -> MutexGuard<'_, HashMap<u64, Suspended>> {
    let operations: &SuspendedOperations = host::state(thread.vm());
    operations.0.lock()
}

/// An operation that was suspended with a ticket.
struct Suspended {
    who: &'static str,
    then: Then,
    /// The action if the operation is not done again, since the time is over or the task is
    /// cancelled.
    on_cancel: Option<OnCancel>,
}

pub(crate) type OnCancel = Box<dyn FnOnce(&mut Thread) + Send>;

/// The continuation of such an operation when the ticket is over.
pub(crate) enum Then {
    /// It is done again from its beginning; the time being over raises this.
    Repeat(Option<IoError>),
    /// It is done again and continues with this, which it takes by [`resume`].
    Resume(Box<dyn Any + Send>),
}

/// The kind of wait of an operation whose descriptors do not tell.
fn kind_of_operation(who: &str) -> Option<WaitKind> {
    match who {
        "%process-wait" | "%exchange" => Some(WaitKind::Process),
        "%resolve-host" => Some(WaitKind::Dns),
        "%lock-port" => Some(WaitKind::Lock),
        _ => None,
    }
}

/// Tells a profile for what an operation waits that was put off.
pub(crate) fn note_wait(thread: &mut Thread, error: &IoError) {
    if !thread.is_profiled() {
        return;
    }
    let kind = match error.operation() {
        Some(Operation::Resolve) => WaitKind::Dns,
        Some(Operation::Lock) => WaitKind::Lock,
        _ => WaitKind::Socket,
    };
    thread.note_operation(kind, error.name());
}

/// Has a primitive called again once a ticket is over.
pub(crate) fn suspend(thread: &mut Thread, who: &'static str, ticket: u64, then: Then) -> Raise {
    suspend_or(thread, who, ticket, then, None)
}

/// The same, with what is done in the place of calling it again.
pub(crate) fn suspend_or(
    thread: &mut Thread,
    who: &'static str,
    ticket: u64,
    then: Then,
    on_cancel: Option<OnCancel>,
) -> Raise {
    let operation = Suspended {
        who,
        then,
        on_cancel,
    };
    suspended(thread).insert(ticket, operation);
    thread.repeat_after_ticket(ticket)
}

/// Takes the state of a primitive that is done again, if it had begun something.
pub(crate) fn resume<S: 'static>(thread: &mut Thread, who: &'static str) -> Option<S> {
    let ticket = thread.take_resumption()?;
    let suspended = forget(thread, ticket).filter(|suspended| suspended.who == who)?;
    match suspended.then {
        Then::Resume(state) => state.downcast().ok().map(|state| *state),
        Then::Repeat(_) => None,
    }
}

/// Takes the operation that a ticket was for, whose end may be the end of what it had begun.
fn forget(thread: &mut Thread, ticket: u64) -> Option<Suspended> {
    suspended(thread).remove(&ticket)
}

fn ticket_over(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let ticket = call.index(thread, 0)? as u64;
    let is_timed_out = call.at(1) == Value::fixnum(TicketOutcome::TimedOut.number());
    let then_resumes = suspended(thread)
        .get(&ticket)
        .is_some_and(|suspended| matches!(suspended.then, Then::Resume(_)));
    thread.set_resumption(then_resumes.then_some(ticket));
    if then_resumes {
        return Ok(Value::UNSPECIFIED);
    }
    match forget(thread, ticket) {
        Some(Suspended {
            who,
            then: Then::Repeat(Some(error)),
            on_cancel,
        }) if is_timed_out => {
            if let Some(on_cancel) = on_cancel {
                on_cancel(thread);
            }
            Err(failed(thread, who, None, &error))
        }
        _ => Ok(Value::UNSPECIFIED),
    }
}

/// An operation that had begun something, and when its time is over.
struct Begun<S> {
    state: S,
    deadline: Option<Instant>,
}

/// Starts an operation that would be lost if it were started again, and may wait until a deadline. In a
/// task it returns instead of waiting and continues later with what it has begun, if `is_same` says
/// that this is what the arguments ask for.
pub(crate) fn resumable<S: Send + 'static, R>(
    thread: &mut Thread,
    call: Call,
    deadline: Option<Instant>,
    is_same: impl FnOnce(&S) -> bool,
    begin: impl Fn() -> Result<S, IoError>,
    proceed: impl Fn(&mut S, Wait<'_>) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let interrupts = thread.interrupts();
    let wait = Wait::Interruptible(interrupts.interrupt_waiting());
    let begin = |thread: &mut Thread| {
        let begun = thread.outside_heap(&begin);
        begun.map_err(|error| failed(thread, call.who, None, &error))
    };
    let mut begun = match resume::<Begun<S>>(thread, call.who) {
        Some(begun) if is_same(&begun.state) => begun,
        _ => Begun {
            state: begin(thread)?,
            deadline,
        },
    };
    let wait = match begun.deadline {
        Some(deadline) => wait.with_deadline(deadline),
        None => wait,
    };
    let mut is_first = true;
    loop {
        if let Some(kind) = kind_of_operation(call.who) {
            thread.note_operation(kind, None);
        }
        let (outcome, ticket) = thread.wait_outside_heap(|| proceed(&mut begun.state, wait));
        if let (Err(error @ IoError::Parked(_)), Some(ticket)) = (&outcome, ticket) {
            note_wait(thread, error);
            let then = Then::Resume(Box::new(begun));
            return Err(suspend(thread, call.who, ticket, then));
        }
        if let Some(ticket) = ticket {
            thread.disarm_ticket(ticket);
        }
        match outcome {
            // Descriptors of what nobody can reach any more are still open.
            Err(error) if is_first && error.is_out_of_descriptors() => {
                is_first = false;
                free_descriptors(thread);
                begun.state = begin(thread)?;
            }
            outcome => return outcome.map_err(|error| failed(thread, call.who, None, &error)),
        }
    }
}

/// The longest time that a timer counts; longer ones never come.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

fn pool_statistics(thread: &mut Thread, _: Call) -> Result<Value, Raise> {
    let statistics = thread.pool_statistics();
    let rows = [
        ("cores", statistics.cores as u64),
        ("workers", statistics.workers as u64),
        ("workers-max", statistics.workers_max as u64),
        ("idle", statistics.idle as u64),
        ("blocked", statistics.blocked as u64),
        ("helpers", statistics.helpers as u64),
        ("ready", statistics.queued as u64),
        ("parked", statistics.parked as u64),
        ("taken", statistics.taken),
        ("stolen", statistics.stolen),
        ("preempted", statistics.preempted),
        ("started", statistics.started),
        ("retired", statistics.retired),
        ("refused", statistics.refused),
        ("ticks", statistics.ticks),
    ];
    Ok(numbers_by_name(thread, &rows))
}

/// An association list of numbers.
pub(crate) fn numbers_by_name(thread: &mut Thread, rows: &[(&str, u64)]) -> Value {
    let mut list = Value::NIL;
    for (name, number) in rows.iter().rev() {
        let number = thread.integer(*number as i64);
        let name = thread.symbol(name);
        let row = thread.cons(name, number);
        list = thread.cons(row, list);
    }
    list
}

fn arm_timer(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let after = match call.at(0).as_fixnum() {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds.max(0) as u64),
        None => LONGEST,
    };
    let ticket = thread.arm_timer(after.min(LONGEST))?;
    Ok(Value::fixnum(ticket as i64))
}
