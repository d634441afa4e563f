//! Condition objects, their text, and the report of an uncaught object.
//!
//! Owns the form `who: message: irritant …`, which tests and users know, and the limits of what a
//! report shows. A report has the place in the source, notes, and frames of the backtrace; printing
//! it is up to the command line.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use canny_syntax::diagnostic::Diagnostic;
use canny_syntax::messages::code_of_raised;
use canny_syntax::name::Name;
use canny_syntax::spelling::similar_name;
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::condition::{ConditionKind, field};
use canny_vm::symbols::symbol_name;
use canny_vm::{
    Exit, FrameDescription, Position, PrimitiveFunction, Raise, TailCaller, Thread, string_text,
};

use crate::arguments::{Call, implementations};
use crate::evaluation::Evaluation;
use crate::host::find;
use crate::primitives::evaluation::SyntaxErrors;
use crate::printer::{Style, brief_text_of};
use crate::uncaught::{BlamedProcedure, Uncaught};

pub(crate) const IMPLEMENTATIONS: &[(&str, PrimitiveFunction)] = implementations! {
    "%make-condition" => make_condition;
    "error-object?" => |_, call: Call| Ok(Value::boolean(call.at(0).is_kind(Kind::Condition)));
    "error-object-message" => |thread, call| part(thread, call, field::MESSAGE);
    "error-object-irritants" => |thread, call| part(thread, call, field::IRRITANTS);
    "read-error?" => |_, call: Call| Ok(Value::boolean(is_of_kind(call.at(0), "read")));
    "file-error?" => |_, call: Call| Ok(Value::boolean(is_of_kind(call.at(0), "file")));
    "condition-kind" => |thread, call| part(thread, call, field::KIND);
    "condition-who" => |thread, call| part(thread, call, field::WHO);
    "condition-position" => condition_position;
    "condition->string" => condition_to_string;
    "%type-error" => |thread, call| argument_error(thread, call, Thread::raise_type);
    "%range-error" => |thread, call| argument_error(thread, call, Thread::raise_range);
    "%match-failure" => match_failure;
    "%assertion-failure" => assertion_failure;
    "%contract-violation" => contract_violation;
    "%note-task!" => note_task;
    "%frames-of" => frames_of;
    "%uncaught" => uncaught;
    "%report-raised" => report_raised;
    "%backtrace" => backtrace;
};

/// Bytes of the text of an irritant that a report shows.
const IRRITANT_BYTES_MAX: usize = 1000;
/// Irritants that a report shows.
const IRRITANTS_MAX: usize = 20;
/// Frames that a report shows.
const FRAMES_MAX: usize = 50;

fn make_condition(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.symbol(thread, 0)?;
    call.list_length(thread, 2)?;
    Ok(thread.make_condition(call.at(0), call.at(1), call.at(2), call.at(3)))
}

/// `(condition-position condition)`: a list of file, line and column, and line and column of the end.
fn condition_position(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let object = condition(thread, call)?;
    let Some(position) = thread.condition_position(object.value()) else {
        return Ok(Value::FALSE);
    };
    // `file` and `list` are locals: the native stack keeps them.
    let file = thread.string(&position.file);
    let mut list = Value::NIL;
    for number in [
        position.end_column,
        position.end_line,
        position.column,
        position.line,
    ] {
        list = thread.cons(Value::fixnum(i64::from(number)), list);
    }
    Ok(thread.cons(file, list))
}

fn condition(thread: &mut Thread, call: Call) -> Result<ObjectRef, Raise> {
    call.object(thread, 0, Kind::Condition, "error object")
}

fn part(thread: &mut Thread, call: Call, index: usize) -> Result<Value, Raise> {
    Ok(condition(thread, call)?.field(index))
}

/// The name of a condition's kind.
fn kind_of(condition: ObjectRef) -> Option<String> {
    symbol_name(condition.field(field::KIND))
}

