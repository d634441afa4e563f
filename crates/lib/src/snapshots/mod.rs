//! Snapshots of a machine's heap in files, for programs, for the command line and for those who ask
//! from outside.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_vm::Vm;
use canny_vm::survey::{SnapshotError, SnapshotOptions, SnapshotReport};

use crate::primitives::system::command_line_words;

/// Longest wait for another snapshot that is being written.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Time between two looks whether it is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Opens a file for snapshots, which is made if it is not there. What is in it stays.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Options with the program's name and arguments.
pub fn options_of(vm: &Vm) -> SnapshotOptions {
    let mut words = command_line_words(vm).into_iter();
    SnapshotOptions {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        ..SnapshotOptions::default()
    }
}

/// Takes a snapshot and waits until it is written, from a thread that is none of the machine's. Another
/// snapshot that is being written is waited for.
pub fn take(
    vm: &Arc<Vm>,
    open: impl Fn() -> io::Result<File>,
    options: &SnapshotOptions,
) -> Result<SnapshotReport, String> {
    let deadline = Instant::now() + WAIT_MAX;
    let pending = loop {
        let file = open().map_err(|error| error.to_string())?;
        let mut thread = vm.attach().map_err(|error| error.to_string())?;
        match thread.begin_snapshot(file, options) {
            Ok(pending) => break pending,
            Err(SnapshotError::Busy) if Instant::now() < deadline => {}
            Err(error) => return Err(error.to_string()),
        }
        drop(thread);
        std::thread::sleep(LOOK_EVERY);
    };
    pending.wait().map_err(|error| error.to_string())
}
