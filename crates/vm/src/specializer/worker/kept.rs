//! Profiles of earlier runs at the worker: statistics and plans that are there from the beginning.
//!
//! A profile comes before the program runs, and waits for the first log: by then definitions have
//! run, and snapshots do not show variables without values. The statistics are then taken for those
//! of this run. The plans are compiled in the order in which earlier runs found them, which is that
//! of their heat, and those of one log by the time that their code took for the time that compiling it
//! takes. Code that has not run yet waits if the worker has taken a good part of the program's time,
//! and if variables in it have no values yet. They are
//! hints: a plan that does not fit its code is left out, guards protect the others, and a plan whose
//! guesses fail is retired like any other.
//!
//! | [`Learned`] field | changed by | read by |
//! |---|---|---|
//! | `statistics` | the worker, while it takes a log in | the worker; the thread that ends the program |
//! | `used` | the worker | the thread that ends the program |

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_locks::{Mutex, RwLock};
use canny_spesh::code_map::{CodeMap, CodeSet};
use canny_spesh::dump::plan_text;
use canny_spesh::graph::EntryPoint;
use canny_spesh::kept::{KeptProfile, PLANS_MAX, Resolved, ResolvedCode, entry_of, fingerprint};
use canny_spesh::planner::{Plan, fits};
use canny_spesh::snapshot::{CodeSnapshot, CodeWord, PoolItem};
use canny_spesh::statistics::{CodeStatistics, Statistics};
use canny_spesh::types::Type;

use super::{Compiled, LogQuota, LogWorker, Named, Snapshots, Worker, WorkerState};

/// Codes whose snapshots are asked for at a time.
const BATCH_CODES: usize = 40;
/// Times that a plan is tried: some wait for variables to get values.
const TRIES_MAX: u32 = 12;
/// Times that plans are tried in a row, since the first try may wish for snapshots.
const ROUNDS: usize = 2;
/// Time that may go into plans whose code has not run yet, beyond that one part in so many of the
/// program's.
const TIME_FREE: Duration = Duration::from_millis(20);
/// See [`TIME_FREE`].
const TIME_SHARE: u32 = 2;
/// Time until plans that wait are tried again; each time it is twice as long.
const RETRY_FIRST: Duration = Duration::from_millis(1);
/// Time of earlier runs that counts.
const TIME_BEFORE_MAX: Duration = Duration::from_secs(2);
/// Age of the logs of a program with a profile: there is less to be learned from them.
const AGE: u32 = 3;

/// A worker's knowledge, for the profile that is kept at the end.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) statistics: RwLock<Statistics>,
    pub(crate) used: Mutex<Used>,
}

/// Plans in use.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// Those that were installed and of whose retirement the worker does not know.
    pub(crate) plans: Vec<UsedPlan>,
    /// Statistics of their code and of what that calls, as they were when the plans were compiled.
    pub(crate) statistics: CodeMap<CodeStatistics>,
    /// Retired ones.
    pub(crate) retractions: HashMap<(CodeWord, EntryPoint), u32>,
    /// Installed and retired ones of this run that no profile knew of.
    pub(crate) news: u32,
    /// When the worker was made, and the time of earlier runs.
    pub(crate) birth: Option<Instant>,
    pub(crate) time_before: Duration,
}

/// A plan in use.
#[derive(Debug)]
pub(crate) struct UsedPlan {
    pub(crate) plan: Plan,
    /// Logs before it was planned.
    pub(crate) logs: u32,
    /// Time to compile it.
    pub(crate) time: Duration,
}

impl Learned {
    pub(super) fn new() -> Arc<Learned> {
        let learned = Learned::default();
        learned.used.lock().birth = Some(Instant::now());
        Arc::new(learned)
    }

    /// A plan is in use; `is_new` if it was made in this run.
    pub(super) fn note_used(&self, plan: UsedPlan, is_new: bool) {
        let statistics = self.statistics.read();
        let mut used = self.used.lock();
        used.news += u32::from(is_new);
        if let Some(of_code) = statistics.code(plan.plan.code) {
            used.statistics.insert(plan.plan.code, of_code.clone());
            of_code.each_site_table(|_, sites| {
                let entered = sites.values().flat_map(|site| site.callees.iter());
                for (callee, _) in entered {
                    if let Some(of_callee) = statistics.code(*callee) {
                        let known = used.statistics.entry(*callee);
                        known.or_insert_with(|| of_callee.clone());
                    }
                }
            });
        }
        used.plans.push(plan);
    }

    /// A plan is in use no more.
    pub(super) fn note_retired(&self, plan: &Plan) {
        let mut used = self.used.lock();
        used.news += 1;
        used.statistics.remove(&plan.code);
        *used.retractions.entry((plan.code, plan.entry)).or_default() += 1;
        if let Some(at) = used.plans.iter().position(|other| other.plan == *plan) {
            used.plans.swap_remove(at);
        }
    }
}

