//! Prepared statements of a connection, by their text. The one that was not used for longest goes first.

use std::collections::HashMap;

use crate::raw::RawStatement;

struct Entry {
    statement: RawStatement,
    stamp: u64,
}

pub(crate) struct StatementCache {
    entries: HashMap<Box<str>, Entry>,
    capacity: usize,
    stamp: u64,
}

impl StatementCache {
    pub(crate) fn new(capacity: usize) -> StatementCache {
        StatementCache {
            entries: HashMap::new(),
            capacity,
            stamp: 0,
        }
    }

    pub(crate) fn get(&mut self, sql: &str) -> Option<&mut RawStatement> {
        self.stamp += 1;
        let entry = self.entries.get_mut(sql)?;
        entry.stamp = self.stamp;
        Some(&mut entry.statement)
    }

    /// Takes a statement out, for a cursor.
    pub(crate) fn take(&mut self, sql: &str) -> Option<RawStatement> {
        self.entries.remove(sql).map(|entry| entry.statement)
    }

    /// Keeps a statement that is reset.
    pub(crate) fn put(&mut self, sql: &str, statement: RawStatement) {
        if self.capacity == 0 {
            return;
        }
        if self.entries.len() >= self.capacity && !self.entries.contains_key(sql) {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.stamp);
            if let Some(oldest) = oldest.map(|(sql, _)| sql.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.stamp += 1;
        let stamp = self.stamp;
        self.entries.insert(sql.into(), Entry { statement, stamp });
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn length(&self) -> usize {
        self.entries.len()
    }
}
