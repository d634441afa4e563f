//! Backtraces of traps: the functions whose frames a run had when it ended.
//!
//! The innermost come first. Functions of the host have no frames that tell their names.

use canny_tables::guest::{Opcode, Runtime};

use crate::activation::Activation;
use crate::code;
use crate::definitions;
use crate::error::GuestFrame;
use crate::frames::{self, Caller, Found, Frame, caller};
use crate::handlers;
use crate::places::{Located, Spot};
use crate::store::Store;

/// Most frames of a backtrace.
const FRAMES_MAX: usize = 24;

impl Store {
    /// The frames of the run that has ended with a trap last; not all of them, if they are many.
    pub fn backtrace(&self) -> &[GuestFrame] {
        &self.backtrace
    }

    pub(crate) fn note_backtrace(&mut self, activation: &Activation) {
        self.backtrace.clear();
        each_frame(activation, &mut |walked| {
            if let Some(located) = &walked.function {
                self.backtrace.extend(located.frames());
            }
            self.backtrace.len() < FRAMES_MAX
        });
        self.backtrace.truncate(FRAMES_MAX);
    }
}

/// A frame of a run that was left.
#[derive(Debug)]
pub struct Walked {
    /// Where it is in a function; none for code between functions.
    pub function: Option<Located>,
    /// The base pointer of a frame of machine code.
    pub base: Option<usize>,
    /// The slots of an interpreted frame.
    pub slots: Option<*const u64>,
}

/// Shows the frames of a run that was left, the newest first, as long as they are wanted.
pub fn each_frame(activation: &Activation, visit: &mut dyn FnMut(Walked) -> bool) {
    let mut transition = activation.transition;
    // The newest frame is then at the instruction that has trapped, and not behind a call.
    let mut is_fault = activation.is_fault;
    let mut next = Some(frames::start(activation));
    while let Some(found) = next {
        let walked;
        (walked, next) = match found {
            Found::Interpreted(frame) => {
                let (function, link) = function_of(frame);
                // SAFETY: the run has been left, and its frame has the link there.
                let older = link.and_then(|link| unsafe {
                    match caller(frame.slots.add(link), frame.instance) {
                        Caller::None => None,
                        Caller::Interpreted(frame) => Some(Found::Interpreted(frame)),
                        Caller::Native(base) => Some(frames::back(base)),
                    }
                });
                let walked = Walked {
                    function,
                    base: None,
                    slots: Some(frame.slots),
                };
                (walked, older)
            }
            Found::Native(address, base) => {
                // A return address may be that of the next function.
                let address = address - usize::from(!is_fault);
                is_fault = false;
                let function = frames::function_at(address);
                // SAFETY: the run has been left, and the frame is one of its own.
                let older = unsafe { frames::outside(address, base, &mut transition) };
                let walked = Walked {
                    function,
                    base: Some(base as usize),
                    slots: None,
                };
                (walked, older)
            }
        };
        if !visit(walked) {
            return;
        }
    }
}

/// The function of an interpreted frame, and the slot of its link.
fn function_of(frame: Frame) -> (Option<Located>, Option<usize>) {
    // SAFETY: instances live as long as their store.
    let instance = unsafe { &*frame.instance };
    let found = instance.module.as_ref().and_then(|module| {
        module.with_function_at(frame.at(), |own_index, body, word| {
            let located = Located {
                module: module.clone(),
                own_index,
                spot: Spot::Word(word),
            };
            (located, body.link as usize)
        })
    });
    if let Some((located, link)) = found {
        return (Some(located), Some(link));
    }
    // SAFETY: a run that was left has the address of an instruction, of which this is the first word.
    let word = unsafe { frame.pc.read() };
    let Some(Opcode::Runtime(Runtime::Host)) = handlers::opcode(word) else {
        return (None, None);
    };
    // SAFETY: that instruction has three words.
    let words = unsafe { std::slice::from_raw_parts(frame.pc, 3) };
    let link = definitions::function_type(code::read32(words, 16)).link();
    (None, Some(link))
}
