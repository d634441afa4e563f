//! The state of a run of guest code: what handlers know of it, its frames, and why it was left.
//!
//! Stores keep the states of their runs; `run` enters the code.

use canny_tables::guest::{LINK_WORDS, activation};

use crate::record::InstanceRecord;
use crate::types::FunctionType;
use crate::waiting::Waiting;
use crate::waits::Waiter;

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

/// Room behind the limit of a stack: a caller writes arguments and link before the callee checks.
pub const MARGIN: usize = 64 << 10;

/// The state of a run, as handlers see it.
#[repr(C)]
#[derive(Debug)]
pub struct Activation {
    pub budget: i64,
    pub stack_limit: *const u64,
    pub pc: *const u64,
    pub frame: *mut u64,
    pub instance: *const InstanceRecord,
    pub callee: u64,
    pub scratch: [u64; LINK_WORDS],
    /// Where the frames begin, which handlers do not need.
    pub base: *const u64,
    pub native_stack: *mut u64,
    pub host_stack: *mut u64,
    pub native_limit: *const u64,
    pub transition: *const Transition,
    pub top: *mut u64,
    /// Where the stack of machine code begins.
    pub native_base: *mut u64,
    /// The wait at whose instruction it was left.
    pub waiting: Option<Waiting>,
    /// Whether an instruction of machine code has ended it with a trap.
    pub is_fault: bool,
}

const _: () = assert!(std::mem::offset_of!(Activation, budget) == activation::BUDGET as usize);
const _: () =
    assert!(std::mem::offset_of!(Activation, stack_limit) == activation::STACK_LIMIT as usize);
const _: () = assert!(std::mem::offset_of!(Activation, pc) == activation::PC as usize);
const _: () = assert!(std::mem::offset_of!(Activation, frame) == activation::FRAME as usize);
const _: () = assert!(std::mem::offset_of!(Activation, instance) == activation::INSTANCE as usize);
const _: () = assert!(std::mem::offset_of!(Activation, callee) == activation::CALLEE as usize);
const _: () = assert!(std::mem::offset_of!(Activation, scratch) == activation::SCRATCH as usize);
const _: () =
    assert!(std::mem::offset_of!(Activation, native_stack) == activation::NATIVE_STACK as usize);
const _: () =
    assert!(std::mem::offset_of!(Activation, host_stack) == activation::HOST_STACK as usize);
const _: () =
    assert!(std::mem::offset_of!(Activation, native_limit) == activation::NATIVE_LIMIT as usize);
const _: () =
    assert!(std::mem::offset_of!(Activation, transition) == activation::TRANSITION as usize);
const _: () = assert!(std::mem::offset_of!(Activation, top) == activation::TOP as usize);

/// A call of machine code by the interpreter, in the frame of the piece that has made it.
#[repr(C)]
#[derive(Debug)]
pub struct Transition {
    pub older: *const Transition,
    /// The value of `Activation::top` before.
    pub top: *mut u64,
    /// The interpreter's frame of the function, and its link.
    pub frame: *mut u64,
    pub link: *const u64,
    pub instance: *const InstanceRecord,
    /// The piece's base pointer.
    pub base: *mut u64,
}

/// Offsets in a transition.
pub mod transition {
    pub const OLDER: i32 = 0;
    pub const TOP: i32 = 8;
    pub const FRAME: i32 = 16;
    pub const LINK: i32 = 24;
    pub const INSTANCE: i32 = 32;
    pub const BASE: i32 = 40;
}

pub const TRANSITION_BYTES: u32 = size_of::<Transition>() as u32;

const _: () = assert!(std::mem::offset_of!(Transition, older) == transition::OLDER as usize);
const _: () = assert!(std::mem::offset_of!(Transition, top) == transition::TOP as usize);
const _: () = assert!(std::mem::offset_of!(Transition, frame) == transition::FRAME as usize);
const _: () = assert!(std::mem::offset_of!(Transition, link) == transition::LINK as usize);
const _: () = assert!(std::mem::offset_of!(Transition, instance) == transition::INSTANCE as usize);
const _: () = assert!(std::mem::offset_of!(Transition, base) == transition::BASE as usize);

/// Jumps and calls between two looks at which function runs, while that is interpreted and may become
/// machine code.
pub const FIRST_STRETCH: i64 = 2_000;

/// The same while it is interpreted and waits for the compiler, or is not fit.
pub const STRETCH: i64 = 10_000;

/// Memory for frames, which the system gives when it is touched: those of the interpreter from the lower
/// end on, and those of machine code from the upper end down.
pub struct Stack {
    pub base: *mut u64,
    pub bytes: usize,
    /// Bytes of the lower part, with its margin.
    pub interpreted_bytes: usize,
}

impl Stack {
    /// Bytes of the mapping for so many bytes of frames.
    pub fn bytes_for(frames: usize) -> usize {
        2 * (frames.next_multiple_of(MARGIN) + 2 * MARGIN)
    }

