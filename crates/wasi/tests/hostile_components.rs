//! Components that call every function of preview 2 with values that make no sense: an error or a trap is
//! all that comes of it, and nothing outside of their directory changes.
//!
//! Arguments are made up. Lists of them that a function did not refuse for their types are kept and
//! changed, so that calls get further than to the checks.

use std::collections::HashMap;
use std::rc::Rc;

use canny_component::{Answer, Host, Value};
use canny_io::Handle;
use canny_wasi::preview2::http::{Head, Received, Requests};
use canny_wasi::preview2::{Network, World};
use canny_wasi::{Directory, Settings};
use canny_wasm::{Store, Trap};

/// Waits are parked, and the test goes on.
struct Parked;

impl canny_sched::hook::Parking for Parked {
    fn park(&self, _: &[canny_sched::Interest<'_>], _: Option<std::time::Instant>) -> bool {
        true
    }
}

/// Numbers without a pattern, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn number(&mut self) -> u64 {
        const EDGES: &[u64] = &[0, 1, 2, 3, 5, 16, 100, 4096, 4097, 65_536, 1 << 31, 1 << 63];
        match self.below(6) {
            0 => u64::MAX - self.next() % 3,
            1 => self.next(),
            _ => EDGES[self.below(EDGES.len())],
        }
    }

    fn text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "",
            ".",
            "..",
            "/",
            "file",
            "sub",
            "sub/file",
            "../secret",
            "out",
            "up/secret",
            "/etc/passwd",
            "sub/../..",
            "a\0b",
            "x-name",
            "content-length",
            "host",
            "example.org",
            "GET",
            "http",
            "127.0.0.1",
        ];
        match self.below(10) {
            0 => "x".repeat(self.below(5000)),
            _ => TEXTS[self.below(TEXTS.len())].into(),
        }
    }

    /// A value of any type. Resources have no number yet.
    fn value(&mut self, depth: u32) -> Value {
        let kind = self.below(if depth == 0 { 10 } else { 17 });
        match kind {
            0 => Value::Own(0),
            1..=3 => Value::Borrow(0),
            4 => Value::U64(self.number()),
            5 => match self.below(3) {
                0 => Value::U8(self.number() as u8),
                1 => Value::U16(self.number() as u16),
                _ => Value::U32(self.number() as u32),
            },
            6 => Value::String(self.text()),
            7 => Value::Bytes(vec![b'a'; self.below(5000)]),
            8 => Value::Enum(self.below(4) as u32),
            9 => Value::Bool(self.below(2) == 0),
            10 => {
                let count = [1, 4, 6][self.below(3)];
                Value::Flags((0..count).map(|_| self.below(2) == 0).collect())
            }
            11 => {
                // An address that nothing leaves this machine for.
                let ip = Value::Record([127, 0, 0, 1].map(Value::U8).into());
                let fields = vec![Value::U16(self.number() as u16), ip];
                Value::Variant(0, Some(Box::new(Value::Record(fields))))
            }
            12 => {
                let held = (self.below(2) == 0).then(|| Box::new(self.value(depth - 1)));
                Value::Variant(self.below(4) as u32, held)
            }
            13 => {
                let held = (self.below(2) == 0).then(|| Box::new(self.value(depth - 1)));
                Value::Option(held)
            }
            14 => {
                let held = (self.below(2) == 0).then(|| Box::new(self.value(depth - 1)));
                Value::Result(if self.below(2) == 0 {
                    Ok(held)
                } else {
                    Err(held)
                })
            }
            15 => {
                let count = self.below(4);
                Value::List((0..count).map(|_| self.value(depth - 1)).collect())
            }
            _ => Value::Record((0..2).map(|_| self.value(depth - 1)).collect()),
        }
    }
}

/// Changes the numbers of resources in a value.
fn renumber(value: &mut Value, change: &mut impl FnMut(u32) -> u32) {
    match value {
        Value::Own(number) | Value::Borrow(number) => *number = change(*number),
        Value::Variant(_, Some(held)) | Value::Option(Some(held)) => renumber(held, change),
        Value::Result(Ok(Some(held)) | Err(Some(held))) => renumber(held, change),
        Value::List(list) | Value::Record(list) => {
            list.iter_mut().for_each(|value| renumber(value, change));
        }
        _ => {}
    }
}

/// Resources, each with the number of the function that gave it.
#[derive(Default)]
struct Resources(Vec<(u32, u32)>);

impl Resources {
    /// Notes those that a result gives.
    fn note(&mut self, value: &Value, giver: u32) {
        let mut value = value.clone();
        renumber(&mut value, &mut |number| {
            self.0.push((number, giver));
            number
        });
    }

