//! Ports. A port object names, by its id, a port of `canny_io` in the machine's [`table`]. Ports of
//! strings and bytevectors get theirs when they need it; see [`heap_text`].
//!
//! How an operation runs: first with `Wait::NonBlocking`, under the port's lock and without leaving the
//! heap, which is all there is to it when the buffer has what is wanted. When it would block it is
//! repeated outside of the heap, so that collections continue, and interruptibly. That is sound since an
//! operation of `canny_io` completes or has no effect.
//!
//! Ports for both directions stand for two others; see [`sides`].
//!
//! Invariants:
//! - An operation that does not go through a port's loan (see `canny_io::lending`) holds the port's
//!   lock. When it releases the lock, it lends the port to its thread, whose generated code then
//!   reads or writes characters alone.
//! - The lock of a port is never held across an allocation, and never awaited inside of the heap.
//! - An operation given to [`on_port`] and its kin does not touch the Scheme heap.

pub(crate) mod binary;
pub(crate) mod channels;
mod failure;
pub(crate) mod files;
pub(crate) mod heap_source;
pub(crate) mod heap_text;
pub(crate) mod input;
pub(crate) mod objects;
pub(crate) mod open;
pub(crate) mod output;
pub(crate) mod quick;
pub(crate) mod quick_data;
pub(crate) mod quick_text;
pub(crate) mod sides;
pub(crate) mod standard;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod transcode;

use canny_io::{
    BinaryInput, BinaryOutput, IoError, Lender, OutputMode, SharedPort, TextOutput, Wait,
};
use canny_tables::kinds::Kind;
use canny_tables::layout::port as field;
pub(crate) use canny_tables::layout::port_flag as flag;
use canny_tables::protocols;
use canny_value::Value;
use canny_vm::{Raise, Thread};

use crate::arguments::Call;
pub(crate) use failure::failed;
use table::{HostPort, TextSource};

/// Keys of the current ports in the parameters register.
pub(crate) mod key {
    use canny_tables::protocols::PortKey;

    pub(crate) const INPUT: usize = PortKey::Input as usize;
    pub(crate) const OUTPUT: usize = PortKey::Output as usize;
}

/// The flags of a port; 0 for what is no port.
#[inline]
pub(crate) fn flags_of(value: Value) -> i64 {
    let port = value.as_kind(Kind::Port);
    port.and_then(|port| port.field(field::FLAGS).as_fixnum())
        .unwrap_or(0)
}

/// The name of a port, a string.
pub(crate) fn name_of(thread: &mut Thread, port: Value) -> Value {
    let name = port.as_kind(Kind::Port).map(|port| port.field(field::NAME));
    match name {
        Some(name) if name.is_true() => name,
        _ if flags_of(port) & flag::BINARY != 0 => thread.literal_string("bytevector"),
        _ => thread.literal_string("string"),
    }
}

/// Whether a procedure makes or takes the bytes of a port.
pub(crate) fn is_served(port: Value) -> bool {
    port.as_kind(Kind::Port)
        .is_some_and(|port| port.field(field::SERVICE).is_true())
}

/// The number of what is behind a port, which is made if need be.
#[inline]
pub(crate) fn id_of(thread: &mut Thread, port: Value) -> Option<u64> {
    let object = port.as_kind(Kind::Port)?;
    if object.field(field::ID) == Value::ZERO {
        heap_text::settle(thread, port);
    }
    Some(object.field(field::ID).as_index()? as u64)
}

/// The current port with a key. A thread that was given no standard ports opens them here.
#[inline]
pub(crate) fn current_port(thread: &mut Thread, key: usize) -> Result<Value, Raise> {
    let port = thread.current_port(key);
    if port.is_true() {
        return Ok(port);
    }
    standard::open_standard_ports(thread)?;
    Ok(thread.current_port(key))
}

