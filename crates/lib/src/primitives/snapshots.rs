//! Primitives of heap snapshots.

use std::path::PathBuf;

use canny_tables::protocols::snapshot_report;
use canny_value::Value;
use canny_vm::survey::{SnapshotOptions, SnapshotReport};
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::snapshots;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%heap-snapshot" => snapshot;
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