/// A profile for the code of this process.
pub(crate) struct Restored {
    pub(crate) profile: KeptProfile,
    /// The codes of the profile, by row.
    pub(crate) codes: Vec<Option<ResolvedCode>>,
}

/// Plans of earlier runs that are to be compiled.
#[derive(Default)]
pub(super) struct KeptPlans {
    /// The hottest first.
    waiting: Vec<WaitingPlan>,
    /// Code that ran in this run.
    ran: CodeSet,
    /// How long the program ran before.
    pub(super) time_before: Duration,
    /// See [`AGE`]; zero without a profile.
    pub(super) age: u32,
    /// When plans are tried again, and how long the worker waits then.
    retry: Option<(Instant, Duration)>,
}

struct WaitingPlan {
    plan: Plan,
    /// Logs before it was planned first.
    logs: u32,
    /// Of the instructions that it was made for.
    fingerprint: u64,
    /// No earlier run knew of it.
    is_new: bool,
    tries: u32,
}

impl KeptPlans {
    /// When plans that wait are to be tried again.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry.map(|(at, _)| at)
    }

    /// Sees to it that plans that wait are tried again soon, though no log may come.
    pub(super) fn plan_retry(&mut self) {
        let wait = match self.retry {
            Some((_, wait)) => 2 * wait,
            None => RETRY_FIRST,
        };
        let is_needed = !self.waiting.is_empty();
        self.retry = is_needed.then(|| (Instant::now() + wait, wait));
    }

    /// The code died, or is not the one that plans were for.
    pub(super) fn forget(&mut self, code: CodeWord) {
        self.waiting.retain(|waiting| waiting.plan.code != code);
    }
}

impl LogWorker {
    /// The worker's knowledge, if there is one.
    pub(crate) fn learned(&self) -> Option<Arc<Learned>> {
        self.learned.lock().clone()
    }

    /// Gives the worker a profile of earlier runs; nothing happens if it runs already.
    pub(crate) fn restore(&self, restored: Restored) {
        if let WorkerState::Ready(worker) = &mut *self.lock() {
            worker.restored = Some(restored);
        }
    }

    /// Writes a line to the specializer's log, if the worker has not begun to work.
    pub(crate) fn note(&self, text: &str) {
        if let WorkerState::Ready(worker) = &mut *self.lock() {
            worker.say(&format!("{text}\n\n"));
        }
    }
}

impl Worker {
    /// Takes the profile of earlier runs in, if there is one that waits.
    pub(super) fn restore_profile(&mut self) {
        let Some(Restored { profile, codes }) = self.restored.take() else {
            return;
        };
        let start = Instant::now();
        let known = self.machine.named_record_types();
        let names = profile.record_types.iter();
        let classes = names.map(|name| known.get(name).copied()).collect();
        let rows = Resolved { codes, classes };
        let learned = self.learned.clone();
        let mut statistics = learned.statistics.write();
        let mut used = learned.used.lock();
        let events = statistics.restore(&profile, &rows);
        for row in &profile.retractions {
            if let Some(code) = rows.code(row.code) {
                let entry = entry_of(row.head);
                self.planner
                    .restore_retractions(code.word, entry, row.count);
                self.compile
                    .restore_retractions(code.word, entry, row.count);
                used.retractions.insert((code.word, entry), row.count);
            }
        }
        let mut waiting: Vec<(WaitingPlan, u64)> = Vec::new();
        for kept in profile.plans.iter().take(PLANS_MAX) {
            let name = profile.codes.get(kept.code as usize);
            if let (Some(code), Some(name)) = (rows.code(kept.code), name) {
                let plan = kept.plan(code.word, &rows);
                if self.planner.adopt(&plan, &statistics) {
                    statistics.keep(plan.code);
                    let events = events.get(&plan.code).copied().unwrap_or(0);
                    // A little is lost with each plan.
                    let heat = events * 1000 / u64::from(kept.microseconds.max(100));
                    let waits = WaitingPlan {
                        plan,
                        logs: kept.logs,
                        fingerprint: name.fingerprint,
                        is_new: false,
                        tries: 0,
                    };
                    waiting.push((waits, heat));
                }
            }
        }
        waiting.sort_by_key(|(waits, heat)| (waits.logs, std::cmp::Reverse(*heat)));
        used.time_before = Duration::from_millis(profile.milliseconds.into()).min(TIME_BEFORE_MAX);
        self.kept.time_before = used.time_before;
        let text = format!(
            "A kept profile gives statistics of {} codes and {} plans, restored within {} us\n\n",
            events.len(),
            waiting.len(),
            start.elapsed().as_micros()
        );
        self.kept.age = AGE;
        self.kept.waiting = waiting.into_iter().map(|(waits, _)| waits).collect();
        drop((statistics, used));
        self.say(&text);
    }

