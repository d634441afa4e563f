//! Taking samples: a timer's signal, and what its handler notes about the thread that it interrupts.
//!
//! A thread has a timer of its own while a profile is taken. Timers of processor time tick only some
//! hundred times a second, so the timer follows the clock on the wall, and each sample weighs the
//! processor time since the last one. The handler allocates nothing and takes no lock. It notes the
//! instruction, copies the newest part of the VM stack and asks for a safepoint, where the thread itself
//! reads the samples ([`super::walk`]).
//!
//! | field of [`Sampler`] | written by | read by |
//! |---|---|---|
//! | `samples` from `taken` on | the handler | the thread, below `taken` or with the signal blocked |
//! | `count` | the handler; the thread resets it with the signal blocked | both |
//! | `taken` | the thread | the handler |
//! | `last_cpu_ns`, `lost` | the handler | the thread |
//! | `generated` | both, once machine code is there | both |
//! | `task`, `label` | the thread | the handler |
//!
//! The handler runs on the thread itself, so these are plain words for it; they are atomic where the
//! compiler could keep them in registers.
//!
//! In generated code fp is in a register. The interpreter and stitched code have it in a fixed one. The
//! code generator chooses one, so each register that may be fp is noted, with the code of the closure that
//! its frame would have; the table of the candidate tells which one it is. While a thread runs generated
//! code nothing is collected, so that closures may be read there. Pages of the heap and of the stack are
//! readable as long as they exist.

use std::cell::{Cell, UnsafeCell};
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use canny_tables::layout::{FIELD0, TAG_MASK, TAG_OBJECT, frame};
use canny_value::Value;

use super::guests::{self, GuestRegisters};
use crate::Vm;
use crate::thread::Thread;
use crate::thread::interrupt::{InterruptState, PROFILE};

/// Words of the stack that a sample has.
pub(super) const WINDOW_WORDS: usize = 1024;
/// Samples that a thread may have before it comes to a safepoint.
const SAMPLES: usize = 12;
/// Samples for which it is asked to come there: that costs more than the sample.
const SAMPLES_WANTED: usize = 8;
/// Instructions in the machine's own code that one sample has, from the same operation of the program.
const NATIVE_PLACES: usize = 24;
/// Registers of the processor.
const REGISTERS: usize = 16;
/// Frames that registers and words of the native stack may refer to.
const CANDIDATES: usize = 40;
/// Words of the native stack between generated code and a function of the machine that it called, at most.
const NATIVE_WORDS: usize = 16384;
/// Words of them next to generated code that are looked through for its registers.
const SAVED_WORDS: usize = 256;

/// The kind of code that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// The machine's own code, written in Rust or another language.
    Native,
    /// A handler of the interpreter.
    Interpreter,
    /// Machine code made from bytecode.
    Compiled,
}

/// An instruction in the machine's own code.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NativePlace {
    /// Its address.
    pub(super) address: usize,
    /// Processor time, in nanoseconds.
    pub(super) weight_ns: u64,
    /// Whether a system call had just ended there.
    pub(super) is_behind_system_call: bool,
    /// The number of the request for the frames of the guest that called it; 0 if there is none.
    pub(super) guest: u64,
    /// Whether it is code of that guest.
    pub(super) is_guest_code: bool,
}

/// A frame that a register may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrameCandidate {
    /// Its fp.
    pub(super) fp: usize,
    /// The tagged word of its closure's code; 0 if the link has none. A procedure that is called by its
    /// name may not have put it there yet.
    pub(super) code: u64,
}

