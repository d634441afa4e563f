//! Writing data as JSON, with a stack of open structures instead of recursion.
//!
//! Long texts go to a port in pieces. In between the values of the stack are handed over to the thread, since
//! writing may wait and a collection may move them.

use canny_formats::json::{write_flonum, write_latin1, write_string};
use canny_number::{Number, mul, write_number};
use canny_tables::kinds::Kind;
use canny_value::{ObjectRef, Value};
use canny_vm::numbers::number_of;
use canny_vm::symbols::symbol_name;
use canny_vm::{Protected, Raise, TextBuilder, Thread, string_text};

use crate::arguments::Call;
use crate::hash_table::Table;
use crate::primitives::ports::{flag, output::put_text, required_port};
use crate::text::{Units, with_units};

/// A text of so many bytes is written to the port.
const PIECE_BYTES: usize = 1 << 16;
/// Up to this depth each structure is compared with all around it, further down only some are.
const COMPARED_DEPTH: usize = 64;

/// An open structure.
struct Open {
    container: Value,
    /// Of a list: what is left of it, and an earlier such rest to find a list without an end.
    rest: Value,
    earlier: Value,
    /// The key of the member that is being written.
    key: Value,
    /// Elements, entries of a table or members of a list that were passed.
    count: usize,
    is_empty: bool,
    /// Members in the order of their keys; last first.
    sorted: Option<Vec<(String, Value, Value)>>,
}

/// An object that cannot be written, and the reason.
struct Refusal {
    message: &'static str,
    object: Value,
}

struct Writer {
    text: String,
    stack: Vec<Open>,
    indent: usize,
    sorts: bool,
    ascii: bool,
    null: Protected,
}

impl Writer {
    /// The settings are arguments from `position` on: width of an indentation, whether keys are sorted,
    /// whether the text is ASCII, what is written as `null`.
    fn new(thread: &mut Thread, call: Call, position: usize) -> Result<Writer, Raise> {
        Ok(Writer {
            text: String::new(),
            stack: Vec::new(),
            indent: call.index(thread, position)?.min(100),
            sorts: call.at(position + 1).is_true(),
            ascii: call.at(position + 2).is_true(),
            null: thread.protect(call.at(position + 3)),
        })
    }

    fn new_line(&mut self) {
        if self.indent > 0 {
            self.text.push('\n');
            let width = self.indent * self.stack.len();
            self.text.extend(std::iter::repeat_n(' ', width));
        }
    }

    /// Writes a scalar, or the start of a structure, which is then open.
    fn value(&mut self, thread: &Thread, value: Value) -> Result<(), Refusal> {
        if let Some(fixnum) = value.as_fixnum() {
            use std::fmt::Write;
            // Writing to a string does not fail.
            let _ = write!(self.text, "{fixnum}");
            return Ok(());
        }
        if let Some(string) = value.as_kind(Kind::String) {
            self.string(string);
            return Ok(());
        }
        if value == thread.protected(self.null) {
            self.text.push_str("null");
            return Ok(());
        }
        if value == Value::TRUE || value == Value::FALSE {
            let word = if value.is_true() { "true" } else { "false" };
            self.text.push_str(word);
            return Ok(());
        }
        if value.is_nil() || value.is_pair() {
            return self.open(value, '{', value);
        }
        if value.is_kind(Kind::Vector) {
            return self.open(value, '[', Value::NIL);
        }
        if Table::of(value).is_some() {
            return self.open(value, '{', Value::NIL);
        }
        if let Some(flonum) = value.as_flonum() {
            let message = "JSON has no form for infinities and NaN";
            return if write_flonum(flonum, &mut self.text) {
                Ok(())
            } else {
                Err(Refusal {
                    message,
                    object: value,
                })
            };
        }
        let object = value;
        let message = "an object has no form in JSON";
        match number_of(value) {
            Some(number @ (Number::Fixnum(_) | Number::Big(_))) => {
                self.text.push_str(&write_number(&number, 10));
                Ok(())
            }
            Some(number @ Number::Ratio(_)) => match decimal_text(number) {
                Some(text) => {
                    self.text.push_str(&text);
                    Ok(())
                }
                None => {
                    let message = "an exact number is no finite decimal";
                    Err(Refusal { message, object })
                }
            },
            _ => Err(Refusal { message, object }),
        }
    }

    fn string(&mut self, string: ObjectRef) {
        let (ascii, output) = (self.ascii, &mut self.text);
        with_units(string, |units| match units {
            Units::Narrow(bytes) => write_latin1(bytes, ascii, output),
            Units::Wide(_) => write_string(&units.to_text(), ascii, output),
        });
    }

