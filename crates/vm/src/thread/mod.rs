//! The thread block: the state of one mutator that generated code and the runtime share.
//!
//! Below: how Rust enters the interpreter, switches between tasks, safepoints and the requests that
//! they serve, computations on other threads, accounts of memory. This module does not know the meaning
//! of an instruction (`runtime`) or of a continuation (`control`), nor which task runs next (`tasks`).
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `limit` | this thread; any thread may zero it to ask for a safepoint | generated calls |
//! | `area` | this thread, the collector while it is stopped | generated allocation |
//! | `pc`, `fp` | slow stubs; runtime entries may change `fp` | the runtime, the collector |
//! | `argument_count` | generated calls of variadic code | entry instructions, machine stubs |
//! | `dispatch` | this thread; any thread may put a slow stub at `loop` | generated dispatch |
//! | `has_others` | the heap, to 1 while all threads stand at safepoints | generated code, and code that needs locks only then |
//! | `log_cursor` | generated code that logs; this thread, the collector while it is stopped | generated code that logs |
//! | `sealed`, `watermark`, handlers and parameters | this thread, generated captures and continuations | the same, the collector while it is stopped |
//! | `tasks`, `reserve`, `specializer`: the states of [`tasks`](crate::tasks), [`stack`](crate::frames::stack) and [`specializer`](crate::specializer) | these modules, on this thread | the same, the collector while it is stopped |
//! | the rest | this thread | this thread, the collector while it is stopped |
//!
//! The block does not move while its thread lives: it is boxed, and generated code holds its address.

mod accounts;
pub(crate) mod interrupt;
pub(crate) mod offload;
mod run;
mod safepoint;
pub(crate) mod switch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use canny_heap::{AllocationArea, Mutator};
use canny_llint::{DispatchTable, RuntimeEntry};
use canny_tables::layout::{FALSE, NIL, frame, thread as offsets};
use canny_tables::opcodes::Opcode;
use canny_value::Value;

use crate::Vm;
use crate::debug::ThreadDebug;
use crate::frames::stack::{StackReserve, VmStack};
use crate::primitive::PrimitiveFunction;
use crate::profile::ThreadProfile;
use crate::profile::counts::ThreadCounters;
use crate::specializer::log::ThreadLog;
use crate::specializer::thread::ThreadSpecializer;
use crate::tasks::ThreadTasks;
use crate::thread::interrupt::InterruptState;

/// A mutator of the machine.
#[repr(C)]
pub struct Thread {
    pub(crate) limit: AtomicU64,
    pub(crate) area: AllocationArea,
    pub(crate) table: *const usize,
    pub(crate) argument_count: u64,
    pub(crate) pc: *const u32,
    pub(crate) fp: *mut Value,
    pub(crate) runtime: *const RuntimeEntry,
    pub(crate) result: u64,
    /// Address of the next entry of the specializer's log.
    pub(crate) log_cursor: usize,
    /// Greatest address where an entry may begin.
    pub(crate) log_limit: usize,
    pub(crate) stack_base: *mut Value,
    pub(crate) sealed: Sealed,
    pub(crate) watermark: Watermark,
    /// Sealed bytes that a capture may not reach without a look at the limits; 0 while a reserve is in use.
    pub(crate) capture_limit: usize,
    pub(crate) underflow: *const u32,
    /// Code of every continuation.
    pub(crate) continuation_code: Value,
    /// Code of every escape procedure.
    pub(crate) escape_code: Value,
    pub(crate) dynamic: DynamicState,
    /// Words that compiled code hands to compiled code; of no meaning at any other time.
    pub(crate) carried: [u64; offsets::CARRIED_WORDS],
    /// Chances of compiled code to leave until it does so without a reason.
    pub(crate) chances: u64,
    /// Address of `loan_flag`.
    pub(crate) loan_flag_address: *const AtomicU64,
    /// 1 while the heap has other mutators, which may do to every object what this one does.
    pub(crate) has_others: AtomicU64,
    /// The thread's counters, or null.
    pub(crate) counters_address: *const AtomicU64,
    // Generated code knows nothing of what follows.
    pub(crate) dispatch: Box<DispatchTable>,
    pub(crate) stack: VmStack,
    pub(crate) vm: Arc<Vm>,
    pub(crate) mutator: Option<Mutator>,
    pub(crate) primitives: Arc<[PrimitiveFunction]>,
    /// Condition or other object about to be raised.
    pub(crate) pending: Value,
    /// `pending` is a procedure to be called with this before the operation is done again.
    pub(crate) repeat: Option<i64>,
    /// Why the interpreter is being left, once it is.
    pub(crate) exit: Option<Exit>,
    pub(crate) interrupts: Arc<InterruptState>,
    /// Values that Rust code holds across allocations, precisely.
    pub(crate) scratch: Vec<Value>,
    /// Where results of arithmetic on bignums are made.
    pub(crate) integers: canny_number::integers::Workspace,
    /// Objects that code being compiled contains.
    pub(crate) embedded: crate::code::embedded::Embedded,
    /// The open part of the stack's reserve.
    pub(crate) reserve: StackReserve,
    /// The thread's part of the scheduling of tasks.
    pub(crate) tasks: ThreadTasks,
    /// The thread's part of the specializer.
    pub(crate) specializer: ThreadSpecializer,
    /// The thread's part of a profile.
    pub(crate) profile: ThreadProfile,
    /// The counters of exact profiles.
    pub(crate) counters: ThreadCounters,
    /// The thread's part of the debugger.
    pub(crate) debug: ThreadDebug,
    /// 1 while generated code uses the loan of a port. The lender of a port keeps the flag alive.
    loan_flag: Arc<AtomicU64>,
}