fn is_of_kind(value: Value, kind: &str) -> bool {
    value
        .as_kind(Kind::Condition)
        .and_then(kind_of)
        .is_some_and(|own| own == kind)
}

fn condition_to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let text = text_of_raised(thread, call.at(0));
    let mut builder = canny_vm::TextBuilder::new();
    builder.push_str(&text);
    builder.try_finish(thread)
}

/// The text of a condition; of any other object the written form, cut off when it is long.
///
/// The text is `who: message: irritant irritant …`. A message that ends with a colon gets no second one.
/// For programs that pass a symbol as the message and the message as the first irritant, as other
/// systems have it, the symbol is the one to blame.
pub(crate) fn text_of_raised(thread: &Thread, value: Value) -> String {
    let Some(condition) = value.as_kind(Kind::Condition) else {
        return brief_text_of(thread, value, Style::Write, IRRITANT_BYTES_MAX);
    };
    let mut text = String::new();
    let who = symbol_name(condition.field(field::WHO));
    if let Some(who) = &who {
        text.push_str(who);
        text.push_str(": ");
    }
    // The procedure is an irritant for programs; people have read its name already.
    let is_arity = is_of_kind(value, "arity");
    let is_call = counts_arguments(condition);
    let mut irritants = condition.field(field::IRRITANTS);
    let message = condition.field(field::MESSAGE);
    let first = irritants.car().and_then(string_text);
    match (string_text(message), symbol_name(message), first) {
        (Some(message), _, _) => text.push_str(&message),
        (None, Some(who), Some(message)) => {
            text.push_str(&who);
            text.push_str(": ");
            text.push_str(&message);
            irritants = irritants.cdr().unwrap_or(Value::NIL);
        }
        _ => text.push_str(&brief_text_of(
            thread,
            message,
            Style::Write,
            IRRITANT_BYTES_MAX,
        )),
    }
    if is_call {
        return text + &call_text(thread, who, irritants);
    }
    let mut separator = if text.ends_with(':') { " " } else { ": " };
    for _ in 0..IRRITANTS_MAX {
        let Some(pair) = irritants.as_pair() else {
            return text;
        };
        irritants = pair.cdr();
        if is_arity && who.is_some() && thread.vm().procedure_name(pair.car()) == who {
            continue;
        }
        text.push_str(separator);
        text.push_str(&brief_text_of(
            thread,
            pair.car(),
            Style::Write,
            IRRITANT_BYTES_MAX,
        ));
        separator = " ";
    }
    if irritants.is_pair() {
        text.push_str(" …");
    }
    text
}

/// Whether a condition says that a procedure was called with a wrong number of arguments: its irritants
/// are the procedure and the first arguments.
fn counts_arguments(condition: ObjectRef) -> bool {
    kind_of(condition).as_deref() == Some("arity")
        && string_text(condition.field(field::MESSAGE))
            .is_some_and(|message| message.contains("called with"))
}

/// The call with a wrong number of arguments, behind a colon. Nothing if no argument is known.
fn call_text(thread: &Thread, who: Option<String>, irritants: Value) -> String {
    let mut arguments = irritants.cdr().unwrap_or(Value::NIL);
    if !arguments.is_pair() {
        return String::new();
    }
    let mut text = format!(": ({}", who.as_deref().unwrap_or("_"));
    for _ in 0..IRRITANTS_MAX {
        let Some(pair) = arguments.as_pair() else {
            break;
        };
        let argument = brief_text_of(thread, pair.car(), Style::Write, IRRITANT_BYTES_MAX);
        text.push(' ');
        text.push_str(&argument);
        arguments = pair.cdr();
    }
    text + if arguments.is_pair() { " …)" } else { ")" }
}

