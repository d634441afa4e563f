//! Leaf functions of primitives, in the terms of `canny_tables::leaves`: what compiled code calls with
//! its values in registers. Each does the usual case of its primitive and declines the rest.

#[macro_use]
mod expression;
mod arithmetic;
mod changes;
mod guests;
#[cfg(test)]
mod number_tests;
mod numbers;
mod objects;
mod ports;
mod sequences;
mod strings;
mod tasks;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashMap;
use std::sync::OnceLock;

use canny_tables::kinds::Kind;
use canny_tables::leaves::ROWS;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::{limbs_of, number_of};
use canny_vm::strings::{string_data, string_length};
use canny_vm::{InPlace, LeafFunction, numeric};

use crate::character_facts::Facts;
use crate::decimal::{DIGITS_MAX, digits};
use crate::equality::{is_equal, is_equal_alone, is_eqv, is_eqv_alone};
use crate::hash_table::{Equivalence, Table};
use crate::list::{QUICK_PAIRS_MAX, find_association, find_member, length_quickly};
use crate::primitives::hash_tables::{content_hash, lasting_hash};
use crate::primitives::numbers::predicates::{is_exact_integer, is_integer};
use crate::primitives::numeric_vectors::of_type::*;
use crate::primitives::numeric_vectors::{
    OfType, quick_ref, quick_ref_of, quick_set, quick_set_of,
};
use crate::primitives::ports::input::line_in_place;
use crate::text::{Units, compare_text, same_text, with_both, with_units};

type Word = Value;

