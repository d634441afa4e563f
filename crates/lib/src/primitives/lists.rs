//! Primitives of lists: R7RS 6.4 and the procedures of SRFI 1 that take no procedure.
//!
//! A list is measured before it is used, since it may be circular or improper: every procedure ends
//! or raises. Where other threads may change a list meanwhile, each step checks the pair again.
//! Procedures that take procedures are in Scheme.

use canny_value::Value;
use canny_vm::{InPlace, Numeric, PrimitiveFunction, Raise, Thread, numeric};

use crate::arguments::{Call, implementations};
use crate::equality::{is_equal, is_equal_alone, is_eqv, is_eqv_alone};
use crate::list::{
    Builder, End, Extent, Walk, find_association, find_member, length_quickly, measure, tail,
};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "list" => |thread, call| Ok(list_of_arguments(thread, call, call.count(), Value::NIL));
    "cons*" => cons_star;
    "make-list" => make_list;
    "list?" => |_, call| has_extent(call, |extent| matches!(extent, Extent::Proper(_)));
    "length" => length;
    "length+" => length_or_false;
    "%pair-count" => |_, call: Call| Ok(pair_count(call.at(0)));
    "append" => append;
    "append!" => append_in_place;
    "reverse" => |thread, call| reverse_onto(thread, call, Value::NIL);
    "reverse!" => |thread, call| reverse_in_place_onto(thread, call, Value::NIL);
    "append-reverse" => |thread, call| reverse_onto(thread, call, call.at(1));
    "append-reverse!" => |thread, call| reverse_in_place_onto(thread, call, call.at(1));
    "concatenate" => concatenate;
    "concatenate!" => concatenate_in_place;
    "list-tail" => list_tail;
    "list-ref" => list_ref;
    "list-set!" => list_set;
    "list-copy" => list_copy;
    "last-pair" => last_pair;
    "last" => |thread, call| Ok(last_pair(thread, call)?.car().unwrap_or(Value::FALSE));
    "memq" => |thread, call| member(thread, call, |_| true, |left, right| left == right);
    "memv" => |thread, call| member(thread, call, is_eqv_alone, is_eqv);
    "%member" => |thread, call| member(thread, call, is_equal_alone, is_equal);
    "assq" => |thread, call| assoc(thread, call, |_| true, |left, right| left == right);
    "assv" => |thread, call| assoc(thread, call, is_eqv_alone, is_eqv);
    "%assoc" => |thread, call| assoc(thread, call, is_equal_alone, is_equal);
    "%delete" => |thread, call| delete(thread, call, is_equal);
    "delq" => |thread, call| delete(thread, call, |left, right| left == right);
    "iota" => iota;
    "circular-list" => circular_list;
    "proper-list?" => |_, call| has_extent(call, |extent| matches!(extent, Extent::Proper(_)));
    "circular-list?" => |_, call| has_extent(call, |extent| extent == Extent::Circular);
    "dotted-list?" => |_, call| has_extent(call, |extent| matches!(extent, Extent::Dotted(_)));
    "not-pair?" => |_, call| Ok(Value::boolean(!call.at(0).is_pair()));
    "null-list?" => is_null_list;
    "first" => |thread, call| element(thread, call, 0);
    "second" => |thread, call| element(thread, call, 1);
    "third" => |thread, call| element(thread, call, 2);
    "fourth" => |thread, call| element(thread, call, 3);
    "fifth" => |thread, call| element(thread, call, 4);
    "sixth" => |thread, call| element(thread, call, 5);
    "seventh" => |thread, call| element(thread, call, 6);
    "eighth" => |thread, call| element(thread, call, 7);
    "ninth" => |thread, call| element(thread, call, 8);
    "tenth" => |thread, call| element(thread, call, 9);
    "take" => |thread, call| Ok(take(thread, call)?.0);
    "drop" => list_tail;
    "take-right" => take_right;
    "drop-right" => drop_right;
    "take!" => |thread, call| Ok(take_in_place(thread, call)?.0);
    "drop-right!" => drop_right_in_place;
    "split-at" => split_at;
    "split-at!" => split_at_in_place;
};

