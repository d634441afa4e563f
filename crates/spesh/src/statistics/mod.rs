//! Statistics of code from logs: hits, callsites, type tuples, and observations at each
//! instruction.
//!
//! ```text
//! code ── hits, loop hits
//!  ├─ loop ── hits, types of registers
//!  ├─ callsite (argument count) ── hits, types by position, greatest depth
//!  │   └─ type tuple ── hits, greatest depth
//!  │       └─ instruction ── types of results, callees, types of arguments
//!  └─ instruction ── the same, of activations whose call was not logged
//! ```
//!
//! A log is replayed on a simulated call stack per thread, so that an instruction's entries find
//! the call that its frame began with. Entries name their frames, see `replay`. Logging may begin
//! in the middle, and calls that the runtime makes are not logged: the work of such a frame belongs
//! to no callsite. Depths count the frames that are known, so they are never above the true ones.
//!
//! Statistics have a version that grows with every log. Code that was never planned and not seen for
//! [`VERSIONS_MAX`] versions is forgotten; planned code is kept, since its callers may inline it,
//! but observations from before such a pause count little once it is seen again.

mod histogram;
mod kept;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use canny_tables::layout::log::{ARGUMENTS_MAX, LOOP_REGISTERS_MAX};

pub use histogram::Histogram;
pub use replay::Log;

use crate::code_map::{AddressMap, CodeMap, CodeSet};
use crate::log::TypeTuple;
use crate::snapshot::{Callees, CodeSnapshot, CodeSource, CodeWord, Profile};
use crate::types::Type;

/// Versions after which code that was not seen is forgotten.
pub const VERSIONS_MAX: u32 = 10;
/// Type tuples that a callsite tells apart.
pub const TUPLES_MAX: usize = 32;
/// Record types that a position or instruction tells apart, and type tuples with such types that a
/// callsite does; more are counted as records.
const CLASSES_MAX: usize = 8;
/// Callees and argument types that an instruction tells apart.
const CALLEES_MAX: usize = 16;
/// A type seen this many times more rarely than all together does not count.
const RARE: u32 = 100;
/// Runs of code, iterations included, after which an instruction that was not seen is taken for one
/// that does not happen.
const COLD_RUNS: u32 = 100;
/// Times that speculation may fail at an instruction before the builder stops speculating there.
const FAILURES_MAX: u32 = 3;

/// Observations at one instruction.
#[derive(Clone, Debug, Default)]
pub struct SiteStatistics {
    /// Types of the value that it produced.
    pub types: Histogram<Type>,
    /// Code that it entered.
    pub callees: Histogram<CodeWord>,
    /// Types of the arguments that it passed.
    pub arguments: Histogram<TypeTuple>,
}

/// Sites by address of their instruction.
pub type Sites = AddressMap<SiteStatistics>;

/// Calls with certain types of arguments.
#[derive(Clone, Debug)]
pub struct TupleStatistics {
    /// The types.
    pub types: TypeTuple,
    /// Calls.
    pub hits: u32,
    /// Iterations of loops in them.
    pub loop_hits: u32,
    /// Greatest depth of the simulated stack.
    pub depth_max: u32,
    /// Observations at their instructions.
    pub sites: Sites,
}

/// Calls with a certain number of arguments.
#[derive(Clone, Debug)]
pub struct CallsiteStatistics {
    /// Number of arguments.
    pub argument_count: u8,
    /// Calls.
    pub hits: u32,
    /// Iterations of loops in them.
    pub loop_hits: u32,
    /// Greatest depth of the simulated stack.
    pub depth_max: u32,
    /// Types seen in each position, over all calls.
    pub positions: [Histogram<Type>; ARGUMENTS_MAX],
    /// By types; no more than [`TUPLES_MAX`].
    pub tuples: Vec<TupleStatistics>,
}

/// A loop.
#[derive(Clone, Debug, Default)]
pub struct LoopStatistics {
    /// Times that it went back.
    pub hits: u32,
    /// Types of registers then, those that hold nothing live included.
    pub registers: [Histogram<Type>; LOOP_REGISTERS_MAX],
}