/// Name and number of arguments of a row, and its function.
type Row = (&'static str, usize, LeafFunction);

/// The functions of all rows. A test checks that they agree with the rows.
const GROUPS: &[&[Row]] = &[
    FUNCTIONS,
    numbers::FUNCTIONS,
    text::FUNCTIONS,
    strings::FUNCTIONS,
    &strings::COPIES,
    &strings::LISTS,
    &strings::VECTORS,
    &strings::OF_VECTORS,
    &strings::ENCODED,
    &strings::DECODED,
    changes::FUNCTIONS,
    &changes::STRING_COPIES,
    &changes::STRING_FILLS,
    &changes::BYTEVECTOR_COPIES,
    &changes::BYTEVECTOR_FILLS,
    &changes::VECTOR_COPIES,
    &changes::VECTOR_FILLS,
    sequences::FUNCTIONS,
    objects::FUNCTIONS,
    ports::FUNCTIONS,
    guests::FUNCTIONS,
];

const FUNCTIONS: &[Row] = &[
    ("%count-call!", 3, count_call),
    ("%hash-table-ref", 3, hash_table_ref),
    ("%hash-table-set!", 3, hash_table_set),
    ("%hash-table-delete!", 2, hash_table_delete),
    ("%hash-table-contains?", 2, hash_table_contains),
    ("%hash-table-count", 1, hash_table_count),
    ("%make-hash-table", 3, make_hash_table),
    ("string-hash", 1, string_hash),
    ("hash", 1, hash),
    ("%parameter-ref", 2, parameter_ref),
    ("%parameter-entry", 1, parameter_entry),
    ("%set-car-if-eq!", 3, set_car_if),
    ("memq", 2, memq),
    ("memv", 2, memv),
    ("%member", 2, member),
    ("assq", 2, assq),
    ("assv", 2, assv),
    ("%assoc", 2, assoc),
    ("length", 1, length),
    ("list?", 1, is_list),
    ("list-tail", 2, list_tail),
    ("list-ref", 2, list_ref),
    ("last-pair", 1, last_pair),
    ("reverse", 1, reverse),
    ("append", 2, append),
    ("list-copy", 1, list_copy),
    ("make-vector", 1, make_vector),
    ("make-vector", 2, make_filled_vector),
    ("eqv?", 2, eqv),
    ("equal?", 2, equal),
    ("+", 2, arithmetic::add),
    ("-", 2, arithmetic::subtract),
    ("*", 2, arithmetic::multiply),
    ("/", 2, arithmetic::divide),
    ("quotient", 2, arithmetic::quotient),
    ("remainder", 2, arithmetic::remainder),
    ("modulo", 2, arithmetic::modulo),
    ("floor-quotient", 2, arithmetic::floor_quotient),
    ("bitwise-and", 2, arithmetic::bitwise_and),
    ("bitwise-ior", 2, arithmetic::bitwise_or),
    ("bitwise-xor", 2, arithmetic::bitwise_xor),
    ("arithmetic-shift", 2, arithmetic::arithmetic_shift),
    ("<", 2, arithmetic::less),
    ("<=", 2, arithmetic::less_equal),
    ("=", 2, arithmetic::equal),
    (">", 2, arithmetic::greater),
    (">=", 2, arithmetic::greater_equal),
    ("number?", 1, is_number),
    ("integer?", 1, integer),
    ("exact-integer?", 1, exact_integer),
    ("symbol->string", 1, symbol_to_string),
    ("string->symbol", 1, string_to_symbol),
    ("string=?", 2, string_equal),
    ("string<?", 2, string_less),
    ("string>?", 2, string_greater),
    ("string-set!", 3, string_set),
    ("number->string", 1, number_to_string),
    ("read-line", 1, read_line),
    ("char-alphabetic?", 1, char_alphabetic),
    ("char-numeric?", 1, char_numeric),
    ("char-whitespace?", 1, char_whitespace),
    ("char-upper-case?", 1, char_upper_case),
    ("char-lower-case?", 1, char_lower_case),
    ("char-upcase", 1, char_upcase),
    ("char-downcase", 1, char_downcase),
    ("%numeric-vector-ref", 2, any_element_ref),
    ("%numeric-vector-set!", 3, any_element_set),
    ("s8vector-ref", 2, element_ref::<S8>),
    ("s8vector-set!", 3, element_set::<S8>),
    ("u16vector-ref", 2, element_ref::<U16>),
    ("u16vector-set!", 3, element_set::<U16>),
    ("s16vector-ref", 2, element_ref::<S16>),
    ("s16vector-set!", 3, element_set::<S16>),
    ("u32vector-ref", 2, element_ref::<U32>),
    ("u32vector-set!", 3, element_set::<U32>),
    ("s32vector-ref", 2, element_ref::<S32>),
    ("s32vector-set!", 3, element_set::<S32>),
    ("u64vector-ref", 2, element_ref::<U64>),
    ("u64vector-set!", 3, element_set::<U64>),
    ("s64vector-ref", 2, element_ref::<S64>),
    ("s64vector-set!", 3, element_set::<S64>),
    ("f32vector-ref", 2, element_ref::<F32>),
    ("f32vector-set!", 3, element_set::<F32>),
    ("f64vector-ref", 2, element_ref::<F64>),
    ("f64vector-set!", 3, element_set::<F64>),
    ("c64vector-set!", 3, element_set::<C64>),
    ("c128vector-set!", 3, element_set::<C128>),
    ("open-output-string", 0, ports::open_output_string),
    ("get-output-string", 1, ports::get_output_string),
    ("write-char", 2, ports::write_char),
    ("newline", 1, ports::newline),
    ("write-string", 2, ports::write_string),
    ("display", 2, ports::display),
    ("write", 2, ports::write),
    ("values", 0, no_values),
    ("values", 2, two_values),
    ("values", 3, three_values),
    ("current-jiffy", 0, tasks::current_jiffy),
    ("%recent-jiffy", 0, tasks::recent_jiffy),
    ("%current-task", 0, tasks::current_task),
    ("%set-current-task!", 1, tasks::set_current_task),
    ("%enter-critical!", 0, tasks::enter_critical),
    ("%leave-critical!", 0, tasks::leave_critical),
    ("%lock!", 1, tasks::lock),
    ("%unlock!", 1, tasks::unlock),
    ("%claim!", 1, tasks::claim),
    ("%make-ready!", 2, tasks::make_ready),
];

/// One function for each leaf row, in the order of the rows: what a machine is made with.
pub fn leaf_table() -> &'static [LeafFunction] {
    static TABLE: OnceLock<Vec<LeafFunction>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let known: HashMap<(&str, usize), LeafFunction> = GROUPS
            .iter()
            .copied()
            .flatten()
            .map(|(name, arguments, function)| ((*name, *arguments), *function))
            .collect();
        ROWS.iter()
            .map(|row| {
                let function = known.get(&(row.primitive, row.arguments));
                function.copied().unwrap_or(decline)
            })
            .collect()
    })
}

extern "C" fn decline(_: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    Value::DECLINED
}

/// The answer, or that there is none.
fn or_decline(answer: Option<Value>) -> Value {
    answer.unwrap_or(Value::DECLINED)
}

fn truth(answer: Option<bool>) -> Value {
    or_decline(answer.map(Value::boolean))
}

// Hash tables.

