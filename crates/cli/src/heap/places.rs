//! Places of allocation in heap snapshots: objects are sampled as in a profile that nobody reads.

use canny_lib::recorder::{Recorder, Subject};
use canny_vm::profile::ProfileOptions;

use crate::options::Options;
use crate::session::Session;

/// Allocated bytes between two samples, on average.
pub const INTERVAL_BYTES: usize = 128 << 10;

/// Begins to sample allocations if the command line asks for places, and no other profile does so.
pub fn begin_places(session: &mut Session, options: &Options) -> Result<Option<Recorder>, String> {
    if !options.heap.has_places || options.ring.options().is_some() {
        return Ok(None);
    }
    let samples = ProfileOptions {
        interval_ns: 0,
        allocation_interval_bytes: Some(INTERVAL_BYTES),
        collects_at_end: false,
        waits_per_second: None,
        ..ProfileOptions::default()
    };
    let output = Box::new(std::io::sink());
    let subject = Subject::of_machine(&session.vm);
    let recorder = Recorder::start(&mut session.thread, output, &subject, samples);
    let recorder = recorder.map_err(|error| format!("--heap-places: {error}"))?;
    Ok(Some(recorder))
}
