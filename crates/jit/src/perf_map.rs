//! The file in which the `perf` profiler finds names of generated code.

use std::fs::{File, OpenOptions};
use std::io::Write;

use canny_locks::Mutex;

/// An open map file.
#[derive(Debug)]
pub(crate) struct PerfMap {
    file: Mutex<File>,
}

impl PerfMap {
    /// Opens this process's file; none if that fails, for profiling is no reason to stop.
    pub(crate) fn open() -> Option<PerfMap> {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.ok().map(|file| PerfMap {
            file: Mutex::new(file),
        })
    }

    /// Adds a range of code.
    pub(crate) fn add(&self, address: usize, bytes: usize, name: &str) {
        let mut file = self.file.lock();
        // A line that cannot be written is missing in the profile, nothing more.
        let _ = writeln!(file, "{address:x} {bytes:x} canny:{name}");
    }
}
