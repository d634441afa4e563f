//! The snapshots of a program that `canny run --heap-snapshots` runs.
//!
//! Rules about collections are the machine's. Those of the signal and of the program's end are here.
//! Nothing of it may fail the program: failures are reported, and the program goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use canny_lib::snapshots::{self, WatchReport, WatchedFile, Watcher};
use canny_locks::Mutex;
use canny_vm::Vm;
use canny_vm::survey::{SnapshotOptions, SnapshotRules};

use super::now;
use crate::heap_options::{HeapWish, When};
use crate::options::Options;
use crate::session::Session;

/// Name of the thread that takes the snapshot of a signal.
const THREAD_NAME: &str = "canny-heap";

/// The snapshots of a program that runs.
pub struct HeapRun {
    vm: Arc<Vm>,
    when: When,
    file: Arc<WatchedFile>,
    options: SnapshotOptions,
    signalled: Arc<Signalled>,
}

/// The thread that takes the snapshot of a signal.
#[derive(Default)]
struct Signalled {
    is_busy: AtomicBool,
    /// The program has ended.
    is_over: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Begins what the command line asks for.
pub fn begin(session: &mut Session, options: &Options) -> Result<Option<HeapRun>, String> {
    let Some(when) = options.heap.when else {
        return Ok(None);
    };
    let vm = session.vm.clone();
    let path = file_of(&options.heap, options.command_line.first());
    snapshots::prepare_alone(&mut session.thread, &path, true)
        .map_err(|problem| format!("{}: {problem}", path.display()))?;
    let warn = Box::new(|sentence: &str| eprintln!("canny: warning: {sentence}"));
    let file = WatchedFile::new(&path, warn).map_err(|error| error.to_string())?;
    let taken = SnapshotOptions {
        has_previews: !options.heap.hides_strings,
        ..snapshots::options_of(&vm)
    };
    if when.rules != SnapshotRules::default() {
        let thread = &mut session.thread;
        let watcher = Watcher::CommandLine;
        snapshots::watch(thread, watcher, when.rules, taken.clone(), file.clone())?;
    }
    let run = HeapRun {
        vm,
        when,
        file,
        options: taken,
        signalled: Arc::default(),
    };
    if when.at_signal {
        run.handle_signal()?;
    }
    Ok(Some(run))
}

/// The file to which snapshots go: the one that was named, or that with the program's name.
fn file_of(wish: &HeapWish, program: Option<&String>) -> PathBuf {
    if let Some(file) = &wish.file {
        return file.clone();
    }
    let stem = program.and_then(|program| Path::new(program).file_stem());
    match stem.and_then(|stem| stem.to_str()) {
        Some("-") | None => "canny.heap".into(),
        Some(stem) => format!("{stem}.heap").into(),
    }
}

impl HeapRun {
    /// Takes a snapshot at each SIGUSR2.
    fn handle_signal(&self) -> Result<(), String> {
        let (machine, file) = (Arc::downgrade(&self.vm), self.file.clone());
        let options = SnapshotOptions {
            reason: "signal".to_owned(),
            ..self.options.clone()
        };
        let signalled = self.signalled.clone();
        let take = move || {
            if signalled.is_over.load(Ordering::SeqCst) {
                return;
            }
            if signalled.is_busy.swap(true, Ordering::SeqCst) {
                file.note_left_out(1);
                return;
            }
            let (machine, file, options) = (machine.clone(), file.clone(), options.clone());
            let state = signalled.clone();
            let work = move || {
                if let Some(vm) = machine.upgrade() {
                    file.note(&snapshots::take(&vm, || file.open_or_say(), &options));
                }
                state.is_busy.store(false, Ordering::SeqCst);
            };
            let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
            match thread.spawn(work) {
                Ok(thread) => *signalled.thread.lock() = Some(thread),
                Err(_) => {
                    signalled.is_busy.store(false, Ordering::SeqCst);
                    signalled_failed();
                }
            }
        };
        let handled = canny_lib::host::handle_heap_signal(&self.vm, Box::new(take));
        handled.map_err(|error| format!("cannot wait for SIGUSR2: {error}"))
    }

    /// The program has ended: the last snapshots are taken and waited for, and a line says how many there
    /// are.
    pub fn end(self, session: &mut Session) {
        let vm = self.vm.clone();
        let signalled = self.signalled.clone();
        session.thread.block_outside_heap(move || {
            // It has counted in the same file.
            let _ = snapshots::end_watch(&vm, Watcher::CommandLine);
            signalled.is_over.store(true, Ordering::SeqCst);
            let thread = signalled.thread.lock().take();
            // Its only failure is a panic, which has been reported.
            thread.map(JoinHandle::join);
        });
        if self.when.at_exit {
            self.take_at_exit(session);
        }
        say(&self.file, self.file.report());
    }

    fn take_at_exit(&self, session: &mut Session) {
        let options = SnapshotOptions {
            reason: "exit".to_owned(),
            ..self.options.clone()
        };
        let result = now::take(&mut session.thread, || self.file.open_or_say(), &options);
        self.file.note(&result);
    }
}

fn signalled_failed() {
    eprintln!("canny: warning: no heap snapshot for the signal: the system has no thread for it");
}

/// Says how many snapshots there are. A file without any is deleted.
fn say(file: &WatchedFile, report: WatchReport) {
    let path = file.path();
    let WatchReport {
        written,
        failed,
        left_out,
    } = report;
    let noun = if written == 1 {
        "snapshot"
    } else {
        "snapshots"
    };
    let mut text = match written {
        0 => "no heap snapshot was written".to_owned(),
        _ => format!("{written} heap {noun} in {}", path.display()),
    };
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if left_out > 0 {
        text.push_str(&format!(
            ", {left_out} left out while another one was being written"
        ));
    }
    eprintln!("canny: {text}");
    let is_empty = path
        .symlink_metadata()
        .is_ok_and(|data| data.is_file() && data.len() == 0);
    if written == 0 && is_empty {
        // It is of no use, but does no harm.
        let _ = std::fs::remove_file(path);
    }
}
