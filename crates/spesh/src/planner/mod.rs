//! The choice of code to compile, made from statistics.
//!
//! A code is worth a plan once its calls reach a threshold that grows with its size.
//!
//! | specialization | positions that are fixed |
//! |---|---|
//! | observed | all |
//! | derived | some |
//! | certain | none: no type is frequent, or there are no arguments; only their number is known |
//! | loop | the registers at the head of a hot loop, for frames that are already running |
//!
//! A position is fixed if [`SINGLE_PERCENT`] of the calls have its type. Where a machine can choose
//! among specializations when a procedure is entered ([`Selection::Among`]), positions that are fixnums
//! in some calls and flonums in others divide the calls, and so do record types that the procedure asks
//! for ([`choice`]). Calls that no specialization
//! serves get another one once there are enough of them: for their types if these are numbers, else one
//! for any types, which is the last. Where there can be one only ([`Selection::One`]), it has to serve
//! every call.
//!
//! A loop waits longer where calls are frequent and its iterations few, and such iterations make the
//! procedure's start worth a plan: see [`SHORT_LOOP_ITERATIONS`].
//!
//! Compiling has to pay: with a [`Budget`], code is planned once the time that it took so far, by its
//! share of the log entries, reaches what compiling it will take. Until then it is looked at again
//! whenever a log tells of it.
//!
//! Plans come deepest first, so that a callee is compiled before its caller. A planner remembers
//! what it planned and never plans it twice, whichever thread runs the code. A specialization that
//! was retired after failing may be planned again, at a threshold that doubles each time.

mod choice;
mod kept;
mod obstacle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use canny_compiler::instruction::Instruction;
use canny_compiler::liveness::RegisterSet;
use canny_tables::opcodes::Flow;

use crate::code_map::{CodeMap, CodeSet};
use crate::graph::EntryPoint;
use crate::snapshot::{CodeSnapshot, CodeSource, CodeWord};
use crate::statistics::{
    CallsiteStatistics, CodeStatistics, Histogram, LoopStatistics, Statistics,
};
use crate::types::Type;

pub use choice::STARTS_MAX;
pub use kept::fits;
pub use obstacle::Obstacle;

/// Share of all calls that a type or number of arguments needs where one specialization serves all.
pub const SINGLE_PERCENT: u32 = 99;
/// Share of a loop's iterations in which a register has to have a type.
pub const LOOP_PERCENT: u32 = 90;
/// Specializations of one entry point at most: of the start of a code, and of each of its loops.
pub const CANDIDATES_MAX: usize = 8;
/// Iterations that make a loop worth a plan.
pub const LOOP_HITS: u32 = 200;
/// Instruction words above which code is never compiled.
pub const WORDS_MAX: usize = 65536;
/// Logs after a plan that may tell of what ran before it was compiled.
const SETTLING_LOGS: u32 = 1;
/// Specializations of one entry point that may be retired before it is left alone.
pub const RETRACTIONS_MAX: u32 = 8;

/// How many specializations of one procedure can be in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Several: the types of the arguments choose.
    #[default]
    Among,
    /// One.
    One,
}

/// Kind of a planned specialization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// For a type tuple.
    Observed,
    /// For the frequent types of some positions.
    Derived,
    /// For a number of arguments.
    Certain,
    /// For a loop.
    Loop,
}

/// One thing to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The code.
    pub code: CodeWord,
    /// Where it is entered.
    pub entry: EntryPoint,
    /// Types of the arguments, or of the registers at a loop's head; [`Type::ANY`] where open. None of
    /// a procedure that is called with different numbers of arguments and can have one specialization
    /// only.
    pub parameter_types: Vec<Type>,
    /// Why.
    pub reason: Reason,
    /// Calls or iterations that it would have served.
    pub hits: u32,
    /// Those of the callsite or loop.
    pub hits_of_all: u32,
    /// Greatest depth of the simulated stack, raised to be deeper than callers in the same plan.
    pub depth_max: u32,
}

/// Calls that make code of so many instruction words worth a plan.
pub fn threshold(words: usize) -> Option<u32> {
    match 4 * words {
        0..=2048 => Some(150),
        2049..=8192 => Some(200),
        _ if words <= WORDS_MAX => Some(300),
        _ => None,
    }
}

