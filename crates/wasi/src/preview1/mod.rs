//! WASI preview 1: the functions of modules.
//!
//! A function that would wait in a task ends with [`Outcome::Wait`] and is called again, so that the
//! task is parked meanwhile.
//!
//! [`call`] has the arguments and the memory of a call, [`entries`] the open files; the other modules
//! have the functions, by topic.

mod call;
mod entries;
mod errno;
mod files;
mod paths;
mod process;
mod sockets;
mod waits;

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use canny_locks::Mutex;
use canny_wasm::{Extern, Function, FunctionType, Instance, Outcome, Store, Trap, ValueType};

use self::call::{Call, Stop};
use self::entries::Entries;
use crate::Settings;

/// The name of the module from which the functions are imported.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// The state of one guest.
pub(crate) struct State {
    /// The number of the memory that it uses in a store. A guest on several threads has several stores.
    memories: HashMap<u64, u32>,
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    entries: Entries,
    /// Polls that were put off, by their store.
    polls: HashMap<u64, waits::Poll>,
}

/// WASI for one guest. Clones are the same one.
#[derive(Clone)]
pub struct Wasi {
    state: Arc<Mutex<State>>,
}

/// A row: name, letters of the types of parameters (`i` and `l` for integers of 32 and 64 bits), and
/// what it does. All but those that never return give a number of an error.
type Row = (&'static str, &'static str, Operation);
type Operation = fn(&mut Call<'_>) -> Result<(), Stop>;

impl Wasi {
    /// Opens the directories.
    pub fn new(settings: Settings) -> Result<Wasi, String> {
        let entries = Entries::new(settings.streams, settings.directories, settings.listeners)?;
        let environment = settings.environment.into_iter();
        let environment = environment.map(|(name, value)| {
            let mut text = name.into_vec();
            text.push(b'=');
            text.extend(value.into_vec());
            text
        });
        let arguments = settings.arguments.into_iter();
        let state = State {
            memories: HashMap::new(),
            arguments: arguments.map(OsString::into_vec).collect(),
            environment: environment.collect(),
            entries,
            polls: HashMap::new(),
        };
        Ok(Wasi {
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// The names and types of all functions, as letters: `i` for `i32` and `l` for `i64`.
    pub fn functions() -> impl Iterator<Item = (&'static str, &'static str)> {
        rows().map(|(name, letters, _)| (name, letters))
    }

    /// Makes the function of that name in a store; nothing if there is none.
    pub fn function(&self, store: &mut Store, name: &str) -> Option<Function> {
        let mut rows = rows();
        let (name, letters, operation) = rows.find(|(known, _, _)| *known == name)?;
        let kind = FunctionType {
            parameters: letters
                .bytes()
                .map(|letter| match letter {
                    b'l' => ValueType::I64,
                    _ => ValueType::I32,
                })
                .collect(),
            results: match name {
                "proc_exit" => Vec::new(),
                _ => vec![ValueType::I32],
            },
        };
        let state = Arc::clone(&self.state);
        let body = move |store: &mut Store, arguments: &[u64], results: &mut [u64]| {
            perform(&mut state.lock(), store, operation, arguments, results)
        };
        Some(store.host_function(kind, Box::new(body)))
    }

    /// Has the functions use the memory that an instance exports under the name that WASI demands.
    pub fn bind(&self, store: &Store, instance: Instance) {
        if let Some(Extern::Memory(number)) = instance.export(store, "memory") {
            self.state.lock().memories.insert(store.number(), number);
        }
    }
}

fn rows() -> impl Iterator<Item = Row> {
    let topics = [
        process::ROWS,
        files::ROWS,
        paths::ROWS,
        waits::ROWS,
        sockets::ROWS,
    ];
    topics.into_iter().flatten().copied()
}

fn perform(
    state: &mut State,
    store: &mut Store,
    operation: Operation,
    arguments: &[u64],
    results: &mut [u64],
) -> Result<Outcome, Trap> {
    let number = store.number();
    let memory = state.memories.get(&number).copied();
    let memory = memory.and_then(|memory| store.memory_at_mut(memory));
    let Some(memory) = memory else {
        let text = "a guest that uses WASI must export its memory as \"memory\"";
        return Err(Trap::Host(text.into()));
    };
    let mut call = Call {
        state,
        store: number,
        memory,
        arguments,
    };
    let number = match operation(&mut call) {
        Ok(()) => 0,
        Err(Stop::Error(error)) => u64::from(error.0),
        Err(Stop::Wait) => return Ok(Outcome::Wait),
        Err(Stop::Exit(code)) => return Err(Trap::Exit(code)),
    };
    if let Some(result) = results.first_mut() {
        *result = number;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn all_functions_of_the_standard_are_there_once() {
        let mut names: Vec<&str> = rows().map(|(name, _, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows().count());
        assert_eq!(names.len(), 46);
    }
}
