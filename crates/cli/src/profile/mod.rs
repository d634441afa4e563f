//! `canny profile`: takes a profile of a program while it runs, and shows it at the end.
//!
//! Below: profiles of processes that run already; the page while a profile grows; directories of profiles;
//! what is shown, and the files that are written. A profile that was kept can be shown again: it is given
//! in place of a program, as is a directory of them.

mod attach;
mod directory;
mod guests;
mod live;
mod show;

use std::fs::File;
use std::path::{Path, PathBuf};

use canny_lib::recorder::{Memory, Recorder, Ring, Subject};
use canny_vm::profile::{ProfileOptions, counts};

pub use self::attach::attach;
pub use self::guests::GuestProfile;
use self::live::Live;
use crate::exit_code;
use crate::options::Options;
use crate::recording::{Format, RecordingOptions};
use crate::session::Session;

/// Allocated bytes between two sampled objects, unless the command line says something else.
const ALLOCATION_INTERVAL_BYTES: usize = 512 << 10;

/// Does something at the prompt while a profile is taken; gives its result and tables.
pub fn profiled<R>(
    session: &mut Session,
    name: &str,
    work: impl FnOnce(&mut Session) -> R,
) -> Result<(R, String), String> {
    let memory = Memory::default();
    let subject = Subject {
        program: name.to_owned(),
        ..Subject::default()
    };
    let output = Box::new(memory.clone());
    let options = ProfileOptions {
        counts_calls: counts::counts_calls(),
        allocation_interval_bytes: Some(ALLOCATION_INTERVAL_BYTES),
        ..ProfileOptions::default()
    };
    let recorder = Recorder::start(&mut session.thread, output, &subject, options)
        .map_err(|error| error.to_string())?;
    let result = work(session);
    let written = recorder.finish(&mut session.thread);
    written.map_err(|error| error.to_string())?;
    let text = show::prompt_text(&memory.0.lock())?;
    Ok((result, text))
}

/// A profile that is being taken.
pub struct Recording {
    recorder: Recorder,
    path: PathBuf,
    wish: RecordingOptions,
    live: Option<Live>,
}

/// Begins the profile that the command line asks for.
pub fn begin(session: &mut Session, options: &Options) -> Result<Option<Recording>, String> {
    let Some(wish) = &options.recording else {
        return Ok(None);
    };
    let (file, path) = match (&wish.output, wish.format) {
        (Some(output), Some(Format::Profile)) => {
            let file = File::create(output)
                .map_err(|error| format!("cannot write {}: {error}", output.display()))?;
            (file, output.clone())
        }
        _ => show::temporary("profile")?,
    };
    let subject = Subject {
        program: options.command_line.first().cloned().unwrap_or_default(),
        arguments: options.command_line.get(1..).unwrap_or_default().to_vec(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut settings = ProfileOptions {
        names_native: wish.names_native,
        counts_calls: wish.counts_calls,
        allocation_interval_bytes: Some(ALLOCATION_INTERVAL_BYTES),
        ..ProfileOptions::default()
    };
    if let Some(bytes) = wish.allocation_interval_bytes {
        settings.allocation_interval_bytes = Some(bytes).filter(|bytes| *bytes > 0);
    }
    if let Some(waits) = wish.waits_per_second {
        settings.waits_per_second = Some(waits).filter(|waits| *waits > 0);
    }
    if let Some(interval) = wish.interval_us {
        settings.interval_ns = 1000 * interval;
    }
    let live = wish
        .is_live
        .then(|| Live::start(path.clone()))
        .transpose()?;
    let recorder = Recorder::start(&mut session.thread, Box::new(file), &subject, settings)
        .map_err(|error| error.to_string())?;
    Ok(Some(Recording {
        recorder,
        path,
        wish: wish.clone(),
        live,
    }))
}

/// Begins the profiles that are taken as long as the program runs, if the command line asks for them.
pub fn begin_ring(session: &mut Session, options: &Options) -> Result<Option<Ring>, String> {
    let Some(mut wish) = options.ring.options() else {
        return Ok(None);
    };
    let has_places = options.heap.has_places;
    wish.allocation_interval_bytes = has_places.then_some(crate::heap::INTERVAL_BYTES);
    let subject = Subject::of_machine(&session.vm);
    let report = Box::new(|message: &str| eprintln!("canny: {message}"));
    let ring = Ring::start(session.vm.clone(), wish, subject, report);
    let ring = ring.map_err(|error| error.to_string())?;
    session.thread.join_profile();
    Ok(Some(ring))
}

impl Recording {
    /// Ends the profile and shows it. Failures are reported; the program's exit code stays.
    pub fn end(self, session: &mut Session) {
        let Recording {
            recorder,
            path,
            wish,
            live,
        } = self;
        if let Err(error) = recorder.finish(&mut session.thread) {
            eprintln!(
                "canny: cannot write the profile {}: {error}",
                path.display()
            );
        }
        if let Some(live) = live {
            live.finish();
        }
        // The part that was written before a failure can be shown.
        if let Err(message) = show::show_file(&path, &wish) {
            eprintln!("canny: {message}");
        }
        if wish.format != Some(Format::Profile) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Shows a profile that was kept, if a file is one, or a directory of them; gives the exit code.
pub fn show_kept(path: &Path, wish: &RecordingOptions) -> Option<u8> {
    if !path.is_dir() && !show::is_profile(path) {
        return None;
    }
    match show::show_file(path, wish) {
        Ok(()) => Some(0),
        Err(message) => {
            eprintln!("canny: {message}");
            Some(exit_code::DATA)
        }
    }
}
