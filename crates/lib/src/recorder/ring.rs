//! Profiles without an end: a directory has those of the last minutes.
//!
//! A thread writes one file after the other. Each is a whole profile of some seconds, which can be read
//! while it grows and after a crash. The ring deletes the oldest of its own files by their number, so that
//! a step of the clock deletes none; files of processes that have ended are deleted by their age. A file
//! that cannot be written is reported once, and the next one is tried in its turn.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use canny_profile::file::Writer;
use canny_vm::Vm;
use canny_vm::profile::{LastRows, ProfileOptions};

use super::{BackgroundTimes, FLUSH_TIME, Output, RecordError, Subject, THREAD_NAME, header};

/// Time between two looks at what the machine has noted.
const PERIOD: Duration = Duration::from_secs(1);
/// First and last part of the names of files.
const NAME: (&str, &str) = ("canny-", ".profile");

/// A procedure that gets the message of a failure.
pub type Report = Box<dyn Fn(&str) + Send>;

/// How many waits a thread notes in a second.
const WAITS_PER_SECOND: u32 = 500;

/// The wanted files.
#[derive(Clone, Debug)]
pub struct RingOptions {
    pub directory: PathBuf,
    /// Time that a file has.
    pub file: Duration,
    /// Time that all files have together.
    pub keep: Duration,
    pub interval_ns: u64,
    /// Allocated bytes between two sampled objects, if objects are sampled.
    pub allocation_interval_bytes: Option<usize>,
    /// How many waits each thread notes in a second; see [`ProfileOptions::waits_per_second`].
    pub waits_per_second: Option<u32>,
}

impl RingOptions {
    /// Files of a minute, for an hour, with 100 samples per second.
    pub fn new(directory: PathBuf) -> RingOptions {
        RingOptions {
            directory,
            file: Duration::from_secs(60),
            keep: Duration::from_secs(3600),
            interval_ns: 10_000_000,
            allocation_interval_bytes: None,
            waits_per_second: Some(WAITS_PER_SECOND),
        }
    }
}

/// A profile that is being taken without an end.
pub struct Ring {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Ring {
    /// Begins it. `report` gets the message of the first failure.
    ///
    /// # Errors
    /// Another profile is being taken, the system has no samples, or the first file cannot be made.
    pub fn start(
        vm: Arc<Vm>,
        options: RingOptions,
        subject: Subject,
        report: Report,
    ) -> Result<Ring, RecordError> {
        let profile = ProfileOptions {
            interval_ns: options.interval_ns,
            allocation_interval_bytes: options.allocation_interval_bytes,
            // Collections are the program's own.
            collects_at_end: false,
            waits_per_second: options.waits_per_second,
            is_turned: true,
            ..ProfileOptions::default()
        };
        let directory = &options.directory;
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory);
        made.map_err(|error| of_path(directory, &error))?;
        let mut files = Files {
            options,
            subject,
            profile,
            own: VecDeque::new(),
            writer: None,
            report: Some(report),
            count: 0,
        };
        let writer = files.open();
        files.writer = Some(writer.map_err(|error| of_path(&files.options.directory, &error))?);
        vm.start_profile(profile).map_err(|error| {
            files.forget_first();
            RecordError::Machine(error)
        })?;
        let (stop, stopped) = channel();
        let machine = vm.clone();
        let thread = std::thread::Builder::new().name(THREAD_NAME.to_owned());
        match thread.spawn(move || files.work(&machine, &stopped)) {
            Ok(thread) => Ok(Ring { stop, thread }),
            Err(error) => {
                vm.end_profile();
                Err(RecordError::Output(error))
            }
        }
    }

    /// Ends it. Files stay.
    pub fn finish(self) {
        drop(self.stop);
        // A failed thread has written less, nothing more.
        let _ = self.thread.join();
    }
}

fn of_path(path: &Path, error: &io::Error) -> RecordError {
    let text = format!("{}: {error}", path.display());
    RecordError::Output(io::Error::new(error.kind(), text))
}

/// The files of a ring.
struct Files {
    options: RingOptions,
    subject: Subject,
    profile: ProfileOptions,
    /// Those of this ring that are there, the oldest first.
    own: VecDeque<PathBuf>,
    /// That of the newest file, as long as it could be written.
    writer: Option<Writer<Output>>,
    /// Reports the first failure.
    report: Option<Report>,
    count: u64,
}

