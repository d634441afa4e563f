//! The specializer's registry of the program's code, and of compiled code.
//!
//! | entry | lives |
//! |---|---|
//! | known code | from its first snapshot until a full collection finds the code dead |
//! | snapshot | until a watched cell in it changes; a new one is made when it is asked for again |
//! | candidate | until it was retired, or its code died, and nobody refers to its machine code ([`super::retired`]) |
//!
//! A worker that holds a snapshot keeps the code alive: the registry shows such code to the collector.
//! A candidate keeps the code alive that it copied, calls or compares with, as long as the code that it
//! was compiled for is alive; that it does not keep alive itself. All other known code is held weakly.
//!
//! Everything is behind one lock, which is never held across an allocation or a safepoint. It is taken
//! by mutators on slow paths, by workers, and by the collector.

mod breaks;
mod roots;
mod stitched;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use canny_jit::publication::{self, Way};
use canny_jit::{Installed, LinkGoal};
use canny_spesh::code_map::FastMap;
use canny_spesh::graph::EntryPoint;
use canny_spesh::snapshot::{CodeSnapshot, CodeWord, PoolItem, is_call};
use canny_spesh::types::Type;
use canny_tables::layout::code;
use canny_tables::opcodes::{Flow, Opcode, encode_far, field_far, opcode_byte};
use canny_value::Value;

use super::retired::RetiredCode;
use super::watches::Watches;
use super::{CandidateId, ExitReport, Refusal, RetiredBy};
use crate::code::CodeRef;
pub(crate) use roots::SpecializerHandle;

/// Exits after which a candidate is retired.
pub(crate) const EXITS_MAX: u32 = 100;
/// An exit with at least this share of a given-up candidate's exits makes its place unstable.
const UNSTABLE_SHARE: u32 = 4;
/// Times in a row that registers may have other types than a loop's candidates want before the loop is
/// let alone.
const MISMATCHES_MAX: u32 = 1000;

/// A code object that was asked about.
#[derive(Debug)]
struct KnownCode {
    /// The code object; it does not move.
    code: Value,
    snapshot: Option<Arc<CodeSnapshot>>,
    /// Somebody wished for the snapshot and did not get it yet.
    is_awaited: bool,
    /// The candidates that calls enter, in the order in which calls are passed on.
    entered: Vec<CandidateId>,
    /// How many candidates were retired because their guesses were wrong.
    retirements: u32,
    /// Stitched code, which calls enter behind all candidates in place of the bytecode.
    stitched: Option<CandidateId>,
}

/// Compiled code.
struct Candidate {
    code: CodeWord,
    entry: EntryPoint,
    /// Types of registers on entry at a loop, of arguments at a start.
    required: Vec<(u32, Type)>,
    /// Numbers of the watches that it relies on.
    watched: Vec<u32>,
    installed: Installed,
    /// How often each exit was taken.
    exits: Vec<u32>,
    exits_total: u32,
    entries: u64,
    is_retired: bool,
    /// Why, and the exits that were taken before, for people: code, word index, times.
    retired_by: Option<RetiredBy>,
    exits_before: Vec<(CodeWord, usize, u32)>,
    /// Code that it copied, calls or compares with, and its own.
    codes: Vec<Arc<CodeSnapshot>>,
    /// Places where it calls leaf functions.
    leaf_calls: HashSet<(CodeWord, usize)>,
    /// The collector was shown that code.
    is_shown: bool,
}

/// The candidates of a loop.
#[derive(Debug, Default)]
struct Loop {
    candidates: Vec<CandidateId>,
    /// In a row.
    mismatches: u32,
}

/// Observations at a place where guesses failed.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    operands: Type,
    is_unstable: bool,
    /// A leaf function declined too often.
    declines: bool,
    /// Guards before the loop that begins here failed too often.
    fails_before_loop: bool,
    /// Compiled code was retired for leaving at a call, the first time.
    was_cold_call: bool,
}

impl Place {
    /// A bit for each sort of guess that failed.
    fn flags(&self) -> u8 {
        let flags = [
            self.is_unstable,
            self.declines,
            self.fails_before_loop,
            self.was_cold_call,
        ];
        let bits = flags.iter().enumerate();
        bits.fold(0, |all, (bit, flag)| all | u8::from(*flag) << bit)
    }

