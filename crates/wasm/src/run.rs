//! Runs of guest code: entering it, and what it returns to the runtime for.
//!
//! A run has an activation, which handlers read, and memory for its frames.

use canny_tables::guest::{LINK_WORDS, Opcode, Plain, Reason, Runtime, activation};

use crate::code::{self, Code};
use crate::error::Trap;
use crate::handlers;
use crate::operations;
use crate::record::InstanceRecord;
use crate::store::{Function, Store};
use crate::translate;
use crate::types;

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Jumps and calls, or no limit.
    pub fuel: Option<u64>,
    /// Bytes of its frames.
    pub stack_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            fuel: None,
            stack_bytes: 1 << 20,
        }
    }
}

/// Jumps and calls between two visits of the runtime.
const SLICE: i64 = 100_000;

/// Room behind the limit of a stack: a caller writes arguments and link before the callee checks.
const MARGIN: usize = 64 << 10;

/// Most runs inside of each other, through functions of the host.
const DEPTH_MAX: usize = 200;

/// The state of a run, as handlers see it.
#[repr(C)]
#[derive(Debug)]
struct Activation {
    budget: i64,
    stack_limit: *const u64,
    pc: *const u64,
    frame: *mut u64,
    instance: *const InstanceRecord,
    callee: u64,
    scratch: [u64; LINK_WORDS],
}

const _: () = assert!(std::mem::offset_of!(Activation, budget) == activation::BUDGET as usize);
const _: () =
    assert!(std::mem::offset_of!(Activation, stack_limit) == activation::STACK_LIMIT as usize);
const _: () = assert!(std::mem::offset_of!(Activation, pc) == activation::PC as usize);
const _: () = assert!(std::mem::offset_of!(Activation, frame) == activation::FRAME as usize);
const _: () = assert!(std::mem::offset_of!(Activation, instance) == activation::INSTANCE as usize);
const _: () = assert!(std::mem::offset_of!(Activation, callee) == activation::CALLEE as usize);
const _: () = assert!(std::mem::offset_of!(Activation, scratch) == activation::SCRATCH as usize);

/// Memory for frames, which the system gives when it is touched.
struct Stack {
    base: *mut u64,
    bytes: usize,
}

impl Stack {
    fn new(bytes: usize) -> Result<Stack, Trap> {
        let bytes = bytes + 2 * MARGIN;
        // SAFETY: a new private mapping, at an address that the system chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Trap::Host("the system gives no memory for a stack".into()));
        }
        Ok(Stack {
            base: base.cast(),
            bytes,
        })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and its run has ended.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

impl Store {
    /// Calls a function with the bits of arguments; gives those of its results. A vector has two words.
    pub fn call(&mut self, function: Function, arguments: &[u64]) -> Result<Vec<u64>, Trap> {
        self.call_within(function, arguments, Limits::default())
    }

    /// The same within limits.
    pub fn call_within(
        &mut self,
        function: Function,
        arguments: &[u64],
        limits: Limits,
    ) -> Result<Vec<u64>, Trap> {
        if self.depth == DEPTH_MAX {
            return Err(Trap::Reason(Reason::StackExhausted));
        }
        self.depth += 1;
        let results = self.run(function, arguments, limits);
        self.depth -= 1;
        results
    }

    fn run(
        &mut self,
        function: Function,
        arguments: &[u64],
        limits: Limits,
    ) -> Result<Vec<u64>, Trap> {
        handlers::watch_faults();
        let record = &self.functions[function.0];
        let kind = types::function_type(record.kind);
        let (entry, instance) = (record.code, record.instance);
        if arguments.len() != kind.parameter_slots() {
            let text = format!(
                "a function {} was given {} arguments",
                kind.text(),
                arguments.len()
            );
            return Err(Trap::Host(text));
        }
        let stack = Stack::new(limits.stack_bytes)?;
        let mut finish = Code::default();
        finish.put(Opcode::Plain(Plain::Finish));
        let finish = finish.finish();
        let frame = stack.base;
        let link = kind.link();
        // SAFETY: the stack has room for arguments and link behind its limit.
        unsafe {
            for (index, argument) in arguments.iter().enumerate() {
                frame.add(index).write(*argument);
            }
            frame.add(link).write(finish.as_ptr() as u64);
            frame.add(link + 1).write(frame as u64);
        }
        let mut fuel = limits.fuel;
        let mut activation = Activation {
            budget: take_slice(&mut fuel)?,
            // SAFETY: the limit lies in the stack.
            stack_limit: unsafe { frame.byte_add(stack.bytes - MARGIN) },
            pc: entry,
            frame,
            instance,
            callee: 0,
            scratch: [0; LINK_WORDS],
        };
        loop {
            match self.enter(&mut activation) {
                Reason::Finished => break,
                Reason::Budget => activation.budget = take_slice(&mut fuel)?,
                Reason::Operation => self.operation(&mut activation)?,
                trap => return Err(Trap::Reason(trap)),
            }
        }
        let results = kind.result_slots();
        // SAFETY: the function has left its results where its frame began.
        let results = (0..results).map(|index| unsafe { frame.add(index).read() });
        Ok(results.collect())
    }