impl Files {
    fn work(mut self, vm: &Vm, stopped: &Receiver<()>) {
        let mut times = BackgroundTimes::default();
        times.note(vm.profiler());
        let mut begun = Instant::now();
        loop {
            let rest = self.options.file.saturating_sub(begun.elapsed());
            let ended = stopped.recv_timeout(rest.min(PERIOD));
            times.note(vm.profiler());
            let is_end = !matches!(ended, Err(RecvTimeoutError::Timeout));
            if !is_end && begun.elapsed() < self.options.file {
                if let Some((rows, lost)) = vm.take_profile_rows() {
                    self.write(|writer| writer.rows(&rows).and_then(|()| writer.lost(lost)));
                }
                continue;
            }
            vm.flush_profile();
            std::thread::sleep(FLUSH_TIME);
            if is_end {
                return self.end_file(vm.end_profile());
            }
            let last = vm.turn_profile();
            begun = Instant::now();
            self.end_file(last);
            self.delete_old();
            match self.open() {
                Ok(writer) => self.writer = Some(writer),
                Err(error) => self.failed(&error),
            }
        }
    }

    /// A new file.
    fn open(&mut self) -> io::Result<Writer<Output>> {
        let head = header(&self.subject, &self.profile);
        let seconds = head.started_ns / 1_000_000_000;
        self.count += 1;
        let name = format!(
            "{}{}-{}-{}{}",
            NAME.0,
            date_text(seconds),
            head.pid,
            self.count,
            NAME.1
        );
        let path = self.options.directory.join(name);
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(0o600);
        let file: Output = Box::new(file.open(&path)?);
        self.own.push_back(path);
        Writer::new(file, &head)
    }

    fn write(&mut self, work: impl FnOnce(&mut Writer<Output>) -> io::Result<()>) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = work(writer)
        {
            self.writer = None;
            self.failed(&error);
        }
    }

    fn end_file(&mut self, last: Option<LastRows>) {
        let Some((rows, lost, elapsed_ns)) = last else {
            return;
        };
        self.write(|writer| writer.rows(&rows).and_then(|()| writer.lost(lost)));
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish(elapsed_ns)
        {
            self.failed(&error);
        }
    }

    fn failed(&mut self, error: &io::Error) {
        if let Some(report) = self.report.take() {
            let directory = self.options.directory.display();
            report(&format!(
                "cannot write profiles to {directory}: {error}; the program runs on"
            ));
        }
    }

    fn forget_first(&mut self) {
        self.writer = None;
        if let Some(path) = self.own.pop_front() {
            let _ = fs::remove_file(path);
        }
    }

    /// Deletes files that are too old.
    fn delete_old(&mut self) {
        let RingOptions { keep, file, .. } = self.options;
        let wanted = keep.as_nanos().div_ceil(file.as_nanos().max(1));
        // The file that comes next grows while the oldest one still counts.
        while self.own.len() as u128 > wanted {
            if let Some(path) = self.own.pop_front() {
                let _ = fs::remove_file(path);
            }
        }
        let Ok(entries) = fs::read_dir(&self.options.directory) else {
            return;
        };
        let own = format!("-{}-", std::process::id());
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_other =
                name.starts_with(NAME.0) && name.ends_with(NAME.1) && !name.contains(&own);
            let changed = entry.metadata().and_then(|data| data.modified());
            let age = changed.map(|changed| changed.elapsed().unwrap_or_default());
            if is_other && age.is_ok_and(|age| age > keep) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A time as `20240229-235959`, in UTC.
fn date_text(seconds: u64) -> String {
    let time = seconds % 86_400;
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    // Days since the first of March of year 0, by which a leap day is the last one of its year.
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let (month, carry) = if from_march < 10 {
        (from_march + 3, 0)
    } else {
        (from_march - 9, 1)
    };
    let year = year + era * 400 + carry;
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "19700101-000000"),
            (951_827_696, "20000229-123456"),
            (1_709_251_199, "20240229-235959"),
            (1_735_689_600, "20250101-000000"),
        ];
        for (seconds, text) in cases {
            assert_eq!(date_text(seconds), text);
        }
    }
}