/// The port that argument `position` gives, or else the current port with the key; it has the flags.
#[inline]
pub(crate) fn port_argument(
    thread: &mut Thread,
    call: Call,
    position: usize,
    key: usize,
    flags: i64,
) -> Result<Value, Raise> {
    let port = match call.optional(position) {
        Some(port) => port,
        None => current_port(thread, key)?,
    };
    if flags_of(port) & flags == flags {
        return sides::for_direction(thread, call, port, flags);
    }
    Err(call.type_error_of(thread, position, description(flags), port))
}

/// The port that argument `position` gives; it has the flags. A port for both directions is only given
/// where none is wanted.
pub(crate) fn required_port(
    thread: &mut Thread,
    call: Call,
    position: usize,
    flags: i64,
) -> Result<Value, Raise> {
    let port = call.at(position);
    if port.is_kind(Kind::Port) && flags_of(port) & flags == flags {
        return sides::for_direction(thread, call, port, flags);
    }
    Err(call.type_error(thread, position, description(flags)))
}

fn description(flags: i64) -> &'static str {
    const TEXTUAL_INPUT: i64 = flag::TEXTUAL | flag::INPUT;
    const TEXTUAL_OUTPUT: i64 = flag::TEXTUAL | flag::OUTPUT;
    const BINARY_INPUT: i64 = flag::BINARY | flag::INPUT;
    const BINARY_OUTPUT: i64 = flag::BINARY | flag::OUTPUT;
    const STRING_OUTPUT: i64 = TEXTUAL_OUTPUT | flag::MEMORY;
    const BYTEVECTOR_OUTPUT: i64 = BINARY_OUTPUT | flag::MEMORY;
    match flags {
        TEXTUAL_INPUT => "textual input port",
        TEXTUAL_OUTPUT => "textual output port",
        BINARY_INPUT => "binary input port",
        BINARY_OUTPUT => "binary output port",
        STRING_OUTPUT => "string output port",
        BYTEVECTOR_OUTPUT => "bytevector output port",
        flag::INPUT => "input port",
        flag::OUTPUT => "output port",
        _ => "port",
    }
}

/// The treatment of a file that exists, by a number.
fn output_mode(thread: &mut Thread, call: Call, position: usize) -> Result<OutputMode, Raise> {
    Ok(match call.case(thread, position)? {
        protocols::OutputMode::Truncate => OutputMode::Truncate,
        protocols::OutputMode::Append => OutputMode::Append,
        protocols::OutputMode::Overwrite => OutputMode::Overwrite,
        protocols::OutputMode::CreateNew => OutputMode::CreateNew,
    })
}

