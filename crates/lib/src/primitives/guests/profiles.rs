//! Frames of guests in the machine's profiles.

use std::sync::Arc;

use canny_vm::profile::guests::{
    GuestFrames, GuestFunction, GuestProfiler, GuestRegisters, GuestRequest, set_guest_profiler,
};
use canny_wasm::SampleRegisters;

/// Lets the machine ask for the frames of guests.
pub fn take_part() {
    set_guest_profiler(GuestProfiler { ask, answers });
}

/// In the handler of a signal.
fn ask(registers: GuestRegisters) -> Option<GuestRequest> {
    let request = canny_wasm::ask(SampleRegisters {
        instruction: registers.instruction,
        stack: registers.stack,
        base: registers.base,
    })?;
    Some(GuestRequest {
        number: request.number,
        machine_stack: request.runtime_stack,
    })
}

fn answers() -> Vec<GuestFrames> {
    let answers = canny_wasm::answers().into_iter();
    let frames = answers.map(|answer| GuestFrames {
        last_request: answer.last_request,
        functions: answer
            .frames
            .into_iter()
            .map(|frame| GuestFunction {
                name: frame.name,
                file: frame.file.or(frame.module.map(Arc::from)),
                place: (frame.line, frame.column),
                is_machine_code: frame.is_machine_code,
            })
            .collect(),
    });
    frames.collect()
}
