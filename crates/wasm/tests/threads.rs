//! Shared memories, atomic accesses, and waiting for addresses, on several threads.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use canny_wasm::{
    Error, Event, Extern, Function, Imports, Instance, MemoryType, Module, SharedMemory, Store,
};

/// A memory that stores can share.
fn shared_memory(maximum: u64) -> SharedMemory {
    let kind = MemoryType {
        initial: 1,
        maximum: Some(maximum),
        is_wide: false,
        is_shared: true,
    };
    let mut store = Store::new();
    let number = store.memory(kind).unwrap();
    store.memory_at(number).unwrap().shared().unwrap()
}

/// An instance in a store of its own, with a shared memory if it imports one.
struct Guest {
    store: Store,
    instance: Instance,
}

impl Guest {
    fn new(module: &Module, memory: Option<&SharedMemory>) -> Guest {
        let mut store = Store::new();
        let mut imports = Imports::default();
        if let Some(memory) = memory {
            let number = store.share_memory(memory).unwrap();
            imports.add("env", "memory", Extern::Memory(number));
        }
        let instance = store.instantiate(module, &imports).unwrap();
        Guest { store, instance }
    }

    fn function(&self, name: &str) -> Function {
        match self.instance.export(&self.store, name) {
            Some(Extern::Function(function)) => function,
            other => panic!("{name} is {other:?}"),
        }
    }

    fn call(&mut self, name: &str, arguments: &[u64]) -> Result<Vec<u64>, String> {
        let function = self.function(name);
        let results = self.store.call(function, arguments);
        results.map_err(|trap| trap.to_string())
    }
}

