//! The selection of rows by task, thread, label and time.
//!
//! A filter is looked up once for each row of the small tables, so that asking it for a sample
//! takes three look-ups by index.

use std::ops::Range;

use crate::model::{LabelSetIndex, Profile, TaskIndex, ThreadIndex};

/// The rows that an analysis counts. The default counts all, and ends stacks at their task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these tasks.
    pub tasks: Option<Vec<TaskIndex>>,
    /// Only these threads. Waits belong to no thread and are always counted.
    pub threads: Option<Vec<ThreadIndex>>,
    /// Only rows with all of these labels; a key without a value stands for any value.
    pub labels: Vec<(String, Option<String>)>,
    /// Only this time. Waits and collections count with the part that is within.
    pub time_ns: Option<Range<u64>>,
    /// Stacks continue with those of the task that started theirs.
    pub is_async: bool,
}

/// A filter with its answers for each row of the tables.
#[derive(Debug)]
pub struct Selection {
    tasks: Vec<bool>,
    threads: Vec<bool>,
    labels: Vec<bool>,
    time_ns: Range<u64>,
}

impl Selection {
    pub fn new(profile: &Profile, filter: &Filter) -> Selection {
        let rows = &profile.rows;
        let mut tasks = vec![filter.tasks.is_none(); rows.tasks.len()];
        for task in filter.tasks.iter().flatten() {
            if let Some(is_in) = tasks.get_mut(task.row()) {
                *is_in = true;
            }
        }
        let mut threads = vec![filter.threads.is_none(); rows.threads.len()];
        for thread in filter.threads.iter().flatten() {
            if let Some(is_in) = threads.get_mut(thread.row()) {
                *is_in = true;
            }
        }
        let labels = (0..rows.labels.len()).map(|row| {
            filter.labels.iter().all(|(key, value)| {
                let mut set = profile.label_set(LabelSetIndex::new(row));
                set.any(|(other, found)| {
                    other == key && value.as_deref().is_none_or(|value| value == found)
                })
            })
        });
        Selection {
            tasks,
            threads,
            labels: labels.collect(),
            time_ns: filter.time_ns.clone().unwrap_or(0..u64::MAX),
        }
    }

    /// Whether a row of this task, thread and label set counts. A row of no table is in.
    pub fn admits(
        &self,
        task: TaskIndex,
        thread: Option<ThreadIndex>,
        label: LabelSetIndex,
    ) -> bool {
        is_in(&self.tasks, task.row())
            && self.admits_thread(thread)
            && is_in(&self.labels, label.row())
    }

    fn admits_thread(&self, thread: Option<ThreadIndex>) -> bool {
        thread.is_none_or(|thread| is_in(&self.threads, thread.row()))
    }

    /// Whether a moment counts.
    pub fn admits_time(&self, at_ns: u64) -> bool {
        self.time_ns.contains(&at_ns)
    }

    /// The part of a time that counts.
    pub fn part_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let from = from_ns.max(self.time_ns.start);
        to_ns.min(self.time_ns.end).saturating_sub(from)
    }
}

fn is_in(answers: &[bool], row: usize) -> bool {
    answers.get(row).copied().unwrap_or(true)
}

/// The profile with the selected rows only, for exports. All tables that rows refer to stay.
///
/// Waits and events that reach over the ends of the selected time are shortened.
pub fn selected(profile: &Profile, filter: &Filter) -> Profile {
    let selection = Selection::new(profile, filter);
    let mut profile = profile.clone();
    let rows = &mut profile.rows;
    rows.samples.retain(|row| {
        selection.admits(row.task, Some(row.thread), row.label) && selection.admits_time(row.at_ns)
    });
    rows.allocations.retain(|row| {
        selection.admits(row.task, Some(row.thread), row.label) && selection.admits_time(row.at_ns)
    });
    let time = selection.time_ns.clone();
    rows.waits.retain_mut(|row| {
        let is_within = row.from_ns < time.end && row.resumed_ns.max(row.from_ns) >= time.start;
        for at_ns in [&mut row.from_ns, &mut row.ready_ns, &mut row.resumed_ns] {
            *at_ns = (*at_ns).min(time.end).max(time.start);
        }
        is_within && selection.admits(row.task, None, row.label)
    });
    rows.events.retain_mut(|row| {
        let is_within = row.at_ns < time.end && row.end_ns() >= time.start;
        row.duration_ns = selection.part_ns(row.at_ns, row.end_ns());
        row.at_ns = row.at_ns.max(time.start);
        is_within && selection.admits_thread(row.thread)
    });
    profile
}
