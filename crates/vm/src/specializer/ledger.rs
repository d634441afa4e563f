//! The specializer's actions, for people who ask why something is slow. They are kept only on
//! request: the ledger of a machine is off until its host turns it on. It then grows with the
//! amount of compiled code, not with the program's running time.
//!
//! | part | written by | read by |
//! |---|---|---|
//! | places of code | code that makes a snapshot | code that shows a position |
//! | compiled code | `install`, and the compiler for the plan behind it | the report, `,disassemble` |
//! | refusals | the worker | the report |
//! | pauses | the running threads | the report |

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canny_locks::{Mutex, MutexGuard};
use canny_spesh::graph::{EntryPoint, FrameId, Graph};
use canny_spesh::planner::Plan;
use canny_spesh::snapshot::CodeWord;
use canny_value::Value;

use super::CandidateId;
use crate::code::CodeRef;
use crate::{Thread, UnitMetadata};

/// Compiled codes and refusals that are counted apart; later ones are only counted.
const RECORDS_MAX: usize = 10_000;
/// Compiled codes whose listings are kept, the newest.
const LISTINGS_MAX: usize = 300;

/// Where a code comes from.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    unit: Arc<UnitMetadata>,
    index: usize,
}

impl Place {
    pub(crate) fn new(unit: Arc<UnitMetadata>, index: usize) -> Place {
        Place { unit, index }
    }

    /// The name of the procedure, for people.
    pub(crate) fn name(&self) -> String {
        match &self.unit.codes[self.index].name {
            _ if self.index == self.unit.entry => "the program".to_owned(),
            Some(name) => name.clone(),
            None => "anonymous".to_owned(),
        }
    }

    /// File and line of the procedure; the library's name where that is all that users know.
    pub(crate) fn definition(&self) -> String {
        let codes = &self.unit.codes;
        self.shown(self.unit.line(codes[self.index].span))
    }

    /// File and line of an instruction.
    pub(crate) fn instruction(&self, pc: usize) -> String {
        self.shown(self.unit.line_at(self.index, pc))
    }

    /// File and line of a loop whose head is this instruction, which may not have a place of its own.
    pub(crate) fn of_loop(&self, head: usize) -> String {
        let line = self.unit.line_from(self.index, head);
        self.shown(line.or_else(|| self.unit.line_at(self.index, head)))
    }

    /// The unit, and the index of the code there.
    pub(crate) fn code(&self) -> (&UnitMetadata, usize) {
        (&self.unit, self.index)
    }

    fn shown(&self, line: Option<(String, u32)>) -> String {
        match line {
            Some((file, line)) if !self.unit.is_library => format!("{file}:{line}"),
            _ => self.unit.name.clone(),
        }
    }
}

/// A call that a graph has the callee's body in place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InlinedCall {
    /// The calling code and its instruction; `None` for a tail call, which leaves no trace of the caller.
    pub(crate) caller: Option<(CodeWord, usize)>,
    pub(crate) callee: CodeWord,
}

/// Machine code that was put into use.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) id: CandidateId,
    pub(crate) code: CodeWord,
    pub(crate) entry: EntryPoint,
    /// Number of arguments, or `layout::code::VARIADIC`.
    pub(crate) arity: u32,
    /// Places of the code and of what was inlined.
    pub(crate) places: HashMap<CodeWord, Place>,
    pub(crate) inlined: Vec<InlinedCall>,
    pub(crate) code_bytes: usize,
    pub(crate) descriptor_bytes: usize,
    pub(crate) segments: usize,
    /// From plan to use; without the plan, the time of the code generator.
    pub(crate) time: Duration,
    /// When it was put into use.
    pub(crate) at: Instant,
    /// None for code that was compiled by hand.
    pub(crate) plan: Option<Plan>,
    /// Graph and machine code as text, if listings are kept.
    pub(crate) listing: Option<Arc<Listing>>,
}

/// How compiled code looks.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The graph from which it was made.
    pub graph: String,
    /// Its machine code.
    pub machine_code: String,
}

/// Sizes of what was put into use.
pub(super) struct Sizes {
    pub(super) code_bytes: usize,
    pub(super) descriptor_bytes: usize,
    pub(super) segments: usize,
}

