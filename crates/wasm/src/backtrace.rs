//! Backtraces of traps: the functions whose frames a run had when it ended.
//!
//! The innermost come first. Functions of the host have no frames that tell their names.

use canny_tables::guest::{Opcode, Runtime};

use crate::activation::Activation;
use crate::code;
use crate::definitions;
use crate::error::GuestFrame;
use crate::handlers;
use crate::store::Store;
use crate::unwind::{Frame, caller};

/// Most frames of a backtrace.
const FRAMES_MAX: usize = 24;

impl Store {
    /// The frames of the run that has ended with a trap last; not all of them, if they are many.
    pub fn backtrace(&self) -> &[GuestFrame] {
        &self.backtrace
    }

    pub(crate) fn note_backtrace(&mut self, activation: &Activation) {
        self.backtrace.clear();
        let mut next = Some(Frame {
            slots: activation.frame,
            instance: activation.instance,
            pc: activation.pc,
            is_call: false,
        });
        while let Some(frame) = next
            && self.backtrace.len() < FRAMES_MAX
        {
            let link = self.note_frame(frame);
            // SAFETY: the run has been left, and its frame has the link there.
            next = link.and_then(|link| unsafe { caller(frame.slots, frame.instance, link) });
        }
    }

    /// Notes the function of a frame; gives the slot of its link.
    fn note_frame(&mut self, frame: Frame) -> Option<usize> {
        // SAFETY: instances live as long as their store.
        let instance = unsafe { &*frame.instance };
        let found = instance.module.as_ref().and_then(|module| {
            module.with_function_at(frame.at(), |own_index, body, _| {
                let function = module.parts().imported_functions as u32 + own_index;
                let name = module.function_name(function).map(str::to_owned);
                (GuestFrame { function, name }, body.link as usize)
            })
        });
        if let Some((noted, link)) = found {
            self.backtrace.push(noted);
            return Some(link);
        }
        // SAFETY: a run that was left has the address of an instruction, of which this is the first word.
        let word = unsafe { frame.pc.read() };
        let Some(Opcode::Runtime(Runtime::Host)) = handlers::opcode(word) else {
            return None;
        };
        // SAFETY: that instruction has three words.
        let words = unsafe { std::slice::from_raw_parts(frame.pc, 3) };
        Some(definitions::function_type(code::read32(words, 16)).link())
    }
}
