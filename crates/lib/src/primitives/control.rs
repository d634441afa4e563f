//! Primitives of procedures, multiple values and the registers of the dynamic state.
//!
//! The registers hold winders, handlers and parameters, and `(canny machine control)` alone gives them a
//! meaning. Nothing here calls a procedure: control operations are written in Scheme or are
//! operations on frames.

use canny_tables::kinds::Kind;
use canny_value::Value;
use canny_vm::symbols::symbol_name;
use canny_vm::{NewState, PrimitiveFunction, Raise, Thread};

use crate::arguments::{Call, implementations};
use crate::list::Walk;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "procedure?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Closure)));
    "values" => values;
    "%values?" => |_, call| Ok(Value::boolean(call.at(0).is_kind(Kind::Values)));
    "%values->list" => values_to_list;
    "%list->values" => list_to_values;
    "%continuation-here" => |thread, call: Call| thread.continuation_here(call.at(0));
    "%graft-continuation" => |thread, call: Call| graft_continuation(thread, call);
    "procedure-name" => procedure_name;
    "procedure-arity" => procedure_arity;
    "%copy-procedure" => copy_procedure;
    "%set-procedure-name!" => set_procedure_name;
    "%meet-threads" => |thread, _| {
        thread.meet_threads();
        Ok(Value::UNSPECIFIED)
    };
    "%set-car-if-eq!" => |thread, call| {
        if !call.at(0).is_pair() {
            return Err(call.type_error(thread, 0, "pair"));
        }
        Ok(Value::boolean(thread.set_car_if(call.at(0), call.at(1), call.at(2))))
    };
    "%winders" => |thread, _| Ok(thread.winders());
    "%set-winders!" => |thread, call| change(thread, call, Thread::set_winders);
    "%handlers" => |thread, _| Ok(thread.handlers());
    "%set-handlers!" => |thread, call| change(thread, call, Thread::set_handlers);
    "%parameters" => |thread, _| Ok(thread.parameters());
    "%set-parameters!" => |thread, call| change(thread, call, Thread::set_parameters);
    "%parameter-ref" => parameter_ref;
    "%parameter-entry" => parameter_entry;
};

fn graft_continuation(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let state = NewState {
        replacements: call.at(3),
        prompt: call.at(4),
        handlers: call.at(5),
    };
    thread.graft_continuation(call.at(0), call.at(1), call.at(2), state)
}

fn change(
    thread: &mut Thread,
    call: Call,
    register: fn(&mut Thread, Value),
) -> Result<Value, Raise> {
    register(thread, call.at(0));
    Ok(Value::UNSPECIFIED)
}

/// A values object, or the one value.
pub(crate) fn values_of(
    thread: &mut Thread,
    count: usize,
    mut elements: impl Iterator<Item = Value>,
) -> Result<Value, Raise> {
    if count == 1 {
        return Ok(elements.next().unwrap_or(Value::UNSPECIFIED));
    }
    let object = thread.try_object(Kind::Values, 0, count, Value::UNSPECIFIED)?;
    for (index, element) in elements.enumerate() {
        thread.store(object, index, element);
    }
    Ok(object)
}

fn values(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    values_of(
        thread,
        call.count(),
        (0..call.count()).map(|position| call.at(position)),
    )
}

fn values_to_list(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let value = call.at(0);
    let Some(values) = value.as_kind(Kind::Values) else {
        return Ok(thread.cons(value, Value::NIL));
    };
    let mut list = Value::NIL;
    for index in (0..values.length()).rev() {
        list = thread.try_cons(values.field(index), list)?;
    }
    Ok(list)
}

fn list_to_values(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.list_length(thread, 0)?;
    values_of(thread, count, Walk::new(call.at(0)))
}

fn procedure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let procedure = call.object(thread, 0, Kind::Closure, "procedure")?;
    Ok(procedure.value())
}

fn procedure_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let procedure = procedure(thread, call)?;
    match thread.vm().procedure_name(procedure) {
        Some(name) => Ok(thread.symbol(&name)),
        None => Ok(Value::FALSE),
    }
}

fn procedure_arity(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let procedure = procedure(thread, call)?;
    let (least, greatest) = thread.vm().procedure_arity(procedure).unwrap_or((0, None));
    let greatest = greatest.map_or(Value::FALSE, |count| Value::fixnum(count as i64));
    Ok(thread.cons(Value::fixnum(least as i64), greatest))
}

fn copy_procedure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count = call.object(thread, 0, Kind::Closure, "procedure")?.length();
    let copy = thread.try_object(Kind::Closure, 0, count, Value::FALSE)?;
    let procedure = call.object(thread, 0, Kind::Closure, "procedure")?;
    for index in 0..count {
        thread.store(copy, index, procedure.field(index));
    }
    Ok(copy)
}

fn set_procedure_name(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let procedure = procedure(thread, call)?;
    let name = call.symbol(thread, 1)?;
    let name = symbol_name(name.value()).unwrap_or_default();
    thread.vm().set_procedure_name(procedure, &name);
    Ok(Value::UNSPECIFIED)
}

fn parameter_ref(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let value = thread.parameter_entry(call.at(0)).and_then(Value::cdr);
    Ok(value.unwrap_or_else(|| call.at(1)))
}

fn parameter_entry(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    Ok(thread.parameter_entry(call.at(0)).unwrap_or(Value::FALSE))
}
