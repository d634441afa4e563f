//! Snapshots that rules ask for: the machine's watch, and the file to which they go.
//!
//! A machine has one watch at a time, that of the command line or that of the program. A failure is
//! reported once, and the program goes on.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use canny_locks::Mutex;
use canny_vm::survey::{Asked, SnapshotOptions, SnapshotReport, SnapshotRules, SnapshotWatch};
use canny_vm::{Thread, Vm};

use crate::host;

/// The owner of a watch, the only one that may end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    CommandLine,
    Program,
}

/// How many snapshots a watch took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchReport {
    pub written: u64,
    pub failed: u64,
    /// Another one was being written.
    pub left_out: u64,
}

/// Says a sentence to the user.
type Say = Box<dyn Fn(&str) + Send + Sync>;

/// A file for many snapshots, and how they ended.
pub struct WatchedFile {
    path: PathBuf,
    written: AtomicU64,
    failed: AtomicU64,
    left_out: AtomicU64,
    warn: Say,
}

impl WatchedFile {
    /// The file at a path, which the program may leave for another directory. `warn` gets the first
    /// failure.
    pub fn new(path: &Path, warn: Say) -> io::Result<Arc<WatchedFile>> {
        Ok(Arc::new(WatchedFile {
            path: std::path::absolute(path)?,
            written: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            warn,
        }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it for one more snapshot.
    pub fn open(&self) -> io::Result<File> {
        super::open(&self.path)
    }

    /// The same for those who want a sentence.
    pub fn open_or_say(&self) -> Result<File, String> {
        self.open().map_err(|error| error.to_string())
    }

    /// Notes how a snapshot ended.
    pub fn note<E: std::fmt::Display>(&self, result: &Result<SnapshotReport, E>) {
        match result {
            Ok(_) => {
                self.written.fetch_add(1, Ordering::Relaxed);
            }
            Err(problem) => {
                if self.failed.fetch_add(1, Ordering::Relaxed) == 0 {
                    let path = self.path.display();
                    (self.warn)(&format!("no heap snapshot in {path}: {problem}"));
                }
            }
        }
    }

    /// Notes that one was not taken.
    pub fn note_left_out(&self, count: u64) {
        self.left_out.fetch_add(count, Ordering::Relaxed);
    }

    pub fn report(&self) -> WatchReport {
        WatchReport {
            written: self.written.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            left_out: self.left_out.load(Ordering::Relaxed),
        }
    }
}

/// The watch of a machine, if it has one.
#[derive(Default)]
pub(crate) struct HeapWatch(Mutex<Option<Watching>>);

struct Watching {
    watcher: Watcher,
    watch: SnapshotWatch,
    file: Arc<WatchedFile>,
}

/// Fails if the heap of a machine is being watched.
pub fn check_unwatched(vm: &Vm) -> Result<(), String> {
    let place: &HeapWatch = host::state(vm);
    match *place.0.lock() {
        Some(_) => Err("the heap is being watched already".to_owned()),
        None => Ok(()),
    }
}

/// Begins to take snapshots by rules.
///
/// # Errors
/// The heap is being watched, or the system has no thread for it.
pub fn watch(
    thread: &mut Thread,
    watcher: Watcher,
    rules: SnapshotRules,
    options: SnapshotOptions,
    file: Arc<WatchedFile>,
) -> Result<(), String> {
    let vm = thread.vm().clone();
    let place: &HeapWatch = host::state(&vm);
    let mut place = place.0.lock();
    if place.is_some() {
        return Err("the heap is being watched already".to_owned());
    }
    let (opened, done) = (file.clone(), file.clone());
    let open = Box::new(move |_| opened.open());
    let done = Box::new(move |asked: Asked| done.note(&asked.result));
    let watch = thread.watch_heap(rules, options, open, done);
    let watch = watch.map_err(|error| format!("cannot watch the heap: {error}"))?;
    *place = Some(Watching {
        watcher,
        watch,
        file,
    });
    Ok(())
}

/// Ends the watch that somebody began and waits for the snapshot that is being written; `None` if there
/// is no such watch. The caller must not keep the world from stopping.
pub fn end_watch(vm: &Vm, watcher: Watcher) -> Option<WatchReport> {
    let place: &HeapWatch = host::state(vm);
    let Watching { watch, file, .. } = {
        let mut place = place.0.lock();
        let mut watching = place.take_if(|watching| watching.watcher == watcher)?;
        watching.watch.stop();
        watching
    };
    file.note_left_out(watch.finish());
    Some(file.report())
}
