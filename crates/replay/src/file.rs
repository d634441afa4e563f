//! The file of a recording: a line that names the format, how the program was started, and then
//! entries, each with its kind and its length. Source files are entries of their own; they are found
//! by name. Nothing is read behind a damaged entry, or one that was cut off.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::answer::{Answer, Reading};
use super::kinds::Kind;

/// The first line of a file.
const MAGIC: [u8; 18] = *b"Canny recording 1\n";

/// The kind of an entry that is a source file.
const SOURCE: u8 = 0;

/// Bytes that wait for being written, at most.
const BUFFER_BYTES: usize = 64 * 1024;

/// Whether a file begins like a recording.
pub fn is_recording(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let file = File::open(path);
    file.and_then(|mut file| file.read_exact(&mut start))
        .is_ok()
        && start == MAGIC
}

/// How the recorded program was started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The build of Canny.
    pub build: String,
    /// The file of the program as it was given, and its arguments.
    pub program: String,
    pub command_line: Vec<String>,
    /// The current directory.
    pub directory: String,
    /// Further settings, by their names.
    pub settings: Vec<(String, String)>,
}

impl Answer for Beginning {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.build.write(bytes);
        self.program.write(bytes);
        self.command_line.write(bytes);
        self.directory.write(bytes);
        self.settings.write(bytes);
    }

    fn read(bytes: &mut Reading<'_>) -> Option<Beginning> {
        Some(Beginning {
            build: String::read(bytes)?,
            program: String::read(bytes)?,
            command_line: Vec::read(bytes)?,
            directory: String::read(bytes)?,
            settings: Vec::read(bytes)?,
        })
    }
}

/// Answers wait for so long at most where the program waits.
const FLUSH_AFTER: Duration = Duration::from_millis(100);

/// A file that is being written.
pub(crate) struct Writer {
    file: File,
    buffer: Vec<u8>,
    /// An answer before its length is known.
    payload: Vec<u8>,
    sources: HashMap<String, u64>,
    /// The disk is full or the like: nothing more is written.
    fault: Option<io::Error>,
    flushed: Instant,
}

impl Writer {
    pub(crate) fn create(path: &Path, beginning: &Beginning) -> io::Result<Writer> {
        let mut writer = Writer {
            // It has what the program reads: passwords, for example.
            file: OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(path)?,
            buffer: MAGIC.to_vec(),
            payload: Vec::new(),
            sources: HashMap::new(),
            fault: None,
            flushed: Instant::now(),
        };
        let mut bytes = Vec::new();
        beginning.write(&mut bytes);
        bytes.len().write(&mut writer.buffer);
        writer.buffer.extend_from_slice(&bytes);
        writer.flush()?;
        Ok(writer)
    }

    pub(crate) fn answer(&mut self, kind: Kind, write: &dyn Fn(&mut Vec<u8>)) {
        self.payload.clear();
        write(&mut self.payload);
        self.entry(kind as u8);
    }

    pub(crate) fn source(&mut self, name: &str, bytes: &[u8]) {
        let sum = super::answer::sum(bytes);
        if self.sources.insert(name.to_owned(), sum) == Some(sum) {
            return;
        }
        self.payload.clear();
        name.to_owned().write(&mut self.payload);
        self.payload.extend_from_slice(bytes);
        self.entry(SOURCE);
        // A program that is killed leaves its text at least. The end tells of a failure.
        let _ = self.flush();
    }

    /// Writes what waits, if it waits for long: the program may be killed.
    pub(crate) fn flush_now_and_then(&mut self) {
        if self.flushed.elapsed() >= FLUSH_AFTER {
            let _ = self.flush();
        }
    }

    fn entry(&mut self, kind: u8) {
        self.buffer.push(kind);
        self.payload.len().write(&mut self.buffer);
        self.buffer.extend_from_slice(&self.payload);
        if self.buffer.len() >= BUFFER_BYTES {
            // The end of the program tells of it.
            let _ = self.flush();
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(fault) = &self.fault {
            return Err(io::Error::new(fault.kind(), fault.to_string()));
        }
        self.flushed = Instant::now();
        let outcome = self.file.write_all(&self.buffer);
        self.buffer.clear();
        if let Err(error) = &outcome {
            self.fault = Some(io::Error::new(error.kind(), error.to_string()));
        }
        outcome
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// A recording in memory, and how far it was given.
#[derive(Debug)]
pub struct Recording {
    bytes: Vec<u8>,
    beginning: Beginning,
    /// Where the entries begin and end.
    entries: Range<usize>,
    next: usize,
    sources: HashMap<String, Range<usize>>,
    answers: u64,
    is_cut: bool,
}

impl Recording {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Recording, String> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        Recording::of_bytes(bytes)
    }

    /// A recording of the bytes of a file.
    pub fn of_bytes(bytes: Vec<u8>) -> Result<Recording, String> {
        let Some(rest) = bytes.strip_prefix(&MAGIC) else {
            return Err("it is no recording, or one of another version of Canny".to_owned());
        };
        let mut reading = Reading::new(rest);
        let beginning = usize::read(&mut reading)
            .and_then(|length| reading.take(length))
            .and_then(|bytes| Beginning::read(&mut Reading::new(bytes)));
        let Some(beginning) = beginning else {
            return Err("the beginning of the recording is damaged".to_owned());
        };
        let start = bytes.len() - reading.take_rest().len();
        let mut recording = Recording {
            entries: start..start,
            next: start,
            beginning,
            sources: HashMap::new(),
            answers: 0,
            is_cut: false,
            bytes,
        };
        recording.scan();
        Ok(recording)
    }

    /// Finds the sources and counts the answers.
    fn scan(&mut self) {
        let mut at = self.entries.start;
        while at < self.bytes.len() {
            let Some((kind, payload)) = self.entry(at) else {
                self.is_cut = true;
                break;
            };
            if kind == SOURCE {
                let mut reading = Reading::new(&self.bytes[payload.clone()]);
                if let Some(name) = String::read(&mut reading) {
                    let start = payload.end - reading.take_rest().len();
                    self.sources.insert(name, start..payload.end);
                }
            } else if Kind::of_number(kind).is_some() {
                self.answers += 1;
            } else {
                self.is_cut = true;
                break;
            }
            at = payload.end;
        }
        self.entries.end = at.min(self.bytes.len());
    }

    /// Kind and payload of the entry at an index.
    fn entry(&self, at: usize) -> Option<(u8, Range<usize>)> {
        let mut reading = Reading::new(self.bytes.get(at..)?);
        let kind = reading.take(1)?[0];
        let length = usize::read(&mut reading)?;
        let payload = reading.take(length)?;
        let end = self.bytes.len() - reading.take_rest().len();
        Some((kind, end - payload.len()..end))
    }

    /// How the program was started.
    pub fn beginning(&self) -> &Beginning {
        &self.beginning
    }

    /// How many answers it has.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// The end is missing, as after a crash.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// A source file as it was.
    pub fn source(&self, name: &str) -> Option<&[u8]> {
        self.sources
            .get(name)
            .map(|range| &self.bytes[range.clone()])
    }

    /// Names of the source files.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// The next answer.
    pub(crate) fn next(&mut self) -> Option<(Kind, Reading<'_>)> {
        loop {
            if self.next >= self.entries.end {
                return None;
            }
            let (kind, payload) = self.entry(self.next)?;
            self.next = payload.end;
            if let Some(kind) = Kind::of_number(kind) {
                return Some((kind, Reading::new(&self.bytes[payload])));
            }
        }
    }
}