    /// Where frames of machine code begin, growing down.
    pub fn top(&self) -> *mut u64 {
        // SAFETY: this is the end of the mapping.
        unsafe { self.base.byte_add(self.bytes) }
    }

    /// None if the system gives no memory.
    pub fn new(frames: usize) -> Option<Stack> {
        let bytes = Stack::bytes_for(frames);
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
            return None;
        }
        Some(Stack {
            base: base.cast(),
            bytes,
            interpreted_bytes: bytes / 2,
        })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and its run has ended.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// The reason for which a run was left.
#[derive(Debug)]
pub enum Event {
    /// Its function has returned; [`Store::results`] has the results.
    Finished,
    /// It has used up its slice and can go on.
    Pause,
    /// It has called the function outside of the store with this number, of which
    /// [`Store::arguments`] has the arguments. [`Store::answer`] gives the results.
    Call(u32),
    /// A function of the host waits. It is called again when the run goes on.
    Wait,
    /// It waits for an address of a shared memory. It goes on once the wait is over, and comes to the same
    /// event if that is too early.
    WaitFor(Waiter),
}

/// How a function of the host has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// With its results.
    Done,
    /// Not yet: it has changed nothing, and is called again.
    Wait,
    /// Not yet, since a run that it has begun has used up its slice. It is called again.
    Pause,
    /// Not yet, since a run that it has begun has called the function outside of the store with this
    /// number. It is called again once the call was answered.
    Call(RunId, u32),
}

/// The number of a run in its store; later ones have greater numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RunId(pub u64);

/// A run that was begun and has not ended.
pub struct Run {
    pub id: RunId,
    pub activation: Activation,
    pub stack: Stack,
    /// Whether it waits for an answer.
    pub is_outside: bool,
    /// The run inside of this one that waits for the answer in its place.
    pub inner: Option<RunId>,
    /// The number of its first function in the store.
    pub first: u32,
    /// The type of its function.
    pub signature: &'static FunctionType,
    /// Words of its results.
    pub results: u32,
}

/// Most words of a frame.
const FRAME_WORDS: usize = 1 << 16;

impl Run {
    /// A run of nothing yet.
    pub fn new(stack: Stack) -> Run {
        Run {
            id: RunId(0),
            activation: Activation {
                budget: 0,
                // SAFETY: the limit lies in the stack.
                stack_limit: unsafe { stack.base.byte_add(stack.interpreted_bytes - MARGIN) },
                pc: std::ptr::null(),
                frame: stack.base,
                instance: std::ptr::null(),
                callee: u64::MAX,
                scratch: [0; LINK_WORDS],
                base: stack.base,
                native_stack: std::ptr::null_mut(),
                host_stack: std::ptr::null_mut(),
                // SAFETY: as above.
                native_limit: unsafe { stack.base.byte_add(stack.interpreted_bytes + MARGIN) },
                transition: std::ptr::null(),
                top: stack.base,
                native_base: stack.top(),
                waiting: None,
                is_fault: false,
            },
            stack,
            is_outside: false,
            inner: None,
            first: 0,
            signature: FunctionType::none(),
            results: 0,
        }
    }

    /// Gives all words of its frames, and some behind them.
    pub fn each_word(&self, mut visit: impl FnMut(u64)) {
        let [interpreted, native] = self.activation.words(FRAME_WORDS);
        interpreted
            .iter()
            .chain(native)
            .copied()
            .for_each(&mut visit);
    }
}

impl Activation {
    /// Clears the words of all frames of a run that has ended in the middle: the next one has its frames in
    /// the same place, and what a frame has not written yet must not look like a reference to an object.
    pub fn forget_words(&mut self, slots: usize) {
        for (first, count) in self.parts(slots) {
            // SAFETY: both parts lie in the stack of the run, and nothing refers to them.
            unsafe { first.write_bytes(0, count) };
        }
    }

    /// The words of all frames of a run that was left, and of so many slots behind the newest one of the
    /// interpreter: those of the interpreter, and those of machine code.
    pub fn words(&self, slots: usize) -> [&[u64]; 2] {
        // SAFETY: the run is not running now; both parts lie in its stack, which is mapped.
        self.parts(slots)
            .map(|(first, count)| unsafe { std::slice::from_raw_parts(first, count) })
    }

    /// Where both parts begin, and how many words they have.
    fn parts(&self, slots: usize) -> [(*mut u64, usize); 2] {
        let newest = self.frame.cast_const().max(self.top);
        // SAFETY: both parts lie in the stack of the run.
        unsafe {
            let room = self
                .stack_limit
                .byte_add(MARGIN)
                .offset_from_unsigned(newest);
            let end = newest.add(slots.min(room));
            let interpreted = end.offset_from_unsigned(self.base);
            let native = self.native_base.offset_from_unsigned(self.native_stack);
            [
                (self.base.cast_mut(), interpreted),
                (self.native_stack, native),
            ]
        }
    }
}
