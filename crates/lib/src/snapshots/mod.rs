//! Snapshots of a machine's heap in files, for programs, for the command line and for those who ask
//! from outside. Below: snapshots that rules ask for; work that a program waits for.

pub(crate) mod jobs;
mod watch;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_snapshot::file::Error;
use canny_snapshot::heap::Series;
use canny_vm::survey::{SnapshotError, SnapshotOptions, SnapshotReport};
use canny_vm::{Thread, Vm};

use crate::host;
use crate::primitives::system::command_line_words;

pub(crate) use self::watch::HeapWatch;
pub use self::watch::{WatchReport, WatchedFile, Watcher, check_unwatched, end_watch, watch};

/// Longest wait for another snapshot that is being written.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time between two looks whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Why a file with something else is left as it is.
pub const NOT_OVERWRITTEN: &str =
    "it is no file of heap snapshots, and is not overwritten; expected a new file";

/// Opens a file for snapshots, which is made if it is not there. Its contents stay.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Makes a file ready for snapshots of this process, as [`prepare`] does, while none is being written.
pub fn prepare_alone(thread: &mut Thread, path: &Path, replaces: bool) -> Result<(), String> {
    let vm = thread.vm().clone();
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        if let Some(file) = vm.between_snapshots(|| prepare(&vm, path, replaces)) {
            return file.map(drop);
        }
        if Instant::now() >= deadline {
            return Err(SnapshotError::Busy.to_string());
        }
        thread.block_outside_heap(|| std::thread::sleep(LOOK_EVERY));
    }
}

/// Makes a file ready for snapshots of this process, of which none may be being written. Snapshots of
/// another process are an error, or are deleted; a file with anything else is never changed. Errors do
/// not name the file.
pub fn prepare(vm: &Vm, path: &Path, replaces: bool) -> Result<File, String> {
    let failed = |error: io::Error| format!("it cannot be written: {error}");
    let file = open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() || data.len() == 0 {
        return Ok(file);
    }
    let problem = match Series::open(path) {
        Ok(series) => {
            let info = series.info();
            let is_own = info.pid == u64::from(std::process::id())
                && Some(info.started) == vm.snapshots_started();
            if is_own {
                return Ok(file);
            }
            Error::OtherProcess { pid: info.pid }
        }
        Err(Error::NotASnapshot) => {
            return Err(NOT_OVERWRITTEN.to_owned());
        }
        Err(Error::Io(error)) => return Err(failed(error)),
        Err(error) => error,
    };
    if replaces {
        file.set_len(0).map_err(failed)?;
        Ok(file)
    } else {
        Err(problem.to_string())
    }
}

/// Options with the program's name and arguments.
pub fn options_of(vm: &Vm) -> SnapshotOptions {
    let mut words = command_line_words(vm).into_iter();
    SnapshotOptions {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        held_bytes: Some(host::held_bytes),
        ..SnapshotOptions::default()
    }
}

/// A report as numbers with spaces between them, for another process.
pub fn text_of_report(report: &SnapshotReport) -> String {
    let SnapshotReport {
        objects,
        bytes,
        written,
        stopped,
        taken,
        is_in_place,
    } = report;
    let (stopped, taken) = (stopped.as_micros(), taken.as_micros());
    let way = u8::from(*is_in_place);
    format!("{objects} {bytes} {written} {stopped} {taken} {way}")
}

/// Reads such a text.
pub fn report_of_text(text: &str) -> Option<SnapshotReport> {
    let mut numbers = text.split(' ').map(|word| word.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    Some(SnapshotReport {
        objects: next()?,
        bytes: next()?,
        written: next()?,
        stopped: Duration::from_micros(next()?),
        taken: Duration::from_micros(next()?),
        is_in_place: next()? != 0,
    })
}

/// Takes a snapshot and waits until it is written, from a thread that is none of the machine's. Another
/// snapshot that is being written is waited for.
pub fn take(
    vm: &Arc<Vm>,
    open: impl Fn() -> Result<File, String>,
    options: &SnapshotOptions,
) -> Result<SnapshotReport, String> {
    let deadline = Instant::now() + WAIT_MAX;
    let pending = loop {
        let mut thread = vm.attach().map_err(|error| error.to_string())?;
        match thread.begin_snapshot(&open, options) {
            Ok(pending) => break pending,
            Err(SnapshotError::Busy) if Instant::now() < deadline => {}
            Err(error) => return Err(error.to_string()),
        }
        drop(thread);
        std::thread::sleep(LOOK_EVERY);
    };
    pending.wait().map_err(|error| error.to_string())
}
