//! The generated handlers: their addresses, the way in, and faults in their accesses to memory.
//!
//! One signal handler serves the process. It hands faults elsewhere to who was there before.

use std::sync::{LazyLock, Once};

use canny_tables::guest::{Opcode, Reason, Runtime};
use canny_tables::hashing::SeededMap;

use crate::code_memory;
use crate::error::Error;
use crate::switch;

unsafe extern "C" {
    static canny_guest_handlers: [usize; 0];
    #[cfg(not(target_arch = "x86_64"))]
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
    /// That of calls of the host.
    host: usize,
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
        host: by_opcode[&Opcode::Runtime(Runtime::Host)],
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
    if is_host(address) {
        return Some(Runtime::Host);
    }
    let known = &HANDLERS.of_runtime;
    let place = known.binary_search_by_key(&(address as usize), |(handler, _)| *handler);
    Some(known[place.ok()?].1)
}

/// Whether an instruction is a call of the host.
pub fn is_host(address: u64) -> bool {
    HANDLERS.host == address as usize
}

/// Runs code until it returns to the runtime; gives the reason's number.
///
/// # Safety
/// The activation has an instruction of translated code, its frame below the limit, and the instance that
/// it belongs to; all records have the shape that `canny_tables::guest` says.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn enter(activation: *mut u8) -> u64 {
    use canny_tables::guest::{activation as run, instance};
    // SAFETY: the caller's promise is the generated entry's contract; the fields are at these offsets.
    unsafe {
        let field = |at: i32| activation.add(at as usize).cast::<*mut u8>().read();
        let owner = field(run::INSTANCE);
        let memory = owner
            .add(instance::MEMORY as usize)
            .cast::<*mut u8>()
            .read();
        canny_guest_enter(
            field(run::PC).cast(),
            field(run::FRAME).cast(),
            memory,
            owner,
            activation,
        )
    }
}

/// The signals of faults, with the actions that were there before.
const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGILL];
static mut PREVIOUS: [std::mem::MaybeUninit<libc::sigaction>; 2] =
    [const { std::mem::MaybeUninit::uninit() }; 2];

/// From here on, an access to memory that meets a guard page is a trap, and so is an instruction for one in
/// machine code.
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
            // A profiler looks at the stack of what it interrupts, and this handler may have another one.
            libc::sigaddset(&mut action.sa_mask, libc::SIGPROF);
            for (index, signal) in SIGNALS.into_iter().enumerate() {
                libc::sigaction(signal, &action, (&raw mut PREVIOUS[index]).cast());
            }
        }
    });
}

/// Continues at the exit for such faults, or hands the signal to who was there before.
extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    #[cfg(target_arch = "x86_64")]
    {
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the system passes the interrupted registers; they are the handler's own until it is
        // done with its access, which the generator has checked. Machine code runs on its own stack.
        unsafe {
            let registers = &mut (*context).uc_mcontext.gregs;
            let at = registers[libc::REG_RIP as usize] as usize;
            // The last handler is shorter than this.
            if (HANDLERS.first..HANDLERS.last + 256).contains(&at) {
                registers[libc::REG_RIP as usize] =
                    canny_guest_out_of_bounds as *const () as libc::greg_t;
                return;
            }
            if code_memory::bounds().contains(&at) {
                // As if the instruction were a call that leaves, whose return address tells the trap.
                let stack = registers[libc::REG_RSP as usize] - 8;
                (stack as *mut u64).write(at as u64);
                registers[libc::REG_RSP as usize] = stack;
                registers[libc::REG_RDI as usize] = Reason::Fault as libc::greg_t;
                registers[libc::REG_RIP as usize] = switch::entries().leave as libc::greg_t;
                return;
            }
        }
    }
    // SAFETY: `PREVIOUS` was written before this handler was in place.
    unsafe {
        let index = usize::from(signal == SIGNALS[1]);
        let previous = (&raw const PREVIOUS[index])
            .cast::<libc::sigaction>()
            .read();
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
