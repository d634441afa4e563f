//! Instructions by which guests wait for addresses of memories and notify those who wait.
//!
//! An instruction that waits is carried out again when its run goes on, and finds the wait in the
//! activation then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_tables::guest::{Reason, Runtime};

use crate::activation::Activation;
use crate::error::Trap;
use crate::memory::MemoryRecord;
use crate::record::InstanceRecord;
use crate::store::Store;
use crate::waiting::{NOT_EQUAL, Waiting};
use crate::waits::{Waiter, unpack};

/// The outcome of an instruction that waits or notifies.
pub enum Step {
    /// Its result.
    Done(u64),
    /// The run waits.
    Wait(Waiter),
}

/// The memory of an instruction and the address in it, which is a multiple of so many bytes.
fn target(
    store: &Store,
    instance: &InstanceRecord,
    address: u64,
    numbers: [u32; 2],
    bytes: u64,
) -> Result<(Arc<MemoryRecord>, u64), Trap> {
    let (memory, offset) = unpack(numbers);
    let memory = &store.memories[instance.memory_numbers[memory]];
    let address = if memory.kind().is_wide {
        address
    } else {
        u64::from(address as u32)
    };
    let address = address
        .checked_add(offset)
        .ok_or(Reason::OutOfBoundsMemory)?;
    if !address.is_multiple_of(bytes) {
        return Err(Reason::UnalignedAtomic.into());
    }
    let record = memory.record();
    record
        .place(address, bytes)
        .ok_or(Reason::OutOfBoundsMemory)?;
    Ok((Arc::clone(record), address))
}

/// Carries out an instruction that notifies or waits.
pub fn run(
    store: &Store,
    activation: &mut Activation,
    operation: Runtime,
    [address, expected, timeout]: [u64; 3],
    numbers: [u32; 2],
) -> Result<Step, Trap> {
    if let Some(waiting) = activation.waiting.take() {
        return Ok(step(activation, waiting));
    }
    // SAFETY: the instance belongs to this store.
    let instance = unsafe { &*activation.instance };
    let bytes = match operation {
        Runtime::MemoryWait64 => 8,
        _ => 4,
    };
    let (memory, address) = target(store, instance, address, numbers, bytes)?;
    if operation == Runtime::MemoryNotify {
        let count = expected as u32;
        return Ok(Step::Done(memory.queues.notify(address, count).into()));
    }
    if !memory.is_shared() {
        return Err(Reason::UnsharedMemory.into());
    }
    // A negative time, and one that no clock reaches, never ends.
    let timeout = u64::try_from(timeout as i64).ok().map(Duration::from_nanos);
    let ends = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let expected = expected & u64::MAX >> (64 - 8 * bytes);
    let Some(waiting) = Waiting::begin(memory, (address, bytes), expected, ends) else {
        return Ok(Step::Done(NOT_EQUAL));
    };
    Ok(step(activation, waiting))
}

/// Ends a wait that is over, or leaves it to the activation.
fn step(activation: &mut Activation, mut waiting: Waiting) -> Step {
    match waiting.outcome() {
        Some(outcome) => Step::Done(outcome),
        None => {
            let waiter = waiting.waiter();
            activation.waiting = Some(waiting);
            Step::Wait(waiter)
        }
    }
}