/// One sample as the handler leaves it.
pub(super) struct Sample {
    /// When, on the monotonic clock.
    pub(super) at_ns: u64,
    pub(super) interrupted: Interrupted,
    /// Address of the machine instruction.
    pub(super) address: usize,
    /// Processor time, in nanoseconds; that of native places stands with them.
    pub(super) weight_ns: u64,
    pub(super) native: [NativePlace; NATIVE_PLACES],
    pub(super) native_count: usize,
    /// The interpreter's pc, or the one that it left with.
    pub(super) pc: usize,
    /// The same for fp; 0 if it is unknown.
    pub(super) fp: usize,
    /// In the machine's own code: where it returns to in compiled code; 0 if that has not called it.
    pub(super) return_address: usize,
    /// The fp that compiled code has passed to it; 0 if that is unknown.
    pub(super) passed_fp: usize,
    pub(super) candidates: [FrameCandidate; CANDIDATES],
    pub(super) candidate_count: usize,
    pub(super) sealed: (usize, usize),
    pub(super) watermark: (usize, usize),
    pub(super) task: u64,
    pub(super) label: u32,
    /// Address behind the last word of the window.
    pub(super) window_end: usize,
    pub(super) window_words: usize,
    window: [u64; WINDOW_WORDS],
}

impl Sample {
    /// A sample of nothing.
    pub(super) fn empty() -> Box<Sample> {
        // SAFETY: all fields of a sample are words for which 0 is a value, `Native` among them.
        unsafe { Box::<Sample>::new_zeroed().assume_init() }
    }

    /// Whether two samples of the machine's own code, between which the thread came to no safepoint, are of
    /// the same operation of the program.
    pub(super) fn is_same_place(&self, other: &Sample) -> bool {
        let frames = |sample: &Sample| {
            let candidates = &sample.candidates[..sample.candidate_count];
            let frames = candidates.iter().map(|candidate| candidate.fp);
            frames.max().unwrap_or(0)
        };
        (self.pc, self.fp, self.return_address) == (other.pc, other.fp, other.return_address)
            && self.task == other.task
            && self.sealed == other.sealed
            && (self.passed_fp, frames(self)) == (other.passed_fp, frames(other))
    }

    /// The word of the stack at an address, if the sample has it.
    pub(super) fn word(&self, address: usize) -> Option<u64> {
        let back = self.window_end.checked_sub(address)? / 8;
        let index = self.window_words.checked_sub(back)?;
        (back > 0).then(|| self.window[index])
    }
}

/// A thread's part of a profile, as its signal handler knows it.
pub(super) struct Sampler {
    thread: *const Thread,
    vm: *const Vm,
    interrupts: *const InterruptState,
    stack: Range<usize>,
    /// Where the native stack ends.
    native_end: usize,
    heap: Range<usize>,
    stubs: [usize; 4],
    interpreter: Range<usize>,
    entry: Range<usize>,
    /// Machine code and descriptors; both words are 0 as long as there are none.
    generated: [AtomicUsize; 2],
    samples: Box<[UnsafeCell<Sample>]>,
    count: AtomicUsize,
    taken: AtomicUsize,
    last_cpu_ns: AtomicU64,
    lost: AtomicU64,
    pub(super) task: AtomicU64,
    pub(super) label: AtomicU32,
    timer: libc::timer_t,
    interval_ns: u64,
    /// State of the generator of times between samples; 0 while the timer rests.
    random: AtomicU64,
    /// Whether labels may be in force.
    has_labels: AtomicBool,
    /// Ticks in a row at which the thread had not computed.
    idle_ticks: AtomicU32,
}

thread_local! {
    static SAMPLER: Cell<*const Sampler> = const { Cell::new(ptr::null()) };
}

/// Whether samples can be taken on this system.
pub(crate) const IS_AVAILABLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to the structure only.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The monotonic clock.
pub(crate) fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The time when any thread last looked at the clock for the profile.
static RECENT_NS: AtomicU64 = AtomicU64::new(0);

/// The monotonic clock, also for [`recent_ns`].
pub(crate) fn look_at_clock() -> u64 {
    let now = now_ns();
    RECENT_NS.store(now, Ordering::Relaxed);
    now
}

/// The monotonic clock as of the last sample of any thread, which costs nothing.
#[inline]
pub(crate) fn recent_ns() -> u64 {
    RECENT_NS.load(Ordering::Relaxed)
}