    fn any(&self, numbers: &mut Numbers) -> u32 {
        match self.0.len() {
            0 => 0,
            count => self.0[numbers.below(count)].0,
        }
    }

    /// One of the same function, if there is one.
    fn of(&self, giver: u32, numbers: &mut Numbers) -> u32 {
        let same = self.0.iter().filter(|(_, known)| *known == giver);
        let same: Vec<u32> = same.map(|(number, _)| *number).collect();
        if same.is_empty() || numbers.below(10) == 0 {
            return self.any(numbers);
        }
        same[numbers.below(same.len())]
    }

    fn giver(&self, number: u32) -> u32 {
        let mut newest = self.0.iter().rev();
        newest
            .find(|(known, _)| *known == number)
            .map_or(u32::MAX, |(_, giver)| *giver)
    }
}

/// Arguments of functions that are hard to guess.
fn examples(name: &str) -> Vec<Value> {
    let flags = |count| Value::Flags(vec![true; count]);
    let text = |text: &str| Value::String(text.into());
    let now = || Value::Variant(1, None);
    let resource = || Value::Borrow(0);
    match name.rsplit_once(']').map_or(name, |(_, name)| name) {
        "descriptor.advise" => vec![resource(), Value::U64(0), Value::U64(0), Value::Enum(1)],
        "descriptor.set-times" => vec![resource(), now(), now()],
        "descriptor.set-times-at" => vec![resource(), flags(1), text("file"), now(), now()],
        "descriptor.link-at" => {
            let follows = Value::Flags(vec![false]);
            vec![resource(), follows, text("file"), resource(), text("other")]
        }
        "descriptor.open-at" => {
            let how = Value::Flags(vec![true, false, false, false]);
            let access = Value::Flags(vec![true, true, false, false, false, false]);
            vec![resource(), flags(1), text("file"), how, access]
        }
        "fields.set" => vec![resource(), text("x"), Value::List(Vec::new())],
        "incoming-body.finish" => vec![Value::Own(0)],
        "outgoing-body.finish" | "handle" => vec![Value::Own(0), Value::Option(None)],
        "response-outparam.set" => {
            let response = Value::Result(Ok(Some(Box::new(Value::Own(0)))));
            vec![Value::Own(0), response]
        }
        "response-outparam.send-informational" => {
            vec![resource(), Value::U16(100), Value::Own(0)]
        }
        "tcp-socket.start-bind" | "tcp-socket.start-connect" | "udp-socket.start-bind" => {
            let ip = Value::Record([127, 0, 0, 1].map(Value::U8).into());
            let fields = Value::Record(vec![Value::U16(0), ip]);
            let address = Value::Variant(0, Some(Box::new(fields)));
            vec![resource(), resource(), address]
        }
        "udp-socket.stream" => vec![resource(), Value::Option(None)],
        "output-stream.splice" | "output-stream.blocking-splice" => {
            vec![resource(), resource(), Value::U64(9)]
        }
        "resolve-addresses" => vec![resource(), text("127.0.0.1")],
        "poll" => vec![Value::List(vec![resource()])],
        _ => vec![resource()],
    }
}

/// Reads what the guest sends, and answers it.
fn serve(requests: &Requests, received: &Received, numbers: &mut Numbers) {
    let mut buffer = [0; 100];
    let wait = canny_io::Wait::NonBlocking;
    if let Ok(Some(request)) = requests.take(wait)
        && numbers.below(3) > 0
    {
        let body = request.answer(200, vec![("x".into(), b"y".to_vec())]);
        let _ = body.handle().write(b"contents", wait);
        if numbers.below(2) == 0 {
            body.finish(Vec::new());
        }
    }
    let _ = received.body.handle().write(b"some bytes", wait);
    if let Ok(Some(Ok(response))) = received.response.wait(wait) {
        let _ = response.body.handle().read(&mut buffer, wait);
    }
}

fn world(inner: &std::path::Path, read_only: bool) -> World {
    let settings = Settings {
        arguments: vec!["guest".into()],
        environment: Vec::new(),
        directories: vec![Directory {
            path: inner.into(),
            name: "/".into(),
            read_only,
        }],
        listeners: Vec::new(),
        streams: [Some(Handle::memory(b"some input".to_vec())), None, None],
    };
    let network = Network {
        sockets: true,
        names: false,
        requests: true,
    };
    World::new(settings, network).unwrap()
}