/// The first `count` arguments consed onto `tail`.
fn list_of_arguments(thread: &mut Thread, call: Call, count: usize, tail: Value) -> Value {
    let mut list = tail;
    for position in (0..count).rev() {
        list = thread.cons(call.at(position), list);
    }
    list
}

fn cons_star(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let last = call.count() - 1;
    Ok(list_of_arguments(thread, call, last, call.at(last)))
}

fn make_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index(thread, 0)?;
    call.check_pairs(thread, count)?;
    let mut list = Value::NIL;
    for _ in 0..count {
        let fill = call.optional(1).unwrap_or(Value::UNSPECIFIED);
        list = thread.try_cons(fill, list)?;
    }
    Ok(list)
}

fn has_extent(call: Call, wanted: impl Fn(Extent) -> bool) -> Result<Value, Raise> {
    Ok(Value::boolean(wanted(measure(call.at(0)))))
}

fn length(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let length = match length_quickly(call.at(0)) {
        Some(length) => length,
        None => call.list_length(thread, 0)?,
    };
    Ok(Value::fixnum(length as i64))
}

fn length_or_false(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match measure(call.at(0)) {
        Extent::Proper(length) => Ok(Value::fixnum(length as i64)),
        Extent::Circular => Ok(Value::FALSE),
        Extent::Dotted(_) => Err(call.type_error(thread, 0, "list")),
    }
}

fn pair_count(object: Value) -> Value {
    match measure(object) {
        Extent::Proper(count) | Extent::Dotted(count) => Value::fixnum(count as i64),
        Extent::Circular => Value::FALSE,
    }
}

/// Copies the elements of a list that was measured.
fn push_all(thread: &mut Thread, result: &mut Builder, list: Value) -> Result<(), Raise> {
    for element in Walk::new(list) {
        result.push(thread, element)?;
    }
    Ok(())
}

fn append(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    if call.count() == 2
        && let Some(result) = InPlace::of(thread).copy_onto(call.at(0), call.at(1))
    {
        return Ok(result);
    }
    let Some(last) = call.count().checked_sub(1) else {
        return Ok(Value::NIL);
    };
    for position in 0..last {
        call.list_length(thread, position)?;
    }
    let mut result = Builder::new();
    for position in 0..last {
        push_all(thread, &mut result, call.at(position))?;
    }
    Ok(result.finish(thread, call.at(last)))
}

/// The last pair of a list that is not circular; `None` when there is no pair.
fn find_last_pair(list: Value) -> Result<Option<Value>, Extent> {
    let mut walk = Walk::new(list);
    let mut last = None;
    while let Some(pair) = walk.next_pair() {
        last = Some(pair);
    }
    match walk.end() {
        End::Circular => Err(Extent::Circular),
        _ => Ok(last),
    }
}

/// Joins `list` to what was joined so far; gives the last pair of the whole.
fn link(
    thread: &mut Thread,
    head: &mut Value,
    last: Option<Value>,
    list: Value,
) -> Result<Option<Value>, Extent> {
    let new_last = find_last_pair(list)?;
    match last {
        Some(last) => thread.set_cdr(last, list),
        None => *head = list,
    }
    Ok(new_last.or(last))
}

fn append_in_place(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let Some(final_position) = call.count().checked_sub(1) else {
        return Ok(Value::NIL);
    };
    for position in 0..final_position {
        call.list_length(thread, position)?;
    }
    let mut head = Value::NIL;
    let mut last = None;
    for position in 0..final_position {
        // Linking may have made a later argument circular, when one list is given twice.
        last = match link(thread, &mut head, last, call.at(position)) {
            Ok(last) => last,
            Err(_) => return Err(call.type_error(thread, position, "list")),
        };
    }
    Ok(finish_linking(thread, head, last, call.at(final_position)))
}