    /// A plan of this run wants snapshots that are made now.
    pub(super) fn try_soon(&mut self, plan: Plan, snapshots: &Snapshots) {
        let Some(snapshot) = snapshots.0.get(&plan.code) else {
            self.planner
                .invalidate(plan.code, plan.entry, &plan.parameter_types);
            return;
        };
        self.kept.retry = None;
        self.kept.waiting.push(WaitingPlan {
            logs: self.learned.statistics.read().version(),
            fingerprint: fingerprint(&snapshot.instructions, snapshot.frame_words),
            is_new: true,
            plan,
            tries: 0,
        });
    }

    /// Tries plans again that wait.
    pub(super) fn retry_kept(&mut self) {
        self.forget_dead();
        self.compile_kept(&CodeSet::default(), None);
        self.kept.plan_retry();
    }

    /// Compiles plans of earlier runs; whether any is in use now.
    pub(super) fn compile_kept(&mut self, touched: &CodeSet, waiting: Option<&LogQuota>) -> bool {
        let mut is_useful = false;
        for _ in 0..ROUNDS {
            if self.kept.waiting.is_empty() {
                break;
            }
            self.kept.ran.extend(touched.iter().copied());
            let plans = std::mem::take(&mut self.kept.waiting);
            let mut later = Vec::new();
            let mut plans = plans.into_iter().peekable();
            while plans.peek().is_some() {
                let mut wanted: Vec<CodeWord> = Vec::new();
                let mut batch = Vec::new();
                while wanted.len() < BATCH_CODES
                    && let Some(waiting) = plans.next()
                {
                    self.add_codes(waiting.plan.code, &mut wanted);
                    batch.push(waiting);
                }
                let mut snapshots = Snapshots::default();
                self.fetch(wanted.into_iter(), waiting, &mut snapshots);
                for mut one in batch {
                    if !self.may_compile(&one.plan) {
                        later.push(one);
                        continue;
                    }
                    match self.compile_one_kept(&one, &snapshots) {
                        Compiled::Installed(time) => {
                            is_useful = true;
                            let WaitingPlan { plan, logs, .. } = one;
                            let used = UsedPlan { plan, logs, time };
                            self.learned.note_used(used, one.is_new);
                        }
                        Compiled::No => {}
                        Compiled::NotNow if one.tries < TRIES_MAX => {
                            one.tries += 1;
                            later.push(one);
                        }
                        // The planner makes plans of its own for it.
                        Compiled::NotNow => {
                            let plan = &one.plan;
                            self.planner
                                .invalidate(plan.code, plan.entry, &plan.parameter_types);
                        }
                    }
                }
            }
            self.kept.waiting = later;
        }
        is_useful
    }

    /// Whether the code of a plan ran, or there is time for code that may run.
    fn may_compile(&self, plan: &Plan) -> bool {
        let elapsed = self.birth.elapsed();
        self.options.is_eager
            || self.kept.ran.contains(&plan.code)
            || self.time_compiling <= TIME_FREE + elapsed / TIME_SHARE
    }

    /// Adds a code and what it called to the codes whose snapshots a plan needs.
    fn add_codes(&self, code: CodeWord, wanted: &mut Vec<CodeWord>) {
        let mut add = |code: CodeWord| {
            if !wanted.contains(&code) {
                wanted.push(code);
            }
        };
        add(code);
        if let Some(of_code) = self.learned.statistics.read().code(code) {
            of_code.each_site_table(|_, sites| {
                let entered = sites.values().flat_map(|site| site.callees.iter());
                entered.for_each(|(callee, _)| add(*callee));
            });
        }
    }

    fn compile_one_kept(&mut self, waiting: &WaitingPlan, snapshots: &Snapshots) -> Compiled {
        let WaitingPlan {
            plan,
            fingerprint: wanted,
            ..
        } = waiting;
        let Some(snapshot) = snapshots.0.get(&plan.code) else {
            return Compiled::NotNow;
        };
        if fingerprint(&snapshot.instructions, snapshot.frame_words) != *wanted
            || !fits(plan, snapshot)
        {
            return Compiled::No;
        }
        if !self.kept.ran.contains(&plan.code) && misses_values(snapshot) {
            return Compiled::NotNow;
        }
        if self.file.is_some() {
            let source = Named {
                snapshots,
                machine: &*self.machine,
            };
            let text = format!("A kept plan\n\n{}", plan_text(plan, &source));
            self.say(&text);
        }
        self.compile_plan(plan, snapshots)
    }
}

/// Whether a code refers to a variable that has no value yet: its definition will follow.
fn misses_values(snapshot: &CodeSnapshot) -> bool {
    let is_unbound =
        |item: &PoolItem| matches!(item, PoolItem::Cell(cell) if cell.ty == Type::NONE);
    snapshot.pool.iter().any(is_unbound)
}
