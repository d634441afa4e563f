//! Watches for cases that do not end, and keeps inputs of findings.
//!
//! A signal may end the process, so that its newest case stands in a file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
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
    target: &'static str,
    current: Arc<Mutex<Option<Case>>>,
    place: Option<File>,
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
        let place = std::env::var(crate::WORKER).ok();
        let place =
            place.and_then(|number| File::create(place_of_worker(number.parse().ok()?)).ok());
        Watch {
            target,
            current,
            place,
        }
    }

    pub fn begin(&self, input: &[u8], seed: u64, number: u64) {
        let case = Case {
            started: Instant::now(),
            input: input.to_vec(),
            seed,
            number,
        };
        *self.current.lock() = Some(case);
        if let Some(place) = &self.place {
            let words = format!("{} --seed {seed} --first {number} --cases 1", self.target);
            // Without it, a signal is a finding all the same.
            let _ = place.write_all_at(format!("{words:100}\n").as_bytes(), 0);
        }
    }

    pub fn end(&self) {
        *self.current.lock() = None;
    }
}

fn directory() -> PathBuf {
    let base: PathBuf = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        Into::into,
    );
    base.join("fuzz")
}

/// The file with the newest case of the worker that a process has started.
pub fn place_of_worker(process: u32) -> PathBuf {
    std::env::temp_dir().join(format!("canny-fuzz-{process}"))
}

/// Writes an input to a file; gives its name.
pub fn keep(target: &str, input: &[u8], number: u64) -> String {
    let directory = directory();
    let path = directory.join(format!("{target}-{number}"));
    match std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&path, input)) {
        Ok(()) => path.display().to_string(),
        Err(error) => format!("no file ({error})"),
    }
}
