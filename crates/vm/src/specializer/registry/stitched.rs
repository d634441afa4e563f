//! Stitched code in the registry: one candidate for each code, which calls enter behind all others.

use std::collections::HashSet;
use std::sync::Arc;

use canny_jit::{Installed, InstalledStitches};
use canny_spesh::graph::EntryPoint;
use canny_spesh::snapshot::{CodeSnapshot, CodeWord};

use super::{Candidate, Registry, bytes_of};
use crate::specializer::CandidateId;

impl Registry {
    /// Whether a code is known and was not stitched before.
    pub(in crate::specializer) fn can_be_stitched(&self, code: CodeWord) -> bool {
        let known = self.codes.get(&code);
        known.is_some_and(|known| known.stitched.is_none()) && self.breaks_of(code).is_empty()
    }

    /// Lets calls enter stitched code in place of the bytecode. Gives the code back if that of the
    /// procedure died meanwhile.
    pub(in crate::specializer) fn publish_stitched(
        &mut self,
        id: CandidateId,
        snapshot: &Arc<CodeSnapshot>,
        stitched: InstalledStitches,
    ) -> Option<Installed> {
        let InstalledStitches { installed, loops } = stitched;
        let word = snapshot.word;
        let has_breaks = !self.breaks_of(word).is_empty();
        match self.codes.get_mut(&word) {
            Some(known) if known.stitched.is_none() && !has_breaks => known.stitched = Some(id),
            _ => return Some(installed),
        }
        self.usage.bytes += bytes_of(&installed);
        for (head, descriptor) in loops {
            self.stitched_loops.insert(head, (id, descriptor));
        }
        self.candidates.insert(
            id,
            Candidate {
                code: word,
                entry: EntryPoint::Start,
                required: Vec::new(),
                watched: Vec::new(),
                installed,
                exits: Vec::new(),
                exits_total: 0,
                entries: 0,
                is_retired: false,
                retired_by: None,
                exits_before: Vec::new(),
                codes: vec![snapshot.clone()],
                leaf_calls: HashSet::new(),
                is_shown: false,
            },
        );
        self.link_chain(word);
        None
    }

    /// The descriptor of the stitched code of a loop.
    pub(in crate::specializer) fn stitched_loop(&self, head: u64) -> Option<u64> {
        let (_, descriptor) = self.stitched_loops.get(&head)?;
        Some(*descriptor)
    }
}
