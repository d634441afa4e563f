//! Samples of runs for profilers: the functions of guests that were active when a timer's signal came.
//!
//! The handler of the signal asks ([`ask`]) and gets a number. To find functions takes locks, so that the
//! thread answers itself when the code returns to the runtime next ([`answers`]). The handler has the
//! run's budget look used up, which interpreted code finds at its next jump or call. Machine code has its
//! budget in a register, also across calls, and may run to the end of its stretch. So the handler notes
//! the addresses of its frames, which are a chain by base pointers; the answer begins with them.
//!
//! All words are the thread's own. The handler interrupts it, and nothing interrupts the handler.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::activation::Activation;
use crate::backtrace::{Walked, each_frame};
use crate::code_memory;
use crate::frames;
use crate::module::Module;
use crate::places::{Located, demangled};
use crate::switch;

/// Registers of the interrupted thread.
#[derive(Clone, Copy, Debug)]
pub struct SampleRegisters {
    pub instruction: usize,
    pub stack: usize,
    /// The base pointer.
    pub base: usize,
}

/// A request for the stack of a guest.
#[derive(Clone, Copy, Debug)]
pub struct SampleRequest {
    /// Later ones have greater numbers; the first is 1.
    pub number: u64,
    /// If code of the guest was interrupted: the stack pointer of the runtime below it, where the registers
    /// are that functions keep for their callers.
    pub runtime_stack: Option<usize>,
}

/// The stack of a guest, which answers all requests up to one that have no answer before.
#[derive(Clone, Debug)]
pub struct SampleAnswer {
    pub last_request: u64,
    /// The newest first.
    pub frames: Vec<SampledFrame>,
}

/// A function of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledFrame {
    /// Its name, or its index as `wasm-function[N]`.
    pub name: String,
    /// The name of its module or of the file, if either is known.
    pub module: Option<String>,
    pub is_machine_code: bool,
    /// Whether it is a part of the next frame that is not inlined.
    pub is_inlined: bool,
    /// Its source file, by the module's debug information.
    pub file: Option<Arc<str>>,
    /// Line and column there, from 1; 0 if they are not known.
    pub line: u32,
    pub column: u32,
}

/// A budget below half of this was marked: the runtime is asked at the next jump or call.
const MARK: i64 = 1 << 40;
/// Most frames of an answer, the newest ones.
const FRAMES_MAX: usize = 256;
/// Answers that are kept until somebody asks for them.
const ANSWERS_MAX: usize = 512;
/// Chains of frames that are noted until the code returns to the runtime.
const CHAINS: usize = 8;
/// Frames of a chain, the newest ones.
const CHAIN_FRAMES: usize = 64;

/// Frames of machine code, the newest first.
#[derive(Clone, Copy)]
struct Chain {
    request: u64,
    addresses: [usize; CHAIN_FRAMES],
    count: usize,
    /// The base pointer of the oldest one.
    base: usize,
}

struct Requests {
    /// The newest run that is in progress on this thread.
    run: Cell<*mut Activation>,
    /// The number of the last request, and of the last one that was answered.
    asked: AtomicU64,
    answered: AtomicU64,
    chains: UnsafeCell<[Chain; CHAINS]>,
    chain_count: AtomicUsize,
}

thread_local! {
    // Without a destructor, so that a handler may use it at any time.
    static REQUESTS: Requests = const {
        let chain = Chain { request: 0, addresses: [0; CHAIN_FRAMES], count: 0, base: 0 };
        Requests {
            run: Cell::new(ptr::null_mut()),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            chains: UnsafeCell::new([chain; CHAINS]),
            chain_count: AtomicUsize::new(0),
        }
    };
    static ANSWERS: RefCell<Vec<SampleAnswer>> = const { RefCell::new(Vec::new()) };
}

