//! Watches for cases that do not end, and keeps inputs of findings.
//!
//! A signal may end the process, so that its newest case stands in a file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
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
}

/// The file with the newest case of this process, if another one started it.
static PLACE: OnceLock<File> = OnceLock::new();

/// Bytes of a line of that file: the case, and whether the other engine runs.
const LINE_BYTES: usize = 100;

fn write_line(number: usize, text: &str) {
    if let Some(place) = PLACE.get() {
        let line = format!("{text:0$}\n", LINE_BYTES - 1);
        // Without it, a signal is a finding all the same.
        let _ = place.write_all_at(line.as_bytes(), (number * LINE_BYTES) as u64);
    }
}

/// Notes whether the other engine runs.
pub fn note_others(run: bool) {
    write_line(1, if run { "others" } else { "" });
}

/// The case at which a process has ended.
pub struct Newest {
    /// Options that repeat it.
    pub words: String,
    pub number: u64,
    /// Whether the other engine ran.
    pub is_of_others: bool,
}

/// Takes the newest case of the worker that a process has started.
pub fn take_newest(process: u32) -> Option<Newest> {
    let place = place_of_worker(process);
    let text = std::fs::read_to_string(&place);
    // It is there only if cases were run.
    let _ = std::fs::remove_file(&place);
    let text = text.ok()?;
    let mut lines = text.lines();
    let words = lines.next()?.trim().to_owned();
    let mut numbers = words.split(' ').skip_while(|word| *word != "--first");
    let number = numbers.nth(1)?.parse().ok()?;
    let is_of_others = lines.next().is_some_and(|line| line.trim() == "others");
    Some(Newest {
        words,
        number,
        is_of_others,
    })
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
        let parent = std::env::var(crate::WORKER).ok();
        let place =
            parent.and_then(|number| File::create(place_of_worker(number.parse().ok()?)).ok());
        if let Some(place) = place {
            // Each process has one target.
            let _ = PLACE.set(place);
        }
        Watch { target, current }
    }

    pub fn begin(&self, input: &[u8], seed: u64, number: u64) {
        let case = Case {
            started: Instant::now(),
            input: input.to_vec(),
            seed,
            number,
        };
        *self.current.lock() = Some(case);
        let words = format!("{} --seed {seed} --first {number} --cases 1", self.target);
        write_line(0, &words);
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
fn place_of_worker(process: u32) -> PathBuf {
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
