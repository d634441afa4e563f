//! Modules with wrong bytes: they are refused or run, within their limits, and nothing else happens.

use std::path::Path;

use canny_wasm::{Extern, Imports, Limits, Module, Store, ValueType};

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

/// Calls each exported function of a module with numbers; gives whether the module was valid.
fn try_module(bytes: Vec<u8>) -> bool {
    let Ok(module) = Module::new(bytes) else {
        return false;
    };
    let mut store = Store::new();
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
            let arguments = vec![3; kind.parameters.len()];
            let limits = Limits {
                fuel: Some(5000),
                ..Limits::default()
            };
            if let Ok(results) = store.call_within(function, &arguments, limits) {
                assert_eq!(results.len(), kind.results.len());
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

#[test]
fn wrong_bytes_do_no_harm() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/wasm");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut valid, mut invalid) = (0, 0);
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
        for _ in 0..150 {
            let mut changed = bytes.clone();
            for _ in 0..=random.next() % 3 {
                let place = (random.next() % changed.len() as u64) as usize;
                changed[place] = random.next() as u8;
            }
            if try_module(changed) {
                valid += 1;
            } else {
                invalid += 1;
            }
        }
    }
    assert!(
        valid > 100 && invalid > 100,
        "{valid} valid, {invalid} invalid"
    );
}
