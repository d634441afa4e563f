//! Programs that an editor debugs: the process has a server of the Debug Adapter Protocol.
//!
//! `canny dap` starts the program and hands it a socket, or asks a process that runs already.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use canny_dap::{Ending, Server};
use canny_lib::ask::{self, Debuggers};
use canny_lib::debug::rerun::Resumption;
use canny_lib::evaluation::Evaluation;
use canny_vm::{Thread, Vm};

use super::attached;
use super::replayed::Replayed;

/// Whether somebody debugs this process.
static IS_DEBUGGED: AtomicBool = AtomicBool::new(false);

/// Serves the client of an adapter that waits at a socket.
pub fn connect(
    vm: &Arc<Vm>,
    socket: &Path,
    replay: Option<(Replayed, Option<Resumption>)>,
) -> Result<Server, String> {
    occupy();
    let stream = UnixStream::connect(socket).map_err(|error| error.to_string())?;
    begin(vm, stream, replay)
}

/// Waits until the client has set its breakpoints; whether it is still there.
pub fn wait_for_client(thread: &mut Thread, server: &Server) -> bool {
    let stops = thread.outside_heap(|| server.wait_until_configured());
    if canny_replay::is_replaying() {
        server.prepare_replay(thread, stops == Some(true));
    } else if stops == Some(true) {
        // The task of the program is known when the library of tasks was loaded.
        thread.vm().debugger().pause_all(true);
        thread.pause();
    }
    stops.is_some()
}

/// Serves a client on a stream, in a thread of its own.
fn begin(
    vm: &Arc<Vm>,
    stream: UnixStream,
    replay: Option<(Replayed, Option<Resumption>)>,
) -> Result<Server, String> {
    let output = stream.try_clone().map_err(|error| error.to_string())?;
    let server = Server::new(vm, Box::new(output));
    if let Some((replayed, resumption)) = replay {
        let run = move |resumption: &Resumption| replayed.run(resumption);
        server.replays(resumption.as_ref(), Box::new(run));
    }
    server.take_over();
    let serving = server.clone();
    let thread = std::thread::Builder::new().name("canny-debug".to_owned());
    let spawned = thread.spawn(move || {
        let ending = serving.serve(BufReader::new(stream));
        leave();
        if ending == Ending::Terminate {
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::TERM);
        }
    });
    spawned.map(|_| server).map_err(|error| error.to_string())
}

/// Lets adapters and prompts attach to this process.
pub fn serve_attached() {
    ask::set_debuggers(Debuggers {
        editor: |vm, stream| alone(|| load(vm).and_then(|()| begin(vm, stream, None)).map(drop)),
        prompt: |vm, stream| alone(|| load(vm).and_then(|()| attached::begin(vm, stream))),
    });
}

/// Begins a debugger unless there is one.
fn alone(begin: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if IS_DEBUGGED.swap(true, Ordering::SeqCst) {
        return Err("the process is being debugged already".to_owned());
    }
    begin().inspect_err(|_| leave())
}

/// A debugger of this process has begun with it: nobody else gets one.
pub fn occupy() {
    IS_DEBUGGED.store(true, Ordering::SeqCst);
}

/// The debugger is gone: there may be another one.
pub fn leave() {
    IS_DEBUGGED.store(false, Ordering::SeqCst);
}

/// Loads what evaluating needs, with a thread of the machine that is there for the moment.
fn load(vm: &Arc<Vm>) -> Result<(), String> {
    let evaluation = Evaluation::of(vm);
    let prepared = evaluation.prepare_debugger();
    let prepared = prepared.map_err(|_| "the debugger's library does not start".to_owned())?;
    let mut thread = vm.attach().map_err(|error| error.to_string())?;
    let thunks = evaluation.load(&mut thread, &prepared);
    let mut thunks = thunks.map_err(|_| "there is no memory for the debugger".to_owned())?;
    // The list stays on the native stack, which keeps it alive.
    while let Some(pair) = thunks.as_pair() {
        let run = thread.run(pair.car());
        run.map_err(|_| "the debugger's library does not start".to_owned())?;
        thunks = pair.cdr();
    }
    Ok(())
}