/// A table and a key that it may hold.
#[inline(always)]
fn table_and_key(table: Value, key: Value) -> Option<Table> {
    let table = Table::of(table)?;
    let fits = table.equivalence() != Equivalence::String || key.is_kind(Kind::String);
    fits.then_some(table)
}

extern "C" fn make_hash_table(
    thread: &mut InPlace,
    equivalence: Word,
    weakness: Word,
    expected: Word,
) -> Word {
    or_decline(
        Equivalence::of_symbol(equivalence)
            .filter(|_| weakness == Value::FALSE)
            .and_then(|equivalence| {
                Table::make_in_place(thread, equivalence, expected.as_index()?)
            }),
    )
}

extern "C" fn hash_table_ref(thread: &mut InPlace, table: Word, key: Word, default: Word) -> Word {
    let table = table_and_key(table, key);
    or_decline(table.map(|table| table.get_in_place(thread, key).unwrap_or(default)))
}

extern "C" fn hash_table_contains(thread: &mut InPlace, table: Word, key: Word, _: Word) -> Word {
    let table = table_and_key(table, key);
    truth(table.map(|table| table.get_in_place(thread, key).is_some()))
}

extern "C" fn hash_table_set(thread: &mut InPlace, table: Word, key: Word, value: Word) -> Word {
    let table = table_and_key(table, key);
    stored(table.is_some_and(|table| table.set_in_place(thread, key, value)))
}

extern "C" fn hash_table_delete(thread: &mut InPlace, table: Word, key: Word, _: Word) -> Word {
    truth(table_and_key(table, key).map(|table| table.delete_in_place(thread, key)))
}

extern "C" fn hash_table_count(_: &mut InPlace, table: Word, _: Word, _: Word) -> Word {
    or_decline(Table::of(table).map(|table| Value::fixnum(table.count() as i64)))
}

extern "C" fn hash(_: &mut InPlace, object: Word, _: Word, _: Word) -> Word {
    or_decline(content_hash(object))
}

extern "C" fn string_hash(_: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    or_decline(string.as_kind(Kind::String).map(lasting_hash))
}

// Parameters.

extern "C" fn parameter_ref(thread: &mut InPlace, key: Word, default: Word, _: Word) -> Word {
    thread
        .parameter_entry(key)
        .and_then(Value::cdr)
        .unwrap_or(default)
}

extern "C" fn parameter_entry(thread: &mut InPlace, key: Word, _: Word, _: Word) -> Word {
    thread.parameter_entry(key).unwrap_or(Value::FALSE)
}

extern "C" fn set_car_if(thread: &mut InPlace, pair: Word, expected: Word, value: Word) -> Word {
    or_decline(thread.set_car_if(pair, expected, value).map(Value::boolean))
}

// Counters.

extern "C" fn count_call(thread: &mut InPlace, callee: Word, site: Word, passed: Word) -> Word {
    if let (Some(site), Some(passed)) = (site.as_index(), passed.as_index()) {
        thread.count_call(callee, site as u32, passed);
    }
    Value::UNSPECIFIED
}

// Lists.

extern "C" fn memq(_: &mut InPlace, wanted: Word, list: Word, _: Word) -> Word {
    or_decline(find_member(wanted, list, true, |x, y| x == y))
}

extern "C" fn memv(_: &mut InPlace, wanted: Word, list: Word, _: Word) -> Word {
    or_decline(find_member(wanted, list, is_eqv_alone(wanted), is_eqv))
}

extern "C" fn member(_: &mut InPlace, wanted: Word, list: Word, _: Word) -> Word {
    or_decline(find_member(wanted, list, is_equal_alone(wanted), is_equal))
}

extern "C" fn assq(_: &mut InPlace, wanted: Word, list: Word, _: Word) -> Word {
    or_decline(find_association(wanted, list, true, |x, y| x == y))
}

extern "C" fn assv(_: &mut InPlace, wanted: Word, list: Word, _: Word) -> Word {
    or_decline(find_association(wanted, list, is_eqv_alone(wanted), is_eqv))
}

extern "C" fn assoc(_: &mut InPlace, wanted: Word, list: Word, _: Word) -> Word {
    or_decline(find_association(
        wanted,
        list,
        is_equal_alone(wanted),
        is_equal,
    ))
}

extern "C" fn length(_: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    or_decline(length_quickly(list).map(|length| Value::fixnum(length as i64)))
}

extern "C" fn is_list(_: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    match length_quickly(list) {
        Some(_) => Value::TRUE,
        None if !list.is_pair() => Value::FALSE,
        None => Value::DECLINED,
    }
}

