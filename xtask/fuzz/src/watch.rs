//! Watches for cases that do not end, and keeps inputs of findings.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_locks::Mutex;

/// A case that runs longer hangs; the slowest honest ones take well under a second.
const CASE_LIMIT: Duration = Duration::from_secs(60);

struct Case {
    started: Instant,
    input: Vec<u8>,
    seed: u64,
    number: u64,
}

pub struct Watch {
    current: Arc<Mutex<Option<Case>>>,
}

impl Watch {
    /// Starts a thread that ends the process when a case hangs: a running computation cannot be
    /// stopped in any other way.
    pub fn start(target: &'static str) -> Watch {
        let current: Arc<Mutex<Option<Case>>> = Arc::default();
        let watched = Arc::downgrade(&current);
        std::thread::spawn(move || {
            while let Some(current) = watched.upgrade() {
                let guard = current.lock();
                if let Some(case) = guard.as_ref()
                    && case.started.elapsed() > CASE_LIMIT
                {
                    let path = keep(target, &case.input, case.number);
                    eprintln!(
                        "{target}: a case does not end\n  input kept in {path}; again: --seed {} \
                         --first {} --cases 1",
                        case.seed, case.number
                    );
                    std::process::exit(1);
                }
                drop(guard);
                drop(current);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Watch { current }
    }

    pub fn begin(&self, input: &[u8], seed: u64, number: u64) {
        let case = Case {
            started: Instant::now(),
            input: input.to_vec(),
            seed,
            number,
        };
        *self.current.lock() = Some(case);
    }

    pub fn end(&self) {
        *self.current.lock() = None;
    }
}

/// Writes an input to a file; gives its name.
pub fn keep(target: &str, input: &[u8], number: u64) -> String {
    let base = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        Into::into,
    );
    let directory = base.join("fuzz");
    let path = directory.join(format!("{target}-{number}"));
    match std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, input)) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("no file ({error})"),
    }
}