type Specialization = (EntryPoint, Vec<Type>);

/// Limits on the cost of compiling.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Entries of all logs.
    pub events: u64,
    /// How long the program has run.
    pub elapsed: Duration,
    /// Time to compile a word of bytecode.
    pub cost_per_word: Duration,
    /// Nothing may be compiled for now.
    pub is_exhausted: bool,
}

impl Budget {
    /// Whether code of so many words, about which so many log entries tell, is worth compiling.
    fn allows(&self, words: usize, events: u64) -> bool {
        let share = events as f64 / self.events.max(1) as f64;
        let cost = self.cost_per_word.as_secs_f64() * words as f64;
        !self.is_exhausted && share * self.elapsed.as_secs_f64() >= PAYING_SHARE * cost
    }
}

/// Time that code took so far, for its compilation time. A program is taken to run once more as long as
/// it has, and compiled code not to take all of the time away; inlined code saves time elsewhere
/// too.
const PAYING_SHARE: f64 = 0.5;

/// Calls that tell how long a procedure's loops are, and are enough to compile it where its iterations
/// are for a loop.
const SHORT_LOOP_CALLS: u32 = 16;
/// Iterations for each call below which a loop is short.
pub const SHORT_LOOP_ITERATIONS: u32 = 64;
/// A short loop is compiled on its own after so many times the iterations of another: the procedure's
/// start was not.
const SHORT_LOOP_DELAY: u32 = 8;

/// Decides what to compile, and remembers what was planned.
#[derive(Debug, Default)]
pub struct Planner {
    selection: Selection,
    budget: Option<Budget>,
    is_eager: bool,
    /// Record types do not divide calls.
    ignores_classes: bool,
    /// Plans that the budget did not allow in the last round.
    deferred: usize,
    planned: CodeMap<Planned>,
    /// Of the statistics that are looked at.
    version: u32,
}

#[derive(Debug, Default)]
struct Planned {
    specializations: Vec<Specialization>,
    /// How often one was retired, by entry point.
    retractions: Vec<(EntryPoint, u32)>,
    /// Version of the statistics up to which logs may tell of what ran before the last plan was in use.
    settles_until: u32,
    /// Iterations of loops until then, by address of the loop instruction.
    loop_hits_before: BTreeMap<u64, u32>,
}

impl Planned {
    fn retractions(&self, entry: EntryPoint) -> u32 {
        let found = self.retractions.iter().find(|(at, _)| *at == entry);
        found.map_or(0, |(_, count)| *count)
    }

    /// How many specializations an entry point has.
    fn count(&self, entry: EntryPoint) -> usize {
        let at_entry = self.specializations.iter().filter(|(at, _)| *at == entry);
        at_entry.count()
    }

    /// The planned code is not in use, and loops that it contained run in the interpreter.
    fn no_longer_settles(&mut self) {
        self.settles_until = 0;
        self.loop_hits_before.clear();
    }

    /// Takes note of what ran so far, since something was planned in a version, or before.
    fn settle(&mut self, statistics: &CodeStatistics, version: Option<u32>) {
        if let Some(version) = version {
            self.settles_until = version + SETTLING_LOGS;
        }
        let loops = statistics.loops.iter();
        self.loop_hits_before = loops.map(|(address, of)| (*address, of.hits)).collect();
    }
}

impl Planner {
    /// Nothing planned so far.
    pub fn new(selection: Selection) -> Planner {
        Planner {
            selection,
            budget: None,
            is_eager: false,
            ignores_classes: false,
            deferred: 0,
            planned: CodeMap::default(),
            version: 0,
        }
    }

    /// Plans everything that ran twice, for tests.
    pub fn set_eager(&mut self, is_eager: bool) {
        self.is_eager = is_eager;
    }

    /// Lets record types divide the calls of procedures that ask for them, or not.
    pub fn divide_by_class(&mut self, divides: bool) {
        self.ignores_classes = !divides;
    }

    /// Sets what compiling may cost from now on; nothing for no bounds.
    pub fn set_budget(&mut self, budget: Option<Budget>) {
        self.budget = budget;
    }

