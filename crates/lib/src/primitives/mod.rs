//! The primitives: one function for each row of `canny_tables::primitives`, in modules by topic.
//!
//! A primitive takes its arguments as a [`Call`], never calls a procedure, and returns a value or
//! raises. The table is made from the lists of the topics; a test checks that it has each row once.

pub(crate) mod base64;
pub(crate) mod bytevectors;
pub(crate) mod characters;
pub(crate) mod compression;
pub(crate) mod control;
pub(crate) mod crypto;
pub(crate) mod csv;
pub(crate) mod equivalence;
pub(crate) mod errors;
pub(crate) mod evaluation;
pub(crate) mod file_names;
pub(crate) mod file_system;
pub(crate) mod guests;
pub(crate) mod hash_tables;
pub(crate) mod heap_files;
pub(crate) mod http;
mod inquiry;
mod inspection;
pub(crate) mod json;
pub(crate) mod lists;
mod markup;
pub(crate) mod memory;
pub(crate) mod numbers;
pub(crate) mod numeric_vectors;
pub(crate) mod pairs;
pub(crate) mod ports;
pub(crate) mod posix;
pub(crate) mod processes;
mod profiles;
pub(crate) mod reader;
pub(crate) mod records;
pub(crate) mod regexp;
pub(crate) mod signals;
pub(crate) mod snapshots;
pub(crate) mod sockets;
mod sorting;
pub(crate) mod sqlite;
pub(crate) mod string_case;
pub(crate) mod string_comparison;
pub(crate) mod string_search;
pub(crate) mod strings;
pub(crate) mod symbols;
pub(crate) mod syntax_objects;
pub(crate) mod system;
pub(crate) mod tasks;
pub(crate) mod text;
pub(crate) mod vectors;
pub(crate) mod watches;
pub(crate) mod websocket;
mod whole_ports;

use std::collections::HashMap;
use std::sync::Arc;

use canny_tables::primitives::all;
use canny_value::Value;
use canny_vm::{Arguments, ConditionKind, PrimitiveFunction, Raise, Thread};

/// Name and function of each row of a topic.
type Implementations = &'static [(&'static str, PrimitiveFunction)];

/// Every topic. A test checks that they agree with the rows.
const TOPICS: &[Implementations] = &[
    base64::IMPLEMENTATIONS,
    bytevectors::IMPLEMENTATIONS,
    characters::IMPLEMENTATIONS,
    compression::IMPLEMENTATIONS,
    control::IMPLEMENTATIONS,
    crypto::IMPLEMENTATIONS,
    csv::IMPLEMENTATIONS,
    equivalence::IMPLEMENTATIONS,
    hash_tables::IMPLEMENTATIONS,
    heap_files::IMPLEMENTATIONS,
    errors::IMPLEMENTATIONS,
    evaluation::IMPLEMENTATIONS,
    file_system::IMPLEMENTATIONS,
    http::IMPLEMENTATIONS,
    inquiry::IMPLEMENTATIONS,
    inspection::IMPLEMENTATIONS,
    json::IMPLEMENTATIONS,
    lists::IMPLEMENTATIONS,
    markup::IMPLEMENTATIONS,
    memory::IMPLEMENTATIONS,
    numbers::arithmetic::IMPLEMENTATIONS,
    numbers::bitwise::IMPLEMENTATIONS,
    numbers::comparison::IMPLEMENTATIONS,
    numbers::conversion::IMPLEMENTATIONS,
    numbers::flonum_functions::IMPLEMENTATIONS,
    numbers::functions::IMPLEMENTATIONS,
    numbers::predicates::IMPLEMENTATIONS,
    numbers::random::IMPLEMENTATIONS,
    numeric_vectors::IMPLEMENTATIONS,
    pairs::IMPLEMENTATIONS,
    ports::binary::IMPLEMENTATIONS,
    ports::channels::IMPLEMENTATIONS,
    ports::files::IMPLEMENTATIONS,
    ports::transcode::IMPLEMENTATIONS,
    ports::input::IMPLEMENTATIONS,
    ports::objects::IMPLEMENTATIONS,
    ports::open::IMPLEMENTATIONS,
    ports::output::IMPLEMENTATIONS,
    ports::sides::IMPLEMENTATIONS,
    posix::IMPLEMENTATIONS,
    posix::RECORDED,
    processes::IMPLEMENTATIONS,
    profiles::IMPLEMENTATIONS,
    snapshots::IMPLEMENTATIONS,
    reader::IMPLEMENTATIONS,
    records::IMPLEMENTATIONS,
    regexp::IMPLEMENTATIONS,
    signals::IMPLEMENTATIONS,
    string_case::IMPLEMENTATIONS,
    string_comparison::IMPLEMENTATIONS,
    string_search::IMPLEMENTATIONS,
    strings::IMPLEMENTATIONS,
    symbols::IMPLEMENTATIONS,
    syntax_objects::IMPLEMENTATIONS,
    system::IMPLEMENTATIONS,
    sockets::IMPLEMENTATIONS,
    sqlite::IMPLEMENTATIONS,
    guests::IMPLEMENTATIONS,
    sorting::IMPLEMENTATIONS,
    tasks::IMPLEMENTATIONS,
    text::IMPLEMENTATIONS,
    vectors::IMPLEMENTATIONS,
    watches::IMPLEMENTATIONS,
    websocket::IMPLEMENTATIONS,
    whole_ports::IMPLEMENTATIONS,
];

/// One function for each primitive row, in the order of the rows: what a machine is made with.
pub fn primitive_table() -> Arc<[PrimitiveFunction]> {
    let by_name: HashMap<&str, PrimitiveFunction> = TOPICS
        .iter()
        .flat_map(|topic| topic.iter().copied())
        .collect();
    all()
        .iter()
        .map(|row| by_name.get(row.name).copied().unwrap_or(frame_operation))
        .collect()
}

/// Stands in the table for a row that the machine implements itself, and is never called.
fn frame_operation(thread: &mut Thread, _: Arguments) -> Result<Value, Raise> {
    let message = "an operation of the machine was called as a primitive";
    Err(thread.raise(ConditionKind::Error, message, &[], None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use canny_tables::primitives::{Flags, lookup};

    #[test]
    fn every_row_is_implemented_once() {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (name, _) in TOPICS.iter().flat_map(|topic| topic.iter()) {
            assert!(lookup(name).is_some(), "no row is called {name}");
            *counts.entry(name).or_default() += 1;
        }
        let wrong: Vec<_> = all()
            .iter()
            .map(|row| {
                let wanted = usize::from(!row.flags.has(Flags::FRAME));
                (row.name, wanted, counts.get(row.name).copied().unwrap_or(0))
            })
            .filter(|(_, wanted, found)| wanted != found)
            .collect();
        assert_eq!(wrong, [], "name, functions wanted, functions found");
    }
}
