//! Writing a profile of a machine to a file while the program runs.
//!
//! A thread takes the rows that the machine has made several times a second and writes them, so that a
//! program that crashes or is killed leaves a file that can be read. It also notes the processor time of
//! threads that run no Scheme code, such as the compiler's: they have no samples of their own. Below: the
//! times of these threads; profiles without an end, of which the last minutes are kept.

mod background;
mod ring;

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use canny_locks::Mutex;
use canny_profile::file::Writer;
use canny_profile::model::{Header, Mode};
use canny_vm::profile::{LastRows, ProfileError, ProfileOptions};
use canny_vm::{Thread, Vm};

use crate::primitives::system::command_line_words;

use self::background::BackgroundTimes;
pub use self::ring::{Ring, RingOptions};

/// Time between two looks at what the machine has noted.
const PERIOD: Duration = Duration::from_millis(200);
/// Time in which threads that compute come to a safepoint.
const FLUSH_TIME: Duration = Duration::from_millis(20);
/// Name of the thread that writes.
const THREAD_NAME: &str = "canny-profile";

/// Where a profile is written to.
pub type Output = Box<dyn Write + Send>;

/// Memory to which a profile can be written.
#[derive(Clone, Default)]
pub struct Memory(pub Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A profile that is being written.
pub struct Recorder {
    vm: Arc<Vm>,
    stop: Sender<()>,
    writer: JoinHandle<(Writer<Output>, io::Result<()>)>,
}

/// Why a profile was not begun.
#[derive(Debug)]
pub enum RecordError {
    /// The machine cannot.
    Machine(ProfileError),
    /// The file cannot be written, or there can be no thread for it.
    Output(io::Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Machine(ProfileError::Busy) => {
                f.write_str("a profile of this program is being taken already")
            }
            RecordError::Machine(ProfileError::Unsupported) => {
                f.write_str("profiles can be taken on x86-64 Linux only")
            }
            RecordError::Machine(ProfileError::NotCounting) => f.write_str(
                "calls are counted only in code that is compiled for it: run the program with \
                 CANNY_COUNTS=1, or with canny profile --exact",
            ),
            RecordError::Output(error) => write!(f, "cannot write the profile: {error}"),
        }
    }
}

impl std::error::Error for RecordError {}

/// The program that is profiled, for the head of the file.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The program as the user named it.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The version of Canny.
    pub version: String,
}

impl Subject {
    /// The program that a machine runs.
    pub fn of_machine(vm: &Vm) -> Subject {
        let words = command_line_words(vm);
        Subject {
            program: words.first().cloned().unwrap_or_default(),
            arguments: words.get(1..).unwrap_or_default().to_vec(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The head of a file.
fn header(subject: &Subject, options: &ProfileOptions) -> Header {
    let started = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut modes = vec![Mode::Cpu];
    modes.extend(options.waits_per_second.map(|_| Mode::Wait));
    modes.extend(options.counts_calls.then_some(Mode::Counts));
    let allocation_interval_bytes = options.allocation_interval_bytes;
    modes.extend(allocation_interval_bytes.map(|_| Mode::Allocation));
    Header {
        program: subject.program.clone(),
        arguments: subject.arguments.clone(),
        canny: subject.version.clone(),
        pid: std::process::id().into(),
        started_ns: started.map_or(0, |since| since.as_nanos() as u64),
        interval_ns: options.interval_ns,
        allocation_interval_bytes: allocation_interval_bytes.map(|bytes| bytes as u64),
        modes,
    }
}

impl Recorder {
    /// Begins a profile.
    ///
    /// # Errors
    /// Another profile is being taken, the system has no samples, or the output fails at once.
    pub fn start(
        thread: &mut Thread,
        output: Output,
        subject: &Subject,
        options: ProfileOptions,
    ) -> Result<Recorder, RecordError> {
        let recorder = Recorder::start_outside(thread.vm().clone(), output, subject, options)?;
        thread.join_profile();
        Ok(recorder)
    }

    /// The same from a thread that is none of the machine's.
    pub fn start_outside(
        vm: Arc<Vm>,
        output: Output,
        subject: &Subject,
        options: ProfileOptions,
    ) -> Result<Recorder, RecordError> {
        // Nothing is written in vain.
        if vm.profiler().is_on() {
            return Err(RecordError::Machine(ProfileError::Busy));
        }
        let mut writer =
            Writer::new(output, &header(subject, &options)).map_err(RecordError::Output)?;
        vm.start_profile(options).map_err(RecordError::Machine)?;
        let (stop, stopped) = channel();
        let shared = vm.clone();
        let work = move || {
            let mut times = BackgroundTimes::default();
            times.note(shared.profiler());
            let mut result = Ok(());
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                times.note(shared.profiler());
                if let Some((rows, lost)) = shared.take_profile_rows()
                    && result.is_ok()
                {
                    // After a failure the rows are dropped, so that they need no memory.
                    result = writer.rows(&rows).and_then(|()| writer.lost(lost));
                }
            }
            times.note(shared.profiler());
            (writer, result)
        };
        let writer = std::thread::Builder::new().name(THREAD_NAME.to_owned());
        match writer.spawn(work) {
            Ok(writer) => Ok(Recorder { vm, stop, writer }),
            Err(error) => {
                vm.end_profile();
                Err(RecordError::Output(error))
            }
        }
    }

    /// Ends the profile and writes what is left of it.
    ///
    /// # Errors
    /// Those of the output, since the beginning.
    pub fn finish(self, thread: &mut Thread) -> io::Result<()> {
        debug_assert!(Arc::ptr_eq(&self.vm, thread.vm()));
        self.finish_with(|_| thread.end_profile())
    }

    /// The same from a thread that is none of the machine's. Takes some milliseconds more, in which threads
    /// hand over the samples that they have.
    ///
    /// # Errors
    /// Those of the output, since the beginning.
    pub fn finish_outside(self) -> io::Result<()> {
        self.vm.flush_profile();
        std::thread::sleep(FLUSH_TIME);
        self.finish_with(Vm::end_profile)
    }

    fn finish_with(self, end: impl FnOnce(&Vm) -> Option<LastRows>) -> io::Result<()> {
        drop(self.stop);
        let written = self.writer.join();
        let last = end(&self.vm);
        let Ok((mut writer, result)) = written else {
            return Err(io::Error::other(
                "the thread that writes the profile has failed",
            ));
        };
        result?;
        match last {
            Some((rows, lost, elapsed_ns)) => {
                writer.rows(&rows)?;
                writer.lost(lost)?;
                writer.finish(elapsed_ns).map(drop)
            }
            None => Ok(()),
        }
    }
}
