//! Snapshots that are taken by themselves: after collections, as the heap grows, near its limit.
//!
//! The heap tells of each collection while nothing runs, and there the process is forked if a rule says
//! so. A thread waits for the children. While one writes, other snapshots are left out and counted.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use canny_heap::{Collected, CollectionObserver, Standstill};

use super::types::Known;
use super::{PendingSnapshot, SnapshotError, SnapshotOptions, SnapshotReport, write_or_fork};
use crate::Vm;
use crate::thread::Thread;

/// Name of the thread that waits for children.
const THREAD_NAME: &str = "canny-heap";
/// Smaller heaps do not count as grown.
const GROWTH_BYTES_MIN: usize = 4 << 20;

/// When snapshots are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SnapshotRules {
    /// After each full collection with a number that this divides.
    pub full_every: Option<u64>,
    /// The same of all collections.
    pub every: Option<u64>,
    /// Whenever the heap is so many times as large as at the last snapshot.
    pub growth: Option<f64>,
    /// When the limit is nearly reached, before anybody is told.
    pub at_limit: bool,
}

/// How a snapshot ended that a rule asked for.
#[derive(Debug)]
pub struct Asked {
    /// One of the words in the description of the format.
    pub reason: &'static str,
    pub result: Result<SnapshotReport, SnapshotError>,
}

/// Opens the file, and is told the reason.
type Open = Box<dyn FnMut(&'static str) -> io::Result<File> + Send>;

/// A snapshot that was begun, and why.
type Begun = (&'static str, Result<PendingSnapshot, SnapshotError>);

/// Snapshots by rules, until it is finished.
pub struct SnapshotWatch {
    vm: Arc<Vm>,
    waiter: Option<JoinHandle<()>>,
    left_out: Arc<AtomicU64>,
    is_stopped: bool,
}

struct Observer {
    vm: Weak<Vm>,
    rules: SnapshotRules,
    known: Known,
    options: SnapshotOptions,
    open: Open,
    children: Sender<Begun>,
    left_out: Arc<AtomicU64>,
    collections: u64,
    full_collections: u64,
    /// Bytes at the last snapshot; at first those after the first collection.
    grown_from: Option<usize>,
    /// A snapshot was taken since the heap came near its limit.
    is_told: bool,
}

impl Thread {
    /// Takes snapshots by rules from now on. `open` opens the file for each of them, `done` is told how it
    /// ended, on a thread of its own.
    pub fn watch_heap(
        &mut self,
        rules: SnapshotRules,
        options: SnapshotOptions,
        open: Open,
        done: Box<dyn Fn(Asked) + Send>,
    ) -> io::Result<SnapshotWatch> {
        let (children, ended) = channel::<Begun>();
        let waiter = std::thread::Builder::new().name(THREAD_NAME.to_owned());
        let waiter = waiter.spawn(move || {
            for (reason, pending) in ended {
                let result = pending.and_then(PendingSnapshot::wait);
                done(Asked { reason, result });
            }
        })?;
        let left_out = Arc::new(AtomicU64::new(0));
        let observer = Observer {
            vm: Arc::downgrade(self.vm()),
            rules,
            known: Known::of(self),
            options,
            open,
            children,
            left_out: left_out.clone(),
            collections: 0,
            full_collections: 0,
            grown_from: None,
            is_told: false,
        };
        self.vm().heap().set_observer(Some(Box::new(observer)));
        Ok(SnapshotWatch {
            vm: self.vm().clone(),
            waiter: Some(waiter),
            left_out,
            is_stopped: false,
        })
    }
}

impl SnapshotWatch {
    /// Takes no more snapshots. Another watch may begin then.
    pub fn stop(&mut self) {
        if !std::mem::replace(&mut self.is_stopped, true) {
            self.vm.heap().set_observer(None);
        }
    }

    /// Takes no more snapshots, and waits for the one that is being written. How many were left out, as
    /// another one was being written. The caller must not be a thread that keeps the world from stopping.
    pub fn finish(mut self) -> u64 {
        self.stop();
        if let Some(waiter) = self.waiter.take() {
            // Its only failure is a panic of the one who is told, which has been reported.
            let _ = waiter.join();
        }
        self.left_out.load(Ordering::Relaxed)
    }
}

impl Observer {
    /// The rule that wants a snapshot now.
    fn reason(&mut self, end: Collected) -> Option<&'static str> {
        self.collections += 1;
        self.full_collections += u64::from(end.is_full);
        let divides = |every: Option<u64>, count: u64| {
            every.is_some_and(|every| count.is_multiple_of(every.max(1)))
        };
        let was_told = if end.is_full {
            std::mem::replace(&mut self.is_told, end.is_near_limit)
        } else {
            true
        };
        if self.rules.at_limit && end.is_near_limit && !was_told {
            return Some("limit");
        }
        let from = *self.grown_from.get_or_insert(end.bytes);
        let from = from.max(GROWTH_BYTES_MIN) as f64;
        let has_grown = |factor: f64| end.bytes as f64 >= from * factor;
        if end.is_full && self.rules.growth.is_some_and(has_grown) {
            return Some("growth");
        }
        let is_due = (end.is_full && divides(self.rules.full_every, self.full_collections))
            || divides(self.rules.every, self.collections);
        is_due.then_some("collection")
    }
}

impl CollectionObserver for Observer {
    fn collected(&mut self, still: &mut Standstill<'_>, end: Collected) {
        let Some(reason) = self.reason(end) else {
            return;
        };
        let Some(vm) = self.vm.upgrade() else { return };
        let Some(place) = vm.snapshots.take_place() else {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return;
        };
        self.grown_from = Some(end.bytes);
        self.options.reason = reason.to_owned();
        let output = |error: io::Error| SnapshotError::Output(error.to_string());
        let file = (self.open)(reason).map_err(output);
        let begun = file
            .and_then(|file| write_or_fork(&vm, still, file, &self.known, &self.options))
            .map(|begun| PendingSnapshot::new(place, begun));
        // Nobody listens only when the program has ended.
        let _ = self.children.send((reason, begun));
    }
}