/// The list behind so many pairs.
fn tail(list: Value, count: Value) -> Option<Value> {
    const REASONABLE: usize = 1 << 20;
    let count = count.as_index().filter(|count| *count <= REASONABLE)?;
    (0..count).try_fold(list, |rest, _| rest.cdr())
}

extern "C" fn list_tail(_: &mut InPlace, list: Word, count: Word, _: Word) -> Word {
    or_decline(tail(list, count))
}

extern "C" fn list_ref(_: &mut InPlace, list: Word, index: Word, _: Word) -> Word {
    or_decline(tail(list, index).and_then(Value::car))
}

extern "C" fn last_pair(_: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    let mut last = list;
    for _ in 0..QUICK_PAIRS_MAX {
        let Some(pair) = last.as_pair() else { break };
        let rest = pair.cdr();
        if rest.is_nil() {
            return last;
        }
        last = rest;
    }
    Value::DECLINED
}

extern "C" fn reverse(thread: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    or_decline(thread.reverse_onto(list, Value::NIL))
}

extern "C" fn append(thread: &mut InPlace, list: Word, tail: Word, _: Word) -> Word {
    or_decline(thread.copy_onto(list, tail))
}

extern "C" fn list_copy(thread: &mut InPlace, list: Word, _: Word, _: Word) -> Word {
    or_decline(thread.copy_onto(list, Value::NIL))
}

// Vectors.

extern "C" fn make_vector(thread: &mut InPlace, length: Word, _: Word, _: Word) -> Word {
    make_filled_vector(thread, length, Value::UNSPECIFIED, Value::ZERO)
}

extern "C" fn make_filled_vector(thread: &mut InPlace, length: Word, fill: Word, _: Word) -> Word {
    if fill == Value::DEFAULT || fill == Value::ABSENT {
        return Value::DECLINED;
    }
    let length = length.as_index();
    or_decline(length.and_then(|length| thread.vector(length, fill)))
}

// Equivalence and numbers.

extern "C" fn eqv(_: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    Value::boolean(is_eqv(x, y))
}

extern "C" fn equal(_: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    Value::boolean(is_equal(x, y))
}

extern "C" fn is_number(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    Value::boolean(numeric(x).is_some())
}

extern "C" fn integer(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    Value::boolean(is_integer(x))
}

extern "C" fn exact_integer(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    Value::boolean(is_exact_integer(x))
}

// Symbols and strings.

extern "C" fn symbol_to_string(_: &mut InPlace, symbol: Word, _: Word, _: Word) -> Word {
    use crate::primitives::symbols::field::NAME;
    or_decline(
        symbol
            .as_kind(Kind::Symbol)
            .map(|symbol| symbol.field(NAME)),
    )
}

extern "C" fn string_to_symbol(thread: &mut InPlace, string: Word, _: Word, _: Word) -> Word {
    let Some(string) = string.as_kind(Kind::String) else {
        return Value::DECLINED;
    };
    let has_others = thread.has_others();
    or_decline(with_units(string, |units| match units {
        Units::Narrow(bytes) if !has_others && bytes.is_ascii() => {
            thread.find_symbol(std::str::from_utf8(bytes).ok()?)
        }
        _ => find_symbol_of_any(thread, units),
    }))
}

/// The same for a name that is not ASCII, or that another thread could change.
#[inline(never)]
fn find_symbol_of_any(thread: &mut InPlace, units: Units<'_>) -> Option<Value> {
    const CHARACTERS_MAX: usize = 64;
    let mut room = [0; 4 * CHARACTERS_MAX];
    if units.length() > CHARACTERS_MAX {
        return thread.find_symbol(&units.to_text());
    }
    let mut used = 0;
    for character in units.characters() {
        used += character.encode_utf8(&mut room[used..]).len();
    }
    thread.find_symbol(std::str::from_utf8(&room[..used]).ok()?)
}

/// Runs `work` on two strings.
fn strings<R>(x: Value, y: Value, work: impl FnOnce(ObjectRef, ObjectRef) -> R) -> Option<R> {
    Some(work(x.as_kind(Kind::String)?, y.as_kind(Kind::String)?))
}

extern "C" fn string_equal(_: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    truth(strings(x, y, |x, y| {
        x == y || string_length(x) == string_length(y) && with_both(x, y, same_text)
    }))
}

extern "C" fn string_less(_: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    truth(strings(x, y, |x, y| with_both(x, y, compare_text).is_lt()))
}

