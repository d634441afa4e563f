//! Heap snapshots: what is alive and who holds it, written to a file while the program goes on.
//!
//! All threads stand still while the roots are listed and the process is forked. Its child has a copy of
//! the heap as it was then, walks through it and writes the file. The memory is shared until the program
//! changes it. A child is a process with one thread: locks that other threads held stay held in it. So it
//! takes none, and what it needs to know of the machine was put aside before ([`types::Context`]).
//!
//! Where no child can be made the snapshot is written in place, if the heap is small enough for the
//! program to stand still meanwhile.

mod child;
mod extras;
mod frames;
mod rules;
mod sink;
mod summary;
mod types;
mod waits;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use canny_heap::{Origins, RootListing, Standstill};
use canny_locks::Mutex;
use canny_snapshot::file::{Info, SnapshotFacts, Way, Writer};

use self::child::Child;
use self::extras::Extras;
pub use self::rules::{Asked, SnapshotRules, SnapshotWatch};
use self::sink::FileSink;
use self::summary::Sums;
pub use self::summary::{SummaryRow, grown};
use self::types::{Context, Known};
use self::waits::WaitNames;
use crate::Vm;
use crate::profile::places::PlacesNow;
use crate::thread::Thread;

/// Largest heap that is written in place where no child can be made: the program stands still for about
/// a second.
const IN_PLACE_BYTES_MAX: usize = 256 << 20;

/// How a snapshot is taken.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// Why: one of the words in the description of the format.
    pub reason: String,
    /// Whether the file has the beginnings of strings.
    pub has_previews: bool,
    /// Whether there is a full collection right before, for which the program stands still, too.
    pub collects: bool,
    /// Whether the process itself writes it.
    pub is_in_place: bool,
    /// Whether it has objects and bytes by type only, which the process itself counts after a collection.
    pub is_summary: bool,
    /// Bytes that the host holds for an object that was registered with an id, if known. It is asked in a
    /// copy of the process, and must not wait for a lock.
    pub held_bytes: Option<fn(&Vm, u64) -> Option<u64>>,
    pub program: String,
    pub arguments: Vec<String>,
}

impl Default for SnapshotOptions {
    fn default() -> SnapshotOptions {
        SnapshotOptions {
            reason: "asked".to_owned(),
            has_previews: true,
            collects: false,
            is_in_place: false,
            is_summary: false,
            held_bytes: None,
            program: String::new(),
            arguments: Vec::new(),
        }
    }
}

/// Why there is no snapshot.
#[derive(Debug)]
pub enum SnapshotError {
    /// One is being written.
    Busy,
    /// The file cannot be written, or belongs to another process.
    Output(String),
    /// No child could be made, and the heap is too large to stand still for.
    TooLarge { bytes: usize, problem: io::Error },
    /// The child ended before it was done.
    Lost(String),
}

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SnapshotError::Busy => f.write_str("a snapshot of the heap is being written"),
            SnapshotError::Output(problem) => f.write_str(problem),
            SnapshotError::TooLarge { bytes, problem } => write!(
                f,
                "the process cannot be copied ({problem}), and a heap of {} MB is too large to stand \
                 still for",
                bytes >> 20
            ),
            SnapshotError::Lost(problem) => {
                write!(
                    f,
                    "the process that wrote the snapshot has ended: {problem}"
                )
            }
        }
    }
}

impl std::error::Error for SnapshotError {}

/// The facts about a snapshot that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotReport {
    pub objects: u64,
    pub bytes: u64,
    /// Bytes by which the file grew.
    pub written: u64,
    /// For so long the program stood still.
    pub stopped: Duration,
    /// For so long it was written.
    pub taken: Duration,
    pub is_in_place: bool,
}

/// A snapshot that is being written.
pub struct PendingSnapshot {
    place: SnapshotPlace,
    stopped: Duration,
    began: Instant,
    state: State,
}

#[derive(Debug)]
enum State {
    Child(Child),
    Done(Result<SnapshotReport, String>),
}

/// The state that the machine keeps for snapshots.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    is_busy: Arc<AtomicBool>,
    /// Device and number of the file with the last snapshot, if that was written. Objects can be followed
    /// from there.
    last: Arc<Mutex<Option<FileId>>>,
    started: OnceLock<u64>,
}

/// Device and number of a file.
type FileId = (u64, u64);