    /// Plans that the budget did not allow in the last round.
    pub fn deferred(&self) -> usize {
        self.deferred
    }

    /// Returns plans for the code that was touched by a log, deepest first.
    pub fn plan(
        &mut self,
        statistics: &mut Statistics,
        touched: &CodeSet,
        source: &dyn CodeSource,
    ) -> Vec<Plan> {
        let mut plans = Vec::new();
        self.deferred = 0;
        self.version = statistics.version();
        for code in touched {
            if let Some(of_code) = statistics.code(*code)
                && let Some(snapshot) = source.snapshot(*code)
            {
                self.plan_code(&snapshot, of_code, source, &mut plans);
            }
        }
        for plan in &plans {
            statistics.keep(plan.code);
        }
        raise_callees(&mut plans, statistics);
        // The rest of the key makes the order the same in every run.
        plans.sort_by_key(|plan| {
            let pc = match plan.entry {
                EntryPoint::Start => 0,
                EntryPoint::Loop(pc) => pc,
            };
            (
                std::cmp::Reverse((plan.depth_max, plan.hits)),
                plan.code,
                pc,
            )
        });
        plans
    }

    /// A specialization was retired because it failed too often: it may be planned again later.
    pub fn retract(&mut self, code: CodeWord, entry: EntryPoint, parameter_types: &[Type]) {
        let planned = self.planned.entry(code).or_default();
        match planned.retractions.iter_mut().find(|(at, _)| *at == entry) {
            Some((_, count)) => *count += 1,
            None => planned.retractions.push((entry, 1)),
        }
        planned.no_longer_settles();
        planned
            .specializations
            .retain(|(at, types)| *at != entry || types != parameter_types);
    }

    /// A specialization cannot be had any more for a reason that was not its fault (a global variable
    /// that it relied on was set): it may be planned again as if it had never been.
    pub fn invalidate(&mut self, code: CodeWord, entry: EntryPoint, parameter_types: &[Type]) {
        if let Some(planned) = self.planned.get_mut(&code) {
            planned.no_longer_settles();
            planned
                .specializations
                .retain(|(at, types)| *at != entry || types != parameter_types);
        }
    }

    /// Takes a plan of an earlier run over, as if it had been made now; false if there is one already
    /// that serves the same. The iterations of loops that the statistics tell of led to it.
    pub fn adopt(&mut self, plan: &Plan, statistics: &Statistics) -> bool {
        if !self.take_note(plan) {
            return false;
        }
        if let Some(of_code) = statistics.code(plan.code) {
            let planned = self.planned.entry(plan.code).or_default();
            planned.settle(of_code, Some(statistics.version()));
        }
        true
    }

    /// Specializations of an entry point were retired in earlier runs. Some more may be.
    pub fn restore_retractions(&mut self, code: CodeWord, entry: EntryPoint, count: u32) {
        let planned = self.planned.entry(code).or_default();
        planned
            .retractions
            .push((entry, count.min(RETRACTIONS_MAX / 2)));
    }

    /// How often a specialization of an entry point was retired.
    pub(super) fn retractions(&self, code: CodeWord, entry: EntryPoint) -> u32 {
        let planned = self.planned.get(&code);
        planned.map_or(0, |planned| planned.retractions(entry))
    }

    /// The code object died.
    pub fn forget(&mut self, code: CodeWord) {
        self.planned.remove(&code);
    }

    /// Specializations planned of a code.
    pub fn planned(&self, code: CodeWord) -> usize {
        self.planned
            .get(&code)
            .map_or(0, |planned| planned.specializations.len())
    }

    /// Calls, and iterations of a loop that was never retired, that make code worth a plan. A procedure
    /// whose loops are short is better entered at its start, since the next call comes soon.
    fn wanted(&self, threshold: u32, statistics: &CodeStatistics, retractions: u32) -> (u32, u32) {
        if self.is_eager {
            return (2, 2);
        }
        let (calls, iterations) = (threshold << retractions, LOOP_HITS);
        let has_short_loops = statistics.loop_hits > 0
            && statistics.hits >= SHORT_LOOP_CALLS
            && statistics.loop_hits / statistics.hits < SHORT_LOOP_ITERATIONS;
        if !has_short_loops {
            (calls, iterations)
        } else if statistics.loop_hits < iterations {
            (calls, iterations * SHORT_LOOP_DELAY)
        } else {
            (SHORT_LOOP_CALLS, iterations * SHORT_LOOP_DELAY)
        }
    }