/// A plan that led to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) code: CodeWord,
    pub(crate) entry: EntryPoint,
    pub(crate) why: String,
    pub(crate) time: Duration,
}

/// The specializer's work on a running thread while its program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseCause {
    HandLogOver,
    MakeSnapshots,
    EnterLoop,
    CountExit,
    ChangeCell,
}

impl PauseCause {
    pub(crate) const ALL: [PauseCause; 5] = [
        PauseCause::HandLogOver,
        PauseCause::MakeSnapshots,
        PauseCause::EnterLoop,
        PauseCause::CountExit,
        PauseCause::ChangeCell,
    ];

    /// Whether it takes long enough to be worth the question how much of it was processor time. The
    /// rest is the system's: it ran somebody else, perhaps the worker.
    fn has_processor_time(self) -> bool {
        matches!(self, PauseCause::HandLogOver | PauseCause::MakeSnapshots)
    }

    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            PauseCause::HandLogOver => "handing logs over",
            PauseCause::MakeSnapshots => "copying bytecode for the worker",
            PauseCause::EnterLoop => "looking for compiled loops",
            PauseCause::CountExit => "leaving compiled code",
            PauseCause::ChangeCell => "changing variables that code relies on",
        }
    }
}

/// Times of one kind of pause.
#[derive(Debug, Default)]
struct PauseCounter {
    count: AtomicU64,
    total_ns: AtomicU64,
    max_ns: AtomicU64,
    processor_max_ns: AtomicU64,
}

/// When a pause began.
pub(crate) struct Began {
    wall: Instant,
    processor: Option<Duration>,
}

impl Began {
    pub(crate) fn now(cause: PauseCause) -> Began {
        let asks = cause.has_processor_time();
        Began {
            wall: Instant::now(),
            processor: asks.then(processor_time),
        }
    }
}

/// Processor time of this thread so far.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The same, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) cause: PauseCause,
    pub(crate) count: u64,
    pub(crate) total: Duration,
    pub(crate) max: Duration,
    /// Most processor time that one took, where that is asked.
    pub(crate) processor_max: Option<Duration>,
}

#[derive(Debug, Default)]
struct Records {
    places: HashMap<CodeWord, Place>,
    compiled: Vec<Compiled>,
    refused: Vec<Refused>,
    dropped: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Ledger {
    is_on: AtomicBool,
    keeps_listings: AtomicBool,
    keeps_places: AtomicBool,
    records: Mutex<Records>,
    pauses: [PauseCounter; PauseCause::ALL.len()],
}

/// Everything in a ledger but the pauses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) places: HashMap<CodeWord, Place>,
    pub(crate) compiled: Vec<Compiled>,
    pub(crate) refused: Vec<Refused>,
    /// How many more there were.
    pub(crate) dropped: usize,
}