/// Runs an operation on the io port inside of a lock, as the module's comment says.
#[inline]
fn run<P: Lender, R>(
    thread: &mut Thread,
    port: &SharedPort<P>,
    mut operation: impl FnMut(&mut P, Wait<'_>) -> Result<R, IoError>,
) -> Result<R, IoError> {
    if let Some(mut port) = port.try_lock() {
        match operation(&mut port, Wait::NonBlocking) {
            Err(IoError::WouldBlock) => {}
            Err(IoError::MemoryUsedUp(_)) => {
                drop(port);
                free_memory_of_ports(thread);
            }
            outcome => {
                port.release_to(thread.loan_flag());
                return outcome;
            }
        }
    }
    run_blocking(thread, port, operation)
}

/// Ports that nobody can reach any more may hold what is wanted.
#[cold]
#[inline(never)]
fn free_memory_of_ports(thread: &mut Thread) {
    thread.collect_garbage(true);
    crate::host::sweep_dead(thread);
}

#[cold]
#[inline(never)]
fn run_blocking<P: Lender, R>(
    thread: &mut Thread,
    port: &SharedPort<P>,
    mut operation: impl FnMut(&mut P, Wait<'_>) -> Result<R, IoError>,
) -> Result<R, IoError> {
    let interrupts = thread.interrupts();
    put_off(thread, || {
        let mut port = port.lock();
        operation(
            &mut port,
            Wait::Interruptible(interrupts.interrupt_waiting()),
        )
    })
}

/// Does outside of the heap what may wait. In a task it is put off instead: the thread keeps the ticket
/// until the operation is done again; the ticket of one that was done in another way after all is
/// dropped.
pub(crate) fn put_off<R>(
    thread: &mut Thread,
    work: impl FnMut() -> Result<R, IoError>,
) -> Result<R, IoError> {
    let (outcome, ticket) = thread.wait_outside_heap(work);
    match (&outcome, ticket) {
        (Err(IoError::Parked(_)), ticket) => thread.set_ticket(ticket),
        (_, Some(ticket)) => thread.disarm_ticket(ticket),
        (_, None) => {}
    }
    outcome
}

/// The condition for a failed operation on a port.
#[cold]
#[inline(never)]
fn port_failure(thread: &mut Thread, call: Call, port: Value, error: &IoError) -> Raise {
    failed(thread, call.who, Some(port), error)
}

macro_rules! on_port {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $port:ty) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name<R>(
            thread: &mut Thread,
            call: Call,
            port: Value,
            operation: impl FnMut(&mut $port, Wait<'_>) -> Result<R, IoError>,
        ) -> Result<R, Raise> {
            let id = id_of(thread, port);
            let outcome = table::with_port(thread, id, |thread, host_port| match host_port {
                HostPort::$variant(shared) => run(thread, shared, operation),
                _ => Err(table::unknown_port()),
            });
            outcome.map_err(|error| port_failure(thread, call, port, &error))
        }
    };
}

on_port! {
    /// Runs an operation on a textual input port.
    on_text_input, TextInput, TextSource
}
on_port! {
    /// Runs an operation on a textual output port.
    on_text_output, TextOutput, TextOutput
}
on_port! {
    /// Runs an operation on a binary input port.
    on_binary_input, BinaryInput, BinaryInput
}
on_port! {
    /// Runs an operation on a binary output port.
    on_binary_output, BinaryOutput, BinaryOutput
}

/// Runs work that waits by itself on a textual input port, whose lock it holds throughout. The work may
/// leave the heap, but not allocate in it.
pub(crate) fn on_text_input_holding<R>(
    thread: &mut Thread,
    call: Call,
    port: Value,
    work: impl FnOnce(&mut Thread, &mut TextSource) -> Result<R, IoError>,
) -> Result<R, Raise> {
    let work = match heap_source::hold(thread, port, work) {
        Ok(outcome) => return outcome.map_err(|error| port_failure(thread, call, port, &error)),
        Err(work) => work,
    };
    let id = id_of(thread, port);
    let outcome = table::with_port(thread, id, |thread, host_port| {
        let HostPort::TextInput(shared) = host_port else {
            return Err(table::unknown_port());
        };
        let mut source = match shared.try_lock() {
            Some(source) => source,
            None => thread.outside_heap(|| shared.lock()),
        };
        let outcome = work(thread, &mut source);
        source.release_to(thread.loan_flag());
        outcome
    });
    outcome.map_err(|error| port_failure(thread, call, port, &error))
}

/// Whether a lock is free and `operation` could be done at once. `None` means: do it another way.
/// Unlike elsewhere, the operation may borrow the bytes of Scheme objects, since nothing waits.
fn at_once<P: Lender>(
    thread: &Thread,
    port: &SharedPort<P>,
    operation: impl FnOnce(&mut P, Wait<'_>) -> Result<(), IoError>,
) -> Option<Result<(), IoError>> {
    let mut port = port.try_lock()?;
    match operation(&mut port, Wait::NonBlocking) {
        Err(IoError::WouldBlock | IoError::MemoryUsedUp(_)) => None,
        outcome => {
            port.release_to(thread.loan_flag());
            Some(outcome)
        }
    }
}