    fn plan_code(
        &mut self,
        snapshot: &CodeSnapshot,
        statistics: &CodeStatistics,
        source: &dyn CodeSource,
        plans: &mut Vec<Plan>,
    ) {
        let Some(threshold) = threshold(snapshot.instructions.len()) else {
            return;
        };
        let retractions = self.retractions(snapshot.word, EntryPoint::Start);
        let (threshold, loop_hits) = self.wanted(threshold, statistics, retractions);
        if let Some(budget) = &self.budget
            && !budget.allows(snapshot.instructions.len(), statistics.events)
        {
            let is_hot = statistics.hits >= threshold || statistics.loop_hits >= loop_hits;
            self.deferred += usize::from(is_hot && self.planned(snapshot.word) == 0);
            return;
        }
        if retractions < RETRACTIONS_MAX {
            for plan in self.plan_starts(snapshot, statistics, threshold, source) {
                if self.take_note(&plan) {
                    plans.push(plan);
                }
            }
        }
        self.plan_loops(snapshot, statistics, loop_hits, plans);
    }

    /// Plans the hottest loop. Code that is compiled for one loop, or for the start, contains
    /// others too: they have to show that they still run in the interpreter once that code is in
    /// use.
    fn plan_loops(
        &mut self,
        snapshot: &CodeSnapshot,
        statistics: &CodeStatistics,
        loop_hits: u32,
        plans: &mut Vec<Plan>,
    ) {
        let planned = self.planned.entry(snapshot.word).or_default();
        let has_plan = plans.last().is_some_and(|plan| plan.code == snapshot.word);
        if !self.is_eager && (has_plan || planned.settles_until >= self.version) {
            planned.settle(statistics, has_plan.then_some(self.version));
            return;
        }
        let mut hot: Vec<(u32, u64)> = statistics
            .loops
            .iter()
            .map(|(address, of_loop)| {
                let before = planned.loop_hits_before.get(address).copied();
                (of_loop.hits.saturating_sub(before.unwrap_or(0)), *address)
            })
            .filter(|(hits, _)| *hits >= loop_hits)
            .collect();
        hot.sort_by_key(|(hits, address)| (std::cmp::Reverse(*hits), *address));
        for (hits, address) in hot {
            let plan = statistics.pc(address).and_then(|pc| {
                plan_loop(
                    snapshot,
                    pc,
                    &statistics.loops[&address],
                    statistics.depth_max,
                )
            });
            if let Some(plan) = plan
                && self.is_worth_a_loop(&plan, hits, loop_hits)
                && self.take_note(&plan)
            {
                plans.push(plan);
                if !self.is_eager {
                    let planned = self.planned.entry(snapshot.word).or_default();
                    planned.settle(statistics, Some(self.version));
                    return;
                }
            }
        }
    }

    /// Whether the iterations are enough for a loop that was retired so often.
    fn is_worth_a_loop(&self, plan: &Plan, hits: u32, loop_hits: u32) -> bool {
        let retractions = self.retractions(plan.code, plan.entry);
        let wanted = if self.is_eager {
            loop_hits
        } else {
            loop_hits << retractions.min(RETRACTIONS_MAX)
        };
        retractions < RETRACTIONS_MAX && hits >= wanted
    }

