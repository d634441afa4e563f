//! The way between the runtime and code of guests, which has a stack of its own.
//!
//! Code leaves in the middle: its stack stays as it is until the run continues. So a run can wait or be
//! preempted wherever it is, and no frame of Rust lies between two frames of a guest.
//!
//! The stack of machine code begins with a call of `interpret`, which runs handlers until they return to
//! machine code. Any other reason to return is one to leave. Machine code that calls an
//! interpreted function comes to another `interpret`. Register r15 has the activation all the time.

use std::ops::Range;

use canny_tables::guest::{Reason, activation, instance};

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".p2align 4",
    ".hidden canny_guest_switch",
    ".globl canny_guest_switch",
    "canny_guest_switch:",
    // The registers that the platform's convention keeps, for the way back.
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rdi + {host}], rsp",
    "mov rsp, [rdi + {native}]",
    "mov r15, rdi",
    "mov eax, {resumed}",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    // With a reason in rdi; keeps what the convention of machine code keeps.
    ".hidden canny_guest_leave",
    ".globl canny_guest_leave",
    "canny_guest_leave:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "mov [r15 + {native}], rsp",
    "mov rax, rdi",
    "mov rsp, [r15 + {host}]",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    // The same, but keeps all registers.
    ".hidden canny_guest_pause",
    ".globl canny_guest_pause",
    "canny_guest_pause:",
    "push rbp",
    "mov rbp, rsp",
    "push rax",
    "push rcx",
    "push rdx",
    "push rbx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    "push r12",
    "push r13",
    "push r14",
    "sub rsp, 264",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "movups [rsp + 80], xmm5",
    "movups [rsp + 96], xmm6",
    "movups [rsp + 112], xmm7",
    "movups [rsp + 128], xmm8",
    "movups [rsp + 144], xmm9",
    "movups [rsp + 160], xmm10",
    "movups [rsp + 176], xmm11",
    "movups [rsp + 192], xmm12",
    "movups [rsp + 208], xmm13",
    "movups [rsp + 224], xmm14",
    "movups [rsp + 240], xmm15",
    "call canny_guest_leave",
    "movups xmm0, [rsp]",
    "movups xmm1, [rsp + 16]",
    "movups xmm2, [rsp + 32]",
    "movups xmm3, [rsp + 48]",
    "movups xmm4, [rsp + 64]",
    "movups xmm5, [rsp + 80]",
    "movups xmm6, [rsp + 96]",
    "movups xmm7, [rsp + 112]",
    "movups xmm8, [rsp + 128]",
    "movups xmm9, [rsp + 144]",
    "movups xmm10, [rsp + 160]",
    "movups xmm11, [rsp + 176]",
    "movups xmm12, [rsp + 192]",
    "movups xmm13, [rsp + 208]",
    "movups xmm14, [rsp + 224]",
    "movups xmm15, [rsp + 240]",
    "add rsp, 264",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rbx",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "pop rbp",
    "ret",
    ".hidden canny_guest_interpret",
    ".globl canny_guest_interpret",
    "canny_guest_interpret:",
    "push rbp",
    "mov rbp, rsp",
    "push r15",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "sub rsp, 8",
    "2:",
    "mov rdi, [r15 + {pc}]",
    "mov rsi, [r15 + {frame}]",
    "mov rcx, [r15 + {instance}]",
    "mov rdx, [rcx + {memory}]",
    "mov r8, r15",
    "xor r9d, r9d",
    "xorps xmm0, xmm0",
    "call [rdi]",
    "mov r15, [rbp - 8]",
    "cmp rax, {resumed}",
    "je 2b",
    "cmp rax, {returned}",
    "je 3f",
    "mov rdi, rax",
    "call canny_guest_leave",
    "jmp 2b",
    "3:",
    "mov rbx, [rbp - 16]",
    "mov r12, [rbp - 24]",
    "mov r13, [rbp - 32]",
    "mov r14, [rbp - 40]",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
    // The lowest frame.
    ".hidden canny_guest_begin",
    ".globl canny_guest_begin",
    "canny_guest_begin:",
    "call canny_guest_interpret",
    "ud2",
    ".hidden canny_guest_end",
    ".globl canny_guest_end",
    "canny_guest_end:",
    host = const activation::HOST_STACK,
    native = const activation::NATIVE_STACK,
    pc = const activation::PC,
    frame = const activation::FRAME,
    instance = const activation::INSTANCE,
    memory = const instance::MEMORY,
    resumed = const Reason::Resumed as u64,
    returned = const Reason::Returned as u64,
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn canny_guest_switch(activation: *mut u8) -> u64;
    // In conventions of their own, not to be called from Rust.
    fn canny_guest_leave();
    fn canny_guest_pause();
    fn canny_guest_interpret();
    fn canny_guest_begin();
    fn canny_guest_end();
}

/// Words on the stack of machine code that was left: four registers, the base pointer, the address.
pub const LEFT_WORDS: usize = 6;
pub const LEFT_BASE: usize = 4;

/// Runs code until it leaves; gives the reason's number.
///
/// # Safety
/// The activation has the instruction, frame and instance at which an interpreter goes on, or was left by
/// machine code; all records have the shape that `canny_tables::guest` says.
#[cfg(target_arch = "x86_64")]
pub unsafe fn enter(activation: *mut u8) -> u64 {
    // SAFETY: the caller's promise; the stack was made ready by `prepare` or left by code.
    unsafe { canny_guest_switch(activation) }
}

/// Writes the first words of the stack of machine code, below its upper end; gives where they begin.
///
/// # Safety
/// The words below `top`, which is aligned to 16 bytes, belong to the stack.
pub unsafe fn prepare(top: *mut u64) -> *mut u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let first = top.sub(LEFT_WORDS);
        first.add(LEFT_BASE).write(0);
        first
            .add(LEFT_BASE + 1)
            .write(entries().beginning.start as u64);
        first
    }
}

/// Addresses of the parts that machine code calls, or at which it is found on a stack.
#[derive(Clone, Debug)]
pub struct Entries {
    pub leave: usize,
    pub pause: usize,
    pub interpret: usize,
    /// Where a handler returns to.
    pub interpreting: Range<usize>,
    pub beginning: Range<usize>,
}

#[cfg(target_arch = "x86_64")]
pub fn entries() -> Entries {
    let interpret = canny_guest_interpret as *const () as usize;
    let begin = canny_guest_begin as *const () as usize;
    Entries {
        leave: canny_guest_leave as *const () as usize,
        pause: canny_guest_pause as *const () as usize,
        interpret,
        interpreting: interpret..begin,
        beginning: begin..canny_guest_end as *const () as usize,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub fn entries() -> Entries {
    Entries {
        leave: 0,
        pause: 0,
        interpret: 0,
        interpreting: 0..usize::MAX,
        beginning: 0..0,
    }
}
