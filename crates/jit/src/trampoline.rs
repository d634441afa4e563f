//! The way from compiled code into Rust functions. It aligns the native stack, which segments without a
//! frame leave as the interpreter's caller had it.
//!
//! Functions that make objects are called where memory has run out, so that the way saves every
//! register: segments should not arrange their values for it. Arguments come in the registers in which
//! segments have fp and the thread block anyway. The function's result goes into the thread block's PC
//! word, which nobody reads between two slow paths: Cranelift's `preserve_all` convention, with which
//! segments call this, has no results.

#[cfg(target_arch = "x86_64")]
use canny_tables::layout::thread;

/// Address of the trampoline to functions that make objects. Takes a word, anything, the thread block,
/// and the function, which is called with the thread block and the word, also as a double.
pub(crate) fn making() -> usize {
    making_call as *const () as usize
}

/// The call that compiled code has made through a trampoline, if a word of the native stack is its return
/// address: for profilers. `call` is the address of that word, and `word` reads words of the stack.
pub fn native_call(call: usize, word: impl Fn(usize) -> usize) -> Option<NativeCall> {
    // The trampolines save the caller's register. Then the stack is aligned, in one of them below a block
    // of saved registers; the calls that they make return to them.
    let returns_to = |block: usize, trampoline: usize, bytes: usize| {
        (trampoline..trampoline + bytes).contains(&word(block - 8))
    };
    let block = (call - 8 - SAVED_BYTES) & !15;
    if returns_to(block, making(), MAKING_BYTES_MAX) {
        return Some(NativeCall {
            fp: Some(word(block + SAVED_FP)),
        });
    }
    let is_runtime = returns_to((call - 8) & !15, runtime(), RUNTIME_BYTES_MAX);
    is_runtime.then_some(NativeCall { fp: None })
}

/// A call of a function of the machine by compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeCall {
    /// The fp of the code that calls, if it was saved.
    pub fp: Option<usize>,
}

/// Bytes in which the trampoline saves registers.
const SAVED_BYTES: usize = 0x150;
/// Offset of the saved fp in them.
const SAVED_FP: usize = 0x18;
/// Bytes that the code of the trampolines takes at most.
const MAKING_BYTES_MAX: usize = 0x200;
const RUNTIME_BYTES_MAX: usize = 0x20;

/// Address of the trampoline to the runtime's entries, and to leaf functions. Takes thread block, fp,
/// pc, word and entry in the platform's convention; the first four are the function's own.
pub(crate) fn runtime() -> usize {
    runtime_call as *const () as usize
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn making_call() {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, {saved}",
        "and rsp, -16",
        "mov [rsp], rax",
        "mov [rsp + 0x08], rcx",
        "mov [rsp + 0x10], rdx",
        "mov [rsp + {fp}], rsi",
        "mov [rsp + 0x20], rdi",
        "mov [rsp + 0x28], r8",
        "mov [rsp + 0x30], r9",
        "mov [rsp + 0x38], r10",
        "mov [rsp + 0x40], r11",
        "movups [rsp + 0x50], xmm0",
        "movups [rsp + 0x60], xmm1",
        "movups [rsp + 0x70], xmm2",
        "movups [rsp + 0x80], xmm3",
        "movups [rsp + 0x90], xmm4",
        "movups [rsp + 0xa0], xmm5",
        "movups [rsp + 0xb0], xmm6",
        "movups [rsp + 0xc0], xmm7",
        "movups [rsp + 0xd0], xmm8",
        "movups [rsp + 0xe0], xmm9",
        "movups [rsp + 0xf0], xmm10",
        "movups [rsp + 0x100], xmm11",
        "movups [rsp + 0x110], xmm12",
        "movups [rsp + 0x120], xmm13",
        "movups [rsp + 0x130], xmm14",
        "movups [rsp + 0x140], xmm15",
        "movq xmm0, rdi",
        "mov rsi, rdi",
        "mov rdi, rdx",
        "call rcx",
        "mov rdx, [rsp + 0x10]",
        "mov [rdx + {pc}], rax",
        "mov rdi, [rsp + 0x20]",
        "mov rax, [rsp]",
        "mov rcx, [rsp + 0x08]",
        "mov rsi, [rsp + {fp}]",
        "mov r8, [rsp + 0x28]",
        "mov r9, [rsp + 0x30]",
        "mov r10, [rsp + 0x38]",
        "mov r11, [rsp + 0x40]",
        "movups xmm0, [rsp + 0x50]",
        "movups xmm1, [rsp + 0x60]",
        "movups xmm2, [rsp + 0x70]",
        "movups xmm3, [rsp + 0x80]",
        "movups xmm4, [rsp + 0x90]",
        "movups xmm5, [rsp + 0xa0]",
        "movups xmm6, [rsp + 0xb0]",
        "movups xmm7, [rsp + 0xc0]",
        "movups xmm8, [rsp + 0xd0]",
        "movups xmm9, [rsp + 0xe0]",
        "movups xmm10, [rsp + 0xf0]",
        "movups xmm11, [rsp + 0x100]",
        "movups xmm12, [rsp + 0x110]",
        "movups xmm13, [rsp + 0x120]",
        "movups xmm14, [rsp + 0x130]",
        "movups xmm15, [rsp + 0x140]",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
        pc = const thread::PC,
        saved = const SAVED_BYTES,
        fp = const SAVED_FP,
    )
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn runtime_call() {
    core::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "and rsp, -16",
        "call r8",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

#[cfg(not(target_arch = "x86_64"))]
extern "C" fn making_call() {}

#[cfg(not(target_arch = "x86_64"))]
extern "C" fn runtime_call() {}
