//! Primitives of profiles that a program takes of itself.

use std::fs::File;

use canny_locks::Mutex;
use canny_value::Value;
use canny_vm::profile::ProfileOptions;
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::recorder::{RecordError, Recorder, Subject};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%start-profile" => start;
    "%stop-profile" => stop;
    "%profiling?" => |thread, _| Ok(Value::boolean(thread.vm().profiler().is_on()));
    // The compiler makes instructions of both where calls are counted.
    "%count!" => |_, _| Ok(Value::UNSPECIFIED);
    "%count-call!" => |_, _| Ok(Value::UNSPECIFIED);
    "%set-profile-labels-key!" => |thread, call| {
        thread.set_profile_labels_key(call.at(0));
        Ok(Value::UNSPECIFIED)
    };
};

/// The profile that the program takes.
#[derive(Default)]
struct OwnProfile(Mutex<Option<Recorder>>);

fn start(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let interval_us = call.index(thread, 1)?;
    let interval_bytes = call.index(thread, 4)?;
    let options = ProfileOptions {
        interval_ns: 1000 * interval_us as u64,
        notes_waits: call.at(2).is_true(),
        names_native: call.at(3).is_true(),
        counts_calls: call.at(5).is_true(),
        allocation_interval_bytes: Some(interval_bytes).filter(|bytes| *bytes > 0),
        ..ProfileOptions::default()
    };
    let vm = thread.vm().clone();
    if vm.profiler().is_on() {
        let text = RecordError::Machine(canny_vm::profile::ProfileError::Busy).to_string();
        return Ok(thread.string(&text));
    }
    let words = super::system::command_line_words(&vm);
    let subject = Subject {
        program: words.first().cloned().unwrap_or_default(),
        arguments: words.get(1..).unwrap_or_default().to_vec(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let recorder = File::create(&path)
        .map_err(|error| format!("cannot write {path}: {error}"))
        .and_then(|file| {
            Recorder::start(thread, Box::new(file), subject, options)
                .map_err(|error| error.to_string())
        });
    match recorder {
        Ok(recorder) => {
            *vm.host(OwnProfile::default).0.lock() = Some(recorder);
            Ok(Value::FALSE)
        }
        Err(text) => Ok(thread.string(&text)),
    }
}

fn stop(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let recorder = vm.host(OwnProfile::default).0.lock().take();
    let Some(recorder) = recorder else {
        return Ok(Value::FALSE);
    };
    match recorder.finish(thread) {
        Ok(()) => Ok(Value::TRUE),
        Err(error) => Ok(thread.string(&error.to_string())),
    }
}
