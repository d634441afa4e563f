//! Tasks: the machine's side of `(canny tasks)`.

use std::time::Duration;

use canny_io::IoError;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{PrimitiveFunction, Raise, Thread, Vm};

use super::ports::failed;
use crate::arguments::{Call, implementations};
use crate::host::Host;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%begin-tasks!" => |thread, call: Call| {
        let server = call.object(thread, 0, Kind::Closure, "procedure")?;
        let resumer = call.object(thread, 1, Kind::Closure, "procedure")?;
        thread.begin_tasks(server.value(), resumer.value());
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
    "%serve" => |thread, _| Err(thread.serve());
    "%preempt-all!" => |thread, _| {
        thread.preempt_workers();
        Ok(Value::UNSPECIFIED)
    };
    "%arm-timer" => arm_timer;
    "%park-ticket!" => |thread, call: Call| {
        let ticket = call.index(thread, 0)?;
        let outcome = thread.park_ticket(ticket as u64, call.at(1))?;
        Ok(outcome.map_or(Value::FALSE, Value::fixnum))
    };
    "%disarm-ticket!" => |thread, call: Call| {
        let ticket = call.index(thread, 0)?;
        thread.disarm_ticket(ticket as u64);
        Host::of(thread).suspended().remove(&(ticket as u64));
        Ok(Value::UNSPECIFIED)
    };
    "%ticket-over!" => ticket_over;
    "%set-expired!" => |thread, call: Call| {
        thread.set_expired(call.at(0).is_true());
        Ok(Value::UNSPECIFIED)
    };
    "%expired?" => |thread, _| Ok(Value::boolean(thread.take_expired()));
    "%worker" => |thread, _| Ok(Value::fixnum(thread.worker() as i64));
    "%new-task-number" => |thread, _| Ok(Value::fixnum(thread.new_task_number()));
    "%set-failure-procedure!" => |thread, call: Call| {
        thread.vm().set_root(FAILURES, call.at(0));
        Ok(Value::UNSPECIFIED)
    };
    "%report-failure" => super::errors::report_failure;
    "%task-counted!" => |thread, call: Call| {
        let change = call.at(0).as_fixnum().unwrap_or(0);
        Ok(Value::fixnum(thread.count_tasks(change)))
    };
};

/// Name of the root with the procedure that reports failures.
const FAILURES: &str = "failures of tasks";

/// What reports failures of tasks that nobody waited for, if there are tasks. Asking takes it.
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

/// An operation that gave up for a ticket.
pub(crate) struct Suspended {
    who: &'static str,
    /// What it raises when the time is over; `None`: it is done again and told so.
    error: Option<IoError>,
}

/// Has a primitive called again once a ticket is over. With an error, the time being over raises that; without one the
/// primitive finds it by [`Thread::take_expired`].
pub(crate) fn suspend(
    thread: &mut Thread,
    who: &'static str,
    ticket: u64,
    error: Option<IoError>,
) -> Raise {
    let suspended = Suspended { who, error };
    Host::of(thread).suspended().insert(ticket, suspended);
    thread.repeat_after_ticket(ticket)
}

fn ticket_over(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let ticket = call.index(thread, 0)? as u64;
    let is_timed_out = call.at(1) == Value::fixnum(TIMED_OUT);
    let suspended = Host::of(thread).suspended().remove(&ticket);
    match suspended {
        Some(Suspended {
            who,
            error: Some(error),
        }) if is_timed_out => Err(failed(thread, who, None, &error)),
        _ => {
            thread.set_expired(is_timed_out);
            Ok(Value::UNSPECIFIED)
        }
    }
}

/// What a ticket gives when the time is over.
const TIMED_OUT: i64 = 1;

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
    let mut list = Value::NIL;
    for (name, number) in rows.into_iter().rev() {
        let number = thread.integer(number as i64);
        let name = thread.symbol(name);
        let row = thread.cons(name, number);
        list = thread.cons(row, list);
    }
    Ok(list)
}

fn arm_timer(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let after = match call.at(0).as_fixnum() {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds.max(0) as u64),
        None => LONGEST,
    };
    let ticket = thread.arm_timer(after.min(LONGEST))?;
    Ok(Value::fixnum(ticket as i64))
}
