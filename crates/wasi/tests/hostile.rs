//! Guests that call every function with numbers that make no sense: an error or a trap is all that comes
//! of it, and nothing outside of their directory changes.

use canny_io::Handle;
use canny_wasi::{Directory, MODULE, Settings, Wasi};
use canny_wasm::{Event, Extern, Module, Store, Trap};

/// A module that exports each function of WASI as it is.
fn forwarding(shared: &str) -> String {
    let mut text = String::from("(module\n");
    let mut exports = format!("(memory (export \"memory\") 1 1 {shared})\n");
    for (name, letters) in Wasi::functions() {
        let parameters: Vec<&str> = letters
            .bytes()
            .map(|letter| if letter == b'l' { "i64" } else { "i32" })
            .collect();
        let result = match name {
            "proc_exit" => "",
            _ => "(result i32)",
        };
        let parameters = parameters.join(" ");
        text += &format!(
            "(import \"{MODULE}\" \"{name}\" (func ${name} (param {parameters}) {result}))\n"
        );
        exports += &format!("(export \"{name}\" (func ${name}))\n");
    }
    text + &exports + ")"
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

    /// A number at which something may go wrong.
    fn argument(&mut self) -> u64 {
        let edges = [
            0, 1, 2, 3, 4, 5, 8, 64, 1000, 65_000, 65_535, 65_536, 65_537,
        ];
        let far = [
            u64::MAX,
            u64::from(u32::MAX),
            u64::MAX - 7,
            1 << 31,
            1 << 63,
            1 << 33,
        ];
        match self.next() % 8 {
            0..=4 => edges[self.next() as usize % edges.len()],
            5 => far[self.next() as usize % far.len()],
            6 => self.next() % 70_000,
            _ => self.next(),
        }
    }
}

#[test]
fn senseless_arguments_do_no_harm() {
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(outer.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../secret", inner.join("out")).unwrap();
    let modules =
        ["", "shared"].map(|shared| Module::read(forwarding(shared).into_bytes()).unwrap());
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let mut answers = [0; 2];
    for round in 0..40 {
        let wasi = Wasi::new(Settings {
            arguments: vec!["guest".into()],
            environment: vec![("NAME".into(), "value".into())],
            directories: vec![Directory {
                path: inner.clone(),
                name: "/".into(),
                read_only: round % 4 == 3,
            }],
            listeners: Vec::new(),
            streams: [Some(Handle::memory(b"some input".to_vec())), None, None],
        });
        let wasi = wasi.unwrap();
        let mut store = Store::new();
        let imports = Wasi::functions().map(|(name, _)| {
            let function = wasi.function(&mut store, name);
            function.map(Extern::Function)
        });
        let imports: Vec<Option<Extern>> = imports.collect();
        let (instance, _) = store.prepare(&modules[round % 2], &imports).unwrap();
        wasi.bind(&store, instance);
        let Some(Extern::Memory(memory)) = instance.export(&store, "memory") else {
            panic!("the memory is exported");
        };
        let names: Vec<(&str, &str)> = Wasi::functions().collect();
        for _ in 0..2500 {
            let bytes = store.memory_at_mut(memory).unwrap();
            for _ in 0..8 {
                let word = numbers.argument().to_le_bytes();
                assert!(bytes.write(numbers.next() % 1000, &word));
            }
            assert!(bytes.write(64, b"../secret/."));
            let (name, letters) = names[numbers.next() as usize % names.len()];
            let Some(Extern::Function(function)) = instance.export(&store, name) else {
                panic!("{name} is exported");
            };
            let arguments: Vec<u64> = letters.bytes().map(|_| numbers.argument()).collect();
            let run = store.begin(function, &arguments).unwrap();
            loop {
                match store.proceed(run) {
                    Ok(Event::Pause) => {}
                    Ok(Event::Finished) => {
                        answers[usize::from(store.results()[0] != 0)] += 1;
                        break;
                    }
                    // It waits for a time that does not come.
                    Ok(_) => {
                        store.abandon(run);
                        break;
                    }
                    Err(Trap::Exit(_)) => break,
                    Err(trap) => panic!("{name} {arguments:?}: {trap}"),
                }
            }
        }
    }
    assert!(answers.iter().all(|count| *count > 1000), "{answers:?}");
    let outside: Vec<_> = std::fs::read_dir(outer.path()).unwrap().collect();
    assert_eq!(outside.len(), 2);
    assert_eq!(
        std::fs::read(outer.path().join("secret")).unwrap(),
        b"secret"
    );
}
