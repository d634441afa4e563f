//! Primitives of the collector: collections, statistics, weak pairs, ephemerons and guardians.
//!
//! The heap owns the policy; this module gives programs a view of it. A weak reference that the
//! collector broke reads as `#f`. Objects that were given as arguments stay alive during the call.

use canny_heap::PAUSE_BOUNDS_NS;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::{PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::host;
use crate::primitives::tasks::numbers_by_name;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "collect-garbage" => collect_garbage;
    "%gc-statistics" => statistics;
    "%gc-pauses" => pauses;
    "%heap-census" => census;
    "%specializer-statistics" => specializer_statistics;
    "%live-instances" => |thread, call: Call| {
        let record_type = call.object(thread, 0, Kind::RecordType, "record type")?;
        Ok(thread.instances_of(record_type.value()))
    };
    "%gc-stress!" => set_stress;
    "weak-cons" => |thread, call| two_fields(thread, call, Kind::WeakPair);
    "weak-pair?" => |_, call| is_of(call, Kind::WeakPair);
    "weak-car" => |thread, call| weak_part(thread, call, Kind::WeakPair, "weak pair", 0);
    "weak-cdr" => |thread, call| weak_part(thread, call, Kind::WeakPair, "weak pair", 1);
    "weak-set-car!" => |thread, call| set_part(thread, call, 0);
    "weak-set-cdr!" => |thread, call| set_part(thread, call, 1);
    "weak-pair-broken?" => |thread, call| is_broken(thread, call, Kind::WeakPair, "weak pair");
    "make-ephemeron" => |thread, call| two_fields(thread, call, Kind::Ephemeron);
    "ephemeron?" => |_, call| is_of(call, Kind::Ephemeron);
    "ephemeron-key" => |thread, call| weak_part(thread, call, Kind::Ephemeron, "ephemeron", 0);
    "ephemeron-datum" => |thread, call| weak_part(thread, call, Kind::Ephemeron, "ephemeron", 1);
    "ephemeron-broken?" => |thread, call| is_broken(thread, call, Kind::Ephemeron, "ephemeron");
    "reference-barrier" => reference_barrier;
    "%make-guardian" => |thread, _| thread.try_object(Kind::Guardian, 0, 1, Value::NIL);
    "%guardian-register!" => guardian_register;
    "%guardian-next" => guardian_next;
};

fn collect_garbage(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let is_full = call.optional(0).is_none_or(Value::is_true);
    thread.collect_garbage(is_full);
    host::sweep_dead(thread);
    Ok(Value::UNSPECIFIED)
}

fn statistics(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let statistics = thread.vm().heap().statistics();
    let entries = [
        ("collections", statistics.collections),
        ("full-collections", statistics.full_collections),
        ("pause-nanoseconds", statistics.pause_wall_ns_total),
        ("pause-nanoseconds-max", statistics.pause_wall_ns_max),
        ("pause-cpu-nanoseconds", statistics.pause_cpu_ns_total),
        ("bytes-allocated", statistics.bytes_allocated),
        ("bytes-live", statistics.bytes_live as u64),
        ("bytes-in-use", statistics.bytes_in_use as u64),
        ("bytes-in-use-max", statistics.bytes_in_use_max as u64),
        ("bytes-outside", thread.vm().heap().outside_bytes() as u64),
    ];
    Ok(numbers_by_name(thread, &entries))
}

fn number(thread: &mut Thread, number: u64) -> Value {
    thread.integer(number.min(i64::MAX as u64) as i64)
}

/// Collections by length; the counts of the longer ones contain those of the shorter.
fn pauses(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let statistics = thread.vm().heap().statistics();
    let mut kinds = Value::NIL;
    for lengths in [statistics.full_pauses, statistics.young_pauses] {
        let mut list = Value::NIL;
        let mut sum: u64 = lengths.counts.iter().sum();
        for (index, count) in lengths.counts.iter().enumerate().rev() {
            let bound = match PAUSE_BOUNDS_NS.get(index) {
                Some(bound) => number(thread, *bound),
                None => Value::FALSE,
            };
            let below = number(thread, sum);
            let entry = thread.cons(bound, below);
            list = thread.cons(entry, list);
            sum -= count;
        }
        let total = number(thread, lengths.total_ns);
        let one = thread.cons(total, list);
        kinds = thread.cons(one, kinds);
    }
    Ok(kinds)
}

