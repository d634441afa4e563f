//! Bounds of a thread's native stack, and contents of its registers.
//!
//! The collector scans native stacks conservatively from the stack pointer that a mutator recorded
//! when it stopped up to the stack's base, and the callee-saved registers recorded with it. Values
//! in caller-saved registers are on the stack by then, since the recording is a call.

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("canny-heap needs the callee-saved registers of this architecture");

/// Registers that a [`NativeContext`] holds.
const REGISTERS: usize = 20;

/// Callee-saved registers and stack pointer of a stopped thread.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct NativeContext {
    registers: [usize; REGISTERS],
    stack_pointer: usize,
    stack_base: usize,
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn store_registers(registers: *mut usize) -> usize {
    std::arch::naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "lea rax, [rsp + 8]",
        "ret",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn store_registers(registers: *mut usize) -> usize {
    std::arch::naked_asm!(
        "stp x19, x20, [x0]",
        "stp x21, x22, [x0, #16]",
        "stp x23, x24, [x0, #32]",
        "stp x25, x26, [x0, #48]",
        "stp x27, x28, [x0, #64]",
        "stp x29, x30, [x0, #80]",
        "stp d8, d9, [x0, #96]",
        "stp d10, d11, [x0, #112]",
        "stp d12, d13, [x0, #128]",
        "stp d14, d15, [x0, #144]",
        "mov x0, sp",
        "ret",
    )
}

impl NativeContext {
    /// A context of the current thread with nothing recorded.
    pub(crate) fn of_current_thread() -> NativeContext {
        NativeContext {
            registers: [0; REGISTERS],
            stack_pointer: usize::MAX,
            stack_base: current_stack_base(),
        }
    }

    /// Records registers and stack pointer. Frames of callers are above the recorded stack pointer.
    #[inline(never)]
    pub(crate) fn record(&mut self) {
        // SAFETY: the function writes at most `REGISTERS` words and changes nothing else.
        self.stack_pointer = unsafe { store_registers(self.registers.as_mut_ptr()) };
    }

    /// First and end address of the words to scan.
    fn stack_range(&self) -> (usize, usize) {
        (self.stack_pointer & !7, self.stack_base)
    }

    /// Calls `visit` for every recorded register and every word of the stack. The thread is stopped.
    pub(crate) fn for_each_word(&self, mut visit: impl FnMut(usize)) {
        self.registers.iter().for_each(|word| visit(*word));
        let (start, end) = self.stack_range();
        for at in (start..end).step_by(8) {
            // SAFETY: an aligned word of a stopped thread's stack, between its stack pointer and base.
            visit(unsafe { std::ptr::read_volatile(at as *const usize) });
        }
    }
}

/// End of the current thread's stack: the greatest address that a frame of it can have.
fn current_stack_base() -> usize {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut low = std::ptr::null_mut();
    let mut bytes = 0;
    // SAFETY: the attributes are read only after `pthread_getattr_np` filled them, then destroyed.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut bytes);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    assert!(bytes > 0, "the bounds of a thread's stack are unknown");
    (low as usize + bytes) & !7
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[unsafe(naked)]
    unsafe extern "C" fn record_with_registers_set(
        context: *mut NativeContext,
        record: extern "C" fn(*mut NativeContext),
    ) {
        std::arch::naked_asm!(
            "push rbx",
            "push rbp",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8",
            "mov rbx, 1001",
            "mov rbp, 1002",
            "mov r12, 1003",
            "mov r13, 1004",
            "mov r14, 1005",
            "mov r15, 1006",
            "call rsi",
            "add rsp, 8",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbp",
            "pop rbx",
            "ret",
        )
    }

    /// Records, then looks for the numbers while the callers' frames still stand.
    extern "C" fn record(context: *mut NativeContext) {
        // SAFETY: the test's context.
        let context = unsafe { &mut *context };
        context.record();
        let (start, end) = context.stack_range();
        for expected in 1001..=1006 {
            let on_stack = (start..end.min(start + 4096)).step_by(8).any(|at| {
                // SAFETY: a word of this thread's stack, between its stack pointer and base.
                expected == unsafe { std::ptr::read_volatile(at as *const usize) }
            });
            assert!(
                context.registers.contains(&expected) || on_stack,
                "{expected}"
            );
        }
    }

    #[test]
    fn callee_saved_registers_are_recorded_or_on_the_stack() {
        let mut context = NativeContext::of_current_thread();
        // SAFETY: the function restores what it sets and calls `record` on the context.
        unsafe { record_with_registers_set(&mut context, record) };
        let here = 0u64;
        let (start, end) = context.stack_range();
        assert!((start..end).contains(&(&raw const here as usize)));
    }
}
