//! For what tasks wait, in words: the table that Scheme fills, read once before a survey.

use canny_tables::kinds::Kind;
use canny_tables::protocols::wait_row;
use canny_value::Value;

use super::types::text_of;
use crate::Vm;
use crate::data::values::record_type;
use crate::profile::waits::KINDS;

/// Words by record type or symbol.
#[derive(Default)]
pub(super) struct WaitNames {
    rows: Vec<(Value, String)>,
}

impl WaitNames {
    /// Reads the machine's table, a list of rows. It holds until objects may move.
    pub(super) fn of(vm: &Vm) -> WaitNames {
        let mut rows = vm.root(KINDS).unwrap_or(Value::NIL);
        let mut names = WaitNames::default();
        while let Some(pair) = rows.as_pair() {
            if let Some(row) = pair.car().as_kind(Kind::Vector)
                && row.length() > wait_row::WORDS
                && let Some(words) = text_of(row.field(wait_row::WORDS))
            {
                names.rows.push((row.field(wait_row::KEY), words));
            }
            rows = pair.cdr();
        }
        names
    }

    /// The words for what stands in the field of a task.
    pub(super) fn reason(&self, why: Value) -> Option<String> {
        if !why.is_true() {
            return None;
        }
        let key = why
            .as_kind(Kind::Record)
            .map_or(why, |record| record.field(0));
        let row = self.rows.iter().find(|(known, _)| *known == key);
        if let Some((_, words)) = row {
            return Some(words.clone());
        }
        match key.as_kind(Kind::RecordType) {
            Some(its_type) => text_of(its_type.field(record_type::NAME)),
            None => text_of(key),
        }
    }
}
