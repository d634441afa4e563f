//! `canny debug FILE`: a program with a prompt at each of its stops, or one for an editor.
//!
//! The program is compiled for people to look into it, and stops at its first line. The prompt reads
//! commands from standard input, writes to standard error, and belongs to one task at a time: others
//! that stop meanwhile wait for it. The machine stops, steps and reads frames (`canny_vm::debug`).

mod attach;
mod attached;
mod automatic;
mod commands;
mod console;
mod expanded;
mod replayed;
mod screen;
mod served;
mod setting;
mod texts;
mod turns;

use std::sync::Arc;

pub use self::console::Console;

use canny_vm::{InterruptState, Thread, Vm};

pub use self::attach::{Target, attach, connect_to_process};
pub use self::automatic::Automatic;
pub use self::replayed::{Replayed, begin_replay};
pub use self::served::{connect, serve_attached, wait_for_client};

/// Has Ctrl-C stop the program at its next place. If it has come to none since the last Ctrl-C, the
/// program is interrupted as without a debugger.
pub fn handle_interrupts(vm: &Arc<Vm>, interrupts: Arc<InterruptState>) {
    let machine = Arc::downgrade(vm);
    let interrupt = move || {
        let Some(vm) = machine.upgrade() else {
            return;
        };
        if vm.debugger().interrupt_all() {
            interrupts.interrupt();
        }
    };
    canny_lib::host::handle_interrupts(vm, Box::new(interrupt));
}

/// Has the program that the thread will run stop at its beginning, and wherever people say.
pub fn begin(thread: &mut Thread, program: &str) {
    served::occupy();
    let console = Arc::new(Console::new(program));
    let debugger = thread.vm().debugger();
    debugger.set_client(Some(console));
    // The task of the program is known when the library of tasks was loaded.
    debugger.pause_all(true);
    thread.pause();
}

/// The debugger of the prompt of the language: tasks stop at the breakpoints that are set there.
pub fn at_prompt(thread: &Thread) -> Arc<Console> {
    served::occupy();
    let console = Arc::new(Console::new(""));
    thread.vm().debugger().set_client(Some(console.clone()));
    console
}
