//! `canny profile`: takes a profile of a program while it runs, and shows it at the end.

use std::fs::File;
use std::path::PathBuf;

use canny_lib::recorder::{Recorder, Subject};
use canny_vm::profile::ProfileOptions;
use lexopt::Parser;

use crate::options::Options;
use crate::session::Session;

/// What the command line says about the profile.
#[derive(Clone, Debug, Default)]
pub struct RecordingOptions {
    pub output: Option<PathBuf>,
    pub interval_us: Option<u64>,
}

/// Whether a long option is one of them.
pub fn is_recording_option(option: &str) -> bool {
    matches!(option, "output" | "interval")
}

impl RecordingOptions {
    /// Takes one of these options.
    pub fn take(&mut self, option: &str, parser: &mut Parser) -> Result<(), String> {
        let value = parser.value().map_err(|error| error.to_string())?;
        match option {
            "output" => self.output = Some(value.into()),
            _ => {
                let text = value.to_string_lossy();
                let number = text.parse().ok().filter(|number| *number >= 50);
                let wrong = || format!("--interval wants microseconds, 50 or more, not '{text}'");
                self.interval_us = Some(number.ok_or_else(wrong)?);
            }
        }
        Ok(())
    }
}

/// A profile that is being taken.
pub struct Recording {
    recorder: Recorder,
}

/// Begins the profile that the command line asks for.
pub fn begin(session: &mut Session, options: &Options) -> Result<Option<Recording>, String> {
    let Some(wish) = &options.recording else {
        return Ok(None);
    };
    let path = wish
        .output
        .clone()
        .unwrap_or_else(|| "/tmp/x.profile".into());
    let file =
        File::create(&path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let subject = Subject {
        program: options.command_line[0].clone(),
        arguments: options.command_line[1..].to_vec(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut settings = ProfileOptions::default();
    if let Some(interval) = wish.interval_us {
        settings.interval_ns = 1000 * interval;
    }
    let recorder = Recorder::start(&mut session.thread, Box::new(file), subject, settings)
        .map_err(|error| error.to_string())?;
    Ok(Some(Recording { recorder }))
}

impl Recording {
    /// Ends the profile.
    pub fn end(self, session: &mut Session) {
        if let Err(error) = self.recorder.finish(&mut session.thread) {
            eprintln!("canny: cannot write the profile: {error}");
        }
    }
}
