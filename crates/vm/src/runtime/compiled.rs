//! Where the interpreter and compiled code meet: exits of compiled code, and loops that have compiled code.

use std::sync::atomic::Ordering;

use canny_tables::layout::descriptor;
use canny_tables::opcodes::field_far;

use super::{Next, Site};
use crate::specializer::CandidateId;

/// `leave`: a guess of compiled code was wrong. fp is that of the innermost frame, all of whose live
/// registers are in their slots.
pub(crate) fn leave(site: &mut Site) -> Next {
    // SAFETY: slow stubs save pc behind the first word, here that of an exit descriptor.
    let (exit, candidate, bytecode) = unsafe {
        let at = site.thread.pc.sub(1).cast::<u8>();
        (
            *at.add(descriptor::EXIT).cast::<u32>(),
            *at.add(descriptor::CANDIDATE).cast::<u64>(),
            *at.add(descriptor::BYTECODE).cast::<*const u32>(),
        )
    };
    // From here on the frame stands in its bytecode.
    // SAFETY: a place to resume at has an instruction.
    site.thread.pc = unsafe { bytecode.add(1) };
    if site.thread.leaves_without_reason() {
        return Ok(bytecode);
    }
    // Compiled code also leaves for a safepoint; that is no wrong guess.
    if site.thread.limit.load(Ordering::Relaxed) != 0 {
        site.thread
            .count_exit(CandidateId(candidate), exit as usize);
    }
    Ok(bytecode)
}

/// `loop` of code that has compiled code for the loop.
pub(crate) fn loop_native(site: &mut Site) -> Next {
    if let Some(interrupt) = site.thread.poll()? {
        return Ok(interrupt);
    }
    // SAFETY: verified offsets lead to an instruction of the same code.
    let head = unsafe { site.thread.pc.offset(field_far(site.word) as isize) };
    Ok(site.thread.enter_loop(head))
}