fn finish_linking(thread: &mut Thread, head: Value, last: Option<Value>, tail: Value) -> Value {
    match last {
        Some(last) => {
            thread.set_cdr(last, tail);
            head
        }
        None => tail,
    }
}

fn concatenate(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = check_list_of_lists(thread, call)?;
    let mut result = Builder::new();
    let mut last = Value::NIL;
    for (index, list) in Walk::new(call.at(0)).enumerate() {
        if index + 1 == count {
            last = list;
        } else {
            push_all(thread, &mut result, list)?;
        }
    }
    Ok(result.finish(thread, last))
}

fn concatenate_in_place(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = check_list_of_lists(thread, call)?;
    let mut head = Value::NIL;
    let mut last = None;
    for (index, list) in Walk::new(call.at(0)).enumerate() {
        if index + 1 == count {
            return Ok(finish_linking(thread, head, last, list));
        }
        last = match link(thread, &mut head, last, list) {
            Ok(last) => last,
            Err(_) => return Err(call.type_error_of(thread, 0, "list of lists", list)),
        };
    }
    Ok(head)
}

/// Checks that argument 0 is a list of lists, except for its last element; gives its length.
fn check_list_of_lists(thread: &mut Thread, call: Call) -> Result<usize, Raise> {
    let count = call.list_length(thread, 0)?;
    for list in Walk::new(call.at(0)).take(count.saturating_sub(1)) {
        if !matches!(measure(list), Extent::Proper(_)) {
            return Err(call.type_error_of(thread, 0, "list of lists", list));
        }
    }
    Ok(count)
}

fn reverse_onto(thread: &mut Thread, call: Call, tail: Value) -> Result<Value, Raise> {
    if let Some(result) = InPlace::of(thread).reverse_onto(call.at(0), tail) {
        return Ok(result);
    }
    let mut result = tail;
    let mut walk = Walk::new(call.at(0));
    for element in walk.by_ref() {
        result = thread.try_cons(element, result)?;
    }
    match walk.end() {
        End::Nil => Ok(result),
        _ => Err(call.type_error(thread, 0, "list")),
    }
}

fn reverse_in_place_onto(thread: &mut Thread, call: Call, tail: Value) -> Result<Value, Raise> {
    call.list_length(thread, 0)?;
    let mut result = tail;
    let mut rest = call.at(0);
    while let Some(pair) = rest.as_pair() {
        rest = pair.cdr();
        thread.set_cdr(pair.value(), result);
        result = pair.value();
    }
    Ok(result)
}

/// The condition: argument 0 has fewer pairs than argument 1 says.
#[cold]
fn too_short(thread: &mut Thread, call: Call) -> Raise {
    match measure(call.at(0)) {
        Extent::Proper(0) => call.range_error(thread, 1, "the list is empty"),
        Extent::Proper(length) => {
            call.range_error(thread, 1, &format!("the length of the list is {length}"))
        }
        _ => call.type_error(thread, 0, "list"),
    }
}

fn list_tail(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index(thread, 1)?;
    match tail(call.at(0), count) {
        Some(rest) => Ok(rest),
        None => Err(too_short(thread, call)),
    }
}

/// The pair with the index that argument 1 gives.
fn pair_at_index(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let index = call.index(thread, 1)?;
    match tail(call.at(0), index) {
        Some(rest) if rest.is_pair() => Ok(rest),
        _ => Err(too_short(thread, call)),
    }
}

fn list_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pair = pair_at_index(thread, call)?;
    Ok(pair.car().unwrap_or(Value::FALSE))
}

fn list_set(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let pair = pair_at_index(thread, call)?;
    thread.set_car(pair, call.at(2));
    Ok(Value::UNSPECIFIED)
}

