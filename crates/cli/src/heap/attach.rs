//! `canny heap --attach PID`: a heap snapshot of a process that runs already.
//!
//! The process gets the open file over its socket, and its copy writes into it. So it need not see the
//! same directories, and a file with earlier snapshots of the process gets one more.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use canny_lib::ask::{AskError, Reply, Request, ask_with_file};
use canny_lib::snapshots;
use canny_snapshot::file::Error;
use canny_snapshot::heap::Series;

use super::says;

/// A snapshot of another process, as the command line asks for it.
#[derive(Clone, Debug, Default)]
pub struct AttachWish {
    pub process: u32,
    pub output: Option<PathBuf>,
    pub hides_strings: bool,
    pub collects: bool,
    pub is_in_place: bool,
}

/// Time between two lines on a terminal.
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// Shows on a terminal how far the file is.
struct Progress {
    path: PathBuf,
    begun: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
    length_before: u64,
}

impl Reply for Progress {
    fn take(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn wants_stop(&mut self) -> bool {
        let is_due = self.shown.is_none_or(|at| at.elapsed() >= SHOW_EVERY);
        if self.is_terminal && is_due {
            self.shown = Some(Instant::now());
            let written = length(&self.path).saturating_sub(self.length_before);
            let text = says::shown_bytes(written);
            let seconds = self.begun.elapsed().as_secs();
            eprint!("\r\x1b[K{text} written, {seconds} s");
            let _ = io::stderr().flush();
        }
        false
    }
}

impl Progress {
    fn clear(&self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |data| data.len())
}

/// Takes a snapshot of a process, and says what was written.
pub fn attach(wish: &AttachWish) -> Result<(), String> {
    let path = match &wish.output {
        Some(path) => path.clone(),
        None => super::default_file(wish.process),
    };
    let is_new = !path.exists();
    let file = open(&path)?;
    let flag = u8::from;
    let request = Request::new("heap")
        .with("strings", flag(!wish.hides_strings))
        .with("collect", flag(wish.collects))
        .with("in-place", flag(wish.is_in_place));
    let mut progress = Progress {
        length_before: length(&path),
        path: path.clone(),
        begun: Instant::now(),
        shown: None,
        is_terminal: io::stderr().is_terminal(),
    };
    let answered = ask_with_file(wish.process, &request, &file, &mut progress);
    progress.clear();
    let report = answered.and_then(|end| {
        snapshots::report_of_text(&end)
            .ok_or_else(|| AskError::Refused("the process answered in an unknown way".to_owned()))
    });
    match report {
        Ok(report) => {
            eprintln!("canny: {}", says::of_report(&report, &path));
            Ok(())
        }
        Err(error) => {
            if is_new && length(&path) == 0 {
                // It is of no use, but does no harm.
                let _ = std::fs::remove_file(&path);
            }
            Err(match error {
                AskError::Refused(message) => format!("{}: {message}", path.display()),
                error => error.to_string(),
            })
        }
    }
}

/// Opens the file, unless it is one with something else.
fn open(path: &Path) -> Result<File, String> {
    let shown = path.display();
    let failed = |error: io::Error| format!("cannot write {shown}: {error}");
    let file = snapshots::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    if data.is_file()
        && data.len() > 0
        && let Err(Error::NotASnapshot) = Series::open(path)
    {
        return Err(format!("{shown}: {}", snapshots::NOT_OVERWRITTEN));
    }
    Ok(file)
}
