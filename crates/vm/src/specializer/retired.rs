//! Machine code that is out of use but may have suspended frames, until nobody refers to it any more.
//!
//! Frames refer to descriptors by their return addresses, wherever they are: on a thread's stack, in a
//! continuation. A full collection visits all of them: threads show the return addresses of their
//! frames, the heap shows words of live closures (continuations are closures) and of native stacks,
//! where the stub that calls the runtime keeps the address of a resumption. Code that was not seen
//! is freed when the collection ends. Nothing else refers to retired code: calls and loops were led
//! back to the bytecode when it was retired, and a thread that had read an address before has used
//! it before the safepoint at which the collection found the thread.
//!
//! The search reads every closure's words, so it waits until it is worth it.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::atomic::Ordering;

use canny_heap::RawReferences;
use canny_jit::Installed;

use super::CandidateId;
use super::registry::SpecializerHandle;

/// Bytes of retired code for which a full collection searches,
const SEARCHED_BYTES: usize = 64 << 10;
/// or this part of the memory for code, if that is less.
const SEARCHED_SHARE: usize = 32;
/// The part of the memory for code that may be retired before a full collection is asked for.
pub(super) const FORCED_SHARE: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RetiredCode {
    /// End and owner of each range of code or descriptors, by its start.
    ranges: BTreeMap<usize, (usize, CandidateId)>,
    bytes: usize,
    /// Somebody needs the memory.
    is_wanted: bool,
    is_searching: bool,
    seen: HashSet<CandidateId>,
}

fn ranges_of(code: &Installed) -> [Range<usize>; 2] {
    [
        code.code_address..code.code_address + code.code_bytes,
        code.data_address..code.data_address + code.data_bytes,
    ]
}

impl RetiredCode {
    /// Code was taken out of use. During a search it counts as seen, since some places were looked at
    /// already.
    pub(super) fn add(&mut self, id: CandidateId, code: &Installed) {
        for range in ranges_of(code) {
            self.ranges.insert(range.start, (range.end, id));
            self.bytes += range.len();
        }
        if self.is_searching {
            self.seen.insert(id);
        }
    }

    /// Code was or will be freed.
    fn remove(&mut self, code: &Installed) {
        for range in ranges_of(code) {
            self.ranges.remove(&range.start);
            self.bytes -= range.len();
        }
    }

    /// Bytes of code and descriptors that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Somebody needs the memory: the next full collection searches if there is anything to find.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// A full collection begins: whether it searches. There is memory for so many bytes.
    fn begin(&mut self, bytes_max: usize) -> bool {
        let enough = SEARCHED_BYTES.min(bytes_max / SEARCHED_SHARE);
        let is_worth_it = self.bytes >= enough || self.is_wanted;
        self.is_searching = self.bytes > 0 && is_worth_it;
        self.seen.clear();
        self.is_searching
    }

    /// Whether addresses are to be shown.
    pub(super) fn is_searching(&self) -> bool {
        self.is_searching
    }

    /// Somebody refers to an address.
    pub(super) fn see(&mut self, address: usize) {
        if let Some((_, (end, id))) = self.ranges.range(..=address).next_back()
            && address < *end
        {
            self.seen.insert(*id);
        }
    }

    /// The search is over: returns the candidates that were not seen.
    fn end(&mut self) -> HashSet<CandidateId> {
        self.is_searching = false;
        self.is_wanted = false;
        let all = self.ranges.values().map(|(_, id)| *id);
        all.filter(|id| !self.seen.contains(id)).collect()
    }
}

impl RawReferences for SpecializerHandle {
    fn begin(&mut self) -> Option<Range<usize>> {
        let addresses = self.0.code_addresses()?;
        let searches = self.0.lock().retired.begin(addresses.len());
        searches.then_some(addresses)
    }

    fn see(&mut self, address: usize) {
        self.0.lock().retired.see(address);
    }

    fn end(&mut self) {
        let mut registry = self.0.lock();
        let unseen = registry.retired.end();
        if !unseen.is_empty() {
            self.0.is_full.store(false, Ordering::Relaxed);
        }
        for id in unseen {
            let Some(code) = registry.forget_candidate(id) else {
                continue;
            };
            registry.retired.remove(&code);
            // SAFETY: the code is retired and the search saw nobody who refers to it; see the module.
            unsafe { code.free() };
        }
    }
}