/// `%type-error` and `%range-error`: who, position, what was expected, what was given.
fn argument_error(
    thread: &mut Thread,
    call: Call,
    raise: fn(&mut Thread, &str, usize, &str, Value) -> Raise,
) -> Result<Value, Raise> {
    call.symbol(thread, 0)?;
    let who = symbol_name(call.at(0)).unwrap_or_default();
    let position = call.index(thread, 1)?;
    let expected = string_text(call.string(thread, 2)?.value()).unwrap_or_default();
    Err(raise(thread, &who, position, &expected, call.at(3)))
}

/// `%match-failure`: the value and the form.
fn match_failure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.symbol(thread, 1)?;
    let who = symbol_name(call.at(1));
    let message = "no pattern takes the value";
    Err(thread.raise(ConditionKind::Match, message, &[call.at(0)], who.as_deref()))
}

/// `%assertion-failure`: the irritants, the first of which is the expression.
fn assertion_failure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.list_length(thread, 0)?;
    let kind = thread.symbol("assertion");
    let message = thread.string("assertion failed");
    let who = thread.symbol("assert");
    let condition = thread.make_condition(kind, message, call.at(0), who);
    Err(thread.raise_object(condition))
}

/// `%contract-violation`: name, message, irritants, whether the caller is to blame.
fn contract_violation(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    call.list_length(thread, 2)?;
    let kind = thread.symbol("contract");
    let condition = thread.make_condition(kind, call.at(1), call.at(2), call.at(0));
    if call.at(3).is_true() {
        thread.move_to_caller(condition);
    }
    Err(thread.raise_object(condition))
}

/// `%note-task!`: a condition is about to leave the task that raised it.
fn note_task(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let Some(condition) = call.at(0).as_kind(Kind::Condition) else {
        return Ok(Value::UNSPECIFIED);
    };
    let mut text = match call.at(1) {
        Value::FALSE => "it was raised in a task".to_owned(),
        name => {
            let name = brief_text_of(thread, name, Style::Display, VALUE_BYTES_MAX);
            format!("it was raised in the task {name}")
        }
    };
    let frames = frame_texts(&thread.describe_frames(FRAMES_MAX), NAMED_MAX);
    if !frames.is_empty() {
        text.push_str(": ");
        text.push_str(&frames.join(", "));
    }
    let text = thread.string(&text);
    let condition = condition.value();
    let condition_place = thread.protect(condition);
    let before = match condition
        .as_object()
        .map(|object| object.field(field::ORIGIN))
    {
        Some(list) if list.is_pair() => list,
        _ => Value::NIL,
    };
    let list = thread.cons(text, before);
    thread.store(thread.protected(condition_place), field::ORIGIN, list);
    thread.release(condition_place);
    Ok(Value::UNSPECIFIED)
}

/// Frames of a task that are named.
const NAMED_MAX: usize = 8;

/// The newest frames but for those of the library: what was called, and where it stands.
fn frame_texts(frames: &[FrameDescription], count_max: usize) -> Vec<String> {
    let own = frames.iter().filter(|frame| !frame.is_library);
    let text = |frame: &FrameDescription| {
        let name = frame.name.as_deref().unwrap_or("a procedure");
        match &frame.position {
            Some(at) => format!("{name} ({}:{}:{})", at.file, at.line, at.column),
            None => name.to_owned(),
        }
    };
    own.take(count_max).map(text).collect()
}

/// `%frames-of`: a continuation, and how many frames are wanted.
fn frames_of(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let count_max = call.index(thread, 1)?;
    let frames = thread
        .describe_frames_of(call.at(0), FRAMES_MAX)
        .unwrap_or_default();
    let texts = frame_texts(&frames, count_max);
    let mut list = Value::NIL;
    for text in texts.iter().rev() {
        let text = thread.string(text);
        list = thread.cons(text, list);
    }
    Ok(list)
}

/// The notes about the tasks that raised a condition.
fn origins_of(object: Value) -> Vec<String> {
    /// So many are shown.
    const SHOWN_MAX: usize = 4;
    let list = object
        .as_kind(Kind::Condition)
        .map_or(Value::NIL, |condition| condition.field(field::ORIGIN));
    let texts = elements(list, SHOWN_MAX).into_iter();
    texts.filter_map(string_text).collect()
}