    fn of_flags(operands: Type, flags: u8) -> Place {
        let flag = |bit: u8| flags >> bit & 1 == 1;
        Place {
            operands,
            is_unstable: flag(0),
            declines: flag(1),
            fails_before_loop: flag(2),
            was_cold_call: flag(3),
        }
    }
}

#[derive(Default)]
pub(super) struct Registry {
    codes: HashMap<CodeWord, KnownCode>,
    candidates: FastMap<CandidateId, Candidate>,
    /// By code that is called: candidates, in use or retired, whose links go there, with the links' numbers.
    links: FastMap<CodeWord, Vec<(CandidateId, usize)>>,
    /// By address of the loop's head.
    loops: FastMap<u64, Loop>,
    /// By address of the loop's head: stitched code, and the descriptor that leads to the loop there.
    stitched_loops: FastMap<u64, (CandidateId, u64)>,
    places: HashMap<(CodeWord, usize), Place>,
    pub(super) watches: Watches,
    pub(super) retired: RetiredCode,
    pub(super) usage: CodeUsage,
    /// Known code that the last full collection left.
    left: usize,
    /// Known code that died since somebody asked.
    dead: Vec<CodeWord>,
    /// Reports on candidates that were freed, if somebody will ask for them.
    reports: HashMap<CandidateId, ExitReport>,
    pub(super) keeps_reports: bool,
    /// Word indices of the instructions at which a debugger wants to be asked.
    breaks: HashMap<CodeWord, Arc<[usize]>>,
    /// Code that somebody wants a snapshot of.
    wishes: Vec<CodeWord>,
    /// Of these, code whose snapshots are being made.
    granting: Vec<CodeWord>,
    /// A full collection has visited the roots and not yet the weak references: snapshots are not handed out.
    is_collecting: bool,
}

/// Bytes of machine code and descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeUsage {
    /// In use or retired.
    pub bytes: usize,
    /// Of these, retired: frames may refer to them.
    pub retired_bytes: usize,
    /// Freed so far.
    pub freed_bytes: usize,
    /// Candidates freed so far.
    pub freed: usize,
}

/// Code that may become known between full collections in any case.
const KNOWN_FREE: usize = 4096;
/// Freed candidates whose reports are kept.
const REPORTS_MAX: usize = 10_000;

/// Data that publishes a candidate, beside its machine code.
pub(super) struct Publication {
    pub(super) id: CandidateId,
    pub(super) code: CodeWord,
    pub(super) entry: EntryPoint,
    pub(super) required: Vec<(u32, Type)>,
    pub(super) watched: Vec<u32>,
    pub(super) codes: Vec<Arc<CodeSnapshot>>,
    /// Where it calls leaf functions.
    pub(super) leaf_calls: HashSet<(CodeWord, usize)>,
    /// A breakpoint ends each iteration of its loop, so that entering costs more than it gains.
    pub(super) never_repeats: bool,
}

impl Registry {
    /// The address of a code object, and the bytes of machine code that was made of it: candidate by
    /// candidate, retired ones included.
    pub(super) fn machine_code(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.candidates.values().filter_map(|candidate| {
            let known = self.codes.get(&candidate.code)?;
            Some((known.code.address(), bytes_of(&candidate.installed)))
        })
    }

