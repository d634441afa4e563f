//! Runs that can be repeated: what is recorded, and where it is replayed from.
//!
//! A recording has how the program was started, its source files, and the answers of the system
//! ([`canny_replay`]). The replay parses the same options again and runs the same program, which is
//! interpreted throughout: so it comes to the same places in the same order.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use canny_replay::{Beginning, Recording};

/// Where a recording goes unless an option says otherwise.
pub const USUAL_FILE: &str = "canny.recording";

/// The name of a setting that is a word of the command line.
const WORD: &str = "word";

/// Whether a program is recorded or replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReplayWish {
    #[default]
    Live,
    /// To this file.
    Record(PathBuf),
    /// From this file.
    Replay(PathBuf),
}

/// Reads a recording that this Canny can replay.
pub fn read(file: &Path) -> Result<Recording, String> {
    let wrong = |message: String| format!("cannot replay {}: {message}", file.display());
    let recording = Recording::read(file).map_err(wrong)?;
    let build = &recording.beginning().build;
    if *build != this_build() {
        return Err(wrong(format!(
            "it was recorded by Canny {build}, and this is {}",
            this_build()
        )));
    }
    Ok(recording)
}

/// The words of the command line behind `canny record`.
pub fn words(recording: &Recording) -> Vec<OsString> {
    let settings = recording.beginning().settings.iter();
    let words = settings.filter(|(name, _)| name == WORD);
    words.map(|(_, word)| OsString::from(word)).collect()
}

fn this_build() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Begins to record or to replay, on the thread of the program and before the machine is made.
pub fn begin(wish: &ReplayWish, command_line: &[String]) -> Result<(), String> {
    match wish {
        ReplayWish::Live => Ok(()),
        ReplayWish::Record(file) => {
            let words = std::env::args_os().skip(2);
            let directory = std::env::current_dir().unwrap_or_default();
            let beginning = Beginning {
                build: this_build(),
                program: command_line.first().cloned().unwrap_or_default(),
                command_line: command_line.to_vec(),
                directory: directory.to_string_lossy().into_owned(),
                settings: words
                    .map(|word| (WORD.to_owned(), word.to_string_lossy().into_owned()))
                    .collect(),
            };
            canny_replay::record(file.as_path(), &beginning)
                .map_err(|error| format!("cannot write {}: {error}", file.display()))
        }
        ReplayWish::Replay(file) => {
            let recording = read(file)?;
            // Where it still exists the names of the program are made absolute in the same way.
            let _ = std::env::set_current_dir(&recording.beginning().directory);
            if recording.is_cut() {
                eprintln!("canny: the end of {} is missing", file.display());
            }
            canny_replay::replay(recording);
            Ok(())
        }
    }
}

/// The program has come to its end.
pub fn end(wish: &ReplayWish) {
    let ReplayWish::Record(file) = wish else {
        return;
    };
    match canny_replay::flush() {
        Ok(()) => {
            let bytes = std::fs::metadata(file).map_or(0, |data| data.len());
            eprintln!(
                "canny: {} has {} answers in {bytes} bytes",
                file.display(),
                canny_replay::answers()
            );
        }
        Err(error) => eprintln!("canny: cannot write {}: {error}", file.display()),
    }
}
