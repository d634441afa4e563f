//! Hash tables with the four built-in equivalences, and hash functions.
//!
//! The hash functions that a program may call give the same number in every run, and for as long as
//! the object lives: what has no content to hash gets a number when it is first asked for, kept in a
//! table with weak keys.

use std::sync::atomic::{AtomicU64, Ordering};

use canny_tables::kinds::Kind;
use canny_tables::layout::FIXNUM_MAX;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::number_of;
use canny_vm::{PrimitiveFunction, Raise, Thread};

use super::string_comparison::Folded;
use crate::arguments::{Call, implementations};
use crate::hash_table::{
    Equivalence, Identity, KeyHasher, Table, Weakness, hash_of_name, hash_text, mix,
};
use crate::text::with_units;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%make-hash-table" => make_hash_table;
    "%hash-table?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::HashTable)));
    "%hash-table-equivalence" => |thread, call| {
        let equivalence = table(thread, call)?.equivalence();
        Ok(thread.symbol(equivalence.name()))
    };
    "%hash-table-weakness" => weakness;
    "%hash-table-ref" => hash_table_ref;
    "%hash-table-set!" => hash_table_set;
    "%hash-table-delete!" => delete;
    "%hash-table-contains?" => contains;
    "%hash-table-count" => |thread, call| Ok(Value::fixnum(table(thread, call)?.count() as i64));
    "%hash-table-clear!" => |thread, call| {
        table(thread, call)?.clear(thread)?;
        Ok(Value::UNSPECIFIED)
    };
    "%hash-table-pop!" => |thread, call| match table(thread, call)?.pop(thread) {
        Some((key, value)) => thread.try_cons(key, value),
        None => Ok(Value::FALSE),
    };
    "%hash-table-copy" => |thread, call| table(thread, call)?.copy(thread);
    "%hash-table-keys" => |thread, call| list(thread, call, |_, key, _| Ok(key));
    "%hash-table-values" => |thread, call| list(thread, call, |_, _, value| Ok(value));
    "%hash-table-entries" => entries;
    "%hash-table->alist" => |thread, call| list(thread, call, Thread::try_cons);
    "hash" => hash;
    "string-hash" => string_hash;
    "string-ci-hash" => string_ci_hash;
    "hash-by-identity" => |thread, call| hash_by(thread, call, KeyHasher::eq);
    "hash-by-eqv" => |thread, call| hash_by(thread, call, KeyHasher::eqv);
    "symbol-hash" => symbol_hash;
};

fn table(thread: &mut Thread, call: Call) -> Result<Table, Raise> {
    match Table::of(call.at(0)) {
        Some(table) => Ok(table),
        None => Err(call.type_error(thread, 0, "hash table")),
    }
}

/// A table and a key that it may hold.
#[inline]
fn table_and_key(thread: &mut Thread, call: Call) -> Result<(Table, Value), Raise> {
    let table = table(thread, call)?;
    let key = call.at(1);
    if table.equivalence() == Equivalence::String && !key.is_kind(Kind::String) {
        return Err(call.type_error(thread, 1, "string"));
    }
    Ok((table, key))
}

fn make_hash_table(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let Some(equivalence) = Equivalence::of_symbol(call.at(0)) else {
        return Err(call.type_error(thread, 0, "eq, eqv, equal or string"));
    };
    let weakness = match call.at(1) {
        Value::FALSE => Some(Weakness::None),
        name => Weakness::of_symbol(name),
    };
    let Some(weakness) = weakness else {
        return Err(call.type_error(thread, 1, "key, value, ephemeral or #f"));
    };
    let expected = call.index(thread, 2)?;
    Table::make(thread, equivalence, weakness, expected)
}

fn weakness(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match table(thread, call)?.weakness().name() {
        Some(name) => Ok(thread.symbol(name)),
        None => Ok(Value::FALSE),
    }
}

fn hash_table_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (table, key) = table_and_key(thread, call)?;
    Ok(table.get(thread, key).unwrap_or_else(|| call.at(2)))
}

fn hash_table_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (table, key) = table_and_key(thread, call)?;
    table.set(thread, key, call.at(2))?;
    Ok(Value::UNSPECIFIED)
}

fn delete(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (table, key) = table_and_key(thread, call)?;
    Ok(Value::boolean(table.delete(thread, key)))
}

fn contains(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (table, key) = table_and_key(thread, call)?;
    Ok(Value::boolean(table.get(thread, key).is_some()))
}

/// A list of what `element` gives for each association, in the order of insertion.
fn list(
    thread: &mut Thread,
    call: Call,
    element: fn(&mut Thread, Value, Value) -> Result<Value, Raise>,
) -> Result<Value, Raise> {
    let table = table(thread, call)?;
    let mut list = Value::NIL;
    if thread.has_others() {
        // The table may change whenever something is allocated.
        let entries = table.snapshot(thread)?;
        let entries = entries.as_object().expect("a vector");
        for entry in (0..entries.field(0).as_index().unwrap_or(0)).rev() {
            let (key, value) = (entries.field(1 + 2 * entry), entries.field(2 + 2 * entry));
            let element = element(thread, key, value)?;
            list = thread.try_cons(element, list)?;
        }
        return Ok(list);
    }
    for entry in (0..table.used()).rev() {
        if let Some((key, value)) = table.association(entry) {
            let element = element(thread, key, value)?;
            list = thread.try_cons(element, list)?;
        }
    }
    Ok(list)
}

