//! Stitched code: what runs between the interpreter and the compiler's code.
//!
//! The worker stitches whatever a log shows to run more than a few times, which takes microseconds for
//! a procedure (`canny_llint::stitch`). Calls that no candidate serves enter it in place of the
//! bytecode. A frame that is in a loop already comes to it at the next safepoint. It lives as long as
//! the code object.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_jit::StitchedCode;
use canny_llint::stitch::{is_available, stitch};
use canny_spesh::snapshot::CodeSnapshot;

use super::{CandidateId, Specializer};
use crate::thread::Thread;

/// Instruction words of the longest code that is stitched.
const WORDS_MAX: usize = 8192;
/// Code is stitched while less than this part of the memory for code, and of that for descriptors, is
/// used: the rest is for the compiler's.
const MEMORY_SHARE: usize = 4;

impl Specializer {
    /// Stitches code that was not stitched before, and lets calls enter it.
    pub(super) fn stitch(&self, codes: &[Arc<CodeSnapshot>]) {
        if !is_available() || self.is_full() {
            return;
        }
        let Ok(memory) = self.machine_code.memory() else {
            return;
        };
        let mut is_new = false;
        for code in codes {
            if memory.is_used_to(MEMORY_SHARE) {
                break;
            }
            if code.instructions.len() > WORDS_MAX || !self.lock().can_be_stitched(code.word) {
                continue;
            }
            let Some(stitched) = stitch(&code.instructions, code.entry) else {
                continue;
            };
            let stitched = StitchedCode {
                name: code.name.clone(),
                code: stitched.code,
                native_entry: stitched.native_entry,
                entry: stitched.entry,
                start: code.entry,
                returns: stitched
                    .returns
                    .iter()
                    .map(|there| (there.call, code.address(there.pc), there.offset))
                    .collect(),
                return_places: stitched.return_places,
                loops: stitched
                    .loops
                    .iter()
                    .map(|(pc, offset)| (code.address(*pc), *offset))
                    .collect(),
                instructions: stitched
                    .instructions
                    .iter()
                    .map(|(offset, pc)| (*offset, code.address(pc + 1)))
                    .collect(),
            };
            let codes = std::slice::from_ref(code);
            let line_of = |address| self.line_of(codes, address);
            let Ok(installed) = memory.install_stitched(&stitched, &line_of) else {
                break;
            };
            let id = CandidateId(self.next_candidate.fetch_add(1, Ordering::Relaxed));
            match self.lock().publish_stitched(id, code, installed) {
                None => is_new = true,
                // SAFETY: the code's addresses were not published.
                Some(installed) => unsafe { installed.free() },
            }
        }
        if is_new {
            self.heap.request_safepoints();
        }
    }
}

impl Thread {
    /// Where the loop at `head` continues: in stitched code, if there is some and nothing is logged.
    pub(crate) fn stitched_loop(&mut self, head: *const u32) -> Option<*const u32> {
        if self.logs() {
            return None;
        }
        let descriptor = self.vm.specializer.lock().stitched_loop(head as u64)?;
        Some(descriptor as *const u32)
    }
}