    /// Returns plans for calls.
    fn plan_starts(
        &self,
        snapshot: &CodeSnapshot,
        statistics: &CodeStatistics,
        threshold: u32,
        source: &dyn CodeSource,
    ) -> Vec<Plan> {
        let planned = self.planned.get(&snapshot.word);
        let started: Vec<&[Type]> = planned
            .iter()
            .flat_map(|planned| &planned.specializations)
            .filter(|(entry, _)| *entry == EntryPoint::Start)
            .map(|(_, types)| &types[..])
            .collect();
        let callsite = match self.selection {
            Selection::Among => choice::only_callsite(snapshot, statistics),
            Selection::One => None,
        };
        let Some(callsite) = callsite else {
            let single = plan_single(snapshot, statistics, threshold);
            return single.filter(|_| started.is_empty()).into_iter().collect();
        };
        let by_class =
            || !self.ignores_classes && choice::asks_for_classes(snapshot, statistics, source);
        if started.is_empty() {
            let parts = if callsite.hits >= threshold {
                choice::parts(snapshot, callsite, by_class())
            } else {
                Vec::new()
            };
            return if parts.is_empty() {
                plan_single(snapshot, statistics, threshold)
                    .into_iter()
                    .collect()
            } else {
                parts
            };
        }
        let hits = choice::unserved(callsite, &started);
        if self.is_worth_another(snapshot, statistics, hits) {
            vec![choice::one_more(
                snapshot,
                callsite,
                &started,
                hits,
                by_class(),
            )]
        } else {
            Vec::new()
        }
    }

    /// Whether so many calls that no specialization serves are worth another one.
    fn is_worth_another(
        &self,
        snapshot: &CodeSnapshot,
        statistics: &CodeStatistics,
        hits: u32,
    ) -> bool {
        let words = snapshot.instructions.len();
        let retractions = self.retractions(snapshot.word, EntryPoint::Start);
        let wanted = if self.is_eager {
            2
        } else {
            threshold(words).unwrap_or(u32::MAX) << retractions
        };
        let is_frequent = u64::from(hits) * 100 >= u64::from(statistics.hits);
        let pays = self.budget.as_ref().is_none_or(|budget| {
            let events = statistics.events * u64::from(hits) / u64::from(statistics.hits.max(1));
            budget.allows(words, events)
        });
        hits >= wanted && is_frequent && pays
    }

    /// Remembers a plan; false if there is one already that serves the same, or too many.
    fn take_note(&mut self, plan: &Plan) -> bool {
        let has_one_start = self.selection == Selection::One;
        let planned = self.planned.entry(plan.code).or_default();
        let is_served = planned.specializations.iter().any(|(entry, types)| {
            *entry == plan.entry
                && match entry {
                    EntryPoint::Start => {
                        has_one_start
                            || *types == plan.parameter_types
                            || covers(types, &plan.parameter_types)
                    }
                    // One for a loop at a time that the registers of today fit.
                    EntryPoint::Loop(_) => covers(types, &plan.parameter_types),
                }
        });
        if is_served || planned.count(plan.entry) >= CANDIDATES_MAX {
            return false;
        }
        planned
            .specializations
            .push((plan.entry, plan.parameter_types.clone()));
        true
    }
}

/// Whether values of the second types fit where those of the first are wanted.
fn covers(wanted: &[Type], given: &[Type]) -> bool {
    wanted.len() == given.len() && wanted.iter().zip(given).all(|(w, g)| g.is(*w))
}

/// Whether calls with so many arguments get further than an error.
fn accepts(snapshot: &CodeSnapshot, callsite: &CallsiteStatistics) -> bool {
    use canny_tables::layout::code::VARIADIC;
    snapshot.arity == VARIADIC || snapshot.arity == u32::from(callsite.argument_count)
}

fn reason_of(types: &[Type]) -> Reason {
    let open = types.iter().filter(|ty| **ty == Type::ANY).count();
    match open {
        _ if open == types.len() => Reason::Certain,
        0 => Reason::Observed,
        _ => Reason::Derived,
    }
}

/// The specialization that serves every call.
fn plan_single(
    snapshot: &CodeSnapshot,
    statistics: &CodeStatistics,
    threshold: u32,
) -> Option<Plan> {
    let callsites = statistics.callsites.iter();
    let accepted: Vec<_> = callsites
        .filter(|callsite| accepts(snapshot, callsite))
        .collect();
    let hits = accepted.iter().map(|callsite| callsite.hits).sum();
    if hits < threshold {
        return None;
    }
    let is_nearly = |part: u32, whole: u32| {
        u64::from(part) * 100 >= u64::from(whole) * u64::from(SINGLE_PERCENT)
    };
    let parameter_types = match accepted
        .iter()
        .find(|callsite| is_nearly(callsite.hits, hits))
    {
        Some(callsite) => (0..usize::from(callsite.argument_count))
            .map(|position| choice::stable(callsite.positions.get(position)?, false))
            .map(|ty| ty.unwrap_or(Type::ANY))
            .collect(),
        None => Vec::new(),
    };
    Some(Plan {
        code: snapshot.word,
        entry: EntryPoint::Start,
        reason: reason_of(&parameter_types),
        parameter_types,
        hits,
        hits_of_all: hits,
        depth_max: statistics.depth_max,
    })
}