/// The registers of the dynamic state; see the primitive rows of `control`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynamicState {
    pub(crate) winders: Value,
    pub(crate) handlers: Value,
    pub(crate) parameters: Value,
    /// Default ports: input, output, error.
    pub(crate) default_ports: [Value; 3],
}

/// The frames under the oldest frame on the stack, which are in continuations.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    /// The continuation with the newest of them, or `#f` when the stack rests on the exit.
    pub(crate) continuation: Value,
    /// Bytes of all of them. The bytes beyond its depth lie in the continuation's slice.
    pub(crate) bytes: usize,
    /// Where the newest of them resumes.
    pub(crate) pc: *const u32,
}

/// The return barrier: frames below it hold nothing young.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watermark {
    /// The frame whose return address is the barrier's stub; null when there is none.
    pub(crate) fp: *mut Value,
    /// Its true return address.
    pub(crate) return_pc: *const u32,
}

/// Why a run of the interpreter ended without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The program asked for this exit code.
    Code(i32),
    /// An object was raised that no handler took; the report was made by the host's hook.
    Uncaught,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Thread, limit) == offsets::LIMIT as usize);
    assert!(offset_of!(Thread, area) == offsets::SCAN_CURSOR as usize);
    assert!(offset_of!(Thread, table) == offsets::TABLE as usize);
    assert!(offset_of!(Thread, argument_count) == offsets::ARGUMENT_COUNT as usize);
    assert!(offset_of!(Thread, pc) == offsets::PC as usize);
    assert!(offset_of!(Thread, fp) == offsets::FP as usize);
    assert!(offset_of!(Thread, runtime) == offsets::RUNTIME as usize);
    assert!(offset_of!(Thread, result) == offsets::RESULT as usize);
    assert!(offset_of!(Thread, log_cursor) == offsets::LOG_CURSOR as usize);
    assert!(offset_of!(Thread, log_limit) == offsets::LOG_LIMIT as usize);
    assert!(offset_of!(Thread, stack_base) == offsets::STACK_BASE as usize);
    assert!(offset_of!(Thread, sealed.continuation) == offsets::SEALED as usize);
    assert!(offset_of!(Thread, sealed.bytes) == offsets::SEALED_BYTES as usize);
    assert!(offset_of!(Thread, sealed.pc) == offsets::SEALED_PC as usize);
    assert!(offset_of!(Thread, watermark.fp) == offsets::WATERMARK as usize);
    assert!(offset_of!(Thread, capture_limit) == offsets::CAPTURE_LIMIT as usize);
    assert!(offset_of!(Thread, underflow) == offsets::UNDERFLOW as usize);
    assert!(offset_of!(Thread, continuation_code) == offsets::CONTINUATION_CODE as usize);
    assert!(offset_of!(Thread, escape_code) == offsets::ESCAPE_CODE as usize);
    assert!(offset_of!(Thread, dynamic.winders) == offsets::WINDERS as usize);
    assert!(offset_of!(Thread, dynamic.handlers) == offsets::HANDLERS as usize);
    assert!(offset_of!(Thread, dynamic.parameters) == offsets::PARAMETERS as usize);
    assert!(offset_of!(Thread, carried) == offsets::CARRIED as usize);
    assert!(offset_of!(Thread, chances) == offsets::CHANCES as usize);
    assert!(offset_of!(Thread, loan_flag_address) == offsets::LOAN_FLAG as usize);
    assert!(offset_of!(Thread, has_others) == offsets::HAS_OTHERS as usize);
    assert!(offset_of!(Thread, counters_address) == offsets::COUNTERS as usize);
    assert!(offset_of!(Thread, dispatch) == offsets::SIZE);
};