/// The type of resources whose method a function is.
fn kind(name: &str) -> Option<&str> {
    let (kind, _) = name.strip_prefix("[method]")?.split_once('.')?;
    Some(kind)
}

/// Arguments and resources that calls have shown to be right.
struct Learned {
    /// Arguments that each function has accepted, with givers in place of resources.
    accepted: Vec<Vec<Vec<Value>>>,
    /// The givers of resources of each type.
    givers: HashMap<&'static str, Vec<u32>>,
}

impl Learned {
    fn accept(
        &mut self,
        index: usize,
        name: &'static str,
        arguments: Vec<Value>,
        resources: &Resources,
    ) {
        if self.accepted[index].len() >= 20 {
            return;
        }
        let mut arguments = Value::List(arguments);
        renumber(&mut arguments, &mut |number| resources.giver(number));
        if let Value::List(arguments) = arguments {
            if let Some(kind) = kind(name)
                && let Some(Value::Borrow(giver) | Value::Own(giver)) = arguments.first()
            {
                self.givers.entry(kind).or_default().push(*giver);
            }
            self.accepted[index].push(arguments);
        }
    }

    /// Arguments that a function may accept.
    fn arguments(
        &self,
        index: usize,
        name: &str,
        resources: &Resources,
        numbers: &mut Numbers,
    ) -> Vec<Value> {
        let accepted = &self.accepted[index];
        let is_known = !accepted.is_empty() && numbers.below(2) == 0;
        let mut arguments = if is_known {
            accepted[numbers.below(accepted.len())].clone()
        } else {
            examples(name)
        };
        if !is_known && arguments.len() == 1 {
            let count = numbers.below(4);
            arguments.extend((0..count).map(|_| numbers.value(2)));
        }
        for argument in &mut arguments {
            if numbers.below(12) == 0 {
                *argument = numbers.value(2);
            }
            renumber(argument, &mut |giver| {
                if is_known {
                    resources.of(giver, numbers)
                } else {
                    resources.any(numbers)
                }
            });
        }
        if !is_known
            && let Some(givers) = kind(name).and_then(|kind| self.givers.get(kind))
            && let Some(first) = arguments.first_mut()
        {
            let giver = givers[numbers.below(givers.len())];
            *first = Value::Borrow(resources.of(giver, numbers));
        }
        arguments
    }
}

#[test]
fn senseless_values_do_no_harm() {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("inner");
    std::fs::create_dir_all(inner.join("sub")).unwrap();
    std::fs::write(outer.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", inner.join("out")).unwrap();
    std::os::unix::fs::symlink("..", inner.join("up")).unwrap();
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let names: Vec<(&str, &str)> = World::functions().collect();
    let mut learned = Learned {
        accepted: vec![Vec::new(); names.len()],
        givers: HashMap::new(),
    };
    canny_sched::hook::with_parking(Rc::new(Parked), || {
        for round in 0..200 {
            let world = world(&inner, round % 4 == 3);
            let requests = world.requests().unwrap();
            let mut store = Store::new();
            let mut resources = Resources::default();
            let received = world.receive(Head::default()).unwrap();
            for (place, argument) in received.arguments.iter().enumerate() {
                resources.note(argument, (names.len() + place) as u32);
            }
            for _ in 0..3000 {
                let index = numbers.below(names.len());
                let (interface, name) = names[index];
                let arguments = learned.arguments(index, name, &resources, &mut numbers);
                let interface = format!("{interface}@0.2.6");
                let mut function = world.function(&interface, name).unwrap();
                match function(&mut store, &arguments) {
                    Ok(answer) => {
                        learned.accept(index, name, arguments, &resources);
                        if let Answer::Done(Some(result)) = &answer {
                            resources.note(result, index as u32);
                        }
                    }
                    Err(Trap::Host(_) | Trap::Exit(_)) => {}
                    Err(trap) => panic!("{name} {arguments:?}: {trap}"),
                }
                if numbers.below(20) == 0 {
                    serve(&requests, &received, &mut numbers);
                }
            }
        }
    });
    // Some functions need a resource that seldom comes about.
    let pairs = names.iter().zip(&learned.accepted);
    let missed = pairs.filter(|(_, accepted)| accepted.is_empty());
    let missed: Vec<_> = missed.map(|(name, _)| name).collect();
    assert!(missed.len() * 4 < names.len(), "{missed:?}");
    assert_eq!(std::fs::read_dir(outer.path()).unwrap().count(), 2);
    let secret = std::fs::read(outer.path().join("secret")).unwrap();
    assert_eq!(secret, b"secret");
}
