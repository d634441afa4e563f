//! A snapshot that the main thread takes itself: at the prompt, and at the end of a program.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use canny_lib::snapshots;
use canny_vm::Thread;
use canny_vm::survey::{SnapshotError, SnapshotOptions, SnapshotReport};

use super::says;
use crate::session::Session;

/// Longest wait for a snapshot that somebody else takes.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time between two looks whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Takes a snapshot and waits until it is written. Tasks run on meanwhile.
pub(super) fn take(
    thread: &mut Thread,
    open: impl Fn() -> Result<File, String>,
    options: &SnapshotOptions,
) -> Result<SnapshotReport, SnapshotError> {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        match thread.begin_snapshot(&open, options) {
            Ok(pending) => return thread.block_outside_heap(|| pending.wait()),
            Err(SnapshotError::Busy) if Instant::now() < deadline => {
                thread.block_outside_heap(|| std::thread::sleep(LOOK_EVERY));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Takes one for the prompt, to a file or to that of the process; gives a sentence about it.
pub fn at_prompt(session: &mut Session, name: &str) -> Result<String, String> {
    let path = match name {
        "" => super::default_file(std::process::id()),
        name => PathBuf::from(name),
    };
    let shown = path.display();
    let vm = session.vm.clone();
    let options = snapshots::options_of(&vm);
    let open = || snapshots::prepare(&vm, &path, false);
    let report = take(&mut session.thread, open, &options);
    let report = report.map_err(|error| format!("{shown}: {error}"))?;
    Ok(says::of_report(&report, &path))
}