    /// Runs until the code returns to the runtime.
    fn enter(&mut self, activation: &mut Activation) -> Reason {
        let instance = activation.instance;
        // SAFETY: the code was translated from a validated module or is an instruction of the runtime, and
        // its records belong to this store, which is borrowed.
        let reason = unsafe {
            handlers::enter(
                activation.pc,
                activation.frame,
                (*instance).memory,
                instance.cast_mut().cast(),
                (&raw mut *activation).cast(),
            )
        };
        let reasons = Reason::ALL.iter().copied();
        let mut found = reasons.filter(|known| *known as u64 == reason);
        found.next().unwrap_or(Reason::Unreachable)
    }

    /// Does what the instruction at which the code was left is for.
    fn operation(&mut self, activation: &mut Activation) -> Result<(), Trap> {
        // SAFETY: the activation has the address of an instruction of the runtime, which has three words.
        let words = unsafe { std::slice::from_raw_parts(activation.pc, 3) };
        let Some(operation) = handlers::runtime_operation(words[0]) else {
            return Err(Trap::Reason(Reason::Unreachable));
        };
        match operation {
            Runtime::Translate => self.translate(activation, code::read32(words, 8)),
            Runtime::Host => self.host(activation, code::read32(words, 8), code::read32(words, 16)),
            operation => {
                let mut operands = [0; 3];
                let frame = activation.frame;
                for (index, operand) in operands.iter_mut().enumerate() {
                    let slot = code::read16(words, 10 + 2 * index) as usize;
                    // SAFETY: translated code names slots of its frame only; others are slot 0.
                    *operand = unsafe { frame.add(slot).read() };
                }
                let numbers = [code::read32(words, 16), code::read32(words, 20)];
                // SAFETY: the instance belongs to this store.
                let instance = unsafe { &mut *activation.instance.cast_mut() };
                let result = operations::run(self, instance, operation, operands, numbers)?;
                if let Some(result) = result {
                    let slot = code::read16(words, 8) as usize;
                    // SAFETY: as above.
                    unsafe { frame.add(slot).write(result) };
                }
                // SAFETY: another instruction follows.
                activation.pc = unsafe { activation.pc.add(3) };
                Ok(())
            }
        }
    }

    fn translate(&mut self, activation: &mut Activation, own_index: u32) -> Result<(), Trap> {
        // SAFETY: the instance belongs to this store.
        let instance = unsafe { &*activation.instance };
        let Some(module) = &instance.module else {
            return Err(Trap::Reason(Reason::Unreachable));
        };
        let code = translate::code(module, own_index);
        let code = code.map_err(|error| Trap::Host(error.to_string()))?;
        let imported = module.parts().imported_functions;
        let number = instance.functions[imported + own_index as usize];
        self.functions[number].code = code;
        activation.pc = code;
        Ok(())
    }

    /// Calls a function of the host, and returns from its frame.
    fn host(&mut self, activation: &mut Activation, index: u32, kind: u32) -> Result<(), Trap> {
        let kind = types::function_type(kind);
        let frame = activation.frame;
        let count = kind.parameter_slots();
        // SAFETY: the caller has written arguments and link.
        let arguments: Vec<u64> = (0..count)
            .map(|slot| unsafe { frame.add(slot).read() })
            .collect();
        let mut results = vec![0; kind.result_slots()];
        let Some(mut body) = self.hosts[index as usize].body.take() else {
            return Err(Trap::Host("a function of the host called itself".into()));
        };
        let done = body(self, &arguments, &mut results);
        self.hosts[index as usize].body = Some(body);
        done?;
        // SAFETY: results lie where the frame begins, and the link behind both.
        unsafe {
            for (slot, result) in results.into_iter().enumerate() {
                frame.add(slot).write(result);
            }
            let link = frame.add(kind.link());
            activation.pc = link.read() as *const u64;
            activation.frame = link.add(1).read() as *mut u64;
        }
        Ok(())
    }
}

/// Takes the budget of the next slice from the fuel.
fn take_slice(fuel: &mut Option<u64>) -> Result<i64, Trap> {
    let Some(fuel) = fuel else { return Ok(SLICE) };
    if *fuel == 0 {
        return Err(Trap::OutOfFuel);
    }
    let slice = (*fuel).min(SLICE as u64);
    *fuel -= slice;
    Ok(slice as i64)
}