/// The syntax errors that a condition is about.
fn syntax_errors_of(thread: &Thread, object: Value) -> Arc<Vec<Diagnostic>> {
    const LOOKED_AT_MAX: usize = 1000;
    let list = object
        .as_kind(Kind::Condition)
        .map_or(Value::NIL, |condition| condition.field(field::ORIGIN));
    let mut origins = elements(list, LOOKED_AT_MAX).into_iter();
    let errors = origins.find_map(|origin| find::<SyntaxErrors>(thread, origin));
    errors.map_or_else(Arc::default, |errors| Arc::clone(&errors.0))
}

/// Longest text of a value in a backtrace.
const VALUE_BYTES_MAX: usize = 60;

fn uncaught(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let object = call.at(0);
    let mut report = report_of(thread, object);
    report.frames = frames_with_values(thread);
    report.is_continuable = call.at(1).is_true();
    crate::uncaught::report(thread, &report);
    crate::failure::keep(thread, &report, object);
    Err(thread.leave(Exit::Uncaught))
}

/// `%report-raised`: an object that is about to be handled, and a sentence about that or #f. It is
/// shown with the frames.
fn report_raised(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut report = report_of(thread, call.at(0));
    report.frames = frames_with_values(thread);
    report.notes.extend(string_text(call.at(1)));
    crate::uncaught::report(thread, &report);
    Ok(Value::UNSPECIFIED)
}

/// `%backtrace`: of each frame outside the standard library, newest first, the name, the place and the
/// values of variables.
fn backtrace(thread: &mut Thread, _call: Call) -> Result<Value, Raise> {
    let frames = frames_with_values(thread);
    let mut rows = Vec::new();
    for frame in &frames {
        if !frame.is_library {
            let name = match frame.name.as_deref() {
                _ if frame.is_program => "the program",
                Some(name) => name,
                None => "an anonymous procedure",
            };
            rows.push((name.to_owned(), frame.position.as_ref(), &frame.values[..]));
        }
        for caller in frame.tail_callers.iter().filter(|one| !one.is_library) {
            rows.push((text_of_tail_caller(caller), caller.position.as_ref(), &[]));
        }
    }
    let mut list = Value::NIL;
    for (name, position, values) in rows.into_iter().rev() {
        let mut variables = Value::NIL;
        for (name, value) in values.iter().rev() {
            let value = thread.string(value);
            let name = thread.string(name);
            let pair = thread.cons(name, value);
            variables = thread.cons(pair, variables);
        }
        let place = place_of(thread, position);
        let mut row = thread.cons(variables, Value::NIL);
        row = thread.cons(place, row);
        let name = thread.string(&name);
        row = thread.cons(name, row);
        list = thread.cons(row, list);
    }
    Ok(list)
}

/// A procedure that ended with a tail call, in words.
pub(super) fn text_of_tail_caller(caller: &TailCaller) -> String {
    let perhaps = if caller.is_certain { "" } else { "perhaps " };
    let name = caller.name.as_deref().unwrap_or("an anonymous procedure");
    format!("{perhaps}by a tail call in {name}")
}

/// File, line and column as a list, or `#f`.
pub(super) fn place_of(thread: &mut Thread, position: Option<&Position>) -> Value {
    let Some(position) = position else {
        return Value::FALSE;
    };
    let mut place = thread.cons(Value::fixnum(i64::from(position.column)), Value::NIL);
    place = thread.cons(Value::fixnum(i64::from(position.line)), place);
    let file = thread.string(&position.file);
    thread.cons(file, place)
}

/// `%report-failure`: what a task raised, which continues.
pub(crate) fn report_failure(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let mut report = report_of(thread, call.at(0));
    report.notes.push("the task was never awaited".to_owned());
    crate::uncaught::report(thread, &report);
    Ok(Value::UNSPECIFIED)
}