/// The specialization of a hot loop; `pc` is that of the loop instruction, which names the loop's head.
fn plan_loop(
    snapshot: &CodeSnapshot,
    pc: usize,
    statistics: &LoopStatistics,
    depth_max: u32,
) -> Option<Plan> {
    let head = loop_head(snapshot, pc)?;
    let live = snapshot.liveness.live_before(&snapshot.instructions, head);
    let parameter_types = (0..snapshot.frame_words as usize)
        .map(|register| register_type(statistics.registers.get(register), &live, register))
        .collect();
    Some(Plan {
        code: snapshot.word,
        entry: EntryPoint::Loop(head),
        parameter_types,
        reason: Reason::Loop,
        hits: statistics.hits,
        hits_of_all: statistics.hits,
        depth_max,
    })
}

/// Whether code gains from knowing that a value has the type. The specific immediates are not worth it:
/// nothing but a comparison or a test is ever done with them, and flags change.
fn is_worth_checking(ty: Type) -> bool {
    const FLAGS: Type = Type::BOOLEAN.or(Type::NIL).or(Type::OTHER_IMMEDIATE);
    !ty.may_be(FLAGS)
}

fn register_type(types: Option<&Histogram<Type>>, live: &RegisterSet, register: usize) -> Type {
    let stable = types
        .filter(|_| live.contains(register))
        .and_then(|types| types.most().map(|most| (most, types.total())));
    match stable {
        Some(((ty, hits), total))
            if is_worth_checking(ty)
                && u64::from(hits) * 100 >= u64::from(total) * u64::from(LOOP_PERCENT) =>
        {
            ty
        }
        _ => Type::ANY,
    }
}

/// Where the loop instruction at `pc` goes.
fn loop_head(snapshot: &CodeSnapshot, pc: usize) -> Option<usize> {
    let instruction = Instruction::decode(&snapshot.instructions, pc).ok()?;
    if instruction.row().flow != Flow::Loop {
        return None;
    }
    let head = usize::try_from(instruction.branch_target()?).ok()?;
    (head < snapshot.instructions.len()).then_some(head)
}

/// Times that depths are passed on from callers to callees: chains longer than that are rare in one plan.
const DEPTH_ROUNDS: usize = 4;

/// Makes what is called in a plan deeper than what calls it there.
fn raise_callees(plans: &mut [Plan], statistics: &Statistics) {
    let planned: CodeSet = plans.iter().map(|plan| plan.code).collect();
    let mut calls: CodeMap<CodeSet> = CodeMap::default();
    for code in &planned {
        let callees = calls.entry(*code).or_default();
        if let Some(of_code) = statistics.code(*code) {
            of_code.each_site_table(|_, sites| {
                let entered = sites.values().flat_map(|site| site.callees.iter());
                callees.extend(
                    entered
                        .map(|(callee, _)| *callee)
                        .filter(|callee| callee != code && planned.contains(callee)),
                );
            });
        }
    }
    for _ in 0..DEPTH_ROUNDS {
        let mut depths: CodeMap<u32> = CodeMap::default();
        for plan in plans.iter() {
            let depth = depths.entry(plan.code).or_default();
            *depth = plan.depth_max.max(*depth);
        }
        let mut changed = false;
        for plan in plans.iter_mut() {
            let least = calls
                .iter()
                .filter(|(_, callees)| callees.contains(&plan.code))
                // Procedures that call each other keep their depths.
                .filter(|(caller, _)| {
                    !calls
                        .get(&plan.code)
                        .is_some_and(|own| own.contains(caller))
                })
                .filter_map(|(caller, _)| depths.get(caller))
                .max()
                .map_or(0, |depth| depth + 1);
            if plan.depth_max < least {
                plan.depth_max = least;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
}