impl Thread {
    /// Makes the block of a thread; [`Vm::attach`] completes it.
    pub(crate) fn new(vm: Arc<Vm>, stack: VmStack) -> Box<Thread> {
        let dispatch = Box::new(*canny_llint::fast_table());
        let table = dispatch.as_ptr();
        let primitives = vm.primitives().clone();
        let base = stack.base();
        let loan_flag = Arc::new(AtomicU64::new(0));
        let counters = ThreadCounters::new();
        let (exit, underflow) = (vm.stubs.exit(), vm.stubs.underflow());
        let mut thread = Box::new(Thread {
            limit: AtomicU64::new(0),
            area: AllocationArea::default(),
            table,
            argument_count: 0,
            pc: std::ptr::null(),
            fp: base,
            runtime: crate::runtime::ENTRIES.as_ptr(),
            result: FALSE,
            log_cursor: ThreadLog::NOWHERE.0,
            log_limit: ThreadLog::NOWHERE.1,
            stack_base: base,
            sealed: Sealed {
                continuation: Value::FALSE,
                bytes: 0,
                pc: exit,
            },
            watermark: Watermark {
                fp: std::ptr::null_mut(),
                return_pc: std::ptr::null(),
            },
            capture_limit: 0,
            underflow,
            continuation_code: Value::FALSE,
            escape_code: Value::FALSE,
            dynamic: DynamicState {
                winders: Value::NIL,
                handlers: Value::NIL,
                parameters: Value::NIL,
                default_ports: [Value::FALSE; 3],
            },
            carried: [0; offsets::CARRIED_WORDS],
            chances: 1,
            loan_flag_address: Arc::as_ptr(&loan_flag),
            has_others: AtomicU64::new(0),
            counters_address: counters.address(),
            dispatch,
            stack,
            vm,
            mutator: None,
            primitives,
            pending: Value::FALSE,
            exit: None,
            repeat: None,
            interrupts: Arc::new(InterruptState::default()),
            scratch: Vec::new(),
            integers: Default::default(),
            embedded: crate::code::embedded::Embedded::default(),
            reserve: StackReserve::default(),
            tasks: ThreadTasks::default(),
            specializer: ThreadSpecializer::default(),
            profile: ThreadProfile::default(),
            counters,
            debug: ThreadDebug::default(),
            loan_flag,
        });
        debug_assert_eq!(thread.dynamic.winders.bits(), NIL);
        thread.reset_limit();
        thread.reset_capture_limit();
        let limit: *const AtomicU64 = &thread.limit;
        let loop_entry: *const AtomicUsize =
            (&raw const thread.dispatch[Opcode::Loop as usize]).cast();
        let has_others: *const AtomicU64 = &thread.has_others;
        thread.interrupts.connect(limit, loop_entry, has_others);
        thread
    }

    /// The flag by which the thread is known to those who lend to its generated code; see
    /// `layout::loan`. A thread never leaves the system thread that it was made on.
    #[inline]
    pub fn loan_flag(&self) -> &Arc<AtomicU64> {
        &self.loan_flag
    }

    /// Whether other threads may use the same objects. It stays so until the next safepoint if it says no.
    #[inline(always)]
    pub fn has_others(&self) -> bool {
        self.has_others.load(Ordering::Relaxed) != 0
    }

    /// The machine.
    pub fn vm(&self) -> &Arc<Vm> {
        &self.vm
    }

    /// The heap's view of this thread.
    #[inline]
    pub(crate) fn mutator(&mut self) -> &mut Mutator {
        self.mutator
            .as_mut()
            .expect("the thread is attached from Vm::attach on")
    }

    /// A handle with which other threads (a signal handler's, a watchdog's) interrupt this one.
    pub fn interrupts(&self) -> Arc<InterruptState> {
        self.interrupts.clone()
    }

    /// Puts the true stack limit and the `loop` handler of the table in force back.
    pub(crate) fn reset_limit(&mut self) {
        let words = self.stack.frame_words() + self.reserve.words;
        let limit = self.stack.base() as u64 + 8 * words as u64;
        self.limit.store(limit, Ordering::Relaxed);
        let entry = &raw mut self.dispatch[Opcode::Loop as usize];
        // SAFETY: the entry is a valid word of this thread's table; other threads write it atomically too.
        unsafe { AtomicUsize::from_ptr(entry) }.store(
            self.table_in_force()[Opcode::Loop as usize],
            Ordering::Relaxed,
        );
    }

    /// The closure of the frame at `fp`.
    ///
    /// # Safety
    /// The frame is live.
    #[inline(always)]
    pub(crate) unsafe fn closure_of(fp: *const Value) -> Value {
        // SAFETY: the caller's contract; every frame has its link words.
        unsafe { *fp.offset(frame::CLOSURE as isize) }
    }

    /// Remembers a value precisely until [`Thread::release`]; gives its place.
    pub fn protect(&mut self, value: Value) -> Protected {
        self.scratch.push(value);
        Protected(self.scratch.len() - 1)
    }

    /// The protected value as it is now.
    pub fn protected(&self, place: Protected) -> Value {
        self.scratch[place.0]
    }

    /// Changes a protected value.
    pub fn set_protected(&mut self, place: Protected, value: Value) {
        self.scratch[place.0] = value;
    }

    /// How many values are protected.
    pub(crate) fn protected_count(&self) -> usize {
        self.scratch.len()
    }

    /// Forgets all protected values but the first ones.
    #[inline]
    pub(crate) fn release_from(&mut self, count: usize) {
        if self.scratch.len() > count {
            self.scratch.truncate(count);
        }
    }

    /// Forgets this protected value and all made after it.
    pub fn release(&mut self, place: Protected) {
        self.scratch.truncate(place.0);
    }
}

/// The place of a value protected by [`Thread::protect`].
#[derive(Clone, Copy, Debug)]
pub struct Protected(usize);

impl Protected {
    pub(crate) fn index(self) -> usize {
        self.0
    }
}
