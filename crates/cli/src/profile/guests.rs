//! Profiles of WASI commands, which run without a program of Scheme.
//!
//! A machine is there for its profiler only: its main thread runs the guest, and hands its samples over
//! whenever the guest is left.

use canny_vm::Thread;
use canny_wasm::{Event, Function, Store, Trap};

use super::{Recording, begin};
use crate::environment::Environment;
use crate::options::Options;
use crate::recording::RecordingOptions;
use crate::session::Session;

/// The profile of a guest while it is taken.
pub struct GuestProfile {
    session: Session,
    recording: Option<Recording>,
}

impl GuestProfile {
    /// Begins the profile of a command.
    pub fn begin(
        wish: RecordingOptions,
        command_line: Vec<String>,
        environment: &'static Environment,
    ) -> Result<GuestProfile, String> {
        let options = Options {
            command_line,
            recording: Some(wish),
            uses_project: false,
            ..Options::new(environment)
        };
        let mut session = Session::new(&options, None)?;
        canny_lib::host::take_guests_into_profiles();
        let recording = begin(&mut session, &options)?;
        Ok(GuestProfile { session, recording })
    }

    /// Calls a function without arguments.
    pub fn call(&mut self, store: &mut Store, function: Function) -> Result<(), Trap> {
        call(&mut self.session.thread, store, function)
    }

    /// Ends the profile and shows it.
    pub fn end(mut self) {
        if let Some(recording) = self.recording.take() {
            recording.end(&mut self.session);
        }
    }
}

fn call(thread: &mut Thread, store: &mut Store, function: Function) -> Result<(), Trap> {
    let id = store.begin(function, &[])?;
    loop {
        let event = store.proceed(id);
        thread.read_samples();
        match event? {
            Event::Finished => return Ok(()),
            Event::Pause | Event::Wait => {}
            Event::WaitFor(waiter) => waiter.block(),
            Event::Call(_) => {
                store.abandon(id);
                let text = "a function of the host cannot be called here";
                return Err(Trap::Host(text.into()));
            }
        }
    }
}
