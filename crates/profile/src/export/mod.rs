//! The formats of other profilers.
//!
//! Each function takes a profile and answers the whole text or bytes of a file;
//! `analysis::selected` makes a profile of a part of one. Names may contain any character; each
//! format says how its own separators are escaped. Stacks deeper than [`DEPTH_MAX`] lose their
//! oldest frames, since most formats write each stack as a list.

mod callgrind;
mod chrome;
mod collapsed;
mod firefox;
mod lanes;
mod pprof;
mod protobuf;
mod speedscope;

#[cfg(test)]
mod tests;

pub use callgrind::callgrind;
pub(crate) use callgrind::one_line;
pub use chrome::chrome;
pub use collapsed::collapsed;
pub use firefox::firefox;
pub use pprof::pprof;
pub use speedscope::speedscope;

use std::collections::BTreeMap;

use crate::model::{Profile, Sample, ThreadIndex};

/// Frames of one stack in a file.
pub const DEPTH_MAX: usize = 2000;
/// The name of the frame below a stack whose oldest frames are missing.
const CUT: &str = "(frames are missing)";
/// The name of the only frame of a sample without a stack.
const UNKNOWN: &str = "(no stack)";

/// A text as a JSON string with its quotes.
fn json_string(text: &str) -> String {
    // Strings always have a form in JSON.
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

/// The samples of each thread that has some, in order of time.
fn samples_by_thread(profile: &Profile) -> BTreeMap<ThreadIndex, Vec<Sample>> {
    let mut threads: BTreeMap<ThreadIndex, Vec<Sample>> = BTreeMap::new();
    for sample in &profile.rows.samples {
        threads.entry(sample.thread).or_default().push(*sample);
    }
    for samples in threads.values_mut() {
        samples.sort_by_key(|sample| sample.at_ns);
    }
    threads
}