/// Everything about one code object.
#[derive(Clone, Debug)]
pub struct CodeStatistics {
    /// Calls.
    pub hits: u32,
    /// Iterations of its loops.
    pub loop_hits: u32,
    /// Entries of logs about it: its share of all entries is about its share of the time.
    pub events: u64,
    /// Greatest depth of the simulated stack.
    pub depth_max: u32,
    /// Loops by address of the loop instruction.
    pub loops: BTreeMap<u64, LoopStatistics>,
    /// By number of arguments.
    pub callsites: Vec<CallsiteStatistics>,
    /// Observations in activations that belong to no callsite.
    pub sites: Sites,
    /// First address of the instructions and the address behind them, once a snapshot told.
    extent: Option<(u64, u64)>,
    version: u32,
    birth: u32,
    is_planned: bool,
}

/// Speculation that failed.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    operands: Type,
    count: u32,
}

/// The statistics of a machine.
#[derive(Debug, Default)]
pub struct Statistics {
    version: u32,
    events: u64,
    codes: CodeMap<CodeStatistics>,
    /// End and code by first address of the instructions.
    extents: BTreeMap<u64, (u64, CodeWord)>,
    /// Code by address of instructions in it that logs named, as the extents tell; emptied when they change.
    owners: AddressMap<Option<CodeWord>>,
    failures: HashMap<(CodeWord, usize), Failures>,
    stacks: HashMap<u32, replay::Stack>,
}

impl Statistics {
    /// No statistics.
    pub fn new() -> Statistics {
        Statistics::default()
    }

    /// Takes a log in; gives the code that it told something about, in no order.
    pub fn add(&mut self, log: Log, source: &dyn CodeSource) -> CodeSet {
        self.version += 1;
        self.learn(source);
        self.replay(log, source);
        self.forget_old();
        self.codes
            .iter()
            .filter(|(_, statistics)| statistics.version == self.version)
            .map(|(code, _)| *code)
            .collect()
    }

    /// Number of logs taken in.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Entries of logs about code, in all.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the statistics of a code.
    pub fn code(&self, code: CodeWord) -> Option<&CodeStatistics> {
        self.codes.get(&code)
    }

    /// Everything, in no order.
    pub fn codes(&self) -> impl Iterator<Item = (CodeWord, &CodeStatistics)> {
        self.codes
            .iter()
            .map(|(code, statistics)| (*code, statistics))
    }

    /// Something will be compiled for the code: it is not forgotten any more.
    pub fn keep(&mut self, code: CodeWord) {
        if let Some(statistics) = self.codes.get_mut(&code) {
            statistics.is_planned = true;
        }
    }

    /// The code object died, or its address may belong to another one.
    pub fn forget(&mut self, code: CodeWord) {
        if let Some(statistics) = self.codes.remove(&code) {
            self.remove_extent(statistics.extent);
        }
        self.failures.retain(|(of, _), _| *of != code);
        for stack in self.stacks.values_mut() {
            stack.forget(code);
        }
    }

    /// Forgets code for which `is_alive` does not hold.
    pub fn retain(&mut self, is_alive: impl Fn(CodeWord) -> bool) {
        let dead: Vec<CodeWord> = self
            .codes
            .keys()
            .chain(self.failures.keys().map(|(code, _)| code))
            .copied()
            .filter(|code| !is_alive(*code))
            .collect();
        dead.into_iter().for_each(|code| self.forget(code));
    }

    /// A thread ended.
    pub fn forget_thread(&mut self, thread: u32) {
        self.stacks.remove(&thread);
    }

    /// Compiled code was retired because the speculation at an instruction failed for operands of this type.
    pub fn add_failure(&mut self, code: CodeWord, pc: usize, operands: Type) {
        let failures = self.failures.entry((code, pc)).or_default();
        failures.operands = failures.operands.or(operands);
        failures.count += 1;
    }