fn list_copy(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut result = Builder::new();
    let mut walk = Walk::new(call.at(0));
    for element in walk.by_ref() {
        result.push(thread, element)?;
    }
    match walk.end() {
        End::Nil => Ok(result.finish(thread, Value::NIL)),
        End::Other(tail) => Ok(result.finish(thread, tail)),
        End::Circular => Err(call.type_error(thread, 0, "finite list")),
    }
}

fn last_pair(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    match find_last_pair(call.at(0)) {
        Ok(Some(pair)) => Ok(pair),
        Ok(None) => Err(call.type_error(thread, 0, "pair")),
        Err(_) => Err(call.type_error(thread, 0, "finite list")),
    }
}

#[inline(always)]
fn member(
    thread: &mut Thread,
    call: Call,
    is_alone: impl Fn(Value) -> bool,
    same: impl Fn(Value, Value) -> bool,
) -> Result<Value, Raise> {
    let wanted = call.at(0);
    if let Some(found) = find_member(wanted, call.at(1), is_alone(wanted), &same) {
        return Ok(found);
    }
    let mut walk = Walk::new(call.at(1));
    while let Some(pair) = walk.next_pair() {
        if pair.car().is_some_and(|element| same(wanted, element)) {
            return Ok(pair);
        }
    }
    match walk.end() {
        End::Nil => Ok(Value::FALSE),
        _ => Err(call.type_error(thread, 1, "list")),
    }
}

#[inline(always)]
fn assoc(
    thread: &mut Thread,
    call: Call,
    is_alone: impl Fn(Value) -> bool,
    same: impl Fn(Value, Value) -> bool,
) -> Result<Value, Raise> {
    let wanted = call.at(0);
    if let Some(found) = find_association(wanted, call.at(1), is_alone(wanted), &same) {
        return Ok(found);
    }
    let mut walk = Walk::new(call.at(1));
    for entry in walk.by_ref() {
        match entry.car() {
            Some(key) if same(wanted, key) => return Ok(entry),
            Some(_) => {}
            None => return Err(call.type_error_of(thread, 1, "association list", entry)),
        }
    }
    match walk.end() {
        End::Nil => Ok(Value::FALSE),
        _ => Err(call.type_error(thread, 1, "association list")),
    }
}

#[inline(always)]
fn delete(
    thread: &mut Thread,
    call: Call,
    same: impl Fn(Value, Value) -> bool,
) -> Result<Value, Raise> {
    let mut result = Builder::new();
    let mut walk = Walk::new(call.at(1));
    for element in walk.by_ref() {
        if !same(call.at(0), element) {
            result.push(thread, element)?;
        }
    }
    match walk.end() {
        End::Nil => Ok(result.finish(thread, Value::NIL)),
        _ => Err(call.type_error(thread, 1, "list")),
    }
}

fn iota(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.index(thread, 0)?;
    call.check_pairs(thread, count)?;
    for position in 1..call.count() {
        if call.optional(position).is_some() && numeric(call.at(position)).is_none() {
            return Err(call.type_error(thread, position, "number"));
        }
    }
    let start = |call: Call| call.optional(1).unwrap_or(Value::fixnum(0));
    let step = |call: Call| call.optional(2).unwrap_or(Value::fixnum(1));
    if let Some(last) = fixnum_progression(count, start(call), step(call)) {
        let (mut value, step) = last;
        let mut list = Value::NIL;
        for _ in 0..count {
            list = thread.try_cons(Value::fixnum(value), list)?;
            value -= step;
        }
        return Ok(list);
    }
    let mut list = Value::NIL;
    for index in (0..count).rev() {
        let offset = thread.multiply(Value::fixnum(index as i64), step(call))?;
        let value = thread.add(start(call), offset)?;
        list = thread.try_cons(value, list)?;
    }
    Ok(list)
}