    /// The machine code that is there: the code object's word, where it begins, and its bytes.
    pub(super) fn segments(&self) -> impl Iterator<Item = (CodeWord, usize, usize)> + '_ {
        self.candidates.values().map(|candidate| {
            let installed = &candidate.installed;
            (candidate.code, installed.code_address, installed.code_bytes)
        })
    }

    /// The snapshot of a code, if there is one now; else somebody will make it soon. The second result tells
    /// whether this is the first wish for it.
    pub(super) fn snapshot_or_wish(&mut self, code: CodeWord) -> (Option<Arc<CodeSnapshot>>, bool) {
        if self.is_collecting {
            return (None, false);
        }
        let known = self.hand_out(code);
        let is_new = known.is_none() && !self.wishes.contains(&code);
        if is_new {
            self.wishes.push(code);
        }
        (known, is_new)
    }

    /// The snapshot of a code for the one who wished for it.
    fn hand_out(&mut self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        let known = self.codes.get_mut(&code)?;
        known.is_awaited &= known.snapshot.is_none();
        known.snapshot.clone()
    }

    pub(super) fn snapshot(&self, code: CodeWord) -> Option<Arc<CodeSnapshot>> {
        self.codes.get(&code)?.snapshot.clone()
    }

    pub(super) fn has_wishes(&self) -> bool {
        !self.wishes.is_empty()
    }

    pub(super) fn take_wishes(&mut self) -> Vec<CodeWord> {
        let wishes = std::mem::take(&mut self.wishes);
        self.granting.extend(&wishes);
        wishes
    }

    /// The snapshots of these were made, if there can be any.
    pub(super) fn has_granted(&mut self, wishes: &[CodeWord]) {
        self.granting.retain(|code| !wishes.contains(code));
    }

    /// The snapshot of a code, and whether it may still be made if there is none.
    pub(super) fn awaited(&mut self, code: CodeWord) -> (Option<Arc<CodeSnapshot>>, bool) {
        if self.is_collecting {
            return (None, true);
        }
        let is_awaited = self.wishes.contains(&code) || self.granting.contains(&code);
        (self.hand_out(code), is_awaited)
    }

    pub(super) fn add_snapshot(&mut self, code: Value, snapshot: Arc<CodeSnapshot>) {
        self.codes
            .entry(snapshot.word)
            .and_modify(|known| {
                known.snapshot = Some(snapshot.clone());
                known.is_awaited = true;
            })
            .or_insert(KnownCode {
                code,
                snapshot: Some(snapshot),
                is_awaited: true,
                entered: Vec::new(),
                retirements: 0,
                stitched: None,
            });
    }

    /// Whether everything that a candidate relies on is still so.
    pub(super) fn check(&self, publication: &Publication) -> Result<(), Refusal> {
        let known = |word: &CodeWord| self.codes.contains_key(word);
        if !known(&publication.code) || !publication.codes.iter().all(|code| known(&code.word)) {
            return Err(Refusal::UnknownCode);
        }
        if !publication
            .codes
            .iter()
            .all(|code| self.has_breaks_of(code))
        {
            return Err(Refusal::Stale);
        }
        if publication
            .watched
            .iter()
            .any(|number| !self.watches.is_valid(*number))
        {
            return Err(Refusal::Stale);
        }
        Ok(())
    }

    /// Makes a candidate reachable. Everything that it relies on was checked under the same lock.
    pub(super) fn publish(&mut self, publication: Publication, installed: Installed) {
        let Publication {
            id,
            code: word,
            entry,
            required,
            watched,
            codes,
            leaf_calls,
            never_repeats,
        } = publication;
        let Some(code_object) = self.code_object(word) else {
            return;
        };
        match entry {
            EntryPoint::Start => self.join_chain(id, word, &required),
            // It is made all the same: its retirement tells when the breakpoint is gone.
            EntryPoint::Loop(_) if never_repeats => {}
            EntryPoint::Loop(pc) => {
                // SAFETY: loop heads are instructions of the code.
                let head = unsafe { code_object.start().add(pc) } as u64;
                let candidates = self.loops.entry(head).or_default();
                candidates.candidates.insert(0, id);
                candidates.mismatches = 0;
                patch_loops(code_object, pc, Opcode::LoopNative);
            }
        }
        self.usage.bytes += bytes_of(&installed);
        self.candidates.insert(
            id,
            Candidate {
                code: word,
                entry,
                required,
                watched,
                exits: vec![0; installed.exits.len()],
                installed,
                exits_total: 0,
                entries: 0,
                is_retired: false,
                retired_by: None,
                exits_before: Vec::new(),
                codes,
                leaf_calls,
                is_shown: false,
            },
        );
        let links = self.candidates[&id].installed.links.iter();
        let called: Vec<CodeWord> = links.map(|link| CodeWord(link.code)).collect();
        for (number, code) in called.into_iter().enumerate() {
            self.links.entry(code).or_default().push((id, number));
            self.lead_link(id, number);
        }
        if entry == EntryPoint::Start {
            self.link_chain(word);
        }
    }

    /// Puts a candidate among those that calls of a code enter: behind those that ask for as much or
    /// more, in place of one that asks for the same.
    fn join_chain(&mut self, id: CandidateId, code: CodeWord, required: &[(u32, Type)]) {
        let candidates = &self.candidates;
        let Some(known) = self.codes.get_mut(&code) else {
            return;
        };
        let of = |other: &CandidateId| candidates.get(other).map(|other| &other.required[..]);
        known.entered.retain(|other| of(other) != Some(required));
        let asks_less =
            |other: &CandidateId| of(other).is_some_and(|types| types.len() < required.len());
        let at = known.entered.iter().position(asks_less);
        known.entered.insert(at.unwrap_or(known.entered.len()), id);
    }

    /// Leads calls of a code to its candidates: to the first, from each to the next, and from the last
    /// to the bytecode.
    fn link_chain(&self, word: CodeWord) {
        let Some(known) = self.codes.get(&word) else {
            return;
        };
        let Some(code_object) = CodeRef::of_value(known.code) else {
            return;
        };
        let mut native = canny_llint::native_to_bytecode();
        let mut entry = code_object.start() as u64;
        if let Some(stitched) = known.stitched.and_then(|id| self.candidates.get(&id)) {
            native = stitched.installed.native_entry;
            entry = stitched.installed.entry_descriptor as u64;
        }
        // From the end, so that nobody is led to what leads nowhere yet.
        for id in known.entered.iter().rev() {
            if let Some(Candidate { installed, .. }) = self.candidates.get(id) {
                installed.pass_on_to(native);
                native = installed.native_entry;
                entry = installed.entry_descriptor as u64;
            }
        }
        enter_at(code_object, entry, native as u64);
        self.lead_links(word);
    }

    /// Leads all links to a code to where they belong now.
    fn lead_links(&self, word: CodeWord) {
        for (id, number) in self.links.get(&word).into_iter().flatten() {
            self.lead_link(*id, *number);
        }
    }

    fn lead_link(&self, id: CandidateId, number: usize) {
        if let Some(Candidate { installed, .. }) = self.candidates.get(&id)
            && let Some(link) = installed.links.get(number)
        {
            installed.lead_link(number, self.goal_of(CodeWord(link.code), &link.types));
        }
    }

    /// Where a call enters that knows so much of its arguments: the first candidate of the chain that
    /// may be for it, behind its questions if the answers are known; the code object if there is no
    /// such candidate.
    fn goal_of(&self, word: CodeWord, types: &[Type]) -> LinkGoal {
        let of = |register: u32| types.get(register as usize).copied().unwrap_or(Type::ANY);
        let entered = self
            .codes
            .get(&word)
            .map_or(&[][..], |known| &known.entered);
        for candidate in entered.iter().filter_map(|id| self.candidates.get(id)) {
            let Some(starts) = candidate.installed.starts else {
                continue;
            };
            let required = &candidate.required;
            if required.iter().all(|(register, ty)| of(*register).is(*ty)) {
                return LinkGoal::Known(starts);
            }
            if required
                .iter()
                .all(|(register, ty)| of(*register).may_be(*ty))
            {
                return LinkGoal::Checked(starts);
            }
        }
        LinkGoal::Code
    }

    /// The descriptor of a candidate for a loop with such registers.
    pub(super) fn enter_loop(
        &mut self,
        head: u64,
        register_type: impl Fn(u32) -> Type,
    ) -> Option<u64> {
        let known = self.loops.get_mut(&head)?;
        for id in &known.candidates {
            let Some(candidate) = self.candidates.get_mut(id) else {
                continue;
            };
            let fits = candidate
                .required
                .iter()
                .all(|(register, ty)| register_type(*register).is(*ty));
            if fits {
                candidate.entries += 1;
                known.mismatches = 0;
                return Some(candidate.installed.entry_descriptor as u64);
            }
        }
        known.mismatches += 1;
        if known.mismatches < MISMATCHES_MAX {
            return None;
        }
        known.mismatches = 0;
        let first = known
            .candidates
            .first()
            .and_then(|id| self.candidates.get(id));
        if let Some(candidate) = first
            && let EntryPoint::Loop(pc) = candidate.entry
            && let Some(code_object) = self.code_object(candidate.code)
        {
            patch_loops(code_object, pc, Opcode::Loop);
        }
        None
    }

    fn code_object(&self, word: CodeWord) -> Option<CodeRef> {
        CodeRef::of_value(self.codes.get(&word)?.code)
    }

    /// Counts an exit; retires the candidate after too many. Whether that was so.
    pub(super) fn count_exit(
        &mut self,
        id: CandidateId,
        exit: usize,
        operand_types: impl FnOnce(u32) -> Type,
    ) -> bool {
        let Some(candidate) = self.candidates.get_mut(&id) else {
            return false;
        };
        let Some(count) = candidate.exits.get_mut(exit) else {
            return false;
        };
        *count += 1;
        candidate.exits_total += 1;
        let place = place_of(candidate, exit);
        let gives_up = !candidate.is_retired && candidate.exits_total > EXITS_MAX;
        if let Some((code, pc, word)) = place
            && !is_before_loop(candidate, exit)
        {
            let types = operand_types(word);
            let place = self.places.entry((code, pc)).or_default();
            place.operands = place.operands.or(types);
        }
        if gives_up {
            self.mark_unstable(id);
            if let Some(known) = self
                .candidates
                .get(&id)
                .and_then(|candidate| self.codes.get_mut(&candidate.code))
            {
                known.retirements += 1;
            }
            self.retire(id, RetiredBy::Exits);
        }
        gives_up
    }

    fn mark_unstable(&mut self, id: CandidateId) {
        let Some(candidate) = self.candidates.get(&id) else {
            return;
        };
        let share = candidate.exits_total / UNSTABLE_SHARE;
        for (exit, count) in candidate.exits.iter().enumerate() {
            if *count >= share
                && let Some((code, pc, word)) = place_of(candidate, exit)
            {
                let calls_leaf = candidate.leaf_calls.contains(&(code, pc));
                let place = self.places.entry((code, pc)).or_default();
                if is_before_loop(candidate, exit) {
                    place.fails_before_loop = true;
                    continue;
                }
                if calls_leaf {
                    place.declines = true;
                    continue;
                }
                // A call may have been left because nobody had seen it; guesses about it may be right
                // all the same.
                let is_call = Opcode::from_byte(opcode_byte(word)).is_some_and(is_call);
                place.is_unstable = !is_call || place.was_cold_call;
                place.was_cold_call = true;
            }
        }
    }

    /// Takes a candidate out of use: nobody enters it any more, and suspended frames resume in the bytecode.
    pub(super) fn retire(&mut self, id: CandidateId, by: RetiredBy) {
        let Some(candidate) = self.candidates.get_mut(&id) else {
            return;
        };
        if std::mem::replace(&mut candidate.is_retired, true) {
            return;
        }
        candidate.retired_by = Some(by);
        candidate.exits_before = taken_exits(candidate);
        let (word, entry) = (candidate.code, candidate.entry);
        let code_object = self.code_object(word);
        match entry {
            EntryPoint::Start => {
                if let Some(known) = self.codes.get_mut(&word)
                    && known.entered.contains(&id)
                {
                    known.entered.retain(|other| *other != id);
                    self.link_chain(word);
                }
            }
            EntryPoint::Loop(pc) => self.forget_loop(id, pc, code_object),
        }
        if let Some(candidate) = self.candidates.get(&id) {
            candidate.installed.retire();
            self.retired.add(id, &candidate.installed);
        }
    }

    /// Takes candidates out of use whose code died: nobody can enter them, and there is nothing to lead back.
    fn retire_orphans(&mut self) {
        let mut orphans = HashSet::new();
        for (id, candidate) in &mut self.candidates {
            if candidate.is_retired || self.codes.contains_key(&candidate.code) {
                continue;
            }
            candidate.is_retired = true;
            candidate.retired_by = Some(RetiredBy::Death);
            candidate.exits_before = taken_exits(candidate);
            candidate.installed.retire();
            self.retired.add(*id, &candidate.installed);
            orphans.insert(*id);
        }
        let dead: Vec<CodeWord> = self.links.keys().copied().collect();
        for code in dead {
            if !self.codes.contains_key(&code) {
                self.lead_links(code);
                self.links.remove(&code);
            }
        }
        if !orphans.is_empty() {
            self.loops.retain(|_, of_loop| {
                of_loop.candidates.retain(|id| !orphans.contains(id));
                !of_loop.candidates.is_empty()
            });
            self.stitched_loops
                .retain(|_, (id, _)| !orphans.contains(id));
        }
    }

    /// Forgets a retired candidate; gives its machine code, to be freed.
    pub(super) fn forget_candidate(&mut self, id: CandidateId) -> Option<Installed> {
        if self.keeps_reports
            && self.reports.len() < REPORTS_MAX
            && let Some(report) = self.exit_report(id)
        {
            self.reports.insert(id, report);
        }
        let code = self.candidates.remove(&id)?.installed;
        for link in &code.links {
            if let Some(callers) = self.links.get_mut(&CodeWord(link.code)) {
                callers.retain(|(caller, _)| *caller != id);
                if callers.is_empty() {
                    self.links.remove(&CodeWord(link.code));
                }
            }
        }
        let bytes = bytes_of(&code);
        self.usage.bytes -= bytes;
        self.usage.freed_bytes += bytes;
        self.usage.freed += 1;
        Some(code)
    }

    /// Whether so much code became known that a full collection is worth it: its records are not in
    /// the heap, which does not want one for them.
    pub(super) fn wants_collection(&self) -> bool {
        self.codes.len() > 2 * self.left + KNOWN_FREE
    }

    /// Known code that died since the last call.
    pub(super) fn take_dead(&mut self) -> Vec<CodeWord> {
        std::mem::take(&mut self.dead)
    }

    fn forget_loop(&mut self, id: CandidateId, pc: usize, code_object: Option<CodeRef>) {
        let Some(code_object) = code_object else {
            return;
        };
        // SAFETY: loop heads are instructions of the code.
        let head = unsafe { code_object.start().add(pc) } as u64;
        if let Some(known) = self.loops.get_mut(&head) {
            known.candidates.retain(|other| *other != id);
            if known.candidates.is_empty() {
                self.loops.remove(&head);
                patch_loops(code_object, pc, Opcode::Loop);
            }
        }
    }

    /// A watched cell changes: retires what relies on it. Whether anything did.
    pub(super) fn cell_changes(&mut self, cell: Value) -> bool {
        let Some(number) = self.watches.change(cell) else {
            return false;
        };
        for (code, known) in &mut self.codes {
            if known.snapshot.as_ref().is_some_and(|s| mentions(s, number)) {
                known.snapshot = None;
                // A hot loop that changes a variable is faster than the one who waits for its snapshot:
                // without another wish it would be interpreted until it is logged again.
                if std::mem::take(&mut known.is_awaited) && !self.wishes.contains(code) {
                    self.wishes.push(*code);
                }
            }
        }
        let dependents: Vec<CandidateId> = self
            .candidates
            .iter()
            .filter(|(_, candidate)| !candidate.is_retired && candidate.watched.contains(&number))
            .map(|(id, _)| *id)
            .collect();
        for id in &dependents {
            self.retire(*id, RetiredBy::Variable);
        }
        !dependents.is_empty()
    }

    pub(super) fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        self.places
            .get(&(code, pc))
            .is_some_and(|place| place.is_unstable)
    }

    pub(super) fn declines(&self, code: CodeWord, pc: usize) -> bool {
        self.places
            .get(&(code, pc))
            .is_some_and(|place| place.declines)
    }

    pub(super) fn fails_before_loop(&self, code: CodeWord, pc: usize) -> bool {
        self.places
            .get(&(code, pc))
            .is_some_and(|place| place.fails_before_loop)
    }

    pub(super) fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        self.places
            .get(&(code, pc))
            .map_or(Type::NONE, |place| place.operands)
    }

    pub(super) fn was_left_at(&self, code: CodeWord, pc: usize) -> bool {
        self.places.contains_key(&(code, pc))
    }

    pub(super) fn retirements(&self, code: CodeWord) -> u32 {
        self.codes.get(&code).map_or(0, |known| known.retirements)
    }

    pub(super) fn exit_report(&self, id: CandidateId) -> Option<ExitReport> {
        let Some(candidate) = self.candidates.get(&id) else {
            return self.reports.get(&id).cloned();
        };
        let exits = if candidate.is_retired {
            candidate.exits_before.clone()
        } else {
            taken_exits(candidate)
        };
        Some(ExitReport {
            exits,
            loop_entries: candidate.entries,
            is_retired: candidate.is_retired,
            retired_by: candidate.retired_by,
        })
    }

    /// Whether a candidate of an entry point is in use.
    pub(super) fn is_in_use(&self, code: CodeWord, entry: EntryPoint) -> bool {
        let Some(known) = self.codes.get(&code) else {
            return false;
        };
        match (entry, CodeRef::of_value(known.code)) {
            (EntryPoint::Start, _) => !known.entered.is_empty(),
            (EntryPoint::Loop(pc), Some(code)) => {
                let head = code.start() as u64 + 4 * pc as u64;
                self.loops.contains_key(&head)
            }
            (EntryPoint::Loop(_), None) => false,
        }
    }

    /// The places at which guesses failed: code, word index, kinds of the operands, which guesses.
    pub(super) fn kept_places(&self) -> Vec<(CodeWord, usize, u32, u8)> {
        let places = self.places.iter();
        let mut kept: Vec<_> = places
            .map(|((code, pc), place)| (*code, *pc, place.operands.kind_bits(), place.flags()))
            .collect();
        kept.sort();
        kept
    }

    /// Takes over a place at which guesses failed in an earlier run.
    pub(super) fn restore_place(&mut self, code: CodeWord, pc: usize, operands: u32, flags: u8) {
        let place = Place::of_flags(Type::of_kind_bits(operands), flags);
        self.places.entry((code, pc)).or_insert(place);
    }

    /// The first candidate that calls of a code enter.
    pub(super) fn entered(&self, code: CodeWord) -> Option<CandidateId> {
        self.codes.get(&code)?.entered.first().copied()
    }
}

