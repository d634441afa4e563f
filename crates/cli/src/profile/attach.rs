//! `canny profile --attach PID`: a profile of a process that runs already.
//!
//! The process sends its profile while it takes it. So what came is kept if the process ends meanwhile.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use canny_lib::ask::{Reply, Request, ask};

use super::ALLOCATION_INTERVAL_BYTES;
use super::live::Live;
use super::show;
use crate::exit_code;
use crate::interrupts::stop_flag;
use crate::options::Options;
use crate::recording::{Format, RecordingOptions, SECONDS};

/// The file to which the profile goes.
struct Target {
    path: PathBuf,
    /// Made with the first part of the answer, so that a refusal overwrites nothing.
    file: Option<File>,
    stop: Arc<AtomicBool>,
}

impl Reply for Target {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(File::create(&self.path)?);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    fn wants_stop(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Takes a profile of a process, and shows it; gives the exit code.
pub fn attach(options: &Options, process: u32) -> u8 {
    let wish = options.recording.clone().unwrap_or_default();
    match try_attach(&wish, process) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("canny: {message}");
            exit_code::OS
        }
    }
}

fn try_attach(wish: &RecordingOptions, process: u32) -> Result<u8, String> {
    let stop = stop_flag()?;
    let mut request = Request::new("profile")
        .with("seconds", wish.seconds.unwrap_or(SECONDS))
        .with("native", u8::from(wish.names_native))
        .with(
            "allocation-interval",
            wish.allocation_interval_bytes
                .unwrap_or(ALLOCATION_INTERVAL_BYTES),
        );
    if let Some(waits) = wish.waits_per_second {
        request = request.with("waits-per-second", waits);
    }
    if let Some(interval_us) = wish.interval_us {
        request = request.with("interval", interval_us);
    }
    let kept = wish
        .output
        .as_ref()
        .filter(|_| wish.format == Some(Format::Profile));
    let mut target = match kept {
        Some(path) => Target {
            path: path.clone(),
            file: None,
            stop,
        },
        None => {
            let (file, path) = show::temporary("profile")?;
            Target {
                path,
                file: Some(file),
                stop,
            }
        }
    };
    let live = wish
        .is_live
        .then(|| Live::start(target.path.clone()))
        .transpose()?;
    let answered = ask(process, &request, &mut target);
    if let Some(live) = live {
        live.finish();
    }
    let path = &target.path;
    let is_empty = !path.metadata().is_ok_and(|data| data.len() > 0);
    let mut code = 0;
    if let Err(error) = &answered {
        eprintln!("canny: {error}");
        code = exit_code::OS;
    }
    // The part that came before a failure can be shown.
    let is_worth_it = answered.is_ok() || target.file.is_some() && !is_empty;
    let shown = if is_worth_it {
        show::show_file(path, wish)
    } else {
        Ok(())
    };
    if kept.is_none() {
        let _ = std::fs::remove_file(path);
    }
    shown.map(|()| code)
}
