//! Breaks of a debugger in the registry: what was compiled without regard to them is retired, and what
//! is compiled from now on leaves them to the interpreter.
//!
//! A snapshot says which instructions have breaks. Code that was made from a snapshot which says
//! something else is refused when it is published, so none slips through while it is being compiled.

use std::sync::Arc;

use canny_spesh::snapshot::{CodeSnapshot, CodeWord};

use super::Registry;
use crate::specializer::{CandidateId, RetiredBy, Specializer};

impl Registry {
    /// The word indices of the instructions with breaks.
    pub(in crate::specializer) fn breaks_of(&self, code: CodeWord) -> Arc<[usize]> {
        self.breaks.get(&code).cloned().unwrap_or_default()
    }

    /// Whether a snapshot knows of the breaks as they are now.
    pub(super) fn has_breaks_of(&self, snapshot: &CodeSnapshot) -> bool {
        let breaks = self.breaks.get(&snapshot.word);
        breaks.map_or(&[][..], |breaks| breaks) == &*snapshot.breaks
    }

    fn set_breaks(&mut self, code: CodeWord, breaks: &[usize]) {
        if breaks.is_empty() {
            self.breaks.remove(&code);
        } else {
            self.breaks.insert(code, breaks.into());
        }
        let mut stitched = None;
        if let Some(known) = self.codes.get_mut(&code) {
            known.snapshot = None;
            stitched = known.stitched.take();
            if std::mem::take(&mut known.is_awaited) && !self.wishes.contains(&code) {
                self.wishes.push(code);
            }
        }
        let contains = |codes: &[Arc<CodeSnapshot>]| codes.iter().any(|one| one.word == code);
        let candidates = self.candidates.iter();
        let outdated: Vec<CandidateId> = candidates
            .filter(|(_, candidate)| !candidate.is_retired && contains(&candidate.codes))
            .map(|(id, _)| *id)
            .collect();
        if let Some(stitched) = stitched {
            self.stitched_loops.retain(|_, (id, _)| *id != stitched);
            self.link_chain(code);
        }
        for id in outdated {
            self.retire(id, RetiredBy::Request);
        }
    }
}

impl Specializer {
    /// Where there are breaks in a code.
    pub(crate) fn breaks_of(&self, code: CodeWord) -> Arc<[usize]> {
        self.lock().breaks_of(code)
    }

    /// Says where a debugger wants to be asked in a code. Compiled code that contains it is retired: no
    /// thread enters it any more, and one that is inside leaves it at the next call or loop.
    pub(crate) fn set_breaks(&self, code: CodeWord, breaks: &[usize]) {
        self.lock().set_breaks(code, breaks);
        self.heap.request_safepoints();
    }
}
