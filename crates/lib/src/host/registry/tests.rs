//! Dead objects leave the tables of their kinds, and no others.

use std::sync::Arc;

use canny_value::Value;
use canny_vm::Thread;

use super::*;
use crate::host::{HostTable, find, keep, take};
use crate::testing::{call, machine};

/// Objects of a kind that nothing holds. The stack may look as if it held some.
const COUNT: usize = 200;
const HELD_BY_ACCIDENT_MAX: usize = 20;

#[inline(never)]
fn keep_many(thread: &mut Thread) {
    for _ in 0..COUNT {
        assert!(keep(thread, SyntaxErrors(Arc::default()), "errors").is_ok());
        let pattern = thread.string("a+");
        call(thread, "%regex-compile", [pattern]);
    }
}

fn count<K: Registered<Table = HostTable<K>>>(thread: &Thread) -> usize {
    table::<K>(thread).len()
}

#[test]
fn dead_objects_of_each_kind_leave_its_table() {
    let mut thread = machine();
    let held = match keep(&mut thread, SyntaxErrors(Arc::default()), "errors") {
        Ok(object) => thread.protect(object),
        Err(_) => panic!("there is room"),
    };
    keep_many(&mut thread);
    assert!(count::<SyntaxErrors>(&thread) >= COUNT);
    thread.collect_garbage(true);
    assert!(count::<Expression>(&thread) >= COUNT);
    sweep_dead(&mut thread);
    assert!(count::<SyntaxErrors>(&thread) <= HELD_BY_ACCIDENT_MAX);
    assert!(count::<Expression>(&thread) <= HELD_BY_ACCIDENT_MAX);
    let object = thread.protected(held);
    assert!(find::<SyntaxErrors>(&thread, object).is_some());
}

#[test]
fn an_object_is_of_one_kind() {
    let mut thread = machine();
    let Ok(object) = keep(&mut thread, SyntaxErrors(Arc::default()), "errors") else {
        panic!("there is room");
    };
    assert!(find::<Expression>(&thread, object).is_none());
    assert!(take::<Expression>(&thread, object).is_none());
    assert!(find::<SyntaxErrors>(&thread, Value::FALSE).is_none());
    assert!(take::<SyntaxErrors>(&thread, object).is_some());
    assert!(find::<SyntaxErrors>(&thread, object).is_none());
}

#[test]
fn ids_are_split_by_their_tags() {
    let mut thread = machine();
    let number = |bits: u64| bits & NUMBER_MASK;
    let tags = [HostPort::TAG, Socket::TAG, SyntaxErrors::TAG];
    let mut dead: Vec<u64> = tags.iter().flat_map(|tag| [tag | 7, tag | 5]).collect();
    dead.sort_unstable();
    let rest = sweep_kind::<HostPort>(&mut thread, &dead);
    assert_eq!(rest.len(), 4);
    assert_eq!(number(rest[0]), 5);
    let rest = sweep_kind::<Socket>(&mut thread, rest);
    assert_eq!(rest, [SyntaxErrors::TAG | 5, SyntaxErrors::TAG | 7]);
    assert!(sweep_kind::<SyntaxErrors>(&mut thread, rest).is_empty());
}
