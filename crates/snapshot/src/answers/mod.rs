//! Questions about a file of snapshots, and answers as JSON.
//!
//! The library `(canny heap analysis)`, its web page and `canny heap --json` ask here. A
//! [`Session`] reads a snapshot when the first question about it comes, and keeps the last ones.

mod objects;
mod question;
mod series;
mod session;
mod sources;

#[cfg(test)]
mod tests;

pub use question::Question;
pub use series::difference_answer;
pub use session::{Opened, Session};

use serde_json::Value;

impl Session {
    /// The answer to a question that is written in JSON, as JSON. An error is a sentence.
    pub fn answer_text(&self, question: &str) -> Result<String, String> {
        let question = serde_json::from_str(question)
            .map_err(|error| format!("the question is wrong: {error}"))?;
        Ok(self.answer(&question)?.to_string())
    }

    pub fn answer(&self, question: &Question) -> Result<Value, String> {
        match question {
            Question::Series => Ok(self.series_answer()),
            Question::Types {
                snapshot,
                by,
                sort,
                filter,
                retained,
                first,
                count,
            } => {
                let opened = self.snapshot(*snapshot)?;
                let rows = opened.rows(*by, *retained);
                let mut rows: Vec<_> = rows.iter().filter(|row| has(&row.name, filter)).collect();
                sort_rows(&mut rows, *sort);
                Ok(opened.types_answer(&rows, *first, *count))
            }
            Question::Objects {
                snapshot,
                query,
                sort,
                first,
                count,
            } => self.objects_answer(*snapshot, query, *sort, *first, *count),
            Question::Object { snapshot, id } => self.snapshot(*snapshot)?.object_answer(*id),
            Question::Why { snapshot, id } => {
                let opened = self.snapshot(*snapshot)?;
                opened.check(*id)?;
                Ok(Value::String(opened.analysis().why_alive(*id)))
            }
            Question::Outgoing {
                snapshot,
                id,
                first,
                count,
            } => self
                .snapshot(*snapshot)?
                .outgoing_answer(*id, *first, *count),
            Question::Incoming {
                snapshot,
                id,
                first,
                count,
            } => self
                .snapshot(*snapshot)?
                .incoming_answer(*id, *first, *count),
            Question::Paths {
                snapshot,
                id,
                count,
            } => self.snapshot(*snapshot)?.paths_answer(*id, *count),
            Question::Dominated {
                snapshot,
                id,
                first,
                count,
            } => self
                .snapshot(*snapshot)?
                .dominated_answer(*id, *first, *count),
            Question::Tiles {
                snapshot,
                id,
                depth,
                count,
            } => self.snapshot(*snapshot)?.tiles_answer(*id, *depth, *count),
            Question::Duplicates {
                snapshot,
                first,
                count,
            } => Ok(self.snapshot(*snapshot)?.duplicates_answer(*first, *count)),
            Question::Unused {
                snapshot,
                first,
                count,
            } => Ok(self.snapshot(*snapshot)?.unused_answer(*first, *count)),
            Question::Compare {
                before,
                after,
                first,
                count,
            } => self.compare_answer(*before, *after, *first, *count),
            Question::Growth { count } => self.growth_answer(*count),
            Question::Source { file, line, around } => self.source_answer(file, *line, *around),
            Question::Identity { snapshot, id } => self.identity_answer(*snapshot, *id),
        }
    }
}

fn has(name: &str, filter: &str) -> bool {
    filter.is_empty() || name.to_lowercase().contains(&filter.to_lowercase())
}

fn sort_rows(rows: &mut [&crate::analysis::Row], column: crate::analysis::Column) {
    use crate::analysis::Column;
    use std::cmp::Reverse;
    match column {
        Column::Name => rows.sort_by(|one, other| one.name.cmp(&other.name)),
        Column::Objects => rows.sort_by_key(|row| (Reverse(row.objects), Reverse(row.bytes))),
        Column::Bytes => rows.sort_by_key(|row| (Reverse(row.bytes), Reverse(row.objects))),
        Column::Retained => rows.sort_by_key(|row| (Reverse(row.retained), Reverse(row.bytes))),
    }
}

/// A part of a list.
fn page<T>(all: &[T], first: usize, count: usize) -> &[T] {
    let first = first.min(all.len());
    &all[first..first.saturating_add(count).min(all.len())]
}