    fn open(&mut self, container: Value, bracket: char, rest: Value) -> Result<(), Refusal> {
        let depth = self.stack.len();
        if !container.is_nil()
            && (depth <= COMPARED_DEPTH || depth.is_power_of_two())
            && self.stack.iter().any(|open| open.container == container)
        {
            let message = "an object contains itself";
            return Err(Refusal {
                message,
                object: Value::FALSE,
            });
        }
        self.text.push(bracket);
        self.stack.push(Open {
            container,
            rest,
            earlier: Value::FALSE,
            key: Value::FALSE,
            count: 0,
            is_empty: true,
            sorted: None,
        });
        if self.sorts && bracket == '{' {
            let sorted = self.sorted_members()?;
            if let Some(open) = self.stack.last_mut() {
                open.sorted = Some(sorted);
            }
        }
        Ok(())
    }

    /// All members of the innermost object, last first.
    fn sorted_members(&mut self) -> Result<Vec<(String, Value, Value)>, Refusal> {
        let mut members = Vec::new();
        while let Some((key, value)) = self.next_member()? {
            members.push((key_text(key), key, value));
        }
        if let Some(open) = self.stack.last_mut() {
            open.count = 0;
        }
        members.sort_by(|left, right| right.0.cmp(&left.0));
        Ok(members)
    }

    /// The next member of the innermost object, as it is stored.
    fn next_member(&mut self) -> Result<Option<(Value, Value)>, Refusal> {
        let Some(open) = self.stack.last_mut() else {
            return Ok(None);
        };
        if let Some(table) = Table::of(open.container) {
            while open.count < table.used() {
                let entry = open.count;
                open.count += 1;
                if let Some((key, value)) = table.association(entry) {
                    check_key(key)?;
                    open.key = key;
                    return Ok(Some((key, value)));
                }
            }
            return Ok(None);
        }
        if open.rest.is_nil() {
            return Ok(None);
        }
        let Some(pair) = open.rest.as_pair() else {
            let message = "an object is a proper list of pairs";
            return Err(Refusal {
                message,
                object: open.rest,
            });
        };
        let Some(member) = pair.car().as_pair() else {
            let message = "a member of an object is a pair of a key and a value";
            return Err(Refusal {
                message,
                object: pair.car(),
            });
        };
        let key = member.car();
        check_key(key)?;
        open.key = key;
        open.count += 1;
        open.rest = pair.cdr();
        if open.rest == open.earlier {
            let message = "a list has no end";
            return Err(Refusal {
                message,
                object: Value::FALSE,
            });
        }
        if open.count.is_power_of_two() {
            open.earlier = open.rest;
        }
        Ok(Some((key, member.cdr())))
    }

    /// Continues with the innermost structure; `None` when it is complete.
    fn next(&mut self) -> Result<Option<Value>, Refusal> {
        let Some(open) = self.stack.last_mut() else {
            return Ok(None);
        };
        if let Some(vector) = open.container.as_kind(Kind::Vector) {
            if open.count >= vector.length() {
                return Ok(None);
            }
            let index = open.count;
            open.count += 1;
            let element = vector.field(index);
            self.separate();
            return Ok(Some(element));
        }
        let member = match &mut open.sorted {
            Some(sorted) => {
                let member = sorted.pop();
                if let Some((_, key, _)) = &member {
                    open.key = *key;
                }
                member.map(|(_, key, value)| (key, value))
            }
            None => self.next_member()?,
        };
        let Some((key, value)) = member else {
            return Ok(None);
        };
        self.separate();
        match key.as_kind(Kind::String) {
            Some(key) => self.string(key),
            None => {
                let name = symbol_name(key).unwrap_or_default();
                write_string(&name, self.ascii, &mut self.text);
            }
        }
        self.text.push_str(if self.indent > 0 { ": " } else { ":" });
        Ok(Some(value))
    }

    /// Writes the comma and the line end before an element or a member.
    fn separate(&mut self) {
        if let Some(open) = self.stack.last_mut() {
            if !open.is_empty {
                self.text.push(',');
            }
            open.is_empty = false;
        }
        self.new_line();
    }

    fn close(&mut self) {
        if let Some(open) = self.stack.pop() {
            if !open.is_empty {
                self.new_line();
            }
            let is_array = open.container.is_kind(Kind::Vector);
            self.text.push(if is_array { ']' } else { '}' });
        }
    }