fn census(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let census = thread.vm().heap().census();
    let rows = census.map_or_else(Vec::new, |census| census.rows());
    let mut list = Value::NIL;
    for row in rows.into_iter().rev() {
        let bytes = number(thread, row.bytes);
        let rest = thread.cons(bytes, Value::NIL);
        let objects = number(thread, row.objects);
        let rest = thread.cons(objects, rest);
        let name = thread.symbol(row.name);
        let entry = thread.cons(name, rest);
        list = thread.cons(entry, list);
    }
    Ok(list)
}

fn specializer_statistics(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let figures = thread.vm().specializer_figures();
    let entries = [
        ("compiled", figures.compiled),
        ("refused", figures.refused),
        ("nanoseconds", figures.time.as_nanos() as u64),
        ("deoptimizations", figures.deoptimizations),
        ("code-bytes", figures.code_bytes as u64),
        ("descriptor-bytes", figures.descriptor_bytes as u64),
    ];
    Ok(numbers_by_name(thread, &entries))
}

fn set_stress(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let every = call.index(thread, 0)?;
    let Ok(every) = u32::try_from(every) else {
        return Err(call.range_error(thread, 0, "below 2^32"));
    };
    thread.vm().heap().set_stress(every);
    // The mode takes effect at once after a collection.
    thread.collect_garbage(true);
    Ok(Value::UNSPECIFIED)
}

fn is_of(call: Call, kind: Kind) -> Result<Value, Raise> {
    Ok(Value::boolean(call.at(0).is_kind(kind)))
}

fn two_fields(thread: &mut Thread, call: Call, kind: Kind) -> Result<Value, Raise> {
    let object = thread.try_object(kind, 0, 2, Value::FALSE)?;
    thread.store(object, 0, call.at(0));
    thread.store(object, 1, call.at(1));
    Ok(object)
}

/// A field; `#f` when the collector broke it.
fn weak_part(
    thread: &mut Thread,
    call: Call,
    kind: Kind,
    expected: &str,
    index: usize,
) -> Result<Value, Raise> {
    let value = call.object(thread, 0, kind, expected)?.field(index);
    Ok(if value == Value::BROKEN {
        Value::FALSE
    } else {
        value
    })
}

fn is_broken(thread: &mut Thread, call: Call, kind: Kind, expected: &str) -> Result<Value, Raise> {
    let object = call.object(thread, 0, kind, expected)?;
    Ok(Value::boolean(object.field(0) == Value::BROKEN))
}

fn set_part(thread: &mut Thread, call: Call, index: usize) -> Result<Value, Raise> {
    let object = call.object(thread, 0, Kind::WeakPair, "weak pair")?;
    thread.store(object.value(), index, call.at(1));
    Ok(Value::UNSPECIFIED)
}

/// The argument was alive up to this call, since it is an argument.
fn reference_barrier(_thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    Ok(Value::UNSPECIFIED)
}

fn guardian(thread: &mut Thread, call: Call) -> Result<ObjectRef, Raise> {
    call.object(thread, 0, Kind::Guardian, "guardian")
}

fn guardian_register(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let guardian = guardian(thread, call)?;
    if call.at(1).is_reference() {
        thread.register_guardian(call.at(1), guardian.value());
    }
    Ok(Value::UNSPECIFIED)
}

fn guardian_next(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let guardian = guardian(thread, call)?;
    loop {
        let ready = guardian.field(0);
        let Some(pair) = ready.as_pair() else {
            return Ok(call.at(1));
        };
        // Another thread may have taken it.
        if thread.store_if(guardian.value(), 0, ready, pair.cdr()) {
            return Ok(pair.car());
        }
    }
}
