//! The server in the process that is debugged: one client, from its first request to its last.
//!
//! It handles the requests by which a client comes and goes; others are in [`crate::requests`].

use std::io::{BufRead, Write};
use std::sync::Arc;

use canny_lib::debug::rerun::{Rerun, Resumption};
use canny_messages::{Incoming, MessageReader};
use canny_vm::{Thread, Vm};
use serde_json::{Value as Json, json};

use crate::capabilities::capabilities;
use crate::output::{Answer, Request};
use crate::shared::{Ending, Phase, Replay, Run, Shared};

/// A debugger's end of a connection with one client.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

impl Server {
    /// For a machine, and a client that reads from a stream.
    pub fn new(machine: &Arc<Vm>, output: Box<dyn Write + Send>) -> Server {
        Server(Shared::new(machine, output))
    }

    /// Has the machine ask the client when a task stops.
    pub fn take_over(&self) {
        if let Some(vm) = self.0.machine.upgrade() {
            vm.debugger().set_client(Some(self.0.clone()));
        }
    }

    /// The program is a replay. To go backwards, `run` replaces the process by another run, to which this
    /// may be the resumption.
    pub fn replays(&self, resumption: Option<&Resumption>, run: Run) {
        let rerun = Rerun::new(resumption);
        let is_resumed = resumption.is_some();
        let _ = self.0.replay.set(Replay {
            rerun,
            run,
            is_resumed,
        });
    }

    /// Gives the orders that lead a replay to its goal, or to its first place.
    pub fn prepare_replay(&self, thread: &mut Thread, stops_on_entry: bool) {
        if let Some(replay) = self.0.replay.get() {
            replay.rerun.prepare(thread, stops_on_entry);
            if replay.is_resumed {
                self.0.settings.lock().stops_on_entry = false;
            }
        }
    }

    /// Reads requests and answers them, until the client leaves.
    pub fn serve(&self, input: impl BufRead) -> Ending {
        let mut reader = MessageReader::new(input);
        let ending = loop {
            match reader.read() {
                Ok(Some(Incoming::Message(message))) => {
                    if let Some(ending) = self.0.receive(&message) {
                        break ending;
                    }
                }
                Ok(Some(Incoming::Malformed(problem))) => self.0.output.say("stderr", &problem),
                Ok(None) | Err(_) => break Ending::Detached,
            }
        };
        self.0.leave(ending);
        ending
    }

    /// Waits until the client has set its breakpoints; whether it wishes a stop at the beginning. None if
    /// it has left.
    pub fn wait_until_configured(&self) -> Option<bool> {
        let phase = self.0.wait_for_phase();
        (phase == Phase::Running).then(|| self.0.settings.lock().stops_on_entry)
    }
}

impl Shared {
    /// Handles a message; says so if it was the last one.
    fn receive(self: &Arc<Shared>, message: &Json) -> Option<Ending> {
        let Some(request) = Request::of(message) else {
            if message["type"] == "request" {
                self.output
                    .say("stderr", "a request without a number or a command");
            }
            return None;
        };
        let answer = Answer::to(&self.output, &request);
        match request.command.as_str() {
            "initialize" => {
                let mut settings = self.settings.lock();
                let from = |name: &str| i64::from(request.arguments[name] != false);
                settings.first_line = from("linesStartAt1");
                settings.first_column = from("columnsStartAt1");
                settings.shows_progress = request.arguments["supportsProgressReporting"] == true;
                drop(settings);
                answer.give(Ok(capabilities()));
            }
            "launch" | "attach" => {
                let stops = request.arguments["stopOnEntry"] == true;
                let mut settings = self.settings.lock();
                settings.stops_on_entry = stops;
                settings.stops_all = request.arguments["stopAll"] == true;
                drop(settings);
                answer.give(Ok(Json::Null));
                if self.replay.get().is_some() {
                    let more = json!({"capabilities": {"supportsStepBack": true}});
                    self.output.event("capabilities", more);
                }
                self.output.event("initialized", json!({}));
            }
            "configurationDone" => {
                self.change_phase(Phase::Running);
                answer.give(Ok(Json::Null));
            }
            "disconnect" => {
                let ends = request.arguments["terminateDebuggee"] == true;
                answer.give(Ok(Json::Null));
                return Some(if ends {
                    Ending::Terminate
                } else {
                    Ending::Detached
                });
            }
            "terminate" => {
                answer.give(Ok(Json::Null));
                return Some(Ending::Terminate);
            }
            _ => self.perform(&request, answer),
        }
        None
    }

    /// The client is gone: no breakpoint stays, and all tasks go on.
    fn leave(&self, ending: Ending) {
        if let Some(vm) = self.machine.upgrade() {
            vm.debugger().pause_all(false);
            let all = self.breakpoints.lock().take_all();
            if let Ok(mut thread) = vm.attach() {
                for id in all {
                    thread.remove_breakpoint(id);
                }
                self.forget_waiting(&mut thread);
                for (kept, _) in self.watchables.lock().drain(..) {
                    thread.debug_forget(kept);
                }
            }
        }
        // Expressions end where their tasks stop for the last time.
        let evaluating = self.tasks.lock().close();
        if let Some(vm) = self.machine.upgrade() {
            if evaluating.is_empty() {
                vm.debugger().set_client(None);
            }
            for task in evaluating {
                vm.debugger().pause(task);
            }
        }
        self.change_phase(Phase::Gone(ending));
    }
}
