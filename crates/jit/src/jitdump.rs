//! The file by which `perf inject --jit` finds code that was made while a program ran: with its bytes, so
//! that `perf annotate` shows it, and with lines of the source.
//!
//! The format is that of `tools/perf/Documentation/jitdump-specification.txt` in Linux. `perf record` does
//! not look into the file. It notes that an executable page of it was mapped, which is why one is. A process
//! has one file, whichever of its machines writes to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr;
use std::sync::OnceLock;

use canny_locks::Mutex;

/// `JiTD`
const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
/// Bytes of a record before its own fields.
const PREFIX_BYTES: usize = 16;
const CODE_LOAD: u32 = 0;
const DEBUG_INFO: u32 = 2;
/// The processor, as ELF names it.
const MACHINE: u32 = if cfg!(target_arch = "aarch64") {
    183
} else {
    62
};

/// A line of the source from an address of code on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeLine {
    pub(crate) address: usize,
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// The open file.
#[derive(Debug)]
pub(crate) struct JitDump {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Codes so far.
    count: u64,
}

static DUMP: OnceLock<Option<JitDump>> = OnceLock::new();

impl JitDump {
    /// The file of this process, `jit-PID.dump` in the directory in which it was when the first machine
    /// opened it; none if that fails, for profiling is no reason to stop.
    pub(crate) fn of_process() -> Option<&'static JitDump> {
        DUMP.get_or_init(|| JitDump::open().ok()).as_ref()
    }

    fn open() -> io::Result<JitDump> {
        let path = format!("jit-{}.dump", std::process::id());
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(true).read(true).write(true);
        let mut file = options.mode(0o600).open(path)?;
        file.write_all(&header())?;
        map_marker(&file)?;
        Ok(JitDump {
            state: Mutex::new(State { file, count: 0 }),
        })
    }

    /// Adds code at an address.
    pub(crate) fn add(&self, address: usize, code: &[u8], name: &str, lines: &[CodeLine]) {
        let mut state = self.state.lock();
        let time_ns = now_ns();
        let mut bytes = Vec::with_capacity(code.len() + 128);
        if !lines.is_empty() {
            debug_info(&mut bytes, address, lines, time_ns);
        }
        code_load(&mut bytes, address, code, name, state.count, time_ns);
        state.count += 1;
        // Code that cannot be written is missing in the profile, nothing more.
        let _ = state.file.write_all(&bytes);
    }
}

fn header() -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [MAGIC, VERSION, HEADER_BYTES, MACHINE, 0, std::process::id()] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(now_ns().to_ne_bytes());
    bytes.extend(0_u64.to_ne_bytes());
    bytes
}

/// Adds a record with the content that `write` adds.
fn record(bytes: &mut Vec<u8>, kind: u32, time_ns: u64, write: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(time_ns.to_ne_bytes());
    debug_assert_eq!(bytes.len(), start + PREFIX_BYTES);
    write(bytes);
    let length = (bytes.len() - start) as u32;
    bytes[start + 4..start + 8].copy_from_slice(&length.to_ne_bytes());
}

/// A text that ends with a zero byte.
fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(text.bytes().filter(|byte| *byte != 0));
    bytes.push(0);
}

fn code_load(
    bytes: &mut Vec<u8>,
    address: usize,
    code: &[u8],
    name: &str,
    index: u64,
    time_ns: u64,
) {
    record(bytes, CODE_LOAD, time_ns, |bytes| {
        bytes.extend(std::process::id().to_ne_bytes());
        bytes.extend(thread().to_ne_bytes());
        let address = address as u64;
        for word in [address, address, code.len() as u64, index] {
            bytes.extend(word.to_ne_bytes());
        }
        text(bytes, name);
        bytes.extend(code);
    });
}

fn debug_info(bytes: &mut Vec<u8>, address: usize, lines: &[CodeLine], time_ns: u64) {
    record(bytes, DEBUG_INFO, time_ns, |bytes| {
        bytes.extend((address as u64).to_ne_bytes());
        bytes.extend((lines.len() as u64).to_ne_bytes());
        for line in lines {
            bytes.extend((line.address as u64).to_ne_bytes());
            bytes.extend(line.line.to_ne_bytes());
            bytes.extend(0_u32.to_ne_bytes());
            text(bytes, &line.file);
        }
    });
}

/// Maps the beginning of the file as code; it stays until the process ends.
fn map_marker(file: &File) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: the system chooses an address that nothing else uses.
    let place = unsafe {
        libc::mmap(
            ptr::null_mut(),
            4096,
            protection,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            0,
        )
    };
    if place == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn thread() -> u32 {
    // SAFETY: only asks.
    unsafe { libc::gettid() as u32 }
}

#[cfg(not(target_os = "linux"))]
fn thread() -> u32 {
    0
}

/// The clock of `perf record -k mono`.
fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to the structure only.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn a_record_has_its_length_and_its_code() {
        let mut bytes = Vec::new();
        code_load(&mut bytes, 0x1000, &[0x90, 0xc3], "f\0g", 7, 99);
        let length = u32::from_ne_bytes(bytes[4..8].try_into().unwrap());
        assert_eq!(length as usize, bytes.len());
        assert_eq!(word(&bytes, 8), 99);
        let words = [24, 32, 40, 48].map(|at| word(&bytes, at));
        assert_eq!(words, [0x1000, 0x1000, 2, 7]);
        assert_eq!(&bytes[56..], b"fg\0\x90\xc3");
    }

    #[test]
    fn lines_stand_with_their_files() {
        let line = CodeLine {
            address: 0x1004,
            file: "a.scm".to_owned(),
            line: 12,
        };
        let mut bytes = Vec::new();
        debug_info(&mut bytes, 0x1000, &[line], 5);
        assert_eq!(word(&bytes, 16), 0x1000);
        assert_eq!(word(&bytes, 24), 1);
        assert_eq!(word(&bytes, 32), 0x1004);
        assert_eq!(&bytes[40..44], 12_u32.to_ne_bytes());
        assert_eq!(&bytes[48..], b"a.scm\0");
    }
}