impl Ledger {
    /// Writes from now on; with `keeps_listings`, graphs and machine code too. To be called before
    /// code runs, for earlier events are not in it.
    pub fn turn_on(&self, keeps_listings: bool) {
        self.is_on.store(true, Ordering::Relaxed);
        if keeps_listings {
            self.keeps_listings.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps places of code from now on, even if it is off.
    pub(crate) fn keep_places(&self) {
        self.keeps_places.store(true, Ordering::Relaxed);
    }

    /// File and line of an instruction, if places are kept.
    pub(crate) fn place(&self, code: CodeWord, pc: usize) -> Option<String> {
        Some(self.lock().places.get(&code)?.instruction(pc))
    }

    /// The same apart.
    pub(crate) fn line(&self, code: CodeWord, pc: usize) -> Option<(String, u32)> {
        let records = self.lock();
        let place = records.places.get(&code)?;
        place.unit.line_at(place.index, pc)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    pub(crate) fn keeps_listings(&self) -> bool {
        self.keeps_listings.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock()
    }

    /// A snapshot was made of a code.
    pub(crate) fn know(&self, code: CodeWord, unit: &Arc<UnitMetadata>, index: usize) {
        if self.is_on() || self.keeps_places.load(Ordering::Relaxed) {
            let place = Place::new(unit.clone(), index);
            self.lock().places.insert(code, place);
        }
    }

    /// A graph was put into use.
    pub(super) fn compiled(
        &self,
        id: CandidateId,
        graph: &Graph,
        sizes: &Sizes,
        time: Duration,
        machine_code: &str,
    ) {
        if !self.is_on() {
            return;
        }
        let listing = self.keeps_listings().then(|| {
            Arc::new(Listing {
                graph: graph.to_string(),
                machine_code: machine_code.to_owned(),
            })
        });
        let mut records = self.lock();
        let places = graph
            .codes
            .iter()
            .filter_map(|code| Some((code.word, records.places.get(&code.word)?.clone())))
            .collect();
        let compiled = Compiled {
            id,
            code: graph.codes[0].word,
            entry: graph.entry,
            arity: graph.codes[0].arity,
            places,
            inlined: inlined_calls(graph),
            code_bytes: sizes.code_bytes,
            descriptor_bytes: sizes.descriptor_bytes,
            segments: sizes.segments,
            time,
            at: Instant::now(),
            plan: None,
            listing,
        };
        if records.compiled.len() < RECORDS_MAX {
            records.compiled.push(compiled);
            let count = records.compiled.len();
            if let Some(old) = count.checked_sub(LISTINGS_MAX + 1) {
                records.compiled[old].listing = None;
            }
        } else {
            records.dropped += 1;
        }
    }

    /// Records the plan of a compiled code, and the time from there.
    pub(super) fn planned(&self, id: CandidateId, plan: &Plan, time: Duration) {
        if !self.is_on() {
            return;
        }
        let mut records = self.lock();
        let found = records
            .compiled
            .iter_mut()
            .rfind(|compiled| compiled.id == id);
        if let Some(compiled) = found {
            compiled.plan = Some(plan.clone());
            compiled.time = time;
        }
    }

    /// Nothing came of a plan.
    pub(super) fn refused(&self, code: CodeWord, entry: EntryPoint, why: String, time: Duration) {
        if !self.is_on() {
            return;
        }
        let mut records = self.lock();
        let refused = Refused {
            code,
            entry,
            why,
            time,
        };
        if records.refused.len() < RECORDS_MAX {
            records.refused.push(refused);
        } else {
            records.dropped += 1;
        }
    }

    /// Does something for the specializer on a running thread, on the clock.
    pub(crate) fn time<R>(&self, cause: PauseCause, work: impl FnOnce() -> R) -> R {
        if !self.is_on() {
            return work();
        }
        let began = Began::now(cause);
        let result = work();
        self.ended(cause, &began);
        result
    }

    /// A pause that began then is over.
    pub(crate) fn ended(&self, cause: PauseCause, began: &Began) {
        let processor = began.processor.map(|then| processor_time() - then);
        self.add_pause(cause, began.wall.elapsed(), processor.unwrap_or_default());
    }

    fn add_pause(&self, cause: PauseCause, time: Duration, processor: Duration) {
        let counter = &self.pauses[cause as usize];
        let ns = time.as_nanos() as u64;
        let processor_ns = processor.as_nanos() as u64;
        counter
            .processor_max_ns
            .fetch_max(processor_ns, Ordering::Relaxed);
        counter.count.fetch_add(1, Ordering::Relaxed);
        counter.total_ns.fetch_add(ns, Ordering::Relaxed);
        counter.max_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// The pauses so far.
    pub(crate) fn pauses(&self) -> Vec<Pause> {
        PauseCause::ALL
            .into_iter()
            .map(|cause| {
                let counter = &self.pauses[cause as usize];
                Pause {
                    cause,
                    count: counter.count.load(Ordering::Relaxed),
                    total: Duration::from_nanos(counter.total_ns.load(Ordering::Relaxed)),
                    max: Duration::from_nanos(counter.max_ns.load(Ordering::Relaxed)),
                    processor_max: cause.has_processor_time().then(|| {
                        Duration::from_nanos(counter.processor_max_ns.load(Ordering::Relaxed))
                    }),
                }
            })
            .collect()
    }

    /// Everything else.
    pub(crate) fn account(&self) -> Account {
        let records = self.lock();
        Account {
            places: records.places.clone(),
            compiled: records.compiled.clone(),
            refused: records.refused.clone(),
            dropped: records.dropped,
        }
    }

    /// The compiled code of a code, oldest first.
    fn compiled_of(&self, code: CodeWord) -> Vec<Compiled> {
        let records = self.lock();
        let of_code = records.compiled.iter().filter(|there| there.code == code);
        of_code.cloned().collect()
    }
}

/// How one candidate of a procedure looks.
#[derive(Clone, Debug)]
pub struct CandidateListing {
    /// Where it is entered, for people.
    pub entry: String,
    /// It is not entered any more.
    pub is_retired: bool,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// The text.
    pub listing: Arc<Listing>,
}

impl Thread {
    /// How the compiled code of a procedure looks, oldest first; nothing unless the ledger keeps listings.
    pub fn listings(&self, procedure: Value) -> Vec<CandidateListing> {
        let Some(code) = CodeRef::of_closure(procedure) else {
            return Vec::new();
        };
        let specializer = self.vm.specializer();
        let compiled = specializer.ledger().compiled_of(CodeWord(code.word()));
        compiled
            .into_iter()
            .filter_map(|compiled| {
                let place = compiled.places.get(&compiled.code);
                Some(CandidateListing {
                    entry: match compiled.entry {
                        EntryPoint::Start => "entered at its start".to_owned(),
                        EntryPoint::Loop(pc) => format!(
                            "entered at its loop in {}",
                            place.map_or("?".to_owned(), |place| place.of_loop(pc))
                        ),
                    },
                    is_retired: specializer
                        .exit_report(compiled.id)
                        .is_none_or(|report| report.is_retired),
                    code_bytes: compiled.code_bytes,
                    listing: compiled.listing?,
                })
            })
            .collect()
    }
}

fn inlined_calls(graph: &Graph) -> Vec<InlinedCall> {
    let word_of = |frame: FrameId| graph.codes[graph.frames[frame.index()].code].word;
    let inlined = (1..graph.frames.len()).map(|index| FrameId(index as u32));
    inlined
        .map(|id| {
            let caller = graph.frames[id.index()].caller;
            InlinedCall {
                caller: caller.map(|state| {
                    let state = graph.state(state);
                    (word_of(state.frame), state.pc)
                }),
                callee: word_of(id),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_that_is_off_stays_empty() {
        let ledger = Ledger::default();
        let refuse = || {
            let (code, entry) = (CodeWord(5), EntryPoint::Start);
            ledger.refused(code, entry, "too large".to_owned(), Duration::ZERO);
        };
        refuse();
        assert_eq!(ledger.time(PauseCause::CountExit, || 5), 5);
        assert!(ledger.account().refused.is_empty());
        assert!(ledger.pauses().iter().all(|pause| pause.count == 0));
        ledger.turn_on(false);
        refuse();
        ledger.time(PauseCause::CountExit, || ());
        assert_eq!(ledger.account().refused.len(), 1);
        let pauses = ledger.pauses();
        let counted: Vec<_> = pauses.iter().filter(|pause| pause.count > 0).collect();
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].cause, PauseCause::CountExit);
        assert!(!ledger.keeps_listings());
    }

    #[test]
    fn pauses_have_a_sum_and_a_maximum() {
        let ledger = Ledger::default();
        for microseconds in [3, 10, 2] {
            let time = Duration::from_micros(microseconds);
            ledger.add_pause(PauseCause::MakeSnapshots, time, time / 2);
        }
        let pauses = ledger.pauses();
        let pause = pauses[PauseCause::MakeSnapshots as usize];
        assert_eq!(pause.count, 3);
        assert_eq!(pause.total, Duration::from_micros(15));
        assert_eq!(pause.max, Duration::from_micros(10));
        assert_eq!(pause.processor_max, Some(Duration::from_micros(5)));
        let others = pauses[PauseCause::CountExit as usize];
        assert_eq!(others.processor_max, None);
    }

    #[test]
    fn records_are_bounded() {
        let ledger = Ledger::default();
        ledger.turn_on(false);
        for number in 0..RECORDS_MAX as u64 + 5 {
            let (code, entry) = (CodeWord(number), EntryPoint::Start);
            ledger.refused(code, entry, String::new(), Duration::ZERO);
        }
        let account = ledger.account();
        assert_eq!((account.refused.len(), account.dropped), (RECORDS_MAX, 5));
    }
}
