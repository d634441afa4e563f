//! Frames of guests in samples: what runs guests is asked for them.
//!
//! The signal's handler asks while a guest runs, and the sample keeps the number of the request. The thread
//! answers before it comes to its next safepoint.

use std::sync::{Arc, OnceLock};

use canny_profile::model::{FrameIndex, Group, StackIndex, StackKind, Tier};

use super::Recording;

/// Registers of a thread that a signal has interrupted.
#[derive(Clone, Copy, Debug)]
pub struct GuestRegisters {
    pub instruction: usize,
    pub stack: usize,
    /// The base pointer.
    pub base: usize,
}

/// A request for the frames of a guest.
#[derive(Clone, Copy, Debug)]
pub struct GuestRequest {
    /// Later ones have greater numbers; the first is 1.
    pub number: u64,
    /// If code of the guest was interrupted, on a stack of its own: the stack pointer of the machine below.
    pub machine_stack: Option<usize>,
}

/// A function of a guest.
#[derive(Clone, Debug)]
pub struct GuestFunction {
    pub name: String,
    /// Its module; the source file, if a place is known.
    pub file: Option<Arc<str>>,
    /// Line and column in that file, from 1, and 0 if they are not known.
    pub place: (u32, u32),
    pub is_machine_code: bool,
}

/// The frames for all requests up to one that have none before.
#[derive(Clone, Debug)]
pub struct GuestFrames {
    pub last_request: u64,
    /// The newest first.
    pub functions: Vec<GuestFunction>,
}

/// The functions by which profiles ask the code that runs guests.
#[derive(Clone, Copy, Debug)]
pub struct GuestProfiler {
    /// Asks for the frames of the guest that the thread runs. A signal's handler calls it.
    pub ask: fn(GuestRegisters) -> Option<GuestRequest>,
    /// Gives the answers for the thread since the last call.
    pub answers: fn() -> Vec<GuestFrames>,
}

static PROFILER: OnceLock<GuestProfiler> = OnceLock::new();

/// From now on, samples have frames of guests.
pub fn set_guest_profiler(profiler: GuestProfiler) {
    // It stays what it is: there is one kind of guests.
    let _ = PROFILER.set(profiler);
}

/// Asks for the frames of the guest that the thread runs.
pub(super) fn ask(registers: GuestRegisters) -> Option<GuestRequest> {
    (PROFILER.get()?.ask)(registers)
}

/// The answers since the last call.
pub(super) fn answers() -> Vec<GuestFrames> {
    PROFILER
        .get()
        .map_or_else(Vec::new, |profiler| (profiler.answers)())
}

impl Recording {
    /// A stack with the frames that were asked for on top of it; the oldest of them is of a kind.
    pub(super) fn guest_stack(
        &mut self,
        below: Option<StackIndex>,
        request: u64,
        answers: &[GuestFrames],
        mut kind: StackKind,
    ) -> Option<StackIndex> {
        let index = answers.partition_point(|answer| answer.last_request < request);
        let functions = answers.get(index).map(|answer| answer.functions.as_slice());
        let mut stack = below;
        for function in functions.unwrap_or_default().iter().rev() {
            let frame = self.guest_frame(function);
            stack = Some(self.rows.stack(stack, frame, kind));
            kind = StackKind::Plain;
        }
        stack
    }

    fn guest_frame(&mut self, guest: &GuestFunction) -> FrameIndex {
        let file = guest.file.as_deref();
        let function = self.rows.function(&guest.name, file, 0, Group::Foreign);
        let tier = if guest.is_machine_code {
            Tier::Compiled
        } else {
            Tier::Interpreted
        };
        let (line, column) = guest.place;
        self.rows.frame(function, line, column, tier, false)
    }
}
