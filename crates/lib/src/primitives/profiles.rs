//! Primitives of profiles that a program takes of itself.
//!
//! A program has one profile in a file or one ring of files, which it ends itself. A profile in memory is
//! for the request of a web client. The machine takes one of them at a time.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use canny_locks::Mutex;
use canny_profile::{export, file, page};
use canny_value::Value;
use canny_vm::profile::{ProfileError, ProfileOptions};
use canny_vm::{PrimitiveFunction, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::recorder::{Memory, RecordError, Recorder, Ring, RingOptions, Subject};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%start-profile" => start;
    "%stop-profile" => stop;
    "%start-profile-ring" => start_ring;
    "%start-profile-in-memory" => start_in_memory;
    "%stop-profile-in-memory" => stop_in_memory;
    "%profiling?" => |thread, _| Ok(Value::boolean(thread.vm().profiler().is_on()));
    // The compiler makes instructions of both where calls are counted.
    "%count!" => |_, _| Ok(Value::UNSPECIFIED);
    "%count-call!" => |_, _| Ok(Value::UNSPECIFIED);
    "%set-profile-task-type!" => |thread, call| {
        thread.vm().set_profile_task_type(call.at(0));
        Ok(Value::UNSPECIFIED)
    };
    "%set-profile-labels-key!" => |thread, call| {
        thread.set_profile_labels_key(call.at(0));
        Ok(Value::UNSPECIFIED)
    };
};

/// The profiles that the program takes.
#[derive(Default)]
struct OwnProfiles {
    kept: Mutex<Option<Kept>>,
    in_memory: Mutex<Option<(Recorder, Memory)>>,
}

/// A profile that the program ends.
enum Kept {
    File(Recorder),
    Ring(Ring),
}

/// The answer of a primitive that begins a profile.
fn begun(thread: &mut Thread, result: Result<(), String>) -> Value {
    match result {
        Ok(()) => Value::FALSE,
        Err(text) => thread.string(&text),
    }
}

/// The message if a profile is being taken, before a file is made for another one.
fn check_idle(thread: &Thread) -> Result<(), String> {
    if thread.vm().profiler().is_on() {
        return Err(RecordError::Machine(ProfileError::Busy).to_string());
    }
    Ok(())
}

fn start(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let path = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let interval_us = call.index(thread, 1)?;
    let interval_bytes = call.index(thread, 4)?;
    let options = ProfileOptions {
        interval_ns: 1000 * interval_us as u64,
        waits_per_second: waits_per_second(thread, call, 2)?,
        names_native: call.at(3).is_true(),
        counts_calls: call.at(5).is_true(),
        allocation_interval_bytes: Some(interval_bytes).filter(|bytes| *bytes > 0),
        ..ProfileOptions::default()
    };
    let result = start_in_file(thread, &path, options);
    Ok(begun(thread, result))
}

/// An argument that is a number of waits.
fn waits_per_second(thread: &mut Thread, call: Call, index: usize) -> Result<Option<u32>, Raise> {
    let waits = u32::try_from(call.index(thread, index)?).unwrap_or(u32::MAX);
    Ok(Some(waits).filter(|waits| *waits > 0))
}

fn start_in_file(thread: &mut Thread, path: &str, options: ProfileOptions) -> Result<(), String> {
    check_idle(thread)?;
    let vm = thread.vm().clone();
    let subject = Subject::of_machine(&vm);
    let file = File::create(path).map_err(|error| format!("cannot write {path}: {error}"))?;
    let recorder = Recorder::start(thread, Box::new(file), &subject, options);
    let recorder = recorder.map_err(|error| error.to_string())?;
    *vm.host(OwnProfiles::default).kept.lock() = Some(Kept::File(recorder));
    Ok(())
}

fn start_ring(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let directory = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let mut options = RingOptions::new(PathBuf::from(directory));
    options.interval_ns = 1000 * call.index(thread, 1)? as u64;
    options.keep = Duration::from_secs(call.index(thread, 2)? as u64);
    options.file = Duration::from_secs(call.index(thread, 3)? as u64);
    options.waits_per_second = waits_per_second(thread, call, 4)?;
    let vm = thread.vm().clone();
    let subject = Subject::of_machine(&vm);
    let report = Box::new(|message: &str| eprintln!("canny: {message}"));
    let ring = check_idle(thread).and_then(|()| {
        let ring = Ring::start(vm.clone(), options, subject, report);
        ring.map_err(|error| error.to_string())
    });
    let result = ring.map(|ring| {
        *vm.host(OwnProfiles::default).kept.lock() = Some(Kept::Ring(ring));
        thread.join_profile();
    });
    Ok(begun(thread, result))
}

fn stop(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let vm = thread.vm().clone();
    let kept = vm.host(OwnProfiles::default).kept.lock().take();
    let result = match kept {
        None => return Ok(Value::FALSE),
        Some(Kept::File(recorder)) => recorder.finish(thread),
        Some(Kept::Ring(ring)) => {
            ring.finish();
            Ok(())
        }
    };
    match result {
        Ok(()) => Ok(Value::TRUE),
        Err(error) => Ok(thread.string(&error.to_string())),
    }
}

fn start_in_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let options = ProfileOptions {
        interval_ns: 1000 * call.index(thread, 0)? as u64,
        ..ProfileOptions::default()
    };
    let vm = thread.vm().clone();
    let memory = Memory::default();
    let subject = Subject::of_machine(&vm);
    let recorder = Recorder::start(thread, Box::new(memory.clone()), &subject, options);
    let result = recorder.map_err(|error| error.to_string()).map(|recorder| {
        let profiles = vm.host(OwnProfiles::default);
        *profiles.in_memory.lock() = Some((recorder, memory));
    });
    Ok(begun(thread, result))
}

fn stop_in_memory(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let format = string_text(call.string(thread, 0)?.value()).unwrap_or_default();
    let vm = thread.vm().clone();
    let profile = vm.host(OwnProfiles::default).in_memory.lock().take();
    let Some((recorder, memory)) = profile else {
        return Ok(Value::FALSE);
    };
    let finished = recorder.finish(thread).map_err(|error| error.to_string());
    let bytes = std::mem::take(&mut *memory.0.lock());
    match finished.and_then(|()| bytes_in(&format, &bytes)) {
        Ok(bytes) => thread.bytevector(&bytes),
        Err(text) => Ok(thread.string(&text)),
    }
}

/// A profile in a format.
fn bytes_in(format: &str, bytes: &[u8]) -> Result<Vec<u8>, String> {
    match format {
        "html" => Ok(page::page(bytes).into_bytes()),
        "pprof" => {
            let profile = file::read(bytes).map_err(|error| error.to_string())?;
            Ok(export::pprof(&profile, true))
        }
        _ => Ok(file::gzip(bytes)),
    }
}
