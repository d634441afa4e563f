//! Primitives of heap snapshots.

use std::path::PathBuf;

use canny_locks::Mutex;
use canny_tables::protocols::{snapshot_report, type_sum};
use canny_value::Value;
use canny_vm::survey::{SnapshotOptions, SnapshotReport, SummaryRow, grown};
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::host;
use crate::snapshots;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%heap-snapshot" => snapshot;
    "%heap-summary" => summary;
    "%note-heap!" => note;
    "%heap-growth" => growth;
};

fn snapshot(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let text = |value: Value| string_text(value).unwrap_or_default();
    let path = PathBuf::from(text(call.string(thread, 0)?.value()));
    let vm = thread.vm().clone();
    let options = SnapshotOptions {
        reason: text(call.string(thread, 1)?.value()),
        has_previews: call.at(2).is_true(),
        collects: call.at(3).is_true(),
        is_in_place: call.at(4).is_true(),
        ..snapshots::options_of(&vm)
    };
    let work = move || {
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
    let vector = thread.make_vector(snapshot_report::COUNT, Value::FALSE)?;
    let us = |duration: std::time::Duration| Value::fixnum(duration.as_micros() as i64);
    for (index, value) in [
        (
            snapshot_report::OBJECTS,
            Value::fixnum(report.objects as i64),
        ),
        (snapshot_report::BYTES, Value::fixnum(report.bytes as i64)),
        (
            snapshot_report::WRITTEN,
            Value::fixnum(report.written as i64),
        ),
        (snapshot_report::STOPPED, us(report.stopped)),
        (snapshot_report::TAKEN, us(report.taken)),
        (
            snapshot_report::IN_PLACE,
            Value::boolean(report.is_in_place),
        ),
    ] {
        thread.store(vector, index, value);
    }
    Ok(vector)
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