/// Asks for the stack of the guest that the calling thread runs, if it does. For a signal handler, with the
/// registers of what it has interrupted.
pub fn ask(registers: SampleRegisters) -> Option<SampleRequest> {
    REQUESTS.with(|requests| {
        let run = requests.run.get();
        if run.is_null() {
            return None;
        }
        let number = requests.asked.load(Ordering::Relaxed) + 1;
        requests.asked.store(number, Ordering::Relaxed);
        // SAFETY: a run that is in progress is kept until it is none any more. The bounds of its stack
        // stay; the other words are read and written only while its code runs, which shares them.
        let runtime_stack = unsafe {
            let stack = (*run).base as usize..(*run).native_base as usize;
            stack.contains(&registers.stack).then(|| {
                if code_memory::bounds().contains(&registers.instruction) {
                    requests.note_chain(number, registers, registers.stack..stack.end);
                }
                let budget = &raw mut (*run).budget;
                let left = budget.read_volatile();
                if !is_marked(left) {
                    budget.write_volatile(left - MARK);
                }
                (&raw const (*run).host_stack).read_volatile() as usize
            })
        };
        Some(SampleRequest {
            number,
            runtime_stack,
        })
    })
}

impl Requests {
    /// Notes the frames of the machine code that was interrupted.
    ///
    /// # Safety
    /// In the handler; the range is that part of the run's stack which is in use.
    unsafe fn note_chain(&self, request: u64, registers: SampleRegisters, used: Range<usize>) {
        let index = self.chain_count.load(Ordering::Relaxed);
        if index == CHAINS {
            return;
        }
        // SAFETY: the thread reads chains below the count only.
        let chain = unsafe { &mut (*self.chains.get())[index] };
        chain.request = request;
        chain.addresses[0] = registers.instruction;
        chain.count = 1;
        chain.base = registers.base;
        let entries = switch::entries();
        let word = |address: usize| {
            let is_word = address & 7 == 0 && used.contains(&address);
            // SAFETY: an aligned word of the stack, which is mapped as a whole.
            is_word.then(|| unsafe { (address as *const usize).read_volatile() })
        };
        // SAFETY: an instruction of machine code, behind which there are others or the rest of the region.
        let bytes = unsafe { (registers.instruction as *const [u8; 3]).read_unaligned() };
        // On the first instructions of a function, and on its last one, the base pointer is its caller's.
        let own = match bytes {
            [0x55 | 0xc3, ..] => word(registers.stack),
            [0x48, 0x89, 0xe5] => word(registers.stack + 8),
            _ => None,
        };
        if let Some(caller) = own {
            chain.addresses[1] = caller - 1;
            chain.count = 2;
        }
        while chain.count < CHAIN_FRAMES {
            let Some((older, address)) = word(chain.base).zip(word(chain.base + 8)) else {
                break;
            };
            let is_runtime =
                entries.interpreting.contains(&address) || entries.beginning.contains(&address);
            if is_runtime || older <= chain.base || address == 0 {
                break;
            }
            chain.addresses[chain.count] = address - 1;
            chain.count += 1;
            chain.base = older;
        }
        self.chain_count.store(index + 1, Ordering::Release);
    }
}

/// Whether a request lies in a budget.
fn is_marked(budget: i64) -> bool {
    budget < -(MARK / 2)
}

/// A budget without a request in it.
pub fn unmarked(budget: i64) -> i64 {
    if is_marked(budget) {
        budget + MARK
    } else {
        budget
    }
}

/// A run that is in progress as long as this exists, and the one inside of which it is.
pub struct InProgress(*mut Activation);

impl InProgress {
    /// The run goes on.
    pub fn new(activation: *mut Activation) -> InProgress {
        InProgress(REQUESTS.with(|requests| requests.run.replace(activation)))
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        REQUESTS.with(|requests| requests.run.set(self.0));
    }
}

/// Whether the stack of the current run is asked for.
#[inline]
pub fn is_asked() -> bool {
    REQUESTS.with(|requests| {
        requests.asked.load(Ordering::Relaxed) != requests.answered.load(Ordering::Relaxed)
    })
}

