//! WASI preview 2: the interfaces of version 0.2 as functions of the host for components.
//!
//! No function waits while it holds the state of a [`World`]. One that would wait gives the events that
//! it waits for, having changed nothing that a second call with the same arguments would not find. They
//! are waited for without a lock, and the function is tried again.
//!
//! [`call`] has the arguments of a call, [`table`] the resources, [`waits`] the events; [`streams`] and
//! [`poll`] are what the other topics build on.

mod call;
mod clocks;
mod codes;
mod command;
mod failures;
mod files;
pub mod http;
mod network;
mod paths;
mod poll;
mod random;
mod streams;
mod system_streams;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod waits;

use std::hash::RandomState;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use canny_component::{Answer, Destructor, Host, HostFunction, Value};
use canny_io::Handle;
use canny_locks::Mutex;
use canny_wasm::Trap;

use self::call::{Call, Stop};
use self::streams::{Input, Output};
use self::system_streams::{HandleSink, HandleSource, Nothing};
use self::table::{Opened, Table};
use self::waits::Waits;
use crate::patience::patience;
use crate::{Directory, Settings};

/// The parts of the network that a guest may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Sockets of TCP and UDP, at all addresses.
    pub sockets: bool,
    /// Looking up addresses of names.
    pub names: bool,
    /// Requests of HTTP, which the embedder takes from [`World::requests`] and makes.
    pub requests: bool,
}

/// The state of one guest.
pub(crate) struct State {
    table: Table,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    directories: Vec<(Arc<Opened>, Directory)>,
    input: Input,
    /// Standard output and standard error.
    outputs: [Output; 2],
    /// Whether the standard streams are terminals.
    are_terminals: [bool; 3],
    network: Network,
    /// The key of hashes of metadata.
    hashes: RandomState,
    http: http::State,
    /// Outputs that have taken bytes which nobody else has taken from them yet.
    unsent: Vec<Output>,
}

/// WASI for one guest. Clones are the same one.
///
/// Bytes that a guest has written may be left when it ends: [`World::finish`] sends them.
#[derive(Clone)]
pub struct World {
    state: Arc<Mutex<State>>,
}

