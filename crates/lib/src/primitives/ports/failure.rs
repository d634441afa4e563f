//! Failed operations of `canny_io` as conditions.

use canny_io::{IoError, Operation, Service};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
use canny_tables::protocols;
use canny_value::Value;
use canny_vm::{ConditionKind, Raise, Thread};

use crate::primitives::tasks::{Then, note_wait, suspend};

/// The condition for a failed operation of the procedure `who`, on a port if there is one yet.
pub(crate) fn failed(
    thread: &mut Thread,
    who: &'static str,
    port: Option<Value>,
    error: &IoError,
) -> Raise {
    let kind = match error {
        IoError::Interrupted => {
            thread.interrupts().take_interrupt();
            return thread.raise(ConditionKind::Interrupt, "interrupted", &[], Some(who));
        }
        IoError::Parked(_) => {
            let ticket = thread.take_ticket().unwrap_or_default();
            note_wait(thread, error);
            let then = Then::Repeat(error.timed_out_later());
            return suspend(thread, who, ticket, then);
        }
        IoError::Unserved(service) => {
            let port = port.and_then(|port| port.as_kind(Kind::Port));
            let procedure = port.map_or(Value::FALSE, |port| port.field(field::SERVICE));
            if procedure.is_kind(Kind::Closure) {
                return thread.repeat_after(procedure, request_of(*service).number());
            }
            ConditionKind::File
        }
        IoError::TimedOut(_) => ConditionKind::Timeout,
        IoError::MemoryUsedUp(_) => ConditionKind::Memory,
        IoError::Closed(_) => {
            let message = match error.operation() {
                Some(operation) if operation.is_of_sockets() => "the socket is closed",
                _ => "the port is closed",
            };
            let irritants: Vec<Value> = port.into_iter().collect();
            return thread.raise(ConditionKind::Type, message, &irritants, Some(who));
        }
        IoError::Malformed(_) => ConditionKind::Read,
        _ if error.operation().is_some_and(Operation::is_of_sockets) => ConditionKind::System,
        _ => ConditionKind::File,
    };
    let message = error.message();
    match error.name() {
        Some(name) => {
            let name = thread.string(name);
            thread.raise(kind, &message, &[name], Some(who))
        }
        None => thread.raise(kind, &message, &[], Some(who)),
    }
}

/// The request to the procedure of a port.
fn request_of(service: Service) -> protocols::Service {
    match service {
        Service::Fill => protocols::Service::Fill,
        Service::Drain => protocols::Service::Drain,
        Service::Flush => protocols::Service::Flush,
        Service::Close => protocols::Service::Close,
    }
}