/// The right to write a snapshot, which one at a time has.
struct SnapshotPlace {
    is_busy: Arc<AtomicBool>,
    last: Arc<Mutex<Option<FileId>>>,
    /// Whether the file of the last snapshot is still that: this one is written, or none was begun.
    keeps_last: bool,
}

impl Drop for SnapshotPlace {
    fn drop(&mut self) {
        if !self.keeps_last {
            *self.last.lock() = None;
        }
        self.is_busy.store(false, Ordering::Release);
    }
}

/// For how long the program stood still, when the snapshot was begun, and who writes it.
type Begun = (Duration, Instant, State);

impl Thread {
    /// Begins to write a snapshot of the heap to a file: an empty one, or one that has snapshots of this
    /// process already. The file is opened while this machine writes no other snapshot.
    pub fn begin_snapshot(
        &mut self,
        open: impl FnOnce() -> Result<File, String>,
        options: &SnapshotOptions,
    ) -> Result<PendingSnapshot, SnapshotError> {
        // Allocations that nobody has read yet have no places.
        self.read_samples();
        let vm = self.vm().clone();
        let place = vm.snapshots.take_place().ok_or(SnapshotError::Busy)?;
        let file = open().map_err(SnapshotError::Output)?;
        let known = Known::of(self);
        let begun = self
            .mutator()
            .stand_still(|still| write_or_fork(&vm, still, file, &known, options))?;
        Ok(PendingSnapshot::new(place, begun))
    }
}

impl Vm {
    /// The start of this process as its files say it, if a snapshot was taken.
    pub fn snapshots_started(&self) -> Option<u64> {
        self.snapshots.started.get().copied()
    }

    /// Does something while this machine writes no snapshot; `None` if it is writing one.
    pub fn between_snapshots<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        let mut place = self.snapshots.take_place()?;
        place.keeps_last = true;
        Some(work())
    }
}

/// Takes a snapshot while nothing runs.
fn write_or_fork(
    vm: &Vm,
    still: &mut Standstill<'_>,
    file: File,
    known: &Known,
    options: &SnapshotOptions,
) -> Result<Begun, SnapshotError> {
    let began = Instant::now();
    sink::prepare();
    if options.collects || options.is_summary {
        still.collect();
    }
    let snapshot = Snapshot {
        vm,
        places: vm.profiler.places_now(),
        machine_code: vm.specializer.machine_code_now(),
        info: vm.snapshots.info(still, options),
        context: Context {
            known,
            units: vm.units.all(),
            waits: WaitNames::of(vm),
            has_previews: options.has_previews,
            base: still.base(),
        },
        options,
        began,
    };
    let id = file.metadata().ok().map(|data| (data.dev(), data.ino()));
    // Objects are followed from one snapshot with a graph to the next.
    let last = if options.is_summary {
        None
    } else {
        std::mem::replace(&mut *vm.snapshots.last.lock(), id)
    };
    let follows = id.is_some() && id == last;
    let mut listing = Some(still.list_roots());
    let mut write = |still: &mut Standstill<'_>, file: File, way, stopped| {
        let listing = listing.take().unwrap_or_default();
        let origins = if follows { still.origins() } else { None };
        let is_empty = file.metadata().is_ok_and(|data| data.len() == 0);
        let kept = file.try_clone().map_err(|error| error.to_string())?;
        let result = snapshot.write(still, listing, origins, file, way, stopped);
        if result.is_err() && is_empty {
            // The beginning of a file is of no use, and takes room on a disk that is full.
            let _ = kept.set_len(0).and_then(|()| (&kept).rewind());
        }
        result
    };
    let problem = if options.is_in_place || options.is_summary {
        None
    } else {
        let work = |file, stopped| write(still, file, Way::Fork, stopped);
        match child::fork(&file, began, work) {
            Ok(child) => {
                still.track();
                return Ok((began.elapsed(), began, State::Child(child)));
            }
            Err(problem) => Some(problem),
        }
    };
    let bytes = still.bytes_in_use();
    if let Some(problem) = problem
        && bytes > IN_PLACE_BYTES_MAX
    {
        return Err(SnapshotError::TooLarge { bytes, problem });
    }
    let way = if options.is_summary {
        Way::Summary
    } else {
        Way::InPlace
    };
    let report = write(still, file, way, Duration::ZERO);
    if !options.is_summary {
        still.track();
    }
    Ok((began.elapsed(), began, State::Done(report)))
}