fn module(text: &str) -> Module {
    Module::read(text.as_bytes().to_vec()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An atomic operation: the end of its name, and what it stores.
type Update = (&'static str, fn(u64, u64, u64) -> u64);

const UPDATES: &[Update] = &[
    ("add", |old, x, _| old.wrapping_add(x)),
    ("sub", |old, x, _| old.wrapping_sub(x)),
    ("and", |old, x, _| old & x),
    ("or", |old, x, _| old | x),
    ("xor", |old, x, _| old ^ x),
    ("xchg", |_, x, _| x),
];

/// The types of an access: of its values, its width in bits, and how names say that.
const WIDTHS: &[(&str, u32, &str, &str)] = &[
    ("i32", 8, "8", "_u"),
    ("i32", 16, "16", "_u"),
    ("i32", 32, "", ""),
    ("i64", 8, "8", "_u"),
    ("i64", 16, "16", "_u"),
    ("i64", 32, "32", "_u"),
    ("i64", 64, "", ""),
];

/// Functions with all atomic accesses to a memory, whose addresses have a type.
fn all_accesses(memory: &str, address: &str, index: u32, offset: u64) -> String {
    let mut text = format!("(module {memory}\n");
    let place = format!("{index} offset={offset}");
    for (kind, bits, width, sign) in WIDTHS {
        let name = format!("{kind}.{bits}");
        text += &format!(
            "(func (export \"load {name}\") (param {address}) (result {kind}) \
               ({kind}.atomic.load{width}{sign} {place} (local.get 0)))\n\
             (func (export \"store {name}\") (param {address} {kind}) \
               ({kind}.atomic.store{width} {place} (local.get 0) (local.get 1)))\n\
             (func (export \"cmpxchg {name}\") (param {address} {kind} {kind}) (result {kind}) \
               ({kind}.atomic.rmw{width}.cmpxchg{sign} {place} \
                 (local.get 0) (local.get 1) (local.get 2)))\n"
        );
        for (update, _) in UPDATES {
            text += &format!(
                "(func (export \"{update} {name}\") (param {address} {kind}) (result {kind}) \
                   ({kind}.atomic.rmw{width}.{update}{sign} {place} \
                     (local.get 0) (local.get 1)))\n"
            );
        }
    }
    text + ")"
}

/// The bits of an argument of a type.
fn cut(kind: &str, bits: u64) -> u64 {
    if kind == "i32" {
        u64::from(bits as u32)
    } else {
        bits
    }
}

/// Carries all accesses out and compares results and memory with what they should be.
fn check_accesses(text: &str, offset: u64) {
    let mut guest = Guest::new(&module(text), None);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for &(kind, bits, ..) in WIDTHS {
        let bytes = u64::from(bits / 8);
        let mask = u64::MAX >> (64 - bits);
        for round in 0..16 {
            let address = 8 * (next() % 64) + bytes * (next() % (8 / bytes));
            let (old, x, y) = (next(), cut(kind, next()), cut(kind, next()));
            // The expected value is the one that is there now and then.
            let expected = if round % 2 == 0 { cut(kind, old) } else { x };
            let known = |value: u64| vec![value & mask];
            let set = |guest: &mut Guest| {
                let name = format!("store {kind}.{bits}");
                let value = cut(kind, old);
                assert_eq!(guest.call(&name, &[address, value]), Ok(vec![]), "{name}");
            };
            let get = format!("load {kind}.{bits}");
            set(&mut guest);
            assert_eq!(guest.call(&get, &[address]), Ok(known(old)));
            for (update, stored) in UPDATES {
                set(&mut guest);
                let name = format!("{update} {kind}.{bits}");
                assert_eq!(guest.call(&name, &[address, x]), Ok(known(old)), "{name}");
                let wanted = known(stored(old, x, y));
                assert_eq!(guest.call(&get, &[address]), Ok(wanted), "{name}");
            }
            set(&mut guest);
            let name = format!("cmpxchg {kind}.{bits}");
            let found = guest.call(&name, &[address, expected, y]);
            assert_eq!(found, Ok(known(old)), "{name}");
            let is_same = (old ^ expected) & mask == 0;
            let wanted = known(if is_same { y } else { old });
            assert_eq!(guest.call(&get, &[address]), Ok(wanted), "{name}");
            if bits > 8 {
                let unaligned = address + 1 + next() % (bytes - 1);
                let found = guest.call(&get, &[unaligned]);
                assert_eq!(found, Err("unaligned atomic".to_owned()));
            }
        }
        for name in ["load", "store", "add", "xor", "cmpxchg"] {
            let name = format!("{name} {kind}.{bits}");
            let count = guest
                .store
                .function_type(guest.function(&name))
                .parameters
                .len();
            let last = (1 << 16) - bytes - offset;
            for (address, is_there) in [(last, true), (last + bytes, false)] {
                let arguments = [address, 0, 0];
                let found = guest.call(&name, &arguments[..count]);
                match found {
                    Ok(_) => assert!(is_there, "{name} {address}"),
                    Err(text) => assert!(!is_there && text.contains("out of bounds"), "{text}"),
                }
            }
        }
    }
}

#[test]
fn atomic_accesses_do_what_they_say() {
    for offset in [0, 8, 24] {
        check_accesses(&all_accesses("(memory 1 1)", "i32", 0, offset), offset);
        check_accesses(
            &all_accesses("(memory 1 1 shared)", "i32", 0, offset),
            offset,
        );
        check_accesses(&all_accesses("(memory i64 1 1)", "i64", 0, offset), offset);
        check_accesses(
            &all_accesses("(memory i64 1 1 shared)", "i64", 0, offset),
            offset,
        );
        let two = "(memory 1) (memory 1 1 shared)";
        check_accesses(&all_accesses(two, "i32", 1, offset), offset);
    }
}

#[test]
fn an_offset_that_no_memory_reaches_is_out_of_bounds() {
    for offset in [1u64 << 33, 1 << 48, 1 << 60, u64::MAX - 7] {
        let text = format!(
            "(module (memory i64 1 1 shared)
               (func (export \"load\") (param i64) (result i64)
                 (i64.atomic.load offset={offset} (local.get 0)))
               (func (export \"wait\") (param i64) (result i32)
                 (memory.atomic.wait64 offset={offset}
                   (local.get 0) (i64.const 0) (i64.const 0)))
               (func (export \"notify\") (param i64) (result i32)
                 (memory.atomic.notify offset={offset} (local.get 0) (i32.const 1))))"
        );
        let mut guest = Guest::new(&module(&text), None);
        for name in ["load", "wait", "notify"] {
            let found = guest.call(name, &[0]);
            assert_eq!(
                found,
                Err("out of bounds memory access".to_owned()),
                "{name}"
            );
            // An address that leads around to the beginning is none.
            let found = guest.call(name, &[0u64.wrapping_sub(offset)]);
            assert_eq!(
                found,
                Err("out of bounds memory access".to_owned()),
                "{name}"
            );
        }
    }
}

/// Functions that lock a mutex at 0, change a number at 8 that is not atomic, and count at 16.
const COUNTER: &str = r#"
(module
  (import "env" "memory" (memory 1 64 shared))
  (func $lock
    (loop $again
      (if (i32.atomic.rmw.cmpxchg (i32.const 0) (i32.const 0) (i32.const 1))
        (then
          (drop (memory.atomic.wait32 (i32.const 0) (i32.const 1) (i64.const -1)))
          (br $again)))))
  (func $unlock
    (i32.atomic.store (i32.const 0) (i32.const 0))
    (drop (memory.atomic.notify (i32.const 0) (i32.const 1))))
  (func (export "count") (param $turns i32)
    (loop $next
      (call $lock)
      (i64.store (i32.const 8) (i64.add (i64.load (i32.const 8)) (i64.const 1)))
      (call $unlock)
      (drop (i64.atomic.rmw.add (i32.const 16) (i64.const 3)))
      (drop (i32.atomic.rmw8.xor_u (i32.const 24) (i32.const 1)))
      (br_if $next (local.tee $turns (i32.sub (local.get $turns) (i32.const 1))))))
  (func (export "grow") (param $turns i32) (result i32)
    (local $grown i32)
    (loop $next
      (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1))
        (then (local.set $grown (i32.add (local.get $grown) (i32.const 1)))))
      ;; The last bytes are there.
      (drop (i32.atomic.rmw.add
        (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 4)) (i32.const 1)))
      (br_if $next (local.tee $turns (i32.sub (local.get $turns) (i32.const 1)))))
    (local.get $grown))
  (func (export "sleep") (param $address i32) (param $expected i32) (param $timeout i64)
    (result i32)
    (memory.atomic.wait32 (local.get $address) (local.get $expected) (local.get $timeout)))
  (func (export "wake") (param $address i32) (param $count i32) (result i32)
    (memory.atomic.notify (local.get $address) (local.get $count)))
  (func (export "pages") (result i32) (memory.size))
  (func (export "move") (param i32 i32 i32)
    (memory.copy (local.get 0) (local.get 1) (local.get 2)))
  (func (export "fill") (param i32 i32 i32)
    (memory.fill (local.get 0) (local.get 1) (local.get 2))))
"#;

/// Calls a function on so many threads at once; gives what it has returned on each.
fn on_threads(
    count: usize,
    memory: &SharedMemory,
    name: &'static str,
    arguments: &'static [u64],
) -> Vec<Vec<u64>> {
    let module = module(COUNTER);
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let (module, memory) = (module.clone(), memory.clone());
            std::thread::spawn(move || {
                let mut guest = Guest::new(&module, Some(&memory));
                guest.call(name, arguments).unwrap()
            })
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

fn number(memory: &SharedMemory, address: u64) -> u64 {
    let mut store = Store::new();
    let number = store.share_memory(memory).unwrap();
    let mut word = [0; 8];
    assert!(store.memory_at(number).unwrap().read(address, &mut word));
    u64::from_le_bytes(word)
}

#[test]
fn threads_count_exactly_under_a_mutex_of_their_own() {
    let memory = shared_memory(1);
    on_threads(4, &memory, "count", &[20_000]);
    assert_eq!(number(&memory, 8), 80_000);
    assert_eq!(number(&memory, 16), 240_000);
    assert_eq!(number(&memory, 24) & 1, 0);
    assert_eq!(number(&memory, 0), 0);
}

#[test]
fn a_memory_grows_while_others_use_it() {
    let memory = shared_memory(64);
    let grown = on_threads(4, &memory, "grow", &[500]);
    let sum: u64 = grown.iter().map(|results| results[0]).sum();
    assert_eq!(sum, 63);
    assert_eq!(memory.size(), 64 << 16);
    // All accesses but those to earlier ends have met the last number.
    assert!(number(&memory, (64 << 16) - 8) >> 32 > 0);
}

#[test]
fn growth_is_seen_by_all_stores() {
    let memory = shared_memory(4);
    let module = module(COUNTER);
    let mut one = Guest::new(&module, Some(&memory));
    let mut other = Guest::new(&module, Some(&memory));
    assert_eq!(one.call("grow", &[2]), Ok(vec![2]));
    assert_eq!(other.call("pages", &[]), Ok(vec![3]));
    assert_eq!(one.call("grow", &[5]), Ok(vec![1]));
    assert_eq!(other.call("pages", &[]), Ok(vec![4]));
    drop(one);
    assert_eq!(other.call("grow", &[1]), Ok(vec![0]));
    drop(memory);
    assert_eq!(other.call("pages", &[]), Ok(vec![4]));
}

#[test]
fn waits_end_by_value_time_and_notification() {
    let memory = shared_memory(1);
    let module = module(COUNTER);
    let mut guest = Guest::new(&module, Some(&memory));
    assert_eq!(guest.call("sleep", &[32, 1, u64::MAX]), Ok(vec![1]));
    assert_eq!(guest.call("sleep", &[32, 0, 0]), Ok(vec![2]));
    assert_eq!(guest.call("sleep", &[32, 0, 2_000_000]), Ok(vec![2]));
    assert_eq!(guest.call("wake", &[32, 5]), Ok(vec![0]));
    let unaligned = Err("unaligned atomic".to_owned());
    assert_eq!(guest.call("sleep", &[34, 0, 0]), unaligned);
    assert_eq!(guest.call("wake", &[33, 0]), unaligned);
    let outside = Err("out of bounds memory access".to_owned());
    assert_eq!(guest.call("sleep", &[1 << 16, 0, 0]), outside);
    assert_eq!(guest.call("wake", &[1 << 16, 0]), outside);
    assert_eq!(memory.notify(2, 1), None);
    assert_eq!(memory.notify(1 << 16, 1), None);
    // Two of three are woken, then the last one.
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (module, memory, sender) = (module.clone(), memory.clone(), sender.clone());
            std::thread::spawn(move || {
                let mut guest = Guest::new(&module, Some(&memory));
                let result = guest.call("sleep", &[32, 0, u64::MAX]);
                sender.send(result).unwrap();
            })
        })
        .collect();
    let mut woken = 0;
    while woken < 2 {
        woken += guest.call("wake", &[32, 2 - woken]).unwrap()[0];
        std::thread::yield_now();
    }
    assert_eq!(receiver.recv(), Ok(Ok(vec![0])));
    assert_eq!(receiver.recv(), Ok(Ok(vec![0])));
    while memory.notify(32, u32::MAX) == Some(0) {
        std::thread::yield_now();
    }
    assert_eq!(receiver.recv(), Ok(Ok(vec![0])));
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_wait_is_an_event_that_ends_with_its_run() {
    let memory = shared_memory(1);
    let mut guest = Guest::new(&module(COUNTER), Some(&memory));
    let sleep = guest.function("sleep");
    let begin = |guest: &mut Guest, timeout: u64| {
        let run = guest.store.begin(sleep, &[32, 0, timeout]).unwrap();
        let Ok(Event::WaitFor(waiter)) = guest.store.proceed(run) else {
            panic!("the run does not wait");
        };
        (run, waiter)
    };
    let (run, waiter) = begin(&mut guest, u64::MAX);
    assert_eq!(waiter.deadline(), None);
    assert!(matches!(guest.store.proceed(run), Ok(Event::WaitFor(_))));
    let (sender, receiver) = mpsc::channel();
    waiter.on_notification(move || sender.send(()).unwrap());
    assert_eq!(memory.notify(32, 9), Some(1));
    assert_eq!(receiver.recv(), Ok(()));
    assert!(matches!(guest.store.proceed(run), Ok(Event::Finished)));
    assert_eq!(guest.store.results(), [0]);
    // Nobody waits any more when the run was abandoned.
    let (run, _) = begin(&mut guest, u64::MAX);
    guest.store.abandon(run);
    assert_eq!(memory.notify(32, 9), Some(0));
    let (run, waiter) = begin(&mut guest, 5_000_000);
    assert!(
        waiter
            .deadline()
            .is_some_and(|ends| ends <= Instant::now() + Duration::from_secs(1))
    );
    waiter.block();
    assert!(matches!(guest.store.proceed(run), Ok(Event::Finished)));
    assert_eq!(guest.store.results(), [2]);
    assert_eq!(memory.notify(32, 9), Some(0));
    // A notification of a run that is abandoned goes to the next one.
    let (first, _) = begin(&mut guest, u64::MAX);
    let mut other = Guest::new(&module(COUNTER), Some(&memory));
    let (second, _) = begin(&mut other, u64::MAX);
    assert_eq!(memory.notify(32, 1), Some(1));
    assert!(matches!(other.store.proceed(second), Ok(Event::WaitFor(_))));
    guest.store.abandon(first);
    assert!(matches!(other.store.proceed(second), Ok(Event::Finished)));
    assert_eq!(other.store.results(), [0]);
    assert_eq!(memory.notify(32, 9), Some(0));
    // The end of a store ends its waits.
    begin(&mut guest, u64::MAX);
    drop(guest);
    assert_eq!(memory.notify(32, 9), Some(0));
}

#[test]
fn bulk_operations_work_on_shared_memories() {
    let memory = shared_memory(1);
    let mut guest = Guest::new(&module(COUNTER), Some(&memory));
    guest.call("fill", &[100, 7, 50]).unwrap();
    guest.call("move", &[120, 110, 100]).unwrap();
    let mut wanted = vec![0u8; 256];
    wanted[100..150].fill(7);
    wanted.copy_within(110..210, 120);
    let number = guest.store.share_memory(&memory).unwrap();
    let there = guest.store.memory_at(number).unwrap();
    assert_eq!(there.copy(0, 256), Some(wanted));
    assert_eq!(there.copy(1 << 16, 1), None);
    assert!(there.bytes().is_none());
    assert!(guest.store.memory_bytes_mut(number).is_none());
    for name in ["fill", "move"] {
        let found = guest.call(name, &[65_530, 0, 7]);
        assert_eq!(found, Err("out of bounds memory access".to_owned()));
    }
}

#[test]
fn only_shared_memories_are_waited_for_and_shared() {
    let text = "(module (memory (export \"memory\") 1 1)
      (func (export \"sleep\") (result i32)
        (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const 0)))
      (func (export \"wake\") (result i32)
        (memory.atomic.notify (i32.const 0) (i32.const 1))))";
    let mut guest = Guest::new(&module(text), None);
    let found = guest.call("sleep", &[]);
    assert_eq!(found, Err("expected shared memory".to_owned()));
    assert_eq!(guest.call("wake", &[]), Ok(vec![0]));
    let Some(Extern::Memory(number)) = guest.instance.export(&guest.store, "memory") else {
        panic!("no memory");
    };
    assert!(guest.store.memory_at(number).unwrap().shared().is_none());
    let mut imports = Imports::default();
    imports.add("env", "memory", Extern::Memory(number));
    let error = guest.store.instantiate(&module(COUNTER), &imports);
    let Err(Error::Imports(texts)) = error else {
        panic!("it was linked");
    };
    assert!(
        texts[0].contains("it is a memory of 1 to 1 pages"),
        "{texts:?}"
    );
    assert!(
        texts[0].contains("a shared memory of 1 to 64 pages"),
        "{texts:?}"
    );
}

#[test]
fn a_store_has_a_shared_memory_once_and_counts_it() {
    let memory = shared_memory(8);
    let mut store = Store::new();
    let number = store.share_memory(&memory).unwrap();
    assert_eq!(store.share_memory(&memory), Ok(number));
    assert_eq!(store.memory_bytes(), 1 << 16);
    let mut small = Store::new();
    small.set_memory_limit(Some(100));
    assert!(matches!(
        small.share_memory(&memory),
        Err(Error::NoMemory(_))
    ));
}
