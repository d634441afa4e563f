//! Primitives of heap snapshots.

use std::path::PathBuf;

use canny_tables::protocols::{heap_watch_report, snapshot_report};
use canny_value::Value;
use canny_vm::survey::{SnapshotOptions, SnapshotReport, SnapshotRules};
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::snapshots::{self, WatchedFile, Watcher};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%heap-snapshot" => snapshot;
    "%watch-heap" => watch;
    "%end-heap-watch" => end_watch;
};

fn text(value: Value) -> String {
    string_text(value).unwrap_or_default()
}

fn snapshot(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = PathBuf::from(text(call.string(thread, 0)?.value()));
    let vm = thread.vm().clone();
    let options = SnapshotOptions {
        reason: text(call.string(thread, 1)?.value()),
        has_previews: call.at(2).is_true(),
        collects: call.at(3).is_true(),
        is_in_place: call.at(4).is_true(),
        ..snapshots::options_of(&vm)
    };
    let replaces = call.at(5).is_true();
    let work = move || {
        snapshots::prepare(&vm, &path, replaces)?;
        let open = || snapshots::open(&path);
        snapshots::take(&vm, open, &options)
            .map_err(|problem| format!("{}: {problem}", path.display()))
    };
    match call.compute_offloaded(thread, work)? {
        Ok(report) => describe(thread, &report),
        Err(problem) => Ok(thread.string(&problem)),
    }
}

fn describe(thread: &mut Thread, report: &SnapshotReport) -> Result<Value, Raise> {
    let number = |number: u64| Value::fixnum(number as i64);
    let us = |duration: std::time::Duration| Value::fixnum(duration.as_micros() as i64);
    let rows = [
        (snapshot_report::OBJECTS, number(report.objects)),
        (snapshot_report::BYTES, number(report.bytes)),
        (snapshot_report::WRITTEN, number(report.written)),
        (snapshot_report::STOPPED, us(report.stopped)),
        (snapshot_report::TAKEN, us(report.taken)),
        (
            snapshot_report::IN_PLACE,
            Value::boolean(report.is_in_place),
        ),
    ];
    vector(thread, snapshot_report::COUNT, &rows)
}

/// A vector of immediate values.
fn vector(thread: &mut Thread, count: usize, rows: &[(usize, Value)]) -> Result<Value, Raise> {
    let vector = thread.make_vector(count, Value::FALSE)?;
    for (index, value) in rows {
        thread.store(vector, *index, *value);
    }
    Ok(vector)
}

fn watch(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = PathBuf::from(text(call.string(thread, 0)?.value()));
    let count = |number: usize| (number > 0).then_some(number as u64);
    let rules = SnapshotRules {
        full_every: count(call.index(thread, 1)?),
        every: count(call.index(thread, 2)?),
        growth: call.at(3).as_flonum(),
        at_limit: call.at(4).is_true(),
    };
    let vm = thread.vm().clone();
    let options = SnapshotOptions {
        has_previews: call.at(5).is_true(),
        ..snapshots::options_of(&vm)
    };
    let warn = Box::new(|sentence: &str| eprintln!("canny: warning: {sentence}"));
    let begun = snapshots::prepare(&vm, &path, call.at(6).is_true())
        .and_then(|()| WatchedFile::new(&path, warn).map_err(|error| error.to_string()))
        .and_then(|file| snapshots::watch(thread, Watcher::Program, rules, options, file));
    match begun {
        Ok(()) => Ok(Value::FALSE),
        Err(problem) => Ok(thread.string(&problem)),
    }
}

fn end_watch(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let work = move || snapshots::end_watch(&vm, Watcher::Program);
    let Some(report) = call.compute_offloaded(thread, work)? else {
        return Ok(Value::FALSE);
    };
    let number = |number: u64| Value::fixnum(number as i64);
    let rows = [
        (heap_watch_report::WRITTEN, number(report.written)),
        (heap_watch_report::FAILED, number(report.failed)),
        (heap_watch_report::LEFT_OUT, number(report.left_out)),
    ];
    vector(thread, heap_watch_report::COUNT, &rows)
}
