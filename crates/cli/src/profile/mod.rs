//! `canny profile`: takes a profile of a program while it runs, and shows it at the end.
//!
//! Below: what is shown, and the files that are written. A profile that was kept can be shown again: it
//! is given in place of a program.

mod show;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use canny_lib::recorder::{Recorder, Subject};
use canny_locks::Mutex;
use canny_vm::profile::ProfileOptions;
use lexopt::Parser;

use crate::exit_code;
use crate::options::Options;
use crate::session::Session;

/// What the command line says about the profile.
#[derive(Clone, Debug, Default)]
pub struct RecordingOptions {
    /// The file to write, in the format that its name or `format` says.
    pub output: Option<PathBuf>,
    pub format: Option<show::Format>,
    pub interval_us: Option<u64>,
    /// A profile to compare with.
    pub base: Option<PathBuf>,
    pub explains: bool,
    pub shows_flame_graph: bool,
    /// No page is opened, nor written unless that was asked for.
    pub is_text_only: bool,
    /// Functions of the machine are told apart.
    pub names_native: bool,
}

/// Shortest time between two samples, in microseconds.
const INTERVAL_MIN_US: u64 = 50;
/// Longest time.
const INTERVAL_MAX_US: u64 = 10_000_000;

/// Whether a long option is one of them.
pub fn is_recording_option(option: &str) -> bool {
    let options = [
        "output", "format", "interval", "base", "explain", "flame", "text", "native",
    ];
    options.contains(&option)
}

impl RecordingOptions {
    /// Takes one of these options.
    pub fn take(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        let mut value = || parser.value().map_err(|error| error.to_string());
        match option {
            "explain" => self.explains = true,
            "flame" => self.shows_flame_graph = true,
            "text" => self.is_text_only = true,
            "native" => self.names_native = true,
            "output" => self.output = Some(value()?.into()),
            "base" => self.base = Some(value()?.into()),
            "format" => {
                let text = value()?;
                let text = text.to_string_lossy();
                let wrong = || {
                    let names = show::Format::names().join(", ");
                    format!("--format wants one of {names}, not '{text}'")
                };
                self.format = Some(show::Format::named(&text).ok_or_else(wrong)?);
            }
            _ => {
                let text = value()?;
                let text = text.to_string_lossy();
                let is_sensible =
                    |number: &u64| (INTERVAL_MIN_US..=INTERVAL_MAX_US).contains(number);
                let wrong = || {
                    format!(
                        "--interval wants {INTERVAL_MIN_US} to {INTERVAL_MAX_US} microseconds, \
                         not '{text}'"
                    )
                };
                let number = text.parse().ok().filter(is_sensible);
                self.interval_us = Some(number.ok_or_else(wrong)?);
            }
        }
        Ok(())
    }

    /// Checks what the command line says as a whole.
    pub fn settle(&mut self) -> Result<(), String> {
        if let Some(output) = &self.output
            && self.format.is_none()
        {
            let format = show::Format::of_path(output);
            let names = show::Format::names().join(", ");
            self.format = Some(format.ok_or_else(|| {
                format!(
                    "the name of {} says no format; give --format with one of {names}",
                    output.display()
                )
            })?);
        }
        Ok(())
    }
}

/// What a profile of an expression at the prompt is written to.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

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
    let options = ProfileOptions::default();
    let recorder = Recorder::start(&mut session.thread, output, subject, options)
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
}

/// Begins the profile that the command line asks for.
pub fn begin(session: &mut Session, options: &Options) -> Result<Option<Recording>, String> {
    let Some(wish) = &options.recording else {
        return Ok(None);
    };
    let path = match (&wish.output, wish.format) {
        (Some(output), Some(show::Format::Profile)) => output.clone(),
        _ => show::temporary("profile"),
    };
    let file =
        File::create(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let subject = Subject {
        program: options.command_line.first().cloned().unwrap_or_default(),
        arguments: options.command_line.get(1..).unwrap_or_default().to_vec(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut settings = ProfileOptions {
        names_native: wish.names_native,
        ..ProfileOptions::default()
    };
    if let Some(interval) = wish.interval_us {
        settings.interval_ns = 1000 * interval;
    }
    let recorder = Recorder::start(&mut session.thread, Box::new(file), subject, settings)
        .map_err(|error| error.to_string())?;
    Ok(Some(Recording {
        recorder,
        path,
        wish: wish.clone(),
    }))
}

impl Recording {
    /// Ends the profile and shows it. Whatever fails is reported; the program's exit code stays.
    pub fn end(self, session: &mut Session) {
        let Recording {
            recorder,
            path,
            wish,
        } = self;
        if let Err(error) = recorder.finish(&mut session.thread) {
            eprintln!(
                "canny: cannot write the profile {}: {error}",
                path.display()
            );
        }
        // What was written before a failure can be shown.
        if let Err(message) = show::show_file(&path, &wish) {
            eprintln!("canny: {message}");
        }
        if wish.format != Some(show::Format::Profile) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Shows a profile that was kept, if a file is one; gives the exit code.
pub fn show_kept(path: &Path, wish: &RecordingOptions) -> Option<u8> {
    if !show::is_profile(path) {
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
