//! Frames of continuations and parts of objects as lists, for pages that people look into.
//!
//! The machine reads the frames (`canny_vm::debug`), `crate::debug` knows what an expression becomes
//! and what an object consists of. Here their answers become objects.

use canny_value::Value;
use canny_vm::debug::{Assignment, DebugFrame, Home};
use canny_vm::{PrimitiveFunction, Protected, Raise, Thread, string_text};

use crate::arguments::{Call, implementations};
use crate::debug::parts::{self, Part};
use crate::debug::procedure_for;

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%continuation-frames" => continuation_frames;
    "%continuation-variables" => continuation_variables;
    "%continuation-assign!" => continuation_assign;
    "%frame-procedure" => frame_procedure;
    "%object-shape" => object_shape;
    "%object-parts" => object_parts;
};

/// A list of the values that were protected since the first one, which is released with them.
fn list_since(thread: &mut Thread, first: Protected) -> Value {
    let list = thread.list_of_protected(first, Value::NIL);
    thread.release(first);
    list
}

/// A list of rows, each made from an element.
fn list_of<T>(
    thread: &mut Thread,
    elements: impl IntoIterator<Item = T>,
    mut row: impl FnMut(&mut Thread, T) -> Value,
) -> Value {
    let first = thread.protect(Value::NIL);
    for element in elements {
        let row = row(thread, element);
        thread.protect(row);
    }
    let list = list_since(thread, first);
    // The first one was a placeholder.
    list.cdr().unwrap_or(Value::NIL)
}

/// `%continuation-frames`: a continuation, the first frame, and how many.
fn continuation_frames(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (first, count) = (call.index(thread, 1)?, call.index(thread, 2)?);
    let frames = thread.frames_of_continuation(call.at(0), first, count);
    let frames = frames.unwrap_or_default();
    Ok(list_of(thread, &frames, frame_row))
}

fn frame_row(thread: &mut Thread, frame: &DebugFrame) -> Value {
    let name = match frame.name.as_deref() {
        _ if frame.is_program => "the program",
        Some(name) => name,
        None => "an anonymous procedure",
    };
    let first = thread.protect(Value::NIL);
    let name = thread.string(name);
    thread.set_protected(first, name);
    let place = super::errors::place_of(thread, frame.position.as_ref());
    thread.protect(place);
    thread.protect(Value::boolean(frame.is_library));
    let callers = frame.tail_callers.iter().filter(|one| !one.is_library);
    let callers = list_of(thread, callers, |thread, caller| {
        let text = thread.string(&super::errors::text_of_tail_caller(caller));
        let place = super::errors::place_of(thread, caller.position.as_ref());
        thread.cons(text, place)
    });
    thread.protect(callers);
    list_since(thread, first)
}

/// `%continuation-variables`: a continuation and the number of a frame.
fn continuation_variables(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let frame = call.index(thread, 1)?;
    let values = thread.protect(Value::NIL);
    let variables = thread.variables_of_continuation(call.at(0), frame);
    let list = list_of(thread, variables, |thread, variable| {
        let mut row = Value::NIL;
        if let Some(value) = variable.value {
            let value = thread.protected(value);
            row = thread.cons(value, row);
        }
        let home = thread.symbol(match variable.home {
            Home::Box => "box",
            Home::Register => "register",
            Home::Closure => "closure",
        });
        row = thread.cons(home, row);
        let name = thread.string(&variable.name);
        thread.cons(name, row)
    });
    thread.release(values);
    Ok(list)
}

/// `%continuation-assign!`: a continuation, the number of a frame, the name of a variable, a value.
fn continuation_assign(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let frame = call.index(thread, 1)?;
    let name = string_text(call.string(thread, 2)?.value()).unwrap_or_default();
    let outcome = thread.assign_in_continuation(call.at(0), frame, &name, call.at(3));
    Ok(thread.symbol(match outcome {
        Assignment::Done | Assignment::DoneInFrame => "done",
        Assignment::Gone => "gone",
        Assignment::NeverAssigned => "never-assigned",
        Assignment::InContinuation => "in-continuation",
    }))
}

/// `%frame-procedure`: a continuation, the number of a frame, names of variables, an expression.
fn frame_procedure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let frame = call.index(thread, 1)?;
    call.list_length(thread, 2)?;
    let mut names = Vec::new();
    let mut rest = call.at(2);
    while let Some(pair) = rest.as_pair() {
        names.extend(string_text(pair.car()));
        rest = pair.cdr();
    }
    let text = string_text(call.string(thread, 3)?.value()).unwrap_or_default();
    let frames = thread.frames_of_continuation(call.at(0), frame, 1);
    let unit = frames.and_then(|mut frames| Some(frames.pop()?.unit));
    match procedure_for(thread, &unit.unwrap_or_default(), &names, &text) {
        Ok(thunks) => Ok(thunks),
        Err(message) => Ok(thread.string(&message)),
    }
}

/// `%object-shape`: an object and bytes of its text.
fn object_shape(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let bytes_max = call.index(thread, 1)?;
    let text = parts::brief(thread, call.at(0), bytes_max);
    let shape = parts::shape(thread, call.at(0));
    let mut list = thread.cons(Value::fixnum(shape.indexed as i64), Value::NIL);
    list = thread.cons(Value::fixnum(shape.named as i64), list);
    let type_name = thread.string(&shape.type_name);
    list = thread.cons(type_name, list);
    let text = thread.string(&text);
    Ok(thread.cons(text, list))
}

/// `%object-parts`: an object, whether its fields are wanted, the first part, and how many.
fn object_parts(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let (first, count) = (call.index(thread, 2)?, call.index(thread, 3)?);
    let object = call.at(0);
    let found: Vec<(String, Part)> = if call.at(1).is_true() {
        let fields = parts::fields(thread, object).into_iter();
        fields.skip(first).take(count).collect()
    } else {
        parts::elements(thread, object, first, count)
    };
    // Making a row may collect: the others are protected meanwhile.
    let place = thread.protect(Value::NIL);
    let mut protected = Vec::with_capacity(found.len());
    for (name, part) in found {
        let part = match part {
            Part::Value(value) => Ok(thread.protect(value)),
            Part::Text(text) => Err(text),
        };
        protected.push((name, part));
    }
    let list = list_of(thread, protected, |thread, (name, part)| {
        let is_text = part.is_err();
        let part = match part {
            Ok(place) => thread.protected(place),
            Err(text) => thread.string(&text),
        };
        let mut row = thread.cons(part, Value::NIL);
        row = thread.cons(Value::boolean(is_text), row);
        let name = thread.string(&name);
        thread.cons(name, row)
    });
    thread.release(place);
    Ok(list)
}
