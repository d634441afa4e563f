//! Asks the specializer's worker for its statistics, for the report.
//!
//! The statistics belong to the worker's thread: a reporting thread sends a message and waits for a
//! copy, at most [`PATIENCE`]. Code objects are words here; the report resolves them to names.

use std::sync::mpsc::channel;
use std::time::Duration;

use canny_spesh::planner::{Obstacle, Plan};
use canny_spesh::snapshot::CodeWord;

use super::{LogWorker, Message, Worker, WorkerState};

/// How long somebody waits for the worker, which may be compiling something large.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answer of the worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerAccount {
    /// Logs taken in.
    pub(crate) logs: u32,
    /// An internal error turned the worker off.
    pub(crate) is_off: bool,
    /// Statistics of each code.
    pub(crate) codes: Vec<SeenCode>,
    /// Logged calls by caller, instruction and callee.
    pub(crate) calls: Vec<(CodeWord, usize, CodeWord, u32)>,
}

/// A code in the statistics.
#[derive(Clone, Debug)]
pub(crate) struct SeenCode {
    pub(crate) code: CodeWord,
    /// Calls.
    pub(crate) hits: u32,
    /// Iterations of its loops.
    pub(crate) loop_hits: u32,
    /// Why nothing is planned for its start; `None` without a snapshot.
    pub(crate) obstacle: Option<Obstacle>,
}

impl LogWorker {
    /// The worker's statistics; nothing if no log was ever full, or if the worker does not answer.
    pub(crate) fn account(&self) -> Option<WorkerAccount> {
        let (to, answer) = channel();
        {
            let WorkerState::Running(sender) = &*self.lock() else {
                return None;
            };
            sender.send(Message::Account(to)).ok()?;
        }
        answer.recv_timeout(PATIENCE).ok()
    }
}

impl Worker {
    pub(super) fn account(&self, is_off: bool) -> WorkerAccount {
        let statistics = self.learned.statistics.read();
        let mut account = WorkerAccount {
            logs: statistics.version(),
            is_off,
            ..WorkerAccount::default()
        };
        for (code, seen) in statistics.codes() {
            let snapshot = self.machine.snapshot(code);
            let obstacle = snapshot.map(|snapshot| self.planner.obstacle(&snapshot, seen));
            account.codes.push(SeenCode {
                code,
                hits: seen.hits,
                loop_hits: seen.loop_hits,
                obstacle,
            });
            seen.each_site_table(|_, sites| {
                for (address, site) in sites {
                    let Some(pc) = seen.pc(*address) else {
                        continue;
                    };
                    let callees = site.callees.iter();
                    let calls = callees.map(|(callee, count)| (code, pc, *callee, *count));
                    account.calls.extend(calls);
                }
            });
        }
        account
    }

    /// Writes down that nothing came of a plan.
    pub(super) fn note_refusal(&self, plan: &Plan, why: &str, time: Duration) {
        if let Some(ledger) = self.machine.ledger() {
            ledger.refused(plan.code, plan.entry, why.to_owned(), time);
        }
    }
}
