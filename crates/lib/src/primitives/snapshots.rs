//! Primitives of heap snapshots: one of them, those that rules ask for, and sums by type.
//!
//! Work that a program waits for is a job, which one primitive begins and another one waits for.

use std::path::{Path, PathBuf};

use canny_locks::Mutex;
use canny_tables::protocols::{heap_watch_report, snapshot_report, type_sum};
use canny_value::Value;
use canny_vm::survey::{SnapshotOptions, SnapshotReport, SnapshotRules, SummaryRow, grown};
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::host;
use crate::snapshots::jobs::{self, Done};
use crate::snapshots::{self, WatchReport, WatchedFile, Watcher};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%heap-snapshot" => snapshot;
    "%watch-heap" => watch;
    "%end-heap-watch" => end_watch;
    "%heap-job-result" => job_result;
    "%heap-summary" => summary;
    "%note-heap!" => note;
    "%heap-growth" => growth;
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
    // Another thread takes the snapshot while this one waits.
    thread.read_samples();
    let machine = vm.clone();
    // The program may leave for another directory.
    let place = std::path::absolute(&path).map_err(|error| about(&path, &error));
    let begun = place.and_then(|place| {
        jobs::begin(&vm, move || {
            let open = || snapshots::prepare(&machine, &place, replaces);
            let taken = snapshots::take(&machine, open, &options);
            let taken = taken.map_err(|problem| about(&path, &problem));
            taken.map(Done::Snapshot)
        })
    });
    Ok(number_or_problem(thread, begun))
}

/// A sentence about a file.
fn about(path: &Path, problem: &dyn std::fmt::Display) -> String {
    format!("{}: {problem}", path.display())
}

fn number_or_problem(thread: &mut Thread, begun: Result<u64, String>) -> Value {
    match begun {
        Ok(number) => Value::fixnum(number as i64),
        Err(problem) => thread.string(&problem),
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
    let begun = snapshots::check_unwatched(&vm)
        .and_then(|()| {
            let prepared = snapshots::prepare_alone(thread, &path, call.at(6).is_true());
            prepared.map_err(|problem| about(&path, &problem))
        })
        .and_then(|()| WatchedFile::new(&path, warn).map_err(|error| error.to_string()))
        .and_then(|file| snapshots::watch(thread, Watcher::Program, rules, options, file));
    match begun {
        Ok(()) => Ok(Value::FALSE),
        Err(problem) => Ok(thread.string(&problem)),
    }
}

fn end_watch(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let machine = vm.clone();
    let work = move || {
        let report = snapshots::end_watch(&machine, Watcher::Program);
        Ok(Done::Watch(report))
    };
    let begun = jobs::begin(&vm, work);
    Ok(number_or_problem(thread, begun))
}

fn job_result(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let number = call.index(thread, 0)? as u64;
    let vm = thread.vm().clone();
    let Some(job) = jobs::find(&vm, number) else {
        return Err(call.range_error(thread, 0, "the number of a job"));
    };
    let done = call.compute_offloaded(thread, move || job.wait())?;
    jobs::forget(&vm, number);
    match done {
        Ok(Done::Snapshot(report)) => describe(thread, &report),
        Ok(Done::Watch(Some(report))) => describe_watch(thread, report),
        Ok(Done::Watch(None)) => Ok(Value::FALSE),
        Err(problem) => Ok(thread.string(&problem)),
    }
}

fn describe_watch(thread: &mut Thread, report: WatchReport) -> Result<Value, Raise> {
    let number = |number: u64| Value::fixnum(number as i64);
    let rows = [
        (heap_watch_report::WRITTEN, number(report.written)),
        (heap_watch_report::FAILED, number(report.failed)),
        (heap_watch_report::LEFT_OUT, number(report.left_out)),
    ];
    vector(thread, heap_watch_report::COUNT, &rows)
}

fn summary(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let rows = thread.heap_summary();
    list_of_sums(thread, rows)
}

/// Objects by type at several moments.
#[derive(Default)]
pub(crate) struct HeapNotes(Mutex<Vec<Vec<SummaryRow>>>);

fn note(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let rows = thread.heap_summary();
    let mut notes = host::state::<HeapNotes>(thread.vm()).0.lock();
    if call.at(0).is_true() {
        notes.clear();
    }
    notes.push(rows);
    drop(notes);
    Ok(Value::UNSPECIFIED)
}

fn growth(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let least = call.index(thread, 0)? as u64;
    let notes = std::mem::take(&mut *host::state::<HeapNotes>(thread.vm()).0.lock());
    let rows = grown(notes, least);
    list_of_sums(thread, rows)
}

fn list_of_sums(thread: &mut Thread, rows: Vec<SummaryRow>) -> Result<Value, Raise> {
    let list = thread.protect(Value::NIL);
    for SummaryRow {
        row,
        objects,
        bytes,
    } in rows.into_iter().rev()
    {
        let vector = thread.make_vector(type_sum::COUNT, Value::FALSE)?;
        let vector = thread.protect(vector);
        let family = thread.symbol(&row.family);
        thread.store(thread.protected(vector), type_sum::FAMILY, family);
        for (index, text) in [(type_sum::NAME, &row.name), (type_sum::FILE, &row.file)] {
            if let Some(text) = text {
                let text = thread.string(text);
                thread.store(thread.protected(vector), index, text);
            }
        }
        let line = row
            .line
            .map_or(Value::FALSE, |line| Value::fixnum(line.into()));
        let vector_now = thread.protected(vector);
        for (index, value) in [
            (type_sum::LINE, line),
            (type_sum::LIBRARY, Value::boolean(row.is_library)),
            (type_sum::OBJECTS, Value::fixnum(objects as i64)),
            (type_sum::BYTES, Value::fixnum(bytes as i64)),
        ] {
            thread.store(vector_now, index, value);
        }
        let pair = thread.cons(vector_now, thread.protected(list));
        thread.set_protected(list, pair);
        thread.release(vector);
    }
    let result = thread.protected(list);
    thread.release(list);
    Ok(result)
}