    /// Writes until everything is written, which is `true`, or there is a good piece.
    fn write_some(&mut self, thread: &Thread, piece_bytes: usize) -> Result<bool, Refusal> {
        while !self.stack.is_empty() {
            match self.next()? {
                Some(value) => self.value(thread, value)?,
                None => self.close(),
            }
            if self.text.len() >= piece_bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Hands every value over to the thread; [`Writer::unpark`] takes them back.
    fn park(&mut self, thread: &mut Thread) -> Vec<Protected> {
        let mut places = vec![thread.protect(Value::FALSE)];
        self.each_value(|value| places.push(thread.protect(*value)));
        places
    }

    fn unpark(&mut self, thread: &mut Thread, places: &[Protected]) {
        let mut rest = places.iter().skip(1);
        self.each_value(|value| {
            if let Some(&place) = rest.next() {
                *value = thread.protected(place);
            }
        });
        if let Some(&first) = places.first() {
            thread.release(first);
        }
    }

    fn each_value(&mut self, mut visit: impl FnMut(&mut Value)) {
        for open in &mut self.stack {
            visit(&mut open.container);
            visit(&mut open.rest);
            visit(&mut open.earlier);
            visit(&mut open.key);
            for (_, key, value) in open.sorted.iter_mut().flatten() {
                visit(key);
                visit(value);
            }
        }
    }

    /// The condition for what cannot be written: the irritants are the object, and the keys and indexes
    /// that lead to it.
    fn refuse(&self, thread: &mut Thread, call: Call, refusal: &Refusal) -> Raise {
        let base = thread.protect(refusal.object);
        let first = thread.protect(Value::FALSE);
        let mut is_first = true;
        for open in &self.stack {
            // Where nothing was begun yet the structure itself is at fault.
            if open.is_empty && open.key == Value::FALSE {
                continue;
            }
            let step = if open.container.is_kind(Kind::Vector) {
                Value::fixnum(open.count.saturating_sub(1) as i64)
            } else {
                open.key
            };
            if is_first {
                thread.set_protected(first, step);
                is_first = false;
            } else {
                thread.protect(step);
            }
        }
        let path = if is_first {
            Value::NIL
        } else {
            thread.list_of_protected(first, Value::NIL)
        };
        thread.release(first);
        let path = thread.protect(path);
        let word = thread.symbol("path");
        let (object, path) = (thread.protected(base), thread.protected(path));
        let condition = thread.condition(
            "json",
            refusal.message,
            &[object, word, path],
            Some(call.who),
        );
        thread.release(base);
        thread.raise_object(condition)
    }
}

fn check_key(key: Value) -> Result<(), Refusal> {
    if key.is_kind(Kind::String) || key.is_kind(Kind::Symbol) {
        return Ok(());
    }
    let message = "a key is a string or a symbol";
    Err(Refusal {
        message,
        object: key,
    })
}

fn key_text(key: Value) -> String {
    string_text(key)
        .or_else(|| symbol_name(key))
        .unwrap_or_default()
}

/// The decimal text of a ratio, if it has one.
fn decimal_text(ratio: Number) -> Option<String> {
    const DIGITS_MAX: usize = 4000;
    let ten = Number::Fixnum(10);
    let mut scaled = ratio;
    for digits in 1..=DIGITS_MAX {
        scaled = mul(&scaled, &ten).ok()?;
        if matches!(scaled, Number::Ratio(_)) {
            continue;
        }
        let text = write_number(&scaled, 10);
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => ("-", text),
            None => ("", text.as_str()),
        };
        let text = format!("{text:0>width$}", width = digits + 1);
        let (whole, fraction) = text.split_at(text.len() - digits);
        return Some(format!("{sign}{whole}.{fraction}"));
    }
    None
}

/// `(%json-write object port indent sorts? ascii? null)`.
pub(super) fn write(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let port = required_port(thread, call, 1, flag::TEXTUAL | flag::OUTPUT)?;
    let base = thread.protect(Value::NIL);
    let outcome = write_to_port(thread, call, port);
    thread.release(base);
    outcome
}

fn write_to_port(thread: &mut Thread, call: Call, port: Value) -> Result<Value, Raise> {
    let mut writer = Writer::new(thread, call, 2)?;
    let mut outcome = writer.value(thread, call.at(0)).map(|()| false);
    loop {
        if outcome.is_ok() {
            // Parking costs time for each value of the stack; the longer the stack the longer the piece.
            let piece_bytes = PIECE_BYTES.max(64 * writer.stack.len());
            outcome = writer.write_some(thread, piece_bytes);
        }
        let is_done = match outcome {
            Ok(is_done) => is_done,
            Err(refusal) => return Err(writer.refuse(thread, call, &refusal)),
        };
        let text = std::mem::take(&mut writer.text);
        if is_done {
            put_text(thread, call, port, &text)?;
            return Ok(Value::UNSPECIFIED);
        }
        let parked = writer.park(thread);
        put_text(thread, call, port, &text)?;
        if thread.safepoint() {
            let error = canny_io::IoError::Interrupted;
            return Err(crate::primitives::ports::failed(
                thread, call.who, None, &error,
            ));
        }
        writer.unpark(thread, &parked);
    }
}

/// `(%json->string object indent sorts? ascii? null)`.
pub(super) fn to_string(thread: &mut Thread, call: Call) -> Result<Value, Raise> {
    let base = thread.protect(Value::NIL);
    let mut writer = Writer::new(thread, call, 1)?;
    let outcome = match writer.value(thread, call.at(0)) {
        Ok(()) => writer.write_some(thread, usize::MAX),
        Err(refusal) => Err(refusal),
    };
    let outcome = match outcome {
        Ok(_) => {
            let mut builder = TextBuilder::new();
            builder.push_str(&writer.text);
            builder.try_finish(thread)
        }
        Err(refusal) => Err(writer.refuse(thread, call, &refusal)),
    };
    thread.release(base);
    outcome
}
