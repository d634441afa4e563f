//! The low-level interpreter: machine code of every opcode, generated when this crate is built.
//!
//! A handler takes five words in registers (program counter, frame pointer, thread block, dispatch
//! table, first instruction word) and tail-calls the next one. A handler leaves work that it cannot
//! do to its *slow stub*, which calls the runtime entry of its opcode in the thread's table of
//! [`RuntimeEntry`]s and continues where that says. This crate owns the code and the dispatch
//! tables; it knows nothing of what the runtime entries do.
//!
//! A mode of the machine is a dispatch table: a thread works on its own copy of [`fast_table`], and an
//! interrupt is requested by putting [`slow_stub`] of `loop` into it.

mod stencils;
pub mod stitch;

use canny_tables::opcodes::{Opcode, TABLE_ENTRIES};

/// Called by a slow stub with thread block, frame pointer, address after the first instruction word,
/// and that word. Gives the address of the next instruction, or null to leave the interpreter with the
/// thread block's result. The stub has stored pc and fp in the block and reloads fp and table from it.
pub type RuntimeEntry =
    unsafe extern "C" fn(thread: *mut u8, frame: *mut u64, pc: *const u32, word: u32) -> *const u32;

/// A dispatch table: addresses of handlers by opcode.
pub type DispatchTable = [usize; TABLE_ENTRIES];

unsafe extern "C" {
    static canny_llint_table: DispatchTable;
    static canny_llint_logging_table: DispatchTable;
    static canny_llint_slow: DispatchTable;
    fn canny_llint_enter(
        pc: *const u32,
        frame: *mut u64,
        thread: *mut u8,
        table: *const usize,
    ) -> u64;
    // In the handlers' convention, not to be called from Rust.
    fn canny_llint_native_to_bytecode();
    fn canny_llint_native_capture();
    fn canny_llint_native_capture_apart();
    fn canny_llint_native_continue();
    fn canny_llint_stitched_slow();
}

/// The table of plain execution.
pub fn fast_table() -> &'static DispatchTable {
    // SAFETY: the generated object defines this data with this size; it is never written.
    unsafe { &canny_llint_table }
}

/// The table of execution that writes the specializer's log: entries of [`fast_table`] but for the
/// opcodes that are logged. The thread block's log cursor and limit must be set.
pub fn logging_table() -> &'static DispatchTable {
    // SAFETY: as for `fast_table`.
    unsafe { &canny_llint_logging_table }
}

/// Address of an opcode's slow stub.
pub fn slow_stub(opcode: Opcode) -> usize {
    // SAFETY: as for `fast_table`.
    unsafe { canny_llint_slow[opcode as usize] }
}

/// Addresses of the interpreter's code: handlers, slow stubs, and the other pieces.
pub fn addresses() -> std::ops::Range<usize> {
    // The piece that is emitted last, and the room that it may take.
    const LAST_BYTES: usize = 256;
    // SAFETY: as for `fast_table`.
    let slow = unsafe { &canny_llint_slow };
    let tables = [fast_table(), logging_table(), slow];
    let entries = tables.iter().flat_map(|table| table.iter().copied());
    let start = entries.clone().min().unwrap_or(0);
    let last = entries.max().unwrap_or(0).max(stitched_slow());
    start..last + LAST_BYTES
}

/// Where generated code returns to when it leaves the interpreter: this range of addresses has the return
/// address of the call that entered it.
pub fn entry_addresses() -> std::ops::Range<usize> {
    // It only calls and returns.
    const ENTRY_BYTES: usize = 64;
    let start = canny_llint_enter as *const () as usize;
    start..start + ENTRY_BYTES
}

/// Address where compiled calls of code that is not compiled go; see `canny_tables::layout::code::NATIVE`.
pub fn native_to_bytecode() -> usize {
    canny_llint_native_to_bytecode as *const () as usize
}

/// Address where stitched code goes for the slow path of an instruction.
fn stitched_slow() -> usize {
    canny_llint_stitched_slow as *const () as usize
}

/// Address where compiled calls of `call-with-current-continuation` go.
pub fn native_capture() -> usize {
    canny_llint_native_capture as *const () as usize
}

/// The same for calls in loops, with only frame and thread in registers: the newest frame becomes a
/// continuation of its own.
pub fn native_capture_apart() -> usize {
    canny_llint_native_capture_apart as *const () as usize
}

/// Address where compiled calls of continuations go.
pub fn native_continue() -> usize {
    canny_llint_native_continue as *const () as usize
}

/// Runs from `pc` until a runtime entry gives null or a `halt` is met; gives the result word.
///
/// # Safety
/// `pc` is an instruction of verified code, `frame` its frame on a VM stack below the block's limit,
/// `thread` a thread block as `canny_tables::layout::thread` says whose tables are complete.
pub unsafe fn enter(pc: *const u32, frame: *mut u64, thread: *mut u8, table: *const usize) -> u64 {
    // SAFETY: the caller's promise is the generated entry's contract.
    unsafe { enter_keeping(pc, frame, thread, table) }
}

/// Keeps the registers that a callee of C keeps: handlers do not touch them, but compiled code uses
/// them freely.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn enter_keeping(
    pc: *const u32,
    frame: *mut u64,
    thread: *mut u8,
    table: *const usize,
) -> u64 {
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
        enter = sym canny_llint_enter,
    )
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn enter_keeping(
    pc: *const u32,
    frame: *mut u64,
    thread: *mut u8,
    table: *const usize,
) -> u64 {
    // SAFETY: the caller's promise is the generated entry's contract.
    unsafe { canny_llint_enter(pc, frame, thread, table) }
}
