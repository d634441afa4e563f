//! The generated handlers: their addresses, the way in, and faults in their accesses to memory.
//!
//! One signal handler serves the process. It hands faults elsewhere to who was there before.

use std::sync::{LazyLock, Once};

use canny_tables::guest::{Opcode, Runtime};
use canny_tables::hashing::SeededMap;

use crate::error::Error;

unsafe extern "C" {
    static canny_guest_handlers: [usize; 0];
    fn canny_guest_enter(
        pc: *const u64,
        frame: *mut u64,
        memory: *mut u8,
        instance: *mut u8,
        activation: *mut u8,
    ) -> u64;
    // In the handlers' convention, not to be called from Rust.
    fn canny_guest_out_of_bounds();
}

struct Handlers {
    by_opcode: SeededMap<Opcode, usize>,
    /// The few that the runtime asks for, by address.
    of_runtime: Vec<(usize, Runtime)>,
    first: usize,
    last: usize,
}

static HANDLERS: LazyLock<Handlers> = LazyLock::new(|| {
    let opcodes = Opcode::all();
    let table = (&raw const canny_guest_handlers).cast::<usize>();
    let mut by_opcode = SeededMap::with_capacity_and_hasher(opcodes.len(), Default::default());
    let mut of_runtime = Vec::new();
    let (mut first, mut last) = (usize::MAX, 0);
    for (index, opcode) in opcodes.into_iter().enumerate() {
        // SAFETY: the generated table has an address for each opcode, in this order.
        let address = unsafe { table.add(index).read() };
        by_opcode.insert(opcode, address);
        if let Opcode::Runtime(operation) = opcode {
            of_runtime.push((address, operation));
        }
        first = first.min(address);
        last = last.max(address);
    }
    of_runtime.sort_unstable_by_key(|(address, _)| *address);
    Handlers {
        by_opcode,
        of_runtime,
        first,
        last,
    }
});

/// Instructions by their handlers, for listings.
static OPCODES: LazyLock<SeededMap<usize, Opcode>> = LazyLock::new(|| {
    let pairs = HANDLERS.by_opcode.iter();
    pairs.map(|(opcode, address)| (*address, *opcode)).collect()
});

/// Whether the processor has the instructions that the handlers are made of.
pub fn check_processor() -> Result<(), Error> {
    #[cfg(target_arch = "x86_64")]
    if !(std::is_x86_feature_detected!("sse4.2") && std::is_x86_feature_detected!("popcnt")) {
        return Err(Error::Unsupported(
            "WebAssembly guests are not supported on this processor: it has no SSE 4.2 and popcnt"
                .into(),
        ));
    }
    Ok(())
}

/// The address of an instruction's handler.
pub fn address(opcode: Opcode) -> usize {
    HANDLERS.by_opcode[&opcode]
}

/// The instruction of a handler, whose address is the first word of one.
pub fn opcode(address: u64) -> Option<Opcode> {
    OPCODES.get(&(address as usize)).copied()
}

/// The same if the instruction is for the runtime.
pub fn runtime_operation(address: u64) -> Option<Runtime> {
    let known = &HANDLERS.of_runtime;
    let place = known.binary_search_by_key(&(address as usize), |(handler, _)| *handler);
    Some(known[place.ok()?].1)
}

/// Runs code until it returns to the runtime; gives the reason's number.
///
/// # Safety
/// `pc` is an instruction of translated code, `frame` its frame below the activation's limit, and
/// `instance` the instance that it belongs to, whose first memory begins at `memory`; all records have
/// the shape that `canny_tables::guest` says.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn enter(
    pc: *const u64,
    frame: *mut u64,
    memory: *mut u8,
    instance: *mut u8,
    activation: *mut u8,
) -> u64 {
    // Handlers use registers that a callee keeps only if the compiler of C says so; a fault's exit too.
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "call {enter}",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        enter = sym canny_guest_enter,
    )
}

/// The same where the convention keeps what handlers use.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn enter(
    pc: *const u64,
    frame: *mut u64,
    memory: *mut u8,
    instance: *mut u8,
    activation: *mut u8,
) -> u64 {
    // SAFETY: the caller's promise is the generated entry's contract.
    unsafe { canny_guest_enter(pc, frame, memory, instance, activation) }
}

static mut PREVIOUS: std::mem::MaybeUninit<libc::sigaction> = std::mem::MaybeUninit::uninit();

/// From here on, an access to memory that meets a guard page is a trap.
pub fn watch_faults() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        LazyLock::force(&HANDLERS);
        // SAFETY: the action is complete; the one that it replaces is kept before any fault can ask for it.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGSEGV, &action, (&raw mut PREVIOUS).cast());
        }
    });
}

/// Continues at the exit for such faults, or hands the signal to who was there before.
extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    #[cfg(target_arch = "x86_64")]
    {
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the system passes the interrupted registers; they are the handler's own until it is
        // done with its access, which the generator has checked.
        unsafe {
            let registers = &mut (*context).uc_mcontext.gregs;
            let at = registers[libc::REG_RIP as usize] as usize;
            // The last handler is shorter than this.
            if (HANDLERS.first..HANDLERS.last + 256).contains(&at) {
                registers[libc::REG_RIP as usize] =
                    canny_guest_out_of_bounds as *const () as libc::greg_t;
                return;
            }
        }
    }
    // SAFETY: `PREVIOUS` was written before this handler was in place.
    unsafe {
        let previous = (&raw const PREVIOUS).cast::<libc::sigaction>().read();
        match previous.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::sigaction(signal, &previous, std::ptr::null_mut());
            }
            handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(i32) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}
