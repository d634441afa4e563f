//! A debugger without people, for tests: it stops a program everywhere or steps through all of it, looks
//! at frames and variables, and continues. The program must not notice.
//!
//! Its stops are bounded, since each costs as much as thousands of instructions: a place stops a few
//! times and passes from then on; when all have passed often enough, their breaks are taken away, and
//! the rest of the program runs at full speed.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use canny_lib::debug::parts;
use canny_locks::Mutex;
use canny_vm::Thread;
use canny_vm::debug::{
    Breakpoint, BreakpointId, Client, Granularity, Location, Reason, Resume, StepKind, Stop,
    Verdict,
};

/// Breaks that are met before all of them are taken away.
const HITS_MAX: u64 = 1_000_000;
/// Bytes of the texts that are made of values.
const TEXT_BYTES: usize = 100;
/// Frames that are looked at.
const FRAMES: usize = 6;
/// Stops of a place at which frames and variables are looked at.
const LOOKS: u64 = 2;

/// The wishes of the environment.
#[derive(Clone, Debug, Default)]
pub struct Automatic {
    /// How often each place stops; not at all for zero.
    pub breaks: u64,
    /// How many steps are gone; none for zero.
    pub steps: u64,
    /// Gets a line for each stop.
    pub log: Option<PathBuf>,
}

impl Automatic {
    pub fn is_wanted(&self) -> bool {
        self.breaks > 0 || self.steps > 0
    }

    /// Begins to stop or to step.
    pub fn begin(&self, thread: &mut Thread) {
        let log = self.log.as_ref().map(|path| {
            let file = File::create(path);
            file.unwrap_or_else(|error| panic!("CANNY_DEBUG_LOG: {}: {error}", path.display()))
        });
        let met = Arc::new(Met {
            breaks: self.breaks,
            hits: AtomicU64::new(0),
            by_place: Mutex::default(),
        });
        let client = Arc::new(Machine {
            met: met.clone(),
            breakpoint: Mutex::new(None),
            steps_left: AtomicU64::new(self.steps),
            log: log.map(Mutex::new),
        });
        let debugger = thread.vm().debugger();
        debugger.set_client(Some(client.clone()));
        if self.steps > 0 {
            // Each task begins with a step.
            debugger.pause_all(true);
            thread.pause();
        }
        if self.breaks > 0 {
            let mut breakpoint = Breakpoint::new(Location::Everywhere);
            breakpoint.condition = Some(Arc::new(move |stop| met.verdict(stop)));
            *client.breakpoint.lock() = Some(thread.set_breakpoint(breakpoint));
        }
    }
}

/// Breaks that were met.
struct Met {
    breaks: u64,
    hits: AtomicU64,
    by_place: Mutex<HashMap<usize, u64>>,
}

impl Met {
    fn verdict(&self, stop: &mut Stop<'_>) -> Verdict {
        if self.hits.fetch_add(1, Ordering::Relaxed) >= HITS_MAX {
            return Verdict::Stop;
        }
        let mut by_place = self.by_place.lock();
        let hits = by_place.entry(stop.address()).or_default();
        *hits += 1;
        if *hits > self.breaks {
            Verdict::Pass
        } else {
            Verdict::Stop
        }
    }

    /// How often a place has stopped.
    fn stops_at(&self, address: usize) -> u64 {
        self.by_place.lock().get(&address).copied().unwrap_or(0)
    }
}

/// The client.
struct Machine {
    met: Arc<Met>,
    /// All the breaks.
    breakpoint: Mutex<Option<BreakpointId>>,
    steps_left: AtomicU64,
    log: Option<Mutex<File>>,
}

impl Client for Machine {
    fn stopped(&self, stop: &mut Stop<'_>) -> Resume {
        if let Some(log) = &self.log {
            // A test fails that finds no line.
            let _ = writeln!(log.lock(), "{}", described(stop));
        }
        if stop.reason() == Reason::Step {
            return self.step(stop);
        }
        if self.met.hits.load(Ordering::Relaxed) > HITS_MAX {
            let breakpoint = self.breakpoint.lock().take();
            if let Some(breakpoint) = breakpoint {
                stop.thread().remove_breakpoint(breakpoint);
            }
        } else if self.met.stops_at(stop.address()) <= LOOKS {
            look_around(stop);
        }
        Resume::Continue
    }
}

impl Machine {
    fn step(&self, stop: &mut Stop<'_>) -> Resume {
        let left = self.steps_left.load(Ordering::Relaxed);
        self.steps_left
            .store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            stop.debugger().pause_all(false);
            return Resume::Continue;
        }
        look_around(stop);
        Resume::Step(StepKind::In, Granularity::Expression)
    }
}

/// Reads frames and variables, as an editor would.
fn look_around(stop: &mut Stop<'_>) {
    let frames = stop.frames(0, FRAMES);
    assert!(!frames.is_empty(), "a task that stands still has a frame");
    for frame in 0..frames.len() {
        for variable in stop.variables(frame) {
            let Some(value) = variable.value else {
                continue;
            };
            let value = stop.thread().protected(value);
            parts::brief(stop.thread(), value, TEXT_BYTES);
        }
    }
}

/// A stop in one line.
fn described(stop: &mut Stop<'_>) -> String {
    let frame = stop.frames(0, 1).pop();
    let name = frame.as_ref().and_then(|frame| frame.name.clone());
    let place = frame.and_then(|frame| frame.position);
    let place = place.map(|place| format!("{}:{}", place.file, place.line));
    format!(
        "{} {}",
        name.unwrap_or_else(|| "-".to_owned()),
        place.unwrap_or_else(|| "-".to_owned())
    )
}