/// The last number and the step, if start, step and every number, also one beyond either end, are
/// fixnums.
fn fixnum_progression(count: usize, start: Value, step: Value) -> Option<(i64, i64)> {
    let (Some(Numeric::Fixnum(start)), Some(Numeric::Fixnum(step))) =
        (numeric(start), numeric(step))
    else {
        return None;
    };
    let count = i64::try_from(count).ok()?;
    let beyond = start.checked_add(count.checked_mul(step)?)?;
    let before = start.checked_sub(step)?;
    let all_fit = [beyond, before].into_iter().all(Value::fits_fixnum);
    all_fit.then_some((beyond - step, step))
}

fn circular_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let last = thread.cons(call.at(call.count() - 1), Value::NIL);
    let list = list_of_arguments(thread, call, call.count() - 1, last);
    thread.set_cdr(last, list);
    Ok(list)
}

fn is_null_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let list = call.at(0);
    if list.is_pair() || list.is_nil() {
        return Ok(Value::boolean(list.is_nil()));
    }
    Err(call.type_error(thread, 0, "list"))
}

/// Element `index` of argument 0.
fn element(thread: &mut Thread, call: Call, index: usize) -> Result<Value, Raise> {
    match tail(call.at(0), index).and_then(Value::car) {
        Some(element) => Ok(element),
        None => {
            let plural = if index == 0 { "" } else { "s" };
            let expected = format!("list of at least {} element{plural}", index + 1);
            Err(call.type_error(thread, 0, &expected))
        }
    }
}

/// The first elements, as many as argument 1 says, and the rest of the list.
fn take(thread: &mut Thread, call: Call) -> Result<(Value, Value), Raise> {
    let rest = list_tail(thread, call)?;
    let count = call.index(thread, 1)?;
    Ok((copy_first(thread, call.at(0), count)?, rest))
}

/// A fresh list of the first elements; the list has so many.
fn copy_first(thread: &mut Thread, list: Value, count: usize) -> Result<Value, Raise> {
    let mut result = Builder::new();
    let mut rest = list;
    for _ in 0..count {
        let Some(pair) = rest.as_pair() else { break };
        result.push(thread, pair.car())?;
        rest = pair.cdr();
    }
    Ok(result.finish(thread, Value::NIL))
}

/// The list cut after as many elements as argument 1 says, and the rest.
fn take_in_place(thread: &mut Thread, call: Call) -> Result<(Value, Value), Raise> {
    let rest = list_tail(thread, call)?;
    let count = call.index(thread, 1)?;
    Ok((cut_after(thread, call.at(0), count), rest))
}

/// Cuts a list after its first `count` pairs, of which there are so many.
fn cut_after(thread: &mut Thread, list: Value, count: usize) -> Value {
    match count.checked_sub(1).and_then(|last| tail(list, last)) {
        Some(last) if last.is_pair() => {
            thread.set_cdr(last, Value::NIL);
            list
        }
        _ => Value::NIL,
    }
}

/// How many pairs of argument 0 come before the last ones, whose number argument 1 gives.
fn count_before_last(thread: &mut Thread, call: Call) -> Result<usize, Raise> {
    let count = call.index(thread, 1)?;
    let length = match measure(call.at(0)) {
        Extent::Proper(length) | Extent::Dotted(length) => length,
        Extent::Circular => return Err(call.type_error(thread, 0, "finite list")),
    };
    match length.checked_sub(count) {
        Some(before) => Ok(before),
        None => Err(call.range_error(thread, 1, &format!("the length of the list is {length}"))),
    }
}

fn take_right(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let before = count_before_last(thread, call)?;
    Ok(tail(call.at(0), before).unwrap_or(Value::NIL))
}

fn drop_right(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let before = count_before_last(thread, call)?;
    copy_first(thread, call.at(0), before)
}

fn drop_right_in_place(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let before = count_before_last(thread, call)?;
    Ok(cut_after(thread, call.at(0), before))
}

fn split_at(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (first, rest) = take(thread, call)?;
    Ok(thread.two_values(first, rest))
}

fn split_at_in_place(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (first, rest) = take_in_place(thread, call)?;
    Ok(thread.two_values(first, rest))
}