fn bytes_of(code: &Installed) -> usize {
    code.code_bytes + code.data_bytes
}

/// The exits that were taken: code, word index, times.
fn taken_exits(candidate: &Candidate) -> Vec<(CodeWord, usize, u32)> {
    let exits = candidate.exits.iter().enumerate();
    exits
        .filter(|(_, count)| **count > 0)
        .filter_map(|(exit, count)| {
            let (code, pc, _) = place_of(candidate, exit)?;
            Some((code, pc, *count))
        })
        .collect()
}

/// Where an exit goes: code, word index and instruction word.
fn place_of(candidate: &Candidate, exit: usize) -> Option<(CodeWord, usize, u32)> {
    let address = candidate.installed.exits.get(exit)?.bytecode;
    candidate.codes.iter().find_map(|code| {
        let pc = (address.checked_sub(code.entry)? / 4) as usize;
        let word = *code.instructions.get(pc)?;
        Some((code.word, pc, word))
    })
}

/// Whether an exit is one of checks that are made before a loop.
fn is_before_loop(candidate: &Candidate, exit: usize) -> bool {
    let exit = candidate.installed.exits.get(exit);
    exit.is_some_and(|exit| exit.is_before_loop)
}

fn mentions(snapshot: &CodeSnapshot, number: u32) -> bool {
    snapshot.pool.iter().any(
        |item| matches!(item, PoolItem::Cell(cell) if cell.is_watched && cell.number == number),
    )
}

/// Sets where calls of a code go.
fn enter_at(code_object: CodeRef, entry: u64, native: u64) {
    publication::lead_calls(
        code_object.shared_word(code::ENTRY),
        code_object.shared_word(code::NATIVE),
        Way { entry, native },
    );
}

/// Gives every `loop` to a head its opcode.
fn patch_loops(code_object: CodeRef, head: usize, opcode: Opcode) {
    let count = code_object.instructions().len();
    let readable = code_object.readable_instructions();
    let mut at = 0;
    while at < count {
        let mut word = code_object.shared_instruction(at).load(Ordering::Relaxed);
        if opcode_byte(word) == Opcode::Break as u8 {
            // No loop: there is never a break at one.
            word = readable[at];
        }
        let Some(old) = Opcode::from_byte(word as u8) else {
            return;
        };
        let target = at as i64 + 1 + i64::from(field_far(word));
        if old.row().flow == Flow::Loop && target == head as i64 {
            let patched = encode_far(opcode, field_far(word));
            publication::patch(code_object.shared_instruction(at), patched);
        }
        at += old.words();
    }
}