/// The report of an object that was raised, without frames.
fn report_of(thread: &mut Thread, object: Value) -> Uncaught {
    let kind = object.as_kind(Kind::Condition).and_then(kind_of);
    let (similar_name, note) = hints_of(thread, object).unwrap_or_default();
    Uncaught {
        code: code_of_raised(kind.as_deref()),
        kind,
        message: text_of_raised(thread, object),
        position: thread.condition_position(object),
        who: who_of(object),
        argument: argument_of(object),
        procedure: procedure_of(thread, object),
        similar_name,
        notes: note.into_iter().chain(origins_of(object)).collect(),
        syntax_errors: syntax_errors_of(thread, object),
        frames: Vec::new(),
        is_continuable: false,
    }
}

/// The newest frames, the first with the values of their variables.
fn frames_with_values(thread: &Thread) -> Vec<FrameDescription> {
    /// So many frames have values.
    const SHOWN_MAX: usize = 5;
    let show = |value| brief_text_of(thread, value, Style::Write, VALUE_BYTES_MAX);
    thread.describe_frames_and_values(FRAMES_MAX, SHOWN_MAX, &show)
}

/// The procedure that a condition blames.
fn who_of(object: Value) -> Option<String> {
    symbol_name(object.as_kind(Kind::Condition)?.field(field::WHO))
}

/// The number of the argument that a condition of kind `type` or `range` blames.
fn argument_of(object: Value) -> Option<usize> {
    let condition = object.as_kind(Kind::Condition)?;
    if !matches!(kind_of(condition)?.as_str(), "type" | "range") {
        return None;
    }
    // As `raise_type` and `raise_range` have it.
    let message = string_text(condition.field(field::MESSAGE))?;
    let rest = message.strip_prefix("argument ")?;
    rest.split(' ').next()?.parse().ok()
}

/// The elements of a list, at most so many.
fn elements(mut list: Value, count_max: usize) -> Vec<Value> {
    let mut elements = Vec::new();
    while let Some(pair) = list.as_pair().filter(|_| elements.len() < count_max) {
        elements.push(pair.car());
        list = pair.cdr();
    }
    elements
}

/// The procedure that a condition of kind `arity` blames: the first irritant, or the last one if the
/// number of arguments was right.
fn blamed(condition: ObjectRef) -> Option<Value> {
    if kind_of(condition)? != "arity" {
        return None;
    }
    let irritants = elements(condition.field(field::IRRITANTS), IRRITANTS_MAX);
    if counts_arguments(condition) {
        irritants.first().copied()
    } else {
        irritants.last().copied()
    }
}

fn procedure_of(thread: &Thread, object: Value) -> Option<BlamedProcedure> {
    let procedure = blamed(object.as_kind(Kind::Condition)?)?;
    let calls = thread.vm().procedure_calls(procedure);
    (!calls.is_empty()).then(|| BlamedProcedure {
        name: thread.vm().procedure_name(procedure),
        position: thread.definition(procedure),
        calls,
    })
}

/// A name that looks like that of the variable that a condition of kind `unbound` is about, or like the
/// keyword that a procedure does not take; and a sentence.
fn hints_of(thread: &Thread, object: Value) -> Option<(Option<String>, Option<String>)> {
    let condition = object.as_kind(Kind::Condition)?;
    let first = condition.field(field::IRRITANTS).car()?;
    match kind_of(condition)?.as_str() {
        "unbound" => Some(Evaluation::of(thread.vm()).hints(&symbol_name(first)?)),
        "arity" => {
            let keyword = symbol_name(first.as_kind(Kind::Keyword)?.field(0))?;
            let known = thread.vm().procedure_keywords(blamed(condition)?);
            let known = known.into_iter().filter(|name| name.as_str() != keyword);
            let similar = similar_name(Name::new(&keyword), known)?;
            Some((Some(format!("#:{similar}")), None))
        }
        _ => None,
    }
}