/// A function: its name in the interface, and what it does.
type Row = (&'static str, Operation);
type Operation = fn(&mut Call<'_>) -> Result<Option<Value>, Stop>;

/// An interface without its version, or a part of it: its functions and the names of its resources.
struct Interface {
    name: &'static str,
    functions: &'static [Row],
    resources: &'static [&'static str],
}

/// How often a function is tried before somebody may look whether the guest is to go on.
const TRIES: u32 = 16;

impl World {
    /// Opens the directories. There are no listeners in preview 2, so that those of the settings are closed.
    pub fn new(settings: Settings, network: Network) -> Result<World, String> {
        let table = Table::default();
        let mut directories = Vec::new();
        for directory in settings.directories {
            use rustix::fs::{Mode, OFlags};
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(&directory.path, flags, Mode::empty());
            let opened = opened.and_then(|opened: OwnedFd| table.open(opened));
            let opened = opened.map_err(|error| {
                let path = directory.path.display();
                format!("cannot open the directory {path}: {error}")
            })?;
            directories.push((opened, directory));
        }
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment = settings.environment.into_iter();
        let [input, output, error] = settings.streams;
        let is_terminal = |handle: &Option<Arc<Handle>>| {
            handle.as_ref().is_some_and(|handle| handle.is_terminal())
        };
        let state = State {
            table,
            arguments: settings.arguments.into_iter().map(text).collect(),
            environment: environment
                .map(|(name, value)| (text(name), text(value)))
                .collect(),
            directories,
            are_terminals: [&input, &output, &error].map(is_terminal),
            input: match input {
                Some(handle) => Input::new(HandleSource::new(handle)),
                None => Input::new(Nothing),
            },
            outputs: [output, error].map(|handle| match handle {
                Some(handle) => Output::new(HandleSink(handle)),
                None => Output::new(Nothing),
            }),
            network,
            hashes: RandomState::new(),
            http: http::State::new(network.requests),
            unsent: Vec::new(),
        };
        Ok(World {
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// The names of all functions: the interface without its version, and the function.
    pub fn functions() -> impl Iterator<Item = (&'static str, &'static str)> {
        interfaces().flat_map(|interface| {
            let functions = interface.functions.iter();
            functions.map(|(name, _)| (interface.name, *name))
        })
    }

    /// The requests of HTTP that the guest makes, if it may.
    pub fn requests(&self) -> Option<http::Requests> {
        self.state.lock().http.requests()
    }

    /// Makes a request of HTTP that the guest is to answer.
    pub fn receive(&self, head: http::Head) -> Result<http::Received, Trap> {
        let mut state = self.state.lock();
        let State { table, http, .. } = &mut *state;
        http::receive(table, http, head)
    }

    /// Sends the bytes that the guest has written and that were not taken yet. It is called when the guest
    /// has ended, and like a function of the host until it is done.
    pub fn finish(&self) -> Result<Answer, Trap> {
        perform(&self.state, &[], |call| {
            let mut waits = Waits::default();
            if call.state.send_unsent(&mut waits) {
                Ok(None)
            } else {
                Err(Stop::Wait(waits))
            }
        })
    }
}

impl Host for World {
    fn function(&self, interface: &str, name: &str) -> Option<HostFunction> {
        let mut functions = interfaces_named(interface).flat_map(|interface| interface.functions);
        let (_, operation) = *functions.find(|(known, _)| *known == name)?;
        let state = Arc::clone(&self.state);
        Some(Box::new(move |_, arguments| {
            perform(&state, arguments, operation)
        }))
    }

    fn resource(&self, interface: &str, name: &str) -> Option<Destructor> {
        let mut resources = interfaces_named(interface).flat_map(|interface| interface.resources);
        let name = *resources.find(|known| **known == name)?;
        let state = Arc::clone(&self.state);
        Some(Box::new(move |_, number| {
            state.lock().table.remove(number, name).map(drop)
        }))
    }
}

impl State {
    /// Writes what outputs hold back, as far as it can be taken now. It adds the events that the rest waits
    /// for, and says whether there is none.
    fn send_unsent(&mut self, waits: &mut Waits) -> bool {
        self.unsent.retain(|output| !output.send(waits));
        self.unsent.is_empty()
    }

    /// Has the rest of an output be sent by later calls, whatever they are for.
    fn keep_unsent(&mut self, output: &Output) {
        if output.has_unsent() && !self.unsent.iter().any(|known| known.is(output)) {
            self.unsent.push(output.clone());
        }
    }
}

fn interfaces() -> impl Iterator<Item = &'static Interface> {
    let topics: [&[Interface]; 9] = [
        streams::INTERFACES,
        poll::INTERFACES,
        failures::INTERFACES,
        clocks::INTERFACES,
        random::INTERFACES,
        command::INTERFACES,
        files::INTERFACES,
        network::INTERFACES,
        http::INTERFACES,
    ];
    topics.into_iter().flatten()
}

/// The parts of the interface with a full name, whatever its version after 0.2 is.
fn interfaces_named(full: &str) -> impl Iterator<Item = &'static Interface> {
    let (name, version) = full.split_once('@').unwrap_or_default();
    let patch = version.strip_prefix("0.2.").unwrap_or_default();
    let is_number = !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit());
    interfaces().filter(move |interface| is_number && interface.name == name)
}

fn perform(
    state: &Mutex<State>,
    arguments: &[Value],
    operation: impl Fn(&mut Call<'_>) -> Result<Option<Value>, Stop>,
) -> Result<Answer, Trap> {
    let patience = patience();
    for _ in 0..TRIES {
        let waits = {
            let mut state = state.lock();
            let outcome = operation(&mut Call {
                state: &mut state,
                arguments,
            });
            match outcome {
                Ok(value) => return Ok(Answer::Done(value)),
                Err(Stop::Error(error)) => {
                    return Ok(Answer::Done(Some(Value::Result(Err(error)))));
                }
                Err(Stop::Trap(trap)) => return Err(trap),
                Err(Stop::Wait(mut waits)) => {
                    state.send_unsent(&mut waits);
                    waits
                }
            }
        };
        if !waits.wait(patience) {
            break;
        }
    }
    Ok(Answer::Wait)
}