impl Snapshots {
    /// The right to write a snapshot, unless somebody has it.
    fn take_place(&self) -> Option<SnapshotPlace> {
        let was_busy = self.is_busy.swap(true, Ordering::AcqRel);
        (!was_busy).then(|| SnapshotPlace {
            is_busy: self.is_busy.clone(),
            last: self.last.clone(),
            keeps_last: false,
        })
    }

    /// The process as files describe it.
    fn info(&self, still: &Standstill<'_>, options: &SnapshotOptions) -> Info {
        let started = *self.started.get_or_init(|| milliseconds(SystemTime::now()));
        Info {
            program: options.program.clone(),
            arguments: options.arguments.clone(),
            pid: u64::from(std::process::id()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            base: format!("{:x}", still.base()),
            ..Info::default()
        }
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

/// All that is needed to write a snapshot.
struct Snapshot<'o> {
    vm: &'o Vm,
    /// Held while the process is copied, so that the copy may read it.
    places: Option<PlacesNow<'o>>,
    /// Bytes of machine code by the address of its code.
    machine_code: HashMap<usize, usize>,
    info: Info,
    context: Context<'o>,
    options: &'o SnapshotOptions,
    began: Instant,
}

impl Snapshot<'_> {
    fn write(
        &self,
        still: &mut Standstill<'_>,
        listing: RootListing,
        origins: Option<Origins>,
        file: File,
        way: Way,
        stopped: Duration,
    ) -> Result<SnapshotReport, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let is_empty = file.metadata().map_err(|error| text(&error))?.len() == 0;
        let mut writer = if is_empty {
            Writer::create(file, &self.info).map_err(|error| text(&error))?
        } else {
            Writer::append(file, &self.info).map_err(|error| text(&error))?
        };
        if let Some(origins) = origins.filter(|_| !is_empty) {
            writer.moves(&origins.new, &origins.moves);
        }
        let heap = still.bytes_in_use() as u64;
        let outside = still.bytes_outside() as u64;
        let mut summary = Vec::new();
        let mut extras = Extras::of(still, self);
        if way == Way::Summary {
            let mut sums = Sums::new(&self.context);
            still.each_object(|object| {
                sums.add(object);
                extras.count(object);
            });
            summary = summary::in_file(sums.into_rows(), |row| writer.type_number(row));
        } else {
            let reached = still.reach(listing);
            let mut sink = FileSink::new(&mut writer, &self.context, &mut extras);
            reached.walk(&mut sink);
        }
        let taken = self.began.elapsed();
        let stopped = if way == Way::Fork { stopped } else { taken };
        let facts = SnapshotFacts {
            time: milliseconds(SystemTime::now()),
            reason: self.options.reason.clone(),
            way,
            stopped: stopped.as_micros() as u64,
            taken: taken.as_millis() as u64,
            has_previews: self.options.has_previews,
            heap,
            outside: outside.max(extras.outside),
            summary,
            places: extras.into_places(),
        };
        let summary = writer
            .finish_snapshot(facts)
            .map_err(|error| text(&error))?;
        Ok(SnapshotReport {
            objects: summary.objects,
            bytes: summary.bytes,
            written: summary.written,
            stopped,
            taken: self.began.elapsed(),
            is_in_place: way != Way::Fork,
        })
    }
}

impl PendingSnapshot {
    fn new(place: SnapshotPlace, (stopped, began, state): Begun) -> PendingSnapshot {
        PendingSnapshot {
            place,
            stopped,
            began,
            state,
        }
    }

    /// For so long the program stood still.
    pub fn stopped(&self) -> Duration {
        self.stopped
    }

    /// Waits until the file is written. It blocks the thread, which must be in a native region or none of
    /// the machine's.
    pub fn wait(mut self) -> Result<SnapshotReport, SnapshotError> {
        let state = std::mem::replace(&mut self.state, State::Done(Err(String::new())));
        let mut report = match state {
            State::Child(child) => child.wait().map_err(|problem| match problem {
                child::Problem::Told(text) => SnapshotError::Output(text),
                child::Problem::Ended(how) => SnapshotError::Lost(how),
            })?,
            State::Done(result) => result.map_err(SnapshotError::Output)?,
        };
        self.place.keeps_last = true;
        report.stopped = self.stopped;
        report.taken = self.began.elapsed();
        Ok(report)
    }
}

impl Drop for PendingSnapshot {
    fn drop(&mut self) {
        if let State::Child(child) = &mut self.state {
            child.abandon();
        }
    }
}
