//! Tables against a model, under collections that move keys.

use std::collections::HashMap;

use canny_value::Value;
use canny_vm::Thread;
use proptest::prelude::*;

use super::{Equivalence, Table, Weakness};
use crate::testing::{call, failure, machine, stressed_machine, written};

fn make(thread: &mut Thread, equivalence: &str, weakness: Value) -> Value {
    let equivalence = thread.symbol(equivalence);
    call(
        thread,
        "%make-hash-table",
        [equivalence, weakness, Value::fixnum(0)],
    )
}

fn get(thread: &mut Thread, table: Value, key: Value) -> Value {
    call(thread, "%hash-table-ref", [table, key, Value::FALSE])
}

fn set(thread: &mut Thread, table: Value, key: Value, value: Value) {
    call(thread, "%hash-table-set!", [table, key, value]);
}

#[derive(Clone, Debug)]
enum Step {
    Set(u8, i16),
    Delete(u8),
    Get(u8),
    Pop(u8),
    Clear,
    Collect(bool),
    Garbage(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (0..60u8, any::<i16>()).prop_map(|(key, value)| Step::Set(key, value)),
        5 => (0..60u8).prop_map(Step::Delete),
        8 => (0..60u8).prop_map(Step::Get),
        2 => (1..8u8).prop_map(Step::Pop),
        1 => Just(Step::Clear),
        2 => any::<bool>().prop_map(Step::Collect),
        2 => any::<u8>().prop_map(Step::Garbage),
    ]
}

/// A key for a table with the equivalence, by number; from `keys` if its identity matters.
fn key(thread: &mut Thread, equivalence: Equivalence, keys: Value, number: u8) -> Value {
    match equivalence {
        // Pairs, the same each time.
        Equivalence::Eq => keys.as_object().expect("a vector").field(number.into()),
        Equivalence::Eqv if number.is_multiple_of(2) => {
            thread.flonum(1e300 * f64::from(number + 1))
        }
        Equivalence::Eqv => keys.as_object().expect("a vector").field(number.into()),
        // Fresh structures that are equal, with a pair of identity in some.
        Equivalence::Equal => {
            let text = thread.string(&number.to_string());
            let list = thread.cons(text, Value::NIL);
            let vector = thread.make_vector(3, list).expect("room");
            thread.cons(Value::fixnum(number.into()), vector)
        }
        Equivalence::String => thread.string(&format!("key {number}")),
    }
}