    /// The code whose instructions an address lies in, if a snapshot told.
    fn owner(&mut self, address: u64) -> Option<CodeWord> {
        let extents = &self.extents;
        *self.owners.entry(address).or_insert_with(|| {
            let (_, (end, code)) = extents.range(..=address).next_back()?;
            (address < *end).then_some(*code)
        })
    }

    fn remove_extent(&mut self, extent: Option<(u64, u64)>) {
        if let Some((start, _)) = extent {
            self.extents.remove(&start);
            self.owners.clear();
        }
    }

    /// Takes note of where code lies for which there is a snapshot now.
    pub fn learn(&mut self, source: &dyn CodeSource) {
        let unknown: Vec<CodeWord> = self
            .codes
            .iter()
            .filter(|(_, statistics)| statistics.extent.is_none())
            .map(|(code, _)| *code)
            .collect();
        unknown
            .into_iter()
            .for_each(|code| self.learn_extent(code, source));
    }

    fn learn_extent(&mut self, code: CodeWord, source: &dyn CodeSource) {
        if let Some(snapshot) = source.snapshot(code)
            && let Some(statistics) = self.codes.get_mut(&code)
        {
            let (start, end) = extent_of(&snapshot);
            statistics.extent = Some((start, end));
            self.extents.insert(start, (end, code));
            self.owners.clear();
        }
    }

    fn forget_old(&mut self) {
        let oldest = self.version.saturating_sub(VERSIONS_MAX);
        let old: Vec<CodeWord> = self
            .codes
            .iter()
            .filter(|(_, statistics)| statistics.version < oldest && !statistics.is_planned)
            .map(|(code, _)| *code)
            .collect();
        for code in old {
            if let Some(statistics) = self.codes.remove(&code) {
                self.remove_extent(statistics.extent);
            }
        }
    }

    /// Everything that was seen at an instruction.
    pub fn site(&self, code: CodeWord, pc: usize) -> SiteStatistics {
        self.site_where(code, pc, |_| true)
    }

    /// Adds up the observations there in calls whose type tuple `counts` accepts; `None` stands for
    /// calls that belong to none.
    fn site_where(
        &self,
        code: CodeWord,
        pc: usize,
        counts: impl Fn(Option<&TypeTuple>) -> bool,
    ) -> SiteStatistics {
        let mut all = SiteStatistics::default();
        let Some(statistics) = self.codes.get(&code) else {
            return all;
        };
        let Some((start, _)) = statistics.extent else {
            return all;
        };
        let address = start + 4 * pc as u64;
        statistics.each_site_table(|tuple, sites| {
            if let Some(site) = sites.get(&address)
                && counts(tuple)
            {
                all.types.add_all(&site.types);
                all.callees.add_all(&site.callees);
                all.arguments.add_all(&site.arguments);
            }
        });
        all
    }

    /// [`Profile::result_type`] in calls whose arguments have such types; `None` if no such call was
    /// seen there.
    pub fn result_type_for(&self, code: CodeWord, pc: usize, wanted: &[Type]) -> Option<Type> {
        let fits = |tuple: Option<&TypeTuple>| tuple.is_some_and(|tuple| tuple.is(wanted));
        common_type(&self.site_where(code, pc, fits).types)
    }
}

impl CodeStatistics {
    fn new(version: u32) -> CodeStatistics {
        CodeStatistics {
            hits: 0,
            loop_hits: 0,
            events: 0,
            depth_max: 0,
            loops: BTreeMap::new(),
            callsites: Vec::new(),
            sites: Sites::default(),
            extent: None,
            version,
            birth: version,
            is_planned: false,
        }
    }

