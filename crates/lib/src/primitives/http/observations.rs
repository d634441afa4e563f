//! Primitives for what a server reports about itself: measurements and the lines of its log.
//!
//! Reading changes nothing, and a server without an observer has no measurements. A task that takes
//! the log waits for the observer's descriptor, not for a lock. Lines are taken once.

use std::os::fd::BorrowedFd;

use canny_http::server::{BOUNDS, METHODS, Taken};
use canny_io::{IoError, Operation, Wait};
use canny_profile::model::WaitKind;
use canny_sched::{Interest, Wake};
use canny_tables::protocols::measured as row;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use super::server;
use crate::arguments::Call;
use crate::list::list_at;
use crate::primitives::ports::failed;
use crate::primitives::tasks::{Then, numbers_by_name, suspend};

pub(super) fn statistics(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let statistics = server(thread, call, call.at(0))?.statistics();
    let rows = [
        ("connections", statistics.connections as u64),
        ("accepted", statistics.accepted),
        ("requests", statistics.requests),
        ("refused", statistics.refused),
        ("timed-out", statistics.timed_out),
        ("turned-away", statistics.turned_away),
        ("http2", statistics.http2),
        ("accept-failures", statistics.accept_failures),
        ("bytes-in", statistics.bytes_in),
        ("bytes-out", statistics.bytes_out),
        ("unsent-bytes", statistics.unsent as u64),
        ("shed", statistics.shed),
    ];
    Ok(numbers_by_name(thread, &rows))
}

fn numbers(thread: &mut Thread, numbers: &[u64]) -> Value {
    let mut list = Value::NIL;
    for number in numbers.iter().rev() {
        let number = thread.integer(*number as i64);
        list = thread.cons(number, list);
    }
    list
}

pub(super) fn measured(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let Some(measured) = server(thread, call, call.at(0))?.measured() else {
        return Ok(Value::FALSE);
    };
    let mut counts = Value::NIL;
    for (name, classes) in METHODS.iter().zip(&measured.counts).rev() {
        let classes = numbers(thread, classes);
        let name = thread.string(name);
        let method = thread.cons(name, classes);
        counts = thread.cons(method, counts);
    }
    let fields = [
        (row::IN_FLIGHT, thread.integer(measured.in_flight as i64)),
        (row::COUNTS, counts),
        (row::BOUNDS, numbers(thread, &BOUNDS)),
        (row::DURATIONS, numbers(thread, &measured.durations)),
        (
            row::NANOSECONDS,
            thread.integer(measured.nanoseconds as i64),
        ),
    ];
    Ok(list_at::<{ row::COUNT }>(thread, fields))
}

fn wait_for_bell(bell: BorrowedFd<'_>, wait: Wait<'_>) -> Result<(), IoError> {
    let interest = Interest::Readable(bell);
    match canny_sched::wait(&[interest], wait.deadline(), wait.interrupt()) {
        Wake::Ready(_) | Wake::TimedOut => Ok(()),
        Wake::Interrupted => Err(IoError::Interrupted),
        Wake::Parked => Err(IoError::parked(Operation::Read, "log")),
    }
}

/// `(%http-take-log! server)`.
pub(super) fn take_log(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let server = server(thread, call, call.at(0))?;
    let Some(journal) = server.journal() else {
        return Ok(Value::FALSE);
    };
    loop {
        match journal.take() {
            Taken::Lines(lines) => return thread.bytevector(&lines),
            Taken::End => return Ok(Value::FALSE),
            Taken::Nothing => {}
        }
        let interrupts = thread.interrupts();
        let wait = Wait::Interruptible(interrupts.interrupt_waiting());
        let (outcome, ticket) = thread.wait_outside_heap(|| wait_for_bell(journal.bell(), wait));
        match (outcome, ticket) {
            (Err(IoError::Parked(_)), Some(ticket)) => {
                thread.note_operation(WaitKind::Channel, Some("access log"));
                return Err(suspend(thread, call.who, ticket, Then::Repeat(None)));
            }
            (outcome, ticket) => {
                if let Some(ticket) = ticket {
                    thread.disarm_ticket(ticket);
                }
                if let Err(error) = outcome {
                    return Err(failed(thread, call.who, None, &error));
                }
            }
        }
    }
}