extern "C" fn string_greater(_: &mut InPlace, x: Word, y: Word, _: Word) -> Word {
    truth(strings(x, y, |x, y| with_both(x, y, compare_text).is_gt()))
}

/// ASCII into narrow data: neither the width nor the data's promise changes.
extern "C" fn string_set(thread: &mut InPlace, text: Word, index: Word, character: Word) -> Word {
    let (Some(string), Some(index)) = (text.as_kind(Kind::String), index.as_index()) else {
        return Value::DECLINED;
    };
    let Some(character) = character.as_character() else {
        return Value::DECLINED;
    };
    if string.is_immutable() || index >= string_length(string) {
        return Value::DECLINED;
    }
    stored(thread.set_string_character(string, index, character))
}

/// Runs `work` on the bytes of a string that is known to be nothing but ASCII.
fn with_ascii<R>(string: Value, work: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
    let string = string.as_kind(Kind::String)?;
    let is_known = string_data(string).is_ascii();
    with_units(string, |units| match units {
        Units::Narrow(bytes) if is_known || bytes.is_ascii() => work(bytes),
        _ => None,
    })
}

extern "C" fn read_line(thread: &mut InPlace, port: Word, _: Word, _: Word) -> Word {
    or_decline(line_in_place(thread, port))
}

extern "C" fn number_to_string(thread: &mut InPlace, number: Word, _: Word, _: Word) -> Word {
    let mut text = [0; DIGITS_MAX];
    if let Some(flonum) = number.as_flonum() {
        let text = canny_number::flonum_to_string(flonum);
        return or_decline(thread.ascii_string_of(text.as_bytes()));
    }
    match number.as_fixnum() {
        Some(number) => or_decline(thread.ascii_string_of(digits(number, &mut text))),
        None => number_text(thread, number, 10),
    }
}

/// The text of a number that is not long.
fn number_text(thread: &mut InPlace, number: Value, radix: u32) -> Value {
    const LIMBS_MAX: usize = 64;
    if limbs_of(number) > LIMBS_MAX {
        return Value::DECLINED;
    }
    let text = number_of(number).map(|number| canny_number::write_number(&number, radix));
    or_decline(text.and_then(|text| thread.ascii_string_of(text.as_bytes())))
}

// Characters.

extern "C" fn char_alphabetic(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    truth(x.as_character().map(|x| Facts::of(x).is_alphabetic()))
}

extern "C" fn char_numeric(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    truth(x.as_character().map(|x| Facts::of(x).is_digit()))
}

extern "C" fn char_whitespace(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    truth(x.as_character().map(|x| Facts::of(x).is_whitespace()))
}

extern "C" fn char_upper_case(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    truth(x.as_character().map(|x| Facts::of(x).is_upper_case()))
}

extern "C" fn char_lower_case(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    truth(x.as_character().map(|x| Facts::of(x).is_lower_case()))
}

extern "C" fn char_upcase(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    or_decline(
        x.as_character()
            .map(|x| Value::character(Facts::of(x).upper)),
    )
}

extern "C" fn char_downcase(_: &mut InPlace, x: Word, _: Word, _: Word) -> Word {
    or_decline(
        x.as_character()
            .map(|x| Value::character(Facts::of(x).lower)),
    )
}

// Multiple values.

extern "C" fn no_values(thread: &mut InPlace, _: Word, _: Word, _: Word) -> Word {
    thread.values(&[])
}

extern "C" fn two_values(thread: &mut InPlace, first: Word, second: Word, _: Word) -> Word {
    thread.values(&[first, second])
}

extern "C" fn three_values(thread: &mut InPlace, first: Word, second: Word, third: Word) -> Word {
    thread.values(&[first, second, third])
}

// Numeric vectors.

fn stored(done: bool) -> Value {
    if done {
        Value::UNSPECIFIED
    } else {
        Value::DECLINED
    }
}

extern "C" fn any_element_ref(_: &mut InPlace, vector: Word, index: Word, _: Word) -> Word {
    or_decline(quick_ref(vector, index))
}

extern "C" fn any_element_set(_: &mut InPlace, vector: Word, index: Word, element: Word) -> Word {
    stored(quick_set(vector, index, element))
}

extern "C" fn element_ref<T: OfType>(_: &mut InPlace, vector: Word, index: Word, _: Word) -> Word {
    or_decline(quick_ref_of::<T>(vector, index))
}

extern "C" fn element_set<T: OfType>(
    _: &mut InPlace,
    vector: Word,
    index: Word,
    element: Word,
) -> Word {
    stored(quick_set_of::<T>(vector, index, element))
}