fn run_model(equivalence: Equivalence, steps: &[Step]) {
    let mut thread = machine();
    let thread = &mut *thread;
    let keys = thread.make_vector(60, Value::NIL).expect("room");
    for index in 0..60 {
        let pair = thread.cons(Value::fixnum(index as i64), Value::NIL);
        thread.store(keys, index, pair);
    }
    // Some keys are old from the beginning, the rest of the heap is young.
    let table = make(thread, equivalence.name(), Value::FALSE);
    let kept = thread.protect(table);
    let kept_keys = thread.protect(keys);
    let mut model: HashMap<u8, i16> = HashMap::new();
    let mut order: Vec<u8> = Vec::new();
    for step in steps {
        let (table, keys) = (thread.protected(kept), thread.protected(kept_keys));
        match *step {
            Step::Set(number, value) => {
                let key = key(thread, equivalence, keys, number);
                set(thread, table, key, Value::fixnum(value.into()));
                if model.insert(number, value).is_none() {
                    order.push(number);
                }
            }
            Step::Delete(number) => {
                let key = key(thread, equivalence, keys, number);
                let deleted = call(thread, "%hash-table-delete!", [table, key]);
                assert_eq!(deleted.is_true(), model.remove(&number).is_some());
                order.retain(|other| *other != number);
            }
            Step::Get(number) => {
                let key = key(thread, equivalence, keys, number);
                let found = get(thread, table, key).as_fixnum();
                assert_eq!(
                    found,
                    model.get(&number).map(|value| i64::from(*value)),
                    "{number}"
                );
            }
            Step::Pop(times) => {
                for _ in 0..times {
                    let popped = call(thread, "%hash-table-pop!", [thread.protected(kept)]);
                    let wanted = order.pop().and_then(|number| model.remove(&number));
                    let value = popped.cdr().and_then(Value::as_fixnum);
                    assert_eq!(value, wanted.map(i64::from));
                }
            }
            Step::Clear => {
                call(thread, "%hash-table-clear!", [table]);
                model.clear();
                order.clear();
            }
            Step::Collect(full) => thread.collect_garbage(full),
            Step::Garbage(count) => {
                // Other pairs in the place of the keys' addresses.
                for _ in 0..count {
                    thread.cons(Value::NIL, Value::NIL);
                }
                // A key that moves at the next collection.
                if model.is_empty() {
                    let index = usize::from(count) % 60;
                    let pair = thread.cons(Value::fixnum(index as i64), Value::NIL);
                    thread.store(keys, index, pair);
                }
            }
        }
        let count = call(thread, "%hash-table-count", [thread.protected(kept)]);
        assert_eq!(count.as_index(), Some(model.len()));
    }
    let values = call(thread, "%hash-table-values", [thread.protected(kept)]);
    let expected: Vec<String> = order
        .iter()
        .map(|number| model[number].to_string())
        .collect();
    assert_eq!(written(thread, values), format!("({})", expected.join(" ")));
    let copy = call(thread, "%hash-table-copy", [thread.protected(kept)]);
    let values = call(thread, "%hash-table-values", [copy]);
    assert_eq!(written(thread, values), format!("({})", expected.join(" ")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tables_agree_with_a_model(
        equivalence in prop::sample::select(Equivalence::ALL.to_vec()),
        steps in prop::collection::vec(step(), 0..300),
    ) {
        run_model(equivalence, &steps);
    }
}

#[test]
fn keys_are_found_while_collections_move_them() {
    let mut thread = stressed_machine();
    let thread = &mut *thread;
    const COUNT: usize = 400;
    let table = make(thread, "eq", Value::FALSE);
    let table = thread.protect(table);
    let keys = thread.make_vector(COUNT, Value::NIL).expect("room");
    let keys = thread.protect(keys);
    for index in 0..COUNT {
        let key = thread.cons(Value::fixnum(index as i64), Value::NIL);
        thread.store(thread.protected(keys), index, key);
        set(
            thread,
            thread.protected(table),
            key,
            Value::fixnum(index as i64),
        );
        let probe = index / 2;
        let key = thread
            .protected(keys)
            .as_object()
            .expect("a vector")
            .field(probe);
        let found = get(thread, thread.protected(table), key);
        assert_eq!(found.as_index(), Some(probe));
    }
    for index in 0..COUNT {
        let key = thread
            .protected(keys)
            .as_object()
            .expect("a vector")
            .field(index);
        let found = get(thread, thread.protected(table), key);
        assert_eq!(found.as_index(), Some(index));
    }
}

/// Puts pairs in a weak table, of which only every other is held; in a function of its own, whose
/// frame is gone when the collection comes.
#[inline(never)]
fn fill_weakly(thread: &mut Thread, table: Value, held: Value, count: usize, by_value: bool) {
    for index in 0..count {
        let object = thread.cons(Value::fixnum(index as i64), Value::NIL);
        let number = Value::fixnum(index as i64);
        if by_value {
            set(thread, table, number, object);
        } else {
            set(thread, table, object, number);
        }
        if index.is_multiple_of(2) {
            thread.store(held, index, object);
        }
    }
}

fn check_weak(weakness: &str, by_value: bool) {
    const COUNT: usize = 200;
    let mut thread = machine();
    let thread = &mut *thread;
    let weakness = thread.symbol(weakness);
    let table = make(thread, "eqv", weakness);
    let table = thread.protect(table);
    let held = thread.make_vector(COUNT, Value::NIL).expect("room");
    let held = thread.protect(held);
    fill_weakly(
        thread,
        thread.protected(table),
        thread.protected(held),
        COUNT,
        by_value,
    );
    thread.collect_garbage(true);
    let count = call(thread, "%hash-table-count", [thread.protected(table)]);
    let count = count.as_index().expect("a count");
    // The native stack may keep a few of the others alive.
    assert!(
        (COUNT / 2..COUNT / 2 + 10).contains(&count),
        "{count} entries left"
    );
    for index in (0..COUNT).step_by(2) {
        let object = thread
            .protected(held)
            .as_object()
            .expect("a vector")
            .field(index);
        let number = Value::fixnum(index as i64);
        let (key, value) = if by_value {
            (number, object)
        } else {
            (object, number)
        };
        assert_eq!(get(thread, thread.protected(table), key), value);
    }
    // The room of dead entries is used again.
    for index in 0..COUNT {
        set(
            thread,
            thread.protected(table),
            Value::fixnum(-1 - index as i64),
            Value::TRUE,
        );
    }
    let keys = call(thread, "%hash-table-keys", [thread.protected(table)]);
    let length = call(thread, "length", [keys]).as_index();
    let expected = COUNT + count;
    assert!(length.is_some_and(|length| length <= expected && length >= COUNT + COUNT / 2));
}

#[test]
fn weak_tables_forget_what_died() {
    check_weak("key", false);
    check_weak("ephemeral", false);
    check_weak("value", true);
}

#[test]
fn numbers_and_strings_are_hashed_by_content() {
    let mut thread = machine();
    let thread = &mut *thread;
    let table = make(thread, "eqv", Value::FALSE);
    let nan = thread.flonum(f64::NAN);
    set(thread, table, nan, Value::fixnum(1));
    let other_nan = thread.flonum(-f64::NAN);
    assert_eq!(get(thread, table, other_nan), Value::fixnum(1));
    let zero = thread.flonum(0.0);
    set(thread, table, zero, Value::fixnum(2));
    let negative_zero = thread.flonum(-0.0);
    assert_eq!(get(thread, table, negative_zero), Value::FALSE);
    let big = thread
        .number(&canny_number::Number::from(u64::MAX))
        .expect("room");
    set(thread, table, big, Value::fixnum(3));
    let big = thread
        .number(&canny_number::Number::from(u64::MAX))
        .expect("room");
    assert_eq!(get(thread, table, big), Value::fixnum(3));

    let table = make(thread, "equal", Value::FALSE);
    let wide = thread.make_string(9, 'λ').expect("room");
    for index in 0..9 {
        thread.set_string_character(wide, index, 'ä').expect("room");
    }
    set(thread, table, wide, Value::fixnum(4));
    let narrow = thread.string("äääääääää");
    assert_eq!(get(thread, table, narrow), Value::fixnum(4));
}

#[test]
fn hashes_last_and_agree() {
    let mut thread = machine();
    let thread = &mut *thread;
    let pair = thread.cons(Value::NIL, Value::NIL);
    let pair = thread.protect(pair);
    let first = call(thread, "hash-by-identity", [thread.protected(pair)]);
    thread.collect_garbage(true);
    let second = call(thread, "hash-by-identity", [thread.protected(pair)]);
    assert_eq!(first, second);
    let name = thread.string("name");
    let symbol = thread.symbol("name");
    let of_string = call(thread, "string-hash", [name]);
    let of_symbol = call(thread, "symbol-hash", [symbol]);
    assert_eq!(of_string, of_symbol);
    let left = thread.string("STRASSE");
    let right = thread.string("straße");
    let left = call(thread, "string-ci-hash", [left, Value::fixnum(1000)]);
    let right = call(thread, "string-ci-hash", [right, Value::fixnum(1000)]);
    assert_eq!(left, right);
    assert!(left.as_index().is_some_and(|hash| hash < 1000));
}

#[test]
fn wrong_arguments_are_named() {
    let mut thread = machine();
    let thread = &mut *thread;
    let strings = make(thread, "string", Value::FALSE);
    let key = Value::fixnum(1);
    assert_eq!(
        failure(thread, "%hash-table-set!", [strings, key, key]),
        "type hash-table-set!: argument 2 is not a string"
    );
    assert_eq!(
        failure(thread, "%hash-table-ref", [key, key, key]),
        "type hash-table-ref: argument 1 is not a hash table"
    );
}

#[test]
fn entries_are_made_with_room() {
    let mut thread = machine();
    let table = Table::make(&mut thread, Equivalence::Eq, Weakness::None, 1000).expect("room");
    let table = Table::of(table).expect("a table");
    for index in 0..1000 {
        table
            .set(&mut thread, Value::fixnum(index), Value::TRUE)
            .expect("room");
    }
    assert_eq!(table.count(), 1000);
    assert_eq!(table.used(), 1000);
}

/// The slots of an index that are in use.
fn filled(table: Value) -> usize {
    Table::of(table)
        .expect("a table")
        .number(super::field::FILLED)
}

#[test]
fn a_table_whose_keys_come_and_go_keeps_few_slots() {
    let mut thread = machine();
    let thread = &mut *thread;
    let table = make(thread, "eqv", Value::FALSE);
    const WINDOW: i64 = 100;
    for number in 0..20 * WINDOW {
        set(thread, table, Value::fixnum(number), Value::fixnum(-number));
        let old = Value::fixnum(number - WINDOW);
        let deleted = call(thread, "%hash-table-delete!", [table, old]);
        assert_eq!(deleted.is_true(), number >= WINDOW);
        assert!(filled(table) as i64 <= WINDOW + 1, "{number}");
    }
    let values = call(thread, "%hash-table-values", [table]);
    let expected: Vec<String> = (19 * WINDOW..20 * WINDOW)
        .map(|number| (-number).to_string())
        .collect();
    assert_eq!(written(thread, values), format!("({})", expected.join(" ")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Numbers that agree in their low bits have the same first places, so that searches jump and
    /// deleted slots are passed.
    #[test]
    fn crowded_places_agree_with_a_model(steps in prop::collection::vec((0..40i64, 0..3u8), 0..1500)) {
        let mut thread = machine();
        let thread = &mut *thread;
        let table = make(thread, "equal", Value::FALSE);
        let mut model: HashMap<i64, usize> = HashMap::new();
        for (step, (number, what)) in steps.into_iter().enumerate() {
            let key = Value::fixnum(number % 3 + ((number / 3) << 20));
            match what {
                0 => {
                    let deleted = call(thread, "%hash-table-delete!", [table, key]);
                    assert_eq!(deleted.is_true(), model.remove(&number).is_some());
                }
                1 => {
                    set(thread, table, key, Value::fixnum(step as i64));
                    model.insert(number, step);
                }
                _ => {
                    let found = get(thread, table, key).as_index();
                    assert_eq!(found, model.get(&number).copied());
                }
            }
        }
        for number in 0..40 {
            let key = Value::fixnum(number % 3 + ((number / 3) << 20));
            let found = get(thread, table, key).as_index();
            assert_eq!(found, model.get(&number).copied());
        }
    }
}

#[test]
fn keys_that_change_lose_no_room() {
    let mut thread = machine();
    let thread = &mut *thread;
    let table = make(thread, "equal", Value::FALSE);
    set(thread, table, Value::fixnum(-1), Value::TRUE);
    for number in 0..1000 {
        let key = thread.string(&format!("key {number}"));
        set(thread, table, key, Value::fixnum(number));
        thread.set_string_character(key, 0, 'K').expect("room");
        let popped = call(thread, "%hash-table-pop!", [table]);
        assert_eq!(popped.cdr(), Some(Value::fixnum(number)));
        assert!(filled(table) < 100, "{number}");
    }
    assert_eq!(get(thread, table, Value::fixnum(-1)), Value::TRUE);
    let count = call(thread, "%hash-table-count", [table]);
    assert_eq!(count, Value::fixnum(1));
}

#[test]
fn what_was_looked_up_last_is_only_a_guess() {
    let mut thread = machine();
    let thread = &mut *thread;
    let table = make(thread, "equal", Value::FALSE);
    let (one, other) = (thread.string("one"), thread.string("other"));
    set(thread, table, one, Value::fixnum(1));
    set(thread, table, other, Value::fixnum(2));
    let fresh = thread.string("one");
    assert_eq!(get(thread, table, fresh), Value::fixnum(1));
    // The entry that it was found at is gone, and another one is in its place.
    call(thread, "%hash-table-clear!", [table]);
    set(thread, table, other, Value::fixnum(3));
    set(thread, table, fresh, Value::fixnum(4));
    assert_eq!(get(thread, table, other), Value::fixnum(3));
    assert_eq!(get(thread, table, one), Value::fixnum(4));
    // A key that has become another one since.
    let changing = thread.string("one");
    assert_eq!(get(thread, table, changing), Value::fixnum(4));
    thread.set_string_character(changing, 0, 'X').expect("room");
    set(thread, table, changing, Value::fixnum(5));
    assert_eq!(get(thread, table, one), Value::fixnum(4));
}
