//! WASI for guests: what a program gives them, and what they have written to memory.
//!
//! Recordings have no answers of files that guests use, so that there is no WASI in a recorded run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use canny_component::Answer;
use canny_io::Handle;
use canny_io::socket::Socket;
use canny_locks::Mutex;
use canny_replay::Mode;
use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::{ConditionKind, Raise, Thread, string_text};
use canny_wasi::preview2::{Network, World};
use canny_wasi::{Directory, Settings, Wasi};

use super::super::tasks::{Then, suspend};
use super::{number, store};
use crate::arguments::Call;
use crate::host::{find, keep, kept_in_table};
use crate::list::Walk;
use crate::primitives::file_names::name_of_text;
use crate::primitives::posix::handle_of_port;

/// WASI for one guest, as objects of Scheme have it.
pub(crate) struct GuestSystem {
    wasi: Wasi,
    /// The world of components; it is made when one asks.
    world: Mutex<Option<Result<World, String>>>,
    given: Given,
    /// Its outputs, if these are in memory.
    outputs: [Stream; 2],
}

/// Things that the program gives guests.
struct Given {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directories: Vec<Directory>,
    streams: [Stream; 3],
    network: Network,
}

impl Given {
    fn settings(&self) -> Settings {
        Settings {
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            directories: self.directories.clone(),
            listeners: Vec::new(),
            streams: self.streams.clone(),
        }
    }
}

impl GuestSystem {
    /// The world for components.
    pub(super) fn world(&self) -> Result<World, String> {
        let make = || World::new(self.given.settings(), self.given.network);
        self.world.lock().get_or_insert_with(make).clone()
    }
}

kept_in_table!(GuestSystem);

/// A stream of a guest, or none.
type Stream = Option<Arc<Handle>>;

pub(super) fn system(
    thread: &mut Thread,
    call: Call,
    position: usize,
) -> Result<Arc<GuestSystem>, Raise> {
    let found = find::<GuestSystem>(thread, call.at(position));
    found.ok_or_else(|| call.type_error(thread, position, "WASI"))
}

fn name(value: Value) -> OsString {
    name_of_text(string_text(value).unwrap_or_default())
}

pub(super) fn make(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if !matches!(canny_replay::mode(), Mode::Live) {
        let message = "guests with WASI cannot be recorded";
        return Err(thread.raise(ConditionKind::System, message, &[], Some(call.who)));
    }
    let arguments: Vec<OsString> = Walk::new(call.at(0)).map(name).collect();
    let pairs = Walk::new(call.at(1)).filter_map(Value::as_pair);
    let environment = pairs.map(|pair| (name(pair.car()), name(pair.cdr())));
    let environment = environment.collect();
    let rows = Walk::new(call.at(2)).filter_map(|row| row.as_kind(Kind::Vector));
    let directories = rows
        .filter(|row| row.length() == 3)
        .map(|row| Directory {
            path: PathBuf::from(name(row.field(0))),
            name: string_text(row.field(1)).unwrap_or_default(),
            read_only: row.field(2).is_true(),
        })
        .collect();
    let input = input(thread, call, 3)?;
    let (output, kept_output) = output_at(thread, call, 4, Handle::standard_output)?;
    let (error, kept_error) = output_at(thread, call, 5, Handle::standard_error)?;
    let network = call.at(6).is_true();
    let listeners = listeners(thread, call)?;
    let given = Given {
        arguments,
        environment,
        directories,
        streams: [input, output, error],
        network: Network {
            sockets: network,
            names: network,
            requests: call.at(7).is_true(),
        },
    };
    let settings = Settings {
        listeners,
        ..given.settings()
    };
    match Wasi::new(settings) {
        Ok(wasi) => {
            let system = GuestSystem {
                wasi,
                world: Mutex::default(),
                given,
                outputs: [kept_output, kept_error],
            };
            keep(thread, system, "wasi")
        }
        Err(message) => Err(thread.raise(ConditionKind::File, &message, &[], Some(call.who))),
    }
}