impl Sampler {
    /// Begins sampling on the calling thread.
    pub(super) fn start(thread: &Thread, interval_ns: u64) -> io::Result<Box<Sampler>> {
        install_handler()?;
        let timer = make_timer()?;
        let base = thread.stack.base() as usize;
        let words = thread.stack.frame_words() + thread.stack.reserve_words();
        let stubs = &thread.vm.stubs;
        let stubs = [
            stubs.exit(),
            stubs.underflow(),
            stubs.barrier(),
            stubs.trap(),
        ];
        // SAFETY: all fields of a sample are words for which 0 is a value, `Native` among them.
        let empty = || unsafe { std::mem::zeroed::<Sample>() };
        let samples = (0..SAMPLES).map(|_| UnsafeCell::new(empty())).collect();
        let sampler = Box::new(Sampler {
            thread,
            vm: std::sync::Arc::as_ptr(&thread.vm),
            interrupts: std::sync::Arc::as_ptr(&thread.interrupts),
            stack: base..base + 8 * words,
            native_end: native_stack_end(),
            heap: thread.vm.heap.addresses(),
            stubs: stubs.map(|stub| stub as usize),
            interpreter: canny_llint::addresses(),
            entry: canny_llint::entry_addresses(),
            generated: [AtomicUsize::new(0), AtomicUsize::new(0)],
            samples,
            count: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            last_cpu_ns: AtomicU64::new(clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)),
            lost: AtomicU64::new(0),
            task: AtomicU64::new(super::tasks::MAIN),
            label: AtomicU32::new(0),
            timer,
            interval_ns,
            random: AtomicU64::new(0),
            has_labels: AtomicBool::new(false),
            idle_ticks: AtomicU32::new(0),
        });
        SAMPLER.set(&raw const *sampler);
        sampler.resume();
        Ok(sampler)
    }

    /// Has the timer tick, if samples of processor time are wanted.
    pub(super) fn resume(&self) {
        self.random.store(look_at_clock() | 1, Ordering::Relaxed);
        self.idle_ticks.store(0, Ordering::Relaxed);
        self.set_timer(self.interval_ns);
    }

    /// Has the timer rest, as long as the thread sleeps.
    pub(super) fn pause(&self) {
        self.random.store(0, Ordering::Relaxed);
        self.set_timer(0);
    }

    /// Sets the time of the next sample. A program that does things periodically would be seen at the same
    /// places always if samples were, so they come at random: from half the interval to one and a half. A
    /// thread that waits is looked at less often.
    fn await_next(&self) {
        const IDLE_TICKS_MAX: u32 = 3;
        let mut random = self.random.load(Ordering::Relaxed);
        if random == 0 {
            // The timer rests; this signal was on its way.
            return;
        }
        // Marsaglia's xorshift.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.store(random, Ordering::Relaxed);
        let idle = self.idle_ticks.load(Ordering::Relaxed).min(IDLE_TICKS_MAX);
        let usual = self.interval_ns / 2 + (random >> 11) % self.interval_ns.max(1);
        self.set_timer(usual << idle);
    }

    fn set_timer(&self, after_ns: u64) {
        let timespec = |ns: u64| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        let setting = libc::itimerspec {
            it_interval: timespec(0),
            it_value: timespec(after_ns),
        };
        // SAFETY: the timer is this sampler's.
        unsafe { libc::timer_settime(self.timer, 0, &setting, ptr::null_mut()) };
    }

    /// Tells the handler that labels may be in force.
    pub(super) fn set_has_labels(&self, has_labels: bool) {
        self.has_labels.store(has_labels, Ordering::Relaxed);
    }

    /// Where machine code and descriptors are.
    fn generated(&self) -> Range<usize> {
        let [start, end] = [0, 1].map(|index| self.generated[index].load(Ordering::Relaxed));
        if start != end {
            return start..end;
        }
        // SAFETY: the thread keeps the machine. This only loads words that are written once.
        let known = unsafe { (*self.vm).specializer.code_addresses() };
        let known = known.unwrap_or_default();
        self.generated[0].store(known.start, Ordering::Relaxed);
        self.generated[1].store(known.end, Ordering::Relaxed);
        known
    }

    /// Whether there are samples to take.
    pub(super) fn has_samples(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Shows the samples since the last call, the oldest first; gives the number of those that were lost.
    pub(super) fn take(&self, mut visit: impl FnMut(&Sample)) -> u64 {
        let count = self.count.load(Ordering::Acquire);
        // The handler adds behind these, or finds the buffer full.
        self.taken.store(count, Ordering::Release);
        // SAFETY: the handler writes to samples behind those that were taken.
        let mut show = |cell: &UnsafeCell<Sample>| visit(unsafe { &*cell.get() });
        self.samples[..count].iter().for_each(&mut show);
        blocked(|| {
            let all = self.count.swap(0, Ordering::AcqRel);
            self.samples[count..all].iter().for_each(&mut show);
            self.taken.store(0, Ordering::Release);
            self.lost.swap(0, Ordering::Relaxed)
        })
    }

    /// The sample that the handler fills next.
    ///
    /// # Safety
    /// On the sampler's thread, from the handler, which does not interrupt itself.
    #[expect(clippy::mut_from_ref)]
    unsafe fn sample(&self, index: usize) -> &mut Sample {
        // SAFETY: the thread reads only samples below `taken`, and this one is not; see the module.
        unsafe { &mut *self.samples[index].get() }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
impl Sampler {
    /// Nothing: there are no samplers here.
    ///
    /// # Safety
    /// None is asked for.
    pub(super) unsafe fn note_here(&self, _sample: &mut Sample) {}

    /// Nothing either.
    ///
    /// # Safety
    /// None is asked for.
    pub(super) unsafe fn want_reader(&self, _is_urgent: bool) {}
}

/// The registers that functions keep for their callers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn saved_registers() -> [libc::greg_t; 6] {
    let mut saved = [0; 6];
    // SAFETY: stores six registers in the array.
    unsafe {
        std::arch::asm!(
            "mov [{to}], rbx",
            "mov [{to} + 8], rbp",
            "mov [{to} + 16], r12",
            "mov [{to} + 24], r13",
            "mov [{to} + 32], r14",
            "mov [{to} + 40], r15",
            to = in(reg) saved.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
    }
    saved
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: the timer is this sampler's, and is not used afterwards.
        unsafe { libc::timer_delete(self.timer) };
        // A signal that is still on its way finds no sampler.
        SAMPLER.set(ptr::null());
    }
}

/// Runs something that the handler does not interrupt.
fn blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are local; only this thread's mask changes, and is put back.
    unsafe {
        let (mut set, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGPROF);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut old);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, ptr::null_mut());
        result
    }
}