    /// Calls `visit` with the sites of every type tuple and those that belong to none.
    pub fn each_site_table<'a>(&'a self, mut visit: impl FnMut(Option<&'a TypeTuple>, &'a Sites)) {
        for callsite in &self.callsites {
            for tuple in &callsite.tuples {
                visit(Some(&tuple.types), &tuple.sites);
            }
        }
        visit(None, &self.sites);
    }

    /// Version of the last log that told something.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Word index of the instruction at an address.
    pub fn pc(&self, address: u64) -> Option<usize> {
        let (start, end) = self.extent?;
        (start <= address && address < end).then(|| (address - start) as usize / 4)
    }

    /// Lets observations from before a long pause count an eighth.
    fn fade(&mut self) {
        let fade = |count: &mut u32| *count /= 8;
        fade(&mut self.hits);
        fade(&mut self.loop_hits);
        for site in self.loops.values_mut() {
            fade(&mut site.hits);
            site.registers.iter_mut().for_each(Histogram::fade);
        }
        for callsite in &mut self.callsites {
            fade(&mut callsite.hits);
            fade(&mut callsite.loop_hits);
            callsite.positions.iter_mut().for_each(Histogram::fade);
            for tuple in &mut callsite.tuples {
                fade(&mut tuple.hits);
                fade(&mut tuple.loop_hits);
                fade_sites(&mut tuple.sites);
            }
        }
        fade_sites(&mut self.sites);
    }
}

/// All types together that are not rare; `None` if nothing was seen.
fn common_type(types: &Histogram<Type>) -> Option<Type> {
    let total = types.total();
    let common = types
        .iter()
        .filter(|(_, count)| count.saturating_mul(RARE) >= total)
        .fold(Type::NONE, |all, (ty, _)| all.or(*ty));
    // A guess of a record type would be a guard that records of another one fail. The program asks.
    (total > 0).then_some(common.any_record())
}

/// First address of a code's instructions, and the address behind them.
fn extent_of(snapshot: &CodeSnapshot) -> (u64, u64) {
    (
        snapshot.entry,
        snapshot.address(snapshot.instructions.len()),
    )
}

fn fade_sites(sites: &mut Sites) {
    for site in sites.values_mut() {
        site.types.fade();
        site.callees.fade();
        site.arguments.fade();
    }
}

impl Profile for Statistics {
    fn result_type(&self, code: CodeWord, pc: usize) -> Option<Type> {
        common_type(&self.site(code, pc).types)
    }

    fn callee(&self, code: CodeWord, pc: usize) -> Option<CodeWord> {
        let callees = self.site(code, pc).callees;
        let (callee, count) = callees.most()?;
        (u64::from(count) * 100 >= 99 * u64::from(callees.total())).then_some(callee)
    }

    fn callees(&self, code: CodeWord, pc: usize) -> Callees {
        let callees = self.site(code, pc).callees;
        let mut seen = callees.sorted();
        // The rest of the key makes the order the same in every run.
        seen.sort_by_key(|(code, count)| (std::cmp::Reverse(*count), *code));
        Callees {
            seen,
            calls: callees.total(),
        }
    }

    fn calls_per_run(&self, code: CodeWord, pc: usize) -> Option<f64> {
        let statistics = self.codes.get(&code)?;
        if statistics.hits == 0 && statistics.loop_hits == 0 {
            return None;
        }
        let calls = self.site(code, pc).callees.total();
        Some(f64::from(calls) / f64::from(statistics.hits.max(1)))
    }

    fn is_cold(&self, code: CodeWord, pc: usize) -> bool {
        let Some(statistics) = self.codes.get(&code) else {
            return false;
        };
        // The address is not known, and nothing there either, as long as nobody told where the code lies.
        if statistics.extent.is_none() || statistics.hits + statistics.loop_hits < COLD_RUNS {
            return false;
        }
        let site = self.site(code, pc);
        site.types.total() == 0 && site.callees.total() == 0
    }

    fn failed_operands(&self, code: CodeWord, pc: usize) -> Type {
        self.failures
            .get(&(code, pc))
            .map_or(Type::NONE, |failures| failures.operands)
    }

    fn is_unstable(&self, code: CodeWord, pc: usize) -> bool {
        self.failures
            .get(&(code, pc))
            .is_some_and(|failures| failures.count >= FAILURES_MAX)
    }
}