/// Copies of the listening sockets that a guest gets.
fn listeners(thread: &mut Thread, call: Call) -> Result<Vec<Socket>, Raise> {
    let mut sockets = Vec::new();
    for object in Walk::new(call.at(8)) {
        let Some(socket) = find::<Socket>(thread, object) else {
            return Err(call.type_error(thread, 8, "list of listeners"));
        };
        match socket.copy() {
            Ok(copy) => sockets.push(copy),
            Err(error) => {
                let message = format!("cannot give a guest a listener: {error}");
                let kind = ConditionKind::System;
                return Err(thread.raise(kind, &message, &[], Some(call.who)));
            }
        }
    }
    Ok(sockets)
}

/// The stream for an argument: none for `#f`, the process's for `#t`, that of a port, or bytes.
fn input(thread: &mut Thread, call: Call, position: usize) -> Result<Stream, Raise> {
    let given = call.at(position);
    if let Some(bytes) = given.as_kind(Kind::Bytevector) {
        return Ok(Some(Handle::memory(bytes.with_bytes(<[u8]>::to_vec))));
    }
    match given {
        Value::FALSE => Ok(None),
        Value::TRUE => Ok(Some(Handle::standard_input())),
        _ => port_at(thread, call, position).map(Some),
    }
}

fn port_at(thread: &mut Thread, call: Call, position: usize) -> Result<Arc<Handle>, Raise> {
    let port = call.object(thread, position, Kind::Port, "port")?;
    let handle = handle_of_port(thread, call, port.value())?;
    handle.ok_or_else(|| call.type_error(thread, position, "port of a file, pipe or terminal"))
}

/// An output of a guest: twice the same if that is memory, which `'memory` asks for.
fn output_at(
    thread: &mut Thread,
    call: Call,
    position: usize,
    standard: fn() -> Arc<Handle>,
) -> Result<(Stream, Stream), Raise> {
    let given = call.at(position);
    if given.is_kind(Kind::Symbol) {
        let handle = Handle::channel("output of a guest");
        return Ok((Some(Arc::clone(&handle)), Some(handle)));
    }
    match given {
        Value::FALSE => Ok((None, None)),
        Value::TRUE => Ok((Some(standard()), None)),
        _ => Ok((Some(port_at(thread, call, position)?), None)),
    }
}

pub(super) fn function(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let system = system(thread, call, 1)?;
    let name = string_text(call.string(thread, 2)?.value()).unwrap_or_default();
    let function = system.wasi.function(&mut guests.lock(thread).store, &name);
    Ok(function.map_or(Value::FALSE, |it| Value::fixnum(i64::from(it.number()))))
}

pub(super) fn bind(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (guests, _) = store(thread, call)?;
    let system = system(thread, call, 1)?;
    let number = number(thread, call, 2)?;
    let guests = guests.lock(thread);
    if let Some(instance) = guests.store.instance(number) {
        system.wasi.bind(&guests.store, instance);
    }
    Ok(Value::UNSPECIFIED)
}

/// Sends what components have written and what was not taken yet; waits for that.
pub(super) fn finish(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let system = system(thread, call, 0)?;
    let world = system.world.lock().clone();
    let Some(Ok(world)) = world else {
        return Ok(Value::TRUE);
    };
    let (outcome, ticket) = thread.wait_outside_heap(|| world.finish());
    match (outcome, ticket) {
        (Ok(Answer::Wait), Some(ticket)) => {
            Err(suspend(thread, call.who, ticket, Then::Repeat(None)))
        }
        (Ok(Answer::Wait), None) => Ok(Value::FALSE),
        (outcome, ticket) => {
            if let Some(ticket) = ticket {
                thread.disarm_ticket(ticket);
            }
            match outcome {
                Ok(_) => Ok(Value::TRUE),
                Err(reason) => Err(super::trap(thread, call, &reason)),
            }
        }
    }
}

/// Forgets what components have, whose stores were freed. Their resources are closed.
pub(super) fn release(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let world = system(thread, call, 0)?.world.lock().take();
    thread.outside_heap(|| drop(world));
    Ok(Value::UNSPECIFIED)
}

/// Takes the bytes that a guest has written to memory: output or errors.
pub(super) fn taken(thread: &mut Thread, call: Call, index: usize) -> Result<Value, Raise> {
    let system = system(thread, call, 0)?;
    match &system.outputs[index] {
        Some(handle) => thread.bytevector(&handle.take_channel()),
        None => thread.bytevector(&[]),
    }
}
