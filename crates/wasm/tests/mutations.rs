//! Modules with wrong bytes: they are refused or run, within their limits, and nothing else happens.

use std::path::Path;

use canny_wasm::{Event, Extern, Function, Imports, Module, Store, ValueType};
use wast::parser::{self, ParseBuffer};
use wast::{Wast, WastDirective};

/// A generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The results of a call within limits, if it ends without waiting for another thread.
fn call(store: &mut Store, function: Function, arguments: &[u64]) -> Option<Vec<u64>> {
    store.set_fuel(Some(5000));
    let run = store.begin(function, arguments).ok()?;
    loop {
        match store.proceed(run).ok()? {
            Event::Finished => return Some(store.results().to_vec()),
            Event::WaitFor(_) => {
                store.abandon(run);
                return None;
            }
            _ => {}
        }
    }
}

/// Calls each exported function of a module with numbers; gives whether the module was valid.
fn try_module(bytes: Vec<u8>) -> bool {
    let Ok(module) = Module::new(bytes) else {
        return false;
    };
    let mut store = Store::new();
    store.set_memory_limit(Some(64 << 20));
    let Ok(instance) = store.instantiate(&module, &Imports::default()) else {
        return true;
    };
    for (_, export) in instance.exports(&store) {
        let Extern::Function(function) = export else {
            continue;
        };
        let kind = store.function_type(function);
        let is_number = |kind: &ValueType| !matches!(kind, ValueType::Reference { .. });
        if kind.parameters.iter().all(is_number) {
            let arguments = vec![3; kind.parameter_slots()];
            if let Some(results) = call(&mut store, function, &arguments) {
                assert_eq!(results.len(), kind.result_slots());
            }
        }
    }
    true
}

#[test]
fn arguments_are_counted() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/wasm");
    let module = Module::new(std::fs::read(directory.join("fib.wasm")).unwrap()).unwrap();
    let mut store = Store::new();
    let instance = store.instantiate(&module, &Imports::default()).unwrap();
    let Some(Extern::Function(run)) = instance.export(&store, "run") else {
        panic!("the guest exports no function");
    };
    for count in [0, 2, 100_000] {
        let trap = store.call(run, &vec![1; count]).unwrap_err().to_string();
        assert!(trap.contains("arguments"), "{trap}");
    }
    assert_eq!(store.call(run, &[10]).unwrap(), [55]);
}

/// Tries a module with wrong bytes, so many times; gives how many of these were valid.
fn try_changed(bytes: &[u8], times: usize, random: &mut Random) -> usize {
    let mut valid = 0;
    for _ in 0..times {
        let mut changed = bytes.to_vec();
        for _ in 0..=random.next() % 3 {
            let place = (random.next() % changed.len() as u64) as usize;
            changed[place] = random.next() as u8;
        }
        valid += usize::from(try_module(changed));
    }
    valid
}

/// The modules of a script.
fn modules_of(script: &str) -> Vec<Vec<u8>> {
    let buffer = ParseBuffer::new(script).unwrap();
    let script: Wast = parser::parse(&buffer).unwrap();
    let modules = script.directives.into_iter().filter_map(|directive| {
        let WastDirective::Module(mut module) = directive else {
            return None;
        };
        Some(module.encode().unwrap())
    });
    modules.collect()
}

#[test]
fn wrong_bytes_do_no_harm() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/wasm");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut valid, mut tried) = (0, 0);
    for name in [
        "fib",
        "json",
        "loop",
        "mandelbrot",
        "matmul",
        "nbody",
        "sha256",
        "sort",
    ] {
        let bytes = std::fs::read(directory.join(format!("{name}.wasm"))).unwrap();
        valid += try_changed(&bytes, 150, &mut random);
        tried += 150;
    }
    assert!(valid > 100 && tried - valid > 100, "{valid} of {tried}");
}

#[test]
fn wrong_bytes_among_objects_do_no_harm() {
    let mut random = Random(0x1357_9bdf_0246_8ace);
    let (mut valid, mut tried) = (0, 0);
    for module in modules_of(include_str!("scripts/objects.wast")) {
        valid += try_changed(&module, 500, &mut random);
        tried += 500;
    }
    assert!(valid > 100 && tried - valid > 100, "{valid} of {tried}");
}

#[test]
fn wrong_bytes_among_atomic_accesses_do_no_harm() {
    let mut random = Random(0x0f1e_2d3c_4b5a_6978);
    let (mut valid, mut tried) = (0, 0);
    for module in modules_of(include_str!("scripts/threads.wast")) {
        valid += try_changed(&module, 2000, &mut random);
        tried += 2000;
    }
    assert!(valid > 100 && tried - valid > 100, "{valid} of {tried}");
}

#[test]
fn wrong_bytes_among_vectors_and_exceptions_do_no_harm() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut valid, mut tried) = (0, 0);
    let mut modules = modules_of(include_str!("scripts/vectors.wast"));
    modules.extend(modules_of(include_str!("scripts/exceptions.wast")));
    for module in modules {
        valid += try_changed(&module, 500, &mut random);
        tried += 500;
    }
    assert!(valid > 100 && tried - valid > 100, "{valid} of {tried}");
}
