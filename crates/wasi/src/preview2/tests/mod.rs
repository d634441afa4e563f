//! The functions called directly, with what a component would pass.

mod command;
mod files;
mod http;
mod sockets;
mod streams;

use std::sync::Arc;

use canny_component::{Answer, Host, Value};
use canny_io::Handle;
use canny_wasm::{Store, Trap};

use super::{Network, World};
use crate::{Directory, Settings};

pub fn settings() -> Settings {
    Settings {
        arguments: Vec::new(),
        environment: Vec::new(),
        directories: Vec::new(),
        listeners: Vec::new(),
        streams: [None, None, None],
    }
}

/// A guest as the test plays it.
pub struct Guest {
    pub world: World,
    store: Store,
}

impl Guest {
    pub fn new(settings: Settings) -> Guest {
        Guest::on_network(settings, Network::default())
    }

    pub fn on_network(settings: Settings, network: Network) -> Guest {
        Guest {
            world: World::new(settings, network).unwrap(),
            store: Store::new(),
        }
    }

    pub fn with_streams(streams: [Option<Arc<Handle>>; 3]) -> Guest {
        Guest::new(Settings {
            streams,
            ..settings()
        })
    }

    pub fn in_directory(path: &std::path::Path, read_only: bool) -> Guest {
        let directory = Directory {
            path: path.into(),
            name: "/".into(),
            read_only,
        };
        Guest::new(Settings {
            directories: vec![directory],
            ..settings()
        })
    }

    /// Calls a function once: its full name has the interface and, behind `#`, the function.
    pub fn once(&mut self, name: &str, arguments: &[Value]) -> Result<Answer, Trap> {
        let (interface, name) = name.split_once('#').unwrap();
        let interface = format!("wasi:{interface}@0.2.3");
        let function = self.world.function(&interface, name);
        let mut function = function.unwrap_or_else(|| panic!("there is no {interface} {name}"));
        function(&mut self.store, arguments)
    }

    /// Calls a function until it is done.
    pub fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Option<Value>, Trap> {
        loop {
            if let Answer::Done(result) = self.once(name, arguments)? {
                return Ok(result);
            }
        }
    }

    /// The result of a function that has one.
    pub fn get(&mut self, name: &str, arguments: &[Value]) -> Value {
        self.call(name, arguments).unwrap().unwrap()
    }

    /// The value of a result that is no error.
    pub fn ok(&mut self, name: &str, arguments: &[Value]) -> Value {
        match self.get(name, arguments) {
            Value::Result(Ok(Some(value))) => *value,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Calls a function whose result has no value and is no error.
    pub fn done(&mut self, name: &str, arguments: &[Value]) {
        assert_eq!(self.get(name, arguments), Value::Result(Ok(None)), "{name}");
    }

    /// The value of a result that is an error.
    pub fn error(&mut self, name: &str, arguments: &[Value]) -> Value {
        match self.get(name, arguments) {
            Value::Result(Err(Some(value))) => *value,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// The text of a trap.
    pub fn trap(&mut self, name: &str, arguments: &[Value]) -> String {
        match self.call(name, arguments) {
            Err(Trap::Host(text)) => text,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Drops a resource of a kind: its interface and name, with `#` between them.
    pub fn drop(&mut self, kind: &str, resource: &Value) -> Result<(), Trap> {
        let (interface, name) = kind.split_once('#').unwrap();
        let interface = format!("wasi:{interface}@0.2.0");
        let destructor = self.world.resource(&interface, name);
        let mut destructor = destructor.unwrap_or_else(|| panic!("there is no {kind}"));
        destructor(&mut self.store, number(resource))
    }

    /// Waits for one pollable.
    pub fn block(&mut self, pollable: &Value) {
        self.call("io/poll#[method]pollable.block", &[lent(pollable)])
            .unwrap();
    }

    /// Whether a pollable is ready.
    pub fn is_ready(&mut self, pollable: &Value) -> bool {
        self.get("io/poll#[method]pollable.ready", &[lent(pollable)]) == Value::Bool(true)
    }
}

pub fn number(resource: &Value) -> u32 {
    match resource {
        Value::Own(number) | Value::Borrow(number) => *number,
        other => panic!("{other:?} is no resource"),
    }
}

/// The same resource, lent.
pub fn lent(resource: &Value) -> Value {
    Value::Borrow(number(resource))
}

pub fn text(text: &str) -> Value {
    Value::String(text.into())
}

pub fn bytes(bytes: impl AsRef<[u8]>) -> Value {
    Value::Bytes(bytes.as_ref().into())
}

pub fn some(value: Value) -> Value {
    Value::Option(Some(Box::new(value)))
}

pub fn none() -> Value {
    Value::Option(None)
}

/// An error of a stream that has ended.
pub fn closed() -> Value {
    Value::Variant(1, None)
}

#[test]
fn all_versions_of_0_2_have_the_functions_and_no_others() {
    let world = World::new(settings(), Network::default()).unwrap();
    let is_there = |interface: &str| world.function(interface, "get-random-u64").is_some();
    for version in ["0.2.0", "0.2.6", "0.2.12"] {
        assert!(is_there(&format!("wasi:random/random@{version}")));
    }
    for name in [
        "wasi:random/random",
        "wasi:random/random@0.3.0",
        "wasi:random/random@0.2.",
        "wasi:random/random@0.2.x",
        "wasi:random/insecure@0.2.0",
    ] {
        assert!(!is_there(name), "{name}");
    }
    let mut names: Vec<_> = World::functions().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn arguments_of_wrong_types_are_traps() {
    let mut guest = Guest::new(settings());
    let names: Vec<_> = World::functions().collect();
    let wrong = [
        Value::Char('x'),
        Value::F64(1.0),
        Value::S8(1),
        Value::Char('y'),
    ];
    for (interface, name) in names {
        let name = format!("{}#{name}", interface.strip_prefix("wasi:").unwrap());
        for arguments in [&wrong[..], &wrong[..1], &[]] {
            match guest.once(&name, arguments) {
                // It takes none.
                Ok(Answer::Done(_)) | Err(Trap::Host(_)) => {}
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