/// Answers the requests for the stack of a run, whose code has returned to the runtime. A run that has
/// finished has none; its first function has been active.
#[cold]
pub fn answer(activation: Option<&Activation>, first: Option<(Module, u32)>) {
    let mut found = Vec::new();
    if let Some(activation) = activation {
        each_frame(activation, &mut |walked| {
            found.push(walked);
            found.len() < FRAMES_MAX
        });
    }
    REQUESTS.with(|requests| {
        let last_request = requests.asked.load(Ordering::Relaxed);
        let count = requests.chain_count.load(Ordering::Acquire);
        for index in 0..count {
            // SAFETY: the handler writes to later chains only, until the count is 0 again.
            let chain = unsafe { (*requests.chains.get())[index] };
            if index == 0 && chain.request > requests.answered.load(Ordering::Relaxed) + 1 {
                keep(chain.request - 1, frames(&[], &found, first.as_ref()));
            }
            keep(chain.request, chain.frames(&found, first.as_ref()));
        }
        compiler_fence(Ordering::SeqCst);
        // A chain that was added just now is lost; its request is answered like others.
        requests.chain_count.store(0, Ordering::Release);
        keep(last_request, frames(&[], &found, first.as_ref()));
        requests.answered.store(last_request, Ordering::Relaxed);
    });
}

fn keep(last_request: u64, frames: Vec<SampledFrame>) {
    ANSWERS.with_borrow_mut(|answers| {
        if answers.len() < ANSWERS_MAX {
            answers.push(SampleAnswer {
                last_request,
                frames,
            });
        }
    });
}

/// The answers for the calling thread since the last call, the oldest first.
pub fn answers() -> Vec<SampleAnswer> {
    ANSWERS.take()
}

impl Chain {
    /// The stack that has these frames on top of older ones, which were found later.
    fn frames(&self, found: &[Walked], first: Option<&(Module, u32)>) -> Vec<SampledFrame> {
        let functions = self.addresses[..self.count].iter();
        let newest: Vec<_> = functions
            .filter_map(|address| frames::function_at(*address))
            .collect();
        let base = found
            .iter()
            .position(|walked| walked.base == Some(self.base));
        let older = match base {
            Some(index) => &found[index + 1..],
            // The call has returned meanwhile: to an interpreted function, if there is one.
            None => {
                let is_native = |walked: &&Walked| walked.base.is_some();
                &found[found.iter().take_while(is_native).count()..]
            }
        };
        frames(&newest, older, first)
    }
}

fn frames(
    newest: &[Located],
    older: &[Walked],
    first: Option<&(Module, u32)>,
) -> Vec<SampledFrame> {
    let older = older.iter().filter_map(|walked| walked.function.as_ref());
    let mut frames: Vec<_> = newest.iter().chain(older).flat_map(sampled).collect();
    if let Some((module, own_index)) = first {
        let first = SampledFrame {
            name: name_of(module, module.parts().imported_functions as u32 + own_index),
            module: module.name().map(str::to_owned),
            is_machine_code: module.machine_code().has(*own_index),
            is_inlined: false,
            file: source_file(module, *own_index),
            line: 0,
            column: 0,
        };
        if frames.last().is_none_or(|oldest| oldest.name != first.name) {
            frames.push(first);
        }
    }
    frames
}

fn sampled(located: &Located) -> impl Iterator<Item = SampledFrame> {
    located.frames().into_iter().map(|frame| {
        let file = match &frame.place {
            Some(place) => Some(Arc::clone(&place.file)),
            None if frame.is_inlined => None,
            None => source_file(&located.module, located.own_index),
        };
        SampledFrame {
            name: frame
                .name
                .unwrap_or_else(|| format!("wasm-function[{}]", frame.function)),
            module: frame.module,
            is_machine_code: frame.is_machine_code,
            is_inlined: frame.is_inlined,
            file,
            line: frame.place.as_ref().map_or(0, |place| place.line),
            column: frame.place.as_ref().map_or(0, |place| place.column),
        }
    })
}

/// The source file of one of the module's own functions, which is that of its beginning.
fn source_file(module: &Module, own_index: u32) -> Option<Arc<str>> {
    let start = module.parts().bodies[own_index as usize].start;
    let frames = module.source_frames(start as u32);
    let place = frames.last()?.place.as_ref()?;
    Some(Arc::clone(&place.file))
}

fn name_of(module: &Module, function: u32) -> String {
    match module.function_name(function) {
        Some(name) => demangled(name),
        None => format!("wasm-function[{function}]"),
    }
}
