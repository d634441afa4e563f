//! The commands that a process answers: profiles, snapshots of its heap, debuggers. Each has a row with
//! its name; arguments that a request lacks have the values of the command line.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use canny_vm::Vm;
use canny_vm::profile::{ProfileOptions, WAITS_PER_SECOND};
use canny_vm::survey::SnapshotOptions;

use super::frames::Request;
use super::server::Client;
use crate::recorder::{RecordError, Recorder, Subject};
use crate::snapshots;

/// Answers a request; the message says why there is no whole answer.
pub(super) type Command = fn(&Arc<Vm>, &Request, &mut Client) -> Result<(), String>;

/// Names and functions.
pub(super) const COMMANDS: &[(&str, Command)] = &[
    ("profile", profile),
    ("heap", heap),
    ("debug", debug),
    ("prompt", prompt),
];

/// Most bytes of a heap that is collected to find the tasks that wait: that takes a pause.
const SEARCHED_BYTES_MAX: u64 = 256 << 20;

/// Notes the tasks that wait already. A thread of the machine is needed for it, but no longer.
fn note_parked_tasks(vm: &Arc<Vm>) {
    if vm.heap().statistics().bytes_in_use as u64 <= SEARCHED_BYTES_MAX
        && let Ok(mut thread) = vm.attach()
    {
        thread.note_parked_tasks();
    }
}

/// Longest profile.
const SECONDS_MAX: f64 = 86_400.0;

/// A profile of some seconds. Arguments: `seconds`, `interval` in microseconds, `allocation-interval` in
/// bytes or 0, `waits-per-second` or 0, `native` as 0 or 1.
fn profile(vm: &Arc<Vm>, request: &Request, client: &mut Client) -> Result<(), String> {
    let seconds = request.number("seconds", 10.0)?;
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(format!("a profile takes 0 to {SECONDS_MAX} seconds"));
    }
    let bytes = request.number("allocation-interval", 0)?;
    let waits = request.number("waits-per-second", WAITS_PER_SECOND)?;
    let options = ProfileOptions {
        waits_per_second: Some(waits).filter(|waits| *waits > 0),
        allocation_interval_bytes: Some(bytes).filter(|bytes| *bytes > 0),
        // A pause of a large heap is worse than not to know which objects are dead.
        collects_at_end: false,
        interval_ns: 1000 * request.number("interval", 1000_u64)?.clamp(50, 10_000_000),
        names_native: request.number("native", 0)? != 0,
        ..ProfileOptions::default()
    };
    let output = client.output().map_err(|error| error.to_string())?;
    let subject = Subject::of_machine(vm);
    let recorder = Recorder::start_outside(vm.clone(), Box::new(output), &subject, options);
    let recorder = recorder.map_err(|error| match error {
        RecordError::Machine(_) => error.to_string(),
        RecordError::Output(_) => "the client does not take the profile".to_owned(),
    })?;
    note_parked_tasks(vm);
    client.wait(Duration::from_secs_f64(seconds));
    recorder.finish_outside().map_err(|error| error.to_string())
}

/// A snapshot of the heap, written to the file that comes with the request. Arguments, as 0 or 1: `strings`
/// for their beginnings, `collect` for a full collection before, `in-place`.
fn heap(vm: &Arc<Vm>, request: &Request, client: &mut Client) -> Result<(), String> {
    let file = client.take_file();
    let file = file.ok_or("no open file came with the request")?;
    let options = SnapshotOptions {
        has_previews: request.number("strings", 1)? != 0,
        collects: request.number("collect", 0)? != 0,
        is_in_place: request.number("in-place", 0)? != 0,
        ..snapshots::options_of(vm)
    };
    let open = || file.try_clone().map_err(|error| error.to_string());
    let report = snapshots::take(vm, open, &options)?;
    client.end_with(snapshots::text_of_report(&report));
    Ok(())
}

/// Serves a debugger's client on a stream; the error says why not.
pub type Debugger = fn(&Arc<Vm>, UnixStream) -> Result<(), String>;

/// The servers of debuggers' clients.
#[derive(Clone, Copy, Debug)]
pub struct Debuggers {
    /// Editors.
    pub editor: Debugger,
    /// The prompt of people.
    pub prompt: Debugger,
}

static DEBUGGERS: OnceLock<Debuggers> = OnceLock::new();

/// Says who serves debuggers' clients.
pub fn set_debuggers(debuggers: Debuggers) {
    let _ = DEBUGGERS.set(debuggers);
}

fn debug(vm: &Arc<Vm>, _request: &Request, client: &mut Client) -> Result<(), String> {
    serve(vm, client, |debuggers| debuggers.editor)
}

fn prompt(vm: &Arc<Vm>, _request: &Request, client: &mut Client) -> Result<(), String> {
    serve(vm, client, |debuggers| debuggers.prompt)
}

/// A debugger: its client is at the other end of the socket that comes with the request.
fn serve(
    vm: &Arc<Vm>,
    client: &mut Client,
    choose: fn(&Debuggers) -> Debugger,
) -> Result<(), String> {
    let socket = client.take_file();
    let socket = socket.ok_or("no socket came with the request")?;
    let debuggers = DEBUGGERS.get().ok_or("the process has no debugger")?;
    choose(debuggers)(vm, UnixStream::from(OwnedFd::from(socket)))
}