fn entries(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    table(thread, call)?.snapshot(thread)
}

/// Mixed into the hashes that programs see.
const SEED: u64 = 0x0063_616e_6e79;

/// A hash as a program sees it: below the bound that argument 1 may give.
fn bounded(thread: &mut Thread, call: Call, hash: u64) -> Result<Value, Raise> {
    let Some(bound) = call.optional(1) else {
        return Ok(unbounded(hash));
    };
    let hash = hash >> 4;
    match bound.as_fixnum() {
        Some(bound) if bound > 0 => Ok(Value::fixnum((hash % bound as u64) as i64)),
        Some(_) => Err(call.range_error(thread, 1, "a bound is positive")),
        None if is_large_integer(bound) => Ok(Value::fixnum(hash as i64)),
        None => Err(call.type_error(thread, 1, "exact integer")),
    }
}

fn is_large_integer(value: Value) -> bool {
    value.is_kind(Kind::Bignum)
        && number_of(value).is_some_and(|number| canny_number::is_positive(&number) == Ok(true))
}

/// The key of the root that holds the table of identity numbers.
const IDENTITY_NUMBERS: &str = "identity-numbers";

/// The number of an object that has nothing but its identity.
fn identity_number(thread: &mut Thread, object: Value) -> Result<u64, Raise> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let known = thread.vm().root(IDENTITY_NUMBERS);
    let numbers = match known {
        Some(numbers) => numbers,
        None => {
            let numbers = Table::make(thread, Equivalence::Eq, Weakness::Key, 0)?;
            thread.vm().root_or_set(IDENTITY_NUMBERS, numbers)
        }
    };
    let Some(table) = Table::of(numbers) else {
        return Ok(0);
    };
    if let Some(number) = table.get(thread, object).and_then(Value::as_index) {
        return Ok(number as u64);
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // Another thread may have given it a number meanwhile.
    let number = table.intern(thread, object, Value::fixnum(number as i64))?;
    Ok(number.as_index().unwrap_or(0) as u64)
}

fn hash_by(
    thread: &mut Thread,
    call: Call,
    function: fn(&mut KeyHasher, Value) -> u64,
) -> Result<Value, Raise> {
    let object = call.at(0);
    let mut hasher = KeyHasher::new(SEED, Identity::Address);
    let mut hash = function(&mut hasher, object);
    if hasher.used_address {
        hash = mix(SEED, identity_number(thread, object)?);
    } else if let Some(symbol) = object.as_kind(Kind::Symbol) {
        hash = hash_of_name(SEED, symbol);
    }
    bounded(thread, call, hash)
}

fn hash(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match structure_hash(call.at(0)) {
        Some(hash) => bounded(thread, call, hash),
        None => hash_by(thread, call, KeyHasher::eqv),
    }
}

/// The hash of an object with parts that it is compared by.
fn structure_hash(object: Value) -> Option<u64> {
    let has_structure = object.is_pair()
        || object.as_object().is_some_and(|object| {
            let kinds = [
                Kind::Vector,
                Kind::String,
                Kind::Bytevector,
                Kind::NumericVector,
            ];
            kinds.contains(&object.kind())
        });
    has_structure.then(|| KeyHasher::new(SEED, Identity::Kind).equal(object))
}

/// `(hash object)`; none for an object that has nothing but its identity.
pub(crate) fn content_hash(object: Value) -> Option<Value> {
    let hash = match structure_hash(object) {
        Some(hash) => hash,
        None => {
            let mut hasher = KeyHasher::new(SEED, Identity::Address);
            let hash = hasher.eqv(object);
            match object.as_kind(Kind::Symbol) {
                Some(symbol) => hash_of_name(SEED, symbol),
                None if hasher.used_address => return None,
                None => hash,
            }
        }
    };
    Some(unbounded(hash))
}

/// A hash as a program gets it.
fn unbounded(hash: u64) -> Value {
    let hash = hash >> 4;
    debug_assert!(hash <= FIXNUM_MAX as u64);
    Value::fixnum(hash as i64)
}

/// `(string-hash string)`
pub(crate) fn lasting_hash(string: ObjectRef) -> Value {
    unbounded(with_units(string, |units| hash_text(SEED, units)))
}

fn string_hash(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let hash = with_units(call.string(thread, 0)?, |units| hash_text(SEED, units));
    bounded(thread, call, hash)
}

fn string_ci_hash(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let hash = with_units(call.string(thread, 0)?, |units| {
        Folded::of(units).fold(SEED, |state, character| mix(state, character.into()))
    });
    bounded(thread, call, hash)
}

fn symbol_hash(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let symbol = call.symbol(thread, 0)?;
    bounded(thread, call, hash_of_name(SEED, symbol))
}
