//! Profiles of earlier runs at the worker: statistics and plans that are there from the beginning.
//!
//! A profile comes before the program runs, and waits for the first log: by then definitions have
//! run, and snapshots do not show variables without values. The statistics are then taken for those
//! of this run. The plans are compiled in the order of the time that their code took: those of code
//! that ran already first, the others while the worker has taken less than a part of the program's
//! time. They are hints like everything that comes from logs: a plan that does not fit its code is
//! left out, guards protect the others, and a plan whose guesses fail is retired like any other.
//!
//! | [`Learned`] field | changed by | read by |
//! |---|---|---|
//! | `statistics` | the worker, while it takes a log in | the worker; the thread that ends the program |
//! | `used` | the worker | the thread that ends the program |

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_locks::{Mutex, RwLock};
use canny_spesh::code_map::CodeSet;
use canny_spesh::dump::plan_text;
use canny_spesh::graph::EntryPoint;
use canny_spesh::kept::{
    KeptProfile, PLANS_MAX, ResolvedCode, entry_of, fingerprint, fits, resolved,
};
use canny_spesh::planner::Plan;
use canny_spesh::snapshot::{CodeSnapshot, CodeWord, PoolItem};
use canny_spesh::statistics::Statistics;
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
/// Time of earlier runs that counts.
const TIME_BEFORE_MAX: Duration = Duration::from_secs(2);

/// What a worker knows, for the profile that is kept at the end.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) statistics: RwLock<Statistics>,
    pub(crate) used: Mutex<Used>,
}

/// Plans in use.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// Those that were installed and of whose retirement the worker does not know.
    pub(crate) plans: Vec<Plan>,
    /// Retired ones.
    pub(crate) retractions: HashMap<(CodeWord, EntryPoint), u32>,
    /// Installed and retired ones of this run that no profile knew of.
    pub(crate) news: u32,
    /// When the worker was made, and the time of earlier runs.
    pub(crate) birth: Option<Instant>,
    pub(crate) time_before: Duration,
}

impl Learned {
    pub(super) fn new() -> Arc<Learned> {
        let learned = Learned::default();
        learned.used.lock().birth = Some(Instant::now());
        Arc::new(learned)
    }

    /// A plan is in use; `is_new` if it was made in this run.
    pub(super) fn note_used(&self, plan: Plan, is_new: bool) {
        let mut used = self.used.lock();
        used.news += u32::from(is_new);
        used.plans.push(plan);
    }

    /// A plan is in use no more.
    pub(super) fn note_retired(&self, plan: &Plan) {
        let mut used = self.used.lock();
        used.news += 1;
        *used.retractions.entry((plan.code, plan.entry)).or_default() += 1;
        if let Some(at) = used.plans.iter().position(|other| other == plan) {
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
}

struct WaitingPlan {
    plan: Plan,
    /// Of the instructions that it was made for.
    fingerprint: u64,
    tries: u32,
}

impl KeptPlans {
    /// The code died, or is not the one that plans were for.
    pub(super) fn forget(&mut self, code: CodeWord) {
        self.waiting.retain(|waiting| waiting.plan.code != code);
    }
}

impl LogWorker {
    /// What the worker knows, if there is one.
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
        let learned = self.learned.clone();
        let mut statistics = learned.statistics.write();
        let mut used = learned.used.lock();
        let events = statistics.restore(&profile, &codes);
        for row in &profile.retractions {
            if let Some(code) = resolved(&codes, row.code) {
                let entry = entry_of(row.head);
                self.planner
                    .restore_retractions(code.word, entry, row.count);
                self.compile
                    .restore_retractions(code.word, entry, row.count);
                used.retractions.insert((code.word, entry), row.count);
            }
        }
        let mut waiting: Vec<WaitingPlan> = Vec::new();
        for kept in profile.plans.iter().take(PLANS_MAX) {
            let name = profile.codes.get(kept.code as usize);
            if let (Some(code), Some(name)) = (resolved(&codes, kept.code), name) {
                let plan = kept.plan(code.word);
                if self.planner.adopt(&plan, &statistics) {
                    statistics.keep(plan.code);
                    waiting.push(WaitingPlan {
                        plan,
                        fingerprint: name.fingerprint,
                        tries: 0,
                    });
                }
            }
        }
        let heat = |waiting: &WaitingPlan| events.get(&waiting.plan.code).copied();
        waiting.sort_by_key(|waiting| std::cmp::Reverse(heat(waiting).unwrap_or(0)));
        used.time_before = Duration::from_millis(profile.milliseconds.into()).min(TIME_BEFORE_MAX);
        self.kept.time_before = used.time_before;
        let text = format!(
            "A kept profile gives statistics of {} codes and {} plans, restored within {} us\n\n",
            events.len(),
            waiting.len(),
            start.elapsed().as_micros()
        );
        self.kept.waiting = waiting;
        drop((statistics, used));
        self.say(&text);
    }

    /// Compiles plans of earlier runs; whether any is in use now.
    pub(super) fn compile_kept(&mut self, touched: &CodeSet, waiting: Option<&LogQuota>) -> bool {
        let mut is_useful = false;
        for _ in 0..ROUNDS {
            if self.kept.waiting.is_empty() {
                break;
            }
            self.kept.ran.extend(touched.iter().copied());
            let mut plans = std::mem::take(&mut self.kept.waiting);
            plans.sort_by_key(|waiting| !self.kept.ran.contains(&waiting.plan.code));
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
                        Compiled::Installed => {
                            is_useful = true;
                            self.learned.note_used(one.plan, false);
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
    let is_unbound = |item: &PoolItem| matches!(item, PoolItem::Cell(cell) if cell.ty == Type::NONE);
    snapshot.pool.iter().any(is_unbound)
}