/// Address behind the native stack of the calling thread; 0 if it is unknown.
#[cfg(target_os = "linux")]
fn native_stack_end() -> usize {
    // SAFETY: the attributes are written by the first call that succeeds, and destroyed.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return 0;
        }
        let (mut start, mut bytes) = (ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        start as usize + bytes
    }
}

#[cfg(not(target_os = "linux"))]
fn native_stack_end() -> usize {
    0
}

/// A timer that sends this thread the signal.
#[cfg(target_os = "linux")]
fn make_timer() -> io::Result<libc::timer_t> {
    // SAFETY: zeroes are a valid event; the fields below are set.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGPROF;
    // SAFETY: only asks.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let mut timer = ptr::null_mut();
    // SAFETY: writes to the two structures only.
    match unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) } {
        0 => Ok(timer),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn make_timer() -> io::Result<libc::timer_t> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Installs the handler; it stays, and does nothing on threads without a sampler.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn install_handler() -> io::Result<()> {
    // SAFETY: zeroes are a valid action; the handler has the signature that the flags ask for, and does
    // nothing that a signal handler must not.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        match libc::sigaction(libc::SIGPROF, &action, ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn install_handler() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
unsafe extern "C" fn handle(
    _signal: libc::c_int,
    _information: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let sampler = SAMPLER.get();
    if sampler.is_null() {
        return;
    }
    // SAFETY: the sampler is the thread's as long as it is there. The system hands out the context.
    unsafe {
        // The interrupted code may be about to look at the error number.
        let error = *libc::__errno_location();
        (*sampler).note(&(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs);
        (*sampler).await_next();
        *libc::__errno_location() = error;
    }
}

/// The bits of an address within the smallest page.
#[cfg(target_arch = "x86_64")]
const PAGE_MASK: usize = 0xfff;

/// The first byte of a call through a register.
#[cfg(target_arch = "x86_64")]
const CALL: u8 = 0xff;

/// Its second byte.
#[cfg(target_arch = "x86_64")]
const CALL_REGISTERS: std::ops::RangeInclusive<u8> = 0xd0..=0xd7;

/// Two bytes of the instruction that enters the kernel.
#[cfg(target_arch = "x86_64")]
const SYSCALL: u16 = 0x050f;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
impl Sampler {
    /// Notes a sample.
    ///
    /// # Safety
    /// In the handler, on the sampler's thread.
    unsafe fn note(&self, registers: &[libc::greg_t; 23]) {
        look_at_clock();
        let cpu_ns = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        let weight_ns = cpu_ns - self.last_cpu_ns.load(Ordering::Relaxed);
        if weight_ns < self.interval_ns / 16 {
            // The thread waits; or the next tick takes this one's time along.
            self.idle_ticks.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.idle_ticks.store(0, Ordering::Relaxed);
        let count = self.count.load(Ordering::Relaxed);
        let address = registers[libc::REG_RIP as usize] as usize;
        let interrupted = self.interrupted(address);
        // SAFETY: the thread's block outlives its sampler; it is read through a pointer, as words that
        // the interrupted code may be changing.
        let (pc, fp) = unsafe {
            let thread = self.thread;
            let pc = (&raw const (*thread).pc).read_volatile() as usize;
            (pc, (&raw const (*thread).fp).read_volatile() as usize)
        };
        let is_native = interrupted == Interrupted::Native;
        let mut registers = *registers;
        let word = |register: libc::c_int| registers[register as usize] as usize;
        let asked = guests::ask(GuestRegisters {
            instruction: address,
            stack: word(libc::REG_RSP),
            base: word(libc::REG_RBP),
        });
        let machine_stack = asked.and_then(|request| request.machine_stack);
        if let Some(stack) = machine_stack {
            // The stack of a guest has no frames of compiled code.
            registers[libc::REG_RSP as usize] = stack as libc::greg_t;
        }
        let is_behind_system_call =
            is_native && machine_stack.is_none() && address & PAGE_MASK > 1 && {
                // SAFETY: an instruction was executed there, and the two bytes before it are in its page.
                let before = unsafe { ptr::read_unaligned((address - 2) as *const u16) };
                before == SYSCALL
            };
        let native = NativePlace {
            address,
            weight_ns,
            is_behind_system_call,
            guest: asked.map_or(0, |request| request.number),
            is_guest_code: machine_stack.is_some(),
        };
        // SAFETY: this is the handler.
        if unsafe { self.extend_last(count, native, (pc, fp)) } {
            self.last_cpu_ns.store(cpu_ns, Ordering::Relaxed);
            return;
        }
        if count == SAMPLES {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.last_cpu_ns.store(cpu_ns, Ordering::Relaxed);
        // SAFETY: this is the handler.
        let sample = unsafe { self.sample(count) };
        sample.at_ns = now_ns();
        sample.interrupted = interrupted;
        sample.address = address;
        sample.weight_ns = weight_ns;
        sample.native[0] = native;
        sample.native_count = 1;
        // SAFETY: this is the handler.
        unsafe { self.note_state(sample, &registers, (pc, fp)) };
        self.count.store(count + 1, Ordering::Release);
        let is_urgent = sample.sealed.0 > 0;
        // SAFETY: this is the handler.
        unsafe { self.want_reader(is_urgent || count + 1 >= SAMPLES_WANTED) };
    }

    /// Notes what the thread was doing, and the frames of its stack.
    ///
    /// # Safety
    /// On the sampler's thread, in the handler or in the machine's own code; the registers are those that
    /// the thread has there.
    unsafe fn note_state(
        &self,
        sample: &mut Sample,
        registers: &[libc::greg_t; 23],
        state: (usize, usize),
    ) {
        sample.task = self.task.load(Ordering::Relaxed);
        sample.label = self.label.load(Ordering::Relaxed);
        // SAFETY: the thread's block outlives its sampler; it is read through a pointer, as words that
        // the interrupted code may be changing.
        unsafe {
            let thread = self.thread;
            let sealed = (&raw const (*thread).sealed).read_volatile();
            let watermark = (&raw const (*thread).watermark).read_volatile();
            sample.sealed = (sealed.bytes, sealed.pc as usize);
            sample.watermark = (watermark.fp as usize, watermark.return_pc as usize);
        }
        sample.candidate_count = 0;
        sample.return_address = 0;
        sample.passed_fp = 0;
        // SAFETY: as the caller says; the words lie on the stack.
        unsafe {
            let top = self.note_frames(sample, registers, state);
            self.copy_window(sample, top);
        }
    }

    /// Has the thread come to a safepoint where it reads what was noted, if that is necessary now: frames
    /// in continuations, and labels, are only known as long as they are in force.
    ///
    /// # Safety
    /// On the sampler's thread.
    pub(super) unsafe fn want_reader(&self, is_urgent: bool) {
        if is_urgent || self.has_labels.load(Ordering::Relaxed) {
            // SAFETY: the thread keeps its requests.
            unsafe { (*self.interrupts).notify(PROFILE) };
        }
    }

    /// Notes where the thread is: in the middle of an allocation, or of a leaf function.
    ///
    /// # Safety
    /// On the sampler's thread, in the machine's own code.
    pub(super) unsafe fn note_here(&self, sample: &mut Sample) {
        let mut registers = [0; 23];
        let stack: usize;
        // SAFETY: reads a register.
        unsafe { std::arch::asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack)) };
        // The other registers may hold frames of compiled code; those that functions of the machine use
        // themselves were saved on the stack, the others are asked for here.
        let saved = saved_registers();
        registers[..saved.len()].copy_from_slice(&saved);
        registers[libc::REG_RSP as usize] = stack as libc::greg_t;
        sample.at_ns = now_ns();
        sample.interrupted = Interrupted::Native;
        sample.address = 0;
        sample.weight_ns = 0;
        sample.native_count = 0;
        // SAFETY: the thread's block outlives its sampler; it is read through a pointer, since somebody
        // may have borrowed it.
        let state = unsafe {
            let thread = self.thread;
            let pc = (&raw const (*thread).pc).read_volatile() as usize;
            (pc, (&raw const (*thread).fp).read_volatile() as usize)
        };
        // SAFETY: as the caller says.
        unsafe { self.note_state(sample, &registers, state) };
    }

    /// Notes pc and the frames that fp may be; gives the address of the newest one.
    ///
    /// # Safety
    /// In the handler, on the sampler's thread.
    unsafe fn note_frames(
        &self,
        sample: &mut Sample,
        registers: &[libc::greg_t; 23],
        (pc, fp): (usize, usize),
    ) -> usize {
        let stack = registers[libc::REG_RSP as usize] as usize;
        match sample.interrupted {
            Interrupted::Native => {
                (sample.pc, sample.fp) = (pc, fp);
                // SAFETY: this is the thread's native stack. If compiled code has called, nothing is
                // collected either.
                unsafe { self.note_call(sample, registers, stack) };
                let candidates = &sample.candidates[..sample.candidate_count];
                let top = candidates.iter().map(|candidate| candidate.fp).max();
                top.unwrap_or(0).max(fp).max(sample.passed_fp)
            }
            Interrupted::Interpreter | Interrupted::Compiled => {
                // SAFETY: the thread runs generated code.
                unsafe { self.note_candidates(sample, registers, stack, REGISTERS) };
                sample.pc = registers[libc::REG_RDI as usize] as usize;
                let fp = registers[libc::REG_RSI as usize] as usize;
                let candidates = &sample.candidates[..sample.candidate_count];
                let is_known = candidates.iter().any(|candidate| candidate.fp == fp);
                sample.fp = if is_known { fp } else { 0 };
                let top = candidates.iter().map(|candidate| candidate.fp).max();
                if sample.interrupted == Interrupted::Interpreter && is_known {
                    fp
                } else {
                    top.unwrap_or(0)
                }
            }
        }
    }

    /// Adds a place in the machine's own code to the last sample, if that is about the same operation.
    ///
    /// # Safety
    /// In the handler.
    unsafe fn extend_last(&self, count: usize, native: NativePlace, state: (usize, usize)) -> bool {
        let is_native = self.interrupted(native.address) == Interrupted::Native;
        if !is_native || count <= self.taken.load(Ordering::Relaxed) {
            return false;
        }
        // SAFETY: this is the handler, and the thread does not read the sample.
        let last = unsafe { self.sample(count - 1) };
        let is_same = last.interrupted == Interrupted::Native
            && (last.pc, last.fp) == state
            && last.return_address == 0
            && last.task == self.task.load(Ordering::Relaxed);
        if !is_same {
            return false;
        }
        if let Some(place) = last.native.get_mut(last.native_count) {
            *place = native;
            last.native_count += 1;
        } else {
            last.native[NATIVE_PLACES - 1].weight_ns += native.weight_ns;
        }
        true
    }

    fn interrupted(&self, address: usize) -> Interrupted {
        if self.generated().contains(&address) {
            Interrupted::Compiled
        } else if self.interpreter.contains(&address) {
            Interrupted::Interpreter
        } else {
            Interrupted::Native
        }
    }

    /// Whether a word may be a return address of a frame.
    fn may_be_return_address(&self, word: usize) -> bool {
        word & 3 == 0
            && (self.heap.contains(&word)
                || self.generated().contains(&word)
                || self.stubs.contains(&word))
    }

    /// Notes the frames that registers, and words of the native stack, may refer to.
    ///
    /// # Safety
    /// The thread was interrupted in generated code.
    unsafe fn note_candidates(
        &self,
        sample: &mut Sample,
        registers: &[libc::greg_t; 23],
        stack: usize,
        words: usize,
    ) {
        let stack = stack as *const usize;
        for index in 0..REGISTERS + words {
            if sample.candidate_count == CANDIDATES {
                return;
            }
            let word = match registers.get(index) {
                Some(word) if index < REGISTERS => *word as usize,
                // SAFETY: the frames of what entered generated code lie above it, so that the stack has
                // more words than these.
                _ => unsafe { stack.add(index - REGISTERS).read_volatile() },
            };
            let known = &sample.candidates[..sample.candidate_count];
            if known.iter().any(|candidate| candidate.fp == word) {
                continue;
            }
            // SAFETY: as the caller says.
            if let Some(candidate) = unsafe { self.candidate(word) } {
                sample.candidates[sample.candidate_count] = candidate;
                sample.candidate_count += 1;
            }
        }
    }

    /// Notes where a function of the machine returns to, if compiled code has called it.
    ///
    /// # Safety
    /// In the handler, on the sampler's thread.
    unsafe fn note_call(&self, sample: &mut Sample, registers: &[libc::greg_t; 23], stack: usize) {
        let generated = self.generated();
        if generated.is_empty() {
            return;
        }
        let word = |address: usize| {
            // SAFETY: the word lies on the part of the native stack that is in use.
            unsafe { (address as *const usize).read_volatile() }
        };
        let last = (stack + 8 * NATIVE_WORDS).min(self.native_end);
        let Some(entered) = (stack..last)
            .step_by(8)
            .find(|at| self.entry.contains(&word(*at)))
        else {
            return;
        };
        // A segment may have a native frame between its caller's return address and its own call.
        let first = stack.max(entered - 8 * SAVED_WORDS);
        let mut calls = (first..entered).step_by(8).rev();
        let is_behind_call = |address: usize| {
            // SAFETY: an address of machine code or descriptors, which are readable, and not the first one.
            let before = || unsafe { ptr::read_unaligned((address - 2) as *const [u8; 2]) };
            generated.contains(&address)
                && address - 2 >= generated.start
                && before()[0] == CALL
                && CALL_REGISTERS.contains(&before()[1])
        };
        // Frames of functions have words that nobody has overwritten since: some look like calls.
        let known = |at: usize| {
            let call = || canny_jit::native_call(at, word);
            Some((at, is_behind_call(word(at)).then(call)??))
        };
        let Some((call, native_call)) = calls.find_map(known) else {
            return;
        };
        sample.return_address = word(call);
        sample.passed_fp = native_call.fp.unwrap_or(0);
        let saved = stack.max(call.saturating_sub(8 * SAVED_WORDS));
        // SAFETY: as the caller says.
        unsafe { self.note_candidates(sample, registers, saved, (entered - saved) / 8) };
    }

    /// The frame whose fp a word may be.
    ///
    /// # Safety
    /// The thread was interrupted in generated code.
    unsafe fn candidate(&self, fp: usize) -> Option<FrameCandidate> {
        let first = self.stack.start + 8 * frame::LINK_WORDS;
        if fp & 7 != 0 || !(first..self.stack.end).contains(&fp) {
            return None;
        }
        let slot = fp as *const u64;
        // SAFETY: the stack is mapped as a whole.
        let (return_pc, closure) = unsafe {
            let return_pc = slot.offset(frame::RETURN_PC as isize).read_volatile();
            let closure = slot.offset(frame::CLOSURE as isize).read_volatile();
            (return_pc as usize, closure)
        };
        if !self.may_be_return_address(return_pc) {
            return None;
        }
        let code = code_word_of(closure, &self.heap).unwrap_or(0);
        Some(FrameCandidate { fp, code })
    }

    /// Copies the words of the stack below an address.
    ///
    /// # Safety
    /// In the handler.
    unsafe fn copy_window(&self, sample: &mut Sample, end: usize) {
        let is_on_stack = end & 7 == 0 && (self.stack.start..self.stack.end).contains(&end);
        if !is_on_stack {
            (sample.window_end, sample.window_words) = (0, 0);
            return;
        }
        // The first registers of a frame that makes a call for the machine stand above its fp.
        let end = (end + 8).min(self.stack.end);
        let words = ((end - self.stack.start) / 8).min(WINDOW_WORDS);
        let start = (end - 8 * words) as *const u64;
        // SAFETY: the words lie on this thread's stack, which is mapped as a whole.
        unsafe { ptr::copy_nonoverlapping(start, sample.window.as_mut_ptr(), words) };
        (sample.window_end, sample.window_words) = (end, words);
    }
}

/// The word of the code that a closure has, if a word of a stack is one; any word if it is not, or if the
/// closure has died or moved. Those who compare it with the code that they expect find that out.
pub(super) fn code_word_of(closure: u64, heap: &Range<usize>) -> Option<u64> {
    let address = (closure as i64 + i64::from(FIELD0)) as usize;
    let is_object = closure & TAG_MASK == TAG_OBJECT && address & 7 == 0;
    if !is_object || !heap.contains(&address) {
        return None;
    }
    // SAFETY: an aligned word of the heap, whose pages are readable as long as the machine exists.
    Some(unsafe { (address as *const u64).read_volatile() })
}

/// The object of a word of a stack, which is only compared.
pub(super) fn value_of(word: u64) -> Value {
    // SAFETY: a word of a frame is a tagged word or an address, which has a fixnum's tag.
    unsafe { Value::from_bits(word) }
}
