//! The worker's requests for snapshots, which the program's threads make at safepoints.
//!
//! A request waits a few milliseconds. Code that can have no snapshot, since its frame is too large,
//! is known by that no wish for it is open any more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canny_spesh::code_map::CodeSet;
use canny_spesh::snapshot::{CodeSnapshot, CodeWord};

use super::{LogQuota, Snapshots, Worker};

/// Calls and iterations from which on code is worth a snapshot.
const SNAPSHOT_HITS: u32 = 8;
/// Snapshots that one log may ask for: they are made on the program's thread.
const SNAPSHOTS_MAX: usize = 48;
/// How long the worker waits for snapshots.
const SNAPSHOT_WAIT: Duration = Duration::from_millis(5);

impl Worker {
    /// The snapshots of what was touched and ran more than a few times, and of what that called; those
    /// with most hits first if there are many.
    pub(super) fn snapshots(&mut self, touched: &CodeSet, waiting: Option<&LogQuota>) -> Snapshots {
        let statistics = self.learned.statistics.read();
        let mut wanted: Vec<(u32, CodeWord)> = touched
            .iter()
            .filter_map(|code| {
                let of_code = statistics.code(*code)?;
                let hits = of_code.hits.saturating_add(of_code.loop_hits);
                let is_warm = hits >= SNAPSHOT_HITS || self.options.is_eager;
                is_warm.then_some((hits, *code))
            })
            .collect();
        drop(statistics);
        wanted.sort_by_key(|(hits, code)| (std::cmp::Reverse(*hits), *code));
        let mut found = Snapshots::default();
        let wanted = wanted.into_iter().map(|(_, code)| code);
        let missing = self.fetch(wanted, waiting, &mut found);
        // The next log may find their snapshots made.
        self.pending.extend(missing);
        found
    }

    /// Finds the snapshots of some codes, and waits a little for those that are not made yet. Gives
    /// the codes that it found none of.
    pub(super) fn fetch(
        &mut self,
        wanted: impl Iterator<Item = CodeWord>,
        waiting: Option<&LogQuota>,
        found: &mut Snapshots,
    ) -> Vec<CodeWord> {
        let mut missing: Vec<CodeWord> = Vec::new();
        // Not asked for, or in vain.
        let mut without: Vec<CodeWord> = Vec::new();
        for code in wanted {
            if missing.len() >= SNAPSHOTS_MAX {
                without.push(code);
                continue;
            }
            match self.machine.snapshot(code) {
                Some(snapshot) => self.add_snapshot(code, snapshot, found),
                None => missing.push(code),
            }
        }
        if missing.is_empty() {
            return without;
        }
        let patience = Instant::now() + SNAPSHOT_WAIT;
        if let Some(quota) = waiting {
            quota.ask_for_snapshots();
        }
        loop {
            missing.retain(|code| match self.machine.awaited(*code) {
                (Some(snapshot), _) => {
                    self.add_snapshot(*code, snapshot, found);
                    false
                }
                (None, may_come) => {
                    if !may_come {
                        without.push(*code);
                    }
                    may_come
                }
            });
            if missing.is_empty() || waiting.is_some() || Instant::now() > patience {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        missing.extend(without);
        missing
    }

    fn add_snapshot(&mut self, code: CodeWord, snapshot: Arc<CodeSnapshot>, found: &mut Snapshots) {
        let is_another = self
            .known
            .get(&code)
            .is_some_and(|known| **known != *snapshot.instructions);
        if is_another {
            self.learned.statistics.write().forget(code);
            self.planner.forget(code);
            self.kept.forget(code);
        }
        self.known.insert(code, snapshot.instructions.clone());
        found.0.insert(code, snapshot);
    }
}
