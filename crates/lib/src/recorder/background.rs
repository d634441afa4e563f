//! Processor time of threads that run no Scheme code.

use std::collections::HashMap;
use std::fs;

use canny_vm::profile::Profiler;

/// Processor time of threads without samples, as of the last look.
#[derive(Default)]
pub(super) struct BackgroundTimes {
    known: HashMap<u64, u64>,
}

impl BackgroundTimes {
    /// Notes what these threads have used since the last call.
    pub(super) fn note(&mut self, profiler: &Profiler) {
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return;
        };
        for thread in threads.flatten() {
            let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
            let Some(id) = id.filter(|id| !profiler.has_samples_of(*id)) else {
                continue;
            };
            let path = thread.path();
            let text = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
            let Some(used_ns) = text("schedstat")
                .split_whitespace()
                .next()
                .and_then(|number| number.parse::<u64>().ok())
            else {
                continue;
            };
            if let Some(before_ns) = self.known.insert(id, used_ns)
                && used_ns > before_ns
            {
                profiler.note_background(id, text("comm").trim(), used_ns - before_ns);
            }
        }
    }
}
